// SPDX-License-Identifier: Apache-2.0

// Bessel functions against their integral, polygamma against its series and published values.

#include <numbers>

#include "support/check_function.hpp"

namespace {

namespace tf = typeflow;
using test::infinity;

struct Functions {
  template <class T, class S>
  static constexpr void model(tf::Graph& g) {
    auto x = test::input<T, S>(g, "x");
    bessel_i0(x).named("bessel_i0");
    bessel_i1(x).named("bessel_i1");
    bessel_i0e(x).named("bessel_i0e");
    bessel_i1e(x).named("bessel_i1e");
    tf::polygamma<2>(x).named("polygamma_2");
    tf::polygamma<5>(x).named("polygamma_5");
  }
};

constexpr long double pi = std::numbers::pi_v<long double>;

/// The mean of e^(x cos t - |x|) cos(n t) over a circle, by the trapezoidal rule, which is exact to
/// the last digit for periodic functions; for large x by the first terms of Hankel's expansion.
long double scaled_bessel(int n, long double x) {
  if (std::isinf(x)) return x < 0 && n == 1 ? -0.0L : 0;
  const long double size = std::abs(x);
  if (size > 1000) {
    const long double m = 4 * n;
    const long double z = 8 * size;
    const long double sum = 1 - (m - 1) / z + (m - 1) * (m - 9) / (2 * z * z) -
                            (m - 1) * (m - 9) * (m - 25) / (6 * z * z * z) +
                            (m - 1) * (m - 9) * (m - 25) * (m - 49) / (24 * z * z * z * z);
    return (x < 0 && n == 1 ? -sum : sum) / std::sqrt(2 * pi * size);
  }
  const int count = 400;
  long double sum = 0;
  for (int k = 0; k < count; ++k) {
    const long double t = 2 * pi * k / count;
    sum += std::exp(x * std::cos(t) - size) * std::cos(n * t);
  }
  return sum / count;
}
template <int N>
long double bessel(long double x) {
  if (std::isinf(x)) return N == 1 ? x : infinity;
  return scaled_bessel(N, x) * std::exp(std::abs(x));
}
template <int N>
long double exponentially_scaled(long double x) {
  return scaled_bessel(N, x);
}

/// (-1)^(n+1) n! times the sum of (x + k)^-(n+1), the rest of it as an integral with a correction.
template <int N>
long double polygamma(long double x) {
  if (x == 0) return N % 2 == 1 ? infinity : std::signbit(x) ? infinity : -infinity;
  if (std::isinf(x)) return x > 0 ? (N % 2 == 1 ? 0.0L : -0.0L) : test::nan;
  if (x < 0 && x == std::floor(x)) return N % 2 == 1 ? infinity : test::nan;
  if (x < -50) {  // reflection, with the derivatives of the cotangent written down
    const long double angle = pi * (x - std::nearbyint(x));
    const long double c = std::cos(angle) / std::sin(angle);
    const long double s = 1 + c * c;
    static_assert(N == 2 || N == 5);
    return N == 2 ? -2 * pi * pi * pi * c * s + polygamma<N>(1 - x)
                  : std::pow(pi, 6.0L) * s * (16 + 120 * c * c * s) - polygamma<N>(1 - x);
  }
  long double sum = 0;
  const int terms = 4000;
  for (int k = 0; k < terms; ++k) sum += std::pow(x + k, -N - 1.0L);
  const long double end = x + terms;
  sum += std::pow(end, static_cast<long double>(-N)) / N + std::pow(end, -N - 1.0L) / 2 +
         (N + 1) * std::pow(end, -N - 2.0L) / 12;
  for (int k = 2; k <= N; ++k) sum *= k;
  return N % 2 == 1 ? sum : -sum;
}

}  // namespace

TEST_CASE("bessel_i0: values") {
  test::check_function<Functions>("bessel_i0", bessel<0>, 6);
  CHECK(tf::math::bessel_i(0, false, 1.0) == doctest::Approx(1.2660658777520084).epsilon(1e-15));
  CHECK(std::isfinite(tf::math::bessel_i(0, false, 712.0)));  // e^712 is not
}
TEST_CASE("bessel_i1: values") {
  test::check_function<Functions>("bessel_i1", bessel<1>, 6, {.absolute = 1e-18});
  CHECK(tf::math::bessel_i(1, false, 1.0) == doctest::Approx(0.5651591039924851).epsilon(1e-15));
  CHECK(tf::math::bessel_i(1, false, 1e-20) == 5e-21);
}
TEST_CASE("bessel_i0e: values") {
  test::check_function<Functions>("bessel_i0e", exponentially_scaled<0>, 6);
}
TEST_CASE("bessel_i1e: values") {
  test::check_function<Functions>("bessel_i1e", exponentially_scaled<1>, 6, {.absolute = 1e-18});
}
TEST_CASE("polygamma: values") {
  // Rounding of x counts as its distance from a pole.
  const test::FunctionOptions positive{.range = {0, 30}, .absolute = 1e-14};
  test::check_function<Functions>("polygamma_2", polygamma<2>, 40, positive);
  test::check_function<Functions>("polygamma_5", polygamma<5>, 40, positive);
  const auto close = [](double x, double y) {
    CHECK(std::abs(x - y) <= 4e-15 * std::max(1.0, std::abs(y)));
  };
  const double zeta_3 = 1.2020569031595942854;
  close(tf::math::polygamma(1, 1.0), std::numbers::pi * std::numbers::pi / 6);
  close(tf::math::polygamma(2, 1.0), -2 * zeta_3);
  close(tf::math::polygamma(2, 0.5), -14 * zeta_3);
  close(tf::math::polygamma(3, 1.0), std::pow(std::numbers::pi, 4) / 15);
  close(tf::math::polygamma(3, 0.5), std::pow(std::numbers::pi, 4));
  close(tf::math::polygamma(3, -0.5), std::pow(std::numbers::pi, 4) + 96);
  close(tf::math::polygamma(2, -0.5), -14 * zeta_3 + 16);
  // n! zeta(n + 1), of which the second factor is 1
  close(tf::math::polygamma(60, 1.0), -std::tgamma(61.0));
  CHECK(tf::math::polygamma(1, 1e300) == 1e-300);
}

TEST_CASE("bessel_i0: gradient") {
  test::check_derivatives([](auto x) { return bessel_i0(x); });
}
TEST_CASE("bessel_i1: gradient") {
  test::check_derivatives([](auto x) { return bessel_i1(x); });
  CHECK(test::derivative_at([](auto x) { return bessel_i1(x); }, 0) == 0.5);
}
TEST_CASE("bessel_i0e: gradient") {
  test::check_derivatives([](auto x) { return bessel_i0e(x); });
}
TEST_CASE("bessel_i1e: gradient") {
  test::check_derivatives([](auto x) { return bessel_i1e(x); });
  CHECK(test::derivative_at([](auto x) { return bessel_i1e(x); }, 0) == 0.5);
}
TEST_CASE("polygamma: gradient") {
  test::check_derivatives([](auto x) { return tf::polygamma<2>(x); }, {0.8, 5}, 1e-5);
  test::check_derivatives([](auto x) { return tf::polygamma<0>(x); }, {0.8, 5});
}
