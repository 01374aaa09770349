// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reads decimal numbers, eight digits at a time in a 64-bit word.
//
// A number comes from here only if it surely has the bits that std::from_chars gives. The rest, one
// in millions of ordinary numbers, is left to std::from_chars.
//
// Source: W. D. Clinger, How to Read Floating Point Numbers Accurately, 1990: the product or
// quotient of two doubles is correctly rounded, so that of exact factors is the nearest double.

#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// Bytes that may be read behind a number or a field, the byte at its end included.
inline constexpr std::size_t decimal_slack = 8;

/// Eight characters; the first one is the lowest byte.
inline std::uint64_t eight_characters(const char* text) {
  std::uint64_t word;
  std::memcpy(&word, text, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

/// Eight characters as digits, 0 to 9, and the bytes that are none.
struct EightDigits {
  explicit EightDigits(std::uint64_t characters)
      : word(characters ^ 0x3030303030303030),
        others(((word + 0x7676767676767676) | word) & 0x8080808080808080) {}

  /// Digits before the first other byte. (A sum's carries go to later bytes, so that one is right.)
  int count() const { return std::countr_zero(others) >> 3; }
  /// The number that those digits make, and fewer than eight of them.
  std::uint64_t number() const { return joined(word << (63 - std::countr_zero(others)) << 8); }
  /// The same with zeros behind them, to make eight digits.
  std::uint64_t filled() const { return joined(word & (((others & (0 - others)) >> 7) - 1)); }
  /// Neighbours are joined: digits to pairs, pairs to groups of four, these to one number.
  static std::uint64_t joined(std::uint64_t digits) {
    constexpr std::uint64_t pairs = 0x000000ff000000ff;
    digits = digits * 10 + (digits >> 8);
    const std::uint64_t outer = (digits & pairs) * (100 + (std::uint64_t{1000000} << 32));
    const std::uint64_t inner = ((digits >> 16) & pairs) * (1 + (std::uint64_t{10000} << 32));
    return (outer + inner) >> 32;
  }

  std::uint64_t word;
  std::uint64_t others;  // the highest bit of each other byte, right up to the first
};

/// Appends the digits at `text` to `value`, modulo 2^64. Returns where they end.
inline const char* read_digits(const char* text, std::uint64_t& value) {
  static constexpr std::uint32_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};
  for (;;) {
    const EightDigits digits(eight_characters(text));
    if (digits.others != 0) {
      value = value * powers[digits.count()] + digits.number();
      return text + digits.count();
    }
    value = value * 100000000 + EightDigits::joined(digits.word);
    text += 8;
  }
}

/// Rounds a double that is off by two units of its last place at most, and is 0 or at least 1e-22.
/// False if it may be on the other side of the middle of two floats, or is above the largest one.
inline bool round_decimal(double value, float& out) {
  constexpr std::uint64_t below_float = (std::uint64_t{1} << 29) - 1;
  constexpr std::uint64_t middle = std::uint64_t{1} << 28;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  if (((bits + 4 - middle) & below_float) <= 8 || value > double{FLT_MAX}) return false;
  out = static_cast<float>(value);
  return true;
}
inline bool round_decimal(double value, double& out) {
  out = value;
  return true;
}
/// digits * 10^exponent, digits < 10^19, |exponent| <= 22. False if it is not sure how to round.
template <std::floating_point F>
bool scale_decimal(std::uint64_t digits, int exponent, F& out) {
  static constexpr double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                      1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                      1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};  // all exact
  const bool divides = exponent < 0;
  const double power = powers[divides ? -exponent : exponent];
  const bool is_exact = digits <= std::uint64_t{1} << 53;
  const double high = is_exact ? static_cast<double>(static_cast<std::int64_t>(digits))
                               : static_cast<double>(digits);
  const double value = divides ? high / power : high * power;
  if constexpr (std::is_same_v<F, float>) {
    return round_decimal(value, out);
  } else {
    if (is_exact) {
      out = value;
      return true;
    }
    // What `value` lacks, in a second double with a relative error below 2^-51. Both ends of that
    // error must round to the same double.
    const auto low =
        static_cast<double>(static_cast<std::int64_t>(digits - static_cast<std::uint64_t>(high)));
    const double rest = divides ? (std::fma(-value, power, high) + low) / power
                                : std::fma(low, power, std::fma(high, power, -value));
    constexpr double error = 0x1p-50;
    out = value + (rest + rest * error);
    return out == value + (rest - rest * error);
  }
}

