// SPDX-License-Identifier: Apache-2.0
#pragma once

// What loops of matrix products share: copies of panels of b, and what is special about a kernel.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "typeflow/cpu/call.hpp"
#include "typeflow/cpu/lanes.hpp"
#include "typeflow/cpu/line_squares.hpp"
#include "typeflow/cpu/transpose_square.hpp"
#include "typeflow/cpu/xsimd.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// Prefetches the element that lies `ahead` elements behind `at`; it need not exist.
template <class T>
TYPEFLOW_INLINE void prefetch(const T* at, std::int64_t ahead) {
  const auto address =
      reinterpret_cast<std::uintptr_t>(at) + static_cast<std::uintptr_t>(ahead) * sizeof(T);
  __builtin_prefetch(reinterpret_cast<const void*>(address));
}
/// The same, to the second cache. Of many rows a power of two apart, a set of the first one would
/// hold no line each until it is read.
template <class T>
TYPEFLOW_INLINE void prefetch_to_second(const T* at, std::int64_t ahead) {
  const auto address =
      reinterpret_cast<std::uintptr_t>(at) + static_cast<std::uintptr_t>(ahead) * sizeof(T);
  __builtin_prefetch(reinterpret_cast<const void*>(address), 0, 2);
}

#if defined(__AVX__) && !defined(__AVX512BW__)
/// Copies 8 rows of 4 elements transposed.
TYPEFLOW_INLINE void transpose_rows(const float* from, std::int64_t pitch, float* to,
                                    std::int64_t to_pitch) {
  const auto pair = [&](int i) {  // rows i and i + 4
    const __m256 low = _mm256_castps128_ps256(_mm_loadu_ps(from + i * pitch));
    return _mm256_insertf128_ps(low, _mm_loadu_ps(from + (i + 4) * pitch), 1);
  };
  const __m256 r0 = pair(0);
  const __m256 r1 = pair(1);
  const __m256 r2 = pair(2);
  const __m256 r3 = pair(3);
  const __m256d low01 = _mm256_castps_pd(_mm256_unpacklo_ps(r0, r1));
  const __m256d high01 = _mm256_castps_pd(_mm256_unpackhi_ps(r0, r1));
  const __m256d low23 = _mm256_castps_pd(_mm256_unpacklo_ps(r2, r3));
  const __m256d high23 = _mm256_castps_pd(_mm256_unpackhi_ps(r2, r3));
  _mm256_storeu_ps(to, _mm256_castpd_ps(_mm256_unpacklo_pd(low01, low23)));
  _mm256_storeu_ps(to + to_pitch, _mm256_castpd_ps(_mm256_unpackhi_pd(low01, low23)));
  _mm256_storeu_ps(to + 2 * to_pitch, _mm256_castpd_ps(_mm256_unpacklo_pd(high01, high23)));
  _mm256_storeu_ps(to + 3 * to_pitch, _mm256_castpd_ps(_mm256_unpackhi_pd(high01, high23)));
}
#endif

/// Columns [first, last) of b as rows of `width` elements, whole vectors, with zeros behind them; b
/// is depth x columns.
template <class T, class A>
[[gnu::noinline]] void pack_panel(const T* b, std::int64_t depth, std::int64_t columns,
                                  std::int64_t first, std::int64_t last, std::int64_t width,
                                  T* panel) {
  using L = Lanes<sizeof(T) == 8, A>;
  const std::int64_t count = last - first;
  for (std::int64_t k = 0; k < depth; ++k) {
    const T* const from = b + k * columns + first;
    T* const to = panel + k * width;
    std::int64_t j = 0;
    for (; j + L::size <= count; j += L::size) L::store(to + j, L::load(from + j));
    for (; j < width; j += L::size) {
      const auto left = static_cast<int>(std::max<std::int64_t>(count - j, 0));
      L::store(to + j, L::load(from + j, left));
    }
  }
}

