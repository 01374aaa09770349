// SPDX-License-Identifier: Apache-2.0
#pragma once

// Plans loops. All streams that have a part in a loop have its jumps and counters in their lists.

#include <algorithm>
#include <limits>

#include "typeflow/exec/demand.hpp"
#include "typeflow/exec/opcode.hpp"
#include "typeflow/exec/plan.hpp"
#include "typeflow/exec/plan_builder.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// The streams that have a part in a branch or loop: its members.
class StreamGroup {
 public:
  StreamGroup(Demand& demand, PlanBuilder& out) : demand_(demand), out_(out) {}

  template <class F>
  void members_of(Id step, const F& f) const {
    for (int e = 0; e < out_.count; ++e) {
      if (demand_.streams[step].contains(e)) f(e);
    }
  }
  /// All members learn a number of a tensor by which they decide. Returns its cell.
  TYPEFLOW_COLD int read(Id id, Id slot, int most, int loop) {
    const int from = demand_.decider(id, slot);
    const int place = out_.operand(slot, from);
    out_.touch(place);
    const int cell = out_.plan.cells++;
    out_.emit(from, demand_.is_flag(slot) ? Opcode::read_flag : Opcode::read, place, cell, most,
              loop);
    members_of(id, [&](int e) {
      if (e != from) out_.order(from, e);
    });
    return cell;
  }
  TYPEFLOW_COLD void enter_scopes(Id id, int frames) {
    members_of(id, [&](int e) { out_.enter_scope(e, id, frames); });
  }
  TYPEFLOW_COLD void leave_scopes(Id id) {
    members_of(id, [&](int e) { out_.leave_scope(e); });
  }

 private:
  Demand& demand_;
  PlanBuilder& out_;
};

struct LoopStep {
  Id id;
  const ir::Step& step;
  const ir::ControlRecord& control;
  const BlockInputs& inputs;
  bool inner;  ///< inside another loop
};

class LoopPlanner {
 public:
  TYPEFLOW_COLD LoopPlanner(Demand& demand, PlanBuilder& out, const LoopStep& loop)
      : demand_(demand),
        out_(out),
        group_(demand, out),
        loop_step_(loop),
        control_(loop.control),
        tested_(control_.kind == ir::ControlKind::tested),
        given_(control_.kind == ir::ControlKind::given),
        body_(demand.block(control_, tested_ ? 1 : 0)),
        frames_(frames()) {}

  /// walk(block) plans the steps of a block.
  template <class Walk>
  TYPEFLOW_COLD void run(const Walk& walk) {
    begin();
    const Pool<int> before = out_.clocks.snapshot();
    group_.enter_scopes(loop_step_.id, frames_);
    const int mark = out_.slots.enter_block();
    begin_iteration();
    const int first_place = out_.plan.places.size();
    set_index();
    if (tested_) {
      const ir::Block& condition = demand_.block(control_, 0);
      give_states(condition);
      walk(condition);
      test(condition);
    }
    give_slices();
    give_results();
    give_states(body_);
    walk(body_);
    end_iteration();
    if (frames_ > 1) add_frame_places(first_place);
    find_targets();
    out_.slots.leave_block(mark);
    group_.leave_scopes(loop_step_.id);
    out_.clocks.intersect(before);
    finish();
  }

 private:
  /// The places of a carried state: what an iteration reads and writes, and the two buffers.
  struct State {
    int stream;
    int read;
    int written;
    int result;
    int other;
    int initial;
  };

  template <class F>
  void each_member(const F& f) const {
    group_.members_of(loop_step_.id, f);
  }

  /// Iterations may overlap if several devices share the loop, each by one stream. Those of inner
  /// loops, and of loops with an effect outside of variables, do not.
  TYPEFLOW_COLD int frames() {
    int members = 0;
    StreamSet devices{};
    bool shared = false;  // a device by streams
    each_member([&](int e) {
      ++members;
      shared = shared || devices.contains(out_.device(e));
      devices.add(out_.device(e));
    });
    several_ = members > 1;
    const bool outside = demand_.outside[loop_step_.id] != 0;
    if (!several_ || shared || loop_step_.inner || outside) return 1;
    return control_.parallel == 0 ? usual_frames : std::min(control_.parallel, max_frames);
  }

