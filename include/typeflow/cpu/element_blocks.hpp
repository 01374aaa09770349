// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random numbers on SIMD values, for operations whose elements have blocks of Philox of their own:
// integers, and distributions that redraw.
//
// A lane has the block of one element, each word in the lower half of a register of its own. So
// every lane computes what core/philox.hpp computes for its element, with the same bits for any
// width.

#include <cmath>
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

/// Attempts number `block` and `block` + 1 of ops::RandomTruncatedNormal, side by side: each is a
/// long chain of dependent instructions. Returns the first accepted point; `done` tells the lanes
/// that have one.
template <class W>
TYPEFLOW_INLINE Vector<double, W::size> two_attempts(std::uint64_t key, std::uint64_t draw,
                                                     std::uint64_t block,
                                                     const typename ElementBlocks<W>::U& elements,
                                                     Vector<std::int64_t, W::size>& done) {
  using Blocks = ElementBlocks<W>;
  using D = typename Blocks::D;
  const auto first = Blocks::generate(block == 0 ? key : random_key(key, block), elements, draw);
  const auto second = Blocks::generate(random_key(key, block + 1), elements, draw);
  const D x = D(4.0) * first.template uniform<0>() - D(2.0);
  const D y = D(4.0) * second.template uniform<0>() - D(2.0);
  const auto accepts_x = below_bell<W>(x, first.template uniform<1>());
  done = accepts_x | below_bell<W>(y, second.template uniform<1>());
  return select(accepts_x, W::template vector<double>(x), W::template vector<double>(y));
}

/// Truncated normals of `Count` elements, a multiple of W::size, as ops::RandomTruncatedNormal
/// draws them. Two attempts suffice for five elements of six. The others are packed into as few
/// registers as they need.
template <class W, int Count>
[[gnu::noinline]] void truncated_normals(std::uint64_t key, std::uint64_t draw, std::int64_t index,
                                         double* out) {
  constexpr int N = W::size;
  using U = typename ElementBlocks<W>::U;
  std::uint64_t left[Count + N] = {};
  int lefts = 0;
  for (int i = 0; i < Count; i += N) {
    Vector<std::int64_t, N> done;
    const auto x = two_attempts<W>(key, draw, 0, ElementBlocks<W>::elements(index + i), done);
    std::memcpy(out + i, &x.v, sizeof x.v);
    for (int lane = 0; lane < N; ++lane) {
      left[lefts] = static_cast<std::uint64_t>(i + lane);
      lefts += done.v[lane] == 0 ? 1 : 0;
    }
  }
  for (int k = 0; k < lefts; k += N) {
    U places;
    std::memcpy(&places.v, left + k, sizeof places.v);
    const U elements = U(static_cast<std::uint64_t>(index)) + places;
    Vector<std::int64_t, N> done(0);
    Vector<double, N> x(0.0);
    for (std::uint64_t block = 2; !xsimd::all(W::mask_of(done)); block += 2) {
      Vector<std::int64_t, N> accepted;
      const auto next = two_attempts<W>(key, draw, block, elements, accepted);
      x = select(done, x, next);
      done = done | accepted;
    }
    for (int lane = 0; lane < N && k + lane < lefts; ++lane) out[left[k + lane]] = x.v[lane];
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
