// SPDX-License-Identifier: Apache-2.0
#pragma once

// Branches, loops and scans: cond, switch_case, while_loop, fori_loop, scan, map, fold_left,
// checkpointed; and completed, for control dependencies.

#include "typeflow/exec/all.hpp"
#include "typeflow/ops/control/branch.hpp"
#include "typeflow/ops/control/checkpoint.hpp"
#include "typeflow/ops/control/loop.hpp"
#include "typeflow/ops/control/scan.hpp"
#include "typeflow/ops/state/completed.hpp"
