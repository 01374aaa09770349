// SPDX-License-Identifier: Apache-2.0
#pragma once

// Makes plans: walks a program's steps, with the blocks of branches and loops, and gives each to
// its stream. loop_planner.hpp has what is special about loops.

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "typeflow/exec/demand.hpp"
#include "typeflow/exec/detached_parts.hpp"
#include "typeflow/exec/loop_planner.hpp"
#include "typeflow/exec/opcode.hpp"
#include "typeflow/exec/plan.hpp"
#include "typeflow/exec/plan_builder.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

class Planner {
 public:
  /// `late(demand)` finds late copies (exec/late_copies.hpp).
  template <class Late>
  TYPEFLOW_COLD Planner(const ir::ProgramView& program, std::span<const MachineDevice> devices,
                        std::span<const Id> steps, const Late& late)
      : program_(program),
        steps_(steps),
        demand_(program, devices, steps),
        out_(program, devices, demand_,
             demand_.of_steps.waits() ? std::vector<LateCopy>{} : late(demand_)),
        group_(demand_, out_),
        accesses_(program) {}

  TYPEFLOW_COLD Planner(const ir::ProgramView& program, std::span<const MachineDevice> devices,
                        std::span<const Id> steps)
      : Planner(program, devices, steps, [&](const Demand& demand) {
          for (const MachineDevice& device : devices) {
            if (device.transport != nullptr) {
              return transported_copies(program, devices, demand, steps);
            }
          }
          return std::vector<LateCopy>{};
        }) {}

  TYPEFLOW_COLD Plan run() {
    for (const Id step : steps_) add(step);
    return out_.finish();
  }

