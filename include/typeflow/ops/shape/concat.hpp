// SPDX-License-Identifier: Apache-2.0
#pragma once

// Joining tensors: concat along an existing axis, stack along a new one.

#include <algorithm>
#include <array>
#include <cstdint>
#include <source_location>
#include <span>
#include <string_view>
#include <utility>

#include "typeflow/ops/shape/slice.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The shape of a concatenation. The shapes are equal except along the axis, where extents add up:
/// all are numbers, or all are multiples of the same symbols.
constexpr Dims concatenated(const Dims* shapes, int count, int axis) {
  Dims out = shapes[0];
  if (axis < 0 || axis >= out.rank) return no_dims;
  Extent sum = 0;
  for (int i = 0; i < count; ++i) {
    Dims rest = shapes[i];
    if (rest.rank != out.rank) return no_dims;
    sum = sum_of(sum, rest.extent[axis]);
    rest.extent[axis] = out.extent[axis];
    if (!(rest == out)) return no_dims;
  }
  if (sum == no_extent) return no_dims;
  out.extent[axis] = sum;
  return out;
}

namespace ops {

/// The inputs one after another along an axis.
struct Concat : custom {
  static constexpr std::string_view name = "Concat";
  static constexpr bool complex_gradient = true;
  static constexpr bool takes_strings = true;
  static constexpr int flops = 0;
  static constexpr bool variadic = true;
  /// The most inputs of a node; concat_to nests nodes for more.
  static constexpr int max_inputs = 16;
  std::int32_t axis;

  static constexpr Type infer(Concat op, std::span<const Type> x) {
    Dims shapes[max_inputs] = {};
    if (x.empty() || x.size() > static_cast<std::size_t>(max_inputs)) {
      return {DType::boolean, no_dims};
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i].dtype != x[0].dtype) return {x[0].dtype, no_dims};
      shapes[i] = x[i].dims;
    }
    return {x[0].dtype, concatenated(shapes, static_cast<int>(x.size()), op.axis)};
  }
  static constexpr void gradient(Concat op, std::span<const AnyExpr> x, auto, auto dy,
                                 AnyExpr* dx) {
    Extent begin = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Extent size = x[i].dims().extent[op.axis];
      dx[i] = slice_along(dy, op.axis, begin, size);
      begin = sum_of(begin, size);
    }
  }
  /// A concatenation of concatenations along the same axis is one concatenation.
  static constexpr AnyExpr simplify(Concat op, std::span<const AnyExpr> x, AnyExpr y) {
    bool nested = false;
    for (const AnyExpr& part : x) nested |= is_along(part, op.axis);
    return nested ? flat(x, op.axis, y.dims()) : y;
  }
  /// The tensors of a concatenation; parts of inner ones one by one while there is room.
  static constexpr AnyExpr flat(std::span<const AnyExpr> x, int axis, const Dims& dims);
  static constexpr bool is_along(const AnyExpr& x, int axis);

  static constexpr bool input_layout(Concat op, const ir::Graph& graph, const ir::Node& node,
                                     int input, Layout& out) {
    out = row_major(graph.dims_of(node.outputs.first));
    bool known = true;
    for (int i = 0; i < input; ++i) {
      const Extent before = graph.dims_of(graph.input(node, i)).extent[op.axis];
      known = known && out.skip(before, out.stride[op.axis]);
    }
    return known;
  }

  static void interpret(InterpretCall& call) {
    const Concat op = decode<Concat>(call.graph, call.node);
    HostTensor& y = call.outputs[0];
    std::int64_t inner = 1;
    for (int i = op.axis + 1; i < y.dims.rank; ++i) inner *= y.dims.extent[i];
    const std::int64_t row = y.dims.extent[op.axis] * inner;
    std::int64_t begin = 0;
    for (int k = 0; k < call.node.inputs.count; ++k) {
      const HostTensor& x = *call.inputs[k];
      const std::int64_t run = x.dims.extent[op.axis] * inner;
      for (std::int64_t i = 0; i < x.size(); ++i) y[i / run * row + begin + i % run] = x[i];
      begin += run;
    }
  }
};

}  // namespace ops

/// Untyped: one or more tensors, concatenated along an axis.
constexpr AnyExpr concat_to(std::span<const AnyExpr> x, int axis) {
  constexpr int most = ops::Concat::max_inputs;
  Pool<Id> ids;
  ir::Graph& graph = *x[0].graph;
  for (const AnyExpr& part : x) ids.push(part.id);
  while (ids.size() > 1) {
    Pool<Id> joined;
    for (int first = 0; first < ids.size(); first += most) {
      const int count = ids.size() - first < most ? ids.size() - first : most;
      Dims shapes[most] = {};
      for (int i = 0; i < count; ++i) shapes[i] = graph.dims_of(ids[first + i]);
      const Type type(x[0].dtype(), concatenated(shapes, count, axis));
      joined.push(count == 1
                      ? ids[first]
                      : add_node(graph, ops::Concat{{}, axis}, ids.data() + first, count, type).id);
    }
    ids = std::move(joined);
  }
  return {&graph, ids[0]};
}

