// SPDX-License-Identifier: Apache-2.0
#pragma once

// What each stream of a plan has seen of the others' work: vector clocks, while the plan is made.
//
// Times count the plan's instructions. A stream that waits for an event has then seen all that the
// event's stream had done, or seen, when it signalled.

#include <algorithm>

#include "typeflow/core/pool.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

class StreamClocks {
 public:
  explicit StreamClocks(int streams) : streams_(streams), seen_(streams * streams, -1) {}

  /// The time up to which a stream has seen another one's work; -1: nothing of it.
  int seen(int stream, int other) const { return seen_[stream * streams_ + other]; }

  /// A stream signals the plan's next event.
  TYPEFLOW_COLD void signal(int from, int time) {
    times_.push(time);
    for (int s = 0; s < streams_; ++s) seen_then_.push(seen(from, s));
  }
  /// Those who wait for the plan's next event learn nothing from it.
  TYPEFLOW_COLD void add_silent_event() {
    times_.push(-1);
    for (int s = 0; s < streams_; ++s) seen_then_.push(-1);
  }
  /// Stream `to` waits for an event of `from`.
  TYPEFLOW_COLD void wait(int event, int from, int to) {
    for (int s = 0; s < streams_; ++s) see(to, s, seen_then_[event * streams_ + s]);
    see(to, from, times_[event]);
  }
  /// Whether a stream has nothing to wait for: it has seen that the event was signalled.
  bool has_seen(int event, int from, int to) const { return seen(to, from) >= times_[event]; }

  // A plan comes back to a snapshot before each arm of a branch, and behind a block that may not
  // run it keeps only what was in it.

  const Pool<int>& snapshot() const { return seen_; }
  TYPEFLOW_COLD void restore(const Pool<int>& snapshot) { seen_ = snapshot; }
  /// Keeps only what was known in a snapshot, too.
  TYPEFLOW_COLD void intersect(const Pool<int>& snapshot) {
    for (int i = 0; i < seen_.size(); ++i) seen_[i] = std::min(seen_[i], snapshot[i]);
  }

 private:
  void see(int stream, int other, int time) {
    int& seen = seen_[stream * streams_ + other];
    seen = std::max(seen, time);
  }

  const int streams_;
  Pool<int> seen_;       // by stream and other stream
  Pool<int> times_;      // by event
  Pool<int> seen_then_;  // by event and stream: what the signalling stream had seen of it
};

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
