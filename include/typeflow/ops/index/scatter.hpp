// SPDX-License-Identifier: Apache-2.0
#pragma once

// Changing slices of a variable in place: scatter_add, scatter_sub, scatter_mul, scatter_update.
//
// These are effects, as assign is. They happen in runs that name them or depend on them, in the
// order of the model's statements. The variable's handle keeps its value at the start of the run.
// They touch only the slices at the indices, however large the variable is.

#include <concepts>
#include <cstdint>
#include <source_location>
#include <span>
#include <vector>

#include "typeflow/front/variables.hpp"
#include "typeflow/ops/index/gather.hpp"
#include "typeflow/ops/state/assign.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// slice := op(slice, value) for the slice at each index, in the order of the indices. The indices
/// go along axis 0, or along the first `axes` merged into one. Inputs: the variable (N,R...),
/// values (I...,R...), indices (I...); output: a token.
template <class Self>
struct scatter_update_base : update {
  static constexpr Domain domain = Domain::numbers;

  static void interpret(InterpretCall& call) {
    const Self op = decode<Self>(call.graph, call.node);
    const DType dtype = call.outputs[0].dtype;
    detail::visit_widest(dtype, [&](auto zero) {
      using Wide = decltype(zero);
      each_update(op, call, [&](Number& element, const Number& value) {
        const Wide updated = op(typeflow::to<Wide>(element), typeflow::to<Wide>(value));
        element = detail::fitted(number_from(updated), dtype);
      });
    });
  }
  static Error explain(const Self& op, const Failure& wrong, std::span<const Dims> operands) {
    return detail::wrong_index(op.indexing, wrong, detail::extents_of(operands[1]));
  }

 protected:
  /// Calls f(element of the variable, value) for each value, in their order.
  template <class F>
  static void each_update(const Self& op, InterpretCall& call, const F& f) {
    const HostTensor& values = *call.inputs[0];
    const HostTensor& indices = *call.inputs[1];
    HostTensor& variable = call.outputs[0];
    const detail::IndexLoops loops =
        detail::flat_loops(detail::extents_of(variable), indices.size(), static_cast<int>(op.axes));
    detail::check_indices(op.indexing, indices, loops.extent);
    detail::each_index(loops, indices, [&](std::int64_t to, std::int64_t from) {
      for (std::int64_t r = 0; r < loops.inner && to >= 0; ++r) {
        f(variable[to * loops.inner + r], values[from * loops.inner + r]);
      }
    });
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

/// The same for a 16-bit variable and float values: a slice takes all values of its index in float,
/// and is rounded once.
struct ScatterHalves : scatter_update_base<ScatterHalves> {
  static constexpr std::string_view name = "ScatterHalves";
  enum class Step : std::int64_t { add, subtract, multiply, divide };
  Indexing indexing;
  std::int64_t axes;
  Step step;

  constexpr float operator()(float old, float value) const {
    switch (step) {
      case Step::add:
        return old + value;
      case Step::subtract:
        return old - value;
      case Step::multiply:
        return old * value;
      default:
        return old / value;
    }
  }
  static void interpret(InterpretCall& call) {
    const ScatterHalves op = decode<ScatterHalves>(call.graph, call.node);
    each_update(op, call, [&](Number& element, const Number& value) {
      element = number_from(op(typeflow::to<float>(element), typeflow::to<float>(value)));
    });
    HostTensor& variable = call.outputs[0];
    for (Number& element : variable.elements) element = detail::fitted(element, variable.dtype);
  }
};

}  // namespace ops

namespace detail {

/// Adds an update of a variable's slices; returns its token.
template <class O>
constexpr Id scatter_update_node(const O& op, const AnyExpr& variable, const AnyExpr& values,
                                 const AnyExpr& indices) {
  (void)sizeof(BindOp<O>);
  const Words<O> words = encode(op);
  const Id ids[] = {variable.id, values.id, indices.id};
  return variable.graph->add_value(record<O>, ids, 3, none, words.data(), word_count<O>);
}

/// The step of an update that has to be rounded once.
template <class O>
inline constexpr auto step_in_float = nullptr;
template <>
inline constexpr auto step_in_float<ops::ScatterAdd> = ops::ScatterHalves::Step::add;
template <>
inline constexpr auto step_in_float<ops::ScatterSub> = ops::ScatterHalves::Step::subtract;
template <>
inline constexpr auto step_in_float<ops::ScatterMul> = ops::ScatterHalves::Step::multiply;

/// Adds an update O of a variable's slices; returns its token. Values for a 16-bit variable may be
/// float.
template <class O>
constexpr Id scatter_node(const AnyExpr& variable, const AnyExpr& indices, const auto& values,
                          Indexing indexing, int axes = 1) {
  if constexpr (!std::is_null_pointer_v<decltype(step_in_float<O>)>) {
    if (is_half_precision(variable.dtype())) {
      const ops::ScatterHalves op{{}, indexing, axes, step_in_float<O>};
      return scatter_update_node(op, variable, cast_to(values, DType::float32), indices);
    }
  }
  return scatter_update_node(O{{}, indexing, axes}, variable, values, indices);
}

/// The shape of the slices at these indices.
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

/// variable[indices] += values, slice by slice; duplicates add up. (N,R...), (I...), (I...,R...)
///
/// The values have the variable's element type and the shape (I...,R...), or broadcast to it. A
/// 16-bit variable adds them in float, and is rounded once. An index outside of [0, N) is an error
/// of the run, and this effect then changes nothing. The new value is after(effect,
/// variable.read()).
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

/// variable[indices] *= values, by all values of a duplicate index; otherwise as scatter_add.
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

/// variable[indices] := values, of any element type; the last value of a duplicate index stays.
/// Otherwise as scatter_add.
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

/// Untyped: variable += the slices of a sparse gradient; see slices_of.
template <std::convertible_to<AnyVariable> V>
constexpr Effect scatter_add(const V& variable, const Slices& slices) {
  return detail::scatter<ops::ScatterAdd>(AnyVariable(variable), slices);
}
/// Untyped: variable -= the slices of a sparse gradient.
template <std::convertible_to<AnyVariable> V>
constexpr Effect scatter_sub(const V& variable, const Slices& slices) {
  return detail::scatter<ops::ScatterSub>(AnyVariable(variable), slices);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
