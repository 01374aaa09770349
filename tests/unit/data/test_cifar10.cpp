// SPDX-License-Identifier: Apache-2.0

// CIFAR-10's six files: ones made here, damaged ones, and the real ones where TYPEFLOW_DATA has
// them.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "support/message_of.hpp"
#include "typeflow/data/cifar10.hpp"

namespace tf = typeflow;
using Bytes = std::vector<std::uint8_t>;

namespace {

constexpr std::size_t record = 3073;

struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() /
                               ("typeflow_cifar10_" + std::to_string(std::random_device{}()));
  Folder() { std::filesystem::create_directories(path / "cifar-10-batches-bin"); }
  ~Folder() { std::filesystem::remove_all(path); }
  void write(const std::string& name, const Bytes& bytes) const {
    std::ofstream file(path / name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
};

/// Byte p of image i's planes; every file's own.
std::uint8_t byte_of(int file, std::size_t i, std::size_t p) {
  return static_cast<std::uint8_t>((static_cast<std::size_t>(file) * 31 + i * 7 + p * 13) & 255);
}

Bytes file_of(int file) {
  Bytes bytes;
  bytes.reserve(10000 * record);
  for (std::size_t i = 0; i < 10000; ++i) {
    bytes.push_back(static_cast<std::uint8_t>((i + static_cast<std::size_t>(file)) % 10));
    for (std::size_t p = 0; p + 1 < record; ++p) bytes.push_back(byte_of(file, i, p));
  }
  return bytes;
}

/// The test set is file 0.
std::string name_of(int file) {
  return file == 0 ? "test_batch.bin" : "data_batch_" + std::to_string(file) + ".bin";
}

std::string error_of(const Folder& folder) {
  try {
    tf::read_cifar10(folder.path);
  } catch (const tf::Error& error) {
    return error.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("CIFAR-10 is read file by file, its planes as pixels") {
  const Folder folder;
  CHECK_FALSE(tf::has_cifar10(folder.path));
  CHECK(has(error_of(folder), "none of them, nor in a subfolder cifar-10-batches-bin"));
  std::string place;
  SUBCASE("in the folder") {}
  SUBCASE("in its subfolder") { place = "cifar-10-batches-bin/"; }
  for (int file = 0; file < 6; ++file) folder.write(place + name_of(file), file_of(file));
  CHECK(tf::has_cifar10(folder.path));

  const tf::Cifar10 cifar = tf::read_cifar10(folder.path);
  CHECK(cifar.train.size() == 50000);
  CHECK(cifar.test.size() == 10000);
  CHECK(cifar.train.images.size() == std::size_t{50000} * 3072);
  for (const std::size_t i : {std::size_t{0}, std::size_t{9999}, std::size_t{10000},
                              std::size_t{23456}, std::size_t{49999}}) {
    const int file = static_cast<int>(i / 10000) + 1;
    CHECK(cifar.train.labels[i] ==
          static_cast<int>((i % 10000 + static_cast<std::size_t>(file)) % 10));
    const auto image = cifar.train.image(static_cast<std::int64_t>(i));
    REQUIRE(image.size() == 3072);
    for (std::size_t p = 0; p < 3072; ++p) {  // the red, green or blue of pixel p / 3
      REQUIRE(image[p] == byte_of(file, i % 10000, p % 3 * 1024 + p / 3));
    }
  }
  CHECK(cifar.test.labels[3] == 3);
  CHECK(cifar.test.image(3)[1] == byte_of(0, 3, 1024));

  Bytes bytes = file_of(2);
  SUBCASE("a file that is missing is named") {
    std::filesystem::remove(folder.path / (place + "data_batch_4.bin"));
    CHECK(has(error_of(folder), "data_batch_4.bin"));
    CHECK(has(error_of(folder), "no such file"));
  }
  SUBCASE("a file cut short is refused") {
    bytes.resize(4711 * record + 17);
    folder.write(place + "data_batch_2.bin", bytes);
    CHECK(has(error_of(folder), "data_batch_2.bin"));
    CHECK(has(error_of(folder), "got 4711 and 17 bytes"));
  }
  SUBCASE("a file with more is refused") {
    bytes.push_back(0);
    folder.write(place + "data_batch_2.bin", bytes);
    CHECK(has(error_of(folder), "got more bytes"));
  }
  SUBCASE("a label that is none is refused") {
    bytes[77 * record] = 10;
    folder.write(place + "data_batch_2.bin", bytes);
    CHECK(has(error_of(folder), "expected labels from 0 to 9, got 10 as label 77"));
  }
}

TEST_CASE("a file's photographs one after the other") {
  const Folder folder;
  Bytes bytes = file_of(0);
  bytes.resize(3 * record);
  folder.write("three.bin", bytes);
  const std::string path = (folder.path / "three.bin").string();
  std::size_t i = 0;
  for (const auto& [pixels, label] : tf::cifar10_records(path)) {
    CHECK(label == static_cast<std::int32_t>(i % 10));
    REQUIRE(pixels.size() == 3072);
    for (std::size_t p = 0; p < 3072; ++p) {
      REQUIRE(pixels[p] == byte_of(0, i, p % 3 * 1024 + p / 3));
    }
    ++i;
  }
  CHECK(i == 3);
  bytes[record] = 11;
  folder.write("three.bin", bytes);
  tf::DatasetIterator images(tf::cifar10_records(path));
  CHECK(images.next().has_value());
  CHECK(has(message_of([&] { images.next(); }), "three.bin: expected labels from 0 to 9, got 11"));
  bytes.resize(2 * record + 5);
  folder.write("three.bin", bytes);
  CHECK(has(message_of([&] {
              for (const auto& image : tf::cifar10_records(path)) (void)image;
            }),
            "three.bin"));
}

TEST_CASE("the real CIFAR-10") {
  const char* const data = std::getenv("TYPEFLOW_DATA");
  if (data == nullptr || !tf::has_cifar10(data)) {
    MESSAGE("skipped: no CIFAR-10 where TYPEFLOW_DATA says");
    return;
  }
  const tf::Cifar10 cifar = tf::read_cifar10(data);
  CHECK(cifar.train.size() == 50000);
  CHECK(cifar.test.size() == 10000);
  // As published: 5,000 and 1,000 of each class, a frog and two trucks first, a cat in the test.
  std::array<int, 10> train{};
  std::array<int, 10> test{};
  for (const std::int32_t label : cifar.train.labels) ++train[static_cast<std::size_t>(label)];
  for (const std::int32_t label : cifar.test.labels) ++test[static_cast<std::size_t>(label)];
  for (std::size_t i = 0; i < 10; ++i) {
    CHECK(train[i] == 5000);
    CHECK(test[i] == 1000);
  }
  CHECK(tf::cifar10_classes[static_cast<std::size_t>(cifar.train.labels[0])] == "frog");
  CHECK(cifar.train.labels[1] == 9);
  CHECK(cifar.train.labels[2] == 9);
  CHECK(cifar.test.labels[0] == 3);
  // The frog's first pixel.
  CHECK(cifar.train.image(0)[0] == 59);
  CHECK(cifar.train.image(0)[1] == 62);
  CHECK(cifar.train.image(0)[2] == 63);
}
