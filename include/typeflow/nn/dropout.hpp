// SPDX-License-Identifier: Apache-2.0
#pragma once

// Dropout. Source: Srivastava et al., JMLR 15 (2014).

#include <bit>
#include <cstdint>
#include <source_location>
#include <span>
#include <string>

#include "typeflow/core/error.hpp"
#include "typeflow/front/sources.hpp"
#include "typeflow/ops/custom.hpp"
#include "typeflow/ops/elementwise/cast.hpp"
#include "typeflow/ops/random/random.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// Returns the scalar; a run fails if it is not in (0, 1].
struct CheckKeep : custom {
  static constexpr std::string_view name = "Dropout";
  static constexpr Type infer(CheckKeep, const Type& x) {
    return is_floating(x.dtype) && x.dims.rank == 0 ? x : Type(x.dtype, no_dims);
  }
  static constexpr AnyExpr gradient(CheckKeep, auto, auto, auto dy) { return dy; }
  static void interpret(InterpretCall& call) {
    const Failure wrong = check(call.inputs[0]->value(0));
    if (wrong.what != 0) throw explain({}, wrong, {});
    call.outputs[0] = *call.inputs[0];
  }
  static Failure check(double keep) {
    if (keep > 0 && keep <= 1) return {};
    return {1, {std::bit_cast<std::int64_t>(keep)}};
  }
  TYPEFLOW_COLD static Error explain(CheckKeep, const Failure& wrong, std::span<const Dims>) {
    return Error("expected keep in (0, 1], got " +
                 std::to_string(std::bit_cast<double>(wrong.number[0])));
  }
};

}  // namespace ops

namespace detail {

constexpr AnyExpr check_keep(const UntypedExpr auto& keep) {
  return add_node(*keep.graph, ops::CheckKeep{}, &keep.id, 1, keep.graph->values[keep.id].type);
}

}  // namespace detail

struct DropoutOptions {
  Scalar keep = 0.5;  ///< probability, in (0, 1], that an element stays; may be an expression
  Label name = "";    ///< of the result; unnamed ones draw by their order in the scope
};

/// In training, multiplies each element by 1 / keep with probability `keep`, and sets it to 0
/// otherwise; each run draws anew. In inference, returns x. Names are the same in both. A number
/// `keep` outside of (0, 1] is a mistake of the model; a `keep` that a run computes is an Error of
/// the run.
template <TypedExpr X>
constexpr auto dropout(const X& x, DropoutOptions options = {},
                       std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "dropout(x): x must be floating-point; convert with cast<float>(x)");
  ir::Graph& graph = x.graph();
  const double kept = options.keep.value();
  if (!options.keep.is_expression() && !(kept > 0 && kept <= 1)) {
    graph.source = source_line(at);
    Message message{};
    message << "dropout(x), ";
    detail::print_place(message, graph.source);
    graph.fail(message << ": keep must be in (0, 1]");
    return detail::same_type(x, x.any().id);  // the compiler can't divide by a keep of 0
  }
  const std::uint64_t path = graph.add_random_path("dropout", options.name);
  if (!graph.training()) {
    return detail::same_type(x, detail::labelled(x.any(), options.name).id);
  }
  detail::mark(at, x);
  const AnyExpr y = detail::in_float(x.any(), [&](const auto& v) {
    const AnyExpr keep = options.keep.is_expression()
                             ? detail::check_keep(cast_to(options.keep.expression(), v.dtype()))
                             : detail::literal_node(graph, v.dtype(), options.keep.value());
    const auto uniform = detail::uniform_node(graph, path, Type(v.dtype(), v.dims()));
    const AnyExpr scale = options.keep.is_expression()
                              ? 1 / keep
                              : detail::literal_node(graph, v.dtype(), 1 / options.keep.value());
    return where(less(uniform, keep), v * scale, 0);
  });
  return detail::same_type(x, detail::labelled(y, options.name).id);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
