// SPDX-License-Identifier: Apache-2.0
#pragma once

// Division, shifts and powers of Vectors of integers.
//
// Instruction sets divide floating-point numbers only. A quotient of integers is (|a| + 1/2) times
// the rounded 1 / |b|, rounded towards zero; that rounded down is (a + 1/2) times the rounded 1 / b
// for b > 0, and (a - 1/2) times that for b < 0. The exact value is at least 1 / (2 |b|) away from
// a whole number. Its rounding errors are less than that if |a| has 2 bits fewer than the numbers.
// So 16 bits are divided as floats, 32 bits as doubles; 64 bits if |a| and |b| are below 2^51, else
// one by one. Bytes are multiplied by an inverse of 16 bits, in lanes of 16 bits, and so are signed
// 16 bits where lanes shift by counts of their own. Where all elements have one divisor, compilers
// compute its inverse once.

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "typeflow/cpu/vectors.hpp"
#include "typeflow/ops/elementwise/arithmetic.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {
struct FloorDiv;
struct FloorMod;
struct LeftShift;
struct RightShift;
struct Pow;
}  // namespace ops

namespace cpu_kernels {

#if defined(__AVX512F__)
inline constexpr int register_bytes = 64;
#elif defined(__AVX2__)
inline constexpr int register_bytes = 32;
#else
inline constexpr int register_bytes = 16;
#endif

/// Elements Place + First... of low and high, one behind the other.
template <int First, class T, int N, int... Place>
TYPEFLOW_INLINE auto chosen(const Vector<T, N>& low, const Vector<T, N>& high,
                            std::integer_sequence<int, Place...>) {
  using R = Vector<T, static_cast<int>(sizeof...(Place))>;
#if defined(__has_builtin) && !defined(__CUDACC__)
#if __has_builtin(__builtin_shufflevector)
  return R::of(__builtin_shufflevector(low.v, high.v, (Place + First)...));
#endif
#endif
  T all[2 * N];
  std::memcpy(all, &low.v, sizeof low.v);
  std::memcpy(all + N, &high.v, sizeof high.v);
  return R::of(typename R::V{all[Place + First]...});
}
/// f(a, b), in parts of as many elements as a register has elements of W.
template <class W, class T, int N, class F>
TYPEFLOW_INLINE Vector<T, N> in_parts(const Vector<T, N>& a, const Vector<T, N>& b, const F& f) {
  if constexpr (N * static_cast<int>(sizeof(W)) > register_bytes) {
    const std::make_integer_sequence<int, N / 2> half;
    return chosen<0>(in_parts<W>(chosen<0>(a, a, half), chosen<0>(b, b, half), f),
                     in_parts<W>(chosen<N / 2>(a, a, half), chosen<N / 2>(b, b, half), f),
                     std::make_integer_sequence<int, N>{});
  } else {
    return f(a, b);
  }
}

/// Whether a bit of any element is set.
template <class T, int N>
TYPEFLOW_INLINE bool any_bit(const Vector<T, N>& x) {
#if defined(__AVX512F__)
  if constexpr (sizeof x.v == 64) {
    return _mm512_test_epi64_mask((__m512i)x.v, (__m512i)x.v) != 0;
  } else
#endif
#if defined(__AVX__)
      if constexpr (sizeof x.v == 32) {
    return _mm256_testz_si256((__m256i)x.v, (__m256i)x.v) == 0;
  } else
#endif
  {
    unsigned char bytes[sizeof x.v];
    std::memcpy(bytes, &x.v, sizeof bytes);
    unsigned char all = 0;
    for (const unsigned char byte : bytes) all = static_cast<unsigned char>(all | byte);
    return all != 0;
  }
}

/// The upper half of each product of 16-bit integers.
template <class T, int N>
TYPEFLOW_INLINE Vector<T, N> upper_product(const Vector<T, N>& a, const Vector<T, N>& b) {
  static_assert(sizeof(T) == 2);
  using V [[maybe_unused]] = typename Vector<T, N>::V;
  [[maybe_unused]] constexpr bool is_signed = std::is_signed_v<T>;
#if defined(__AVX512BW__)
  if constexpr (sizeof(V) == 64) {
    const __m512i x = (__m512i)a.v;
    const __m512i y = (__m512i)b.v;
    return Vector<T, N>::of((V)(is_signed ? _mm512_mulhi_epi16(x, y) : _mm512_mulhi_epu16(x, y)));
  } else
#endif
#if defined(__AVX2__)
      if constexpr (sizeof(V) == 32) {
    const __m256i x = (__m256i)a.v;
    const __m256i y = (__m256i)b.v;
    return Vector<T, N>::of((V)(is_signed ? _mm256_mulhi_epi16(x, y) : _mm256_mulhi_epu16(x, y)));
  } else
#endif
#if defined(__SSE2__)
      if constexpr (sizeof(V) == 16) {
    const __m128i x = (__m128i)a.v;
    const __m128i y = (__m128i)b.v;
    return Vector<T, N>::of((V)(is_signed ? _mm_mulhi_epi16(x, y) : _mm_mulhi_epu16(x, y)));
  } else
#endif
  {
    using W = std::conditional_t<is_signed, std::int32_t, std::uint32_t>;
    return resized<T>(resized<W>(a) * resized<W>(b) >> 16);
  }
}

/// A divisor of bytes, prepared for 16-bit lanes. |inverse| is about 2^15 / |b| for signed bytes,
/// so that (2a + 1) inverse / 2^16 lies between a / b and the next whole number; for unsigned ones
/// it is the next number above 2^16 / b.
template <class W, int N>
struct ByteDivisor {
  using V = Vector<W, N>;
  V inverse;  ///< 0 where b is 0
  V one;      ///< signed: the sign of b, 1 or -1; unsigned: all bits where b is 1, else 0
  V value;    ///< b

