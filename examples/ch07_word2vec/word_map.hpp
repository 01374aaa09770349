// SPDX-License-Identifier: Apache-2.0
#pragma once

// A picture of words at places in the plane.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <typeflow/image.hpp>

namespace examples {

/// Letters of 3x5 pixels: an octal digit is a row, from the top. a to z, then 0 to 9.
inline constexpr std::array<std::uint16_t, 36> letters = {
    025755, 065656, 034443, 065556, 074647, 074644, 034553, 055755, 072227,  // a to i
    011152, 055655, 044447, 057755, 075555, 025552, 065644, 025563, 065655,  // j to r
    034216, 072222, 055557, 055552, 055775, 055255, 055222, 071247,          // s to z
    075557, 026227, 061247, 061216, 055711, 074616, 034757, 071222, 075757, 075716};

class WordMap {
 public:
  static constexpr int width = 1500;  // pixels
  static constexpr int height = 1000;

  WordMap()
      : image_{height, width, 1, std::vector<std::uint8_t>(std::size_t{width} * height, 255)} {}

  /// Draws a dot at (x, y), in pixels from the top left, and the word to its right. Leaves out
  /// parts beyond the edge, and characters that are neither letters nor digits.
  void add(int x, int y, std::string_view word) {
    fill(x - 3, y - 3, 7, 170);
    for (std::size_t i = 0; i < word.size(); ++i) {
      draw(x + 8 + static_cast<int>(i) * 4 * scale, y - 2 * scale - 1, word[i]);
    }
  }
  const typeflow::Image& image() const { return image_; }

 private:
  static constexpr int scale = 3;  // pixels for each pixel of a letter

  void draw(int left, int top, char c) {
    int letter = -1;
    if (c >= 'a' && c <= 'z') letter = c - 'a';
    if (c >= 'A' && c <= 'Z') letter = c - 'A';
    if (c >= '0' && c <= '9') letter = 26 + c - '0';
    for (int pixel = 0; letter >= 0 && pixel < 15; ++pixel) {
      const bool set = letters[static_cast<std::size_t>(letter)] >> (14 - pixel) & 1;
      if (set) fill(left + pixel % 3 * scale, top + pixel / 3 * scale, scale, 0);
    }
  }
  void fill(int left, int top, int side, std::uint8_t grey) {
    for (int y = std::max(top, 0); y < std::min(top + side, height); ++y) {
      for (int x = std::max(left, 0); x < std::min(left + side, width); ++x) {
        image_.pixels[static_cast<std::size_t>(y) * width + static_cast<std::size_t>(x)] = grey;
      }
    }
  }
  typeflow::Image image_;
};

/// Draws words at places in the plane, which is stretched to fill the picture. (n) x (n,2)
inline typeflow::Image draw_words(std::span<const std::string> words,
                                  std::span<const double> places) {
  std::array<double, 2> low = {places[0], places[1]};
  std::array<double, 2> high = low;
  for (std::size_t i = 0; i < places.size(); ++i) {
    low[i % 2] = std::min(low[i % 2], places[i]);
    high[i % 2] = std::max(high[i % 2], places[i]);
  }
  WordMap map;
  const auto pixel = [&](std::size_t i, int from, int to) {
    const double length = high[i % 2] - low[i % 2];
    const double share = length > 0 ? (places[i] - low[i % 2]) / length : 0.5;
    return from + static_cast<int>(share * (to - from));
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    map.add(pixel(2 * i, 20, WordMap::width - 100), pixel(2 * i + 1, 20, WordMap::height - 20),
            words[i]);
  }
  return map.image();
}

}  // namespace examples
