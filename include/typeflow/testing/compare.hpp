// SPDX-License-Identifier: Apache-2.0
#pragma once

// Differences between computed and expected tensors, and where they are largest; for check_values.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "typeflow/graph/number_text.hpp"
#include "typeflow/interpret/host_tensor.hpp"

namespace typeflow::inline TYPEFLOW_ISA::testing {

/// The result of check_values.
struct ValueCheck {
  /// The largest |got - expected| / max(1, |expected|) of all elements, in epsilons of the element
  /// type. Infinite if an integer, a boolean, a NaN, an infinity or a shape differs, or if kernels
  /// with and without fusion differ.
  double largest_error = 0;
  std::string worst;  ///< "Exp(float [2, 37]) [7], kernel: 2.5, expected 2.4"
  int elements = 0;   ///< the number of compared elements
};

namespace detail {

/// |a - b| / max(1, |b|) in epsilons of the type; infinite for numbers without a distance.
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

/// Adds the differences between two tensors. With `exactly`, every difference is infinite.
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

}  // namespace typeflow::inline TYPEFLOW_ISA::testing