// Simplifications of Concat, Slice and Add.

constexpr bool ops::Concat::is_along(const AnyExpr& x, int axis) {
  return made_by<Concat>(x) && operation_of<Concat>(x).axis == axis;
}
constexpr AnyExpr ops::Concat::flat(std::span<const AnyExpr> x, int axis, const Dims& dims) {
  Id parts[max_inputs] = {};
  int size = 0;
  int left = static_cast<int>(x.size());
  ir::Graph& graph = *x[0].graph;
  for (const AnyExpr& part : x) {
    const ir::Node node = graph.node_of(part.id);
    const int room = max_inputs - size - --left;
    if (is_along(part, axis) && node.inputs.count <= room) {
      for (Id k = 0; k < node.inputs.count; ++k) parts[size++] = graph.input(node, k);
    } else {
      parts[size++] = part.id;
    }
  }
  return add_node(graph, Concat{{}, axis}, parts, size, Type(x[0].dtype(), dims));
}

namespace detail {

/// Whether a window of a window of a tensor is a window of the tensor, which then replaces *inner.
constexpr bool join(const SliceWindow& outer, int rank, SliceWindow* inner) {
  SliceWindow joined = *inner;
  for (int i = 0; i < rank; ++i) {
    const std::int32_t a = outer.begin[i];
    const std::int32_t b = inner->begin[i];
    if ((a < 0 && b > 0) || (b < 0 && (a > 0 || outer.step[i] != 1))) return false;
    joined.begin[i] = a + b * outer.step[i];
    if (joined.begin[i] < 0 && inner->factor[i] == 0) return false;  // k*batch + a number
    joined.step[i] = outer.step[i] * inner->step[i];
  }
  *inner = joined;
  return true;
}

/// The part of a concatenation in which a window lies; the window then counts from it. None exists
/// if it reaches into several.
constexpr AnyExpr part_of(const AnyExpr& concat, const Dims& size, SliceWindow* window) {
  const ir::Graph& graph = *concat.graph;
  const ir::Node& node = graph.node_of(concat.id);
  const int axis = operation_of<ops::Concat>(concat).axis;
  const Extent whole = concat.dims().extent[axis];
  if (size.extent[axis] == 0 || symbols_of(whole) != symbols_of(size.extent[axis])) return {};
  const Extent sign = is_symbolic(whole) ? -1 : 1;
  const Extent begin = sign * window->begin[axis];
  const Extent end = begin + (factor_of(size.extent[axis]) - 1) * window->step[axis] + 1;
  Extent first = 0;
  for (Id k = 0; k < node.inputs.count; ++k) {
    const AnyExpr part{concat.graph, graph.input(node, k)};
    const Extent last = first + factor_of(part.dims().extent[axis]);
    if (begin >= first && end <= last) {
      window->begin[axis] = static_cast<std::int32_t>(sign * (begin - first));
      return part;
    }
    first = last;
  }
  return {};
}

}  // namespace detail

/// The simplified window y of x. A slice of a slice is one slice. A slice of a concatenation that
/// lies in one part is a slice of that part, so the concatenation may not be needed.
constexpr AnyExpr slice_through(const AnyExpr& x, SliceWindow window, const AnyExpr& y) {
  const Dims size = y.dims();
  AnyExpr source = x;
  for (AnyExpr next = x; next.exists();) {
    source = next;
    next = AnyExpr{};
    if (made_by<ops::Slice>(source)) {
      const auto outer = operation_of<ops::Slice>(source);
      if (detail::join(outer, size.rank, &window)) next = input_of(source, 0);
    } else if (made_by<ops::Concat>(source)) {
      next = detail::part_of(source, size, &window);
    }
  }
  return source.id == x.id ? y : slice_to(source, window, size);
}

