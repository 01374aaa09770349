// SPDX-License-Identifier: Apache-2.0

// MNIST's four files: small ones made here, and the real ones where TYPEFLOW_DATA has them.

#include <doctest/doctest.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "typeflow/data/mnist.hpp"

namespace tf = typeflow;
using Bytes = std::vector<std::uint8_t>;

namespace {

struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() /
                               ("typeflow_mnist_" + std::to_string(std::random_device{}()));
  Folder() { std::filesystem::create_directories(path / "mnist"); }
  ~Folder() { std::filesystem::remove_all(path); }
  void write(const std::string& name, const Bytes& bytes) const {
    if (name.ends_with(".gz")) {
      gzFile file = gzopen((path / name).c_str(), "wb");
      REQUIRE(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())) ==
              static_cast<int>(bytes.size()));
      gzclose(file);
      return;
    }
    std::ofstream file(path / name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
};

Bytes labels(const Bytes& values) {
  Bytes file = {0, 0, 8, 1, 0, 0, 0, static_cast<std::uint8_t>(values.size())};
  file.insert(file.end(), values.begin(), values.end());
  return file;
}

/// Pixel p of image i is (first + i + p) % 256.
Bytes images(std::uint8_t count, int first = 0, std::uint8_t side = 28) {
  Bytes file = {0, 0, 8, 3, 0, 0, 0, count, 0, 0, 0, side, 0, 0, 0, side};
  for (int i = 0; i < count; ++i) {
    for (int p = 0; p < side * side; ++p) {
      file.push_back(static_cast<std::uint8_t>((first + i + p) & 255));
    }
  }
  return file;
}

/// Seven training images, three for testing.
void write_small(const Folder& folder, const std::string& place = "",
                 const std::string& joint = "-", const std::string& ending = "") {
  folder.write(place + "train-images" + joint + "idx3-ubyte" + ending, images(7));
  folder.write(place + "train-labels" + joint + "idx1-ubyte" + ending,
               labels({5, 0, 4, 1, 9, 2, 1}));
  folder.write(place + "t10k-images" + joint + "idx3-ubyte" + ending, images(3, 100));
  folder.write(place + "t10k-labels" + joint + "idx1-ubyte" + ending, labels({7, 2, 1}));
}

std::string error_of(const Folder& folder, std::int64_t validation = 2) {
  try {
    tf::read_mnist(folder.path, {.validation = validation});
  } catch (const tf::Error& error) {
    return error.what();
  }
  return "";
}

bool says(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("expected '" << part << "' in '" << text << "'");
  return found;
}

}  // namespace

TEST_CASE("the first training images are for validation, the others for training") {
  const Folder folder;
  write_small(folder);
  const tf::Datasets mnist = tf::read_mnist(folder.path, {.validation = 2});
  CHECK(mnist.validation.labels == std::vector<std::int32_t>{5, 0});
  CHECK(mnist.train.labels == std::vector<std::int32_t>{4, 1, 9, 2, 1});
  CHECK(mnist.test.labels == std::vector<std::int32_t>{7, 2, 1});
  CHECK(mnist.train.size() == 5);
  CHECK(mnist.train.height == 28);
  CHECK(mnist.train.width == 28);
  CHECK(mnist.train.classes == 10);
  REQUIRE(mnist.validation.images.size() == 2u * 784u);
  REQUIRE(mnist.train.images.size() == 5u * 784u);
  REQUIRE(mnist.test.images.size() == 3u * 784u);
  CHECK(mnist.validation.image(1)[3] == 4 / 255.0f);
  CHECK(mnist.train.image(0)[0] == 2 / 255.0f);
  CHECK(mnist.train.image(4)[249] == 1.0f);
  CHECK(mnist.test.image(2)[783] == ((102 + 783) % 256) / 255.0f);
  REQUIRE(mnist.train.one_hot.size() == 50);
  CHECK(mnist.train.one_hot[4] == 1.0f);
  CHECK(mnist.train.one_hot[5] == 0.0f);
  CHECK(mnist.train.one_hot[11] == 1.0f);
}

TEST_CASE("the files are found in the folder or in mnist, packed or not, in both spellings") {
  for (const std::string place : {"", "mnist/"}) {
    for (const std::string joint : {"-", "."}) {
      for (const std::string ending : {"", ".gz"}) {
        CAPTURE(place + joint + ending);
        const Folder folder;
        CHECK_FALSE(tf::has_mnist(folder.path));
        write_small(folder, place, joint, ending);
        CHECK(tf::has_mnist(folder.path));
        const tf::Datasets mnist = tf::read_mnist(folder.path, {.validation = 0});
        CHECK(mnist.train.size() == 7);
        CHECK(mnist.validation.size() == 0);
        CHECK(mnist.test.image(0)[0] == 100 / 255.0f);
      }
    }
  }
}

TEST_CASE("a missing file is named") {
  const Folder folder;
  CHECK(says(error_of(folder), folder.path.string() + ": expected the files of MNIST"));
  write_small(folder);
  std::filesystem::remove(folder.path / "t10k-labels-idx1-ubyte");
  CHECK(says(error_of(folder), "expected t10k-labels-idx1-ubyte or the same with .gz"));
  std::filesystem::remove(folder.path / "train-images-idx3-ubyte");
  CHECK(says(error_of(folder), "expected train-images-idx3-ubyte or the same with .gz"));
}

