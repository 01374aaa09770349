// SPDX-License-Identifier: Apache-2.0
#pragma once

// The transpose of a matrix in memory, by blocks in registers.
//
// A lane is 16 bytes: N elements. A block has N columns, and W rows, as many as fill a register.
// Lane k of register i is loaded from row k * N + i, so unpacking within lanes leaves a column of
// the block in each register. Stores are then as long as a register.
//
// Rows that lie a power of two apart share a few sets of a cache, and drive each other out before
// their lines are complete. So tiles of such a result are transposed in a small buffer first. Tiles
// of a result that is streamed also begin in one, since their input is in no cache either.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "typeflow/cpu/stream.hpp"
#include "typeflow/cpu/xsimd.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// An unsigned integer of the size of T.
template <class T>
using BitsOf = std::conditional_t<
    sizeof(T) == 1, std::uint8_t,
    std::conditional_t<sizeof(T) == 2, std::uint16_t,
                       std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

/// A register of one lane.
template <class T>
struct LaneRegister {
  static constexpr int lanes = 1;
  using V = xsimd::make_sized_batch_t<BitsOf<T>, 16 / sizeof(T)>;
  V v;

  TYPEFLOW_INLINE static LaneRegister load(const T* from, std::int64_t) {
    return {V::load_unaligned(reinterpret_cast<const BitsOf<T>*>(from))};
  }
  TYPEFLOW_INLINE void store(T* to) const { v.store_unaligned(reinterpret_cast<BitsOf<T>*>(to)); }
  TYPEFLOW_INLINE static LaneRegister low(const LaneRegister& a, const LaneRegister& b) {
    return {xsimd::zip_lo(a.v, b.v)};
  }
  TYPEFLOW_INLINE static LaneRegister high(const LaneRegister& a, const LaneRegister& b) {
    return {xsimd::zip_hi(a.v, b.v)};
  }
};

/// A register of the widest kind. Its lanes are loaded from addresses `step` elements apart.
#if defined(__AVX512BW__)
template <class T>
struct WideRegister {
  static constexpr int lanes = 4;
  __m512i v;

  TYPEFLOW_INLINE static __m128i lane(const T* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  }
  TYPEFLOW_INLINE static WideRegister load(const T* from, std::int64_t step) {
    const __m256i a =
        _mm256_inserti128_si256(_mm256_castsi128_si256(lane(from)), lane(from + step), 1);
    const __m256i b = _mm256_inserti128_si256(_mm256_castsi128_si256(lane(from + 2 * step)),
                                              lane(from + 3 * step), 1);
    return {_mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1)};
  }
  TYPEFLOW_INLINE void store(T* to) const { _mm512_storeu_si512(to, v); }
  TYPEFLOW_INLINE static WideRegister low(const WideRegister& a, const WideRegister& b) {
    if constexpr (sizeof(T) == 1) return {_mm512_unpacklo_epi8(a.v, b.v)};
    if constexpr (sizeof(T) == 2) return {_mm512_unpacklo_epi16(a.v, b.v)};
    if constexpr (sizeof(T) == 4) return {_mm512_unpacklo_epi32(a.v, b.v)};
    if constexpr (sizeof(T) == 8) return {_mm512_unpacklo_epi64(a.v, b.v)};
  }
  TYPEFLOW_INLINE static WideRegister high(const WideRegister& a, const WideRegister& b) {
    if constexpr (sizeof(T) == 1) return {_mm512_unpackhi_epi8(a.v, b.v)};
    if constexpr (sizeof(T) == 2) return {_mm512_unpackhi_epi16(a.v, b.v)};
    if constexpr (sizeof(T) == 4) return {_mm512_unpackhi_epi32(a.v, b.v)};
    if constexpr (sizeof(T) == 8) return {_mm512_unpackhi_epi64(a.v, b.v)};
  }
};
#elif defined(__AVX2__)
template <class T>
struct WideRegister {
  static constexpr int lanes = 2;
  __m256i v;

