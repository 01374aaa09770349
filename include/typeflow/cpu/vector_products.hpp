// SPDX-License-Identifier: Apache-2.0
#pragma once

// Products of a matrix and a vector: matrix products whose result is one row or one column. Each
// element of the matrix is read once, so the loops are made for reading. Sums are the same chains
// as those of the register tile (cpu/tile.hpp), so they have its bits.
//
// If the elements of a step along the depth lie side by side, many vectors of sums go along the
// depth together, and each step reads a piece of a row. Of a matrix that no near cache holds, a few
// whole rows are read together instead, as they lie in memory (column_sums.hpp). Otherwise rows are
// transposed in registers: a line at a time (row_sums.hpp), or a few steps of as many rows as a
// vector has lanes. Where the instruction set has no such registers, they are transposed into a
// cache.

#include <algorithm>
#include <bit>
#include <cstdint>

#include "typeflow/cpu/column_sums.hpp"
#include "typeflow/cpu/product_kernel.hpp"
#include "typeflow/cpu/row_sums.hpp"
#include "typeflow/cpu/rows.hpp"
#include "typeflow/cpu/tile.hpp"
#include "typeflow/cpu/transpose_blocks.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// out[j] = sum over k of x[k] * m[k * pitch + j], for j < V vectors.
template <class T, class A, int V>
[[gnu::noinline, gnu::flatten]] void wide_sums(const T* x, const T* m, std::int64_t pitch,
                                               std::int64_t depth, T* out) {
  TileSums<T, A, V, 1> sums;
  sums.clear();
  const T* const at[1] = {x};
  sums.add(at, 1, m, pitch, depth);
  sums.store(out, 0);
}

/// The same for `count` sums, at least a vector and at most V: the last vectors overlap. So all
/// chains go along the depth together.
template <class T, class A, int V>
[[gnu::noinline, gnu::flatten]] void overlapping_sums(const T* x, const T* m, std::int64_t pitch,
                                                      std::int64_t depth, std::int64_t count,
                                                      T* out) {
  using B = xsimd::batch<T, A>;
  constexpr std::int64_t lanes = TileShape<T, A>::lanes;
  std::int64_t at[V];
  B sum[V];
  unrolled<V>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
    at[v] = std::min<std::int64_t>(v * lanes, count - lanes);
    sum[v] = B(T(0));
  });
  for (std::int64_t k = 0; k < depth; ++k, m += pitch) {
    const B left(x[k]);
    unrolled<V>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
      sum[v] = cpu_kernels::fma(left, B::load_unaligned(m + at[v]), sum[v]);
    });
  }
  unrolled<V>([&](auto v) TYPEFLOW_INLINE_LAMBDA { sum[v].store_unaligned(out + at[v]); });
}

/// The epilogue of elements [first, last) of a row of sums, or of a column: as the first column of
/// tiles.
template <class T, class A>
void finish_vector(const KernelCall& call, const ProductKernel<T>& kernel, std::int64_t matrix,
                   bool is_row, std::int64_t first, std::int64_t last, const T* sums) {
  if (is_row) {
    kernel.finish(call, matrix, sums, 0, 1, first, last);
    return;
  }
  if (kernel.finish_rows != nullptr) {
    kernel.finish_rows(call, matrix, sums, first, last);
    return;
  }
  using S = TileShape<T, A>;
  constexpr std::int64_t rows = 2 * S::rows;
  alignas(64) T tiles[rows * S::width] = {};
  for (std::int64_t i = first; i < last; i += rows) {
    const std::int64_t end = std::min(i + rows, last);
    for (std::int64_t r = i; r < end; ++r) tiles[(r - i) * S::width] = sums[r - first];
    kernel.finish(call, matrix, tiles, i, end, 0, 1);
  }
}

template <class T, class A, class Kernel = ProductKernel<T>>
class VectorProduct {
  using S = TileShape<T, A>;
  using L = Lanes<sizeof(T) == 8, A>;
  using Extents = ir::ContractionExtents;
  static constexpr std::int64_t block = 8 * S::width;           ///< sums of a task
  static constexpr std::int64_t walked_columns = 512;           ///< the same of rows read whole
  static constexpr std::int64_t most_sums = 16384 / sizeof(T);  ///< half of the first cache
  static constexpr std::int64_t rows_of_task = 4 * S::lanes;    ///< the same along the depth
  static constexpr int most = S::large ? 24 : 12;  ///< vectors of sums that registers hold
  static constexpr int few = 4;                    ///< such vectors hold whole rows of few columns
  static constexpr std::int64_t short_depth = 16;  ///< of rows that are transposed all at once
  static constexpr std::int64_t piece = 256;       ///< steps that are transposed at a time
  /// Whether a vector's rows are transposed in registers.
  static constexpr bool in_registers = TransposeBlocks<T>::W == S::lanes;

