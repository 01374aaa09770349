// SPDX-License-Identifier: Apache-2.0
#pragma once

// Carries out the instructions of a stream.

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "typeflow/core/failure.hpp"
#include "typeflow/core/philox.hpp"
#include "typeflow/exec/arena.hpp"
#include "typeflow/exec/asynchronous.hpp"
#include "typeflow/exec/launcher.hpp"
#include "typeflow/exec/opcode.hpp"
#include "typeflow/exec/plan.hpp"
#include "typeflow/exec/recorder.hpp"
#include "typeflow/exec/shared_run.hpp"
#include "typeflow/exec/transport.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// Carries out the instructions of one stream, from where it is.
class StreamRunner {
 public:
  StreamRunner(const Execution& execution, SharedRun& run, int stream)
      : execution_(execution),
        launcher_(execution),
        run_(run),
        plan_(*run.binding.plan),
        state_(run.state.streams[static_cast<std::size_t>(stream)]),
        failure_(state_.failure),
        at_(run.binding.at[stream].data()),
        device_(execution.device(plan_.devices[stream])),
        stream_(stream),
        is_host_(device_.memory->is_host()),
        is_mixed_(stream < plan_.first_transfer && plan_.first_transfer < plan_.streams.size()),
        own_(device_.stream == nullptr ? nullptr : device_.stream->asynchronous()),
        is_watched_(launcher_.is_watched(run.arena)),
        recorder_(is_watched_ ? nullptr : state_.recorder.get()),
        places_(plan_.places.data()),
        draw_(state_.draw) {
    set_frame(state_.frame);
  }

  /// Comes to the end, or to where the stream has to wait.
  void run() {
    state_.waiter.leave();
    try {
      const bool waits = !carry_out();
      if (waits || own_ == nullptr) {
        finish(device_.stream);
      } else {  // what comes next on the device comes after this run: see SharedRun::join_devices
        own_->settle();
      }
      if (failure_.what > 0) launcher_.fail(run_.arena, failure_);
      if (waits) {
        state_.draw = draw_;
        return;
      }
    } catch (const RunStopped&) {
      end_early(nullptr);
    } catch (...) {
      end_early(std::current_exception());
    }
    state_.is_done = true;
  }

 private:
  TYPEFLOW_COLD void end_early(std::exception_ptr found) {
    finish(device_.stream);
    state_.waiter.leave();
    run_.end_early(std::move(found), launch_);
  }
  /// The run has been stopped: the stream ends before the next launch from an instruction on.
  TYPEFLOW_COLD bool end_before(const Instruction* from) {
    run_.end_early(nullptr, next_launch(plan_, stream_, from));
    return true;
  }

