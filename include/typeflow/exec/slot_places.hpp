// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where each stream finds a program's slots, while a plan is made. What is set in the block of a
// branch or loop is forgotten behind it, as in a scoped symbol table.

#include "typeflow/core/pool.hpp"
#include "typeflow/lower/program.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

class SlotPlaces {
 public:
  SlotPlaces(int slots, int streams) : streams_(streams), places_(slots * (streams + 1), none) {}

  /// The place of a slot for a stream (or the host); none if it has not been sent there.
  int at(Id slot, int stream) const { return places_[index(slot, stream)]; }
  /// Says where a slot is, until leave_block().
  TYPEFLOW_COLD void set(Id slot, int stream, int place) {
    const int i = index(slot, stream);
    log_.push({i, places_[i]});
    places_[i] = place;
  }
  /// The same for all of the plan.
  TYPEFLOW_COLD void keep(Id slot, int stream, int place) { places_[index(slot, stream)] = place; }

  /// A mark for leave_block().
  int enter_block() const { return log_.size(); }
  /// Forgets what has been set since enter_block().
  TYPEFLOW_COLD void leave_block(int mark) {
    while (log_.size() > mark) {
      places_[log_.back().index] = log_.back().before;
      log_.pop();
    }
  }

 private:
  struct Change {
    int index;
    int before;
  };

  int index(Id slot, int stream) const { return slot * (streams_ + 1) + stream + 1; }

  const int streams_;
  Pool<int> places_;  // by slot and stream
  Pool<Change> log_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