  TYPEFLOW_INLINE explicit ByteDivisor(const V& b) : value(b) {
    inverse = in_parts<float>(
        b, b, []<int M>(const Vector<W, M>& x, const Vector<W, M>&) TYPEFLOW_INLINE_LAMBDA {
          using F = Vector<float, M>;
          const F divisor = numbers<float>(resized<std::int32_t>(x));
          if constexpr (std::is_signed_v<W>) {
            // 2^15 has no place in 16 bits; for 1 and -1 a little less is as good.
            const F sign = F::of_bits(Vector<std::int32_t, M>::of_bits(divisor) &
                                      Vector<std::int32_t, M>::of_bits(F(-0.0f)));
            const F half = F::of_bits(Vector<std::int32_t, M>::of_bits(F(0.5f)) |
                                      Vector<std::int32_t, M>::of_bits(sign));
            const F near = F::of(F(32767.0f).v / divisor.v + half.v);
            return resized<W>(numbers<std::int32_t>(select(divisor == F(0.0f), divisor, near)));
          } else {
            const F next = F::of(F(65536.0f).v / divisor.v + F(1.0f).v);
            return resized<W>(numbers<std::int32_t>(select(divisor == F(0.0f), divisor, next)));
          }
        });
    if constexpr (std::is_signed_v<W>) {
      one = V(W(1)) | (b >> 15);
    } else {
      one = V::of_bits(b == V(W(1)));
    }
  }
  /// The quotient rounded towards minus infinity.
  TYPEFLOW_INLINE V floor_quotient(const V& a) const {
    if constexpr (std::is_signed_v<W>) {
      return upper_product(a + a + one, inverse);
    } else {
      return upper_product(a, inverse) + (a & one);
    }
  }
  /// The quotient rounded towards zero.
  TYPEFLOW_INLINE V quotient(const V& a) const {
    if constexpr (std::is_signed_v<W>) {
      const V size = abs(a);
      const V q = upper_product(size + size + V(W(1)), abs(inverse));
      const V sign = (a ^ value) >> 15;
      return (q ^ sign) - sign;
    } else {
      return floor_quotient(a);
    }
  }
};
/// f(a, divisor) for bytes: of those at even places, then of those at odd ones, in 16-bit lanes.
template <class T, int N, class F>
TYPEFLOW_INLINE Vector<T, N> divided_bytes(const Vector<T, N>& a, const Vector<T, N>& b,
                                           const F& f) {
  using W = IntegerOf<2, std::is_signed_v<T>>;
  using V = Vector<W, N / 2>;
  using Bits = Vector<std::uint16_t, N / 2>;
  const V x = V::of((typename V::V)a.v);
  const V y = V::of((typename V::V)b.v);
  const V even = f((x << 8) >> 8, ByteDivisor<W, N / 2>((y << 8) >> 8));
  const V odd = f(x >> 8, ByteDivisor<W, N / 2>(y >> 8));
  const Bits both = (Bits::of_bits(even) & Bits(0xFF)) | (Bits::of_bits(odd) << 8);
  return Vector<T, N>::of((typename Vector<T, N>::V)both.v);
}

#if defined(__AVX512BW__)
/// A divisor of 32 signed 16-bit integers, of which only the size |b| is divided by. With 2^(l - 1)
/// < |b| <= 2^l, the quotient of a number up to 2^15 is its product with floor(2^(15 + l) / |b|) +
/// 1 over 2^(15 + l), rounded down (Granlund and Montgomery, Division by invariant integers using
/// multiplication, theorem 4.2; rounded in float the inverse is good enough for each b).
struct ShortDivisor {
  using V = Vector<std::int16_t, 32>;
  using U = Vector<std::uint16_t, 32>;
  V value;    ///< b
  U inverse;  ///< of no account where |b| is 0 or 1
  U shift;    ///< l - 1; 2^16 - 1, which shifts everything out, where |b| is 0 or 1
  U one;      ///< all bits where |b| is 1

