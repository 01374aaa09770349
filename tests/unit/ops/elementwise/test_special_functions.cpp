// SPDX-License-Identifier: Apache-2.0

// erf, lgamma, digamma, trigamma, igamma, igammac, betainc: against the C++ library's functions,
// slowly converging series, finite sums and values of tables.

#include <numbers>

#include "support/check_elementwise.hpp"
#include "support/check_gradients.hpp"
#include "typeflow/special_functions.hpp"

namespace {

namespace tf = typeflow;
using tf::DType;
using tf::Shape;

template <class T, class S>
constexpr void functions(tf::Graph& g) {
  auto x = test::input<T, S>(g, "x");
  erf(x).named("erf");
  lgamma(x).named("lgamma");
  digamma(x).named("digamma");
  tf::trigamma(x).named("trigamma");
}

template <class T, class A, class B, class X>
constexpr void distributions(tf::Graph& g) {
  auto a = test::input<T, A>(g, "a");
  auto b = test::input<T, B>(g, "b");
  auto x = test::input<T, X>(g, "x");
  tf::igamma(a, x).named("igamma");
  tf::igammac(a, x).named("igammac");
  tf::betainc(a, b, x).named("betainc");
}

constexpr long double pi = std::numbers::pi_v<long double>;

/// -egamma + the sum of 1/(n+1) - 1/(n+x), the rest of it as an integral.
long double digamma_reference(long double x) {
  if (x == 0) return std::signbit(x) ? test::infinity : -test::infinity;
  if (x < 0 && x == std::floor(x)) return test::nan;
  if (x < -5) return digamma_reference(1 - x) - pi / std::tan(pi * (x - std::nearbyint(x)));
  if (x > 50) {
    const long double r = 1 / (x * x);
    return std::log(x) - 0.5L / x - r / 12 + r * r / 120 - r * r * r / 252;
  }
  long double sum = -std::numbers::egamma_v<long double>;
  const int terms = 30000;
  for (int n = 0; n < terms; ++n) sum += 1.0L / (n + 1) - 1 / (n + x);
  return sum + std::log((terms + x - 0.5L) / (terms + 0.5L));
}
/// The sum of 1 / (n + x)^2, the rest of it as an integral.
long double trigamma_reference(long double x) {
  if (x <= 0 && x == std::floor(x)) return std::isinf(x) ? test::nan : test::infinity;
  if (x < -5) {
    const long double s = pi / std::sin(pi * (x - std::nearbyint(x)));
    return s * s - trigamma_reference(1 - x);
  }
  if (x > 50) {
    const long double r = 1 / x;
    return r + r * r / 2 + r * r * r / 6 - r * r * r * r * r / 30 + std::pow(r, 7.0L) / 42;
  }
  long double sum = 0;
  const int terms = 30000;
  for (int n = 0; n < terms; ++n) sum += 1 / ((n + x) * (n + x));
  return sum + 1 / (terms + x - 0.5L);
}

/// As for the other functions of one tensor; `far`: extreme numbers as well.
template <class Reference, class Call>
void check(const std::string& name, const Reference& reference, const Call& call, double ulps,
           double absolute = 0) {
  const auto expected = [&](const tf::HostTensor& x) { return test::map(x, reference); };
  test::Random random(1);
  const auto in_shape = [&]<class T, class S>(T, S, const tf::HostTensor& x) {
    test::check_result<functions<T, S>>(name, {{"x", x}}, expected(x), ulps, absolute);
  };
  test::for_each_shape([&]<class S>(S) {
    in_shape(float{}, S{}, test::random_tensor(random, DType::float32, S::dims, -4, 4));
    in_shape(double{}, S{}, test::random_tensor(random, DType::float64, S::dims, 0, 9));
  });
  {
    INFO("extreme numbers");
    in_shape(float{}, Shape<131>{}, test::extreme(DType::float32, test::dims({131})));
    in_shape(double{}, Shape<131>{}, test::extreme(DType::float64, test::dims({131}), 2));
  }
  for (const std::int64_t batch : {0, 1, 33}) {
    in_shape(float{}, Shape<tf::batch, 5>{},
             test::random_tensor(random, DType::float32, test::dims({batch, 5}), -4, 4));
  }
  for (int i = 0; i < 10; ++i) {
    const auto type = i % 2 == 0 ? DType::float32 : DType::float64;
    const tf::Dims shape = test::random_shape(random, random.below(4));
    const auto x = test::random_tensor(random, type, shape, -4, 4);
    tf::Graph g;
    test::name(call(test::input(g, "x", type, shape)), "y");
    test::check_ulps("y", tf::Interpreter(g).run({"y"}, {{"x", x}})[0], expected(x), ulps,
                     absolute);
  }
}

template <class F>
void check_derivatives(const F& f, test::Range range = {}, double tolerance = 1e-7) {
  test::check_gradients<Shape<>>(f, range, tolerance);
  test::check_gradients<Shape<7>>(f, range, tolerance);
  test::check_gradients<Shape<2, 1, 3>>(f, range, tolerance);
}
template <class F>
void check_second_derivative(const F& f, test::Range range = {}, double tolerance = 1e-6) {
  test::check_gradients<Shape<5>>([&](auto x) { return gradients(sum(f(x)), x); }, range,
                                  tolerance);
}

/// x^a e^-x / gamma(a + 1)
long double gamma_step(long double a, long double x) {
  return std::exp(a * std::log(x) - x - std::lgamma(a + 1));
}
/// P(a, x) for a = 1/2, 1, 3/2...: erf(sqrt(x)) or 1 - e^-x, and what a + 1 is less than a.
long double igamma_reference(long double a, long double x) {
  if (!(a > 0) || !(x >= 0)) return test::nan;
  if (x == 0) return 0;
  if (std::isinf(x)) return 1;
  const bool half = a != std::floor(a);
  long double p = half ? std::erf(std::sqrt(x)) : -std::expm1(-x);
  for (long double k = half ? 0.5L : 1; k < a; ++k) p -= gamma_step(k, x);
  return p;
}
/// 1 - P(a, x), as a sum of positive terms.
long double igammac_reference(long double a, long double x) {
  if (!(a > 0) || !(x >= 0)) return test::nan;
  if (x == 0) return 1;
  if (std::isinf(x)) return 0;
  const bool half = a != std::floor(a);
  long double q = half ? std::erfc(std::sqrt(x)) : std::exp(-x);
  for (long double k = half ? 0.5L : 1; k < a; ++k) q += gamma_step(k, x);
  return q;
}
/// I_x(a, b) for whole a and b: the chance of at least a successes in a + b - 1 trials.
long double betainc_reference(long double a, long double b, long double x) {
  if (!(a > 0) || !(b > 0) || !(x >= 0 && x <= 1)) return test::nan;
  const long double n = a + b - 1;
  long double sum = 0;
  for (long double j = a; j <= n; ++j) {
    const long double ways =
        std::exp(std::lgamma(n + 1) - std::lgamma(j + 1) - std::lgamma(n - j + 1));
    sum += ways * std::pow(x, j) * std::pow(1 - x, n - j);
  }
  return sum;
}

/// Checks igamma and igammac at half-integers (of these names), or betainc at integers.
template <class T, class A, class B, class X>
void check_distribution(const std::string& name, test::Random& random, const tf::Dims& of_a,
                        const tf::Dims& of_b, const tf::Dims& of_x, double absolute) {
  const bool beta = name == "betainc";
  const bool upper = name == "igammac";
  const auto draw = [&](const tf::Dims& shape, auto number) {
    tf::HostTensor t = tf::host_tensor(tf::dtype_of<T>, shape);
    for (std::int64_t i = 0; i < t.size(); ++i) t.set(i, number());
    return t;
  };
  const auto a = draw(of_a, [&] { return beta ? 1 + random.below(30) : 0.5 * random.below(80); });
  const auto b = draw(of_b, [&] { return random.chance(0.05) ? -1 : 1 + random.below(30); });
  const auto x = draw(of_x, [&] {
    return random.chance(0.1) ? random.below(3) - 1 : random.uniform(0, beta ? 1 : 60);
  });
  const tf::Dims all = tf::broadcast(tf::broadcast(of_a, beta ? of_b : tf::Dims{}), of_x);
  tf::HostTensor y = tf::host_tensor(tf::dtype_of<T>, all);
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const double p = a.value(tf::broadcast_index(i, all, of_a));
    const double q = x.value(tf::broadcast_index(i, all, of_x));
    const double r = beta ? b.value(tf::broadcast_index(i, all, of_b)) : 0;
    y.set(i, static_cast<double>(beta    ? betainc_reference(p, r, q)
                                 : upper ? igammac_reference(p, q)
                                         : igamma_reference(p, q)));
  }
  test::check_result<distributions<T, A, B, X>>(name, {{"a", a}, {"b", b}, {"x", x}}, y, 4,
                                                absolute);
  tf::Graph g;
  const auto in = [&](tf::Label label, const tf::Dims& shape) {
    return test::input(g, label, tf::dtype_of<T>, shape);
  };
  const tf::AnyExpr p = in("a", of_a);
  const tf::AnyExpr q = in("x", of_x);
  test::name(beta    ? tf::betainc(p, in("b", of_b), q)
             : upper ? tf::igammac(p, q)
                     : tf::igamma(p, q),
             "y");
  tf::HostTensors feeds{{"a", a}, {"x", x}};
  if (beta) feeds["b"] = b;
  test::check_ulps("y", tf::Interpreter(g).run({"y"}, feeds)[0], y, 4, absolute);
}
void check_distribution(const std::string& name) {
  test::Random random(5);
  const auto in_shapes = [&]<class T, class A, class B, class X>(T, A, B, X) {
    check_distribution<T, A, B, X>(name, random, A::dims, B::dims, X::dims,
                                   sizeof(T) == 4 ? 1e-9 : 1e-13);
  };
  in_shapes(double{}, Shape<40, 1>{}, Shape<41>{}, Shape<40, 41>{});
  in_shapes(double{}, Shape<131>{}, Shape<>{}, Shape<131>{});
  in_shapes(float{}, Shape<2, 3, 37>{}, Shape<2, 3, 37>{}, Shape<2, 3, 37>{});
  in_shapes(float{}, Shape<3, 0, 2>{}, Shape<>{}, Shape<2>{});
  in_shapes(float{}, Shape<>{}, Shape<>{}, Shape<>{});
  for (const std::int64_t batch : {0, 1, 33}) {
    check_distribution<float, Shape<tf::batch, 5>, Shape<5>, Shape<5>>(
        name, random, test::dims({batch, 5}), test::dims({5}), test::dims({5}), 1e-9);
  }
}

}  // namespace

