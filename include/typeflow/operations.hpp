// SPDX-License-Identifier: Apache-2.0
#pragma once

// typeflow.hpp and all other operations that need no further library. Operations on images,
// sequences, strings and sparse tensors, and recurrent nets, have headers of their own.

#include "typeflow/typeflow.hpp"

#include "typeflow/attention.hpp"
#include "typeflow/bits.hpp"
#include "typeflow/control_flow.hpp"
#include "typeflow/derivatives.hpp"
#include "typeflow/einsum.hpp"
#include "typeflow/indexing.hpp"
#include "typeflow/mixed_matmul.hpp"
#include "typeflow/pooling.hpp"
#include "typeflow/special_functions.hpp"
#include "typeflow/statistics.hpp"
