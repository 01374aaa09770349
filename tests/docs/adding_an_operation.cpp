// SPDX-License-Identifier: Apache-2.0

// The tests of docs/adding_an_operation.md, whose snippets are parts of this file and of the header
// with the operations.
//
// It is a test twice: with CORRECTED defined it runs, and without it must not compile, with the
// messages that its lines state.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <typeflow/testing.hpp>
#include <typeflow/typeflow.hpp>

#include "adding_an_operation.hpp"

namespace {

/// A reference that is given rows, along the last axis, and returns a number for each.
template <class F>
auto of_rows(const F& f) {
  return [f](const tf::HostTensor& x) {
    const int rank = x.dims.rank;
    const std::int64_t n = x.dims.extent[rank - 1];
    tf::HostTensor y = tf::host_tensor(x.dtype, reduced(x.dims, 1u << (rank - 1), false));
    for (std::int64_t row = 0; row < y.size(); ++row) {
      std::vector<double> elements;
      for (std::int64_t i = 0; i < n; ++i) elements.push_back(x.value(row * n + i));
      y.set(row, f(elements));
    }
    return y;
  };
}

double mean(const std::vector<double>& row) {
  double sum = 0;
  for (const double x : row) sum += x;
  return sum / static_cast<double>(row.size());
}
double variance(const std::vector<double>& row) {
  double squares = 0;
  for (const double x : row) squares += std::pow(x - mean(row), 2);
  return squares / static_cast<double>(row.size());
}

/// The largest error of the gradients of f for a (2,3) tensor.
template <class F>
double gradient_error(const F& f) {
  return tf::testing::check_gradients<tf::Shape<2, 3>>(f).largest_error;
}

}  // namespace

TEST_CASE("soft_threshold: values") {
  const auto check = tf::testing::check_values<tf::testing::Elements<float, double>, tf::Shape<>,
                                               tf::Shape<0, 3>, tf::Shape<tf::batch, 37>>(
      [](auto x) { return acme::soft_threshold(x, 0.5f); },
      [](double x) { return std::copysign(std::max(std::abs(x) - 0.5, 0.), x); },
      {.also = {NAN, INFINITY, -INFINITY, -0.}});
  INFO(check.worst);
  CHECK(check.largest_error <= 1);
}
TEST_CASE("soft_threshold: gradient") {
  CHECK(gradient_error([](auto t) { return acme::soft_threshold(t, 0.5f); }) < 1e-6);
}
TEST_CASE("soft_threshold: what it is the same as") {
  tf::Graph g;
  auto t = placeholder<float, 3>(g, "t");
  auto y = acme::soft_threshold(t, 0);
  tf::Pool<tf::Id> roots;
  roots.push(y.id());
  const tf::ir::Simplified simplified = tf::ir::simplify(std::move(g), roots);
  CHECK(simplified.map[y.id()] == t.id());
}

TEST_CASE("peak: values") {
  const auto check = tf::testing::check_values<tf::testing::Elements<float, double>,
                                               tf::Shape<4, 1>, tf::Shape<tf::batch, 37>>(
      [](auto x) { return acme::peak<1>(x); }, of_rows([](const std::vector<double>& row) {
        return *std::max_element(row.begin(), row.end(), [](double a, double b) {
          return std::abs(a) < std::abs(b) || (a == -b && a < b);
        });
      }));
  INFO(check.worst);
  CHECK(check.largest_error == 0);
}
TEST_CASE("peak: gradient") {
  CHECK(gradient_error([](auto t) { return acme::peak<1>(t); }) < 1e-6);
  CHECK(gradient_error([](auto t) { return acme::peak(t); }) < 1e-6);
}

