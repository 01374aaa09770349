// SPDX-License-Identifier: Apache-2.0
#pragma once

// Copies of many short runs of bytes, as concat and slice make of rows of a few elements.
//
// A run is copied by two moves of a fixed size, which may overlap: 12 bytes are bytes 0 to 7, and 4
// to 11. If the copies lie side by side, one move is enough: it writes beyond its run, where the
// next run is written then.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "typeflow/core/config.hpp"
#include "typeflow/cpu/stream.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// Runs with the same distance from one to the next, in bytes.
template <class Byte>
struct ShortRuns {
  Byte* first;
  std::int64_t pitch;
};

/// Runs of at most so many bytes are short: memcpy takes up to twice as long for many of them. (It
/// may begin with their ends, which no processor expects, or use an instruction that is made for
/// more.)
inline constexpr std::int64_t short_run = 8192;
/// Up to so many bytes, memcpy is as quick, and it does not pay to align what is written.
inline constexpr std::int64_t few_lines = 512;

/// Copies `count` runs of `Size` to 2 * `Size` bytes.
template <std::size_t Size>
inline void copy_pairs(ShortRuns<const std::byte> from, ShortRuns<std::byte> to, std::int64_t count,
                       std::int64_t bytes) {
  struct Move {
    std::byte byte[Size];
  };
  const std::int64_t second = bytes - static_cast<std::int64_t>(Size);
  for (std::int64_t i = 0; i < count; ++i) {
    Move low;
    Move high;
    std::memcpy(&low, from.first, Size);
    std::memcpy(&high, from.first + second, Size);
    std::memcpy(to.first, &low, Size);
    std::memcpy(to.first + second, &high, Size);
    from.first += from.pitch;
    to.first += to.pitch;
  }
}

/// Copies the first of `count` runs of up to `Size` bytes to runs side by side. Leaves out the last
/// ones, which have not so many bytes behind their beginnings; returns how many were copied.
template <std::size_t Size>
inline std::int64_t copy_overlapping(ShortRuns<const std::byte> from, std::byte* to,
                                     std::int64_t count, std::int64_t bytes) {
  const std::int64_t whole = count - (static_cast<std::int64_t>(Size) - 1) / bytes;
  for (std::int64_t i = 0; i < whole; ++i) {
    std::byte move[Size];
    std::memcpy(move, from.first + i * from.pitch, Size);
    std::memcpy(to + i * bytes, move, Size);
  }
  return std::max<std::int64_t>(0, whole);
}

/// Bytes from a run that is read to one that is fetched, if runs have gaps, which processors do not
/// expect; otherwise 0.
inline std::int64_t fetched_ahead(ShortRuns<const std::byte> from, std::int64_t bytes) {
  constexpr std::int64_t fetched = 2048;
  return from.pitch == 0 || from.pitch == bytes ? 0 : (fetched + bytes - 1) / bytes * from.pitch;
}

/// Copies `count` runs of 64 bytes or more.
inline void copy_lines(ShortRuns<const std::byte> from, ShortRuns<std::byte> to, std::int64_t count,
                       std::int64_t bytes) {
  constexpr std::int64_t line = 64;
  struct Line {
    std::byte byte[line];
  };
  const auto copy = [&](auto lines, std::int64_t k) {
    Line x[lines()];
    for (int i = 0; i < lines(); ++i) std::memcpy(&x[i], from.first + k + i * line, line);
    for (int i = 0; i < lines(); ++i) std::memcpy(to.first + k + i * line, &x[i], line);
  };
  constexpr std::integral_constant<int, 1> one;
  constexpr std::integral_constant<int, 4> four;
  const std::int64_t ahead = fetched_ahead(from, bytes);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t k = 0;
    if (bytes > few_lines) {
      // Whole lines are written, but for the ends. Lines are read before others are written that
      // may have the same address in a page: a read would wait for the write.
      copy(one, 0);
      k = line - static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to.first) % line);
      for (; k + 4 * line < bytes; k += 4 * line) {
        for (int l = 0; l < 4 && ahead != 0; ++l) {
          __builtin_prefetch(from.first + k + ahead + l * line);
        }
        copy(four, k);
      }
    }
    for (; k + line < bytes; k += line) {
      if (ahead != 0) __builtin_prefetch(from.first + k + ahead);
      copy(one, k);
    }
    copy(one, bytes - line);
    from.first += from.pitch;
    to.first += to.pitch;
  }
}

/// The same past the caches, for whole aligned lines.
inline void stream_lines(ShortRuns<const std::byte> from, ShortRuns<std::byte> to,
                         std::int64_t count, std::int64_t bytes) {
  constexpr std::int64_t width = Streamed::width;
  const std::int64_t ahead = fetched_ahead(from, bytes);
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t k = 0; ahead != 0 && k < bytes; k += 64) {
      __builtin_prefetch(from.first + k + ahead);
    }
    for (std::int64_t k = 0; k < bytes; k += width) Streamed::copy(to.first + k, from.first + k);
    from.first += from.pitch;
    to.first += to.pitch;
  }
}
/// Whether runs consist of whole aligned lines.
inline bool are_lines(ShortRuns<std::byte> to, std::int64_t bytes) {
  const auto begin = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to.first));
  return Streamed::width > 1 && (begin | to.pitch | bytes) % 64 == 0;
}

/// Copies `count` runs of 1 to `short_run` bytes.
/// With `streams`, other threads see the copies only after end_streams().
inline void copy_short_runs(ShortRuns<const std::byte> from, ShortRuns<std::byte> to,
                            std::int64_t count, std::int64_t bytes, bool streams = false) {
  if (streams && are_lines(to, bytes)) return stream_lines(from, to, count, bytes);
  if (streams && bytes > few_lines) {
    for (std::int64_t i = 0; i < count; ++i) {
      stream_copy(to.first + i * to.pitch, from.first + i * from.pitch,
                  static_cast<std::size_t>(bytes));
    }
    return;
  }
  if (to.pitch == bytes && from.pitch >= bytes && bytes > 2 && bytes <= 64) {
    std::int64_t done = 0;
    if (bytes > 32) {
      done = copy_overlapping<64>(from, to.first, count, bytes);
    } else if (bytes > 16) {
      done = copy_overlapping<32>(from, to.first, count, bytes);
    } else if (bytes > 8) {
      done = copy_overlapping<16>(from, to.first, count, bytes);
    } else {
      done = copy_overlapping<8>(from, to.first, count, bytes);
    }
    from.first += done * from.pitch;
    to.first += done * to.pitch;
    count -= done;
  }
  if (bytes > 128) return copy_lines(from, to, count, bytes);
  if (bytes > 64) return copy_pairs<64>(from, to, count, bytes);
  if (bytes > 32) return copy_pairs<32>(from, to, count, bytes);
  if (bytes > 16) return copy_pairs<16>(from, to, count, bytes);
  if (bytes > 8) return copy_pairs<8>(from, to, count, bytes);
  if (bytes > 4) return copy_pairs<4>(from, to, count, bytes);
  if (bytes > 2) return copy_pairs<2>(from, to, count, bytes);
  copy_pairs<1>(from, to, count, bytes);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
