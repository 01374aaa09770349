// SPDX-License-Identifier: Apache-2.0
#pragma once

// Windows at positions that a run computes: dynamic_slice reads one, dynamic_update_slice replaces
// one. Each is part of the other's gradient.
//
// The window's size is part of the types; its position is a tensor of integers. A window that would
// stick out is moved inwards, as by XLA (TensorFlow's compiler): along an axis of n elements, a
// window of k starts at min(max(start, 0), n - k).

#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <source_location>

#include "typeflow/ops/elementwise/binary.hpp"
#include "typeflow/ops/index/indexing.hpp"
#include "typeflow/ops/shape/concat.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The window of x of this size at `starts`, integers (rank of x).
constexpr AnyExpr dynamic_slice_to(const UntypedExpr auto& x, const UntypedExpr auto& starts,
                                   const Dims& size);
/// x with the window at `starts` replaced by `window`.
constexpr AnyExpr dynamic_update_to(const UntypedExpr auto& x, const UntypedExpr auto& window,
                                    const UntypedExpr auto& starts);

namespace ops {

/// A window of x that starts at the second input; its size is the result's type.
/// (D...) x (rank) -> (K...)
struct DynamicSlice : custom {
  static constexpr std::string_view name = "DynamicSlice";
  static constexpr Domain domain = Domain::any;
  static constexpr int flops = 0;

  static constexpr std::array<AnyExpr, 2> gradient(DynamicSlice, auto x, auto starts, auto,
                                                   auto dy) {
    const AnyExpr zero = detail::constant_node(*dy.graph, dy.dtype(), Number{});
    return {dynamic_update_to(broadcast_to(zero, x.dims()), dy, starts), AnyExpr{}};
  }
  /// Where a window of `size` elements starts along an axis of `extent`.
  static constexpr std::int64_t clamped(std::int64_t start, std::int64_t extent,
                                        std::int64_t size) {
    return start > extent - size ? extent - size : start < 0 ? 0 : start;
  }
  /// The position of element i of a window in the whole tensor.
  static std::int64_t position(std::int64_t i, const HostTensor& starts, const Dims& window,
                               const Dims& whole) {
    std::int64_t at = 0;
    std::int64_t stride = 1;
    for (int axis = window.rank - 1; axis >= 0; --axis) {
      const std::int64_t extent = window.extent[axis];
      const std::int64_t start =
          clamped(detail::index_at(starts, axis), whole.extent[axis], extent);
      at += (start + i % extent) * stride;
      i /= extent;
      stride *= whole.extent[axis];
    }
    return at;
  }
  static void interpret(InterpretCall& call) {
    const HostTensor& x = *call.inputs[0];
    HostTensor& y = call.outputs[0];
    for (std::int64_t i = 0; i < y.size(); ++i) {
      y[i] = x[position(i, *call.inputs[1], y.dims, x.dims)];
    }
  }
};

/// The first input, with its window at the third input replaced by the second. (D...) x (K...) x
/// (rank) -> (D...)
struct DynamicUpdateSlice : custom {
  static constexpr std::string_view name = "DynamicUpdateSlice";
  static constexpr Domain domain = Domain::any;
  static constexpr int flops = 0;

  static constexpr Type infer(DynamicUpdateSlice, const Type& x, const Type& window,
                              const Type& starts) {
    const bool fits = x.dtype == window.dtype && x.dims.rank == window.dims.rank &&
                      is_integer(starts.dtype) && starts.dims == Dims{1, {x.dims.rank}};
    return {x.dtype, fits ? x.dims : no_dims};
  }
  static constexpr std::array<AnyExpr, 3> gradient(DynamicUpdateSlice, auto, auto window,
                                                   auto starts, auto, auto dy) {
    const AnyExpr zero = detail::constant_node(*dy.graph, dy.dtype(), Number{});
    return {dynamic_update_to(dy, broadcast_to(zero, window.dims()), starts),
            dynamic_slice_to(dy, starts, window.dims()), AnyExpr{}};
  }
  static void interpret(InterpretCall& call) {
    const HostTensor& window = *call.inputs[1];
    HostTensor& y = call.outputs[0];
    y = *call.inputs[0];
    for (std::int64_t i = 0; i < window.size(); ++i) {
      y[DynamicSlice::position(i, *call.inputs[2], window.dims, y.dims)] = window[i];
    }
  }
};

}  // namespace ops

constexpr AnyExpr dynamic_slice_to(const UntypedExpr auto& x, const UntypedExpr auto& starts,
                                   const Dims& size) {
  if (size == x.dims()) return x;
  const Id ids[] = {x.id, starts.id};
  return add_node(*x.graph, ops::DynamicSlice{}, ids, 2, Type(x.dtype(), size));
}
constexpr AnyExpr dynamic_update_to(const UntypedExpr auto& x, const UntypedExpr auto& window,
                                    const UntypedExpr auto& starts) {
  if (window.dims() == x.dims()) return window;
  return apply(ops::DynamicUpdateSlice{}, x, window, starts);
}

