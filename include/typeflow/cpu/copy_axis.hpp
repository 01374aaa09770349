// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// An axis of a copy: the strides of its input and of its result, in elements. Positions of the
/// result outside of [begin, end) have no input: they are padding.
struct CopyAxis {
  std::int64_t extent = 0;
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t begin = 0;
  std::int64_t end = extent;

  bool has(std::int64_t i) const { return begin <= i && i < end; }
  bool is_padded() const { return begin != 0 || end != extent; }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
