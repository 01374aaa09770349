// SPDX-License-Identifier: Apache-2.0
#pragma once

// Copies that begin as late as their receivers allow, so that the receivers don't hold buffers long
// before they use them.
//
// A plan sends a tensor as soon as it is there, in the stream that has computed it. A late copy has
// a stream of its own on the sending device instead, one for each receiver. There it waits for the
// tensor, and for a signal of the receiver: "I have done that step". The plan's builder adds it
// where the receiver first reads the tensor. So all that a late copy waits for comes before that
// point in the program's order, and no run waits for ever.
//
// The signal comes from a prediction. By the costs of steps and links, the program is scheduled as
// plans run: each device in the program's order, and its copies between its steps. Then, from the
// last reader to the first:
//
//   a copy ends     before its first reader begins, and before the sender's next late copy begins;
//   its signal      comes that long before, and the longest step or copy that the sender's thread
//                   may be at.
//
// So in the prediction no step begins later than without late copies.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "typeflow/core/pool.hpp"
#include "typeflow/exec/demand.hpp"
#include "typeflow/exec/placement_graph.hpp"
#include "typeflow/lower/program.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// A copy to another device that has a stream of its own.
struct LateCopy {
  Id slot;
  int from;  ///< device
  int to;
  Id after;  ///< the step of the receiver after which it may begin; none: at once
};

/// The slots that late copies can have: temporaries of the program's own steps that are not
/// computed in the memory of others.
TYPEFLOW_COLD inline std::vector<char> sendable_slots(const ir::ProgramView& program,
                                                      const Demand& demand) {
  std::vector<char> out(static_cast<std::size_t>(program.slots.size), 1);
  for (Id s = 0; s < program.slots.size; ++s) {
    if (program.slots[s].kind != ir::SlotKind::temporary) out[static_cast<std::size_t>(s)] = 0;
    const Id whole = demand.whole_of(s);
    if (whole == none) continue;
    out[static_cast<std::size_t>(s)] = 0;
    out[static_cast<std::size_t>(whole)] = 0;
  }
  return out;
}

/// f(slot) for what a step writes.
template <class F>
TYPEFLOW_COLD void each_result(const ir::ProgramView& program, const ir::Step& step, const F& f) {
  const auto visit = [&](Id slot) {
    if (slot != none) f(slot);
  };
  for (int i = step.inputs; i < step.operands.count; ++i) {
    visit(program.operands[step.operands.first + i]);
  }
  if (program.kernels[step.kernel].kind != ir::KernelKind::control) return;
  const ir::ControlRecord& control = control_of(program, step);
  for (int i = 0; i < control.results.count; ++i) {
    visit(program.operands[control.results.first + i]);
  }
  visit(control.done);
}

/// All copies from devices that have a transport: streams of their own let devices work while
/// tensors are on the way.
TYPEFLOW_COLD inline std::vector<LateCopy> transported_copies(
    const ir::ProgramView& program, std::span<const MachineDevice> devices, const Demand& demand,
    std::span<const Id> steps) {
  std::vector<LateCopy> out;
  const std::vector<char> sendable = sendable_slots(program, demand);
  for (const Id id : steps) {
    each_result(program, program.steps[id], [&](Id slot) {
      const int from = demand.home[slot];
      if (sendable[static_cast<std::size_t>(slot)] == 0 || from == the_host) return;
      if (devices[static_cast<std::size_t>(from)].transport == nullptr) return;
      for (int to = 0; to < static_cast<int>(devices.size()); ++to) {
        if (to != from && demand.readers[slot].contains(to)) out.push_back({slot, from, to, none});
      }
    });
  }
  return out;
}

/// Finds late copies of a run of `steps`, where each device has one stream.
/// seconds(step, device) is the time of a step, bytes(slot) the size of a tensor.
template <class Seconds, class Bytes>
class LateCopyFinder {
 public:
  TYPEFLOW_COLD LateCopyFinder(const ir::ProgramView& program, int devices, const Demand& demand,
                               std::span<const Id> steps, const LinkRates& link,
                               const Seconds& seconds, const Bytes& bytes)
      : program_(program),
        demand_(demand),
        steps_(steps),
        link_(link),
        seconds_(seconds),
        bytes_(bytes),
        sendable_(sendable_slots(program, demand)),
        copy_of_(program.slots.size * devices, none),
        of_device_(at(devices)),
        free_(at(devices), 0),
        longest_(at(devices), 0),
        longest_copy_(at(devices), 0) {}

  TYPEFLOW_COLD std::vector<LateCopy> run() {
    for (const Id step : steps_) schedule(step);
    return latest();
  }

