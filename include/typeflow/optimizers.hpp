// SPDX-License-Identifier: Apache-2.0
#pragma once

// All optimisers. typeflow.hpp has those that most programs use: gradient descent, Momentum,
// Adagrad, Adam and AdamW. This one links no other library.

#include "typeflow/optimizers/adagrad.hpp"
#include "typeflow/optimizers/adam.hpp"
#include "typeflow/optimizers/adamax.hpp"
#include "typeflow/optimizers/averages.hpp"
#include "typeflow/optimizers/clip.hpp"
#include "typeflow/optimizers/gradient_descent.hpp"
#include "typeflow/optimizers/gradient_norms.hpp"
#include "typeflow/optimizers/momentum.hpp"
#include "typeflow/optimizers/noise.hpp"
#include "typeflow/optimizers/proximal.hpp"
#include "typeflow/optimizers/rms_prop.hpp"
#include "typeflow/optimizers/schedules.hpp"
