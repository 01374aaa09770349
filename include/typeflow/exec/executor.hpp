// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs plans with several streams, branches or loops: a thread for each stream, which carries out
// its instructions one after the other.
//
// The first error stops a run: streams look for it wherever they wait, and at each iteration.

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "typeflow/core/philox.hpp"
#include "typeflow/exec/arena.hpp"
#include "typeflow/exec/launcher.hpp"
#include "typeflow/exec/plan.hpp"
#include "typeflow/exec/workers.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::exec {

/// Copies between a host's memory and those of devices; null is the host's.
TYPEFLOW_COLD inline void transfer(Memory* from_memory, const void* from, Memory* to_memory,
                                   void* to, std::int64_t bytes) {
  if (bytes <= 0 || from == to) return;
  const bool from_host = from_memory == nullptr || from_memory->is_host();
  const bool to_host = to_memory == nullptr || to_memory->is_host();
  if (from_host && to_host) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  } else if (from_host) {
    to_memory->copy_in(to, from, bytes);
  } else if (to_host) {
    from_memory->copy_out(to, from, bytes);
  } else if (from_memory == to_memory) {
    from_memory->copy(to, from, bytes);
  } else {  // by way of the host
    std::byte part[4096];
    constexpr auto most = static_cast<std::int64_t>(sizeof part);
    for (std::int64_t done = 0; done < bytes; done += most) {
      const std::int64_t size = std::min(most, bytes - done);
      from_memory->copy_out(part, static_cast<const std::byte*>(from) + done, size);
      to_memory->copy_in(static_cast<std::byte*>(to) + done, part, size);
    }
  }
}

/// What the streams of a run share.
struct SharedRun {
  Arena& arena;
  Binding& binding;
  Doorbell bell{};
  std::atomic<bool> stopped{false};
  std::atomic<int> running{0};  ///< streams of other threads
  std::atomic<int> present{0};  ///< the same, until they no longer touch this object
  std::mutex mutex{};           // guards the error
  std::exception_ptr error{};
  int error_time = INT_MAX;

  /// Keeps the error of the step that comes first in the plan.
  TYPEFLOW_COLD void stop(std::exception_ptr found, int time) {
    {
      const std::lock_guard lock(mutex);
      if (time < error_time) {
        error = std::move(found);
        error_time = time;
      }
    }
    stopped.store(true);
    bell.ring();
  }
};

/// Carries out the instructions of one stream.
class StreamRunner {
 public:
  StreamRunner(const Execution& execution, SharedRun& run, int stream, std::uint64_t draw)
      : execution_(execution),
        launcher_(execution),
        run_(run),
        plan_(*run.binding.plan),
        state_(run.binding.streams[stream]),
        at_(state_.at.data()),
        device_(execution.device(stream)),
        stream_(stream),
        draw_(draw) {}

  void run() {
    try {
      carry_out();
      finish(device_.stream);
      if (failure_.what != 0) launcher_.fail(run_.arena, failure_);
    } catch (...) {
      finish(device_.stream);
      run_.stop(std::current_exception(), time_);
    }
  }

 private:
  void carry_out() {
    const ir::Range range = plan_.streams[stream_];
    const Instruction* const end = plan_.instructions.data() + range.first + range.count;
    const Instruction* const base = plan_.instructions.data();
    for (const Instruction* i = base + range.first; i != end;) {
      const Instruction& now = *i++;
      switch (now.opcode) {
        case Opcode::launch: {
          const Launch& launch = plan_.launches.items[now.a];
          time_ = launch.time;
          launcher_.run(plan_, launch, run_.arena, at_, draw_, failure_);
          break;
        }
        case Opcode::copy:
          copy(now.a, now.b);
          break;
        case Opcode::signal:
          finish(device_.stream);
          run_.binding.events[now.a].signals.fetch_add(1);
          run_.bell.ring();
          break;
        case Opcode::wait:
          if (!wait(now.a, ++state_.waited.items[now.a])) return;
          break;
        case Opcode::wait_iterations: {
          const std::uint64_t begun = state_.loops.items[now.b].begun;
          const auto frames = static_cast<std::uint64_t>(plan_.loops.items[now.b].frames);
          if (begun > frames && !wait(now.a, begun - frames)) return;
          break;
        }
        case Opcode::read:
          read(now);
          break;
        case Opcode::jump:
          i = base + now.b;
          break;
        case Opcode::jump_unless:
          if (cell(now.a) == 0) i = base + now.b;
          break;
        case Opcode::select:
          i = base + plan_.targets.items[now.b + static_cast<int>(cell(now.a))];
          break;
        case Opcode::enter:
          enter(now);
          break;
        case Opcode::iterate:
          if (!iterate(now.a)) i = base + now.b;
          break;
        case Opcode::check:
          check(now.a);
          break;
        case Opcode::proceed:
          if (run_.stopped.load(std::memory_order_relaxed)) return;
          ++state_.loops.items[now.a].done;
          i = base + now.b;
          break;
        case Opcode::leave:
          draw_ = state_.loops.items[now.a].draw;
          if (plan_.loops.items[now.a].frames > 1) state_.frame = 0;
          break;
        case Opcode::frame:
          next_frame(now.a);
          break;
        case Opcode::bind:
          at_[now.a] = at_[now.b];
          break;
        case Opcode::slice:
          at_[now.a] = static_cast<std::byte*>(at_[now.b]) +
                       state_.loops.items[now.c].index * bytes(plan_.places.items[now.a].slot);
          break;
        case Opcode::alternate:
          at_[now.a] = at_[writes_result(now.d) ? now.b : now.c];
          break;
        case Opcode::finish_state:
          finish_state(now);
          break;
        case Opcode::set_index: {
          const LoopState& loop = state_.loops.items[now.c];
          finish(device_.stream);  // the number of the iteration before may still be read
          store(now.a, static_cast<std::int32_t>(loop.index));
          break;
        }
        case Opcode::set_count:
          store(now.a, static_cast<std::int32_t>(state_.loops.items[now.c].done));
          break;
        case Opcode::clear_rows:
          clear_rows(now);
          break;
      }
    }
  }

