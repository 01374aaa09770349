// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "typeflow/exec/demand.hpp"
#include "typeflow/exec/opcode.hpp"
#include "typeflow/exec/simulate.hpp"
#include "typeflow/exec/simulated_memory.hpp"
#include "typeflow/lower/cost.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

class Simulator {
 public:
  TYPEFLOW_COLD Simulator(const ir::ProgramView& program, std::span<const MachineDevice> devices,
                          const Plan& plan, const SimulationOptions& options)
      : program_(program),
        devices_(devices),
        plan_(plan),
        options_(options),
        layout_(LayoutPlanner(program, plan, options.sizes, false).run()),
        memory_(devices.size()),
        events_(static_cast<std::size_t>(plan.events.size())),
        cells_(static_cast<std::size_t>(plan.cells * plan.frames), 0),
        asked_(static_cast<std::size_t>(plan.cells), 0),
        random_(options.seed),
        free_(devices.size(), 0) {
    out_.busy.resize(devices.size());
    for (int s = 0; s < std::max(plan.streams.size(), 1); ++s) {
      Stream stream;
      stream.clock.resize(static_cast<std::size_t>(std::max(plan.streams.size(), 1)), 0);
      for (int p = 0; p < plan.places.size(); ++p) {
        const Place& place = plan.places[p];
        const bool is_resident = place.kind == PlaceKind::resident;
        if (place.kind == PlaceKind::temporary || is_resident) {
          stream.at.push_back(
              {place.device, is_resident ? resident_offset(p) : layout_.offset[p], p});
        } else {
          stream.at.push_back({the_host, 0, p});
        }
      }
      stream.loops.resize(static_cast<std::size_t>(plan.loops.size()));
      stream.waited.resize(static_cast<std::size_t>(plan.events.size()), 0);
      if (plan.streams.size() > 0) stream.pc = plan.streams[s].first;
      streams_.push_back(std::move(stream));
    }
    write_residents();
  }

  TYPEFLOW_COLD Simulation run() {
    if (plan_.streams.empty()) {
      for (int l = 0; l < plan_.launches.size() && out_.wrong.empty(); ++l) {
        launch(0, streams_[0], plan_.launches[l]);
      }
    } else {
      while (out_.wrong.empty() && go_on()) {
      }
    }
    for (const Stream& stream : streams_) out_.seconds = std::max(out_.seconds, stream.time);
    return std::move(out_);
  }

 private:
  /// Resident copies lie far behind the arena, and are valid before the run.
  static std::int64_t resident_offset(int place) { return (std::int64_t{place} + 1) << 40; }
  TYPEFLOW_COLD void write_residents() {
    const VectorClock clock(streams_[0].clock.size(), 0);
    for (int p = 0; p < plan_.places.size(); ++p) {
      const Place& place = plan_.places[p];
      if (place.kind != PlaceKind::resident) continue;
      memory_[static_cast<std::size_t>(place.device)].write(
          p, resident_offset(p), resident_offset(p) + bytes(p), 0, clock, false);
    }
  }

  struct Address {
    int device;
    std::int64_t offset;
    int root;
  };
  struct LoopPlace {
    std::int64_t done = 0;
    std::int64_t count = 0;
    std::int64_t index = 0;
    std::uint64_t begun = 0;
  };
  struct Stream {
    int pc = 0;
    double time = 0;
    VectorClock clock;
    std::vector<Address> at;
    std::vector<LoopPlace> loops;
    std::vector<std::uint64_t> waited;
    int frame = 0;
  };
  struct Signal {
    double time;
    VectorClock clock;
  };

  template <class V>
  static auto& at(V& v, int i) {
    return v[static_cast<std::size_t>(i)];
  }
  std::uint64_t draw(std::uint64_t count) {
    random_ = random_ * 6364136223846793005ull + 1442695040888963407ull;
    return (random_ >> 33) % count;
  }

