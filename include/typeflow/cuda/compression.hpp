// SPDX-License-Identifier: Apache-2.0
#pragma once

// <typeflow/compression.hpp> with its kernels for GPUs.

#include "typeflow/compression.hpp"
#include "typeflow/cuda/kernels.hpp"
#include "typeflow/cuda/ops/compression.hpp"