  TYPEFLOW_INLINE explicit ShortDivisor(const V& b)
      : value(b), inverse(0), shift(0), one(U::of_bits(abs(b) == V(1))) {
    const auto by_size = [&](const auto& f) TYPEFLOW_INLINE_LAMBDA {
      return U::of_bits(in_parts<float>(
          b, b, [&]<int M>(const auto& x, const Vector<std::int16_t, M>&) TYPEFLOW_INLINE_LAMBDA {
            using F = Vector<float, M>;
            using I = Vector<std::int32_t, M>;
            const F size = numbers<float>(abs(resized<std::int32_t>(x)));
            const I power = I::of_bits(F::of(size.v - 0.5f)) & I(0x7F800000);
            return resized<std::int16_t>(f(size, power));
          }));
    };
    inverse = by_size([]<int M>(const Vector<float, M>& size,
                                const Vector<std::int32_t, M>& power) TYPEFLOW_INLINE_LAMBDA {
      using F = Vector<float, M>;
      return numbers<std::int32_t>(F::of(F::of_bits(power).v * 65536.0f / size.v)) +
             Vector<std::int32_t, M>(1);
    });
    shift = by_size(
        []<int M>(const Vector<float, M>&, const Vector<std::int32_t, M>& power)
            TYPEFLOW_INLINE_LAMBDA { return (power >> 23) - Vector<std::int32_t, M>(127); });
  }
  /// n / |b|; 0 where b is 0.
  TYPEFLOW_INLINE U over_size(const U& n) const {
    const __m512i q = _mm512_srlv_epi16((__m512i)upper_product(n, inverse).v, (__m512i)shift.v);
    return U::of((U::V)q) + (n & one);
  }
  /// The quotient rounded towards minus infinity; 0 where b is 0. Below 0 it is ~(~x / |b|).
  TYPEFLOW_INLINE V floor_quotient(const V& a) const {
    const V minus = value >> 15;
    const V x = (a ^ minus) - minus;
    const V below = V::of(x.v & ~(a.v & minus.v)) >> 15;  // -(-2^15) is above 0
    const V q = V::of_bits(over_size(U::of_bits(x ^ below))) ^ below;
    return select(value == V(0), V(0), q);
  }
  /// The quotient rounded towards zero.
  TYPEFLOW_INLINE V quotient(const V& a) const {
    const V sign = (a ^ value) >> 15;
    return (V::of_bits(over_size(U::of_bits(abs(a)))) ^ sign) - sign;
  }
};
#endif

/// The next whole number at or below each element, which W must hold.
template <class W, class F, int N>
TYPEFLOW_INLINE Vector<W, N> rounded_down(const Vector<F, N>& x) {
  using V [[maybe_unused]] = typename Vector<F, N>::V;
  [[maybe_unused]] constexpr bool is_double = sizeof(F) == 8;
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64 && is_double) {
    return numbers<W>(Vector<F, N>::of((V)_mm512_floor_pd((__m512d)x.v)));
  } else if constexpr (sizeof(V) == 64) {
    return numbers<W>(Vector<F, N>::of((V)_mm512_floor_ps((__m512)x.v)));
  } else
#endif
#if defined(__AVX__)
      if constexpr (sizeof(V) == 32 && is_double) {
    return numbers<W>(Vector<F, N>::of((V)_mm256_floor_pd((__m256d)x.v)));
  } else if constexpr (sizeof(V) == 32) {
    return numbers<W>(Vector<F, N>::of((V)_mm256_floor_ps((__m256)x.v)));
  } else
#endif
  {
    const Vector<W, N> y = numbers<W>(x);  // rounded towards zero
    const auto is_above = x < numbers<F>(y);
    return y + Vector<W, N>::of_bits(resized<IntegerOf<sizeof(W)>>(is_above));
  }
}

