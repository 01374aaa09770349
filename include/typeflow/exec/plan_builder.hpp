// SPDX-License-Identifier: Apache-2.0
#pragma once

// A plan while it grows: places, instructions, and copies between devices.
//
// The producer's stream copies a tensor to each device that reads it, as soon as it is there. The
// reader's stream waits right before its first use. So a device works on while others copy.
//
// For each pair of streams the builder knows up to which time the one has seen the other's work. A
// place that another stream writes lives from there on: until then its memory may be in use.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "typeflow/core/error.hpp"
#include "typeflow/core/pool.hpp"
#include "typeflow/exec/demand.hpp"
#include "typeflow/exec/machine.hpp"
#include "typeflow/exec/plan.hpp"
#include "typeflow/exec/straight.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::exec {

class PlanBuilder {
 public:
  TYPEFLOW_COLD PlanBuilder(const ir::ProgramView& program, std::span<const MachineDevice> devices,
                            const Demand& demand)
      : count(static_cast<int>(devices.size())),
        program_(program),
        devices_(devices),
        demand_(demand),
        at_(program.slots.size * (count + 1), none),
        known_(count * count, -1),
        done_(program.steps.size, 0) {
    plan.home = Pool<int>(program.slots.size, none);
    plan.external = Pool<int>(program.slots.size, none);
    for (int e = 0; e < count; ++e) scope[e] = plan.scopes.push({none, e, none, 0, 0, 1});
  }

  // Places.

  /// The place of a slot on a device (or the host); none if it is not there.
  int at(Id slot, int device) const { return at_[index(slot, device)]; }
  /// Says where a slot is, until leave_block().
  TYPEFLOW_COLD void set(Id slot, int device, int place) {
    log_.push({index(slot, device), at_[index(slot, device)]});
    at_[index(slot, device)] = place;
    if (place != none && device == demand_.home[slot]) plan.home[slot] = place;
  }
  /// A mark for leave_block().
  int enter_block() const { return log_.size(); }
  /// Forgets where slots are that have been set since enter_block().
  TYPEFLOW_COLD void leave_block(int mark) {
    while (log_.size() > mark) {
      at_[log_.back().index] = log_.back().place;
      log_.pop();
    }
  }

  TYPEFLOW_COLD int add_temporary(Id slot, int device) {
    return plan.places.push({PlaceKind::temporary, slot, device, scope[device], now, now, false});
  }
  TYPEFLOW_COLD int add_bound(Id slot, int device) {
    return plan.places.push({PlaceKind::bound, slot, device, none, now, now, false});
  }
  /// The place that a step writes.
  TYPEFLOW_COLD int output(Id slot, int device) {
    if (at(slot, device) != none) return at(slot, device);
    if (program_.slots[slot].kind == ir::SlotKind::variable) return variable(slot, device);
    const Id whole = program_.slots[slot].within;
    set(slot, device, whole != none ? output(whole, device) : add_temporary(slot, device));
    return at(slot, device);
  }
  /// The place that a step reads. Its stream waits for it, if it is on the way.
  TYPEFLOW_COLD int operand(Id slot, int device) {
    int place = at(slot, device);
    if (place == none) {
      const ir::SlotKind kind = program_.slots[slot].kind;
      if (kind == ir::SlotKind::variable) {
        place = variable(slot, device);
      } else if (kind == ir::SlotKind::placeholder || kind == ir::SlotKind::constant) {
        place = from_host(slot, device);
      } else {
        const Id step = program_.slots[slot].step;
        Message what{};
        if (step != none) {
          what << "the result of ";
          print_step(what, program_, program_.steps[step]);
        } else {
          what << "slot " << slot;
        }
        what << " is not on device " << device;
        throw Error("internal error", std::string(what.view()));
      }
    }
    if (place < pending_.size() && pending_[place] != none) {
      wait(pending_[place]);
      pending_[place] = none;
    }
    return place;
  }
  /// The next instruction uses a place.
  void touch(int place) {
    if (place != none) plan.places[place].last = std::max(plan.places[place].last, now);
  }
  /// The last instruction may have used a place.
  void touch_past(int place) {
    if (place != none) plan.places[place].last = std::max(plan.places[place].last, now - 1);
  }

  // Instructions.

