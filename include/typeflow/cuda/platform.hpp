// SPDX-License-Identifier: Apache-2.0
#pragma once

// The words of CUDA that kernels and their launches use: __global__, threadIdx, __syncthreads...
//
// nvcc knows them. Tests include an emulation of them before this header (tests/support/
// cuda_on_host.hpp), so that a C++ compiler builds the same kernels and runs them on the host.

#include <cstddef>

#include "typeflow/core/config.hpp"

#if defined(__CUDACC__)
#include <cuda_runtime.h>
#elif !defined(TYPEFLOW_CUDA_ON_HOST)
#error \
    "typeflow: <typeflow/cuda.hpp> needs nvcc 13; programs for CPUs include <typeflow/typeflow.hpp>"
#endif

/// Functions that kernels call. (constexpr functions need no mark: nvcc has
/// --expt-relaxed-constexpr.)
#define TYPEFLOW_DEVICE __device__ __forceinline__

/// In front of a loop of kernels: one copy of its body for each turn; one copy alone; or n copies,
/// so that loads of n turns are under way together.
#if defined(__CUDACC__)
#define TYPEFLOW_UNROLL _Pragma("unroll")
#define TYPEFLOW_ROLLED _Pragma("unroll 1")
#define TYPEFLOW_PRAGMA(text) _Pragma(#text)
#define TYPEFLOW_UNROLL_BY(n) TYPEFLOW_PRAGMA(unroll n)
#else
#define TYPEFLOW_UNROLL
#define TYPEFLOW_ROLLED
#define TYPEFLOW_UNROLL_BY(n)
#endif

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// Threads of a warp, which run together.
inline constexpr int warp_size = 32;
/// The mask of a warp's functions: all of its threads take part.
inline constexpr unsigned whole_warp = 0xffffffffu;

/// x, which the compiler must not keep from an earlier turn of a loop, nor what follows from it:
/// where registers are scarce, a few integer operations cost less than a spilled result.
TYPEFLOW_DEVICE int computed_again(int x) {
#if defined(__CUDACC__)
  asm volatile("" : "+r"(x));
#endif
  return x;
}

/// The shared memory whose size the launch has given (launch_with_memory), aligned for any element.
TYPEFLOW_DEVICE std::byte* launched_memory() {
#if defined(__CUDACC__)
  extern __shared__ __align__(16) std::byte typeflow_launched_memory[];
  return typeflow_launched_memory;
#else
  return cuda_on_host::current.memory;
#endif
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