namespace detail {

/// Whether x is zero except in a window, and stands where the sum does.
constexpr bool is_zero_pad(const AnyExpr& x, const AnyExpr& sum) {
  return made_by<ops::Pad>(x) && is_constant(input_of(x, 1), 0) && alike(x, sum) &&
         x.graph->node_of(x.id).device == x.graph->node_of(sum.id).device;
}
/// Elements from `begin` to `end` along an axis of a pad; all are in its window.
constexpr AnyExpr piece_of(const AnyExpr& pad, int axis, Extent begin, Extent end) {
  const AnyExpr x = input_of(pad, 0);
  begin -= operation_of<ops::Pad>(pad).begin[axis];
  end -= operation_of<ops::Pad>(pad).begin[axis];
  if (!made_by<ops::Neg>(x)) return slice_along(x, axis, begin, end - begin);
  return -slice_along(input_of(x, 0), axis, begin, end - begin);  // so x need not be in memory
}
/// One pad for the sum of two pads whose windows overlap along an axis: what one of them has in
/// front, the sum of both, and what one has behind.
constexpr AnyExpr overlap_pads(const AnyExpr& a, const AnyExpr& b, int axis) {
  const SliceWindow window_a = operation_of<ops::Pad>(a);
  const SliceWindow window_b = operation_of<ops::Pad>(b);
  const Dims size_a = input_of(a, 0).dims();
  const Dims size_b = input_of(b, 0).dims();
  const Extent begin_a = window_a.begin[axis];
  const Extent begin_b = window_b.begin[axis];
  if (is_symbolic(size_a.extent[axis]) || is_symbolic(size_b.extent[axis])) return {};
  const Extent end_a = begin_a + size_a.extent[axis];
  const Extent end_b = begin_b + size_b.extent[axis];
  const Extent begin = std::max(begin_a, begin_b);
  const Extent end = std::min(end_a, end_b);
  if (begin >= end) return {};
  AnyExpr parts[3];
  std::size_t count = 0;
  if (begin_a < begin) parts[count++] = piece_of(a, axis, begin_a, begin);
  if (begin_b < begin) parts[count++] = piece_of(b, axis, begin_b, begin);
  parts[count++] = piece_of(a, axis, begin, end) + piece_of(b, axis, begin, end);
  if (end_a > end) parts[count++] = piece_of(a, axis, end, end_a);
  if (end_b > end) parts[count++] = piece_of(b, axis, end, end_b);
  return pad_to(concat_to({parts, count}, axis), begin_a < begin_b ? window_a : window_b, a.dims(),
                input_of(a, 1));
}
/// One pad for the sum of two pads whose windows lie side by side, or (may_overlap) overlap; none
/// exists for others.
constexpr AnyExpr join_pads(const AnyExpr& a, const AnyExpr& b, const AnyExpr& sum,
                            bool may_overlap) {
  if (!is_zero_pad(a, sum)) return {};
  const SliceWindow window_a = operation_of<ops::Pad>(a);
  const SliceWindow window_b = operation_of<ops::Pad>(b);
  const Dims size_a = input_of(a, 0).dims();
  const Dims size_b = input_of(b, 0).dims();
  int axis = none;  // the axis along which they differ
  for (int i = 0; i < size_a.rank; ++i) {
    if (window_a.step[i] != window_b.step[i]) return {};
    if (window_a.begin[i] == window_b.begin[i] && size_a.extent[i] == size_b.extent[i]) continue;
    if (axis != none || window_a.step[i] != 1) return {};
    axis = i;
  }
  if (axis == none) {  // one window
    if (!may_overlap) return {};
    return pad_to(input_of(a, 0) + input_of(b, 0), window_a, a.dims(), input_of(a, 1));
  }
  const auto end_of = [axis](const SliceWindow& window, const Dims& size) {
    return window.begin[axis] + signed_factor(size.extent[axis]);
  };
  const bool a_first = end_of(window_a, size_a) == window_b.begin[axis];
  if (!a_first && end_of(window_b, size_b) != window_a.begin[axis]) {
    return may_overlap ? overlap_pads(a, b, axis) : AnyExpr{};
  }
  const AnyExpr parts[] = {input_of(a_first ? a : b, 0), input_of(a_first ? b : a, 0)};
  const Dims shapes[] = {parts[0].dims(), parts[1].dims()};
  const Dims size = concatenated(shapes, 2, axis);
  if (!size.valid()) return {};
  SliceWindow window = window_at_start(size);
  for (int i = 0; i < size.rank; ++i) {
    window.begin[i] = (a_first ? window_a : window_b).begin[i];
    window.step[i] = window_a.step[i];
  }
  return pad_to(ops::Concat::flat(parts, axis, size), window, a.dims(), input_of(a, 1));
}

}  // namespace detail

/// The sum y of two tensors that are zero except in windows side by side has one pad with both.
/// Gradients of slices are such pads. So the gradient of split is a concatenation, and a loop over
/// an axis makes no sum of many tensors of full size. Windows that overlap, such as those of the
/// gradient of x[1:] - x[:-1], have one pad, too.
constexpr AnyExpr sum_of_pads(const AnyExpr& a, const AnyExpr& b, const AnyExpr& y) {
  const AnyExpr sides[] = {a, b};
  for (int i = 0; i < 2; ++i) {
    const AnyExpr pad = sides[1 - i];
    if (!detail::is_zero_pad(pad, y)) continue;
    const AnyExpr joined = detail::join_pads(sides[i], pad, y, true);
    if (joined.exists()) return joined;
    // (y + a) + b is y + (a + b): where a is not zero, b is.
    if (!made_by<ops::Add>(sides[i])) continue;
    for (int k = 0; k < 2; ++k) {
      const AnyExpr both = detail::join_pads(input_of(sides[i], k), pad, y, false);
      if (both.exists()) return input_of(sides[i], 1 - k) + both;
    }
  }
  return y;
}

