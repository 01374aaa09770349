// SPDX-License-Identifier: Apache-2.0
#pragma once

// Distributions of positive numbers: Exponential, Beta, Pareto, Weibull. Gamma, Chi2 and
// InverseGamma are in gamma.hpp.

#include <numbers>
#include <string_view>

#include "typeflow/distributions/distribution.hpp"
#include "typeflow/random.hpp"

namespace typeflow::inline TYPEFLOW_ISA::distributions {

/// Base of distributions whose other functions are those of log_survival_function.
template <class Self>
struct BySurvival : Distribution<Self> {
  using Distribution<Self>::Distribution;
  template <class V>
  constexpr auto cdf(const V& v) const {
    return -expm1(this->self().log_survival_function(v));
  }
  template <class V>
  constexpr auto log_cdf(const V& v) const {
    return detail::log1mexp(this->self().log_survival_function(v));
  }
  template <class V>
  constexpr auto survival_function(const V& v) const {
    return exp(this->self().log_survival_function(v));
  }
};

/// The exponential distribution of this rate, of mean 1 / rate.
template <Element T, class R>
struct Exponential : BySurvival<Exponential<T, R>> {
  static constexpr std::string_view class_name = "Exponential";
  static constexpr bool is_continuous = true;
  static constexpr bool reparameterized = true;
  using element = T;
  using batch_shape = R;
  using event_shape = Shape<>;

  Expr<T, R> rate;

  template <TypedExpr P>
  constexpr explicit Exponential(const P& events, Options options = {})
      : BySurvival<Exponential>(events.graph(), options),
        rate(detail::parameter<T>(this->graph(), events)) {}

  template <class N>
  constexpr auto draw(N shape) const {
    return detail::exponential_numbers<T>(this->graph(), shape) / rate;
  }
  template <class V>
  constexpr auto log_prob(const V& v) const {
    const auto x = this->value(v);
    return where(less(x, 0), -detail::infinity, log(rate) - rate * x);
  }
  template <class V>
  constexpr auto log_survival_function(const V& v) const {
    return -rate * maximum(this->value(v), 0);
  }
  template <class P>
  constexpr auto quantile(const P& p) const {
    const auto q = this->value(p);
    return where(less(q, 0), detail::not_a_number, -log1p(-q) / rate);
  }
  constexpr auto entropy() const { return 1 - log(rate); }
  constexpr auto mean() const { return 1 / rate; }
  constexpr auto mode() const { return 0 * rate; }
  constexpr auto variance() const { return 1 / square(rate); }
  constexpr auto stddev() const { return mean(); }
};
template <TypedExpr R>
Exponential(const R&, Options = {}) -> Exponential<detail::ElementOf<R>, detail::ShapeOf<R>>;

/// The beta distribution on [0, 1]: density proportional to x^(a - 1) (1 - x)^(b - 1).
/// TensorFlow calls the two concentration1 and concentration0.
template <Element T, class A, class B>
struct Beta : Distribution<Beta<T, A, B>> {
  static constexpr std::string_view class_name = "Beta";
  static constexpr bool is_continuous = true;
  static constexpr bool reparameterized = true;
  using element = T;
  using batch_shape = detail::Broadcast<A, B>;
  using event_shape = Shape<>;

  Expr<T, A> a;
  Expr<T, B> b;

  template <Operand PA, Operand PB>
  constexpr Beta(const PA& above, const PB& below, Options options = {})
      : Distribution<Beta>(detail::graph_of(above, below), options),
        a(detail::parameter<T>(this->graph(), above)),
        b(detail::parameter<T>(this->graph(), below)) {}

