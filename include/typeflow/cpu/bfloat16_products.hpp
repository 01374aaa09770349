// SPDX-License-Identifier: Apache-2.0
#pragma once

// Products of matrices whose elements are numbers of bfloat16, by AVX512-BF16. The operands come as
// float. They are packed as pairs of two steps of the depth; an instruction multiplies 16 pairs and
// adds both products to sums of float.
//
// The instruction takes denormal operands for zeros, and flushes denormal sums. Every element of
// the result is one chain over the pairs, so its bits depend neither on threads nor on its place.
// Elsewhere, and for small products, ProductLoops multiply the same operands as float.

#include <algorithm>
#include <bit>
#include <cstdint>

#include "typeflow/core/extent.hpp"
#include "typeflow/cpu/product_kernel.hpp"
#include "typeflow/cpu/rows.hpp"
#include "typeflow/cpu/tile.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

#if defined(__AVX512BF16__) && defined(__AVX512F__)

/// For an instruction set whose vectors are of 64 bytes.
template <class A>
class BFloat16Products {
  using S = TileShape<float, A>;
  using Extents = ir::ContractionExtents;
  static_assert(S::lanes == 16);
  static constexpr std::int64_t tiles_of_task = 8;
  static constexpr std::int64_t rows_of_task = tiles_of_task * S::rows;
  static constexpr std::int64_t tile_size = S::rows * S::width;
  static constexpr std::int64_t block = 1024;       ///< pairs of the depth
  static constexpr std::int64_t small_block = 128;  ///< pairs, where b is transposed

 public:
  /// Whether the product is large enough that packing pays.
  static bool fits(const std::int64_t* extents) {
    return extents[Extents::rows] >= 32 && extents[Extents::columns] >= 32 &&
           extents[Extents::depth] >= 32;
  }
  /// Larger extents never need less.
  static std::int64_t workspace(const ProductKernel<float>& kernel, const std::int64_t* extents) {
    const std::int64_t one = packed_size(extents);
    const std::int64_t most = std::min(checked_product(one, kernel.count), cached);
    return checked_product(std::max(one, most), sizeof(float));
  }
  static void run(const KernelCall& call, const ProductKernel<float>& kernel) {
    const std::int64_t together = at_once(kernel, call.extents);
    const BFloat16Products products(call, kernel);
    for (std::int64_t first = 0; first < kernel.count; first += together) {
      const std::int64_t count = std::min(together, kernel.count - first);
      products.pack(first, count);
      products.multiply(first, count);
    }
  }

 private:
  static constexpr std::int64_t cached = std::int64_t{1} << 18;  ///< pairs
  /// Pairs of both operands of a matrix.
  static std::int64_t packed_size(const std::int64_t* extents) {
    const std::int64_t width =
        checked_sum(extents[Extents::rows], Panels<S>(extents[Extents::columns]).padded());
    return checked_product(width, (extents[Extents::depth] + 1) / 2);
  }
  /// How many matrices are packed at a time: about as many as stay in cache.
  static std::int64_t at_once(const ProductKernel<float>& kernel, const std::int64_t* extents) {
    const std::int64_t one = std::max<std::int64_t>(packed_size(extents), 1);
    return std::clamp<std::int64_t>(cached / one, 1, std::max<std::int64_t>(kernel.count, 1));
  }

  BFloat16Products(const KernelCall& c, const ProductKernel<float>& k)
      : call(c),
        kernel(k),
        rows(c.extents[Extents::rows]),
        columns(c.extents[Extents::columns]),
        depth(c.extents[Extents::depth]),
        pairs((depth + 1) / 2),
        panels(columns),
        groups((rows + rows_of_task - 1) / rows_of_task) {}

  float* a_of(std::int64_t slot) const {
    return static_cast<float*>(call.workspace) + slot * (rows + panels.padded()) * pairs;
  }
  float* b_of(std::int64_t slot) const { return a_of(slot) + rows * pairs; }

