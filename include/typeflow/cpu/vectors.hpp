// SPDX-License-Identifier: Apache-2.0
#pragma once

// Vectors of N numbers of any width: the compilers' own, with the conversions that g++ 12 takes
// apart into scalars. Integers wrap around: they are added and multiplied as unsigned ones.

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "typeflow/core/config.hpp"
#include "typeflow/cpu/xsimd.hpp"
#include "typeflow/ops/elementwise/functions.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <std::size_t Bytes, bool Signed = true>
using IntegerOf = std::conditional_t<
    Bytes == 1, std::conditional_t<Signed, std::int8_t, std::uint8_t>,
    std::conditional_t<
        Bytes == 2, std::conditional_t<Signed, std::int16_t, std::uint16_t>,
        std::conditional_t<Bytes == 4, std::conditional_t<Signed, std::int32_t, std::uint32_t>,
                           std::conditional_t<Signed, std::int64_t, std::uint64_t>>>>;

/// N integers or floating-point numbers. A comparison's result is -1 where it holds, else 0.
template <class T, int N>
struct Vector {
  using V [[gnu::vector_size(N * sizeof(T))]] = T;
  using U [[gnu::vector_size(N * sizeof(T))]] = IntegerOf<sizeof(T), false>;
  using Comparison = Vector<IntegerOf<sizeof(T)>, N>;
  V v;

  Vector() = default;
  TYPEFLOW_INLINE explicit Vector(T x) : v(x - V{}) {}
  TYPEFLOW_INLINE static Vector of(V x) {
    Vector r;
    r.v = x;
    return r;
  }
  /// The same bits as other numbers.
  template <class X>
  TYPEFLOW_INLINE static Vector of_bits(const Vector<X, N>& x) {
    static_assert(sizeof(X) == sizeof(T));
    return of((V)x.v);
  }

  TYPEFLOW_INLINE friend Vector operator+(Vector a, Vector b)
    requires std::is_integral_v<T>
  {
    return of((V)((U)a.v + (U)b.v));
  }
  TYPEFLOW_INLINE friend Vector operator-(Vector a, Vector b)
    requires std::is_integral_v<T>
  {
    return of((V)((U)a.v - (U)b.v));
  }
  TYPEFLOW_INLINE friend Vector operator*(Vector a, Vector b)
    requires std::is_integral_v<T>
  {
    return of((V)((U)a.v * (U)b.v));
  }
  TYPEFLOW_INLINE friend Vector operator&(Vector a, Vector b) { return of(a.v & b.v); }
  TYPEFLOW_INLINE friend Vector operator|(Vector a, Vector b) { return of(a.v | b.v); }
  TYPEFLOW_INLINE friend Vector operator^(Vector a, Vector b) { return of(a.v ^ b.v); }
  TYPEFLOW_INLINE friend Vector operator~(Vector a) { return of(~a.v); }
  TYPEFLOW_INLINE friend Vector operator>>(Vector a, int bits) { return of(a.v >> bits); }
  TYPEFLOW_INLINE friend Vector operator<<(Vector a, int bits) { return of((V)((U)a.v << bits)); }

  TYPEFLOW_INLINE friend Comparison operator==(Vector a, Vector b) {
    return Comparison::of((typename Comparison::V)(a.v == b.v));
  }
  TYPEFLOW_INLINE friend Comparison operator<(Vector a, Vector b) {
    return Comparison::of((typename Comparison::V)(a.v < b.v));
  }
  TYPEFLOW_INLINE friend Comparison operator<=(Vector a, Vector b) {
    return Comparison::of((typename Comparison::V)(a.v <= b.v));
  }
  TYPEFLOW_INLINE friend Comparison operator>(Vector a, Vector b) { return b < a; }
  TYPEFLOW_INLINE friend Comparison operator>=(Vector a, Vector b) { return b <= a; }
  // Of comparisons.
  TYPEFLOW_INLINE friend Vector operator&&(Vector a, Vector b) { return a & b; }
  TYPEFLOW_INLINE friend Vector operator||(Vector a, Vector b) { return a | b; }
  TYPEFLOW_INLINE friend Vector operator!(Vector a) { return ~a; }

  TYPEFLOW_INLINE friend Vector select(Comparison where, Vector yes, Vector no) {
    return of(where.v ? yes.v : no.v);
  }
  TYPEFLOW_INLINE friend Vector abs(Vector x) {
    if constexpr (std::is_unsigned_v<T>) {
      return x;
    } else {
      return select(x < Vector(T(0)), Vector(T(0)) - x, x);
    }
  }
};

