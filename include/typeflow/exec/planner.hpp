// SPDX-License-Identifier: Apache-2.0
#pragma once

// Makes plans: walks a program's steps, with the blocks of branches and loops, and gives each to
// its stream.

#include <cstdint>
#include <span>
#include <string>

#include "typeflow/exec/demand.hpp"
#include "typeflow/exec/plan.hpp"
#include "typeflow/exec/plan_builder.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::exec {

class Planner {
 public:
  TYPEFLOW_COLD Planner(const ir::ProgramView& program, std::span<const MachineDevice> devices,
                        std::span<const Id> steps)
      : program_(program),
        steps_(steps),
        demand_(program, devices, steps),
        out_(program, devices, demand_) {}

  TYPEFLOW_COLD Plan run() {
    for (const Id step : steps_) add(step);
    return out_.finish();
  }

 private:
  TYPEFLOW_COLD void add(Id id) {
    const ir::Step& step = program_.steps[id];
    if (program_.kernels[step.kernel].kind == ir::KernelKind::control) {
      add_control(id, step);
    } else {
      add_launch(id, step);
    }
    out_.finish_step(id);
    if (demand_.outside[id] != 0) last_outside_ = id;
  }

  /// Steps that must have run besides producers: those that the step lists, and the last one with
  /// an effect on the world.
  TYPEFLOW_COLD void wait_for_others(Id id, const ir::Step& step, int stream) {
    for (int i = 0; i < step.after.count; ++i) {
      out_.order_after(demand_.listed(step.after, i), stream);
    }
    if (demand_.outside[id] != 0 && last_outside_ != none) {
      out_.order_after(last_outside_, stream);
    }
  }

  TYPEFLOW_COLD void add_launch(Id id, const ir::Step& step) {
    const int device = demand_.device_of(id);
    wait_for_others(id, step, device);
    Pool<int> places;
    for (int i = 0; i < step.operands.count; ++i) {
      const Id slot = demand_.operand(step, i);
      if (i >= step.inputs) check_home(step, slot, device);
      places.push(i < step.inputs ? out_.operand(slot, device) : out_.output(slot, device));
    }
    for (const int place : places) out_.touch(place);
    const int first = out_.plan.operands.size();
    for (const int place : places) out_.plan.operands.push(place);
    const int launch =
        out_.plan.launches.push({id, device, {first, places.size()}, out_.scope[device], out_.now});
    out_.emit(device, Opcode::launch, launch);
    for (int i = step.inputs; i < step.operands.count; ++i) {
      const Id slot = demand_.operand(step, i);
      if (program_.slots[slot].kind == ir::SlotKind::variable) {
        out_.drop_copies(slot);
      } else {
        out_.send_to_readers(slot, device);
      }
    }
  }
  /// Error if a step would write a variable of another device.
  TYPEFLOW_COLD void check_home(const ir::Step& step, Id slot, int device) const {
    if (program_.slots[slot].kind != ir::SlotKind::variable || demand_.home[slot] == device) return;
    Message where{};
    print_step(where, program_, step);
    Message what{};
    what << "is on " << step.device << ", but assigns variable \"";
    print_name(what, program_, program_.variables[program_.slots[slot].index].name);
    what << "\" on " << program_.slots[slot].device << "; a variable changes on its own device";
    throw Error(std::string(where.view()), std::string(what.view()));
  }

  // Branches and loops.

