// SPDX-License-Identifier: Apache-2.0
#pragma once

// Arenas: the memory of runs. A run claims an arena by an atomic exchange and takes no lock. An
// arena keeps the layouts, addresses and constants of the plans that it has run. A run with a plan
// and sizes that it knows allocates nothing.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "typeflow/core/characters.hpp"
#include "typeflow/core/run_scope.hpp"
#include "typeflow/exec/layout.hpp"
#include "typeflow/exec/machine.hpp"
#include "typeflow/exec/plan.hpp"
#include "typeflow/lower/program.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::exec {

/// Where a stream is in a loop.
struct LoopState {
  std::int64_t done;    ///< iterations
  std::int64_t count;   ///< trip count; negative if none is known
  std::int64_t index;   ///< of the iteration
  std::uint64_t draw;   ///< of random numbers, outside of the loop
  std::uint64_t begun;  ///< iterations in this run, over all times that the loop was entered
};

/// A count that one stream raises and others wait for.
struct EventCount {
  std::atomic<std::uint64_t> signals{0};
};

/// What a stream knows while it runs.
struct StreamState {
  Pool<void*> at;              ///< by place: its address
  Pool<LoopState> loops;       ///< by loop
  Pool<std::uint64_t> waited;  ///< by event: how often
  int frame = 0;
};

inline constexpr SymbolSizes no_sizes = [] {
  SymbolSizes sizes;
  for (std::int64_t& size : sizes.of) size = -1;
  return sizes;
}();

/// A plan's addresses in an arena.
struct Binding {
  explicit Binding(const Plan& of) : plan(&of) {}
  Binding(const Binding&) = delete;
  Binding& operator=(const Binding&) = delete;
  TYPEFLOW_COLD ~Binding() {
    delete[] streams;
    delete[] events;
  }

  const Plan* plan;
  std::int64_t memory = -1;  ///< Arena::memory_number when it was made
  Layout layout;
  Pool<void*> own;                 ///< by place: its address, as the layout has it
  StreamState* streams = nullptr;  ///< owned
  EventCount* events = nullptr;    ///< owned
  Pool<std::int64_t> cells;
  Binding* next = nullptr;  ///< in the arena's list
};

/// What an engine's arenas have of the memory of a device.
struct DeviceCounters {
  std::atomic<std::int64_t> reserved{0};
  std::atomic<std::int64_t> allocations{0};
};

/// Memory of an arena on a device, which counts itself.
class CountedBytes {
 public:
  CountedBytes() = default;
  CountedBytes(const CountedBytes&) = delete;
  CountedBytes& operator=(const CountedBytes&) = delete;
  TYPEFLOW_COLD ~CountedBytes() { release(); }

  /// Bytes in place of those that it has; std::bad_alloc leaves none.
  TYPEFLOW_COLD void allocate(std::int64_t bytes, Memory& memory, DeviceCounters& counters) {
    if (bytes == too_many) throw std::bad_alloc();
    release();
    bytes_ = AlignedBytes(bytes, memory);
    counters_ = &counters;
    counters.reserved += bytes;
    ++counters.allocations;
  }
  std::byte* data() const { return bytes_.data(); }
  std::int64_t size() const { return bytes_.size(); }

 private:
  TYPEFLOW_COLD void release() {
    if (counters_ != nullptr) counters_->reserved -= bytes_.size();
    counters_ = nullptr;
    bytes_ = AlignedBytes();
  }

  AlignedBytes bytes_;
  DeviceCounters* counters_ = nullptr;
};

struct Arena {
  SymbolSizes sizes = no_sizes;
  SymbolSizes planned_for = no_sizes;  ///< the largest of each symbol so far
  std::int64_t memory_number = 0;      ///< counts how often memory has moved
  Pool<std::int64_t> extents;          ///< of the program, for `sizes`
  Pool<std::int64_t> slot_bytes;       ///< by slot, for `sizes`
  std::array<CountedBytes, max_devices> temporaries;
  std::array<CountedBytes, max_devices> workspace;
  AlignedBytes scalars;  ///< constants, then defaults of placeholders
  std::array<Characters, max_devices> characters;
  RunScope run;                 ///< what the run holds until it ends
  Binding* bindings = nullptr;  ///< a list, owned
  Binding* last = nullptr;      ///< of the last run

  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  TYPEFLOW_COLD ~Arena() {
    while (bindings != nullptr) delete std::exchange(bindings, bindings->next);
  }
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

}  // namespace typeflow::inline TYPEFLOW_TARGET::exec
