// SPDX-License-Identifier: Apache-2.0
#pragma once

// The operations of typeflow/operations.hpp without their kernels, for tests that only trace.

#include "typeflow/graph.hpp"

#include "typeflow/front/derivatives.hpp"
#include "typeflow/nn/attention.hpp"
#include "typeflow/ops/control/branch.hpp"
#include "typeflow/ops/control/checkpoint.hpp"
#include "typeflow/ops/control/loop.hpp"
#include "typeflow/ops/control/scan.hpp"
#include "typeflow/ops/elementwise/bessel.hpp"
#include "typeflow/ops/elementwise/bitcast.hpp"
#include "typeflow/ops/elementwise/bitwise.hpp"
#include "typeflow/ops/elementwise/polygamma.hpp"
#include "typeflow/ops/elementwise/special_functions.hpp"
#include "typeflow/ops/elementwise/zeta.hpp"
#include "typeflow/ops/index/counting.hpp"
#include "typeflow/ops/index/dynamic_slice.hpp"
#include "typeflow/ops/index/embedding_tables.hpp"
#include "typeflow/ops/index/scatter_nd.hpp"
#include "typeflow/ops/index/segment_folds.hpp"
#include "typeflow/ops/index/stitch.hpp"
#include "typeflow/ops/index/wide_positions.hpp"
#include "typeflow/ops/linear/cross.hpp"
#include "typeflow/ops/linear/einsum.hpp"
#include "typeflow/ops/nn/lrn.hpp"
#include "typeflow/ops/nn/pool_argmax.hpp"
#include "typeflow/ops/random/shuffle.hpp"
#include "typeflow/ops/shape/reverse_sequence.hpp"
#include "typeflow/ops/shape/space_to_batch.hpp"
#include "typeflow/ops/state/assign_slice.hpp"
