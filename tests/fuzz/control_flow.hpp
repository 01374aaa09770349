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

/// The same on one to four devices with random pins, some with memory that the host can't touch. If
/// it `waits`, a third of the kernels wait now and then, as a dequeue does. `late_copies` grows by
/// the number of late copies in further plans, which are only verified.
std::string check_devices(std::uint64_t seed, ControlSize size = {}, bool waits = false,
                          int* late_copies = nullptr);

/// Runs on such devices that fail at a random kernel or are cancelled at a random moment, and a
/// first run whose allocations fail one after the other: whether the error is right, and so is the
/// next run. `checked` grows by the number of runs that met with something.
std::string check_failures(std::uint64_t seed, int runs, int& checked, ControlSize size = {});

/// The statements of the graph of a seed.
std::string control_flow_text(std::uint64_t seed, ControlSize size = {});

/// The plan of check_devices for all steps.
std::string plan_text(std::uint64_t seed, ControlSize size = {}, bool waits = false);

}  // namespace fuzz
