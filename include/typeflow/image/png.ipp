// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/files.hpp"
#include "typeflow/image/image.hpp"
#include "typeflow/image/pack_png.hpp"
#include "typeflow/image/png.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

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
  const std::vector<std::uint8_t> bytes = encode_png(image);
  detail::ReplacingFile file(path);
  file.write(std::as_bytes(std::span(bytes)));
  file.finish();
}

}  // namespace typeflow::inline TYPEFLOW_ISA
