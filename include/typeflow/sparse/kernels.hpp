// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of sparse/product.hpp. Elements of the sparse matrix come in any order, so threads
// split the result by columns: each element of the result adds up in that order.

#include <algorithm>
#include <cstdint>

#include "typeflow/cpu/ops/gather.hpp"
#include "typeflow/sparse/product.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <>
struct kernel_of<ops::SparseMatMul> {
  template <class A>
  static void run(const ops::SparseMatMul& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    visit_integer(in->dtype, [&](auto zero) {
      const auto* const index = static_cast<const decltype(zero)*>(in->data);
      const auto at = [&](std::int64_t i) { return detail::to_index(index[i]); };
      const Failure wrong =
          ops::SparseMatMul::find_wrong(op, at, in[1].size(), out->extents[0], in[2].extents[0]);
      if (wrong.what != 0) return call.fail(wrong);
      visit_dtype(out->dtype, [&](auto element) {
        using T = decltype(element);
        if constexpr (contains(ops::SparseMatMul::domain, dtype_of<T>)) {
          multiply<T>(op, at, in, out, call);
        }
      });
    });
  }

 private:
  template <class T, class At>
  static void multiply(const ops::SparseMatMul& op, const At& at, const Tensor* in,
                       const Tensor* out, const KernelCall& call) {
    constexpr std::int64_t line = std::max<std::int64_t>(1, 64 / static_cast<int>(sizeof(T)));
    const std::int64_t count = in[1].size();
    const std::int64_t rows = out->extents[0];
    const std::int64_t width = out->extents[1];
    const T* const values = static_cast<const T*>(in[1].data);
    const T* const b = static_cast<const T*>(in[2].data);
    T* const y = static_cast<T*>(out->data);
    const std::int64_t grain = std::max<std::int64_t>(1, chunk_size / ((count + rows + 1) * line));
    parallel(call, (width + line - 1) / line, grain, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t from = begin * line;
      const std::int64_t to = std::min(width, end * line);
      for (std::int64_t row = 0; row < rows; ++row) {
        std::fill(y + row * width + from, y + row * width + to, T(0));
      }
      for (std::int64_t n = 0; n < count; ++n) {
        T* const sum = y + at(2 * n + op.transposed) * width;
        const T* const x = b + at(2 * n + 1 - op.transposed) * width;
        const T value = values[n];
        for (std::int64_t p = from; p < to; ++p) {
          sum[p] = apply_element(ops::Add{}, sum[p], apply_element(ops::Mul{}, value, x[p]));
        }
      }
    });
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
