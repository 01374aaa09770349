// SPDX-License-Identifier: Apache-2.0
#pragma once

// Placement by cost: each node goes where it is predicted to finish first.
//
// The nodes are taken in a topological order. For each feasible device the finish is predicted:
// inputs that are not there are copied, when their channels are free, and the node begins when they
// have come and the device is free. The earliest finish wins; of equal ones the one with fewer
// copied bytes, then the first device. A device on which tensors would take more than its limit at
// any time is out.
//
// This is list scheduling by earliest finish time, HEFT of Topcuoglu, Hariri, Wu,
// Performance-effective and low-complexity task scheduling for heterogeneous computing, 2002. Gaps
// are not filled: a device takes its nodes in the order of placing. Ranks leave out copies, which
// the best placement mostly avoids. It is not optimal: it decides each node without a look at those
// that follow.

#include <cstdint>
#include <string>
#include <vector>

#include "typeflow/exec/placement_graph.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// The order in which nodes are placed, and in which each device runs them.
enum class PlacementOrder {
  best,                ///< the order of the graph, or longest_path_first if that is 1 % faster
  of_graph,            ///< as the nodes were added
  longest_path_first,  ///< nodes with more seconds until the end of their longest path come first
};

struct PlacementRules {
  /// Copies begin as late as their readers and channels allow, so that buffers of the receiver are
  /// taken for a shorter time. The sender holds a tensor until its last copy is done, so copies
  /// from a device whose limit would be exceeded stay early. Nodes run at the same times as
  /// without.
  bool late_receives = true;
  PlacementOrder order = PlacementOrder::best;
  bool keep_candidates = false;
};

/// Places a graph on a machine. Error if a node has no feasible device, if the members of a group
/// have none in common, or if no device has memory for a node.
PlacementSchedule place_by_cost(const PlacementGraph& graph, const PlacementMachine& machine,
                                const PlacementRules& rules = {});

/// The schedule of a placement that is given by node, without a look at feasible devices or limits
/// of memory.
PlacementSchedule schedule_of(const PlacementGraph& graph, const PlacementMachine& machine,
                              const std::vector<int>& devices, const PlacementRules& rules = {});

/// By device, the most bytes of tensors at one time: those that its nodes make, and copies. A
/// tensor lives from the beginning of its node or copy until its last reader and the last copy of
/// it are done. One that nobody reads is a result, and stays.
std::vector<std::int64_t> peak_bytes(const PlacementGraph& graph, const PlacementMachine& machine,
                                     const PlacementSchedule& schedule);

/// No placement takes less time.
struct PlacementBound {
  double critical_path;  ///< the longest path, with free copies, each node on its fastest device
  double work;           ///< all nodes' seconds on their fastest devices, divided by the devices

  double seconds() const { return critical_path > work ? critical_path : work; }
};
PlacementBound lower_bound(const PlacementGraph& graph, const PlacementMachine& machine);

/// A drawing of a schedule: for each device a row of its nodes, and below it one of the copies that
/// it receives.
std::string schedule_svg(const PlacementGraph& graph, const PlacementMachine& machine,
                         const PlacementSchedule& schedule, int width);

/// The candidates and the choice for each node as text, a line for each node:
///
///   left/MatMul (model.cpp:4)         /cpu:1 0.123 ms  [/cpu:0 0.150 ms, /cpu:2 no memory]
std::string candidates_text(const PlacementGraph& graph, const PlacementMachine& machine,
                            const PlacementSchedule& schedule);

}  // namespace typeflow::inline TYPEFLOW_ISA::exec

#ifndef TYPEFLOW_COMPILED
#include "typeflow/exec/place_by_cost.ipp"
#endif
