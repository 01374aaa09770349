// SPDX-License-Identifier: Apache-2.0
#pragma once

// Regions: parts of a plan that a device can make by itself, with their branches and loops, as one
// recording.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "typeflow/exec/launcher.hpp"
#include "typeflow/exec/opcode.hpp"
#include "typeflow/exec/plan.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// The instructions of a loop, in order: each part ends where the next one begins.
struct LoopInstructions {
  const Instruction* enter;
  const Instruction* condition;  ///< or the body's `slice`s and `alternate`s; before: set_index
  const Instruction* test;       ///< `read_flag`; null: the loop counts
  const Instruction* places;     ///< `slice`s and `alternate`s
  const Instruction* body;
  const Instruction* binds;  ///< states for the next iteration
  const Instruction* proceed;
  const Instruction* after;  ///< what completes the results
  const Instruction* end;
};

/// Finds the branches and loops of a stream's instructions that can be recorded.
class RegionFinder {
 public:
  /// `decides`: recordings may have branches and loops.
  RegionFinder(const Execution& execution, const Plan& plan, bool decides)
      : execution_(execution), plan_(plan), decides_(decides) {}

  /// The end of what can be recorded from an instruction on.
  TYPEFLOW_COLD const Instruction* end_of_region(const Instruction* i,
                                                 const Instruction* end) const {
    while (i != end) {
      const Instruction* const next = end_of_item(i, end);
      if (next == nullptr) break;
      i = next;
    }
    return i;
  }
  /// Branches and loops inside one another in a region, without those for which
  /// `is_straight(loop)`.
  template <class F>
  TYPEFLOW_COLD int depth(const Instruction* i, const Instruction* end,
                          const F& is_straight) const {
    int most = 0;
    while (i != end) {
      const Instruction* const next = end_of_item(i, end);
      if (i->opcode == Opcode::read || i->opcode == Opcode::read_flag) {
        if (i[1].opcode == Opcode::select) {
          each_arm(i + 1, [&](const Instruction* arm, const Instruction* arm_end) {
            most = std::max(most, 1 + depth(arm, arm_end, is_straight));
          });
        }
      }
      if (const Instruction* const entry = entry_of(i, end); entry != nullptr) {
        LoopInstructions loop{};
        find_loop(entry, end, loop);
        if (!is_straight(loop)) {
          most = std::max(most, 1 + depth(loop.body, loop.binds, is_straight));
          if (loop.test != nullptr) {
            most = std::max(most, 1 + depth(loop.condition, loop.test, is_straight));
          }
        }
      }
      i = next;
    }
    return most;
  }

  /// f(first, end) for each arm of a branch that can be recorded.
  template <class F>
  TYPEFLOW_COLD void each_arm(const Instruction* select, const F& f) const {
    for (int k = 0; k < select->c; ++k) f(arm(select, k), arm_end(select, k));
  }
  const Instruction* end_of_branch(const Instruction* select) const {
    return base() + arm(select, 1)[-1].b;
  }
  /// The `enter` of a loop that an instruction begins; null if it begins none.
  const Instruction* entry_of(const Instruction* i, const Instruction* end) const {
    if (i->opcode == Opcode::read && i->c < 0) ++i;
    while (i != end && i->opcode == Opcode::bind) ++i;
    return i != end && i->opcode == Opcode::enter ? i : nullptr;
  }
  /// The parts of a loop. False if it can't be recorded.
  TYPEFLOW_COLD bool find_loop(const Instruction* enter, const Instruction* end,
                               LoopInstructions& found) const {
    const int l = enter->a;
    const Loop& loop = plan_.loops[l];
    const Instruction* i = enter + 1;
    if (i == end || i->opcode != Opcode::iterate || i->a != l) return false;
    found.enter = enter;
    const Instruction* const head = i;
    found.after = base() + i++->b;
    const Instruction* const last = found.after - 1;
    if (last->opcode != Opcode::proceed || base() + last->b != head) return false;
    found.proceed = last;
    if (i->opcode == Opcode::set_index) ++i;
    found.condition = i;
    if (loop.tested) {
      i = end_of_region(i, last);
      if (i->opcode != Opcode::read_flag || i[1].opcode != Opcode::jump_unless) return false;
      if (i[1].a != i->b || base() + i[1].b != found.after) return false;
      found.test = i;
      i += 2;
      if (i->opcode == Opcode::check) ++i;
    }
    found.places = i;
    int states = 0;
    while (i->opcode == Opcode::slice || i->opcode == Opcode::alternate) {
      states += i++->opcode == Opcode::alternate;
    }
    found.body = i;
    i = found.binds = end_of_region(i, last);
    while (i->opcode == Opcode::bind) ++i;
    if (i != last || i - found.binds != states) return false;
    i = found.after;
    while (i != end && i->opcode != Opcode::exit) {
      if (i->opcode == Opcode::finish_state) {
        --states;
      } else if (i->opcode != Opcode::clear_rows && i->opcode != Opcode::set_count) {
        return false;
      }
      ++i;
    }
    if (i == end || states != 0) return false;
    found.end = i + 1;
    return true;
  }

