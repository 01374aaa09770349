// SPDX-License-Identifier: Apache-2.0
#pragma once

// Division by a number that a kernel divides by again and again: a multiplication and a shift.

#include <cstdint>

#include "typeflow/cuda/platform.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// A divisor from 1 to 2^31 - 1, for dividends from 0 to 2^31 - 1.
///
/// From Granlund and Montgomery, "Division by invariant integers using multiplication", 1994.
struct Divider {
  std::uint32_t divisor;
  std::uint32_t multiplier;
  std::uint32_t shift;

  static constexpr Divider by(std::int64_t divisor) {
    Divider d{static_cast<std::uint32_t>(divisor), 0, 0};
    while ((std::uint64_t{1} << d.shift) < d.divisor) ++d.shift;
    const std::uint64_t rest = (std::uint64_t{1} << d.shift) - d.divisor;
    d.multiplier = static_cast<std::uint32_t>((rest << 32) / d.divisor + 1);
    return d;
  }
  constexpr std::uint32_t quotient(std::uint32_t n) const {
    const auto high = static_cast<std::uint32_t>((std::uint64_t{n} * multiplier) >> 32);
    return (high + n) >> shift;
  }
  /// Divides n, and returns the remainder.
  constexpr std::int32_t take_remainder(std::uint32_t& n) const {
    const std::uint32_t whole = n;
    n = quotient(whole);
    return static_cast<std::int32_t>(whole - n * divisor);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
