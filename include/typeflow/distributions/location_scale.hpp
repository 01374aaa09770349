// SPDX-License-Identifier: Apache-2.0
#pragma once

// Distributions that are moved by loc and stretched by scale: Uniform, Laplace, Logistic, Gumbel,
// Cauchy. Normal and StudentT have headers of their own.

#include <cmath>
#include <numbers>
#include <string_view>

#include "typeflow/distributions/distribution.hpp"

namespace typeflow::inline TYPEFLOW_ISA::distributions {

/// The uniform distribution on [low, high].
template <Element T, class A, class B>
struct Uniform : Distribution<Uniform<T, A, B>> {
  static constexpr std::string_view class_name = "Uniform";
  static constexpr bool is_continuous = true;
  static constexpr bool reparameterized = true;
  using element = T;
  using batch_shape = detail::Broadcast<A, B>;
  using event_shape = Shape<>;

  Expr<T, A> low;
  Expr<T, B> high;

  template <Operand PA, Operand PB>
  constexpr Uniform(const PA& least, const PB& most, Options options = {})
      : Distribution<Uniform>(detail::graph_of(least, most), options),
        low(detail::parameter<T>(this->graph(), least)),
        high(detail::parameter<T>(this->graph(), most)) {}

  template <class N>
  constexpr auto draw(N shape) const {
    return low + (high - low) * detail::uniform_numbers<T>(this->graph(), shape);
  }
  template <class V>
  constexpr auto log_prob(const V& v) const {
    const auto x = this->value(v);
    const auto outside = logical_or(less(x, low), greater(x, high));
    const auto here = where(is_nan(x), x, 0);  // NaN stays NaN
    return where(outside, -detail::infinity, here - log(high - low));
  }
  template <class V>
  constexpr auto cdf(const V& v) const {
    return minimum(maximum((this->value(v) - low) / (high - low), 0), 1);
  }
  template <class V>
  constexpr auto survival_function(const V& v) const {
    return minimum(maximum((high - this->value(v)) / (high - low), 0), 1);
  }
  template <class P>
  constexpr auto quantile(const P& p) const {
    const auto q = this->value(p);
    const auto outside = logical_or(less(q, 0), greater(q, 1));
    return where(outside, detail::not_a_number, low + (high - low) * q);
  }
  constexpr auto entropy() const { return this->per_batch(log(high - low)); }
  constexpr auto mean() const { return this->per_batch(0.5 * (low + high)); }
  constexpr auto variance() const { return this->per_batch(square(high - low) / 12); }
};
template <Operand A, Operand B>
Uniform(const A&, const B&, Options = {})
    -> Uniform<detail::ElementOf<A, B>, detail::ShapeOf<A>, detail::ShapeOf<B>>;

/// The double exponential distribution: density exp(-|x - loc| / scale) / (2 scale).
template <Element T, class L, class S>
struct Laplace : LocationScale<Laplace<T, L, S>, T, L, S> {
  static constexpr std::string_view class_name = "Laplace";
  using Base = LocationScale<Laplace, T, L, S>;
  using Base::loc;
  using Base::scale;

  template <Operand A, Operand B>
  constexpr Laplace(const A& centre, const B& width, Options options = {})
      : Base(detail::graph_of(centre, width), centre, width, options) {}

  template <class N>
  constexpr auto draw(N shape) const {
    return quantile(detail::uniform_numbers<T>(this->graph(), shape));
  }
  template <class V>
  constexpr auto log_prob(const V& v) const {
    return -abs(this->standard(v)) - log(2 * scale);
  }
  template <class V>
  constexpr auto cdf(const V& v) const {
    return below(this->standard(v));
  }
  template <class V>
  constexpr auto log_cdf(const V& v) const {
    return log_below(this->standard(v));
  }
  template <class V>
  constexpr auto survival_function(const V& v) const {
    return below(-this->standard(v));
  }
  template <class V>
  constexpr auto log_survival_function(const V& v) const {
    return log_below(-this->standard(v));
  }
  template <class P>
  constexpr auto quantile(const P& p) const {
    const auto q = this->value(p);
    const auto lower = less(q, 0.5);
    const auto x = log(2 * where(lower, q, 1 - q));  // NaN outside of [0, 1]
    return loc + scale * where(lower, x, -x);
  }
  constexpr auto entropy() const { return this->per_batch(1 + log(2 * scale)); }
  constexpr auto mean() const { return this->per_batch(loc); }
  constexpr auto mode() const { return this->per_batch(loc); }
  constexpr auto variance() const { return this->per_batch(2 * square(scale)); }

