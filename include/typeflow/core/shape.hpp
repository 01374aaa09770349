// SPDX-License-Identifier: Apache-2.0
#pragma once

// Shapes in two forms. Shape<...> is a type, for the user and the compiler's checks. Dims is a
// value, for graphs and passes. A shape rule is written once, on Dims; shape_of_t computes types
// from it.

#include <cstddef>
#include <utility>

#include "typeflow/core/extent.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The most axes that a tensor can have.
inline constexpr int max_rank = 8;

}  // namespace typeflow::inline TYPEFLOW_ISA

namespace typeflow {

/// A shape as a value. Rank -1 means that a rule found none: the shapes do not fit.
struct Dims {
  int rank;
  Extent extent[max_rank];

  TYPEFLOW_EXCHANGED constexpr Extent operator[](int axis) const { return extent[axis]; }
  TYPEFLOW_EXCHANGED constexpr bool valid() const { return rank >= 0; }
  TYPEFLOW_EXCHANGED constexpr void append(Extent e) { extent[rank++] = e; }
  TYPEFLOW_EXCHANGED constexpr bool operator==(const Dims& other) const {
    const Extent* const a = extent;
    const Extent* const b = other.extent;
    if (rank != other.rank || (rank > 0 && a[0] != b[0]) || (rank > 1 && a[1] != b[1])) {
      return false;
    }
    for (int i = 2; i < rank; ++i) {
      if (a[i] != b[i]) return false;
    }
    return true;
  }
};

}  // namespace typeflow

namespace typeflow::inline TYPEFLOW_ISA {

inline constexpr Dims no_dims{-1, {}};

/// A shape as a type: Shape<100, 10>, Shape<tf::batch, 784>, Shape<> for a scalar.
template <Extent... D>
struct Shape {
  static_assert(sizeof...(D) <= max_rank, "Shape<...>: more axes than tf::max_rank");
  static constexpr int rank = static_cast<int>(sizeof...(D));
  static constexpr Dims dims{rank, {D...}};
};

/// The Shape type of a rule's result: `Rule::value` is a constexpr Dims.
template <class Rule>
constexpr auto shape_of() {
  if constexpr (!Rule::value.valid()) {
    return Shape<>{};
  } else {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return Shape<Rule::value.extent[I]...>{};
    }(std::make_index_sequence<static_cast<std::size_t>(Rule::value.rank)>{});
  }
}
template <class Rule>
using shape_of_t = decltype(shape_of<Rule>());

constexpr Count count_of(const Dims& dims) {
  Count count{};
  for (int i = 0; i < dims.rank; ++i) count.multiply(dims.extent[i]);
  return count;
}

/// The shape in a run: every extent is a plain number.
constexpr Dims resolve(const Dims& dims, const SymbolSizes& sizes) {
  Dims out = dims;
  for (int i = 0; i < out.rank; ++i) out.extent[i] = resolve(out.extent[i], sizes);
  return out;
}

namespace detail {
/// Whether all extents are numbers.
constexpr bool is_static(const Dims& dims) {
  for (int i = 0; i < dims.rank; ++i) {
    if (is_symbolic(dims.extent[i])) return false;
  }
  return true;
}
/// The same of a shape. A template's static_assert names it instead of calling is_static: nvcc's
/// front end keeps 64 MB for each such call that depends on template arguments.
template <class S>
inline constexpr bool is_static_shape = is_static(S::dims);
}  // namespace detail

/// An axis, counted from the end if negative; -1 if there is no such axis.
constexpr int normalize_axis(int axis, int rank) {
  if (axis < 0) axis += rank;
  return axis < 0 || axis >= rank ? -1 : axis;
}

// Shape rules.

/// numpy's broadcasting of two shapes, aligned at the last axis: equal extents, or one is 1.
constexpr Dims broadcast(const Dims& a, const Dims& b) {
  if (!a.valid() || !b.valid()) return no_dims;
  Dims out = a.rank >= b.rank ? a : b;
  const Dims& shorter = a.rank >= b.rank ? b : a;
  const int offset = out.rank - shorter.rank;
  for (int i = 0; i < shorter.rank; ++i) {
    const Extent e = shorter.extent[i];
    Extent& o = out.extent[offset + i];
    if (o == 1) {
      o = e;
    } else if (e != o && e != 1) {
      return no_dims;
    }
  }
  return out;
}

/// A reduction's result: the axes in `axes` (bit i for axis i) are dropped, or kept with extent 1.
constexpr Dims reduced(const Dims& x, unsigned axes, bool keep_dims) {
  Dims out{};
  for (int i = 0; i < x.rank; ++i) {
    if ((axes >> i & 1u) == 0) {
      out.append(x.extent[i]);
    } else if (keep_dims) {
      out.append(1);
    }
  }
  return out;
}

/// The shape without its last `count` axes.
constexpr Dims without_last(const Dims& x, int count) {
  Dims out{};
  for (int i = 0; i < x.rank - count; ++i) out.append(x.extent[i]);
  return out;
}

/// [..., M,K] x [..., K,N] -> [..., M,N]. A matrix is read transposed if its flag is set. Leading
/// axes broadcast.
constexpr Dims matrix_product(const Dims& a, bool transpose_a, const Dims& b, bool transpose_b) {
  if (a.rank < 2 || b.rank < 2) return no_dims;
  const Extent* const of_a = a.extent + a.rank - 2;
  const Extent* const of_b = b.extent + b.rank - 2;
  if (of_a[transpose_a ? 0 : 1] != of_b[transpose_b ? 1 : 0]) return no_dims;
  const Extent rows = of_a[transpose_a ? 1 : 0];
  const Extent columns = of_b[transpose_b ? 0 : 1];
  if (a.rank == 2 && b.rank == 2) return Dims{2, {rows, columns}};
  Dims out = broadcast(without_last(a, 2), without_last(b, 2));
  if (!out.valid()) return no_dims;
  out.append(rows);
  out.append(columns);
  return out;
}

/// Axis i of the result is axis permutation[i] of x.
constexpr Dims permuted(const Dims& x, const int* permutation) {
  Dims out{};
  for (int i = 0; i < x.rank; ++i) out.append(x.extent[permutation[i]]);
  return out;
}

/// The shape without its axes of extent 1. Two shapes with equal results index memory alike.
constexpr Dims squeezed(const Dims& x) {
  Dims out{};
  for (int i = 0; i < x.rank; ++i) {
    if (x.extent[i] != 1) out.append(x.extent[i]);
  }
  return out;
}

}  // namespace typeflow::inline TYPEFLOW_ISA