/// 0, 1, ..., N - 1.
template <class T, int N>
TYPEFLOW_INLINE Vector<T, N> counted() {
  alignas(N * sizeof(T)) static constexpr auto numbers = [] {
    struct {
      T v[N];
    } a{};
    for (int i = 0; i < N; ++i) a.v[i] = static_cast<T>(i);
    return a;
  }();
  Vector<T, N> r;
  std::memcpy(&r.v, numbers.v, sizeof r.v);
  return r;
}

/// The lanes of two vectors in the order of `Place`: those of b are numbered after those of a.
template <class T, int N, int... Place>
TYPEFLOW_INLINE Vector<T, N> shuffled_pair(const Vector<T, N>& a, const Vector<T, N>& b,
                                           std::integer_sequence<int, Place...>) {
#if defined(__has_builtin) && !defined(__CUDACC__)
#if __has_builtin(__builtin_shufflevector)
  return Vector<T, N>::of(__builtin_shufflevector(a.v, b.v, Place...));
#endif
#endif
  return Vector<T, N>::of(
      typename Vector<T, N>::V{(Place < N ? a.v[Place % N] : b.v[Place % N])...});
}
template <class T, class A, int... Place>
TYPEFLOW_INLINE xsimd::batch<T, A> shuffled_pair(const xsimd::batch<T, A>& a,
                                                 const xsimd::batch<T, A>& b,
                                                 std::integer_sequence<int, Place...> places) {
  Vector<T, static_cast<int>(sizeof...(Place))> x, y;
  std::memcpy(&x.v, &a.data, sizeof x.v);
  std::memcpy(&y.v, &b.data, sizeof y.v);
  x = shuffled_pair(x, y, places);
  xsimd::batch<T, A> r;
  std::memcpy(&r.data, &x.v, sizeof x.v);
  return r;
}

#if defined(__AVX2__) || defined(__F16C__)
/// A vector of at most 16 bytes in the lower part of a register.
template <class T, int N>
TYPEFLOW_INLINE __m128i in_register(const Vector<T, N>& x) {
  if constexpr (sizeof x.v == 16) {
    return (__m128i)x.v;
  } else if constexpr (sizeof x.v == 8) {
    return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(&x.v));
  } else {
    int bits = 0;
    std::memcpy(&bits, &x.v, sizeof x.v);
    return _mm_cvtsi32_si128(bits);
  }
}
template <class T, int N>
TYPEFLOW_INLINE Vector<T, N> from_register(__m128i x) {
  Vector<T, N> r;
  std::memcpy(&r.v, &x, sizeof r.v);
  return r;
}
#endif

