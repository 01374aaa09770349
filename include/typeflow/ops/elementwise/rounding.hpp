// SPDX-License-Identifier: Apache-2.0
#pragma once

// Functions that are constant between jumps: sign, floor, ceil, round. Their gradient is zero.

#include <cmath>
#include <source_location>

#include "typeflow/ops/elementwise/compare.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

struct Sign : elementwise {
  static constexpr std::string_view name = "Sign";
  static constexpr Domain domain = Domain::real;
  static constexpr Derivative derivative = Derivative::zero;
  template <class V>
  constexpr V operator()(V x) const {
    using math::select;
    if constexpr (std::is_unsigned_v<V>) {
      return select(x > V(0), V(1), V(0));
    } else {
      return select(x > V(0), V(1), select(x < V(0), V(-1), x));  // x: a zero, or NaN
    }
  }
};

struct rounding : elementwise {
  static constexpr Domain domain = Domain::floating;
  static constexpr Derivative derivative = Derivative::zero;
};

struct Floor : rounding {
  static constexpr std::string_view name = "Floor";
  template <class V>
  constexpr V operator()(V x) const {
    return math::floor(x);
  }
};

struct Ceil : rounding {
  static constexpr std::string_view name = "Ceil";
  template <class V>
  constexpr V operator()(V x) const {
    return math::ceil(x);
  }
};

struct Round : rounding {
  static constexpr std::string_view name = "Round";
  template <class V>
  constexpr V operator()(V x) const {
    using std::nearbyint;
    return nearbyint(x);
  }
};

}  // namespace ops

/// -1, 0 or 1, elementwise; NaN stays NaN. Its gradient is zero.
template <Tensor X>
constexpr auto sign(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::real, X>,
                "sign(x): x must be a tensor of numbers that have an order");
  return detail::apply_at(at, ops::Sign{}, x);
}

/// The largest whole number <= x, elementwise. Its gradient is zero.
template <Tensor X>
constexpr auto floor(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "floor(x): x must be floating-point; integers are whole");
  return detail::apply_at(at, ops::Floor{}, x);
}

/// The smallest whole number >= x, elementwise. Its gradient is zero.
template <Tensor X>
constexpr auto ceil(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "ceil(x): x must be floating-point; integers are whole");
  return detail::apply_at(at, ops::Ceil{}, x);
}

/// The nearest whole number, elementwise; halves go to the even one, as in TensorFlow: 0.5 to 0,
/// 1.5 and 2.5 to 2. Its gradient is zero.
template <Tensor X>
constexpr auto round(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "round(x): x must be floating-point; integers are whole");
  return detail::apply_at(at, ops::Round{}, x);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
