// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sparse tensors: indices and values of the elements that are not zero. Its own include, since few
// models have them. See docs/sparse.md.

#include "typeflow/sparse/kernels.hpp"
#include "typeflow/sparse/product.hpp"
#include "typeflow/sparse/sparse_tensor.hpp"
