// SPDX-License-Identifier: Apache-2.0
#pragma once

// The programs of regions become blocks of the program that runs them. Their tables go behind its
// own, with shifted numbers. Their steps follow when the program's own steps are there.

#include "typeflow/lower/program.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

/// The number of a type in a program. Adds the type if it is new.
constexpr Id type_number(ProgramPools& program, const Type& type) {
  for (Id i = 0; i < program.types.size(); ++i) {
    if (program.types[i] == type) return i;
  }
  return program.types.push(type);
}

class BlockMerger {
 public:
  /// Block 0, for the program's own steps.
  constexpr void add_main(ProgramPools& out) { out.blocks.push(Block{0, 0, {}, {}, {}, false}); }

  /// A slot that the current step writes, besides those of values.
  constexpr Id add_slot(ProgramPools& out, Device device, Id type) {
    return out.slots.push(Slot{SlotKind::temporary, device, type, none, none, none});
  }

  /// Adds a region's program and returns the number of its block. `kernels` are the numbers of its
  /// kernels here; `variable_slot(index)` is the slot of a variable.
  template <class F>
  constexpr Id merge(ProgramPools& out, const ProgramPools& program, const Pool<Id>& kernels,
                     const F& variable_slot) {
    Pool<Id> types;
    for (const Type& type : program.types) types.push(type_number(out, type));
    const Id extents = out.extents.size();
    const Id words = out.words.size();
    const Id controls = out.controls.size();
    const Id blocks = out.blocks.size();
    const Id constants = out.constants.size();
    const Id steps = steps_.size();
    for (const StepExtent& extent : program.extents) out.extents.push(extent);
    for (const Word word : program.words) out.words.push(word);

    // Variables use the slots that the program has; the other slots are new.
    Pool<Id> slots;
    for (const Slot& slot : program.slots) {
      if (slot.kind == SlotKind::variable) {
        slots.push(variable_slot(slot.index));
        continue;
      }
      Slot copy = slot;
      copy.type = types[slot.type];
      if (slot.kind == SlotKind::constant) copy.index += constants;
      if (slot.step != none) copy.step += steps;  // a number in steps_, until its steps are placed
      slots.push(out.slots.push(copy));
      placed_later_.push(slots.back());
    }
    for (Id i = 0; i < slots.size(); ++i) {
      Id& within = out.slots[slots[i]].within;
      if (program.slots[i].kind != SlotKind::variable && within != none) within = slots[within];
    }
    const auto words_at = [&](RangeOf<Word> range) {
      return RangeOf<Word>{range.first + words, range.count};
    };
    for (const ConstantRecord& c : program.constants) {
      out.constants.push(ConstantRecord{slots[c.slot], c.is_array, words_at(c.words)});
    }

    // Lists are made anew, each by what its numbers are of.
    const auto slot_list = [&](const Id* ids, int count) {
      const RangeOf<Slot> list{out.operands.size(), count};
      for (int k = 0; k < count; ++k) out.operands.push(ids[k] == none ? none : slots[ids[k]]);
      return list;
    };
    const auto copied_slots = [&](RangeOf<Slot> range) {
      return slot_list(program.operands.data() + range.first, range.count);
    };
    const auto copied = [&]<class T>(RangeOf<T> range, Id by) {
      const RangeOf<T> list{out.operands.size(), range.count};
      for (Id k = 0; k < range.count; ++k) {
        out.operands.push(program.operands[range.first + k] + by);
      }
      return list;
    };
    for (const Step& step : program.steps) {
      Step copy = step;
      copy.kernel = kernels[step.kernel];
      copy.operands = copied_slots(step.operands);
      copy.extents = {step.extents.first + extents, step.extents.count};
      copy.words = words_at(step.words);
      copy.after = copied(step.after, steps);
      copy.needs = {};
      if (program.kernels[step.kernel].kind == KernelKind::control) {
        out.words[copy.words.first] += static_cast<Word>(controls);
      }
      steps_.push(copy);
    }
    bool draws = false;
    for (const Block& block : program.blocks) {
      const RangeOf<Slot> inputs = copied_slots(block.inputs);
      const RangeOf<Slot> results = copied_slots(block.results);
      const RangeOf<Slot> parts = copied_slots(block.parts);
      out.blocks.push(Block{block.first + steps, block.count, inputs, results, parts, block.draws});
      draws = draws || block.draws;
    }
    for (const ControlRecord& control : program.controls) {
      ControlRecord copy = control;
      copy.blocks = copied(control.blocks, blocks);
      copy.results = copied_slots(control.results);
      copy.second_buffers = copied_slots(control.second_buffers);
      if (control.index != none) copy.index = slots[control.index];
      if (control.done != none) copy.done = slots[control.done];
      out.controls.push(copy);
    }

    Block& main = out.blocks[blocks];
    for (Id s = 0; s < main.count; ++s) {
      draws = draws || program.kernels[program.steps[s].kernel].random;
    }
    main.draws = draws;
    const Pool<Id> parts = parts_of_results(program);
    main.inputs = slot_list(program.block_inputs.data(), program.block_inputs.size());
    main.results = slot_list(program.block_results.data(), program.block_results.size());
    main.parts = slot_list(parts.data(), parts.size());
    return blocks;
  }

  /// Places the steps of all blocks behind those of the program itself.
  constexpr void finish(ProgramPools& out) {
    if (out.blocks.empty()) return;
    const Id own = out.steps.size();
    out.blocks[0].count = own;
    for (Id b = 1; b < out.blocks.size(); ++b) out.blocks[b].first += own;
    for (const Id slot : placed_later_) {
      if (out.slots[slot].step != none) out.slots[slot].step += own;
    }
    for (const Step& step : steps_) {
      for (Id k = 0; k < step.after.count; ++k) out.operands[step.after.first + k] += own;
      out.steps.push(step);
    }
  }

 private:
  static constexpr Pool<Id> parts_of_results(const ProgramPools& program) {
    Pool<Id> parts;
    for (Id slot = 0; slot < program.slots.size(); ++slot) {
      const Id whole = program.slots[slot].within;
      if (program.slots[slot].kind == SlotKind::variable || whole == none) continue;
      bool is_result = false;
      for (const Id result : program.block_results) is_result = is_result || result == whole;
      if (is_result) parts.push(slot);
    }
    return parts;
  }

  Pool<Step> steps_;       // of the blocks
  Pool<Id> placed_later_;  // slots whose step is a number in steps_
};

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
