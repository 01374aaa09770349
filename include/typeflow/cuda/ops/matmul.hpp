// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where the elements of a matrix product's operands lie.

#include "typeflow/cuda/contraction.hpp"
#include "typeflow/ops/linear/matmul.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

template <>
struct contraction_of<ops::MatMul> {
  template <class A, class B, unsigned Variant>
  struct Operands : ProductOperands {
    static constexpr bool transposed_a = (Variant & 1u) != 0;
    static constexpr bool transposed_b = (Variant & 2u) != 0;
    MatrixSource<A, !transposed_a> a;
    MatrixSource<B, transposed_b> b;
  };
  static constexpr bool of_bfloat16(unsigned variant) {
    return (variant & ops::MatMul::of_bfloat16) != 0;
  }
  static ProductSize size(const std::int64_t* extents) {
    using Extents = ir::ContractionExtents;
    return {extents[Extents::rows], extents[Extents::columns], extents[Extents::depth], 1};
  }
  template <class A, class B, unsigned Variant, class F>
  static void each_product(const ops::MatMul&, const KernelCall& call, const F& launch) {
    const ProductSize z = size(call.extents);
    using O = Operands<A, B, Variant>;
    const std::int64_t next_to_a = O::transposed_a ? z.rows : z.depth;
    const std::int64_t next_to_b = O::transposed_b ? z.depth : z.columns;
    launch(O{{z},
             {call.operand<const A>(0), z.rows, next_to_a, next_to_a, z.rows * z.depth},
             {call.operand<const B>(1), z.columns, next_to_b, next_to_b, z.depth * z.columns}});
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
