// SPDX-License-Identifier: Apache-2.0
#pragma once

// Text in constant evaluation: literals as template arguments (Text), a small builder for messages
// (Message), and the hash by which names are compared.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "typeflow/core/config.hpp"
#include "typeflow/core/dtype.hpp"
#include "typeflow/core/shape.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A string literal as a template argument: run<"loss">.
template <std::size_t N>
struct Text {
  char characters[N];

  constexpr Text(const char (&literal)[N]) {  // NOLINT: run<"loss"> needs the conversion
    for (std::size_t i = 0; i < N; ++i) characters[i] = literal[i];
  }
  constexpr Text() : characters{} {}
  constexpr std::string_view view() const { return {characters, N - 1}; }
};

/// A tensor's name without the ":0" that TensorFlow writes behind it.
constexpr std::string_view plain_name(std::string_view name) {
  return name.ends_with(":0") ? name.substr(0, name.size() - 2) : name;
}

/// A literal as a type. Lists of names are then lists of types, which every compiler can take
/// apart.
template <Text T>
struct NameOf {
  static constexpr std::string_view view() { return plain_name(T.view()); }
};

/// The hash FNV-1a. It can be continued: hash(b, hash(a)) is the hash of a followed by b. So a
/// path's hash grows with its parts, and needs no composed text.
inline constexpr std::uint64_t hash_seed = 14695981039346656037ull;
constexpr std::uint64_t hash(char c, std::uint64_t state) {
  return (state ^ static_cast<unsigned char>(c)) * 1099511628211ull;
}
constexpr std::uint64_t hash(const char* text, int length, std::uint64_t state) {
  for (int i = 0; i < length; ++i) {
    state = (state ^ static_cast<unsigned char>(text[i])) * 1099511628211ull;
  }
  return state;
}
constexpr std::uint64_t hash(std::string_view text, std::uint64_t state = hash_seed) {
  return hash(text.data(), static_cast<int>(text.size()), state);
}
/// The hash after appending "_7", or another character and a number.
constexpr std::uint64_t hash_suffix(int number, std::uint64_t state, char before = '_') {
  state = hash(before, state);
  int digits = 1;
  for (int rest = number; rest >= 10; rest /= 10) digits *= 10;
  for (; digits > 0; digits /= 10) {
    state = hash(static_cast<char>('0' + number / digits % 10), state);
  }
  return state;
}

/// A message under construction. Its length is bounded; a longer text is cut.
struct Message {
  static constexpr int capacity = 384;
  char text[capacity];
  int length;

  constexpr std::string_view view() const { return {text, static_cast<std::size_t>(length)}; }
  constexpr bool empty() const { return length == 0; }

  constexpr Message& operator<<(char c) {
    if (length < capacity) text[length++] = c;
    return *this;
  }
  TYPEFLOW_COLD constexpr Message& operator<<(std::string_view piece) {
    for (const char c : piece) *this << c;
    return *this;
  }
  constexpr Message& operator<<(const char* piece) { return *this << std::string_view(piece); }
  TYPEFLOW_COLD constexpr Message& operator<<(std::int64_t number) {
    if (number < 0) *this << '-';
    std::uint64_t rest =
        number < 0 ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
    char digits[20] = {};
    int count = 0;
    do {
      digits[count++] = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
    while (count > 0) *this << digits[--count];
    return *this;
  }
  constexpr Message& operator<<(int number) { return *this << static_cast<std::int64_t>(number); }
  constexpr Message& operator<<(DType type) { return *this << name_of(type); }
  /// [batch, 784]
  TYPEFLOW_COLD constexpr Message& operator<<(const Dims& dims) {
    *this << '[';
    for (int i = 0; i < dims.rank; ++i) {
      if (i > 0) *this << ", ";
      append_extent(dims.extent[i]);
    }
    return *this << ']';
  }

  /// 784, 2*batch, batch*time
  TYPEFLOW_COLD constexpr Message& append_extent(Extent extent) {
    if (!is_symbolic(extent)) return *this << extent;
    const Extent factor = factor_of(extent);
    const char* between = "";
    if (factor != 1) {
      *this << factor;
      between = "*";
    }
    for (int i = 0; i < max_symbols; ++i) {
      if (detail::power_of(i, symbols_of(extent)) == 0) continue;
      *this << between << symbol_names[i];
      between = "*";
    }
    return *this;
  }
};

/// The last part of a path: "net.cpp" of "/home/me/net.cpp".
constexpr std::string_view file_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
