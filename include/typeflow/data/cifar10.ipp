// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/data/byte_reader.hpp"
#include "typeflow/data/cifar10.hpp"
#include "typeflow/data/sources.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// The folder that has CIFAR-10's files: the given one, or its subfolder cifar-10-batches-bin.
/// Empty if neither has them.
inline std::filesystem::path cifar10_folder(const std::filesystem::path& folder) {
  for (const std::filesystem::path& place : {folder, folder / "cifar-10-batches-bin"}) {
    for (const char* const file : {"data_batch_1.bin", "test_batch.bin"}) {
      std::error_code ignored;
      if (std::filesystem::is_regular_file(place / file, ignored)) return place;
    }
  }
  return {};
}

/// The same; Error if neither has them.
TYPEFLOW_COLD inline std::filesystem::path existing_cifar10_folder(const std::string& folder) {
  std::filesystem::path place = cifar10_folder(folder);
  if (place.empty()) {
    throw Error(folder, "the files of CIFAR-10's binary version (data_batch_1.bin, ...)",
                "none of them, nor in a subfolder cifar-10-batches-bin");
  }
  return place;
}

/// Appends the pixels of a record, which has a byte for the class, then a plane of each colour.
inline void append_pixels(std::span<const std::uint8_t> record, std::vector<std::uint8_t>& out) {
  constexpr std::size_t plane = std::size_t{Cifar10Images::side} * Cifar10Images::side;
  const std::size_t first = out.size();
  out.resize(first + Cifar10Images::image_size);
  std::uint8_t* to = out.data() + first;
  for (std::size_t pixel = 0; pixel < plane; ++pixel) {
    for (std::size_t colour = 0; colour < Cifar10Images::channels; ++colour) {
      *to++ = record[1 + colour * plane + pixel];
    }
  }
}

/// Appends the records of a file.
inline void read_cifar10_file(const std::filesystem::path& path, Cifar10Images& out) {
  constexpr std::size_t count = 10000;
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
    append_pixels(record, out.images);
  }
  if (file.read(record.data(), 1) != 0) {
    throw Error(path.string(), std::to_string(count) + " records of 3073 bytes", "more bytes");
  }
}

}  // namespace detail

TYPEFLOW_DEFINITION bool has_cifar10(const std::string& folder) {
  return !detail::cifar10_folder(folder).empty();
}

TYPEFLOW_DEFINITION std::vector<std::string> cifar10_training_files(const std::string& folder) {
  const std::filesystem::path place = detail::existing_cifar10_folder(folder);
  std::vector<std::string> paths;
  for (int i = 1; i <= 5; ++i) {
    paths.push_back((place / ("data_batch_" + std::to_string(i) + ".bin")).string());
  }
  return paths;
}

TYPEFLOW_DEFINITION Dataset<std::tuple<std::vector<std::uint8_t>, std::int32_t>> cifar10_records(
    const std::string& path) {
  using Labeled = std::tuple<std::vector<std::uint8_t>, std::int32_t>;
  return fixed_length_records(path, 1 + Cifar10Images::image_size)
      .map([path](const std::vector<std::uint8_t>& record) {
        if (record[0] >= cifar10_classes.size()) {
          throw Error(path, "labels from 0 to 9", std::to_string(record[0]));
        }
        std::vector<std::uint8_t> pixels;
        detail::append_pixels(record, pixels);
        return Labeled(std::move(pixels), record[0]);
      });
}

TYPEFLOW_DEFINITION Cifar10 read_cifar10(const std::string& folder) {
  const std::filesystem::path place = detail::existing_cifar10_folder(folder);
  Cifar10 out;
  out.train.images.reserve(50000 * Cifar10Images::image_size);
  out.test.images.reserve(10000 * Cifar10Images::image_size);
  for (const std::string& path : cifar10_training_files(folder)) {
    detail::read_cifar10_file(path, out.train);
  }
  detail::read_cifar10_file(place / "test_batch.bin", out.test);
  return out;
}

}  // namespace typeflow::inline TYPEFLOW_ISA
