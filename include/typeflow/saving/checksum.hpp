// SPDX-License-Identifier: Apache-2.0
#pragma once

// The checksum of a file of variables: zlib's CRC-32 of all its bytes. The header's metadata has it
// as eight hexadecimal digits, which count as "00000000" in the checksum.

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "typeflow/core/error.hpp"
#include "typeflow/saving/safetensors.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

inline constexpr std::string_view checksum_key = "typeflow.crc32";
inline constexpr std::string_view no_checksum = "00000000";

/// Continues a checksum: `before` is that of the bytes in front of these, or 0 at the start.
inline std::uint32_t crc32_of(std::span<const std::byte> bytes, std::uint32_t before = 0) {
  const auto* const first = reinterpret_cast<const unsigned char*>(bytes.data());
  return bytes.empty() ? before
                       : static_cast<std::uint32_t>(::crc32_z(before, first, bytes.size()));
}
inline std::string checksum_text(std::uint32_t checksum) {
  std::string text(no_checksum);
  for (std::size_t i = text.size(); i-- > 0; checksum >>= 4) {
    text[i] = "0123456789abcdef"[checksum & 15];
  }
  return text;
}
/// The position of the digits in a header; npos if another program wrote it in another layout. It
/// finds no match inside of a JSON text, because quotes are escaped there.
inline std::size_t checksum_place(std::string_view header, std::string_view digits) {
  std::string entry = '"' + std::string(checksum_key) + "\":\"";
  const std::size_t length = entry.size();
  const std::size_t found = header.find(entry.append(digits) + '"');
  return found == header.npos ? found : found + length;
}

/// Throws Error if a file has a checksum and its bytes have another.
TYPEFLOW_COLD inline void check_checksum(std::span<const std::byte> bytes, const SavedFile& file,
                                         const std::string& source) {
  const auto found = file.metadata.find(checksum_key);
  if (found == file.metadata.end()) return;
  const std::string& expected = found->second;
  const auto header = bytes.first(bytes.size() - file.data.size());
  const std::size_t place =
      checksum_place({reinterpret_cast<const char*>(header.data()), header.size()}, expected);
  if (place == std::string_view::npos) return;
  std::uint32_t checksum = crc32_of(header.first(place));
  checksum = crc32_of(std::as_bytes(std::span(no_checksum)), checksum);
  checksum = crc32_of(header.subspan(place + expected.size()), checksum);
  checksum = crc32_of(file.data, checksum);
  if (checksum_text(checksum) == expected) return;
  throw Error(source, "is damaged: its checksum should be " + in_quotes(expected) + ", and is '" +
                          checksum_text(checksum) +
                          "' (a program that changes a file must leave out the metadata '" +
                          std::string(checksum_key) + "')");
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