  TYPEFLOW_COLD void emit(int stream, Opcode opcode, int a, int b = 0, int c = 0, int d = 0) {
    streams[stream].push({opcode, a, b, c, d});
    ++now;
  }
  TYPEFLOW_COLD void copy(int stream, int from, int to) {
    touch(from);
    touch(to);
    emit(stream, Opcode::copy, from, to);
  }
  /// Stream `to` waits for all that `from` has been given so far.
  TYPEFLOW_COLD void order(int from, int to) { wait(signal(from, to)); }
  TYPEFLOW_COLD int signal(int from, int to) {
    const int event = plan.events.push({from, to});
    emit(from, Opcode::signal, event);
    event_time_.push(now - 1);
    for (int k = 0; k < count; ++k) event_known_.push(known_[from * count + k]);
    return event;
  }
  /// An event that a stream signals at the end of each iteration, for all who share the loop.
  TYPEFLOW_COLD int add_event(int from) {
    event_time_.push(-1);
    for (int k = 0; k < count; ++k) event_known_.push(-1);
    return plan.events.push({from, none});
  }
  TYPEFLOW_COLD void wait(int event) {
    const auto [from, to] = plan.events[event];
    emit(to, Opcode::wait, event);
    for (int k = 0; k < count; ++k) {
      int& known = known_[to * count + k];
      known = std::max(known, event_known_[event * count + k]);
    }
    known_[to * count + from] = std::max(known_[to * count + from], event_time_[event]);
  }
  /// Stream `to` waits until `from` has done a step.
  TYPEFLOW_COLD void order_after(Id step, int to) {
    for (int from = 0; from < count; ++from) {
      if (from == to || !contains(demand_.streams[step], from)) continue;
      if (known_[to * count + from] < done_[step]) order(from, to);
    }
  }
  void finish_step(Id step) { done_[step] = now; }

  /// Copies a place's tensor from its stream to another device. The reader waits at its first use.
  TYPEFLOW_COLD int send(int place, int from, int to) {
    const int received = add_received(plan.places[place].slot, from, to);
    copy(from, place, received);
    const int event = signal(from, to);
    while (pending_.size() <= received) pending_.push(none);
    pending_[received] = event;
    return received;
  }
  /// Copies what a step has written to the devices that read it.
  TYPEFLOW_COLD void send_to_readers(Id slot, int device) {
    for (int to = 0; to < count; ++to) {
      if (to == device || !contains(demand_.readers[slot], to)) continue;
      set(slot, to, send(at(slot, device), device, to));
    }
  }
  /// The variable has a new value: copies on other devices are old.
  TYPEFLOW_COLD void drop_copies(Id slot) {
    for (int e = 0; e < count; ++e) {
      if (e != demand_.home[slot]) set(slot, e, none);
    }
  }

  /// What streams know of each other, to come back to after blocks that may not run.
  const Pool<int>& knowledge() const { return known_; }
  /// Keeps only what was known then, too.
  TYPEFLOW_COLD void forget(const Pool<int>& then) {
    for (int i = 0; i < known_.size(); ++i) known_[i] = std::min(known_[i], then[i]);
  }
  TYPEFLOW_COLD void know(const Pool<int>& then) { known_ = then; }

  /// Puts the streams together.
  TYPEFLOW_COLD Plan finish() {
    // The host can't have a fetched tensor computed in its own buffer: it is copied at the end.
    for (const ir::ProgramName& name : program_.names) {
      const int place = name.slot == none ? none : plan.home[name.slot];
      if (place == none || plan.places[place].kind != PlaceKind::temporary) continue;
      if (!is_host(plan.places[place].device)) plan.places[place].last = forever;
    }
    for (int e = 0; e < count; ++e) {
      Pool<Instruction>* const parts[] = {&sends_[e], &waits_[e], &streams[e], &finals_[e]};
      const int offset = plan.instructions.size() + sends_[e].size() + waits_[e].size();
      const int first = plan.instructions.size();
      for (const Pool<Instruction>* part : parts) {
        for (Instruction i : *part) {
          if (i.opcode == Opcode::jump || i.opcode == Opcode::jump_unless ||
              i.opcode == Opcode::iterate || i.opcode == Opcode::proceed) {
            i.b += offset;
          }
          if (i.opcode == Opcode::select) {
            for (int k = 0; k < i.c; ++k) plan.targets[i.b + k] += offset;
          }
          plan.instructions.push(i);
        }
      }
      const int size = plan.instructions.size() - first;
      plan.streams.push({first, size});
      if (size == 0) continue;
      if (plan.used_streams++ == 0) plan.main_stream = e;
    }
    plan.duration = now;
    return std::move(plan);
  }

