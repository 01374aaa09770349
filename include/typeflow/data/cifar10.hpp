// SPDX-License-Identifier: Apache-2.0
#pragma once

// CIFAR-10, 60,000 photographs of ten kinds of things, from the six files of its binary version.
// Source: A. Krizhevsky, "Learning Multiple Layers of Features from Tiny Images", 2009.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "typeflow/core/exception.hpp"
#include "typeflow/data/dataset.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// CIFAR-10's classes, by label.
inline constexpr std::array<std::string_view, 10> cifar10_classes = {
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};

/// N photographs of 32 x 32 pixels in red, green and blue, and their classes. The pixels stay
/// bytes, which need a quarter of the memory of floats. The model converts each batch.
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

/// Whether a folder, or its subfolder `cifar-10-batches-bin`, has files of CIFAR-10's binary
/// version.
bool has_cifar10(const std::string& folder);

/// Reads CIFAR-10's binary version from a folder, or from its subfolder `cifar-10-batches-bin`:
/// data_batch_1.bin to data_batch_5.bin for training, test_batch.bin for the test. Throws Error,
/// with the file's name, if a file is missing, does not have exactly 10,000 records, or has a label
/// above 9.
Cifar10 read_cifar10(const std::string& folder);

/// The photographs of one of the files, read one after the other: pixels (32,32,3) row-major, and
/// the class. Error, with the file's name, if it ends in the middle of a record, or has a label
/// above 9.
Dataset<std::tuple<std::vector<std::uint8_t>, std::int32_t>> cifar10_records(
    const std::string& path);

/// The paths of the five files for training. Error as read_cifar10.
std::vector<std::string> cifar10_training_files(const std::string& folder);

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_DATA
#include "typeflow/data/cifar10.ipp"
#endif