TEST_CASE("erf: values") {
  check("erf", [](long double x) { return std::erf(x); }, [](auto x) { return erf(x); }, 3);
}
TEST_CASE("lgamma: values") {
  check(
      "lgamma",
      [](long double x) -> long double {
        if (std::isinf(x)) return test::infinity;
        return std::lgamma(x);
      },
      [](auto x) { return lgamma(x); }, 4);
}
TEST_CASE("digamma: values") {
  check("digamma", digamma_reference, [](auto x) { return digamma(x); }, 8, 2e-12);
  const double g = std::numbers::egamma;
  const auto close = [](double x, double y) {
    CHECK(std::abs(x - y) <= 1e-15 * std::max(1.0, std::abs(y)));
  };
  close(tf::math::digamma(1.0), -g);
  close(tf::math::digamma(0.5), -g - 2 * std::numbers::ln2);
  close(tf::math::digamma(0.25), -g - std::numbers::pi / 2 - 3 * std::numbers::ln2);
  close(tf::math::digamma(5.0), -g + 25.0 / 12);
  close(tf::math::digamma(-0.5), 2 - g - 2 * std::numbers::ln2);
  CHECK(std::abs(tf::math::digamma(1.4616321449683623413)) < 1e-15);  // its root
}
TEST_CASE("trigamma: values") {
  check("trigamma", trigamma_reference, [](auto x) { return tf::trigamma(x); }, 8, 2e-12);
  const double square = std::numbers::pi * std::numbers::pi;
  const auto close = [](double x, double y) {
    CHECK(std::abs(x - y) <= 1e-15 * std::max(1.0, std::abs(y)));
  };
  close(tf::math::trigamma(1.0), square / 6);
  close(tf::math::trigamma(0.5), square / 2);
  close(tf::math::trigamma(2.0), square / 6 - 1);
  close(tf::math::trigamma(-0.5), square / 2 + 4);
}