  TYPEFLOW_COLD void add_control(Id id, const ir::Step& step) {
    const ir::ControlRecord& control = control_of(program_, step);
    const BlockInputs inputs{control};
    members_of(id, [&](int e) { wait_for_others(id, step, e); });
    drop_assigned(step);
    make_results(control);
    const int outer = out_.enter_block();
    give_captures(step, control, inputs);
    const Id outside_before = last_outside_;
    last_outside_ = none;
    if (inputs.is_loop()) {
      add_loop(id, step, control, inputs);
    } else {
      add_arms(id, step, control);
    }
    last_outside_ = outside_before;
    // What the blocks read may be read in each iteration, so it lives until here.
    for (int i = 0; i < step.inputs; ++i) {
      for (int e = the_host; e < out_.count; ++e)
        out_.touch_past(out_.at(demand_.operand(step, i), e));
    }
    out_.leave_block(outer);
    drop_assigned(step);
    send_results(control);
  }
  /// Places for what the step writes besides variables.
  TYPEFLOW_COLD void make_results(const ir::ControlRecord& control) {
    for (const ir::Range slots : {ir::Range(control.results), ir::Range(control.others)}) {
      for (int i = 0; i < slots.count; ++i) {
        const Id slot = demand_.listed(slots, i);
        if (slot != none) out_.output(slot, demand_.home[slot]);
      }
    }
    if (control.done != none) out_.output(control.done, demand_.home[control.done]);
    for (int i = 0; i < control.results.count; ++i) {
      const Id slot = demand_.listed(control.results, i);
      bool partial = control.kind == ir::ControlKind::tested && i >= control.states;
      for (int k = 0; k < control.blocks.count && control.kind == ir::ControlKind::branch; ++k) {
        partial = partial || demand_.listed(demand_.block(control, k).results, i) == none;
      }
      if (slot == none || !partial) continue;
      out_.plan.places[out_.at(slot, demand_.home[slot])].partial = true;
    }
  }
  template <class F>
  void members_of(Id step, const F& f) const {
    for (int e = 0; e < out_.count; ++e) {
      if (contains(demand_.streams[step], e)) f(e);
    }
  }
  TYPEFLOW_COLD void drop_assigned(const ir::Step& step) {
    for (int i = step.inputs; i < step.operands.count; ++i) {
      const Id slot = demand_.operand(step, i);
      if (program_.slots[slot].kind == ir::SlotKind::variable) out_.drop_copies(slot);
    }
  }
  /// Blocks find captured tensors where they are, on each device that reads them.
  TYPEFLOW_COLD void give_captures(const ir::Step& step, const ir::ControlRecord& control,
                                   const BlockInputs& inputs) {
    for (int k = 0; k < control.blocks.count; ++k) {
      const ir::Block& block = demand_.block(control, k);
      for (int i = inputs.first_capture(); i < block.inputs.count; ++i) {
        const Id slot = demand_.listed(block.inputs, i);
        if (slot == none) continue;
        const Id outer = demand_.operand(step, inputs.operand(i));
        for (int e = 0; e < out_.count; ++e) {
          if (contains(demand_.readers[slot], e)) out_.set(slot, e, out_.operand(outer, e));
        }
      }
    }
  }
  TYPEFLOW_COLD void send_results(const ir::ControlRecord& control) {
    for (int i = 0; i < control.results.count; ++i) {
      const Id slot = demand_.listed(control.results, i);
      if (slot != none) out_.send_to_readers(slot, demand_.home[slot]);
    }
    if (control.done != none) out_.send_to_readers(control.done, demand_.home[control.done]);
  }

  /// All members learn a number of a tensor by which they decide. Returns its cell.
  TYPEFLOW_COLD int read(Id id, Id slot, int most, int loop) {
    int from = demand_.home[slot];
    if (from == the_host) from = demand_.device_of(id);
    const int place = out_.operand(slot, from);
    out_.touch(place);
    const int cell = out_.plan.cells++;
    out_.emit(from, Opcode::read, place, cell, most, loop);
    members_of(id, [&](int e) {
      if (e != from) out_.order(from, e);
    });
    return cell;
  }
  TYPEFLOW_COLD void walk(const ir::Block& block) {
    for (Id s = block.first; s < block.first + block.count; ++s) add(s);
  }
  TYPEFLOW_COLD void enter_scopes(Id id, int frames) {
    members_of(id, [&](int e) {
      out_.scope[e] = out_.plan.scopes.push({out_.scope[e], e, id, out_.now, out_.now, frames});
    });
  }
  TYPEFLOW_COLD void leave_scopes(Id id) {
    members_of(id, [&](int e) {
      Scope& scope = out_.plan.scopes[out_.scope[e]];
      scope.last = out_.now - 1;
      out_.scope[e] = scope.parent;
    });
  }

