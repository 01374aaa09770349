// SPDX-License-Identifier: Apache-2.0
#pragma once

// Powers with an exponent that a model gives as a number: cubes, roots, inverses and other whole
// powers. Models do not write them; pow's rule makes them, so that a kernel does not look at the
// exponent of each element.

#include <cstdint>
#include <string_view>

#include "typeflow/ops/elementwise/functions.hpp"
#include "typeflow/ops/elementwise/math.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ops {

/// x^(Halves / 2), with the bits of pow
template <int Halves>
struct fixed_power : floating {
  static constexpr int flops = 12;
  template <class V>
  constexpr V operator()(V x) const {
    if constexpr (Element<V>) {
      return math::pow(x, V(0.5) * V(Halves));
    } else {
      return math::OfBatch<V>::template fixed_power<Halves>(x);
    }
  }
};
struct Cube : fixed_power<6> {
  static constexpr std::string_view name = "Cube";
};
/// The root of x; unlike sqrt, infinite for -infinity and 0 for -0.
struct PowHalf : fixed_power<1> {
  static constexpr std::string_view name = "PowHalf";
};
struct PowMinusHalf : fixed_power<-1> {
  static constexpr std::string_view name = "PowMinusHalf";
};
struct PowMinusTwo : fixed_power<-4> {
  static constexpr std::string_view name = "PowMinusTwo";
};
/// x^exponent by products; |exponent| is from 2 to 64. pow may round it the other way.
struct WholePower : floating {
  static constexpr std::string_view name = "WholePower";
  static constexpr int flops = 20;
  std::int32_t exponent;

  template <class V>
  constexpr V operator()(V x) const {
    if constexpr (Element<V>) {
      return math::pow(x, static_cast<V>(exponent));
    } else {
      return math::OfBatch<V>::whole_power(x, exponent);
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::ops
