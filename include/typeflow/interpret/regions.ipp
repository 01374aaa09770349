// SPDX-License-Identifier: Apache-2.0
#pragma once

// The interpreter's composite operations, branches and loops.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "typeflow/interpret/interpret.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

TYPEFLOW_DEFINITION void Interpreter::expand(const ir::Graph& graph, const ir::Node& node) {
  ir::Graph copy = graph;
  copy.constants.clear();  // this run may not have computed them
  const Id first = copy.nodes.size();
  const Id result =
      node.op->kind == Kind::composite
          ? node.op->expand(copy, graph.words_of(node), graph.operands.data() + node.inputs.first)
          : none;
  if (result == none) {
    throw Error(name_of(graph, node), "the operation can neither be interpreted nor expanded");
  }
  const std::size_t outer = values_.size();
  values_.resize(static_cast<std::size_t>(copy.values.size()));
  known_.resize(values_.size(), false);
  for (Id id = first; id < copy.nodes.size(); ++id) compute(copy, id);
  set(node.outputs.first, value(result));
  values_.resize(outer);
  known_.resize(outer);
}

TYPEFLOW_DEFINITION Id Interpreter::listed(const ir::Graph& graph, const ir::Range& list, Id i) {
  return graph.lists[list.first + i];
}

TYPEFLOW_DEFINITION void Interpreter::give_captures(const ir::Graph& graph, const ir::Node& node,
                                                    ir::Range captures) {
  const Id first = node.inputs.count - captures.count;
  for (Id k = 0; k < captures.count; ++k) {
    const Id from = graph.input(node, first + k);
    const Id to = listed(graph, captures, k);
    if (from != to) set(to, value(from));
  }
}

TYPEFLOW_DEFINITION void Interpreter::run_region(const ir::Graph& graph, Id id) {
  const ir::Region region = graph.regions[id];
  Pool<Id> nodes;
  for (Id n = region.first_node; n < graph.nodes.size(); ++n) {
    const ir::Node& node = graph.nodes[n];
    if (node.region != id || node.op->builtin == Builtin::block_input) continue;
    for (Id k = 0; k < node.inputs.count; ++k) make_source(graph, graph.input(node, k));
    nodes.push(n);
  }
  run_nodes(graph, nodes);
  for (Id k = 0; k < region.results.count; ++k) {
    if (const Id result = listed(graph, region.results, k); result != none) {
      make_source(graph, result);
    }
  }
}

TYPEFLOW_DEFINITION void Interpreter::make_source(const ir::Graph& graph, Id id) {
  if (!is_known(id) && ir::is_made_anywhere(graph.op_of(id))) {
    compute(graph, graph.values[id].node);
  }
}

TYPEFLOW_DEFINITION Id Interpreter::taken_of(const ir::Graph& graph, const ir::Node& node) {
  if (is<ops::Checkpoint>(*node.op)) return 0;
  const HostTensor& selector = value(graph.input(node, 0));
  const std::int64_t last = node.regions.count - 1;
  const std::int64_t taken = selector[0].integer;
  if (selector.dtype == DType::boolean) return taken != 0 ? 0 : 1;
  return static_cast<Id>(taken < 0 || taken > last ? last : taken);
}

TYPEFLOW_DEFINITION void Interpreter::branch(const ir::Graph& graph, const ir::Node& node) {
  const Id id = graph.lists[node.regions.first + taken_of(graph, node)];
  give_captures(graph, node, graph.regions[id].captures);
  run_region(graph, id);
  std::vector<HostTensor>& given = given_[node.outputs.first];
  given.clear();
  const ir::Range results = graph.regions[id].results;
  for (Id k = 0; k < results.count; ++k) {
    const Id result = listed(graph, results, k);
    given.push_back(result == none ? HostTensor{} : value(result));
  }
}

