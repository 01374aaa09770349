// SPDX-License-Identifier: Apache-2.0
#pragma once

// Changing slices of a variable in place: scatter_add, scatter_sub, scatter_mul, scatter_update.
//
// These are effects, as assign is: they happen in runs that name them or depend on them, in the
// order in which the model wrote them; the variable's handle keeps meaning its value at the start
// of the run. They touch the slices that indices name and nothing else, however large the variable.

#include <cstdint>
#include <source_location>
#include <span>
#include <vector>

#include "typeflow/front/variables.hpp"
#include "typeflow/ops/index/gather.hpp"
#include "typeflow/ops/state/assign.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

namespace ops {

/// slice := op(slice, value), for the slice that each index names, in the order of the indices:
/// along axis 0, or along the first `axes` taken as one. Inputs: the variable (N,R...), values
/// (I...,R...), indices (I...); output: a token.
template <class Self>
struct scatter_update_base : update {
  static constexpr Domain domain = Domain::numbers;

  static void interpret(InterpretCall& call) {
    const Self op = decode<Self>(call.graph, call.node);
    const HostTensor& values = *call.inputs[0];
    const HostTensor& indices = *call.inputs[1];
    HostTensor& variable = call.outputs[0];
    const detail::IndexLoops loops =
        detail::flat_loops(detail::extents_of(variable), indices.size(), static_cast<int>(op.axes));
    detail::check_indices(op.indexing, indices, loops.extent);
    detail::visit_widest(variable.dtype, [&](auto zero) {
      using Wide = decltype(zero);
      detail::each_index(loops, indices, [&](std::int64_t to, std::int64_t from) {
        for (std::int64_t r = 0; r < loops.inner && to >= 0; ++r) {
          Number& element = variable[to * loops.inner + r];
          const Wide value = typeflow::to<Wide>(values[from * loops.inner + r]);
          const Wide updated = op(typeflow::to<Wide>(element), value);
          element = detail::fitted(number_from(updated), variable.dtype);
        }
      });
    });
  }
  static Error explain(const Self& op, const Failure& wrong, std::span<const Dims> operands) {
    return detail::wrong_index(op.indexing, wrong, detail::extents_of(operands[1]));
  }
};

struct ScatterAdd : scatter_update_base<ScatterAdd> {
  static constexpr std::string_view name = "ScatterAdd";
  Indexing indexing;
  std::int64_t axes;
  template <class V>
  constexpr V operator()(const V& old, const V& value) const {
    return Add{}(old, value);
  }
};
struct ScatterSub : scatter_update_base<ScatterSub> {
  static constexpr std::string_view name = "ScatterSub";
  Indexing indexing;
  std::int64_t axes;
  template <class V>
  constexpr V operator()(const V& old, const V& value) const {
    return Sub{}(old, value);
  }
};
struct ScatterMul : scatter_update_base<ScatterMul> {
  static constexpr std::string_view name = "ScatterMul";
  Indexing indexing;
  std::int64_t axes;
  template <class V>
  constexpr V operator()(const V& old, const V& value) const {
    return Mul{}(old, value);
  }
};
struct ScatterUpdate : scatter_update_base<ScatterUpdate> {
  static constexpr std::string_view name = "ScatterUpdate";
  static constexpr Domain domain = Domain::any;
  static constexpr int flops = 0;
  Indexing indexing;
  std::int64_t axes;
  template <class V>
  constexpr V operator()(const V&, const V& value) const {
    return value;
  }
};

}  // namespace ops

namespace detail {

/// Adds an update of a variable's slices, O; returns its token.
template <class O>
constexpr Id scatter_node(const AnyExpr& variable, const AnyExpr& indices, const AnyExpr& values,
                          Indexing indexing, int axes = 1) {
  (void)sizeof(BindOp<O>);
  const O op{{}, indexing, axes};
  const Words<O> words = encode(op);
  const Id ids[] = {variable.id, values.id, indices.id};
  return variable.graph->add_value(record<O>, ids, 3, none, words.data(), word_count<O>);
}

/// The shape of the slices that indices name.
template <class S, class I>
using SlicesRule = GatherRule<S, I, 0, 0>;
template <class T, class S, class I, class V>
inline constexpr bool scatterable = Literal<V> ? literal_fits<T, V> : false;
template <class T, class S, class I, TypedExpr V>
inline constexpr bool scatterable<T, S, I, V> =
    std::is_same_v<typename V::element, T> &&
    broadcast(V::shape::dims, SlicesRule<S, I>::value) == SlicesRule<S, I>::value;

template <class O, class T, class S, class I, Operand V>
constexpr Effect scatter(const Variable<T, S>& variable, const I& indices, const V& values,
                         Indexing indexing, const std::source_location& at) {
  ir::Graph& graph = variable.graph();
  graph.source = source_line(at);
  const AnyExpr value{&graph, operand_id(graph, dtype_of<T>, values)};
  const AnyExpr slices = broadcast_to(value, SlicesRule<S, typename I::shape>::value);
  return {variable.graph(), scatter_node<O>(variable.any(), indices.any(), slices, indexing)};
}

template <class O>
constexpr Effect scatter(const AnyVariable& variable, const Slices& slices) {
  const AnyExpr x = variable.any();
  return {variable.graph(), scatter_node<O>(x, AnyExpr{x.graph, slices.indices},
                                            AnyExpr{x.graph, slices.values}, slices.indexing)};
}

}  // namespace detail