  std::int64_t bytes(Id slot) const { return run_.arena.slot_bytes[slot]; }
  std::int64_t& cell(int c) { return run_.binding.cells.items[c * plan_.frames + state_.frame]; }
  Memory* memory_of(int place) const {
    const int device = plan_.places.items[place].device;
    return device == the_host ? nullptr : execution_.device(device).memory;
  }

  void copy(int from, int to) {
    finish(device_.stream);
    transfer(memory_of(from), at_[from], memory_of(to), at_[to],
             bytes(plan_.places.items[from].slot));
  }
  /// Waits until an event was signalled so often. Returns false if the run has been stopped.
  bool wait(int event, std::uint64_t signals) {
    const std::atomic<std::uint64_t>& count = run_.binding.events[event].signals;
    if (count.load(std::memory_order_acquire) < signals) {
      run_.bell.wait([&] { return count.load() >= signals || run_.stopped.load(); });
    }
    return !run_.stopped.load(std::memory_order_relaxed);
  }
  /// Reads a number for decisions. The choice of a branch becomes the number of an arm.
  void read(const Instruction& now) {
    finish(device_.stream);
    const int place = now.a;
    const Id slot = plan_.places.items[place].slot;
    std::int64_t value = 0;
    if (execution_.program.type_of(slot).dtype == DType::boolean) {
      bool yes;
      transfer(memory_of(place), at_[place], nullptr, &yes, sizeof yes);
      value = now.c < 0 ? yes : (yes ? 0 : 1);
    } else {
      std::int32_t number;
      transfer(memory_of(place), at_[place], nullptr, &number, sizeof number);
      value = now.c >= 0 && (number < 0 || number > now.c) ? now.c : number;
    }
    cell(now.b) = value;
  }
  void store(int place, std::int32_t number) {
    transfer(nullptr, &number, memory_of(place), at_[place], sizeof number);
  }

  // Loops.