  /// One instruction of one stream. Returns false when all streams are done.
  TYPEFLOW_COLD bool go_on() {
    int chosen = none;
    int waiting = none;
    std::uint64_t candidates = 0;
    for (int s = 0; s < plan_.streams.size(); ++s) {
      Stream& stream = at(streams_, s);
      const ir::Range range = plan_.streams[s];
      if (stream.pc == range.first + range.count) continue;
      if (!is_ready(stream)) {
        waiting = s;
        continue;
      }
      ++candidates;
      const bool later = chosen != none && stream.time >= at(streams_, chosen).time;
      if (options_.seed == 0 ? !later : draw(candidates) == 0) chosen = s;
    }
    if (chosen != none) {
      step(chosen, at(streams_, chosen));
      return true;
    }
    if (waiting != none) {
      Message text{};
      text << "the stream of " << at(devices_, plan_.devices[waiting]).device
           << " waits for ever at instruction "
           << at(streams_, waiting).pc - plan_.streams[waiting].first;
      out_.wrong = std::string(text.view());
    }
    return false;
  }
  /// How often the event at hand must have been signalled.
  std::uint64_t expected(const Stream& stream, const Instruction& i) const {
    if (i.opcode == Opcode::wait) return at(stream.waited, i.a) + 1;
    if (i.opcode != Opcode::wait_iterations) return 0;
    const std::uint64_t begun = at(stream.loops, i.b).begun;
    const auto frames = static_cast<std::uint64_t>(plan_.loops[i.b].frames);
    return begun > frames ? begun - frames : 0;
  }
  bool is_ready(const Stream& stream) const {
    const Instruction& i = plan_.instructions[stream.pc];
    const std::uint64_t signals = expected(stream, i);
    return signals == 0 || at(events_, i.a).size() >= signals;
  }

  TYPEFLOW_COLD void step(int s, Stream& stream) {
    const Instruction& i = plan_.instructions[stream.pc++];
    ++at(stream.clock, s);
    switch (i.opcode) {
      case Opcode::launch:
        return launch(s, stream, plan_.launches[i.a]);
      case Opcode::copy:
        read(s, stream, i.a);
        write(s, stream, i.b);
        return spend(s, stream, none,
                     static_cast<double>(bytes(i.a)) / options_.copied_bytes_per_second);
      case Opcode::signal:
        at(events_, i.a).push_back({stream.time, stream.clock});
        return;
      case Opcode::wait:
      case Opcode::wait_iterations: {
        const std::uint64_t signals = expected(stream, i);
        if (i.opcode == Opcode::wait) ++at(stream.waited, i.a);
        if (signals == 0) return;
        const Signal& signal = at(events_, i.a)[signals - 1];
        stream.time = std::max(stream.time, signal.time);
        for (std::size_t k = 0; k < signal.clock.size(); ++k) {
          stream.clock[k] = std::max(stream.clock[k], signal.clock[k]);
        }
        return;
      }
      case Opcode::read:
      case Opcode::read_flag:
        read(s, stream, i.a);
        return decide(stream, i);
      case Opcode::jump:
        stream.pc = i.b;
        return;
      case Opcode::jump_unless:
        if (cell(stream, i.a) == 0) stream.pc = i.b;
        return;
      case Opcode::select:
        stream.pc = plan_.targets[i.b + static_cast<int>(cell(stream, i.a))];
        return;
      case Opcode::enter: {
        const Loop& loop = plan_.loops[i.a];
        LoopPlace& place = at(stream.loops, i.a);
        place.done = 0;
        place.count = loop.given ? cell(stream, i.c) : loop.max_trip_count.resolve(options_.sizes);
        return;
      }
      case Opcode::iterate: {
        const Loop& loop = plan_.loops[i.a];
        LoopPlace& place = at(stream.loops, i.a);
        if (!loop.tested && place.done >= place.count) {
          stream.pc = i.b;
          return;
        }
        ++place.begun;
        place.index = loop.reversed ? place.count - 1 - place.done : place.done;
        return;
      }
      case Opcode::check:
        return;
      case Opcode::proceed:
        ++at(stream.loops, i.a).done;
        stream.pc = i.b;
        return;
      case Opcode::exit:
        if (plan_.loops[i.a].frames > 1) stream.frame = 0;
        return;
      case Opcode::frame:
        return next_frame(stream, i.a);
      case Opcode::bind:
        at(stream.at, i.a) = at(stream.at, i.b);
        return;
      case Opcode::slice:
        at(stream.at, i.a) = at(stream.at, i.b);
        at(stream.at, i.a).offset += at(stream.loops, i.c).index * bytes(i.a);
        return;
      case Opcode::alternate: {
        const LoopPlace& place = at(stream.loops, i.d);
        const bool result =
            plan_.loops[i.d].tested ? place.done % 2 == 0 : (place.count - 1 - place.done) % 2 == 0;
        at(stream.at, i.a) = at(stream.at, result ? i.b : i.c);
        return;
      }
      case Opcode::finish_state: {
        const std::int64_t done = at(stream.loops, i.d).done;
        if (plan_.loops[i.d].tested ? done % 2 == 1 : done > 0) return;
        read(s, stream, done > 0 ? i.b : i.c);
        return write(s, stream, i.a);
      }
      case Opcode::set_index:
      case Opcode::set_count:
        return write(s, stream, i.a);
      case Opcode::clear_rows: {
        const LoopPlace& place = at(stream.loops, i.c);
        const std::int64_t row = slot_bytes(i.b);
        const std::int64_t most = plan_.loops[i.c].max_trip_count.resolve(options_.sizes);
        const Address whole = at(stream.at, i.a);
        if (most <= place.done) return;
        return write(s, stream, i.a, whole.offset + place.done * row, whole.offset + most * row);
      }
    }
  }

