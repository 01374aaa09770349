// SPDX-License-Identifier: Apache-2.0
#pragma once

// A plan while it grows: places, instructions, and copies between devices.
//
// The producer's stream copies a tensor to each stream on another device that reads it, as soon as
// it is there; late_copies.hpp has exceptions. Streams on its own device read it where it is. The
// reader's stream waits right before its first use. So a device works on while others copy.
//
// A place that another stream writes, or whose device has other streams, lives from the time up to
// which its writer has seen the others' work (stream_clocks.hpp): until then its memory may be in
// use.

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
#include "typeflow/exec/late_sends.hpp"
#include "typeflow/exec/machine.hpp"
#include "typeflow/exec/opcode.hpp"
#include "typeflow/exec/plan.hpp"
#include "typeflow/exec/slot_places.hpp"
#include "typeflow/exec/straight.hpp"
#include "typeflow/exec/stream_clocks.hpp"
#include "typeflow/exec/stream_instructions.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

class PlanBuilder {
 public:
  /// `late` copies begin when their receivers say so.
  TYPEFLOW_COLD PlanBuilder(const ir::ProgramView& program, std::span<const MachineDevice> devices,
                            Demand& demand, std::span<const LateCopy> late = {})
      : count(streams_with_links(demand, late)),
        clocks(count),
        slots(program.slots.size, count),
        scope(count, 0),
        program_(program),
        devices_(devices),
        demand_(demand),
        pending_(program.slots.size * (count + 1), none),
        done_(program.steps.size, 0),
        instructions_(static_cast<std::size_t>(count)),
        step_streams_(count - demand.of_steps.links()),
        late_(program, demand.of_steps, late) {
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
  }

  int device(int stream) const { return demand_.of_steps.device(stream); }
  /// (A stream of late copies has no memory of its own: see LateSends.)
  bool share_device(int a, int b) const {
    return device(a) == device(b) && std::max(a, b) < step_streams_;
  }

  // Places.

