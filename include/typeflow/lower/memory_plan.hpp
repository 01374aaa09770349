// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where a program's temporaries live in an arena.
//
// A temporary lives from the step that writes it to the last that reads it. Those whose lives
// overlap get disjoint memory, others share it; a result takes the memory of an operand that dies
// with it where the kernel reads that operand at the element at hand alone. Offsets are found by
// first fit, the largest tensors first. What is computed within another tensor has no memory of its
// own: the other lives from the first of its parts on.
//
// Blocks are planned by themselves. What they take is a part of the memory that their branch or
// loop has while it runs; their results are where that one wants them, in another place each time.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "typeflow/lower/program.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::ir {

/// Offsets in bytes, multiples of `memory_alignment`.
struct MemoryPlan {
  std::vector<std::int64_t> offset;  ///< by slot; -1 for what is no temporary
  std::int64_t bytes = 0;            ///< of the arena; too_many if 63 bits can't count them
};

inline constexpr std::int64_t memory_alignment = 64;

/// Bytes, rounded up to a multiple of `memory_alignment`; too_many if that is no number of 63 bits.
constexpr std::int64_t aligned_size(std::int64_t bytes) {
  const std::int64_t padded = checked_sum(bytes, memory_alignment - 1);
  return padded == too_many ? too_many : padded / memory_alignment * memory_alignment;
}

/// Plans the memory of one program's temporaries. Those of a block live in a part of the memory
/// that its branch or loop has while it runs; branches of one step share theirs.
class MemoryPlanner {
 public:
  TYPEFLOW_COLD MemoryPlanner(const ProgramView& program, const SymbolSizes& sizes, bool keep_all)
      : program_(program),
        sizes_(sizes),
        keep_all_(keep_all),
        last_(static_cast<std::size_t>(program.slots.size), none),
        buffer_of_(static_cast<std::size_t>(program.slots.size), none),
        moves_(static_cast<std::size_t>(program.slots.size), false) {
    plan_.offset.assign(static_cast<std::size_t>(program.slots.size), -1);
    for (const ControlRecord& control : program.controls) find_moving(control);
  }

  TYPEFLOW_COLD MemoryPlan run() {
    plan_.bytes = plan_steps(0, main_steps(program_), nullptr).bytes;
    return std::move(plan_);
  }

 private:
  struct Buffer {
    std::int64_t bytes;
    Id first;
    Id last;
    std::int64_t offset;
  };
  /// What a list of steps takes, and its slots, with offsets from where that begins.
  struct Planned {
    std::int64_t bytes = 0;
    std::vector<Id> slots;
  };
  template <class V>
  static auto& at(V& v, Id i) {
    return v[static_cast<std::size_t>(i)];
  }

  /// Results of blocks are where their branch or loop wants them, but for a loop's condition.
  TYPEFLOW_COLD void find_moving(const ControlRecord& control) {
    const int first = control.kind == ControlKind::tested ? 1 : 0;
    for (int k = first; k < control.blocks.count; ++k) {
      const Block& block = program_.blocks[program_.operands[control.blocks.first + k]];
      for (const Range& slots : {block.results, block.parts}) {
        for (int i = 0; i < slots.count; ++i) {
          const Id slot = program_.operands[slots.first + i];
          if (slot != none) moves_[static_cast<std::size_t>(slot)] = true;
        }
      }
    }
  }
  bool has_memory(Id slot) const {
    return program_.slots[slot].kind == SlotKind::temporary &&
           !moves_[static_cast<std::size_t>(slot)];
  }
  std::int64_t bytes_of(Id slot) const {
    const Type& type = program_.type_of(slot);
    const std::int64_t elements = count_of(type.dims).resolve(sizes_);
    return aligned_size(checked_product(elements, size_of(type.dtype)));
  }

  /// Plans steps from `first` on; `block`: what they belong to, null for the program itself.
  TYPEFLOW_COLD Planned plan_steps(Id first, int count, const Block* block) {
    for (Id s = first; s < first + count; ++s) {
      const Step& step = program_.steps[s];
      for (int i = 0; i < step.operands.count; ++i) {
        at(last_, program_.operands[step.operands.first + i]) = s;
      }
    }
    for (int i = 0; block != nullptr && i < block->results.count; ++i) {
      const Id slot = program_.operands[block->results.first + i];
      if (slot != none) at(last_, slot) = first + count;
    }
    std::vector<Buffer> buffers;
    Planned planned;
    std::vector<std::pair<Id, Planned>> inner;  // with the buffer that it is in
    for (Id s = first; s < first + count; ++s) {
      const Step& step = program_.steps[s];
      if (program_.kernels[step.kernel].kind == KernelKind::control) {
        Planned blocks = plan_blocks(control_of(program_, step));
        inner.emplace_back(static_cast<Id>(buffers.size()), std::move(blocks));
        buffers.push_back({inner.back().second.bytes, s, keep_all_ ? program_.steps.size : s, 0});
      }
      place_outputs(s, step, buffers, planned.slots);
    }
    planned.bytes = find_offsets(buffers);
    for (const Id slot : planned.slots) {
      at(plan_.offset, slot) = at(buffers, at(buffer_of_, slot)).offset;
    }
    for (const auto& [buffer, blocks] : inner) {
      for (const Id slot : blocks.slots) {
        std::int64_t& offset = at(plan_.offset, slot);
        offset = checked_sum(offset, at(buffers, buffer).offset);
        planned.slots.push_back(slot);
      }
    }
    return planned;
  }
  TYPEFLOW_COLD Planned plan_blocks(const ControlRecord& control) {
    Planned all;
    for (int k = 0; k < control.blocks.count; ++k) {
      const Block& block = program_.blocks[program_.operands[control.blocks.first + k]];
      const Planned one = plan_steps(block.first, block.count, &block);
      all.bytes = std::max(all.bytes, one.bytes);
      all.slots.insert(all.slots.end(), one.slots.begin(), one.slots.end());
    }
    return all;
  }

