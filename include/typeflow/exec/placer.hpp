// SPDX-License-Identifier: Apache-2.0
#pragma once

// Placers: they move the steps of a program to other devices when a session opens. devices.hpp has
// one, tf::Placement. The engine knows only this interface, so that other programs do not compile
// it.

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "typeflow/exec/machine.hpp"
#include "typeflow/lower/kernel_call.hpp"
#include "typeflow/lower/program.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

struct General;

/// A program whose steps may move, and what it will run on.
struct PlacementTask {
  ir::ProgramView& program;  ///< gets the tables of the result
  std::span<const MachineDevice> devices;
  const General*& general;  ///< gets what runs programs on several devices (exec/general.hpp)
  bool soft;                ///< demands that the machine can't meet are dropped
  bool whole;               ///< the session's own program: it has all of the model's names
  const std::function<void(std::string_view)>& print;
};

/// A target's code for a program, by kernel.
struct KernelTables {
  const KernelEntry* own;   ///< for the devices that steps were compiled for; run may be null
  const KernelEntry* host;  ///< the processor's
};

/// The tables of a program that a placer has changed. It lives as long as the program.
class Placed {
 public:
  virtual ~Placed() = default;
};

class Placer {
 public:
  virtual std::unique_ptr<Placed> place(const PlacementTask& task) const = 0;

 protected:
  ~Placer() = default;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
