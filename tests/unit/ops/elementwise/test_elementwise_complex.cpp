// SPDX-License-Identifier: Apache-2.0

// Elementwise functions of complex numbers, against std::complex of wider numbers: in the plane, on
// both sides of the branch cuts, at zeros.

#include <cmath>
#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;
using tf::DType;
using Exact = std::complex<long double>;
constexpr tf::Extent count = 75;

template <class T>
constexpr void functions(tf::Graph& g) {
  auto a = tf::placeholder<T, count>(g, "a");
  auto b = tf::placeholder<T, count>(g, "b");
  (a + b).named("add");
  (a - b).named("sub");
  (a * b).named("mul");
  (a / b).named("div");
  (2 * a - 0.5).named("literals");
  tf::add_n(a, b, a).named("add_n");
  tf::squared_difference(a, b).named("squared_difference");
  where(equal(a, b), a, a + b).named("where");
  equal(a, b).named("equal");
  not_equal(a, b).named("not_equal");
  neg(a).named("neg");
  square(a).named("square");
  sqrt(a).named("sqrt");
  rsqrt(a).named("rsqrt");
  reciprocal(a).named("reciprocal");
  exp(a).named("exp");
  log(a).named("log");
  sin(a).named("sin");
  cos(a).named("cos");
  tanh(a).named("tanh");
  sigmoid(a).named("sigmoid");
  tf::identity(a).named("identity");
  tf::cast<std::complex<float>>(a).named("narrow");
  tf::cast<std::complex<double>>(a).named("wide");
}

/// Real and imaginary numbers with zeros of both signs, then any.
template <class T>
tf::HostTensor numbers(std::uint64_t seed) {
  tf::HostTensor x = tf::host_tensor(tf::dtype_of<T>, test::dims({count}));
  const double parts[] = {1, 0.0, -0.0, -2, 0.25, -1};
  test::Random random(seed);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto part = [&](std::int64_t k) {
      using Part = typename T::value_type;
      return static_cast<double>(static_cast<Part>(i < 36 ? parts[k] : random.uniform(-4, 4)));
    };
    const double real = part(i / 6);
    x[i] = {real, 0, part(i % 6)};
  }
  return x;
}
Exact exact(const tf::Number& x) { return {x.real, x.imaginary}; }

/// Distances are relative to |expected|; NaN, infinite and zero parts are where they should be, and
/// a part that is not zero has its sign.
void check(const std::string& name, const tf::HostTensor& got, const std::vector<Exact>& expected,
           double tolerance) {
  INFO(name);
  REQUIRE(got.size() == static_cast<std::int64_t>(expected.size()));
  for (std::int64_t i = 0; i < got.size(); ++i) {
    const Exact want = expected[static_cast<std::size_t>(i)];
    INFO("element ", i, ": ", got[i].real, " + ", got[i].imaginary, " i instead of ",
         static_cast<double>(want.real()), " + ", static_cast<double>(want.imag()), " i");
    if (std::isfinite(want.real()) && std::isfinite(want.imag())) {
      CHECK(static_cast<double>(std::abs(exact(got[i]) - want)) <=
            tolerance * static_cast<double>(std::abs(want)));
    } else {  // a pole
      CHECK(!(std::isfinite(got[i].real) && std::isfinite(got[i].imaginary)));
      CHECK(std::isinf(std::abs(exact(got[i]))) == std::isinf(std::abs(want)));
    }
  }
}

template <class T>
void check_type(double tolerance) {
  INFO(tf::name_of(tf::dtype_of<T>));
  const tf::HostTensor a = numbers<T>(1);
  tf::HostTensor b = numbers<T>(2);
  for (std::int64_t i = 0; i < 36; ++i) b[i] = a[(5 * i + 8) % 36];
  b[7] = a[14];  // 0 and -0
  const tf::HostTensors feeds{{"a", a}, {"b", b}};
  tf::Graph graph;
  functions<T>(graph);
  const tf::HostTensors interpreted = tf::interpret(graph, feeds);
  test::Kernels<functions<T>> kernels;
  for (const test::Outcome& got :
       {test::Outcome(interpreted.begin(), interpreted.end()), kernels.run(feeds)}) {
    const auto pairs = [&](const std::string& name, Exact (*f)(Exact, Exact)) {
      std::vector<Exact> expected;
      for (std::int64_t i = 0; i < count; ++i) expected.push_back(f(exact(a[i]), exact(b[i])));
      REQUIRE(got.at(name).dtype == tf::dtype_of<T>);
      check(name, got.at(name), expected, tolerance);
    };
    const auto singles = [&](const std::string& name, Exact (*f)(Exact),
                             DType type = tf::dtype_of<T>, double within = 0) {
      std::vector<Exact> expected;
      for (std::int64_t i = 0; i < count; ++i) expected.push_back(f(exact(a[i])));
      REQUIRE(got.at(name).dtype == type);
      check(name, got.at(name), expected, std::max(tolerance, within));
    };
    pairs("add", [](Exact x, Exact y) { return x + y; });
    pairs("sub", [](Exact x, Exact y) { return x - y; });
    pairs("mul", [](Exact x, Exact y) { return x * y; });
    pairs("div", [](Exact x, Exact y) { return x / y; });
    pairs("add_n", [](Exact x, Exact y) { return x + y + x; });
    pairs("squared_difference", [](Exact x, Exact y) { return (x - y) * (x - y); });
    pairs("where", [](Exact x, Exact y) { return x == y ? x : x + y; });
    singles("literals", [](Exact x) { return 2.0L * x - 0.5L; });
    singles("neg", [](Exact x) { return -x; });
    singles("square", [](Exact x) { return x * x; });
    singles("sqrt", [](Exact x) { return std::sqrt(x); });
    singles("rsqrt", [](Exact x) { return 1.0L / std::sqrt(x); });
    singles("reciprocal", [](Exact x) { return 1.0L / x; });
    singles("exp", [](Exact x) { return std::exp(x); });
    singles("log", [](Exact x) { return std::log(x); });
    singles("sin", [](Exact x) { return std::sin(x); });
    singles("cos", [](Exact x) { return std::cos(x); });
    singles("tanh", [](Exact x) { return std::tanh(x); });
    singles("sigmoid", [](Exact x) { return 1.0L / (1.0L + std::exp(-x)); });
    singles("identity", [](Exact x) { return x; });
    singles("narrow", [](Exact x) { return x; }, DType::complex64, 0x1p-23);
    singles("wide", [](Exact x) { return x; }, DType::complex128);
    int equal = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const bool same = exact(a[i]) == exact(b[i]);
      CHECK(got.at("equal")[i].integer == static_cast<int>(same));
      CHECK(got.at("not_equal")[i].integer == static_cast<int>(!same));
      equal += same;
    }
    CHECK(equal > 0);  // a zero equals the other one
    CHECK(equal < count);
    // The square root of a negative number lies on its imaginary zero's side.
    for (std::int64_t i = 0; i < 36; ++i) {
      if (a[i].real >= 0 || a[i].imaginary != 0) continue;
      CHECK(std::signbit(got.at("sqrt")[i].imaginary) == std::signbit(a[i].imaginary));
      CHECK(std::signbit(got.at("log")[i].imaginary) == std::signbit(a[i].imaginary));
    }
  }
}

}  // namespace

TEST_CASE("functions of complex<float>") { check_type<std::complex<float>>(0x1p-21); }
TEST_CASE("functions of complex<double>") { check_type<std::complex<double>>(0x1p-50); }
