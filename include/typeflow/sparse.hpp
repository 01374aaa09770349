// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sparse tensors: indices and values of the nonzero elements. A header of its own, because few
// models have them. See docs/sparse.md.

#include "typeflow/cpu/ops/segment_folds.hpp"
#include "typeflow/sparse/combine.hpp"
#include "typeflow/sparse/elements.hpp"
#include "typeflow/sparse/kernels.hpp"
#include "typeflow/sparse/product.hpp"
#include "typeflow/sparse/sparse_tensor.hpp"