/// variable[indices] += values, slice by slice; where an index occurs several times all its values
/// are added. (N,R...), (I...), (I...,R...)
///
/// The values have the variable's element type and the shape (I...,R...), or broadcast to it. An
/// index outside of [0, N) is an error of the run; this effect then changes nothing. The new value
/// is after(effect, variable.read()).
template <Element T, class S, TypedExpr I, Operand V>
constexpr Effect scatter_add(const Variable<T, S>& variable, const I& indices, const V& values,
                             std::source_location at = std::source_location::current()) {
  static_assert(contains(Domain::numbers, dtype_of<T>) && S::rank > 0,
                "scatter_add(variable, indices, values): the variable must hold numbers and have "
                "an axis");
  static_assert(detail::are_indices<I>,
                "scatter_add(variable, indices, values): the indices must be integers");
  static_assert(S::rank == 0 || detail::scatterable<T, S, typename I::shape, V>,
                "scatter_add(variable, indices, values): the values must have the variable's "
                "element type and broadcast to the shape of the slices that the indices name");
  return detail::scatter<ops::ScatterAdd>(variable, indices, values, Indexing::scatter_add, at);
}

/// variable[indices] -= values; otherwise as scatter_add.
template <Element T, class S, TypedExpr I, Operand V>
constexpr Effect scatter_sub(const Variable<T, S>& variable, const I& indices, const V& values,
                             std::source_location at = std::source_location::current()) {
  static_assert(contains(Domain::numbers, dtype_of<T>) && S::rank > 0,
                "scatter_sub(variable, indices, values): the variable must hold numbers and have "
                "an axis");
  static_assert(detail::are_indices<I>,
                "scatter_sub(variable, indices, values): the indices must be integers");
  static_assert(S::rank == 0 || detail::scatterable<T, S, typename I::shape, V>,
                "scatter_sub(variable, indices, values): the values must have the variable's "
                "element type and broadcast to the shape of the slices that the indices name");
  return detail::scatter<ops::ScatterSub>(variable, indices, values, Indexing::scatter_sub, at);
}

/// variable[indices] *= values, by all values of an index that occurs several times; otherwise as
/// scatter_add.
template <Element T, class S, TypedExpr I, Operand V>
constexpr Effect scatter_mul(const Variable<T, S>& variable, const I& indices, const V& values,
                             std::source_location at = std::source_location::current()) {
  static_assert(contains(Domain::numbers, dtype_of<T>) && S::rank > 0,
                "scatter_mul(variable, indices, values): the variable must hold numbers and have "
                "an axis");
  static_assert(detail::are_indices<I>,
                "scatter_mul(variable, indices, values): the indices must be integers");
  static_assert(S::rank == 0 || detail::scatterable<T, S, typename I::shape, V>,
                "scatter_mul(variable, indices, values): the values must have the variable's "
                "element type and broadcast to the shape of the slices that the indices name");
  return detail::scatter<ops::ScatterMul>(variable, indices, values, Indexing::scatter_mul, at);
}

/// variable[indices] := values; of an index that occurs several times the last value stays.
/// Elements of any type; otherwise as scatter_add.
template <Element T, class S, TypedExpr I, Operand V>
constexpr Effect scatter_update(const Variable<T, S>& variable, const I& indices, const V& values,
                                std::source_location at = std::source_location::current()) {
  static_assert(S::rank > 0,
                "scatter_update(variable, indices, values): the variable must have an axis");
  static_assert(detail::are_indices<I>,
                "scatter_update(variable, indices, values): the indices must be integers");
  static_assert(S::rank == 0 || detail::scatterable<T, S, typename I::shape, V>,
                "scatter_update(variable, indices, values): the values must have the variable's "
                "element type and broadcast to the shape of the slices that the indices name");
  return detail::scatter<ops::ScatterUpdate>(variable, indices, values, Indexing::scatter_update,
                                             at);
}

/// Untyped: variable += slices, those of a sparse gradient: see slices_of.
constexpr Effect scatter_add(const AnyVariable& variable, const Slices& slices) {
  return detail::scatter<ops::ScatterAdd>(variable, slices);
}
/// Untyped: variable -= slices.
constexpr Effect scatter_sub(const AnyVariable& variable, const Slices& slices) {
  return detail::scatter<ops::ScatterSub>(variable, slices);
}

}  // namespace typeflow::inline TYPEFLOW_TARGET
