// SPDX-License-Identifier: Apache-2.0
#pragma once

// What an arena keeps for the runs of a plan with several streams, branches or loops, besides
// addresses.

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "typeflow/core/failure.hpp"
#include "typeflow/core/pool.hpp"
#include "typeflow/core/waiting.hpp"
#include "typeflow/exec/asynchronous.hpp"
#include "typeflow/exec/launcher.hpp"
#include "typeflow/exec/plan.hpp"
#include "typeflow/exec/recorder.hpp"
#include "typeflow/exec/transport.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// Where a stream is in a loop.
struct LoopState {
  std::int64_t done;   ///< iterations
  std::int64_t count;  ///< trip count; negative if none is known
  std::int64_t index;  ///< of the iteration
  std::int64_t limit;  ///< no iteration begins after so many; the most if a condition ends the loop
  std::int64_t first;  ///< index of the first iteration
  std::int64_t step;   ///< from an iteration's index to the next one's
  std::int64_t turn;   ///< iterations whose number is as even or odd write states to the results
  bool draws;          ///< Loop::draws
  std::uint64_t draw;  ///< of random numbers, outside of the loop
  std::uint64_t begun;  ///< iterations in this run, over all times that the loop was entered

  /// Whether the iteration writes its states to the results: with a known trip count, the last
  /// does.
  bool writes_result() const { return ((done ^ turn) & 1) == 0; }
};

/// A count that one stream raises and others wait for.
struct EventCount {
  std::atomic<std::uint64_t> signals{0};
};

/// The state of a stream in a run.
struct StreamState {
  Pool<LoopState> loops;       ///< by loop
  Pool<std::uint64_t> waited;  ///< by event: how often
  int frame = 0;
  int next = 0;  ///< instruction, while it waits
  bool is_done = false;
  int event = none;           ///< for which it waits, if it does not wait for a resource
  std::uint64_t signals = 0;  ///< so many of it
  std::uint64_t draw = 0;     ///< of random numbers
  Failure failure;            ///< must outlive the kernels in the device's stream
  Waiter waiter;
  Completion transfer;                 ///< the one under way
  std::unique_ptr<Recorder> recorder;  ///< null: the device does not record
};

struct RunState {
  RunState(const Execution& execution, const Plan& plan)
      : streams(static_cast<std::size_t>(plan.streams.size())),
        events(static_cast<std::size_t>(plan.events.size())),
        cells(plan.cells * plan.frames, 0) {
    for (int s = 0; s < plan.streams.size(); ++s) {
      StreamState& stream = streams[static_cast<std::size_t>(s)];
      stream.loops = Pool<LoopState>(plan.loops.size(), LoopState{});
      stream.waited = Pool<std::uint64_t>(plan.events.size(), 0);
      Stream* const on = execution.device(plan.devices[s]).stream;
      AsynchronousStream* const its = on == nullptr ? nullptr : on->asynchronous();
      if (its != nullptr) stream.recorder = its->recorder();
    }
  }

  std::vector<StreamState> streams;
  std::vector<EventCount> events;
  Pool<std::int64_t> cells;
  Pool<std::int64_t> extents;  ///< Plan::extents, for the sizes of the run
};

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
