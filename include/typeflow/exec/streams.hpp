// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which stream each step of a program gets.
//
// A device has one stream. In a program with steps that may wait, such as the dequeue of a queue,
// it has more, so that a step that waits keeps no other one from running: steps on one device share
// a stream if the same steps that may wait come before them. All streams of a device share a
// thread.

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/pool.hpp"
#include "typeflow/exec/device_number.hpp"
#include "typeflow/exec/machine.hpp"
#include "typeflow/lower/dependencies.hpp"
#include "typeflow/lower/program.hpp"
#include "typeflow/passes/effects.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// The most streams of a plan.
inline constexpr int max_streams = 256;

/// A set of streams; StreamSet{} is empty.
class StreamSet {
 public:
  static constexpr StreamSet only(int stream) {
    StreamSet set{};
    set.add(stream);
    return set;
  }
  constexpr void add(int stream) { words_[stream / 64] |= std::uint64_t{1} << stream % 64; }
  constexpr StreamSet& operator|=(const StreamSet& other) {
    for (int w = 0; w < words; ++w) words_[w] |= other.words_[w];
    return *this;
  }
  /// False for the host.
  constexpr bool contains(int stream) const {
    return stream >= 0 && (words_[stream / 64] >> stream % 64 & 1u) != 0;
  }

 private:
  static constexpr int words = max_streams / 64;
  std::uint64_t words_[words];
};

/// The steps before a step that have accessed the same variables.
class VariableAccesses {
 public:
  explicit VariableAccesses(const ir::ProgramView& program)
      : program_(program), order_(program.slots.size) {}

  /// Calls f(earlier) for the steps after which a step must come, because one of the two writes.
  template <class F>
  void before(const ir::Step& step, const F& f) const {
    each(step, [&](Id slot, bool writes) {
      writes ? order_.before_write(slot, f) : order_.before_read(slot, f);
    });
  }
  TYPEFLOW_COLD void add(Id id) {
    each(program_.steps[id], [&](Id slot, bool writes) {
      writes ? order_.add_write(slot, id) : order_.add_read(slot, id);
    });
  }

 private:
  template <class F>
  void each(const ir::Step& step, const F& f) const {
    for (int i = 0; i < step.operands.count; ++i) {
      const Id slot = program_.operands[step.operands.first + i];
      const bool is_ordered =
          program_.slots[slot].kind == ir::SlotKind::variable && !ir::is_unordered(program_, slot);
      if (is_ordered) f(slot, i >= step.inputs);
    }
  }

  const ir::ProgramView& program_;
  ir::AccessOrder order_;
};

/// Whether a slot is a resource: an object of the host, not a tensor.
TYPEFLOW_COLD inline bool is_resource(const ir::ProgramView& program, Id slot) {
  const ir::Slot& s = program.slots[slot];
  return s.kind == ir::SlotKind::variable &&
         program.variables[s.index].initializer.kind == Initializer::Kind::resource;
}

/// Whether runs hold the resource of a variable's slot, as they do locks. Two runs that took two
/// locks in different orders could wait for each other, so all operations on locks keep the model's
/// order.
TYPEFLOW_COLD inline bool is_lock(const ir::ProgramView& program, Id slot) {
  return is_resource(program, slot) &&
         program.variables[program.slots[slot].index].initializer.resource->is_held;
}

class StreamsOfSteps {
 public:
  TYPEFLOW_COLD StreamsOfSteps(const ir::ProgramView& program,
                               std::span<const MachineDevice> devices, std::span<const Id> steps)
      : program_(program),
        devices_(devices),
        accesses_(program),
        awaited_(program.steps.size, 0),
        awaited_by_slot_(program.slots.size, 0) {
    for (int d = 0; d < static_cast<int>(devices.size()); ++d) stream(d, 0);
    for (const ir::KernelSummary& kernel : program.kernels) waits_ = waits_ || kernel.may_wait;
    if (!waits_) return;
    numbers_.emplace(std::vector<Id>{}, 0);
    sets_.emplace_back();
    for (const Id step : steps) visit(step, 0);
  }

  int count() const { return streams_.size(); }
  int devices() const { return static_cast<int>(devices_.size()); }
  int device(int stream) const { return streams_[stream].device; }
  /// The stream of a device for steps that come after the same steps as those of another stream. At
  /// first use it is made.
  int beside(int device, int other) { return stream(device, streams_[other].awaited); }
  /// The stream on which a device sends late copies to another one. At first use it is made.
  int link(int from, int to) { return stream(from, -2 - to); }
  int links() const {
    int found = 0;
    for (const StreamOf& s : streams_) found += s.awaited < 0;
    return found;
  }
  /// Whether steps may wait.
  bool waits() const { return waits_; }
  int of_step(Id step) { return stream(device_of(step), awaited_[step]); }
  /// A step that is pinned to a device that the machine lacks runs on the first device of its kind,
  /// or else on the first device. (Engines refuse it before, unless placement is soft.)
  int device_of(Device device) const { return device_number(devices_, device); }

