// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernel calls that a device records and makes again as one, as CUDA graphs do.
//
// A stream of a plan has stretches of launches without other instructions between them. When a
// stretch is about to be made a second time with the same addresses and sizes, its calls are
// recorded; from then on the recording is played. The run stays what the plan says: everything
// between stretches is done as before. Within a stretch, the device may make calls at once that
// have no memory in common.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "typeflow/exec/arena.hpp"
#include "typeflow/exec/asynchronous.hpp"
#include "typeflow/exec/call_accesses.hpp"
#include "typeflow/exec/launcher.hpp"
#include "typeflow/exec/opcode.hpp"
#include "typeflow/exec/plan.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// The recordings of one stream of a plan in an arena.
class Recordings {
 public:
  /// Makes the launches from `now` on, up to another instruction or to `end`, if they are recorded.
  /// Returns the instruction after those that it has made: `now` if the caller has to make it.
  TYPEFLOW_COLD const Instruction* play(const Launcher& launcher, const Execution& execution,
                                        const Arena& arena, Binding& binding,
                                        const Instruction* now, const Instruction* end,
                                        void* const* at, std::uint64_t draw, Failure& failure) {
    const Plan& plan = *binding.plan;
    const int first = static_cast<int>(now - plan.instructions.data());
    const bool goes_on = first == made_ + 1 && first < made_to_;
    made_ = first;
    if (goes_on) return now;
    Stretch& stretch = stretches_[first];
    if (stretch.count < 0) stretch.count = count_of(execution, plan, now, end);
    made_to_ = first + std::max(stretch.count, 1);
    if (stretch.count < 2 || stretch.is_given_up) return now;
    Take& take = stretch.take_of(arena, binding, now, at);
    if (take.times++ == 0) {
      return ++stretch.unknown > most_unknown ? stretch.give_up(now) : now;
    }
    stretch.unknown = 0;
    const int device = plan.launches[now->a].device;
    if (take.recording == nullptr) {
      try {
        take.recording.reset(execution.device(device).stream->asynchronous()->record());
        if (take.recording == nullptr) return stretch.give_up(now);
        CallAccesses accesses(execution, arena, plan, device, at);
        for (int i = 0; i < stretch.count; ++i) {
          BoundLaunch& launch = binding.launches[now[i].a];
          struct Restore {
            BoundLaunch& launch;
            Stream* stream;
            void* workspace;
            ~Restore() {
              launch.call.stream = stream;
              launch.call.workspace = workspace;
            }
          } const restore{launch, launch.call.stream, launch.call.workspace};
          launch.call.stream = &take.recording->stream();
          take.recording->begin_call(accesses.next(plan.launches[now[i].a], launch.call));
          launcher.call(launch, at, draw, failure);
        }
        take.recording->end();
      } catch (...) {  // a kernel can't be recorded: whatever else is wrong, its call says
        return stretch.give_up(now);
      }
    }
    made_ += stretch.count - 1;
    try {
      take.recording->play(draw);
    } catch (...) {
      launcher.rethrow(binding.launches[now->a].call.step);
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
    std::vector<void*> addresses;  // of the operands
    int times = 0;                 // that the stretch was made so
    std::unique_ptr<Recording> recording;
  };
  struct Stretch {
    int count = -1;  // launches; -1: not known yet
    int unknown = 0;
    bool is_given_up = false;
    std::vector<Take> takes;  // the last one first

    const Instruction* give_up(const Instruction* now) {
      is_given_up = true;
      takes.clear();
      return now;
    }
    Take& take_of(const Arena& arena, const Binding& binding, const Instruction* launches,
                  void* const* at) {
      const auto fits = [&](const Take& take) {
        if (take.memory != binding.memory || !(take.sizes == arena.sizes)) return false;
        const void* const* known = take.addresses.data();
        for (int i = 0; i < count; ++i) {
          const BoundLaunch& launch = binding.launches[launches[i].a];
          for (int k = 0; k < launch.count; ++k) {
            if (*known++ != at[launch.places[k]]) return false;
          }
        }
        return true;
      };
      const auto found = std::find_if(takes.begin(), takes.end(), fits);
      if (found != takes.end()) {
        std::rotate(takes.begin(), found, found + 1);
        return takes.front();
      }
      if (takes.size() == most_takes) takes.pop_back();
      Take made{arena.sizes, binding.memory, {}, 0, nullptr};
      for (int i = 0; i < count; ++i) {
        const BoundLaunch& launch = binding.launches[launches[i].a];
        for (int k = 0; k < launch.count; ++k) made.addresses.push_back(at[launch.places[k]]);
      }
      return *takes.insert(takes.begin(), std::move(made));
    }
  };

  /// The launches from one on that can be made as one. Those that may fail report to their run, and
  /// some are calls of libraries that can't be recorded.
  static int count_of(const Execution& execution, const Plan& plan, const Instruction* now,
                      const Instruction* end) {
    const Instruction* last = now;
    while (last != end && last->opcode == Opcode::launch) {
      const ir::Step& step = execution.program.steps[plan.launches[last->a].step];
      const KernelEntry& kernel = execution.kernels[step.kernel];
      if (kernel.explain != nullptr || !kernel.may_be_recorded) break;
      ++last;
    }
    return static_cast<int>(last - now);
  }

  std::map<int, Stretch> stretches_;  // by their first instruction
  int made_ = -2;                     // the last launch
  int made_to_ = 0;                   // the end of its stretch
};

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
