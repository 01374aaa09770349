// SPDX-License-Identifier: Apache-2.0
#pragma once

// The library's exception: one sentence with the thing, what was expected and what was given.

#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

TYPEFLOW_COLD inline std::string mismatch(const std::string& operation, const std::string& expected,
                                          const std::string& given) {
  std::string text = operation;
  text += ": expected ";
  text += expected;
  text += ", got ";
  text += given;
  return text;
}
TYPEFLOW_COLD inline std::string with_sentence(const std::string& operation,
                                               const std::string& sentence) {
  std::string text = operation;
  text += ": ";
  text += sentence;
  return text;
}
inline std::string part_of(const char* text, std::size_t first, std::size_t size) {
  return std::string(text + first, size);
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA

namespace typeflow {

/// Every error that typeflow reports at run time.
class Error : public std::runtime_error {
 public:
  /// `what()` is "<operation>: expected <expected>, got <given>".
  template <class Here = detail::Isa>
  TYPEFLOW_COLD Error(const std::string& operation, const std::string& expected,
                      const std::string& given)
      : std::runtime_error(detail::mismatch(operation, expected, given)),
        operation_(operation.size()),
        expected_{operation.size() + std::strlen(": expected "), expected.size()},
        given_{expected_.first + expected.size() + std::strlen(", got "), given.size()} {}
  /// For errors without an expectation: `what()` is "<operation>: <sentence>".
  template <class Here = detail::Isa>
  TYPEFLOW_COLD Error(const std::string& operation, const std::string& sentence)
      : std::runtime_error(detail::with_sentence(operation, sentence)),
        operation_(operation.size()) {}
  template <class Here = detail::Isa>
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

  /// Throws an error of the same class with this text: "<place>: <sentence>".
  using Rethrow = void (*)(const std::string& place, const std::string& sentence);
  /// For errors of a class of their own; null if a plain Error will do.
  TYPEFLOW_EXCHANGED Rethrow rethrow() const { return rethrow_; }

 protected:
  TYPEFLOW_EXCHANGED void keep_class(Rethrow how) { rethrow_ = how; }

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
  Rethrow rethrow_ = nullptr;
};

/// The end of a stream of elements: a closed queue has fewer than are wanted.
class OutOfRange : public Error {
 public:
  template <class Here = detail::Isa>
  TYPEFLOW_COLD OutOfRange(const std::string& operation, const std::string& expected,
                           const std::string& given)
      : Error(operation, expected, given) {
    keep_class(&raise<Here>);
  }
  template <class Here = detail::Isa>
  TYPEFLOW_COLD OutOfRange(const std::string& operation, const std::string& sentence)
      : Error(operation, sentence) {
    keep_class(&raise<Here>);
  }
  TYPEFLOW_EXCHANGED OutOfRange(const OutOfRange&) = default;
  TYPEFLOW_EXCHANGED OutOfRange& operator=(const OutOfRange&) = default;

 private:
  template <class Here>
  TYPEFLOW_COLD static void raise(const std::string& place, const std::string& sentence) {
    throw OutOfRange(place, sentence);
  }
};

/// A run that was stopped by its caller (run_limits.hpp), or an operation that can no longer be
/// done, because somebody has closed what it needs.
class Cancelled : public Error {
 public:
  template <class Here = detail::Isa>
  TYPEFLOW_COLD Cancelled(const std::string& operation, const std::string& expected,
                          const std::string& given)
      : Error(operation, expected, given) {
    keep_class(&raise<Here>);
  }
  template <class Here = detail::Isa>
  TYPEFLOW_COLD Cancelled(const std::string& operation, const std::string& sentence)
      : Error(operation, sentence) {
    keep_class(&raise<Here>);
  }
  TYPEFLOW_EXCHANGED Cancelled(const Cancelled&) = default;
  TYPEFLOW_EXCHANGED Cancelled& operator=(const Cancelled&) = default;

 private:
  template <class Here>
  TYPEFLOW_COLD static void raise(const std::string& place, const std::string& sentence) {
    throw Cancelled(place, sentence);
  }
};

/// A run whose time was over before its end (run_limits.hpp).
class DeadlineExceeded : public Error {
 public:
  template <class Here = detail::Isa>
  TYPEFLOW_COLD DeadlineExceeded(const std::string& operation, const std::string& sentence)
      : Error(operation, sentence) {
    keep_class(&raise<Here>);
  }
  TYPEFLOW_EXCHANGED DeadlineExceeded(const DeadlineExceeded&) = default;
  TYPEFLOW_EXCHANGED DeadlineExceeded& operator=(const DeadlineExceeded&) = default;

 private:
  template <class Here>
  TYPEFLOW_COLD static void raise(const std::string& place, const std::string& sentence) {
    throw DeadlineExceeded(place, sentence);
  }
};

}  // namespace typeflow
