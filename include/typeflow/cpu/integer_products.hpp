// SPDX-License-Identifier: Apache-2.0
#pragma once

// Products of matrices of 8-bit integers with sums of 32 bits (packed_products.hpp).
//
// With VNNI (AVX-512 or AVX) an instruction multiplies groups of four unsigned and signed bytes. If
// both operands are signed, or none, a is flipped to the other kind by its top bit:
//   int8 x int8     sum a b = sum (a + 128) b - 128 sum b
//   uint8 x uint8   sum a b = sum (a - 128) b + 128 sum b
// so that a column's sums begin with a multiple of the column's sum. Other x86 processors multiply
// pairs of 16-bit integers. Elsewhere a word is one integer. Products are exact, and sums wrap
// around, so all three have the same bits.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "typeflow/cpu/packed_products.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// The number of steps of the depth that the build multiplies at once, in vectors of `Lanes` sums.
template <int Lanes>
constexpr int integer_group() {
#if defined(__AVX512VNNI__) && defined(__AVX512F__)
  if (Lanes == 16) return 4;
#endif
#if defined(__AVXVNNI__) || (defined(__AVX512VNNI__) && defined(__AVX512VL__))
  if (Lanes == 8) return 4;
#endif
#if defined(__AVX512BW__)
  if (Lanes == 16) return 2;
#endif
#if defined(__AVX2__)
  if (Lanes == 8) return 2;
#endif
#if defined(__SSE2__)
  if (Lanes == 4) return 2;
#endif
  return 1;
}

/// Packing of elements T. With `Flips` the top bit of each is inverted.
template <class T, int Group, bool Flips>
struct IntegerPacking {
  using Element = T;
  /// An element of a word.
  using Part = std::conditional_t<Group == 4, std::uint8_t,
                                  std::conditional_t<Group == 2, std::int16_t, std::int32_t>>;
  static constexpr std::uint8_t flip = Flips ? 0x80 : 0;
  static constexpr bool joins_bits = Group == 4 && !Flips;

  TYPEFLOW_INLINE static Part part(T x) {
    if constexpr (Group == 4) {
      return static_cast<std::uint8_t>(static_cast<std::uint8_t>(x) ^ flip);
    } else {
      return Part{x};
    }
  }

  static void join(const T* from, std::int64_t count, Word* to) {
    auto* out = reinterpret_cast<unsigned char*>(to);
    std::int64_t k = 0;
    if constexpr (Group == 4) {
      using Bytes = Vector<std::uint8_t, 16>;
      for (; k + 16 <= count; k += 16) {
        Bytes x;
        std::memcpy(&x.v, from + k, sizeof x.v);
        x = x ^ Bytes(flip);
        std::memcpy(out + k, &x.v, sizeof x.v);
      }
    }
#if defined(__SSE2__)
    if constexpr (Group == 2) {
      for (; k + 8 <= count; k += 8) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 2 * k), widened(from + k));
      }
    }
#endif
    for (; k < count; ++k) {
      const Part x = part(from[k]);
      std::memcpy(out + k * static_cast<std::int64_t>(sizeof x), &x, sizeof x);
    }
    for (; k % Group != 0; ++k) {
      const Part x = 0;
      std::memcpy(out + k * static_cast<std::int64_t>(sizeof x), &x, sizeof x);
    }
  }

  static void zip(const T* from, std::int64_t pitch, int rows, std::int64_t count, Word* to) {
    std::int64_t j = 0;
#if defined(__AVX512VBMI__)
    if constexpr (Group == 4) {
      const __m512i order = four_rows();
      for (; j + 16 <= count; j += 16) {
        const auto row = [&](int r) TYPEFLOW_INLINE_LAMBDA {
          return r < rows ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + r * pitch + j))
                          : _mm_setzero_si128();
        };
        __m512i x = _mm512_castsi128_si512(row(0));
        x = _mm512_inserti32x4(x, row(1), 1);
        x = _mm512_inserti32x4(x, row(2), 2);
        x = _mm512_inserti32x4(x, row(3), 3);
        x = _mm512_permutexvar_epi8(order, x);
        if constexpr (Flips) x = _mm512_xor_si512(x, _mm512_set1_epi8(static_cast<char>(flip)));
        _mm512_storeu_si512(to + j, x);
      }
    }
#endif
#if defined(__SSE2__)
    if constexpr (Group == 4) {
      for (; j + 16 <= count; j += 16) {
        __m128i x[4];
        for (int r = 0; r < 4; ++r) {
          x[r] = r < rows ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + r * pitch + j))
                          : _mm_setzero_si128();
          if constexpr (Flips) {
            x[r] = _mm_xor_si128(x[r], _mm_set1_epi8(static_cast<char>(flip)));
          }
        }
        const __m128i low01 = _mm_unpacklo_epi8(x[0], x[1]);
        const __m128i high01 = _mm_unpackhi_epi8(x[0], x[1]);
        const __m128i low23 = _mm_unpacklo_epi8(x[2], x[3]);
        const __m128i high23 = _mm_unpackhi_epi8(x[2], x[3]);
        auto* const out = reinterpret_cast<__m128i*>(to + j);
        _mm_storeu_si128(out, _mm_unpacklo_epi16(low01, low23));
        _mm_storeu_si128(out + 1, _mm_unpackhi_epi16(low01, low23));
        _mm_storeu_si128(out + 2, _mm_unpacklo_epi16(high01, high23));
        _mm_storeu_si128(out + 3, _mm_unpackhi_epi16(high01, high23));
      }
    } else if constexpr (Group == 2) {
      for (; j + 8 <= count; j += 8) {
        const __m128i x = widened(from + j);
        const __m128i y = rows == 2 ? widened(from + pitch + j) : _mm_setzero_si128();
        auto* const out = reinterpret_cast<__m128i*>(to + j);
        _mm_storeu_si128(out, _mm_unpacklo_epi16(x, y));
        _mm_storeu_si128(out + 1, _mm_unpackhi_epi16(x, y));
      }
    }
