// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/name_distance.hpp"
#include "typeflow/exec/device_number.hpp"
#include "typeflow/exec/general.hpp"
#include "typeflow/exec/placement.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// A set of devices, as bits.
using DeviceSet = std::uint32_t;
constexpr DeviceSet only(int device) { return DeviceSet{1} << device; }
constexpr bool contains(DeviceSet set, int device) { return (set >> device & 1u) != 0; }

/// The name of a step without its place in the user's program: "fc1/MatMul".
TYPEFLOW_COLD inline std::string step_name(const ir::ProgramView& program, const ir::Step& step) {
  Message out{};
  print_label(out, program, step.label);
  return std::string(out.view());
}

/// Whether a text is as the pattern says, whose * stand for any characters.
TYPEFLOW_COLD inline bool matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t taken = 0;  // characters of the text in front of those that the last * stands for
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}
/// Whether the pattern names this path or a scope around it.
TYPEFLOW_COLD inline bool names(std::string_view pattern, std::string_view path) {
  if (pattern.ends_with('/')) pattern.remove_suffix(1);
  if (matches(pattern, path)) return true;
  for (std::size_t end = path.find('/'); end != std::string_view::npos;
       end = path.find('/', end + 1)) {
    if (matches(pattern, path.substr(0, end))) return true;
  }
  return false;
}

/// Copies of the tables that placement changes.
struct MovedTables final : Placed {
  TYPEFLOW_COLD explicit MovedTables(const ir::ProgramView& program) {
    for (const ir::Step& step : program.steps) steps.push(step);
    for (const ir::Slot& slot : program.slots) slots.push(slot);
  }
  Pool<ir::Step> steps;
  Pool<ir::Slot> slots;
};

/// The demands on a program, as groups of things that must be on one device. A thing is a step, or
/// the number of steps plus a slot.
class Constraints {
 public:
  TYPEFLOW_COLD Constraints(const PlacementTask& task, MovedTables& moved)
      : task_(task), moved_(moved), program_(task.program), steps_(program_.steps.size) {
    const int count = steps_ + program_.slots.size;
    parent_ = Pool<int>(count, 0);
    allowed_ = Pool<DeviceSet>(count, 0);
    demanded_.resize(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) parent_[i] = i;
    for (int s = 0; s < steps_; ++s) allowed_[s] = with_kernel(program_.steps[s]);
    const auto all = (DeviceSet{1} << task.devices.size()) - 1;
    for (int i = steps_; i < count; ++i) allowed_[i] = all;
    collect_names();
  }