 private:
  TYPEFLOW_COLD void add(Id id) {
    const ir::Step& step = program_.steps[id];
    const int outer = std::exchange(out_.step_stream, demand_.stream_of(id));
    if (program_.kernels[step.kernel].kind == ir::KernelKind::control) {
      add_control(id, step);
    } else {
      add_launch(id, step);
    }
    out_.step_stream = outer;
    out_.finish_step(id);
    if (depth_ == 0) out_.update_late_copies(id);
    if (demand_.of_steps.waits()) accesses_.add(id);
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

  /// The same for steps that have accessed its variables. (Where no step waits, a device has one
  /// stream, which keeps the program's order.)
  TYPEFLOW_COLD void wait_for_accesses(Id id, const ir::Step& step) {
    if (!demand_.of_steps.waits()) return;
    accesses_.before(step, [&](Id earlier) {
      group_.members_of(id, [&](int e) { out_.order_after(earlier, e); });
    });
  }

  TYPEFLOW_COLD void add_launch(Id id, const ir::Step& step) {
    const int stream = demand_.stream_of(id);
    wait_for_others(id, step, stream);
    wait_for_accesses(id, step);
    Pool<int> places;
    for (int i = 0; i < step.operands.count; ++i) {
      const Id slot = demand_.operand(step, i);
      if (i >= step.inputs) check_home(step, slot, stream);
      places.push(i < step.inputs ? out_.operand(slot, stream) : out_.output(slot, stream));
      out_.plan.places[places.back()].written |= i >= step.inputs;
    }
    for (const int place : places) out_.touch(place);
    const int first = out_.plan.operands.size();
    for (const int place : places) out_.plan.operands.push(place);
    const int launch =
        out_.plan.launches.push({id,
                                 out_.device(stream),
                                 {first, places.size()},
                                 out_.scope[stream],
                                 out_.now,
                                 add_dense_extents(out_.plan, program_, step, first)});
    out_.emit(stream, Opcode::launch, launch);
    for (int i = step.inputs; i < step.operands.count; ++i) {
      const Id slot = demand_.operand(step, i);
      if (program_.slots[slot].kind == ir::SlotKind::variable) {
        out_.drop_copies(slot);
      } else {
        out_.send_to_readers(slot, stream);
      }
    }
  }
  /// Error if a step would write a variable of another device.
  TYPEFLOW_COLD void check_home(const ir::Step& step, Id slot, int stream) const {
    if (program_.slots[slot].kind != ir::SlotKind::variable) return;
    if (out_.share_device(demand_.home[slot], stream)) return;
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
    group_.members_of(id, [&](int e) { wait_for_others(id, step, e); });
    wait_for_accesses(id, step);
    drop_assigned(step);
    make_results(control);
    const int outer = out_.slots.enter_block();
    give_captures(step, control, inputs);
    const Id outside_before = last_outside_;
    last_outside_ = none;
    if (inputs.is_loop()) {
      LoopPlanner loop(demand_, out_, {id, step, control, inputs, loops_ > 0});
      ++loops_;
      loop.run([this](const ir::Block& block) { walk(block); });
      --loops_;
    } else {
      add_arms(id, step, control);
    }
    last_outside_ = outside_before;
    // Each iteration may read the step's operands, so they live until here.
    for (int i = 0; i < step.inputs; ++i) {
      for (int e = the_host; e < out_.count; ++e)
        out_.touch_past(out_.at(demand_.operand(step, i), e));
    }
    out_.slots.leave_block(outer);
    drop_assigned(step);
    send_results(control);
  }
  /// Places for what the step writes besides variables.
  TYPEFLOW_COLD void make_results(const ir::ControlRecord& control) {
    for (const ir::Range slots : {ir::Range(control.results), ir::Range(control.second_buffers)}) {
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
  TYPEFLOW_COLD void drop_assigned(const ir::Step& step) {
    for (int i = step.inputs; i < step.operands.count; ++i) {
      const Id slot = demand_.operand(step, i);
      if (program_.slots[slot].kind == ir::SlotKind::variable) out_.drop_copies(slot);
    }
  }
  /// Blocks find captured tensors where they are, on each stream that reads them.
  TYPEFLOW_COLD void give_captures(const ir::Step& step, const ir::ControlRecord& control,
                                   const BlockInputs& inputs) {
    for (int k = 0; k < control.blocks.count; ++k) {
      const ir::Block& block = demand_.block(control, k);
      for (int i = inputs.first_capture(); i < block.inputs.count; ++i) {
        const Id slot = demand_.listed(block.inputs, i);
        if (slot == none) continue;
        const Id outer = demand_.operand(step, inputs.operand(i));
        for (int e = 0; e < out_.count; ++e) {
          if (demand_.readers[slot].contains(e)) out_.set(slot, e, out_.operand(outer, e));
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

  TYPEFLOW_COLD void walk(const ir::Block& block) {
    ++depth_;
    for (Id s = block.first; s < block.first + block.count; ++s) add(s);
    --depth_;
  }

  /// A branch, or a block that runs once.
  TYPEFLOW_COLD void add_arms(Id id, const ir::Step& step, const ir::ControlRecord& control) {
    const bool chooses = control.kind == ir::ControlKind::branch;
    const int arms = control.blocks.count;
    const int stream = demand_.stream_of(id);
    Pool<int> targets(out_.count, 0);
    if (chooses) {
      const int cell = group_.read(id, demand_.operand(step, 0), arms - 1, none);
      group_.members_of(id, [&](int e) {
        targets[e] = out_.plan.targets.size();
        for (int k = 0; k < arms; ++k) out_.plan.targets.push(0);
        out_.emit(e, Opcode::select, cell, targets[e], arms);
      });
    }
    const Pool<int> before = out_.clocks.snapshot();
    Pool<int> after;
    Pool<int> jumps;  // by arm and stream: the jump to the end
    for (int k = 0; k < arms; ++k) {
      const ir::Block& arm = demand_.block(control, k);
      group_.members_of(id, [&](int e) {
        if (chooses) out_.plan.targets[targets[e] + k] = out_.list(e).size();
      });
      out_.clocks.restore(before);
      group_.enter_scopes(id, 1);
      const int mark = out_.slots.enter_block();
      for (int i = 0; i < arm.results.count; ++i) {
        const Id inner = demand_.listed(arm.results, i);
        if (inner == none) continue;
        const Id slot = demand_.listed(control.results, i);
        const int place = out_.at(slot, demand_.home[slot]);
        if (demand_.home[inner] == demand_.home[slot]) out_.set(inner, demand_.home[slot], place);
      }
      walk(arm);
      for (int i = 0; i < arm.results.count; ++i) {  // computed on other streams than the branch's
        const Id inner = demand_.listed(arm.results, i);
        if (inner == none) continue;
        const Id slot = demand_.listed(control.results, i);
        if (demand_.home[inner] == demand_.home[slot]) continue;
        out_.copy(stream, out_.operand(inner, stream), out_.at(slot, stream));
      }
      out_.slots.leave_block(mark);
      group_.leave_scopes(id);
      group_.members_of(id, [&](int e) {
        jumps.push(out_.list(e).size());
        if (chooses && k + 1 < arms) out_.emit(e, Opcode::jump, 0);
      });
      if (k > 0) out_.clocks.intersect(after);
      after = out_.clocks.snapshot();
      last_outside_ = none;
    }
    out_.clocks.restore(after);
    int i = 0;
    for (int k = 0; k < arms; ++k) {
      group_.members_of(id, [&](int e) {
        if (chooses && k + 1 < arms) out_.list(e)[jumps[i]].b = out_.list(e).size();
        ++i;
      });
    }
  }

  const ir::ProgramView& program_;
  std::span<const Id> steps_;
  Demand demand_;
  PlanBuilder out_;
  StreamGroup group_;
  VariableAccesses accesses_;
  Id last_outside_ = none;
  int loops_ = 0;
  int depth_ = 0;  // of blocks
};

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
