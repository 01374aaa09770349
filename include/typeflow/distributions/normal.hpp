// SPDX-License-Identifier: Apache-2.0
#pragma once

// The normal distribution and its relatives: Normal, LogNormal, HalfNormal, TruncatedNormal.

#include <array>
#include <cmath>
#include <numbers>
#include <string_view>
#include <utility>

#include "typeflow/distributions/distribution.hpp"
#include "typeflow/distributions/truncated_quantile.hpp"

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
  template <class V>
  constexpr auto log_survival_function(const V& v) const {
    const auto z = maximum(this->value(v), 0) / scale;
    const auto near = less(z, 0.5);
    const auto below = erf(where(near, z, 0) * (std::numbers::sqrt2 / 2));
    return where(near, log1p(-below), std::numbers::ln2 + log_ndtr(-where(near, 1, z)));
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

namespace detail {

/// Numbers low to high of the standard normal distribution. Where they are close to one another,
/// differences of distribution functions and densities would cancel. There, with the middle m and
/// the width w, the distribution function grows by density(m) w f(m), where f is a series in w^2.
template <TypedExpr A, TypedExpr B>
struct NormalInterval {
  A low;
  B high;

  constexpr auto narrow() const { return less((high - low) * (1 + abs(low)), 0.5); }
  constexpr auto middle() const { return where(narrow(), 0.5 * (low + high), 0); }
  constexpr auto width() const { return where(narrow(), high - low, 0); }
  /// f(m), f'(m) and f''(m): f is the sum of He(2k, m) (w/2)^2k / (2k+1)!, with Hermite's
  /// polynomials, of which He'(n, m) = n He(n-1, m).
  constexpr auto series() const {
    const auto m = middle();
    const auto w = width();
    auto factor = 0 * m + 1;
    auto even = factor;
    auto odd = m;
    std::array f = {factor, 0 * m, 0 * m};
    for (double n = 2; n <= 14; n += 2) {
      factor = factor * square(0.5 * w) / (n * (n + 1));
      f[2] = f[2] + n * (n - 1) * factor * even;
      f[1] = f[1] + n * factor * odd;
      even = m * odd - (n - 1) * even;
      odd = m * even - n * odd;
      f[0] = f[0] + factor * even;
    }
    return f;
  }
  /// The logarithm of the probability of such numbers.
  constexpr auto log_mass() const {
    const auto near = log_density(middle()) + log(where(narrow(), width() * series()[0], 1));
    return where(narrow(), near, log_mass_if_wide());
  }
  /// The same probability over e^log_all.
  template <TypedExpr R>
  constexpr auto share(const R& log_all) const {
    const auto in = narrow();
    const auto near = width() * series()[0] * exp(where(in, log_density(middle()) - log_all, 0));
    return where(in, near, exp(where(in, 0, log_mass_if_wide() - log_all)));
  }
  template <TypedExpr Z>
  static constexpr auto log_density(const Z& z) {
    return -0.5 * square(z) - half_log_2_pi;
  }

 private:
  constexpr auto log_mass_if_wide() const {
    const auto a = where(narrow(), -1, low);
    const auto b = where(narrow(), 1, high);
    // In the upper tail as the difference of the upper tails.
    const auto flip = greater(a, 0);
    const auto more = where(flip, -a, b);
    const auto less = where(flip, -b, a);
    const auto all = is_inf(less);
    const auto y = log_ndtr(more);
    return y + log1p(-where(all, 0, exp(log_ndtr(where(all, more, less)) - y)));
  }
};
template <TypedExpr A, TypedExpr B>
NormalInterval(const A&, const B&) -> NormalInterval<A, B>;

}  // namespace detail

/// The normal distribution of loc and scale within [low, high]; the bounds may be infinite. Far in
/// a tail the mean and the variance have fewer digits.
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
    return minimum(below(v).share(log_mass()), 1);
  }
  template <class V>
  constexpr auto log_cdf(const V& v) const {
    return log_share(below(v), above(v));
  }
  template <class V>
  constexpr auto survival_function(const V& v) const {
    return minimum(above(v).share(log_mass()), 1);
  }
  template <class V>
  constexpr auto log_survival_function(const V& v) const {
    return log_share(above(v), below(v));
  }
  template <class P>
  constexpr auto quantile(const P& p) const {
    const auto q = this->value(p);
    const auto inside = logical_and(greater_equal(q, 0), less_equal(q, 1));
    return where(inside, inverse(where(inside, q, 0.5)), detail::not_a_number);
  }
  constexpr auto entropy() const {
    const auto [shift, spread] = moments();
    const auto squares = spread + square(numbers().middle() + shift);
    return this->per_batch(log(scale) + log_mass() + detail::half_log_2_pi + 0.5 * squares);
  }
  constexpr auto mean() const {
    const auto centre = where(numbers().narrow(), 0.5 * (low + high), loc);
    return this->per_batch(centre + scale * moments().first);
  }
  constexpr auto mode() const { return this->per_batch(minimum(maximum(loc, low), high)); }
  constexpr auto variance() const { return this->per_batch(square(scale) * moments().second); }

 private:
  /// The quantile of q in [0, 1].
  template <class Q>
  constexpr auto inverse(const Q& q) const {
    // The logarithm of the probability is an argument for the gradient, which needs it.
    const auto value = [](auto centre, auto width, auto least, auto most, auto p, auto) {
      return apply(ops::TruncatedNormalQuantile{}, centre, width, least, most, p);
    };
    const auto rule = [](auto centre, auto width, auto least, auto most, auto p, auto log_all,
                         auto x, auto dx) {
      const auto z = (x - centre) / width;
      // The densities at the bounds over that at x; 0 at infinite bounds, whose z is then 0.
      const auto bound = [&](auto y) {
        const auto ends = is_inf(y);
        const auto at = where(ends, 0, (where(ends, centre, y) - centre) / width);
        const auto ratio = where(ends, 0, exp(where(ends, 0, 0.5 * (z - at) * (z + at))));
        return std::pair(at, ratio);
      };
      const auto [low_z, low_ratio] = bound(least);
      const auto [high_z, high_ratio] = bound(most);
      const AnyExpr for_low = (1 - p) * low_ratio;
      const AnyExpr for_high = p * high_ratio;
      return std::array<AnyExpr, 6>{
          dx * (1 - for_low - for_high),
          dx * (z - low_z * for_low - high_z * for_high),
          dx * for_low,
          dx * for_high,
          dx * width * exp(log_all + 0.5 * square(z) + detail::half_log_2_pi),
          AnyExpr{}};
    };
    return custom_gradient(value, rule, loc, scale, low, high, q, log_mass());
  }
  /// The numbers of the interval that are at most x, and those above.
  template <class V>
  constexpr auto below(const V& v) const {
    const auto x = minimum(maximum(this->value(v), low), high);
    return detail::NormalInterval{lower(), (x - loc) / scale};
  }
  template <class V>
  constexpr auto above(const V& v) const {
    const auto x = minimum(maximum(this->value(v), low), high);
    return detail::NormalInterval{(x - loc) / scale, upper()};
  }
  /// The logarithm of the probability of a part, if `rest` are the others.
  template <class P, class R>
  constexpr auto log_share(const P& part, const R& rest) const {
    const auto all = log_mass();
    const auto most = less(rest.share(all), 0.5);
    return where(most, log1p(-where(most, rest.share(all), 0)),
                 where(most, 0, part.log_mass() - all));
  }
  constexpr auto lower() const { return standard(low); }
  constexpr auto upper() const { return standard(high); }
  /// (x - loc) / scale; an infinite bound has no gradient.
  template <class X>
  constexpr auto standard(const X& x) const {
    const auto ends = is_inf(x);
    return where(ends, x, (where(ends, loc, x) - loc) / scale);
  }
  constexpr auto numbers() const { return detail::NormalInterval{lower(), upper()}; }
  constexpr auto log_mass() const { return numbers().log_mass(); }
  /// The mean, if narrow less the middle, and the variance of the standard distribution.
  constexpr auto moments() const {
    const auto [f, slope, curve] = numbers().series();
    const auto narrow = numbers().narrow();
    const auto term = [&](const auto& z, int power) {  // z^power times the density at z
      const auto ends = logical_or(is_inf(z), narrow);
      const auto y = where(ends, 0, z);
      const auto density =
          exp(where(ends, -detail::infinity, numbers().log_density(y) - log_mass()));
      return power == 0 ? density : y * density;
    };
    const auto mean = term(lower(), 0) - term(upper(), 0);
    const auto squares = 1 + term(lower(), 1) - term(upper(), 1);
    return std::pair(where(narrow, -slope / f, mean),
                     where(narrow, curve / f - square(slope / f), squares - square(mean)));
  }
};
template <Operand L, Operand S, Operand A, Operand B>
TruncatedNormal(const L&, const S&, const A&, const B&, Options = {})
    -> TruncatedNormal<detail::ElementOf<L, S, A, B>, detail::ShapeOf<L>, detail::ShapeOf<S>,
                       detail::ShapeOf<A>, detail::ShapeOf<B>>;

}  // namespace typeflow::inline TYPEFLOW_ISA::distributions
