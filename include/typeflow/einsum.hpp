// SPDX-License-Identifier: Apache-2.0
#pragma once

// einsum and cross.

#include "typeflow/ops/linear/cross.hpp"
#include "typeflow/ops/linear/einsum.hpp"
