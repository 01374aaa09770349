// SPDX-License-Identifier: Apache-2.0

// What the distributions of typeflow/random.hpp refuse.

#include "typeflow/graph.hpp"
#include "typeflow/random.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 3>(g, "x");
  auto y = tf::placeholder<float, 2>(g, "y");
  auto wide = tf::placeholder<double, 3>(g, "wide");
  auto n = tf::placeholder<std::int32_t, 3>(g, "n");
  random_gamma(x).named("right");
#ifndef CORRECTED
  // clang-format off
  tf::random_exponential<std::int32_t, 3>(g);  // error: random_exponential<T, D...>: T must be floating-point
  random_gamma(n);                             // error: random_gamma(alpha): alpha must be floating-point; convert with cast<float>(alpha)
  random_beta(n, n);                           // error: random_beta(a, b): a and b must be floating-point; convert with cast<float>(a)
  random_beta(x, wide);                        // error: random_beta(a, b): the element types must be equal; convert with cast<T>(b)
  random_beta(x, y);                           // error: random_beta(a, b): the shapes do not broadcast
  random_poisson(n);                           // error: random_poisson(rate): the rate must be floating-point; convert with cast<float>(rate)
  random_binomial(n, n);                       // error: random_binomial(n, p): n and p must be floating-point; convert with cast<float>(n)
  random_binomial(x, wide);                    // error: random_binomial(n, p): the element types must be equal; convert with cast<T>(n)
  random_binomial(x, y);                       // error: random_binomial(n, p): the shapes do not broadcast
  random_von_mises(n);                         // error: random_von_mises(concentration): the concentration must be floating-point; convert with cast<float>(concentration)
  // clang-format on
#endif
}
