// SPDX-License-Identifier: Apache-2.0
#pragma once

// Loops that compilers unroll at any level of optimisation.

#include <utility>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// f(0), ..., f(N - 1) with constants, so that the compiler knows each register at -O2, too.
template <int N, class F>
TYPEFLOW_INLINE void unrolled(const F& f) {
  [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
    (f(std::integral_constant<int, I>{}), ...);
  }(std::make_integer_sequence<int, N>{});
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
