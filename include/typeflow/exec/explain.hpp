// SPDX-License-Identifier: Apache-2.0
#pragma once

// Plans as text.

#include <span>
#include <string>

#include "typeflow/exec/machine.hpp"
#include "typeflow/exec/plan.hpp"
#include "typeflow/lower/program.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// A plan as text: for each stream its instructions, one a line. A temporary has a number, %3;
/// another tensor its name. Copies and events name the other stream's device.
///
///   /cpu:1
///     0  wait       event 0 of /cpu:0
///     1  launch     b (model.cpp:12): %1, W -> %2
std::string explain(const ir::ProgramView& program, std::span<const MachineDevice> devices,
                    const Plan& plan);

}  // namespace typeflow::inline TYPEFLOW_ISA::exec

#ifndef TYPEFLOW_COMPILED
#include "typeflow/exec/explain.ipp"
#endif
