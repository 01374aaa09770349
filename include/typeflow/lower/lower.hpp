// SPDX-License-Identifier: Apache-2.0
#pragma once

// From clusters to a program: every cluster becomes a step and the description of its kernel.
//
// A description holds no names, extents or constants, so equal layers of a deep net have equal
// descriptions, and share one kernel.

#include <utility>
#include <vector>

#include "typeflow/graph/graph.hpp"
#include "typeflow/lower/describe_kernel.hpp"
#include "typeflow/lower/known_kernels.hpp"
#include "typeflow/lower/merge_program.hpp"
#include "typeflow/lower/program.hpp"
#include "typeflow/ops/control/region.hpp"
#include "typeflow/passes/clusters.hpp"
#include "typeflow/passes/effects.hpp"
#include "typeflow/passes/needs.hpp"
#include "typeflow/passes/simplify.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

/// Compiles a region of a graph. `wanted`, by result: whether the result is wanted.
using CompileRegion = ProgramPools (*)(const Graph&, Id region, const Pool<char>& wanted,
                                       const FusionLimits&);

class Lowerer : KernelDescriber {
 public:
  constexpr Lowerer(const Simplified& simplified, const Fused& fused, const Pool<Id>& order,
                    CompileRegion compile_region, const FusionLimits& limits)
      : KernelDescriber(simplified, fused),
        map_(simplified.map),
        order_(order),
        compile_region_(compile_region),
        limits_(limits),
        step_of_(fused.clusters.size(), none) {}

  /// `keep`: values (of the original graph) that must be in memory at the end; with `keep_all`, all
  /// of them.
  constexpr ProgramPools run(const Pool<Id>& keep, bool keep_all) {
    out_.types = graph_.types;
    out_.scopes = graph_.scopes;
    lower_clusters(keep, keep_all);
    if (!out_.error.empty()) return std::move(out_);
    add_names();
    add_variables();
    add_placeholders();
    blocks_.finish(out_);
    for (Id s = main_steps_; s < out_.steps.size(); ++s) {
      Id& name = out_.steps.items[s].label.name;  // until now the graph's
      if (name != none) name = name_of_[name];
    }
    for (Id value = 0; value < map_.size() && keep_all; ++value) {
      out_.slot_of_value.push(in_program(map_[value]) && type_of(map_[value]) != none
                                  ? slot_of_[storage_[map_[value]]]
                                  : none);
    }
    return std::move(out_);
  }

  /// The program of a region. `inputs` and `results` (none for some) are values of its graph, the
  /// results as simplified.
  constexpr ProgramPools run_region(const Pool<Id>& inputs, const Pool<Id>& results) {
    out_.types = graph_.types;
    out_.scopes = graph_.scopes;
    Pool<Id> keep;
    for (const Id result : results) {
      if (result != none) keep.push(result);
    }
    lower_clusters(keep, false);
    if (!out_.error.empty()) return std::move(out_);
    name_steps();
    for (const Id input : inputs) out_.block_inputs.push(slot_of_[input]);
    for (const Id result : results) {
      out_.block_results.push(result == none ? none : slot_of_[storage_[result]]);
    }
    if (out_.blocks.empty()) blocks_.add_main(out_);
    blocks_.finish(out_);
    return std::move(out_);
  }

 private:
  /// Appends a list of slots, steps or blocks, by number.
  template <class T>
  constexpr RangeOf<T> push_list(const Pool<Id>& ids) {
    const RangeOf<T> range{out_.operands.size(), ids.size()};
    for (const Id id : ids) out_.operands.push(id);
    return range;
  }

  constexpr void lower_clusters(const Pool<Id>& keep, bool keep_all) {
    mark_stored(keep, keep_all);
    out_.steps.reserve(order_.size());
    out_.slots.reserve(2 * order_.size());
    for (int i = 0; i < order_.size(); ++i) {
      const Id cluster = order_.items[i];
      step_of_.items[cluster] = out_.steps.size();
      lower(cluster, fused_.clusters.items[cluster]);
    }
    main_steps_ = out_.steps.size();
    if (out_.error.empty()) add_controls();
  }

