// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tiles of short rows: some rows of a matrix, stored by columns, so that a vector has one element
// of each row.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "typeflow/cpu/lanes.hpp"
#include "typeflow/cpu/transpose_blocks.hpp"
#include "typeflow/cpu/transpose_square.hpp"
#include "typeflow/lower/kernel_spec.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// A vector of N elements for each column of short rows.
template <class T, int N>
struct alignas(64) RowTile {
  T v[ir::small_extent * N];
};

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

/// load_tile for any rows.
template <class T, int N>
[[gnu::noinline]] void load_any_tile(const T* from, int count, std::int64_t length,
                                     RowTile<T, N>& tile) {
  if (count < N) std::fill_n(tile.v, length * N, T(0));
  transpose_matrix(from, length, count, length, tile.v, N);
}
/// Fills a tile with `count` rows of `length` elements that lie one after the other. The elements
/// of missing rows are zero. The first `readable` elements may be read.
template <class T, int N>
[[gnu::noinline, gnu::flatten]] void load_tile(const T* from, int count, std::int64_t length,
                                               std::int64_t readable, RowTile<T, N>& tile) {
  if constexpr (sizeof(T) <= 8) {
    using B = TransposeBlocks<T>;
    if constexpr (N == B::W) {
      if (count == N && B::narrow(from, length, readable, {tile.v, N})) return;
    } else if constexpr (sizeof(T) <= 2) {
      // Booleans are copied as bytes.
      using U = std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>;
      if (count == N) {
        TransposeBlocks<U>::run({reinterpret_cast<const U*>(from), length}, N, length,
                                {reinterpret_cast<U*>(tile.v), N}, readable, false);
        return;
      }
    }
  }
  load_any_tile(from, count, length, tile);
}
/// The other way round.
template <class T, int N>
[[gnu::noinline]] void store_tile(const RowTile<T, N>& tile, int count, std::int64_t length,
                                  T* to) {
  std::int64_t i = 0;
  if constexpr (!std::is_void_v<TransposeBatch<T>>) {
    constexpr auto W = static_cast<std::int64_t>(TransposeBatch<T>::size);
    // Rows shorter than a square: each is written with elements of no column behind it, where the
    // next one is written then.
    for (; length < W && (i + W - 1) * length + W <= count * length; i += W) {
      transpose_square(tile.v + i, N, to + i * length, length);
    }
  }
  transpose_matrix(tile.v + i, N, length, count - i, to + i * length, length);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
