// SPDX-License-Identifier: Apache-2.0
#pragma once

// Products of a transposed a whose result has few columns, such as the gradient of a classifier's
// weights: (784,10) = (100,784)^T x (100,10). In the register tile's vectors most lanes would have
// no column. Here the lanes are rows of the result: at each step of the depth, their elements of a
// lie side by side. Sums are the same chains as those of the register tile (cpu/tile.hpp).
//
// A task is some tiles of rows, with all columns. It goes along the depth in blocks, so that a
// block's rows of a are few pages, and stay in the second cache until all tiles have read them.
// Between blocks the sums wait in memory. At the end tiles are transposed into the result, or for
// the epilogue.

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "typeflow/cpu/product_kernel.hpp"
#include "typeflow/cpu/rows.hpp"
#include "typeflow/cpu/tile.hpp"
#include "typeflow/cpu/transpose_blocks.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// The kernel's a is transposed, its b is not, and neither is widened.
template <class T, class A, int Columns, class Kernel = ProductKernel<T>>
class FewColumns {
  using S = TileShape<T, A>;
  using B = xsimd::batch<T, A>;
  using Extents = ir::ContractionExtents;
  static constexpr int registers = 32;
  /// Of rows. A step has as many vectors of each column's sums as of a.
  static constexpr int vectors = std::min(4, registers / (Columns + 1));
  static constexpr std::int64_t height = vectors * S::lanes;
  static constexpr std::int64_t tile_size = Columns * height;
  static constexpr std::int64_t most_tiles = 32;  ///< that go along the depth together
  static constexpr std::int64_t block_depth = 128;

 public:
  /// Whether the processor has the registers, and the register tile's vectors would not be full.
  static constexpr bool possible = S::large && Columns > 1 && Columns % S::lanes != 0;

  /// Whether the product is one that run() computes.
  static bool fits(const std::int64_t* extents) {
    return extents[Extents::rows] >= height && extents[Extents::columns] == Columns &&
           extents[Extents::depth] > 0;
  }

  static void run(const KernelCall& call, const Kernel& kernel) {
    const FewColumns product(call, kernel);
    const std::int64_t tiles = (product.rows + height - 1) / height;
    parallel(call, kernel.count * tiles, grain_of_cost(2 * tile_size * (product.depth + 1)),
             [&](std::int64_t begin, std::int64_t end) {
               while (begin < end) {
                 const std::int64_t first = begin % tiles;
                 const std::int64_t count = std::min({end - begin, tiles - first, most_tiles});
                 product.multiply(begin / tiles, first, count);
                 begin += count;
               }
             });
  }

 private:
  FewColumns(const KernelCall& c, const Kernel& k)
      : call(c), kernel(k), rows(c.extents[Extents::rows]), depth(c.extents[Extents::depth]) {}

  /// `count` tiles from tile `first_tile` on. The last one of the matrix overlaps the one before:
  /// both compute some sums, but only one stores them.
  void multiply(std::int64_t matrix, std::int64_t first_tile, std::int64_t count) const {
    const T* a = call.operand<const T>(0) + kernel.start_of_a(call.extents, matrix);
    const T* b = call.operand<const T>(1) + kernel.start_of_b(call.extents, matrix);
    alignas(64) T sums[most_tiles * tile_size];
    const std::int64_t blocks = (depth + block_depth - 1) / block_depth;
    for (std::int64_t block = 0; block < blocks; ++block) {
      const std::int64_t length = depth * (block + 1) / blocks - depth * block / blocks;
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t of_next_block = length * kernel.pitch_a - (count - 1) * height;
        add(a + start_of(first_tile + i), kernel.pitch_a, b, kernel.pitch_b, length,
            i + 1 < count ? height : of_next_block, sums + i * tile_size, block > 0);
      }
      a += length * kernel.pitch_a;
      b += length * kernel.pitch_b;
    }
    alignas(64) T of_epilogue[height * S::width];
    if (!kernel.is_result) std::fill(std::begin(of_epilogue), std::end(of_epilogue), T(0));
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t first = (first_tile + i) * height;
      const std::int64_t last = std::min(first + height, rows);
      const std::int64_t others = first - start_of(first_tile + i);  // of the tile before
      const Matrix<T> to =
          kernel.is_result
              ? Matrix<T>{call.operand<T>(2) + (matrix * rows + first) * Columns, Columns}
              : Matrix<T>{of_epilogue, S::width};
      TransposeBlocks<T>::run({sums + i * tile_size + others, height}, Columns, last - first, to,
                              tile_size - others, false);
      if (!kernel.is_result) kernel.finish(call, matrix, of_epilogue, first, last, 0, Columns);
    }
  }
  std::int64_t start_of(std::int64_t tile) const { return std::min(tile * height, rows - height); }

  /// sums[c * height + i] = sum over k of a[k * pitch_a + i] * b[k * pitch_b + c]; with `go_on`,
  /// added to the sums. Prefetches elements of a that lie `ahead` behind those that are read.
  [[gnu::noinline, gnu::flatten]] static void add(const T* a, std::int64_t pitch_a, const T* b,
                                                  std::int64_t pitch_b, std::int64_t depth,
                                                  std::int64_t ahead, T* sums, bool go_on) {
    B sum[Columns][vectors];
    const auto each = [&](const auto& f) TYPEFLOW_INLINE_LAMBDA {
      unrolled<Columns>([&](auto c) TYPEFLOW_INLINE_LAMBDA {
        unrolled<vectors>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
          f(sum[c][v], sums + (c * vectors + v) * S::lanes);
        });
      });
    };
    if (go_on) {
      each([](B& x, const T* at) TYPEFLOW_INLINE_LAMBDA { x = B::load_aligned(at); });
    } else {
      each([](B& x, const T*) TYPEFLOW_INLINE_LAMBDA { x = B(T(0)); });
    }
    for (std::int64_t k = 0; k < depth; ++k) {
      B left[vectors];
      unrolled<vectors>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
        left[v] = B::load_unaligned(a + v * S::lanes);
        prefetch(a + v * S::lanes, ahead);
      });
      unrolled<Columns>([&](auto c) TYPEFLOW_INLINE_LAMBDA {
        const B right(b[c]);
        unrolled<vectors>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
          sum[c][v] = cpu_kernels::fma(left[v], right, sum[c][v]);
        });
      });
      a += pitch_a;
      b += pitch_b;
    }
    each([](const B& x, T* at) TYPEFLOW_INLINE_LAMBDA { x.store_aligned(at); });
  }

  const KernelCall& call;
  const Kernel& kernel;
  const std::int64_t rows;
  const std::int64_t depth;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
