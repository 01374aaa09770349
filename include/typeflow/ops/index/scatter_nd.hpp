// SPDX-License-Identifier: Apache-2.0
#pragma once

// Changes at rows of coordinates. tensor_scatter_nd_add and the like return a tensor;
// scatter_nd_add and the like are effects that change a variable in place.
//
// Sums and extremes are elementwise compositions of x and the updates' scatter_nd, or fold over
// positions, so they fuse and differentiate. Only replacing needs an operation of its own.

#include <array>
#include <cstdint>
#include <source_location>
#include <span>
#include <string_view>

#include "typeflow/ops/elementwise/binary.hpp"
#include "typeflow/ops/index/scatter.hpp"
#include "typeflow/ops/index/segment_folds.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// x with the slices along axis 0 at these indices replaced; the last value of a duplicate index
/// stays. (N,R...) x (I...,R...) x (I...) -> (N,R...)
struct ReplaceSlices : custom {
  static constexpr std::string_view name = "ReplaceSlices";
  static constexpr Domain domain = Domain::any;
  static constexpr int flops = 0;
  Indexing indexing;

  static constexpr Type infer(const ReplaceSlices&, const Type& x, const Type& values,
                              const Type& indices) {
    const bool fits = is_integer(indices.dtype) && x.dtype == values.dtype && x.dims.rank > 0 &&
                      detail::gathered(x.dims, indices.dims, 0, 0) == values.dims;
    return {x.dtype, fits ? x.dims : no_dims};
  }
  /// Gradients go to slices that are not replaced, and to the values that replace others. The last
  /// value of a duplicate index is found by writing each index at its place.
  static constexpr std::array<AnyExpr, 3> gradient(ReplaceSlices op, auto x, auto values,
                                                   auto indices, auto, auto dy) {
    ir::Graph& graph = *dy.graph;
    const AnyExpr zero = detail::constant_node(graph, dy.dtype(), Number{});
    const AnyExpr dx = apply(op, dy, broadcast_to(zero, values.dims()), indices);
    AnyExpr dvalues = detail::gather_node(dy, indices, 0, 0, op.indexing);
    const Dims places = indices.dims();
    const AnyExpr nowhere = broadcast_to(detail::constant_node(graph, DType::int32, Number{}),
                                         Dims{1, {x.dims().extent[0]}});
    Dims column = places;
    while (column.rank < values.dims().rank) column.append(1);
    for (int axis = 0; axis < places.rank; ++axis) {
      if (places.extent[axis] == 1) continue;
      const AnyExpr place = index_along(graph, places, axis);
      const AnyExpr last =
          detail::gather_node(apply(op, nowhere, place, indices), indices, 0, 0, op.indexing);
      dvalues = where(reshape_to(equal(last, place), column), dvalues, 0);
    }
    return {dx, dvalues, AnyExpr{}};
  }
  static void interpret(InterpretCall& call) {
    const ReplaceSlices op = decode<ReplaceSlices>(call.graph, call.node);
    const HostTensor& values = *call.inputs[1];
    const HostTensor& indices = *call.inputs[2];
    HostTensor& y = call.outputs[0];
    y = *call.inputs[0];
    const detail::IndexLoops loops = detail::flat_loops(detail::extents_of(y), indices.size(), 1);
    detail::check_indices(op.indexing, indices, loops.extent);
    detail::each_index(loops, indices, [&](std::int64_t to, std::int64_t from) {
      for (std::int64_t r = 0; r < loops.inner; ++r) {
        y[to * loops.inner + r] = values[from * loops.inner + r];
      }
    });
  }
  static Error explain(const ReplaceSlices& op, const Failure& wrong,
                       std::span<const Dims> operands) {
    return detail::wrong_index(op.indexing, wrong, detail::extents_of(operands[2]));
  }
};

}  // namespace ops

