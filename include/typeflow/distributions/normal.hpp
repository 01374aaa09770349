// SPDX-License-Identifier: Apache-2.0
#pragma once

// The normal distribution and its relatives: Normal, LogNormal, HalfNormal, TruncatedNormal.

#include <cmath>
#include <numbers>
#include <string_view>

#include "typeflow/distributions/distribution.hpp"

namespace typeflow::inline TYPEFLOW_ISA::distributions {

/// The normal distribution of mean loc and standard deviation scale.
template <Element T, class L, class S>
struct Normal : LocationScale<Normal<T, L, S>, T, L, S> {
  static constexpr std::string_view class_name = "Normal";
  using Base = LocationScale<Normal, T, L, S>;
  using Base::loc;
  using Base::scale;

  template <Operand A, Operand B>
  constexpr Normal(const A& centre, const B& width, Options options = {})
      : Base(detail::graph_of(centre, width), centre, width, options) {}

  template <class N>
  constexpr auto draw(N shape) const {
    return loc + scale * detail::normal_numbers<T>(this->graph(), shape);
  }
  template <class X>
  constexpr auto log_prob(const X& x) const {
    return -0.5 * square(this->standard(x)) - log(scale) - detail::half_log_2_pi;
  }
  template <class X>
  constexpr auto cdf(const X& x) const {
    return ndtr(this->standard(x));
  }
  template <class X>
  constexpr auto log_cdf(const X& x) const {
    return log_ndtr(this->standard(x));
  }
  template <class X>
  constexpr auto survival_function(const X& x) const {
    return ndtr(-this->standard(x));
  }
  template <class X>
  constexpr auto log_survival_function(const X& x) const {
    return log_ndtr(-this->standard(x));
  }
  template <class P>
  constexpr auto quantile(const P& p) const {
    return loc + scale * ndtri(this->value(p));
  }
  constexpr auto entropy() const {
    return this->per_batch(log(scale) + (detail::half_log_2_pi + 0.5));
  }
  constexpr auto mean() const { return this->per_batch(loc); }
  constexpr auto mode() const { return mean(); }
  constexpr auto variance() const { return this->per_batch(square(scale)); }
  constexpr auto stddev() const { return this->per_batch(scale); }
};
template <Operand L, Operand S>
Normal(const L&, const S&, Options = {})
    -> Normal<detail::ElementOf<L, S>, detail::ShapeOf<L>, detail::ShapeOf<S>>;

/// exp(x) for normal x: loc and scale are those of the logarithm.
template <Element T, class L, class S>
struct LogNormal : Distribution<LogNormal<T, L, S>> {
  static constexpr std::string_view class_name = "LogNormal";
  static constexpr bool is_continuous = true;
  static constexpr bool reparameterized = true;
  using element = T;
  using batch_shape = detail::Broadcast<L, S>;
  using event_shape = Shape<>;

  Normal<T, L, S> logarithm;

  template <Operand A, Operand B>
  constexpr LogNormal(const A& loc, const B& scale, Options options = {})
      : Distribution<LogNormal>(detail::graph_of(loc, scale), options),
        logarithm(loc, scale, options) {}

  template <class N>
  constexpr auto draw(N shape) const {
    return exp(logarithm.draw(shape));
  }
  template <class V>
  constexpr auto log_prob(const V& v) const {
    return above_zero(v, -detail::infinity, [&](const auto& x) {
      const auto y = log(x);
      return logarithm.log_prob(y) - y;
    });
  }
  template <class V>
  constexpr auto cdf(const V& v) const {
    return above_zero(v, 0, [&](const auto& x) { return logarithm.cdf(log(x)); });
  }
  template <class V>
  constexpr auto log_cdf(const V& v) const {
    return above_zero(v, -detail::infinity,
                      [&](const auto& x) { return logarithm.log_cdf(log(x)); });
  }
  template <class V>
  constexpr auto survival_function(const V& v) const {
    return above_zero(v, 1, [&](const auto& x) { return logarithm.survival_function(log(x)); });
  }
  template <class V>
  constexpr auto log_survival_function(const V& v) const {
    return above_zero(v, 0, [&](const auto& x) { return logarithm.log_survival_function(log(x)); });
  }
  template <class P>
  constexpr auto quantile(const P& p) const {
    return exp(logarithm.quantile(p));
  }
  constexpr auto entropy() const { return logarithm.entropy() + logarithm.loc; }
  constexpr auto mean() const { return exp(logarithm.loc + 0.5 * logarithm.variance()); }
  constexpr auto mode() const { return exp(logarithm.loc - logarithm.variance()); }
  constexpr auto variance() const {
    const auto v = logarithm.variance();
    return expm1(v) * exp(2 * logarithm.loc + v);
  }

