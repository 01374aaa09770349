// SPDX-License-Identifier: Apache-2.0
#pragma once

// Numbers of any element type as text.

#include <string>
#include <string_view>

#include "typeflow/core/dtype.hpp"
#include "typeflow/graph/op.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The shortest text that reads back as the same number of its type: "0.1", "-7", "true",
/// "(1, 0.5)".
std::string text_of(DType type, const Number& number);

/// As many bytes as such a text has at most.
inline constexpr int number_text_size = 64;
/// The same text in memory of the caller's.
std::string_view text_of(DType type, const Number& number, char (&room)[number_text_size]);

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED
#include "typeflow/graph/number_text.ipp"
#endif
