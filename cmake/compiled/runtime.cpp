// SPDX-License-Identifier: Apache-2.0

// What sessions and runners stand on.

#include "typeflow/core/compiled_once.hpp"

#include "typeflow/cpu/ops/check.ipp"
#include "typeflow/exec/by_cost.ipp"
#include "typeflow/exec/cost_model.ipp"
#include "typeflow/exec/device_memory.ipp"
#include "typeflow/exec/explain.ipp"
#include "typeflow/exec/general.ipp"
#include "typeflow/exec/host_code.ipp"
#include "typeflow/exec/place_by_cost.ipp"
#include "typeflow/exec/placement.ipp"
#include "typeflow/exec/program_placement.ipp"
#include "typeflow/exec/simulate.ipp"
#include "typeflow/exec/timeline.ipp"
#include "typeflow/graph/describe.ipp"
#include "typeflow/graph/number_text.ipp"
#include "typeflow/ops/state/check.ipp"
#include "typeflow/plots/plots.ipp"
#include "typeflow/queues/queue_core.ipp"
#include "typeflow/runner/engine_runner.ipp"
#include "typeflow/runtime/containers.ipp"
#include "typeflow/runtime/elements.ipp"
#include "typeflow/runtime/engine.ipp"
#include "typeflow/runtime/local_devices.ipp"
#include "typeflow/runtime/run_limits.ipp"
#include "typeflow/runtime/variables.ipp"
#include "typeflow/strings/parse.ipp"
#include "typeflow/training/callbacks.ipp"
#include "typeflow/training/figures.ipp"
#include "typeflow/training/loop.ipp"
#include "typeflow/training/periodic.ipp"
#include "typeflow/training/progress.ipp"
#ifndef TYPEFLOW_SERIAL
#include "typeflow/runtime/threads.ipp"
#endif
