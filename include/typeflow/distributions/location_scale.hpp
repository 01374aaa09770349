// SPDX-License-Identifier: Apache-2.0
#pragma once

// Distributions that are moved by loc and stretched by scale: Uniform, Laplace, Logistic, Gumbel,
// Cauchy, StudentT.

#include <cmath>
#include <numbers>
#include <string_view>

#include "typeflow/distributions/distribution.hpp"
#include "typeflow/random.hpp"

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
    const auto u = 2 * detail::uniform_numbers<T>(this->graph(), shape) - 1;
    return loc - scale * sign(u) * log1p(-abs(u));
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
    const auto tail = minimum(q, 1 - q);  // negative, so NaN, outside of [0, 1]
    const auto x = log(2 * tail);
    return loc + scale * where(less(q, 0.5), x, -x);
  }
  constexpr auto entropy() const { return this->per_batch(1 + log(2 * scale)); }
  constexpr auto mean() const { return this->per_batch(loc); }
  constexpr auto mode() const { return this->per_batch(loc); }
  constexpr auto variance() const { return this->per_batch(2 * square(scale)); }

 private:
  template <class Z>
  static constexpr auto below(const Z& z) {
    const auto tail = 0.5 * exp(-abs(z));
    return where(less(z, 0), tail, 1 - tail);
  }
  template <class Z>
  static constexpr auto log_below(const Z& z) {
    return where(less(z, 0), z - std::numbers::ln2, log1p(-0.5 * exp(-abs(z))));
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
    const auto z = abs(this->standard(v));
    return -z - 2 * softplus(-z) - log(scale);
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
    const auto u = detail::uniform_numbers<T>(this->graph(), shape);
    return loc + scale * tan(std::numbers::pi * u - std::numbers::pi / 2);
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

/// Student's t distribution of df degrees of freedom, moved by loc and stretched by scale.
template <Element T, class D, class L, class S>
struct StudentT : Distribution<StudentT<T, D, L, S>> {
  static constexpr std::string_view class_name = "StudentT";
  static constexpr bool is_continuous = true;
  static constexpr bool reparameterized = true;
  using element = T;
  using batch_shape = detail::Broadcast<D, L, S>;
  using event_shape = Shape<>;

  Expr<T, D> df;
  Expr<T, L> loc;
  Expr<T, S> scale;

  template <Operand PD, Operand PL, Operand PS>
  constexpr StudentT(const PD& freedom, const PL& centre, const PS& width, Options options = {})
      : Distribution<StudentT>(detail::graph_of(freedom, centre, width), options),
        df(detail::parameter<T>(this->graph(), freedom)),
        loc(detail::parameter<T>(this->graph(), centre)),
        scale(detail::parameter<T>(this->graph(), width)) {}

  template <class N>
  constexpr auto draw(N shape) const {
    const auto z = detail::normal_numbers<T>(this->graph(), shape);
    const auto chi2 = 2 * random_gamma(detail::expand(0.5 * df, shape));
    return loc + scale * z * sqrt(df / chi2);
  }
  template <class V>
  constexpr auto log_prob(const V& v) const {
    return -0.5 * (df + 1) * detail::log1p_square(standard(v) / sqrt(df)) - log(scale) -
           0.5 * log(df) - lbeta(0.5 * df, constant<T>(this->graph(), T(0.5)));
  }
  template <class V>
  constexpr auto cdf(const V& v) const {
    return below(standard(v));
  }
  template <class V>
  constexpr auto survival_function(const V& v) const {
    return below(-standard(v));
  }
  template <class V>
  constexpr auto log_cdf(const V& v) const {
    return log_below(standard(v));
  }
  template <class V>
  constexpr auto log_survival_function(const V& v) const {
    return log_below(-standard(v));
  }
  template <class P>
  constexpr auto quantile(const P& p) const {
    const auto q = this->value(p);
    const auto upper = greater(q, 0.5);
    const auto tail = where(upper, 1 - q, q);
    const auto centre = equal(tail, 0.5);  // where the slope of betaincinv is 0
    // z^2 / (df + z^2), or its complement in the tails and where z^2 > df.
    const auto inner = greater(tail, maximum(0.25, 0.5 * betainc(0.5 * df, half(), half())));
    // Far out, where z^2 may overflow, by the leading term of the tail.
    const auto log_z = 0.5 * log(df) - (log(2 * tail) + log_tail()) / df;
    const auto far = greater(log_z - 0.5 * log(df), 20);
    const auto middle = logical_and(inner, logical_not(logical_or(centre, far)));
    const auto share = betaincinv(half(), 0.5 * df, 1 - 2 * where(middle, tail, 0.499));
    const auto outer = logical_not(logical_or(inner, far));
    const auto rest = betaincinv(0.5 * df, half(), 2 * where(outer, tail, 0.2));
    const auto odds =
        where(inner, share / where(middle, 1 - share, 1), (1 - rest) / where(outer, rest, 1));
    const auto z = where(far, exp(where(far, log_z, 0)), sqrt(df * odds));
    return loc + scale * where(centre, (q - 0.5) / peak(), where(upper, z, -z));
  }
  constexpr auto entropy() const {
    const auto a = 0.5 * df;
    const auto b = 0.5 * (df + 1);
    return this->per_batch(b * (digamma(b) - digamma(a)) + 0.5 * log(df) + log(scale) +
                           lbeta(a, constant<T>(this->graph(), T(0.5))));
  }
  constexpr auto mean() const {
    return this->where_defined(this->per_batch(greater(df, 1)), this->per_batch(loc), "mean");
  }
  constexpr auto mode() const { return this->per_batch(loc); }
  constexpr auto variance() const {
    return spread([](auto x) { return x; }, "variance");
  }
  constexpr auto stddev() const {
    return spread([](auto x) { return sqrt(x); }, "stddev");
  }

 private:
  template <class V>
  constexpr auto standard(const V& v) const {
    return (this->value(v) - loc) / scale;
  }
  template <class Z>
  constexpr auto below(const Z& z) const {
    const auto tail = 0.5 * of_tail(
                                z, [](auto a, auto b, auto x) { return betainc(a, b, x); },
                                [](auto a, auto b, auto x) { return detail::betaincc(a, b, x); },
                                [](auto log_end) { return exp(log_end); });
    return where(central(z), 0.5 + z * peak(), where(less(z, 0), tail, 1 - tail));
  }
  template <class Z>
  constexpr auto log_below(const Z& z) const {
    const auto log_of_tail =
        of_tail(
            z, [](auto a, auto b, auto x) { return detail::log_betainc(a, b, x); },
            [](auto a, auto b, auto x) { return detail::log_betaincc(a, b, x); },
            [](auto log_end) { return log_end; }) -
        std::numbers::ln2;
    const auto centre = central(z);
    const auto low = less(z, 0);
    const auto rest = log1p(-exp(where(logical_or(low, centre), -1, log_of_tail)));
    return where(centre, log1p(2 * where(centre, z, 0) * peak()) - std::numbers::ln2,
                 where(low, log_of_tail, rest));
  }
  /// Where z^2 has no weight, and the slope of betainc is infinite.
  template <class Z>
  static constexpr auto central(const Z& z) {
    return less(abs(z), 1e-10);
  }
  /// The probability of more than |z| on both sides: near(1/2, df/2, z^2 / (df + z^2)) or
  /// far(df/2, 1/2, df / (df + z^2)), which is the same, by the smaller argument: it has all
  /// digits. Where z^2 may overflow it is end(its logarithm).
  template <class Z, class Far, class Near, class End>
  constexpr auto of_tail(const Z& z, const Far& far, const Near& near, const End& end) const {
    const auto far_out = greater(abs(z), 1e8 * sqrt(df));
    const auto squares = square(where(far_out, 1, z));
    const auto inner = less(squares, df);
    const auto share =
        where(logical_or(central(z), logical_not(inner)), 0.5, squares / (df + squares));
    const auto rest = where(logical_or(far_out, inner), 0.5, df / (df + squares));
    const auto ends = is_inf(z);
    const auto log_z = log(where(logical_and(far_out, logical_not(ends)), abs(z), 1));
    const auto log_end = df * (0.5 * log(df) - log_z) - log_tail();
    return where(far_out, end(where(ends, -detail::infinity, log_end)),
                 where(inner, near(half(), 0.5 * df, share), far(0.5 * df, half(), rest)));
  }
  constexpr auto half() const { return constant<T>(this->graph(), T(0.5)); }
  /// Far out the tail is z^-df df^(df / 2) e^-log_tail / 2.
  constexpr auto log_tail() const {
    return lgamma(0.5 * df + 1) - lgamma(0.5 * df + 0.5) + 0.5 * detail::log_pi;
  }
  /// The density of the standard distribution at 0.
  constexpr auto peak() const { return exp(-lbeta(0.5 * df, half())) / sqrt(df); }
  /// The variance is infinite for 1 < df <= 2, and undefined below.
  template <class F>
  constexpr auto spread(const F& f, std::string_view statistic) const {
    const auto heavy = less_equal(df, 2);
    const auto safe = where(heavy, 3, df);
    const auto x = where(heavy, detail::infinity, square(scale) * safe / (safe - 2));
    return this->where_defined(this->per_batch(greater(df, 1)), this->per_batch(f(x)), statistic);
  }
};
template <Operand D, Operand L, Operand S>
StudentT(const D&, const L&, const S&, Options = {})
    -> StudentT<detail::ElementOf<D, L, S>, detail::ShapeOf<D>, detail::ShapeOf<L>,
                detail::ShapeOf<S>>;

}  // namespace typeflow::inline TYPEFLOW_ISA::distributions
