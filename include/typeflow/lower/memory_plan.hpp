// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where a program's temporaries live in an arena.
//
// A temporary lives from the step that writes it to the last that reads it. Those whose lives
// overlap get disjoint memory, others share it; a result takes the memory of an operand that dies
// with it where the kernel reads that operand at the element at hand alone. Offsets are found by
// first fit, the largest tensors first. What is computed within another tensor has no memory of its
// own: the other lives from the first of its parts on.

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

/// Plans the temporaries of a program for runs of these sizes. With `keep_all`, none shares memory.
TYPEFLOW_COLD inline MemoryPlan plan_memory(const ProgramView& program, const SymbolSizes& sizes,
                                            bool keep_all = false) {
  struct Buffer {
    std::int64_t bytes;
    Id first;
    Id last;
    std::int64_t offset;
  };
  const auto at = [](auto& v, Id i) -> auto& { return v[static_cast<std::size_t>(i)]; };
  const int slots = program.slots.size;
  std::vector<Id> last(static_cast<std::size_t>(slots), none);
  for (Id s = 0; s < program.steps.size; ++s) {
    const Step& step = program.steps[s];
    for (int i = 0; i < step.operands.count; ++i) {
      at(last, program.operands[step.operands.first + i]) = s;
    }
  }
  const auto bytes_of = [&](Id slot) {
    const Type& type = program.type_of(slot);
    const std::int64_t elements = count_of(type.dims).resolve(sizes);
    return aligned_size(checked_product(elements, size_of(type.dtype)));
  };

  std::vector<Buffer> buffers;
  std::vector<Id> buffer_of(static_cast<std::size_t>(slots), none);
  for (Id s = 0; s < program.steps.size; ++s) {
    const Step& step = program.steps[s];
    const KernelSummary& kernel = program.kernels[step.kernel];
    const Id* const operands = program.operands.data + step.operands.first;
    unsigned taken = 0;
    for (int o = step.inputs; o < step.operands.count; ++o) {
      const Id out = operands[o];
      if (program.slots[out].kind != SlotKind::temporary) continue;
      if (const Id whole = program.slots[out].within; whole != none) {
        if (at(buffer_of, whole) == none) {
          at(buffer_of, whole) = static_cast<Id>(buffers.size());
          buffers.push_back({bytes_of(whole), s, s, 0});
        }
        at(buffer_of, out) = at(buffer_of, whole);
      }
      const bool per_element = (kernel.element_stores >> (o - step.inputs) & 1u) != 0;
      const bool is_new = at(buffer_of, out) == none;
      for (int i = 0; i < step.inputs && i < 32 && per_element && is_new && !keep_all; ++i) {
        const Id in = operands[i];
        bool usable = program.slots[in].kind == SlotKind::temporary && at(last, in) == s &&
                      at(buffer_of, in) != none && bytes_of(in) == bytes_of(out) &&
                      size_of(program.type_of(in).dtype) == size_of(program.type_of(out).dtype) &&
                      (taken >> i & 1u) == 0;
        for (int k = 0; k < step.inputs && usable; ++k) {
          if (operands[k] == in && (k >= 32 || (kernel.aligned >> k & 1u) == 0)) usable = false;
        }
        // An operand that shares its memory with one that lives on is not free.
        if (!usable || at(buffers, at(buffer_of, in)).last != s) continue;
        for (int k = 0; k < step.inputs && k < 32; ++k) {
          if (operands[k] == in) taken |= 1u << k;
        }
        at(buffer_of, out) = at(buffer_of, in);
        break;
      }
      if (at(buffer_of, out) == none) {
        at(buffer_of, out) = static_cast<Id>(buffers.size());
        buffers.push_back({bytes_of(out), s, s, 0});
      }
      Buffer& buffer = at(buffers, at(buffer_of, out));
      buffer.last = std::max(buffer.last, keep_all ? program.steps.size : at(last, out));
    }
  }

  std::vector<Id> order(buffers.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<Id>(i);
  std::sort(order.begin(), order.end(), [&](Id a, Id b) {
    return std::pair(-at(buffers, a).bytes, a) < std::pair(-at(buffers, b).bytes, b);
  });
  MemoryPlan plan{std::vector<std::int64_t>(static_cast<std::size_t>(slots), -1), 0};
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
    plan.bytes = std::max(plan.bytes, checked_sum(offset, buffer.bytes));
    const auto where = std::upper_bound(placed.begin(), placed.end(), id, [&](Id a, Id b) {
      return at(buffers, a).offset < at(buffers, b).offset;
    });
    placed.insert(where, id);
  }
  for (Id slot = 0; slot < slots; ++slot) {
    if (at(buffer_of, slot) != none)
      at(plan.offset, slot) = at(buffers, at(buffer_of, slot)).offset;
  }
  return plan;
}

}  // namespace typeflow::inline TYPEFLOW_TARGET::ir