  /// Before the loop: its counters, and the places of its states and of stacked tensors.
  TYPEFLOW_COLD void begin() {
    bool draws = body_.draws;
    for (int k = 0; k < control_.blocks.count; ++k) {
      draws = draws || demand_.block(control_, k).draws;
    }
    loop_ = out_.plan.loops.push({loop_step_.id, tested_, given_, control_.reversed, draws, frames_,
                                  ir::Range{}, control_.count});
    out_.plan.frames = std::max(out_.plan.frames, frames_);
    const BlockInputs& inputs = loop_step_.inputs;
    if (given_) {
      const Id count = demand_.operand(loop_step_.step, inputs.count_operand());
      count_cell_ = group_.read(loop_step_.id, count, -1, loop_);
    }
    for (int i = 0; i < control_.states; ++i) {
      const Id result = demand_.listed(control_.results, i);
      State s{};
      s.stream = demand_.home[result];
      s.result = out_.output(result, s.stream);
      s.other = out_.output(demand_.listed(control_.second_buffers, i), s.stream);
      s.initial = out_.operand(demand_.operand(loop_step_.step, i), s.stream);
      s.read = out_.add_bound(result, s.stream);
      s.written = out_.add_bound(result, s.stream);
      out_.touch(s.initial);
      out_.emit(s.stream, Opcode::bind, s.read, s.initial);
      states_.push(s);
    }
    for (int i = control_.states; i < body_.results.count; ++i) {
      const Id slot = demand_.listed(control_.results, i);
      wholes_.push(slot == none ? none : out_.output(slot, demand_.home[slot]));
    }
    for (int i = 0; i < control_.stacked_inputs; ++i) {
      const Id slot = demand_.listed(body_.inputs, inputs.first_slice() + i);
      const Id outer = demand_.operand(loop_step_.step, control_.states + i);
      for (int e = 0; e < out_.count; ++e) {
        const bool is_read = slot != none && demand_.readers[slot].contains(e);
        slices_.push(is_read ? out_.operand(outer, e) : none);
      }
    }
  }

