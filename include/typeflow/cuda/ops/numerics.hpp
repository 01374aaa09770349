// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernels of check_numerics, a copy that counts elements that are not finite, and of dropout's
// check.

#include <cstdint>
#include <limits>

#include "typeflow/cuda/loops.hpp"
#include "typeflow/nn/dropout.hpp"
#include "typeflow/ops/elementwise/numerics.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// Copies elements, and adds to found->number how many are NaN and infinite.
template <class T>
__global__ void count_unfinite_kernel(const T* x, T* y, std::int64_t size, Failure* found) {
  __shared__ unsigned counts[2];
  if (threadIdx.x < 2) counts[threadIdx.x] = 0;
  __syncthreads();
  for (auto i = grid_thread<std::int64_t>(); i < size; i += grid_threads<std::int64_t>()) {
    const auto e = static_cast<Computed<T>>(x[i]);
    constexpr auto infinity = std::numeric_limits<Computed<T>>::infinity();
    if (e != e) atomicAdd(&counts[0], 1u);
    if (e == infinity || e == -infinity) atomicAdd(&counts[1], 1u);
    y[i] = x[i];
  }
  __syncthreads();
  if (threadIdx.x >= 2 || counts[threadIdx.x] == 0) return;
  if (found->what != 0) return;  // of an earlier tensor
  atomicAdd(reinterpret_cast<unsigned long long*>(&found->number[threadIdx.x]),
            static_cast<unsigned long long>(counts[threadIdx.x]));
}
template <class T>
__global__ void report_unfinite_kernel(std::int64_t size, Failure* found) {
  found->number[2] = size;
  if (found->number[0] + found->number[1] > 0) found->what = 1;
}

template <>
struct kernel_of<ops::CheckNumerics> {
  template <class T>
  static void run(const ops::CheckNumerics&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    if (in->size() == 0) return;
    Failure* const found = stream_of(call).failure_of(call);
    launch(call, &count_unfinite_kernel<T>, blocks_for(in->size(), loop_threads), loop_threads,
           static_cast<const T*>(in->data), static_cast<T*>(out->data), in->size(), found);
    launch(call, &report_unfinite_kernel<T>, 1, 1, in->size(), found);
  }
};

/// Copies a probability. Another number than (0, 1] is a mistake.
template <class T>
__global__ void check_keep_kernel(const T* in, T* out, Failure* found) {
  *out = *in;
  const auto keep = static_cast<double>(static_cast<Computed<T>>(*in));
  if (keep > 0 && keep <= 1) return;
  memcpy(&found->number[0], &keep, sizeof keep);
  found->what = 1;
}

template <>
struct kernel_of<ops::CheckKeep> {
  template <class T>
  static void run(const ops::CheckKeep&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    launch(call, &check_keep_kernel<T>, 1, 1, static_cast<const T*>(in->data),
           static_cast<T*>(out->data), stream_of(call).failure_of(call));
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
