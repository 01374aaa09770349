// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <system_error>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/image/image.hpp"
#include "typeflow/image/pack_png.hpp"
#include "typeflow/image/png.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// Writes bytes to this file, replacing an existing one; the file is complete or unchanged.
inline void replace_file(const std::filesystem::path& path,
                         const std::vector<std::uint8_t>& bytes) {
  const std::filesystem::path temporary =
      path.string() + "." + std::to_string(std::random_device{}()) + ".tmp";
  const auto fail = [&](const std::string& reason) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw Error(path.string(), "cannot be written (" + reason + ")");
  };
  {
    errno = 0;
    std::ofstream file(temporary, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    file.close();
    const int reason = errno;
    if (!file) fail(std::generic_category().message(reason));
  }
  std::error_code error;
  std::filesystem::rename(temporary, path, error);
  if (error) fail(error.message());
}

}  // namespace detail

TYPEFLOW_DEFINITION std::vector<std::uint8_t> encode_png(const Image& image) {
  const std::string shape = std::to_string(image.height) + " x " + std::to_string(image.width) +
                            " x " + std::to_string(image.channels);
  if (image.channels != 1 && image.channels != 3) {
    throw Error("encode_png", "1 channel (grey) or 3 (RGB)", std::to_string(image.channels));
  }
  if (image.height < 1 || image.width < 1) {
    throw Error("encode_png", "a height and width of 1 or more", shape);
  }
  const std::size_t row =
      static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.channels);
  const auto height = static_cast<std::size_t>(image.height);
  constexpr std::size_t most =
      std::numeric_limits<int>::max() / 4;  // stb, which reads it, counts bytes in int
  if (row + 1 > most / height) {
    throw Error("encode_png", "at most " + std::to_string(most) + " bytes", shape);
  }
  if (image.pixels.size() != row * height) {
    throw Error("encode_png", std::to_string(row * height) + " bytes for " + shape,
                std::to_string(image.pixels.size()));
  }
  return detail::pack_png(image.pixels, image.width, image.height, image.channels);
}

TYPEFLOW_DEFINITION void write_png(const std::string& path, const Image& image) {
  detail::replace_file(path, encode_png(image));
}

}  // namespace typeflow::inline TYPEFLOW_ISA
