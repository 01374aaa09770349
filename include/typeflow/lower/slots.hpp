// SPDX-License-Identifier: Apache-2.0
#pragma once

// A program during lowering: the slots of values, and the extents and words of steps.

#include "typeflow/front/sources.hpp"
#include "typeflow/graph/graph.hpp"
#include "typeflow/lower/program.hpp"
#include "typeflow/passes/clusters.hpp"
#include "typeflow/passes/simplify.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

class ProgramBuilder {
 protected:
  constexpr ProgramBuilder(const Simplified& simplified, const Fused& fused)
      : graph_(simplified.graph),
        fused_(fused),
        nodes_(graph_.nodes.data()),
        values_(graph_.values.data()),
        operands_(graph_.operands.data()),
        types_(graph_.types.data()),
        storage_(fused.storage.data()),
        slot_pool_(graph_.values.size(), none),
        slot_of_(slot_pool_.data()) {}

  constexpr Id type_of(Id value) const { return values_[value].type; }
  constexpr DType dtype_of(Id value) const { return types_[values_[value].type].dtype; }

  /// The slot of a storage value, made at its first use.
  constexpr Id slot(Id storage) {
    const Id known = slot_of_[storage];
    return known != none ? known : add_slot(storage);
  }
  constexpr Id add_slot(Id storage) {
    const Node& node = nodes_[values_[storage].node];
    Slot record{SlotKind::temporary, node.device, type_of(storage), none, none, none};
    if (const Part* const part = fused_.part(storage); part != nullptr) {
      record.within = slot(part->whole);
    }
    const Id id = out_.slots.size();
    const Range words = node.attributes;
    if (node.op->kind == Kind::source) {
      if (node.op->builtin == Builtin::variable) {
        record.kind = SlotKind::variable;
        record.index = static_cast<Id>(graph_.attributes.items[words.first]);
      } else if (node.op->builtin == Builtin::placeholder) {
        record.kind = SlotKind::placeholder;
        record.device = {};
      } else if (node.op->builtin == Builtin::block_input) {
        record.kind = SlotKind::block_input;
        record.device = {};
        record.index = static_cast<Id>(graph_.attributes.items[words.first]);
      } else {
        const bool is_array = is<ops::ConstantArray>(*node.op);
        if (!is_array && node.op->builtin != Builtin::constant) {
          fail(node, "a source that lowering does not know");
        }
        record.device = {};
        record.kind = SlotKind::constant;
        record.index =
            out_.constants.push(ConstantRecord{id, is_array, {out_.words.size(), words.count}});
        push_words(words);
      }
    }
    out_.slots.push(record);
    slot_of_[storage] = id;
    return id;
  }
  constexpr void push_words(Range words) {
    for (Id k = words.first; k < words.first + words.count; ++k) {
      out_.words.push(graph_.attributes.items[k]);
    }
  }
  /// The slot of a value that the current step writes.
  constexpr Id temporary(Id value) {
    const Id id = slot(value);
    out_.slots.items[id].step = out_.steps.size();
    return id;
  }

  constexpr void push_extent(Extent extent) {
    out_.extents.push(StepExtent{factor_of(extent), symbols_of(extent)});
  }

  constexpr void push_extents(Id type) {
    const Dims& dims = types_[type].dims;
    for (int i = 0; i < dims.rank; ++i) push_extent(dims.extent[i]);
  }

  /// Reports a mistake of a pass: no kernel can compute what is lowered.
  constexpr void fail(const Cluster& cluster, const char* what) {
    fail(nodes_[cluster.first], what);
  }
  constexpr void fail(const Node& node, const char* what) {
    if (!out_.error.empty()) return;
    out_.error << "internal error in lowering: " << node.op->name << ": " << what << " ("
               << file_name(node.source.file) << ':' << node.source.line << ')';
  }

  const Graph& graph_;
  const Fused& fused_;
  const Node* nodes_;
  const Value* values_;
  const Id* operands_;
  const Type* types_;
  const Id* storage_;
  Pool<Id> slot_pool_;
  Id* slot_of_;  // by storage value
  ProgramPools out_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
