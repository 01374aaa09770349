// SPDX-License-Identifier: Apache-2.0
#pragma once

// Functions that are computed again for their gradient, instead of being kept in memory until then.
//
//   for (int i = 0; i < 20; ++i) x = tf::checkpointed([&](auto h) { return block(g, h); }, x);
//
// A net's training step keeps the values that the gradients of its layers need, for all layers at
// the same time. Of a checkpointed function it keeps only the results. The function's gradient
// computes the other values again, from its arguments and captures. That takes the time of the
// function once more.

#include <concepts>
#include <type_traits>
#include <utility>

#include "typeflow/front/control_gradient.hpp"
#include "typeflow/front/structure.hpp"
#include "typeflow/ops/control/region.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// Moves reads of variables' present values out of the region. Each is read once, and both
/// computations get that value, whatever is assigned between them.
constexpr void read_outside(ir::Graph& graph, Id region) {
  const Id parent = graph.regions[region].parent;
  for (Id id = graph.regions[region].first_node; id < graph.nodes.size(); ++id) {
    const ir::Node& node = graph.nodes[id];
    if (node.region == region && node.op->effect == SideEffect::reads_state) {
      graph.nodes[id].region = parent;
    }
  }
}

/// Records a mistake if the region has effects, because they would happen twice.
constexpr void refuse_effects(ir::Graph& graph, Id region) {
  const ir::Range accesses = graph.regions[region].accesses;
  if (accesses.count == 0) return;
  const ir::Access access = ir::Access::decode(graph.lists[accesses.first]);
  Message message{};
  message << "checkpointed(f): f ";
  if (access.variable == ir::Access::outside) {
    message << "prints, checks or has another effect, and";
  } else {
    message << (access.writes ? "assigns '" : "reads '");
    graph.print_name(message,
                     graph.names[graph.values[graph.variable_records[access.variable].value].name]);
    message << (access.writes ? "', and" : "' with read() in a branch or a loop, and");
  }
  message << " is computed again for the gradient, where that would not be the same; do it outside "
             "of f. Used at ";
  print_place(message, graph.source);
  graph.fail(message);
}

}  // namespace detail

/// f(arguments...), a structure of tensors. Its gradient computes f again, instead of using values
/// that were kept: only f's results are kept until then. f may capture outer tensors, and may draw
/// random numbers, which are equal both times.
///
/// Values equal those of f(arguments...), up to the last bit where a product and a sum are rounded
/// once (fma) in one of the two and not in the other; see docs/control_flow.md.
///
/// Errors, at compile time: f assigns variables or has other effects. TensorFlow's
/// tf.recompute_grad, JAX's jax.checkpoint.
template <class F, Structure First, Structure... Rest>
constexpr auto checkpointed(F&& f, const First& first, const Rest&... rest) {
  constexpr bool calls = std::invocable<F&, const First&, const Rest&...>;
  static_assert(calls, "checkpointed(f, arguments...): f must be a function of the arguments");
  if constexpr (calls) {
    using Given = std::remove_cvref_t<std::invoke_result_t<F&, const First&, const Rest&...>>;
    constexpr bool gives = detail::is_structure<Given>();
    static_assert(gives,
                  "checkpointed(f, arguments...): f must give a tensor, or a tuple, pair, array or "
                  "struct of tensors");
    if constexpr (gives) {
      using R = detail::plain_t<Given>;
      Graph& g = detail::graph_of_structure(first);
      ir::Graph& graph = g;
      const ir::SourceLine at = graph.node_of(detail::ids_of(first)[0]).source;
      const Id region = ir::open_region(graph);
      const Pool<Id> results = detail::ids_of(f(first, rest...));
      detail::read_outside(graph, region);
      ir::close_region(graph, region, results);
      graph.source = at;
      Pool<Id> regions;
      regions.push(region);
      graph.control_gradient = &detail::control_gradient;
      // nvcc 13 does not destroy a parameter that is initialised by {} in constants.
      const Id token = ir::ControlBuilder(graph, regions).add(ops::Checkpoint{}, Pool<Id>());
      detail::refuse_effects(graph, region);
      Pool<Id> values;
      for (int i = 0; i < results.size(); ++i) {
        values.push(ir::control_result(graph, token, i, graph.values[results[i]].type));
      }
      return detail::structure_of<R>(g, values.data());
    }
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
