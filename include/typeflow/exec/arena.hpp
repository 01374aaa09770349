// SPDX-License-Identifier: Apache-2.0
#pragma once

// Arenas: the memory of runs. A run claims an arena by an atomic exchange and takes no lock. An
// arena keeps the layouts, addresses and constants of the plans that it has run. A run with a plan
// and sizes that it knows allocates nothing.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>

#include "typeflow/core/characters.hpp"
#include "typeflow/core/run_scope.hpp"
#include "typeflow/exec/layout.hpp"
#include "typeflow/exec/machine.hpp"
#include "typeflow/exec/plan.hpp"
#include "typeflow/lower/program.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// What runs keep besides addresses, if their program is not straight (exec/run_state.hpp).
struct RunState;

inline constexpr SymbolSizes no_sizes = [] {
  SymbolSizes sizes;
  for (std::int64_t& size : sizes.of) size = -1;
  return sizes;
}();

/// A launch of a plan with all that stays the same in an arena's runs.
struct BoundLaunch {
  void (*run)(const KernelCall&);
  const int* places;  ///< of the operands
  int count;          ///< of the operands
  void** operands;    ///< their addresses; a run writes them before it calls the kernel
  KernelCall call;    ///< but for the number of the random draw and the failure
};

/// A plan's addresses in an arena.
struct Binding {
  explicit Binding(const Plan& of) : plan(&of) {}
  Binding(const Binding&) = delete;
  Binding& operator=(const Binding&) = delete;
  TYPEFLOW_COLD ~Binding() {
    delete[] at;
    delete[] launches;
    if (state != nullptr) release(state);
  }

  const Plan* plan;
  std::int64_t memory = -1;   ///< Arena::memory_number when it was made
  std::int64_t version = -1;  ///< of the store when all copies of variables were valid
  Layout layout;
  Pool<void*> own;                  ///< by place: its address, as the layout has it
  Pool<void*>* at = nullptr;        ///< by stream and place: the address in the run; owned
  Pool<void*> operands;             ///< of all launches
  BoundLaunch* launches = nullptr;  ///< by launch; owned
  RunState* state = nullptr;
  void (*release)(RunState*) = nullptr;
  Binding* next = nullptr;  ///< in the arena's list
};

/// Counts the memory of a device that an engine's arenas have.
struct DeviceCounters {
  std::atomic<std::int64_t> reserved{0};
  std::atomic<std::int64_t> peak{0};  ///< of `reserved`
  std::atomic<std::int64_t> allocations{0};
  std::atomic<std::int64_t> sent{0};  ///< bytes to other devices

  /// Counts an allocation.
  TYPEFLOW_COLD void add(std::int64_t bytes) {
    const std::int64_t now = reserved += bytes;
    std::int64_t most = peak.load();
    while (most < now && !peak.compare_exchange_weak(most, now)) {
    }
    ++allocations;
  }
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
    counters.add(bytes);
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

/// The memory of an arena's runs on a device. Other threads may read it.
struct ArenaFigures {
  std::atomic<std::int64_t> planned{0};  ///< bytes of tensors in the last run
  std::atomic<std::int64_t> at_once{0};  ///< Layout::at_once of the last run
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
  RunScope run;                                   ///< what the run holds until it ends
  Binding* bindings = nullptr;                    ///< a list, owned
  Binding* last = nullptr;                        ///< of the last run; null if it is bound anew
  std::atomic<bool> runs{false};                  ///< a run is in progress
  std::array<ArenaFigures, max_devices> figures;  ///< by device
  Arena* next = nullptr;                          ///< in the list of all arenas of an engine
  void* resident = nullptr;                       ///< copies of `scalars` on devices; owned
  void (*release_resident)(void*) = nullptr;

  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  /// Its memory moves: bindings are renewed before they run.
  TYPEFLOW_COLD void move() {
    ++memory_number;
    for (Binding* b = bindings; b != nullptr; b = b->next) b->version = -1;
  }
  TYPEFLOW_COLD ~Arena() {
    if (resident != nullptr) release_resident(resident);
    while (bindings != nullptr) delete std::exchange(bindings, bindings->next);
  }
};

/// The arenas of an engine. It keeps as many as have run at once, at most 16.
class ArenaPool {
 public:
  ArenaPool() = default;
  ArenaPool(const ArenaPool&) = delete;
  ArenaPool& operator=(const ArenaPool&) = delete;
  TYPEFLOW_COLD ~ArenaPool() {
    while (all_ != nullptr) delete std::exchange(all_, all_->next);
  }

  Arena* claim() {
    for (auto& place : arenas_) {
      Arena* const arena = place.exchange(nullptr, std::memory_order_acquire);
      if (arena != nullptr) return arena;
    }
    return make();
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
    remove(arena);
  }
  /// The arena of the run that ended last; null if it is gone.
  const Arena* last() const { return last_.load(std::memory_order_acquire); }

  /// f(arena, is_last) for each, also for those of runs in progress.
  template <class F>
  TYPEFLOW_COLD void each(const F& f) const {
    const std::lock_guard lock(mutex_);
    for (const Arena* arena = all_; arena != nullptr; arena = arena->next)
      f(*arena, arena == last());
  }

 private:
  TYPEFLOW_COLD Arena* make() {
    auto* const arena = new Arena;
    const std::lock_guard lock(mutex_);
    arena->next = std::exchange(all_, arena);
    return arena;
  }
  TYPEFLOW_COLD void remove(Arena* arena) {
    {
      const std::lock_guard lock(mutex_);
      if (last_.load() == arena) last_.store(nullptr);
      Arena** at = &all_;
      while (*at != arena) at = &(*at)->next;
      *at = arena->next;
    }
    delete arena;
  }

  mutable std::mutex mutex_;  // guards the list
  Arena* all_ = nullptr;      // owned
  std::array<std::atomic<Arena*>, 16> arenas_{};
  std::atomic<Arena*> last_{nullptr};
};

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
