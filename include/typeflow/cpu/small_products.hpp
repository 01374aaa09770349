// SPDX-License-Identifier: Apache-2.0
#pragma once

// Many products of small matrices, whose columns fit into one vector. A task is a loop over
// matrices, and reads b in place: copies and calls for each product would cost more than the
// product. Sums are the same chains as those of the register tile (cpu/tile.hpp).

#include <algorithm>
#include <cstdint>

#include "typeflow/cpu/product_kernel.hpp"
#include "typeflow/cpu/rows.hpp"
#include "typeflow/cpu/tile.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

#if defined(__AVX2__) && defined(__FMA__)
inline constexpr bool has_fours = true;
TYPEFLOW_INLINE __m128 load_four(const float* from) { return _mm_loadu_ps(from); }
TYPEFLOW_INLINE __m256d load_four(const double* from) { return _mm256_loadu_pd(from); }
TYPEFLOW_INLINE void store_four(float* to, __m128 x) { _mm_storeu_ps(to, x); }
TYPEFLOW_INLINE void store_four(double* to, __m256d x) { _mm256_storeu_pd(to, x); }
TYPEFLOW_INLINE __m128 add_product(float a, __m128 b, __m128 c) {
  return _mm_fmadd_ps(_mm_set1_ps(a), b, c);
}
TYPEFLOW_INLINE __m256d add_product(double a, __m256d b, __m256d c) {
  return _mm256_fmadd_pd(_mm256_set1_pd(a), b, c);
}
#else
inline constexpr bool has_fours = false;
#endif

template <class T, class A, class Kernel = ProductKernel<T>>
class SmallProducts {
  using S = TileShape<T, A>;
  using L = Lanes<sizeof(T) == 8, A>;
  using B = xsimd::batch<T, A>;
  using Extents = ir::ContractionExtents;
  static constexpr std::int64_t most_work = std::int64_t{1} << 16;  ///< products of a matrix
  static constexpr std::int64_t most_depth = 64;                    ///< of a transposed b

 public:
  /// Whether the products are some that run() computes.
  static bool fits(const Kernel& kernel, const std::int64_t* extents) {
    const std::int64_t rows = extents[Extents::rows];
    const std::int64_t columns = extents[Extents::columns];
    const std::int64_t depth = extents[Extents::depth];
    return kernel.wide_a() == nullptr && kernel.wide_b() == nullptr && kernel.count > 1 &&
           columns <= S::lanes && rows <= most_work && depth <= most_work &&
           rows * depth * S::lanes <= most_work && (!kernel.transposed_b || depth <= most_depth);
  }

  /// Whether these loops compute products with vectors, too.
  static bool fits_vectors(const Kernel& kernel, const std::int64_t* extents) {
    return has_fours && fma_rounds_once<A> && fits(kernel, extents) &&
           (are_squares(kernel, extents, 3) || are_squares(kernel, extents, 4));
  }

  static void run(const KernelCall& call, const Kernel& kernel);

 private:
  SmallProducts(const KernelCall& c, const Kernel& k)
      : call(c),
        kernel(k),
        rows(c.extents[Extents::rows]),
        columns(c.extents[Extents::columns]),
        depth(c.extents[Extents::depth]) {}

