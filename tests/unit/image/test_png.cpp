// SPDX-License-Identifier: Apache-2.0

// PNG files, read back by an independent decoder (stb_image), and pictures of several images.

// The size of its files is a measure for ours.
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb/stb_image_write.h>

#include "typeflow/image.hpp"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_PNG
#include <stb/stb_image.h>
#pragma GCC diagnostic pop

#include <doctest/doctest.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tf = typeflow;
using Bytes = std::vector<std::uint8_t>;

namespace {

struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() /
                               ("typeflow_png_" + std::to_string(std::random_device{}()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(path), {});
  }
};

tf::Image decode(const std::filesystem::path& path) {
  tf::Image image;
  stbi_uc* const pixels = stbi_load(path.c_str(), &image.width, &image.height, &image.channels, 0);
  REQUIRE(pixels != nullptr);
  image.pixels.assign(pixels, pixels + image.height * image.width * image.channels);
  stbi_image_free(pixels);
  return image;
}

tf::Image noise(int height, int width, int channels) {
  tf::Image image{height, width, channels, {}};
  std::uint32_t state = 1;
  for (int i = 0; i < height * width * channels; ++i) {
    state = state * 1664525u + 1013904223u;
    image.pixels.push_back(static_cast<std::uint8_t>(state >> 24));
  }
  return image;
}

}  // namespace

TEST_CASE("a PNG file decodes to the pixels that were written") {
  const Folder folder;
  for (const int channels : {1, 3}) {
    for (const auto& [height, width] : {std::pair{1, 1}, {1, 100}, {37, 1}, {28, 28}, {300, 211}}) {
      CAPTURE(channels);
      CAPTURE(height);
      const tf::Image image = noise(height, width, channels);
      tf::write_png(folder.path / "image.png", image);
      const tf::Image back = decode(folder.path / "image.png");
      CHECK(back.height == height);
      CHECK(back.width == width);
      CHECK(back.channels == channels);
      CHECK(back.pixels == image.pixels);
    }
  }
  CHECK(folder.files() == 1);  // no temporary file stays
}

TEST_CASE("a PNG file has the filter of each row that suits it, or none") {
  const Folder folder;
  std::mt19937 random(1);
  for (const int channels : {1, 3}) {
    // Rows that each filter foretells best, but for a little noise; letters of a few shapes in
    // an order by chance.
    tf::Image photograph{200, 300, channels, {}};
    tf::Image drawing{200, 300, channels, {}};
    const int row = 300 * channels;
    Bytes shapes(8 * 100);
    for (std::uint8_t& x : shapes) x = static_cast<std::uint8_t>(random());
    std::vector<std::size_t> letters(20 * 30);
    for (std::size_t& x : letters) x = random() % 8;
    std::vector<int> above(static_cast<std::size_t>(row));
    for (int y = 0; y < 200; ++y) {
      std::vector<int> now;
      for (int i = 0; i < row; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const int left = i < channels ? 0 : now[static_cast<std::size_t>(i - channels)];
        const int corner = i < channels ? 0 : above[static_cast<std::size_t>(i - channels)];
        const int little = static_cast<int>(random() % 5) - 2;
        const int by_kind[] = {0, left, above[at], (left + above[at]) / 2,
                               left + above[at] - corner};
        const int start = y % 5 == 1 && i < channels ? 200 : 0;
        now.push_back((by_kind[y % 5] + little + start + 256) % 256);
      }
      for (const int x : now) photograph.pixels.push_back(static_cast<std::uint8_t>(x));
      if (y % 10 == 9) {
        for (int& x : now) x = static_cast<int>(random() % 256);
      }
      above = now;
      for (int x = 0; x < 300; ++x) {
        const std::size_t letter = letters[static_cast<std::size_t>(y / 10 * 30 + x / 10)];
        const auto at = (letter * 10 + static_cast<std::size_t>(y % 10)) * 10 +
                        static_cast<std::size_t>(x % 10);
        drawing.pixels.insert(drawing.pixels.end(), static_cast<std::size_t>(channels), shapes[at]);
      }
    }
    const auto filters = [&](const tf::Image& image) {
      const Bytes png = tf::encode_png(image);
      // 8 bytes, the header of 25, and the length and name of the data.
      std::size_t size = 0;
      for (std::size_t i = 33; i < 37; ++i) size = size << 8 | png[i];
      Bytes rows(static_cast<std::size_t>(200 * (1 + row)));
      uLongf count = rows.size();
      REQUIRE(uncompress(rows.data(), &count, png.data() + 41, size) == Z_OK);
      REQUIRE(count == rows.size());
      std::set<int> used;
      for (int y = 0; y < 200; ++y) used.insert(rows[static_cast<std::size_t>(y * (1 + row))]);
      return used;
    };
    CHECK(filters(photograph).size() == 5);
    CHECK(filters(drawing).size() == 1);
    for (const tf::Image& image : {photograph, drawing}) {
      tf::write_png(folder.path / "image.png", image);
      CHECK(decode(folder.path / "image.png").pixels == image.pixels);
      int size = 0;
      unsigned char* const theirs = stbi_write_png_to_mem(image.pixels.data(), row, image.width,
                                                          image.height, channels, &size);
      CHECK(tf::encode_png(image).size() <= static_cast<std::size_t>(size));
      std::free(theirs);
    }
  }
}

