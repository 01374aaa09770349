// SPDX-License-Identifier: Apache-2.0
#pragma once

// The rate at which a copy moves memory: what operations that only move memory can reach.

#include <algorithm>
#include <cstddef>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <typeflow/typeflow.hpp>

namespace bench {

/// A copy whose stores pass the caches by, of a multiple of 16 bytes. memcpy does that only for
/// sizes beyond those here.
inline void streaming_copy(std::byte* to, const std::byte* from, std::size_t size) {
#ifdef __SSE2__
  for (std::size_t i = 0; i < size; i += sizeof(__m128i)) {
    const __m128i bits = _mm_load_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), bits);
  }
  _mm_sfence();
#else
  std::memcpy(to, from, size);
#endif
}

/// Bytes a second that a copy on one thread reads and writes if these are `moved` in all: of memcpy
/// or of streaming_copy, whichever is faster. seconds_of(call) measures a call. Rates depend on
/// `moved`, since what fits the caches stays there between the calls.
template <class F>
double copy_rate(std::size_t moved, const F& seconds_of) {
  const std::size_t size = moved / 2 / 64 * 64;
  const typeflow::AlignedBytes from(static_cast<std::int64_t>(size));
  const typeflow::AlignedBytes to(static_cast<std::int64_t>(size));
  std::memset(from.data(), 1, size);
  std::memset(to.data(), 1, size);
  const double seconds =
      std::min(seconds_of([&] { std::memcpy(to.data(), from.data(), size); }),
               seconds_of([&] { streaming_copy(to.data(), from.data(), size); }));
  return 2 * static_cast<double>(size) / seconds;
}

}  // namespace bench
