// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random graphs of branches and loops, nested up to a depth of three. Their floats are small whole
// numbers, so that no operation rounds and all ways of computing agree to the last digit.

#include <cstdint>
#include <string>

namespace fuzz {

/// How large such a graph is.
struct ControlSize {
  int statements = 6;     ///< of the graph itself
  int depth = 3;          ///< of branches and loops in one another
  bool gradients = true;  ///< half of them with gradients
  /// Some tensors travel with 16 bits (tf::compressed). Some of their numbers change by that.
  bool compressed = false;
};

/// What the devices of a check are like besides.
struct DeviceKind {
  bool waits = false;       ///< a third of the kernels wait now and then, as a dequeue does
  bool transports = false;  ///< between most devices tensors arrive later, in any order
};

/// The graphs and devices that `fuzz --devices` draws.
ControlSize size_of_seed(std::uint64_t seed);
DeviceKind devices_of_seed(std::uint64_t seed, bool waits = false);

/// Runs the graph of a seed by the interpreter and by programs of several kinds. What differs;
/// empty if nothing does.
std::string check_control_flow(std::uint64_t seed, ControlSize size = {});

/// What check_devices has met.
struct Met {
  int late_copies = 0;      ///< in further plans, which are only verified
  long late_transfers = 0;  ///< of a transport
  int with_detached = 0;    ///< plans with parts on other devices than their tensors
};

/// The same on one to four devices with random pins, some with memory that the host can't touch.
/// `met` grows.
std::string check_devices(std::uint64_t seed, ControlSize size = {}, DeviceKind kind = {},
                          Met* met = nullptr);

/// Runs on such devices that fail at a random kernel or transfer, or are cancelled at a random
/// moment, and a first run whose allocations fail one after the other: whether the error is right,
/// and so is the next run. `checked` grows by the number of runs that met with something.
std::string check_failures(std::uint64_t seed, int runs, int& checked, ControlSize size = {},
                           bool transports = false);

/// The statements of the graph of a seed.
std::string control_flow_text(std::uint64_t seed, ControlSize size = {});

/// The plan of check_devices for all steps.
std::string plan_text(std::uint64_t seed, ControlSize size = {}, DeviceKind kind = {});

}  // namespace fuzz
