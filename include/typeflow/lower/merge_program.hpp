// SPDX-License-Identifier: Apache-2.0
#pragma once

// The programs of regions become blocks of the program that runs them. Their tables go behind its
// own, with shifted numbers. Their steps follow when the program's own steps are there.

#include "typeflow/lower/program.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::ir {

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
    const Id operands = out.operands.size();
    const Id extents = out.extents.size();
    const Id words = out.words.size();
    const Id controls = out.controls.size();
    const Id blocks = out.blocks.size();
    const Id constants = out.constants.size();
    const Id steps = steps_.size();
    for (const StepExtent& extent : program.extents) out.extents.push(extent);
    for (const std::uint32_t word : program.words) out.words.push(word);
    const auto moved = [](Range range, Id by) { return Range{range.first + by, range.count}; };

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
    for (const ConstantRecord& c : program.constants) {
      out.constants.push(ConstantRecord{slots[c.slot], c.is_array, moved(c.words, words)});
    }

    // Operands are slots, except in ranges that belong to steps or blocks.
    for (const Id operand : program.operands) {
      out.operands.push(operand >= 0 && operand < slots.size() ? slots[operand] : operand);
    }
    const auto each = [&](Range range, Id by) {
      for (Id k = 0; k < range.count; ++k) {
        out.operands[operands + range.first + k] = program.operands[range.first + k] + by;
      }
    };
    for (const Step& step : program.steps) {
      Step copy = step;
      copy.kernel = kernels[step.kernel];
      copy.operands = moved(step.operands, operands);
      copy.extents = moved(step.extents, extents);
      copy.words = moved(step.words, words);
      copy.after = moved(step.after, operands);
      copy.needs = {};
      each(step.after, steps);
      if (program.kernels[step.kernel].kind == KernelKind::control) {
        out.words[copy.words.first] += static_cast<std::uint32_t>(controls);
      }
      steps_.push(copy);
    }
    bool draws = false;
    for (const Block& block : program.blocks) {
      out.blocks.push(Block{block.first + steps, block.count, moved(block.inputs, operands),
                            moved(block.results, operands), moved(block.parts, operands),
                            block.draws});
      draws = draws || block.draws;
    }
    for (const ControlRecord& control : program.controls) {
      ControlRecord copy = control;
      copy.blocks = moved(control.blocks, operands);
      copy.results = moved(control.results, operands);
      copy.others = moved(control.others, operands);
      if (control.index != none) copy.index = slots[control.index];
      if (control.done != none) copy.done = slots[control.done];
      each(control.blocks, blocks);
      out.controls.push(copy);
    }

    Block& main = out.blocks[blocks];
    for (Id s = 0; s < main.count; ++s) {
      draws = draws || program.kernels[program.steps[s].kernel].random;
    }
    main.draws = draws;
    const auto listed = [&](const Pool<Id>& of_region) {
      const Range range{out.operands.size(), of_region.size()};
      for (const Id slot : of_region) out.operands.push(slot == none ? none : slots[slot]);
      return range;
    };
    const Range inputs = listed(program.block_inputs);
    const Range results = listed(program.block_results);
    const Range parts = listed(parts_of_results(program));
    main.inputs = inputs;
    main.results = results;
    main.parts = parts;
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

}  // namespace typeflow::inline TYPEFLOW_TARGET::ir
