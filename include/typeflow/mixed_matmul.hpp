// SPDX-License-Identifier: Apache-2.0
#pragma once

// Matrix products with wider elements than their operands: tf::matmul<std::int32_t>(a, b) of bytes,
// tf::matmul<float>(a, b) of 16-bit numbers.

#include "typeflow/cpu/ops/mixed_matmul.hpp"
#include "typeflow/ops/linear/mixed_matmul.hpp"