 public:
  /// Whether the product is one that run() computes: of a vector whose elements lie together. (If
  /// several matrices share a matrix that has to be transposed, one copy for all costs less.)
  static bool fits(const Kernel& kernel, const std::int64_t* extents) {
    if ((kernel.wide_a() == nullptr) != (kernel.wide_b() == nullptr)) return false;
    if (has_dots(kernel, extents)) return true;
    if (extents[Extents::rows] == 1) {
      return (!kernel.transposed_a || kernel.pitch_a <= 1) &&
             (kernel.count == 1 || !kernel.shared_b || !kernel.transposed_b);
    }
    return extents[Extents::columns] == 1 && (kernel.transposed_b || kernel.pitch_b <= 1);
  }

  static void run(const KernelCall& call, const Kernel& kernel);

 private:
  static bool lies_along_depth(const Kernel& kernel, const std::int64_t* extents) {
    return extents[Extents::rows] == 1 ? kernel.transposed_b : !kernel.transposed_a;
  }
  /// Whether the sums are those of Widening::dots. It does not depend on whether an operand is part
  /// of a larger tensor.
  static bool has_dots(const Kernel& kernel, const std::int64_t* extents) {
    if (kernel.wide_a() == nullptr || kernel.wide_a()->dots == nullptr) return false;
    const bool one = extents[Extents::rows] == 1 && extents[Extents::columns] == 1;
    return one || ((extents[Extents::rows] == 1 || extents[Extents::columns] == 1) &&
                   lies_along_depth(kernel, extents));
  }
  VectorProduct(const KernelCall& c, const Kernel& k)
      : call(c),
        kernel(k),
        is_row(c.extents[Extents::rows] == 1),
        count(is_row ? c.extents[Extents::columns] : c.extents[Extents::rows]),
        depth(c.extents[Extents::depth]),
        pitch(is_row ? k.pitch_b : k.pitch_a),
        dots(has_dots(k, c.extents)),
        along_depth(dots || lies_along_depth(k, c.extents) || (count == 1 && pitch == 1)),
        by_rows(!along_depth && count > few * S::lanes &&
                reads_rows(count, depth, k.wide_a() != nullptr ? 2 : std::int64_t{sizeof(T)})) {}

  /// Elements [first, last) of the result.
  void compute(std::int64_t matrix, std::int64_t first, std::int64_t last) const {
    const std::int64_t of_a = kernel.start_of_a(call.extents, matrix);
    const std::int64_t of_b = kernel.start_of_b(call.extents, matrix);
    const T* const a = call.operand<const T>(0) + of_a;
    const T* const b = call.operand<const T>(1) + of_b;
    alignas(64) T sums[most_sums];
    T* const result = kernel.is_result ? call.operand<T>(2) + matrix * count + first : sums;
    if (kernel.wide_a() != nullptr) {
      sum_widened(of_a, of_b, first, last, result);
    } else if (along_depth) {
      sum_transposed(is_row ? a : b, is_row ? b : a, first, last, result);
    } else if (by_rows) {
      sum_by_rows<T, A>(is_row ? a : b, (is_row ? b : a) + first, pitch, depth, last - first,
                        result, false);
    } else {
      sum_wide(is_row ? a : b, (is_row ? b : a) + first, last - first, result);
    }
    if (!kernel.is_result) finish_vector<T, A>(call, kernel, matrix, is_row, first, last, sums);
  }

