// SPDX-License-Identifier: Apache-2.0
#pragma once

// Branches and loops at run time. BlockRunner sets the slots of a step's blocks and runs their
// steps. An iteration sets pointers and runs steps; it allocates nothing, takes no lock and looks
// up nothing.
//
// Carried state is double-buffered; the last iteration writes to the result's buffer. Stacked
// inputs and outputs are not copied: a slice is a pointer into the whole.

#include <cstdint>
#include <cstring>
#include <string>

#include "typeflow/core/philox.hpp"
#include "typeflow/lower/program.hpp"
#include "typeflow/runtime/checks.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

namespace detail {

/// Steps: run(step, draw) runs one step, finish() waits for all.
template <class Arena, class Steps>
class BlockRunner {
 public:
  BlockRunner(const ir::ProgramView& program, Arena& arena, const Steps& steps)
      : program_(program), operands_(program.operands.data), arena_(arena), steps_(steps) {}

  void run(const ir::Step& step, std::uint64_t draw) {
    const ir::ControlRecord& control = control_of(program_, step);
    switch (control.kind) {
      case ir::ControlKind::once:
        return run_block(step, control, block(control, 0), 0, draw);
      case ir::ControlKind::branch:
        return run_branch(step, control, draw);
      default:
        return run_loop(step, control, draw);
    }
  }

 private:
  const ir::Block& block(const ir::ControlRecord& control, int i) const {
    return program_.blocks[operands_[control.blocks.first + i]];
  }
  void*& at(Id slot) { return arena_.slot(slot); }
  /// The slot of input or result i of a list; none if that is not used.
  Id listed(const ir::Range& list, int i) const { return operands_[list.first + i]; }

  void run_steps(const ir::Block& block, std::uint64_t draw) {
    const Id end = block.first + block.count;
    for (Id s = block.first; s < end; ++s) steps_.run(s, draw);
  }

  /// Gives a block's inputs, from number `first` on, the memory of the step's operands from
  /// `operand` on.
  void give(const ir::Block& block, int first, const ir::Step& step, int operand) {
    for (int i = first; i < block.inputs.count; ++i, ++operand) {
      const Id slot = listed(block.inputs, i);
      if (slot != none) at(slot) = at(operands_[step.operands.first + operand]);
    }
  }

  void run_branch(const ir::Step& step, const ir::ControlRecord& control, std::uint64_t draw) {
    steps_.finish();
    const Id selector = operands_[step.operands.first];
    const void* const value = at(selector);
    const int last = control.blocks.count - 1;
    int taken;
    if (program_.type_of(selector).dtype == DType::boolean) {
      bool yes;
      std::memcpy(&yes, value, sizeof yes);
      taken = yes ? 0 : 1;
    } else {
      std::int32_t index;
      std::memcpy(&index, value, sizeof index);
      taken = index < 0 || index > last ? last : index;
    }
    run_block(step, control, block(control, taken), 1, draw);
  }
  /// Runs a block once. Its inputs are the step's operands from `first` on.
  void run_block(const ir::Step& step, const ir::ControlRecord& control, const ir::Block& chosen,
                 int first, std::uint64_t draw) {
    give(chosen, 0, step, first);
    for (int i = 0; i < chosen.results.count; ++i) {
      const Id slot = listed(chosen.results, i);
      if (slot != none) at(slot) = at(listed(control.results, i));
    }
    place_parts(chosen);
    run_steps(chosen, draw);
  }

