// SPDX-License-Identifier: Apache-2.0
#pragma once

// Images with a class each, as contiguous arrays that can be fed without a copy.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "typeflow/core/exception.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Labels as rows of zeros with a one at the label. (N) -> (N,classes)
/// Throws Error for a label outside [0, classes).
std::vector<float> one_hot(std::span<const std::int32_t> labels, int classes);

/// N grey images of one size, and their classes.
struct LabeledImages {
  int height = 0;  ///< pixels
  int width = 0;   ///< pixels
  int classes = 0;
  std::vector<float> images;         ///< (N,height*width) row-major, 0 (black) to 1
  std::vector<std::int32_t> labels;  ///< (N), 0 to classes - 1
  std::vector<float> one_hot;        ///< (N,classes), the labels as rows of zeros with a one

  /// The number of images.
  std::int64_t size() const { return static_cast<std::int64_t>(labels.size()); }
  /// The pixels of one image.
  std::span<const float> image(std::int64_t i) const {
    const std::size_t pixels = static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
    return std::span(images).subspan(static_cast<std::size_t>(i) * pixels, pixels);
  }
};

/// The three parts of a data set: for training, for choosing settings, for reporting.
struct Datasets {
  LabeledImages train;
  LabeledImages validation;
  LabeledImages test;
};

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_DATA
#include "typeflow/data/labeled_images.ipp"
#endif
