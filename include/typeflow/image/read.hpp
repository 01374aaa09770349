// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reads PNG files. (JPEG: typeflow/jpeg.hpp.)

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "typeflow/image/image.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

struct ReadImageOptions {
  /// Channels of the result: 1 grey, 3 RGB, 4 RGB and opacity; 0: those of the file, without
  /// opacity.
  int channels = 0;
  /// A larger image is an error, found before memory is taken for it.
  std::int64_t most_pixels = std::int64_t{1} << 28;
};

/// The image of a PNG file's bytes. Error if they are damaged, or of another format.
Image decode_image(std::span<const std::uint8_t> bytes, const ReadImageOptions& options = {});

/// Reads a file. Error, with its name, if it can't be read or decoded.
Image read_image(const std::string& path, const ReadImageOptions& options = {});

namespace detail {

/// All of a file. Errors are those of read_image.
std::vector<std::uint8_t> bytes_of_image(const std::string& path);
Image decode_image_of(const std::string& source, std::span<const std::uint8_t> bytes,
                      const ReadImageOptions& options);

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_IMAGE
#include "typeflow/image/read.ipp"
#endif