namespace detail {

/// x, and f(x with the indexed axes merged, the indices as positions along that axis), reshaped.
template <class F>
constexpr AnyExpr scatter_into(const AnyExpr& x, const AnyExpr& indices, Indexing indexing,
                               const F& f) {
  const auto depth = static_cast<int>(indices.dims().extent[indices.dims().rank - 1]);
  const AnyExpr positions = ravel(indices, x.dims(), indexing);
  return reshape_to(f(reshape_to(x, flattened(x.dims(), depth)), positions), x.dims());
}

/// Untyped: a tensor, changed at rows of coordinates.
constexpr AnyExpr tensor_scatter_nd(const UntypedExpr auto& x, const UntypedExpr auto& indices,
                                    const UntypedExpr auto& updates, Indexing indexing) {
  return scatter_into(x, indices, indexing, [&](const auto& flat, const auto& positions) {
    const Extent extent = flat.dims().extent[0];
    const auto sums = [&](DType type) {
      return scatter_sum_node(positions, cast_to(updates, type), extent, 0, 0, indexing);
    };
    switch (indexing) {
      case Indexing::tensor_scatter_nd_add:
        return in_float(flat, [&](const AnyExpr& v) { return v + sums(v.dtype()); });
      case Indexing::tensor_scatter_nd_sub:
        return in_float(flat, [&](const AnyExpr& v) { return v - sums(v.dtype()); });
      case Indexing::tensor_scatter_nd_max:
        return maximum(flat, apply(ops::ScatterMax{{}, extent, indexing}, updates, positions));
      case Indexing::tensor_scatter_nd_min:
        return minimum(flat, apply(ops::ScatterMin{{}, extent, indexing}, updates, positions));
      default:
        return apply(ops::ReplaceSlices{{}, indexing}, flat, updates, positions);
    }
  });
}

/// Whether indices and updates fit a tensor, in steps that each depend on the one before.
template <class X, class I, class U>
struct ScatterNdRule : GatherNdRule<X, I> {
  using Base = GatherNdRule<X, I>;
  static constexpr bool fits =
      Base::depth < 0 || !Base::flattens || broadcast(U::dims, Base::value) == Base::value;
};

/// An update of a variable's slices at rows of coordinates.
template <class O, class T, class S, class I, Operand V>
constexpr Effect scatter_nd_effect(const Variable<T, S>& variable, const I& indices,
                                   const V& values, Indexing indexing,
                                   const std::source_location& at) {
  using Rule = GatherNdRule<S, typename I::shape>;
  ir::Graph& graph = variable.graph();
  graph.source = source_line(at);
  const AnyExpr value{&graph, operand_id(graph, dtype_of<T>, values)};
  const AnyExpr positions = ravel(indices.any(), S::dims, indexing);
  return {variable.graph(),
          scatter_node<O>(variable.any(), positions, broadcast_to(value, Rule::value), indexing,
                          Rule::depth)};
}

}  // namespace detail

/// x plus the updates at rows of coordinates; duplicates add up: tensor_scatter_nd_add(x, indices,
/// updates). (D1,...,DK,R...) x (I...,K) x (I...,R...) -> (D1,...,DK,R...)
///
/// The updates have the element type of x. A coordinate outside of its axis is an error of the run.
template <TypedExpr X, TypedExpr I, TypedExpr U>
constexpr auto tensor_scatter_nd_add(const X& x, const I& indices, const U& updates,
                                     std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::numbers, X>,
                "tensor_scatter_nd_add(x, indices, updates): x must be a tensor of numbers");
  static_assert(detail::are_indices<I>,
                "tensor_scatter_nd_add(x, indices, updates): the indices must be integers");
  using Rule = detail::ScatterNdRule<typename X::shape, typename I::shape, typename U::shape>;
  static_assert(Rule::depth > 0,
                "tensor_scatter_nd_add(x, indices, updates): the last axis of the indices must "
                "have as many elements as axes of x are indexed, at least 1 and at most 7");
  static_assert(Rule::flattens,
                "tensor_scatter_nd_add(x, indices, updates): only one of the axes that are indexed "
                "may have tf::batch");
  static_assert(detail::same_elements<X, U> && Rule::fits,
                "tensor_scatter_nd_add(x, indices, updates): the updates must have the element "
                "type of x, and broadcast to the shape of the slices that the indices name");
  detail::mark(at, x);
  return detail::same_type(
      x, detail::tensor_scatter_nd(x.any(), indices.any(), broadcast_to(updates.any(), Rule::value),
                                   Indexing::tensor_scatter_nd_add)
             .id);
}

