// SPDX-License-Identifier: Apache-2.0

// JPEG files. Images are limited to a size that is decoded in milliseconds.

#include "typeflow/jpeg.hpp"

#include "fuzz_input/input.hpp"

using namespace fuzz_input;

namespace {

void check(const tf::Image& image) {
  const auto bytes = static_cast<std::size_t>(image.height) *
                     static_cast<std::size_t>(image.width) *
                     static_cast<std::size_t>(image.channels);
  require(image.pixels.size() == bytes, "an image has the pixels that its extents say");
  const tf::Image again = tf::decode_jpeg(encode_jpeg(image, {.quality = 50}));
  require(again.height == image.height && again.width == image.width &&
              again.channels == image.channels,
          "an image's extents survive encoding");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const bool allow_damage : {false, true}) {
    for (const int channels : {0, 1, 3}) {
      attempt([&] {
        check(tf::decode_jpeg(
            {data, size},
            {.channels = channels, .most_pixels = 1 << 14, .allow_damage = allow_damage}));
      });
    }
  }
  attempt([&] { check(tf::decode_jpeg_or_png({data, size}, {.most_pixels = 1 << 14})); });
  return 0;
}