/// Copies `size` bytes, at most 2 * Piece - 1, in pieces of half the size each.
template <std::size_t Piece>
TYPEFLOW_INLINE void copy_pieces(char* to, const char* from, std::size_t size) {
  if constexpr (Piece > 0) {
    if ((size & Piece) != 0) {
      std::memcpy(to, from, Piece);
      to += Piece;
      from += Piece;
    }
    copy_pieces<Piece / 2>(to, from, size);
  }
}
/// The first `count` elements at p, at least 1; the others are zero.
template <class T, int N>
TYPEFLOW_INLINE Vector<T, N> load_part(const T* p, int count) {
  Vector<T, N> r;
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  constexpr std::size_t bytes = sizeof r.v;
  const std::uint64_t mask = (std::uint64_t{2} << (count - 1)) - 1;
  if constexpr (sizeof(T) <= 2 && bytes >= 16) {
    if constexpr (sizeof(T) == 1 && bytes == 64) {
      r.v = (typename Vector<T, N>::V)_mm512_maskz_loadu_epi8(mask, p);
    } else if constexpr (sizeof(T) == 1 && bytes == 32) {
      r.v = (typename Vector<T, N>::V)_mm256_maskz_loadu_epi8(static_cast<__mmask32>(mask), p);
    } else if constexpr (sizeof(T) == 1) {
      r.v = (typename Vector<T, N>::V)_mm_maskz_loadu_epi8(static_cast<__mmask16>(mask), p);
    } else if constexpr (bytes == 64) {
      r.v = (typename Vector<T, N>::V)_mm512_maskz_loadu_epi16(static_cast<__mmask32>(mask), p);
    } else if constexpr (bytes == 32) {
      r.v = (typename Vector<T, N>::V)_mm256_maskz_loadu_epi16(static_cast<__mmask16>(mask), p);
    } else {
      r.v = (typename Vector<T, N>::V)_mm_maskz_loadu_epi16(static_cast<__mmask8>(mask), p);
    }
    return r;
  }
#endif
  // Pieces whose sizes compilers know: a copy of any size is a call.
  r.v = typename Vector<T, N>::V{};
  const char* from = reinterpret_cast<const char*>(p);
  char* to = reinterpret_cast<char*>(&r.v);
  const std::size_t size = static_cast<std::size_t>(count) * sizeof(T);
  copy_pieces<sizeof r.v>(to, from, size);
  return r;
}
/// Stores the first `count` elements, at least 1.
template <class T, int N>
TYPEFLOW_INLINE void store_part(T* p, const Vector<T, N>& x, int count) {
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  constexpr std::size_t bytes = sizeof x.v;
  const std::uint64_t mask = (std::uint64_t{2} << (count - 1)) - 1;
  if constexpr (sizeof(T) <= 2 && bytes >= 16) {
    if constexpr (sizeof(T) == 1 && bytes == 64) {
      _mm512_mask_storeu_epi8(p, mask, (__m512i)x.v);
    } else if constexpr (sizeof(T) == 1 && bytes == 32) {
      _mm256_mask_storeu_epi8(p, static_cast<__mmask32>(mask), (__m256i)x.v);
    } else if constexpr (sizeof(T) == 1) {
      _mm_mask_storeu_epi8(p, static_cast<__mmask16>(mask), (__m128i)x.v);
    } else if constexpr (bytes == 64) {
      _mm512_mask_storeu_epi16(p, static_cast<__mmask32>(mask), (__m512i)x.v);
    } else if constexpr (bytes == 32) {
      _mm256_mask_storeu_epi16(p, static_cast<__mmask16>(mask), (__m256i)x.v);
    } else {
      _mm_mask_storeu_epi16(p, static_cast<__mmask8>(mask), (__m128i)x.v);
    }
    return;
  }
#endif
  copy_pieces<sizeof x.v>(reinterpret_cast<char*>(p), reinterpret_cast<const char*>(&x.v),
                          static_cast<std::size_t>(count) * sizeof(T));
}

/// Integers in registers of 64 or 32 bytes, from narrower ones.
template <class To, class From, int N>
TYPEFLOW_INLINE Vector<To, N> extended(const Vector<From, N>& x) {
  using V = typename Vector<To, N>::V;
  [[maybe_unused]] constexpr bool is_signed = std::is_signed_v<From>;
#if defined(__AVX512BW__)
  if constexpr (sizeof(V) == 64 && sizeof(To) == 2) {
    const __m256i in = (__m256i)x.v;
    return Vector<To, N>::of((V)(is_signed ? _mm512_cvtepi8_epi16(in) : _mm512_cvtepu8_epi16(in)));
  } else
#endif
#if defined(__AVX512F__)
      if constexpr (sizeof(V) == 64 && sizeof(To) >= 4) {
    if constexpr (sizeof(To) == 4 && sizeof(From) == 1) {
      const __m128i in = in_register(x);
      return Vector<To, N>::of(
          (V)(is_signed ? _mm512_cvtepi8_epi32(in) : _mm512_cvtepu8_epi32(in)));
    } else if constexpr (sizeof(To) == 4) {
      const __m256i in = (__m256i)x.v;
      return Vector<To, N>::of(
          (V)(is_signed ? _mm512_cvtepi16_epi32(in) : _mm512_cvtepu16_epi32(in)));
    } else if constexpr (sizeof(From) == 1) {
      const __m128i in = in_register(x);
      return Vector<To, N>::of(
          (V)(is_signed ? _mm512_cvtepi8_epi64(in) : _mm512_cvtepu8_epi64(in)));
    } else if constexpr (sizeof(From) == 2) {
      const __m128i in = in_register(x);
      return Vector<To, N>::of(
          (V)(is_signed ? _mm512_cvtepi16_epi64(in) : _mm512_cvtepu16_epi64(in)));
    } else {
      const __m256i in = (__m256i)x.v;
      return Vector<To, N>::of(
          (V)(is_signed ? _mm512_cvtepi32_epi64(in) : _mm512_cvtepu32_epi64(in)));
    }
  } else
#endif
#if defined(__AVX2__)
      if constexpr (sizeof(V) == 32 && sizeof(To) >= 4) {
    const __m128i in = in_register(x);
    if constexpr (sizeof(To) == 4 && sizeof(From) == 1) {
      return Vector<To, N>::of(
          (V)(is_signed ? _mm256_cvtepi8_epi32(in) : _mm256_cvtepu8_epi32(in)));
    } else if constexpr (sizeof(To) == 4) {
      return Vector<To, N>::of(
          (V)(is_signed ? _mm256_cvtepi16_epi32(in) : _mm256_cvtepu16_epi32(in)));
    } else if constexpr (sizeof(From) == 1) {
      return Vector<To, N>::of(
          (V)(is_signed ? _mm256_cvtepi8_epi64(in) : _mm256_cvtepu8_epi64(in)));
    } else if constexpr (sizeof(From) == 2) {
      return Vector<To, N>::of(
          (V)(is_signed ? _mm256_cvtepi16_epi64(in) : _mm256_cvtepu16_epi64(in)));
    } else {
      return Vector<To, N>::of(
          (V)(is_signed ? _mm256_cvtepi32_epi64(in) : _mm256_cvtepu32_epi64(in)));
    }
  } else
#endif
  {
    return Vector<To, N>::of(__builtin_convertvector(x.v, V));
  }
}

