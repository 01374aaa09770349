// SPDX-License-Identifier: Apache-2.0
#pragma once

// Activations made of other functions: relu6, leaky_relu, elu. Elementwise operations fuse, so each
// is one pass over the elements all the same.

#include <source_location>

#include "typeflow/ops/elementwise/compare.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

/// min(max(x, 0), 6), elementwise; NaN stays NaN. The gradient is 0 at 0 and at 6, as in
/// TensorFlow. (Krizhevsky, Convolutional deep belief networks on CIFAR-10, 2010.)
template <Tensor X>
constexpr auto relu6(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::real, X>,
                "relu6(x): x must be a tensor of numbers that have an order");
  return minimum(6, relu(x, at), at);  // where they are equal, 6 gets the gradient
}

/// x where x > 0, slope * x elsewhere. (Maas et al., Rectifier nonlinearities improve neural
/// network acoustic models, 2013.)
template <Tensor X>
constexpr auto leaky_relu(const X& x, double slope = 0.2,
                          std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "leaky_relu(x, slope): x must be floating-point; convert with cast<float>(x)");
  const auto positive = greater(x, 0, at);
  return where(positive, x, slope * x, at);
}

/// x where x > 0, e^x - 1 elsewhere. (Clevert et al., Fast and accurate deep network learning by
/// exponential linear units, 2016.)
template <Tensor X>
constexpr auto elu(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "elu(x): x must be floating-point; convert with cast<float>(x)");
  // A sum and no choice between the two: e^x of a large x would be infinite in the gradient.
  return relu(x, at) + expm1(minimum(x, 0, at), at);
}

}  // namespace typeflow::inline TYPEFLOW_TARGET