  /// A branch, or a block that runs once.
  TYPEFLOW_COLD void add_arms(Id id, const ir::Step& step, const ir::ControlRecord& control) {
    const bool chooses = control.kind == ir::ControlKind::branch;
    const int arms = control.blocks.count;
    const int device = demand_.device_of(id);
    int targets[max_devices] = {};
    if (chooses) {
      const int cell = read(id, demand_.operand(step, 0), arms - 1, none);
      members_of(id, [&](int e) {
        targets[e] = out_.plan.targets.size();
        for (int k = 0; k < arms; ++k) out_.plan.targets.push(0);
        out_.emit(e, Opcode::select, cell, targets[e], arms);
      });
    }
    const Pool<int> before = out_.knowledge();
    Pool<int> after;
    Pool<int> jumps;  // by arm and device: the jump to the end
    for (int k = 0; k < arms; ++k) {
      const ir::Block& arm = demand_.block(control, k);
      members_of(id, [&](int e) {
        if (chooses) out_.plan.targets[targets[e] + k] = out_.streams[e].size();
      });
      out_.know(before);
      enter_scopes(id, 1);
      const int mark = out_.enter_block();
      for (int i = 0; i < arm.results.count; ++i) {
        const Id inner = demand_.listed(arm.results, i);
        if (inner == none) continue;
        const Id slot = demand_.listed(control.results, i);
        const int place = out_.at(slot, demand_.home[slot]);
        if (demand_.home[inner] == demand_.home[slot]) out_.set(inner, demand_.home[slot], place);
      }
      walk(arm);
      for (int i = 0; i < arm.results.count; ++i) {  // computed on other devices than the branch's
        const Id inner = demand_.listed(arm.results, i);
        if (inner == none) continue;
        const Id slot = demand_.listed(control.results, i);
        if (demand_.home[inner] == demand_.home[slot]) continue;
        out_.copy(device, out_.operand(inner, device), out_.at(slot, device));
      }
      out_.leave_block(mark);
      leave_scopes(id);
      members_of(id, [&](int e) {
        jumps.push(out_.streams[e].size());
        if (chooses && k + 1 < arms) out_.emit(e, Opcode::jump, 0);
      });
      if (k == 0) {
        after = out_.knowledge();
      } else {
        for (int i = 0; i < after.size(); ++i) after[i] = std::min(after[i], out_.knowledge()[i]);
      }
      last_outside_ = none;
    }
    out_.know(after);
    int i = 0;
    for (int k = 0; k < arms; ++k) {
      members_of(id, [&](int e) {
        if (chooses && k + 1 < arms) out_.streams[e][jumps[i]].b = out_.streams[e].size();
        ++i;
      });
    }
  }

  /// The places of a loop's state: what an iteration reads and writes, and the two buffers.
  struct State {
    int device;
    int read;
    int written;
    int result;
    int other;
    int initial;
  };