namespace detail {

template <int Axis, class... S>
struct ConcatRule {
  static constexpr Dims value = [] {
    const Dims shapes[] = {S::dims...};
    return concatenated(shapes, static_cast<int>(sizeof...(S)),
                        normalize_axis(Axis, shapes[0].rank));
  }();
};

template <int Axis, class S, Extent N>
struct StackRule {
  static constexpr Dims value = [] {
    Dims out = ExpandRule<Axis, S>::value;
    if (out.valid()) out.extent[ExpandRule<Axis, S>::axis] = N;
    return out;
  }();
};

template <TypedExpr First, TypedExpr... Rest>
constexpr std::array<AnyExpr, 1 + sizeof...(Rest)> any_of(const First& first, const Rest&... rest) {
  return {first.any(), rest.any()...};
}

}  // namespace detail

/// The tensors one after another along an axis: concat<1>(a, b). (A,B), (A,C) -> (A,B+C). Extents
/// along the axis are numbers, or multiples of the same symbols (tf::batch), which add up, too.
template <int Axis, TypedExpr First, TypedExpr... Rest>
constexpr auto concat(const First& first, const Rest&... rest) {
  static_assert(detail::same_elements<First, Rest...>,
                "concat<axis>(x...): the element types must be equal; convert with cast<T>(x)");
  static_assert(normalize_axis(Axis, First::rank) >= 0, "concat<axis>(x...): x has no such axis");
  using Rule = detail::ConcatRule<Axis, typename First::shape, typename Rest::shape...>;
  static_assert(Rule::value.valid(),
                "concat<axis>(x...): the shapes must be equal but along the axis, and there all "
                "numbers or all multiples of tf::batch");
  const std::array parts = detail::any_of(first, rest...);
  return Expr<typename First::element, shape_of_t<Rule>>(
      first.graph(), concat_to(parts, normalize_axis(Axis, First::rank)).id);
}

/// The same for an array of N tensors. (A,B) -> (A,N*B)
template <int Axis, TypedExpr X, std::size_t N>
constexpr auto concat(const std::array<X, N>& x,
                      std::source_location at = std::source_location::current()) {
  constexpr int axis = normalize_axis(Axis, X::rank);
  static_assert(N > 0, "concat<axis>(x): the array must hold one tensor at least");
  static_assert(axis >= 0, "concat<axis>(x...): x has no such axis");
  using Rule = detail::ResizeRule<typename X::shape, axis,
                                  times(detail::extent_or_zero<typename X::shape, axis>, N)>;
  detail::mark(at, x[0]);
  std::array<AnyExpr, N> parts{};
  for (std::size_t i = 0; i < N; ++i) parts[i] = x[i].any();
  return Expr<typename X::element, shape_of_t<Rule>>(x[0].graph(), concat_to(parts, axis).id);
}

/// N tensors of one shape along a new axis: stack<0>(a, b). N of (A,B) -> (N,A,B)
template <int Axis, TypedExpr X, std::size_t N>
constexpr auto stack(const std::array<X, N>& x,
                     std::source_location at = std::source_location::current()) {
  static_assert(N > 0, "stack<axis>(x): the array must hold one tensor at least");
  using One = detail::ExpandRule<Axis, typename X::shape>;
  static_assert(One::value.valid(), "stack<axis>(x...): the result has no such axis");
  using Rule = detail::StackRule<Axis, typename X::shape, static_cast<Extent>(N)>;
  detail::mark(at, x[0]);
  std::array<AnyExpr, N> parts{};
  for (std::size_t i = 0; i < N; ++i) parts[i] = reshape_to(x[i].any(), One::value);
  return Expr<typename X::element, shape_of_t<Rule>>(x[0].graph(), concat_to(parts, One::axis).id);
}
template <int Axis, TypedExpr First, TypedExpr... Rest>
constexpr auto stack(const First& first, const Rest&... rest) {
  static_assert(detail::same_elements<First, Rest...>,
                "stack<axis>(x...): the element types must be equal; convert with cast<T>(x)");
  static_assert(((Rest::shape::dims == First::shape::dims) && ...),
                "stack<axis>(x...): the shapes must be equal");
  using E = Expr<typename First::element, typename First::shape>;
  return stack<Axis>(std::array<E, 1 + sizeof...(Rest)>{E(first.graph(), first.id()),
                                                        E(rest.graph(), rest.id())...});
}

}  // namespace typeflow::inline TYPEFLOW_ISA
