// SPDX-License-Identifier: Apache-2.0
#pragma once

// <typeflow/pooling.hpp> with its kernels for GPUs.

#include "typeflow/cuda/kernels.hpp"
#include "typeflow/cuda/ops/lrn.hpp"
#include "typeflow/cuda/ops/pool_argmax.hpp"
#include "typeflow/pooling.hpp"
