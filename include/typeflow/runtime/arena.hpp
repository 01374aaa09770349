// SPDX-License-Identifier: Apache-2.0
#pragma once

// Arenas: the memory of runs. A run claims an arena by an atomic exchange and takes no lock. An
// arena keeps the memory plan, extents and constants of its last run. A run with the same symbols
// allocates nothing.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "typeflow/core/characters.hpp"
#include "typeflow/core/run_scope.hpp"
#include "typeflow/lower/memory_plan.hpp"
#include "typeflow/lower/program.hpp"
#include "typeflow/runtime/buffers.hpp"
#include "typeflow/runtime/checks.hpp"
#include "typeflow/runtime/elements.hpp"
#include "typeflow/runtime/memory.hpp"
#include "typeflow/runtime/target.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

namespace detail {

/// The memory of one run.
struct Arena {
  static constexpr SymbolSizes not_yet = [] {
    SymbolSizes sizes;
    for (std::int64_t& size : sizes.of) size = -1;
    return sizes;
  }();
  SymbolSizes sizes = not_yet;
  SymbolSizes planned_for = not_yet;  // the largest of each symbol so far
  std::vector<std::int64_t> extents;
  /// Sizes in bytes for branches and loops, by operand of the program: of a whole slot, or of one
  /// slice of a stacked input or output.
  std::vector<std::int64_t> bytes;
  std::vector<void*> slots;      // by slot
  std::vector<void*> own_slots;  // the same, as the plan has them
  AlignedBytes temporaries;
  AlignedBytes scalars;  // constants, then defaults of placeholders
  AlignedBytes workspace;
  Characters characters;
  RunScope run;

  void*& slot(Id id) { return slots[static_cast<std::size_t>(id)]; }
  void*& own_slot(Id id) { return own_slots[static_cast<std::size_t>(id)]; }
};

/// The free arenas of an engine: as many as have run at once, at most 16.
class ArenaPool {
 public:
  ArenaPool() = default;
  ArenaPool(const ArenaPool&) = delete;
  ArenaPool& operator=(const ArenaPool&) = delete;
  TYPEFLOW_COLD ~ArenaPool() {
    for (auto& place : arenas_) delete place.load();
  }

  Arena* claim() {
    for (auto& place : arenas_) {
      Arena* const arena = place.exchange(nullptr, std::memory_order_acquire);
      if (arena != nullptr) return arena;
    }
    return new Arena;
  }
  void release(Arena* arena) {
    last_.store(arena, std::memory_order_release);
    for (auto& place : arenas_) {
      Arena* expected = nullptr;
      if (place.compare_exchange_strong(expected, arena, std::memory_order_release,
                                        std::memory_order_relaxed)) {
        return;
      }
    }
    if (last_.load() == arena) last_.store(nullptr);
    delete arena;
  }
  /// The arena of the run that ended last; null if it is gone.
  const Arena* last() const { return last_.load(std::memory_order_acquire); }

 private:
  std::array<std::atomic<Arena*>, 16> arenas_{};
  std::atomic<Arena*> last_{nullptr};
};

/// Stores a constant's words as an element in memory; a floating-point constant may have symbols.
TYPEFLOW_COLD inline void store_number(DType type, std::uint32_t low, std::uint32_t high, void* out,
                                       int powers = 0, const SymbolSizes& sizes = {}) {
  Number number = number_of(type, low, high);
  if (!is_integer(type) && type != DType::boolean) {
    number.real = resolve(number.real, powers, sizes);
  }
  ir::store_number(type, number, out, 0);
}

/// Element `index` of `count` constant strings. Their words are the beginning and length of each
/// string, then all bytes.
inline void store_string(const std::uint32_t* words, std::int64_t count, std::int64_t index,
                         void* out) {
  const char* const bytes = reinterpret_cast<const char*>(words + 2 * count);
  const std::string_view value(bytes + words[2 * index], words[2 * index + 1]);
  std::memcpy(out, &value, sizeof value);
}

/// Makes a program's arenas ready for runs, and holds the constants that they share.
class ArenaPlanner {
 public:
  /// `variables` must have all of the program's variables when an arena is prepared.
  ArenaPlanner(const ir::ProgramView& program, const TargetView& target,
               const std::vector<OpenVariable>& variables, bool keep_all)
      : program_(program),
        kernels_(target.kernels),
        memory_(*target.memory),
        variables_(variables),
        keep_all_(keep_all) {
    load_constant_arrays();
    for (Id i = 0; i < program_.slots.size; ++i) {
      if (program_.slots[i].within != none) parts_.push_back(i);
    }
  }

