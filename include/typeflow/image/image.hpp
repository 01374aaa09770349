// SPDX-License-Identifier: Apache-2.0
#pragma once

// Images of bytes, and pictures of many small float images side by side.

#include <cstdint>
#include <span>
#include <vector>

#include "typeflow/core/exception.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// An image of 8-bit channels.
struct Image {
  int height = 0;                    ///< pixels
  int width = 0;                     ///< pixels
  int channels = 1;                  ///< 1 grey, 3 RGB
  std::vector<std::uint8_t> pixels;  ///< (height,width,channels) row-major
};

/// How tile_images maps values to grey: the smallest to black, the largest to white...
enum class Scaling {
  common,  ///< ...of all images together, so that they can be compared
  each,    ///< ...of each image, so that each has full contrast
};

struct TileOptions {
  int columns = 5;  ///< images in a row
  int gap = 2;      ///< white pixels between images
  Scaling scaling = Scaling::common;
};

/// Puts float images into one grey picture, `options.columns` in a row. NaN is black; infinities
/// are black and white. (N,height,width) -> picture
///
/// Throws Error if the values do not make up whole images, or if a size or option is out of range.
Image tile_images(std::span<const float> images, int height, int width, TileOptions options = {});

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_IMAGE
#include "typeflow/image/image.ipp"
#endif
