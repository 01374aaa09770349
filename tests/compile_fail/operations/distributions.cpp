// SPDX-License-Identifier: Apache-2.0

// What the distributions of typeflow/distributions.hpp refuse.

#include "typeflow/graph.hpp"

#include "typeflow/distributions.hpp"

namespace tf = typeflow;
namespace tfd = tf::distributions;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 3>(g, "x");
  auto y = tf::placeholder<float, 2>(g, "y");
  auto wide = tf::placeholder<double, 3>(g, "wide");
  auto n = tf::placeholder<std::int32_t, 3>(g, "n");
  auto m = tf::placeholder<float, 3, 2>(g, "m");
  tfd::Normal d(x, 1);
  tfd::Categorical classes(tfd::logits(x));
  d.log_prob(x).named("right");
#ifndef CORRECTED
  // clang-format off
  d.log_prob(y);                      // error: the shape of x does not broadcast with the batch and event shape of the distribution
  tfd::Normal a(x, y);                // error: the shapes of a distribution's parameters do not broadcast
  tfd::Normal b(x, wide);             // error: the element types of a distribution's parameters must be equal; convert with cast<T>(x)
  tfd::Normal c(n, 1);                // error: a distribution's parameters must be float or double; convert with cast<float>(x)
  kl_divergence(d, classes);          // error: kl_divergence(p, q): no closed form is known for this pair; estimate it from draws x of p as the mean of p.log_prob(x) - q.log_prob(x)
  tfd::independent<2>(d);             // error: independent<n>(distribution): the distribution has fewer batch axes
  tfd::MixtureSameFamily(classes, tfd::Normal(y, 1));  // error: MixtureSameFamily(mixture, components): the last batch axis of the components must have as many elements as the mixture has classes
  tfd::MixtureSameFamily(classes, tfd::Normal(x, 1)).entropy();  // error: MixtureSameFamily.entropy(): no closed form is known; entropy_lower_bound() is at most as large, and the mean of -log_prob(x) over draws x estimates it
  tfd::MixtureSameFamily(classes, tfd::Normal(x, 1)).quantile(0.5f);  // error: MixtureSameFamily.quantile(p) is a loop: include <typeflow/distributions/mixture_quantile.hpp>
  tfd::TransformedDistribution(tfd::Normal(tf::constant<float>(g, 1), 1), tf::bijectors::Affine(x, 2));  // error: TransformedDistribution(base, bijector): the bijector's parameters must broadcast to the base's batch and event shape
  // clang-format on
#endif
}
