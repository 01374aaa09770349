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
#include <cstdint>
#include <utility>

#include "typeflow/core/pool.hpp"
#include "typeflow/lower/program.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::ir {

/// Offsets in bytes, multiples of `memory_alignment`.
struct MemoryPlan {
  Pool<std::int64_t> offset;  ///< by slot; -1 for what is no temporary
  std::int64_t bytes = 0;     ///< of the arena; too_many if 63 bits can't count them
};

inline constexpr std::int64_t memory_alignment = 64;

/// Bytes, rounded up to a multiple of `memory_alignment`; too_many if 63 bits cannot count them.
constexpr std::int64_t aligned_size(std::int64_t bytes) {
  const std::int64_t padded = checked_sum(bytes, memory_alignment - 1);
  return padded == too_many ? too_many : padded / memory_alignment * memory_alignment;
}

/// Plans the memory of one program's temporaries. Those of a block live in memory that its branch
/// or loop has while it runs. The branches of one step share theirs.
class MemoryPlanner {
 public:
  TYPEFLOW_COLD MemoryPlanner(const ProgramView& program, const SymbolSizes& sizes, bool keep_all)
      : program_(program),
        sizes_(sizes),
        keep_all_(keep_all),
        last_(program.slots.size, none),
        buffer_of_(program.slots.size, none),
        moves_(program.slots.size, 0) {
    plan_.offset = Pool<std::int64_t>(program.slots.size, -1);
    for (const ControlRecord& control : program.controls) find_moving(control);
  }

  TYPEFLOW_COLD MemoryPlan run() {
    plan_.bytes = plan_steps(0, main_steps(program_), nullptr);
    return std::move(plan_);
  }

 private:
  struct Buffer {
    std::int64_t bytes;
    Id first;
    Id last;
    std::int64_t offset;
  };
  /// The slots of the blocks of a step: slots_[first] and those behind it, with offsets from the
  /// beginning of their buffer.
  struct Inner {
    Id buffer;
    int first;
    int last;
  };

  /// Results of blocks are where their branch or loop wants them, except a loop's condition.
  TYPEFLOW_COLD void find_moving(const ControlRecord& control) {
    const int first = control.kind == ControlKind::tested ? 1 : 0;
    for (int k = first; k < control.blocks.count; ++k) {
      const Block& block = program_.blocks[program_.operands[control.blocks.first + k]];
      for (const RangeOf<Slot>& slots : {block.results, block.parts}) {
        for (int i = 0; i < slots.count; ++i) {
          const Id slot = program_.operands[slots.first + i];
          if (slot != none) moves_[slot] = 1;
        }
      }
    }
  }
  bool has_memory(Id slot) const {
    return program_.slots[slot].kind == SlotKind::temporary && moves_[slot] == 0;
  }
  std::int64_t bytes_of(Id slot) const {
    const Type& type = program_.type_of(slot);
    const std::int64_t elements = count_of(type.dims).resolve(sizes_);
    return aligned_size(checked_product(elements, size_of(type.dtype)));
  }

  /// Plans steps from `first` on. `block` is their block; null for the program itself. Returns the
  /// bytes that they take. Appends their slots to slots_, with offsets from the beginning of these
  /// bytes.
  TYPEFLOW_COLD std::int64_t plan_steps(Id first, int count, const Block* block) {
    for (Id s = first; s < first + count; ++s) {
      const Step& step = program_.steps[s];
      for (int i = 0; i < step.operands.count; ++i) {
        last_[program_.operands[step.operands.first + i]] = s;
      }
    }
    for (int i = 0; block != nullptr && i < block->results.count; ++i) {
      const Id slot = program_.operands[block->results.first + i];
      if (slot != none) last_[slot] = first + count;
    }
    Pool<Buffer> buffers;
    Pool<Id> own;
    Pool<Inner> inner;
    for (Id s = first; s < first + count; ++s) {
      const Step& step = program_.steps[s];
      if (program_.kernels[step.kernel].kind == KernelKind::control) {
        const int begin = slots_.size();
        const std::int64_t bytes = plan_blocks(control_of(program_, step));
        inner.push({buffers.size(), begin, slots_.size()});
        buffers.push({bytes, s, keep_all_ ? program_.steps.size : s, 0});
      }
      place_outputs(s, step, buffers, own);
    }
    const std::int64_t bytes = find_offsets(buffers);
    for (const Id slot : own) {
      plan_.offset[slot] = buffers[buffer_of_[slot]].offset;
      slots_.push(slot);
    }
    for (const Inner& blocks : inner) {
      for (int i = blocks.first; i < blocks.last; ++i) {
        std::int64_t& offset = plan_.offset[slots_[i]];
        offset = checked_sum(offset, buffers[blocks.buffer].offset);
      }
    }
    return bytes;
  }
  /// The bytes of a step's blocks, which share one buffer.
  TYPEFLOW_COLD std::int64_t plan_blocks(const ControlRecord& control) {
    std::int64_t most = 0;
    for (int k = 0; k < control.blocks.count; ++k) {
      const Block& block = program_.blocks[program_.operands[control.blocks.first + k]];
      most = std::max(most, plan_steps(block.first, block.count, &block));
    }
    return most;
  }

