// SPDX-License-Identifier: Apache-2.0
#pragma once

// The von Mises distribution: the normal distribution's counterpart on a circle.

#include <numbers>
#include <string_view>

#include "typeflow/distributions/distribution.hpp"
#include "typeflow/random.hpp"
#include "typeflow/special_functions.hpp"

namespace typeflow::inline TYPEFLOW_ISA::distributions {

/// The distribution of angles x with density proportional to exp(concentration cos(x - loc)).
/// Draws are in [-pi, pi]; loc has a gradient through them, the concentration none.
template <Element T, class L, class K>
struct VonMises : Distribution<VonMises<T, L, K>> {
  static constexpr std::string_view class_name = "VonMises";
  static constexpr bool is_continuous = true;
  static constexpr bool reparameterized = true;
  using element = T;
  using batch_shape = detail::Broadcast<L, K>;
  using event_shape = Shape<>;

  Expr<T, L> loc;
  Expr<T, K> concentration;

  template <Operand PL, Operand PK>
  constexpr VonMises(const PL& centre, const PK& sharpness, Options options = {})
      : Distribution<VonMises>(detail::graph_of(centre, sharpness), options),
        loc(detail::parameter<T>(this->graph(), centre)),
        concentration(detail::parameter<T>(this->graph(), sharpness)) {}

  template <class N>
  constexpr auto draw(N shape) const {
    const auto turned = loc + random_von_mises(detail::expand(concentration, shape));
    return turned - two_pi * round(turned / two_pi);
  }
  template <class V>
  constexpr auto log_prob(const V& v) const {
    return concentration * (cos(this->value(v) - loc) - 1) -
           log(two_pi * bessel_i0e(concentration));
  }
  /// The probability of [loc - pi, x], and 1 more for each turn. Its error is below 1e-7. Source:
  /// Hill, "Algorithm 518: incomplete Bessel function I0. The von Mises distribution", ACM TOMS 3
  /// (1977).
  template <class V>
  constexpr auto cdf(const V& v) const {
    const auto angle = this->value(v) - loc;
    const auto turns = round(angle / two_pi);
    const auto x = angle - two_pi * turns;
    const auto sharp = greater(concentration, 10.5);
    return turns + where(sharp, near_normal(x, where(sharp, concentration, 20)),
                         series(x, where(sharp, 1, concentration)));
  }
  constexpr auto entropy() const {
    const auto ratio = bessel_i1e(concentration) / bessel_i0e(concentration);
    return this->per_batch(log(two_pi * bessel_i0e(concentration)) + concentration * (1 - ratio));
  }
  /// The mean direction.
  constexpr auto mean() const { return this->per_batch(loc); }
  constexpr auto mode() const { return this->per_batch(loc); }
  /// The circular variance: 1 - I1(concentration) / I0(concentration).
  constexpr auto variance() const {
    return this->per_batch(1 - bessel_i1e(concentration) / bessel_i0e(concentration));
  }

 private:
  static constexpr double two_pi = 2 * std::numbers::pi;

  /// Sums the Fourier series by backward recurrence.
  template <class X, class C>
  static constexpr auto series(const X& x, const C& kappa) {
    auto r = 0 * (x + kappa);
    auto sum = r;
    for (int n = 20; n >= 1; --n) {
      r = kappa / (2 * n + kappa * r);
      sum = r * (sin(n * x) / n + sum);
    }
    return minimum(maximum(0.5 + (x * 0.5 + sum) * std::numbers::inv_pi, 0), 1);
  }
  template <class X, class C>
  static constexpr auto near_normal(const X& x, const C& kappa) {
    constexpr double root = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
    const auto z = root / bessel_i0e(kappa) * sin(0.5 * x);
    const auto z2 = square(z);
    const auto c = 24 * kappa;
    const auto rest = (c - 2 * z2 - 16) / 3 - (square(z2) + 1.75 * z2 + 83.5) / (c - 53 - z2);
    return ndtr(z - z * z2 / square(rest));
  }
};
template <Operand L, Operand K>
VonMises(const L&, const K&, Options = {})
    -> VonMises<detail::ElementOf<L, K>, detail::ShapeOf<L>, detail::ShapeOf<K>>;

}  // namespace typeflow::inline TYPEFLOW_ISA::distributions
