// SPDX-License-Identifier: Apache-2.0
#pragma once

// Gradients limited or scaled before an optimiser applies them:
//
//   tf::Adam{}.apply(clip_by_global_norm(gradients(loss), 5))
//
// A sparse gradient stays sparse, unless its slices can't be made one list while the model is
// traced: those of a batch and of 5 indices. What a row was read for several times is added up
// first, so that norms are those of the gradient: see gradient_norms.hpp.

#include <concepts>
#include <limits>

#include "typeflow/ops/elementwise/binary.hpp"
#include "typeflow/ops/elementwise/math.hpp"
#include "typeflow/optimizers/gradient_norms.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

namespace detail {

/// limit / max(norm, limit). A limit that is not above 0 is a mistake of the model.
constexpr AnyExpr shrinking(const UntypedExpr auto& norm, const Scalar& limit) {
  if (!limit.is_expression() && !(limit.value() > 0)) {
    Message message{};
    norm.graph->fail(message << "clipping gradients by a norm: the limit must be more than 0");
  }
  const AnyExpr most = setting(*norm.graph, limit, norm.dtype());
  return most / maximum(norm, most);
}
constexpr AnyExpr scaled(const UntypedExpr auto& gradient, const AnyExpr& factor) {
  return map_values(gradient,
                    [&](const AnyExpr& x) { return x * cast_to(factor, gradient.dtype()); });
}

}  // namespace detail

/// Every element limited to [low, high], which hold 0. (Other numbers are a mistake of the model.)
constexpr Gradients clip_by_value(const std::same_as<Gradients> auto& gradients, const Scalar& low,
                                  const Scalar& high) {
  const bool holds_zero =
      (low.is_expression() || low.value() <= 0) && (high.is_expression() || high.value() >= 0);
  return gradients.map([&](const AnyVariable&, const AnyExpr& gradient) {
    if (!holds_zero) {
      Message message{};
      gradient.graph->fail(message << "clip_by_value(gradients, low, high): 0 must lie between low "
                                      "and high");
    }
    return map_values(detail::distinct_rows(gradient), [&](const AnyExpr& x) {
      return clip_by_value(x, setting(*x.graph, low, x.dtype()),
                           setting(*x.graph, high, x.dtype()));
    });
  });
}

/// Each gradient scaled down to the norm `limit` if its own is larger.
constexpr Gradients clip_by_norm(const std::same_as<Gradients> auto& gradients,
                                 const Scalar& limit) {
  return gradients.map([&](const AnyVariable&, const AnyExpr& gradient) {
    const AnyExpr rows = detail::distinct_rows(gradient);
    return detail::scaled(rows, detail::shrinking(detail::norm_of_rows(rows), limit));
  });
}

/// The same where the norm divided by the variable's number of elements is larger.
constexpr Gradients clip_by_average_norm(const std::same_as<Gradients> auto& gradients,
                                         const Scalar& limit) {
  return gradients.map([&](const AnyVariable& variable, const AnyExpr& gradient) {
    const AnyExpr rows = detail::distinct_rows(gradient);
    const auto count = static_cast<double>(count_of(variable.dims()).coefficient);
    const AnyExpr norm = detail::norm_of_rows(rows) / count;
    return detail::scaled(rows, detail::shrinking(norm, limit));
  });
}

/// All gradients scaled by limit / max(norm, limit), with the norm of all together, as
/// global_norm(gradients) is. (Pascanu, Mikolov and Bengio, 2013.) If that is NaN or infinite, all
/// become NaN, as TensorFlow's: a step with them is no small one that hides the mistake.
constexpr Gradients clip_by_global_norm(const std::same_as<Gradients> auto& gradients,
                                        const Scalar& limit) {
  const Gradients rows = detail::distinct_rows_of_all(gradients);
  const AnyExpr norm = detail::norm_of_rows(rows);
  const AnyExpr factor =
      where(less(norm, std::numeric_limits<double>::infinity()), detail::shrinking(norm, limit),
            std::numeric_limits<double>::quiet_NaN());
  return rows.map([&](const AnyVariable&, const AnyExpr& gradient) {
    return detail::scaled(gradient, factor);
  });
}

/// The gradients of these variables multiplied by a factor: a rate of their own.
constexpr Gradients multiply(const std::same_as<Gradients> auto& gradients,
                             const VariableList& variables, const Scalar& factor) {
  return gradients.map([&](const AnyVariable& variable, const AnyExpr& gradient) {
    bool listed = false;
    for (const AnyVariable other : variables) listed = listed || other.id() == variable.id();
    if (!listed) return gradient;
    return detail::scaled(gradient, setting(*gradient.graph, factor, gradient.dtype()));
  });
}

}  // namespace typeflow::inline TYPEFLOW_TARGET
