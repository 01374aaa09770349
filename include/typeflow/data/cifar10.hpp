// SPDX-License-Identifier: Apache-2.0
#pragma once

// CIFAR-10, 60,000 photographs of ten kinds of things, from the six files of its binary version.
// Source: A. Krizhevsky, "Learning Multiple Layers of Features from Tiny Images", 2009.

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/data/byte_reader.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

/// What CIFAR-10's labels stand for.
inline constexpr std::array<std::string_view, 10> cifar10_classes = {
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};

/// N photographs of 32 x 32 pixels in red, green and blue, and their classes. They stay bytes, a
/// quarter of what they would take as floats: a model converts its batch.
struct Cifar10Images {
  static constexpr int side = 32;  ///< pixels
  static constexpr int channels = 3;
  static constexpr std::size_t image_size = std::size_t{side} * side * channels;

  std::vector<std::uint8_t> images;  ///< (N,32,32,3) row-major, 0 (black) to 255
  std::vector<std::int32_t> labels;  ///< (N), 0 to 9; see cifar10_classes

  /// The number of images.
  std::int64_t size() const { return static_cast<std::int64_t>(labels.size()); }
  /// The pixels of one image.
  std::span<const std::uint8_t> image(std::int64_t i) const {
    return std::span(images).subspan(static_cast<std::size_t>(i) * image_size, image_size);
  }
};

/// CIFAR-10's two parts.
struct Cifar10 {
  Cifar10Images train;  ///< 50,000
  Cifar10Images test;   ///< 10,000
};

namespace detail {

/// The folder itself if it has one of CIFAR-10's files, else its subfolder cifar-10-batches-bin if
/// that has, else empty.
inline std::filesystem::path cifar10_folder(const std::filesystem::path& folder) {
  for (const std::filesystem::path& place : {folder, folder / "cifar-10-batches-bin"}) {
    for (const char* const file : {"data_batch_1.bin", "test_batch.bin"}) {
      std::error_code ignored;
      if (std::filesystem::is_regular_file(place / file, ignored)) return place;
    }
  }
  return {};
}

/// Appends the records of a file: a byte for the class, then a plane of each colour.
inline void read_cifar10_file(const std::filesystem::path& path, Cifar10Images& out) {
  constexpr std::size_t count = 10000;
  constexpr std::size_t plane = std::size_t{Cifar10Images::side} * Cifar10Images::side;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    throw Error(path.string(), "a file of CIFAR-10's binary version", "no such file");
  }
  ByteReader file(path);
  std::array<std::uint8_t, 1 + Cifar10Images::image_size> record;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t bytes = file.read(record.data(), record.size());
    if (bytes != record.size()) {
      throw Error(path.string(), std::to_string(count) + " records of 3073 bytes",
                  std::to_string(i) + " and " + std::to_string(bytes) + " bytes");
    }
    if (record[0] >= cifar10_classes.size()) {
      throw Error(path.string(), "labels from 0 to 9",
                  std::to_string(record[0]) + " as label " + std::to_string(i));
    }
    out.labels.push_back(record[0]);
    for (std::size_t pixel = 0; pixel < plane; ++pixel) {
      for (std::size_t colour = 0; colour < Cifar10Images::channels; ++colour) {
        out.images.push_back(record[1 + colour * plane + pixel]);
      }
    }
  }
  if (file.read(record.data(), 1) != 0) {
    throw Error(path.string(), std::to_string(count) + " records of 3073 bytes", "more bytes");
  }
}

}  // namespace detail

/// Whether a folder, or its subfolder `cifar-10-batches-bin`, has files of CIFAR-10's binary
/// version.
inline bool has_cifar10(const std::filesystem::path& folder) {
  return !detail::cifar10_folder(folder).empty();
}

/// Reads CIFAR-10's binary version from a folder, or from its subfolder `cifar-10-batches-bin`:
/// data_batch_1.bin to data_batch_5.bin for training, test_batch.bin for the test. Throws Error
/// naming the file that is missing, that has not 10,000 records, or a label that is none.
inline Cifar10 read_cifar10(const std::filesystem::path& folder) {
  const std::filesystem::path place = detail::cifar10_folder(folder);
  if (place.empty()) {
    throw Error(folder.string(), "the files of CIFAR-10's binary version (data_batch_1.bin, ...)",
                "none of them, nor in a subfolder cifar-10-batches-bin");
  }
  Cifar10 out;
  out.train.images.reserve(50000 * Cifar10Images::image_size);
  out.test.images.reserve(10000 * Cifar10Images::image_size);
  for (int i = 1; i <= 5; ++i) {
    detail::read_cifar10_file(place / ("data_batch_" + std::to_string(i) + ".bin"), out.train);
  }
  detail::read_cifar10_file(place / "test_batch.bin", out.test);
  return out;
}

}  // namespace typeflow::inline TYPEFLOW_TARGET
