// SPDX-License-Identifier: Apache-2.0
#pragma once

// Errors, and how their sentences show element types and shapes.

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "typeflow/core/config.hpp"
#include "typeflow/core/exception.hpp"
#include "typeflow/core/text.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// A part of a sentence: text or a number.
struct SentencePart {
  SentencePart(std::string_view of) : text(of) {}    // NOLINT
  SentencePart(const std::string& of) : text(of) {}  // NOLINT
  SentencePart(const char* of) : text(of) {}         // NOLINT
  template <std::integral T>
  SentencePart(T of) : number(static_cast<std::int64_t>(of)), is_number(true) {}  // NOLINT

  std::string_view text{};
  std::int64_t number = 0;
  bool is_number = false;
};
/// The parts one after the other: sentence({"at most ", 3, " rows"}). Messages are made by it and
/// not by std::string's operators, which every program would compile anew.
TYPEFLOW_COLD inline std::string sentence(std::initializer_list<SentencePart> parts) {
  std::string all;
  for (const SentencePart& part : parts) {
    Message number{};
    if (part.is_number) number << part.number;
    all += part.is_number ? number.view() : part.text;
  }
  return all;
}

/// "float [batch, 784]"
TYPEFLOW_COLD inline std::string to_string(DType type, const Dims& dims) {
  Message m{};
  m << type << ' ' << dims;
  return std::string(m.view());
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
