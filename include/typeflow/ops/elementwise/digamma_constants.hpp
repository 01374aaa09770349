// SPDX-License-Identifier: Apache-2.0
#pragma once

// Digamma near its root above 0, for numbers and for SIMD batches: digamma(y) = (y - root) r(y) for
// y in [1, 2].

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA::math {

/// The root, less 1, in two parts.
inline constexpr double digamma_root = 0.46163214496836236;
inline constexpr double digamma_root_rest = -1.5522348162858676891e-17;

struct DigammaRatio {
  double v[22];
};
/// r(3/2 + t), highest power first: Remez, 7.7e-17. (Device code can't read a global array.)
constexpr DigammaRatio digamma_ratio() {
  return {
      {-1.7655965598589211e-4, 2.5985032977309642e-4, -1.469823026940789e-4,  2.2702651908265866e-4,
       -4.8472757800685495e-4, 7.2343625418442323e-4, -1.0368430606308358e-3, 1.5565995603824233e-3,
       -2.3454205913068238e-3, 3.5190121099995197e-3, -5.2799462813349057e-3, 7.9269440201289506e-3,
       -1.1908219417456609e-2, 1.7907252481253497e-2, -2.6975796691348943e-2, 4.0760833810819241e-2,
       -6.1922133274693349e-2, 9.4988724454972334e-2, -1.4840492305389008e-1, 2.4054248424077398e-1,
       -4.2362742128146058e-1, 9.5105587603183295e-1}};
}

}  // namespace typeflow::inline TYPEFLOW_ISA::math
