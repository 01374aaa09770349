// SPDX-License-Identifier: Apache-2.0
#pragma once

// Norms of gradients. The norm of a sparse gradient costs as much as its rows, unless its slices
// can't be one list. (Slices of lengths batch and 5 cannot: batch + 5 is no extent.) Slices of the
// same row are added first, so that the norm is that of the gradient. (TensorFlow takes the norm of
// the slices: it differs where a row was read twice.)

#include <concepts>

#include "typeflow/ops/elementwise/math.hpp"
#include "typeflow/ops/reduce/norms.hpp"
#include "typeflow/optimizers/optimizer.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// A gradient. If it is sparse, `used` says which elements of its values count: (n,1...) or
/// (N,1...).
struct DistinctRows {
  AnyExpr gradient;
  AnyExpr used{};
};

/// A sparse gradient with distinct rows, behind which may stand unused rows of zeros. A dense
/// gradient as it is.
template <UntypedExpr X>
constexpr DistinctRows split_rows(const X& gradient) {
  const Pool<Slices> slices = slices_of(gradient);
  if (slices.empty()) return {gradient};
  const SummedRows rows = listed_rows(gradient, slices);
  if (!rows.indices.exists()) {  // no sum of slices: dense
    return {1 * gradient, touched_rows(gradient, slices)};
  }
  const X indices = rows.indices;
  const X values = rows.values;
  const Extent n = indices.dims().extent[0];
  const auto [ids, group, count] = unique(indices, n);
  // Behind the distinct rows the sums are zeros; they point to the first row.
  const X place = index_along(*gradient.graph, indices.dims(), 0);
  const X used = less(place, X{count});
  Dims columns{};
  columns.append(n);
  while (columns.rank < values.dims().rank) columns.append(1);
  return {
      apply(ops::IndexedSlices{{}, gradient.dims().extent[0], rows.indexing},
            gather(X{ids}, where(used, place, 0), 0, 0), unsorted_segment_sum(values, X{group}, n)),
      reshape_to(used, columns)};
}
constexpr AnyExpr distinct_rows(const UntypedExpr auto& gradient) {
  return split_rows(gradient).gradient;
}

/// The sum of squares of a gradient with distinct rows, computed in this type.
constexpr AnyExpr sum_of_squares(const UntypedExpr auto& gradient, DType type) {
  const Pool<Slices> slices = slices_of(gradient);
  const auto x = slices.empty() ? gradient : AnyExpr{gradient.graph, slices[0].values};
  return sum(square(cast_to(x, type)));
}
/// The norm of a gradient with distinct rows: double for doubles, otherwise float.
constexpr AnyExpr norm_of_rows(const UntypedExpr auto& gradient) {
  const bool wide = gradient.dtype() == DType::float64;
  return sqrt(sum_of_squares(gradient, wide ? DType::float64 : DType::float32));
}
/// The norm of all gradients together: double if one of them is of doubles.
constexpr AnyExpr norm_of_rows(const std::same_as<Gradients> auto& gradients) {
  DType type = DType::float32;
  for (const auto& [variable, gradient] : gradients) {
    if (variable.dtype() == DType::float64) type = DType::float64;
  }
  auto total = literal_node(*gradients.graph, type, 0);
  for (const auto& [variable, gradient] : gradients) {
    total = total + sum_of_squares(gradient, type);
  }
  return sqrt(total);
}
constexpr Gradients distinct_rows_of_all(const std::same_as<Gradients> auto& gradients) {
  return gradients.map(
      [](const AnyVariable&, const AnyExpr& gradient) { return distinct_rows(gradient); });
}

}  // namespace detail

/// The norm of all gradients of a list together, an untyped scalar: double if one of them is of
/// doubles, otherwise float.
constexpr AnyExpr global_norm(const std::same_as<Gradients> auto& gradients) {
  return detail::norm_of_rows(detail::distinct_rows_of_all(gradients));
}

}  // namespace typeflow::inline TYPEFLOW_ISA
