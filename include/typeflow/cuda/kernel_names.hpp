// SPDX-License-Identifier: Apache-2.0
#pragma once

// The operations of a kernel, by name, and kernels that note them before they launch anything: see
// late_errors.hpp.

#include <array>
#include <string_view>

#include "typeflow/cuda/kernels.hpp"
#include "typeflow/cuda/launch.hpp"
#include "typeflow/lower/kernel_types.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

// Lists with their lengths, because nvcc 13 does not find out the length of such arrays.

template <class Kernel>
struct KernelNames {
  static constexpr std::array<std::string_view, 1> of = {"a step"};
};
template <class Items>
struct BodyNames {
  static constexpr std::array<std::string_view, 1> of = {"copy"};
};
template <class... It>
  requires(sizeof...(It) > 0)
struct BodyNames<ir::List<It...>> {
  static constexpr std::array<std::string_view, sizeof...(It)> of = {It::op::name...};
};
template <bool Wide, int Outer, bool Folds, ir::InnerExtent Inner, class In, class It, class St>
struct KernelNames<ir::LoopKernel<Wide, Outer, Folds, Inner, ir::Body<In, It, St>>>
    : BodyNames<It> {};
template <bool Wide, int Outer, ir::InnerExtent Inner, class In, class It, class St>
struct KernelNames<ir::ColumnsKernel<Wide, Outer, Inner, ir::Body<In, It, St>>> : BodyNames<It> {};
template <class O, DType D, unsigned Variant, int Outer, class In, class... It, class St>
struct KernelNames<ir::ContractionKernel<O, D, Variant, Outer, ir::Body<In, ir::List<It...>, St>>> {
  static constexpr std::array<std::string_view, 1 + sizeof...(It)> of = {O::name, It::op::name...};
};
template <class O, class In, class Out>
struct KernelNames<ir::CustomKernel<O, In, Out>> {
  static constexpr std::array<std::string_view, 1> of = {O::name};
};

/// The entry of `Kernels` for a kernel, whose calls are noted by their stream.
template <class Kernel, class Kernels, Precision P>
constexpr KernelEntry noted() {
  KernelEntry entry = Kernels::template entry<Kernel, P>;
  if constexpr (has_code<Kernel>) {
    entry.run = [](const KernelCall& call) {
      stream_of(call).note(KernelNames<Kernel>::of);
      Kernels::template entry<Kernel, P>.run(call);
    };
  }
  return entry;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
