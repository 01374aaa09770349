// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where the elements of a product of bytes lie, whose sums are int32: as those of other products.

#include "typeflow/cuda/ops/matmul.hpp"
#include "typeflow/ops/linear/mixed_matmul.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

template <>
struct contraction_of<ops::IntegerMatMul> {
  using Rules = contraction_of<ops::MatMul>;
  template <class A, class B, unsigned Variant>
  using Operands = Rules::Operands<A, B, Variant>;

  static ProductSize size(const std::int64_t* extents) { return Rules::size(extents); }
  template <class A, class B, unsigned Variant, class F>
  static void each_product(const ops::IntegerMatMul& op, const KernelCall& call, const F& launch) {
    Rules::each_product<A, B, Variant>(ops::MatMul{{}, op.transposed}, call, launch);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
