// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sorting of keys of 64 bits: 32 bits to compare by, and below them a position. No two keys are
// equal, so every method gives the same result, whatever the number of threads.
//
// With AVX-512, keys are partitioned by registers (quicksort), and few of them are sorted by a
// bitonic network. Elsewhere they are sorted by their bytes, the last byte first (LSD radix sort).
// Sources: Bramas, A novel hybrid quicksort algorithm vectorized using AVX-512, 2017; Batcher,
// Sorting networks and their applications, 1968.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "typeflow/cpu/rows.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// Sorts keys whose positions ascend.
class KeySorter {
 public:
  /// The least number of keys of a thread's part.
  static constexpr std::int64_t least_part = 16384;

  /// Sorts `count` keys; `spare` has room for as many.
  static void sort(std::uint64_t* keys, std::uint64_t* spare, std::int64_t count) {
#if defined(__AVX512F__)
    quicksort(keys, spare, count,
              2 * static_cast<int>(std::bit_width(static_cast<std::uint64_t>(count))));
#else
    radix_sort(keys, spare, count);
#endif
  }

  /// The same by several threads: parts of different ranges of keys are sorted at the same time.
  static void sort(const KernelCall& call, std::uint64_t* keys, std::uint64_t* spare,
                   std::int64_t count) {
    constexpr int most = 8;
    std::int64_t first[most + 1] = {0, count};
    int parts = 1;
    while (parts < most && count > 2 * least_part * parts) {
      for (int i = parts; i-- > 0;) {
        const std::int64_t begin = first[i];
        const std::int64_t n = first[i + 1] - begin;
        first[2 * i + 2] = first[i + 1];
        first[2 * i] = begin;
        first[2 * i + 1] = begin + (n < least_part ? n
                                                   : partition(keys + begin, spare + begin, n,
                                                               middle(keys + begin, n)));
      }
      parts *= 2;
    }
    parallel(call, parts, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        sort(keys + first[i], spare + first[i], first[i + 1] - first[i]);
      }
    });
  }

 private:
  /// A key of about the middle of at least 64.
  static std::uint64_t middle(const std::uint64_t* keys, std::int64_t count) {
    constexpr std::int64_t samples = 64;
    std::uint64_t sample[samples];
    for (std::int64_t i = 0; i < samples; ++i) sample[i] = keys[count / samples * i];
    std::nth_element(sample, sample + samples / 2, sample + samples);
    return sample[samples / 2];
  }