  /// Buffers for what a step writes: that of an operand that dies with it, where it may have that.
  TYPEFLOW_COLD void place_outputs(Id s, const Step& step, std::vector<Buffer>& buffers,
                                   std::vector<Id>& slots) {
    const KernelSummary& kernel = program_.kernels[step.kernel];
    const Id* const operands = program_.operands.data + step.operands.first;
    unsigned taken = 0;
    for (int o = step.inputs; o < step.operands.count; ++o) {
      const Id out = operands[o];
      if (!has_memory(out)) continue;
      if (const Id whole = program_.slots[out].within; whole != none) {
        if (at(buffer_of_, whole) == none) {
          add_buffer(whole, s, buffers, slots);
        }
        if (at(buffer_of_, out) == none) slots.push_back(out);
        at(buffer_of_, out) = at(buffer_of_, whole);
      }
      const bool per_element = (kernel.element_stores >> (o - step.inputs) & 1u) != 0;
      const bool is_new = at(buffer_of_, out) == none;
      for (int i = 0; i < step.inputs && i < 32 && per_element && is_new && !keep_all_; ++i) {
        const Id in = operands[i];
        bool usable = has_memory(in) && at(last_, in) == s && at(buffer_of_, in) != none &&
                      bytes_of(in) == bytes_of(out) &&
                      size_of(program_.type_of(in).dtype) == size_of(program_.type_of(out).dtype) &&
                      (taken >> i & 1u) == 0;
        for (int k = 0; k < step.inputs && usable; ++k) {
          if (operands[k] == in && (k >= 32 || (kernel.aligned >> k & 1u) == 0)) usable = false;
        }
        // An operand that shares its memory with one that lives on is not free.
        if (!usable || at(buffers, at(buffer_of_, in)).last != s) continue;
        for (int k = 0; k < step.inputs && k < 32; ++k) {
          if (operands[k] == in) taken |= 1u << k;
        }
        at(buffer_of_, out) = at(buffer_of_, in);
        slots.push_back(out);
        break;
      }
      if (at(buffer_of_, out) == none) add_buffer(out, s, buffers, slots);
      Buffer& buffer = at(buffers, at(buffer_of_, out));
      buffer.last = std::max(buffer.last, keep_all_ ? program_.steps.size : at(last_, out));
    }
  }
  TYPEFLOW_COLD void add_buffer(Id slot, Id step, std::vector<Buffer>& buffers,
                                std::vector<Id>& slots) {
    at(buffer_of_, slot) = static_cast<Id>(buffers.size());
    buffers.push_back({bytes_of(slot), step, step, 0});
    slots.push_back(slot);
  }

  /// Offsets by first fit, the largest first. The bytes of all.
  TYPEFLOW_COLD static std::int64_t find_offsets(std::vector<Buffer>& buffers) {
    std::vector<Id> order(buffers.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<Id>(i);
    std::sort(order.begin(), order.end(), [&](Id a, Id b) {
      return std::pair(-at(buffers, a).bytes, a) < std::pair(-at(buffers, b).bytes, b);
    });
    std::int64_t bytes = 0;
    std::vector<Id> placed;  // by offset
    for (const Id id : order) {
      Buffer& buffer = at(buffers, id);
      std::int64_t offset = 0;
      for (const Id other : placed) {
        const Buffer& p = at(buffers, other);
        if (p.last < buffer.first || buffer.last < p.first) continue;
        if (checked_sum(offset, buffer.bytes) <= p.offset) break;
        offset = std::max(offset, checked_sum(p.offset, p.bytes));
      }
      buffer.offset = offset;
      bytes = std::max(bytes, checked_sum(offset, buffer.bytes));
      const auto where = std::upper_bound(placed.begin(), placed.end(), id, [&](Id a, Id b) {
        return at(buffers, a).offset < at(buffers, b).offset;
      });
      placed.insert(where, id);
    }
    return bytes;
  }

  const ProgramView& program_;
  const SymbolSizes& sizes_;
  const bool keep_all_;
  MemoryPlan plan_;
  std::vector<Id> last_;       // by slot: the last step that has it
  std::vector<Id> buffer_of_;  // by slot: of the list of steps that it is in
  std::vector<bool> moves_;    // by slot
};

/// Plans the temporaries of a program for runs of these sizes. With `keep_all`, none shares memory.
TYPEFLOW_COLD inline MemoryPlan plan_memory(const ProgramView& program, const SymbolSizes& sizes,
                                            bool keep_all = false) {
  return MemoryPlanner(program, sizes, keep_all).run();
}

}  // namespace typeflow::inline TYPEFLOW_TARGET::ir
