// SPDX-License-Identifier: Apache-2.0
#pragma once

// GPUs by CUDA. Include it after <typeflow/typeflow.hpp> in a file that nvcc compiles:
//
//   tf::Session<model, tf::training, tf::CudaTarget> session(variables);

#include "typeflow/cuda/kernels.hpp"
#include "typeflow/cuda/target.hpp"
