// SPDX-License-Identifier: Apache-2.0
#pragma once

// Training with 16-bit tensors: float masters of variables, and loss scaling.

#include "typeflow/exec/all.hpp"
#include "typeflow/optimizers/loss_scale.hpp"
#include "typeflow/optimizers/masters.hpp"