  void pack(std::int64_t first, std::int64_t count) const {
    const std::int64_t parts = groups + panels.count;
    const std::int64_t grain = std::max<std::int64_t>(1, chunk_size / (S::width * depth));
    parallel(call, count * parts, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t slot = i / parts;
        const std::int64_t part = i % parts;
        if (part < groups) {
          pack_a(first + slot, slot, part * rows_of_task);
        } else {
          pack_b(first + slot, slot, part - groups);
        }
      }
    });
  }
  /// A transposed a stays so: rows of pairs lie side by side.
  void pack_a(std::int64_t matrix, std::int64_t slot, std::int64_t begin) const {
    const float* const a =
        call.operand<const float>(0) + kernel.part_of_a(call.extents, matrix) * rows * depth;
    const std::int64_t end = std::min(begin + rows_of_task, rows);
    float* const to = a_of(slot);
    if (kernel.transposed_a) {
      for (std::int64_t k = 0; k < pairs; ++k) {
        zip(a + 2 * k * rows + begin, rows, 2 * k + 1 < depth, end - begin, to + k * rows + begin);
      }
    } else {
      for (std::int64_t i = begin; i < end; ++i) join(a + i * depth, depth, to + i * pairs);
    }
  }
  void pack_b(std::int64_t matrix, std::int64_t slot, std::int64_t p) const {
    const float* const b =
        call.operand<const float>(1) + kernel.part_of_b(call.extents, matrix) * depth * columns;
    const std::int64_t first = panels.first(p);
    const std::int64_t count = panels.last(p) - first;
    const std::int64_t width = panels.width(p);
    float* const to = b_of(slot) + first * pairs;
    if (!kernel.transposed_b) {
      for (std::int64_t k = 0; k < pairs; ++k) {
        zip(b + 2 * k * columns + first, columns, 2 * k + 1 < depth, count, to + k * width);
        std::fill(to + k * width + count, to + (k + 1) * width, 0.0f);
      }
      return;
    }
    alignas(64) float joined[S::width * small_block];
    for (std::int64_t k = 0; k < pairs; k += small_block) {
      const std::int64_t length = std::min(small_block, pairs - k);
      for (std::int64_t j = 0; j < count; ++j) {
        join(b + (first + j) * depth + 2 * k, std::min(2 * length, depth - 2 * k),
             joined + j * small_block);
      }
      pack_transposed_panel(joined, small_block, length, 0, count, width, to + k * width);
    }
  }

  static __mmask16 lanes_of(std::int64_t count) {
    return static_cast<__mmask16>((1u << std::clamp<std::int64_t>(count, 0, 16)) - 1u);
  }
  /// Pairs of neighbours: to[k] = (from[2k], from[2k + 1]); a zero follows an odd last one.
  static void join(const float* from, std::int64_t count, float* to) {
    for (std::int64_t k = 0; k < count; k += 32) {
      const std::int64_t left = count - k;
      const __m512 low = _mm512_maskz_loadu_ps(lanes_of(left), from + k);
      const __m512 high = left > 16 ? _mm512_maskz_loadu_ps(lanes_of(left - 16), from + k + 16)
                                    : _mm512_setzero_ps();
      const auto both = std::bit_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
      _mm512_mask_storeu_epi32(to + k / 2, lanes_of((left + 1) / 2), both);
    }
  }
  /// Pairs of two rows that lie `pitch` apart: to[j] = (from[j], from[pitch + j]), or zero if there
  /// is no second row.
  static void zip(const float* from, std::int64_t pitch, bool second, std::int64_t count,
                  float* to) {
    for (std::int64_t j = 0; j < count; j += 16) {
      const __mmask16 lanes = lanes_of(count - j);
      const __m512i low = _mm512_castps_si512(_mm512_maskz_loadu_ps(lanes, from + j));
      const __m512i high = second
                               ? _mm512_castps_si512(_mm512_maskz_loadu_ps(lanes, from + pitch + j))
                               : _mm512_setzero_si512();
      // Operands are numbers of bfloat16, so their last 16 bits are zeros.
      _mm512_mask_storeu_epi32(to + j, lanes, _mm512_or_si512(_mm512_srli_epi32(low, 16), high));
    }
  }

  void multiply(std::int64_t first, std::int64_t count) const {
    const std::int64_t tasks = groups * panels.count;
    const std::int64_t work = std::min(rows_of_task, rows) * S::width * depth;
    const std::int64_t grain = std::max<std::int64_t>(1, 4 * chunk_size / work);
    parallel(call, count * tasks, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t slot = i / tasks;
        const std::int64_t task = i % tasks;
        multiply(first + slot, slot, task % panels.count, task / panels.count * rows_of_task);
      }
    });
  }
  void multiply(std::int64_t matrix, std::int64_t slot, std::int64_t p, std::int64_t begin) const {
    const std::int64_t end = std::min(begin + rows_of_task, rows);
    const std::int64_t row = kernel.transposed_a ? 1 : pairs;
    const std::int64_t step = kernel.transposed_a ? rows : 1;
    const std::int64_t width = panels.width(p);
    const float* const a = a_of(slot) + begin * row;
    const float* const b = b_of(slot) + panels.first(p) * pairs;
    alignas(64) float sums[tiles_of_task * tile_size] = {};
    for (std::int64_t k = 0; k < pairs; k += block) {
      const std::int64_t length = std::min(block, pairs - k);
      for (std::int64_t i = 0; begin + i * S::rows < end; ++i) {
        const int count =
            static_cast<int>(std::min<std::int64_t>(S::rows, end - begin - i * S::rows));
        with_vectors<S>(width, [&](auto vectors) {
          tile<vectors()>(a + i * S::rows * row + k * step, row, step, count, b + k * width, length,
                          sums + i * tile_size);
        });
      }
    }
    kernel.finish(call, matrix, sums, begin, end, panels.first(p), panels.last(p));
  }
  /// Adds the products of `rows` rows and V vectors of columns to the tile.
  template <int V>
  [[gnu::noinline, gnu::flatten]] static void tile(const float* a, std::int64_t row,
                                                   std::int64_t step, int rows, const float* b,
                                                   std::int64_t length, float* to) {
    const float* at[S::rows];
    __m512 sum[S::rows][V];
    unrolled<S::rows>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
      at[i] = a + std::min<int>(i, rows - 1) * row;
      unrolled<V>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
        sum[i][v] = _mm512_load_ps(to + i * S::width + v * S::lanes);
      });
    });
    std::int64_t offset = 0;
    for (std::int64_t k = 0; k < length; ++k, offset += step, b += V * S::lanes) {
      __m512 right[V];
      unrolled<V>([&](auto v)
                      TYPEFLOW_INLINE_LAMBDA { right[v] = _mm512_loadu_ps(b + v * S::lanes); });
      unrolled<S::rows>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
        const __m512 left = _mm512_set1_ps(at[i][offset]);
        unrolled<V>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
          sum[i][v] = _mm512_dpbf16_ps(sum[i][v], std::bit_cast<__m512bh>(left),
                                       std::bit_cast<__m512bh>(right[v]));
        });
      });
    }
    unrolled<S::rows>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
      unrolled<V>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
        _mm512_store_ps(to + i * S::width + v * S::lanes, sum[i][v]);
      });
    });
  }

  const KernelCall& call;
  const ProductKernel<float>& kernel;
  const std::int64_t rows;
  const std::int64_t columns;
  const std::int64_t depth;
  const std::int64_t pairs;  ///< of the depth
  const Panels<S> panels;
  const std::int64_t groups;  ///< of rows
};

#endif

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
