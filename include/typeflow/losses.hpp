// SPDX-License-Identifier: Apache-2.0
#pragma once

// Losses with weights and reductions, like TensorFlow's tf.losses, and their collection by scope.
// Composed of other operations; needs no other library than typeflow.hpp does.

#include "typeflow/losses/classification.hpp"
#include "typeflow/losses/collection.hpp"
#include "typeflow/losses/reduction.hpp"
#include "typeflow/losses/regression.hpp"