/// a / b by numbers F, for numbers a that F has with 2 bits to spare, rounded down or towards zero;
/// 0 where b is 0.
template <class F, bool Down, class T, int N>
TYPEFLOW_INLINE Vector<T, N> quotient_by(const Vector<T, N>& a, const Vector<T, N>& b) {
  using Numbers = Vector<F, N>;
  using Bits = Vector<IntegerOf<sizeof(F)>, N>;
  using Whole = std::conditional_t<(sizeof(T) < 4), std::int32_t, T>;
  const Numbers x = numbers<F>(resized<Whole>(a));
  const Numbers y = numbers<F>(resized<Whole>(b));
  const Numbers zero(F(0));
  const Numbers inverse = select(y == zero, zero, Numbers::of(Numbers(F(1)).v / y.v));
  const Bits sign = Bits::of_bits(Down ? y : x) & Bits::of_bits(Numbers(F(-0.0)));
  const Numbers half = Numbers::of_bits(sign | Bits::of_bits(Numbers(F(0.5))));
  const Numbers q = Numbers::of((x.v + half.v) * inverse.v);
  if constexpr (Down) {
    return resized<T>(rounded_down<Whole>(q));
  } else {
    return resized<T>(numbers<Whole>(q));
  }
}

/// Rounded towards zero as ops::Div, or down as ops::FloorDiv; 0 where b is 0.
template <bool Down, class T, int N>
TYPEFLOW_INLINE Vector<T, N> quotient(const Vector<T, N>& a, const Vector<T, N>& b) {
  using V = Vector<T, N>;
  using F = std::conditional_t<(sizeof(T) < 4), float, double>;
  [[maybe_unused]] constexpr bool down = Down && std::is_signed_v<T>;
  [[maybe_unused]] const auto part = [](const auto& x, const auto& y) TYPEFLOW_INLINE_LAMBDA {
    return quotient_by<F, down>(x, y);
  };
  if constexpr (sizeof(T) == 1) {
    return divided_bytes(a, b, [](const auto& x, const auto& divisor) TYPEFLOW_INLINE_LAMBDA {
      return Down ? divisor.floor_quotient(x) : divisor.quotient(x);
    });
#if defined(__AVX512BW__)
  } else if constexpr (std::is_same_v<T, std::int16_t> && N == 32) {
    const ShortDivisor divisor(b);
    return Down ? divisor.floor_quotient(a) : divisor.quotient(a);
#endif
  } else if constexpr (sizeof(T) == 8) {
    constexpr T bound = std::is_signed_v<T> ? T{1} << 51 : T{0};
    using U = Vector<std::uint64_t, N>;
    const U high =
        (U::of_bits(a + V(bound)) | U::of_bits(b + V(bound))) >> (std::is_signed_v<T> ? 52 : 51);
    if (!any_bit(high)) return in_parts<F>(a, b, part);
    V r;
    for (int i = 0; i < N; ++i) {
      using O = std::conditional_t<Down, ops::FloorDiv, ops::Div>;
      r.v[i] = O{}(T{a.v[i]}, T{b.v[i]});
    }
    return r;
  } else {
    const V q = in_parts<F>(a, b, part);
    if constexpr (std::is_signed_v<T> && sizeof(T) == 4) {
      return select(b == V(T(-1)), V(T(0)) - a, q);  // the lowest number wraps around
    } else {
      return q;
    }
  }
}

