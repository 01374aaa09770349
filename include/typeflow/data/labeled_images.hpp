// SPDX-License-Identifier: Apache-2.0
#pragma once

// Images with a class each, as contiguous arrays that feeds take as they are.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "typeflow/core/error.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

/// Labels as rows of zeros with a one at the label.  // (N) -> (N,classes)
/// Throws Error for a label outside [0, classes).
inline std::vector<float> one_hot(std::span<const std::int32_t> labels, int classes) {
  if (classes < 1) throw Error("one_hot", "1 class or more", std::to_string(classes));
  const auto width = static_cast<std::size_t>(classes);
  std::vector<float> rows(labels.size() * width);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0 || labels[i] >= classes) {
      throw Error("one_hot: label " + std::to_string(i), "0 to " + std::to_string(classes - 1),
                  std::to_string(labels[i]));
    }
    rows[i * width + static_cast<std::size_t>(labels[i])] = 1.0f;
  }
  return rows;
}

/// N grey images of one size, and their classes.
struct LabeledImages {
  int height = 0;  ///< pixels
  int width = 0;   ///< pixels
  int classes = 0;
  std::vector<float> images;         ///< (N,height*width) row-major, 0 (black) to 1
  std::vector<std::int32_t> labels;  ///< (N), 0 to classes - 1
  std::vector<float> one_hot;        ///< (N,classes), the same labels as rows of zeros and a one

  /// The number of images.
  std::int64_t size() const { return static_cast<std::int64_t>(labels.size()); }
  /// The pixels of one image.
  std::span<const float> image(std::int64_t i) const {
    const std::size_t pixels = static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
    return std::span(images).subspan(static_cast<std::size_t>(i) * pixels, pixels);
  }
};

/// The three parts of a data set: to learn from, to choose settings by, to report on.
struct Datasets {
  LabeledImages train;
  LabeledImages validation;
  LabeledImages test;
};

}  // namespace typeflow::inline TYPEFLOW_TARGET