  /// Things that one name stands for. Error if there are none, in the session's own program.
  TYPEFLOW_COLD std::vector<int> find(const std::string& pattern, const std::string& what) const {
    std::vector<int> found;
    for (const auto& [path, thing] : paths_) {
      if (names(pattern, path)) found.push_back(thing);
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    if (found.empty() && task_.whole) refuse_name(pattern, what);
    return found;
  }

  TYPEFLOW_COLD void pin(const Pin& pin) {
    const std::string what = "pin {\"" + pin.name + "\", \"" + pin.device + "\"}";
    const ParsedDeviceName parsed = parse_device_name(pin.device);
    if (!parsed.ok()) {
      Message message{};
      throw Error(what, std::string(print_mistake(message, pin.device, parsed).view()));
    }
    const std::vector<int> things = find(pin.name, what);
    if (things.empty()) return;  // a program of a run's own, without these
    DeviceSet set = 0;
    for (std::size_t d = 0; d < task_.devices.size(); ++d) {
      if (fits(parsed.name, local_name(task_.devices[d].device))) set |= only(static_cast<int>(d));
    }
    if (set == 0) {
      if (task_.soft) return report_dropped(what, things, "this machine lacks the device");
      throw Error(what, "a device of this machine (" + device_list() + ") for " + text_of(things),
                  pin.device);
    }
    for (const int thing : things) {
      if ((set & allowed_[thing]) == 0) {
        if (task_.soft && demanded_[static_cast<std::size_t>(thing)].empty()) {
          report_dropped(what, {thing}, "there is no kernel for the device");
          continue;
        }
        refuse_pin(thing, pin, what);
      }
      allowed_[thing] &= set;
      demanded_[static_cast<std::size_t>(thing)].push_back(&pin);
    }
  }

  /// A variable is with the steps that assign it.
  TYPEFLOW_COLD void join_by_memory() {
    for (int s = 0; s < steps_; ++s) {
      const ir::Step& step = program_.steps[s];
      if (program_.kernels[step.kernel].kind == ir::KernelKind::control) continue;
      for (int i = step.inputs; i < step.operands.count; ++i) {
        const Id slot = program_.operands[step.operands.first + i];
        join(s, steps_ + slot, "");
      }
    }
  }
  TYPEFLOW_COLD void join(const std::vector<std::string>& patterns) {
    std::string list;
    for (const std::string& pattern : patterns) {
      list += (list.empty() ? "\"" : ", \"") + pattern + '"';
    }
    const std::string what = "together {" + list + "}";
    int first = none;
    for (const std::string& pattern : patterns) {
      for (const int thing : find(pattern, what)) {
        if (first == none) first = thing;
        listed_.push_back(thing);
        join(first, thing, what);
      }
    }
  }

  /// Moves the members of all groups with demands.
  TYPEFLOW_COLD void commit() {
    const int count = parent_.size();
    std::vector<char> demanded(static_cast<std::size_t>(count), 0);
    for (int i = 0; i < count; ++i) {
      if (!demanded_[static_cast<std::size_t>(i)].empty()) {
        demanded[static_cast<std::size_t>(root(i))] = 1;
      }
    }
    for (const int thing : listed_) demanded[static_cast<std::size_t>(root(thing))] = 1;
    Pool<int> chosen(count, none);
    for (int i = 0; i < count; ++i) {
      const int group = root(i);
      if (demanded[static_cast<std::size_t>(group)] == 0) continue;
      if (chosen[group] == none) chosen[group] = choose(group);
      const Device device = task_.devices[static_cast<std::size_t>(chosen[group])].device;
      if (i < steps_) {
        moved_.steps[i].device = device;
      } else if (moved_.slots[i - steps_].kind == ir::SlotKind::variable) {
        moved_.slots[i - steps_].device = device;
      }
    }
    for (ir::Slot& slot : moved_.slots) {
      if (slot.kind == ir::SlotKind::temporary && slot.step != none) {
        slot.device = moved_.steps[slot.step].device;
      }
    }
  }

 private:
  int root(int thing) const {
    while (parent_[thing] != thing) thing = parent_[thing];
    return thing;
  }

  /// Devices that have a kernel for the step: those of the kind that it was compiled for.
  TYPEFLOW_COLD DeviceSet with_kernel(const ir::Step& step) const {
    DeviceSet set = 0;
    for (std::size_t d = 0; d < task_.devices.size(); ++d) {
      if (task_.devices[d].device.kind == step.device.kind) set |= only(static_cast<int>(d));
    }
    // If there are none, others run it for want of one, or the engine refuses the program.
    return set != 0 ? set : (DeviceSet{1} << task_.devices.size()) - 1;
  }

  TYPEFLOW_COLD void collect_names() {
    for (int s = 0; s < steps_; ++s) {
      const ir::Step& step = program_.steps[s];
      paths_.emplace_back(step_name(program_, step), s);
      Message path{};
      print_scope(path, program_.scopes, step.label.scope, false);
      path << step.label.operation.view();
      paths_.emplace_back(std::string(path.view()), s);
    }
    for (const ir::ProgramName& name : program_.names) {
      Message path{};
      print_name(path, program_.scopes, name.name);
      for (int i = 0; i < name.steps.count; ++i) {
        paths_.emplace_back(std::string(path.view()), program_.operands[name.steps.first + i]);
      }
      if (name.slot == none) continue;
      const ir::Slot& slot = program_.slots[name.slot];
      if (slot.kind == ir::SlotKind::variable) {
        paths_.emplace_back(std::string(path.view()), steps_ + name.slot);
      } else if (slot.kind == ir::SlotKind::temporary && slot.step != none) {
        paths_.emplace_back(std::string(path.view()), slot.step);
      }
    }
  }

  /// Makes one group of two, if a device is left that both may use.
  TYPEFLOW_COLD void join(int a, int b, const std::string& why) {
    const int to = std::min(root(a), root(b));
    const int from = std::max(root(a), root(b));
    if (to == from) return;
    const DeviceSet left = allowed_[to] & allowed_[from];
    if (left == 0) {
      throw Error(why.empty() ? "placement" : why, "one device for " + demands(to) + " and " +
                                                       demands(from) +
                                                       ": no device meets these demands");
    }
    parent_[from] = to;
    allowed_[to] = left;
  }

  /// The device of a group: where its first variable or step is, if the group may be there;
  /// otherwise the first one that it may use.
  TYPEFLOW_COLD int choose(int group) const {
    int first = none;
    for (int i = 0; i < parent_.size(); ++i) {
      if (root(i) != group) continue;
      const bool variable =
          i >= steps_ && program_.slots[i - steps_].kind == ir::SlotKind::variable;
      if (variable || (i < steps_ && first == none)) first = i;
      if (variable) break;
    }
    if (first != none) {
      const Device now =
          first < steps_ ? program_.steps[first].device : program_.slots[first - steps_].device;
      const int device = device_number(task_.devices, now);
      if (contains(allowed_[group], device)) return device;
    }
    int device = 0;
    while (!contains(allowed_[group], device)) ++device;
    return device;
  }

  // Messages.

  TYPEFLOW_COLD std::string text_of(int thing) const {
    if (thing >= steps_) {
      const ir::Slot& slot = program_.slots[thing - steps_];
      if (slot.kind != ir::SlotKind::variable) return "a tensor";
      Message text{};
      print_name(text, program_, program_.variables[slot.index].name);
      return "variable \"" + std::string(text.view()) + '"';
    }
    Message text{};
    print_step(text, program_, program_.steps[thing]);
    return std::string(text.view());
  }
  /// At most four of these things.
  TYPEFLOW_COLD std::string text_of(const std::vector<int>& things) const {
    constexpr std::size_t most = 4;
    std::string out;
    for (std::size_t i = 0; i < things.size() && i < most; ++i) {
      out += (i > 0 ? ", " : "") + text_of(things[i]);
    }
    return things.size() > most ? out + ", ..." : out;
  }
  /// Says that soft placement leaves these things where they are without the pin.
  TYPEFLOW_COLD void report_dropped(const std::string& what, const std::vector<int>& things,
                                    const std::string& why) const {
    if (!task_.whole || !task_.print) return;
    task_.print(what + ": " + why + " (devices: " + device_list() +
                "); soft placement drops it for " + text_of(things));
  }
  TYPEFLOW_COLD std::string device_list(DeviceSet set = ~DeviceSet{0}) const {
    Message known{};
    for (std::size_t d = 0; d < task_.devices.size(); ++d) {
      if (!contains(set, static_cast<int>(d))) continue;
      known << (known.empty() ? "" : ", ") << task_.devices[d].device;
    }
    return std::string(known.view());
  }
  /// "variable "W" on /cpu:1 (pin "W"), train (model.cpp:12) on /cpu:2 (pin "train")": what the
  /// members of a group demand, or what they may use.
  TYPEFLOW_COLD std::string demands(int group) const {
    constexpr int most = 4;
    std::string out;
    int count = 0;
    int any = none;
    for (int i = 0; i < parent_.size(); ++i) {
      if (root(i) != group) continue;
      if (any == none) any = i;
      for (const Pin* pin : demanded_[static_cast<std::size_t>(i)]) {
        if (++count > most) return out + ", ...";
        out += (out.empty() ? "" : ", ") + text_of(i) + " on " + pin->device + " (pin \"" +
               pin->name + "\")";
      }
    }
    return out.empty() ? text_of(any) + " on " + device_list(allowed_[group]) : out;
  }

  [[noreturn]] TYPEFLOW_COLD void refuse_pin(int thing, const Pin& pin,
                                             const std::string& what) const {
    const auto& before = demanded_[static_cast<std::size_t>(thing)];
    if (before.empty()) {
      throw Error(what,
                  text_of(thing) + " on a device that has a kernel for it (" +
                      device_list(allowed_[thing]) + ")",
                  pin.device);
    }
    std::string others;
    for (const Pin* other : before) {
      others += (others.empty() ? "" : ", ") + other->device + " (pin \"" + other->name + "\")";
    }
    throw Error("placement", text_of(thing) + " on " + others,
                pin.device + " (pin \"" + pin.name +
                    "\"): no device meets these "
                    "demands");
  }
  [[noreturn]] TYPEFLOW_COLD void refuse_name(const std::string& pattern,
                                              const std::string& what) const {
    for (const ir::ProgramName& name : program_.names) {
      Message path{};
      print_name(path, program_.scopes, name.name);
      Message operation{};
      print_name(operation, program_.scopes, operation_name(name.name));
      if (name.slot != none || name.name.kind != ir::NameKind::value ||
          (path.view() != pattern && operation.view() != pattern)) {
        continue;
      }
      throw Error(what, "'" + pattern +
                            "' is fused into steps that read it; pin those, or pin it in the "
                            "model (tf::on)");
    }
    std::string_view nearest;
    int best = 1000;
    const auto consider = [&](std::string_view path) {
      const int d = typeflow::detail::path_distance(path, pattern);
      if (d >= best) return;
      best = d;
      nearest = path;
    };
    for (const auto& [path, thing] : paths_) {
      consider(path);
      for (std::size_t end = path.find('/'); end != std::string::npos;
           end = path.find('/', end + 1)) {
        consider(std::string_view(path).substr(0, end));
      }
    }
    std::string why = "'" + pattern + "' names no operation, variable or scope that runs";
    if (2 * best <= static_cast<int>(pattern.size()) + 1) {
      why += "; did you mean '" + std::string(nearest) + "'?";
    }
    throw Error(what, why);
  }

  const PlacementTask& task_;
  MovedTables& moved_;
  const ir::ProgramView& program_;
  const int steps_;
  Pool<int> parent_;
  Pool<DeviceSet> allowed_;                        // by thing; of a group by its root
  std::vector<std::vector<const Pin*>> demanded_;  // by thing
  std::vector<int> listed_;                        // things that are in lists of `together`
  std::vector<std::pair<std::string, int>> paths_;
};

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::string device_mapping(
    const ir::ProgramView& program, std::span<const MachineDevice> devices) {
  const auto full_name = [&](Device device) {
    return to_string(
        local_name(devices[static_cast<std::size_t>(device_number(devices, device))].device));
  };
  std::string out = "Device mapping:\n";
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const char* const known = devices[d].description;
    out += to_string(local_name(devices[d].device)) +
           " -> device: " + std::to_string(devices[d].device.index) +
           ", name: " + (known != nullptr ? known : "processor") + '\n';
  }
  for (const ir::ProgramVariable& variable : program.variables) {
    if (variable.slot == none) continue;
    Message name{};
    print_name(name, program, variable.name);
    out += std::string(name.view()) + ": " + full_name(program.slots[variable.slot].device) + '\n';
  }
  for (const ir::Step& step : program.steps) {
    const std::string line = step_name(program, step) + ": " + full_name(step.device) + '\n';
    // An operation with several results, such as a split, may have a step for each.
    const bool is_shared = step.label.name != none &&
                           program.names[step.label.name].name.output != none &&
                           out.find('\n' + line) != std::string::npos;
    if (!is_shared) out += line;
  }
  return out;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::exec

namespace typeflow::inline TYPEFLOW_ISA {

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::unique_ptr<exec::Placed> Placement::place(
    const exec::PlacementTask& task) const {
  auto tables = std::make_unique<exec::MovedTables>(task.program);
  {
    exec::Constraints constraints(task, *tables);
    for (const Pin& pin : options_.pins) constraints.pin(pin);
    constraints.join_by_memory();
    for (const std::vector<std::string>& names : options_.together) constraints.join(names);
    constraints.commit();
  }
  task.program.steps.data = tables->steps.data();
  task.program.slots.data = tables->slots.data();
  task.general = &exec::general();
  if (!options_.log || !task.whole || !task.print) return tables;
  const std::string text = exec::device_mapping(task.program, task.devices);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    task.print(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
  }
  return tables;
}

}  // namespace typeflow::inline TYPEFLOW_ISA
