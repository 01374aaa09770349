// SPDX-License-Identifier: Apache-2.0
#pragma once

// Products of a few long rows and columns, such as a dot product. A register tile would have few
// sums, each a chain of all the depth. Here a vector holds sums of one element of the result: lane
// l has the steps l, l + N, l + 2 N... of a part of the depth, where N is the number of lanes. The
// lanes are added at the end of the part, and the parts in their order. The extents decide which
// products these are, and their parts, so bits do not depend on threads.

#include <algorithm>
#include <cstdint>

#include "typeflow/core/extent.hpp"
#include "typeflow/cpu/product_kernel.hpp"
#include "typeflow/cpu/rows.hpp"
#include "typeflow/cpu/tile.hpp"
#include "typeflow/cpu/transpose_blocks.hpp"
#include "typeflow/ops/linear/matmul.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <class T, class A, class Kernel = ProductKernel<T>>
class DeepProduct {
  using S = TileShape<T, A>;
  using B = xsimd::batch<T, A>;
  using Extents = ir::ContractionExtents;
  static constexpr std::int64_t most_side = ops::MatMul::deep_side;
  static constexpr std::int64_t most_results = 128;  ///< elements of the result
  static constexpr std::int64_t least_depth = ops::MatMul::least_deep;
  static constexpr std::int64_t part = 8192;  ///< steps of the depth whose sums are one task's
  static constexpr std::int64_t strip = 256;  ///< steps that are copied at a time
  static constexpr int side = 4;              ///< rows and columns of sums in registers: a tile
  static constexpr int tile_size = side * side * S::lanes;
  static constexpr std::int64_t most_tiles = 12;

 public:
  /// Whether the product is one that run() computes.
  static bool fits(const Kernel& kernel, const std::int64_t* extents) {
    const std::int64_t rows = extents[Extents::rows];
    const std::int64_t columns = extents[Extents::columns];
    return kernel.count == 1 && rows <= most_side && columns <= most_side &&
           rows * columns <= most_results && extents[Extents::depth] >= least_depth;
  }
  /// Bytes. Larger extents never need less, whether they fit or not.
  static std::int64_t workspace(const std::int64_t* extents) {
    const std::int64_t results = std::min(std::min(extents[Extents::rows], most_side) *
                                              std::min(extents[Extents::columns], most_side),
                                          most_results);
    const std::int64_t depth = extents[Extents::depth];
    return depth < least_depth ? 0 : checked_product(parts_of(depth), results * sizeof_sum);
  }

  TYPEFLOW_COLD static void run(const KernelCall& call, const Kernel& kernel);

 private:
  static constexpr std::int64_t sizeof_sum = sizeof(T);
  static std::int64_t parts_of(std::int64_t depth) { return (depth + part - 1) / part; }

  DeepProduct(const KernelCall& c, const Kernel& k)
      : call(c),
        kernel(k),
        rows(c.extents[Extents::rows]),
        columns(c.extents[Extents::columns]),
        depth(c.extents[Extents::depth]) {}

  T* sums_of(std::int64_t p) const { return static_cast<T*>(call.workspace) + p * rows * columns; }

  /// An operand: `count` rows of `depth` elements, which may be in memory transposed.
  struct Side {
    const void* data;
    std::int64_t start;  ///< of the rows, in elements
    std::int64_t pitch;  ///< elements from one row in memory to the next
    std::int64_t count;
    bool transposed;
    const Widening<T>* wide;  ///< null: the elements are T
  };
  struct Rows {
    const T* at;
    std::int64_t pitch;
  };

  /// Steps [begin, begin + length) of an operand's rows, with zeros up to a whole vector.
  [[gnu::noinline]] Rows rows_at(const Side& x, std::int64_t begin, std::int64_t length,
                                 T* strips) const {
    const bool transposed = x.transposed && (x.count > 1 || x.pitch != 1);
    const std::int64_t first = x.start + begin * (transposed ? x.pitch : 1);
    const T* from = static_cast<const T*>(x.data) + first;
    std::int64_t pitch = x.pitch;
    if (x.wide == nullptr && !transposed && length % S::lanes == 0) return {from, pitch};
    alignas(64) T widened[most_side * strip];
    if (x.wide != nullptr) {
      const char* const narrow = static_cast<const char*>(x.data) + first * x.wide->size;
      if (!transposed) {
        x.wide->convert(narrow, pitch, x.count, length, strips, strip);
      } else if (pitch == x.count) {
        x.wide->convert(narrow, 0, 1, length * pitch, widened, 0);
        from = widened;
      } else {
        x.wide->convert(narrow, pitch, length, x.count, widened, most_side);
        from = widened;
        pitch = most_side;
      }
    } else if (!transposed) {
      for (std::int64_t i = 0; i < x.count; ++i) {
        std::copy(from + i * pitch, from + i * pitch + length, strips + i * strip);
      }
    }
    if (transposed) {
      TransposeBlocks<T>::run({from, pitch}, length, x.count, {strips, strip},
                              (length - 1) * pitch + x.count, false);
    }
    if (length % S::lanes != 0) {
      const std::int64_t end = (length / S::lanes + 1) * S::lanes;
      for (std::int64_t i = 0; i < x.count; ++i) {
        std::fill(strips + i * strip + length, strips + i * strip + end, T(0));
      }
    }
    return {strips, strip};
  }