  TYPEFLOW_COLD void begin_iteration() {
    heads_ = Pool<int>(out_.count, 0);
    for (int e = 0; e < out_.count; ++e) {
      const bool member = demand_.streams[loop_step_.id].contains(e);
      ends_.push(several_ && member ? out_.add_event(e) : none);
    }
    each_member([&](int e) {
      out_.emit(e, Opcode::enter, loop_, 0, count_cell_);
      heads_[e] = out_.list(e).size();
      out_.emit(e, Opcode::iterate, loop_);
      each_member([&](int other) {
        if (other != e) out_.emit(e, Opcode::wait_iterations, ends_[other], loop_);
      });
      if (frames_ > 1) out_.emit(e, Opcode::frame, loop_);
    });
  }
  TYPEFLOW_COLD void set_index() {
    if (control_.index == none) return;
    each_member([&](int e) {
      int place = none;
      for (int k = 0; k < control_.blocks.count; ++k) {
        const Id slot = demand_.listed(demand_.block(control_, k).inputs, 0);
        if (slot == none || !demand_.readers[slot].contains(e)) continue;
        if (place == none) place = out_.add_temporary(control_.index, e);
        out_.set(slot, e, place);
      }
      if (place == none) return;
      out_.plan.places[place].last = forever;  // until the end of the iteration
      out_.emit(e, Opcode::set_index, place, 0, loop_);
    });
  }
  TYPEFLOW_COLD void test(const ir::Block& condition) {
    const Id holds = demand_.listed(condition.results, 0);
    const int goes_on = group_.read(loop_step_.id, holds, -1, loop_);
    each_member([&](int e) {
      exits_.push(out_.list(e).size());
      out_.emit(e, Opcode::jump_unless, goes_on);
      if (control_.count.coefficient >= 0) out_.emit(e, Opcode::check, loop_);
    });
  }
  /// A block reads the states on their stream. Others that read them get copies.
  TYPEFLOW_COLD void give_states(const ir::Block& block) {
    for (int i = 0; i < states_.size(); ++i) {
      const Id slot = demand_.listed(block.inputs, 1 + i);
      if (slot == none) continue;
      out_.set(slot, states_[i].stream, states_[i].read);
      out_.send_to_readers(slot, states_[i].stream);
    }
  }
  TYPEFLOW_COLD void give_slices() {
    for (int i = 0; i < control_.stacked_inputs; ++i) {
      const Id slot = demand_.listed(body_.inputs, loop_step_.inputs.first_slice() + i);
      for (int e = 0; e < out_.count; ++e) {
        const int whole = slices_[i * out_.count + e];
        if (whole == none) continue;
        const int row = out_.add_bound(slot, e);
        out_.emit(e, Opcode::slice, row, whole, loop_);
        out_.set(slot, e, row);
      }
    }
  }
  /// Where the body writes its results: a buffer of a state, a row of a stacked output.
  TYPEFLOW_COLD void give_results() {
    for (int i = 0; i < body_.results.count; ++i) {
      const Id slot = demand_.listed(body_.results, i);
      if (slot == none) continue;
      const int stream = demand_.home[slot];
      // (Other streams of the device may write parts of it.)
      const auto on_device = [&](const auto& f) {
        each_member([&](int e) {
          if (out_.share_device(e, stream)) f(e);
        });
      };
      if (i < control_.states) {
        const State& s = states_[i];
        on_device(
            [&](int e) { out_.emit(e, Opcode::alternate, s.written, s.result, s.other, loop_); });
        out_.set(slot, stream, s.written);
      } else {
        const int row = out_.add_bound(slot, stream);
        const int whole = wholes_[i - control_.states];
        on_device([&](int e) { out_.emit(e, Opcode::slice, row, whole, loop_); });
        out_.set(slot, stream, row);
      }
    }
  }
  TYPEFLOW_COLD void end_iteration() {
    Pool<Place>& places = out_.plan.places;
    for (int i = 0; i < body_.results.count; ++i) {
      const Id slot = demand_.listed(body_.results, i);
      if (slot == none || !places[out_.at(slot, demand_.home[slot])].partial) continue;
      if (i >= control_.states) {
        places[wholes_[i - control_.states]].partial = true;
      } else {
        places[states_[i].result].partial = true;
        places[states_[i].other].partial = true;
      }
    }
    for (const State& s : states_) out_.emit(s.stream, Opcode::bind, s.read, s.written);
    each_member([&](int e) {
      if (several_) out_.emit(e, Opcode::signal, ends_[e]);
      out_.emit(e, Opcode::proceed, loop_, heads_[e]);
    });
  }
  /// Each frame has its own copy of the places from `first` on.
  TYPEFLOW_COLD void add_frame_places(int first) {
    Plan& plan = out_.plan;
    const int begin = plan.frame_places.size();
    for (int p = first; p < plan.places.size(); ++p) {
      const Place& place = plan.places[p];
      const bool in_loop =
          place.kind == PlaceKind::temporary && plan.scopes[place.scope].step != none;
      if (in_loop) plan.frame_places.push({p, out_.scope[place.stream]});
    }
    plan.loops[loop_].frame_places = {begin, plan.frame_places.size() - begin};
  }
  /// The jumps out of the loop lead to here.
  TYPEFLOW_COLD void find_targets() {
    int m = 0;
    each_member([&](int e) {
      const int end = out_.list(e).size();
      out_.list(e)[heads_[e]].b = end;
      if (tested_) out_.list(e)[exits_[m]].b = end;
      ++m;
    });
    if (tested_ && several_) {  // the condition that did not hold was an iteration, too
      each_member([&](int e) { out_.emit(e, Opcode::signal, ends_[e]); });
    }
  }
  /// After the loop: its results are complete.
  TYPEFLOW_COLD void finish() {
    for (int i = control_.states; i < body_.results.count && given_; ++i) {
      const Id slot = demand_.listed(body_.results, i);
      if (slot == none) continue;
      const int whole = wholes_[i - control_.states];
      out_.touch(whole);
      out_.emit(demand_.home[slot], Opcode::clear_rows, whole, slot, loop_);
    }
    if (const Id done = control_.done; done != none) {
      const int home = demand_.home[done];
      const int place = out_.output(done, home);
      out_.touch(place);  // nobody may read it
      out_.emit(home, Opcode::set_count, place, 0, loop_);
    }
    for (const State& s : states_) {
      out_.emit(s.stream, Opcode::finish_state, s.result, s.other, s.initial, loop_);
      out_.touch(s.initial);
      out_.touch(s.other);
      out_.touch(s.result);
    }
    for (const int whole : wholes_) out_.touch(whole);
    for (const int whole : slices_) out_.touch(whole);
    each_member([&](int e) { out_.emit(e, Opcode::exit, loop_); });
  }

  static constexpr int usual_frames = 4;  ///< where the model does not say
  static constexpr int max_frames = 16;   ///< each takes memory
  static constexpr int forever = std::numeric_limits<int>::max();

  Demand& demand_;
  PlanBuilder& out_;
  StreamGroup group_;
  const LoopStep loop_step_;
  const ir::ControlRecord& control_;
  const bool tested_;
  const bool given_;
  const ir::Block& body_;
  bool several_ = false;  // several streams share it
  const int frames_;
  int loop_ = none;        // in Plan::loops
  int count_cell_ = none;  // of a given trip count
  Pool<State> states_;
  Pool<int> wholes_;  // stacked outputs
  Pool<int> slices_;  // stacked inputs, by stream
  Pool<int> ends_;    // by stream: the event of the end of an iteration
  Pool<int> heads_;   // by stream
  Pool<int> exits_;   // by member, of a tested loop
};

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