 private:
  template <class V, class F>
  constexpr auto above_zero(const V& v, double other, const F& f) const {
    const auto x = this->value(v);
    return detail::in_support(less_equal(x, 0), x, 1, other, f);
  }
};
template <Operand L, Operand S>
LogNormal(const L&, const S&, Options = {})
    -> LogNormal<detail::ElementOf<L, S>, detail::ShapeOf<L>, detail::ShapeOf<S>>;

/// |x| for normal x of mean 0 and standard deviation scale.
template <Element T, class S>
struct HalfNormal : Distribution<HalfNormal<T, S>> {
  static constexpr std::string_view class_name = "HalfNormal";
  static constexpr bool is_continuous = true;
  static constexpr bool reparameterized = true;
  using element = T;
  using batch_shape = S;
  using event_shape = Shape<>;

  Expr<T, S> scale;

  template <TypedExpr A>
  constexpr explicit HalfNormal(const A& deviation, Options options = {})
      : Distribution<HalfNormal>(deviation.graph(), options),
        scale(detail::parameter<T>(this->graph(), deviation)) {}

  template <class N>
  constexpr auto draw(N shape) const {
    return abs(scale * detail::normal_numbers<T>(this->graph(), shape));
  }
  template <class V>
  constexpr auto log_prob(const V& v) const {
    const auto x = this->value(v);
    return detail::in_support(less(x, 0), x, 1, -detail::infinity, [&](const auto& y) {
      return -0.5 * square(y / scale) - log(scale) + (std::numbers::ln2 - detail::half_log_2_pi);
    });
  }
  template <class V>
  constexpr auto cdf(const V& v) const {
    return erf(maximum(this->value(v), 0) / scale * (std::numbers::sqrt2 / 2));
  }
  template <class V>
  constexpr auto survival_function(const V& v) const {
    return erfc(maximum(this->value(v), 0) / scale * (std::numbers::sqrt2 / 2));
  }
  template <class P>
  constexpr auto quantile(const P& p) const {
    const auto q = this->value(p);
    const auto x =
        where(less(q, 0.5), std::numbers::sqrt2 * erfinv(minimum(q, 0.5)), -ndtri(0.5 * (1 - q)));
    return where(less(q, 0), detail::not_a_number, scale * x);
  }
  constexpr auto entropy() const {
    return log(scale) + (0.5 + 0.5 * detail::log_pi - 0.5 * std::numbers::ln2);
  }
  constexpr auto mean() const { return scale * (std::numbers::sqrt2 * std::numbers::inv_sqrtpi); }
  constexpr auto mode() const { return 0 * scale; }
  constexpr auto variance() const { return square(scale) * (1 - 2 * std::numbers::inv_pi); }
};
template <TypedExpr S>
HalfNormal(const S&, Options = {}) -> HalfNormal<detail::ElementOf<S>, detail::ShapeOf<S>>;

/// The normal distribution of loc and scale within [low, high]; the bounds may be infinite. Far in
/// a tail it has the digits that the difference of two distribution functions has there.
template <Element T, class L, class S, class A, class B>
struct TruncatedNormal : Distribution<TruncatedNormal<T, L, S, A, B>> {
  static constexpr std::string_view class_name = "TruncatedNormal";
  static constexpr bool is_continuous = true;
  static constexpr bool reparameterized = true;
  using element = T;
  using batch_shape = detail::Broadcast<L, S, A, B>;
  using event_shape = Shape<>;

  Expr<T, L> loc;
  Expr<T, S> scale;
  Expr<T, A> low;
  Expr<T, B> high;

