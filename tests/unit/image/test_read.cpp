// SPDX-License-Identifier: Apache-2.0

// Reading PNG: TensorFlow's files and pixels, what encode_png makes, damaged bytes.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <zlib.h>
#include <typeflow/image.hpp>

#include "support/folder.hpp"
#include "support/message_of.hpp"
#include "unit/image/golden.hpp"

namespace {

namespace tf = typeflow;
using Bytes = std::vector<std::uint8_t>;

Bytes bytes_of(const auto& array) { return {std::begin(array), std::end(array)}; }
Bytes red() {
  Bytes out;
  for (std::size_t i = 0; i < sizeof golden::rgb; i += 3) out.push_back(golden::rgb[i]);
  return out;
}

}  // namespace

TEST_CASE("PNGs of 16 bits and with opacity") {
  const tf::Image deep = tf::decode_image(golden::deep_png);
  CHECK(deep.channels == 1);
  CHECK(deep.pixels == red());
  CHECK(tf::decode_image(golden::alpha_png).pixels == bytes_of(golden::rgb));
  const tf::Image whole = tf::decode_image(golden::alpha_png, {.channels = 4});
  CHECK(whole.channels == 4);
  for (std::size_t i = 0; i < 45; ++i) CHECK(whole.pixels[4 * i + 3] == red()[i]);
}

TEST_CASE("what is written is read") {
  const Folder folder;
  const tf::Image image{5, 9, 3, bytes_of(golden::rgb)};
  const std::string path = (folder / "image.png").string();
  tf::write_png(path, image);
  CHECK(tf::read_image(path).pixels == image.pixels);
  CHECK(tf::decode_image(tf::encode_png({5, 9, 1, red()})).pixels == red());
}

TEST_CASE("damaged, large and other files are named") {
  const Folder folder;
  CHECK(message_of([&] { tf::read_image((folder / "none").string()); }) ==
        (folder / "none").string() + ": cannot be opened (No such file or directory)");
  CHECK(message_of([&] { tf::read_image(folder.path().string()); }).find("a folder") !=
        std::string::npos);
  CHECK(message_of([] {
          tf::decode_image(Bytes{'G', 'I', 'F', '8'});
        }).find("is no PNG image that can be decoded") != std::string::npos);
  CHECK(message_of([] { tf::decode_image({}); }) != "");
  CHECK(message_of([] { tf::decode_image(golden::alpha_png, {.most_pixels = 44}); }) ==
        "decode_image: expected at most 44 pixels, got 9 x 5");
  CHECK(message_of([] { tf::decode_image(golden::alpha_png, {.channels = 2}); }) ==
        "decode_image: expected 1, 3 or 4 channels, or 0 for the file's, got 2");
}

TEST_CASE("damaged bytes are an error or another image, never more") {
  std::mt19937 random(3);
  const auto check = [&](const Bytes& good) {
    for (std::size_t size = 0; size < good.size(); size += 3) {
      static_cast<void>(message_of([&] { tf::decode_image(std::span(good).first(size)); }));
    }
    for (int i = 0; i < 3000; ++i) {
      Bytes bad = good;
      for (int k = 0; k < 3; ++k) bad[random() % bad.size()] = static_cast<std::uint8_t>(random());
      static_cast<void>(message_of([&] { tf::decode_image(bad, {.most_pixels = 1 << 16}); }));
    }
  };
  check(bytes_of(golden::alpha_png));
  check(bytes_of(golden::deep_png));
  CHECK(tf::decode_image(golden::alpha_png).width == 9);
}

TEST_CASE("few bytes that claim or unpack to gigabytes take no memory") {
  // 4 x 2 pixels of 4 bits. Checksums of chunks are not compared, so they are left out here.
  const auto chunk = [](const std::string& kind, std::uint32_t length, const std::string& data) {
    std::string out;
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(length >> shift);
    return out + kind + data + "\1\2\3\4";
  };
  const auto whole = [&](const std::string& kind, const std::string& data) {
    return chunk(kind, static_cast<std::uint32_t>(data.size()), data);
  };
  const std::string start =
      "\x89PNG\r\n\x1a\n" + whole("IHDR", std::string("\0\0\0\4\0\0\0\2\4\0\0\0\0", 13));
  const auto decode = [&](const std::string& data) {
    const std::string file = start + data + whole("IEND", "");
    return message_of([&] { tf::decode_image(Bytes(file.begin(), file.end())); });
  };
  // (2,3) bytes: a filter and two of pixels in each row, stored without packing.
  const std::string stored("\x78\1\1\6\0\xf9\xff\0\x12\x34\0\x56\x78\0\0\0\0", 17);
  CHECK(decode(whole("IDAT", stored)) == "");
  const std::string refused = "decode_image: is no PNG image that can be decoded (outofmem)";
  CHECK(decode(chunk("IDAT", 0x7e00000e, stored)) == refused);
  // 64 MiB of zeros behind the pixels.
  const Bytes zeros(1 << 26);
  uLongf size = compressBound(zeros.size());
  std::string packed(size, '\0');
  REQUIRE(compress(reinterpret_cast<Bytef*>(packed.data()), &size, zeros.data(), zeros.size()) ==
          Z_OK);
  packed.resize(size);
  CHECK(decode(whole("IDAT", packed)) == refused);
}
