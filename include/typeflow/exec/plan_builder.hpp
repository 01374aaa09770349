// SPDX-License-Identifier: Apache-2.0
#pragma once

// A plan while it grows: places, instructions, and copies between devices.
//
// The producer's stream copies a tensor to each stream on another device that reads it, as soon as
// it is there; late_copies.hpp has exceptions. Streams on its own device read it where it is. The
// reader's stream waits right before its first use. So a device works on while others copy.
//
// For each pair of streams the builder knows up to which time the one has seen the other's work. A
// place that another stream writes, or whose device has other streams, lives from there on: until
// then its memory may be in use.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/pool.hpp"
#include "typeflow/exec/demand.hpp"
#include "typeflow/exec/late_copies.hpp"
#include "typeflow/exec/machine.hpp"
#include "typeflow/exec/opcode.hpp"
#include "typeflow/exec/plan.hpp"
#include "typeflow/exec/straight.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

class PlanBuilder {
 public:
  /// `late` copies begin when their receivers say so.
  TYPEFLOW_COLD PlanBuilder(const ir::ProgramView& program, std::span<const MachineDevice> devices,
                            Demand& demand, std::span<const LateCopy> late = {})
      : count(streams_with_links(demand, late)),
        scope(count, 0),
        program_(program),
        devices_(devices),
        demand_(demand),
        at_(program.slots.size * (count + 1), none),
        pending_(program.slots.size * (count + 1), none),
        known_(count * count, -1),
        done_(program.steps.size, 0),
        lists_(static_cast<std::size_t>(count)),
        step_streams_(count - demand.of_steps.links()) {
    plan.home = Pool<int>(program.slots.size, none);
    plan.external = Pool<int>(program.slots.size, none);
    for (int d = 0; d < static_cast<int>(devices.size()); ++d) {
      plan.scopes.push({none, d, d, none, 0, 0, 1});
    }
    for (int e = 0; e < count; ++e) {
      scope[e] = device(e);
      plan.devices.push(device(e));
    }
    plan.waits = demand.of_steps.waits() || count > step_streams_;
    plan.first_transfer = step_streams_;
    for (const MachineDevice& d : devices) plan.waits = plan.waits || d.transport != nullptr;
    if (!late.empty()) add_late(late);
  }

  int device(int stream) const { return demand_.of_steps.device(stream); }
  /// (A stream of late copies has no memory of its own. Its device knows what it reads: see Sent.)
  bool share_device(int a, int b) const {
    return device(a) == device(b) && std::max(a, b) < step_streams_;
  }

  // Places.