  template <Operand PL, Operand PS, Operand PA, Operand PB>
  constexpr TruncatedNormal(const PL& mean, const PS& deviation, const PA& least, const PB& most,
                            Options options = {})
      : Distribution<TruncatedNormal>(detail::graph_of(mean, deviation, least, most), options),
        loc(detail::parameter<T>(this->graph(), mean)),
        scale(detail::parameter<T>(this->graph(), deviation)),
        low(detail::parameter<T>(this->graph(), least)),
        high(detail::parameter<T>(this->graph(), most)) {}

  template <class N>
  constexpr auto draw(N shape) const {
    return inverse(detail::uniform_numbers<T>(this->graph(), shape));
  }
  template <class V>
  constexpr auto log_prob(const V& v) const {
    const auto x = this->value(v);
    const auto outside = logical_or(less(x, low), greater(x, high));
    const auto z = (where(outside, loc, x) - loc) / scale;
    return where(outside, -detail::infinity,
                 -0.5 * square(z) - log(scale) - detail::half_log_2_pi - log_mass());
  }
  template <class V>
  constexpr auto cdf(const V& v) const {
    const auto x = minimum(maximum(this->value(v), low), high);
    const auto z = (x - loc) / scale;
    // In the upper tail as the difference of the upper tails.
    const auto flip = greater(lower(), 0);
    const auto part = ndtr(where(flip, -lower(), z)) - ndtr(where(flip, -z, lower()));
    return minimum(part / mass(), 1);
  }
  template <class V>
  constexpr auto survival_function(const V& v) const {
    const auto x = minimum(maximum(this->value(v), low), high);
    const auto z = (x - loc) / scale;
    const auto flip = greater(lower(), 0);
    const auto part = ndtr(where(flip, -z, upper())) - ndtr(where(flip, -upper(), z));
    return minimum(part / mass(), 1);
  }
  template <class P>
  constexpr auto quantile(const P& p) const {
    const auto q = this->value(p);
    const auto inside = logical_and(greater_equal(q, 0), less_equal(q, 1));
    return where(inside, inverse(where(inside, q, 0.5)), detail::not_a_number);
  }
  constexpr auto entropy() const {
    const auto rest = 0.5 * (edge(lower()) - edge(upper())) / mass();
    return this->per_batch(log(scale) + log_mass() + (detail::half_log_2_pi + 0.5) + rest);
  }
  constexpr auto mean() const { return this->per_batch(loc + scale * shift()); }
  constexpr auto mode() const { return this->per_batch(minimum(maximum(loc, low), high)); }
  constexpr auto variance() const {
    const auto rest = (edge(lower()) - edge(upper())) / mass();
    return this->per_batch(square(scale) * (1 + rest - square(shift())));
  }

 private:
  /// The quantile of q in [0, 1].
  template <class Q>
  constexpr auto inverse(const Q& q) const {
    const auto flip = greater(lower(), 0);
    const auto below = ndtr(where(flip, -lower(), lower()));
    const auto z = ndtri(where(flip, below - q * mass(), below + q * mass()));
    return minimum(maximum(loc + scale * where(flip, -z, z), low), high);
  }
  constexpr auto lower() const { return (low - loc) / scale; }
  constexpr auto upper() const { return (high - loc) / scale; }
  constexpr auto log_mass() const {
    const auto flip = greater(lower(), 0);
    return detail::log_difference(log_ndtr(where(flip, -lower(), upper())),
                                  log_ndtr(where(flip, -upper(), lower())));
  }
  constexpr auto mass() const { return exp(log_mass()); }
  template <class Z>
  static constexpr auto density(const Z& z) {
    return exp(-0.5 * square(z) - detail::half_log_2_pi);
  }
  /// z times the density at z; 0 at infinity.
  template <class Z>
  static constexpr auto edge(const Z& z) {
    const auto finite = where(is_inf(z), 0, z);
    return finite * density(finite);
  }
  constexpr auto shift() const { return (density(lower()) - density(upper())) / mass(); }
};
template <Operand L, Operand S, Operand A, Operand B>
TruncatedNormal(const L&, const S&, const A&, const B&, Options = {})
    -> TruncatedNormal<detail::ElementOf<L, S, A, B>, detail::ShapeOf<L>, detail::ShapeOf<S>,
                       detail::ShapeOf<A>, detail::ShapeOf<B>>;

}  // namespace typeflow::inline TYPEFLOW_ISA::distributions
