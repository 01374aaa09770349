// SPDX-License-Identifier: Apache-2.0
#pragma once

// The step of a plain loop whose sums have the bits of our products.

#include <cmath>

namespace test {

/// a * b + c, as the vectors compute it.
template <class T>
T multiply_add(T a, T b, T c) {
#if defined(__FMA__)
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

}  // namespace test
