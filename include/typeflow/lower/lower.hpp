// SPDX-License-Identifier: Apache-2.0
#pragma once

// From clusters to a program: every cluster becomes a step and the description of its kernel.
//
// A description holds no names, extents or constants, so the equal layers of a deep net have
// equal descriptions, and are one kernel.

#include <utility>

#include "typeflow/graph/graph.hpp"
#include "typeflow/lower/describe_kernel.hpp"
#include "typeflow/lower/program.hpp"
#include "typeflow/passes/clusters.hpp"
#include "typeflow/passes/effects.hpp"
#include "typeflow/passes/needs.hpp"
#include "typeflow/passes/simplify.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::ir {

class Lowerer : KernelDescriber {
 public:
  constexpr Lowerer(const Simplified& simplified, const Fused& fused, const Pool<Id>& order)
      : KernelDescriber(simplified, fused),
        map_(simplified.map),
        order_(order),
        step_of_(fused.clusters.size(), none) {}

  /// `keep`: values (of the original) that must be in memory at the end; all, if `keep_all`.
  constexpr ProgramPools run(const Pool<Id>& keep, bool keep_all) {
    out_.types = graph_.types;
    out_.scopes = graph_.scopes;
    mark_stored(keep, keep_all);
    out_.steps.reserve(order_.size());
    out_.slots.reserve(2 * order_.size());
    for (const Id cluster : order_) {
      step_of_[cluster] = out_.steps.size();
      lower(cluster, fused_.clusters[cluster]);
    }
    if (!out_.error.empty()) return std::move(out_);
    add_controls();
    add_names();
    add_variables();
    add_placeholders();
    for (Id value = 0; value < map_.size() && keep_all; ++value) {
      out_.slot_of_value.push(in_program(map_[value]) && type_of(map_[value]) != none
                                  ? slot_of_[storage_[map_[value]]]
                                  : none);
    }
    return std::move(out_);
  }

 private:
  /// Values that leave the cluster that computes them.
  constexpr void mark_stored(const Pool<Id>& keep, bool keep_all) {
    char* const stored = stored_;
    for (const Cluster& c : fused_.clusters) {
      const int inputs = c.inputs;
      for (int i = 0; i < inputs; ++i) stored[c.input[i]] = 1;
      if (c.kind != ClusterKind::single || c.merged) continue;
      const Range operands = nodes_[c.first].inputs;
      for (Id k = 0; k < operands.count; ++k) stored[storage_[operands_[operands.first + k]]] = 1;
    }
    for (Id value = 0; value < stored_pool_.size() && keep_all; ++value) stored[value] = 1;
    for (const Id value : keep) {
      if (in_program(map_[value])) stored[storage_[map_[value]]] = 1;
    }
  }

  constexpr void lower(Id id, const Cluster& cluster) {
    const Id operands = out_.operands.size();
    const Id extents = out_.extents.size();
    const Id words = out_.words.size();
    size_ = 0;
    input_count_ = 0;
    store_count_ = 0;
    // Every member is at most an item, and a store.
    static_assert(FusionLimits::most_members <= KernelSpec::max_items &&
                  FusionLimits::most_members <= KernelSpec::max_stores &&
                  FusionLimits::most_inputs <= KernelSpec::max_inputs);
    if (cluster.members > KernelSpec::max_items || cluster.members > KernelSpec::max_stores) {
      fail(cluster, "more operations than a kernel can have");
    }
    if (!out_.error.empty()) return;
    switch (cluster.kind) {
      case ClusterKind::loop:
        lower_loop(id, cluster);
        break;
      case ClusterKind::contraction:
        lower_contraction(id, cluster);
        break;
      case ClusterKind::single:
        lower_single(cluster);
        break;
    }
    spec_[0] |= static_cast<int>(cluster.device.kind) << 8;  // a kernel of its own for each kind
    const int inputs = out_.operands.size() - operands;
    for (int i = 0; i < store_count_; ++i) out_.operands.push(stores_[i].slot);
    const Range tensors{operands, out_.operands.size() - operands};
    const Range needs = push_needs(cluster);
    const Node& node = nodes_[labelled_];
    out_.steps.push(
        Step{kernel(),
             inputs,
             tensors,
             {extents, out_.extents.size() - extents},
             {words, out_.words.size() - words},
             {},
             needs,
             cluster.device,
             {name_of(*node.op), name_of(node.source.within ? *node.source.op : *node.op),
              node.scope, none, node.source.file, node.source.line}});
  }
  static constexpr OperationName name_of(const Op& op) {
    return {op.name.data(), static_cast<int>(op.name.size())};
  }

  // Needs.

  /// The sets of names that need the members of a cluster, each once; none if all are needed by the
  /// same names: who reaches such a step needs all of it.
  constexpr Range push_needs(const Cluster& cluster) {
    const Id first = out_.operands.size();
    const Id* const needs = fused_.needs.data();
    const Id usual = needs[cluster.first];
    bool mixed = false;
    for (Id m = cluster.first; m != none && !mixed; m = next_[m]) mixed = needs[m] != usual;
    for (Id m = cluster.first; m != none && mixed; m = next_[m]) {
      const Id set = need_set(needs[m]);
      int i = first;
      while (i < out_.operands.size() && out_.operands[i] != set) ++i;
      if (i == out_.operands.size()) out_.operands.push(set);
    }
    return {first, out_.operands.size() - first};
  }
  /// The number of a set of names in the program.
  constexpr Id need_set(Id set) {
    const NeedSets& sets = fused_.need_sets;
    if (need_set_of_.empty()) need_set_of_ = Pool<Id>(sets.count(), none);
    Id& number = need_set_of_[set];
    if (number == none) {
      number = out_.need_sets.size() / sets.width();
      const std::uint32_t* const words = sets.words_of(set);
      for (int i = 0; i < sets.width(); ++i) out_.need_sets.push(words[i]);
    }
    return number;
  }

