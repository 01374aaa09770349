// SPDX-License-Identifier: Apache-2.0
#pragma once

// The library's exception: one sentence with the thing, what was expected and what was given.

#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

namespace detail {

TYPEFLOW_COLD inline std::string mismatch(const std::string& operation, const std::string& expected,
                                          const std::string& given) {
  return operation + ": expected " + expected + ", got " + given;
}
inline std::string part_of(const char* text, std::size_t first, std::size_t size) {
  return std::string(text + first, size);
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_TARGET

namespace typeflow {

/// Every error that typeflow reports at run time.
class Error : public std::runtime_error {
 public:
  /// `what()` is "<operation>: expected <expected>, got <given>".
  template <class Here = detail::Target>
  TYPEFLOW_COLD Error(const std::string& operation, const std::string& expected,
                      const std::string& given)
      : std::runtime_error(detail::mismatch(operation, expected, given)),
        operation_(operation.size()),
        expected_{operation.size() + std::strlen(": expected "), expected.size()},
        given_{expected_.first + expected.size() + std::strlen(", got "), given.size()} {}
  /// For errors without an expectation: `what()` is "<operation>: <sentence>".
  template <class Here = detail::Target>
  TYPEFLOW_COLD Error(const std::string& operation, const std::string& sentence)
      : std::runtime_error(operation + ": " + sentence), operation_(operation.size()) {}
  template <class Here = detail::Target>
  TYPEFLOW_COLD explicit Error(const std::string& sentence) : std::runtime_error(sentence) {}

  TYPEFLOW_EXCHANGED Error(const Error&) = default;
  TYPEFLOW_EXCHANGED Error& operator=(const Error&) = default;

  /// The operation, tensor or file that the error is about.
  TYPEFLOW_EXCHANGED std::string operation() const {
    return detail::part_of(what(), 0, operation_);
  }
  TYPEFLOW_EXCHANGED std::string expected() const {
    return detail::part_of(what(), expected_.first, expected_.size);
  }
  TYPEFLOW_EXCHANGED std::string given() const {
    return detail::part_of(what(), given_.first, given_.size);
  }

 private:
  // The parts are places in what(), because members that are strings would need a destructor with
  // code.
  struct Part {
    std::size_t first = 0;
    std::size_t size = 0;
  };
  std::size_t operation_ = 0;
  Part expected_{};
  Part given_{};
};

}  // namespace typeflow