// Operations of Vectors of integers. Most are as of numbers.

template <class O, class... V>
TYPEFLOW_INLINE auto call_integers(const O& op, const V&... x) {
  return op(x...);
}
template <class T, int N>
TYPEFLOW_INLINE Vector<T, N> call_integers(const ops::Div&, const Vector<T, N>& a,
                                           const Vector<T, N>& b) {
  return quotient<false>(a, b);
}
template <class T, int N>
TYPEFLOW_INLINE Vector<T, N> call_integers(const ops::FloorDiv&, const Vector<T, N>& a,
                                           const Vector<T, N>& b) {
  return quotient<true>(a, b);
}
template <class T, int N>
TYPEFLOW_INLINE Vector<T, N> call_integers(const ops::FloorMod&, const Vector<T, N>& a,
                                           const Vector<T, N>& b) {
  if constexpr (sizeof(T) == 1) {
    return divided_bytes(a, b, [](const auto& x, const auto& divisor) TYPEFLOW_INLINE_LAMBDA {
      return x - divisor.floor_quotient(x) * divisor.value;
    });
  } else {
    return a - quotient<true>(a, b) * b;
  }
}

#if defined(__AVX512BW__)
/// Shifts bytes in 16-bit lanes: those at even places, then those at odd ones. This needs no
/// shuffles, which widening does. Counts below 0 or above 7 give 0, or the sign's bit everywhere.
template <bool Left, class T, int N>
TYPEFLOW_INLINE Vector<T, N> shifted_bytes(const Vector<T, N>& a, const Vector<T, N>& count) {
  using W = Vector<IntegerOf<2, std::is_signed_v<T> && !Left>, N / 2>;
  using U = Vector<std::uint16_t, N / 2>;
  using Bytes = Vector<std::uint8_t, N>;
  const Bytes most(std::is_signed_v<T> && !Left ? std::uint8_t{7} : std::uint8_t{8});
  const Bytes bits = Bytes::of_bits(count);
  const U by = U::of((typename U::V)select(bits < most, bits, most).v);
  const W even = W::of_bits(by & U(0xFF));
  const W odd = W::of_bits(by >> 8);
  const W x = W::of((typename W::V)a.v);
  const U upper(0xFF00);
  U low;
  U high;
  if constexpr (Left) {
    low = U::of(x.v << even.v) & U(0xFF);
    high = U::of((x & upper).v << odd.v);
  } else {
    low = U::of_bits(W::of((x << 8).v >> even.v)) >> 8;
    high = U::of_bits(W::of(x.v >> odd.v)) & upper;
  }
  return Vector<T, N>::of((typename Vector<T, N>::V)(low | high).v);
}
template <class T, int N>
  requires(sizeof(T) == 1)