  /// Returns false if the stream has to wait before the instruction state_.next.
  //
  // Most instructions of a loop are carried out here, the others by a call: with fewer, the
  // compiler keeps `i` and the tables in registers.
  bool carry_out() {
    const ir::Range range = plan_.streams[stream_];
    const Instruction* const base = plan_.instructions.data();
    const Instruction* const end = base + range.first + range.count;
    const Instruction* i = base + state_.next;
    if (run_.is_stopped()) {
      if (state_.event == carries) end_transfer();
      return end_before(i);
    }
    void** const at = at_;
    LoopState* const loops = state_.loops.items;
    while (i != end) {
      const Instruction& now = *i++;
      switch (now.opcode) {
        case Opcode::launch: {
          if (run_.is_stopped()) return end_before(&now);
          if (is_mixed_ && run_.is_transfer_ready(plan_.devices.items[stream_])) {
            state_.event = begins;
            return leave(now);
          }
          if (recorder_ != nullptr) {
            if (const Instruction* const next = play(now); next != &now) {
              i = next;
              break;
            }
          }
          launch_ = now.a;
          BoundLaunch& launch = run_.binding.launches[now.a];
          if (is_watched_) {
            launcher_.call_watched(plan_.launches.items[now.a], launch, run_.arena, at, draw_,
                                   failure_);
          } else {
            launcher_.call(launch, at, draw_, failure_);
          }
          if (failure_.what == 0) break;
          if (failure_.what > 0) launcher_.fail(run_.arena, failure_);
          failure_.what = 0;
          state_.event = none;
          return leave(now);
        }
        case Opcode::read_flag:
          if (!is_host_) {
            if (recorder_ != nullptr) {
              if (const Instruction* const next = play(now); next != &now) {
                i = next;
                break;
              }
            }
            read(now);
          } else {
            finish(device_.stream);
            const bool yes = *static_cast<const bool*>(at[now.a]);
            cells_[now.b] = now.c < 0 ? yes : !yes;
          }
          break;
        case Opcode::jump:
          i = base + now.b;
          break;
        case Opcode::jump_unless:
          if (cells_[now.a] == 0) i = base + now.b;
          break;
        case Opcode::select:
          i = base + plan_.targets.items[now.b + static_cast<int>(cells_[now.a])];
          break;
        case Opcode::proceed:
          if (run_.is_stopped()) return end_before(base + now.b);
          ++loops[now.a].done;
          i = base + now.b;
          break;
        case Opcode::iterate: {
          LoopState& loop = loops[now.a];
          if (loop.done >= loop.limit) {
            i = base + now.b;
            break;
          }
          ++loop.begun;
          loop.index = loop.first + loop.step * loop.done;
          if (loop.draws) draw_ = draw_of_iteration(loop.draw, loop.index);
          break;
        }
        case Opcode::bind:
          at[now.a] = at[now.b];
          break;
        case Opcode::slice:
          at[now.a] =
              static_cast<std::byte*>(at[now.b]) + loops[now.c].index * bytes(places_[now.a].slot);
          break;
        case Opcode::alternate:
          at[now.a] = at[loops[now.d].writes_result() ? now.b : now.c];
          break;
        case Opcode::set_index:
          before_copy();  // the number of the iteration before may still be read
          store(now.a, static_cast<std::int32_t>(loops[now.c].index));
          break;
        default:
          if (recorder_ != nullptr && (now.opcode == Opcode::read || now.opcode == Opcode::enter)) {
            if (const Instruction* const next = play(now); next != &now) {
              i = next;
              break;
            }
          }
          switch (carry_out(now)) {
            case Then::go_on:
              break;
            case Then::wait:
              return leave(now);
            case Then::end:
              return end_before(&now);
          }
      }
    }
    return true;
  }
  TYPEFLOW_COLD bool leave(const Instruction& at) {
    state_.next = static_cast<int>(&at - plan_.instructions.data());
    return false;
  }

  /// What the stream does after an instruction.
  enum class Then : std::uint8_t { go_on, wait, end };

  /// The instructions that are not part of most iterations.
  [[gnu::noinline]] Then carry_out(const Instruction& now) {
    switch (now.opcode) {
      case Opcode::copy:
        return send(now.a, now.b) ? Then::go_on : Then::wait;
      case Opcode::signal:
        own_ != nullptr ? precede(plan_.events.items[now.a].to) : finish(device_.stream);
        signals_of(now.a).fetch_add(1);
        run_.ring();
        break;
      case Opcode::wait:
        if (!wait(now.a, state_.waited.items[now.a] + 1)) return Then::wait;
        ++state_.waited.items[now.a];
        return run_.is_stopped() ? Then::end : Then::go_on;
      case Opcode::wait_iterations: {
        const std::uint64_t begun = state_.loops.items[now.b].begun;
        const auto frames = static_cast<std::uint64_t>(plan_.loops.items[now.b].frames);
        if (begun <= frames) break;
        if (!wait(now.a, begun - frames)) return Then::wait;
        return run_.is_stopped() ? Then::end : Then::go_on;
      }
      case Opcode::read:
        read(now);
        break;
      case Opcode::enter:
        enter(now);
        break;
      case Opcode::check:
        check(now.a);
        break;
      case Opcode::exit:
        draw_ = state_.loops.items[now.a].draw;
        if (plan_.loops.items[now.a].frames > 1) set_frame(0);
        break;
      case Opcode::frame:
        next_frame(now.a);
        break;
      case Opcode::finish_state:
        finish_state(now);
        break;
      case Opcode::set_count:
        store(now.a, static_cast<std::int32_t>(state_.loops.items[now.c].done));
        break;
      case Opcode::clear_rows:
        clear_rows(now);
        break;
      default:  // in carry_out()
        break;
    }
    return Then::go_on;
  }

  std::atomic<std::uint64_t>& signals_of(int event) const {
    return run_.state.events[static_cast<std::size_t>(event)].signals;
  }
  std::int64_t bytes(Id slot) const { return run_.arena.slot_bytes[slot]; }
  void set_frame(int frame) {
    state_.frame = frame;
    cells_ = run_.state.cells.items + frame * plan_.cells;
  }
  Memory* memory_of(int place) const {
    const int device = plan_.places.items[place].device;
    return device == the_host ? nullptr : execution_.device(device).memory;
  }

