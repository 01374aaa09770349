// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "typeflow/exec/place_by_cost.hpp"
#include "typeflow/exec/placement_scheduler.hpp"
#include "typeflow/exec/timeline_drawing.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// A node's seconds on the fastest of its feasible devices.
TYPEFLOW_COLD inline double least_seconds(const PlacementNode& node,
                                          const PlacementMachine& machine) {
  if (node.seconds.size() == 1) return node.seconds[0];
  double least = std::numeric_limits<double>::infinity();
  const auto look = [&](const PlacementDevice& device) {
    least = std::min(least, node.seconds[static_cast<std::size_t>(device.model)]);
  };
  if (node.devices.empty()) {
    for (const PlacementDevice& device : machine.devices) look(device);
  }
  for (const int device : node.devices) look(machine.devices[static_cast<std::size_t>(device)]);
  return least;
}

TYPEFLOW_COLD inline std::vector<int> order_of_graph(const PlacementGraph& graph) {
  std::vector<int> order(graph.nodes.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// Nodes by their upward rank: their own seconds, and those of the longest path behind them. A node
/// has at least the rank of those that come after it, and of equal ones the earlier comes first. So
/// the order is a topological one.
TYPEFLOW_COLD inline std::vector<int> longest_path_first(const PlacementGraph& graph,
                                                         const PlacementMachine& machine) {
  std::vector<double> ranks(graph.nodes.size(), 0.0);
  const auto raise = [&](int node, double rank) {
    double& known = ranks[static_cast<std::size_t>(node)];
    known = std::max(known, rank);
  };
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const PlacementNode& node = graph.nodes[n];
    ranks[n] += least_seconds(node, machine);
    for (const int input : node.inputs) {
      const int producer = graph.tensors[static_cast<std::size_t>(input)].producer;
      if (producer != none) raise(producer, ranks[n]);
    }
    for (const int before : node.after) raise(before, ranks[n]);
  }
  std::vector<int> order = order_of_graph(graph);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    const double first = ranks[static_cast<std::size_t>(a)];
    const double second = ranks[static_cast<std::size_t>(b)];
    return first != second ? first > second : a < b;
  });
  return order;
}

/// Makes schedules by the order that rules ask for. `schedule(order)` is an optional: it is empty
/// if the order does not do.
///
/// The graph's order is kept if the other is not faster by 1 %: programs free memory early by it
/// (passes/schedule.hpp).
template <class Schedule>
TYPEFLOW_COLD auto in_order(const PlacementGraph& graph, const PlacementMachine& machine,
                            PlacementOrder order, const Schedule& schedule) {
  if (order == PlacementOrder::longest_path_first) {
    return schedule(longest_path_first(graph, machine));
  }
  const std::vector<int> own = order_of_graph(graph);
  auto made = schedule(own);
  if (order == PlacementOrder::of_graph) return made;
  const std::vector<int> ranked = longest_path_first(graph, machine);
  const bool is_best = made && made->seconds <= 1.01 * lower_bound(graph, machine).seconds();
  if (is_best || ranked == own) return made;
  auto other = schedule(ranked);
  const bool is_faster = other && (!made || 1.01 * other->seconds < made->seconds);
  return is_faster ? other : made;
}

/// Moves copies to the latest time at which the first reader is not kept waiting, and the order of
/// each channel stays.
/// Copies from the devices in `keep` stay as they are: they free the sender's memory.
TYPEFLOW_COLD inline void delay_copies(const PlacementGraph& graph, const PlacementMachine& machine,
                                       const std::vector<bool>& keep, PlacementSchedule& schedule) {
  std::map<std::pair<int, int>, double> needed;  // by tensor and device
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const PlacedNode& node = schedule.nodes[n];
    for (const int input : graph.nodes[n].inputs) {
      const auto [known, is_new] = needed.try_emplace({input, node.device}, node.begin);
      if (!is_new) known->second = std::min(known->second, node.begin);
    }
  }
  std::map<int, double> next;  // by channel: when the copy behind begins
  const int count = machine.size();
  for (std::size_t i = schedule.copies.size(); i-- > 0;) {
    PlacedCopy& copy = schedule.copies[i];
    const int from = machine.devices[static_cast<std::size_t>(copy.from)].host;
    const int to = machine.devices[static_cast<std::size_t>(copy.to)].host;
    const bool is_inside = from == to;
    const int channels[] = {is_inside ? copy.from * count + copy.to : -2 * from - 2,
                            is_inside ? copy.from * count + copy.to : -2 * to - 3};
    double end = needed.at({copy.tensor, copy.to});
    if (keep[static_cast<std::size_t>(copy.from)]) end = copy.end;
    for (const int channel : channels) {
      if (const auto found = next.find(channel); found != next.end()) {
        end = std::min(end, found->second);
      }
    }
    const double begin = std::max(copy.begin, end - (copy.end - copy.begin));
    copy.end = begin + (copy.end - copy.begin);
    copy.begin = begin;
    for (const int channel : channels) next[channel] = begin;
  }
}

