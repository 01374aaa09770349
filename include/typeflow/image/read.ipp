// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <system_error>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/files.hpp"
#include "typeflow/image/read.hpp"
#include "typeflow/image/stb_image.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

TYPEFLOW_COLD TYPEFLOW_DEFINITION Image decode_image_of(const std::string& source,
                                                        std::span<const std::uint8_t> bytes,
                                                        const ReadImageOptions& options) {
  if (options.channels != 0 && options.channels != 1 && options.channels != 3 &&
      options.channels != 4) {
    throw Error(source, "1, 3 or 4 channels, or 0 for the file's",
                std::to_string(options.channels));
  }
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw Error(source, "an image of less than 2 GiB", std::to_string(bytes.size()) + " bytes");
  }
  const auto fail = [&]() -> Error {
    if (bytes.size() >= 3 && bytes[0] == 0xff && bytes[1] == 0xd8 && bytes[2] == 0xff) {
      return Error(source, "is a JPEG image, which tf::read_jpeg of <typeflow/jpeg.hpp> reads");
    }
    const char* const reason = stb::stbi_failure_reason();
    return Error(source, std::string("is no PNG image that can be decoded (") +
                             (reason == nullptr ? "unknown reason" : reason) + ")");
  };
  const auto size = static_cast<int>(bytes.size());
  Image image;
  int channels = 0;
  // Packed bytes, while stb collects them: it doubles its memory.
  stb::most_bytes = 2 * bytes.size() + (std::size_t{1} << 20);
  if (stb::stbi_info_from_memory(bytes.data(), size, &image.width, &image.height, &channels) == 0) {
    throw fail();
  }
  const std::int64_t pixels = std::int64_t{image.width} * image.height;
  if (pixels > options.most_pixels) {
    throw Error(source, "at most " + std::to_string(options.most_pixels) + " pixels",
                std::to_string(image.width) + " x " + std::to_string(image.height));
  }
  // Eight bytes for a pixel of 16 bits in four channels, doubled while they are unpacked, and a
  // byte for each row.
  stb::most_bytes +=
      16 * static_cast<std::size_t>(pixels) + 2 * static_cast<std::size_t>(image.height);
  const int wanted = options.channels != 0 ? options.channels : channels <= 2 ? 1 : 3;
  const std::unique_ptr<stb::stbi_uc, void (*)(void*)> decoded(
      stb::stbi_load_from_memory(bytes.data(), size, &image.width, &image.height, &channels,
                                 wanted),
      stb::stbi_image_free);
  if (decoded == nullptr) throw fail();
  image.channels = wanted;
  image.pixels.assign(decoded.get(), decoded.get() + pixels * wanted);
  return image;
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::vector<std::uint8_t> bytes_of_image(
    const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(checked_path(path), ignored)) {
    throw Error(path, "a file", "a folder");
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const int reason = errno;
    throw Error(path, "cannot be opened (" + std::generic_category().message(reason) + ")");
  }
  std::vector<std::uint8_t> bytes;
  constexpr std::size_t block = 1 << 18;
  while (file) {  // memory grows with the bytes that are there
    const std::size_t size = bytes.size();
    bytes.resize(size + block);
    file.read(reinterpret_cast<char*>(bytes.data() + size), block);
    bytes.resize(size + static_cast<std::size_t>(file.gcount()));
  }
  if (file.bad()) throw Error(path, "cannot be read");
  return bytes;
}

}  // namespace detail

TYPEFLOW_COLD TYPEFLOW_DEFINITION Image decode_image(std::span<const std::uint8_t> bytes,
                                                     const ReadImageOptions& options) {
  return detail::decode_image_of("decode_image", bytes, options);
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION Image read_image(const std::string& path,
                                                   const ReadImageOptions& options) {
  return detail::decode_image_of(path, detail::bytes_of_image(path), options);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
