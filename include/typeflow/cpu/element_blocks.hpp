// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random numbers on SIMD values, for operations whose elements have blocks of Philox of their own:
// integers, and distributions that redraw.
//
// A lane has the block of one element, each word in the lower half of a register of its own. So
// every lane computes what core/philox.hpp computes for its element, with the same bits for any
// width.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "typeflow/core/philox.hpp"
#include "typeflow/cpu/lanes.hpp"
#include "typeflow/cpu/vector_math/exponential.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// The products of the lower 32 bits.
template <int N>
TYPEFLOW_INLINE Vector<std::uint64_t, N> multiply_words(const Vector<std::uint64_t, N>& a,
                                                        const Vector<std::uint64_t, N>& b) {
  using U = Vector<std::uint64_t, N>;
#if defined(__AVX512F__)
  if constexpr (N == 8) {
    return U::of((typename U::V)_mm512_mul_epu32((__m512i)a.v, (__m512i)b.v));
  }
#endif
#if defined(__AVX2__)
  if constexpr (N == 4) {
    return U::of((typename U::V)_mm256_mul_epu32((__m256i)a.v, (__m256i)b.v));
  }
#endif
#if defined(__SSE2__)
  if constexpr (N == 2) {
    return U::of((typename U::V)_mm_mul_epu32((__m128i)a.v, (__m128i)b.v));
  }
#endif
  const U low(0xFFFFFFFFu);
  return (a & low) * (b & low);
}

/// The blocks of as many elements as W, lanes of 8 bytes, has.
template <class W>
struct ElementBlocks {
  static constexpr int N = W::size;
  using U = Vector<std::uint64_t, N>;
  using D = typename W::template of<double>;
  U word[4];  ///< in the lower halves; the upper halves are arbitrary

  /// The elements from `index` on.
  TYPEFLOW_INLINE static U elements(std::int64_t index) {
    return U(static_cast<std::uint64_t>(index)) + counted<std::uint64_t, N>();
  }
  TYPEFLOW_INLINE static ElementBlocks generate(std::uint64_t key, const U& index,
                                                std::uint64_t draw) {
    U k0(key);
    U k1(key >> 32);
    U c0 = index;
    U c1 = index >> 32;
    U c2(draw);
    U c3(draw >> 32);
    for (int round = 0; round < Philox::rounds; ++round) {
      const U p0 = multiply_words(c0, U(Philox::multiplier[0]));
      const U p1 = multiply_words(c2, U(Philox::multiplier[1]));
      c0 = (p1 >> 32) ^ c1 ^ k0;
      c1 = p1;
      c2 = (p0 >> 32) ^ c3 ^ k1;
      c3 = p0;
      k0 = k0 + U(Philox::key_step[0]);
      k1 = k1 + U(Philox::key_step[1]);
    }
    return {{c0, c1, c2, c3}};
  }

  /// integer_element, for ranges below 2^32: the upper bits of a product of 128 and 32 bits.
  TYPEFLOW_INLINE U below(std::uint64_t range) const {
    const U r(range);
    U sum = multiply_words(word[3], r);
    for (int k = 2; k >= 0; --k) sum = multiply_words(word[k], r) + (sum >> 32);
    return sum >> 32;
  }

  /// Number K, 0 or 1, of those that ElementStream takes from a block.
  template <int K>
  TYPEFLOW_INLINE D uniform() const {
    const U low_words(0xFFFFFFFFu);
    const U both = ((word[2 * K] << 32) | (word[2 * K + 1] & low_words)) >> 11;
    // 2^52 + the lower 32 bits; 2^84 + the others
    const U low = (both & low_words) | U(0x4330000000000000u);
    const U high = (both >> 32) | U(0x4530000000000000u);
    return ((numbers(high) - D(0x1p84 + 0x1p52)) + numbers(low)) * D(0x1p-53);
  }

 private:
  TYPEFLOW_INLINE static D numbers(const U& bits) {
    return W::template from_vector<double>(Vector<double, N>::of_bits(bits));
  }
};

/// Where y < std::exp(-0.5 * x * x), for |x| <= 2: -1, elsewhere 0. The vector function decides,
/// except where the two numbers are so near that its error could.
template <class W>
TYPEFLOW_INLINE Vector<std::int64_t, W::size> below_bell(const typename W::template of<double>& x,
                                                         const typename W::template of<double>& y) {
  using D = typename W::template of<double>;
  const D bell = Exponentials<double, typename D::arch_type>::exp(D(-0.5) * x * x);
  const D margin(1e-14);  // 45 times the unit in the last place of numbers below 1
  auto below = W::template comparison<std::int64_t>(y < bell);
  if (xsimd::any((y - bell < margin) && (bell - y < margin))) {
    const auto point = W::template elements<double>(x);
    const auto height = W::template elements<double>(y);
    for (int i = 0; i < W::size; ++i) {
      const double at = point.v[i];
      below.v[i] = height.v[i] < std::exp(-0.5 * at * at) ? -1 : 0;
    }
  }
  return below;
}

