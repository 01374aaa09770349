// SPDX-License-Identifier: Apache-2.0
#pragma once

// Parts of tensors: slice, select, reverse. split.hpp has several at a time.
//
// slice<...> takes an argument for each axis, like numpy's x[:, 3, 0:5:2]. Axes at the end without
// an argument stay whole:
//
//   slice<tf::whole, 3, tf::range(0, 5, 2)>(x)      x[:, 3, 0:5:2]
//   slice<tf::from(-3), tf::every(-1)>(x)           x[-3:, ::-1]
//   slice<tf::ellipsis, 0>(x)                       x[..., 0]
//
// Two operations do the work. Slice reads a window of a tensor, Pad puts a tensor as a window into
// a larger one. Each is the other's gradient, so derivatives of every order are made of these two.

#include <array>
#include <concepts>
#include <cstdint>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "typeflow/core/error.hpp"
#include "typeflow/ops/reduce/reduce.hpp"
#include "typeflow/ops/shape/axis_slice.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

constexpr AnyExpr slice_to(const AnyExpr& x, const SliceWindow& window, const Dims& size);
constexpr AnyExpr pad_to(const AnyExpr& x, const SliceWindow& window, const Dims& size,
                         const AnyExpr& value);
/// The simplified window y of x (ops/shape/concat.hpp).
constexpr AnyExpr slice_through(const AnyExpr& x, SliceWindow window, const AnyExpr& y);

namespace ops {

/// A window of x; its size is the result's type.
struct Slice : custom, SliceWindow {
  static constexpr std::string_view name = "Slice";
  static constexpr bool complex_gradient = true;
  static constexpr bool takes_strings = true;
  static constexpr int flops = 0;

  static constexpr AnyExpr gradient(Slice op, auto x, auto, auto dy) {
    return pad_to(dy, op, x.dims(), detail::constant_node(*dy.graph, dy.dtype(), Number{}));
  }
  static constexpr AnyExpr simplify(const Slice& op, auto x, auto y) {
    return slice_through(x, op, y);
  }
  static constexpr bool layout(const Slice& op, const Dims& x, const Dims& y, Layout& out) {
    return window_layout(op, x, y, out);
  }
  /// An index or range of an axis of symbols may lie outside of it, in a run where the axis is
  /// short.
  static Failure outside(const Slice& op, int axis, const std::int64_t* window,
                         std::int64_t extent) {
    const std::int64_t begin = op.offset(axis, window);
    const std::int64_t last = begin + (window[axis] - 1) * op.step[axis];
    if (window[axis] == 0 || last < extent) return {};
    return {1, {last, axis, extent}};
  }
  TYPEFLOW_COLD static Error explain(const Slice&, const Failure& wrong, std::span<const Dims>) {
    const auto [last, axis, extent, unused] = wrong.number;
    return Error(
        "slice",
        "more than " + std::to_string(last) + " elements along axis " + std::to_string(axis),
        std::to_string(extent));
  }
  static void interpret(InterpretCall& call) {
    const Slice op = decode<Slice>(call.graph, call.node);
    const HostTensor& x = *call.inputs[0];
    HostTensor& y = call.outputs[0];
    const Extent* const window = y.dims.extent;
    for (int axis = 0; axis < x.dims.rank; ++axis) {
      const Failure wrong = outside(op, axis, window, x.dims.extent[axis]);
      if (wrong.what != 0) throw explain(op, wrong, {});
    }
    for (std::int64_t i = 0; i < y.size(); ++i) y[i] = x[position(op, i, y.dims, x.dims)];
  }
  /// The position of element i of a window in the whole tensor.
  static std::int64_t position(const SliceWindow& w, std::int64_t i, const Dims& window,
                               const Dims& whole) {
    std::int64_t at = 0;
    std::int64_t stride = 1;
    for (int axis = window.rank - 1; axis >= 0; --axis) {
      const std::int64_t along = i % window.extent[axis];
      at += (w.offset(axis, window.extent) + along * w.step[axis]) * stride;
      i /= window.extent[axis];
      stride *= whole.extent[axis];
    }
    return at;
  }
};

/// A tensor with x as a window, and a scalar, the second input, everywhere else.
struct Pad : custom, SliceWindow {
  static constexpr std::string_view name = "Pad";
  static constexpr bool complex_gradient = true;
  static constexpr int flops = 0;