/// See pack_transposed_panel: by squares of 16 bytes a side.
template <class T>
[[gnu::noinline]] void pack_small_squares(const T* b, std::int64_t pitch, std::int64_t depth,
                                          std::int64_t first, std::int64_t last, std::int64_t width,
                                          T* panel) {
  constexpr std::int64_t size = 16 / sizeof(T);
  // Some cache lines of a few rows at a time, while the same rows' next ones are on their way. (Of
  // many rows a power of two apart, a set of the first cache holds no line each.)
  constexpr std::int64_t line = 64 / sizeof(T);
  constexpr std::int64_t piece = 16 * line;
  const std::int64_t count = last - first;
  for (std::int64_t begin = 0; begin < depth; begin += piece) {
    const std::int64_t end = std::min(begin + piece, depth);
    const std::int64_t whole = begin + (end - begin) / size * size;
    std::int64_t j = 0;
    const auto take = [&](auto rows, const auto& transpose) {
      for (; j + rows() <= count; j += rows()) {
        const T* const from = b + (first + j) * pitch;
        for (std::int64_t k = begin; k < whole; k += size) {
          const std::int64_t row = k / size % (line / size) * (rows() * size / line);
          for (int r = 0; r < rows() * size / line; ++r) {
            prefetch(from + (row + r) * pitch + k, piece);
          }
          transpose(from + k, panel + k * width + j);
        }
        for (std::int64_t k = whole; k < end; ++k) {
          for (int r = 0; r < rows(); ++r) {
            TYPEFLOW_FEW_TURNS;
            panel[k * width + j + r] = from[r * pitch + k];
          }
        }
      }
    };
#if defined(__AVX__) && !defined(__AVX512BW__)
    if constexpr (std::is_same_v<T, float>) {
      take(std::integral_constant<int, 8>{},
           [&](const T* from, T* to) { transpose_rows(from, pitch, to, width); });
    }
#endif
    if constexpr (!std::is_void_v<TransposeBatch<T>>) {
      take(std::integral_constant<int, size>{},
           [&](const T* from, T* to) { transpose_square(from, pitch, to, width); });
    }
    for (; j < count; ++j) {
      const T* const from = b + (first + j) * pitch;
      for (std::int64_t k = begin; k < end; ++k) {
        TYPEFLOW_FEW_TURNS;
        panel[k * width + j] = from[k];
      }
    }
    for (std::int64_t k = begin; k < end; ++k) {
      std::fill(panel + k * width + count, panel + (k + 1) * width, T(0));
    }
  }
}

/// The same for a b whose transpose is in memory, with rows that lie `pitch` apart.
template <class T>
[[gnu::noinline]] void pack_transposed_panel(const T* b, std::int64_t pitch, std::int64_t depth,
                                             std::int64_t first, std::int64_t last,
                                             std::int64_t width, T* panel) {
#if defined(__AVX512BW__)
  if constexpr (line_square_size<T> != 0) {
    constexpr std::int64_t line = line_square_size<T>;
    for (std::int64_t j = 0; j < width; j += line) {
      const std::int64_t rows = std::clamp<std::int64_t>(last - first - j, 0, line);
      const T* const from = b + (first + (rows > 0 ? j : 0)) * pitch;
      for (std::int64_t k = 0; k < depth; k += line) {
        for (std::int64_t r = 0; r < rows; ++r) prefetch(from + r * pitch + k, 8 * line);
        transpose_line_square(from + k, pitch, rows, std::min(line, depth - k),
                              panel + k * width + j, width);
      }
    }
  } else
#endif
  {
    pack_small_squares(b, pitch, depth, first, last, width, panel);
  }
}