 private:
  template <class Z>
  static constexpr auto below(const Z& z) {
    const auto low = less(z, 0);
    const auto tail = 0.5 * exp(where(low, z, -z));  // at 0 it has the slope of 1 - tail
    return where(low, tail, 1 - tail);
  }
  template <class Z>
  static constexpr auto log_below(const Z& z) {
    const auto low = less(z, 0);
    return where(low, z - std::numbers::ln2, log1p(-0.5 * exp(where(low, z, -z))));
  }
};
template <Operand L, Operand S>
Laplace(const L&, const S&, Options = {})
    -> Laplace<detail::ElementOf<L, S>, detail::ShapeOf<L>, detail::ShapeOf<S>>;

/// The distribution whose distribution function is sigmoid((x - loc) / scale).
template <Element T, class L, class S>
struct Logistic : LocationScale<Logistic<T, L, S>, T, L, S> {
  static constexpr std::string_view class_name = "Logistic";
  using Base = LocationScale<Logistic, T, L, S>;
  using Base::loc;
  using Base::scale;

  template <Operand A, Operand B>
  constexpr Logistic(const A& centre, const B& width, Options options = {})
      : Base(detail::graph_of(centre, width), centre, width, options) {}

  template <class N>
  constexpr auto draw(N shape) const {
    const auto u = detail::uniform_numbers<T>(this->graph(), shape);
    return loc + scale * (log(u) - log1p(-u));
  }
  template <class V>
  constexpr auto log_prob(const V& v) const {
    const auto z = this->standard(v);
    const auto below = where(less(z, 0), z, -z);  // not -|z|: its second derivative would be 0 at 0
    return below - 2 * softplus(below) - log(scale);
  }
  template <class V>
  constexpr auto cdf(const V& v) const {
    return sigmoid(this->standard(v));
  }
  template <class V>
  constexpr auto log_cdf(const V& v) const {
    return log_sigmoid(this->standard(v));
  }
  template <class V>
  constexpr auto survival_function(const V& v) const {
    return sigmoid(-this->standard(v));
  }
  template <class V>
  constexpr auto log_survival_function(const V& v) const {
    return log_sigmoid(-this->standard(v));
  }
  template <class P>
  constexpr auto quantile(const P& p) const {
    const auto q = this->value(p);
    return loc + scale * (log(q) - log1p(-q));
  }
  constexpr auto entropy() const { return this->per_batch(2 + log(scale)); }
  constexpr auto mean() const { return this->per_batch(loc); }
  constexpr auto mode() const { return this->per_batch(loc); }
  constexpr auto variance() const {
    return this->per_batch(square(scale) * (std::numbers::pi * std::numbers::pi / 3));
  }
};
template <Operand L, Operand S>
Logistic(const L&, const S&, Options = {})
    -> Logistic<detail::ElementOf<L, S>, detail::ShapeOf<L>, detail::ShapeOf<S>>;

/// The distribution of the largest of many numbers: distribution function exp(-exp(-z)) with
/// z = (x - loc) / scale.
template <Element T, class L, class S>
struct Gumbel : LocationScale<Gumbel<T, L, S>, T, L, S> {
  static constexpr std::string_view class_name = "Gumbel";
  using Base = LocationScale<Gumbel, T, L, S>;
  using Base::loc;
  using Base::scale;

  template <Operand A, Operand B>
  constexpr Gumbel(const A& centre, const B& width, Options options = {})
      : Base(detail::graph_of(centre, width), centre, width, options) {}