  static constexpr std::array<AnyExpr, 2> gradient(Pad op, auto x, auto value, auto, auto dy) {
    const AnyExpr dx = slice_to(dy, op, x.dims());
    if (value.graph->op_of(value.id).builtin == Builtin::constant) return {dx, AnyExpr{}};
    // The sum of dy outside of the window.
    ir::Graph& graph = *dy.graph;
    const AnyExpr in = detail::constant_node(graph, DType::boolean, Number{0, 1});
    const AnyExpr out = detail::constant_node(graph, DType::boolean, Number{});
    const AnyExpr inside = pad_to(broadcast_to(in, x.dims()), op, dy.dims(), out);
    const AnyExpr outside = where(inside, detail::constant_node(graph, dy.dtype(), Number{}), dy);
    return {dx, reduce<Sum>(outside, detail::all_axes(dy.dims().rank), false)};
  }
  static constexpr bool input_layout(const Pad& op, const ir::Graph& graph, const ir::Node& node,
                                     int input, Layout& out) {
    return input == 0 && window_layout(op, graph.dims_of(node.outputs.first),
                                       graph.dims_of(graph.input(node, 0)), out);
  }
  static void interpret(InterpretCall& call) {
    const Pad op = decode<Pad>(call.graph, call.node);
    const HostTensor& x = *call.inputs[0];
    HostTensor& y = call.outputs[0];
    for (std::int64_t i = 0; i < y.size(); ++i) y[i] = (*call.inputs[1])[0];
    for (std::int64_t i = 0; i < x.size(); ++i) y[Slice::position(op, i, x.dims, y.dims)] = x[i];
  }
};

/// The elements in reverse order along the axes in these bits.
struct Reverse : custom {
  static constexpr std::string_view name = "Reverse";
  static constexpr bool complex_gradient = true;
  static constexpr bool takes_strings = true;
  static constexpr int flops = 0;
  std::uint32_t axes;

  static constexpr Type infer(Reverse, const Type& x) { return x; }
  static constexpr AnyExpr gradient(Reverse op, auto, auto, auto dy) {
    return reverse_to(dy, op.axes);
  }
  static constexpr AnyExpr simplify(Reverse op, auto x, auto y) {
    return made_by<Reverse>(x) && operation_of<Reverse>(x).axes == op.axes ? input_of(x, 0) : y;
  }
  static constexpr bool layout(Reverse op, const Dims& x, const Dims&, Layout& out) {
    out = row_major(x);
    for (int i = 0; i < x.rank; ++i) {
      if ((op.axes >> i & 1u) == 0) continue;
      Stride& along = out.stride[i];
      if (!out.skip(x.extent[i], along)) return false;
      along.coefficient = -along.coefficient;
      if (!out.skip(1, along)) return false;
    }
    return true;
  }
  static void interpret(InterpretCall& call) {
    const Reverse op = decode<Reverse>(call.graph, call.node);
    const HostTensor& x = *call.inputs[0];
    for (std::int64_t i = 0; i < x.size(); ++i) {
      std::int64_t at = 0;
      std::int64_t stride = 1;
      std::int64_t rest = i;
      for (int axis = x.dims.rank - 1; axis >= 0; --axis) {
        const std::int64_t extent = x.dims.extent[axis];
        const std::int64_t along = rest % extent;
        at += ((op.axes >> axis & 1u) != 0 ? extent - 1 - along : along) * stride;
        rest /= extent;
        stride *= extent;
      }
      call.outputs[0][i] = x[at];
    }
  }
};

}  // namespace ops

// Untyped.

/// The window of x of this size.
constexpr AnyExpr slice_to(const AnyExpr& x, const SliceWindow& window, const Dims& size) {
  if (size == x.dims()) return x;
  return add_node(*x.graph, ops::Slice{{}, window}, &x.id, 1, Type(x.dtype(), size));
}
/// A tensor of this size with x as a window, and `value`, a scalar of its type, elsewhere.
constexpr AnyExpr pad_to(const AnyExpr& x, const SliceWindow& window, const Dims& size,
                         const AnyExpr& value) {
  if (size == x.dims()) return x;
  const Id ids[] = {x.id, value.id};
  return add_node(*x.graph, ops::Pad{{}, window}, ids, 2, Type(x.dtype(), size));
}
/// `size` elements from `begin` on, along one axis. Both are extents, so they may be multiples of
/// symbols if the axis is.
constexpr AnyExpr slice_along(const AnyExpr& x, int axis, Extent begin, Extent size) {
  Dims dims = x.dims();
  dims.extent[axis] = size;
  SliceWindow window = window_at_start(dims);
  window.begin[axis] = size == 0 ? 0 : static_cast<std::int32_t>(signed_factor(begin));
  return slice_to(x, window, dims);
}
/// x with the elements in reverse order along the axes in these bits.
constexpr AnyExpr reverse_to(const AnyExpr& x, unsigned axes) {
  if (axes == 0) return x;
  return add_node(*x.graph, ops::Reverse{{}, axes}, &x.id, 1, Type(x.dtype(), x.dims()));
}