TEST_CASE("a PNG file that cannot be written is named, and nothing is left of it") {
  const Folder folder;
  const tf::Image image = noise(4, 4, 1);
  const std::filesystem::path nowhere = folder.path / "none" / "image.png";
  CHECK_THROWS_WITH_AS(
      tf::write_png(nowhere, image),
      (nowhere.string() + ": cannot be written (No such file or directory)").c_str(), tf::Error);
  // A folder with something in it cannot be replaced by a file.
  std::filesystem::create_directories(folder.path / "taken.png" / "inside");
  CHECK_THROWS_AS(tf::write_png(folder.path / "taken.png", image), tf::Error);
  CHECK(folder.files() == 1);
}

TEST_CASE("an image whose numbers don't fit together is an error") {
  CHECK_THROWS_WITH_AS(tf::encode_png({2, 3, 1, Bytes(5)}),
                       "encode_png: expected 6 bytes for 2 x 3 x 1, got 5", tf::Error);
  CHECK_THROWS_WITH_AS(tf::encode_png({2, 3, 2, Bytes(12)}),
                       "encode_png: expected 1 channel (grey) or 3 (RGB), got 2", tf::Error);
  CHECK_THROWS_WITH_AS(tf::encode_png({0, 3, 1, {}}),
                       "encode_png: expected a height and width of 1 or more, got 0 x 3 x 1",
                       tf::Error);
  CHECK_THROWS_AS(tf::encode_png({100000, 100000, 1, {}}), tf::Error);
}

TEST_CASE("tiles stand in rows with white between them") {
  // Three images of 1 x 2 in two columns, with one scale from 0 to 5.
  const std::vector<float> images = {0, 1, 2, 3, 4, 5};
  const tf::Image picture = tf::tile_images(images, 1, 2, {.columns = 2, .gap = 1});
  CHECK(picture.height == 3);
  CHECK(picture.width == 5);
  CHECK(picture.channels == 1);
  CHECK(picture.pixels == Bytes{0, 51, 255, 102, 153,     //
                                255, 255, 255, 255, 255,  //
                                204, 255, 255, 255, 255});
}

TEST_CASE("each image may have its own scale") {
  const std::vector<float> images = {-1, 0, 1, 10, 30, 20, 7, 7, 7};
  const tf::Image picture =
      tf::tile_images(images, 3, 1, {.columns = 9, .gap = 0, .scaling = tf::Scaling::each});
  CHECK(picture.height == 3);
  CHECK(picture.width == 3);
  CHECK(picture.pixels == Bytes{0, 0, 128,      //
                                128, 255, 128,  //
                                255, 128, 128});
}

TEST_CASE("values that are not finite don't spoil the scale") {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float most = std::numeric_limits<float>::max();
  const auto pixels = [](const std::vector<float>& images) {
    return tf::tile_images(images, 1, static_cast<int>(images.size()), {}).pixels;
  };
  CHECK(pixels({0, 1, nan, infinity, -infinity}) == Bytes{0, 255, 0, 255, 0});
  CHECK(pixels({nan, nan}) == Bytes{0, 0});
  CHECK(pixels({-most, 0, most}) == Bytes{0, 128, 255});
}

TEST_CASE("values that are not whole images are an error") {
  CHECK_THROWS_WITH_AS(tf::tile_images(std::vector<float>(7), 2, 3),
                       "tile_images: expected whole images of 2 x 3, got 7 values", tf::Error);
  CHECK_THROWS_AS(tf::tile_images({}, 2, 3), tf::Error);
  CHECK_THROWS_AS(tf::tile_images(std::vector<float>(6), 0, 3), tf::Error);
  CHECK_THROWS_AS(tf::tile_images(std::vector<float>(6), 2, 3, {.columns = 0}), tf::Error);
}
