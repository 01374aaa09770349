// SPDX-License-Identifier: Apache-2.0
#pragma once

// What stands in front of a record of a TFRecord file, and behind it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "typeflow/records/crc32c.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

inline constexpr std::size_t record_header = 12;  ///< bytes in front of a record

inline std::uint64_t little_endian(const unsigned char* bytes, int count) {
  std::uint64_t number = 0;
  for (int i = count; i-- > 0;) number = number << 8 | bytes[i];
  return number;
}
inline void store_little_endian(std::uint64_t number, unsigned char* bytes, int count) {
  for (int i = 0; i < count; ++i) bytes[i] = static_cast<unsigned char>(number >> (8 * i));
}
inline bool has_checksum(const unsigned char* bytes, std::size_t count, const unsigned char* crc) {
  return masked_crc32c(std::as_bytes(std::span(bytes, count))) == little_endian(crc, 4);
}

/// The length and its checksum.
inline std::array<unsigned char, record_header> header_of(std::span<const std::byte> record) {
  std::array<unsigned char, record_header> header;
  store_little_endian(record.size(), header.data(), 8);
  store_little_endian(masked_crc32c(std::as_bytes(std::span(header)).first(8)), header.data() + 8,
                      4);
  return header;
}
/// The record's checksum.
inline std::array<unsigned char, 4> footer_of(std::span<const std::byte> record) {
  std::array<unsigned char, 4> footer;
  store_little_endian(masked_crc32c(record), footer.data(), 4);
  return footer;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
