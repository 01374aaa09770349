// SPDX-License-Identifier: Apache-2.0
#pragma once

// einsum, tensordot, cross, and matrices by their diagonals (eye, matrix_set_diag).

#include "typeflow/ops/linear/cross.hpp"
#include "typeflow/ops/linear/diagonals.hpp"
#include "typeflow/ops/linear/einsum.hpp"
#include "typeflow/ops/linear/tensordot.hpp"