  /// The sums of operands that are widened.
  [[gnu::noinline]] void sum_widened(std::int64_t of_a, std::int64_t of_b, std::int64_t first,
                                     std::int64_t last, T* out) const {
    const Widening<T>* const of_x = is_row ? kernel.wide_a() : kernel.wide_b();
    const Widening<T>* const of_m = is_row ? kernel.wide_b() : kernel.wide_a();
    const char* const x =
        call.operand<const char>(is_row ? 0 : 1) + (is_row ? of_a : of_b) * of_x->size;
    const char* const m =
        call.operand<const char>(is_row ? 1 : 0) + (is_row ? of_b : of_a) * of_m->size;
    if (dots) {
      const std::int64_t step = is_row ? (kernel.transposed_a ? kernel.pitch_a : 1)
                                       : (kernel.transposed_b ? 1 : kernel.pitch_b);
      of_m->dots(x, step, m + first * pitch * of_m->size,
                 lies_along_depth(kernel, call.extents) ? 1 : pitch, pitch, depth, last - first,
                 out);
      return;
    }
    alignas(64) T wide[16 * piece];
    if (along_depth && depth <= short_depth) {
      of_x->convert(x, 0, 1, depth, wide, 0);
      alignas(64) T rows[rows_of_task * short_depth];
      const std::int64_t n = last - first;
      const char* const from = m + first * pitch * of_m->size;
      if (pitch == depth) {
        of_m->convert(from, 0, 1, n * depth, rows, 0);
        sum_short(wide, rows, depth, n * depth, n, out);
      } else {
        of_m->convert(from, pitch, n, depth, rows, short_depth);
        sum_short(wide, rows, short_depth, n * short_depth, n, out);
      }
      return;
    }
    for (std::int64_t k = 0; k < depth || k == 0; k += 16 * piece) {
      const std::int64_t length = std::min(16 * piece, depth - k);
      of_x->convert(x + k * of_x->size, 0, 1, length, wide, 0);
      if (along_depth) {
        of_m->row_sums(wide, m + (first * pitch + k) * of_m->size, pitch, length, last - first, out,
                       k > 0);
      } else {
        of_m->wide_sums(wide, m + (first + k * pitch) * of_m->size, pitch, length, last - first,
                        out, k > 0);
      }
    }
  }

  /// n sums of a matrix whose rows are elements of a step of the depth.
  void sum_wide(const T* x, const T* m, std::int64_t n, T* out) const {
    std::int64_t j = 0;
    const auto take = [&](auto vectors) {
      for (; n - j >= vectors() * S::lanes; j += vectors() * S::lanes) {
        wide_sums<T, A, vectors()>(x, m + j, pitch, depth, out + j);
      }
    };
    take(std::integral_constant<int, most>{});
    take(std::integral_constant<int, few>{});
    if (j == n) return;
    if (n - j >= S::lanes) {
      overlapping_sums<T, A, few>(x, m + j, pitch, depth, n - j, out + j);
      return;
    }
    const int rest = static_cast<int>(n - j);
    xsimd::batch<T, A> sum(T(0));
    for (std::int64_t k = 0; k < depth; ++k) {
      sum = cpu_kernels::fma(xsimd::batch<T, A>(x[k]), L::load(m + k * pitch + j, rest), sum);
    }
    L::store(out + j, sum, rest);
  }

  /// The sums of rows [first, last) of a matrix whose rows are `depth` elements.
  void sum_transposed(const T* x, const T* m, std::int64_t first, std::int64_t last, T* out) const {
    constexpr bool of_lines = TransposedRowSums<T, A>::possible;
    if (depth <= short_depth && !(of_lines && last - first <= S::lanes)) {
      const std::int64_t readable = (count - first - 1) * pitch + depth;
      sum_short(x, m + first * pitch, pitch, readable, last - first, out);
      return;
    }
    if constexpr (of_lines) {
      TransposedRowSums<T, A>::run(x, m + first * pitch, pitch, depth, last - first, out, false);
    } else {
      if constexpr (in_registers) {
        if (last - first >= S::lanes) {
          for (std::int64_t i = first; i < last; i += S::lanes) {
            const std::int64_t row = std::min<std::int64_t>(i, last - S::lanes);
            sum_rows(x, m + row * pitch, out + (row - first));
          }
          return;
        }
      }
      sum_panels(x, m, first, last, out);
    }
  }

  /// The same of rows that are copied to panels.
  void sum_panels(const T* x, const T* m, std::int64_t first, std::int64_t last, T* out) const {
    alignas(64) T panel[piece * S::width];
    alignas(64) T sums[S::width];
    for (std::int64_t i = first; i < last; i += S::width) {
      const std::int64_t end = std::min<std::int64_t>(i + S::width, last);
      TileSums<T, A, S::vectors, 1> tile;
      tile.clear();
      for (std::int64_t k = 0; k < depth; k += piece) {
        const std::int64_t length = std::min(piece, depth - k);
        pack_transposed_panel(m + k, pitch, length, i, end, S::width, panel);
        const T* const at[1] = {x + k};
        tile.add(at, 1, panel, S::width, length);
      }
      tile.store(sums, 0);
      std::copy(sums, sums + (end - i), out + (i - first));
    }
  }

