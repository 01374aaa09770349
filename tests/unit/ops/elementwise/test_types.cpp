// SPDX-License-Identifier: Apache-2.0

// What each element type computes; complex numbers.

#include <array>
#include <cmath>
#include <complex>
#include <string>
#include <string_view>

#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;

using Row = tf::Shape<21>;

/// What every number type computes.
template <class T>
constexpr void arithmetic(tf::Graph& g) {
  auto a = test::input<T, tf::Shape<3, 19>>(g, "a");
  auto b = test::input<T, tf::Shape<19>>(g, "b");
  (a + b).named("add");
  (a * b - a).named("mul");
  (a / (b * b + 1)).named("div");
  square(a).named("square");
  where(equal(a, b), a, b).named("where");
  tf::cast<std::int32_t>(not_equal(a, b)).named("not_equal");
  sum<1>(a).named("sum");
  sum<0>(a).named("column");
}

template <class T>
void check_arithmetic(double tolerance) {
  INFO(tf::name_of(tf::dtype_of<T>));
  test::check_against_interpreter<arithmetic<T>>(1, tolerance);
  test::check_threads<arithmetic<T>>(1);
}

using C = std::complex<float>;
using Z = std::complex<double>;

template <class T>
constexpr void complex_parts(tf::Graph& g) {
  using Part = typename T::value_type;
  auto z = test::input<T, Row>(g, "z");
  auto re = test::input<Part, Row>(g, "re");
  auto im = test::input<Part, tf::Shape<>>(g, "im");
  tf::complex(re, im).named("complex");
  tf::real(z).named("real");
  tf::imag(z).named("imag");
  tf::angle(z).named("angle");
  tf::complex_abs(z).named("complex_abs");
  tf::conj(z).named("conj");
  (z * tf::conj(z)).named("norm");
  (z * tf::constant<T>(g, T(0, 1))).named("turned");
  (tf::constant<T, 3>(g, {{1, 2}, {3, -4}, {0, 0.5}}) + tf::complex(sum(re), im)).named("array");
}

/// Checks what the model calls `function`; without one, all.
template <class T>
void check_complex(double tolerance, std::string_view function = {}) {
  INFO(tf::name_of(tf::dtype_of<T>));
  constexpr tf::DType type = tf::dtype_of<T>;
  constexpr tf::DType part = tf::dtype_of<typename T::value_type>;
  test::Random random(3);
  tf::HostTensors feeds{{"z", test::random_tensor(random, type, Row::dims, -2, 2)},
                        {"re", test::random_tensor(random, part, Row::dims, -2, 2)},
                        {"im", test::random_tensor(random, part, {}, -2, 2)}};
  tf::HostTensor& z = feeds["z"];
  for (std::int64_t i = 0; i < z.size(); ++i) {
    z[i].imaginary = static_cast<float>(random.uniform(-2, 2));
  }
  const auto of = [&](std::int64_t i) { return Z(z[i].real, z[i].imaginary); };
  const auto numbers_of = [&](tf::DType dtype, const tf::Dims& dims, const auto& f) {
    tf::HostTensor out = tf::host_tensor(dtype, dims);
    for (std::int64_t i = 0; i < out.size(); ++i) {
      const Z v = f(i);
      out[i] = {v.real(), 0, v.imag()};
    }
    return out;
  };
  const auto check = [&](const test::Outcome& got, const std::string& name,
                         const tf::HostTensor& want) {
    if (!function.empty() && name != function) return;
    INFO(name);
    const tf::HostTensor& tensor = got.at(name);
    REQUIRE(tensor.dtype == want.dtype);
    REQUIRE(tensor.dims == want.dims);
    for (std::int64_t i = 0; i < want.size(); ++i) {
      CHECK(tensor[i].real == doctest::Approx(want[i].real).epsilon(tolerance));
      CHECK(tensor[i].imaginary == doctest::Approx(want[i].imaginary).epsilon(tolerance));
    }
  };
  tf::Graph graph;
  complex_parts<T>(graph);
  test::Kernels<complex_parts<T>> kernels;
  const tf::HostTensors interpreted = tf::interpret(graph, feeds);
  double total = 0;
  for (std::int64_t i = 0; i < 21; ++i) total += feeds["re"].value(i);
  for (const test::Outcome& got :
       {kernels.run(feeds), test::Outcome(interpreted.begin(), interpreted.end())}) {
    const double im = feeds["im"].value(0);
    check(got, "complex",
          numbers_of(type, Row::dims, [&](auto i) { return Z(feeds["re"].value(i), im); }));
    check(got, "real", numbers_of(part, Row::dims, [&](auto i) { return of(i).real(); }));
    check(got, "imag", numbers_of(part, Row::dims, [&](auto i) { return of(i).imag(); }));
    check(got, "angle", numbers_of(part, Row::dims, [&](auto i) { return std::arg(of(i)); }));
    check(got, "complex_abs", numbers_of(part, Row::dims, [&](auto i) { return std::abs(of(i)); }));
    check(got, "conj", numbers_of(type, Row::dims, [&](auto i) { return std::conj(of(i)); }));
    check(got, "norm", numbers_of(type, Row::dims, [&](auto i) { return std::norm(of(i)); }));
    check(got, "turned", numbers_of(type, Row::dims, [&](auto i) { return of(i) * Z(0, 1); }));
    constexpr Z array[] = {{1, 2}, {3, -4}, {0, 0.5}};
    check(got, "array",
          numbers_of(type, test::dims({3}), [&](auto i) { return array[i] + Z(total, im); }));
  }
}

}  // namespace

TEST_CASE("every number type adds, multiplies, divides, compares and sums") {
  check_arithmetic<std::int8_t>(0);
  check_arithmetic<std::uint16_t>(0);
  check_arithmetic<std::int64_t>(0);
  check_arithmetic<std::uint64_t>(0);
  check_arithmetic<tf::bfloat16>(0x1p-7);
  check_arithmetic<tf::float16>(0x1p-10);
  check_arithmetic<C>(1e-6);
  check_arithmetic<Z>(1e-14);
}
TEST_CASE("arithmetic of types that are computed in wider ones has equal bits, fused or not") {
  test::check_bits<arithmetic<tf::float16>>(1);
  test::check_bits<arithmetic<std::int8_t>>(1);
}

TEST_CASE("complex: values") {
  check_complex<C>(1e-6, "complex");
  check_complex<Z>(1e-13, "complex");
}
TEST_CASE("real: values") {
  check_complex<C>(1e-6, "real");
  check_complex<Z>(1e-13, "real");
}
TEST_CASE("imag: values") {
  check_complex<C>(1e-6, "imag");
  check_complex<Z>(1e-13, "imag");
}
TEST_CASE("angle: values") {
  check_complex<C>(1e-6, "angle");
  check_complex<Z>(1e-13, "angle");
}
TEST_CASE("complex_abs: values") {
  check_complex<C>(1e-6, "complex_abs");
  check_complex<Z>(1e-13, "complex_abs");
}
TEST_CASE("conj: values") {
  check_complex<C>(1e-6, "conj");
  check_complex<Z>(1e-13, "conj");
}

TEST_CASE("complex numbers multiply, and come from constants") {
  check_complex<C>(1e-6);
  check_complex<Z>(1e-13);
}