  int at(Id slot, int stream) const { return slots.at(slot, stream); }
  TYPEFLOW_COLD void set(Id slot, int stream, int place) {
    slots.set(slot, stream, place);
    if (place != none && stream == demand_.home[slot]) plan.home[slot] = place;
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
        begin_scope(scope[stream], clocks.seen(stream, other) + 1);
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
    const int known = at(slot, stream);
    const int place = known != none ? known : first_operand(slot, stream);
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

  /// A stream's own, without the copies and waits at its beginning.
  Pool<Instruction>& list(int stream) { return instructions_[number(stream)].main; }
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
    clocks.signal(from, now - 1);
    return event;
  }
  /// An event that a stream signals at the end of each iteration, for all who share the loop.
  TYPEFLOW_COLD int add_event(int from) {
    clocks.add_silent_event();
    return plan.events.push({from, none});
  }
  TYPEFLOW_COLD void wait(int event) {
    const auto [from, to] = plan.events[event];
    emit(to, Opcode::wait, event);
    clocks.wait(event, from, to);
  }
  /// Stream `to` waits until `from` has done a step.
  TYPEFLOW_COLD void order_after(Id step, int to) {
    for (int from = 0; from < count; ++from) {
      if (from == to || !demand_.streams[step].contains(from)) continue;
      if (clocks.seen(to, from) < done_[step]) order(from, to);
    }
  }
  void finish_step(Id step) { done_[step] = now; }
  /// After a step of the program itself: late copies may begin, and others are known to be done.
  TYPEFLOW_COLD void update_late_copies(Id step) {
    if (late_.empty()) return;
    int link = none;
    int allowed = none;
    late_.each_after(step, [&](LateSends::Send& send) {
      if (send.link != link) allowed = signal(send.copy.to, send.link);
      link = send.link;
      send.allowed = allowed;
    });
    for (int e = step_streams_; e < count; ++e) {
      late_.each_read(e, clocks.seen(device(e), e),
                      [&](int place) { plan.places[place].last = now; });
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
      LateSends::Send* const late = late_.find(slot, to);
      if (late != nullptr && is_own(at(slot, stream))) {
        late->place = at(slot, stream);
        late->computed = signal(stream, late->link);
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

  /// Puts the streams together.
  TYPEFLOW_COLD Plan finish() {
    // The host can't have a fetched tensor computed in its own buffer: it is copied at the end.
    for (const ir::ProgramName& name : program_.names) {
      const int place = name.slot == none ? none : plan.home[name.slot];
      if (place == none || plan.places[place].kind != PlaceKind::temporary) continue;
      if (!is_host(plan.places[place].device)) plan.places[place].last = forever;
    }
    for (int e = step_streams_; e < count; ++e) {  // nobody knows when these copies are done
      late_.each_read(e, forever, [&](int place) { plan.places[place].last = forever; });
    }
    StreamSet used{};  // the devices
    for (int e = 0; e < count; ++e) {
      instructions_[number(e)].append_to(plan);
      if (plan.streams[e].count == 0 || used.contains(device(e))) continue;
      used.add(device(e));
      if (plan.used_devices++ == 0 || device(e) < plan.main_device) plan.main_device = device(e);
    }
    plan.duration = now;
    return std::move(plan);
  }

  const int count;  ///< of streams
  Plan plan;
  StreamClocks clocks;
  SlotPlaces slots;
  int now = 0;          ///< counts instructions
  int step_stream = 0;  ///< of the step at hand
  Pool<int> scope;      ///< by stream: where temporaries go at present

 private:
  /// Late copies have streams of their own.
  TYPEFLOW_COLD static int streams_with_links(Demand& demand, std::span<const LateCopy> late) {
    for (const LateCopy& copy : late) demand.of_steps.link(copy.from, copy.to);
    return demand.of_steps.count();
  }

  static std::size_t number(int stream) { return static_cast<std::size_t>(stream); }

  /// The place of a tensor that a stream has not got yet.
  TYPEFLOW_COLD int first_operand(Id slot, int stream) {
    if (const LateSends::Send* const late = late_.find(slot, stream); late != nullptr) {
      if (late->place != none) return receive(*late);
    }
    switch (program_.slots[slot].kind) {
      case ir::SlotKind::variable:
        return variable(slot, stream);
      case ir::SlotKind::placeholder:
      case ir::SlotKind::constant:
        return from_host(slot, stream);
      default:
        break;
    }
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
  /// Whether a place is memory of the plan itself, not of a branch or loop.
  bool is_own(int place) const {
    const Place& p = plan.places[place];
    return p.kind == PlaceKind::temporary && plan.scopes[p.scope].parent == none;
  }
  /// Adds a late copy in front of its first reader, who waits for it.
  TYPEFLOW_COLD int receive(const LateSends::Send& late) {
    const int to = late.copy.to;
    wait_unless_seen(late.computed);
    if (late.allowed != none) wait_unless_seen(late.allowed);
    const int received = add_temporary(plan.places[late.place].slot, to);
    begin_after(received, late.link, to);
    copy(late.link, late.place, received);
    late_.read(late.link, late.place, now);
    wait(signal(late.link, to));
    return keep(late.copy.slot, to, received);
  }
  TYPEFLOW_COLD void wait_unless_seen(int event) {
    const auto [from, to] = plan.events[event];
    if (!clocks.has_seen(event, from, to)) wait(event);
  }

  int index(Id slot, int stream) const { return slot * (count + 1) + stream + 1; }
  bool is_host(int device) const {
    return devices_[static_cast<std::size_t>(device)].memory->is_host();
  }

  /// A place that stream `writer` writes lives from when it has seen the work of another stream,
  /// which may use the same memory before.
  TYPEFLOW_COLD void begin_after(int place, int writer, int other) {
    const int first = clocks.seen(writer, other) + 1;
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
    slots.keep(slot, stream, place);
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
      instructions_[number(first)].sends.push({Opcode::copy, outside, place, 0, 0});
    }
    return share_first(slot, place, first, stream);
  }
  /// A place that stream `from` fills before all else, for another stream.
  TYPEFLOW_COLD int share_first(Id slot, int place, int from, int to) {
    if (from == to) return place;
    const int event = add_event(from);
    plan.events[event].to = to;
    instructions_[number(from)].sends.push({Opcode::signal, event, 0, 0, 0});
    instructions_[number(to)].waits.push({Opcode::wait, event, 0, 0, 0});
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
      instructions_[number(home)].sends.push({Opcode::copy, own, place, 0, 0});
      share_first(slot, place, home, first);
    }
    if (stream != first) share_first(slot, place, home, stream);
    return place;
  }

  static constexpr int forever = std::numeric_limits<int>::max();

  const ir::ProgramView& program_;
  std::span<const MachineDevice> devices_;
  Demand& demand_;
  Pool<int> pending_;  // by slot and stream: the event of a tensor for which it has not waited yet
  Pool<int> done_;     // by step: when it has been given to its streams
  std::vector<StreamInstructions> instructions_;
  const int step_streams_;  // the streams of late copies come behind
  LateSends late_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
