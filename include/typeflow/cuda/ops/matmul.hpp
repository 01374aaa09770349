// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where the elements of a matrix product's operands lie.

#include "typeflow/cuda/contraction.hpp"
#include "typeflow/ops/linear/matmul.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

template <>
struct contraction_of<ops::MatMul> {
  template <class T, unsigned Variant>
  struct Operands {
    const T* data_a;
    const T* data_b;
    ContractionSize size;

    Operands(const ops::MatMul&, const KernelCall& call, const ContractionSize& its_size)
        : data_a(call.operand<const T>(0)), data_b(call.operand<const T>(1)), size(its_size) {}

    TYPEFLOW_DEVICE T a(std::int64_t matrix, std::int64_t row, std::int64_t k) const {
      const T* const from = data_a + matrix * size.rows * size.depth;
      return (Variant & 1u) != 0 ? from[k * size.rows + row] : from[row * size.depth + k];
    }
    TYPEFLOW_DEVICE T b(std::int64_t matrix, std::int64_t k, std::int64_t column) const {
      const T* const from = data_b + matrix * size.depth * size.columns;
      return (Variant & 2u) != 0 ? from[column * size.depth + k] : from[k * size.columns + column];
    }
  };
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
