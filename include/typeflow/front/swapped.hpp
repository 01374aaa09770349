// SPDX-License-Identifier: Apache-2.0
#pragma once

// Functions whose tensors wait for their gradient in another device's memory.
//
//   for (int i = 0; i < 20; ++i) x = tf::swapped([&](auto h) { return block(g, h); }, x);
//
// A net's training step keeps the tensors that the gradients of its layers read, for all layers at
// the same time. Those of a swapped function are copied to the memory of /cpu:0 as soon as they are
// there, and back when the gradient arrives at the function. In between they take none of their own
// device's memory. checkpointed (ops/control/checkpoint.hpp) computes them again instead.

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "typeflow/cpu/call.hpp"
#include "typeflow/front/backward.hpp"
#include "typeflow/front/structure.hpp"
#include "typeflow/ops/custom.hpp"
#include "typeflow/ops/state/assign.hpp"
#include "typeflow/passes/place.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// The input has been computed. Output: a token.
struct Arrival : custom {
  static constexpr std::string_view name = "Arrival";
  static constexpr int flops = 0;
  static void interpret(InterpretCall&) {}
};

}  // namespace ops

namespace cpu_kernels {

template <>
struct kernel_of<ops::Arrival> {
  template <class A>
  static void run(const ops::Arrival&, const Tensor*, const Tensor*, const KernelCall&) {}
};

}  // namespace cpu_kernels

namespace detail {

/// The nodes of a call of swapped, and the device that has their tensors meanwhile. Graph::swaps
/// lists these as four numbers each.
struct SwapGroup {
  Id first;
  Id end;
  Device host;
};

constexpr SwapGroup swap_group(const ir::Graph& graph, Id number) {
  const Id* const words = graph.lists.data() + graph.swaps.first + 4 * number;
  return {words[0], words[1], {static_cast<DeviceKind>(words[2]), words[3]}};
}
/// The number of the innermost group that has a node; none.
constexpr Id swap_group_of(const ir::Graph& graph, Id node) {
  for (Id i = 0; i < graph.swaps.count / 4; ++i) {
    const SwapGroup group = swap_group(graph, i);
    if (group.first <= node && node < group.end) return i;
  }
  return none;
}

/// Calls gradient rules, and makes the nodes that they add read swapped tensors from where they
/// wait.
class SwappedGradient {
 public:
  constexpr SwappedGradient(ir::Graph& graph, ir::SwappedTensors& tensors, Id node, const Id* dy)
      : graph_(graph), tensors_(tensors), node_(graph.nodes[node]), id_(node), dy_(dy) {
    if (!tensors.back.empty()) return;
    tensors.back = Pool<Id>(graph.values.size(), none);
    tensors.arrival = Pool<Id>(graph.swaps.count / 4, none);
    tensors.device = ir::future_devices(graph, graph.nodes.size());
  }

  /// The rule of the node. (Regions keep what their gradients need by themselves.)
  constexpr void run(Id* dx) {
    const Device device = graph_.device;
    const Id before = graph_.nodes.size();
    Pool<Id> values;
    for (Id k = 0; k < node_.inputs.count; ++k) values.push(graph_.input(node_, k));
    for (Id k = 0; k < node_.outputs.count; ++k) values.push(node_.outputs.first + k);
    if (node_.region == 0 && graph_.region == 0) {
      for (const Id value : values) bring_back(value);
    }
    graph_.device = device;
    const Id first = graph_.nodes.size();
    node_.op->gradient(graph_, id_, dy_, dx);
    for (const Id value : values) replace(value, first);
    // Others are brought back when the rule of another node reads them.
    for (const Id value : brought_) {
      if (!is_read(tensors_.back[value], before)) tensors_.back[value] = none;
    }
  }

