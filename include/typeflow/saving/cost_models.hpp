// SPDX-License-Identifier: Apache-2.0
#pragma once

// Cost models in files, and the rates of the machine that runs the program.
//
//   tf::CostModel model = tf::cost_model_of_machine();
//   ... tf::measure(model, session, trace);
//   tf::save(model, "net.costs.json");
//   tf::CostModel again = tf::load_cost_model("net.costs.json");

#include <string>

#include "typeflow/exec/cost_model.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Writes a cost model as JSON. An existing file is replaced as a whole.
void save(const exec::CostModel& model, const std::string& path);

/// Error if the file can't be read, is no JSON, or has a field that is missing, unknown, of another
/// type or out of range; it names the file and the field.
exec::CostModel load_cost_model(const std::string& path);

/// The rates of this machine's processor, one thread: a matrix product, a copy of memory, and
/// hand-overs between two threads. They are measured once (some 0.2 s) and kept in the file
/// `rates_file()`; a file that is broken, or of another processor, is measured anew. If it can't be
/// written, they are measured by each program.
exec::CostModel cost_model_of_machine();

/// rates-TARGET.json in the folder `typeflow` of $XDG_CACHE_HOME, or else of ~/.cache. TARGET is
/// the instruction set that the program is built for. Empty if there is neither variable.
std::string rates_file();

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_SAVING
#include "typeflow/saving/cost_models.ipp"
#endif
