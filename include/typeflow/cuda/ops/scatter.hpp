// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels of ops/index/scatter.hpp: slices of a variable, changed in place, in the order of the
// indices. The variable stays as it is if an index is wrong.

#include "typeflow/cuda/ops/gather.hpp"
#include "typeflow/ops/index/scatter.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// Calls change(loops, found) for a variable's slices, whose indices have been checked.
template <class O, class F>
void change_slices(const O& op, const Tensor* in, const Tensor* out, const KernelCall& call,
                   const F& change) {
  const IndexLoops loops =
      typeflow::detail::flat_loops(out->extents, in[1].size(), static_cast<int>(op.axes));
  change(loops, check_indices(call, op.indexing, in[1], loops.extent));
}

template <class O>
struct scatter_kernel {
  static std::int64_t workspace(const Tensor* in, const Tensor*) {
    return fold_workspace(in[1], in[0]);
  }
};

template <class O, bool Subtracts, bool Atomic>
struct scatter_sum_kernel {
  static std::int64_t workspace(const Tensor* in, const Tensor*) {
    return Atomic ? 0 : fold_workspace(in[1], in[0]);
  }
  template <class T>
  static void run(const O& op, const Tensor* in, const Tensor* out, const KernelCall& call) {
    change_slices(op, in, out, call, [&](const IndexLoops& loops, const Failure* found) {
      add_slices<T, Atomic>(call, loops, in[1], in[0], *out, found, Subtracts);
    });
  }
};
template <>
struct kernel_of<ops::ScatterAdd> : scatter_sum_kernel<ops::ScatterAdd, false, false> {};
template <>
struct kernel_of<ops::ScatterSub> : scatter_sum_kernel<ops::ScatterSub, true, false> {};

template <>
struct kernel_of<ops::ScatterMul> : scatter_kernel<ops::ScatterMul> {
  template <class T>
  static void run(const ops::ScatterMul& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    change_slices(op, in, out, call, [&](const IndexLoops& loops, const Failure* found) {
      scatter_slices<T>(call, loops, in[1], static_cast<const T*>(in[0].data),
                        static_cast<T*>(out->data), found, FoldStep<ops::Mul>{});
    });
  }
};

template <>
struct kernel_of<ops::ScatterUpdate> : scatter_kernel<ops::ScatterUpdate> {
  template <class>
  static void run(const ops::ScatterUpdate& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    change_slices(op, in, out, call, [&](const IndexLoops& loops, const Failure* found) {
      visit_size(out->dtype, [&]<int N>(Unit<N>) {
        scatter_slices<Unit<N>>(call, loops, in[1], static_cast<const Unit<N>*>(in[0].data),
                                static_cast<Unit<N>*>(out->data), found, ReplaceStep{});
      });
    });
  }
};

struct HalvesStep {
  ops::ScatterHalves op;
  TYPEFLOW_DEVICE float operator()(float element, float value) const { return op(element, value); }

  static constexpr bool can_merge = true;
  constexpr bool merges() const {
    return op.step == ops::ScatterHalves::Step::add ||
           op.step == ops::ScatterHalves::Step::subtract;
  }
  TYPEFLOW_DEVICE float merge(float sum, float value) const { return sum + value; }
};

/// A slice takes all values of its index in float, and is rounded once.
template <>
struct kernel_of<ops::ScatterHalves> : scatter_kernel<ops::ScatterHalves> {
  template <class>
  static void run(const ops::ScatterHalves& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    change_slices(op, in, out, call, [&](const IndexLoops& loops, const Failure* found) {
      const auto change = [&]<class T>(T* target) {
        scatter_slices<float>(call, loops, in[1], static_cast<const float*>(in[0].data), target,
                              found, HalvesStep{op});
      };
      if (out->dtype == DType::bfloat16) {
        change(static_cast<bfloat16*>(out->data));
      } else {
        change(static_cast<float16*>(out->data));
      }
    });
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
