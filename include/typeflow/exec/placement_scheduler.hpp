// SPDX-License-Identifier: Apache-2.0
#pragma once

// A placement's schedule while it grows: nodes are placed one after the other, with the copies that
// they need. Devices and channels do one thing at a time, in the order of placing.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "typeflow/exec/placement_graph.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// The bytes in use on a device over time, as a step function.
class MemoryProfile {
 public:
  /// More or fewer bytes from a time on.
  void add(double time, std::int64_t bytes) {
    std::size_t i = levels_.size();
    while (i > 0 && levels_[i - 1].time > time) --i;
    if (i == 0 || levels_[i - 1].time < time) {
      const auto at = levels_.begin() + static_cast<std::ptrdiff_t>(i);
      levels_.insert(at, {time, i == 0 ? 0 : levels_[i - 1].bytes});
    } else {
      --i;
    }
    for (; i < levels_.size(); ++i) levels_[i].bytes += bytes;
  }
  /// The most bytes at one time.
  std::int64_t peak() const {
    std::int64_t most = 0;
    for (const Level& level : levels_) most = std::max(most, level.bytes);
    return most;
  }
  /// The most bytes at one time, if more were taken from some times on; `more` is in order of time.
  std::int64_t peak_with(const std::vector<std::pair<double, std::int64_t>>& more) const {
    std::int64_t most = 0;
    std::int64_t taken = 0;
    std::size_t i = levels_.size();
    const double first = more.empty() ? std::numeric_limits<double>::infinity() : more[0].first;
    while (i > 0 && levels_[i - 1].time > first) --i;
    for (std::size_t k = 0; k < more.size(); ++k) {
      taken += more[k].second;
      most = std::max(most, (i == 0 ? 0 : levels_[i - 1].bytes) + taken);
      for (; i < levels_.size() && (k + 1 == more.size() || levels_[i].time <= more[k + 1].first);
           ++i) {
        most = std::max(most, levels_[i].bytes + taken);
      }
    }
    return most;
  }

 private:
  struct Level {
    double time;
    std::int64_t bytes;
  };
  std::vector<Level> levels_;  // by time
};