/// x minus the updates at rows of coordinates; duplicates add up: tensor_scatter_nd_sub(x, indices,
/// updates). (D1,...,DK,R...) x (I...,K) x (I...,R...) -> (D1,...,DK,R...)
///
/// The updates have the element type of x. A coordinate outside of its axis is an error of the run.
template <TypedExpr X, TypedExpr I, TypedExpr U>
constexpr auto tensor_scatter_nd_sub(const X& x, const I& indices, const U& updates,
                                     std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::numbers, X>,
                "tensor_scatter_nd_sub(x, indices, updates): x must be a tensor of numbers");
  static_assert(detail::are_indices<I>,
                "tensor_scatter_nd_sub(x, indices, updates): the indices must be integers");
  using Rule = detail::ScatterNdRule<typename X::shape, typename I::shape, typename U::shape>;
  static_assert(Rule::depth > 0,
                "tensor_scatter_nd_sub(x, indices, updates): the last axis of the indices must "
                "have as many elements as axes of x are indexed, at least 1 and at most 7");
  static_assert(Rule::flattens,
                "tensor_scatter_nd_sub(x, indices, updates): only one of the axes that are indexed "
                "may have tf::batch");
  static_assert(detail::same_elements<X, U> && Rule::fits,
                "tensor_scatter_nd_sub(x, indices, updates): the updates must have the element "
                "type of x, and broadcast to the shape of the slices that the indices name");
  detail::mark(at, x);
  return detail::same_type(
      x, detail::tensor_scatter_nd(x.any(), indices.any(), broadcast_to(updates.any(), Rule::value),
                                   Indexing::tensor_scatter_nd_sub)
             .id);
}

/// The larger of x and the updates at rows of coordinates; the largest of duplicates:
/// tensor_scatter_nd_max(x, indices, updates). (D1,...,DK,R...) x (I...,K) x (I...,R...) ->
/// (D1,...,DK,R...)
///
/// The updates have the element type of x. A coordinate outside of its axis is an error of the run.
/// NaN is passed on. Gradients flow as in maximum and unsorted_segment_max.
template <TypedExpr X, TypedExpr I, TypedExpr U>
constexpr auto tensor_scatter_nd_max(const X& x, const I& indices, const U& updates,
                                     std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::real, X>,
                "tensor_scatter_nd_max(x, indices, updates): x must be a tensor of real numbers");
  static_assert(detail::are_indices<I>,
                "tensor_scatter_nd_max(x, indices, updates): the indices must be integers");
  using Rule = detail::ScatterNdRule<typename X::shape, typename I::shape, typename U::shape>;
  static_assert(Rule::depth > 0,
                "tensor_scatter_nd_max(x, indices, updates): the last axis of the indices must "
                "have as many elements as axes of x are indexed, at least 1 and at most 7");
  static_assert(Rule::flattens,
                "tensor_scatter_nd_max(x, indices, updates): only one of the axes that are indexed "
                "may have tf::batch");
  static_assert(detail::same_elements<X, U> && Rule::fits,
                "tensor_scatter_nd_max(x, indices, updates): the updates must have the element "
                "type of x, and broadcast to the shape of the slices that the indices name");
  detail::mark(at, x);
  return detail::same_type(
      x, detail::tensor_scatter_nd(x.any(), indices.any(), broadcast_to(updates.any(), Rule::value),
                                   Indexing::tensor_scatter_nd_max)
             .id);
}