namespace detail {

constexpr AnyExpr slice_planned(const AnyExpr& x, const SlicePlan& plan) {
  return reshape_to(reverse_to(slice_to(x, plan.window, plan.size), plan.reversed), plan.result);
}

template <class S, AxisSlice... Slices>
struct SliceRule {
  static constexpr SlicePlan plan = [] {
    const AxisSlice slices[sizeof...(Slices) + 1] = {Slices..., whole};
    return plan_slice(S::dims, slices, static_cast<int>(sizeof...(Slices)));
  }();
  static constexpr Dims value = plan.problem == SlicePlan::Problem::none ? plan.result : no_dims;
};

template <class S, int Axis, Extent Size>
struct ResizeRule {
  static constexpr Dims value = [] {
    Dims dims = S::dims;
    if (Axis >= 0) dims.extent[Axis] = Size;
    return dims;
  }();
};

template <class S, int Axis>
struct DropRule {
  static constexpr Dims value = Axis < 0 ? no_dims : reduced(S::dims, 1u << Axis, false);
};

/// The extent of an axis that may not exist.
template <class S, int Axis>
inline constexpr Extent extent_or_zero = Axis < 0 ? 0 : S::dims.extent[Axis < 0 ? 0 : Axis];

/// The sum of extents that are numbers, or multiples of the same symbols; otherwise no_extent.
constexpr Extent sum_of(const Extent* extents, int count) {
  Extent sum = 0;
  for (int i = 0; i < count; ++i) sum = typeflow::sum_of(sum, extents[i]);
  return sum;
}

}  // namespace detail

// Typed.

/// Takes an argument for each axis of x, in order: an index, tf::whole, tf::range(begin, end,
/// step), tf::from(begin, step), tf::every(step) or tf::new_axis, like numpy's x[...]. tf::ellipsis
/// stands for all axes that the others leave; axes at the end without an argument stay whole.
/// Negative positions count from the end; negative steps reverse the order. (5,6,7):
/// slice<tf::whole, 3, tf::range(0, 5, 2)> -> (5,3).
///
/// This is TensorFlow's slice and strided_slice. But a position outside of its axis is an error
/// here; nothing is clipped. An axis of symbols (tf::batch) can be taken whole, reversed, or by an
/// index or range that counts from its start. A run in which it is too short for these is an error.
template <AxisSlice... Slices, TypedExpr X>
constexpr auto slice(const X& x, std::source_location at = std::source_location::current()) {
  using Rule = detail::SliceRule<typename X::shape, Slices...>;
  using Problem = detail::SlicePlan::Problem;
  static_assert(Rule::plan.problem != Problem::rank,
                "slice<...>(x): x must have as many axes as are sliced");
  static_assert(Rule::plan.problem != Problem::ellipses,
                "slice<...>(x): there can be one tf::ellipsis, not more");
  static_assert(Rule::plan.problem != Problem::step, "slice<...>(x): a step must not be 0");
  static_assert(Rule::plan.problem != Problem::bounds,
                "slice<...>(x): an index must be in [-n, n) for an axis of n elements, the begin "
                "and end of a range in [-n, n]");
  static_assert(Rule::plan.problem != Problem::batch,
                "slice<...>(x): of a batch axis, take all, or an index or range that counts from "
                "its start");
  detail::mark(at, x);
  return Expr<typename X::element, shape_of_t<Rule>>(x.graph(),
                                                     detail::slice_planned(x.any(), Rule::plan).id);
}

/// Element i along an axis: x without that axis. Recurrent nets walk through time by select<1>(x,
/// t) in a loop over t. A negative i counts from the end. (B,T,H) -> (B,H)
///
/// An i outside of the axis is an error of the model.
template <int Axis, TypedExpr X>
constexpr auto select(const X& x, std::type_identity_t<Extent> i,
                      std::source_location at = std::source_location::current()) {
  constexpr int axis = normalize_axis(Axis, X::rank);
  static_assert(axis >= 0, "select<axis>(x, i): x has no such axis");
  using Rule = detail::DropRule<typename X::shape, axis>;
  using E = Expr<typename X::element, shape_of_t<Rule>>;
  detail::mark(at, x);
  const detail::AxisPlan plan =
      detail::plan_axis(i, detail::extent_or_zero<typename X::shape, axis>);
  if (plan.problem != detail::SlicePlan::Problem::none) {
    Message message{};
    ir::records(x.graph()).fail(message << "select<" << Axis << ">(x, i): there is no element " << i
                                        << " along that axis of " << X::shape::dims);
  }
  const AnyExpr taken = slice_along(x.any(), axis, plan.begin, 1);
  return E(x.graph(), reshape_to(taken, E::type.dims).id);
}

/// The elements in reverse order along the named axes: reverse<0>(x), reverse<-1, -2>(x).
template <int... Axes, TypedExpr X>
constexpr auto reverse(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(sizeof...(Axes) > 0, "reverse<axes...>(x): one axis at least must be named");
  static_assert(detail::axes_exist<X::rank, Axes...>, "reverse<axes...>(x): x has no such axis");
  detail::mark(at, x);
  constexpr unsigned axes = detail::axis_bits<X::rank, Axes...>();
  return detail::same_type(x, reverse_to(x.any(), axes).id);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