  void enter(const Instruction& now) {
    const Loop& loop = plan_.loops.items[now.a];
    LoopState& state = state_.loops.items[now.a];
    state.done = 0;
    state.count = loop.given ? cell(now.c) : loop.most.resolve(run_.arena.sizes);
    state.draw = draw_;
  }
  /// Begins an iteration. Returns false if the trip count is reached.
  bool iterate(int l) {
    const Loop& loop = plan_.loops.items[l];
    LoopState& state = state_.loops.items[l];
    if (!loop.tested && state.done >= state.count) return false;
    ++state.begun;
    state.index = loop.reversed ? state.count - 1 - state.done : state.done;
    if (loop.draws) draw_ = draw_of_iteration(state.draw, state.index);
    return true;
  }
  void check(int l) {
    const LoopState& state = state_.loops.items[l];
    if (state.count < 0 || state.done < state.count) return;
    typeflow::detail::fail_step(execution_.program,
                                execution_.program.steps[plan_.loops.items[l].step],
                                "its condition holds after " + std::to_string(state.count) +
                                    " iterations, the most that max_iterations allows");
  }
  /// The temporaries of this iteration are those of its frame.
  void next_frame(int l) {
    const Loop& loop = plan_.loops.items[l];
    const auto begun = state_.loops.items[l].begun - 1;
    state_.frame = static_cast<int>(begun % static_cast<std::uint64_t>(loop.frames));
    const FramePlace* const places = plan_.frame_places.items + loop.frame_places.first;
    for (int p = 0; p < loop.frame_places.count; ++p) {
      at_[places[p].place] = static_cast<std::byte*>(run_.binding.own.items[places[p].place]) +
                             state_.frame * run_.binding.layout.frame_bytes.items[places[p].scope];
    }
  }
  /// Whether an iteration writes its states to the results: with a known trip count, the last does.
  bool writes_result(int l) const {
    const LoopState& state = state_.loops.items[l];
    if (plan_.loops.items[l].tested) return state.done % 2 == 0;
    return (state.count - 1 - state.done) % 2 == 0;
  }
  /// Copies a state to the result, unless its last value was written there.
  void finish_state(const Instruction& now) {
    const LoopState& state = state_.loops.items[now.d];
    if (plan_.loops.items[now.d].tested ? state.done % 2 == 1 : state.done > 0) return;
    copy(state.done > 0 ? now.b : now.c, now.a);
  }
  /// Clears the rows of a stacked output that no iteration has written.
  void clear_rows(const Instruction& now) {
    const std::int64_t row = bytes(now.b);
    const std::int64_t done = state_.loops.items[now.c].done;
    const std::int64_t most = plan_.loops.items[now.c].most.resolve(run_.arena.sizes);
    if (most <= done || row == 0) return;
    finish(device_.stream);
    device_.memory->clear(static_cast<std::byte*>(at_[now.a]) + done * row, (most - done) * row);
  }

  const Execution& execution_;
  Launcher launcher_;
  SharedRun& run_;
  const Plan& plan_;
  StreamState& state_;
  void** const at_;
  const MachineDevice& device_;
  const int stream_;
  std::uint64_t draw_;
  Failure failure_;
  int time_ = -1;
};

/// Whether runs of a program may hold a lock for which others wait.
TYPEFLOW_COLD inline bool has_locks(const ir::ProgramView& program) {
  for (const ir::ProgramVariable& v : program.variables) {
    if (v.initializer.kind == Initializer::Kind::resource && v.initializer.resource->is_held) {
      return true;
    }
  }
  return false;
}

/// Runs all streams of a plan. The caller's thread runs one of them.
TYPEFLOW_COLD inline void run_streams(const Execution& execution, Arena& arena, Binding& binding,
                                      std::uint64_t draw, Workers* workers) {
  const Plan& plan = *binding.plan;
  SharedRun run{arena, binding};
  for (int e = 0; e < plan.events.size(); ++e) binding.events[e].signals.store(0);
  for (int s = 0; s < plan.streams.size(); ++s) {
    StreamState& state = binding.streams[s];
    for (LoopState& loop : state.loops) loop.begun = 0;
    for (std::uint64_t& waited : state.waited) waited = 0;
    state.frame = 0;
  }
  struct StreamTask : Workers::Task {
    const Execution* execution;
    SharedRun* shared;
    std::uint64_t draw;
  };
  StreamTask tasks[max_devices];
  Workers::Task* added[max_devices];
  int count = 0;
  for (int s = 0; s < plan.streams.size(); ++s) {
    if (s == plan.main_stream || plan.streams[s].count == 0) continue;
    StreamTask& task = tasks[count];
    added[count++] = &task;
    task.run = [](Workers::Task& given) {
      auto& own = static_cast<StreamTask&>(given);
      SharedRun& shared = *own.shared;
      StreamRunner(*own.execution, shared, own.worker, own.draw).run();
      shared.running.fetch_sub(1);
      shared.bell.ring();
      shared.present.fetch_sub(1);
    };
    task.worker = s;
    task.execution = &execution;
    task.shared = &run;
    task.draw = draw;
  }
  // A run could hold a lock for which another one waits with the thread of a device, before that
  // device has begun with the first run. So such runs are made one after the other.
  std::unique_lock<std::mutex> one_at_a_time;
  if (count > 0 && has_locks(execution.program)) {
    one_at_a_time = std::unique_lock(workers->locking_runs);
  }
  run.running.store(count);
  run.present.store(count);
  if (count > 0) workers->add(added, count);
  StreamRunner(execution, run, plan.main_stream, draw).run();
  if (count > 0) run.bell.wait([&] { return run.running.load() == 0; });
  while (run.present.load() != 0) relax();
  if (one_at_a_time.owns_lock()) arena.run.close();
  if (run.error != nullptr) std::rethrow_exception(run.error);
}

}  // namespace typeflow::inline TYPEFLOW_TARGET::exec
