// SPDX-License-Identifier: Apache-2.0

// div_no_nan, truncatemod, approximate_equal: zeros, infinities, NaN, all element types concerned.

#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <concepts>
#include <cstdint>

#include "typeflow/statistics.hpp"
#include "typeflow/testing.hpp"

namespace {

namespace tf = typeflow;
namespace testing = tf::testing;
using testing::Elements;
using testing::Inputs;

}  // namespace

TEST_CASE("div_no_nan: values") {
  const auto check = testing::check_values<Elements<float, double, std::complex<double>>,
                                           Inputs<tf::Shape<tf::batch, 37>, tf::Shape<37>>,
                                           Inputs<tf::Shape<0>, tf::Shape<>>>(
      [](auto x, auto y) { return tf::div_no_nan(x, y); },
      [](auto x, auto y) { return y == decltype(y){} ? decltype(x){} : x / y; },
      {.also = {0, -0., 1, -3, INFINITY, -INFINITY, NAN}});
  INFO(check.worst);
  CHECK(check.largest_error <= 2);
  const auto halves = testing::check_values<Elements<tf::bfloat16, tf::float16>,
                                            Inputs<tf::Shape<9>, tf::Shape<9>>>(
      [](auto x, auto y) { return tf::div_no_nan(x, y); },
      [](double x, double y) { return y == 0 ? 0 : x / y; }, {.also = {0, -0., 1}});
  INFO(halves.worst);
  CHECK(halves.largest_error <= 1);
  const auto by_number = testing::check_values<tf::Shape<5>>(
      [](auto x) { return tf::div_no_nan(x, 0) + tf::div_no_nan(1, x); },
      [](double x) { return x == 0 ? 0 : 1 / x; }, {.also = {0, -0., NAN}});
  INFO(by_number.worst);
  CHECK(by_number.largest_error <= 1);
}

TEST_CASE("div_no_nan: gradient") {
  const auto check = testing::check_gradients<tf::Shape<2, 3>, tf::Shape<3>>(
      [](auto x, auto y) { return tf::div_no_nan(x, y); });
  INFO(check.worst);
  CHECK(check.largest_error < 1e-5);
  // Where y is 0 both slopes are 0, for infinite x, too.
  const auto zeros = testing::check_values<tf::Shape<4>>(
      [](auto x) {
        const auto [dx, dy] = gradients(sum(tf::div_no_nan(x, 0 * tf::sigmoid(x))), x, x);
        return dx + dy;
      },
      [](double) { return 0; }, {.also = {0, 1}});
  INFO(zeros.worst);
  CHECK(zeros.largest_error == 0);
}

TEST_CASE("truncatemod: values") {
  const auto floating = testing::check_values<Elements<float, double, tf::float16, tf::bfloat16>,
                                              Inputs<tf::Shape<tf::batch, 37>, tf::Shape<37>>>(
      [](auto a, auto b) { return tf::truncatemod(a, b); },
      [](double a, double b) { return std::fmod(a, b); },
      {.also = {0, -0., 0.5, 1, -3, 7, INFINITY, -INFINITY, NAN}});
  INFO(floating.worst);
  CHECK(floating.largest_error == 0);
  const auto signs = testing::check_values<Elements<float, double>, tf::Shape<7>>(
      [](auto a) { return 1 / tf::truncatemod(a, 3); },
      [](double a) { return 1 / std::fmod(a, 3); },
      {.ranges = {{1, 2}}, .also = {0, -0., -3, 3, -6, 6}});
  INFO(signs.worst);
  CHECK(signs.largest_error <= 1);
  const auto integers = testing::check_values<
      Elements<std::int8_t, std::int32_t, std::int64_t, std::uint8_t, std::uint32_t, std::int16_t>,
      Inputs<tf::Shape<tf::batch, 37>, tf::Shape<37>>>(
      [](auto a, auto b) { return tf::truncatemod(a, b); },
      [](auto a, auto b) { return b == 0 ? a : static_cast<decltype(a)>(a % b); },
      {.ranges = {{-20, 100}, {-4, 5}}});
  INFO(integers.worst);
  CHECK(integers.largest_error == 0);
}

TEST_CASE("truncatemod: gradient") {
  const auto check = testing::check_gradients<tf::Shape<2, 3>, tf::Shape<3>>(
      [](auto a, auto b) { return tf::truncatemod(a, 5 + b); });
  INFO(check.worst);
  CHECK(check.largest_error < 1e-6);
}

TEST_CASE("approximate_equal: values") {
  const auto check = testing::check_values<Elements<float, double>,
                                           Inputs<tf::Shape<tf::batch, 37>, tf::Shape<37>>,
                                           Inputs<tf::Shape<0>, tf::Shape<0>>>(
      [](auto a, auto b) { return tf::approximate_equal(a, b, 0.25); },
      [](double a, double b) { return std::abs(a - b) < 0.25; },
      {.also = {0, 0.25, 0.125, 2, INFINITY, -INFINITY, NAN}});
  INFO(check.worst);
  CHECK(check.largest_error == 0);
  const auto by_default = testing::check_values<Elements<double>, tf::Shape<4>>(
      [](auto a) { return tf::approximate_equal(a, 1); },
      [](double a) { return std::abs(a - 1) < 1e-5; }, {.also = {1, 1.00002, 1.000005}});
  INFO(by_default.worst);
  CHECK(by_default.largest_error == 0);
}
