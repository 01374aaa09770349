// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <system_error>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/image/read.hpp"
#include "typeflow/image/stb_image.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

TYPEFLOW_COLD inline Image decode_image_of(const std::string& source,
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
    const char* const reason = stb::stbi_failure_reason();
    return Error(source, std::string("is no PNG image that can be decoded (") +
                             (reason == nullptr ? "unknown reason" : reason) + ")");
  };
  const auto size = static_cast<int>(bytes.size());
  Image image;
  int channels = 0;
  if (stb::stbi_info_from_memory(bytes.data(), size, &image.width, &image.height, &channels) == 0) {
    throw fail();
  }
  const std::int64_t pixels = std::int64_t{image.width} * image.height;
  if (pixels > options.most_pixels) {
    throw Error(source, "at most " + std::to_string(options.most_pixels) + " pixels",
                std::to_string(image.width) + " x " + std::to_string(image.height));
  }
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

}  // namespace detail

TYPEFLOW_COLD TYPEFLOW_DEFINITION Image decode_image(std::span<const std::uint8_t> bytes,
                                                     const ReadImageOptions& options) {
  return detail::decode_image_of("decode_image", bytes, options);
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION Image read_image(const std::string& path,
                                                   const ReadImageOptions& options) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) throw Error(path, "a file", "a folder");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const int reason = errno;
    throw Error(path, "cannot be opened (" + std::generic_category().message(reason) + ")");
  }
  const std::vector<std::uint8_t> bytes((std::istreambuf_iterator<char>(file)),
                                        std::istreambuf_iterator<char>());
  if (file.bad()) throw Error(path, "cannot be read");
  return detail::decode_image_of(path, bytes, options);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