  /// Lets a stream go on only after the kernels that were called; none: all streams that have
  /// instructions.
  void precede(int stream) const {
    for (int s = 0; s < plan_.streams.size(); ++s) {
      if (stream == none ? plan_.streams.items[s].count == 0 : s != stream) continue;
      Stream* const other = execution_.device(plan_.devices.items[s]).stream;
      if (other != device_.stream) own_->precede(other);
    }
  }
  /// Has copies come after the kernels that were called.
  void before_copy() const {
    if (own_ == nullptr) finish(device_.stream);
  }
  /// Makes the instructions from one on, as far as they are recorded. Returns the one after them.
  TYPEFLOW_COLD const Instruction* play(const Instruction& now) {
    if (now.opcode == Opcode::launch) launch_ = now.a;
    const ir::Range range = plan_.streams[stream_];
    return recorder_->play({execution_, launcher_, run_.arena, run_.binding, at_, draw_, failure_},
                           &now, plan_.instructions.data() + range.first + range.count);
  }
  /// The memory to which a copy brings a fed tensor, if its device works by itself; else null.
  AsynchronousMemory* fed_memory(int from, int to) const {
    const Place& place = plan_.places.items[from];
    if (place.device != the_host || memory_of(to) == nullptr) return nullptr;
    const bool is_fed = execution_.program.slots[place.slot].kind == ir::SlotKind::placeholder;
    return is_fed ? memory_of(to)->asynchronous() : nullptr;
  }
  void copy(int from, int to) {
    before_copy();
    AsynchronousMemory* const fed = fed_memory(from, to);
    if (fed != nullptr) return fed->feed(at_[to], at_[from], bytes(plan_.places.items[from].slot));
    transfer(memory_of(from), at_[from], memory_of(to), at_[to],
             bytes(plan_.places.items[from].slot));
  }
  /// Copies a tensor to another place. Returns false if the thread has to do other things until it
  /// is there.
  bool send(int from, int to) {
    const int from_device = plan_.places.items[from].device;
    const int to_device = plan_.places.items[to].device;
    if (from_device == to_device || from_device == the_host || to_device == the_host) {
      copy(from, to);
      return true;
    }
    if (state_.event == carries) return has_arrived(from, to);
    const std::int64_t size = bytes(plan_.places.items[from].slot);
    DeviceCounters& counters = execution_.counters[from_device];
    counters.sent.fetch_add(size, std::memory_order_relaxed);
    Transport* const transport = execution_.device(from_device).transport;
    if (transport == nullptr || size == 0) {
      copy(from, to);
      return true;
    }
    finish(device_.stream);
    state_.transfer.begin([](void* of) noexcept { static_cast<SharedRun*>(of)->ring(); }, &run_);
    state_.event = carries;
    try {
      transport->begin({execution_.device(from_device).device, execution_.device(to_device).device,
                        memory_of(from), at_[from], memory_of(to), at_[to], size},
                       state_.transfer);
    } catch (const std::exception& error) {
      state_.event = none;
      fail_transfer(from, to, error.what());
    }
    return has_arrived(from, to);
  }
  bool has_arrived(int from, int to) {
    if (!state_.transfer.is_over()) return false;
    state_.event = none;
    if (!state_.transfer.has_arrived()) fail_transfer(from, to, state_.transfer.reason());
    return true;
  }
  /// The run has been stopped while a transfer is under way.
  TYPEFLOW_COLD void end_transfer() {
    if (!state_.transfer.is_over()) device_.transport->cancel(state_.transfer);
    run_.bell.wait([&] { return state_.transfer.is_over(); });
    static_cast<void>(state_.transfer.has_arrived());  // nobody touches this object any more
    state_.event = none;
  }
  [[noreturn]] TYPEFLOW_COLD void fail_transfer(int from, int to, std::string_view reason) const {
    const ir::ProgramView& program = execution_.program;
    const ir::Slot& slot = program.slots[plan_.places[from].slot];
    Message what{};
    what << "can't be carried from " << execution_.device(plan_.places[from].device).device
         << " to " << execution_.device(plan_.places[to].device).device << ": "
         << (reason.empty() ? std::string_view("the transport gives no reason") : reason);
    if (slot.step != none) {
      typeflow::detail::fail_step(program, program.steps[slot.step],
                                  "its result " + std::string(what.view()));
    }
    Message where{};
    if (slot.kind == ir::SlotKind::variable) {
      where << "variable \"";
      print_name(where, program, program.variables[slot.index].name);
      where << '"';
    } else {
      where << "a tensor of a loop or branch";
    }
    throw Error(std::string(where.view()), std::string(what.view()));
  }
  /// Waits until an event was signalled so often, or the run is stopped. Returns false if the
  /// thread has to do other things until then.
  bool wait(int event, std::uint64_t signals) {
    const std::atomic<std::uint64_t>& count = signals_of(event);
    if (count.load(std::memory_order_acquire) >= signals) return true;
    if (plan_.waits) {
      state_.event = event;
      state_.signals = signals;
      return run_.is_stopped();
    }
    run_.bell.wait([&] { return count.load() >= signals || run_.is_stopped(); });
    return true;
  }
  /// Reads a number for decisions. The choice of a branch becomes the number of an arm.
  void read(const Instruction& now) {
    own_ != nullptr ? own_->settle() : finish(device_.stream);
    const int place = now.a;
    std::int64_t value = 0;
    if (now.opcode == Opcode::read_flag) {
      const bool yes = load<bool>(place);
      value = now.c < 0 ? yes : (yes ? 0 : 1);
    } else {
      const auto number = load<std::int32_t>(place);
      value = now.c >= 0 && (number < 0 || number > now.c) ? now.c : number;
    }
    cells_[now.b] = value;
  }
  template <class T>
  T load(int place) const {
    if (is_host_) return *static_cast<const T*>(at_[place]);
    T number;
    transfer(memory_of(place), at_[place], nullptr, &number, sizeof number);
    return number;
  }
  void store(int place, std::int32_t number) {
    if (is_host_) {
      *static_cast<std::int32_t*>(at_[place]) = number;
      return;
    }
    transfer(nullptr, &number, memory_of(place), at_[place], sizeof number);
  }

