// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels whose body is a broadcast alone, as tile, repeated rows and tensors of one number are:
// strided copies. They have no registers, so no code of their own for each element type and rank.

#include <cstdint>

#include "typeflow/cpu/strided_copy.hpp"
#include "typeflow/ops/shape/shape_ops.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <bool Wide, int Outer, ir::InnerExtent Inner, DType D, unsigned Axes, bool FromView,
          bool IsRow, int Phase, bool IntoView, class A>
  requires(D != DType::string)
struct Code<ir::LoopKernel<Wide, Outer, false, Inner,
                           ir::Body<ir::List<ir::Load<D, false, Axes, FromView>>,
                                    ir::List<ir::Let<ops::BroadcastTo, D, false, IsRow, Phase, 0>>,
                                    ir::List<ir::Store<1, false, D, IntoView>>>>,
            A> {
  static std::int64_t workspace(const std::int64_t*) { return 0; }

  static void run(const KernelCall& call) {
    constexpr int rank = Outer + 1;
    constexpr unsigned whole = (1u << rank) - 1u;
    const std::int64_t* const extents = call.extents;
    ir::StridedExtents from_view{nullptr};
    ir::StridedExtents to_view{nullptr};
    if constexpr (FromView) from_view = ir::strides_at(0, rank, extents);
    if constexpr (IntoView) to_view = ir::strides_at(FromView ? 1 : 0, rank, extents);
    const auto from = ir::layout_of<rank>(Axes, extents, from_view);
    const auto to = ir::layout_of<rank>(whole, extents, to_view);
    const Tensor result{nullptr, D, {extents, static_cast<std::size_t>(rank)}};
    StridedCopy copy(result);
    for (int k = 0; k < rank; ++k) copy.add_axis(extents[k], from.stride[k], to.stride[k]);
    if (result.size() == 0) return;
    using T = Bytes<static_cast<int>(size_of(D))>;
    const T* const in = call.operand<const T>(0) + from.begin;
    T* const out = call.operand<T>(1) + to.begin;
    if (in == out) return;  // the result has the operand's memory, and the same elements
    constexpr bool is_view = FromView || IntoView;  // whose axes may have any order
    copy.run<T, is_view>(call, in, out);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