  /// Values that leave the cluster that computes them.
  constexpr void mark_stored(const Pool<Id>& keep, bool keep_all) {
    char* const stored = stored_;
    const int clusters = fused_.clusters.size();
    for (Id id = 0; id < clusters; ++id) {
      const Cluster& c = fused_.clusters.items[id];
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
    input_count_ = 0;
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
        spec_.begin(KernelKind::loop, cluster.device.kind);
        lower_loop(id, cluster);
        break;
      case ClusterKind::contraction:
        spec_.begin(KernelKind::contraction, cluster.device.kind);
        lower_contraction(id, cluster);
        break;
      case ClusterKind::single:
        if (nodes_[cluster.first].op->kind == Kind::control) return lower_control(cluster);
        spec_.begin(KernelKind::custom, cluster.device.kind);
        lower_single(cluster);
        break;
    }
    const int inputs = out_.operands.size() - operands;
    for (int i = 0; i < spec_.stores; ++i) out_.operands.push(destinations_[i].slot);
    const RangeOf<Slot> tensors{operands, out_.operands.size() - operands};
    const RangeOf<NeedSet> needs = push_needs(cluster);
    out_.steps.push(Step{kernels_.number_of(out_, spec_),
                         inputs,
                         tensors,
                         {extents, out_.extents.size() - extents},
                         {words, out_.words.size() - words},
                         {},
                         needs,
                         device_of(cluster),
                         label_of(nodes_[labelled_])});
  }
  /// A cluster's device; open if it is for all members.
  constexpr Device device_of(const Cluster& cluster) const {
    Device device = cluster.device;
    for (Id m = cluster.first; m != none; m = next_[m]) {
      device.is_open = device.is_open && nodes_[m].device.is_open;
    }
    return device;
  }
  static constexpr StepLabel label_of(const Node& node) {
    return {name_of(*node.op), name_of(node.source.within ? *node.source.op : *node.op),
            node.scope,        none,
            node.source.file,  node.source.line};
  }
  static constexpr OperationName name_of(const Op& op) {
    return {op.name.data(), static_cast<int>(op.name.size())};
  }

  // Branches and loops.

  /// The slot of a branch's or loop's result, which the current step writes; none if nobody needs
  /// it, or if a run feeds it.
  constexpr Id result_slot(Id result) {
    if (result == none) return none;
    const Id value = map_[result];
    const bool live = in_program(value) && nodes_[values_[value].node].op->kind == Kind::result;
    return live ? temporary(value) : none;
  }

