// SPDX-License-Identifier: Apache-2.0
#pragma once

// Records the regions that region_finder.hpp finds.
//
// Kernels of a recording have the same addresses each time. So each iteration of a recorded loop
// reads its states in one buffer and writes them to the other one, from which they are copied back.
// Rows of stacked tensors are copied to memory of the recording, or from there.
//
// The iterations of a loop with a known trip count and few calls are recorded one behind the other:
// each has addresses of its own, and nothing is decided or copied.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/exec/arena.hpp"
#include "typeflow/exec/call_accesses.hpp"
#include "typeflow/exec/decisions.hpp"
#include "typeflow/exec/demand.hpp"
#include "typeflow/exec/launcher.hpp"
#include "typeflow/exec/opcode.hpp"
#include "typeflow/exec/plan.hpp"
#include "typeflow/exec/recorder.hpp"
#include "typeflow/exec/recording.hpp"
#include "typeflow/exec/region_finder.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// Records a region.
class RegionRecorder {
 public:
  TYPEFLOW_COLD RegionRecorder(const StreamRun& run, bool decides)
      : run_(run),
        plan_(*run.binding.plan),
        finder_(run.execution, plan_, decides),
        accesses_(run.execution, run.arena, plan_) {}

  TYPEFLOW_COLD RecordingNeeds needs(const Instruction* first, const Instruction* end) {
    first_ = first;
    scratch_.assign(static_cast<std::size_t>(end - first), 0);
    RecordingNeeds all;
    for (const Instruction* i = first; i != end; ++i) {
      std::int64_t bytes = 0;
      if (i->opcode == Opcode::enter) {
        LoopInstructions loop{};
        if (finder_.find_loop(i, end, loop) && is_straight(loop)) {
          i = loop.end - 1;
          continue;
        }
        bytes = Decisions::loop_bytes;
      }
      if (i->opcode == Opcode::slice) bytes = row_bytes(i->a);
      scratch_[static_cast<std::size_t>(i - first)] = all.scratch;
      all.scratch = checked_sum(all.scratch, checked_sum(bytes, alignment - 1)) & -alignment;
    }
    all.depth =
        finder_.depth(first, end, [&](const LoopInstructions& loop) { return is_straight(loop); });
    return all;
  }
  /// After needs().
  TYPEFLOW_COLD void record(Recording& recording, const Instruction* end) {
    recording_ = &recording;
    decisions_ = recording.decisions();
    at_.assign(run_.at, run_.at + plan_.places.size());
    record_items(first_, end);
  }

 private:
  static constexpr std::int64_t alignment = 256;
  static constexpr std::int64_t most_straight = 512;  ///< kernel calls of all iterations

  std::int64_t row_bytes(int place) const {
    return run_.arena.slot_bytes[plan_.places[place].slot];
  }
  std::byte* scratch(const Instruction* of) const {
    return decisions_->scratch() + scratch_[static_cast<std::size_t>(of - first_)];
  }
  void*& at(int place) { return at_[static_cast<std::size_t>(place)]; }
  template <class T>
  T* number_at(int place) {
    return static_cast<T*>(at(place));
  }

  TYPEFLOW_COLD void record_items(const Instruction* i, const Instruction* end) {
    while (i != end) {
      if (i->opcode == Opcode::launch) {
        launch(i++->a);
      } else if (const Instruction* const entry = finder_.entry_of(i, end); entry != nullptr) {
        const Instruction* const count = i->opcode == Opcode::read ? i : nullptr;
        LoopInstructions loop{};
        finder_.find_loop(entry, end, loop);
        if (is_straight(loop)) {
          record_iterations(i, loop);
        } else {
          record_loop(loop, count == nullptr ? nullptr : number_at<std::int32_t>(count->a));
        }
        i = loop.end;
      } else {
        decisions_->begin_branch(at(i->a), i->opcode == Opcode::read_flag, i[1].c);
        finder_.each_arm(i + 1, [&](const Instruction* arm, const Instruction* arm_end) {
          decisions_->begin_arm();
          record_items(arm, arm_end);
          decisions_->end_body();
        });
        i = finder_.end_of_branch(i + 1);
      }
    }
  }

