// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the streams of a run share: its first error, and how it ends early.

#include <algorithm>
#include <atomic>
#include <bit>
#include <climits>
#include <cstdint>
#include <exception>
#include <mutex>
#include <utility>

#include "typeflow/core/run_stop.hpp"
#include "typeflow/exec/arena.hpp"
#include "typeflow/exec/asynchronous.hpp"
#include "typeflow/exec/launcher.hpp"
#include "typeflow/exec/opcode.hpp"
#include "typeflow/exec/plan.hpp"
#include "typeflow/exec/run_state.hpp"
#include "typeflow/exec/workers.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// StreamState::event of a stream that has not begun.
inline constexpr int begins = -2;
/// That of a stream with a transfer under way.
inline constexpr int carries = -3;

/// The first launch of a stream, from an instruction on; the count of all if there is none.
TYPEFLOW_COLD inline int next_launch(const Plan& plan, int stream, const Instruction* from) {
  const ir::Range range = plan.streams[stream];
  const Instruction* const end = plan.instructions.data() + range.first + range.count;
  while (from != end && from->opcode != Opcode::launch) ++from;
  return from == end ? plan.launches.size() : from->a;
}

/// The state that all streams of a run share.
struct SharedRun {
  Arena& arena;
  Binding& binding;
  RunState& state;
  Workers* workers;
  std::uint64_t devices{0};  ///< of other threads, as bits, if steps may wait
  Doorbell bell{};
  std::atomic<int> running{0};  ///< devices of other threads
  std::atomic<int> present{0};  ///< the same, until they no longer touch this object
  std::mutex mutex{};           // guards what follows
  std::exception_ptr error{};
  int error_launch = INT_MAX;
  int first_end = INT_MAX;  ///< the launch at which a stream ended early, the first in the plan

  RunStop& stop() const { return arena.run.stop; }
  bool is_stopped() const { return arena.run.stop.is_stopped(); }
  /// Whether a stream that is not done can go on.
  bool is_ready(const StreamState& stream) const {
    if (stream.event == carries) return is_stopped() || stream.transfer.is_over();
    if (stream.event == begins || is_stopped()) return true;
    if (stream.event == none) return stream.waiter.is_woken();
    return state.events[static_cast<std::size_t>(stream.event)].signals.load() >= stream.signals;
  }
  /// Whether a device has a stream of transfers that can go on.
  bool is_transfer_ready(int device) const {
    const Plan& plan = *binding.plan;
    for (int s = plan.first_transfer; s < plan.streams.size(); ++s) {
      const StreamState& stream = state.streams[static_cast<std::size_t>(s)];
      if (plan.devices.items[s] == device && !stream.is_done && is_ready(stream)) return true;
    }
    return false;
  }

  /// A stream ends early at a launch: by an error, or (null) because the run has been stopped. Of
  /// several errors, that of the launch that comes first in the plan is kept.
  TYPEFLOW_COLD void end_early(std::exception_ptr found, int launch) {
    const bool failed = found != nullptr;
    {
      const std::lock_guard lock(mutex);
      first_end = std::min(first_end, launch);
      if (failed && launch < error_launch) {
        error = std::move(found);
        error_launch = launch;
      }
    }
    if (!failed) return;
    stop().stop(StopReason::error);
    ring();
  }
  /// The run has been stopped before a device has begun with it.
  TYPEFLOW_COLD void take_back(int device) {
    const Plan& plan = *binding.plan;
    for (int s = 0; s < plan.streams.size(); ++s) {
      if (plan.devices[s] != device || plan.streams[s].count == 0) continue;
      end_early(nullptr, next_launch(plan, s, plan.instructions.data() + plan.streams[s].first));
    }
    running.fetch_sub(1);
    present.fetch_sub(1);
  }
  /// Throws what has ended the run early, if anything has.
  TYPEFLOW_COLD void rethrow() const {
    if (first_end == INT_MAX) return;
    if (stop().by_limit()) {
      const Pool<Launch>& launches = binding.plan->launches;
      const bool known = first_end >= 0 && first_end < launches.size();
      throw RunStopped{known ? launches[first_end].step : none};
    }
    if (error != nullptr) std::rethrow_exception(error);
  }

  /// At the beginning and the end of a run over several devices: what those that work by themselves
  /// are given from now on comes after all that each of them was given. So runs find memory that
  /// nobody uses, and the host does not wait. If the run has ended early, it waits.
  TYPEFLOW_COLD void join_devices(const Execution& execution) const {
    const Plan& plan = *binding.plan;
    if (plan.used_devices < 2) return;
    AsynchronousStream* joined[max_devices];
    int count = 0;
    for (int s = 0; s < plan.streams.size(); ++s) {
      Stream* const stream = execution.device(plan.devices[s]).stream;
      AsynchronousStream* const own = stream == nullptr ? nullptr : stream->asynchronous();
      if (plan.streams[s].count == 0 || own == nullptr) continue;
      if (std::find(joined, joined + count, own) == joined + count) joined[count++] = own;
    }
    const auto finish_all = [&] {
      for (int i = 0; i < count; ++i) joined[i]->finish();
    };
    if (first_end != INT_MAX) return finish_all();
    try {
      for (int i = 1; i < count; ++i) joined[i]->precede(joined[0]);
      for (int i = 1; i < count; ++i) joined[0]->precede(joined[i]);
    } catch (...) {
      finish_all();
      throw;
    }
  }

  /// Something has changed for which streams may wait.
  void ring() {
    bell.ring();
    for (std::uint64_t rest = devices; rest != 0; rest &= rest - 1) {
      workers->ring(std::countr_zero(rest));
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
