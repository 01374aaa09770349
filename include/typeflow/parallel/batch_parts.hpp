// SPDX-License-Identifier: Apache-2.0
#pragma once

// Parts of a batch, one for each tower or micro-batch. A batch of a fixed size may be divided
// unevenly; the first parts are then one row larger. A batch of k*batch rows is divided into parts
// of (k/n)*batch rows.

#include <array>
#include <cstddef>

#include "typeflow/ops/shape/split.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// The rows of part I of N, and where they begin.
struct BatchPart {
  Extent begin;
  Extent size;
};
template <int N>
constexpr BatchPart batch_part(Extent rows, int i) {
  if (is_symbolic(rows)) {
    const auto k = factor_of(rows) / N;
    return {i == 0 ? 0 : with_factor(rows, i * k), with_factor(rows, k)};
  }
  const Extent least = rows / N;
  const Extent larger = rows % N;
  return {i * least + (i < larger ? i : larger), least + (i < larger ? 1 : 0)};
}

/// The rows of an input; none if it is a scalar, which every part gets whole.
template <class X>
constexpr Extent rows_of() {
  if constexpr (X::rank == 0) {
    return no_extent;
  } else {
    return X::shape::dims.extent[0];
  }
}
/// The rows of the first input that has some.
template <class... X>
constexpr Extent common_rows() {
  Extent rows = no_extent;
  ((rows = rows == no_extent ? rows_of<X>() : rows), ...);
  return rows;
}
template <class... X>
inline constexpr bool have_same_rows =
    ((rows_of<X>() == no_extent || rows_of<X>() == common_rows<X...>()) && ...);
/// Whether n parts of these rows have at least one row each.
template <int N>
constexpr bool is_divisible(Extent rows) {
  if (rows == no_extent) return false;
  return is_symbolic(rows) ? factor_of(rows) % N == 0 : rows >= N;
}

/// The parts' shares of the rows; they add up to 1.
template <int N, class... X>
constexpr std::array<double, N> shares_of() {
  constexpr Extent rows = common_rows<X...>();
  std::array<double, N> shares{};
  for (int i = 0; i < N; ++i) {
    shares[static_cast<std::size_t>(i)] =
        is_symbolic(rows)
            ? 1.0 / N
            : static_cast<double>(batch_part<N>(rows, i).size) / static_cast<double>(rows);
  }
  return shares;
}

/// Part I of N of an input. (B,...) -> (B/N,...)
template <int N, int I, TypedExpr X>
constexpr auto part_of_batch(const X& x) {
  if constexpr (X::rank == 0) {
    return x;
  } else {
    constexpr BatchPart part = batch_part<N>(rows_of<X>(), I);
    using Part = Expr<typename X::element, shape_of_t<ResizeRule<typename X::shape, 0, part.size>>>;
    return Part(x.graph(), slice_along(x.any(), 0, part.begin, part.size).id);
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
