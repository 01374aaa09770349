// SPDX-License-Identifier: Apache-2.0
#pragma once

// A number of each row for all elements of the row. A vector has elements of several short rows, so
// it is a permutation of the numbers of N rows.

#include <cstdint>
#include <cstring>

#include "typeflow/cpu/vectors.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// Whether registers of N integers T are permuted by an instruction.
template <class T, int N>
inline constexpr bool has_permutation =
#if defined(__AVX512F__)
    (sizeof(T) == 4 || sizeof(T) == 8) && (N * sizeof(T) == 64 || N * sizeof(T) == 32);
#elif defined(__AVX2__)
    (sizeof(T) == 4 || sizeof(T) == 8) && N * sizeof(T) == 32;
#else
    false;
#endif

#if defined(__AVX2__)
/// Lane i of the result is lane index[i] of x.
template <class T, int N>
  requires has_permutation<T, N>
TYPEFLOW_INLINE Vector<T, N> permuted(const Vector<T, N>& x, const Vector<T, N>& index) {
  using V = typename Vector<T, N>::V;
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64 && sizeof(T) == 4) {
    return Vector<T, N>::of((V)_mm512_permutexvar_epi32((__m512i)index.v, (__m512i)x.v));
  } else if constexpr (sizeof(V) == 64) {
    return Vector<T, N>::of((V)_mm512_permutexvar_epi64((__m512i)index.v, (__m512i)x.v));
  } else
#endif
  {
    __m256i place = (__m256i)index.v;
    if constexpr (sizeof(T) == 8) {  // as pairs of 4 bytes
      const __m256i first = _mm256_slli_epi64(place, 1);
      const __m256i second = _mm256_slli_epi64(_mm256_add_epi64(first, _mm256_set1_epi64x(1)), 32);
      place = _mm256_or_si256(first, second);
    }
    return Vector<T, N>::of((V)_mm256_permutevar8x32_epi32((__m256i)x.v, place));
  }
}
#endif

/// The numbers of N rows in a register of N integers I, and which row has element i, i + 1 ... of
/// these rows.
template <class I, int N>
struct RowNumbers {
  using Index = Vector<I, N>;
  Index first;   ///< the rows of the first N elements, times 2^16
  Index step;    ///< from a vector of elements to the next one
  Index number;  ///< of the next elements

  /// For rows of up to 32 elements: i / length is i * (2^16 / length + 1) / 2^16, because i *
  /// length is less than 2^16.
  TYPEFLOW_INLINE explicit RowNumbers(std::int64_t length) {
    static_assert(N <= 32);
    const I factor = static_cast<I>((1 << 16) / length + 1);
    first = counted<I, N>() * Index(factor);
    step = Index(static_cast<I>(factor * N));
  }
  TYPEFLOW_INLINE void begin() { number = first; }
  TYPEFLOW_INLINE void advance() { number = number + step; }
};

/// N elements of at most the size of I, or the first `count`, in a register of I.
template <class I, int N, class T>
TYPEFLOW_INLINE Vector<I, N> load_bits(const T* from, std::int64_t count) {
  Vector<IntegerOf<sizeof(T)>, N> x{};
  if (count >= N) {
    std::memcpy(&x.v, from, sizeof x.v);
  } else {
    std::memcpy(&x.v, from, static_cast<std::size_t>(count) * sizeof(T));
  }
  return resized<I>(x);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
