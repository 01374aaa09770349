// SPDX-License-Identifier: Apache-2.0
#pragma once

// Student's t distribution.

#include <numbers>
#include <string_view>

#include "typeflow/distributions/distribution.hpp"
#include "typeflow/random.hpp"

namespace typeflow::inline TYPEFLOW_ISA::distributions {

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
    return this->per_batch(b * detail::digamma_growth(a, half()) + 0.5 * log(df) + log(scale) +
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
