// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tensors with borders: pad adds a number around them, mirror_pad mirrors their elements.
//
// Both take two numbers for each axis, how many elements to add before and after: pad<0, 0, 2,
// 1>(x) adds two columns in front of a matrix and one behind it.

#include <source_location>

#include "typeflow/ops/shape/concat.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// How mirror_pad mirrors. `reflect` starts behind the first element: 1 2 3 padded by two is 3 2 1
/// 2 3 2 1. `symmetric` starts with it: 2 1 1 2 3 3 2.
enum class Mirror { reflect, symmetric };

namespace detail {

template <class S, Extent... Amounts>
struct PadRule {
  static constexpr Extent amounts[sizeof...(Amounts) + 1] = {Amounts..., 0};
  static constexpr Dims value = [] {
    if (sizeof...(Amounts) != 2 * static_cast<std::size_t>(S::rank)) return no_dims;
    Dims out = S::dims;
    for (int i = 0; i < S::rank; ++i) {
      const Extent parts[] = {amounts[2 * i], out.extent[i], amounts[2 * i + 1]};
      out.extent[i] = sum_of(parts, 3);
      if (out.extent[i] == no_extent) return no_dims;
    }
    return out;
  }();
};

template <class S, Mirror Mode, int... Amounts>
struct MirrorRule {
  static constexpr int amounts[sizeof...(Amounts) + 1] = {Amounts..., 0};
  static constexpr Dims value = [] {
    if (sizeof...(Amounts) != 2 * static_cast<std::size_t>(S::rank)) return no_dims;
    Dims out = S::dims;
    for (int i = 0; i < S::rank; ++i) {
      const Extent before = amounts[2 * i];
      const Extent after = amounts[2 * i + 1];
      if (before == 0 && after == 0) continue;
      const Extent most = out.extent[i] - (Mode == Mirror::reflect ? 1 : 0);
      if (is_symbolic(out.extent[i]) || before < 0 || after < 0 || before > most || after > most)
        return no_dims;
      out.extent[i] += before + after;
    }
    return out;
  }();
};

template <UntypedExpr X>
constexpr AnyExpr pad_by(const X& x, const Extent* amounts, const Dims& size,
                         const AnyExpr& value) {
  SliceWindow window = window_at_start(x.dims());
  for (int i = 0; i < size.rank; ++i) {
    if (x.dims().extent[i] == 0) continue;  // an empty window may lie anywhere
    window.begin[i] = static_cast<std::int32_t>(signed_factor(amounts[2 * i]));
  }
  return pad_to(x, window, size, value);
}

}  // namespace detail

/// x with borders of a number (by default 0) or scalar tensor. There are two amounts for each axis,
/// before and after; for an axis of symbols (tf::batch) they are 0 or multiples of them. pad<0, 0,
/// 2, 1>(x): (A,B) -> (A,2+B+1)
template <Extent... Amounts, TypedExpr X, Operand V = int>
constexpr auto pad(const X& x, const V& value = 0,
                   std::source_location at = std::source_location::current()) {
  using Rule = detail::PadRule<typename X::shape, Amounts...>;
  static_assert(
      Rule::value.valid(),
      "pad<before, after, ...>(x): two amounts are needed for each axis of x, numbers, or "
      "multiples of tf::batch for a batch axis");
  static_assert(detail::same_elements<X, V> && detail::literals_fit<X, V>,
                "pad<before, after, ...>(x, value): the value must have the element type of x");
  static_assert(detail::ShapeOf<V>::type::rank == 0,
                "pad<before, after, ...>(x, value): the value must be a scalar");
  detail::mark(at, x);
  const AnyExpr border{x.any().graph, detail::operand_id(x.graph(), X::type.dtype, value)};
  return Expr<typename X::element, shape_of_t<Rule>>(
      x.graph(), detail::pad_by(x.any(), Rule::amounts, Rule::value, border).id);
}

/// x with borders that mirror it. There are two amounts for each axis, before and after: at most n
/// - 1 (reflect) or n (symmetric) for n elements. Batch axes stay as they are.
/// mirror_pad<tf::Mirror::reflect, 0, 0, 2, 1>(x): (A,B) -> (A,2+B+1)
template <Mirror Mode, int... Amounts, TypedExpr X>
constexpr auto mirror_pad(const X& x, std::source_location at = std::source_location::current()) {
  using Rule = detail::MirrorRule<typename X::shape, Mode, Amounts...>;
  static_assert(Rule::value.valid(),
                "mirror_pad<mode, before, after, ...>(x): two amounts are needed for each axis of "
                "x, of at most n - 1 elements (reflect) or n (symmetric) of an axis of n");
  detail::mark(at, x);
  AnyExpr y = x.any();
  for (int axis = 0; axis < Rule::value.rank; ++axis) {
    const Extent before = Rule::amounts[2 * axis];
    const Extent after = Rule::amounts[2 * axis + 1];
    if (before == 0 && after == 0) continue;
    const Extent skipped = Mode == Mirror::reflect ? 1 : 0;
    const Extent extent = y.dims().extent[axis];
    const unsigned bit = 1u << axis;
    AnyExpr parts[3];
    std::size_t count = 0;
    if (before > 0) parts[count++] = reverse_to(slice_along(y, axis, skipped, before), bit);
    parts[count++] = y;
    if (after > 0) {
      const Extent begin = extent - skipped - after;
      parts[count++] = reverse_to(slice_along(y, axis, begin, after), bit);
    }
    y = concat_to({parts, count}, axis);
  }
  return Expr<typename X::element, shape_of_t<Rule>>(x.graph(), y.id);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
