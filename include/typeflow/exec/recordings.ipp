// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "typeflow/exec/arena.hpp"
#include "typeflow/exec/launcher.hpp"
#include "typeflow/exec/opcode.hpp"
#include "typeflow/exec/plan.hpp"
#include "typeflow/exec/recorder.hpp"
#include "typeflow/exec/recording.hpp"
#include "typeflow/exec/recordings.hpp"
#include "typeflow/exec/region_finder.hpp"
#include "typeflow/exec/region_recorder.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// A recorder that keeps the last eight recordings of each stretch.
class Recordings final : public Recorder {
 public:
  explicit Recordings(RecordingStream& stream) : stream_(stream) {}

  TYPEFLOW_COLD const Instruction* play(const StreamRun& run, const Instruction* now,
                                        const Instruction* end) override {
    const Plan& plan = *run.binding.plan;
    const int first = static_cast<int>(now - plan.instructions.data());
    const bool goes_on = first == made_ + 1 && first < made_to_;
    made_ = first;
    if (goes_on) return now;
    Stretch& stretch = stretches_[first];
    if (stretch.count < 0) stretch.find(run.execution, plan, now, end, stream_.records_decisions());
    made_to_ = first + std::max(stretch.launches, 1);
    if (stretch.count < 2 || stretch.is_given_up) return now;
    Take& take = stretch.take_of(run);
    if (take.times++ == 0) {
      return ++stretch.unknown > most_unknown ? stretch.give_up(now) : now;
    }
    stretch.unknown = 0;
    const bool has_decisions = stretch.launches < stretch.count;
    if (has_decisions) stream_.settle();  // after an error the device would decide by wrong numbers
    if (run.failure.what != 0) return now;
    if (take.recording == nullptr) {
      try {
        RegionRecorder recorder(run, stream_.records_decisions());
        take.recording = stream_.record(recorder.needs(now, now + stretch.count));
        recorder.record(*take.recording, now + stretch.count);
        take.recording->end();
      } catch (...) {      // a kernel can't be recorded: whatever else is wrong, its call says
        run.failure = {};  // of an arm, perhaps, that the run does not take
        return stretch.give_up(now);
      }
    }
    made_ += stretch.count - 1;
    try {
      take.recording->play(run.draw);
    } catch (...) {
      run.launcher.rethrow(stretch.step);
    }
    return now + stretch.count;
  }

 private:
  static constexpr std::size_t most_takes = 8;  ///< of a stretch: sizes, or sets of addresses
  static constexpr int most_unknown = 64;       ///< in a row, of addresses that never come again

  /// A recording, and all on which it depends besides the random draw.
  struct Take {
    SymbolSizes sizes;
    std::int64_t memory;
    std::vector<void*> addresses;  // of the stretch's places
    int times = 0;                 // that the stretch was made so
    std::unique_ptr<Recording> recording;
  };
  struct Stretch {
    int count = -1;    // instructions; -1: not known yet
    int launches = 0;  // at its beginning
    Id step = none;    // the first one
    int unknown = 0;
    bool is_given_up = false;
    std::vector<int> places;  // whose addresses a recording depends on
    std::vector<Take> takes;  // the last one first

    void find(const Execution& execution, const Plan& plan, const Instruction* now,
              const Instruction* end, bool decides) {
      const RegionFinder finder(execution, plan, decides);
      const Instruction* const last = finder.end_of_region(now, end);
      count = static_cast<int>(last - now);
      places = places_of_region(plan, now, last);
      const Instruction* i = now;
      while (i != last && i->opcode == Opcode::launch) ++i;
      launches = static_cast<int>(i - now);
      const Instruction* const entry = finder.entry_of(now, last);
      if (launches > 0) {
        step = plan.launches[now->a].step;
      } else if (entry != nullptr) {
        step = plan.loops[entry->a].step;
      } else {
        while (i != last && i->opcode != Opcode::launch) ++i;
        if (i != last) step = plan.launches[i->a].step;
      }
    }
    /// Of a stretch with branches and loops, the launches at its beginning are left.
    const Instruction* give_up(const Instruction* now) {
      is_given_up = launches == count;
      count = launches;
      unknown = 0;
      takes.clear();
      return now;
    }
    Take& take_of(const StreamRun& run) {
      const auto fits = [&](const Take& take) {
        if (take.memory != run.binding.memory || !(take.sizes == run.arena.sizes)) return false;
        return std::equal(places.begin(), places.end(), take.addresses.begin(),
                          [&](int place, const void* known) { return run.at[place] == known; });
      };
      const auto found = std::find_if(takes.begin(), takes.end(), fits);
      if (found != takes.end()) {
        std::rotate(takes.begin(), found, found + 1);
        return takes.front();
      }
      if (takes.size() == most_takes) takes.pop_back();
      Take made{run.arena.sizes, run.binding.memory, {}, 0, nullptr};
      for (const int place : places) made.addresses.push_back(run.at[place]);
      return *takes.insert(takes.begin(), std::move(made));
    }
  };

  RecordingStream& stream_;
  std::map<int, Stretch> stretches_;  // by their first instruction
  int made_ = -2;                     // the last instruction
  int made_to_ = 0;                   // the end of the launches that are made with it
};

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::unique_ptr<Recorder> make_recorder(RecordingStream& stream) {
  return std::make_unique<Recordings>(stream);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