  std::int64_t slot_bytes(Id slot) const {
    const Type& type = program_.type_of(slot);
    return checked_product(count_of(type.dims).resolve(options_.sizes), size_of(type.dtype));
  }
  std::int64_t bytes(int place) const { return slot_bytes(plan_.places[place].slot); }
  std::int64_t& cell(const Stream& stream, int c) {
    return at(cells_, c * plan_.frames + stream.frame);
  }

  /// Chooses the number that a stream reads.
  TYPEFLOW_COLD void decide(const Stream& stream, const Instruction& i) {
    std::int64_t& value = cell(stream, i.b);
    if (i.c >= 0) {  // the arm of a branch
      value = options_.seed == 0
                  ? 0
                  : static_cast<std::int64_t>(draw(static_cast<std::uint64_t>(i.c) + 1));
      return;
    }
    const std::int64_t most = plan_.loops[i.d].max_trip_count.resolve(options_.sizes);
    const std::int64_t count = most < 0 ? options_.iterations : std::min(options_.iterations, most);
    if (plan_.loops[i.d].given) {
      value = count;
    } else {  // a condition
      std::int64_t& asked = at(asked_, i.b);
      value = asked < count;
      asked = value != 0 ? asked + 1 : 0;
    }
  }
  TYPEFLOW_COLD void next_frame(Stream& stream, int l) {
    const Loop& loop = plan_.loops[l];
    stream.frame =
        static_cast<int>((at(stream.loops, l).begun - 1) % static_cast<std::uint64_t>(loop.frames));
    for (int p = 0; p < loop.frame_places.count; ++p) {
      const FramePlace& place = plan_.frame_places[loop.frame_places.first + p];
      at(stream.at, place.place).offset =
          layout_.offset[place.place] + stream.frame * layout_.frame_bytes[place.scope];
    }
  }

  TYPEFLOW_COLD void launch(int s, Stream& stream, const Launch& launch) {
    const ir::Step& step = program_.steps[launch.step];
    if (plan_.streams.empty()) ++at(stream.clock, s);
    std::int64_t copied = 0;  // bytes that are read and written because a part was detached
    for (int i = 0; i < launch.places.count; ++i) {
      const int place = plan_.operands[launch.places.first + i];
      const int device = at(stream.at, place).device;
      const bool is_there = device == launch.device ||
                            (device == the_host && at(devices_, launch.device).memory->is_host());
      if (!is_there && out_.wrong.empty()) wrong(place, "is not on the device of its step");
      const Id slot = program_.operands[step.operands.first + i];
      const bool is_part = program_.slots[slot].within != none;
      const bool is_detached = is_part && plan_.places[place].slot == slot;
      if (i < step.inputs) {
        read(s, stream, place);
        if (is_detached) copied = checked_sum(copied, checked_product(2, slot_bytes(slot)));
      } else {
        write(s, stream, place, is_part && !is_detached);
      }
    }
    const ir::StepCost cost = cost_of(program_, step, options_.sizes);
    const double told = std::max(static_cast<double>(cost.flops) / options_.flops_per_second,
                                 static_cast<double>(cost.bytes) / options_.bytes_per_second);
    spend(s, stream, launch.step,
          (options_.seconds ? options_.seconds(launch.step) : told) +
              static_cast<double>(copied) / options_.bytes_per_second);
  }
  TYPEFLOW_COLD void spend(int s, Stream& stream, Id step, double seconds) {
    const int device = plan_.streams.empty() ? plan_.main_device : plan_.devices[s];
    const double all = seconds + options_.launch_seconds;
    const double begin = std::max(stream.time, at(free_, device));
    stream.time = begin + all;
    at(free_, device) = stream.time;
    at(out_.busy, device) += all;
    out_.spans.push_back({device, step, begin, stream.time});
  }

