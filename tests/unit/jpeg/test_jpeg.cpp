// SPDX-License-Identifier: Apache-2.0

// JPEG files: Pillow's files and pixels, the colours that they were made of, what encode_jpeg
// makes, damaged bytes, the photographs of the data folder.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <typeflow/image.hpp>
#include <typeflow/jpeg.hpp>

#include "support/folder.hpp"
#include "support/message_of.hpp"
#include "unit/jpeg/golden.hpp"

namespace {

namespace tf = typeflow;
using Bytes = std::vector<std::uint8_t>;

constexpr int height = 11;
constexpr int width = 19;

Bytes bytes_of(const auto& array) { return {std::begin(array), std::end(array)}; }
/// The largest difference of two pixels' channels.
int distance(const Bytes& a, const Bytes& b) {
  REQUIRE(a.size() == b.size());
  int most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}
/// The picture before it was encoded.
tf::Image colors() {
  tf::Image image{.height = height, .width = width, .channels = 3, .pixels = {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (const int value : {12 * x, 20 * y, 255 - 6 * x - 10 * y}) {
        image.pixels.push_back(static_cast<std::uint8_t>(value));
      }
    }
  }
  return image;
}
/// Brightness, of ITU-R BT.601.
Bytes brightness(const Bytes& rgb) {
  Bytes out;
  for (std::size_t i = 0; i < rgb.size(); i += 3) {
    const double y = 0.299 * rgb[i] + 0.587 * rgb[i + 1] + 0.114 * rgb[i + 2];
    out.push_back(static_cast<std::uint8_t>(std::lround(y)));
  }
  return out;
}

}  // namespace

TEST_CASE("files of another program have its pixels, near the colours that they were made of") {
  const auto check = [](const Bytes& file, const Bytes& pixels, const Bytes& original, int channels,
                        int loss) {
    const tf::Image image = tf::decode_jpeg(file);
    CHECK(image.height == height);
    CHECK(image.width == width);
    CHECK(image.channels == channels);
    CHECK(distance(image.pixels, pixels) <= 2);
    CHECK(distance(image.pixels, original) <= loss);
  };
  const Bytes rgb = colors().pixels;
  check(bytes_of(golden::full), bytes_of(golden::full_pixels), rgb, 3, 12);
  check(bytes_of(golden::progressive), bytes_of(golden::progressive_pixels), rgb, 3, 12);
  check(bytes_of(golden::half), bytes_of(golden::half_pixels), rgb, 3, 40);
  check(bytes_of(golden::grey), bytes_of(golden::grey_pixels), brightness(rgb), 1, 6);
}

TEST_CASE("channels can be asked for") {
  const tf::Image grey = tf::decode_jpeg(golden::full, {.channels = 1});
  CHECK(grey.channels == 1);
  CHECK(distance(grey.pixels, brightness(colors().pixels)) <= 6);
  const tf::Image three = tf::decode_jpeg(golden::grey, {.channels = 3});
  CHECK(three.channels == 3);
  const Bytes one = tf::decode_jpeg(golden::grey).pixels;
  for (std::size_t i = 0; i < three.pixels.size(); ++i) CHECK(three.pixels[i] == one[i / 3]);
}

TEST_CASE("what is written is read, and more quality loses less") {
  const Folder folder;
  const tf::Image image = colors();
  const std::string path = (folder / "image.jpg").string();
  tf::write_jpeg(path, image);
  CHECK(tf::read_jpeg(path).pixels == tf::decode_jpeg(tf::encode_jpeg(image)).pixels);
  CHECK(tf::read_jpeg_or_png(path).pixels == tf::read_jpeg(path).pixels);
  const auto loss = [&](const tf::WriteJpegOptions& options) {
    return distance(tf::decode_jpeg(tf::encode_jpeg(image, options)).pixels, image.pixels);
  };
  CHECK(loss({.quality = 100, .subsample = false}) <= 3);
  CHECK(loss({.quality = 100, .subsample = false, .progressive = true}) <= 3);
  CHECK(loss({.quality = 100, .subsample = false}) < loss({.quality = 30, .subsample = false}));
  CHECK(loss({.quality = 100, .subsample = false}) < loss({.quality = 100}));
  CHECK(tf::encode_jpeg(image, {.quality = 30}).size() < tf::encode_jpeg(image).size());
  const auto frame_marker = [&](bool progressive) {  // of the frame: 0xc0, or 0xc2 for progressive
    const Bytes file = tf::encode_jpeg(image, {.progressive = progressive});
    for (std::size_t i = 2; i + 3 < file.size(); i += 2u + file[i + 2] * 256u + file[i + 3]) {
      if (file[i + 1] >= 0xc0 && file[i + 1] <= 0xc2) return int{file[i + 1]};
    }
    return 0;
  };
  CHECK(frame_marker(false) == 0xc0);
  CHECK(frame_marker(true) == 0xc2);

  tf::Image grey{height, width, 1, brightness(image.pixels)};
  CHECK(distance(tf::decode_jpeg(tf::encode_jpeg(grey, {.quality = 100})).pixels, grey.pixels) <=
        2);
}

