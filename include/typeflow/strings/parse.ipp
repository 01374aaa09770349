// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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

/// Whether a number that is out of its type's range is too large, instead of too close to 0: by the
/// power of ten of its first digit that is not 0.
inline bool is_large(std::string_view text) {
  const std::size_t end = std::min(text.find_first_of("eE"), text.size());
  const std::size_t first = text.find_first_of("123456789");
  const std::size_t point = std::min(text.find('.'), end);
  const std::int64_t power =
      static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first) - (first < point ? 1 : 0);
  if (end == text.size()) return power > 0;
  std::string_view digits = text.substr(end + 1);
  const bool is_negative = digits.front() == '-';
  if (is_negative || digits.front() == '+') digits.remove_prefix(1);
  std::int64_t exponent = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  if (read.ec != std::errc()) return !is_negative;
  return (is_negative ? -exponent : exponent) > -power;
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

template <class T>
bool parse_floating(std::string_view text, T& number) {
  text = trimmed(text);
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (stop != end || text.empty() || error == std::errc::invalid_argument) return false;
  if (error == std::errc::result_out_of_range) {
    number = is_large(text) ? std::numeric_limits<T>::infinity() : T(0);
    if (text.front() == '-') number = -number;
  }
  return true;
}
TYPEFLOW_DEFINITION bool parse_real(std::string_view text, double& number) {
  return parse_floating(text, number);
}
TYPEFLOW_DEFINITION bool parse_real(std::string_view text, float& number) {
  return parse_floating(text, number);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels::strings