  /// Makes an arena ready for a run of these sizes.
  void prepare(Arena& arena, const SymbolSizes& sizes) const {
    if (arena.sizes == sizes) return;
    arena.sizes = Arena::not_yet;  // until all is done: an allocation may fail
    arena.extents.resize(static_cast<std::size_t>(program_.extents.size));
    for (int i = 0; i < program_.extents.size; ++i) {
      arena.extents[static_cast<std::size_t>(i)] = program_.extents[i].resolve(sizes);
    }
    measure_blocks(arena, sizes);
    if (arena.scalars.size() == 0) {
      arena.scalars =
          AlignedBytes(16 * (program_.constants.size + program_.placeholders.size), memory_);
    }
    for (int i = 0; i < program_.constants.size; ++i) {
      const ir::ConstantRecord& c = program_.constants[i];
      if (c.is_array) continue;
      const std::uint32_t* const words = program_.words.data + c.words.first;
      store_number(program_.type_of(c.slot).dtype, words[0], words[1], scalar(arena, i),
                   static_cast<std::int32_t>(words[2]), sizes);
    }
    SymbolSizes largest = sizes;
    for (int i = 0; i < max_symbols; ++i) {
      largest.of[i] = std::max(sizes.of[i], arena.planned_for.of[i]);
    }
    if (!(largest == arena.planned_for)) {
      plan(arena, largest);
      arena.planned_for = largest;
    }
    make_workspace(arena);
    arena.sizes = sizes;
  }

  /// Puts fed tensors in the place of their placeholders, and defaults for the others.
  void place_feeds(Arena& arena, std::span<const FedTensor> feeds) const {
    for (const ir::ProgramPlaceholder& p : program_.placeholders) {
      arena.slot(p.slot) = arena.own_slot(p.slot);
    }
    for (const FedTensor& fed : feeds) {
      if (fed.placeholder == none) continue;
      arena.slot(program_.placeholders[fed.placeholder].slot) = const_cast<void*>(fed.data);
    }
  }

  /// Values that are computed within other tensors go where those are now.
  void place_parts(Arena& arena) const {
    for (const Id part : parts_) arena.slot(part) = arena.slot(program_.slots[part].within);
  }

 private:
  template <class V>
  static auto& at(V& v, Id i) {
    return v[static_cast<std::size_t>(i)];
  }

  /// The place of the arena's scalar i.
  static std::byte* scalar(const Arena& arena, int i) { return arena.scalars.data() + 16 * i; }

  /// The value of Arena::bytes.
  TYPEFLOW_COLD void measure_blocks(Arena& arena, const SymbolSizes& sizes) const {
    if (program_.controls.size == 0) return;
    arena.bytes.assign(static_cast<std::size_t>(program_.operands.size), 0);
    const auto measure = [&](ir::Range range) {
      for (Id k = range.first; k < range.first + range.count; ++k) {
        const Id slot = program_.operands[k];
        if (slot == none) continue;
        const Type& type = program_.type_of(slot);
        at(arena.bytes, k) = count_of(type.dims).resolve(sizes) * size_of(type.dtype);
      }
    };
    for (const ir::Block& block : program_.blocks) {
      measure(block.inputs);
      measure(block.results);
    }
    for (const ir::ControlRecord& control : program_.controls) measure(control.results);
  }