  // Loops.

  TYPEFLOW_COLD void enter(const Instruction& now) {
    const Loop& loop = plan_.loops.items[now.a];
    LoopState& state = state_.loops.items[now.a];
    state.done = 0;
    state.count = loop.given ? cells_[now.c] : loop.max_trip_count.resolve(run_.arena.sizes);
    state.limit = loop.tested ? std::numeric_limits<std::int64_t>::max() : state.count;
    state.first = loop.reversed ? state.count - 1 : 0;
    state.step = loop.reversed ? -1 : 1;
    state.turn = loop.tested ? 0 : state.count - 1;
    state.draws = loop.draws;
    state.draw = draw_;
  }
  void check(int l) {
    const LoopState& state = state_.loops.items[l];
    if (state.count < 0 || state.done < state.count) return;
    launcher_.fail_after(execution_.program.steps[plan_.loops.items[l].step], state.count);
  }
  /// The temporaries of this iteration are those of its frame.
  void next_frame(int l) {
    const Loop& loop = plan_.loops.items[l];
    const auto begun = state_.loops.items[l].begun - 1;
    set_frame(static_cast<int>(begun % static_cast<std::uint64_t>(loop.frames)));
    const FramePlace* const places = plan_.frame_places.items + loop.frame_places.first;
    for (int p = 0; p < loop.frame_places.count; ++p) {
      at_[places[p].place] = static_cast<std::byte*>(run_.binding.own.items[places[p].place]) +
                             state_.frame * run_.binding.layout.frame_bytes.items[places[p].scope];
    }
  }
  /// Copies a state to the result, unless its last value was written there.
  void finish_state(const Instruction& now) {
    const LoopState& state = state_.loops.items[now.d];
    if (plan_.loops.items[now.d].tested ? state.done % 2 == 1 : state.done > 0) return;
    copy(state.done > 0 ? now.b : now.c, now.a);
  }
  /// Clears the rows of a stacked output that no iteration has written.
  void clear_rows(const Instruction& now) {
    const std::int64_t row = bytes(now.b);
    const std::int64_t done = state_.loops.items[now.c].done;
    const std::int64_t most = plan_.loops.items[now.c].max_trip_count.resolve(run_.arena.sizes);
    if (most <= done || row == 0) return;
    before_copy();
    device_.memory->clear(static_cast<std::byte*>(at_[now.a]) + done * row, (most - done) * row);
  }

  const Execution& execution_;
  Launcher launcher_;
  SharedRun& run_;
  const Plan& plan_;
  StreamState& state_;
  Failure& failure_;
  void** const at_;
  const MachineDevice& device_;
  const int stream_;
  const bool is_host_;             // the device's memory is the host's
  const bool is_mixed_;            // its thread has transfers to make between launches
  AsynchronousStream* const own_;  // null: copies wait for kernels
  const bool is_watched_;
  Recorder* const recorder_;  // null: all instructions are made one by one
  const Place* const places_;
  std::int64_t* cells_ = nullptr;  // of the frame
  std::uint64_t draw_;
  int launch_ = -1;  // the last one
};

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
