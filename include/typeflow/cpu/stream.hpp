// SPDX-License-Identifier: Apache-2.0
#pragma once

// Copies past the caches.
//
// Before a processor writes to a line of memory, it reads the line. A streamed store does not,
// which saves a third of a copy's traffic. But then the line is in no cache. So streaming is for
// results that would have left the cache anyway before they are read.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "typeflow/cpu/xsimd.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// Results with at least so many bytes are streamed. For smaller ones, copying and then reading the
/// copy takes longer. (Measured: at 8 MiB both are equal, on a core with 2 MiB of its own.) The
/// operands are as large.
inline constexpr std::int64_t streamed_bytes = std::int64_t{12} << 20;

/// Whether a copy that reads and writes so many bytes is streamed: if they leave the cache
/// together. For fewer, such as 12 MB that are padded to 16 MB, streamed stores took a fifth
/// longer.
constexpr bool is_streamed_copy(std::int64_t read, std::int64_t written) {
  return read + written >= streamed_bytes / 2 * 5;
}

/// A register's bytes, and a store of them past the caches.
struct Streamed {
#if defined(__AVX512F__)
  static constexpr std::size_t width = 64;
  static void copy(std::byte* to, const std::byte* from) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_loadu_si512(from));
  }
#elif defined(__AVX__)
  static constexpr std::size_t width = 32;
  static void copy(std::byte* to, const std::byte* from) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
#elif defined(__SSE2__)
  static constexpr std::size_t width = 16;
  static void copy(std::byte* to, const std::byte* from) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
#else  // no such stores
  static constexpr std::size_t width = 1;
  static void copy(std::byte* to, const std::byte* from) { *to = *from; }
#endif
};

/// Like memcpy, but others see the copy only after end_streams().
inline void stream_copy(void* to, const void* from, std::size_t bytes) {
  constexpr std::size_t width = Streamed::width;
  constexpr std::size_t few = 512;  // too few: their lines would not be written at once
  if (width == 1 || bytes < few) {
    std::memcpy(to, from, bytes);
    return;
  }
  std::byte* out = static_cast<std::byte*>(to);
  const std::byte* in = static_cast<const std::byte*>(from);
  const std::size_t head = (width - reinterpret_cast<std::uintptr_t>(out) % width) % width;
  std::memcpy(out, in, head);
  std::size_t i = head;
  for (; i + width <= bytes; i += width) Streamed::copy(out + i, in + i);
  std::memcpy(out + i, in + i, bytes - i);
}

/// Whether registers can be streamed to the beginnings of rows of `pitch` elements, and behind
/// them.
template <class T>
bool is_streamable(const T* rows, std::int64_t pitch) {
  constexpr std::size_t width = Streamed::width;
  return width > 1 && reinterpret_cast<std::uintptr_t>(rows) % width == 0 &&
         static_cast<std::size_t>(pitch) * sizeof(T) % width == 0;
}

/// Streams a register's elements, if it is as wide as streams are; `to` must be aligned.
template <class T, class A>
TYPEFLOW_INLINE void stream_register(T* to, const xsimd::batch<T, A>& x) {
  constexpr bool wide = sizeof x == Streamed::width;
#if defined(__AVX512F__)
  if constexpr (wide && std::is_same_v<T, float>) return _mm512_stream_ps(to, x);
  if constexpr (wide && std::is_same_v<T, double>) return _mm512_stream_pd(to, x);
#elif defined(__AVX__)
  if constexpr (wide && std::is_same_v<T, float>) return _mm256_stream_ps(to, x);
  if constexpr (wide && std::is_same_v<T, double>) return _mm256_stream_pd(to, x);
#elif defined(__SSE2__)
  if constexpr (wide && std::is_same_v<T, float>) return _mm_stream_ps(to, x);
  if constexpr (wide && std::is_same_v<T, double>) return _mm_stream_pd(to, x);
#endif
  if constexpr (!wide) x.store_unaligned(to);
}

/// Streams a register's bits; `to` must be aligned to their number.
template <class V>
TYPEFLOW_INLINE void stream_bits(void* to, const V& x) {
#if defined(__AVX512F__)
  if constexpr (sizeof x == 64) {
    __m512i bits;
    std::memcpy(&bits, &x, sizeof x);
    return _mm512_stream_si512(static_cast<__m512i*>(to), bits);
  } else if constexpr (sizeof x == 32) {
    __m256i bits;
    std::memcpy(&bits, &x, sizeof x);
    return _mm256_stream_si256(static_cast<__m256i*>(to), bits);
  } else if constexpr (sizeof x == 16) {
    __m128i bits;
    std::memcpy(&bits, &x, sizeof x);
    return _mm_stream_si128(static_cast<__m128i*>(to), bits);
  }
#endif
  std::memcpy(to, &x, sizeof x);
}

/// Ends the streaming of a thread: its later stores are seen after the streamed ones.
inline void end_streams() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

/// Copies elements that lie together.
template <class T>
void copy_run(const T* in, std::int64_t count, T* out, bool streams) {
  if (count == 0) return;
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
  if (streams) {
    stream_copy(out, in, bytes);
  } else {
    std::memcpy(out, in, bytes);
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
