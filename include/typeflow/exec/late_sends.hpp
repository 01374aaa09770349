// SPDX-License-Identifier: Apache-2.0
#pragma once

// The late copies (exec/late_copies.hpp) of a plan while it is made: what each one waits for, and
// which tensors must stay in memory because a copy may still read them.

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "typeflow/core/pool.hpp"
#include "typeflow/exec/late_copies.hpp"
#include "typeflow/exec/streams.hpp"
#include "typeflow/lower/program.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

class LateSends {
 public:
  struct Send {
    LateCopy copy;
    int link;             ///< the stream that carries it out
    int next = none;      ///< the next one that may begin after the same step
    int place = none;     ///< of the tensor, once it is computed
    int computed = none;  ///< event
    int allowed = none;   ///< event
  };

  /// `streams` has the links of all copies.
  TYPEFLOW_COLD LateSends(const ir::ProgramView& program, StreamsOfSteps& streams,
                          std::span<const LateCopy> copies)
      : devices_(streams.devices()), first_link_(streams.count() - streams.links()) {
    if (copies.empty()) return;
    of_ = Pool<int>(program.slots.size * devices_, none);
    first_after_ = Pool<int>(program.steps.size, none);
    reads_.resize(at(streams.links()));
    for (const LateCopy& copy : copies) {
      const int s = static_cast<int>(sends_.size());
      of_[copy.slot * devices_ + copy.to] = s;
      sends_.push_back({copy, streams.link(copy.from, copy.to)});
      if (copy.after == none) continue;
      int* place = &first_after_[copy.after];
      while (*place != none && sends_[at(*place)].link <= sends_.back().link) {
        place = &sends_[at(*place)].next;
      }
      sends_.back().next = std::exchange(*place, s);
    }
  }

  bool empty() const { return sends_.empty(); }
  /// The late copy of a slot to a stream; null if there is none.
  TYPEFLOW_COLD Send* find(Id slot, int to) {
    if (empty() || to < 0 || to >= devices_) return nullptr;
    const int s = of_[slot * devices_ + to];
    return s == none ? nullptr : &sends_[at(s)];
  }
  /// f(send) for those that may begin after a step of their receiver, in the order of their links.
  template <class F>
  TYPEFLOW_COLD void each_after(Id step, const F& f) {
    for (int s = first_after_[step]; s != none; s = sends_[at(s)].next) f(sends_[at(s)]);
  }

  /// A link reads a place at some time.
  TYPEFLOW_COLD void read(int link, int place, int time) {
    reads_[at(link - first_link_)].list.push({place, time});
  }
  /// f(place) for the places that a link has read up to a time, each once.
  template <class F>
  TYPEFLOW_COLD void each_read(int link, int time, const F& f) {
    Reads& reads = reads_[at(link - first_link_)];
    for (; reads.done < reads.list.size() && reads.list[reads.done].time <= time; ++reads.done) {
      f(reads.list[reads.done].place);
    }
  }

 private:
  struct Read {
    int place;
    int time;
  };
  struct Reads {
    Pool<Read> list{};
    int done = 0;
  };

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  const int devices_;
  const int first_link_;
  std::vector<Send> sends_;
  Pool<int> of_;              // by slot and receiver
  Pool<int> first_after_;     // by step
  std::vector<Reads> reads_;  // by link
};

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