/// The smaller of x and the updates at rows of coordinates; the smallest of duplicates:
/// tensor_scatter_nd_min(x, indices, updates). (D1,...,DK,R...) x (I...,K) x (I...,R...) ->
/// (D1,...,DK,R...)
///
/// The updates have the element type of x. A coordinate outside of its axis is an error of the run.
/// NaN is passed on. Gradients flow as in minimum and unsorted_segment_min.
template <TypedExpr X, TypedExpr I, TypedExpr U>
constexpr auto tensor_scatter_nd_min(const X& x, const I& indices, const U& updates,
                                     std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::real, X>,
                "tensor_scatter_nd_min(x, indices, updates): x must be a tensor of real numbers");
  static_assert(detail::are_indices<I>,
                "tensor_scatter_nd_min(x, indices, updates): the indices must be integers");
  using Rule = detail::ScatterNdRule<typename X::shape, typename I::shape, typename U::shape>;
  static_assert(Rule::depth > 0,
                "tensor_scatter_nd_min(x, indices, updates): the last axis of the indices must "
                "have as many elements as axes of x are indexed, at least 1 and at most 7");
  static_assert(Rule::flattens,
                "tensor_scatter_nd_min(x, indices, updates): only one of the axes that are indexed "
                "may have tf::batch");
  static_assert(detail::same_elements<X, U> && Rule::fits,
                "tensor_scatter_nd_min(x, indices, updates): the updates must have the element "
                "type of x, and broadcast to the shape of the slices that the indices name");
  detail::mark(at, x);
  return detail::same_type(
      x, detail::tensor_scatter_nd(x.any(), indices.any(), broadcast_to(updates.any(), Rule::value),
                                   Indexing::tensor_scatter_nd_min)
             .id);
}

/// x with the updates at rows of coordinates; the last of duplicates stays:
/// tensor_scatter_nd_update(x, indices, updates). (D1,...,DK,R...) x (I...,K) x (I...,R...) ->
/// (D1,...,DK,R...)
///
/// The updates have the element type of x. A coordinate outside of its axis is an error of the run.
/// Gradients flow to elements that are not replaced, and to the updates that stay.
template <TypedExpr X, TypedExpr I, TypedExpr U>
constexpr auto tensor_scatter_nd_update(const X& x, const I& indices, const U& updates,
                                        std::source_location at = std::source_location::current()) {
  static_assert(detail::are_indices<I>,
                "tensor_scatter_nd_update(x, indices, updates): the indices must be integers");
  using Rule = detail::ScatterNdRule<typename X::shape, typename I::shape, typename U::shape>;
  static_assert(Rule::depth > 0,
                "tensor_scatter_nd_update(x, indices, updates): the last axis of the indices must "
                "have as many elements as axes of x are indexed, at least 1 and at most 7");
  static_assert(Rule::flattens,
                "tensor_scatter_nd_update(x, indices, updates): only one of the axes that are "
                "indexed may have tf::batch");
  static_assert(detail::same_elements<X, U> && Rule::fits,
                "tensor_scatter_nd_update(x, indices, updates): the updates must have the element "
                "type of x, and broadcast to the shape of the slices that the indices name");
  detail::mark(at, x);
  return detail::same_type(
      x, detail::tensor_scatter_nd(x.any(), indices.any(), broadcast_to(updates.any(), Rule::value),
                                   Indexing::tensor_scatter_nd_update)
             .id);
}