TEST_CASE("igamma: values") {
  check_distribution("igamma");
  const auto p = [](double a, double x) { return tf::math::igamma(a, x); };
  // Chi-square's 95th percentiles for 1, 10 and 100 degrees of freedom.
  CHECK(p(0.5, 3.841458820694124 / 2) == doctest::Approx(0.95).epsilon(1e-13));
  CHECK(p(5, 18.307038053275146 / 2) == doctest::Approx(0.95).epsilon(1e-13));
  CHECK(p(50, 124.34211340400407 / 2) == doctest::Approx(0.95).epsilon(1e-13));
  // P(a, a) = 1/2 + 1 / (3 sqrt(2 pi a)) + 1 / (540 a sqrt(2 pi a))... (DLMF 8.11.12)
  for (const double a : {1e4, 1e6, 1e8}) {
    const double root = std::sqrt(2 * std::numbers::pi * a);
    CHECK(std::abs(p(a, a) - (0.5 + 1 / (3 * root) + 1 / (540 * a * root))) < 1e-11);
  }
  CHECK(p(1e-3, 1e-3) == doctest::Approx(0.99311704).epsilon(1e-3));
  CHECK(p(2, test::infinity) == 1);
  CHECK(p(test::infinity, 2) == 0);
  CHECK(p(3, 0) == 0);
  for (const double bad : {0.0, -1.0, test::nan}) CHECK(std::isnan(p(bad, 1)));
  for (const double bad : {-1e-300, -1.0, test::nan}) CHECK(std::isnan(p(1, bad)));
}
TEST_CASE("igammac: values") {
  check_distribution("igammac");
  const auto q = [](double a, double x) { return tf::math::igammac(a, x); };
  for (const double x : {0.1, 3.0, 50.0, 700.0}) {  // small results keep their digits
    CHECK(q(1, x) == doctest::Approx(std::exp(-x)).epsilon(1e-13));
    CHECK(q(0.5, x) == doctest::Approx(std::erfc(std::sqrt(x))).epsilon(1e-13));
    CHECK(q(3, x) == doctest::Approx(std::exp(-x) * (1 + x + x * x / 2)).epsilon(1e-13));
  }
  for (const double a : {0.3, 5.0, 300.0}) {
    for (const double x : {0.2, 4.0, 310.0}) {
      CHECK(std::abs(q(a, x) + tf::math::igamma(a, x) - 1) < 1e-13);
    }
  }
  CHECK(q(2, test::infinity) == 0);
  CHECK(q(test::infinity, 2) == 1);
  CHECK(q(3, 0) == 1);
  for (const double bad : {0.0, -1.0, test::nan}) CHECK(std::isnan(q(bad, 1)));
  for (const double bad : {-1e-300, -1.0, test::nan}) CHECK(std::isnan(q(1, bad)));
}
TEST_CASE("betainc: values") {
  check_distribution("betainc");
  const auto i = [](double a, double b, double x) { return tf::math::betainc(a, b, x); };
  for (const double x : {1e-9, 0.1, 0.5, 0.75, 0.999}) {
    const double tolerance = 1e-14;
    CHECK(std::abs(i(0.5, 0.5, x) - 2 / std::numbers::pi * std::asin(std::sqrt(x))) < tolerance);
    CHECK(std::abs(i(2.5, 1, x) - std::pow(x, 2.5)) < tolerance);
    CHECK(std::abs(i(1, 0.3, x) + std::expm1(0.3 * std::log1p(-x))) < tolerance);
    CHECK(std::abs(i(3.7, 0.2, x) + i(0.2, 3.7, 1 - x) - 1) < 1e-12);
  }
  for (const double a : {0.1, 1.0, 30.0, 1e3, 1e6}) CHECK(std::abs(i(a, a, 0.5) - 0.5) < 1e-12);
  CHECK(i(2, 3, 0) == 0);
  CHECK(i(2, 3, 1) == 1);
  for (const double bad : {0.0, -1.0, test::nan, test::infinity}) {
    CHECK(std::isnan(i(bad, 1, 0.5)));
    CHECK(std::isnan(i(1, bad, 0.5)));
  }
  for (const double bad : {-0.1, 1.1, test::nan}) CHECK(std::isnan(i(1, 1, bad)));
}

TEST_CASE("erf: gradient") {
  check_derivatives([](auto x) { return erf(x); });
  check_second_derivative([](auto x) { return erf(x); });
}
TEST_CASE("lgamma: gradient") {
  check_derivatives([](auto x) { return lgamma(x); }, {0.4, 5});
  check_derivatives([](auto x) { return lgamma(x); }, {-0.8, -0.2}, 1e-6);
  check_second_derivative([](auto x) { return lgamma(x); }, {0.4, 5});
}
TEST_CASE("digamma: gradient") {
  check_derivatives([](auto x) { return digamma(x); }, {0.4, 5}, 1e-6);
  check_derivatives([](auto x) { return digamma(x); }, {-0.8, -0.2}, 1e-6);
}

TEST_CASE("trigamma: gradient") {
  check_derivatives([](auto x) { return tf::trigamma(x); }, {0.4, 5}, 1e-6);
  check_second_derivative([](auto x) { return tf::trigamma(x); }, {0.6, 5}, 1e-5);
}