/// An attempt of ops::RandomTruncatedNormal for some elements: points, and -1 where they are
/// accepted.
template <class W>
struct NormalAttempt {
  using Blocks = ElementBlocks<W>;
  using D = typename Blocks::D;
  D x;
  Vector<std::int64_t, W::size> accepted;

  TYPEFLOW_INLINE NormalAttempt(std::uint64_t key, std::uint64_t draw,
                                const typename Blocks::U& elements) {
    const auto block = Blocks::generate(key, elements, draw);
    x = D(4.0) * block.template uniform<0>() - D(2.0);
    accepted = below_bell<W>(x, block.template uniform<1>());
  }
};

/// Appends the places of the elements that were not accepted.
template <int N>
TYPEFLOW_INLINE std::uint64_t* append_rejected(const Vector<std::uint64_t, N>& places,
                                               const Vector<std::int64_t, N>& accepted,
                                               std::uint64_t* end) {
#if defined(__AVX512F__)
  if constexpr (N == 8) {
    const auto accepts = (__m512i)accepted.v;
    const __mmask8 rejects = _mm512_testn_epi64_mask(accepts, accepts);
    _mm512_storeu_si512(end, _mm512_maskz_compress_epi64(rejects, (__m512i)places.v));
    return end + __builtin_popcount(rejects);
  }
#endif
  for (int lane = 0; lane < N; ++lane) {
    *end = places.v[lane];
    end += accepted.v[lane] == 0 ? 1 : 0;
  }
  return end;
}

/// Truncated normals of neighbouring elements. An attempt is accepted for three elements of five,
/// so each round packs the others' into as few registers as they need. The more elements there are,
/// the fuller the registers.
template <class W>
struct TruncatedNormals {
  static constexpr int most = 256;  ///< elements
  static constexpr int N = W::size;
  using U = Vector<std::uint64_t, N>;
  std::uint64_t key = 0;
  std::uint64_t draw = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
  double x[most] = {};

  /// The numbers of elements [index, index + size), at most `most` and a multiple of N. While they
  /// are asked for in order, ever more are made at a time.
  TYPEFLOW_INLINE const double* at(std::uint64_t k, std::uint64_t d, std::int64_t index, int size) {
    if (k != key || d != draw || index < first || index + size > first + count) {
      generate(k, d, index, size);
    }
    return x + (index - first);
  }

 private:
  [[gnu::noinline]] void generate(std::uint64_t k, std::uint64_t d, std::int64_t index, int size) {
    const bool follows = k == key && d == draw && index == first + count;
    const std::int64_t wanted = follows ? std::min<std::int64_t>(2 * count, most) : size;
    key = k;
    draw = d;
    first = index;
    count = std::max<std::int64_t>(wanted, size) / N * N;
    const U begin(static_cast<std::uint64_t>(index));
    std::uint64_t left[most + N];  // places of the elements that no attempt was accepted for
    std::uint64_t* end = left;
    for (std::int64_t i = 0; i < count; i += N) {
      const U places = U(static_cast<std::uint64_t>(i)) + counted<std::uint64_t, N>();
      const NormalAttempt<W> attempt(k, d, begin + places);
      attempt.x.store_unaligned(x + i);
      end = append_rejected(places, attempt.accepted, end);
    }
    const U nowhere(0);
    std::memcpy(end, &nowhere.v, sizeof nowhere.v);  // read with the last places
    for (std::uint64_t block = 1; end != left; ++block) {
      const std::uint64_t* const last = end;
      end = left;
      for (const std::uint64_t* from = left; from < last; from += N) {
        const int lanes = static_cast<int>(std::min<std::ptrdiff_t>(N, last - from));
        U places;
        std::memcpy(&places.v, from, sizeof places.v);
        const NormalAttempt<W> attempt(random_key(k, block), d, begin + places);
        double points[N];
        attempt.x.store_unaligned(points);
        for (int lane = 0; lane < lanes; ++lane) x[from[lane]] = points[lane];
        end = append_rejected(
            places,
            attempt.accepted | (counted<std::int64_t, N>() >= Vector<std::int64_t, N>(lanes)), end);
      }
    }
  }
};

/// The numbers that a thread made last.
template <class W>
inline thread_local constinit TruncatedNormals<W> recent_normals{};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
