// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random numbers on SIMD values: the words of core/philox.hpp, a register full at a time.
//
// A block of Philox is four words, which make four neighbouring floats. A register holds blocks one
// after the other, as memory would: its 128-bit parts are counters that become blocks, and a
// multiplication of even words computes both products of a round. So a vector has the scalar
// generator's numbers, in order, for any width.

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "typeflow/core/philox.hpp"
#include "typeflow/cpu/element_blocks.hpp"
#include "typeflow/cpu/lanes.hpp"
#include "typeflow/ops/random/random.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ops {
struct RandomTruncatedNormal;
}

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// As many words as a batch of floats has elements. The instruction set may be narrower than the
/// file's.
template <class A>
struct PhiloxLanes {
  static constexpr int size = static_cast<int>(xsimd::batch<float, A>::size);
  static constexpr int blocks = size / 4;
  using Words = Array<std::uint32_t, size>;

  /// The words of `blocks` counters from `block` on.
  static Words generate(std::uint64_t key, std::uint64_t block, std::uint64_t draw) {
    Words out;
    for (int i = 0; i < blocks; ++i) {
      const Philox words = Philox::generate(key, block + static_cast<std::uint64_t>(i), draw);
      for (int k = 0; k < 4; ++k) out.v[4 * i + k] = words.word[k];
    }
    return out;
  }
  static Words load(const std::uint32_t* p) {
    Words out;
    for (int i = 0; i < size; ++i) out.v[i] = p[i];
    return out;
  }
  static void store(std::uint32_t* p, const Words& w) {
    for (int i = 0; i < size; ++i) p[i] = w.v[i];
  }
  /// The upper `bits` bits of each word, at most 31, as integers that became floats.
  template <int Bits>
  static xsimd::batch<float, A> to_float(const Words& w) {
    Array<float, size> x;
    for (int i = 0; i < size; ++i) x.v[i] = static_cast<float>(w.v[i] >> (32 - Bits));
    return xsimd::batch<float, A>::load_unaligned(x.v);
  }
  /// The upper 53 bits of each two words, of which the first is the upper one.
  static xsimd::batch<double, A> to_double(const Words& w) {
    Array<double, size / 2> x;
    for (int i = 0; i < size / 2; ++i) {
      const std::uint64_t both = std::uint64_t{w.v[2 * i]} << 32 | w.v[2 * i + 1];
      x.v[i] = static_cast<double>(both >> 11);
    }
    return xsimd::batch<double, A>::load_unaligned(x.v);
  }
};

#if defined(__AVX2__)
template <class A>
  requires(xsimd::batch<float, A>::size == 8)
struct PhiloxLanes<A> {
  static constexpr int size = 8;
  static constexpr int blocks = size / 4;
  using Words = __m256i;

  TYPEFLOW_INLINE static Words generate(std::uint64_t key, std::uint64_t block,
                                        std::uint64_t draw) {
    const __m128i first =
        _mm_set_epi64x(static_cast<long long>(draw), static_cast<long long>(block));
    Words c = _mm256_add_epi64(_mm256_broadcastsi128_si256(first), _mm256_set_epi64x(0, 1, 0, 0));
    Words k = pairs(static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32));
    const Words multiplier = pairs(Philox::multiplier[0], Philox::multiplier[1]);
    const Words step = pairs(Philox::key_step[0], Philox::key_step[1]);
    for (int round = 0; round < Philox::rounds; ++round) {
      const Words product = _mm256_mul_epu32(c, multiplier);
      c = _mm256_xor_si256(_mm256_xor_si256(_mm256_shuffle_epi32(product, 0x1B), k),
                           _mm256_srli_epi64(c, 32));
      k = _mm256_add_epi32(k, step);
    }
    return c;
  }
  TYPEFLOW_INLINE static Words load(const std::uint32_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  TYPEFLOW_INLINE static void store(std::uint32_t* p, Words w) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), w);
  }
  template <int Bits>
  TYPEFLOW_INLINE static xsimd::batch<float, A> to_float(Words w) {
    return _mm256_cvtepi32_ps(_mm256_srli_epi32(w, 32 - Bits));
  }
  TYPEFLOW_INLINE static xsimd::batch<double, A> to_double(Words w) {
    const Words x = _mm256_srli_epi64(_mm256_shuffle_epi32(w, 0xB1), 11);
    const Words low = _mm256_or_si256(_mm256_and_si256(x, _mm256_set1_epi64x(0xFFFFFFFF)),
                                      _mm256_set1_epi64x(0x4330000000000000));
    const Words high =
        _mm256_or_si256(_mm256_srli_epi64(x, 32), _mm256_set1_epi64x(0x4530000000000000));
    return _mm256_add_pd(_mm256_sub_pd(_mm256_castsi256_pd(high), _mm256_set1_pd(0x1p84 + 0x1p52)),
                         _mm256_castsi256_pd(low));
  }

 private:
  TYPEFLOW_INLINE static Words pairs(std::uint32_t even, std::uint32_t odd) {
    const auto a = static_cast<long long>(even);
    const auto b = static_cast<long long>(odd);
    return _mm256_set_epi64x(b, a, b, a);
  }
};
#endif

#if defined(__AVX512F__)
template <class A>
  requires(xsimd::batch<float, A>::size == 16)
struct PhiloxLanes<A> {
  static constexpr int size = 16;
  static constexpr int blocks = size / 4;
  using Words = __m512i;