  TYPEFLOW_COLD void add_loop(Id id, const ir::Step& step, const ir::ControlRecord& control,
                              const BlockInputs& inputs) {
    const bool tested = control.kind == ir::ControlKind::tested;
    const bool given = control.kind == ir::ControlKind::given;
    const ir::Block& body = demand_.block(control, tested ? 1 : 0);
    const bool several = (demand_.streams[id] & (demand_.streams[id] - 1)) != 0;
    const bool inner = loops_ > 0;
    const int frames = several && !inner && demand_.outside[id] == 0 ? max_frames : 1;
    bool draws = body.draws;
    for (int k = 0; k < control.blocks.count; ++k) draws = draws || demand_.block(control, k).draws;
    const int loop = out_.plan.loops.push(
        {id, tested, given, control.reversed, draws, frames, {}, control.count});
    out_.plan.frames = std::max(out_.plan.frames, frames);
    const int cell =
        given ? read(id, demand_.operand(step, inputs.count_operand()), -1, loop) : none;

    Pool<State> states;
    for (int i = 0; i < control.states; ++i) {
      const Id result = demand_.listed(control.results, i);
      State s{};
      s.device = demand_.home[result];
      s.result = out_.output(result, s.device);
      s.other = out_.output(demand_.listed(control.others, i), s.device);
      s.initial = out_.operand(demand_.operand(step, i), s.device);
      s.read = out_.add_bound(result, s.device);
      s.written = out_.add_bound(result, s.device);
      out_.touch(s.initial);
      out_.emit(s.device, Opcode::bind, s.read, s.initial);
      states.push(s);
    }
    Pool<int> wholes;  // of stacked outputs
    for (int i = control.states; i < body.results.count; ++i) {
      const Id slot = demand_.listed(control.results, i);
      wholes.push(slot == none ? none : out_.output(slot, demand_.home[slot]));
    }
    Pool<int> slices;  // of stacked inputs, by device
    for (int i = 0; i < control.slices; ++i) {
      const Id slot = demand_.listed(body.inputs, inputs.first_slice() + i);
      const Id outer = demand_.operand(step, control.states + i);
      for (int e = 0; e < out_.count; ++e) {
        const bool is_read = slot != none && contains(demand_.readers[slot], e);
        slices.push(is_read ? out_.operand(outer, e) : none);
      }
    }

    const Pool<int> before = out_.knowledge();
    enter_scopes(id, frames);
    const int mark = out_.enter_block();
    ++loops_;
    int heads[max_devices] = {};
    Pool<int> ends;  // by device: the event of the end of an iteration
    for (int e = 0; e < out_.count; ++e) {
      const bool member = contains(demand_.streams[id], e);
      ends.push(several && member ? out_.add_event(e) : none);
    }
    members_of(id, [&](int e) {
      out_.emit(e, Opcode::enter, loop, 0, cell);
      heads[e] = out_.streams[e].size();
      out_.emit(e, Opcode::iterate, loop);
      members_of(id, [&](int other) {
        if (other != e) out_.emit(e, Opcode::wait_iterations, ends[other], loop);
      });
      if (frames > 1) out_.emit(e, Opcode::frame, loop);
    });
    const int first_place = out_.plan.places.size();
    set_index(id, control, loop);
    Pool<int> exits;  // by member: of a tested loop
    if (tested) {
      const ir::Block& condition = demand_.block(control, 0);
      give_states(condition, states);
      walk(condition);
      const int goes_on = read(id, demand_.listed(condition.results, 0), -1, loop);
      members_of(id, [&](int e) {
        exits.push(out_.streams[e].size());
        out_.emit(e, Opcode::jump_unless, goes_on);
        if (control.count.coefficient >= 0) out_.emit(e, Opcode::check, loop);
      });
    }
    give_slices(control, inputs, body, slices, loop);
    for (int i = 0; i < body.results.count; ++i) {
      const Id slot = demand_.listed(body.results, i);
      if (slot == none) continue;
      const int device = demand_.home[slot];
      if (i < control.states) {
        out_.emit(device, Opcode::alternate, states[i].written, states[i].result, states[i].other,
                  loop);
        out_.set(slot, device, states[i].written);
      } else {
        const int row = out_.add_bound(slot, device);
        out_.emit(device, Opcode::slice, row, wholes[i - control.states], loop);
        out_.set(slot, device, row);
      }
    }
    give_states(body, states);
    walk(body);
    for (int i = 0; i < body.results.count; ++i) {
      const Id slot = demand_.listed(body.results, i);
      if (slot == none || !out_.plan.places[out_.at(slot, demand_.home[slot])].partial) continue;
      if (i >= control.states) {
        out_.plan.places[wholes[i - control.states]].partial = true;
      } else {
        out_.plan.places[states[i].result].partial = true;
        out_.plan.places[states[i].other].partial = true;
      }
    }
    for (const State& s : states) out_.emit(s.device, Opcode::bind, s.read, s.written);
    members_of(id, [&](int e) {
      if (several) out_.emit(e, Opcode::signal, ends[e]);
      out_.emit(e, Opcode::proceed, loop, heads[e]);
    });
    if (frames > 1) add_frame_places(loop, first_place);

    int m = 0;
    members_of(id, [&](int e) {
      const int end = out_.streams[e].size();
      out_.streams[e][heads[e]].b = end;
      if (tested) out_.streams[e][exits[m]].b = end;
      ++m;
    });
    if (tested && several) {  // the condition that did not hold was an iteration, too
      members_of(id, [&](int e) { out_.emit(e, Opcode::signal, ends[e]); });
    }
    --loops_;
    out_.leave_block(mark);
    leave_scopes(id);
    out_.forget(before);
    for (int i = control.states; i < body.results.count && given; ++i) {
      const Id slot = demand_.listed(body.results, i);
      if (slot != none)
        out_.emit(demand_.home[slot], Opcode::clear_rows, wholes[i - control.states], slot, loop);
    }
    if (control.done != none) {
      const int place = out_.output(control.done, demand_.home[control.done]);
      out_.emit(demand_.home[control.done], Opcode::set_count, place, 0, loop);
    }
    for (const State& s : states) {
      out_.emit(s.device, Opcode::finish_state, s.result, s.other, s.initial, loop);
      out_.touch(s.initial);
      out_.touch(s.other);
      out_.touch(s.result);
    }
    for (const int whole : wholes) out_.touch(whole);
    for (const int whole : slices) out_.touch(whole);
    members_of(id, [&](int e) { out_.emit(e, Opcode::leave, loop); });
  }

