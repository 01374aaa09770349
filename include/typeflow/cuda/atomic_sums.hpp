// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sums at indices that are added atomically, as an option of a target. Include it after
// <typeflow/cuda.hpp>:
//
//   using Target = tf::BasicCudaTarget<tf::Precision::exact, tf::AtomicSums<>>;
//   tf::Session<model, tf::training, Target> session(variables);

#include "typeflow/cuda/kernels.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace cuda_kernels {

/// The kernel of an operation O that adds atomically, in the form of kernel_of<O>.
template <class O>
struct atomic_kernel_of {
  static constexpr bool is_missing = true;
};
template <>
struct atomic_kernel_of<ops::ScatterSum> : sum_at_indices_kernel<true> {};
template <>
struct atomic_kernel_of<ops::ScatterAdd> : scatter_sum_kernel<ops::ScatterAdd, false, true> {};
template <>
struct atomic_kernel_of<ops::ScatterSub> : scatter_sum_kernel<ops::ScatterSub, true, true> {};

/// A kernel's entry in the table of `Kernels`, unless it has sums that can be added atomically.
template <class Kernel, Precision P, class Kernels>
struct AtomicEntry {
  static constexpr KernelEntry entry = Kernels::template entry<Kernel, P>;
};
template <class O, class In, class Out, Precision P, class Kernels>
  requires(!requires { atomic_kernel_of<O>::is_missing; } && has_code<ir::CustomKernel<O, In, Out>>)
struct AtomicEntry<ir::CustomKernel<O, In, Out>, P, Kernels> {
  using AtomicCode = CustomCode<atomic_kernel_of<O>, O, In, Out>;
  static constexpr KernelEntry entry = [] {
    KernelEntry made{&AtomicCode::run, &AtomicCode::workspace};
    made.explain = cpu_kernels::entry<ir::CustomKernel<O, In, Out>,  // as for CPUs
                                      cpu_kernels::DefaultArch>.explain;
    made.is_confined = true;
    return made;
  }();
};

}  // namespace cuda_kernels

/// `Kernels` (OwnCudaKernels, CudaLibraries...), except that sums at indices are added atomically:
/// scatter_add, scatter_sub, segment_sum, scatter_nd, gradients of gathers. Indices are not sorted,
/// and need no workspace. But floats are added in any order, so that the bits of a result may
/// differ from run to run, by the rounding of sums; and floats below 2^-126 count as 0. It is the
/// second argument of BasicCudaTarget.
template <class Kernels = OwnCudaKernels>
struct AtomicSums {
  template <class Kernel, Precision P>
  static constexpr KernelEntry entry = cuda_kernels::AtomicEntry<Kernel, P, Kernels>::entry;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
