// SPDX-License-Identifier: Apache-2.0

// PNG files. Images are limited to a size that is decoded in milliseconds.

#include "fuzz_input/input.hpp"
#include "typeflow/image.hpp"

using namespace fuzz_input;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const int channels : {0, 1, 3, 4}) {
    attempt([&] {
      const tf::Image image =
          tf::decode_image({data, size}, {.channels = channels, .most_pixels = 1 << 18});
      const auto bytes = static_cast<std::size_t>(image.height) *
                         static_cast<std::size_t>(image.width) *
                         static_cast<std::size_t>(image.channels);
      require(image.pixels.size() == bytes && (channels == 0 || channels == image.channels),
              "an image has the pixels that its extents say");
      if (image.channels == 4) return;
      const tf::Image again = tf::decode_image(encode_png(image));
      require(again.height == image.height && again.width == image.width &&
                  again.channels == image.channels && again.pixels == image.pixels,
              "an image survives encoding");
    });
  }
  return 0;
}
