// SPDX-License-Identifier: Apache-2.0
#pragma once

// Numbers of any element type as text.

#include <string>

#include "typeflow/core/dtype.hpp"
#include "typeflow/graph/op.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The shortest text that reads back as the same number of its type: "0.1", "-7", "true",
/// "(1, 0.5)".
std::string text_of(DType type, const Number& number);

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED
#include "typeflow/graph/number_text.ipp"
#endif
