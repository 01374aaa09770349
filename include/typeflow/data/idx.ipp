// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/data/byte_reader.hpp"
#include "typeflow/data/idx.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

inline std::uint32_t big_endian(const unsigned char* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
}

inline std::string hex(std::uint32_t word) {
  char text[11];
  std::snprintf(text, sizeof text, "0x%08x", static_cast<unsigned>(word));
  return text;
}

/// "60000 x 28 x 28"
inline std::string extents_text(std::span<const std::int64_t> extents) {
  std::string text;
  for (const std::int64_t extent : extents) {
    if (!text.empty()) text += " x ";
    text += std::to_string(extent);
  }
  return text;
}

/// Converts `count` elements of `size` bytes from big-endian to this machine's order.
inline void from_big_endian(unsigned char* bytes, std::size_t count, std::size_t size) {
  if (size == 1 || std::endian::native == std::endian::big) return;
  for (std::size_t i = 0; i < count; ++i, bytes += size) std::reverse(bytes, bytes + size);
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION void read_idx_file(const std::string& path,
                                                     std::span<std::int64_t> extents,
                                                     const IdxElements& elements) {
  const std::uint32_t magic = elements.type_code << 8 | static_cast<std::uint32_t>(extents.size());
  ByteReader reader(path);

  std::vector<unsigned char> header(4 + 4 * extents.size());
  const std::size_t got = reader.read(header.data(), header.size());
  if (got >= 4 && big_endian(header.data()) != magic) {
    throw Error(path, "the idx magic number " + hex(magic), hex(big_endian(header.data())));
  }
  if (got < header.size()) {
    throw Error(path, "an idx header of " + std::to_string(header.size()) + " bytes",
                std::to_string(got) + " bytes");
  }

  std::size_t count = 1;
  const std::size_t size = elements.size;
  const std::size_t most = std::numeric_limits<std::ptrdiff_t>::max() / size;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const std::uint32_t extent = big_endian(header.data() + 4 + 4 * i);
    extents[i] = extent;
    if (extent > 0x7fffffffu || (extent != 0 && count > most / extent)) {
      throw Error(path, "extents that memory can hold", "extent " + std::to_string(extent));
    }
    count *= extent;
  }

  const std::size_t block = (std::size_t{1} << 20) / size;
  unsigned char* bytes = nullptr;
  for (std::size_t first = 0; first < count;) {
    const std::size_t next = std::min(block, count - first);
    bytes = static_cast<unsigned char*>(elements.resize(elements.vector, first + next));
    const std::size_t read = reader.read(bytes + first * size, next * size);
    if (read < next * size) {
      throw Error(path,
                  extents_text(extents) + " elements, " + std::to_string(count * size) +
                      " bytes after its header",
                  std::to_string(first * size + read) + " bytes");
    }
    first += next;
  }
  unsigned char extra = 0;
  if (reader.read(&extra, 1) != 0) {
    throw Error(path, "its end after " + extents_text(extents) + " elements", "more bytes");
  }
  from_big_endian(bytes, count, size);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
