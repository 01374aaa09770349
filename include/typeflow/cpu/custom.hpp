// SPDX-License-Identifier: Apache-2.0
#pragma once

// Operations with a kernel of their own: the call of kernel_of<O>, and the library's ones.

#include <cstring>

#include "typeflow/cpu/rows.hpp"
#include "typeflow/ops/custom.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::simd {

template <class O, class... In, class... Out, class A>
struct Code<ir::CustomKernel<O, ir::List<In...>, ir::List<Out...>>, A> {
  static std::int64_t workspace(const std::int64_t* extents) {
    if constexpr (requires { kernel_of<O>::workspace(extents); }) {
      return kernel_of<O>::workspace(extents);
    } else {
      return 0;
    }
  }

  /// In the descriptions of such kernels, `axes` of an input and `value` of a store are ranks.
  static void run(const KernelCall& call) {
    constexpr int inputs = sizeof...(In);
    constexpr int outputs = sizeof...(Out);
    constexpr DType types[] = {In::dtype..., Out::dtype..., DType::boolean};
    constexpr int ranks[] = {static_cast<int>(In::axes)..., Out::value..., 0};
    Tensor tensors[inputs + outputs + 1];
    const std::int64_t* extents = call.extents;
    for (int i = 0; i < inputs + outputs; ++i) {
      tensors[i] = {call.operands[i], types[i], {extents, static_cast<std::size_t>(ranks[i])}};
      extents += ranks[i];
    }
    using T = element_of<types[0]>;
    const O op = decode<O>(call.words);
    if constexpr (requires { kernel_of<O>::template run<A, T>(op, tensors, tensors, call); }) {
      kernel_of<O>::template run<A, T>(op, tensors, tensors + inputs, call);
    } else {
      kernel_of<O>::template run<A>(op, tensors, tensors + inputs, call);
    }
  }
};

/// A copy; the engine prints it.
template <>
struct kernel_of<ops::Print> {
  template <class A>
  static void run(const ops::Print&, const Tensor* in, const Tensor* out, const KernelCall&) {
    const std::int64_t bytes = in->size() * size_of(in->dtype);
    if (bytes > 0) std::memcpy(out->data, in->data, static_cast<std::size_t>(bytes));
  }
};

}  // namespace typeflow::inline TYPEFLOW_TARGET::simd