TEST_CASE("images and labels must be as many") {
  const Folder folder;
  write_small(folder);
  folder.write("train-labels-idx1-ubyte", labels({5, 0, 4, 1, 9, 2}));
  CHECK(says(error_of(folder),
             "train-labels-idx1-ubyte: expected 7 labels, one for each image of "
             "train-images-idx3-ubyte, got 6"));
  write_small(folder);
  folder.write("t10k-images-idx3-ubyte", images(2));
  CHECK(says(error_of(folder), "t10k-labels-idx1-ubyte: expected 2 labels"));
}

TEST_CASE("files that are not MNIST's are refused") {
  const Folder folder;
  SUBCASE("images of another size") {
    write_small(folder);
    folder.write("train-images-idx3-ubyte", images(7, 0, 27));
    CHECK(says(error_of(folder), "expected images of 28 x 28 pixels, got 27 x 27"));
  }
  SUBCASE("a label that is no digit") {
    write_small(folder);
    folder.write("t10k-labels-idx1-ubyte", labels({7, 10, 1}));
    CHECK(says(error_of(folder), "expected labels from 0 to 9, got 10 as label 1"));
  }
  SUBCASE("images in the place of labels") {
    write_small(folder);
    folder.write("train-labels-idx1-ubyte", images(7));
    CHECK(says(error_of(folder), "magic number 0x00000801, got 0x00000803"));
  }
  SUBCASE("more for validation than there are") {
    write_small(folder);
    CHECK(says(error_of(folder, 8), "expected a validation set of 0 to 7 images, got 8"));
    CHECK(says(error_of(folder, -1), "expected a validation set of 0 to 7 images, got -1"));
    CHECK(error_of(folder, 7) == "");
  }
  SUBCASE("an image file cut short") {
    write_small(folder);
    std::filesystem::resize_file(folder.path / "train-images-idx3-ubyte", 1000);
    CHECK(says(error_of(folder), "got 984 bytes"));
  }
}

TEST_CASE("the data folder is the argument, else TYPEFLOW_DATA, else none") {
  const char* const before = std::getenv("TYPEFLOW_DATA");
  const std::string saved = before != nullptr ? before : "";
  ::setenv("TYPEFLOW_DATA", "/from/environment", 1);
  CHECK(tf::data_folder("/given") == "/given");
  CHECK(tf::data_folder() == "/from/environment");
  ::unsetenv("TYPEFLOW_DATA");
  CHECK(tf::data_folder().empty());
  CHECK(tf::data_folder("/given") == "/given");
  if (before != nullptr) ::setenv("TYPEFLOW_DATA", saved.c_str(), 1);
}

TEST_CASE("the real MNIST has 55,000, 5,000 and 10,000 images of known classes") {
  const std::filesystem::path folder = tf::data_folder();
  if (folder.empty() || !tf::has_mnist(folder)) {
    MESSAGE("skipped: TYPEFLOW_DATA names no folder with MNIST");
    return;
  }
  const tf::Datasets mnist = tf::read_mnist(folder);
  CHECK(mnist.train.size() == 55000);
  CHECK(mnist.validation.size() == 5000);
  CHECK(mnist.test.size() == 10000);

  // The first labels of the two files, and the counts of each digit, as published for MNIST.
  const auto begins = [](const std::vector<std::int32_t>& all, std::vector<std::int32_t> first) {
    return std::equal(first.begin(), first.end(), all.begin());
  };
  CHECK(begins(mnist.validation.labels, {5, 0, 4, 1, 9, 2, 1, 3, 1, 4}));
  CHECK(begins(mnist.test.labels, {7, 2, 1, 0, 4, 1, 4, 9, 5, 9}));
  CHECK(mnist.train.labels[0] == 7);  // as mnist.train.labels[0] in TensorFlow's tutorials
  std::array<int, 10> train{};
  std::array<int, 10> test{};
  for (const auto* part : {&mnist.train.labels, &mnist.validation.labels}) {
    for (const std::int32_t label : *part) ++train.at(static_cast<std::size_t>(label));
  }
  for (const std::int32_t label : mnist.test.labels) ++test.at(static_cast<std::size_t>(label));
  CHECK(train == std::array<int, 10>{5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949});
  CHECK(test == std::array<int, 10>{980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009});

  // Mean and standard deviation of the training file's pixels, as published: 0.1307, 0.3081.
  double sum = 0;
  double squares = 0;
  for (const auto* part : {&mnist.train.images, &mnist.validation.images}) {
    for (const float pixel : *part) {
      sum += double{pixel};
      squares += double{pixel} * double{pixel};
    }
  }
  const double mean = sum / (60000.0 * 784.0);
  CHECK(mean == doctest::Approx(0.1307).epsilon(0.001));
  CHECK(std::sqrt(squares / (60000.0 * 784.0) - mean * mean) ==
        doctest::Approx(0.3081).epsilon(0.001));
}
