// SPDX-License-Identifier: Apache-2.0
#pragma once

// The von Mises distribution: the normal distribution's counterpart on a circle.

#include <numbers>
#include <string_view>
#include <type_traits>

#include "typeflow/distributions/distribution.hpp"
#include "typeflow/distributions/von_mises_functions.hpp"
#include "typeflow/random.hpp"
#include "typeflow/special_functions.hpp"

namespace typeflow::inline TYPEFLOW_ISA::distributions {

namespace detail {
/// 1 - I1(k) / I0(k), by the asymptotic series where the ratio is so near 1 that digits would be
/// lost. (S) -> (S)
template <TypedExpr K>
constexpr auto circular_variance(const K& k) {
  constexpr double start = std::is_same_v<typename K::element, float> ? 20 : 200;
  const auto far = greater(k, start);
  const auto near = where(far, start, k);
  const auto r = 1 / where(far, k, start);
  const auto rest = 25.0 / 128 + r * (13.0 / 32 + r * (1073.0 / 1024));
  return where(far, r * (0.5 + r * (0.125 + r * (0.125 + r * rest))),
               1 - bessel_i1e(near) / bessel_i0e(near));
}
}  // namespace detail

/// The distribution of angles x with density proportional to exp(concentration cos(x - loc)).
/// Draws are in [-pi, pi].
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
    // cos(angle) - 1, which would cancel.
    return -2 * concentration * square(sin(0.5 * (this->value(v) - loc))) -
           log(two_pi * bessel_i0e(concentration));
  }
  /// The probability of [loc - pi, x], and 1 more for each turn.
  template <class V>
  constexpr auto cdf(const V& v) const {
    const auto angle = this->value(v) - loc;
    const auto turns = round(angle / two_pi);
    return turns + apply(ops::VonMisesCdf{}, concentration, angle - two_pi * turns);
  }
  template <class V>
  constexpr auto survival_function(const V& v) const {
    const auto angle = this->value(v) - loc;
    const auto turns = round(angle / two_pi);
    return apply(ops::VonMisesCdf{}, concentration, two_pi * turns - angle) - turns;
  }
  template <class V>
  constexpr auto log_cdf(const V& v) const {
    return log_below(this->value(v) - loc, cdf(v));
  }
  template <class V>
  constexpr auto log_survival_function(const V& v) const {
    return log_below(loc - this->value(v), survival_function(v));
  }
  /// In [loc - pi, loc + pi].
  template <class P>
  constexpr auto quantile(const P& p) const {
    return loc + apply(ops::VonMisesQuantile{}, concentration, this->value(p));
  }
  constexpr auto entropy() const {
    return this->per_batch(log(two_pi * bessel_i0e(concentration)) +
                           concentration * detail::circular_variance(concentration));
  }
  /// The mean direction.
  constexpr auto mean() const { return this->per_batch(loc); }
  constexpr auto mode() const { return this->per_batch(loc); }
  /// The circular variance: 1 - I1(concentration) / I0(concentration).
  constexpr auto variance() const {
    return this->per_batch(detail::circular_variance(concentration));
  }

 private:
  template <class X, class P>
  constexpr auto log_below(const X& angle, const P& probability) const {
    const auto near = less_equal(abs(angle), std::numbers::pi);
    return where(near, apply(ops::VonMisesLogCdf{}, concentration, where(near, angle, 0)),
                 log(where(near, 1, probability)));
  }
  static constexpr double two_pi = 2 * std::numbers::pi;
};
template <Operand L, Operand K>
VonMises(const L&, const K&, Options = {})
    -> VonMises<detail::ElementOf<L, K>, detail::ShapeOf<L>, detail::ShapeOf<K>>;

}  // namespace typeflow::inline TYPEFLOW_ISA::distributions
