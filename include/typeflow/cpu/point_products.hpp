// SPDX-License-Identifier: Apache-2.0
#pragma once

// Products of many short rows, such as points, and a small matrix: (100000,3) x (3,3). In the
// register tile's vectors most lanes would have no column. Here a vector holds several rows of the
// result, as they lie in memory; each step of the depth permutes the rows of a, which lie in one
// vector, too. Sums are the same chains as those of the register tile (cpu/tile.hpp).

#include <algorithm>
#include <bit>
#include <cstdint>

#include "typeflow/cpu/product_kernel.hpp"
#include "typeflow/cpu/repeats.hpp"
#include "typeflow/cpu/tile.hpp"
#include "typeflow/lower/kernel_meaning.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// Of float or double operands that are not widened.
template <class T, class A>
class PointProducts {
  static constexpr int lanes = TileShape<T, A>::lanes;
  using B = xsimd::batch<T, A>;
  using L = Lanes<sizeof(T) == 8, A>;
  using Index = Vector<IntegerOf<sizeof(T)>, lanes>;
  using Extents = ir::ContractionExtents;
  static constexpr int most = std::min(8, lanes / 2);  ///< elements of a row of a and of the result
  static constexpr std::int64_t least_rows = 64;
  static constexpr std::int64_t rows_of_task = 256;

 public:
  /// Whether the processor has the permutations, and cheap parts of vectors.
  static constexpr bool possible = TileShape<T, A>::large;

  /// Whether the product is one that run() computes.
  static bool fits(const ProductKernel<T>& kernel, const std::int64_t* extents) {
    const auto is_short = [](std::int64_t x) { return x > 1 && x <= most; };
    const std::int64_t depth = extents[Extents::depth];
    return kernel.count == 1 && (kernel.is_result || kernel.finish_rows != nullptr) &&
           !kernel.transposed_a && kernel.pitch_a == depth &&
           extents[Extents::rows] >= least_rows && is_short(depth) &&
           is_short(extents[Extents::columns]);
  }

  static void run(const KernelCall& call, const ProductKernel<T>& kernel);

 private:
  PointProducts(const KernelCall& call, const ProductKernel<T>& kernel)
      : a(call.operand<const T>(0) + kernel.start_of_a(call.extents, 0)),
        depth(static_cast<int>(call.extents[Extents::depth])),
        columns(static_cast<int>(call.extents[Extents::columns])),
        group(lanes / std::max(depth, columns)) {
    const T* const b = call.operand<const T>(1) + kernel.start_of_b(call.extents, 0);
    const std::int64_t step = kernel.transposed_b ? 1 : kernel.pitch_b;
    const std::int64_t column = kernel.transposed_b ? kernel.pitch_b : 1;
    for (int k = 0; k < depth; ++k) {
      for (int i = 0; i < group * columns; ++i) {
        place[k][i] = static_cast<IntegerOf<sizeof(T)>>(i / columns * depth + k);
        right[k][i] = b[k * step + i % columns * column];
      }
    }
  }

  void compute(const KernelCall& call, const ProductKernel<T>& kernel, std::int64_t first,
               std::int64_t last) const {
    alignas(64) T sums[rows_of_task * most + lanes];
    T* const to = kernel.is_result ? call.operand<T>(2) + first * columns : sums;
    if (depth == 2) {
      multiply<2>(first, last, to);
    } else if (depth == 3) {
      multiply<3>(first, last, to);
    } else if (depth == 4) {
      multiply<4>(first, last, to);
    } else if (depth == most) {
      multiply<most>(first, last, to);
    } else {
      multiply<0>(first, last, to);
    }
    if (!kernel.is_result) kernel.finish_rows(call, 0, sums, first, last);
  }

  /// Rows [first, last) of the result. Of a known depth, what rows are multiplied by stays in
  /// registers.
  template <int Known>
  [[gnu::noinline, gnu::flatten]] void multiply(std::int64_t first, std::int64_t last,
                                                T* to) const {
    const std::int64_t pitch = Known > 0 ? Known : depth;
    Index from[std::max(Known, 1)];
    B of_b[std::max(Known, 1)];
    unrolled<Known>([&](auto k) TYPEFLOW_INLINE_LAMBDA {
      from[k] = load_bits<IntegerOf<sizeof(T)>, lanes>(place[k], lanes);
      of_b[k] = B::load_aligned(right[k]);
    });
    const auto some = [&](std::int64_t row, int rows) TYPEFLOW_INLINE_LAMBDA {
      const auto x = std::bit_cast<Index>(L::load(a + row * pitch, rows * static_cast<int>(pitch)));
      B sum(T(0));
      const auto add = [&](const Index& of_a, const B& y) TYPEFLOW_INLINE_LAMBDA {
        sum = cpu_kernels::fma(std::bit_cast<B>(permuted(x, of_a)), y, sum);
      };
      if constexpr (Known > 0) {
        unrolled<Known>([&](auto k) TYPEFLOW_INLINE_LAMBDA { add(from[k], of_b[k]); });
      } else {
        for (int k = 0; k < depth; ++k) {
          add(load_bits<IntegerOf<sizeof(T)>, lanes>(place[k], lanes), B::load_aligned(right[k]));
        }
      }
      L::store(to + (row - first) * columns, sum, rows * columns);
    };
    std::int64_t row = first;
    for (; row + group <= last; row += group) some(row, group);
    if (row < last) some(row, static_cast<int>(last - row));
  }

  const T* const a;
  const int depth;
  const int columns;
  const int group;  ///< rows of a vector
  /// At each step of the depth, which element of a vector of a goes where, and what it is
  /// multiplied by.
  alignas(64) IntegerOf<sizeof(T)> place[most][lanes] = {};
  alignas(64) T right[most][lanes] = {};
};

template <class T, class A>
void PointProducts<T, A>::run(const KernelCall& call, const ProductKernel<T>& kernel) {
  const std::int64_t rows = call.extents[Extents::rows];
  const std::int64_t tasks = (rows + rows_of_task - 1) / rows_of_task;
  const PointProducts product(call, kernel);
  parallel(call, tasks, grain_of_cost(2 * rows_of_task * lanes),
           [&](std::int64_t begin, std::int64_t end) {
             for (; begin < end; ++begin) {
               const std::int64_t first = begin * rows_of_task;
               product.compute(call, kernel, first, std::min(first + rows_of_task, rows));
             }
           });
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
