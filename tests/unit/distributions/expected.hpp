// SPDX-License-Identifier: Apache-2.0
#pragma once

// Distributions beside SciPy's values of them (peers/distributions.hpp). A model names its results
// as those are named, "normal/log_prob"; the interpreter computes them in double.

#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "peers/distributions.hpp"
#include "typeflow/distributions.hpp"
#include "typeflow/interpret/interpret.hpp"

namespace test {

namespace tf = typeflow;
namespace tfd = tf::distributions;

/// Within 1e-6 of each other, or both NaN or the same infinity.
inline bool near(double x, double y, double tolerance) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  if (std::isinf(x) || std::isinf(y)) return x == y;
  return std::abs(x - y) <= tolerance * std::fmax(1, std::abs(y));
}

/// Checks all expected values whose names begin with one of these folders, "normal/".
template <class Model>
void check_expected(const Model& model, const std::set<std::string>& folders,
                    double tolerance = 1e-6) {
  tf::Graph g;
  model(g);
  const tf::HostTensors results = tf::interpret(g, {}, {}, {7, 0});
  int checked = 0;
  for (const auto& [name, expected] : distribution_values::expected) {
    const std::string folder = name.substr(0, name.find('/'));
    if (!folders.contains(folder) || name.ends_with("/points")) continue;
    CAPTURE(name);
    REQUIRE(results.contains(name));
    const tf::HostTensor& result = results.at(name);
    REQUIRE(static_cast<std::size_t>(result.size()) == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CAPTURE(i);
      CAPTURE(result.value(static_cast<std::int64_t>(i)));
      CAPTURE(expected[i]);
      CHECK(near(result.value(static_cast<std::int64_t>(i)), expected[i], tolerance));
    }
    ++checked;
  }
  CHECK(checked >= 2 * static_cast<int>(folders.size()));
}

/// The constant vector (N), as a column (N,1).
template <std::size_t N>
constexpr auto column(tf::Graph& g, const double (&values)[N]) {
  return tf::constant<double, static_cast<tf::Extent>(N), 1>(g, values);
}

/// Names all that a distribution of numbers has, in the scope `name`, at points (N,1).
template <class D, class X>
constexpr void name_all(tf::Graph& g, tf::Label name, const D& d, const X& x) {
  tf::Scope in(g, name);
  d.log_prob(x).named("log_prob");
  d.prob(x).named("prob");
  d.cdf(x).named("cdf");
  d.log_cdf(x).named("log_cdf");
  d.survival_function(x).named("survival_function");
  d.log_survival_function(x).named("log_survival_function");
  if constexpr (requires { d.quantile(0.5); }) {
    d.quantile(column(g, {1e-9, 0.03, 0.5, 0.8, 0.999})).named("quantile");
  }
  if constexpr (requires { d.entropy(); }) d.entropy().named("entropy");
  if constexpr (requires { d.mode(); }) d.mode().named("mode");
  d.mean().named("mean");
  d.variance().named("variance");
  d.stddev().named("stddev");
}

}  // namespace test
