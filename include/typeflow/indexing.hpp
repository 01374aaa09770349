// SPDX-License-Identifier: Apache-2.0
#pragma once

// Indexing that a first model does not need: updates at index tuples, slices at positions that a
// run computes, other folds of segments, searches, counts, partitions and stitches, permutations,
// differences of lists.

#include "typeflow/cpu/ops/counting.hpp"
#include "typeflow/cpu/ops/dynamic_slice.hpp"
#include "typeflow/cpu/ops/positions.hpp"
#include "typeflow/cpu/ops/reverse_sequence.hpp"
#include "typeflow/cpu/ops/roll.hpp"
#include "typeflow/cpu/ops/scatter_folds.hpp"
#include "typeflow/cpu/ops/scatter_nd.hpp"
#include "typeflow/cpu/ops/segment_folds.hpp"
#include "typeflow/cpu/ops/shuffle.hpp"
#include "typeflow/cpu/ops/stitch.hpp"
#include "typeflow/ops/index/counting.hpp"
#include "typeflow/ops/index/dynamic_slice.hpp"
#include "typeflow/ops/index/embedding_tables.hpp"
#include "typeflow/ops/index/positions.hpp"
#include "typeflow/ops/index/scatter_folds.hpp"
#include "typeflow/ops/index/scatter_nd.hpp"
#include "typeflow/ops/index/segment_folds.hpp"
#include "typeflow/ops/index/sets.hpp"
#include "typeflow/ops/index/stitch.hpp"
#include "typeflow/ops/index/wide_positions.hpp"
#include "typeflow/ops/random/shuffle.hpp"
#include "typeflow/ops/shape/meshgrid.hpp"
#include "typeflow/ops/shape/reverse_sequence.hpp"
#include "typeflow/ops/shape/roll.hpp"
#include "typeflow/ops/state/assign_slice.hpp"
