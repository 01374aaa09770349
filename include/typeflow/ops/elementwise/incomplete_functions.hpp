// SPDX-License-Identifier: Apache-2.0
#pragma once

// The incomplete gamma and beta functions igamma, igammac and betainc, with their gradients. All
// compute in double for every element type.

#include <array>
#include <cstdint>
#include <source_location>
#include <string_view>

#include "typeflow/ops/elementwise/incomplete_math.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// The density of gamma numbers of shape a.
struct GammaDensity : special {
  static constexpr std::string_view name = "GammaDensity";
  template <class V>
  constexpr V operator()(V a, V x) const {
    return static_cast<V>(math::gamma_density(static_cast<double>(a), static_cast<double>(x)));
  }
  static constexpr std::array<AnyExpr, 2> gradient(GammaDensity, auto a, auto x, auto y, auto dy) {
    const AnyExpr scaled = dy * y;
    return {scaled * (log(x) - digamma(a)), scaled * ((a - 1) / x - 1)};
  }
};

/// The derivative of igamma(a, x) for a. It has no gradient.
struct IgammaGradA : special {
  static constexpr std::string_view name = "IgammaGradA";
  static constexpr int flops = 200;
  template <class V>
  constexpr V operator()(V a, V x) const {
    return static_cast<V>(math::igamma_slope(static_cast<double>(a), static_cast<double>(x)));
  }
};

struct Igamma : special {
  static constexpr std::string_view name = "Igamma";
  template <class V>
  constexpr V operator()(V a, V x) const {
    return static_cast<V>(math::igamma(static_cast<double>(a), static_cast<double>(x)));
  }
  static constexpr std::array<AnyExpr, 2> gradient(Igamma, auto a, auto x, auto, auto dy) {
    return {dy * detail::apply_untyped(IgammaGradA{}, a, x),
            dy * detail::apply_untyped(GammaDensity{}, a, x)};
  }
};

struct Igammac : special {
  static constexpr std::string_view name = "Igammac";
  template <class V>
  constexpr V operator()(V a, V x) const {
    return static_cast<V>(math::igammac(static_cast<double>(a), static_cast<double>(x)));
  }
  static constexpr std::array<AnyExpr, 2> gradient(Igammac, auto a, auto x, auto, auto dy) {
    return {-dy * detail::apply_untyped(IgammaGradA{}, a, x),
            -dy * detail::apply_untyped(GammaDensity{}, a, x)};
  }
};

/// The density of beta numbers.
struct BetaDensity : special {
  static constexpr std::string_view name = "BetaDensity";
  template <class V>
  constexpr V operator()(V a, V b, V x) const {
    return static_cast<V>(
        math::beta_density(static_cast<double>(a), static_cast<double>(b), static_cast<double>(x)));
  }
  static constexpr std::array<AnyExpr, 3> gradient(BetaDensity, auto a, auto b, auto x, auto y,
                                                   auto dy) {
    const AnyExpr scaled = dy * y;
    const AnyExpr of_sum = digamma(a + b);
    return {scaled * (log(x) - digamma(a) + of_sum), scaled * (log1p(-x) - digamma(b) + of_sum),
            scaled * ((a - 1) / x - (b - 1) / (1 - x))};
  }
};

/// The derivative of betainc(a, b, x) for a or b. It has no gradient.
struct BetaincGrad : special {
  static constexpr std::string_view name = "BetaincGrad";
  static constexpr int flops = 200;
  std::uint32_t for_b;

  template <class V>
  constexpr V operator()(V a, V b, V x) const {
    return static_cast<V>(math::betainc_slope(static_cast<double>(a), static_cast<double>(b),
                                              static_cast<double>(x), for_b != 0));
  }
};

struct Betainc : special {
  static constexpr std::string_view name = "Betainc";
  template <class V>
  constexpr V operator()(V a, V b, V x) const {
    return static_cast<V>(
        math::betainc(static_cast<double>(a), static_cast<double>(b), static_cast<double>(x)));
  }
  static constexpr std::array<AnyExpr, 3> gradient(Betainc, auto a, auto b, auto x, auto, auto dy) {
    return {dy * detail::apply_untyped(BetaincGrad{{}, 0}, a, b, x),
            dy * detail::apply_untyped(BetaincGrad{{}, 1}, a, b, x),
            dy * detail::apply_untyped(BetaDensity{}, a, b, x)};
  }
};

}  // namespace ops

/// The lower incomplete gamma function P(a, x), elementwise: the distribution function of a gamma
/// variable of shape a. NaN unless a > 0 and x >= 0. Its gradient for a has no gradient.
template <class A, class X>
  requires Operands<A, X>
constexpr auto igamma(const A& a, const X& x,
                      std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<A, X>,
                "igamma(a, x): the element types must be equal; convert with cast<T>(x)");
  static_assert(detail::broadcasts<A, X>, "igamma(a, x): the shapes do not broadcast");
  static_assert(detail::in_domain<Domain::floating, A, X>,
                "igamma(a, x): a and x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Igamma{}, a, x);
}

/// The upper incomplete gamma function Q(a, x) = 1 - P(a, x), elementwise, precise where it is
/// small, too. NaN unless a > 0 and x >= 0. Its gradient for a has no gradient.
template <class A, class X>
  requires Operands<A, X>
constexpr auto igammac(const A& a, const X& x,
                       std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<A, X>,
                "igammac(a, x): the element types must be equal; convert with cast<T>(x)");
  static_assert(detail::broadcasts<A, X>, "igammac(a, x): the shapes do not broadcast");
  static_assert(detail::in_domain<Domain::floating, A, X>,
                "igammac(a, x): a and x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Igammac{}, a, x);
}

/// The regularised incomplete beta function I_x(a, b), elementwise: the distribution function of a
/// beta variable. NaN unless a > 0, b > 0 and 0 <= x <= 1. Its gradients for a and b have no
/// gradient.
template <class A, class B, class X>
  requires Operands<A, B, X>
constexpr auto betainc(const A& a, const B& b, const X& x,
                       std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<A, B, X>,
                "betainc(a, b, x): the element types must be equal; convert with cast<T>(x)");
  static_assert(detail::broadcasts<A, B, X>, "betainc(a, b, x): the shapes do not broadcast");
  static_assert(detail::in_domain<Domain::floating, A, B, X>,
                "betainc(a, b, x): a, b and x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Betainc{}, a, b, x);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
