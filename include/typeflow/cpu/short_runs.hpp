// SPDX-License-Identifier: Apache-2.0
#pragma once

// Copies of many short runs of bytes, as concat and slice make of rows of a few elements.
//
// A run is copied by two moves of a fixed size, which may overlap: 12 bytes are bytes 0 to 7, and 4
// to 11.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// Runs with the same distance from one to the next, in bytes.
template <class Byte>
struct ShortRuns {
  Byte* first;
  std::int64_t pitch;
};

/// Runs of at most so many bytes are short.
inline constexpr std::int64_t short_run = 128;

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

/// Copies `count` runs of 1 to `short_run` bytes.
inline void copy_short_runs(ShortRuns<const std::byte> from, ShortRuns<std::byte> to,
                            std::int64_t count, std::int64_t bytes) {
  if (bytes > 64) return copy_pairs<64>(from, to, count, bytes);
  if (bytes > 32) return copy_pairs<32>(from, to, count, bytes);
  if (bytes > 16) return copy_pairs<16>(from, to, count, bytes);
  if (bytes > 8) return copy_pairs<8>(from, to, count, bytes);
  if (bytes > 4) return copy_pairs<4>(from, to, count, bytes);
  if (bytes > 2) return copy_pairs<2>(from, to, count, bytes);
  copy_pairs<1>(from, to, count, bytes);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
