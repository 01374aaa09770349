// SPDX-License-Identifier: Apache-2.0
#pragma once

// <typeflow/bits.hpp> with its kernels for GPUs.

#include "typeflow/bits.hpp"
#include "typeflow/cuda/kernels.hpp"
#include "typeflow/cuda/ops/bitcast.hpp"