  /// Whether a's matrices are squares of this size, and those of b and the result lie one row after
  /// the other, of at most four columns.
  static bool are_squares(const Kernel& kernel, const std::int64_t* extents, std::int64_t size) {
    const std::int64_t columns = extents[Extents::columns];
    return extents[Extents::rows] == size && extents[Extents::depth] == size && columns > 0 &&
           columns <= 4 && kernel.is_result && !kernel.transposed_a && kernel.pitch_a == size &&
           !kernel.transposed_b && kernel.pitch_b == columns;
  }
  /// Reads and writes rows of four elements. Those behind a row are of the next one, or of the next
  /// matrix, which is written later. Matrices that have none behind them are copied.
  template <int Size>
  [[gnu::noinline, gnu::flatten]] void squares(std::int64_t begin, std::int64_t end) const {
    using Four = decltype(load_four(static_cast<const T*>(nullptr)));
    const std::int64_t width = columns;
    const std::int64_t size = Size * width;
    const T* const all_a = call.operand<const T>(0);
    const T* const all_b = call.operand<const T>(1);
    T* to = call.operand<T>(2) + begin * size;
    T copy[4 * Size + 4];
    T last[4 * Size + 4];
    std::int64_t next = kernel.start_of_b(call.extents, begin);
    for (std::int64_t matrix = begin; matrix < end; ++matrix, to += size) {
      const bool is_last = matrix + 1 == end;
      const T* const a = all_a + kernel.start_of_a(call.extents, matrix);
      const std::int64_t at = next;
      const T* b = all_b + at;
      if (!is_last) next = kernel.start_of_b(call.extents, matrix + 1);
      if (next < at + size) {
        std::copy_n(b, size, copy);
        b = copy;
      }
      Four sum[Size] = {};
      unrolled<Size>([&](auto k) TYPEFLOW_INLINE_LAMBDA {
        const Four right = load_four(b + k * width);
        unrolled<Size>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
          sum[i] = add_product(a[i * Size + k], right, sum[i]);
        });
      });
      T* const out = is_last ? last : to;
      unrolled<Size>([&](auto i) TYPEFLOW_INLINE_LAMBDA { store_four(out + i * width, sum[i]); });
      if (is_last) std::copy_n(last, size, to);
    }
  }

  [[gnu::flatten]] void multiply(std::int64_t begin, std::int64_t end) const {
    alignas(64) T panel[most_depth * S::lanes];
    for (std::int64_t matrix = begin; matrix < end; ++matrix) {
      const T* const a = call.operand<const T>(0) + kernel.start_of_a(call.extents, matrix);
      const T* b = call.operand<const T>(1) + kernel.start_of_b(call.extents, matrix);
      if (kernel.transposed_b) {
        pack_transposed_panel(b, kernel.pitch_b, depth, 0, columns, S::lanes, panel);
        b = panel;
      }
      for (std::int64_t i = 0; i < rows; i += S::rows) {
        if (rows - i <= S::rows / 2) {  // of the last rows, no more than needed
          tile<S::rows / 2>(matrix, a, b, i);
        } else {
          tile<S::rows>(matrix, a, b, i);
        }
      }
    }
  }

  /// R rows from `first` on, or those that are left.
  template <int R>
  TYPEFLOW_INLINE void tile(std::int64_t matrix, const T* a, const T* b, std::int64_t first) const {
    const std::int64_t pitch = kernel.transposed_b ? S::lanes : kernel.pitch_b;
    const std::int64_t row = kernel.transposed_a ? 1 : kernel.pitch_a;
    const std::int64_t step = kernel.transposed_a ? kernel.pitch_a : 1;
    const std::int64_t count = std::min<std::int64_t>(R, rows - first);
    const T* at[R];
    unrolled<R>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
      at[i] = a + (first + std::min<std::int64_t>(i, count - 1)) * row;
    });
    B sum[R];
    unrolled<R>([&](auto i) TYPEFLOW_INLINE_LAMBDA { sum[i] = B(T(0)); });
    std::int64_t offset = 0;
    for (std::int64_t k = 0; k < depth; ++k, offset += step) {
      const B right = load(b + k * pitch, (depth - 1 - k) * pitch + columns);
      unrolled<R>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
        sum[i] = cpu_kernels::fma(B(at[i][offset]), right, sum[i]);
      });
    }
    if (kernel.is_result) {
      T* const to = call.operand<T>(2) + (matrix * rows + first) * columns;
      unrolled<R>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
        if (i < count) store(to + i * columns, sum[i], (count - i) * columns);
      });
    } else {
      alignas(64) T sums[R * S::width];
      unrolled<R>([&](auto i)
                      TYPEFLOW_INLINE_LAMBDA { sum[i].store_aligned(sums + i * S::width); });
      kernel.finish(call, matrix, sums, first, first + count, 0, columns);
    }
  }

  static constexpr bool masked =
      S::lanes * sizeof(T) >= 32;  ///< whether parts of vectors are cheap
  // Without masks, a vector may also read and write what follows in the matrix's memory, where
  // there are `left` elements: the next rows, which are written later.

  TYPEFLOW_INLINE B load(const T* from, std::int64_t left) const {
    if (masked || left < S::lanes) {
      return L::load(from, static_cast<int>(columns));
    }
    return B::load_unaligned(from);
  }
  TYPEFLOW_INLINE void store(T* to, const B& x, std::int64_t left) const {
    if (masked || left < S::lanes) {
      L::store(to, x, static_cast<int>(columns));
    } else {
      x.store_unaligned(to);
    }
  }

  const KernelCall& call;
  const Kernel& kernel;
  const std::int64_t rows;
  const std::int64_t columns;
  const std::int64_t depth;
};

template <class T, class A, class Kernel>
void SmallProducts<T, A, Kernel>::run(const KernelCall& call, const Kernel& kernel) {
  const SmallProducts products(call, kernel);
  const std::int64_t work = 2 * products.rows * S::lanes * (products.depth + 1);
  parallel(call, kernel.count, grain_of_cost(work), [&](std::int64_t begin, std::int64_t end) {
    if constexpr (has_fours && fma_rounds_once<A>) {
      if (are_squares(kernel, call.extents, 3)) return products.template squares<3>(begin, end);
      if (are_squares(kernel, call.extents, 4)) return products.template squares<4>(begin, end);
    }
    products.multiply(begin, end);
  });
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