  static constexpr ControlKind control_kind(const Node& node, bool is_loop, const ops::Loop& loop) {
    if (!is_loop) return is<ops::Checkpoint>(*node.op) ? ControlKind::once : ControlKind::branch;
    if (node.regions.count == 2) return ControlKind::tested;
    return loop.limited != 0 ? ControlKind::counted : ControlKind::given;
  }
  constexpr void lower_control(const Cluster& cluster) {
    const Node& node = nodes_[cluster.first];
    const Region& last =
        graph_.regions.items[graph_.lists.items[node.regions.first + node.regions.count - 1]];
    const bool is_loop = is<ops::Loop>(*node.op);
    const ops::Loop loop =
        is_loop ? typeflow::decode<ops::Loop>(graph_, node) : ops::Loop{{}, 0, 0, 0, 0, 0, 0};
    const ControlKind kind = control_kind(node, is_loop, loop);
    ControlRecord record{kind,
                         loop.reversed != 0,
                         loop.states,
                         loop.stacked_inputs,
                         loop.limited != 0 || kind == ControlKind::given
                             ? StepExtent{factor_of(loop.count), symbols_of(loop.count)}
                             : StepExtent{-1, 0},
                         {},
                         {},
                         {},
                         none,
                         none,
                         static_cast<int>(loop.parallel)};
    // Wanted results by index; a loop's states always count as wanted.
    Pool<Id> results(last.results.count, none);
    for (Id k = 0; k < last.given.count; ++k) {
      const Id slot = result_slot(graph_.lists.items[last.given.first + k]);
      results[k] = slot;
    }
    const Id done = result_slot(last.iterations);
    record.done = done;
    Pool<char> wanted(results.size(), 0);
    for (int i = 0; i < results.size(); ++i) {
      if (i < loop.states && results[i] == none) {
        const Id init = operands_[node.inputs.first + i];
        results[i] = blocks_.add_slot(out_, cluster.device, type_of(init));
      }
      wanted[i] = results[i] != none ? 1 : 0;
    }
    // Blocks.
    Pool<Id> blocks;
    bool reads_index = false;
    for (Id k = 0; k < node.regions.count && out_.error.empty(); ++k) {
      const Id region = graph_.lists.items[node.regions.first + k];
      const bool tests = record.kind == ControlKind::tested && k == 0;
      Pool<char> condition(1, 1);  // no ?: of pools: g++ 12 destroys them twice in constants
      const ProgramPools program =
          compile_region_(graph_, region, *(tests ? &condition : &wanted), limits_);
      if (!program.error.empty()) {
        out_.error = program.error;
        return;
      }
      const Id block = merge(program);
      blocks.push(block);
      const Range inputs = out_.blocks[block].inputs;
      reads_index = reads_index || (is_loop && out_.operands.items[inputs.first] != none);
    }
    record.blocks = push_list<Block>(blocks);
    record.results = push_list<Slot>(results);
    Pool<Id> others;
    for (int i = 0; i < loop.states; ++i) {
      others.push(
          blocks_.add_slot(out_, cluster.device, type_of(operands_[node.inputs.first + i])));
    }
    record.second_buffers = push_list<Slot>(others);
    if (reads_index) {
      record.index = blocks_.add_slot(out_, cluster.device,
                                      type_number(out_, Type(DType::int32, Dims{0, {}})));
    }
    push_control(cluster, node, record, results, others);
  }
  /// The step. Variables whose present values its blocks use are operands, too.
  constexpr void push_control(const Cluster& cluster, const Node& node, const ControlRecord& record,
                              const Pool<Id>& results, const Pool<Id>& others) {
    Pool<Id> slots;
    for (Id k = 0; k < node.inputs.count; ++k) {
      slots.push(slot(storage_[operands_[node.inputs.first + k]]));
    }
    Pool<Id> written;
    each_access(graph_, node, [&](Access access) {
      if (access.variable == Access::outside) return;
      (access.writes ? written : slots).push(variable_slot(access.variable));
    });
    const int inputs = slots.size();
    for (const Id result : results) {
      if (result != none) slots.push(result);
    }
    for (const Id other : others) slots.push(other);
    if (record.index != none) slots.push(record.index);
    if (record.done != none) slots.push(record.done);
    for (const Id variable : written) slots.push(variable);
    for (int i = inputs; i < slots.size(); ++i) {
      Slot& slot = out_.slots.items[slots[i]];
      if (slot.kind == SlotKind::temporary) slot.step = out_.steps.size();
    }
    const Id word = out_.words.size();
    out_.words.push(static_cast<std::uint32_t>(out_.controls.push(record)));
    spec_.begin(KernelKind::control, cluster.device.kind);
    const RangeOf<Slot> operands = push_list<Slot>(slots);
    const RangeOf<NeedSet> needs = push_needs(cluster);
    out_.steps.push(Step{kernels_.number_of(out_, spec_),
                         inputs,
                         operands,
                         {out_.extents.size(), 0},
                         {word, 1},
                         {},
                         needs,
                         device_of(cluster),
                         label_of(node)});
  }
  constexpr Id variable_slot(Id index) { return slot(graph_.variable_records.items[index].value); }

  /// Takes over a region's program. The number of its block.
  constexpr Id merge(const ProgramPools& program) {
    if (out_.blocks.empty()) blocks_.add_main(out_);
    Pool<Id> kernels;
    for (const KernelSpec& spec : program.specs) kernels.push(kernels_.number_of(out_, spec));
    return blocks_.merge(out_, program, kernels,
                         [this](Id variable) { return variable_slot(variable); });
  }

  /// Records the steps of a region that compute named values: the name's number in the graph.
  constexpr void name_steps() {
    for (Id value = 0; value < map_.size(); ++value) {
      const Id name = values_[value].name;
      if (name == none || !in_program(map_[value]) || type_of(map_[value]) == none) continue;
      const Id storage = storage_[map_[value]];
      if (nodes_[values_[storage].node].op->kind == Kind::source) continue;
      const Id slot = slot_of_[storage];
      if (slot != none && out_.slots.items[slot].step != none) {
        out_.steps.items[out_.slots.items[slot].step].label.name = name;
      }
    }
  }

