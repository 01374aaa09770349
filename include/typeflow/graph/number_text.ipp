// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstdint>
#include <string>

#include "typeflow/graph/number_text.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::string text_of(DType type, const Number& number) {
  const auto text = [](auto x) {
    char characters[32];
    return std::string(characters, std::to_chars(characters, characters + 32, x).ptr);
  };
  const auto real = [&](double x, bool is_double) {
    return is_double ? text(x) : text(static_cast<float>(x));
  };
  if (type == DType::boolean) return number.integer != 0 ? "true" : "false";
  if (is_floating(type)) return real(number.real, type == DType::float64);
  if (is_complex(type)) {
    const bool is_double = type == DType::complex128;
    return '(' + real(number.real, is_double) + ", " + real(number.imaginary, is_double) + ')';
  }
  if (type == DType::uint64) return text(static_cast<std::uint64_t>(number.integer));
  return text(number.integer);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
