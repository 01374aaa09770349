// SPDX-License-Identifier: Apache-2.0
#pragma once

// <typeflow/indexing.hpp> with its kernels for GPUs.

#include "typeflow/cuda/kernels.hpp"
#include "typeflow/cuda/ops/counting.hpp"
#include "typeflow/cuda/ops/dynamic_slice.hpp"
#include "typeflow/cuda/ops/reverse_sequence.hpp"
#include "typeflow/cuda/ops/roll.hpp"
#include "typeflow/cuda/ops/scatter_folds.hpp"
#include "typeflow/cuda/ops/scatter_nd.hpp"
#include "typeflow/cuda/ops/segment_folds.hpp"
#include "typeflow/cuda/ops/shuffle.hpp"
#include "typeflow/cuda/ops/stitch.hpp"
#include "typeflow/indexing.hpp"