  // Needs.

  /// The sets of names that need the members of a cluster, each once. None if the same names need
  /// all members: then every run that takes the step needs all of it.
  constexpr RangeOf<NeedSet> push_needs(const Cluster& cluster) {
    const Id first = out_.operands.size();
    const Id* const needs = fused_.needs.data();
    const Id usual = needs[cluster.first];
    bool mixed = false;
    for (Id m = cluster.first; m != none && !mixed; m = next_[m]) mixed = needs[m] != usual;
    for (Id m = cluster.first; m != none && mixed; m = next_[m]) {
      const Id set = need_set(needs[m]);
      int i = first;
      while (i < out_.operands.size() && out_.operands.items[i] != set) ++i;
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

  /// Lists the steps whose nodes have control inputs, with the steps of those effects.
  constexpr void add_controls() {
    if (fused_.first_controlled == none) return;
    for (Id c = fused_.first_controlled; c < fused_.clusters.size(); ++c) {
      if (step_of_[c] == none) continue;
      const Id first = out_.operands.size();
      begin_effect();
      for (Id m = fused_.clusters.items[c].first; m != none; m = next_[m]) {
        const Range controls = nodes_[m].controls;
        for (Id k = 0; k < controls.count; ++k) push_effect_steps(operands_[controls.first + k]);
      }
      out_.steps.items[step_of_[c]].after = {first, out_.operands.size() - first};
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
    if (effect_of_step_.empty()) effect_of_step_ = Pool<int>(main_steps_, 0);
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
        if (record.steps.count == 1) {  // it writes nothing: its effect is all that it does
          Step& step = out_.steps.items[out_.operands.items[record.steps.first]];
          if (step.operands.count == step.inputs) step.label.name = out_.names.size();
        }
      } else {
        record.type = values_[name.value].type;
        if (in_program(value)) {
          const Id storage = storage_[value];
          const bool source = nodes_[values_[storage].node].op->kind == Kind::source;
          record.slot = source ? slot(storage) : slot_of_[storage];
          if (!source && record.slot != none && out_.slots.items[record.slot].step != none) {
            out_.steps.items[out_.slots.items[record.slot].step].label.name = out_.names.size();
          }
        }
      }
      name_of_[i] = out_.names.push(record);
    }
  }

  /// Second names that users gave to a value, also to a placeholder or a variable.
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

  /// Lists placeholders, and values that are fed like them.
  constexpr void add_placeholders() {
    for (Id i = 0; i < graph_.names.size(); ++i) {
      const Name& name = graph_.names.items[i];
      if (name_of_[i] == none || name.kind == NameKind::effect) continue;
      const Id value = map_[name.value];
      if (!in_program(value) || nodes_[values_[value].node].op->builtin != Builtin::placeholder) {
        continue;
      }
      const Id slot = slot_of_[value];
      if (slot == none || out_.slots.items[slot].index != none) continue;
      const std::uint32_t* const words =
          graph_.attributes.data() + nodes_[values_[value].node].attributes.first;
      out_.slots.items[slot].index = out_.placeholders.push(
          ProgramPlaceholder{name_of_[i], slot, words[0] != 0, words[1], words[2]});
    }
  }

  /// Whether the value is part of the program.
  constexpr bool in_program(Id value) const {
    return value != none && fused_.needs.items[values_[value].node] != NeedSets::nobody;
  }

  const Pool<Id>& map_;
  const Pool<Id>& order_;
  const CompileRegion compile_region_;
  const FusionLimits limits_;
  KnownKernels kernels_;
  BlockMerger blocks_;
  int main_steps_ = 0;
  Pool<Id> step_of_;          // by cluster
  Pool<Id> name_of_;          // by name of the graph: in the program
  Pool<Id> need_set_of_;      // by set of names: in the program
  Pool<int> effect_of_step_;  // the last effect that a step was listed for
  int effect_ = 0;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
