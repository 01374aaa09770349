// SPDX-License-Identifier: Apache-2.0

// zeta, igammac, lbeta: against long sums, finite sums, published values, and gradients of lbeta.

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "typeflow/special_functions.hpp"
#include "typeflow/testing.hpp"

namespace {

namespace tf = typeflow;
namespace testing = tf::testing;
using testing::Elements;
using testing::Inputs;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Many terms, and the rest of the sum as an integral.
double zeta_reference(double x, double q) {
  if (x == 1) return infinity;
  if (!(x > 1) || std::isnan(q)) return NAN;
  if (q <= 0 && q == std::floor(q)) return std::isinf(q) ? NAN : infinity;
  if (q < 0 && x != std::floor(x)) return NAN;
  const int terms = 3000;
  const long double a = terms + static_cast<long double>(q);
  long double sum = 0;
  for (int k = 0; k < terms; ++k) sum += std::pow(k + static_cast<long double>(q), -x);
  return static_cast<double>(sum + std::pow(a, 1 - static_cast<long double>(x)) / (x - 1) +
                             std::pow(a, -x) / 2 + x * std::pow(a, -x - 1) / 12);
}

/// Q(a, x) for whole a: e^-x times the sum of x^k / k! over k < a.
double igammac_reference(double a, double x) {
  if (!(a > 0) || !(x >= 0)) return NAN;
  if (x == 0) return 1;
  if (std::isinf(a)) return std::isinf(x) ? NAN : 1;
  if (std::isinf(x)) return 0;
  long double sum = 0;
  for (int k = 0; k < a; ++k) {
    sum += std::exp(k * std::log(static_cast<long double>(x)) - std::lgamma(k + 1.0L) - x);
  }
  return static_cast<double>(sum);
}

}  // namespace

TEST_CASE("zeta: values") {
  const auto check = testing::check_values<Elements<float, double, tf::float16>,
                                           Inputs<tf::Shape<tf::batch, 17>, tf::Shape<17>>,
                                           Inputs<tf::Shape<0>, tf::Shape<>>>(
      [](auto x, auto q) { return tf::zeta(x, q); }, zeta_reference,
      {.ranges = {{1.05, 8}, {0.3, 9}}, .also = {0, -0., 1, 0.5, 2, 3, -1, NAN}});
  INFO(check.worst);
  CHECK(check.largest_error <= 8);
  const auto close = [](double x, double q, double expected) {
    CAPTURE(x);
    CAPTURE(q);
    CHECK(tf::math::zeta(x, q) == doctest::Approx(expected).epsilon(2e-15));
  };
  const double square = std::numbers::pi * std::numbers::pi;
  close(2, 1, square / 6);
  close(4, 1, square * square / 90);
  close(3, 1, 1.2020569031595942854);  // Apery's constant
  close(2, 0.5, square / 2);
  close(1.5, 1, 2.6123753486854883433);
  close(1 + 0x1p-20, 1, 0x1p20 + std::numbers::egamma + 0.0728158454836767 * 0x1p-20);
  close(40, 1e-3, 1e120);
  close(100, 30, zeta_reference(100, 30));
  close(2, 1e6, 1e-6 + 0.5e-12 + 1e-18 / 6);
  close(2, -0.5, 4 + square / 2);
  close(3, -1.5, -8. / 27 - 8 + 7 * 1.2020569031595942854);
  close(2, -1e6 - 0.5, square - 1 / (1e6 + 1));  // half of all squares but those beyond |q|
  CHECK(tf::math::zeta(300., 1e-3) == infinity);
  CHECK(tf::math::zeta(infinity, 2.) == 0);
  CHECK(tf::math::zeta(infinity, 1.) == 1);
  CHECK(tf::math::zeta(2., infinity) == 0);
}

TEST_CASE("igammac: values") {
  const auto check = testing::check_values<Elements<float, double>,
                                           Inputs<tf::Shape<tf::batch, 17>, tf::Shape<17>>,
                                           Inputs<tf::Shape<0>, tf::Shape<>>>(
      [](auto a, auto x) { return tf::igammac(tf::floor(a), x); },
      [](double a, double x) { return igammac_reference(std::floor(a), x); },
      {.ranges = {{1, 30}, {0.1, 60}}, .also = {0, -1, 3, INFINITY, NAN}});
  INFO(check.worst);
  CHECK(check.largest_error <= 64);
  const auto q = [](double a, double x) { return tf::math::igammac(a, x); };
  CHECK(q(0.5, 3.841458820694124 / 2) == doctest::Approx(0.05).epsilon(1e-12));
  // Far out, where 1 - P would be 0: within 1e-13 of the number itself.
  for (const double x : {50., 100., 300.}) {
    CHECK(q(3, x) == doctest::Approx(std::exp(-x) * (1 + x + x * x / 2)).epsilon(1e-12));
    CHECK(q(0.5, x) == doctest::Approx(std::erfc(std::sqrt(x))).epsilon(1e-12));
  }
  for (const double a : {0.1, 2.5, 30.}) {
    for (const double x : {0.2, 3., 29., 90.}) {
      CHECK(q(a, x) + tf::math::igamma(a, x) == doctest::Approx(1).epsilon(1e-14));
    }
  }
  CHECK(q(3, 0) == 1);
  CHECK(q(3, infinity) == 0);
  CHECK(q(infinity, 3) == 1);
}

TEST_CASE("lbeta: values") {
  const auto check =
      testing::check_values<Elements<float, double, tf::bfloat16>, tf::Shape<tf::batch, 2>,
                            tf::Shape<3, 2>, tf::Shape<2, 0>, tf::Shape<5>>(
          [](auto x) { return tf::lbeta(x); },
          [](const tf::HostTensor& x) {
            const std::int64_t n = x.dims[x.dims.rank - 1];
            tf::HostTensor y =
                tf::host_tensor(x.dtype, x.dims.rank == 1 ? tf::Dims{} : tf::Dims{1, {x.dims[0]}});
            for (std::int64_t row = 0; row < y.size(); ++row) {
              double sum = 0;
              double logarithms = 0;
              for (std::int64_t i = 0; i < n; ++i) {
                sum += x.value(row * n + i);
                logarithms += std::lgamma(x.value(row * n + i));
              }
              y.set(row, logarithms - std::lgamma(sum));
            }
            return y;
          },
          {.ranges = {{0.2, 4}}});
  INFO(check.worst);
  CHECK(check.largest_error <= 16);
}
TEST_CASE("lbeta: gradient") {
  const auto check = testing::check_gradients<tf::Shape<2, 3>>([](auto x) { return tf::lbeta(x); },
                                                               {.low = 0.5, .high = 3});
  INFO(check.worst);
  CHECK(check.largest_error < 1e-6);
}
