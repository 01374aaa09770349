// SPDX-License-Identifier: Apache-2.0
#pragma once

// States of trainings and callbacks as texts, which keep numbers exactly: fields with tabs between
// them, in lines. Tabs, line ends and backslashes of texts are written as \t, \n, \r and \\.
//
//   std::string state() const override {
//     return tf::StateWriter("my callback").number(best_).text(name_).end().finish();
//   }
//   void restore(std::string_view state) override {
//     tf::StateReader reader(state, "my callback", "the state of my callback");
//     const double best = reader.number();
//     ...
//   }

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "typeflow/core/error.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// The shortest text that is read as the same number.
template <class T>
std::string exact_text(T value) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}

}  // namespace detail

/// Writes a state, whose first line is its kind.
class StateWriter {
 public:
  explicit StateWriter(std::string_view kind) : out_(std::string(kind) + "\n") {}

  StateWriter& text(std::string_view text) {
    separate();
    for (const char c : text) {
      switch (c) {
        case '\t':
          out_ += "\\t";
          break;
        case '\n':
          out_ += "\\n";
          break;
        case '\r':
          out_ += "\\r";
          break;
        case '\\':
          out_ += "\\\\";
          break;
        default:
          out_ += c;
      }
    }
    return *this;
  }
  template <class T>
  StateWriter& number(T value) {
    separate();
    out_ += detail::exact_text(value);
    return *this;
  }
  StateWriter& end() {
    out_ += '\n';
    begun_ = false;
    return *this;
  }
  std::string finish() { return std::move(out_); }

 private:
  void separate() {
    if (begun_) out_ += '\t';
    begun_ = true;
  }

  std::string out_;
  bool begun_ = false;
};

/// Reads what a StateWriter wrote. Error, which names `source`, for anything else.
class StateReader {
 public:
  StateReader(std::string_view state, std::string_view kind, std::string source)
      : rest_(state), source_(std::move(source)) {
    if (!rest_.starts_with(kind) || !rest_.substr(kind.size()).starts_with('\n')) {
      throw Error(source_, "a text that begins with '" + std::string(kind) + "'",
                  "'" + std::string(rest_.substr(0, 40)) + "'");
    }
    rest_.remove_prefix(kind.size() + 1);
  }

  bool at_end_of_line() const { return rest_.starts_with('\n'); }
  std::string text() {
    const std::string_view field = take();
    std::string out;
    for (std::size_t i = 0; i < field.size(); ++i) {
      if (field[i] != '\\') {
        out += field[i];
        continue;
      }
      const char c = ++i < field.size() ? field[i] : '\0';
      if (c != 't' && c != 'n' && c != 'r' && c != '\\') damaged("a field", field);
      out += c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : '\\';
    }
    return out;
  }
  std::int64_t integer() { return value<std::int64_t>("a whole number"); }
  double number() { return value<double>("a number"); }
  void end() {
    if (!rest_.starts_with('\n')) damaged("the end of a line", rest_.substr(0, 40));
    rest_.remove_prefix(1);
    begun_ = false;
  }

 private:
  std::string_view take() {
    if (begun_) {
      if (!rest_.starts_with('\t')) damaged("another field", rest_.substr(0, 40));
      rest_.remove_prefix(1);
    }
    begun_ = true;
    const std::string_view field = rest_.substr(0, rest_.find_first_of("\t\n"));
    if (field.size() == rest_.size()) damaged("a whole line", field.substr(0, 40));
    rest_.remove_prefix(field.size());
    return field;
  }
  template <class T>
  T value(const char* expected) {
    const std::string_view field = take();
    T value{};
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc() || end != field.data() + field.size()) damaged(expected, field);
    return value;
  }
  [[noreturn]] void damaged(const char* expected, std::string_view got) const {
    throw Error(source_, expected, "'" + std::string(got) + "'");
  }

  std::string_view rest_;
  std::string source_;
  bool begun_ = false;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
