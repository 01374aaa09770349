// SPDX-License-Identifier: Apache-2.0
#pragma once

// A training loop with a progress line, validation and callbacks. Not part of typeflow.hpp, because
// many programs have their own loop: docs/training.md shows the lines that it replaces.

#include "typeflow/training/callbacks.hpp"
#include "typeflow/training/fit.hpp"
#include "typeflow/training/progress.hpp"
