// SPDX-License-Identifier: Apache-2.0
#pragma once

// The primitives of control flow, tf::primitives: Switch, Merge, Enter, Exit, NextIteration and
// LoopCond. Not part of typeflow.hpp.

#include "typeflow/exec/all.hpp"
#include "typeflow/graph.hpp"
#include "typeflow/ops/control/primitives.hpp"
#include "typeflow/passes/dataflow.hpp"
#include "typeflow/passes/recognize.hpp"
