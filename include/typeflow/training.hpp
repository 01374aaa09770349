// SPDX-License-Identifier: Apache-2.0
#pragma once

// A training loop for those who want one, and its line of progress. Its own include, since many
// write the loop themselves: docs/training.md shows the lines that it stands for.

#include "typeflow/training/fit.hpp"
#include "typeflow/training/progress.hpp"