  /// Finds buffers for a step's results. A result takes the buffer of an operand that dies with it,
  /// if that is possible.
  TYPEFLOW_COLD void place_outputs(Id s, const Step& step, Pool<Buffer>& buffers, Pool<Id>& slots) {
    const KernelSummary& kernel = program_.kernels[step.kernel];
    const Id* const operands = program_.operands.data + step.operands.first;
    unsigned taken = 0;
    for (int o = step.inputs; o < step.operands.count; ++o) {
      const Id out = operands[o];
      if (!has_memory(out)) continue;
      if (const Id whole = program_.slots[out].within; whole != none) {
        if (buffer_of_[whole] == none) {
          add_buffer(whole, s, buffers, slots);
        }
        if (buffer_of_[out] == none) slots.push(out);
        buffer_of_[out] = buffer_of_[whole];
      }
      const bool per_element = (kernel.element_stores >> (o - step.inputs) & 1u) != 0;
      const bool is_new = buffer_of_[out] == none;
      for (int i = 0; i < step.inputs && i < 32 && per_element && is_new && !keep_all_; ++i) {
        const Id in = operands[i];
        bool usable = has_memory(in) && last_[in] == s && buffer_of_[in] != none &&
                      bytes_of(in) == bytes_of(out) &&
                      size_of(program_.type_of(in).dtype) == size_of(program_.type_of(out).dtype) &&
                      (taken >> i & 1u) == 0;
        for (int k = 0; k < step.inputs && usable; ++k) {
          if (operands[k] == in && (k >= 32 || (kernel.aligned >> k & 1u) == 0)) usable = false;
        }
        // An operand that shares its memory with another one that lives on is not free.
        if (!usable || buffers[buffer_of_[in]].last != s) continue;
        for (int k = 0; k < step.inputs && k < 32; ++k) {
          if (operands[k] == in) taken |= 1u << k;
        }
        buffer_of_[out] = buffer_of_[in];
        slots.push(out);
        break;
      }
      if (buffer_of_[out] == none) add_buffer(out, s, buffers, slots);
      Buffer& buffer = buffers[buffer_of_[out]];
      buffer.last = std::max(buffer.last, keep_all_ ? program_.steps.size : last_[out]);
    }
  }
  TYPEFLOW_COLD void add_buffer(Id slot, Id step, Pool<Buffer>& buffers, Pool<Id>& slots) {
    buffer_of_[slot] = buffers.size();
    buffers.push({bytes_of(slot), step, step, 0});
    slots.push(slot);
  }

  /// The numbers of the buffers by size, the largest first, equal ones in order. A merge sort,
  /// whose code is a fraction of std::sort's.
  TYPEFLOW_COLD static Pool<Id> largest_first(const Pool<Buffer>& buffers) {
    const int count = buffers.size();
    Pool<Id> order = Pool<Id>::uninitialized(count);
    Pool<Id> merged = Pool<Id>::uninitialized(count);
    for (int i = 0; i < count; ++i) order[i] = i;
    for (int width = 1; width < count; width *= 2) {
      for (int begin = 0; begin < count; begin += 2 * width) {
        const int middle = std::min(begin + width, count);
        const int end = std::min(begin + 2 * width, count);
        int left = begin;
        int right = middle;
        for (int i = begin; i < end; ++i) {
          const bool from_left = left < middle && (right == end || buffers[order[left]].bytes >=
                                                                       buffers[order[right]].bytes);
          merged[i] = order[from_left ? left++ : right++];
        }
      }
      std::swap(order, merged);
    }
    return order;
  }

  /// Finds offsets by first fit, the largest first. Returns the bytes of all.
  TYPEFLOW_COLD static std::int64_t find_offsets(Pool<Buffer>& buffers) {
    std::int64_t bytes = 0;
    Pool<Id> placed;  // by offset
    for (const Id id : largest_first(buffers)) {
      Buffer& buffer = buffers[id];
      std::int64_t offset = 0;
      int place = 0;  // behind buffers with a smaller or equal offset
      for (const Id other : placed) {
        const Buffer& p = buffers[other];
        if (p.last < buffer.first || buffer.last < p.first) continue;
        if (checked_sum(offset, buffer.bytes) <= p.offset) break;
        offset = std::max(offset, checked_sum(p.offset, p.bytes));
      }
      buffer.offset = offset;
      bytes = std::max(bytes, checked_sum(offset, buffer.bytes));
      for (int end = placed.size(); place < end;) {
        const int middle = place + (end - place) / 2;
        if (buffers[placed[middle]].offset <= offset) {
          place = middle + 1;
        } else {
          end = middle;
        }
      }
      for (int i = placed.push(id); i > place; --i) placed[i] = placed[i - 1];
      placed[place] = id;
    }
    return bytes;
  }

  const ProgramView& program_;
  const SymbolSizes& sizes_;
  const bool keep_all_;
  MemoryPlan plan_;
  Pool<Id> slots_;      // that have offsets
  Pool<Id> last_;       // by slot: the last step that has it
  Pool<Id> buffer_of_;  // by slot: of the list of steps that it is in
  Pool<char> moves_;    // by slot
};

/// Plans a program's temporaries for runs of these sizes. With `keep_all`, they share no memory.
TYPEFLOW_COLD inline MemoryPlan plan_memory(const ProgramView& program, const SymbolSizes& sizes,
                                            bool keep_all = false) {
  return MemoryPlanner(program, sizes, keep_all).run();
}

}  // namespace typeflow::inline TYPEFLOW_TARGET::ir
