// SPDX-License-Identifier: Apache-2.0
#pragma once

// How far computed tensors are from what is expected, and where most; for check_values.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>

#include "typeflow/interpret/host_tensor.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::testing {

/// What check_values found.
struct ValueCheck {
  /// |got - expected| / max(1, |expected|) in epsilons of the element type, the largest of all
  /// elements. Infinite if an integer, a truth value, a NaN, an infinity or a shape is another, or
  /// if kernels with and without fusion differ.
  double largest_error = 0;
  std::string worst;  ///< "Exp(float [2, 37]) [7], kernel: 2.5, expected 2.4"
  int elements = 0;   ///< that were compared
};

namespace detail {

/// |a - b| / max(1, |b|) in epsilons of the type; infinite between numbers that have no distance.
inline double distance(DType dtype, const Number& a, const Number& b) {
  const auto same = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
  if (a.integer == b.integer && same(a.real, b.real) && same(a.imaginary, b.imaginary)) return 0;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double epsilon = dtype == DType::bfloat16                                ? 0x1p-7
                         : dtype == DType::float16                               ? 0x1p-10
                         : dtype == DType::float32 || dtype == DType::complex64  ? 0x1p-23
                         : dtype == DType::float64 || dtype == DType::complex128 ? 0x1p-52
                                                                                 : 0;
  if (epsilon == 0) return infinity;
  const double scale = std::max(1.0, std::hypot(b.real, b.imaginary));
  const double error = std::hypot(a.real - b.real, a.imaginary - b.imaginary) / (scale * epsilon);
  return std::isfinite(error) ? error : infinity;
}

inline std::string text_of(DType dtype, const Number& x) {
  char text[80];
  if (is_complex(dtype)) {
    std::snprintf(text, sizeof text, "%.9g%+.9gi", x.real, x.imaginary);
  } else if (is_floating(dtype)) {
    std::snprintf(text, sizeof text, dtype == DType::float64 ? "%.17g" : "%.9g", x.real);
  } else if (is_unsigned(dtype)) {
    return std::to_string(static_cast<std::uint64_t>(x.integer));
  } else {
    return std::to_string(x.integer);
  }
  return text;
}

/// Adds what differs between two tensors. With `exactly`, no difference is small.
inline void compare(ValueCheck& check, const std::string& call, const std::string& how,
                    const HostTensor& got, const HostTensor& expected, bool exactly = false) {
  const auto note = [&](double error, const std::string& what) {
    if (error <= check.largest_error && !check.worst.empty()) return;
    check.largest_error = error;
    check.worst = call + what;
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (got.dtype != expected.dtype || !(got.dims == expected.dims)) {
    note(infinity, ", " + how + ": " + typeflow::detail::to_string(got.dtype, got.dims) +
                       ", expected " + typeflow::detail::to_string(expected.dtype, expected.dims));
    return;
  }
  for (std::int64_t i = 0; i < got.size(); ++i) {
    ++check.elements;
    const double error = distance(got.dtype, got[i], expected[i]);
    note(exactly && error > 0 ? infinity : error, " [" + std::to_string(i) + "], " + how + ": " +
                                                      text_of(got.dtype, got[i]) + ", expected " +
                                                      text_of(got.dtype, expected[i]));
  }
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_TARGET::testing
