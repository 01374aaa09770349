// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/data/labeled_images.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

TYPEFLOW_DEFINITION std::vector<float> one_hot(std::span<const std::int32_t> labels, int classes) {
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

}  // namespace typeflow::inline TYPEFLOW_ISA