namespace detail {

/// Whether arguments are starts of a window: an integer for each axis, or one vector of integers.
template <int Rank, class... S>
inline constexpr bool are_starts = [] {
  const auto is_start = []<class X>(std::type_identity<X>) {
    if constexpr (TypedExpr<X>) {
      return are_indices<X> && X::rank == 0;
    } else {
      return std::integral<X> && !std::same_as<X, bool>;
    }
  };
  return sizeof...(S) == Rank && (is_start(std::type_identity<S>{}) && ...);
}();
template <int Rank, TypedExpr S>
  requires(S::rank == 1)
inline constexpr bool are_starts<Rank, S> = are_indices<S> && S::shape::dims == Shape<Rank>::dims;

/// The starts as one tensor. (rank)
template <class... S>
constexpr AnyExpr starts_of(ir::Graph& graph, const S&... starts) {
  const auto axis = [&]<class X>(const X& start) {
    if constexpr (TypedExpr<X>) {
      if constexpr (X::rank == 1) return start.any();
      AnyExpr at = start.any();
      if (at.dtype() == DType::uint64) {  // too large numbers must not become negative
        constexpr auto most = std::numeric_limits<std::int64_t>::max();
        at = minimum(at, literal_node(graph, DType::uint64, most));
      }
      return reshape_to(cast_to(at, DType::int64), Dims{1, {1}});
    } else {
      return broadcast_to(literal_node(graph, DType::int64, to_index(start)), Dims{1, {1}});
    }
  };
  const AnyExpr axes[] = {axis(starts)...};
  return concat_to(axes, 0);
}

/// Whether a window fits into a tensor. An axis of symbols must be taken whole.
constexpr bool holds_window(const Dims& x, const Dims& window) {
  if (x.rank != window.rank) return false;
  for (int i = 0; i < x.rank; ++i) {
    const Extent size = window.extent[i];
    if (size != x.extent[i] && (is_symbolic(x.extent[i]) || size < 0 || size > x.extent[i])) {
      return false;
    }
  }
  return true;
}

}  // namespace detail

/// The window of these sizes that starts at a position that a run computes: dynamic_slice<1, 8>(x,
/// i, 0) is the first eight columns of row i. (D...) -> (Sizes...)
///
/// The starts are one integer for each axis, scalar tensors or numbers, or one tensor of integers
/// (rank of x). Every start is allowed: a window that would stick out is moved inwards, as by XLA's
/// DynamicSlice. (A negative start becomes 0; it does not count from the end.) An axis of symbols
/// (tf::batch) is taken whole. The gradient for x is zero outside of the window.
template <Extent... Sizes, TypedExpr X, class... S>
constexpr auto dynamic_slice(const X& x, const S&... starts) {
  static_assert(X::rank > 0 && detail::holds_window(X::shape::dims, Shape<Sizes...>::dims),
                "dynamic_slice<sizes...>(x, starts...): there must be a size for each axis of x, "
                "not larger than the axis; a batch axis is taken whole");
  static_assert(
      detail::are_starts<X::rank, S...>,
      "dynamic_slice<sizes...>(x, starts...): the starts must be an integer for each axis "
      "of x, or one tensor of as many integers");
  const AnyExpr at = detail::starts_of(x.graph(), starts...);
  return Expr<typename X::element, Shape<Sizes...>>(
      x.graph(), dynamic_slice_to(x.any(), at, Shape<Sizes...>::dims).id);
}

/// x with `update` as the window that starts at a position that a run computes:
/// dynamic_update_slice(cache, row, t, 0). (D...) x (K...) -> (D...)
///
/// Starts are those of dynamic_slice, and are moved inwards likewise. An axis of symbols is
/// replaced whole. Gradients flow to the update, and to the other elements of x.
template <TypedExpr X, TypedExpr U, class... S>
constexpr auto dynamic_update_slice(const X& x, const U& update, const S&... starts) {
  static_assert(detail::same_elements<X, U>,
                "dynamic_update_slice(x, update, starts...): the element types must be equal; "
                "convert with cast<T>(x)");
  static_assert(X::rank > 0 && detail::holds_window(X::shape::dims, U::shape::dims),
                "dynamic_update_slice(x, update, starts...): the update must have an axis for each "
                "of x, not larger than that; a batch axis is written whole");
  static_assert(
      detail::are_starts<X::rank, S...>,
      "dynamic_update_slice(x, update, starts...): the starts must be an integer for each "
      "axis of x, or one tensor of as many integers");
  const AnyExpr at = detail::starts_of(x.graph(), starts...);
  return detail::same_type(x, dynamic_update_to(x.any(), update.any(), at).id);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