  void run_loop(const ir::Step& step, const ir::ControlRecord& control, std::uint64_t draw) {
    const bool tests = control.kind == ir::ControlKind::tested;
    const bool is_given = control.kind == ir::ControlKind::given;
    const std::int64_t most = control.count.resolve(arena_.sizes);
    const std::int64_t count = is_given ? given_count(step, control) : most;
    const ir::Block& body = block(control, tests ? 1 : 0);
    const int given = control.states + control.slices;
    give(body, 1 + given, step, given + (is_given ? 1 : 0));
    if (tests) give(block(control, 0), 1 + given, step, given);
    for (int i = 0; i < control.states; ++i) {
      set_state(control, i, at(operands_[step.operands.first + i]));
    }
    std::int64_t done = 0;
    for (; tests || done < count; ++done) {
      const std::int64_t index = control.reversed ? count - 1 - done : done;
      const std::uint64_t own = body.draws ? draw_of_iteration(draw, index) : draw;
      if (control.index != none) {
        const std::int32_t number = static_cast<std::int32_t>(index);
        std::memcpy(at(control.index), &number, sizeof number);
        set_index(control);
      }
      if (tests) {
        const ir::Block& condition = block(control, 0);
        run_steps(condition, condition.draws ? draw_of_iteration(draw, index) : draw);
        steps_.finish();
        bool goes_on;
        std::memcpy(&goes_on, at(listed(condition.results, 0)), sizeof goes_on);
        if (!goes_on) break;
        if (count >= 0 && done == count) {
          fail_step(program_, step,
                    "its condition holds after " + std::to_string(count) +
                        " iterations, the most that max_iterations allows");
        }
      }
      place_slices(step, control, body, index);
      // With a known trip count, the last iteration then writes to the result.
      const bool to_result = tests ? done % 2 == 0 : (count - 1 - done) % 2 == 0;
      for (int i = 0; i < control.states; ++i) {
        const Id slot = listed(to_result ? control.results : control.others, i);
        at(listed(body.results, i)) = at(slot);
      }
      place_parts(body);
      run_steps(body, own);
      for (int i = 0; i < control.states; ++i) set_state(control, i, at(listed(body.results, i)));
      if (control.index != none) steps_.finish();  // its memory is written next
    }
    if (is_given) clear_rows(control, body, count, most);
    if (control.done != none) {
      const std::int32_t number = static_cast<std::int32_t>(done);
      std::memcpy(at(control.done), &number, sizeof number);
    }
    if (tests ? done % 2 == 1 : done > 0) return;
    steps_.finish();
    for (int i = 0; i < control.states; ++i) {
      const Id result = listed(control.results, i);
      const void* const last =
          done > 0 ? at(listed(control.others, i)) : at(operands_[step.operands.first + i]);
      copy(at(result), last, bytes(control.results, i));
    }
  }

  std::int64_t given_count(const ir::Step& step, const ir::ControlRecord& control) {
    steps_.finish();
    std::int32_t count;
    std::memcpy(&count, at(operands_[step.operands.first + control.states + control.slices]),
                sizeof count);
    return count;
  }
  /// Clears the rows of stacked outputs that no iteration has written.
  void clear_rows(const ir::ControlRecord& control, const ir::Block& body, std::int64_t count,
                  std::int64_t most) {
    for (int i = control.states; i < body.results.count; ++i) {
      const Id whole = listed(control.results, i);
      if (whole == none) continue;
      const std::int64_t row = bytes(body.results, i);
      const std::int64_t rest = (most - count) * row;
      if (rest == 0) continue;
      std::memset(static_cast<std::byte*>(at(whole)) + count * row, 0,
                  static_cast<std::size_t>(rest));
    }
  }

  /// Sets the place of state i.
  void set_state(const ir::ControlRecord& control, int i, void* place) {
    for (int k = 0; k < control.blocks.count; ++k) {
      const Id slot = listed(block(control, k).inputs, 1 + i);
      if (slot != none) at(slot) = place;
    }
  }
  void set_index(const ir::ControlRecord& control) {
    for (int k = 0; k < control.blocks.count; ++k) {
      const Id slot = listed(block(control, k).inputs, 0);
      if (slot != none) at(slot) = at(control.index);
    }
  }
  /// Points the slots of stacked inputs and outputs to the slices of an iteration.
  void place_slices(const ir::Step& step, const ir::ControlRecord& control, const ir::Block& body,
                    std::int64_t index) {
    for (int i = 0; i < control.slices; ++i) {
      const Id slot = listed(body.inputs, 1 + control.states + i);
      if (slot == none) continue;
      void* const whole = at(operands_[step.operands.first + control.states + i]);
      at(slot) =
          static_cast<std::byte*>(whole) + index * bytes(body.inputs, 1 + control.states + i);
    }
    for (int i = control.states; i < body.results.count; ++i) {
      const Id slot = listed(body.results, i);
      if (slot == none) continue;
      void* const whole = at(listed(control.results, i));
      at(slot) = static_cast<std::byte*>(whole) + index * bytes(body.results, i);
    }
  }

  /// Points the slots that lie within the block's results there. The results must be in place.
  void place_parts(const ir::Block& block) {
    for (int i = 0; i < block.parts.count; ++i) {
      const Id slot = listed(block.parts, i);
      at(slot) = at(program_.slots[slot].within);
    }
  }

  std::int64_t bytes(const ir::Range& list, int i) const {
    return arena_.bytes[static_cast<std::size_t>(list.first + i)];
  }
  static void copy(void* to, const void* from, std::int64_t bytes) {
    if (bytes > 0 && to != from) std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }

  const ir::ProgramView& program_;
  const Id* const operands_;
  Arena& arena_;
  Steps steps_;
};

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_TARGET