TYPEFLOW_INLINE Vector<T, N> call_integers(const ops::LeftShift&, const Vector<T, N>& a,
                                           const Vector<T, N>& count) {
  return shifted_bytes<true>(a, count);
}
template <class T, int N>
  requires(sizeof(T) == 1)
TYPEFLOW_INLINE Vector<T, N> call_integers(const ops::RightShift&, const Vector<T, N>& a,
                                           const Vector<T, N>& count) {
  return shifted_bytes<false>(a, count);
}
#endif

/// Integers that instructions shift by vectors.
template <class T>
using Shifted =
#if defined(__AVX512BW__)
    T;
#else
    std::conditional_t<(sizeof(T) < 4), std::int32_t, T>;
#endif

template <class T, int N>
TYPEFLOW_INLINE Vector<T, N> call_integers(const ops::LeftShift&, const Vector<T, N>& a,
                                           const Vector<T, N>& count) {
  using W = Shifted<T>;
  return in_parts<W>(
      a, count, []<int M>(const Vector<T, M>& x, const Vector<T, M>& bits) TYPEFLOW_INLINE_LAMBDA {
        using V = Vector<W, M>;
        using U = Vector<IntegerOf<sizeof(W), false>, M>;
        const U by = U::of_bits(resized<W>(bits));
        const U y = U::of_bits(resized<W>(x));
        const U moved = U::of(y.v << (by & U(8 * sizeof(W) - 1)).v);
        const U in_range = select(by < U(8 * sizeof(T)), moved, U(0u));
        return resized<T>(V::of_bits(in_range));
      });
}
template <class T, int N>
TYPEFLOW_INLINE Vector<T, N> call_integers(const ops::RightShift&, const Vector<T, N>& a,
                                           const Vector<T, N>& count) {
  using W = Shifted<T>;
  return in_parts<W>(
      a, count, []<int M>(const Vector<T, M>& x, const Vector<T, M>& bits) TYPEFLOW_INLINE_LAMBDA {
        using V = Vector<W, M>;
        using U = Vector<IntegerOf<sizeof(W), false>, M>;
        constexpr int last = 8 * sizeof(W) - 1;
        const U by = U::of_bits(resized<W>(bits));
        const auto fits = by < U(8 * sizeof(T));
        const V y = resized<W>(x);
        const V moved = V::of(y.v >> V::of_bits(select(fits, by, U(last))).v);
        if constexpr (std::is_signed_v<W>) {
          return resized<T>(moved);
        } else {
          return resized<T>(select(fits, moved, V(W(0))));
        }
      });
}

/// Computes powers by squares. A negative power of anything but 1 and -1 is 0.
template <class T, int N>
TYPEFLOW_INLINE Vector<T, N> call_integers(const ops::Pow&, const Vector<T, N>& a,
                                           const Vector<T, N>& b) {
  using V = Vector<T, N>;
  using U = Vector<IntegerOf<sizeof(T), false>, N>;
  const V one(T(1));
  const auto odd = [&](const V& x) TYPEFLOW_INLINE_LAMBDA { return (x & one) == one; };
  const auto negative = b < V(T(0));
  U rest = U::of_bits(select(negative, V(T(0)), b));
  V square = a;
  V power = one;
  while (any_bit(rest)) {
    power = select(odd(V::of_bits(rest)), power * square, power);
    square = square * square;
    rest = rest >> 1;
  }
  if constexpr (std::is_signed_v<T>) {
    if (any_bit(negative)) {
      const V minus_one(T(-1));
      const V of_minus_one = select(odd(b), minus_one, one);
      const V inverse = select(a == one, one, select(a == minus_one, of_minus_one, V(T(0))));
      power = select(negative, inverse, power);
    }
  }
  return power;
}

}  // namespace cpu_kernels

}  // namespace typeflow::inline TYPEFLOW_ISA