  TYPEFLOW_INLINE static WideRegister load(const T* from, std::int64_t step) {
    const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + step));
    return {_mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1)};
  }
  TYPEFLOW_INLINE void store(T* to) const {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), v);
  }
  TYPEFLOW_INLINE static WideRegister low(const WideRegister& a, const WideRegister& b) {
    if constexpr (sizeof(T) == 1) return {_mm256_unpacklo_epi8(a.v, b.v)};
    if constexpr (sizeof(T) == 2) return {_mm256_unpacklo_epi16(a.v, b.v)};
    if constexpr (sizeof(T) == 4) return {_mm256_unpacklo_epi32(a.v, b.v)};
    if constexpr (sizeof(T) == 8) return {_mm256_unpacklo_epi64(a.v, b.v)};
  }
  TYPEFLOW_INLINE static WideRegister high(const WideRegister& a, const WideRegister& b) {
    if constexpr (sizeof(T) == 1) return {_mm256_unpackhi_epi8(a.v, b.v)};
    if constexpr (sizeof(T) == 2) return {_mm256_unpackhi_epi16(a.v, b.v)};
    if constexpr (sizeof(T) == 4) return {_mm256_unpackhi_epi32(a.v, b.v)};
    if constexpr (sizeof(T) == 8) return {_mm256_unpackhi_epi64(a.v, b.v)};
  }
};
#else
template <class T>
using WideRegister = LaneRegister<T>;
#endif

/// A matrix in memory: rows of elements side by side, `pitch` elements apart.
template <class T>
struct Matrix {
  T* at;
  std::int64_t pitch;

  T* place(std::int64_t row, std::int64_t column) const { return at + row * pitch + column; }
};

/// to[i * Rows + r] := from[r][i]. (A loop that compilers turn into shuffles.)
template <int Rows, class T>
void interleave_rows(const T* const (&from)[Rows], std::int64_t count, T* __restrict to) {
  const T* row[Rows];
  for (int r = 0; r < Rows; ++r) row[r] = from[r];
  for (std::int64_t i = 0; i < count; ++i) {
    [&]<int... r>(std::integer_sequence<int, r...>) TYPEFLOW_INLINE_LAMBDA {
      const auto copy = [&](int k) TYPEFLOW_INLINE_LAMBDA {
        BitsOf<T> x;
        std::memcpy(&x, row[k] + i, sizeof x);
        std::memcpy(to + i * Rows + k, &x, sizeof x);
      };
      (copy(r), ...);
    }(std::make_integer_sequence<int, Rows>{});
  }
}
/// to[i] := in[i * Step]. (Such a loop, too.)
template <int Step, class T>
void copy_every(const T* in, std::int64_t count, T* __restrict to) {
  for (std::int64_t i = 0; i < count; ++i) {
    BitsOf<T> x;
    std::memcpy(&x, in + i * Step, sizeof x);
    std::memcpy(static_cast<void*>(to + i), &x, sizeof x);
  }
}
/// The same for a stride that is not known. Returns `to`.
template <class T>
[[gnu::noinline]] T* copy_skipping(const T* in, std::int64_t count, std::int64_t stride, T* to) {
  if constexpr (sizeof(T) <= 8) {
    if (stride == 2) return copy_every<2>(in, count, to), to;
    if (stride == 3) return copy_every<3>(in, count, to), to;
    if (stride == 4) return copy_every<4>(in, count, to), to;
  }
  for (std::int64_t i = 0; i < count; ++i) to[i] = in[i * stride];
  return to;
}
/// The other way: to[i * Step] := in[i], and `gap` to the elements between two of them and behind
/// the last.
template <int Step, class T>
void spread(const T* in, std::int64_t count, const T& gap, T* __restrict to) {
  using B = BitsOf<T>;
  B between;
  std::memcpy(&between, &gap, sizeof between);
  for (std::int64_t i = 0; i < count; ++i) {
    B x;
    std::memcpy(&x, in + i, sizeof x);
    std::memcpy(to + i * Step, &x, sizeof x);
    [&]<int... k>(std::integer_sequence<int, k...>) TYPEFLOW_INLINE_LAMBDA {
      (std::memcpy(to + i * Step + k + 1, &between, sizeof between), ...);
    }(std::make_integer_sequence<int, Step - 1>{});
  }
}

/// to[c][r] := from[r][c], one by one.
template <class T>
void transpose_elements(const Matrix<const T>& from, std::int64_t rows, std::int64_t columns,
                        const Matrix<T>& to) {
  for (std::int64_t c = 0; c < columns; ++c) {
    for (std::int64_t r = 0; r < rows; ++r) *to.place(c, r) = *from.place(r, c);
  }
}

/// to[c][r] := from[r][c], for trivial elements T of 1, 2, 4 or 8 bytes.
template <class T>
class TransposeBlocks {
 public:
  static constexpr int N = 16 / sizeof(T);  ///< elements of a lane
  static constexpr int W = N * WideRegister<T>::lanes;

