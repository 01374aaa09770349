// SPDX-License-Identifier: Apache-2.0

// Gradients of igamma, igammac and betainc, and igammainv, igammacinv and betaincinv: against
// SciPy's values, differences of 40 digits (peers/distributions.py) and central differences.

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "peers/distributions.hpp"
#include "support/check_gradients.hpp"
#include "typeflow/operations.hpp"
#include "typeflow/testing.hpp"

namespace {

namespace tf = typeflow;
namespace math = tf::math;
using tf::Shape;
using namespace tf::testing;

constexpr double infinity = std::numeric_limits<double>::infinity();
const std::vector<double> shapes = {0.01, 0.3, 1, 2.5, 30, 1e4};
const std::vector<double> probabilities = {1e-10, 0.01, 0.5, 0.99, 1 - 1e-10};

void check_close(double y, double expected, double relative) {
  CAPTURE(y);
  CAPTURE(expected);
  // Below 1e-300 SciPy gives the smallest normal number.
  CHECK(std::abs(y - expected) <= relative * std::abs(expected) + 1e-300);
}
const std::vector<double>& values(const std::string& name) {
  return distribution_values::expected.at(name);
}

constexpr test::Range range{0.2, 0.9};

/// Kernels and interpreter at random numbers and ends: the same as the function of doubles.
template <class F, class Reference>
void check_kernels(const F& f, const Reference& reference) {
  const auto check =
      check_values<Elements<float, double, tf::float16>, Inputs<Shape<tf::batch, 17>, Shape<17>>,
                   Inputs<Shape<0>, Shape<>>>(
          f, reference, {.ranges = {{0.5, 8}, {0.05, 0.95}}, .also = {0, -0., 1, 0.5, -1, 2, NAN}});
  INFO(check.worst);
  CHECK(check.largest_error <= 8);
}

}  // namespace

TEST_CASE("igammainv: values") {
  std::size_t i = 0;
  for (const double a : shapes) {
    for (const double p : probabilities) {
      check_close(math::igammainv(a, p), values("inverses/igammainv")[i++], 1e-9);
    }
  }
  for (const double bad : {0.0, -1.0, double{NAN}}) CHECK(std::isnan(math::igammainv(bad, 0.5)));
  for (const double bad : {-1e-300, 1.1, double{NAN}}) CHECK(std::isnan(math::igammainv(1.0, bad)));
  CHECK(math::igammainv(2.0, 0.0) == 0);
  CHECK(math::igammainv(2.0, 1.0) == infinity);
  check_kernels([](auto a, auto p) { return tf::igammainv(a, p); },
                [](double a, double p) { return math::igammainv(a, p); });
}
TEST_CASE("igammacinv: values") {
  std::size_t i = 0;
  for (const double a : shapes) {
    for (const double q : probabilities) {
      check_close(math::igammacinv(a, q), values("inverses/igammacinv")[i++], 1e-9);
    }
  }
  for (const double bad : {-1e-300, 1.1, double{NAN}})
    CHECK(std::isnan(math::igammacinv(1.0, bad)));
  CHECK(math::igammacinv(2.0, 0.0) == infinity);
  CHECK(math::igammacinv(2.0, 1.0) == 0);
  // Q(1, x) = e^-x: far out, too
  for (const double x : {1.0, 30.0, 700.0})
    check_close(math::igammacinv(1.0, std::exp(-x)), x, 1e-13);
  check_kernels([](auto a, auto q) { return tf::igammacinv(a, q); },
                [](double a, double q) { return math::igammacinv(a, q); });
}
TEST_CASE("betaincinv: values") {
  std::size_t i = 0;
  for (const double a : shapes) {
    for (const double b : shapes) {
      for (const double p : probabilities) {
        CAPTURE(a);
        CAPTURE(b);
        CAPTURE(p);
        check_close(math::betaincinv(a, b, p), values("inverses/betaincinv")[i++], 1e-8);
      }
    }
  }
  for (const double bad : {0.0, -1.0, infinity, double{NAN}}) {
    CHECK(std::isnan(math::betaincinv(bad, 1.0, 0.5)));
    CHECK(std::isnan(math::betaincinv(1.0, bad, 0.5)));
  }
  for (const double bad : {-1e-300, 1.1, double{NAN}}) {
    CHECK(std::isnan(math::betaincinv(1.0, 1.0, bad)));
  }
  CHECK(math::betaincinv(2.0, 3.0, 0.0) == 0);
  CHECK(math::betaincinv(2.0, 3.0, 1.0) == 1);
  check_close(math::betaincinv(300.0, 1.0, 1e-300), std::pow(1e-300, 1 / 300.0), 1e-13);
  check_kernels([](auto a, auto p) { return tf::betaincinv(a, 2.5, p); },
                [](double a, double p) { return math::betaincinv(a, 2.5, p); });
}

