// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>

#include "typeflow/core/error.hpp"
#include "typeflow/data/byte_reader.hpp"
#include "typeflow/data/cifar10.hpp"

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

TYPEFLOW_DEFINITION bool has_cifar10(const std::string& folder) {
  return !detail::cifar10_folder(folder).empty();
}

TYPEFLOW_DEFINITION Cifar10 read_cifar10(const std::string& folder) {
  const std::filesystem::path place = detail::cifar10_folder(folder);
  if (place.empty()) {
    throw Error(folder, "the files of CIFAR-10's binary version (data_batch_1.bin, ...)",
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

}  // namespace typeflow::inline TYPEFLOW_ISA