  void sum_part(std::int64_t p) const {
    const Side left{call.operands[0],    kernel.start_of_a(call.extents, 0),
                    kernel.pitch_a,      rows,
                    kernel.transposed_a, kernel.wide_a()};
    const Side right{call.operands[1],     kernel.start_of_b(call.extents, 0),
                     kernel.pitch_b,       columns,
                     !kernel.transposed_b, kernel.wide_b()};
    alignas(64) T of_left[most_side * strip];
    alignas(64) T of_right[most_side * strip];
    alignas(64) T sums[most_tiles * tile_size];
    const std::int64_t across = (columns + side - 1) / side;
    std::fill_n(sums, (rows + side - 1) / side * across * tile_size, T(0));
    const std::int64_t last = std::min((p + 1) * part, depth);
    for (std::int64_t k = p * part; k < last; k += strip) {
      const std::int64_t length = std::min(strip, last - k);
      const Rows a = rows_at(left, k, length, of_left);
      const Rows b = rows_at(right, k, length, of_right);
      const std::int64_t vectors = (length + S::lanes - 1) / S::lanes;
      T* to = sums;
      for (std::int64_t i = 0; i < rows; i += side) {
        for (std::int64_t j = 0; j < columns; j += side, to += tile_size) {
          add(a, b, i, j, vectors, to);
        }
      }
    }
    T* total = sums_of(p);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        T* const tile = sums + (i / side * across + j / side) * tile_size;
        *total++ = sum_of(tile + (i % side * side + j % side) * S::lanes);
      }
    }
  }
  /// The lanes' sum: of halves that are added, again and again.
  static T sum_of(T* lanes) {
    for (int half = S::lanes / 2; half > 0; half /= 2) {
      TYPEFLOW_FEW_TURNS;
      for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    }
    return lanes[0];
  }

  void add(const Rows& a, const Rows& b, std::int64_t i, std::int64_t j, std::int64_t vectors,
           T* sums) const {
    const bool one_row = rows - i == 1;
    const bool one_column = columns - j == 1;
    if (one_row && one_column) {
      tile<1, 1>(a, b, i, j, vectors, sums);
    } else if (one_row) {
      tile<1, side>(a, b, i, j, vectors, sums);
    } else if (one_column) {
      tile<side, 1>(a, b, i, j, vectors, sums);
    } else {
      tile<side, side>(a, b, i, j, vectors, sums);
    }
  }
  /// Adds the products of R rows from i on and C columns from j on to a tile. Missing ones repeat
  /// the last.
  template <int R, int C>
  [[gnu::noinline, gnu::flatten]] void tile(const Rows& a, const Rows& b, std::int64_t i,
                                            std::int64_t j, std::int64_t vectors, T* sums) const {
    const T* left[R];
    const T* right[C];
    B sum[R][C];
    const auto place = [&](int r, int c)
                           TYPEFLOW_INLINE_LAMBDA { return sums + (r * side + c) * S::lanes; };
    unrolled<R>([&](auto r) TYPEFLOW_INLINE_LAMBDA {
      left[r] = a.at + std::min(i + r, rows - 1) * a.pitch;
      unrolled<C>([&](auto c) TYPEFLOW_INLINE_LAMBDA { sum[r][c] = B::load_aligned(place(r, c)); });
    });
    unrolled<C>([&](auto c) TYPEFLOW_INLINE_LAMBDA {
      right[c] = b.at + std::min(j + c, columns - 1) * b.pitch;
    });
    for (std::int64_t k = 0; k < vectors * S::lanes; k += S::lanes) {
      B y[C];
      unrolled<C>([&](auto c) TYPEFLOW_INLINE_LAMBDA { y[c] = B::load_unaligned(right[c] + k); });
      unrolled<R>([&](auto r) TYPEFLOW_INLINE_LAMBDA {
        const B x = B::load_unaligned(left[r] + k);
        unrolled<C>([&](auto c) TYPEFLOW_INLINE_LAMBDA {
          sum[r][c] = cpu_kernels::fma(x, y[c], sum[r][c]);
        });
      });
    }
    unrolled<R>([&](auto r) TYPEFLOW_INLINE_LAMBDA {
      unrolled<C>([&](auto c) TYPEFLOW_INLINE_LAMBDA { sum[r][c].store_aligned(place(r, c)); });
    });
  }

  /// Adds up the parts, and finishes the result.
  void add_parts(std::int64_t parts) const {
    T* const total = sums_of(0);
    for (std::int64_t p = 1; p < parts; ++p) {
      const T* const next = sums_of(p);
      for (std::int64_t r = 0; r < rows * columns; ++r) total[r] += next[r];
    }
    constexpr std::int64_t most_rows = (most_side + S::rows - 1) / S::rows * S::rows;
    alignas(64) T tiles[most_rows * S::width] = {};
    for (std::int64_t column = 0; column < columns; column += S::width) {
      const std::int64_t last = std::min<std::int64_t>(column + S::width, columns);
      for (std::int64_t i = 0; i < rows; ++i) {
        std::copy(total + i * columns + column, total + i * columns + last, tiles + i * S::width);
      }
      kernel.finish(call, 0, tiles, 0, rows, column, last);
    }
  }

  const KernelCall& call;
  const Kernel& kernel;
  const std::int64_t rows;
  const std::int64_t columns;
  const std::int64_t depth;
};

template <class T, class A, class Kernel>
TYPEFLOW_COLD void DeepProduct<T, A, Kernel>::run(const KernelCall& call, const Kernel& kernel) {
  const DeepProduct product(call, kernel);
  const std::int64_t parts = parts_of(product.depth);
  parallel(call, parts, 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) product.sum_part(p);
  });
  product.add_parts(parts);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
