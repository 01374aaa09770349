// SPDX-License-Identifier: Apache-2.0
#pragma once

// Losses with weights and reductions, as TensorFlow's tf.losses, and their collection by scope.
// Made of other operations; needs nothing more than typeflow.hpp does.

#include "typeflow/losses/classification.hpp"
#include "typeflow/losses/collection.hpp"
#include "typeflow/losses/reduction.hpp"
#include "typeflow/losses/regression.hpp"
