// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <string_view>
#include <system_error>

#include "typeflow/strings/parse.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels::strings {

constexpr bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// The text without the blanks around it and without a leading '+'.
inline std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  return text;
}

/// Whether a number that is out of its type's range is too large, instead of too close to 0.
inline bool is_large(std::string_view text) {
  const std::size_t exponent = text.find_first_of("eE");
  if (exponent != std::string_view::npos) return text.substr(exponent + 1).front() != '-';
  return text.substr(0, text.find('.')).find_first_of("123456789") != std::string_view::npos;
}

template <class T>
bool parse_trimmed(std::string_view text, T& number) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end && !text.empty();
}

TYPEFLOW_DEFINITION bool parse_integer(std::string_view text, std::int64_t& number) {
  return parse_trimmed(trimmed(text), number);
}
TYPEFLOW_DEFINITION bool parse_integer(std::string_view text, std::uint64_t& number) {
  return parse_trimmed(trimmed(text), number);
}

TYPEFLOW_DEFINITION bool parse_real(std::string_view text, double& number) {
  text = trimmed(text);
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (stop != end || text.empty() || error == std::errc::invalid_argument) return false;
  if (error == std::errc::result_out_of_range) {
    number = is_large(text) ? std::numeric_limits<double>::infinity() : 0.0;
    if (text.front() == '-') number = -number;
  }
  return true;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels::strings
