// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reads idx files, the format of MNIST and its relatives: a magic number with element type and
// rank, the extents, then the elements row-major, all big-endian. Source: Y. LeCun, C. Cortes,
// C. J. C. Burges, "The MNIST database of handwritten digits".
//
// The caller says type and rank, so that images passed for labels are an error and no surprise
// later. The header is not believed: memory grows with the bytes that the file really has.

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/data/byte_reader.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

/// The element types that an idx file can have.
template <class T>
concept IdxElement = std::same_as<T, std::uint8_t> || std::same_as<T, std::int8_t> ||
                     std::same_as<T, std::int16_t> || std::same_as<T, std::int32_t> ||
                     std::same_as<T, float> || std::same_as<T, double>;

/// The content of an idx file.
template <IdxElement T, std::size_t Rank>
struct IdxArray {
  std::array<std::int64_t, Rank> extents{};
  std::vector<T> elements;  ///< row-major
};

namespace detail {

template <IdxElement T>
constexpr std::uint32_t idx_type_code() {
  if constexpr (std::same_as<T, std::uint8_t>) return 0x08;
  if constexpr (std::same_as<T, std::int8_t>) return 0x09;
  if constexpr (std::same_as<T, std::int16_t>) return 0x0B;
  if constexpr (std::same_as<T, std::int32_t>) return 0x0C;
  if constexpr (std::same_as<T, float>) return 0x0D;
  if constexpr (std::same_as<T, double>) return 0x0E;
}

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
template <std::size_t Rank>
std::string extents_text(const std::array<std::int64_t, Rank>& extents) {
  std::string text;
  for (const std::int64_t extent : extents) {
    if (!text.empty()) text += " x ";
    text += std::to_string(extent);
  }
  return text;
}

/// Elements of big-endian bytes to this machine's.
template <class T>
void from_big_endian(std::vector<T>& elements) {
  if constexpr (sizeof(T) > 1 && std::endian::native == std::endian::little) {
    for (T& element : elements) {
      auto* const bytes = reinterpret_cast<unsigned char*>(&element);
      std::reverse(bytes, bytes + sizeof(T));
    }
  }
}

}  // namespace detail

/// Reads an idx file, plain or gzip: read_idx<std::uint8_t, 3>("train-images-idx3-ubyte.gz").
/// Throws Error if the file is missing, of another type or rank, shorter or longer than its header
/// says, or damaged gzip.
template <IdxElement T, std::size_t Rank>
  requires(Rank >= 1 && Rank <= 255)
IdxArray<T, Rank> read_idx(const std::filesystem::path& path) {
  constexpr std::uint32_t magic =
      detail::idx_type_code<T>() << 8 | static_cast<std::uint32_t>(Rank);
  constexpr std::size_t header_size = 4 + 4 * Rank;
  const std::string name = path.string();
  detail::ByteReader reader(path);

  std::array<unsigned char, header_size> header{};
  const std::size_t got = reader.read(header.data(), header_size);
  if (got >= 4 && detail::big_endian(header.data()) != magic) {
    throw Error(name, "the idx magic number " + detail::hex(magic),
                detail::hex(detail::big_endian(header.data())));
  }
  if (got < header_size) {
    throw Error(name, "an idx header of " + std::to_string(header_size) + " bytes",
                std::to_string(got) + " bytes");
  }

  IdxArray<T, Rank> result;
  std::size_t count = 1;
  constexpr std::size_t most = std::numeric_limits<std::ptrdiff_t>::max() / sizeof(T);
  for (std::size_t i = 0; i < Rank; ++i) {
    const std::uint32_t extent = detail::big_endian(header.data() + 4 + 4 * i);
    result.extents[i] = extent;
    if (extent > 0x7fffffffu || (extent != 0 && count > most / extent)) {
      throw Error(name, "extents that memory can hold", "extent " + std::to_string(extent));
    }
    count *= extent;
  }

  constexpr std::size_t block = (std::size_t{1} << 20) / sizeof(T);
  std::vector<T>& elements = result.elements;
  while (elements.size() < count) {
    const std::size_t first = elements.size();
    const std::size_t size = std::min(block, count - first);
    elements.resize(first + size);
    const std::size_t bytes = reader.read(elements.data() + first, size * sizeof(T));
    if (bytes < size * sizeof(T)) {
      throw Error(name,
                  detail::extents_text(result.extents) + " elements, " +
                      std::to_string(count * sizeof(T)) + " bytes after its header",
                  std::to_string(first * sizeof(T) + bytes) + " bytes");
    }
  }
  unsigned char extra = 0;
  if (reader.read(&extra, 1) != 0) {
    throw Error(name, "its end after " + detail::extents_text(result.extents) + " elements",
                "more bytes");
  }
  detail::from_big_endian(elements);
  return result;
}

}  // namespace typeflow::inline TYPEFLOW_TARGET
