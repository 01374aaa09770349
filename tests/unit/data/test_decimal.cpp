// SPDX-License-Identifier: Apache-2.0

// Numbers in decimal have the bits that the standard library gives them.

#include <doctest/doctest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include "typeflow/data/decimal.hpp"

namespace {

namespace detail = typeflow::detail;

/// How many numbers were read, and how many were left to std::from_chars.
struct Tally {
  int read = 0;
  int left = 0;
};

template <class T>
T standard(const std::string& text) {
  if constexpr (std::is_same_v<T, float>) return std::strtof(text.c_str(), nullptr);
  if constexpr (std::is_same_v<T, double>) return std::strtod(text.c_str(), nullptr);
}

/// Reads a number in front of other bytes. What is read must be the standard library's.
template <class T>
void compare(const std::string& text, Tally& tally, char behind = ',') {
  const std::string padded = text + behind + "12345678";
  T got{};
  const char* const end = detail::read_decimal(padded.data(), got);
  if (end == nullptr) {
    ++tally.left;
    return;
  }
  ++tally.read;
  T expected{};
  const auto [to, error] = std::from_chars(text.data(), text.data() + text.size(), expected);
  bool same = error == std::errc() && to - text.data() == end - padded.data();
  if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    same = same && std::bit_cast<Bits>(got) == std::bit_cast<Bits>(expected) &&
           std::bit_cast<Bits>(got) == std::bit_cast<Bits>(standard<T>(text));
  } else {
    same = same && got == expected;
  }
  if (!same) {
    INFO(text);
    REQUIRE(same);
  }
}

std::string printed(const char* format, int precision, double x) {
  char text[512];
  std::snprintf(text, sizeof text, format, precision, x);
  return text;
}
template <class T>
std::string shortest(T x) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, x).ptr};
}
/// Digits by chance with a point by chance.
std::string digits(std::mt19937_64& random, int most) {
  std::string text = random() % 2 == 0 ? "-" : "";
  const auto count = static_cast<int>(random() % static_cast<std::uint64_t>(most)) + 1;
  const auto point = static_cast<int>(random() % static_cast<std::uint64_t>(count + 1));
  for (int i = 0; i < count; ++i) {
    if (i == point && i > 0) text += '.';
    text += static_cast<char>('0' + random() % 10);
  }
  return text;
}

}  // namespace

TEST_CASE_TEMPLATE("a million numbers in many formats have the standard library's bits", T, float,
                   double) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(0, 100);
  Tally usual, chance, exponents;
  for (int i = 0; i < 100000; ++i) {
    const double x = normal(random);
    const auto precision = static_cast<int>(random() % 19);
    compare<T>(shortest(static_cast<T>(x)), usual);
    compare<T>(printed("%.*f", precision % 7, x), usual);
    compare<T>(printed("%.*f", precision, x), usual, '\n');
    compare<T>(printed("%.*e", precision, x), usual, '\r');
    compare<T>(printed("%.*g", precision, x), usual, ';');
    compare<T>(digits(random, 19), chance);
    compare<T>(digits(random, 40), chance);
    compare<T>(digits(random, 19) + "e" + std::to_string(static_cast<int>(random() % 60) - 30),
               exponents);
    // Any bits: from subnormal numbers to infinities.
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    const T any = std::bit_cast<T>(static_cast<Bits>(random()));
    compare<T>(shortest(any), exponents);
    compare<T>(printed("%.*e", precision, static_cast<double>(any)), exponents);
  }
  CHECK(usual.read + usual.left == 500000);
  CHECK(usual.left < 10000);
  CHECK(chance.read > 100000);
  CHECK(exponents.read > 50000);
}

