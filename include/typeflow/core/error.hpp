// SPDX-License-Identifier: Apache-2.0
#pragma once

// Errors, and how their sentences show element types and shapes.

#include <string>

#include "typeflow/core/config.hpp"
#include "typeflow/core/exception.hpp"
#include "typeflow/core/text.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// "float [batch, 784]"
TYPEFLOW_COLD inline std::string to_string(DType type, const Dims& dims) {
  Message m{};
  m << type << ' ' << dims;
  return std::string(m.view());
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
