// SPDX-License-Identifier: Apache-2.0
#pragma once

// Registers of bytes or words that are made of any units of one or two registers in memory, and of
// padding (cpu/pattern_copy.hpp).

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "typeflow/cpu/xsimd.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// A number of 1 to 16 bytes, for padding.
class Filling {
 public:
  Filling() = default;
  Filling(const void* number, std::int64_t size) {
    for (std::int64_t i = 0; i < width; i += size) {
      std::memcpy(byte_ + i, number, static_cast<std::size_t>(size));
    }
  }
  /// Writes whole numbers.
  void fill(std::byte* to, std::int64_t bytes) const {
    if (bytes < width) {
      std::memcpy(to, byte_, static_cast<std::size_t>(bytes));
      return;
    }
    const Filling all = *this;  // which `to` is no part of
    for (std::int64_t i = 0; i + width < bytes; i += width) std::memcpy(to + i, all.byte_, width);
    std::memcpy(to + bytes - width, all.byte_, width);
  }
  template <class T>
  void fill(T* first, T* last) const {
    fill(reinterpret_cast<std::byte*>(first),
         (last - first) * static_cast<std::int64_t>(sizeof(T)));
  }
  std::byte byte(std::int64_t i) const { return byte_[i % width]; }

 private:
  static constexpr std::int64_t width = 64;
  std::byte byte_[width] = {};
};

// A register type loads a window of two registers' size, or of one, and permutes its units: lane i
// of the result is unit index[i]. pad() puts bytes of `filling` where those of `mask` are set.

#if defined(__AVX512BW__)
/// 64 bytes in units that Permute moves.
template <class Permute>
struct WidePermutation {
  static constexpr int width = 64;
  using Unit = typename Permute::Unit;
  using Index = __m512i;
  /// One register, or two that lie one after the other.
  struct Window {
    __m512i low;
    __m512i high;
  };
  TYPEFLOW_INLINE static Index index(const void* from) { return _mm512_load_si512(from); }
  template <bool Two>
  TYPEFLOW_INLINE static Window window(const std::byte* from) {
    Window x;
    x.low = _mm512_loadu_si512(from);
    if constexpr (Two) x.high = _mm512_loadu_si512(from + width);
    return x;
  }
  template <bool Two>
  TYPEFLOW_INLINE static __m512i permuted(const Window& x, const Index& order) {
    if constexpr (Two) {
      return Permute::of_two(x.low, order, x.high);
    } else {
      return Permute::of_one(order, x.low);
    }
  }
  TYPEFLOW_INLINE static __m512i pad(__m512i x, __m512i filling, __m512i mask) {
    return _mm512_ternarylogic_epi64(x, filling, mask, 0xdc);  // (x & ~mask) | filling
  }
  TYPEFLOW_INLINE static void store(std::byte* to, __m512i x) { _mm512_storeu_si512(to, x); }
  TYPEFLOW_INLINE static void stream(std::byte* to, __m512i x) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), x);
  }
};
struct PermuteWords {
  using Unit = std::uint32_t;
  TYPEFLOW_INLINE static __m512i of_one(__m512i order, __m512i x) {
    return _mm512_permutexvar_epi32(order, x);
  }
  TYPEFLOW_INLINE static __m512i of_two(__m512i low, __m512i order, __m512i high) {
    return _mm512_permutex2var_epi32(low, order, high);
  }
};
using WordPermutation = WidePermutation<PermuteWords>;
#endif

#if defined(__AVX512VBMI__)
struct PermuteBytes {
  using Unit = std::uint8_t;
  TYPEFLOW_INLINE static __m512i of_one(__m512i order, __m512i x) {
    return _mm512_permutexvar_epi8(order, x);
  }
  TYPEFLOW_INLINE static __m512i of_two(__m512i low, __m512i order, __m512i high) {
    return _mm512_permutex2var_epi8(low, order, high);
  }
};
using BytePermutation = WidePermutation<PermuteBytes>;
#elif defined(__SSSE3__)
/// 16 bytes.
struct BytePermutation {
  static constexpr int width = 16;
  using Unit = std::uint8_t;
  using Index = __m128i;
  struct Window {
    __m128i low;
    __m128i high;
  };
  TYPEFLOW_INLINE static Index index(const void* from) {
    return _mm_load_si128(static_cast<const __m128i*>(from));
  }
  template <bool Two>
  TYPEFLOW_INLINE static Window window(const std::byte* from) {
    const auto* const at = reinterpret_cast<const __m128i*>(from);
    Window x;
    x.low = _mm_loadu_si128(at);
    if constexpr (Two) x.high = _mm_loadu_si128(at + 1);
    return x;
  }
  template <bool Two>
  TYPEFLOW_INLINE static __m128i permuted(const Window& x, const Index& order) {
    if constexpr (Two) {
      // A shuffle makes zero where the upper bit of an index byte is set.
      const __m128i of_low = _mm_add_epi8(order, _mm_set1_epi8(0x70));
      const __m128i of_high = _mm_sub_epi8(order, _mm_set1_epi8(16));
      return _mm_or_si128(_mm_shuffle_epi8(x.low, of_low), _mm_shuffle_epi8(x.high, of_high));
    } else {
      return _mm_shuffle_epi8(x.low, order);
    }
  }
  TYPEFLOW_INLINE static __m128i pad(__m128i x, __m128i filling, __m128i mask) {
    return _mm_or_si128(_mm_andnot_si128(mask, x), filling);
  }
  TYPEFLOW_INLINE static void store(std::byte* to, __m128i x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), x);
  }
  TYPEFLOW_INLINE static void stream(std::byte* to, __m128i x) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), x);
  }
};
#endif

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