/// The lower bytes of integers in registers of 64 or 32 bytes.
template <class To, class From, int N>
TYPEFLOW_INLINE Vector<To, N> truncated(const Vector<From, N>& x) {
  using V = typename Vector<To, N>::V;
#if defined(__AVX512BW__)
  if constexpr (sizeof x.v == 64 && sizeof(From) == 2) {
    return Vector<To, N>::of((V)_mm512_cvtepi16_epi8((__m512i)x.v));
  } else
#endif
#if defined(__AVX512F__)
      if constexpr (sizeof x.v == 64 && sizeof(From) >= 4) {
    const __m512i in = (__m512i)x.v;
    if constexpr (sizeof(From) == 4 && sizeof(To) == 1) {
      return from_register<To, N>(_mm512_cvtepi32_epi8(in));
    } else if constexpr (sizeof(From) == 4) {
      return Vector<To, N>::of((V)_mm512_cvtepi32_epi16(in));
    } else if constexpr (sizeof(To) == 1) {
      return from_register<To, N>(_mm512_cvtepi64_epi8(in));
    } else if constexpr (sizeof(To) == 2) {
      return from_register<To, N>(_mm512_cvtepi64_epi16(in));
    } else {
      return Vector<To, N>::of((V)_mm512_cvtepi64_epi32(in));
    }
  } else
#endif
#if defined(__AVX2__)
      if constexpr (sizeof x.v == 32 && sizeof(From) == 8) {
    const __m256i even = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
    const __m128i in = _mm256_castsi256_si128(_mm256_permutevar8x32_epi32((__m256i)x.v, even));
    const Vector<std::int32_t, N> lower = from_register<std::int32_t, N>(in);
    if constexpr (sizeof(To) == 4) {
      return Vector<To, N>::of_bits(lower);
    } else {
      return truncated<To>(lower);
    }
  } else if constexpr ((sizeof x.v == 32 || sizeof x.v == 16) && sizeof(From) == 4) {
    constexpr bool to_bytes = sizeof(To) == 1;
    const __m128i lower = _mm_set_epi64x(-1, to_bytes ? -0xF3F7FC00LL : 0x0D0C090805040100LL);
    if constexpr (sizeof x.v == 16) {
      return from_register<To, N>(_mm_shuffle_epi8((__m128i)x.v, lower));
    } else {
      const __m256i packed = _mm256_shuffle_epi8((__m256i)x.v, _mm256_broadcastsi128_si256(lower));
      const __m128i a = _mm256_castsi256_si128(packed);
      const __m128i b = _mm256_extracti128_si256(packed, 1);
      return from_register<To, N>(to_bytes ? _mm_unpacklo_epi32(a, b) : _mm_unpacklo_epi64(a, b));
    }
  } else
#endif
  {
    return Vector<To, N>::of(__builtin_convertvector(x.v, V));
  }
}

/// Integers of another width: extended by their sign or zeros, or cut off.
template <class To, class From, int N>
TYPEFLOW_INLINE Vector<To, N> resized(const Vector<From, N>& x) {
  if constexpr (sizeof(To) == sizeof(From)) {
    return Vector<To, N>::of_bits(x);
  } else if constexpr (sizeof(To) < sizeof(From)) {
    return truncated<To>(x);
  } else {
    return extended<To>(x);
  }
}