/// How an operand is read whose elements are narrower than T (widened_operands.hpp).
template <class T>
struct Widening {
  std::int64_t size;  ///< bytes of an element
  /// Converts rows that lie `pitch` elements apart. May write zeros behind each, up to a whole
  /// vector.
  void (*convert)(const void* from, std::int64_t pitch, std::int64_t rows, std::int64_t count,
                  T* to, std::int64_t to_pitch);
  /// out[j] = sum over k of x[k] * m[k * pitch + j], for j < count; with `go_on`, added to out[j].
  void (*wide_sums)(const T* x, const void* m, std::int64_t pitch, std::int64_t depth,
                    std::int64_t count, T* out, bool go_on);
  /// The same sums of x[k] * m[j * pitch + k].
  void (*row_sums)(const T* x, const void* m, std::int64_t pitch, std::int64_t depth,
                   std::int64_t count, T* out, bool go_on);
  /// The same of an x that is not widened, either, whose elements lie x_step apart, as do those of
  /// m's rows m_step, which is 1 but for one row. Null: there is no such function.
  void (*dots)(const void* x, std::int64_t x_step, const void* m, std::int64_t m_step,
               std::int64_t pitch, std::int64_t depth, std::int64_t count, T* out) = nullptr;
};

/// Where the rows of a result lie that an epilogue writes. The products before it take so long that
/// the rows' cache lines come meanwhile, if somebody asks for them.
struct ResultRows {
  const std::byte* first = nullptr;  ///< null: it is not known
  std::int64_t pitch = 0;            ///< bytes
  std::int64_t element = 0;          ///< bytes

  /// Brings columns [column, last) of rows, which will be written, to the second cache: rows a
  /// power of two apart would drive each other, and operands, from the first one.
  [[gnu::noinline]] void prefetch(std::int64_t row, int count, std::int64_t column,
                                  std::int64_t last) const {
    for (const std::byte* at = first + row * pitch; count > 0; --count, at += pitch) {
      for (std::int64_t b = column * element; b < last * element; b += 64) {
        prefetch_to_second(at + b, 0);
      }
    }
  }
};

/// The parts of a product kernel that its loops take at run time: see ProductLoops.
template <class T>
struct ProductKernel {
  bool transposed_a;
  bool transposed_b;
  bool shared_b;       ///< whether all matrices have the same b
  bool strided_b;      ///< whether b is part of a larger tensor
  bool is_result;      ///< whether nothing follows the products
  std::int64_t count;  ///< the number of matrices
  /// Elements from a row of an operand's matrix, as it is in memory, to the next row.
  std::int64_t pitch_a;
  std::int64_t pitch_b;
  /// Where the operand's matrix for a matrix of the result begins, in elements.
  std::int64_t (*start_of_a)(const std::int64_t* extents, std::int64_t matrix);
  std::int64_t (*start_of_b)(const std::int64_t* extents, std::int64_t matrix);
  /// The epilogue for rows [first, last) and columns [column, last_column) of a matrix. Their tiles
  /// lie one after the other.
  void (*finish)(const KernelCall& call, std::int64_t matrix, const T* tiles, std::int64_t first,
                 std::int64_t last, std::int64_t column, std::int64_t last_column);
  /// The same for rows [first, last) of a matrix of few columns, whose sums lie one row after the
  /// other. Of several columns, `sums` has a vector's elements behind the last. Null: there is no
  /// such function.
  void (*finish_rows)(const KernelCall& call, std::int64_t matrix, const T* sums,
                      std::int64_t first, std::int64_t last) = nullptr;
  /// The operand that `finish` writes first, and bytes of an element; 0: it is part of a larger
  /// tensor, or nothing follows the products.
  int result = 0;
  int result_element = 0;
  /// How the operands are widened; null: their elements are T.
  static constexpr const Widening<T>* wide_a() { return nullptr; }
  static constexpr const Widening<T>* wide_b() { return nullptr; }
};
/// A kernel with an operand that is widened. Others' loops have no code for it.
template <class T>
struct WideningKernel : ProductKernel<T> {
  const Widening<T>* of_a;
  const Widening<T>* of_b;
  constexpr const Widening<T>* wide_a() const { return of_a; }
  constexpr const Widening<T>* wide_b() const { return of_b; }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