  // Tables.

  /// Steps whose nodes have control inputs, with the steps of those effects.
  constexpr void add_controls() {
    if (fused_.first_controlled == none) return;
    for (Id c = fused_.first_controlled; c < fused_.clusters.size(); ++c) {
      if (step_of_[c] == none) continue;
      const Id first = out_.operands.size();
      begin_effect();
      for (Id m = fused_.clusters[c].first; m != none; m = next_[m]) {
        const Range controls = nodes_[m].controls;
        for (Id k = 0; k < controls.count; ++k) push_effect_steps(operands_[controls.first + k]);
      }
      out_.steps[step_of_[c]].after = {first, out_.operands.size() - first};
    }
  }

  /// Appends the steps of the effects that a token stands for, each once since begin_effect.
  constexpr void push_effect_steps(Id token) {
    each_effect(graph_, token, [&](Id node) {
      const Id step = step_of_[cluster_of_[node]];
      if (effect_of_step_[step] == effect_) return;
      effect_of_step_[step] = effect_;
      out_.operands.push(step);
    });
  }
  constexpr void begin_effect() {
    if (effect_of_step_.empty()) effect_of_step_ = Pool<int>(out_.steps.size(), 0);
    ++effect_;
  }

  constexpr void add_names() {
    const Name* const names = graph_.names.data();
    const int count = graph_.names.size();
    name_of_ = Pool<Id>(count, none);
    out_.names.reserve(count);
    for (Id i = 0; i < count; ++i) {
      const Name name = names[i];
      if (name.kind == NameKind::key) continue;
      ProgramName record{name, none, none, {}};
      const Id value = map_[name.value];
      if (name.kind == NameKind::value) record.name.kind = kind_of(name.value);
      if (name.kind == NameKind::effect) {
        record.steps.first = out_.operands.size();
        begin_effect();
        if (in_program(value)) push_effect_steps(value);
        record.steps.count = out_.operands.size() - record.steps.first;
        if (record.steps.count == 1) {  // that writes nothing: the effect is all that it does
          Step& step = out_.steps[out_.operands[record.steps.first]];
          if (step.operands.count == step.inputs) step.label.name = out_.names.size();
        }
      } else {
        record.type = values_[name.value].type;
        if (in_program(value)) {
          const Id storage = storage_[value];
          const bool source = nodes_[values_[storage].node].op->kind == Kind::source;
          record.slot = source ? slot(storage) : slot_of_[storage];
          if (!source && record.slot != none && out_.slots[record.slot].step != none) {
            out_.steps[out_.slots[record.slot].step].label.name = out_.names.size();
          }
        }
      }
      name_of_[i] = out_.names.push(record);
    }
  }

  /// What users named by a second name: a placeholder or a variable, too.
  constexpr NameKind kind_of(Id traced) const {
    const Builtin builtin = nodes_[values_[traced].node].op->builtin;
    return builtin == Builtin::placeholder ? NameKind::placeholder
           : builtin == Builtin::variable  ? NameKind::variable
                                           : NameKind::value;
  }

  constexpr void add_variables() {
    for (const VariableRecord& variable : graph_.variable_records) {
      const Id value = map_[variable.value];
      out_.variables.push(ProgramVariable{name_of_[variable.name], values_[value].type,
                                          slot_of_[value], variable.initializer, variable.trainable,
                                          variable.state});
    }
  }

  /// Placeholders, and values that are fed as if they were.
  constexpr void add_placeholders() {
    for (Id i = 0; i < graph_.names.size(); ++i) {
      const Name& name = graph_.names[i];
      if (name_of_[i] == none || name.kind == NameKind::effect) continue;
      const Id value = map_[name.value];
      if (!in_program(value) || nodes_[values_[value].node].op->builtin != Builtin::placeholder) {
        continue;
      }
      const Id slot = slot_of_[value];
      if (slot == none || out_.slots[slot].index != none) continue;
      const std::uint32_t* const words =
          graph_.attributes.data() + nodes_[values_[value].node].attributes.first;
      out_.slots[slot].index = out_.placeholders.push(
          ProgramPlaceholder{name_of_[i], slot, words[0] != 0, words[1], words[2]});
    }
  }

  /// Whether the value is part of the program.
  constexpr bool in_program(Id value) const {
    return value != none && fused_.needs[values_[value].node] != NeedSets::nobody;
  }

  const Pool<Id>& map_;
  const Pool<Id>& order_;
  Pool<Id> step_of_;          // by cluster
  Pool<Id> name_of_;          // by name of the graph: in the program
  Pool<Id> need_set_of_;      // by set of names: in the program
  Pool<int> effect_of_step_;  // the last effect that a step was listed for
  int effect_ = 0;
};

}  // namespace typeflow::inline TYPEFLOW_TARGET::ir