#endif
    for (; j < count; ++j) {
      Part x[Group] = {};
      for (int r = 0; r < rows; ++r) x[r] = part(from[r * pitch + j]);
      std::memcpy(to + j, x, sizeof x);
    }
  }

 private:
#if defined(__AVX512VBMI__)
  /// Where the bytes of words are among four rows of 16 bytes.
  TYPEFLOW_INLINE static __m512i four_rows() {
    alignas(64) static constexpr auto places = [] {
      Array<std::uint8_t, 64> a{};
      for (int i = 0; i < 64; ++i) a.v[i] = static_cast<std::uint8_t>(i % 4 * 16 + i / 4);
      return a;
    }();
    return _mm512_load_si512(places.v);
  }
#endif
#if defined(__SSE2__)
  /// 8 elements as 16-bit integers.
  TYPEFLOW_INLINE static __m128i widened(const T* from) {
    const __m128i x = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    if constexpr (std::is_signed_v<T>) {
      return _mm_srai_epi16(_mm_unpacklo_epi8(_mm_setzero_si128(), x), 8);
    } else {
      return _mm_unpacklo_epi8(x, _mm_setzero_si128());
    }
  }
#endif
};

/// Products of X, a's elements, and Y, b's; each is int8 or uint8.
template <class X, class Y, class A>
struct IntegerGroups {
  using Arch = A;
  using Sum = std::int32_t;
  static constexpr int lanes = TileShape<Sum, A>::lanes;
  static constexpr int group = integer_group<lanes>();
  static constexpr bool is_flipped =
      group == 4 && std::is_signed_v<X> == std::is_signed_v<Y>;  ///< a
  static constexpr bool has_starts = is_flipped;
  using Left = IntegerPacking<X, group, is_flipped>;
  using Right = IntegerPacking<Y, group, false>;
  using Sums = Vector<Sum, lanes>;
  using Words = Vector<std::uint32_t, lanes>;
  using V = typename Sums::V;

  /// The number that a column's sums begin with: 128 times the column's sum, which makes up for the
  /// flipped top bits of the other operand.
  TYPEFLOW_INLINE static Sums start(const Sums& of_column) {
    const Sums multiple = of_column << 7;
    return std::is_signed_v<Y> ? Sums(0) - multiple : multiple;
  }

  TYPEFLOW_INLINE static Sums add(const Sums& sum, const Words& left, const Words& right) {
    [[maybe_unused]] constexpr bool right_is_signed = std::is_signed_v<Y>;
    if constexpr (group == 4) {
      const Words& of_unsigned = right_is_signed ? left : right;
      const Words& of_signed = right_is_signed ? right : left;
      return dot(sum, of_unsigned, of_signed);
    } else if constexpr (group == 2) {
      return sum + pairs(left, right);
    } else {
      return sum + Sums::of((V)left.v) * Sums::of((V)right.v);
    }
  }

 private:
  /// Adds the products of groups of four unsigned and signed bytes.
  TYPEFLOW_INLINE static Sums dot([[maybe_unused]] const Sums& sum, [[maybe_unused]] const Words& x,
                                  [[maybe_unused]] const Words& y) {
#if defined(__AVX512VNNI__) && defined(__AVX512F__)
    if constexpr (lanes == 16) {
      return Sums::of((V)_mm512_dpbusd_epi32((__m512i)sum.v, (__m512i)x.v, (__m512i)y.v));
    } else
#endif
    {
#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
      return Sums::of((V)_mm256_dpbusd_epi32((__m256i)sum.v, (__m256i)x.v, (__m256i)y.v));
#elif defined(__AVXVNNI__)
      return Sums::of((V)_mm256_dpbusd_avx_epi32((__m256i)sum.v, (__m256i)x.v, (__m256i)y.v));
#endif
    }
  }
  /// The sums of the products of pairs of 16-bit integers.
  TYPEFLOW_INLINE static Sums pairs(const Words& x, const Words& y) {
#if defined(__AVX512BW__)
    if constexpr (lanes == 16) {
      return Sums::of((V)_mm512_madd_epi16((__m512i)x.v, (__m512i)y.v));
    } else
#endif
#if defined(__AVX2__)
        if constexpr (lanes == 8) {
      return Sums::of((V)_mm256_madd_epi16((__m256i)x.v, (__m256i)y.v));
    } else
#endif
    {
#if defined(__SSE2__)
      return Sums::of((V)_mm_madd_epi16((__m128i)x.v, (__m128i)y.v));
#endif
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
