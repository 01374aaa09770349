// SPDX-License-Identifier: Apache-2.0
#pragma once

// Rarer changes of a variable's slices in place: scatter_div, scatter_max, scatter_min. The others
// are in scatter.hpp; these are effects with the same rules.

#include <cstdint>
#include <source_location>
#include <string_view>

#include "typeflow/ops/elementwise/arithmetic.hpp"
#include "typeflow/ops/elementwise/binary.hpp"
#include "typeflow/ops/index/scatter.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

struct ScatterDiv : scatter_update_base<ScatterDiv> {
  static constexpr std::string_view name = "ScatterDiv";
  Indexing indexing;
  std::int64_t axes;
  template <class V>
  constexpr V operator()(const V& old, const V& value) const {
    return Div{}(old, value);
  }
};

/// An update that chooses between two real numbers.
template <class Self>
struct scatter_choice : scatter_update_base<Self> {
  static constexpr Domain domain = Domain::real;

  static void interpret(InterpretCall& call) {
    const Self op = decode<Self>(call.graph, call.node);
    detail::visit_widest(call.outputs[0].dtype, [&](auto zero) {
      using Wide = decltype(zero);
      if constexpr (contains(domain, dtype_of<Wide>)) {
        scatter_update_base<Self>::each_update(op, call, [&](Number& element, const Number& value) {
          element = number_from(op(typeflow::to<Wide>(element), typeflow::to<Wide>(value)));
        });
      }
    });
  }
};
/// (ScatterMax is the fold of segments.)
struct ScatterUpdateMax : scatter_choice<ScatterUpdateMax> {
  static constexpr std::string_view name = "ScatterUpdateMax";
  Indexing indexing;
  std::int64_t axes;
  template <class V>
  constexpr V operator()(const V& old, const V& value) const {
    return Maximum{}(old, value);
  }
};
struct ScatterUpdateMin : scatter_choice<ScatterUpdateMin> {
  static constexpr std::string_view name = "ScatterUpdateMin";
  Indexing indexing;
  std::int64_t axes;
  template <class V>
  constexpr V operator()(const V& old, const V& value) const {
    return Minimum{}(old, value);
  }
};

}  // namespace ops

namespace detail {
template <>
inline constexpr auto step_in_float<ops::ScatterDiv> = ops::ScatterHalves::Step::divide;
}

/// variable[indices] /= values, by all values of a duplicate index; otherwise as scatter_add.
/// Integers round towards zero, and an integer / 0 is 0. (N,R...), (I...), (I...,R...)
template <Element T, class S, TypedExpr I, Operand V>
constexpr Effect scatter_div(const Variable<T, S>& variable, const I& indices, const V& values,
                             std::source_location at = std::source_location::current()) {
  static_assert(contains(Domain::numbers, dtype_of<T>) && S::rank > 0,
                "scatter_div(variable, indices, values): the variable must hold numbers and have "
                "an axis");
  static_assert(detail::are_indices<I>,
                "scatter_div(variable, indices, values): the indices must be integers");
  static_assert(S::rank == 0 || detail::scatterable<T, S, typename I::shape, V>,
                "scatter_div(variable, indices, values): the values must have the variable's "
                "element type and broadcast to the shape of the slices that the indices name");
  return detail::scatter<ops::ScatterDiv>(variable, indices, values, Indexing::scatter_div, at);
}

/// variable[indices] := the larger of its elements and the values; otherwise as scatter_add. NaN
/// is passed on. (N,R...), (I...), (I...,R...)
template <Element T, class S, TypedExpr I, Operand V>
constexpr Effect scatter_max(const Variable<T, S>& variable, const I& indices, const V& values,
                             std::source_location at = std::source_location::current()) {
  static_assert(contains(Domain::real, dtype_of<T>) && S::rank > 0,
                "scatter_max(variable, indices, values): the variable must hold real numbers and "
                "have an axis");
  static_assert(detail::are_indices<I>,
                "scatter_max(variable, indices, values): the indices must be integers");
  static_assert(S::rank == 0 || detail::scatterable<T, S, typename I::shape, V>,
                "scatter_max(variable, indices, values): the values must have the variable's "
                "element type and broadcast to the shape of the slices that the indices name");
  return detail::scatter<ops::ScatterUpdateMax>(variable, indices, values, Indexing::scatter_max,
                                                at);
}

/// variable[indices] := the smaller of its elements and the values; otherwise as scatter_max.
/// (N,R...), (I...), (I...,R...)
template <Element T, class S, TypedExpr I, Operand V>
constexpr Effect scatter_min(const Variable<T, S>& variable, const I& indices, const V& values,
                             std::source_location at = std::source_location::current()) {
  static_assert(contains(Domain::real, dtype_of<T>) && S::rank > 0,
                "scatter_min(variable, indices, values): the variable must hold real numbers and "
                "have an axis");
  static_assert(detail::are_indices<I>,
                "scatter_min(variable, indices, values): the indices must be integers");
  static_assert(S::rank == 0 || detail::scatterable<T, S, typename I::shape, V>,
                "scatter_min(variable, indices, values): the values must have the variable's "
                "element type and broadcast to the shape of the slices that the indices name");
  return detail::scatter<ops::ScatterUpdateMin>(variable, indices, values, Indexing::scatter_min,
                                                at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
