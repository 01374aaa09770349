// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "typeflow/exec/explain.hpp"
#include "typeflow/exec/opcode.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// Writes the lines of a plan.
class Explainer {
 public:
  TYPEFLOW_COLD Explainer(const ir::ProgramView& program, std::span<const MachineDevice> devices,
                          const Plan& plan)
      : program_(program), devices_(devices), plan_(plan) {}

  TYPEFLOW_COLD std::string run() {
    if (plan_.streams.empty()) {  // straight
      text_ += device(plan_.main_device) + '\n';
      for (int i = 0; i < plan_.launches.size(); ++i) line(i, "launch", launch(i));
    }
    for (int s = 0; s < plan_.streams.size(); ++s) {
      const ir::Range range = plan_.streams[s];
      if (range.count == 0) continue;
      text_ += stream(s) + '\n';
      for (int i = range.first; i < range.first + range.count; ++i) {
        instruction(i - range.first, range.first, plan_.instructions[i]);
      }
    }
    return std::move(text_);
  }

 private:
  TYPEFLOW_COLD std::string device(int number) const {
    if (number == the_host) return "the host";
    Message text{};
    text << devices_[static_cast<std::size_t>(number)].device;
    return std::string(text.view());
  }
  /// A stream by its device, and by its number if the device has several.
  TYPEFLOW_COLD std::string stream(int number) const {
    const std::string of = device(plan_.devices[number]);
    return number == plan_.devices[number] ? of : of + " stream " + std::to_string(number);
  }
  TYPEFLOW_COLD std::string place(int number) const {
    const Place& p = plan_.places[number];
    if (p.kind == PlaceKind::temporary || p.kind == PlaceKind::bound) {
      return '%' + std::to_string(number);
    }
    const ir::Slot& slot = program_.slots[p.slot];
    Message text{};
    if (slot.kind == ir::SlotKind::variable) {
      print_name(text, program_, program_.variables[slot.index].name);
    } else if (slot.kind == ir::SlotKind::placeholder && slot.index != none) {
      print_name(text, program_, program_.placeholders[slot.index].name);
    } else {
      text << "constant " << slot.index;
    }
    return std::string(text.view());
  }
  TYPEFLOW_COLD std::string step(Id id) const {
    Message text{};
    print_step(text, program_, program_.steps[id]);
    return std::string(text.view());
  }
  TYPEFLOW_COLD std::string launch(int number) const {
    const Launch& l = plan_.launches[number];
    const ir::Step& s = program_.steps[l.step];
    std::string text = step(l.step) + ':';
    for (int i = 0; i < l.places.count; ++i) {
      text += i == s.inputs ? " -> " : (i > 0 ? ", " : " ");
      text += place(plan_.operands[l.places.first + i]);
    }
    return text;
  }
  TYPEFLOW_COLD std::string event(int number, int other) const {
    return "event " + std::to_string(number) + (other == the_host ? "" : " of " + stream(other));
  }
  TYPEFLOW_COLD std::string loop(int number) const { return step(plan_.loops[number].step); }

  TYPEFLOW_COLD void line(int number, std::string name, const std::string& rest) {
    std::string at = std::to_string(number);
    at.insert(0, at.size() < 5 ? 5 - at.size() : 0, ' ');
    name.append(name.size() < 16 ? 16 - name.size() : 0, ' ');
    text_ += at + "  " + name + ' ' + rest + '\n';
  }
  TYPEFLOW_COLD void instruction(int number, int first, const Instruction& i) {
    const auto to = [&](int target) { return "to " + std::to_string(target - first); };
    const auto cell = [](int c) { return "cell " + std::to_string(c); };
    switch (i.opcode) {
      case Opcode::launch:
        return line(number, "launch", launch(i.a));
      case Opcode::copy:
        return line(number, "copy",
                    place(i.a) + " -> " + place(i.b) + " on " + device(plan_.places[i.b].device));
      case Opcode::signal:
        return line(number, "signal",
                    event(i.a, the_host) + (plan_.events[i.a].to == none
                                                ? std::string()
                                                : " for " + stream(plan_.events[i.a].to)));
      case Opcode::wait:
        return line(number, "wait", event(i.a, plan_.events[i.a].from));
      case Opcode::wait_iterations:
        return line(number, "wait iterations",
                    event(i.a, plan_.events[i.a].from) + ", at most " +
                        std::to_string(plan_.loops[i.b].frames) + " behind");
      case Opcode::read:
      case Opcode::read_flag:
        return line(number, "read", place(i.a) + " -> " + cell(i.b));
      case Opcode::jump:
        return line(number, "jump", to(i.b));
      case Opcode::jump_unless:
        return line(number, "jump unless", cell(i.a) + ' ' + to(i.b));
      case Opcode::select: {
        std::string targets;
        for (int k = 0; k < i.c; ++k)
          targets += ' ' + std::to_string(plan_.targets[i.b + k] - first);
        return line(number, "select", "by " + cell(i.a) + " to" + targets);
      }
      case Opcode::enter:
        return line(number, "enter",
                    loop(i.a) + (plan_.loops[i.a].given ? ", trip count in " + cell(i.c) : ""));
      case Opcode::iterate:
        return line(number, "iterate", "at the end " + to(i.b));
      case Opcode::check:
        return line(number, "check", "the most iterations");
      case Opcode::proceed:
        return line(number, "proceed", to(i.b));
      case Opcode::exit:
        return line(number, "exit", loop(i.a));
      case Opcode::frame:
        return line(number, "frame", "one of " + std::to_string(plan_.loops[i.a].frames));
      case Opcode::bind:
        return line(number, "bind", place(i.a) + " = " + place(i.b));
      case Opcode::slice:
        return line(number, "slice", place(i.a) + " = " + place(i.b) + "[index]");
      case Opcode::alternate:
        return line(number, "alternate", place(i.a) + " = " + place(i.b) + " or " + place(i.c));
      case Opcode::finish_state:
        return line(number, "finish state",
                    place(i.a) + ", from " + place(i.b) + " or " + place(i.c));
      case Opcode::set_index:
        return line(number, "set index", place(i.a));
      case Opcode::set_count:
        return line(number, "set count", place(i.a));
      case Opcode::clear_rows:
        return line(number, "clear rows", place(i.a));
    }
  }

  const ir::ProgramView& program_;
  std::span<const MachineDevice> devices_;
  const Plan& plan_;
  std::string text_;
};

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::string explain(const ir::ProgramView& program,
                                                      std::span<const MachineDevice> devices,
                                                      const Plan& plan) {
  return Explainer(program, devices, plan).run();
}

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