  /// The place of a slot for a stream (or the host); none if it has not been sent there.
  int at(Id slot, int stream) const { return at_[index(slot, stream)]; }
  /// Says where a slot is, until leave_block().
  TYPEFLOW_COLD void set(Id slot, int stream, int place) {
    log_.push({index(slot, stream), at_[index(slot, stream)]});
    at_[index(slot, stream)] = place;
    if (place != none && stream == demand_.home[slot]) plan.home[slot] = place;
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

  TYPEFLOW_COLD int add_temporary(Id slot, int stream) {
    const int place = plan.places.push({PlaceKind::temporary, slot, device(stream), stream,
                                        scope[stream], now, now, false, false});
    for (int other = 0; other < count; ++other) {
      if (other != stream && share_device(stream, other)) begin_after(place, stream, other);
    }
    return place;
  }
  TYPEFLOW_COLD int add_bound(Id slot, int stream) {
    return plan.places.push(
        {PlaceKind::bound, slot, device(stream), stream, none, now, now, false, false});
  }
  /// The scope of a loop, or of an arm of a branch, in that of a stream.
  TYPEFLOW_COLD void enter_scope(int stream, Id step, int frames) {
    scope[stream] =
        plan.scopes.push({scope[stream], device(stream), stream, step, now, now, frames});
    for (int other = 0; other < count; ++other) {
      if (other != stream && share_device(stream, other)) {
        begin_scope(scope[stream], known_[stream * count + other] + 1);
      }
    }
  }
  TYPEFLOW_COLD void leave_scope(int stream) {
    Scope& left = plan.scopes[scope[stream]];
    left.last = now - 1;
    scope[stream] = left.parent;
  }
  /// The place that a step writes.
  TYPEFLOW_COLD int output(Id slot, int stream) {
    if (at(slot, stream) != none) return at(slot, stream);
    if (program_.slots[slot].kind == ir::SlotKind::variable) return variable(slot, stream);
    const Id whole = demand_.whole_of(slot);
    set(slot, stream, whole != none ? output(whole, stream) : new_output(slot, stream));
    return at(slot, stream);
  }
  /// The place that a step reads. Its stream waits for it, if it is on the way.
  TYPEFLOW_COLD int operand(Id slot, int stream) {
    int place = at(slot, stream);
    if (place == none && late_of(slot, stream) != nullptr) {
      place = receive(*late_of(slot, stream));
    }
    if (place == none) {
      const ir::SlotKind kind = program_.slots[slot].kind;
      if (kind == ir::SlotKind::variable) {
        place = variable(slot, stream);
      } else if (kind == ir::SlotKind::placeholder || kind == ir::SlotKind::constant) {
        place = from_host(slot, stream);
      } else {
        const Id step = program_.slots[slot].step;
        Message what{};
        if (step != none) {
          what << "the result of ";
          print_step(what, program_, program_.steps[step]);
        } else {
          what << "slot " << slot;
        }
        what << " is not sent to stream " << stream;
        throw Error("internal error", std::string(what.view()));
      }
    }
    int& pending = pending_[index(slot, stream)];
    if (pending != none) {
      wait(pending);
      pending = none;
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

  /// A stream's, but for those at its beginning that finish() adds.
  Pool<Instruction>& list(int stream) { return lists_[number(stream)].main; }
  TYPEFLOW_COLD void emit(int stream, Opcode opcode, int a, int b = 0, int c = 0, int d = 0) {
    list(stream).push({opcode, a, b, c, d});
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
      if (from == to || !demand_.streams[step].contains(from)) continue;
      if (known_[to * count + from] < done_[step]) order(from, to);
    }
  }
  void finish_step(Id step) { done_[step] = now; }
  /// After a step of the program itself: late copies may begin, and others are known to be done.
  TYPEFLOW_COLD void update_late_copies(Id step) {
    if (late_.empty()) return;
    int before = none;
    for (int c = first_after_[step]; c != none; c = late_[number(c)].next) {
      Late& copy = late_[number(c)];
      const bool same = before != none && late_[number(before)].link == copy.link;
      copy.allowed = same ? late_[number(before)].allowed : signal(copy.of.to, copy.link);
      before = c;
    }
    for (int link = step_streams_; link < count; ++link) {
      std::vector<Sent>& sent = sent_[number(link - step_streams_)];
      int& first = first_sent_[link - step_streams_];
      for (; first < static_cast<int>(sent.size()); ++first) {
        const Sent& s = sent[number(first)];
        if (known_[device(link) * count + link] < s.time) break;
        plan.places[s.place].last = now;
      }
    }
  }

  /// Makes a slot's tensor, which stream `from` has in a place, known to another stream: by a copy,
  /// if that is on another device. The reader waits at its first use.
  TYPEFLOW_COLD void send(Id slot, int place, int from, int to) {
    // (Each stream has its own address of a bound place.)
    const bool is_shared = share_device(from, to) && plan.places[place].kind != PlaceKind::bound;
    int received = place;
    if (!is_shared) {
      received = add_temporary(plan.places[place].slot, to);
      for (int e = 0; e < count; ++e) {
        if (share_device(e, to)) begin_after(received, from, e);
      }
      copy(from, place, received);
    }
    set(slot, to, received);
    pending_[index(slot, to)] = signal(from, to);
  }
  /// Sends what a step has written to the streams that read it.
  TYPEFLOW_COLD void send_to_readers(Id slot, int stream) {
    for (int to = 0; to < count; ++to) {
      if (to == stream || !demand_.readers[slot].contains(to)) continue;
      if (Late* const copy = late_of(slot, to); copy != nullptr && is_own(at(slot, stream))) {
        copy->place = at(slot, stream);
        copy->made = signal(stream, copy->link);
        continue;
      }
      send(slot, at(slot, stream), stream, to);
    }
  }
  /// The variable has a new value: copies on other devices are old.
  TYPEFLOW_COLD void drop_copies(Id slot) {
    for (int e = 0; e < count; ++e) {
      if (!share_device(e, demand_.home[slot])) set(slot, e, none);
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
    for (int link = step_streams_; link < count; ++link) {  // those that nobody knows to be done
      const std::vector<Sent>& sent = sent_[number(link - step_streams_)];
      for (int c = first_sent_[link - step_streams_]; c < static_cast<int>(sent.size()); ++c) {
        plan.places[sent[number(c)].place].last = forever;
      }
    }
    StreamSet used{};  // the devices
    for (int e = 0; e < count; ++e) {
      const Lists& of = lists_[number(e)];
      const Pool<Instruction>* const parts[] = {&of.sends, &of.waits, &of.main};
      const int offset = plan.instructions.size() + of.sends.size() + of.waits.size();
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
      if (size == 0 || used.contains(device(e))) continue;
      used.add(device(e));
      if (plan.used_devices++ == 0 || device(e) < plan.main_device) plan.main_device = device(e);
    }
    plan.duration = now;
    return std::move(plan);
  }

  const int count;  ///< of streams
  Plan plan;
  int now = 0;          ///< counts instructions
  int step_stream = 0;  ///< of the step at hand
  Pool<int> scope;      ///< by stream: where temporaries go at present

 private:
  struct Set {
    int index;
    int place;
  };
  /// The parts of a stream's instructions.
  struct Lists {
    Pool<Instruction> sends;  // before all else: copies to it and to others
    Pool<Instruction> waits;  // then: for those copies
    Pool<Instruction> main;
  };

  struct Late {
    LateCopy of;
    int link;            // the stream that carries it out
    int next;            // of those that wait for the same step
    int place = none;    // of the tensor, once it is computed
    int made = none;     // event
    int allowed = none;  // event
  };
  /// A tensor that a late copy reads. It lives until its device knows that the copy is done, and
  /// all others of it.
  struct Sent {
    int place;
    int time;
  };

  /// Late copies have streams of their own.
  TYPEFLOW_COLD static int streams_with_links(Demand& demand, std::span<const LateCopy> late) {
    for (const LateCopy& copy : late) demand.of_steps.link(copy.from, copy.to);
    return demand.of_steps.count();
  }

  static std::size_t number(int stream) { return static_cast<std::size_t>(stream); }

  TYPEFLOW_COLD void add_late(std::span<const LateCopy> late) {
    late_of_ = Pool<int>(program_.slots.size * static_cast<int>(devices_.size()), none);
    first_after_ = Pool<int>(program_.steps.size, none);
    sent_.resize(number(count - step_streams_));
    first_sent_ = Pool<int>(count - step_streams_, 0);
    for (const LateCopy& copy : late) {
      const int c = static_cast<int>(late_.size());
      late_of_[copy.slot * static_cast<int>(devices_.size()) + copy.to] = c;
      const int link = demand_.of_steps.link(copy.from, copy.to);
      late_.push_back({copy, link, none});
      if (copy.after == none) continue;
      int* at = &first_after_[copy.after];  // by link
      while (*at != none && late_[number(*at)].link <= link) at = &late_[number(*at)].next;
      late_.back().next = std::exchange(*at, c);
    }
  }
  TYPEFLOW_COLD Late* late_of(Id slot, int stream) {
    if (late_.empty() || stream < 0 || stream >= static_cast<int>(devices_.size())) return nullptr;
    const int c = late_of_[slot * static_cast<int>(devices_.size()) + stream];
    return c == none ? nullptr : &late_[number(c)];
  }
  /// Whether a place is memory of the plan itself, not of a branch or loop.
  bool is_own(int place) const {
    const Place& p = plan.places[place];
    return p.kind == PlaceKind::temporary && plan.scopes[p.scope].parent == none;
  }
  /// Adds a late copy in front of its first reader, who waits for it.
  TYPEFLOW_COLD int receive(const Late& copy) {
    if (copy.place == none) return none;
    const int to = copy.of.to;
    wait_unless_known(copy.made);
    if (copy.allowed != none) wait_unless_known(copy.allowed);
    const int received = add_temporary(plan.places[copy.place].slot, to);
    begin_after(received, copy.link, to);
    this->copy(copy.link, copy.place, received);
    sent_[number(copy.link - step_streams_)].push_back({copy.place, now});
    wait(signal(copy.link, to));
    return keep(copy.of.slot, to, received);
  }
  TYPEFLOW_COLD void wait_unless_known(int event) {
    const auto [from, to] = plan.events[event];
    if (known_[to * count + from] < event_time_[event]) wait(event);
  }

  int index(Id slot, int stream) const { return slot * (count + 1) + stream + 1; }
  bool is_host(int device) const {
    return devices_[static_cast<std::size_t>(device)].memory->is_host();
  }

  /// A place that stream `writer` writes lives from when it has seen the work of another stream,
  /// which may use the same memory before.
  TYPEFLOW_COLD void begin_after(int place, int writer, int other) {
    const int first = known_[writer * count + other] + 1;
    Place& p = plan.places[place];
    p.first = std::min(p.first, first);
    begin_scope(p.scope, first);
  }
  TYPEFLOW_COLD void begin_scope(int s, int first) {
    for (; s != none; s = plan.scopes[s].parent) {
      plan.scopes[s].first = std::min(plan.scopes[s].first, first);
    }
  }
  /// A place for a tensor, or the one where another stream of the device has written parts of it.
  TYPEFLOW_COLD int new_output(Id slot, int stream) {
    for (int other = 0; other < count; ++other) {
      if (other == stream || !share_device(stream, other) || at(slot, other) == none) continue;
      for (int e = 0; e < count; ++e) {
        if (e != stream && share_device(stream, e)) begin_after(at(slot, other), stream, e);
      }
      return at(slot, other);
    }
    return add_temporary(slot, stream);
  }

  /// Temporaries of the plan itself, which live all the time.
  TYPEFLOW_COLD int add_kept(Id slot, int stream) {
    const int place = add_temporary(slot, stream);
    plan.places[place].scope = device(stream);  // the first scopes are the devices' own
    plan.places[place].first = 0;
    plan.places[place].last = forever;
    return place;
  }
  /// Sets where a slot is for all of the plan.
  TYPEFLOW_COLD int keep(Id slot, int stream, int place) {
    at_[index(slot, stream)] = place;
    return place;
  }
  /// The stream of a device that does not come after steps that may wait.
  int first_stream(int stream) const { return device(stream); }

  TYPEFLOW_COLD int external(Id slot) { return add_external(plan, program_, slot); }
  /// A copy of a constant or variable that is valid when the run begins. The binder sees to that.
  TYPEFLOW_COLD int resident(Id slot, int stream) {
    const int first = first_stream(stream);
    int place = at(slot, first);
    if (place == none) {
      place = keep(slot, first,
                   plan.places.push({PlaceKind::resident, slot, device(first), first, none, 0,
                                     forever, false, false}));
      if (program_.slots[slot].kind == ir::SlotKind::variable) plan.home[slot] = place;
    }
    return keep(slot, stream, place);
  }
  /// A constant or a fed tensor.
  TYPEFLOW_COLD int from_host(Id slot, int stream) {
    const bool is_constant = program_.slots[slot].kind == ir::SlotKind::constant;
    if (is_constant && may_reside(slot, stream)) return resident(slot, stream);
    const int outside = external(slot);
    if (is_host(device(stream))) return outside;
    const int first = first_stream(stream);
    int place = at(slot, first);
    if (place == none) {
      place = keep(slot, first, add_kept(slot, first));
      lists_[number(first)].sends.push({Opcode::copy, outside, place, 0, 0});
    }
    return share_first(slot, place, first, stream);
  }
  /// A place that stream `from` fills before all else, for another stream.
  TYPEFLOW_COLD int share_first(Id slot, int place, int from, int to) {
    if (from == to) return place;
    const int event = add_event(from);
    plan.events[event].to = to;
    lists_[number(from)].sends.push({Opcode::signal, event, 0, 0, 0});
    lists_[number(to)].waits.push({Opcode::wait, event, 0, 0, 0});
    return keep(slot, to, place);
  }
  /// Whether a device has its own copy of a constant or variable. Strings and resources are on the
  /// host.
  bool may_reside(Id slot, int stream) const {
    const ir::Slot& s = program_.slots[slot];
    if (is_host(device(stream)) || program_.type_of(slot).dtype == DType::string) return false;
    return s.kind != ir::SlotKind::variable || !is_resource(program_, slot);
  }
  /// A variable on its own device, or a copy of it on another one.
  TYPEFLOW_COLD int variable(Id slot, int stream) {
    const int home = demand_.home[slot];
    const bool is_written = demand_.written[slot] != 0;
    if (share_device(stream, home)) {
      return may_reside(slot, home) ? resident(slot, stream) : keep(slot, stream, external(slot));
    }
    const bool is_far = may_reside(slot, home) || may_reside(slot, stream);
    if (is_far && !is_written && devices_[number(device(home))].transport == nullptr) {
      // The store keeps the copies of both devices valid.
      return may_reside(slot, stream) ? resident(slot, stream) : keep(slot, stream, external(slot));
    }
    if (is_written) {
      const int from = demand_.of_steps.beside(home, step_stream);
      send(slot, operand(slot, from), from, stream);
      return at(slot, stream);
    }
    // Nobody writes it: it is copied once, before all else.
    const int own = operand(slot, home);
    const int first = first_stream(stream);
    int place = at(slot, first);
    if (place == none) {
      place = keep(slot, first, add_kept(slot, first));
      lists_[number(home)].sends.push({Opcode::copy, own, place, 0, 0});
      share_first(slot, place, home, first);
    }
    if (stream != first) share_first(slot, place, home, stream);
    return place;
  }

  static constexpr int forever = std::numeric_limits<int>::max();

  const ir::ProgramView& program_;
  std::span<const MachineDevice> devices_;
  Demand& demand_;
  Pool<int> at_;       // by slot and stream
  Pool<int> pending_;  // by slot and stream: the event of a tensor for which it has not waited yet
  Pool<Set> log_;
  Pool<int> known_;  // by stream and other stream: the time up to which it has seen its work
  Pool<int> event_time_;
  Pool<int> event_known_;     // by event and stream: known_ of the signalling stream
  Pool<int> done_;            // by step: when it has been given to its streams
  std::vector<Lists> lists_;  // by stream
  const int step_streams_;    // the streams of late copies come behind
  std::vector<Late> late_;
  Pool<int> late_of_;                    // by slot and receiver
  Pool<int> first_after_;                // by step: a list of the copies that wait for it
  std::vector<std::vector<Sent>> sent_;  // by stream of late copies
  Pool<int> first_sent_;                 // of those that are not known to be done
};

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
