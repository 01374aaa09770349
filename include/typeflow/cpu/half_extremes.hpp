// SPDX-License-Identifier: Apache-2.0
#pragma once

// Maxima and minima of 16-bit floating-point numbers, folded as integers: twice as many to a
// register as floats, and without a comparison for NaN.
//
// The bits of a number are a sign and a magnitude. With the magnitude's bits inverted for negative
// numbers they are an integer with the numbers' order, in which NaN of either sign lies at one of
// the ends. Adding a constant, modulo 2^16, brings all NaN to the end that wins, and the infinity
// that loses to the other end.

#include <cstdint>
#include <limits>
#include <type_traits>

#include "typeflow/cpu/folds.hpp"
#include "typeflow/cpu/narrow_lanes.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <class A, class O, class T>
  requires(typeflow::detail::is_half<T> && is_extreme<O>)
struct FoldState<NarrowLanes<2, A>, O, T> : FoldState<NarrowLanes<2, A>, O, std::int16_t> {
  using L = NarrowLanes<2, A>;
  using Keys = FoldState<L, O, std::int16_t>;
  using V = typename L::template of<T>;
  using Result = T;

  TYPEFLOW_INLINE void step(const V& x, std::int64_t at) { Keys::step(key(x), at); }
  TYPEFLOW_INLINE void step(const V& x, std::int64_t at, int count) {
    Keys::step(key(x), at, count);
  }
  TYPEFLOW_INLINE V result() const { return ordered(Keys::value + V(nan)); }

 private:
  /// The number of NaN with one sign, as the winning end is above or below.
  static constexpr std::int16_t nan = [] {
    const int count = 0x7FFF - std::numeric_limits<T>::infinity().bits;
    return static_cast<std::int16_t>(std::is_same_v<O, ops::Max> ? count : -count);
  }();
  TYPEFLOW_INLINE static V key(const V& x) { return ordered(x) - V(nan); }
  /// Its own inverse.
  TYPEFLOW_INLINE static V ordered(const V& x) { return x ^ ((x >> 15) & V(std::int16_t{0x7FFF})); }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