 private:
  struct StreamOf {
    int device;
    int awaited;  // the number of a set of steps
  };

  int device_of(Id step) const { return device_of(program_.steps[step].device); }
  TYPEFLOW_COLD int stream(int device, int awaited) {
    for (int s = 0; s < streams_.size(); ++s) {
      if (streams_[s].device == device && streams_[s].awaited == awaited) return s;
    }
    if (streams_.size() == max_streams) {
      throw Error(
          "steps that may wait, with others after some of them",
          "at most " + std::to_string(max_streams - devices()) + " such groups on all devices",
          "more");
    }
    return streams_.push({device, awaited});
  }

  /// The set of all steps of two sets.
  TYPEFLOW_COLD int join(int a, int b) {
    if (a == b || b == 0) return a;
    if (a == 0) return b;
    std::vector<Id> all;
    std::ranges::set_union(sets_[static_cast<std::size_t>(a)], sets_[static_cast<std::size_t>(b)],
                           std::back_inserter(all));
    return number_of(std::move(all));
  }
  TYPEFLOW_COLD int number_of(std::vector<Id> steps) {
    const auto [at, is_new] = numbers_.emplace(std::move(steps), static_cast<int>(sets_.size()));
    if (is_new) sets_.push_back(at->first);
    return at->second;
  }

  bool is_outside(const ir::Step& step) const {
    if (program_.kernels[step.kernel].outside) return true;
    for (int i = step.inputs; i < step.operands.count; ++i) {
      if (is_lock(program_, program_.operands[step.operands.first + i])) return true;
    }
    return false;
  }
  /// Finds the set of a step, which comes after those of `before`, and of the steps inside of it.
  TYPEFLOW_COLD void visit(Id id, int before) {
    const ir::Step& step = program_.steps[id];
    int set = before;
    for (int i = 0; i < step.operands.count; ++i) {
      set = join(set, awaited_by_slot_[program_.operands[step.operands.first + i]]);
    }
    for (int i = 0; i < step.after.count; ++i) {
      set = join(set, awaited_[program_.operands[step.after.first + i]]);
    }
    accesses_.before(step, [&](Id earlier) { set = join(set, awaited_[earlier]); });
    const Effects effects = effects_of(step);
    if (effects.outside) set = join(set, last_outside_);
    if (effects.may_wait) set = join(set, number_of({id}));
    awaited_[id] = set;
    if (program_.kernels[step.kernel].kind == ir::KernelKind::control) {
      const int outer = std::exchange(last_outside_, set);
      visit_blocks(control_of(program_, step), set);
      last_outside_ = outer;
    }
    accesses_.add(id);
    if (effects.outside) last_outside_ = set;
    for (int i = step.inputs; i < step.operands.count; ++i) {
      const Id slot = program_.operands[step.operands.first + i];
      if (program_.slots[slot].kind != ir::SlotKind::variable) awaited_by_slot_[slot] = set;
    }
  }
  TYPEFLOW_COLD void visit_blocks(const ir::ControlRecord& control, int set) {
    for (int k = 0; k < control.blocks.count; ++k) {
      const ir::Block& block = program_.blocks[program_.operands[control.blocks.first + k]];
      for (Id s = block.first; s < block.first + block.count; ++s) visit(s, set);
    }
    for (int i = 0; i < control.results.count; ++i) {
      const Id slot = program_.operands[control.results.first + i];
      if (slot != none) awaited_by_slot_[slot] = set;
    }
    if (control.done != none) awaited_by_slot_[control.done] = set;
  }

  struct Effects {
    bool may_wait;
    bool outside;
  };
  TYPEFLOW_COLD Effects effects_of(const ir::Step& step) const {
    const ir::KernelSummary& kernel = program_.kernels[step.kernel];
    if (kernel.kind != ir::KernelKind::control) return {kernel.may_wait, is_outside(step)};
    Effects all{false, false};
    const ir::ControlRecord& control = control_of(program_, step);
    for (int k = 0; k < control.blocks.count; ++k) {
      const ir::Block& block = program_.blocks[program_.operands[control.blocks.first + k]];
      for (Id s = block.first; s < block.first + block.count; ++s) {
        const Effects inner = effects_of(program_.steps[s]);
        all.may_wait = all.may_wait || inner.may_wait;
        all.outside = all.outside || inner.outside;
      }
    }
    return all;
  }

  const ir::ProgramView& program_;
  std::span<const MachineDevice> devices_;
  Pool<StreamOf> streams_;
  VariableAccesses accesses_;
  bool waits_ = false;
  Pool<int> awaited_;          // by step: the set of the steps that may wait before it
  Pool<int> awaited_by_slot_;  // of the step that computes it
  std::vector<std::vector<Id>> sets_;
  std::map<std::vector<Id>, int> numbers_;
  int last_outside_ = 0;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
