// SPDX-License-Identifier: Apache-2.0
#pragma once

// Several tensors as one: concat along an axis that they have, stack along a new one.

#include <array>
#include <cstdint>
#include <source_location>
#include <span>
#include <string_view>
#include <utility>

#include "typeflow/ops/shape/slice.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

/// Shapes put together along an axis: equal but there, where all extents are numbers or all are
/// multiples of batch, and add up.
constexpr Dims concatenated(const Dims* shapes, int count, int axis) {
  Dims out = shapes[0];
  if (axis < 0 || axis >= out.rank) return no_dims;
  bool numbers = false;
  bool batches = false;
  Extent sum = 0;
  for (int i = 0; i < count; ++i) {
    Dims rest = shapes[i];
    if (rest.rank != out.rank) return no_dims;
    const Extent extent = rest.extent[axis];
    numbers = numbers || extent > 0;  // 0 is 0 * batch, too
    batches = batches || extent < 0;
    sum += extent;
    rest.extent[axis] = out.extent[axis];
    if (!(rest == out)) return no_dims;
  }
  if (numbers && batches) return no_dims;
  out.extent[axis] = sum;
  return out;
}

namespace ops {

/// The inputs one after another along an axis.
struct Concat : custom {
  static constexpr Builtin builtin = Builtin::concat;
  static constexpr std::string_view name = "Concat";
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
  static constexpr void gradient(Concat op, std::span<const AnyExpr> x, AnyExpr, AnyExpr dy,
                                 AnyExpr* dx) {
    Extent begin = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Extent size = x[i].dims().extent[op.axis];
      dx[i] = slice_along(dy, op.axis, begin, size);
      begin += size;
    }
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

/// Untyped: one tensor or more, put together along an axis.
constexpr AnyExpr concat_to(std::span<const AnyExpr> x, int axis) {
  constexpr int most = ops::Concat::max_inputs;
  Pool<Id> ids;
  Graph& graph = *x[0].graph;
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

/// The tensors one after another along an axis: concat<1>(a, b). (A,B), (A,C) -> (A,B+C)
/// Extents along the axis are numbers, or multiples of tf::batch, which add up, too.
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

/// The same of an array of N tensors. (A,B) -> (A,N*B)
template <int Axis, TypedExpr X, std::size_t N>
constexpr auto concat(const std::array<X, N>& x,
                      std::source_location at = std::source_location::current()) {
  constexpr int axis = normalize_axis(Axis, X::rank);
  static_assert(N > 0, "concat<axis>(x): the array must hold one tensor at least");
  static_assert(axis >= 0, "concat<axis>(x...): x has no such axis");
  using Rule =
      detail::ResizeRule<typename X::shape, axis,
                         detail::extent_or_zero<typename X::shape, axis>* static_cast<Extent>(N)>;
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

}  // namespace typeflow::inline TYPEFLOW_TARGET
