// SPDX-License-Identifier: Apache-2.0
#pragma once

// The CUDA back end: a program's kernels as a table of functions, which launch them.

#include <type_traits>

#include "typeflow/cpu/kernels.hpp"
#include "typeflow/cuda/columns.hpp"
#include "typeflow/cuda/contraction.hpp"
#include "typeflow/cuda/custom.hpp"
#include "typeflow/cuda/maps.hpp"
#include "typeflow/cuda/ops/conv.hpp"
#include "typeflow/cuda/ops/cumulative.hpp"
#include "typeflow/cuda/ops/depthwise.hpp"
#include "typeflow/cuda/ops/gather.hpp"
#include "typeflow/cuda/ops/matmul.hpp"
#include "typeflow/cuda/ops/movement.hpp"
#include "typeflow/cuda/ops/numerics.hpp"
#include "typeflow/cuda/ops/pool.hpp"
#include "typeflow/cuda/ops/scatter.hpp"
#include "typeflow/cuda/ops/selection.hpp"
#include "typeflow/cuda/ops/sort.hpp"
#include "typeflow/cuda/ops/unique.hpp"
#include "typeflow/cuda/rows.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ops {

/// Found by the namespace of an operation: it is one of the library's.
constexpr std::true_type is_own_operation(const void*) { return {}; }

}  // namespace typeflow::inline TYPEFLOW_ISA::ops

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// Steps of branches and loops, which the plan has as jumps.
template <>
struct Code<ir::ControlKernel> {
  static void run(const KernelCall&) {}
  static std::int64_t workspace(const std::int64_t*) { return 0; }
};

// Complex numbers and strings stay on the host.

constexpr bool is_gpu_type(DType type) {
  return type != DType::string && type != DType::complex64 && type != DType::complex128;
}

/// Whether there is code for a kernel type.
template <class Kernel>
inline constexpr bool has_code = true;
template <class... In, class... It, class... St>
inline constexpr bool has_code<ir::Body<ir::List<In...>, ir::List<It...>, ir::List<St...>>> =
    (is_gpu_type(In::dtype) && ...) && (is_gpu_type(It::dtype) && ...) &&
    (is_gpu_type(St::dtype) && ...);
template <bool Wide, int Outer, bool Folds, ir::InnerExtent Inner, class B>
inline constexpr bool has_code<ir::LoopKernel<Wide, Outer, Folds, Inner, B>> = has_code<B>;
template <bool Wide, int Outer, ir::InnerExtent Inner, class B>
inline constexpr bool has_code<ir::ColumnsKernel<Wide, Outer, Inner, B>> = has_code<B>;
template <class O, DType D, unsigned Variant, int Outer, class B>
inline constexpr bool has_code<ir::ContractionKernel<O, D, Variant, Outer, B>> =
    !requires { contraction_of<O>::is_missing; } && has_code<B>;
template <class O, class... In, class... Out>
inline constexpr bool has_code<ir::CustomKernel<O, ir::List<In...>, ir::List<Out...>>> = !requires {
  kernel_of<O>::is_missing;
} && (is_gpu_type(In::dtype) && ...) && (is_gpu_type(Out::dtype) && ...);

/// Whether a kernel has products, whose operands may be rounded.
template <class Kernel>
inline constexpr bool has_products = false;
template <class O, DType D, unsigned Variant, int Outer, class B>
inline constexpr bool has_products<ir::ContractionKernel<O, D, Variant, Outer, B>> = true;

/// Whether an operation is the library's own: here, one that a program has added.
constexpr std::false_type is_own_operation(...) { return {}; }
/// KernelEntry::is_confined, of the kernel of an operation O. Operations of the library are; the
/// specialisation for another one may say so: static constexpr bool is_confined = true.
template <class O, class Special>
inline constexpr bool confines = [] {
  if constexpr (requires { Special::is_confined; }) {
    return Special::is_confined;
  } else {
    return decltype(is_own_operation(static_cast<const O*>(nullptr)))::value;
  }
}();
template <class Kernel>
inline constexpr bool is_confined = true;  // loops compute with values
template <class O, DType D, unsigned Variant, int Outer, class B>
inline constexpr bool is_confined<ir::ContractionKernel<O, D, Variant, Outer, B>> =
    confines<O, contraction_of<O>>;
template <class O, class In, class Out>
inline constexpr bool is_confined<ir::CustomKernel<O, In, Out>> = confines<O, kernel_of<O>>;

template <class Kernel, Precision P>
constexpr KernelEntry make_entry() {
  if constexpr (!has_code<Kernel>) {
    return {nullptr, nullptr};
  } else {
    KernelEntry entry{nullptr, nullptr};
    if constexpr (has_products<Kernel>) {  // other precisions are not compiled
      entry.run = &Code<Kernel>::template run_in<P>;
      entry.workspace = &Code<Kernel>::template workspace_in<P>;
    } else {
      entry.run = &Code<Kernel>::run;
      entry.workspace = &Code<Kernel>::workspace;
    }
    // The host says what a failure means, as it does for CPUs.
    entry.explain = cpu_kernels::entry<Kernel, cpu_kernels::DefaultArch>.explain;
    entry.is_confined = is_confined<Kernel>;
    return entry;
  }
}
/// The code of a kernel type, whose float products have operands of a precision. Its functions are
/// null if the kernel has to run on the host.
template <class Kernel, Precision P = Precision::exact>
inline constexpr KernelEntry entry = make_entry<Kernel, P>();

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels

namespace typeflow::inline TYPEFLOW_ISA {

/// The kernels of typeflow, for everything that a GPU computes.
struct OwnCudaKernels {
  template <class Kernel, Precision P>
  static constexpr KernelEntry entry = cuda_kernels::entry<Kernel, P>;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
