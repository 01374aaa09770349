// SPDX-License-Identifier: Apache-2.0
#pragma once

// Vectors of 16-bit floating-point numbers, by their bits, and of floats that hold their values.

#include <cstdint>
#include <type_traits>

#include "typeflow/core/half.hpp"
#include "typeflow/cpu/vectors.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

#if defined(__AVX512BW__)
/// Where each 2-byte element of a permuted register comes from.
struct WordPlaces {
  std::int16_t v[32];
};
/// Every `step`th place from the first one on, each `repeats` times.
constexpr WordPlaces word_places(int first, int step, int repeats) {
  WordPlaces p{};
  for (int i = 0; i < 32; ++i) {
    p.v[i] = static_cast<std::int16_t>((first + i / repeats * step) % 32);
  }
  return p;
}
#endif

/// The floats that the bits of a 16-bit type T stand for.
template <class T, int N>
TYPEFLOW_INLINE Vector<float, N> widened(const Vector<std::uint16_t, N>& x) {
  using F = Vector<float, N>;
  if constexpr (std::is_same_v<T, bfloat16>) {
#if defined(__AVX512BW__)
    // One instruction: the upper halves of the floats are taken from x, the lower ones are zeros.
    if constexpr (N == 16) {
      alignas(64) static constexpr auto halves = word_places(0, 1, 2);
      return F::of((typename F::V)_mm512_maskz_permutexvar_epi16(
          0xAAAAAAAAu, _mm512_load_si512(halves.v), _mm512_castsi256_si512((__m256i)x.v)));
    }
#endif
    return F::of_bits(resized<std::uint32_t>(x) << 16);
  } else {
#if defined(__AVX512F__)
    if constexpr (N == 16) {
      return F::of((typename F::V)_mm512_cvtph_ps((__m256i)x.v));
    } else
#endif
#if defined(__F16C__)
        if constexpr (N == 8) {
      return F::of((typename F::V)_mm256_cvtph_ps((__m128i)x.v));
    } else if constexpr (N == 4) {
      return F::of((typename F::V)_mm_cvtph_ps(in_register(x)));
    } else
#endif
    {
      F r;
      for (int i = 0; i < N; ++i) r.v[i] = static_cast<float>(T::from_bits(x.v[i]));
      return r;
    }
  }
}
/// The other way, for floats that hold only values of T.
template <class T, int N>
TYPEFLOW_INLINE Vector<std::uint16_t, N> narrowed(const Vector<float, N>& x) {
  using U = Vector<std::uint16_t, N>;
  if constexpr (std::is_same_v<T, bfloat16>) {
#if defined(__AVX512BW__)
    if constexpr (N == 16) {
      alignas(64) static constexpr auto upper = word_places(1, 2, 1);
      return U::of((typename U::V)_mm512_castsi512_si256(
          _mm512_permutexvar_epi16(_mm512_load_si512(upper.v), (__m512i)x.v)));
    }
#endif
    return resized<std::uint16_t>(Vector<std::uint32_t, N>::of_bits(x) >> 16);
  } else {
#if defined(__AVX512F__)
    if constexpr (N == 16) {
      return U::of((typename U::V)_mm512_cvtps_ph((__m512)x.v, _MM_FROUND_TO_NEAREST_INT));
    } else
#endif
#if defined(__F16C__)
        if constexpr (N == 8) {
      return U::of((typename U::V)_mm256_cvtps_ph((__m256)x.v, _MM_FROUND_TO_NEAREST_INT));
    } else if constexpr (N == 4) {
      return from_register<std::uint16_t, N>(_mm_cvtps_ph((__m128)x.v, _MM_FROUND_TO_NEAREST_INT));
    } else
#endif
    {
      U r;
      for (int i = 0; i < N; ++i) r.v[i] = T(static_cast<float>(x.v[i])).bits;
      return r;
    }
  }
}
/// Floats rounded to values of T: to the nearest, ties to even. (AVX512-BF16 has an instruction for
/// bfloat16, but it takes denormal numbers for zeros.)
template <class T, int N>
TYPEFLOW_INLINE Vector<float, N> rounded_to(const Vector<float, N>& x) {
  if constexpr (std::is_same_v<T, bfloat16>) {
    using U = Vector<std::uint32_t, N>;
    const U bits = U::of_bits(x);
    const U near = bits + U(0x7FFFu) + ((bits >> 16) & U(1u));
    const U nan = (bits & U(0x80000000u)) | U(0x7FC00000u);
    return Vector<float, N>::of_bits(select(x == x, near, nan) & U(0xFFFF0000u));
  } else {
    return widened<T>(narrowed<T>(x));
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
