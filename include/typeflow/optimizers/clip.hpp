// SPDX-License-Identifier: Apache-2.0
#pragma once

// Limiting or scaling gradients before an optimiser applies them:
//
//   tf::Adam{}.apply(clip_by_global_norm(gradients(loss), 5))
//
// A sparse gradient stays sparse, if its slices can be one list (see gradient_norms.hpp). Slices of
// the same row are added first, so that norms are those of the gradient.

#include <concepts>
#include <limits>

#include "typeflow/ops/elementwise/binary.hpp"
#include "typeflow/ops/elementwise/math.hpp"
#include "typeflow/optimizers/gradient_norms.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// limit / max(norm, limit), and 1 for an infinite limit. The limit must be above 0; otherwise it
/// is a mistake of the model.
constexpr AnyExpr shrinking(const UntypedExpr auto& norm, const Scalar& limit) {
  if (!limit.is_expression() && !(limit.value() > 0)) {
    Message message{};
    norm.graph->fail(message << "clipping gradients by a norm: the limit must be more than 0");
  }
  const AnyExpr most = setting(*norm.graph, limit, norm.dtype());
  return minimum(most / norm, 1);
}
/// A gradient times a factor, which for 16-bit numbers is a float: of large ones the factor may be
/// too small for their type, but not the product.
constexpr AnyExpr scaled(const UntypedExpr auto& gradient, const AnyExpr& factor) {
  return map_values(gradient, [&](const AnyExpr& x) {
    return in_float(x, [&](const auto& v) { return v * cast_to(factor, v.dtype()); });
  });
}

}  // namespace detail

/// Limits every element to [low, high]. The interval must contain 0; otherwise it is a mistake of
/// the model.
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

/// Scales each gradient whose norm is larger than `limit` down to it.
constexpr Gradients clip_by_norm(const std::same_as<Gradients> auto& gradients,
                                 const Scalar& limit) {
  return gradients.map([&](const AnyVariable&, const AnyExpr& gradient) {
    const AnyExpr rows = detail::distinct_rows(gradient);
    return detail::scaled(rows, detail::shrinking(detail::norm_of_rows(rows), limit));
  });
}

/// The same for the norm divided by the variable's number of elements.
constexpr Gradients clip_by_average_norm(const std::same_as<Gradients> auto& gradients,
                                         const Scalar& limit) {
  return gradients.map([&](const AnyVariable& variable, const AnyExpr& gradient) {
    const AnyExpr rows = detail::distinct_rows(gradient);
    const auto count = static_cast<double>(count_of(variable.dims()).coefficient);
    const AnyExpr norm = detail::norm_of_rows(rows) / count;
    return detail::scaled(rows, detail::shrinking(norm, limit));
  });
}

/// Scales all gradients by limit / max(norm, limit), where norm is that of all together,
/// global_norm(gradients). (Pascanu, Mikolov and Bengio, 2013.) If it is NaN or infinite, all
/// gradients become NaN, as in TensorFlow, so that a mistake is not hidden in a small step.
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

/// Multiplies the gradients of these variables by a factor, which gives them a rate of their own.
constexpr Gradients multiply(const std::same_as<Gradients> auto& gradients,
                             const VariableList& variables, const Scalar& factor) {
  return gradients.map([&](const AnyVariable& variable, const AnyExpr& gradient) {
    bool listed = false;
    for (const AnyVariable other : variables) listed = listed || other.id() == variable.id();
    if (!listed) return gradient;
    const DType type = gradient.dtype();
    return detail::scaled(gradient, setting(*gradient.graph, factor,
                                            is_half_precision(type) ? DType::float32 : type));
  });
}

}  // namespace typeflow::inline TYPEFLOW_ISA
