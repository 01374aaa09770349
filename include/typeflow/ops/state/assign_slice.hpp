// SPDX-License-Identifier: Apache-2.0
#pragma once

// Changing a part of a variable in place: assign_slice<...>(v, x), with the arguments of
// slice<...>.

#include <cstdint>
#include <source_location>
#include <string_view>

#include "typeflow/ops/shape/slice.hpp"
#include "typeflow/ops/state/assign.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// A window of a variable := value. Inputs: the variable, the value; output: a token.
struct AssignSlice : update, SliceWindow {
  static constexpr std::string_view name = "AssignSlice";
  static constexpr Domain domain = Domain::any;
  static constexpr int flops = 0;

  static void interpret(InterpretCall& call) {
    const AssignSlice op = decode<AssignSlice>(call.graph, call.node);
    const HostTensor& value = *call.inputs[0];
    HostTensor& variable = call.outputs[0];
    for (std::int64_t i = 0; i < value.size(); ++i) {
      variable[Slice::position(op, i, value.dims, variable.dims)] = value[i];
    }
  }
};

}  // namespace ops

namespace detail {

/// Adds an assignment to a window of a variable; returns its token.
constexpr Id assign_slice_node(std::same_as<ir::Graph> auto& graph, Id variable,
                               const SlicePlan& plan, const UntypedExpr auto& value) {
  (void)sizeof(BindOp<ops::AssignSlice>);
  const AnyExpr window = reverse_to(reshape_to(value, plan.size), plan.reversed);
  const ops::AssignSlice op{{}, plan.window};
  const Words<ops::AssignSlice> words = encode(op);
  const Id ids[] = {variable, window.id};
  return graph.add_value(record<ops::AssignSlice>, ids, 2, none, words.data(),
                         word_count<ops::AssignSlice>);
}

}  // namespace detail

/// variable[...] := value, for the part that slice<...>(variable) reads:
/// assign_slice<tf::whole, tf::range(0, 8, 2)>(v, x). The rest stays as it is, and is not touched.
///
/// The value has the variable's element type and the part's shape, or broadcasts to it. The new
/// value of the variable is after(effect, variable.read()).
template <AxisSlice... Slices, Element T, class S, Operand V>
constexpr Effect assign_slice(const Variable<T, S>& variable, const V& value,
                              std::source_location at = std::source_location::current()) {
  using Rule = detail::SliceRule<S, Slices...>;
  constexpr bool fits = Rule::plan.problem == detail::SlicePlan::Problem::none;
  static_assert(fits,
                "assign_slice<...>(variable, value): the arguments must be such that "
                "slice<...>(variable) takes: an index or a range within each axis");
  static_assert(!fits || detail::assignable<T, shape_of_t<Rule>, V>,
                "assign_slice<...>(variable, value): the value must have the variable's element "
                "type and broadcast to the shape of the slice");
  ir::Graph& graph = variable.graph();
  graph.source = source_line(at);
  const AnyExpr x{&graph, detail::operand_id(graph, dtype_of<T>, value)};
  return {variable.graph(), detail::assign_slice_node(graph, variable.id(), Rule::plan,
                                                      broadcast_to(x, Rule::plan.result))};
}

}  // namespace typeflow::inline TYPEFLOW_ISA