#if defined(__AVX512F__)
  static constexpr std::int64_t N = 8;     ///< keys in a register
  static constexpr std::int64_t few = 64;  ///< keys that a network sorts
  using Register = __m512i;

  static void quicksort(std::uint64_t* keys, std::uint64_t* spare, std::int64_t count, int depth) {
    while (count > few) {
      if (depth-- == 0) {  // bad pivots
        std::sort(keys, keys + count);
        return;
      }
      const std::uint64_t pivot = count < 1024 ? middle_of_8(keys, count) : middle(keys, count);
      const std::int64_t less = partition(keys, spare, count, pivot);
      quicksort(keys + less, spare, count - less, depth);
      count = less;
    }
    if (count > few / 2) {
      network<8>(keys, count);
    } else if (count > few / 4) {
      network<4>(keys, count);
    } else if (count > 1) {
      network<2>(keys, count);
    }
  }
  static std::uint64_t middle_of_8(const std::uint64_t* keys, std::int64_t count) {
    std::uint64_t sample[N];
    for (std::int64_t i = 0; i < N; ++i) sample[i] = keys[count / N * i];
    network<1>(sample, N);
    return sample[N / 2];
  }

  /// Puts keys below the pivot first, and returns how many there are. Both parts keep their order.
  static std::int64_t partition(std::uint64_t* keys, std::uint64_t* spare, std::int64_t count,
                                std::uint64_t pivot) {
    const Register limit = _mm512_set1_epi64(static_cast<long long>(pivot));
    std::int64_t less = 0;
    std::int64_t others = 0;
    std::int64_t i = 0;
    for (; i + N <= count; i += N) {
      const Register x = _mm512_loadu_si512(keys + i);
      const __mmask8 below = _mm512_cmplt_epu64_mask(x, limit);
      const int n = std::popcount(static_cast<unsigned>(below));
      // No more keys are in either part than have been read, so both stores have room.
      _mm512_storeu_si512(keys + less, _mm512_maskz_compress_epi64(below, x));
      _mm512_storeu_si512(spare + others,
                          _mm512_maskz_compress_epi64(static_cast<__mmask8>(~below), x));
      less += n;
      others += N - n;
    }
    for (; i < count; ++i) {
      if (keys[i] < pivot) {
        keys[less++] = keys[i];
      } else {
        spare[others++] = keys[i];
      }
    }
    std::memcpy(keys + less, spare, static_cast<std::size_t>(others) * sizeof(std::uint64_t));
    return less;
  }

  /// The first n lanes.
  static __mmask8 lanes(std::int64_t n) {
    return static_cast<__mmask8>((1u << std::clamp<std::int64_t>(n, 0, N)) - 1);
  }

  template <int V>
  struct Registers {
    Register of[V];
  };
  /// Calls f(constant) for 0, 1 ... Count - 1.
  template <int Count, class F>
  TYPEFLOW_INLINE static void each(const F& f) {
    [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
      (f(std::integral_constant<int, I>{}), ...);
    }(std::make_integer_sequence<int, Count>{});
  }

  /// Sorts up to 8 V keys.
  template <int V>
  [[gnu::flatten]] static void network(std::uint64_t* keys, std::int64_t count) {
    Registers<V> x;
    const Register last = _mm512_set1_epi64(-1);
    each<V>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
      x.of[i] = _mm512_mask_loadu_epi64(last, lanes(count - N * i), keys + N * i);
      sort_lanes(x.of[i]);
    });
    if constexpr (V >= 2) merge<V, 1>(x);
    if constexpr (V >= 4) merge<V, 2>(x);
    if constexpr (V >= 8) merge<V, 4>(x);
    each<V>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
      _mm512_mask_storeu_epi64(keys + N * i, lanes(count - N * i), x.of[i]);
    });
  }
  TYPEFLOW_INLINE static void sort_lanes(Register& x) {
    exchange(x, _mm512_shuffle_epi32(x, _MM_PERM_BADC), 0xaa);
    exchange(x, _mm512_permutex_epi64(x, 0x1b), 0xcc);
    exchange(x, _mm512_shuffle_epi32(x, _MM_PERM_BADC), 0xaa);
    exchange(x, reversed(x), 0xf0);
    exchange(x, _mm512_permutex_epi64(x, 0x4e), 0xcc);
    exchange(x, _mm512_shuffle_epi32(x, _MM_PERM_BADC), 0xaa);
  }
  /// Merges sorted sequences of `Width` registers two by two.
  template <int V, int Width>
  TYPEFLOW_INLINE static void merge(Registers<V>& x) {
    each<V / 2>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
      constexpr int low = i / Width * (2 * Width) + i % Width;
      constexpr int mirrored = i / Width * (2 * Width) + 2 * Width - 1 - i % Width;
      // Registers of the second sequence are exchanged two by two, so none is read too late.
      if constexpr (i % Width < (Width + 1) / 2) {
        constexpr int other_low = i / Width * (2 * Width) + Width - 1 - i % Width;
        constexpr int other = i / Width * (2 * Width) + Width + i % Width;
        const Register a = reversed(x.of[mirrored]);
        const Register b = reversed(x.of[other]);
        x.of[mirrored] = b;
        x.of[other] = a;
        order(x.of[low], x.of[other]);
        if constexpr (other_low != low) order(x.of[other_low], x.of[mirrored]);
      }
    });
    if constexpr (Width >= 4) order_apart<V, 2>(x);
    if constexpr (Width >= 2) order_apart<V, 1>(x);
    each<V>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
      Register& y = x.of[i];
      exchange(y, _mm512_shuffle_i64x2(y, y, 0x4e), 0xf0);
      exchange(y, _mm512_permutex_epi64(y, 0x4e), 0xcc);
      exchange(y, _mm512_shuffle_epi32(y, _MM_PERM_BADC), 0xaa);
    });
  }
  template <int V, int Distance>
  TYPEFLOW_INLINE static void order_apart(Registers<V>& x) {
    each<V>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
      if constexpr ((i & Distance) == 0) order(x.of[i], x.of[i + Distance]);
    });
  }
  TYPEFLOW_INLINE static void order(Register& a, Register& b) {
    const Register low = a;
    a = _mm512_min_epu64(low, b);
    b = _mm512_max_epu64(low, b);
  }
  /// Each lane and its partner in order; `upper` are the lanes that get the larger one.
  TYPEFLOW_INLINE static void exchange(Register& x, Register partner, __mmask8 upper) {
    x = _mm512_mask_max_epu64(_mm512_min_epu64(x, partner), upper, x, partner);
  }
  TYPEFLOW_INLINE static Register reversed(Register x) {
    return _mm512_permutexvar_epi64(_mm512_set_epi64(0, 1, 2, 3, 4, 5, 6, 7), x);
  }
#else
  static std::int64_t partition(std::uint64_t* keys, std::uint64_t* spare, std::int64_t count,
                                std::uint64_t pivot) {
    std::int64_t less = 0;
    std::int64_t others = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint64_t key = keys[i];
      keys[less] = key;
      spare[others] = key;
      less += key < pivot ? 1 : 0;
      others += key < pivot ? 0 : 1;
    }
    std::memcpy(keys + less, spare, static_cast<std::size_t>(others) * sizeof(std::uint64_t));
    return less;
  }

  static void radix_sort(std::uint64_t* keys, std::uint64_t* spare, std::int64_t count) {
    constexpr std::int64_t few = 48;  // keys that are sorted by comparing
    if (count <= few) {
      std::sort(keys, keys + count);
      return;
    }
    constexpr int digits = 4;
    const auto digit = [](std::uint64_t key, int d) { return key >> (32 + 8 * d) & 255u; };
    std::uint32_t counts[digits][256] = {};
    for (std::int64_t i = 0; i < count; ++i) {
      for (int d = 0; d < digits; ++d) ++counts[d][digit(keys[i], d)];
    }
    std::uint64_t* from = keys;
    std::uint64_t* to = spare;
    for (int d = 0; d < digits; ++d) {
      std::uint32_t* const place = counts[d];
      if (place[digit(*from, d)] == static_cast<std::uint32_t>(count)) continue;  // all are equal
      std::uint32_t next = 0;
      for (int i = 0; i < 256; ++i) next += std::exchange(place[i], next);
      for (std::int64_t i = 0; i < count; ++i) to[place[digit(from[i], d)]++] = from[i];
      std::swap(from, to);
    }
    if (from != keys) {
      std::memcpy(keys, from, static_cast<std::size_t>(count) * sizeof(std::uint64_t));
    }
  }
#endif
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
