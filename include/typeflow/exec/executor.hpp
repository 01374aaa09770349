// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs plans with several streams, branches or loops. Each device has a thread, which carries out
// the instructions of its streams one after the other. If steps may wait for other runs, a stream
// that waits is left where it is: its thread goes on with other streams, and with those of other
// runs.
//
// The first error stops a run, and so does the caller's limit: streams look for it before each
// step, wherever they wait, and at each iteration.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "typeflow/core/run_stop.hpp"
#include "typeflow/exec/arena.hpp"
#include "typeflow/exec/detached_parts.hpp"
#include "typeflow/exec/launcher.hpp"
#include "typeflow/exec/plan.hpp"
#include "typeflow/exec/run_state.hpp"
#include "typeflow/exec/shared_run.hpp"
#include "typeflow/exec/stream_runner.hpp"
#include "typeflow/exec/workers.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// The streams of one device in a run, which share a thread.
class DeviceRunner : public Workers::Task {
 public:
  DeviceRunner() = default;
  TYPEFLOW_COLD void begin(const Execution& of, SharedRun& run_of, int device) {
    execution_ = &of;
    shared_ = &run_of;
    worker = device;
    run = [](Task& task) { return static_cast<DeviceRunner&>(task).run_in_worker(); };
    ready = [](const Task& task) { return static_cast<const DeviceRunner&>(task).is_ready(); };
  }

  /// Does what can be done. Returns false if streams have to wait.
  bool go_on() {
    const Plan& plan = *shared_->binding.plan;
    for (;;) {
      bool all_done = true;
      bool went_on = false;
      for (int s = 0; s < plan.streams.size(); ++s) {
        const StreamState& state = shared_->state.streams[static_cast<std::size_t>(s)];
        if (plan.devices.items[s] != worker || state.is_done) continue;
        if (shared_->is_ready(state)) {
          StreamRunner(*execution_, *shared_, s).run();
          went_on = true;
        }
        all_done = all_done && state.is_done;
      }
      if (all_done || !went_on) return all_done;
    }
  }
  /// Whether a stream can go on.
  bool is_ready() const {
    const Plan& plan = *shared_->binding.plan;
    for (int s = 0; s < plan.streams.size(); ++s) {
      const StreamState& state = shared_->state.streams[static_cast<std::size_t>(s)];
      if (plan.devices.items[s] == worker && !state.is_done && shared_->is_ready(state))
        return true;
    }
    return false;
  }

 private:
  bool run_in_worker() {
    if (!go_on()) return false;
    SharedRun& of = *shared_;
    of.running.fetch_sub(1);
    of.bell.ring();
    of.present.fetch_sub(1);
    return true;
  }

  const Execution* execution_ = nullptr;
  SharedRun* shared_ = nullptr;
};

/// Runs all streams of a plan. The caller's thread runs those of one device.
TYPEFLOW_COLD inline void run_streams(const Execution& execution, Arena& arena, Binding& binding,
                                      std::uint64_t draw, Workers* workers) {
  const Plan& plan = *binding.plan;
  if (binding.state == nullptr) {
    binding.state = new RunState(execution, plan);
    binding.release = [](RunState* state) { delete state; };
  }
  bind_dense_extents(arena, binding, binding.state->extents);
  SharedRun run{arena, binding, *binding.state, workers};
  for (EventCount& event : run.state.events) event.signals.store(0);
  std::uint64_t devices = 0;
  for (int s = 0; s < plan.streams.size(); ++s) {
    StreamState& state = run.state.streams[static_cast<std::size_t>(s)];
    for (LoopState& loop : state.loops) loop.begun = 0;
    for (std::uint64_t& waited : state.waited) waited = 0;
    state.frame = 0;
    state.next = plan.streams[s].first;
    state.is_done = plan.streams[s].count == 0;
    state.event = begins;
    state.draw = draw;
    state.failure = {};
    if (plan.waits) {
      state.failure.waiter = &state.waiter;
      state.waiter.set_wake([](void* of) noexcept { static_cast<SharedRun*>(of)->ring(); }, &run);
    }
    if (!state.is_done) devices |= std::uint64_t{1} << plan.devices[s];
  }
  DeviceRunner runners[max_devices];
  Workers::Task* added[max_devices];
  int count = 0;
  for (int d = 0; d < max_devices; ++d) {
    if ((devices >> d & 1u) == 0) continue;
    runners[d].begin(execution, run, d);
    if (d != plan.main_device) added[count++] = &runners[d];
  }
  DeviceRunner& own = runners[plan.main_device];
  if (plan.waits) run.devices = devices & ~(std::uint64_t{1} << plan.main_device);
  std::optional<RunStop::Sleeper> woken;  // a limit ends the run in another thread
  if (run.stop().has_limit()) {
    woken.emplace(run.stop(), [](void* of) noexcept { static_cast<SharedRun*>(of)->ring(); }, &run);
  }
  // The last run in this arena may have been on other devices, some of which are at work.
  run.join_devices(execution);
  run.running.store(count);
  run.present.store(count);
  if (count > 0) workers->add(added, count);
  while (devices != 0 && !own.go_on()) {
    run.bell.wait([&] { return own.is_ready(); });
  }
  if (count > 0) {
    run.bell.wait([&] { return run.running.load() == 0 || run.is_stopped(); });
    for (int i = 0; i < count && run.is_stopped(); ++i) {
      if (workers->take_back(*added[i])) run.take_back(added[i]->worker);
    }
    run.bell.wait([&] { return run.running.load() == 0; });
  }
  while (run.present.load() != 0) relax();
  run.join_devices(execution);
  run.rethrow();
}

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