TYPEFLOW_DEFINITION void Interpreter::loop(const ir::Graph& graph, const ir::Node& node,
                                           const ops::Loop& op) {
  const bool tests = node.regions.count == 2;
  const Id body = graph.lists[node.regions.first + node.regions.count - 1];
  const Id condition = graph.lists[node.regions.first];
  const RandomState outer = random;
  give_captures(graph, node, graph.regions[body].captures);
  std::vector<HostTensor> states;
  for (Id k = 0; k < op.states; ++k) states.push_back(value(graph.input(node, k)));
  const ir::Range results = graph.regions[body].results;
  std::int64_t count = op.limited != 0 ? resolve(op.count, symbols_.sizes()) : -1;
  if (!tests && op.limited == 0) {
    count = value(graph.input(node, op.states + op.stacked_inputs))[0].integer;
  }
  std::vector<std::vector<HostTensor>> stacked(static_cast<std::size_t>(results.count - op.states));
  for (std::vector<HostTensor>& slices : stacked) {
    slices.resize(static_cast<std::size_t>(count < 0 ? 0 : count));
  }
  std::int64_t done = 0;
  for (; tests || done < count; ++done) {
    const std::int64_t index = op.reversed != 0 ? count - 1 - done : done;
    random.draw = draw_of_iteration(outer.draw, index);
    give_parameters(graph, node, condition, op, states, index);
    if (tests) {
      run_region(graph, condition);
      if (value(listed(graph, graph.regions[condition].results, 0))[0].integer == 0) break;
      if (count >= 0 && done == count) {
        throw Error(name_of(graph, node), "its condition holds after " + std::to_string(count) +
                                              " iterations, the most that max_iterations allows");
      }
      give_parameters(graph, node, body, op, states, index);
    }
    run_region(graph, body);
    for (Id k = 0; k < op.states; ++k) {
      states[static_cast<std::size_t>(k)] = value(listed(graph, results, k));
    }
    for (std::size_t k = 0; k < stacked.size(); ++k) {
      stacked[k][static_cast<std::size_t>(index)] =
          value(listed(graph, results, op.states + static_cast<Id>(k)));
    }
  }
  random = outer;
  done_[node.outputs.first] = done;
  std::vector<HostTensor>& given = given_[node.outputs.first];
  given = states;
  for (const std::vector<HostTensor>& slices : stacked) given.push_back(put_together(slices));
}

TYPEFLOW_DEFINITION void Interpreter::give_parameters(const ir::Graph& graph, const ir::Node& node,
                                                      Id region, const ops::Loop& op,
                                                      const std::vector<HostTensor>& states,
                                                      std::int64_t index) {
  const ir::Range parameters = graph.regions[region].parameters;
  HostTensor number = host_tensor(DType::int32, Dims{0, {}});
  number[0].integer = index;
  set(listed(graph, parameters, 0), number);
  for (Id k = 0; k < op.states; ++k) {
    set(listed(graph, parameters, 1 + k), states[static_cast<std::size_t>(k)]);
  }
  for (Id k = 1 + op.states; k < parameters.count; ++k) {
    const HostTensor& x = value(graph.input(node, k - 1));
    const Id slice = listed(graph, parameters, k);
    HostTensor taken = host_tensor(x.dtype, resolve(graph.dims_of(slice), symbols_.sizes()));
    for (std::int64_t i = 0; i < taken.size(); ++i) taken[i] = x[index * taken.size() + i];
    set(slice, taken);
  }
}

TYPEFLOW_DEFINITION HostTensor Interpreter::put_together(const std::vector<HostTensor>& slices) {
  HostTensor all;
  for (const HostTensor& slice : slices) {
    all.elements.insert(all.elements.end(), slice.elements.begin(), slice.elements.end());
  }
  return all;
}

TYPEFLOW_DEFINITION void Interpreter::pick(const ir::Graph& graph, const ir::Node& node,
                                           HostTensor& out) {
  const Id token = graph.input(node, 0);
  const std::uint32_t index = graph.words_of(node)[0];
  if (static_cast<std::int32_t>(index) == ops::Result::iterations) {
    out[0].integer = done_[token];
    return;
  }
  const HostTensor& given = given_[token][index];
  std::copy(given.elements.begin(), given.elements.end(), out.elements.begin());
}

}  // namespace typeflow::inline TYPEFLOW_ISA