TEST_CASE("standardize: values") {
  const auto check = tf::testing::check_values<tf::Shape<tf::batch, 37>>(
      [](auto x) { return acme::standardize(x); },
      [](const tf::HostTensor& x) {
        const tf::HostTensor means = of_rows(mean)(x);
        const tf::HostTensor variances = of_rows(variance)(x);
        tf::HostTensor y = x;
        for (std::int64_t i = 0; i < x.size(); ++i) {
          const double deviation = std::sqrt(variances.value(i / 37) + 1e-5);
          y.set(i, (x.value(i) - means.value(i / 37)) / deviation);
        }
        return y;
      });
  INFO(check.worst);
  CHECK(check.largest_error <= 16);
}
TEST_CASE("standardize: gradient") {
  CHECK(gradient_error([](auto t) { return acme::standardize<0>(t); }) < 1e-6);
}

TEST_CASE("a contraction of one's own: values, with a bias and relu on its tile") {
  const auto check = tf::testing::check_values<
      tf::testing::Inputs<tf::Shape<9>, tf::Shape<3, 5>, tf::Shape<5>>,
      tf::testing::Inputs<tf::Shape<300>, tf::Shape<16, 70>, tf::Shape<70>>>(
      [](auto x, auto b, auto bias) { return relu(apply(acme::WindowProduct{}, x, b) + bias); },
      [](const tf::HostTensor& x, const tf::HostTensor& b, const tf::HostTensor& bias) {
        const std::int64_t depth = b.dims[0];
        const std::int64_t columns = b.dims[1];
        tf::HostTensor y = tf::host_tensor(x.dtype, tf::Dims{2, {x.dims[0] - depth + 1, columns}});
        for (std::int64_t i = 0; i < y.size(); ++i) {
          double sum = bias.value(i % columns);
          for (std::int64_t k = 0; k < depth; ++k) {
            sum += x.value(i / columns + k) * b.value(k * columns + i % columns);
          }
          y.set(i, std::max(sum, 0.));
        }
        return y;
      });
  INFO(check.worst);
  CHECK(check.largest_error <= 16);
}
TEST_CASE("mean_variance: values") {
  using Types = tf::testing::Elements<float, double>;
  const auto means = tf::testing::check_values<Types, tf::Shape<37>, tf::Shape<2, tf::batch, 5>>(
      [](auto x) { return acme::mean_variance(x)[0]; }, of_rows(mean));
  INFO(means.worst);
  CHECK(means.largest_error <= 16);
  const auto variances =
      tf::testing::check_values<Types, tf::Shape<37>, tf::Shape<2, tf::batch, 5>>(
          [](auto x) { return acme::mean_variance(x)[1]; }, of_rows(variance));
  INFO(variances.worst);
  CHECK(variances.largest_error <= 16);
}
TEST_CASE("mean_variance: gradient") {
  CHECK(gradient_error([](auto t) { return acme::mean_variance(t)[0]; }) < 1e-6);
  CHECK(gradient_error([](auto t) { return acme::mean_variance(t)[1]; }) < 1e-6);
  CHECK(gradient_error([](auto t) {
          auto [mean, variance] = acme::mean_variance(t);
          return mean * variance;
        }) < 1e-6);
}

#ifndef CORRECTED
// clang-format off
constexpr void mistakes(tf::Graph& g) {
  auto n = placeholder<std::int32_t, 2, 3>(g, "n");
  auto f = placeholder<float, 2, 3>(g, "f");
  auto columns = placeholder<float, 2, tf::batch>(g, "columns");
  acme::soft_threshold(n, 1);    // error: soft_threshold(x, t): x must be floating-point; convert with cast<float>(x)
  acme::peak(n);                 // error: peak(x): x must be floating-point; convert with cast<float>(x)
  acme::peak<2>(f);              // error: peak<axes...>(x): x has no such axis
  acme::standardize<2>(f);       // error: standardize<axis>(x): x has no such axis
  acme::mean_variance(n);        // error: mean_variance(x): x must be float or double, its last axis a number from 1 on
  acme::mean_variance(columns);  // error: mean_variance(x): x must be float or double, its last axis a number from 1 on
}
// clang-format on
#endif