  TYPEFLOW_INLINE static Words generate(std::uint64_t key, std::uint64_t block,
                                        std::uint64_t draw) {
    const __m128i first =
        _mm_set_epi64x(static_cast<long long>(draw), static_cast<long long>(block));
    Words c =
        _mm512_add_epi64(_mm512_broadcast_i32x4(first), _mm512_set_epi64(0, 3, 0, 2, 0, 1, 0, 0));
    Words k = pairs(static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32));
    const Words multiplier = pairs(Philox::multiplier[0], Philox::multiplier[1]);
    const Words step = pairs(Philox::key_step[0], Philox::key_step[1]);
    for (int round = 0; round < Philox::rounds; ++round) {
      const Words product = _mm512_mul_epu32(c, multiplier);
      c = _mm512_ternarylogic_epi64(
          _mm512_shuffle_epi32(product, static_cast<_MM_PERM_ENUM>(0x1B)),  // words 3, 2, 1, 0
          _mm512_srli_epi64(c, 32), k, 0x96);                               // exclusive or
      k = _mm512_add_epi32(k, step);
    }
    return c;
  }
  TYPEFLOW_INLINE static Words load(const std::uint32_t* p) { return _mm512_loadu_si512(p); }
  TYPEFLOW_INLINE static void store(std::uint32_t* p, Words w) { _mm512_storeu_si512(p, w); }

  template <int Bits>
  TYPEFLOW_INLINE static xsimd::batch<float, A> to_float(Words w) {
    return _mm512_cvtepi32_ps(_mm512_srli_epi32(w, 32 - Bits));
  }
  TYPEFLOW_INLINE static xsimd::batch<double, A> to_double(Words w) {
    const Words x = _mm512_srli_epi64(_mm512_rol_epi64(w, 32), 11);
    const Words low = _mm512_ternarylogic_epi64(  // 2^52 + the lower 32 bits; 2^84 + the others
        x, _mm512_set1_epi64(0xFFFFFFFF), _mm512_set1_epi64(0x4330000000000000), 0xEA);
    const Words high =
        _mm512_or_si512(_mm512_srli_epi64(x, 32), _mm512_set1_epi64(0x4530000000000000));
    return _mm512_add_pd(_mm512_sub_pd(_mm512_castsi512_pd(high), _mm512_set1_pd(0x1p84 + 0x1p52)),
                         _mm512_castsi512_pd(low));
  }

 private:
  TYPEFLOW_INLINE static Words pairs(std::uint32_t even, std::uint32_t odd) {
    const auto a = static_cast<long long>(even);
    const auto b = static_cast<long long>(odd);
    return _mm512_set_epi64(b, a, b, a, b, a, b, a);
  }
};
#endif

/// The words of a draw from number `first` on, which may lie inside of a block.
template <class A>
[[gnu::noinline]] typename PhiloxLanes<A>::Words words_within(std::uint64_t key, std::uint64_t draw,
                                                              std::uint64_t first) {
  using P = PhiloxLanes<A>;
  std::uint32_t words[2 * P::size];
  P::store(words, P::generate(key, first / 4, draw));
  P::store(words + P::size, P::generate(key, first / 4 + P::blocks, draw));
  return P::load(words + first % 4);
}

/// The elements of a random operation from `index` on.
template <class L, class R, class O>
TYPEFLOW_INLINE typename L::template of<R> draw_lanes(const O& op, const RandomState& random,
                                                      std::int64_t index) {
  if constexpr (std::is_same_v<O, ops::RandomUniform>) {
    using V = typename L::template of<R>;
    using P = PhiloxLanes<typename V::arch_type>;
    constexpr int bits = std::numeric_limits<R>::digits;
    const std::uint64_t key = op.key(random.seed);
    const std::uint64_t first = static_cast<std::uint64_t>(index) * (bits > 32 ? 2 : 1);
    const auto words = first % 4 == 0
                           ? P::generate(key, first / 4, random.draw)
                           : words_within<typename V::arch_type>(key, random.draw, first);
    if constexpr (bits > 32) {
      return P::to_double(words) * V(0x1p-53);
    } else {
      return P::template to_float<bits>(words) * V(1.0f / static_cast<float>(1 << bits));
    }
  } else {
    Array<R, L::size> out;
    using W = Lanes<true, typename L::template of<float>::arch_type>;
    if constexpr (std::is_same_v<O, ops::RandomInteger>) {
      if (op.range >> 32 == 0) {
        const std::uint64_t key = op.key(random.seed);
        const Vector<std::uint64_t, W::size> low(static_cast<std::uint64_t>(op.low));
        for (int i = 0; i < L::size; i += W::size) {
          using Blocks = ElementBlocks<W>;
          const auto words = Blocks::generate(key, Blocks::elements(index + i), random.draw);
          const auto x = resized<R>(words.below(op.range) + low);
          std::memcpy(out.v + i, &x.v, sizeof x.v);
        }
        return L::template from<R>(out);
      }
    }
    if constexpr (std::is_same_v<O, ops::RandomTruncatedNormal>) {
      const double* const x =
          recent_normals<W>.at(op.key(random.seed), random.draw, index, L::size);
      for (int i = 0; i < L::size; ++i) out.v[i] = static_cast<R>(x[i]);
    } else {
      for (int i = 0; i < L::size; ++i) out.v[i] = op.template element<R>(random, index + i);
    }
    return L::template from<R>(out);
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