 private:
  struct Copy {
    Id slot;
    int from;
    int to;
    double seconds;
    double begin;  // in the prediction without late copies
    double end;
    double needed;  // when its first reader begins
    int reader;     // that reader, in the receiver's list
  };
  struct Done {
    Id step;
    double end;
    double longest;  // step of the device from this one on
  };

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  int devices() const { return static_cast<int>(of_device_.size()); }

  TYPEFLOW_COLD void schedule(Id id) {
    const ir::Step& step = program_.steps[id];
    const StreamSet& members = demand_.streams[id];
    double begin = 0;
    double time = 0;
    const auto each_member = [&](const auto& f) {
      for (int d = 0; d < devices(); ++d) {
        if (members.contains(d)) f(d);
      }
    };
    const auto each_copy = [&](int d, const auto& f) {
      for (int i = 0; i < step.inputs; ++i) {
        const int copy = copy_of_[program_.operands[step.operands.first + i] * devices() + d];
        if (copy != none) f(copies_[at(copy)]);
      }
    };
    each_member([&](int d) {
      begin = std::max(begin, free_[at(d)]);
      time = std::max(time, seconds_(id, d));
      each_copy(d, [&](const Copy& copy) { begin = std::max(begin, copy.end); });
    });
    each_member([&](int d) {
      each_copy(d, [&](Copy& copy) {
        if (copy.reader != none) return;
        copy.needed = begin;
        copy.reader = static_cast<int>(of_device_[at(d)].size());
      });
      free_[at(d)] = begin + time;
      longest_[at(d)] = std::max(longest_[at(d)], time);
      of_device_[at(d)].push_back({id, begin + time, time});
    });
    each_result(program_, step, [&](Id slot) { send(slot); });
  }
  TYPEFLOW_COLD void send(Id slot) {
    const int from = demand_.home[slot];
    if (from == the_host) return;
    for (int to = 0; to < devices(); ++to) {
      if (to == from || !demand_.readers[slot].contains(to)) continue;
      if (program_.slots[slot].kind == ir::SlotKind::variable) continue;
      const double took =
          link_.latency + static_cast<double>(bytes_(slot)) / link_.bytes_per_second;
      const double begin = free_[at(from)];
      free_[at(from)] += took;
      longest_copy_[at(from)] = std::max(longest_copy_[at(from)], took);
      copy_of_[slot * devices() + to] = static_cast<int>(copies_.size());
      copies_.push_back({slot, from, to, took, begin, begin + took, begin + took, none});
    }
  }

  TYPEFLOW_COLD std::vector<LateCopy> latest() {
    for (std::vector<Done>& list : of_device_) {
      for (std::size_t i = list.size(); i-- > 1;) {
        list[i - 1].longest = std::max(list[i - 1].longest, list[i].longest);
      }
    }
    std::vector<int> order(copies_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, [&](int a, int b) {
      const double needed_a = copies_[at(a)].needed;
      const double needed_b = copies_[at(b)].needed;
      return needed_a != needed_b ? needed_a > needed_b : a < b;
    });
    std::vector<double> next(of_device_.size(), std::numeric_limits<double>::infinity());
    std::vector<LateCopy> out;
    for (const int c : order) {
      const Copy& copy = copies_[at(c)];
      if (copy.reader == none || sendable_[at(copy.slot)] == 0) continue;
      const double begin = std::min(copy.needed, next[at(copy.from)]) - copy.seconds;
      const double signal =
          begin - std::max(longest_at(copy.from, begin), longest_copy_[at(copy.from)]);
      if (!(signal > copy.begin)) continue;
      const std::vector<Done>& list = of_device_[at(copy.to)];
      const auto first_later =
          std::upper_bound(list.begin(), list.begin() + copy.reader, signal,
                           [](double time, const Done& done) { return time < done.end; });
      if (first_later == list.begin()) continue;
      const Done& last = *(first_later - 1);
      if (!(last.end > copy.begin)) continue;  // it would not wait
      next[at(copy.from)] = begin;
      out.push_back({copy.slot, copy.from, copy.to, last.step});
    }
    return out;
  }
  /// The longest step that a device may be at, at some time or later.
  double longest_at(int device, double time) const {
    const std::vector<Done>& list = of_device_[at(device)];
    const auto found = std::upper_bound(list.begin(), list.end(), time - longest_[at(device)],
                                        [](double t, const Done& done) { return t < done.end; });
    return found == list.end() ? 0 : found->longest;
  }

  const ir::ProgramView& program_;
  const Demand& demand_;
  std::span<const Id> steps_;
  const LinkRates link_;
  const Seconds& seconds_;
  const Bytes& bytes_;
  const std::vector<char> sendable_;
  Pool<int> copy_of_;                         // by slot and device
  std::vector<std::vector<Done>> of_device_;  // in order
  std::vector<double> free_;                  // by device
  std::vector<double> longest_;               // step
  std::vector<double> longest_copy_;          // that it sends
  std::vector<Copy> copies_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
