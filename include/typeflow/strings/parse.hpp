// SPDX-License-Identifier: Apache-2.0
#pragma once

// Numbers from text.

#include <cstdint>
#include <string_view>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels::strings {

/// Parses a text with one integer and blanks around it. False if it is anything else.
bool parse_integer(std::string_view text, std::int64_t& number);
bool parse_integer(std::string_view text, std::uint64_t& number);
/// The same for a real number. One out of the type's range becomes an infinity or zero.
bool parse_real(std::string_view text, double& number);
bool parse_real(std::string_view text, float& number);

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels::strings

#ifndef TYPEFLOW_COMPILED
#include "typeflow/strings/parse.ipp"
#endif