 private:
  /// The value that gradients read in place of this one.
  constexpr Id bring_back(Id value) {
    if (value >= tensors_.back.size()) return value;
    if (tensors_.back[value] != none) return tensors_.back[value];
    const ir::Node node = graph_.node_of(value);
    Id back = value;
    if (node.op->kind == Kind::view || node.op->builtin == Builtin::broadcast_to ||
        node.op->builtin == Builtin::transpose) {
      const Id shown = graph_.input(node, 0);
      const Id base = bring_back(shown);
      if (base != shown) back = view_again(node, base);
    } else if (const Id group = swap_group_of(graph_, graph_.values[value].node);
               group != none && is_swapped(value, node)) {
      back = from_host(value, swap_group(graph_, group).host);
    }
    if (back == value) return value;
    brought_.push(value);
    return tensors_.back[value] = back;
  }
  /// Sources have memory of their own, and scalars take next to none.
  constexpr bool is_swapped(Id value, const ir::Node& node) const {
    return node.op->kind != Kind::source && node.region == 0 && !graph_.is_token(value) &&
           graph_.dims_of(value).rank > 0 && graph_.dtype_of(value) != DType::string;
  }
  constexpr Id view_again(const ir::Node& node, Id base) {
    Pool<std::uint32_t> words;  // the graph's may move
    for (Id k = 0; k < node.attributes.count; ++k) words.push(graph_.words_of(node)[k]);
    graph_.device = node.device;
    return graph_.add_value(*node.op, &base, 1, graph_.values[node.outputs.first].type,
                            words.data(), words.size());
  }
  /// The tensor, by way of the host: a copy that is made there when the gradient has arrived, and
  /// read on the tensor's own device. The plan copies it out when it is computed, and back when the
  /// host's copy is there.
  constexpr Id from_host(Id value, Device host) {
    const Device device = tensors_.device[graph_.values[value].node];
    if (device == host) return value;
    const Id token = arrival();
    graph_.device = host;
    const AnyExpr copy = after_node({&graph_, value}, token);
    graph_.device = device;
    return identity(copy).id;
  }
  /// The token of the gradient's arrival at the node's group, or at the node if it has none.
  constexpr Id arrival() {
    const Id group = swap_group_of(graph_, id_);
    Id* const known = group == none ? &own_arrival_ : &tensors_.arrival[group];
    if (*known != none) return *known;
    (void)sizeof(BindOp<ops::Arrival>);
    Id k = 0;
    while (dy_[k] == none) ++k;
    graph_.device = node_.device;
    return *known = graph_.add_value(record<ops::Arrival>, &dy_[k], 1, none);
  }

  constexpr void replace(Id value, Id first) {
    if (value >= tensors_.back.size() || tensors_.back[value] == none) return;
    for (Id id = first; id < graph_.nodes.size(); ++id) {
      const ir::Range inputs = graph_.nodes[id].inputs;
      for (Id k = inputs.first; k < inputs.first + inputs.count; ++k) {
        if (graph_.operands[k] == value) graph_.operands[k] = tensors_.back[value];
      }
    }
  }
  constexpr bool is_read(Id value, Id first) const {
    for (Id id = first; id < graph_.nodes.size(); ++id) {
      for (Id k = 0; k < graph_.nodes[id].inputs.count; ++k) {
        if (graph_.input(graph_.nodes[id], k) == value) return true;
      }
    }
    return false;
  }

  ir::Graph& graph_;
  ir::SwappedTensors& tensors_;
  const ir::Node node_;
  const Id id_;
  const Id* const dy_;
  Pool<Id> brought_;
  Id own_arrival_ = none;
};

constexpr void swapped_gradient(ir::Graph& graph, ir::SwappedTensors& tensors, Id node,
                                const Id* dy, Id* dx) {
  SwappedGradient(graph, tensors, node, dy).run(dx);
}

constexpr void add_swap_group(ir::Graph& graph, const SwapGroup& group) {
  const ir::Range old = graph.swaps;
  const Id first = graph.lists.size();
  for (Id k = 0; k < old.count; ++k) {
    const Id word = graph.lists[old.first + k];
    graph.lists.push(word);
  }
  for (const Id word :
       {group.first, group.end, static_cast<Id>(group.host.kind), Id{group.host.index}})
    graph.lists.push(word);
  graph.swaps = {first, old.count + 4};
  graph.swapped_gradient = &swapped_gradient;
}

}  // namespace detail

/// f(arguments...). Gradients read the tensors that f computes from copies in the memory of the
/// device Host. Each is copied there when it is computed, and back when the gradient arrives at the
/// results of f, or at the operation outside of f that reads it. Values have the bits of
/// f(arguments...), up to the last bit where operations fuse in one of the two and not in the
/// other.
///
/// It has no effect on tensors of the device Host itself, so none on a model without other devices;
/// and none inside of branches, loops and checkpointed functions. On a machine that lacks the other
/// devices (soft placement), the copies stay on one device and save nothing.
template <DeviceType Host = Cpu<0>, class F, Structure First, Structure... Rest>
constexpr auto swapped(F&& f, const First& first, const Rest&... rest) {
  constexpr bool calls = std::invocable<F&, const First&, const Rest&...>;
  static_assert(calls, "swapped(f, arguments...): f must be a function of the arguments");
  if constexpr (calls) {
    using R = std::remove_cvref_t<std::invoke_result_t<F&, const First&, const Rest&...>>;
    constexpr bool gives = detail::is_structure<R>();
    static_assert(
        gives,
        "swapped(f, arguments...): f must give a tensor, or a tuple, pair, array or struct "
        "of tensors");
    if constexpr (gives) {
      ir::Graph& graph = detail::graph_of_structure(first);
      const Id begin = graph.nodes.size();
      R results = f(first, rest...);
      detail::add_swap_group(graph, {begin, graph.nodes.size(), Host::value});
      return results;
    }
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
