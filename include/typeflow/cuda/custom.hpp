// SPDX-License-Identifier: Apache-2.0
#pragma once

// Operations with a kernel of their own on GPUs: kernel_of<O>, in the form of the CPU's.

#include <cstdint>
#include <span>

#include "typeflow/cuda/maps.hpp"
#include "typeflow/ops/custom.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// An operand of an operation with a kernel of its own. Its data is the GPU's.
struct Tensor {
  void* data;
  DType dtype;
  std::span<const std::int64_t> extents;

  std::int64_t size() const {
    std::int64_t n = 1;
    for (const std::int64_t e : extents) n *= e;
    return n;
  }
};

/// The GPU's kernel of a custom operation O. Specialise it with
///   static void run(const O& op, const Tensor* inputs, const Tensor* outputs, const KernelCall&);
/// or with template <class T>, where T is the element type of the first input. (With a template,
/// programs without the operation don't compile its kernels.) It runs on the host and launches
/// kernels (launch.hpp). If it needs KernelCall::workspace, it also has
///   static std::int64_t workspace(const std::int64_t* extents);
/// which returns the bytes for these extents (of the inputs, then of the outputs), or
///   static std::int64_t workspace(const Tensor* inputs, const Tensor* outputs);
/// which gets them as tensors without data. If its kernels access nothing but operands and
/// workspace, it may say so, and recorded graphs run it beside kernels that have none of this
/// memory:
///   static constexpr bool is_confined = true;
/// Operations without a specialisation run on the processor.
template <class O>
struct kernel_of {
  static constexpr bool is_missing = true;
};

/// An operation that says `static constexpr bool only_orders = true` comes between others, and
/// computes nothing.
template <class O>
  requires(O::only_orders)
struct kernel_of<O> {
  static void run(const O&, const Tensor*, const Tensor*, const KernelCall&) {}
};

template <class K>
concept has_tensor_workspace = requires(const Tensor* x) { K::workspace(x, x); };

/// The code of a custom operation O by K, which is in the form of kernel_of<O>.
template <class K, class O, class Inputs, class Outputs>
struct CustomCode;
template <class K, class O, class... In, class... Out>
struct CustomCode<K, O, ir::List<In...>, ir::List<Out...>> {
  static std::int64_t workspace(const std::int64_t* extents) {
    if constexpr (requires { K::workspace(extents); }) {
      return K::workspace(extents);
    } else if constexpr (has_tensor_workspace<K>) {
      Tensor tensors[inputs + outputs + 1];
      set_tensors(tensors, nullptr, extents);
      return K::workspace(tensors, tensors + inputs);
    } else {
      return 0;
    }
  }
  static void run(const KernelCall& call) {
    Tensor tensors[inputs + outputs + 1];
    set_tensors(tensors, call.operands, call.extents);
    using T = element_of<ir::first_dtype<In..., Out...>>;
    const O op = decode<O>(call.words);
    if constexpr (requires { K::template run<T>(op, tensors, tensors, call); }) {
      K::template run<T>(op, tensors, tensors + inputs, call);
    } else {
      K::run(op, tensors, tensors + inputs, call);
    }
  }

 private:
  static void set_tensors(Tensor* tensors, void* const* operands, const std::int64_t* extents) {
    for (int i = 0; i < inputs + outputs; ++i) {
      tensors[i] = {operands == nullptr ? nullptr : operands[i],
                    types[i],
                    {extents, static_cast<std::size_t>(ranks[i])}};
      extents += ranks[i];
    }
  }

  static constexpr int inputs = sizeof...(In);
  static constexpr int outputs = sizeof...(Out);
  static constexpr DType types[] = {In::dtype..., Out::dtype..., DType::boolean};
  static constexpr int ranks[] = {In::rank..., Out::rank..., 0};
};

template <class O, class In, class Out>
struct Code<ir::CustomKernel<O, In, Out>> : CustomCode<kernel_of<O>, O, In, Out> {};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
