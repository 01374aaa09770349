// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tiles of short rows: some rows of a matrix, stored by columns, so that a vector has one element
// of each row.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "typeflow/cpu/lanes.hpp"
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