  const int count;  ///< of devices
  Plan plan;
  int now = 0;                  ///< counts instructions
  int scope[max_devices] = {};  ///< by device: where temporaries go at present
  Pool<Instruction> streams[max_devices];

 private:
  struct Set {
    int index;
    int place;
  };

  int index(Id slot, int device) const { return slot * (count + 1) + device + 1; }
  bool is_host(int device) const {
    return devices_[static_cast<std::size_t>(device)].memory->is_host();
  }

  /// A place that another stream writes.
  TYPEFLOW_COLD int add_received(Id slot, int from, int to) {
    const int place = add_temporary(slot, to);
    const int first = known_[from * count + to] + 1;
    plan.places[place].first = first;
    for (int s = scope[to]; s != none; s = plan.scopes[s].parent) {
      plan.scopes[s].first = std::min(plan.scopes[s].first, first);
    }
    return place;
  }

  /// Temporaries of the plan itself, which live all the time.
  TYPEFLOW_COLD int add_kept(Id slot, int device) {
    const int place = add_temporary(slot, device);
    plan.places[place].scope = device;  // the first scopes are the devices' own
    plan.places[place].first = 0;
    plan.places[place].last = forever;
    return place;
  }
  /// Sets where a slot is for all of the plan.
  TYPEFLOW_COLD int keep(Id slot, int device, int place) {
    at_[index(slot, device)] = place;
    return place;
  }

  TYPEFLOW_COLD int external(Id slot) { return add_external(plan, program_, slot); }
  /// A constant or a fed tensor.
  TYPEFLOW_COLD int from_host(Id slot, int device) {
    const int outside = external(slot);
    if (is_host(device)) return outside;
    const int place = keep(slot, device, add_kept(slot, device));
    sends_[device].push({Opcode::copy, outside, place, 0, 0});
    return place;
  }
  /// A variable on its own device, or a copy of it on another one.
  TYPEFLOW_COLD int variable(Id slot, int device) {
    const int home = demand_.home[slot];
    if (device == home) {
      const int outside = external(slot);
      if (is_host(device)) return keep(slot, device, outside);
      const int place = keep(slot, device, add_kept(slot, device));
      sends_[device].push({Opcode::copy, outside, place, 0, 0});
      if (demand_.written[slot] != 0) finals_[device].push({Opcode::copy, place, outside, 0, 0});
      return place;
    }
    if (demand_.written[slot] != 0) {
      const int received = send(operand(slot, home), home, device);
      set(slot, device, received);
      return received;
    }
    // Nobody writes it: it is copied once, before all else.
    const int own = operand(slot, home);
    const int place = keep(slot, device, add_kept(slot, device));
    const int event = add_event(home);
    plan.events[event].to = device;
    sends_[home].push({Opcode::copy, own, place, 0, 0});
    sends_[home].push({Opcode::signal, event, 0, 0, 0});
    waits_[device].push({Opcode::wait, event, 0, 0, 0});
    return place;
  }

  static constexpr int forever = std::numeric_limits<int>::max();

  const ir::ProgramView& program_;
  std::span<const MachineDevice> devices_;
  const Demand& demand_;
  Pool<int> at_;  // by slot and device
  Pool<Set> log_;
  Pool<int> pending_;  // by place: the event of a copy whose reader has not waited yet
  Pool<int> known_;    // by stream and other stream: the time up to which it has seen its work
  Pool<int> event_time_;
  Pool<int> event_known_;                  // by event and stream: known_ of the signalling stream
  Pool<int> done_;                         // by step: when it has been given to its streams
  Pool<Instruction> sends_[max_devices];   // before all else: copies from the host and to others
  Pool<Instruction> waits_[max_devices];   // then: for those copies
  Pool<Instruction> finals_[max_devices];  // after all else
};

}  // namespace typeflow::inline TYPEFLOW_TARGET::exec
