// SPDX-License-Identifier: Apache-2.0
#pragma once

// What placement by cost works on: nodes with costs, tensors with bytes, and a described machine.
//
//   PlacementGraph graph;
//   const int x = graph.add_source(4096);                                  // with every device
//   const int a = graph.add({.name = "a", .seconds = {3}, .inputs = {x}, .outputs = {1000}});
//   const int b = graph.add({.name = "b", .seconds = {2}, .inputs = {graph.output(a)}});
//
// A program converts into such a graph (program_placement.hpp). Studies of machines that nobody has
// at hand make one of their own: it has any number of devices.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/exec/plan.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// A unit that runs on one device: a step, or a branch or loop with its blocks.
struct PlacementNode {
  std::string name = {};
  /// Seconds on each model of device; a single number holds for all models.
  std::vector<double> seconds = {};
  std::vector<int> inputs = {};            ///< tensors
  std::vector<std::int64_t> outputs = {};  ///< bytes of the tensors that it makes
  std::vector<int> devices = {};           ///< those that it may run on; empty: all
  int group = none;                        ///< nodes of one group run on one device
  /// Earlier nodes that every order keeps before it. On another device it does not wait for them.
  std::vector<int> after = {};
};

/// A tensor, as placement sees it.
struct PlacementTensor {
  int producer;        ///< node; none of a source
  int home;            ///< device of a source; the_host: with every device
  std::int64_t bytes;  ///< 0: only an order, the reader waits for a signal
  /// The tensor is computed in the memory of one that its only reader makes. On another device it
  /// has memory of its own, and the reader takes `place_seconds` longer to put it there.
  bool is_part = false;
  double place_seconds = 0;
};

/// Nodes in a topological order: an input is a tensor that was added before.
class PlacementGraph {
 public:
  /// A tensor that is there from the beginning, on its home. It takes no memory there. Another
  /// device that reads it gets a copy.
  int add_source(std::int64_t bytes, int home = the_host) {
    tensors.push_back({none, home, bytes});
    return static_cast<int>(tensors.size()) - 1;
  }
  /// Returns the node's number. Error if an input is no tensor of the graph, if a node to come
  /// after is not there yet, or if a number of seconds is missing or negative.
  int add(PlacementNode node) {
    const int id = static_cast<int>(nodes.size());
    const auto refuse = [&](const std::string& expected, const std::string& got) {
      throw Error("node \"" + node.name + "\" of a placement graph", expected, got);
    };
    for (const int input : node.inputs) {
      if (input < 0 || input >= static_cast<int>(tensors.size())) {
        refuse("inputs from tensor 0 to " + std::to_string(static_cast<int>(tensors.size()) - 1),
               std::to_string(input));
      }
    }
    for (const int before : node.after) {
      if (before < 0 || before >= id) {
        refuse("to be after nodes from 0 to " + std::to_string(id - 1), std::to_string(before));
      }
    }
    if (node.seconds.empty()) refuse("seconds", "none");
    for (const double seconds : node.seconds) {
      if (!(seconds >= 0)) refuse("seconds >= 0", std::to_string(seconds));
    }
    first_output.push_back(static_cast<int>(tensors.size()));
    for (const std::int64_t bytes : node.outputs) tensors.push_back({id, the_host, bytes});
    nodes.push_back(std::move(node));
    return id;
  }
  /// The k-th tensor that a node makes.
  int output(int node, int k = 0) const { return first_output[static_cast<std::size_t>(node)] + k; }

  std::vector<PlacementNode> nodes;
  std::vector<PlacementTensor> tensors;
  std::vector<int> first_output;  ///< by node
};

/// A way between devices: a copy of n bytes takes latency + n / bytes_per_second.
struct LinkRates {
  double latency = 1e-6;  ///< seconds
  double bytes_per_second = 1e10;
};

/// A device of a described machine.
struct PlacementDevice {
  std::string name = {};
  int model = 0;                  ///< which of a node's numbers of seconds holds
  int host = 0;                   ///< devices of one host have faster links
  std::int64_t memory_limit = 0;  ///< bytes of tensors at one time; 0: no limit
};

/// Devices and links. Every link is a channel that carries one copy at a time. Inside of a host
/// each pair of devices has one for each direction. Between hosts a copy takes the sending host's
/// way out and the receiving host's way in.
struct PlacementMachine {
  std::vector<PlacementDevice> devices;
  LinkRates inside{};
  LinkRates between{};

  /// Equal devices, so many on each host.
  static PlacementMachine of(int devices, int on_each_host, const LinkRates& inside,
                             const LinkRates& between, std::int64_t memory_limit = 0) {
    PlacementMachine machine{{}, inside, between};
    for (int d = 0; d < devices; ++d) {
      machine.devices.push_back({"device " + std::to_string(d), 0, d / on_each_host, memory_limit});
    }
    return machine;
  }
  int size() const { return static_cast<int>(devices.size()); }
};

struct PlacedNode {
  int device;
  double begin;
  double end;
};

/// The copy of a tensor to another device. `begin` is when its buffer there is taken.
struct PlacedCopy {
  int tensor;
  int from;
  int to;
  double begin;
  double end;
};

/// What a node's run on a device would mean.
struct PlacementCandidate {
  int device;
  double finish;              ///< predicted
  std::int64_t copied_bytes;  ///< of inputs that are not there yet
  bool fits;                  ///< in the device's memory
};

/// Where and when nodes run. Times are in seconds from the run's start.
struct PlacementSchedule {
  double seconds = 0;  ///< until the last node is done
  std::vector<PlacedNode> nodes;
  std::vector<int> order;          ///< of placing: each device runs its nodes in it
  std::vector<PlacedCopy> copies;  ///< in the order in which each channel carries them
  std::vector<std::vector<PlacementCandidate>> candidates;  ///< by node, if they were asked for
};

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