/// A schedule while it grows.
class Scheduler {
 public:
  TYPEFLOW_COLD Scheduler(const PlacementGraph& graph, const PlacementMachine& machine)
      : graph_(graph),
        machine_(machine),
        count_(machine.size()),
        free_(machine.devices.size(), 0.0),
        tensors_(graph.tensors.size()),
        memory_(machine.devices.size()) {
    int hosts = 0;
    for (const PlacementDevice& device : machine.devices) {
      hosts = std::max(hosts, device.host + 1);
      limited_ = limited_ || device.memory_limit > 0;
    }
    hosts_ = hosts;
    channels_.assign(at(count_) * at(count_) + 2 * at(hosts), 0.0);
    for (const PlacementNode& node : graph.nodes) {
      for (const int input : node.inputs) ++tensors_[at(input)].readers;
    }
    for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
      tensors_[t].home = graph.tensors[t].home;
    }
    out_.nodes.resize(graph.nodes.size());
  }

  /// Looks up the inputs of a node, for predict() and place().
  TYPEFLOW_COLD void begin_node(int id) {
    id_ = id;
    node_ = &graph_.nodes[at(id)];
    inputs_.clear();
    for (const int input : node_->inputs) {
      bool is_known = false;
      for (const int known : inputs_) is_known = is_known || known == input;
      if (!is_known && tensors_[at(input)].home != the_host) inputs_.push_back(input);
    }
    std::sort(inputs_.begin(), inputs_.end(), [&](int a, int b) {
      const double first = tensors_[at(a)].ready;
      const double second = tensors_[at(b)].ready;
      return first != second ? first < second : a < b;
    });
  }
  PlacementCandidate predict(int device) {
    taken_.clear();
    more_.clear();
    const std::int64_t limit = machine_.devices[at(device)].memory_limit;
    double begin = free_[at(device)];
    double seconds = seconds_on(device);
    std::int64_t copied = 0;
    for (const int input : inputs_) {
      const Tensor& tensor = tensors_[at(input)];
      if (tensor.home == device) {
        begin = std::max(begin, tensor.ready);
      } else if (const double known = arrival(tensor, device); known >= 0) {
        begin = std::max(begin, known);
      } else {
        const std::int64_t bytes = graph_.tensors[at(input)].bytes;
        seconds += graph_.tensors[at(input)].place_seconds;
        const Way way = way_between(tensor.home, device);
        double start = std::max({tensor.ready, free_of(way.first), free_of(way.second)});
        if (bytes == 0) start = tensor.ready;  // a signal waits for no channel
        const double end = start + seconds_of(way, bytes);
        if (bytes > 0) {
          take(way.first, end);
          take(way.second, end);
          if (limit > 0) more_.emplace_back(start, bytes);
        }
        copied += bytes;
        begin = std::max(begin, end);
      }
    }
    const double end = begin + seconds;
    bool fits = true;
    if (limit > 0) {
      for (std::size_t k = 0; k < node_->outputs.size(); ++k) {
        more_.emplace_back(begin, bytes_at_home(output(k)));
      }
      std::sort(more_.begin(), more_.end());
      fits = memory_[at(device)].peak_with(more_) <= limit;
    }
    return {device, end, copied, fits};
  }
  TYPEFLOW_COLD void place(int device) {
    double begin = free_[at(device)];
    double seconds = seconds_on(device);
    for (const int input : inputs_) {
      if (tensors_[at(input)].home != device) {
        begin = std::max(begin, send(input, device));
        seconds += graph_.tensors[at(input)].place_seconds;
      } else {
        begin = std::max(begin, tensors_[at(input)].ready);
      }
    }
    const double end = begin + seconds;
    free_[at(device)] = end;
    out_.nodes[at(id_)] = {device, begin, end};
    out_.order.push_back(id_);
    out_.seconds = std::max(out_.seconds, end);
    for (std::size_t k = 0; k < node_->outputs.size(); ++k) {
      Tensor& tensor = tensors_[at(output(k))];
      tensor.home = device;
      tensor.ready = end;
      tensor.last_use = end;
      if (limited_) memory_[at(device)].add(begin, bytes_at_home(output(k)));
    }
    for (const int input : node_->inputs) {
      Tensor& tensor = tensors_[at(input)];
      --tensor.readers;
      if (tensor.home == the_host) continue;
      if (tensor.home == device) {
        tensor.last_use = std::max(tensor.last_use, end);
      } else {
        last_use(tensor, device) = end;
      }
    }
    for (const int input : inputs_) {
      if (tensors_[at(input)].readers == 0) release(input);
    }
  }
  std::vector<PlacementCandidate>& candidates() {
    out_.candidates.resize(graph_.nodes.size());
    return out_.candidates[at(id_)];
  }
  PlacementSchedule finish() { return std::move(out_); }

 private:
  struct Tensor {
    int home = the_host;
    int row = none;  // of its copies
    int readers = 0;
    double ready = 0;
    double last_use = 0;
  };
  struct Copied {
    double arrival;  // below 0: there is no copy
    double last_use;
  };
  struct Way {
    int first;
    int second;  // none inside of a host
    const LinkRates* rates;
  };

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  int output(std::size_t k) const { return graph_.output(id_, static_cast<int>(k)); }
  /// A part is in the memory of the whole until it turns out that it is sent there.
  std::int64_t bytes_at_home(int tensor) const {
    const PlacementTensor& what = graph_.tensors[at(tensor)];
    return what.is_part ? 0 : what.bytes;
  }

  Way way_between(int from, int to) const {
    const int out_host = machine_.devices[at(from)].host;
    const int in_host = machine_.devices[at(to)].host;
    if (out_host == in_host) return {from * count_ + to, none, &machine_.inside};
    const int outer = count_ * count_;
    return {outer + out_host, outer + hosts_ + in_host, &machine_.between};
  }
  static double seconds_of(const Way& way, std::int64_t bytes) {
    return way.rates->latency + static_cast<double>(bytes) / way.rates->bytes_per_second;
  }
  double seconds_on(int device) const {
    const std::size_t model = at(machine_.devices[at(device)].model);
    return node_->seconds.size() == 1 ? node_->seconds[0] : node_->seconds[model];
  }
  /// When a channel is free, with the copies of the present prediction.
  double free_of(int channel) const {
    if (channel == none) return 0;
    for (const auto& [taken, end] : taken_) {
      if (taken == channel) return end;
    }
    return channels_[at(channel)];
  }
  void take(int channel, double end) {
    if (channel == none) return;
    for (auto& [taken, until] : taken_) {
      if (taken == channel) {
        until = end;
        return;
      }
    }
    taken_.emplace_back(channel, end);
  }
  double arrival(const Tensor& tensor, int device) const {
    return tensor.row == none ? -1 : rows_[at(tensor.row)][at(device)].arrival;
  }
  double& last_use(const Tensor& tensor, int device) {
    return rows_[at(tensor.row)][at(device)].last_use;
  }
  /// The arrival of a tensor on another device, which gets a copy if it has none.
  TYPEFLOW_COLD double send(int id, int device) {
    Tensor& tensor = tensors_[at(id)];
    if (tensor.row == none) {
      if (spare_.empty()) {
        tensor.row = static_cast<int>(rows_.size());
        rows_.emplace_back(at(count_), Copied{-1, 0});
      } else {
        tensor.row = spare_.back();
        spare_.pop_back();
      }
    }
    Copied& copied = rows_[at(tensor.row)][at(device)];
    if (copied.arrival >= 0) return copied.arrival;
    const PlacementTensor& what = graph_.tensors[at(id)];
    const std::int64_t bytes = what.bytes;
    if (limited_ && what.is_part) {
      memory_[at(tensor.home)].add(out_.nodes[at(what.producer)].begin, bytes);
    }
    const Way way = way_between(tensor.home, device);
    double start = tensor.ready;
    if (bytes > 0) {
      start = std::max(start, channels_[at(way.first)]);
      if (way.second != none) start = std::max(start, channels_[at(way.second)]);
    }
    copied = {start + seconds_of(way, bytes), 0};
    if (bytes > 0) {
      channels_[at(way.first)] = copied.arrival;
      if (way.second != none) channels_[at(way.second)] = copied.arrival;
      if (limited_) memory_[at(device)].add(start, bytes);
      tensor.last_use = std::max(tensor.last_use, copied.arrival);
      out_.copies.push_back({id, tensor.home, device, start, copied.arrival});
    }
    return copied.arrival;
  }
  /// All readers of a tensor are placed: its memory is free after the last of them.
  TYPEFLOW_COLD void release(int id) {
    Tensor& tensor = tensors_[at(id)];
    const PlacementTensor& what = graph_.tensors[at(id)];
    const bool has_memory = what.producer != none && (!what.is_part || tensor.row != none);
    if (limited_ && has_memory) {
      memory_[at(tensor.home)].add(tensor.last_use, -what.bytes);
    }
    if (tensor.row == none) return;
    std::vector<Copied>& row = rows_[at(tensor.row)];
    for (std::size_t d = 0; d < row.size(); ++d) {
      if (row[d].arrival < 0) continue;
      if (limited_) memory_[d].add(row[d].last_use, -what.bytes);
      row[d].arrival = -1;
    }
    spare_.push_back(std::exchange(tensor.row, none));
  }

  const PlacementGraph& graph_;
  const PlacementMachine& machine_;
  const int count_;
  int hosts_ = 0;
  bool limited_ = false;
  int id_ = none;
  const PlacementNode* node_ = nullptr;
  std::vector<int> inputs_;       // of the node, each once, in the order in which they are ready
  std::vector<double> free_;      // by device: when its last node is done
  std::vector<double> channels_;  // when the last copy is done: by pair, host's way out, way in
  std::vector<Tensor> tensors_;
  std::vector<std::vector<Copied>> rows_;      // by device: copies of a tensor that was sent
  std::vector<int> spare_;                     // rows that no tensor has
  std::vector<MemoryProfile> memory_;          // by device
  std::vector<std::pair<int, double>> taken_;  // channels of the present prediction
  std::vector<std::pair<double, std::int64_t>> more_;  // memory of the present prediction
  PlacementSchedule out_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
