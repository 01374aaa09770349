// SPDX-License-Identifier: Apache-2.0
#pragma once

// CRC-32C (Castagnoli), the checksum of TFRecord files, and the mask with which they store it, so
// that the checksum of data that contains checksums is no special one.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "typeflow/core/config.hpp"

#if defined(__SSE4_2__) && defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// Tables for eight bytes at a time. (Kounavis and Berry, A systematic approach to building high
/// performance software-based CRC generators, 2005.)
inline constexpr auto crc32c_tables = [] {
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1u) != 0 ? 0x82f63b78u : 0u);
    tables[0][i] = crc;
  }
  for (std::size_t t = 1; t < 8; ++t) {
    for (std::size_t i = 0; i < 256; ++i) {
      const std::uint32_t crc = tables[t - 1][i];
      tables[t][i] = crc >> 8 ^ tables[0][crc & 0xffu];
    }
  }
  return tables;
}();

/// The same on any machine.
inline std::uint32_t crc32c_by_tables(std::span<const std::byte> bytes) {
  const auto& t = crc32c_tables;
  std::uint32_t crc = 0xffffffffu;
  const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    const std::uint32_t low = crc ^ (std::uint32_t{at[0]} | std::uint32_t{at[1]} << 8 |
                                     std::uint32_t{at[2]} << 16 | std::uint32_t{at[3]} << 24);
    crc = t[7][low & 0xffu] ^ t[6][low >> 8 & 0xffu] ^ t[5][low >> 16 & 0xffu] ^ t[4][low >> 24] ^
          t[3][at[4]] ^ t[2][at[5]] ^ t[1][at[6]] ^ t[0][at[7]];
  }
  for (; left > 0; --left, ++at) crc = crc >> 8 ^ t[0][(crc ^ *at) & 0xffu];
  return ~crc;
}

#if defined(__SSE4_2__) && defined(__x86_64__)

/// A CRC goes on over `crc32c_part` zero bytes: tables by the CRC's four bytes. The operation is
/// linear over bits, so parts of the data can be taken at the same time, and joined.
inline constexpr std::size_t crc32c_part = 256;
inline constexpr auto crc32c_zeros = [] {
  std::array<std::uint32_t, 32> bits{};
  for (std::size_t bit = 0; bit < 32; ++bit) {
    std::uint32_t crc = std::uint32_t{1} << bit;
    for (std::size_t i = 0; i < crc32c_part; ++i) crc = crc >> 8 ^ crc32c_tables[0][crc & 0xffu];
    bits[bit] = crc;
  }
  std::array<std::array<std::uint32_t, 256>, 4> tables{};
  for (std::size_t t = 0; t < 4; ++t) {
    for (std::size_t value = 0; value < 256; ++value) {
      for (std::size_t bit = 0; bit < 8; ++bit) {
        if ((value >> bit & 1u) != 0) tables[t][value] ^= bits[8 * t + bit];
      }
    }
  }
  return tables;
}();

inline std::uint64_t crc32c_word(std::uint64_t crc, const std::byte* at) {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return _mm_crc32_u64(crc, word);
}

#endif

inline std::uint32_t crc32c(std::span<const std::byte> bytes) {
#if defined(__SSE4_2__) && defined(__x86_64__)
  std::uint64_t crc = 0xffffffffu;
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  // The instruction takes three cycles, and one can start in each: three parts at a time.
  const auto over_zeros = [](std::uint64_t x) -> std::uint64_t {
    return crc32c_zeros[0][x & 0xffu] ^ crc32c_zeros[1][x >> 8 & 0xffu] ^
           crc32c_zeros[2][x >> 16 & 0xffu] ^ crc32c_zeros[3][x >> 24 & 0xffu];
  };
  for (; left >= 3 * crc32c_part; left -= 3 * crc32c_part, at += 3 * crc32c_part) {
    std::uint64_t second = 0;
    std::uint64_t third = 0;
    for (std::size_t i = 0; i < crc32c_part; i += 8) {
      crc = crc32c_word(crc, at + i);
      second = crc32c_word(second, at + crc32c_part + i);
      third = crc32c_word(third, at + 2 * crc32c_part + i);
    }
    crc = over_zeros(over_zeros(crc) ^ second) ^ third;
  }
  for (; left >= 8; left -= 8, at += 8) crc = crc32c_word(crc, at);
  auto rest = static_cast<std::uint32_t>(crc);
  for (; left > 0; --left, ++at) rest = _mm_crc32_u8(rest, static_cast<unsigned char>(*at));
  return ~rest;
#else
  return crc32c_by_tables(bytes);
#endif
}

inline std::uint32_t masked_crc32c(std::span<const std::byte> bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