/// Numbers of another kind, each rounded to the nearest.
template <class To, class From, int N>
TYPEFLOW_INLINE Vector<To, N> numbers(const Vector<From, N>& x) {
  using V = typename Vector<To, N>::V;
#if defined(__AVX512F__)  // (g++ converts halves.)
  if constexpr (sizeof(V) == 64 && sizeof(From) == 4 && std::is_same_v<To, double>) {
    if constexpr (std::is_same_v<From, std::int32_t>) {
      return Vector<To, N>::of((V)_mm512_cvtepi32_pd((__m256i)x.v));
    } else if constexpr (std::is_same_v<From, std::uint32_t>) {
      return Vector<To, N>::of((V)_mm512_cvtepu32_pd((__m256i)x.v));
    } else {
      return Vector<To, N>::of((V)_mm512_cvtps_pd((__m256)x.v));
    }
  }
#endif
  return Vector<To, N>::of(__builtin_convertvector(x.v, V));
}

/// Floating-point numbers as integers, as typeflow::detail::convert_element: rounded towards zero,
/// NaN to 0, and what does not fit to the nearest number that does.
template <class To, class From, int N>
TYPEFLOW_INLINE Vector<To, N> integers(const Vector<From, N>& x) {
  using F = Vector<From, N>;
  using Limits = std::numeric_limits<To>;
  // The integers that the processor converts to.
  using I = std::conditional_t<
      (sizeof(To) < 4), std::int32_t,
      std::conditional_t<(sizeof(From) == 8 && std::is_same_v<To, std::uint32_t>), std::int64_t,
                         To>>;
  using Wide = Vector<I, N>;
  constexpr From low = static_cast<From>(Limits::min());
  constexpr bool exact = Limits::digits <= std::numeric_limits<From>::digits;
  // If the largest integer is no number of From, the next larger one is: a power of two.
  constexpr From high =
      exact ? static_cast<From>(Limits::max()) : static_cast<From>(Limits::max() / 2 + 1) * From(2);
  const auto is_number = x == x;
  const F least = select(x < F(low) || !is_number, F(low), x);
  if constexpr (exact) {
    const F most = select(F(high) < least, F(high), least);
    const Vector<I, N> y = numbers<I>(select(is_number, most, F(From(0))));
    return resized<To>(y);
  } else {
    const auto fits = least < F(high);
    const auto y = numbers<I>(select(fits, least, F(From(0))));
    const auto chosen = [&](const auto& where) { return resized<IntegerOf<sizeof(I)>>(where); };
    return select(chosen(is_number), select(chosen(fits), y, Wide(Limits::max())), Wide(I(0)));
  }
}
#if defined(__AVX512BW__)
/// The same by instructions that narrow to the nearest number. What 32 bits do not hold becomes
/// their lowest number, which is the largest one without a sign.
template <class To, int N>
  requires(sizeof(To) < 4 && N == 16)
TYPEFLOW_INLINE Vector<To, N> integers(const Vector<float, N>& x) {
  using V [[maybe_unused]] = typename Vector<To, N>::V;
  const __m512 in = (__m512)x.v;
  if constexpr (std::is_signed_v<To>) {
    const __m512i y = _mm512_maskz_cvttps_epi32(_mm512_cmp_ps_mask(in, in, _CMP_ORD_Q),
                                                _mm512_min_ps(in, _mm512_set1_ps(32767.0f)));
    if constexpr (sizeof(To) == 1) {
      return from_register<To, N>(_mm512_cvtsepi32_epi8(y));
    } else {
      return Vector<To, N>::of((V)_mm512_cvtsepi32_epi16(y));
    }
  } else {
    const __m512i y = _mm512_cvttps_epi32(_mm512_max_ps(in, _mm512_setzero_ps()));  // NaN to 0
    if constexpr (sizeof(To) == 1) {
      return from_register<To, N>(_mm512_cvtusepi32_epi8(y));
    } else {
      return Vector<To, N>::of((V)_mm512_cvtusepi32_epi16(y));
    }
  }
}
#endif

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels

/// What bodies of operations call.
template <class T, int N>
struct typeflow::math::OfBatch<typeflow::cpu_kernels::Vector<T, N>> {
  using V = typeflow::cpu_kernels::Vector<T, N>;
  TYPEFLOW_INLINE static V neg(const V& x) { return V(T(0)) - x; }
};
