// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tiles of short rows: some rows of a matrix, stored by columns, so that a vector has one element
// of each row.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "typeflow/cpu/lanes.hpp"
#include "typeflow/lower/kernel_spec.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// A vector of N elements for each column of short rows.
template <class T, int N>
struct alignas(64) RowTile {
  T v[ir::small_extent * N];
};

/// 16 bytes of elements, for transposing blocks in registers; void if there are no such registers.
template <class T>
using TransposeBatch =
    typename std::conditional_t<std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8),
                                xsimd::make_sized_batch<T, 16 / sizeof(T)>,
                                std::type_identity<void>>::type;

/// Copies a block of W x W elements transposed, where W elements are 16 bytes.
template <class T, class B = TransposeBatch<T>>
TYPEFLOW_INLINE void transpose_square(const T* from, std::int64_t pitch, T* to,
                                      std::int64_t to_pitch) {
  if constexpr (B::size == 2) {
    const B r0 = B::load_unaligned(from);
    const B r1 = B::load_unaligned(from + pitch);
    xsimd::zip_lo(r0, r1).store_unaligned(to);
    xsimd::zip_hi(r0, r1).store_unaligned(to + to_pitch);
  } else {
    const B r0 = B::load_unaligned(from);
    const B r1 = B::load_unaligned(from + pitch);
    const B r2 = B::load_unaligned(from + 2 * pitch);
    const B r3 = B::load_unaligned(from + 3 * pitch);
    const B even_low = xsimd::zip_lo(r0, r2);
    const B even_high = xsimd::zip_hi(r0, r2);
    const B odd_low = xsimd::zip_lo(r1, r3);
    const B odd_high = xsimd::zip_hi(r1, r3);
    xsimd::zip_lo(even_low, odd_low).store_unaligned(to);
    xsimd::zip_hi(even_low, odd_low).store_unaligned(to + to_pitch);
    xsimd::zip_lo(even_high, odd_high).store_unaligned(to + 2 * to_pitch);
    xsimd::zip_hi(even_high, odd_high).store_unaligned(to + 3 * to_pitch);
  }
}

/// Copies a matrix transposed: to[j * to_pitch + i] = from[i * pitch + j]. Blocks at the ends
/// overlap the ones before them.
template <class T>
TYPEFLOW_INLINE void transpose_matrix(const T* from, std::int64_t pitch, std::int64_t rows,
                                      std::int64_t columns, T* to, std::int64_t to_pitch) {
  using B = TransposeBatch<T>;
  if constexpr (!std::is_void_v<B>) {
    constexpr std::int64_t W = static_cast<std::int64_t>(B::size);
    if (rows >= W && columns >= W) {
      for (std::int64_t i = 0; i < rows; i += W) {
        const std::int64_t row = std::min(i, rows - W);
        for (std::int64_t j = 0; j < columns; j += W) {
          const std::int64_t column = std::min(j, columns - W);
          transpose_square(from + row * pitch + column, pitch, to + column * to_pitch + row,
                           to_pitch);
        }
      }
      return;
    }
  }
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t i = 0; i < rows; ++i) to[j * to_pitch + i] = from[i * pitch + j];
  }
}

/// Fills a tile with `count` rows of `length` elements that lie one after the other. The elements
/// of missing rows are zero.
template <class T, int N>
[[gnu::noinline]] void load_tile(const T* from, int count, std::int64_t length,
                                 RowTile<T, N>& tile) {
  if (count == N) {
    transpose_matrix(from, length, N, length, tile.v, N);
    return;
  }
  std::fill_n(tile.v, length * N, T(0));
  transpose_matrix(from, length, count, length, tile.v, N);
}
/// The other way round.
template <class T, int N>
[[gnu::noinline]] void store_tile(const RowTile<T, N>& tile, int count, std::int64_t length,
                                  T* to) {
  if (count == N) {
    transpose_matrix(tile.v, N, length, N, to, length);
    return;
  }
  transpose_matrix(tile.v, N, length, count, to, length);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