  /// The sums of n short rows that lie `row` elements apart, all transposed first. The first
  /// `readable` elements may be read.
  [[gnu::noinline]] void sum_short(const T* x, const T* m, std::int64_t row, std::int64_t readable,
                                   std::int64_t n, T* out) const {
    if (n <= S::lanes) return sum_panel<1>(x, m, row, readable, n, out);
    sum_panel<static_cast<int>(rows_of_task / S::lanes)>(x, m, row, readable, n, out);
  }
  template <int Vectors>
  void sum_panel(const T* x, const T* m, std::int64_t row, std::int64_t readable, std::int64_t n,
                 T* out) const {
    constexpr std::int64_t width = Vectors * S::lanes;
    alignas(64) T panel[short_depth * width];
    TransposeBlocks<T>::run({m, row}, n, depth, {panel, width}, readable, false);
    if (n == width) {
      wide_sums<T, A, Vectors>(x, panel, width, depth, out);
      return;
    }
    for (std::int64_t k = 0; k < depth; ++k) {
      std::fill(panel + k * width + n, panel + (k + 1) * width, T(0));
    }
    alignas(64) T sums[width];
    wide_sums<T, A, Vectors>(x, panel, width, depth, sums);
    std::copy(sums, sums + n, out);
  }

  /// The sums of as many rows as a vector has lanes.
  [[gnu::noinline, gnu::flatten]] void sum_rows(const T* x, const T* m, T* out) const {
    using B = xsimd::batch<T, A>;
    using Blocks = TransposeBlocks<T>;
    constexpr std::int64_t line = 64 / sizeof(T);
    B sum(T(0));
    std::int64_t k = 0;
    for (; k + Blocks::N <= depth; k += Blocks::N) {
      if (k % line == 0) {  // there are more rows than the processor fetches ahead by itself
        unrolled<S::lanes>([&](auto i)
                               TYPEFLOW_INLINE_LAMBDA { prefetch(m + i * pitch + k, 16 * line); });
      }
      const auto steps = Blocks::template load<WideRegister<T>>(m + k, pitch);
      unrolled<Blocks::N>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
        sum = cpu_kernels::fma(std::bit_cast<B>(steps.of[i].v), B(x[k + i]), sum);
      });
    }
    for (; k < depth; ++k) {
      alignas(64) T step[S::lanes];
      for (int i = 0; i < S::lanes; ++i) step[i] = m[i * pitch + k];
      sum = cpu_kernels::fma(B::load_aligned(step), B(x[k]), sum);
    }
    sum.store_unaligned(out);
  }

  const KernelCall& call;
  const Kernel& kernel;
  const bool is_row;
  const std::int64_t count;  ///< of the result's elements
  const std::int64_t depth;
  const std::int64_t pitch;  ///< of the matrix
  const bool dots;           ///< see has_dots
  const bool along_depth;    ///< whether the matrix's elements lie side by side along the depth
  const bool by_rows;        ///< whether whole rows of the matrix are read
};

template <class T, class A, class Kernel>
void VectorProduct<T, A, Kernel>::run(const KernelCall& call, const Kernel& kernel) {
  const VectorProduct product(call, kernel);
  const std::int64_t of_task = product.along_depth ? rows_of_task
                               : product.by_rows   ? walked_columns
                                                   : block;
  const std::int64_t blocks = (product.count + of_task - 1) / of_task;
  const std::int64_t work =
      2 * std::max<std::int64_t>(1, std::min(of_task, product.count)) * (product.depth + 1);
  const std::int64_t grain = grain_of_cost(work);
  parallel(call, kernel.count * blocks, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end;) {
      const std::int64_t first = task % blocks * of_task;
      // Rows are read in pieces as long as the part allows.
      const std::int64_t together =
          product.by_rows ? std::min({end - task, blocks - task % blocks, most_sums / of_task}) : 1;
      product.compute(task / blocks, first, std::min(first + together * of_task, product.count));
      task += together;
    }
  });
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