  /// Rows and columns that are transposed together.
  static constexpr std::int64_t tile = sizeof(T) == 8 ? 32 : 64;
  /// If a matrix has fewer rows than a lane, a tile has so many columns, and the other way round.
  static constexpr std::int64_t long_tile = 4096;

  /// W rows that lie side by side, if the first `readable` elements may be read; otherwise returns
  /// false. At least N columns are written, whether there are as many or not.
  static bool narrow(const T* from, std::int64_t columns, std::int64_t readable,
                     const Matrix<T>& to) {
    if (columns >= N) {
      blocks_of<WideRegister<T>>({from, columns}, W, columns, to);
      return true;
    }
    if ((W - 1) * columns + N > readable) return false;
    store(load<WideRegister<T>>(from, columns), to, N);
    return true;
  }

  /// A part of the matrix. The first `readable` elements from its first one on may be read, whether
  /// they are of this part or not. With `streams`, end_streams() must follow.
  static void run(const Matrix<const T>& from, std::int64_t rows, std::int64_t columns,
                  const Matrix<T>& to, std::int64_t readable, bool streams) {
    if (has_shuffles && sizeof(T) <= 2 && std::min(rows, columns) <= 4 &&
        shuffle(from, rows, columns, to)) {
      return;
    }
    if (rows >= N && columns >= N) {
      constexpr std::int64_t page = 4096 / sizeof(T);
      const bool fits = rows <= tile + W && columns <= tile + W;
      if (fits && streams) {
        through_buffers(from, rows, columns, to);
      } else if (fits && to.pitch % page == 0) {
        through_buffer(from, rows, columns, to, false);
      } else {
        blocks(from, rows, columns, to);
      }
    } else if (columns < N && rows >= W) {
      few_columns(from, rows, columns, to, readable);
    } else if (rows < N && columns >= N && to.pitch == rows) {
      few_rows(from, rows, columns, to);
    } else {
      transpose_elements<T>(from, rows, columns, to);
    }
  }

  template <class R>
  struct Registers {
    R of[N];
  };
  using Numbers = std::make_integer_sequence<int, N>;
  using Pairs = std::make_integer_sequence<int, N / 2>;

  /// Interleaves register i with register i + N / 2, log2(N) times.
  template <class R, int Left = N>
  TYPEFLOW_INLINE static Registers<R> unpack(const Registers<R>& x) {
    if constexpr (Left == 1) {
      return x;
    } else {
      Registers<R> y;
      [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
        ((y.of[2 * I] = R::low(x.of[I], x.of[I + N / 2]),
          y.of[2 * I + 1] = R::high(x.of[I], x.of[I + N / 2])),
         ...);
      }(Pairs{});
      return unpack<R, Left / 2>(y);
    }
  }
  /// The first N columns of N * R::lanes rows.
  template <class R>
  TYPEFLOW_INLINE static Registers<R> load(const T* from, std::int64_t row) {
    Registers<R> x;
    [&]<int... I>(std::integer_sequence<int, I...>)
        TYPEFLOW_INLINE_LAMBDA { ((x.of[I] = R::load(from + I * row, N * row)), ...); }(Numbers{});
    return unpack<R>(x);
  }

 private:
  static constexpr std::int64_t line = 64 / sizeof(T);
  static constexpr std::int64_t pitch = tile + W + line;  // of the buffer: no power of two

  /// The first `count` registers.
  template <class R>
  TYPEFLOW_INLINE static void store(const Registers<R>& x, const Matrix<T>& to,
                                    std::int64_t count) {
    [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
      ((I < count ? x.of[I].store(to.place(I, 0)) : void()), ...);
    }(Numbers{});
  }

  static void through_buffers(const Matrix<const T>& from, std::int64_t rows, std::int64_t columns,
                              const Matrix<T>& to) {
    T part[(tile + W) * pitch];
    for (std::int64_t r = 0; r < rows; ++r) {
      copy_run(from.place(r, 0), columns, part + r * pitch, false);
    }
    through_buffer({part, pitch}, rows, columns, to, true);
  }
  static void through_buffer(const Matrix<const T>& from, std::int64_t rows, std::int64_t columns,
                             const Matrix<T>& to, bool streams) {
    alignas(64) T part[(tile + W) * pitch];
    blocks(from, rows, columns, {part, pitch});
    for (std::int64_t c = 0; c < columns; ++c) {
      T* const row = to.place(c, 0);
      if (streams && is_lines(row, rows)) {
        stream_lines(row, part + c * pitch, rows);
      } else {
        copy_run(part + c * pitch, rows, row, false);
      }
    }
  }
  static bool is_lines(const T* at, std::int64_t count) {
    return reinterpret_cast<std::uintptr_t>(at) % 64 == 0 && count % line == 0;
  }
  static void stream_lines(T* to, const T* from, std::int64_t count) {
    constexpr auto width = static_cast<std::int64_t>(Streamed::width);
    for (std::int64_t i = 0; i < count * static_cast<std::int64_t>(sizeof(T)); i += width) {
      Streamed::copy(reinterpret_cast<std::byte*>(to) + i,
                     reinterpret_cast<const std::byte*>(from) + i);
    }
  }

