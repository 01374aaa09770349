// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tiles of short rows: some rows of a matrix, stored by columns, so that a vector has one element
// of each row.

#include <algorithm>
#include <cstddef>
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

#if defined(__AVX512BW__)
/// Registers of N rows of `Length` elements of `Size` bytes, permuted to columns of N elements.
/// Each result takes elements of the first two registers, then of one more at a time; with four of
/// both, pairs of results take those of pairs of registers, then each is put together.
template <std::size_t Size, int N, int Length>
struct ColumnsOfRows {
  static constexpr int U = static_cast<int>(64 / Size);  ///< elements of a register
  static constexpr int registers = (N * Length + U - 1) / U;
  static constexpr bool in_pairs = Length == 4 && N == U;
  static constexpr int steps = in_pairs ? 1 : std::max(1, registers - 1);
#if defined(__AVX512VBMI__)
  static constexpr bool possible = Size <= 8;
#else
  static constexpr bool possible = Size <= 8 && Size != 1;
#endif
  using Places = Array<IntegerOf<Size>, U>;
  alignas(64) static constexpr auto places = [] {
    Array<Array<Places, steps>, registers> p{};
    for (int out = 0; out < registers; ++out) {
      for (int step = 0; step < steps; ++step) {
        for (int i = 0; i < U; ++i) {
          if (in_pairs) {  // the columns 0 and 1, then 2 and 3; and the lower halves, the upper
            const int half = U / 2;
            const int place = out < 2 ? i % half * 4 + out * 2 + i / half
                                      : i / half * U + (out - 2) * half + i % half;
            p.v[out].v[step].v[i] = static_cast<IntegerOf<Size>>(place);
            continue;
          }
          const int to = out * U + i;
          const int from = to < N * Length ? to % N * Length + to / N : 0;
          const int place = from / U == step + 1 ? U + from % U : step == 0 ? from % U : i;
          p.v[out].v[step].v[i] = static_cast<IntegerOf<Size>>(place);
        }
      }
    }
    return p;
  }();

  TYPEFLOW_INLINE static __m512i permuted(__m512i a, const Places& place, __m512i b) {
    const __m512i p = _mm512_load_si512(place.v);
#if defined(__AVX512VBMI__)
    if constexpr (Size == 1) return _mm512_permutex2var_epi8(a, p, b);
#endif
    if constexpr (Size == 2) return _mm512_permutex2var_epi16(a, p, b);
    if constexpr (Size == 4) return _mm512_permutex2var_epi32(a, p, b);
    return _mm512_permutex2var_epi64(a, p, b);
  }
  /// Reads and writes whole registers.
  TYPEFLOW_INLINE static void run(const std::byte* from, std::byte* to) {
    __m512i in[registers];
    for (int k = 0; k < registers; ++k) in[k] = _mm512_loadu_si512(from + 64 * k);
    if constexpr (in_pairs) {
      for (int out = 0; out < 4; out += 2) {
        const __m512i a = permuted(in[0], places.v[out / 2].v[0], in[1]);
        const __m512i b = permuted(in[2], places.v[out / 2].v[0], in[3]);
        _mm512_store_si512(to + 64 * out, permuted(a, places.v[2].v[0], b));
        _mm512_store_si512(to + 64 * (out + 1), permuted(a, places.v[3].v[0], b));
      }
    } else {
      for (int out = 0; out < registers; ++out) {
        __m512i x = in[0];
        for (int step = 0; step < steps; ++step) {
          x = permuted(x, places.v[out].v[step], in[registers == 1 ? 0 : step + 1]);
        }
        _mm512_store_si512(to + 64 * out, x);
      }
    }
  }
};
#endif
/// load_tile for N rows of 2 to 6 elements. Returns whether it could.
#if defined(__AVX512BW__)
inline constexpr bool permutes_columns = true;
template <class T, int N>
TYPEFLOW_INLINE bool load_columns(const T* from, std::int64_t length, std::int64_t readable,
                                  RowTile<T, N>& tile) {
  constexpr std::size_t size = sizeof(T);
  const auto load = [&]<int Length>(std::integral_constant<int, Length>) TYPEFLOW_INLINE_LAMBDA {
    using C = ColumnsOfRows<size, N, Length>;
    if (readable < C::registers * C::U) return false;
    C::run(reinterpret_cast<const std::byte*>(from), reinterpret_cast<std::byte*>(tile.v));
    return true;
  };
  if constexpr (ColumnsOfRows<size, N, 2>::possible) {
    switch (length) {
      case 2:
        return load(std::integral_constant<int, 2>{});
      case 3:
        return load(std::integral_constant<int, 3>{});
      case 4:
        return load(std::integral_constant<int, 4>{});
      case 5:
        return load(std::integral_constant<int, 5>{});
      case 6:
        return load(std::integral_constant<int, 6>{});
      default:
        return false;
    }
  }
  return false;
}
#else
inline constexpr bool permutes_columns = false;
template <class T, int N>
TYPEFLOW_INLINE bool load_columns(const T*, std::int64_t, std::int64_t, RowTile<T, N>&) {
  return false;
}
#endif

/// load_tile for any rows.
template <class T, int N>
[[gnu::noinline]] void load_any_tile(const T* from, int count, std::int64_t length,
                                     RowTile<T, N>& tile) {
  if (count < N) std::fill_n(tile.v, length * N, T(0));
  transpose_matrix(from, length, count, length, tile.v, N);
}
/// load_tile for N rows, by blocks.
template <class T, int N>
[[gnu::noinline, gnu::flatten]] void load_blocks(const T* from, std::int64_t length,
                                                 std::int64_t readable, RowTile<T, N>& tile) {
  if constexpr (sizeof(T) <= 8) {
    using B = TransposeBlocks<T>;
    if constexpr (N == B::W) {
      if (B::narrow(from, length, readable, {tile.v, N})) return;
    } else if constexpr (sizeof(T) <= 2) {
      // Booleans are copied as bytes.
      using U = std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>;
      TransposeBlocks<U>::run({reinterpret_cast<const U*>(from), length}, N, length,
                              {reinterpret_cast<U*>(tile.v), N}, readable, false);
      return;
    }
  }
  load_any_tile(from, N, length, tile);
}
/// Fills a tile with `count` rows of `length` elements that lie one after the other. The elements
/// of missing rows are zero. The first `readable` elements may be read.
template <class T, int N>
[[gnu::noinline]] void load_tile(const T* from, int count, std::int64_t length,
                                 std::int64_t readable, RowTile<T, N>& tile) {
  if (count < N) return load_any_tile(from, count, length, tile);
  if (load_columns(from, length, readable, tile)) return;
  load_blocks(from, length, readable, tile);
}
/// Fills a tile with a row that all rows share.
template <class T, int N>
[[gnu::noinline]] void repeat_row(const T* from, std::int64_t length, RowTile<T, N>& tile) {
  for (std::int64_t j = 0; j < length; ++j) std::fill_n(tile.v + j * N, N, from[j]);
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