TEST_CASE("a picture of noise, whose file is larger than a buffer") {
  std::mt19937 random(7);
  tf::Image image{.height = 300, .width = 401, .channels = 3, .pixels = {}};
  for (int i = 0; i < 300 * 401 * 3; ++i) {
    image.pixels.push_back(static_cast<std::uint8_t>(random()));
  }
  const Bytes file = tf::encode_jpeg(image, {.quality = 100, .subsample = false});
  CHECK(file.size() > 3 * 65536);
  CHECK(distance(tf::decode_jpeg(file).pixels, image.pixels) <= 4);
}

TEST_CASE("PNG and JPEG files are told by their first bytes") {
  const tf::Image image = colors();
  CHECK(tf::decode_jpeg_or_png(tf::encode_png(image)).pixels == image.pixels);
  CHECK(tf::decode_jpeg_or_png(golden::full).pixels == tf::decode_jpeg(golden::full).pixels);
  CHECK(tf::decode_jpeg_or_png(golden::full, {.channels = 1}).channels == 1);
  CHECK(message_of([] { tf::decode_jpeg_or_png(golden::full, {.channels = 4}); }) ==
        "decode_jpeg_or_png: expected 1 or 3 channels, or 0 for the file's, got 4");
  CHECK(message_of([] { tf::decode_jpeg_or_png(golden::full, {.most_pixels = 208}); }) ==
        "decode_jpeg_or_png: expected at most 208 pixels, got 19 x 11");
  CHECK(message_of([] { tf::decode_image(golden::full); }) ==
        "decode_image: is a JPEG image, which tf::read_jpeg of <typeflow/jpeg.hpp> reads");
  CHECK(message_of([&] { tf::decode_jpeg(tf::encode_png(image)); }) ==
        "decode_jpeg: expected a JPEG file's first bytes, got others");
}

TEST_CASE("what can't be decoded is named") {
  const Folder folder;
  CHECK(message_of([&] { tf::read_jpeg((folder / "none").string()); }) ==
        (folder / "none").string() + ": cannot be opened (No such file or directory)");
  CHECK(message_of([] { tf::decode_jpeg(golden::printing); }) ==
        "decode_jpeg: expected a JPEG image that is grey or RGB, got one of four colours for "
        "printing (CMYK)");
  CHECK(message_of([] { tf::decode_jpeg(golden::full, {.most_pixels = 208}); }) ==
        "decode_jpeg: expected at most 208 pixels, got 19 x 11");
  CHECK(tf::decode_jpeg(golden::full, {.most_pixels = 209}).width == width);
  CHECK(message_of([] { tf::decode_jpeg(golden::full, {.channels = 2}); }) ==
        "decode_jpeg: expected 1 or 3 channels, or 0 for the file's, got 2");
  CHECK(message_of([] { tf::decode_jpeg({}); }) ==
        "decode_jpeg: expected a JPEG file's first bytes, got others");
}

TEST_CASE("a file that was cut short is an error, or its upper part if that is allowed") {
  const Bytes file = tf::encode_jpeg({64, 64, 1, Bytes(64 * 64, 200)});
  const auto part = std::span(file).first(file.size() - 30);
  CHECK(message_of([&] { tf::decode_jpeg(part); }) ==
        "decode_jpeg: is no JPEG image that can be decoded (Premature end of JPEG file)");
  const tf::Image image = tf::decode_jpeg(part, {.allow_damage = true});
  CHECK(image.height == 64);
  CHECK(std::abs(image.pixels[0] - 200) <= 2);
}

