// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "typeflow/core/error.hpp"
#include "typeflow/data/idx.hpp"
#include "typeflow/data/labeled_images.hpp"
#include "typeflow/data/mnist.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

TYPEFLOW_DEFINITION std::string data_folder(const std::string& given) {
  if (!given.empty()) return given;
  const char* const variable = std::getenv("TYPEFLOW_DATA");
  return variable != nullptr ? variable : "";
}

namespace detail {

/// The path of an MNIST file in a folder: find_idx(folder, "train-images", "idx3-ubyte"). Finds
/// both spellings, with or without .gz. Empty if there is no such file.
inline std::filesystem::path find_idx(const std::filesystem::path& folder, const std::string& stem,
                                      const std::string& kind) {
  for (const char* const joint : {"-", "."}) {
    for (const char* const ending : {"", ".gz"}) {
      const std::filesystem::path path = folder / (stem + joint + kind + ending);
      std::error_code ignored;
      if (std::filesystem::exists(path, ignored)) return path;
    }
  }
  return {};
}

/// A pair of files: images and their labels.
struct MnistFiles {
  std::filesystem::path images;
  std::filesystem::path labels;
};

inline MnistFiles find_mnist_files(const std::filesystem::path& folder, const std::string& stem) {
  return {find_idx(folder, stem + "-images", "idx3-ubyte"),
          find_idx(folder, stem + "-labels", "idx1-ubyte")};
}

/// The folder that has MNIST's files: the given one, or its subfolder mnist. Empty if neither has
/// one.
inline std::filesystem::path mnist_folder(const std::filesystem::path& folder) {
  for (const std::filesystem::path& place : {folder, folder / "mnist"}) {
    for (const char* const stem : {"train", "t10k"}) {
      const MnistFiles files = find_mnist_files(place, stem);
      if (!files.images.empty() || !files.labels.empty()) return place;
    }
  }
  return {};
}

/// Images [first, last) of a pair of files, with pixels as floats.
inline LabeledImages mnist_rows(std::span<const std::uint8_t> pixels,
                                std::span<const std::uint8_t> labels, std::size_t first,
                                std::size_t last) {
  LabeledImages out{28, 28, 10, {}, {}, {}};
  constexpr std::size_t image = std::size_t{28} * 28;
  out.images.reserve((last - first) * image);
  for (const std::uint8_t pixel : pixels.subspan(first * image, (last - first) * image)) {
    out.images.push_back(static_cast<float>(pixel) / 255.0f);
  }
  const auto part = labels.subspan(first, last - first);
  out.labels.assign(part.begin(), part.end());
  out.one_hot = one_hot(out.labels, out.classes);
  return out;
}

/// Reads a pair of files. Returns its first `count` images, and the rest.
inline std::pair<LabeledImages, LabeledImages> read_mnist_files(const std::filesystem::path& folder,
                                                                const std::string& stem,
                                                                std::int64_t count) {
  const MnistFiles files = find_mnist_files(folder, stem);
  if (files.images.empty()) {
    throw Error(folder.string(), stem + "-images-idx3-ubyte or the same with .gz", "no such file");
  }
  if (files.labels.empty()) {
    throw Error(folder.string(), stem + "-labels-idx1-ubyte or the same with .gz", "no such file");
  }
  const IdxArray<std::uint8_t, 3> images = read_idx<std::uint8_t, 3>(files.images.string());
  const IdxArray<std::uint8_t, 1> labels = read_idx<std::uint8_t, 1>(files.labels.string());
  const std::int64_t total = images.extents[0];
  if (images.extents[1] != 28 || images.extents[2] != 28) {
    throw Error(files.images.string(), "images of 28 x 28 pixels",
                std::to_string(images.extents[1]) + " x " + std::to_string(images.extents[2]));
  }
  if (labels.extents[0] != total) {
    throw Error(files.labels.string(),
                std::to_string(total) + " labels, one for each image of " +
                    files.images.filename().string(),
                std::to_string(labels.extents[0]));
  }
  for (std::size_t i = 0; i < labels.elements.size(); ++i) {
    if (labels.elements[i] > 9) {
      throw Error(files.labels.string(), "labels from 0 to 9",
                  std::to_string(labels.elements[i]) + " as label " + std::to_string(i));
    }
  }
  if (count < 0 || count > total) {
    throw Error(files.images.string(),
                "a validation set of 0 to " + std::to_string(total) + " images",
                std::to_string(count));
  }
  const auto middle = static_cast<std::size_t>(count);
  const auto end = static_cast<std::size_t>(total);
  return {mnist_rows(images.elements, labels.elements, 0, middle),
          mnist_rows(images.elements, labels.elements, middle, end)};
}

}  // namespace detail

TYPEFLOW_DEFINITION bool has_mnist(const std::string& folder) {
  return !detail::mnist_folder(folder).empty();
}

TYPEFLOW_DEFINITION Datasets read_mnist(const std::string& folder, MnistOptions options) {
  const std::filesystem::path place = detail::mnist_folder(folder);
  if (place.empty()) {
    throw Error(folder, "the files of MNIST (train-images-idx3-ubyte.gz, ...)",
                "none of them, nor in a subfolder mnist");
  }
  auto [validation, train] = detail::read_mnist_files(place, "train", options.validation);
  auto [nothing, test] = detail::read_mnist_files(place, "t10k", 0);
  return {std::move(train), std::move(validation), std::move(test)};
}

}  // namespace typeflow::inline TYPEFLOW_ISA
