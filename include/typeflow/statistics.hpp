// SPDX-License-Identifier: Apache-2.0
#pragma once

// Rarer arithmetic and reductions: quotients without NaN, remainders, counts of zeros, weighted
// moments, tensors clipped by their norms, crelu. A header of its own, because few models need
// them. It needs no other library than graph.hpp does.

#include "typeflow/ops/elementwise/divisions.hpp"
#include "typeflow/ops/nn/crelu.hpp"
#include "typeflow/ops/reduce/clip_norms.hpp"
#include "typeflow/ops/reduce/statistics.hpp"