/// variable[coordinates] += values, slice by slice, at rows of K coordinates; duplicates add up.
/// (D1,...,DK,R...), (I...,K), (I...,R...)
/// The values have the variable's element type and the shape (I...,R...), or broadcast to it. A
/// coordinate outside of its axis is an error of the run; this effect then changes nothing.
template <Element T, class S, TypedExpr I, Operand V>
constexpr Effect scatter_nd_add(const Variable<T, S>& variable, const I& indices, const V& values,
                                std::source_location at = std::source_location::current()) {
  static_assert(contains(Domain::numbers, dtype_of<T>),
                "scatter_nd_add(variable, indices, values): the variable must hold numbers");
  static_assert(detail::are_indices<I>,
                "scatter_nd_add(variable, indices, values): the indices must be integers");
  using Rule = detail::GatherNdRule<S, typename I::shape>;
  static_assert(Rule::depth > 0,
                "scatter_nd_add(variable, indices, values): the last axis of the indices must have "
                "as many elements as axes of the variable are indexed, at least 1 and at most 7");
  static_assert(Rule::depth < 0 || detail::assignable<T, shape_of_t<Rule>, V>,
                "scatter_nd_add(variable, indices, values): the values must have the variable's "
                "element type and broadcast to the shape of the slices that the indices name");
  return detail::scatter_nd_effect<ops::ScatterAdd>(variable, indices, values,
                                                    Indexing::scatter_nd_add, at);
}

/// variable[coordinates] -= values, slice by slice, at rows of K coordinates; duplicates add up.
/// (D1,...,DK,R...), (I...,K), (I...,R...)
/// The values have the variable's element type and the shape (I...,R...), or broadcast to it. A
/// coordinate outside of its axis is an error of the run; this effect then changes nothing.
template <Element T, class S, TypedExpr I, Operand V>
constexpr Effect scatter_nd_sub(const Variable<T, S>& variable, const I& indices, const V& values,
                                std::source_location at = std::source_location::current()) {
  static_assert(contains(Domain::numbers, dtype_of<T>),
                "scatter_nd_sub(variable, indices, values): the variable must hold numbers");
  static_assert(detail::are_indices<I>,
                "scatter_nd_sub(variable, indices, values): the indices must be integers");
  using Rule = detail::GatherNdRule<S, typename I::shape>;
  static_assert(Rule::depth > 0,
                "scatter_nd_sub(variable, indices, values): the last axis of the indices must have "
                "as many elements as axes of the variable are indexed, at least 1 and at most 7");
  static_assert(Rule::depth < 0 || detail::assignable<T, shape_of_t<Rule>, V>,
                "scatter_nd_sub(variable, indices, values): the values must have the variable's "
                "element type and broadcast to the shape of the slices that the indices name");
  return detail::scatter_nd_effect<ops::ScatterSub>(variable, indices, values,
                                                    Indexing::scatter_nd_sub, at);
}

/// variable[coordinates] := values, slice by slice, at rows of K coordinates; the last of
/// duplicates stays. (D1,...,DK,R...), (I...,K), (I...,R...)
///
/// The values have the variable's element type and the shape (I...,R...), or broadcast to it. A
/// coordinate outside of its axis is an error of the run, and this effect then changes nothing.
template <Element T, class S, TypedExpr I, Operand V>
constexpr Effect scatter_nd_update(const Variable<T, S>& variable, const I& indices,
                                   const V& values,
                                   std::source_location at = std::source_location::current()) {
  static_assert(detail::are_indices<I>,
                "scatter_nd_update(variable, indices, values): the indices must be integers");
  using Rule = detail::GatherNdRule<S, typename I::shape>;
  static_assert(
      Rule::depth > 0,
      "scatter_nd_update(variable, indices, values): the last axis of the indices must have as "
      "many elements as axes of the variable are indexed, at least 1 and at most 7");
  static_assert(Rule::depth < 0 || detail::assignable<T, shape_of_t<Rule>, V>,
                "scatter_nd_update(variable, indices, values): the values must have the variable's "
                "element type and broadcast to the shape of the slices that the indices name");
  return detail::scatter_nd_effect<ops::ScatterUpdate>(variable, indices, values,
                                                       Indexing::scatter_nd_update, at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
