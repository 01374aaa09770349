// SPDX-License-Identifier: Apache-2.0
#pragma once

// Common parts of the examples with images of digits: the source of the images, and the confusion
// table.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>

#include <typeflow/data.hpp>

#include "program.hpp"

namespace examples {

inline constexpr DataSet mnist = {"MNIST", typeflow::has_mnist};

/// MNIST from options.data, or from the folder in TYPEFLOW_DATA; otherwise drawn digits. Prints
/// which.
inline typeflow::Datasets load_digits(const Options& options) {
  const std::filesystem::path folder = typeflow::data_folder(options.data);
  if (folder.empty()) {
    std::printf(
        "No data: neither --data nor TYPEFLOW_DATA says where MNIST is. Training on DRAWN digits\n"
        "instead; the accuracy says nothing about MNIST.\n");
  }
  typeflow::Datasets digits = folder.empty() ? typeflow::drawn_digits({.seed = options.seed})
                                             : typeflow::read_mnist(folder);
  std::printf(
      "%s: %lld images for training, %lld for validation, %lld for the test\n",
      folder.empty() ? "drawn digits" : folder.c_str(), static_cast<long long>(digits.train.size()),
      static_cast<long long>(digits.validation.size()), static_cast<long long>(digits.test.size()));
  return digits;
}

/// How many images of each digit (row) were classified as which digit (column).
inline void print_confusion(std::span<const std::int32_t> labels,
                            std::span<const std::int32_t> predictions) {
  std::array<std::array<int, 10>, 10> count{};
  for (std::size_t i = 0; i < labels.size(); ++i) {
    ++count[static_cast<std::size_t>(labels[i])][static_cast<std::size_t>(predictions[i])];
  }
  std::printf("\ntest images of each digit (row) by prediction (column)\n   ");
  for (int digit = 0; digit < 10; ++digit) std::printf("%6d", digit);
  for (int digit = 0; digit < 10; ++digit) {
    std::printf("\n%3d", digit);
    for (const int n : count[static_cast<std::size_t>(digit)]) std::printf("%6d", n);
  }
  std::printf("\n\n");
}

}  // namespace examples