TEST_CASE("decimals in the middle of two floats, and beside it") {
  std::mt19937_64 random(2);
  Tally tally;
  for (int i = 0; i < 100000; ++i) {
    // A float with an odd 25th bit is the middle of two others.
    const std::uint64_t odd = (random() >> 40 | 1 << 23) * 2 + 1;
    const double middle =
        std::ldexp(static_cast<double>(odd), static_cast<int>(random() % 60) - 40);
    for (int precision = 7; precision < 19; precision += 3) {
      compare<float>(printed("%.*f", precision, middle), tally);
      compare<float>(printed("%.*e", precision, middle), tally);
    }
    std::string text = printed("%.*e", 18, middle);
    text[19] = text[19] == '9' ? '8' : static_cast<char>(text[19] + 1);
    compare<float>(text, tally);
  }
  CHECK(tally.read > 100000);
  CHECK(tally.left > 100000);
}

TEST_CASE("decimals in the middle of two doubles, and beside it") {
  std::mt19937_64 random(3);
  Tally tally;
  for (int i = 0; i < 200000; ++i) {
    // 54 to 63 bits, of which a double has 53.
    const int extra = static_cast<int>(random() % 10) + 1;
    std::uint64_t middle = (random() >> 11 | std::uint64_t{1} << 52) << extra;
    middle |= std::uint64_t{1} << (extra - 1);
    middle += static_cast<std::uint64_t>(i % 3);
    compare<double>(std::to_string(middle - 1), tally);
    std::string text = std::to_string(middle - 1);
    text.insert(text.size() - random() % text.size(), ".");
    compare<double>(text, tally);
    compare<double>(text + "e5", tally);
    // M / 2^k = M 5^k / 10^k
    std::uint64_t scaled = random() >> 11 | std::uint64_t{1} << 53 | 1;
    const std::size_t halves = random() % 3 + 1;
    for (std::size_t k = 0; k < halves; ++k) scaled *= 5;
    for (const std::uint64_t near : {scaled - 1, scaled, scaled + 1}) {
      text = std::to_string(near);
      text.insert(text.size() - halves, ".");
      compare<double>(text, tally);
    }
  }
  CHECK(tally.read > 600000);
  CHECK(tally.left > 200000);
}

TEST_CASE("zeros have signs, borders of types are kept, and other texts are left") {
  Tally tally;
  float zero = 1;
  CHECK(detail::read_decimal("-0.0,1234567", zero) != nullptr);
  CHECK((zero == 0 && std::signbit(zero)));
  for (const char* text : {"0",
                           "-0",
                           "0.000",
                           "-0.0000000000",
                           "0e5",
                           "000012.5",
                           "16777217",
                           "16777216.0000000001",
                           "9007199254740993",
                           "9007199254740992",
                           "9999999999999999999",
                           "0.9999999999999999999",
                           "3.4028235e38",
                           "3.4028236e38",
                           "3.5e38",
                           "9999999e22",
                           "1e-22",
                           "1e22",
                           "1e23",
                           "1e-23"}) {
    compare<float>(text, tally);
    compare<double>(text, tally);
  }
  CHECK(tally.read > 25);
  Tally none;
  for (const char* text :
       {"", "-", ".", "-.5", "5.", "1e", "1e+", "1.5e-", "inf", "nan", "+1", " 1", "--1",
        "12345678901234567890", "1e99999999999999999999", "1e-400"}) {
    compare<float>(text, none);
    compare<double>(text, none);
  }
  CHECK(none.read == 0);
}

TEST_CASE_TEMPLATE("integers keep the borders of their type", T, std::int32_t, std::int64_t) {
  Tally tally;
  for (const T x : {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()}) {
    compare<T>(std::to_string(x), tally);
    for (int digit = 1; digit < 10; ++digit) {
      compare<T>(std::to_string(x / 10) + std::to_string(digit), tally);
    }
  }
  CHECK(tally.read == 2 + 8 + 7);
  CHECK(tally.left == 1 + 2);
  std::mt19937_64 random(4);
  Tally all;
  for (int i = 0; i < 100000; ++i) {
    const T x = static_cast<T>(random()) >> random() % (8 * sizeof(T));
    compare<T>(std::to_string(x), all);
    compare<T>(digits(random, 22), all);
  }
  CHECK(all.read > 100000);
}