/// Delays copies, but not from a device whose memory would then not do.
TYPEFLOW_COLD inline void delay_copies(const PlacementGraph& graph, const PlacementMachine& machine,
                                       PlacementSchedule& schedule) {
  std::vector<bool> keep(machine.devices.size(), false);
  bool is_limited = false;
  for (const PlacementDevice& device : machine.devices) {
    is_limited = is_limited || device.memory_limit > 0;
  }
  while (true) {
    PlacementSchedule late = schedule;
    delay_copies(graph, machine, keep, late);
    bool fits = true;
    const std::vector<std::int64_t> peaks =
        is_limited ? peak_bytes(graph, machine, late) : std::vector<std::int64_t>{};
    for (std::size_t d = 0; d < peaks.size(); ++d) {
      const std::int64_t limit = machine.devices[d].memory_limit;
      if (limit == 0 || peaks[d] <= limit || keep[d]) continue;
      keep[d] = true;
      fits = false;
    }
    if (fits) {
      schedule = std::move(late);
      return;
    }
  }
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION PlacementSchedule place_by_cost(const PlacementGraph& graph,
                                                                  const PlacementMachine& machine,
                                                                  const PlacementRules& rules) {
  const auto refuse = [&](const PlacementNode& node, const std::string& why) {
    throw Error("placement of " + node.name, why);
  };
  // A group may run where all of its members may.
  std::map<int, std::vector<int>> of_group;
  for (const PlacementNode& node : graph.nodes) {
    for (const int device : node.devices) {
      if (device < 0 || device >= machine.size()) {
        refuse(node, "device " + std::to_string(device) + " is none of the machine's " +
                         std::to_string(machine.size()));
      }
    }
    for (const PlacementDevice& device : machine.devices) {
      if (node.seconds.size() > 1 &&
          static_cast<std::size_t>(device.model) >= node.seconds.size()) {
        refuse(node, "its seconds on " + device.name + " are missing");
      }
    }
    if (node.group == none || node.devices.empty()) continue;
    std::vector<int> sorted = node.devices;
    std::sort(sorted.begin(), sorted.end());
    const auto [known, is_new] = of_group.try_emplace(node.group, sorted);
    if (is_new) continue;
    std::vector<int> common;
    std::set_intersection(known->second.begin(), known->second.end(), sorted.begin(), sorted.end(),
                          std::back_inserter(common));
    if (common.empty()) refuse(node, "no device is feasible for all nodes of its group");
    known->second = std::move(common);
  }
  std::vector<int> all;
  for (int d = 0; d < machine.size(); ++d) all.push_back(d);

  int failed = none;       // the first node that no device had memory for
  std::vector<int> tried;  // its feasible devices
  const auto place = [&](const std::vector<int>& order) -> std::optional<PlacementSchedule> {
    Scheduler scheduler(graph, machine);
    std::map<int, int> chosen;  // by group
    std::vector<int> one(1);
    for (const int id : order) {
      const PlacementNode& node = graph.nodes[static_cast<std::size_t>(id)];
      const std::vector<int>* feasible = node.devices.empty() ? &all : &node.devices;
      if (node.group != none) {
        if (const auto found = chosen.find(node.group); found != chosen.end()) {
          one[0] = found->second;
          feasible = &one;
        } else if (const auto common = of_group.find(node.group); common != of_group.end()) {
          feasible = &common->second;
        }
      }
      scheduler.begin_node(id);
      std::vector<PlacementCandidate>* const kept =
          rules.keep_candidates ? &scheduler.candidates() : nullptr;
      PlacementCandidate best{none, 0, 0, false};
      for (const int device : *feasible) {
        const PlacementCandidate candidate = scheduler.predict(device);
        if (kept != nullptr) kept->push_back(candidate);
        if (!candidate.fits) continue;
        const bool is_better =
            best.device == none || candidate.finish < best.finish ||
            (candidate.finish == best.finish && candidate.copied_bytes < best.copied_bytes) ||
            (candidate.finish == best.finish && candidate.copied_bytes == best.copied_bytes &&
             device < best.device);
        if (is_better) best = candidate;
      }
      if (best.device == none) {
        if (failed == none) {
          failed = id;
          tried = *feasible;
        }
        return std::nullopt;
      }
      scheduler.place(best.device);
      if (node.group != none) chosen.try_emplace(node.group, best.device);
    }
    return scheduler.finish();
  };
  std::optional<PlacementSchedule> made = in_order(graph, machine, rules.order, place);
  if (!made) {
    const PlacementNode& node = graph.nodes[static_cast<std::size_t>(failed)];
    std::string devices;
    for (const int device : tried) {
      const PlacementDevice& known = machine.devices[static_cast<std::size_t>(device)];
      devices += (devices.empty() ? "" : ", ") + known.name + " (limit " +
                 std::to_string(known.memory_limit) + ')';
    }
    std::int64_t bytes = 0;
    for (const std::int64_t b : node.outputs) bytes += b;
    refuse(node, "its results have " + std::to_string(bytes) +
                     " bytes, and with its inputs they exceed the memory limit of " +
                     (devices.empty() ? "every device" : devices));
  }
  PlacementSchedule schedule = std::move(*made);
  if (rules.late_receives) delay_copies(graph, machine, schedule);
  return schedule;
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION PlacementSchedule schedule_of(const PlacementGraph& graph,
                                                                const PlacementMachine& machine,
                                                                const std::vector<int>& devices,
                                                                const PlacementRules& rules) {
  if (devices.size() != graph.nodes.size()) {
    throw Error("schedule_of",
                "a device for each of " + std::to_string(graph.nodes.size()) + " nodes",
                std::to_string(devices.size()));
  }
  const auto run = [&](const std::vector<int>& order) {
    Scheduler scheduler(graph, machine);
    for (const int id : order) {
      scheduler.begin_node(id);
      scheduler.place(devices[static_cast<std::size_t>(id)]);
    }
    return std::optional<PlacementSchedule>(scheduler.finish());
  };
  PlacementSchedule schedule = *in_order(graph, machine, rules.order, run);
  const std::vector<bool> none_keeps(machine.devices.size(), false);
  if (rules.late_receives) delay_copies(graph, machine, none_keeps, schedule);
  return schedule;
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::vector<std::int64_t> peak_bytes(
    const PlacementGraph& graph, const PlacementMachine& machine,
    const PlacementSchedule& schedule) {
  struct Life {
    int device;
    double begin;
    double end;
    std::int64_t bytes;
  };
  constexpr double forever = std::numeric_limits<double>::infinity();
  std::vector<Life> lives;
  std::map<std::pair<int, int>, std::size_t> life_of;  // by tensor and device
  std::vector<bool> is_read(graph.tensors.size(), false);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const PlacedNode& node = schedule.nodes[n];
    for (std::size_t k = 0; k < graph.nodes[n].outputs.size(); ++k) {
      const int tensor = graph.output(static_cast<int>(n), static_cast<int>(k));
      life_of[{tensor, node.device}] = lives.size();
      const PlacementTensor& what = graph.tensors[static_cast<std::size_t>(tensor)];
      lives.push_back({node.device, node.begin, node.end, what.is_part ? 0 : what.bytes});
    }
  }
  for (const PlacedCopy& copy : schedule.copies) {
    const std::int64_t bytes = graph.tensors[static_cast<std::size_t>(copy.tensor)].bytes;
    if (const auto found = life_of.find({copy.tensor, copy.from}); found != life_of.end()) {
      lives[found->second].end = std::max(lives[found->second].end, copy.end);
      lives[found->second].bytes = bytes;
    }
    life_of[{copy.tensor, copy.to}] = lives.size();
    lives.push_back({copy.to, copy.begin, copy.end, bytes});
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const int input : graph.nodes[n].inputs) {
      is_read[static_cast<std::size_t>(input)] = true;
      const auto found = life_of.find({input, schedule.nodes[n].device});
      if (found == life_of.end()) continue;
      lives[found->second].end = std::max(lives[found->second].end, schedule.nodes[n].end);
    }
  }
  for (const auto& [place, life] : life_of) {
    if (!is_read[static_cast<std::size_t>(place.first)]) lives[life].end = forever;
  }
  struct Change {
    double time;
    std::int64_t bytes;
  };
  std::vector<std::vector<Change>> changes(machine.devices.size());
  for (const Life& life : lives) {
    std::vector<Change>& own = changes[static_cast<std::size_t>(life.device)];
    own.push_back({life.begin, life.bytes});
    own.push_back({life.end, -life.bytes});
  }
  std::vector<std::int64_t> peaks;
  for (std::vector<Change>& own : changes) {
    std::sort(own.begin(), own.end(), [](const Change& a, const Change& b) {
      return a.time != b.time ? a.time < b.time : a.bytes < b.bytes;
    });
    std::int64_t now = 0;
    std::int64_t most = 0;
    for (const Change& change : own) most = std::max(most, now += change.bytes);
    peaks.push_back(most);
  }
  return peaks;
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION PlacementBound lower_bound(const PlacementGraph& graph,
                                                             const PlacementMachine& machine) {
  PlacementBound bound{0, 0};
  std::vector<double> end(graph.nodes.size(), 0.0);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const PlacementNode& node = graph.nodes[n];
    const double least = least_seconds(node, machine);
    double begin = 0;
    for (const int input : node.inputs) {
      const int producer = graph.tensors[static_cast<std::size_t>(input)].producer;
      if (producer != none) begin = std::max(begin, end[static_cast<std::size_t>(producer)]);
    }
    end[n] = begin + least;
    bound.critical_path = std::max(bound.critical_path, end[n]);
    bound.work += least / machine.size();
  }
  return bound;
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::string schedule_svg(const PlacementGraph& graph,
                                                           const PlacementMachine& machine,
                                                           const PlacementSchedule& schedule,
                                                           int width) {
  detail::TimelineDrawing drawing(width, 90, 2 * machine.size(), schedule.seconds);
  for (int d = 0; d < machine.size(); ++d) {
    drawing.label(2 * d, machine.devices[static_cast<std::size_t>(d)].name);
    drawing.label(2 * d + 1, "receives");
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const PlacedNode& node = schedule.nodes[n];
    if (node.end > node.begin) {
      drawing.box(2 * node.device, node.begin, node.end, detail::kernel_color, graph.nodes[n].name);
    }
  }
  for (const PlacedCopy& copy : schedule.copies) {
    drawing.box(2 * copy.to + 1, copy.begin, copy.end, detail::copy_color,
                "tensor " + std::to_string(copy.tensor) + " from " +
                    machine.devices[static_cast<std::size_t>(copy.from)].name);
  }
  return drawing.finish();
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::string candidates_text(const PlacementGraph& graph,
                                                              const PlacementMachine& machine,
                                                              const PlacementSchedule& schedule) {
  const auto name = [&](int device) {
    return machine.devices[static_cast<std::size_t>(device)].name;
  };
  const auto time = [](double seconds) {
    char text[40];
    std::snprintf(text, sizeof text, "%.3f ms", seconds * 1e3);
    return std::string(text);
  };
  std::string out;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    std::string line = graph.nodes[n].name;
    line.append(line.size() < 40 ? 40 - line.size() : 0, ' ');
    const PlacedNode& placed = schedule.nodes[n];
    out += line + ' ' + name(placed.device) + ' ' + time(placed.end);
    std::string others;
    for (const PlacementCandidate& candidate :
         schedule.candidates.empty() ? std::vector<PlacementCandidate>{} : schedule.candidates[n]) {
      if (candidate.device == placed.device) continue;
      others += (others.empty() ? "" : ", ") + name(candidate.device) + ' ' +
                (candidate.fits ? time(candidate.finish) : "no memory");
    }
    out += others.empty() ? "\n" : "  [" + others + "]\n";
  }
  return out;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