/// Reads any number of up to 19 digits, for read_decimal.
template <std::floating_point F>
const char* read_long_decimal(const char* text, F& out) {
  const bool is_negative = *text == '-';
  const char* const first = text + is_negative;
  std::uint64_t digits = 0;
  text = read_digits(first, digits);
  std::ptrdiff_t count = text - first;
  if (count == 0) return nullptr;
  std::ptrdiff_t exponent = 0;
  if (*text == '.') {
    const char* const fraction = text + 1;
    text = read_digits(fraction, digits);
    exponent = fraction - text;
    if (exponent == 0) return nullptr;
  }
  if (count - exponent > 19) return nullptr;
  if (*text == 'e' || *text == 'E') {
    const bool is_small = text[1] == '-';
    const char* const power = text + 1 + (is_small || text[1] == '+');
    std::uint64_t value = 0;
    text = read_digits(power, value);
    count = text - power;
    if (count == 0 || count > 4) return nullptr;
    exponent += is_small ? -static_cast<std::ptrdiff_t>(value) : static_cast<std::ptrdiff_t>(value);
  }
  if (exponent < -22 || exponent > 22) return nullptr;
  if (!scale_decimal(digits, static_cast<int>(exponent), out)) return nullptr;
  if (is_negative) out = -out;
  return text;
}

/// Reads a number such as -12.5 or 3e-4 and returns where it ends. Null, where std::from_chars must
/// decide: the text is no such number, has more than 19 digits, or is too near to the middle of two
/// numbers of the type.
template <std::floating_point F>
const char* read_decimal(const char* text, F& out) {
  // Most numbers have fewer than eight digits before the point and behind it. Fields' ends depend
  // on each other, so what leads to the end matters: the sign is shifted out of a word that is
  // there.
  const std::uint64_t characters = eight_characters(text);
  const bool is_negative = (characters & 0xff) == '-';
  const EightDigits whole(characters >> (is_negative ? 8 : 0));
  const char* const first = text + is_negative;
  const char* const point = first + whole.count();
  if (whole.others == 0) return read_long_decimal(text, out);
  if (*point != '.') {
    const bool goes_on = (*point >= '0' && *point <= '9') || (*point | 0x20) == 'e';
    if (goes_on) return read_long_decimal(text, out);
    out = static_cast<F>(static_cast<std::int64_t>(whole.number()));
    if (is_negative) out = -out;
    return point != first ? point : nullptr;
  }
  const EightDigits fraction(eight_characters(point + 1));
  const char* end = point + 1 + fraction.count();
  std::uint64_t digits = whole.number() * 100000000;
  if (fraction.others != 0) {
    digits += fraction.filled();
    const double value = static_cast<double>(static_cast<std::int64_t>(digits)) / 1e8;
    if (end == point + 1 || point == first || !round_decimal(value, out)) return nullptr;
  } else {
    digits += EightDigits::joined(fraction.word);
    end = read_digits(point + 9, digits);
    const std::ptrdiff_t count = end - point - 1;
    if (point == first || count + (point - first) > 19) return nullptr;
    if (!scale_decimal(digits, -static_cast<int>(count), out)) return nullptr;
  }
  if ((*end | 0x20) == 'e') return read_long_decimal(text, out);
  if (is_negative) out = -out;
  return end;
}

/// The same for integers. Null, too, if the number is out of the type's range.
template <std::signed_integral I>
const char* read_decimal(const char* text, I& out) {
  const bool is_negative = *text == '-';
  const char* const first = text + is_negative;
  std::uint64_t digits = 0;
  text = read_digits(first, digits);
  const std::ptrdiff_t count = text - first;
  if (count == 0 || count > 19) return nullptr;
  if (digits > static_cast<std::uint64_t>(std::numeric_limits<I>::max()) + is_negative) {
    return nullptr;
  }
  out = static_cast<I>(is_negative ? 0 - digits : digits);
  return text;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
