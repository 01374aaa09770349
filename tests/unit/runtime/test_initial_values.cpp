// SPDX-License-Identifier: Apache-2.0

// What initialisers fill variables with.

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <vector>

#include <typeflow/front/initializers.hpp>
#include <typeflow/runtime/variables.hpp>

#include "support/check_random.hpp"

namespace {

namespace tf = typeflow;

std::vector<double> filled(const tf::Dims& dims, const tf::Initializer& how,
                           std::uint64_t seed = 1) {
  std::vector<double> x(static_cast<std::size_t>(tf::count_of(dims).coefficient));
  tf::VariableEntry entry{tf::DType::float64, dims, std::as_writable_bytes(std::span(x))};
  tf::detail::reset_variable(entry, tf::hash("W"), how, seed);
  return x;
}

double normal_cdf(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }
double truncated_cdf(double x) {
  return (normal_cdf(x) - normal_cdf(-2)) / (1 - 2 * normal_cdf(-2));
}
double uniform_cdf(double x) { return (x + 1) / 2; }

/// The numbers divided by one.
std::vector<double> over(std::vector<double> x, double scale) {
  for (double& e : x) e /= scale;
  return x;
}

}  // namespace

TEST_CASE("variance_scaling has the variance scale / fan in each distribution") {
  using Fan = tf::Initializer::Fan;
  using Distribution = tf::Initializer::Distribution;
  const tf::Dims matrix{2, {50, 150}};
  const tf::Dims filter{4, {3, 3, 16, 32}};
  CHECK(test::follows(over(filled(matrix, tf::glorot_uniform), std::sqrt(6. / 200)), uniform_cdf));
  CHECK(test::follows(over(filled(matrix, tf::he_uniform), std::sqrt(6. / 50)), uniform_cdf));
  CHECK(test::follows(over(filled(filter, tf::lecun_uniform), std::sqrt(3. / 144)), uniform_cdf));
  const double truncated = 0.87962566;  // the deviation within two deviations
  CHECK(test::follows(over(filled(matrix, tf::glorot_normal), std::sqrt(2. / 200) / truncated),
                      truncated_cdf));
  CHECK(test::follows(over(filled(filter, tf::he_normal), std::sqrt(2. / 144) / truncated),
                      truncated_cdf));
  CHECK(test::follows(over(filled(matrix, tf::lecun_normal), std::sqrt(1. / 50) / truncated),
                      truncated_cdf));
  CHECK(test::follows(over(filled(filter, tf::variance_scaling(3, Fan::out, Distribution::normal)),
                           std::sqrt(3. / 288)),
                      normal_cdf));
  CHECK(test::follows(filled(filter, tf::normal()), normal_cdf));
}

TEST_CASE("orthogonal gives orthonormal rows or columns, times a gain") {
  for (const tf::Dims& dims : {tf::Dims{2, {7, 4}}, tf::Dims{2, {4, 7}}, tf::Dims{2, {40, 40}},
                               tf::Dims{4, {3, 3, 2, 5}}, tf::Dims{1, {6}}}) {
    const std::vector<double> q = filled(dims, tf::orthogonal(3));
    const auto columns = static_cast<std::size_t>(dims[dims.rank - 1]);
    const std::size_t rows = q.size() / columns;
    const bool wide = rows < columns;
    const std::size_t count = wide ? rows : columns;
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = 0; b < count; ++b) {
        double product = 0;
        for (std::size_t k = 0; k < (wide ? columns : rows); ++k) {
          product += wide ? q[a * columns + k] * q[b * columns + k]
                          : q[k * columns + a] * q[k * columns + b];
        }
        CHECK(product == doctest::Approx(a == b ? 9 : 0).epsilon(1e-13));
      }
    }
  }
  CHECK(filled(tf::Dims{2, {0, 3}}, tf::orthogonal()).empty());
  CHECK(filled(tf::Dims{2, {7, 4}}, tf::orthogonal()) !=
        filled(tf::Dims{2, {7, 4}}, tf::orthogonal(), 2));
}

TEST_CASE("orthogonal matrices are uniform: so are the angles of plane ones, and their sign") {
  std::vector<double> angles;
  int turns = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const std::vector<double> q = filled(tf::Dims{2, {2, 2}}, tf::orthogonal(), seed);
    angles.push_back(std::atan2(q[2], q[0]));
    turns += q[0] * q[3] - q[1] * q[2] > 0;
  }
  CHECK(test::follows(angles, [](double a) { return (a / std::numbers::pi + 1) / 2; }));
  CHECK(std::abs(turns - 1000) < 4 * std::sqrt(500));
}