  /// Each frame of a loop has its own copy of the places from `first` on.
  TYPEFLOW_COLD void add_frame_places(int loop, int first) {
    Plan& plan = out_.plan;
    const int begin = plan.frame_places.size();
    for (int p = first; p < plan.places.size(); ++p) {
      const Place& place = plan.places[p];
      const bool in_loop = place.kind == PlaceKind::temporary && place.scope >= out_.count;
      if (in_loop) plan.frame_places.push({p, out_.scope[place.device]});
    }
    plan.loops[loop].frame_places = {begin, plan.frame_places.size() - begin};
  }
  TYPEFLOW_COLD void set_index(Id id, const ir::ControlRecord& control, int loop) {
    if (control.index == none) return;
    members_of(id, [&](int e) {
      int place = none;
      for (int k = 0; k < control.blocks.count; ++k) {
        const Id slot = demand_.listed(demand_.block(control, k).inputs, 0);
        if (slot == none || !contains(demand_.readers[slot], e)) continue;
        if (place == none) place = out_.add_temporary(control.index, e);
        out_.set(slot, e, place);
      }
      if (place == none) return;
      out_.plan.places[place].last = forever_;  // until the end of the iteration
      out_.emit(e, Opcode::set_index, place, 0, loop);
    });
  }
  /// A block reads the states on their device. Others that read them get copies.
  TYPEFLOW_COLD void give_states(const ir::Block& block, const Pool<State>& states) {
    for (int i = 0; i < states.size(); ++i) {
      const Id slot = demand_.listed(block.inputs, 1 + i);
      if (slot == none) continue;
      out_.set(slot, states[i].device, states[i].read);
      out_.send_to_readers(slot, states[i].device);
    }
  }
  TYPEFLOW_COLD void give_slices(const ir::ControlRecord& control, const BlockInputs& inputs,
                                 const ir::Block& body, const Pool<int>& slices, int loop) {
    for (int i = 0; i < control.slices; ++i) {
      const Id slot = demand_.listed(body.inputs, inputs.first_slice() + i);
      for (int e = 0; e < out_.count; ++e) {
        const int whole = slices[i * out_.count + e];
        if (whole == none) continue;
        const int row = out_.add_bound(slot, e);
        out_.emit(e, Opcode::slice, row, whole, loop);
        out_.set(slot, e, row);
      }
    }
  }

  static constexpr int max_frames = 4;
  static constexpr int forever_ = std::numeric_limits<int>::max();

  const ir::ProgramView& program_;
  std::span<const Id> steps_;
  Demand demand_;
  PlanBuilder out_;
  Id last_outside_ = none;
  int loops_ = 0;
};

}  // namespace typeflow::inline TYPEFLOW_TARGET::exec
