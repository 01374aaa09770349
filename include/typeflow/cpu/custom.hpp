// SPDX-License-Identifier: Apache-2.0
#pragma once

// Operations with a kernel of their own: the call of kernel_of<O>, and the library's kernels.

#include <cstring>

#include "typeflow/core/characters.hpp"  // of kernels for strings: call.characters
#include "typeflow/cpu/rows.hpp"
#include "typeflow/ops/custom.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// The code of a custom operation's kernel K, which has the form of kernel_of. For targets whose
/// kernel for an operation differs from the CPU's.
template <class K, class Kernel, class A>
struct CustomCode;
template <class K, class O, class... In, class... Out, class A>
struct CustomCode<K, ir::CustomKernel<O, ir::List<In...>, ir::List<Out...>>, A> {
  static std::int64_t workspace(const std::int64_t* extents) {
    if constexpr (requires { K::workspace(extents); }) {
      return K::workspace(extents);
    } else if constexpr (requires(const Tensor* x) { K::workspace(x, x); }) {
      Tensor tensors[inputs + outputs + 1];
      describe_tensors(tensors, extents);
      return K::workspace(tensors, tensors + inputs);
    } else {
      return 0;
    }
  }

  static void run(const KernelCall& call) {
    Tensor tensors[inputs + outputs + 1];
    describe_tensors(tensors, call.extents);
    for (int i = 0; i < inputs + outputs; ++i) tensors[i].data = call.operands[i];
    using T = element_of<ir::first_dtype<In..., Out...>>;
    const O op = decode<O>(call.words);
    if constexpr (requires { K::template run<A, T>(op, tensors, tensors, call); }) {
      K::template run<A, T>(op, tensors, tensors + inputs, call);
    } else {
      K::template run<A>(op, tensors, tensors + inputs, call);
    }
  }

  static constexpr bool explains = requires { &O::explain; };
  static Error explain(const KernelCall& call) {
    Dims shapes[inputs + outputs]{};
    const std::int64_t* extents = call.extents;
    for (int i = 0; i < inputs + outputs; ++i) {
      for (int k = 0; k < ranks[i]; ++k) shapes[i].append(*extents++);
    }
    return O::explain(decode<O>(call.words), *call.failure, shapes);
  }

 private:
  static constexpr int inputs = sizeof...(In);
  static constexpr int outputs = sizeof...(Out);
  static constexpr DType types[] = {In::dtype..., Out::dtype..., DType::boolean};
  static constexpr int ranks[] = {In::rank..., Out::rank..., 0};

  static void describe_tensors(Tensor* tensors, const std::int64_t* extents) {
    for (int i = 0; i < inputs + outputs; ++i) {
      tensors[i] = {nullptr, types[i], {extents, static_cast<std::size_t>(ranks[i])}};
      extents += ranks[i];
    }
  }
};

template <class O, class In, class Out, class A>
struct Code<ir::CustomKernel<O, In, Out>, A>
    : CustomCode<kernel_of<O>, ir::CustomKernel<O, In, Out>, A> {};

/// A copy; the engine prints it.
template <>
struct kernel_of<ops::Print> {
  template <class A>
  static void run(const ops::Print&, const Tensor* in, const Tensor* out, const KernelCall&) {
    const std::int64_t bytes = in->size() * size_of(in->dtype);
    if (bytes > 0) std::memcpy(out->data, in->data, static_cast<std::size_t>(bytes));
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
