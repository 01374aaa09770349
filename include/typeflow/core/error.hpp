// SPDX-License-Identifier: Apache-2.0
#pragma once

// The exception of the library: one sentence, made of the thing, what was expected and what came.

#include <stdexcept>
#include <string>
#include <utility>

#include "typeflow/core/config.hpp"
#include "typeflow/core/text.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

/// Every error that typeflow reports at run time.
class Error : public std::runtime_error {
 public:
  /// `what()` is "<operation>: expected <expected>, got <given>".
  Error(std::string operation, std::string expected, std::string given)
      : std::runtime_error(operation + ": expected " + expected + ", got " + given),
        operation_(std::move(operation)),
        expected_(std::move(expected)),
        given_(std::move(given)) {}
  /// For errors that are no mismatch: `what()` is "<operation>: <sentence>".
  Error(std::string operation, const std::string& sentence)
      : std::runtime_error(operation + ": " + sentence), operation_(std::move(operation)) {}
  explicit Error(const std::string& sentence) : std::runtime_error(sentence) {}

  /// The operation, tensor or file that the error is about.
  const std::string& operation() const noexcept { return operation_; }
  const std::string& expected() const noexcept { return expected_; }
  const std::string& given() const noexcept { return given_; }

 private:
  std::string operation_;
  std::string expected_;
  std::string given_;
};

namespace detail {

/// "float [batch, 784]"
TYPEFLOW_COLD inline std::string to_string(DType type, const Dims& dims) {
  Message m{};
  m << type << ' ' << dims;
  return std::string(m.view());
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_TARGET
