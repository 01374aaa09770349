// SPDX-License-Identifier: Apache-2.0
#pragma once

// Adding noise to gradients before an optimiser applies them:
//
//   tf::Adam{}.apply(add_noise(gradients(loss), 0.01))
//
// Source: Neelakantan et al., "Adding gradient noise improves learning for very deep networks",
// arXiv:1511.06807, where the noise shrinks with the step t: the scale sqrt(eta / (1 + t)^0.55).

#include <concepts>

#include "typeflow/ops/random/distributions.hpp"
#include "typeflow/optimizers/clip.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Adds `scale` times standard normal numbers to each gradient; each run draws anew. A sparse
/// gradient gets noise in its rows, once for each row, and stays sparse under the conditions of
/// clip.hpp.
///
/// TensorFlow's contrib.layers.optimize_loss(gradient_noise_scale) draws within two standard
/// deviations, and adds noise to all rows of a sparse gradient.
constexpr Gradients add_noise(const std::same_as<Gradients> auto& gradients, const Scalar& scale) {
  return gradients.map([&](const AnyVariable& variable, const AnyExpr& gradient) {
    const Scope below(variable.graph(), variable);  // what is drawn depends on the variable's path
    const detail::DistinctRows rows = detail::split_rows(gradient);
    return map_values(rows.gradient, [&](const AnyExpr& x) {
      const AnyExpr noise =
          setting(*x.graph, scale, x.dtype()) * random_normal(*x.graph, "", type_of(x));
      return x + (rows.used.exists() ? where(rows.used, noise, 0) : noise);
    });
  });
}

}  // namespace typeflow::inline TYPEFLOW_ISA
