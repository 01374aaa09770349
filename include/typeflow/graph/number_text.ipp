// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "typeflow/graph/number_text.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::string_view text_of(DType type, const Number& number,
                                                           char (&room)[number_text_size]) {
  char* end = room;
  const auto add = [&](auto x) { end = std::to_chars(end, room + number_text_size, x).ptr; };
  const auto add_text = [&](std::string_view x) { end = std::copy(x.begin(), x.end(), end); };
  const auto add_real = [&](double x, bool is_double) {
    is_double ? add(x) : add(static_cast<float>(x));
  };
  if (type == DType::boolean) {
    add_text(number.integer != 0 ? "true" : "false");
  } else if (is_floating(type)) {
    add_real(number.real, type == DType::float64);
  } else if (is_complex(type)) {
    add_text("(");
    add_real(number.real, type == DType::complex128);
    add_text(", ");
    add_real(number.imaginary, type == DType::complex128);
    add_text(")");
  } else if (type == DType::uint64) {
    add(static_cast<std::uint64_t>(number.integer));
  } else {
    add(number.integer);
  }
  return {room, static_cast<std::size_t>(end - room)};
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::string text_of(DType type, const Number& number) {
  char room[number_text_size];
  return std::string(text_of(type, number, room));
}

}  // namespace typeflow::inline TYPEFLOW_ISA