  TYPEFLOW_COLD void launch(int number) {
    BoundLaunch& of = run_.binding.launches[number];
    struct Restore {
      BoundLaunch& launch;
      Stream* stream;
      void* workspace;
      ~Restore() {
        launch.call.stream = stream;
        launch.call.workspace = workspace;
      }
    } const restore{of, of.call.stream, of.call.workspace};
    of.call.stream = &recording_->stream();
    recording_->begin_call(accesses_.next(plan_.launches[number], of.call, at_.data()));
    run_.launcher.call(of, at_.data(), run_.draw, run_.failure);
    if (run_.failure.what != 0) throw Error("recording a kernel", "its data is wrong");
  }

  /// Whether a loop's iterations are recorded one behind the other: their number is known, no
  /// kernel reads a number that the device would have to count, and none fails, after which a loop
  /// ends.
  TYPEFLOW_COLD bool is_straight(const LoopInstructions& found) const {
    const Loop& loop = plan_.loops[found.enter->a];
    if (loop.tested || loop.given || loop.draws) return false;
    if (found.enter[2].opcode == Opcode::set_index) return false;
    const std::int64_t most = loop.max_trip_count.resolve(run_.arena.sizes);
    if (most <= 0 || most > most_straight / std::max<std::int64_t>(found.binds - found.body, 1)) {
      return false;
    }
    for (const Instruction* i = found.body; i != found.binds; ++i) {
      if (i->opcode != Opcode::launch) return false;  // a branch or loop inside
      const ir::Step& step = run_.execution.program.steps[plan_.launches[i->a].step];
      if (run_.execution.kernels[step.kernel].explain != nullptr) return false;
    }
    for (const Instruction* i = found.after; i != found.end; ++i) {
      if (i->opcode == Opcode::clear_rows || i->opcode == Opcode::set_count) return false;
    }
    return true;
  }
  /// As the host goes through a loop: rows where they are, and states in two buffers by turns.
  TYPEFLOW_COLD void record_iterations(const Instruction* first, const LoopInstructions& found) {
    const Loop& loop = plan_.loops[found.enter->a];
    const std::int64_t most = loop.max_trip_count.resolve(run_.arena.sizes);
    const auto bind = [&](const Instruction* i, const Instruction* end) {
      for (; i != end; ++i) at(i->a) = at(i->b);
    };
    bind(first, found.enter);
    for (std::int64_t done = 0; done < most; ++done) {
      const std::int64_t index = loop.reversed ? most - 1 - done : done;
      const bool writes_result = (most - done) % 2 == 1;
      for (const Instruction* i = found.places; i != found.body; ++i) {
        if (i->opcode == Opcode::alternate) {
          at(i->a) = at(writes_result ? i->b : i->c);
        } else {
          at(i->a) = number_at<std::byte>(i->b) + index * row_bytes(i->a);
        }
      }
      record_items(found.body, found.binds);
      bind(found.binds, found.proceed);
    }
  }
  TYPEFLOW_COLD void record_loop(const LoopInstructions& found, const std::int32_t* trip_count) {
    const Loop& loop = plan_.loops[found.enter->a];
    const std::int64_t most = loop.max_trip_count.resolve(run_.arena.sizes);
    // States: what an iteration reads is in `other`, what it writes in `result`.
    std::vector<RowCopy> before;
    std::vector<RowCopy> behind;  // an iteration
    for (const Instruction* i = found.after; i != found.end; ++i) {
      if (i->opcode != Opcode::finish_state) continue;
      const std::int64_t bytes = row_bytes(i->a);
      before.push_back({number_at<std::byte>(i->b), number_at<std::byte>(i->c), bytes});
      behind.push_back({number_at<std::byte>(i->b), number_at<std::byte>(i->a), bytes});
      const bool may_be_empty = loop.tested || loop.given || most <= 0;
      if (!may_be_empty) continue;
      before.push_back({number_at<std::byte>(i->a), number_at<std::byte>(i->c), bytes});
    }
    decisions_->copy(before);
    const Instruction* const set_index = found.enter + 2;
    const bool is_index_read = set_index->opcode == Opcode::set_index;
    decisions_->enter({.numbers = scratch(found.enter),
                       .trip_count = trip_count,
                       .most = most,
                       .is_tested = loop.tested,
                       .is_reversed = loop.reversed,
                       .draws = loop.draws,
                       .index = is_index_read ? number_at<std::int32_t>(set_index->a) : nullptr});
    std::vector<RowCopy> rows;
    bind_places(found, loop, rows, behind);
    const auto test = [&] {
      if (found.test == nullptr) return;
      record_items(found.condition, found.test);
      const bool is_limited = found.test[2].opcode == Opcode::check;
      decisions_->test(number_at<const bool>(found.test->a),
                       {is_limited ? most : -1, &run_.failure, loop.step});
    };
    test();
    decisions_->begin_iteration();
    decisions_->copy(rows);
    record_items(found.body, found.binds);
    decisions_->copy(behind);
    decisions_->next();
    test();
    decisions_->end_body();
    for (const Instruction* i = found.after; i != found.end; ++i) {
      if (i->opcode == Opcode::clear_rows) {
        decisions_->clear_rows(number_at<std::byte>(i->a), run_.arena.slot_bytes[i->b], most);
      } else if (i->opcode == Opcode::set_count) {
        decisions_->store_count(number_at<std::int32_t>(i->a));
      }
    }
    decisions_->exit();
  }
  /// Where the loop's kernels find their states and rows, and which rows an iteration copies.
  TYPEFLOW_COLD void bind_places(const LoopInstructions& found, const Loop& loop,
                                 std::vector<RowCopy>& rows, std::vector<RowCopy>& behind) {
    const ir::ProgramView& program = run_.execution.program;
    const ir::ControlRecord& control = control_of(program, program.steps[loop.step]);
    const int last = control.blocks.count - 1;
    const ir::Block& body = program.blocks[program.operands[control.blocks.first + last]];
    const auto is_input = [&](Id slot) {
      for (int i = 0; i < control.stacked_inputs; ++i) {
        const int input = BlockInputs{control}.first_slice() + i;
        if (program.operands[body.inputs.first + input] == slot) return true;
      }
      return false;
    };
    for (const Instruction* i = found.places; i != found.body; ++i) {
      if (i->opcode == Opcode::alternate) {
        at(i->a) = at(i->b);
        for (const Instruction* bind = found.binds; bind != found.proceed; ++bind) {
          if (bind->b == i->a) at(bind->a) = at(i->c);
        }
        continue;
      }
      std::byte* const row = scratch(i);
      const auto whole = number_at<std::byte>(i->b);
      const std::int64_t bytes = row_bytes(i->a);
      at(i->a) = row;
      if (is_input(plan_.places[i->a].slot)) {
        rows.push_back({.to = row, .from = whole, .bytes = bytes, .from_step = bytes});
      } else {
        behind.push_back({.to = whole, .from = row, .bytes = bytes, .to_step = bytes});
      }
    }
  }

  const StreamRun& run_;
  const Plan& plan_;
  RegionFinder finder_;
  CallAccesses accesses_;
  const Instruction* first_ = nullptr;
  std::vector<std::int64_t> scratch_;  // by instruction: where its scratch memory begins
  Recording* recording_ = nullptr;
  Decisions* decisions_ = nullptr;
  std::vector<void*> at_;  // by place
};

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