// The functions compute in double, so a float's only error is that of its rounding.
TEST_CASE("inverses of floats are those of doubles, rounded") {
  const std::vector<float> levels = {1e-30f, 1e-10f, 0.01f, 0.3f, 0.5f, 0.99f, 1 - 0x1p-23f};
  const std::vector<float> parameters = {0.03f, 0.3f, 1, 2.5f, 30, 1e4f};
  const auto check = [&](float y, const std::string& name, std::size_t i) {
    const double expected = values(name)[i];
    CAPTURE(name);
    CAPTURE(i);
    CAPTURE(y);
    CAPTURE(expected);
    // Numbers that are no floats: 0 or infinite, or denormal
    CHECK(std::abs(static_cast<double>(y) - expected) <= 7e-8 * std::abs(expected) + 1e-45);
  };
  std::size_t i = 0;
  for (const float a : parameters) {
    for (const float p : levels) {
      check(tf::ops::Igammainv{}(a, p), "inverses/float_igammainv", i);
      check(tf::ops::Igammacinv{}(a, p), "inverses/float_igammacinv", i);
      ++i;
    }
  }
  i = 0;
  for (const float a : parameters) {
    for (const float b : parameters) {
      for (const float p : levels) {
        CAPTURE(a);
        CAPTURE(b);
        CAPTURE(p);
        check(tf::ops::Betaincinv{}(a, b, p), "inverses/float_betaincinv", i++);
      }
    }
  }
}

TEST_CASE("derivatives for parameters have the digits of differences of 40 digits") {
  const auto& gammas = values("slopes/gamma_points");
  for (std::size_t i = 0; 2 * i < gammas.size(); ++i) {
    CAPTURE(i);
    check_close(math::igamma_slope(gammas[2 * i], gammas[2 * i + 1]), values("slopes/igamma")[i],
                1e-9);
  }
  const auto& betas = values("slopes/beta_points");
  for (std::size_t i = 0; 3 * i < betas.size(); ++i) {
    CAPTURE(i);
    const double a = betas[3 * i];
    const double b = betas[3 * i + 1];
    const double x = betas[3 * i + 2];
    check_close(math::betainc_slope(a, b, x, false), values("slopes/betainc_a")[i], 1e-9);
    check_close(math::betainc_slope(a, b, x, true), values("slopes/betainc_b")[i], 1e-9);
  }
  CHECK(math::igamma_slope(2.0, 0.0) == 0);
  CHECK(math::igamma_slope(2.0, infinity) == 0);
  CHECK(std::isnan(math::igamma_slope(-1.0, 1.0)));
  CHECK(std::isnan(math::gamma_density(1.0, -1.0)));
  CHECK(math::gamma_density(1.0, 0.0) == 1);
  CHECK(math::beta_density(1.0, 3.0, 0.0) == 3);
  CHECK(math::betainc_slope(2.0, 3.0, 1.0, true) == 0);
  CHECK(std::isnan(math::betainc_slope(2.0, 3.0, 1.5, true)));
}

TEST_CASE("igamma: gradient") {
  for (const test::Range r : {range, test::Range{2, 9}}) {
    test::check_gradients<Shape<3>, Shape<2, 3>>([](auto a, auto x) { return igamma(a, x); }, r,
                                                 1e-6);
  }
  // The second derivative for x, whose operations have gradients.
  test::check_gradients<Shape<3>>([](auto x) { return gradients(sum(igamma(2.5, x)), x); }, range,
                                  1e-6);
}
TEST_CASE("igammac: gradient") {
  test::check_gradients<Shape<3>, Shape<2, 3>>([](auto a, auto x) { return igammac(a, x); }, range,
                                               1e-6);
}
TEST_CASE("betainc: gradient") {
  test::check_gradients<Shape<3>, Shape<1>, Shape<2, 3>>(
      [](auto a, auto b, auto x) { return betainc(a, 3 * b, x); }, range, 1e-6);
  test::check_gradients<Shape<3>>([](auto x) { return gradients(sum(betainc(2.5, 0.7, x)), x); },
                                  range, 1e-6);
}
TEST_CASE("igammainv: gradient") {
  test::check_gradients<Shape<3>, Shape<2, 3>>(
      [](auto a, auto p) { return tf::igammainv(2 * a, p); }, range, 1e-6);
}
TEST_CASE("igammacinv: gradient") {
  test::check_gradients<Shape<3>, Shape<2, 3>>(
      [](auto a, auto q) { return tf::igammacinv(2 * a, q); }, range, 1e-6);
}
TEST_CASE("betaincinv: gradient") {
  test::check_gradients<Shape<3>, Shape<1>, Shape<2, 3>>(
      [](auto a, auto b, auto p) { return tf::betaincinv(2 * a, 3 * b, p); }, range, 1e-6);
}