  template <class N>
  constexpr auto draw(N shape) const {
    return quantile(detail::uniform_numbers<T>(this->graph(), shape));
  }
  template <class V>
  constexpr auto log_prob(const V& v) const {
    const auto z = this->standard(v);
    const auto ends = is_inf(z);
    const auto y = where(ends, 0, z);
    return where(ends, -detail::infinity, -y - exp(-y) - log(scale));
  }
  template <class V>
  constexpr auto cdf(const V& v) const {
    return exp(log_cdf(v));
  }
  template <class V>
  constexpr auto log_cdf(const V& v) const {
    return -exp(-this->standard(v));
  }
  template <class V>
  constexpr auto survival_function(const V& v) const {
    return -expm1(log_cdf(v));
  }
  template <class V>
  constexpr auto log_survival_function(const V& v) const {
    const auto z = this->standard(v);
    const auto far = greater(z, 40);
    const auto low = less(z, 0);
    const auto y = exp(-where(far, 0, z));
    // log(1 - e^-y), which loses no digits for large y, nor for small ones.
    const auto near = where(low, log1p(-exp(-where(low, y, 1))), log(-expm1(-y)));
    return where(far, -z, near);
  }
  template <class P>
  constexpr auto quantile(const P& p) const {
    return loc - scale * log(-log(this->value(p)));
  }
  constexpr auto entropy() const {
    return this->per_batch(log(scale) + (1 + std::numbers::egamma));
  }
  constexpr auto mean() const { return this->per_batch(loc + std::numbers::egamma * scale); }
  constexpr auto mode() const { return this->per_batch(loc); }
  constexpr auto variance() const {
    return this->per_batch(square(scale) * (std::numbers::pi * std::numbers::pi / 6));
  }
};
template <Operand L, Operand S>
Gumbel(const L&, const S&, Options = {})
    -> Gumbel<detail::ElementOf<L, S>, detail::ShapeOf<L>, detail::ShapeOf<S>>;

/// The Cauchy distribution. Its mean and variance are undefined.
template <Element T, class L, class S>
struct Cauchy : LocationScale<Cauchy<T, L, S>, T, L, S> {
  static constexpr std::string_view class_name = "Cauchy";
  using Base = LocationScale<Cauchy, T, L, S>;
  using Base::loc;
  using Base::scale;

  template <Operand A, Operand B>
  constexpr Cauchy(const A& centre, const B& width, Options options = {})
      : Base(detail::graph_of(centre, width), centre, width, options) {}

  template <class N>
  constexpr auto draw(N shape) const {
    return quantile(detail::uniform_numbers<T>(this->graph(), shape));
  }
  template <class V>
  constexpr auto log_prob(const V& v) const {
    return -detail::log1p_square(this->standard(v)) - log(scale) - detail::log_pi;
  }
  template <class V>
  constexpr auto cdf(const V& v) const {
    return below(this->standard(v));
  }
  template <class V>
  constexpr auto survival_function(const V& v) const {
    return below(-this->standard(v));
  }
  template <class P>
  constexpr auto quantile(const P& p) const {
    const auto q = this->value(p);
    const auto outside = logical_or(less(q, 0), greater(q, 1));
    // -1 / tan(pi q), so that small q lose no digits; from the nearer end.
    const auto upper = greater(q, 0.5);
    const auto x = -1 / tan(std::numbers::pi * where(upper, 1 - q, q));
    return where(outside, detail::not_a_number, loc + scale * where(upper, -x, x));
  }
  constexpr auto entropy() const {
    return this->per_batch(log(scale) + (detail::log_pi + 2 * std::numbers::ln2));
  }
  constexpr auto mean() const { return undefined("mean"); }
  constexpr auto mode() const { return this->per_batch(loc); }
  constexpr auto variance() const { return undefined("variance"); }
  constexpr auto stddev() const { return undefined("stddev"); }

 private:
  /// The angle of the point (-z, 1), without the cancellation of 1/2 + atan(z) / pi.
  template <class Z>
  static constexpr auto below(const Z& z) {
    return atan2(1.0, -z) * std::numbers::inv_pi;
  }
  constexpr auto undefined(std::string_view statistic) const {
    const auto x = this->per_batch(loc + scale);
    return this->where_defined(not_equal(x, x), x, statistic);
  }
};
template <Operand L, Operand S>
Cauchy(const L&, const S&, Options = {})
    -> Cauchy<detail::ElementOf<L, S>, detail::ShapeOf<L>, detail::ShapeOf<S>>;

}  // namespace typeflow::inline TYPEFLOW_ISA::distributions
