// SPDX-License-Identifier: Apache-2.0
#pragma once

// Pools with the positions of their maxima, fractional pools, local response normalization, and
// blocks of pixels moved to the batch axis.

#include "typeflow/cpu/ops/counting.hpp"
#include "typeflow/cpu/ops/fractional_pool.hpp"
#include "typeflow/cpu/ops/lrn.hpp"
#include "typeflow/cpu/ops/pool_argmax.hpp"
#include "typeflow/cpu/ops/segment_folds.hpp"
#include "typeflow/ops/nn/fractional_pool.hpp"
#include "typeflow/ops/nn/lrn.hpp"
#include "typeflow/ops/nn/pool_argmax.hpp"
#include "typeflow/ops/shape/space_to_batch.hpp"