  template <class N>
  constexpr auto draw(N shape) const {
    return random_beta(detail::expand(a, shape), detail::expand(b, shape));
  }
  template <class V>
  constexpr auto log_prob(const V& v) const {
    const auto x = this->value(v);
    const auto outside = logical_or(less(x, 0), greater(x, 1));
    return detail::in_support(outside, x, 0.5, -detail::infinity, [&](const auto& y) {
      const auto far = greater(minimum(a, b), detail::many + 1);
      const auto near = xlogy(a - 1, y) + xlog1py(b - 1, -y) - lbeta(a, b);
      const auto k = where(far, a - 1, detail::many);
      const auto m = where(far, b - 1, detail::many);
      return where(far,
                   detail::log_many_trials(k, m, where(far, y, 0.5), where(far, 1 - y, 0.5)) +
                       log(k + m + 1),
                   near);
    });
  }
  template <class V>
  constexpr auto cdf(const V& v) const {
    return inside(this->value(v), 0, 1, [&](const auto& y) { return betainc(a, b, y); });
  }
  template <class V>
  constexpr auto survival_function(const V& v) const {
    return inside(this->value(v), 1, 0, [&](const auto& y) { return detail::betaincc(a, b, y); });
  }
  template <class V>
  constexpr auto log_cdf(const V& v) const {
    return inside(this->value(v), -detail::infinity, 0,
                  [&](const auto& y) { return detail::log_betainc(a, b, y); });
  }
  template <class V>
  constexpr auto log_survival_function(const V& v) const {
    return inside(this->value(v), 0, -detail::infinity,
                  [&](const auto& y) { return detail::log_betaincc(a, b, y); });
  }
  template <class P>
  constexpr auto quantile(const P& p) const {
    return betaincinv(a, b, this->value(p));
  }
  constexpr auto entropy() const {
    const auto far = greater(minimum(a, b), detail::many);
    const auto first = less(a, b);
    const auto small = where(far, 1, where(first, a, b));
    const auto large = where(far, 1, where(first, b, a));
    const auto near = lbeta(large, small) + (large - 1) * detail::digamma_growth(large, small) +
                      (small - 1) * (digamma(large + small) - digamma(small));
    const auto k = where(far, a, detail::many);
    const auto m = where(far, b, detail::many);
    const auto n = k + m;
    const auto many = detail::half_log_2_pi + 0.5 * log(k / n * (m / n)) - 0.5 * log(n) +
                      detail::stirling_rest(k) + detail::stirling_rest(m) -
                      detail::stirling_rest(n) + (k - 1) * detail::digamma_rest(k) +
                      (m - 1) * detail::digamma_rest(m) - (n - 2) * detail::digamma_rest(n);
    return this->per_batch(where(far, many, near));
  }
  constexpr auto mean() const { return this->per_batch(a / (a + b)); }
  constexpr auto mode() const {
    const auto exists = this->per_batch(logical_and(greater(a, 1), greater(b, 1)));
    return this->where_defined(exists, (a - 1) / where(exists, a + b - 2, 1), "mode");
  }
  constexpr auto variance() const { return this->per_batch(a * b / (square(a + b) * (a + b + 1))); }

 private:
  /// f(x) in (0, 1), `below` and `above` beside it.
  template <class X, class F>
  static constexpr auto inside(const X& x, double below, double above, const F& f) {
    const auto under = less_equal(x, 0);
    const auto over = greater_equal(x, 1);
    const auto y = f(where(logical_or(under, over), 0.5, x));
    return where(under, below, where(over, above, y));
  }
};
template <Operand A, Operand B>
Beta(const A&, const B&, Options = {})
    -> Beta<detail::ElementOf<A, B>, detail::ShapeOf<A>, detail::ShapeOf<B>>;

/// The Pareto distribution: density proportional to x^(-concentration - 1) from `scale` on.
template <Element T, class A, class B>
struct Pareto : BySurvival<Pareto<T, A, B>> {
  static constexpr std::string_view class_name = "Pareto";
  static constexpr bool is_continuous = true;
  static constexpr bool reparameterized = true;
  using element = T;
  using batch_shape = detail::Broadcast<A, B>;
  using event_shape = Shape<>;

  Expr<T, A> concentration;
  Expr<T, B> scale;

  template <Operand PA, Operand PB>
  constexpr Pareto(const PA& shape, const PB& least, Options options = {})
      : BySurvival<Pareto>(detail::graph_of(shape, least), options),
        concentration(detail::parameter<T>(this->graph(), shape)),
        scale(detail::parameter<T>(this->graph(), least)) {}

  template <class N>
  constexpr auto draw(N shape) const {
    return scale * exp(detail::exponential_numbers<T>(this->graph(), shape) / concentration);
  }
  template <class V>
  constexpr auto log_prob(const V& v) const {
    const auto x = this->value(v);
    const auto outside = less(x, scale);
    const auto y = where(outside, scale, x);
    return where(outside, -detail::infinity,
                 log(concentration) - log(y) - concentration * log(y / scale));
  }
  template <class V>
  constexpr auto log_survival_function(const V& v) const {
    return -concentration * log(maximum(this->value(v), scale) / scale);
  }
  template <class P>
  constexpr auto quantile(const P& p) const {
    const auto q = this->value(p);
    return where(less(q, 0), detail::not_a_number, scale * exp(-log1p(-q) / concentration));
  }
  constexpr auto entropy() const {
    return this->per_batch(log(scale / concentration) + 1 + 1 / concentration);
  }
  constexpr auto mean() const {
    return above(1, [&](auto a) { return scale * a / (a - 1); });
  }
  constexpr auto mode() const { return this->per_batch(scale); }
  constexpr auto variance() const {
    return above(2, [&](auto a) { return square(scale / (a - 1)) * a / (a - 2); });
  }

