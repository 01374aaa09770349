// SPDX-License-Identifier: Apache-2.0
#pragma once

// Small nets as plain loops in double, with the variables of a store.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "support/host_tensors.hpp"
#include "typeflow/runtime/variables.hpp"

namespace test {

using Numbers = std::vector<double>;

inline Numbers random_numbers(std::size_t count, std::uint64_t seed, double low = -1,
                              double high = 1) {
  Random random(seed);
  Numbers out(count);
  for (double& x : out) x = random.uniform(low, high);
  return out;
}
inline std::vector<float> as_floats(const Numbers& x) { return {x.begin(), x.end()}; }
template <class Tensor>
Numbers as_numbers(const Tensor& x) {
  return {x.data(), x.data() + x.size()};
}

/// A variable of floats.
inline Numbers variable(const tf::Variables& variables, const std::string& name) {
  return as_numbers(variables.get<float>(name));
}

/// x W + b of rows x, with W and b of the layer `name`.
inline Numbers dense(const Numbers& x, const tf::Variables& variables, const std::string& name) {
  const Numbers W = variable(variables, name + "/W");
  const Numbers b = variable(variables, name + "/b");
  const std::size_t outputs = b.size();
  const std::size_t inputs = W.size() / outputs;
  Numbers y;
  for (std::size_t row = 0; row * inputs < x.size(); ++row) {
    for (std::size_t j = 0; j < outputs; ++j) {
      double total = b[j];
      for (std::size_t k = 0; k < inputs; ++k) total += x[row * inputs + k] * W[k * outputs + j];
      y.push_back(total);
    }
  }
  return y;
}
template <class F>
Numbers map(Numbers x, const F& f) {
  for (double& e : x) e = f(e);
  return x;
}
inline Numbers relu(const Numbers& x) {
  return map(x, [](double e) { return e > 0 ? e : 0; });
}
inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
inline double softplus(double x) { return std::log1p(std::exp(x)); }

/// The largest difference, relative to numbers of 1 and more; infinite if the sizes differ.
inline double largest_difference(const Numbers& a, const Numbers& b) {
  double largest = a.size() == b.size() ? 0 : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const double here = std::abs(a[i] - b[i]) / std::max(1.0, std::abs(b[i]));
    largest = std::isnan(here) ? std::numeric_limits<double>::infinity() : std::max(largest, here);
  }
  return largest;
}

}  // namespace test