  TYPEFLOW_COLD void read(int s, Stream& stream, int place) {
    const Address& address = at(stream.at, place);
    // (The root's memory counts: a slice of a partial tensor is partial.)
    if (address.device == the_host || plan_.places[address.root].partial) return;
    wrong(place,
          at(memory_, address.device)
              .read(address.root, address.offset, address.offset + bytes(place), s, stream.clock));
  }
  TYPEFLOW_COLD void write(int s, Stream& stream, int place, bool is_part = false) {
    const Address& address = at(stream.at, place);
    write(s, stream, place, address.offset, address.offset + bytes(place), is_part);
  }
  TYPEFLOW_COLD void write(int s, Stream& stream, int place, std::int64_t begin, std::int64_t end,
                           bool is_part = false) {
    const Address& address = at(stream.at, place);
    if (address.device == the_host) return;
    wrong(place,
          at(memory_, address.device).write(address.root, begin, end, s, stream.clock, is_part));
  }
  TYPEFLOW_COLD void wrong(int place, const std::string& what) {
    if (what.empty() || !out_.wrong.empty()) return;
    const Id slot = plan_.places[place].slot;
    const Id step = program_.slots[slot].step;
    Message text{};
    text << '%' << place << ", ";
    if (step != none) {
      text << "the result of ";
      print_step(text, program_, program_.steps[step]);
    } else {
      text << "slot " << slot;
    }
    out_.wrong = std::string(text.view()) + ", " + what;
  }

  const ir::ProgramView& program_;
  std::span<const MachineDevice> devices_;
  const Plan& plan_;
  const SimulationOptions& options_;
  const Layout layout_;
  std::vector<SimulatedMemory> memory_;      // by device
  std::vector<std::vector<Signal>> events_;  // by event
  std::vector<std::int64_t> cells_;
  std::vector<std::int64_t> asked_;  // by cell: how often a condition has held
  std::vector<Stream> streams_;
  std::uint64_t random_;
  std::vector<double> free_;  // by device: when its thread has done what it was given
  Simulation out_;
};

TYPEFLOW_COLD TYPEFLOW_DEFINITION Simulation simulate(const ir::ProgramView& program,
                                                      std::span<const MachineDevice> devices,
                                                      const Plan& plan,
                                                      const SimulationOptions& options) {
  return Simulator(program, devices, plan, options).run();
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::string verify(const ir::ProgramView& program,
                                                     std::span<const MachineDevice> devices,
                                                     const Plan& plan, const SymbolSizes& sizes,
                                                     int orders) {
  for (int s = 0; s < plan.streams.size(); ++s) {
    const ir::Range range = plan.streams[s];
    for (int k = range.first; k < range.first + range.count; ++k) {
      const Instruction& i = plan.instructions[k];
      if (is_jump(i.opcode) && (i.b < range.first || i.b > range.first + range.count)) {
        return "instruction " + std::to_string(k - range.first) + " jumps into another stream";
      }
      const bool signals = i.opcode == Opcode::signal && plan.events[i.a].from != s;
      const bool waits = i.opcode == Opcode::wait && plan.events[i.a].to != s;
      if (signals || waits) return "event " + std::to_string(i.a) + " is another stream's";
    }
  }
  for (int order = 0; order <= orders; ++order) {
    SimulationOptions options;
    options.sizes = sizes;
    options.seed = static_cast<std::uint64_t>(order);
    options.iterations = order % 3 == 2 ? 0 : 1 + order % 6;
    std::string wrong = simulate(program, devices, plan, options).wrong;
    if (!wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