 private:
  /// f(concentration) where it is above this number; infinite elsewhere.
  template <class F>
  constexpr auto above(double least, const F& f) const {
    const auto finite = greater(concentration, least);
    return where(finite, f(where(finite, concentration, least + 1)), detail::infinity);
  }
};
template <Operand A, Operand B>
Pareto(const A&, const B&, Options = {})
    -> Pareto<detail::ElementOf<A, B>, detail::ShapeOf<A>, detail::ShapeOf<B>>;

/// The Weibull distribution: distribution function 1 - exp(-(x / scale)^concentration).
template <Element T, class K, class S>
struct Weibull : BySurvival<Weibull<T, K, S>> {
  static constexpr std::string_view class_name = "Weibull";
  static constexpr bool is_continuous = true;
  static constexpr bool reparameterized = true;
  using element = T;
  using batch_shape = detail::Broadcast<K, S>;
  using event_shape = Shape<>;

  Expr<T, K> concentration;
  Expr<T, S> scale;

  template <Operand PK, Operand PS>
  constexpr Weibull(const PK& shape, const PS& width, Options options = {})
      : BySurvival<Weibull>(detail::graph_of(shape, width), options),
        concentration(detail::parameter<T>(this->graph(), shape)),
        scale(detail::parameter<T>(this->graph(), width)) {}

  template <class N>
  constexpr auto draw(N shape) const {
    return scale * exp(log(detail::exponential_numbers<T>(this->graph(), shape)) / concentration);
  }
  template <class V>
  constexpr auto log_prob(const V& v) const {
    const auto x = this->value(v);
    const auto outside = logical_or(less(x, 0), is_inf(x));
    return detail::in_support(outside, x, 1, -detail::infinity, [&](const auto& y) {
      const auto z = y / scale;
      return log(concentration / scale) + xlogy(concentration - 1, z) - pow(z, concentration);
    });
  }
  template <class V>
  constexpr auto log_survival_function(const V& v) const {
    return -pow(maximum(this->value(v), 0) / scale, concentration);
  }
  template <class V>
  constexpr auto log_cdf(const V& v) const {
    const auto x = maximum(this->value(v), 0);
    const auto power = pow(x / scale, concentration);
    const auto small = logical_and(less(power, 1e-8), greater(x, 0));
    // Where the power may underflow: log(1 - e^-p) = log(p) - p / 2 + O(p^2)
    const auto log_power = concentration * log(where(small, x / scale, 1));
    return where(small, log_power - 0.5 * power, detail::log1mexp(-where(small, 1, power)));
  }
  template <class P>
  constexpr auto quantile(const P& p) const {
    const auto q = this->value(p);
    const auto outside = logical_or(less(q, 0), greater(q, 1));
    return where(outside, detail::not_a_number,
                 scale * pow(-log1p(-where(outside, 0.5, q)), 1 / concentration));
  }
  constexpr auto entropy() const {
    return this->per_batch(std::numbers::egamma * (1 - 1 / concentration) +
                           log(scale / concentration) + 1);
  }
  constexpr auto mean() const {
    return this->per_batch(scale * exp(lgamma(1 + 1 / concentration)));
  }
  constexpr auto mode() const {
    const auto inside = greater(concentration, 1);
    const auto k = where(inside, concentration, 2);
    return this->per_batch(where(inside, scale * exp(log((k - 1) / k) / k), 0));
  }
  constexpr auto variance() const {
    // E[x^2] / E[x]^2 - 1, by the logarithm of the quotient. If x = 1 / concentration is small, the
    // difference of two lgamma would cancel: it is the sum of zeta(n) (2^n - 2) / n (-x)^n, n > 1.
    constexpr double zeta[] = {
        1.6449340668482264, 1.2020569031595942, 1.0823232337111381, 1.03692775514337,
        1.0173430619844492, 1.0083492773819229, 1.0040773561979444, 1.0020083928260821,
        1.000994575127818,  1.0004941886041194, 1.000246086553308,  1.0001227133475785,
        1.0000612481350588, 1.000030588236307,  1.0000152822594086, 1.0000076371976379};
    const auto steep = greater(concentration, 16);
    const auto x = 1 / concentration;
    const auto small = where(steep, x, 0);
    auto sum = 0 * x;
    for (int n = 17; n >= 2; --n) sum = zeta[n - 2] * ((1 << n) - 2) / n - small * sum;
    const auto difference = lgamma(1 + 2 * x) - 2 * lgamma(1 + x);
    const auto log_quotient = where(steep, square(x) * sum, difference);
    return this->per_batch(square(scale * exp(lgamma(1 + x))) * expm1(log_quotient));
  }
};
template <Operand K, Operand S>
Weibull(const K&, const S&, Options = {})
    -> Weibull<detail::ElementOf<K, S>, detail::ShapeOf<K>, detail::ShapeOf<S>>;

}  // namespace typeflow::inline TYPEFLOW_ISA::distributions