TEST_CASE("a file of very many scans is refused, each of which would pass over all pixels") {
  const Bytes file = bytes_of(golden::progressive);
  std::size_t last = 0;  // scan, from its marker to that of the file's end
  for (std::size_t i = 0; i + 1 < file.size(); ++i) {
    if (file[i] == 0xff && file[i + 1] == 0xda) last = i;
  }
  const auto with_scans = [&](int count) {
    Bytes out = file;
    for (int i = 0; i < count; ++i) {
      out.insert(out.end() - 2, file.begin() + static_cast<std::ptrdiff_t>(last), file.end() - 2);
    }
    return message_of([&] { tf::decode_jpeg(out, {.allow_damage = true}); });
  };
  CHECK(with_scans(100) == "");
  CHECK(with_scans(600) ==
        "decode_jpeg: is no JPEG image that can be decoded (more than 500 scans)");
}

TEST_CASE("what can't be encoded is named") {
  const auto message = [](const tf::Image& image, const tf::WriteJpegOptions& options = {}) {
    return message_of([&] { tf::encode_jpeg(image, options); });
  };
  CHECK(message({1, 1, 4, Bytes(4)}) == "encode_jpeg: expected 1 channel (grey) or 3 (RGB), got 4");
  CHECK(message({2, 2, 3, Bytes(11)}) == "encode_jpeg: expected 12 bytes for 2 x 2 x 3, got 11");
  CHECK(message({0, 2, 3, {}}) ==
        "encode_jpeg: expected a height and width of 1 to 65500, got 0 x 2 x 3");
  CHECK(message({1, 65501, 1, Bytes(65501)}) ==
        "encode_jpeg: expected a height and width of 1 to 65500, got 1 x 65501 x 1");
  CHECK(message({1, 1, 1, Bytes(1)}, {.quality = 0}) ==
        "encode_jpeg: expected a quality of 1 to 100, got 0");
  CHECK(message_of([] {
          tf::write_jpeg("/no/folder/x.jpg", {1, 1, 1, Bytes(1)});
        }).starts_with("/no/folder/x.jpg: cannot be written (No such file or directory"));
}

TEST_CASE("damaged bytes are an error or another image, never more") {
  std::mt19937 random(3);
  for (const Bytes& good : {bytes_of(golden::half), bytes_of(golden::progressive)}) {
    for (const bool allowed : {false, true}) {
      const tf::ReadJpegOptions options{.most_pixels = 1 << 16, .allow_damage = allowed};
      for (std::size_t size = 0; size < good.size(); size += 3) {
        static_cast<void>(
            message_of([&] { tf::decode_jpeg(std::span(good).first(size), options); }));
      }
      for (int i = 0; i < 2000; ++i) {
        Bytes bad = good;
        for (int k = 0; k < 3; ++k)
          bad[random() % bad.size()] = static_cast<std::uint8_t>(random());
        static_cast<void>(message_of([&] { tf::decode_jpeg(bad, options); }));
      }
    }
  }
  CHECK(tf::decode_jpeg(golden::half).width == width);
}

TEST_CASE("photographs have the mean colours that Pillow finds") {
  const char* const data = std::getenv("TYPEFLOW_DATA");
  const std::filesystem::path folder =
      std::filesystem::path(data == nullptr ? "" : data) / "images";
  if (data == nullptr || !std::filesystem::exists(folder / "china.jpg")) {
    MESSAGE("skipped: TYPEFLOW_DATA names no folder with images/china.jpg");
    return;
  }
  struct Photo {
    const char* name;
    int height;
    int width;
    double means[3];
  };
  const Photo photos[] = {
      {"china.jpg", 427, 640, {144.7197, 145.4687, 140.9186}},
      {"flower.jpg", 427, 640, {55.1342, 73.5791, 57.0002}},
      {"grace_hopper.jpg", 600, 512, {82.4845, 72.4301, 86.4244}},
  };
  for (const Photo& photo : photos) {
    const tf::Image image = tf::read_jpeg((folder / photo.name).string());
    CHECK(image.height == photo.height);
    CHECK(image.width == photo.width);
    REQUIRE(image.channels == 3);
    double sums[3] = {};
    for (std::size_t i = 0; i < image.pixels.size(); ++i) sums[i % 3] += image.pixels[i];
    for (int c = 0; c < 3; ++c) {
      CHECK(std::abs(sums[c] / (double{1} * photo.height * photo.width) - photo.means[c]) < 0.05);
    }
  }
}
