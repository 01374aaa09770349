// SPDX-License-Identifier: Apache-2.0
#pragma once

// <typeflow/mixed_matmul.hpp> with its kernels for GPUs.

#include "typeflow/cuda/kernels.hpp"
#include "typeflow/cuda/ops/mixed_matmul.hpp"
#include "typeflow/mixed_matmul.hpp"
