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
};

/// Runs the graph of a seed by the interpreter and by programs of several kinds. What differs;
/// empty if nothing does.
std::string check_control_flow(std::uint64_t seed, ControlSize size = {});

/// The same on one to four devices with random pins, some with memory that the host can't touch.
std::string check_devices(std::uint64_t seed, ControlSize size = {});

/// The statements of the graph of a seed.
std::string control_flow_text(std::uint64_t seed, ControlSize size = {});

/// The plan of check_devices for all steps.
std::string plan_text(std::uint64_t seed, ControlSize size = {});

}  // namespace fuzz
