// SPDX-License-Identifier: Apache-2.0

// The tests of CPUs' kernels, on those of GPUs.

#include "support/cuda_target_on_host.hpp"

#include <typeflow/cuda/linalg.hpp>

#define TYPEFLOW_TEST_TARGET test::CudaTargetOnHost
#include "../linalg/test_linalg.cpp"