  /// N columns and N rows at least. The last blocks overlap those before them.
  static void blocks(const Matrix<const T>& from, std::int64_t rows, std::int64_t columns,
                     const Matrix<T>& to) {
    if (rows >= W) {
      blocks_of<WideRegister<T>>(from, rows, columns, to);
    } else {
      blocks_of<LaneRegister<T>>(from, rows, columns, to);
    }
  }
  template <class R>
  [[gnu::flatten]] static void blocks_of(const Matrix<const T>& from, std::int64_t rows,
                                         std::int64_t columns, const Matrix<T>& to) {
    constexpr std::int64_t height = N * R::lanes;
    for (std::int64_t i = 0; i < rows; i += height) {
      const std::int64_t r = std::min(i, rows - height);
      for (std::int64_t j = 0; j < columns; j += N) {
        const std::int64_t c = std::min(j, columns - N);
        store(load<R>(from.place(r, c), from.pitch), {to.place(c, r), to.pitch}, N);
      }
    }
  }

#if defined(__SSSE3__)
  static constexpr bool has_shuffles = true;
#else
  static constexpr bool has_shuffles = false;
#endif
  /// Two to four rows or columns of small elements that lie side by side; false for others.
  static bool shuffle(const Matrix<const T>& from, std::int64_t rows, std::int64_t columns,
                      const Matrix<T>& to) {
    if (columns >= N && to.pitch == rows) {
      if (rows == 2) return interleave<2>(from, columns, to.at);
      if (rows == 3) return interleave<3>(from, columns, to.at);
      if (rows == 4) return interleave<4>(from, columns, to.at);
    }
    if (rows >= N && from.pitch == columns) {
      if (columns == 2) return separate<2>(from.at, rows, to);
      if (columns == 3) return separate<3>(from.at, rows, to);
      if (columns == 4) return separate<4>(from.at, rows, to);
    }
    return false;
  }
  template <int Rows>
  static bool interleave(const Matrix<const T>& from, std::int64_t columns, T* to) {
    const T* row[Rows];
    for (int r = 0; r < Rows; ++r) row[r] = from.place(r, 0);
    interleave_rows<Rows>(row, columns, to);
    return true;
  }
  template <int Columns>
  static bool separate(const T* from, std::int64_t rows, const Matrix<T>& to) {
    for (int c = 0; c < Columns; ++c) copy_every<Columns>(from + c, rows, to.place(c, 0));
    return true;
  }

  /// Fewer columns than a lane has: loads read beyond them.
  [[gnu::flatten]] static void few_columns(const Matrix<const T>& from, std::int64_t rows,
                                           std::int64_t columns, const Matrix<T>& to,
                                           std::int64_t readable) {
    std::int64_t r = 0;
    for (; r + W <= rows && (r + W - 1) * from.pitch + N <= readable; r += W) {
      store(load<WideRegister<T>>(from.place(r, 0), from.pitch), {to.place(0, r), to.pitch},
            columns);
    }
    transpose_elements<T>({from.place(r, 0), from.pitch}, rows - r, columns,
                          {to.place(0, r), to.pitch});
  }

  /// Fewer rows than a lane has, which lie side by side in `to`: each store writes beyond its row,
  /// and the next one writes there again.
  [[gnu::flatten]] static void few_rows(const Matrix<const T>& from, std::int64_t rows,
                                        std::int64_t columns, const Matrix<T>& to) {
    using R = LaneRegister<T>;
    std::int64_t c = 0;
    for (; (c + N - 1) * rows + N <= columns * rows; c += N) {
      Registers<R> x;
      [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
        ((x.of[I] = R::load(from.place(I < rows ? I : 0, c), 0)), ...);
      }(Numbers{});
      store(unpack<R>(x), {to.place(c, 0), rows}, N);
    }
    transpose_elements<T>({from.place(0, c), from.pitch}, rows, columns - c,
                          {to.place(c, 0), to.pitch});
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
