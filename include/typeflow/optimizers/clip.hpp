// SPDX-License-Identifier: Apache-2.0
#pragma once

// Gradients limited or scaled before an optimiser applies them:
//
//   tf::Adam{}.apply(clip_by_global_norm(gradients(loss), 5))
//
// A sparse gradient stays sparse, unless its slices can't be made one list while the model is
// traced: those of a batch and of 5 indices. What a row was read for several times is added up
// first, so that norms are those of the gradient. (TensorFlow takes those of the parts.)

#include <concepts>
#include <limits>

#include "typeflow/ops/elementwise/binary.hpp"
#include "typeflow/ops/elementwise/math.hpp"
#include "typeflow/optimizers/optimizer.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

namespace detail {

/// A sparse gradient as slices of which no two have the same row, but for some that are zero; a
/// dense one as it is.
template <UntypedExpr X>
constexpr X distinct_rows(const X& gradient) {
  const Pool<Slices> slices = slices_of(gradient);
  if (slices.empty()) return gradient;
  const SummedRows rows = listed_rows(gradient, slices);
  if (!rows.indices.exists()) return 1 * gradient;  // no sum of slices: dense
  const X indices = rows.indices;
  const X values = rows.values;
  const Extent n = indices.dims().extent[0];
  const auto [ids, group, count] = unique(indices, n);
  // Behind the distinct rows the sums are zeros: of the first row.
  const X place = index_along(*gradient.graph, indices.dims(), 0);
  const X row = where(less(place, X{count}), place, 0);
  return apply(ops::IndexedSlices{{}, gradient.dims().extent[0], rows.indexing},
               gather(X{ids}, row, 0, 0), unsorted_segment_sum(values, X{group}, n));
}

/// The sum of the squares of a gradient of distinct rows, in double if it is one, else in float.
constexpr AnyExpr sum_of_squares(const UntypedExpr auto& gradient) {
  const DType type = gradient.dtype() == DType::float64 ? DType::float64 : DType::float32;
  const Pool<Slices> slices = slices_of(gradient);
  const AnyExpr x = slices.empty() ? gradient : AnyExpr{gradient.graph, slices[0].values};
  return sum(square(cast_to(x, type)));
}

/// limit / max(norm, limit).
constexpr AnyExpr shrinking(const UntypedExpr auto& norm, const Scalar& limit) {
  const AnyExpr most = setting(*norm.graph, limit, norm.dtype());
  return most / maximum(norm, most);
}
constexpr AnyExpr scaled(const UntypedExpr auto& gradient, const AnyExpr& factor) {
  return map_values(gradient,
                    [&](const AnyExpr& x) { return x * cast_to(factor, gradient.dtype()); });
}

}  // namespace detail

/// Every element limited to [low, high], which hold 0.
constexpr Gradients clip_by_value(const std::same_as<Gradients> auto& gradients, const Scalar& low,
                                  const Scalar& high) {
  return gradients.map([&](const AnyVariable&, const AnyExpr& gradient) {
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
    return detail::scaled(rows, detail::shrinking(sqrt(detail::sum_of_squares(rows)), limit));
  });
}

/// The same where the norm divided by the variable's number of elements is larger.
constexpr Gradients clip_by_average_norm(const std::same_as<Gradients> auto& gradients,
                                         const Scalar& limit) {
  return gradients.map([&](const AnyVariable& variable, const AnyExpr& gradient) {
    const AnyExpr rows = detail::distinct_rows(gradient);
    const auto count = static_cast<double>(count_of(variable.dims()).coefficient);
    const AnyExpr norm = sqrt(detail::sum_of_squares(rows)) / count;
    return detail::scaled(rows, detail::shrinking(norm, limit));
  });
}

/// All gradients scaled by limit / max(norm, limit), with the norm of all together, as
/// global_norm(gradients) is. (Pascanu, Mikolov and Bengio, 2013.) If that is NaN or infinite, all
/// become NaN, as TensorFlow's: a step with them is no small one that hides the mistake.
constexpr Gradients clip_by_global_norm(const std::same_as<Gradients> auto& gradients,
                                        const Scalar& limit) {
  const Gradients rows = gradients.map(
      [&](const AnyVariable&, const AnyExpr& gradient) { return detail::distinct_rows(gradient); });
  DType type = DType::float32;
  for (const auto& [variable, gradient] : rows) {
    if (variable.dtype() == DType::float64) type = DType::float64;
  }
  AnyExpr total = detail::literal_node(*gradients.graph, type, 0);
  for (const auto& [variable, gradient] : rows) {
    total = total + cast_to(detail::sum_of_squares(gradient), type);
  }
  const AnyExpr norm = sqrt(total);
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
