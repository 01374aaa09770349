// SPDX-License-Identifier: Apache-2.0
#pragma once

// <typeflow/linalg.hpp> with its kernels for GPUs.

#include "typeflow/cuda/kernels.hpp"
#include "typeflow/cuda/ops/eig.hpp"
#include "typeflow/cuda/ops/linalg.hpp"
#include "typeflow/cuda/ops/qr.hpp"
#include "typeflow/cuda/ops/svd.hpp"
#include "typeflow/linalg.hpp"