  TYPEFLOW_COLD void load_constant_arrays() {
    array_of_.assign(static_cast<std::size_t>(program_.constants.size), nullptr);
    std::int64_t bytes = 0;
    const auto padded = [&](const ir::ConstantRecord& c) {
      const Type& type = program_.type_of(c.slot);
      const std::int64_t size = count_of(type.dims).coefficient * size_of(type.dtype);
      return (size + ir::memory_alignment - 1) / ir::memory_alignment * ir::memory_alignment;
    };
    for (const ir::ConstantRecord& c : program_.constants) bytes += c.is_array ? padded(c) : 0;
    constant_arrays_ = AlignedBytes(bytes, memory_);
    std::byte* at = constant_arrays_.data();
    for (int i = 0; i < program_.constants.size; ++i) {
      const ir::ConstantRecord& c = program_.constants[i];
      if (!c.is_array) continue;
      const DType dtype = program_.type_of(c.slot).dtype;
      const std::int64_t count = count_of(program_.type_of(c.slot).dims).coefficient;
      const std::uint32_t* const words = program_.words.data + c.words.first;
      for (std::int64_t k = 0; k < count; ++k) {
        std::byte* const place = at + k * size_of(dtype);
        if (dtype == DType::string) {
          store_string(words, count, k, place);
        } else {
          store_number(dtype, words[2 * k], words[2 * k + 1], place);
        }
      }
      array_of_[static_cast<std::size_t>(i)] = at;
      at += padded(c);
    }
  }

  TYPEFLOW_COLD void plan(Arena& arena, const SymbolSizes& sizes) const {
    check_sizes(program_, sizes);
    const ir::MemoryPlan plan = plan_memory(program_, sizes, keep_all_);
    try {
      if (plan.bytes == too_many) throw std::bad_alloc();
      arena.temporaries = AlignedBytes(plan.bytes, memory_);
    } catch (const std::bad_alloc&) {
      no_memory_for_temporaries(program_, plan.bytes, sizes);
    }
    arena.own_slots.resize(static_cast<std::size_t>(program_.slots.size));
    for (Id i = 0; i < program_.slots.size; ++i) {
      const ir::Slot& slot = program_.slots[i];
      void*& place = arena.own_slot(i);
      switch (slot.kind) {
        case ir::SlotKind::temporary:
          place = plan.offset[i] < 0 ? nullptr : arena.temporaries.data() + plan.offset[i];
          break;
        case ir::SlotKind::variable:
          place = at(variables_, slot.index).entry->bytes.data();
          break;
        case ir::SlotKind::constant:
          place = at(array_of_, slot.index) != nullptr ? at(array_of_, slot.index)
                                                       : scalar(arena, slot.index);
          break;
        case ir::SlotKind::placeholder:
        case ir::SlotKind::block_input:
          place = nullptr;
          break;
      }
    }
    for (int i = 0; i < program_.placeholders.size; ++i) {
      const ir::ProgramPlaceholder& p = program_.placeholders[i];
      if (!p.has_default) continue;
      std::byte* const place = scalar(arena, program_.constants.size + i);
      store_number(program_.type_of(p.slot).dtype, p.low, p.high, place);
      arena.own_slot(p.slot) = place;
    }
    arena.slots = arena.own_slots;
  }

  /// Allocates a workspace for the arena's extents, if its own is too small.
  void make_workspace(Arena& arena) const {
    std::int64_t workspace = 0;
    const ir::Step* largest = nullptr;
    for (const ir::Step& step : program_.steps) {
      const std::int64_t* const extents = arena.extents.data() + step.extents.first;
      const std::int64_t bytes = kernels_[step.kernel].workspace(extents);
      if (bytes > workspace) largest = &step;
      workspace = std::max(workspace, bytes);
    }
    if (workspace <= arena.workspace.size()) return;
    try {
      if (workspace == too_many) throw std::bad_alloc();
      arena.workspace = AlignedBytes(workspace, memory_);
    } catch (const std::bad_alloc&) {
      fail_step(program_, *largest,
                workspace == too_many
                    ? "its workspace has more bytes than 63 bits can count"
                    : "no memory for the " + std::to_string(workspace) + " bytes of its workspace");
    }
  }

  const ir::ProgramView& program_;
  const KernelEntry* kernels_;
  Memory& memory_;
  const std::vector<OpenVariable>& variables_;
  bool keep_all_;
  AlignedBytes constant_arrays_;
  std::vector<std::byte*> array_of_;  // by constant
  std::vector<Id> parts_;             // slots within others
};

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_TARGET