 private:
  const Instruction* base() const { return plan_.instructions.data(); }
  const Instruction* arm(const Instruction* select, int k) const {
    return base() + plan_.targets[select->b + k];
  }
  /// Behind an arm: in front of the jump to the branch's end.
  const Instruction* arm_end(const Instruction* select, int k) const {
    return k + 1 < select->c ? arm(select, k + 1) - 1 : end_of_branch(select);
  }
  /// The end of a kernel call, branch or loop; null if it can't be recorded.
  TYPEFLOW_COLD const Instruction* end_of_item(const Instruction* i, const Instruction* end) const {
    if (i->opcode == Opcode::launch) return may_be_recorded(i) ? i + 1 : nullptr;
    if (!decides_) return nullptr;
    const bool reads = i->opcode == Opcode::read || i->opcode == Opcode::read_flag;
    if (reads && is_of_host(i->a)) return nullptr;
    if (reads && i + 1 != end && i[1].opcode == Opcode::select && i[1].a == i->b && i->c >= 0) {
      return end_of_arms(i + 1, end);
    }
    const Instruction* const entry = entry_of(i, end);
    LoopInstructions loop{};
    if (entry == nullptr || !find_loop(entry, end, loop)) return nullptr;
    const bool is_given = plan_.loops[entry->a].given;
    return is_given && !(reads && i->b == entry->c) ? nullptr : loop.end;
  }
  TYPEFLOW_COLD const Instruction* end_of_arms(const Instruction* select,
                                               const Instruction* end) const {
    if (select->c < 2) return nullptr;
    const Instruction* const last = end_of_branch(select);
    if (last < select || last > end) return nullptr;
    for (int k = 0; k < select->c; ++k) {
      const Instruction* const behind = arm_end(select, k);
      if (behind < select || behind > last) return nullptr;
      const bool jumps = behind->opcode == Opcode::jump && base() + behind->b == last;
      if (k + 1 < select->c && !jumps) return nullptr;
      if (end_of_region(arm(select, k), behind) != behind) return nullptr;
    }
    return last;
  }
  bool may_be_recorded(const Instruction* launch) const {
    const ir::Step& step = execution_.program.steps[plan_.launches[launch->a].step];
    return execution_.kernels[step.kernel].may_be_recorded;
  }
  bool is_of_host(int place) const { return plan_.places[place].device == the_host; }

  const Execution& execution_;
  const Plan& plan_;
  bool decides_;
};

/// The places of a region whose addresses it does not say itself.
TYPEFLOW_COLD inline std::vector<int> places_of_region(const Plan& plan, const Instruction* first,
                                                       const Instruction* end) {
  std::vector<char> known(static_cast<std::size_t>(plan.places.size()), 0);
  const auto number = [](int place) { return static_cast<std::size_t>(place); };
  for (const Instruction* i = first; i != end; ++i) {
    const bool says =
        i->opcode == Opcode::bind || i->opcode == Opcode::slice || i->opcode == Opcode::alternate;
    if (says) known[number(i->a)] = 1;
  }
  std::vector<int> places;
  const auto add = [&](int place) {
    if (known[number(place)] == 0) places.push_back(place);
    known[number(place)] = 1;
  };
  for (const Instruction* i = first; i != end; ++i) {
    switch (i->opcode) {
      case Opcode::launch: {
        const ir::Range operands = plan.launches[i->a].places;
        for (int k = 0; k < operands.count; ++k) add(plan.operands[operands.first + k]);
        break;
      }
      case Opcode::read:
      case Opcode::read_flag:
      case Opcode::set_index:
      case Opcode::set_count:
      case Opcode::clear_rows:
        add(i->a);
        break;
      case Opcode::slice:
        add(i->b);
        break;
      case Opcode::finish_state:
        add(i->a);
        add(i->b);
        add(i->c);
        break;
      default:  // has no other places than these
        break;
    }
  }
  return places;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
