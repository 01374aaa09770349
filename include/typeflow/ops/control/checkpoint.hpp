// SPDX-License-Identifier: Apache-2.0
#pragma once

// What is computed again for its gradient instead of being kept until then.
//
//   for (int i = 0; i < 20; ++i) x = tf::checkpointed([&](auto h) { return block(g, h); }, x);
//
// A net's training step keeps what the gradients of its layers need, of all layers at once. Of what
// a checkpointed function computes nothing is kept but its results: its gradient computes the rest
// again, from its arguments and captures. That takes the time of the function once more.

#include <concepts>
#include <type_traits>
#include <utility>

#include "typeflow/front/structure.hpp"
#include "typeflow/ops/control/region.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

namespace detail {

/// What reads a variable's present value moves out of the region: it is read once, and its value is
/// what both computations are given, whatever is assigned between them.
constexpr void read_outside(ir::Graph& graph, Id region) {
  const Id parent = graph.regions[region].parent;
  for (Id id = graph.regions[region].first_node; id < graph.nodes.size(); ++id) {
    const ir::Node& node = graph.nodes[id];
    if (node.region == region && node.op->effect == SideEffect::reads_state) {
      graph.nodes[id].region = parent;
    }
  }
}

/// A mistake if the region has effects, which would happen twice.
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

/// f(arguments...), a structure of tensors, whose gradient computes it again instead of using what
/// it computed the first time: of all that f computes nothing but its results is kept until then. f
/// may capture what was made before, and draw random numbers, which are the same both times.
/// Numbers are those that f(arguments...) gives; they can differ in the last bit where a product
/// and a sum are rounded once (fma) in one of the two and not in the other, as in
/// docs/control_flow.md.
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
      const Id token = ir::ControlBuilder(graph, regions).add(ops::Checkpoint{}, {});
      detail::refuse_effects(graph, region);
      Pool<Id> values;
      for (int i = 0; i < results.size(); ++i) {
        values.push(ir::control_result(graph, token, i, graph.values[results[i]].type));
      }
      return detail::structure_of<R>(g, values.data());
    }
  }
}

}  // namespace typeflow::inline TYPEFLOW_TARGET
