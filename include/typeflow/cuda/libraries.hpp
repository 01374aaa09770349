// SPDX-License-Identifier: Apache-2.0
#pragma once

// NVIDIA's libraries for sessions on GPUs: cuBLASLt multiplies matrices. Include it after
// <typeflow/cuda.hpp>, and link typeflow::cuda_libraries, or -lcublasLt:
//
//   using Target = tf::BasicCudaTarget<tf::Precision::tf32, tf::CudaLibraries>;
//   tf::Session<model, tf::training, Target> session(variables);

#include "typeflow/cuda/cublaslt.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The kernels of typeflow, except that cuBLASLt multiplies matrices: the second argument of
/// BasicCudaTarget.
using CudaLibraries = LibraryCudaKernels<CublasLt>;

/// The same, for dense layers at cuBLASLt's full rate: it also adds a bias to a product of 16-bit
/// numbers, and computes the relu that follows. Some of its algorithms round once where others
/// round the product, too, and some make 0 of NaN.
using CudaLibraryEpilogues = LibraryCudaKernels<CublasLtEpilogues>;

}  // namespace typeflow::inline TYPEFLOW_ISA
