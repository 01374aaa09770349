// SPDX-License-Identifier: Apache-2.0
#pragma once

// The gamma distribution and its relatives: Gamma, Chi2, InverseGamma.

#include <string_view>

#include "typeflow/distributions/distribution.hpp"
#include "typeflow/random.hpp"

namespace typeflow::inline TYPEFLOW_ISA::distributions {

/// The gamma distribution of shape `concentration` and scale 1 / rate: density proportional to
/// x^(concentration - 1) e^(-rate x). TensorFlow r0.12 calls the two alpha and beta.
template <Element T, class A, class B>
struct Gamma : Distribution<Gamma<T, A, B>> {
  static constexpr std::string_view class_name = "Gamma";
  static constexpr bool is_continuous = true;
  static constexpr bool reparameterized = true;
  using element = T;
  using batch_shape = detail::Broadcast<A, B>;
  using event_shape = Shape<>;

  Expr<T, A> concentration;
  Expr<T, B> rate;

  template <Operand PA, Operand PB>
  constexpr Gamma(const PA& shape, const PB& inverse_scale, Options options = {})
      : Distribution<Gamma>(detail::graph_of(shape, inverse_scale), options),
        concentration(detail::parameter<T>(this->graph(), shape)),
        rate(detail::parameter<T>(this->graph(), inverse_scale)) {}

  template <class N>
  constexpr auto draw(N shape) const {
    return random_gamma(detail::expand(concentration, shape)) / rate;
  }
  template <class V>
  constexpr auto log_prob(const V& v) const {
    const auto x = this->value(v);
    const auto outside = logical_or(less(x, 0), is_inf(x));
    return detail::in_support(outside, x, 1, -detail::infinity, [&](const auto& y) {
      const auto far = greater(concentration, detail::many + 1);
      const auto a = where(far, 1, concentration);
      const auto near = xlogy(a - 1, y) - rate * y + a * log(rate) - lgamma(a);
      const auto events = where(far, concentration - 1, detail::many);
      return where(far, detail::log_many_events(events, where(far, rate * y, 1)) + log(rate), near);
    });
  }
  template <class V>
  constexpr auto cdf(const V& v) const {
    const auto x = this->value(v);
    return detail::in_support(less_equal(x, 0), x, 1, 0,
                              [&](const auto& y) { return igamma(concentration, rate * y); });
  }
  template <class V>
  constexpr auto survival_function(const V& v) const {
    const auto x = this->value(v);
    return detail::in_support(less_equal(x, 0), x, 1, 1,
                              [&](const auto& y) { return igammac(concentration, rate * y); });
  }
  template <class V>
  constexpr auto log_cdf(const V& v) const {
    const auto x = this->value(v);
    return detail::in_support(less_equal(x, 0), x, 1, -detail::infinity, [&](const auto& y) {
      return detail::log_igamma(concentration, rate * y);
    });
  }
  template <class V>
  constexpr auto log_survival_function(const V& v) const {
    const auto x = this->value(v);
    return detail::in_support(less_equal(x, 0), x, 1, 0, [&](const auto& y) {
      return detail::log_igammac(concentration, rate * y);
    });
  }
  template <class P>
  constexpr auto quantile(const P& p) const {
    return igammainv(concentration, this->value(p)) / rate;
  }
  constexpr auto entropy() const {
    const auto far = greater(concentration, detail::many);
    const auto a = where(far, 1, concentration);
    const auto near = a + lgamma(a) + (1 - a) * digamma(a);
    const auto b = where(far, concentration, detail::many);
    const auto many = 0.5 * log(b) + detail::half_log_2_pi + detail::stirling_rest(b) +
                      (b - 1) * detail::digamma_rest(b);
    return this->per_batch(where(far, many, near) - log(rate));
  }
  constexpr auto mean() const { return this->per_batch(concentration / rate); }
  constexpr auto mode() const {
    return this->where_defined(this->per_batch(greater_equal(concentration, 1)),
                               this->per_batch((concentration - 1) / rate), "mode");
  }
  constexpr auto variance() const { return this->per_batch(concentration / square(rate)); }
};
template <Operand A, Operand B>
Gamma(const A&, const B&, Options = {})
    -> Gamma<detail::ElementOf<A, B>, detail::ShapeOf<A>, detail::ShapeOf<B>>;

/// The sum of df squares of standard normal numbers: Gamma(df / 2, 1 / 2).
template <Element T, class D>
struct Chi2 : Distribution<Chi2<T, D>> {
  static constexpr std::string_view class_name = "Chi2";
  static constexpr bool is_continuous = true;
  static constexpr bool reparameterized = true;
  using element = T;
  using batch_shape = D;
  using event_shape = Shape<>;

  Expr<T, D> df;
  Gamma<T, D, Shape<>> gamma;

  template <TypedExpr P>
  constexpr explicit Chi2(const P& freedom, Options options = {})
      : Distribution<Chi2>(freedom.graph(), options),
        df(detail::parameter<T>(this->graph(), freedom)),
        gamma(0.5 * df, 0.5, options) {}

  template <class N>
  constexpr auto draw(N shape) const {
    return gamma.draw(shape);
  }
  template <class V>
  constexpr auto log_prob(const V& v) const {
    return gamma.log_prob(this->value(v));
  }
  template <class V>
  constexpr auto cdf(const V& v) const {
    return gamma.cdf(this->value(v));
  }
  template <class V>
  constexpr auto survival_function(const V& v) const {
    return gamma.survival_function(this->value(v));
  }
  template <class V>
  constexpr auto log_cdf(const V& v) const {
    return gamma.log_cdf(this->value(v));
  }
  template <class V>
  constexpr auto log_survival_function(const V& v) const {
    return gamma.log_survival_function(this->value(v));
  }
  template <class P>
  constexpr auto quantile(const P& p) const {
    return gamma.quantile(this->value(p));
  }
  constexpr auto entropy() const { return gamma.entropy(); }
  constexpr auto mean() const { return df; }
  /// 0 for df < 2, where the density has no maximum inside.
  constexpr auto mode() const { return maximum(df - 2, 0); }
  constexpr auto variance() const { return 2 * df; }
};
template <TypedExpr D>
Chi2(const D&, Options = {}) -> Chi2<detail::ElementOf<D>, detail::ShapeOf<D>>;

/// 1 / x for a gamma number x of shape `concentration` and rate `scale`.
template <Element T, class A, class B>
struct InverseGamma : Distribution<InverseGamma<T, A, B>> {
  static constexpr std::string_view class_name = "InverseGamma";
  static constexpr bool is_continuous = true;
  static constexpr bool reparameterized = true;
  using element = T;
  using batch_shape = detail::Broadcast<A, B>;
  using event_shape = Shape<>;

  Expr<T, A> concentration;
  Expr<T, B> scale;

  template <Operand PA, Operand PB>
  constexpr InverseGamma(const PA& shape, const PB& width, Options options = {})
      : Distribution<InverseGamma>(detail::graph_of(shape, width), options),
        concentration(detail::parameter<T>(this->graph(), shape)),
        scale(detail::parameter<T>(this->graph(), width)) {}

  template <class N>
  constexpr auto draw(N shape) const {
    return scale / random_gamma(detail::expand(concentration, shape));
  }
  template <class V>
  constexpr auto log_prob(const V& v) const {
    const auto x = this->value(v);
    return detail::in_support(less_equal(x, 0), x, 1, -detail::infinity, [&](const auto& y) {
      const auto far = greater(concentration, detail::many + 1);
      const auto a = where(far, 1, concentration);
      const auto near = a * log(scale) - lgamma(a) - (a + 1) * log(y) - scale / y;
      const auto events = where(far, concentration - 1, detail::many);
      return where(
          far, detail::log_many_events(events, where(far, scale / y, 1)) + log(scale) - 2 * log(y),
          near);
    });
  }
  template <class V>
  constexpr auto cdf(const V& v) const {
    const auto x = this->value(v);
    return detail::in_support(less_equal(x, 0), x, 1, 0,
                              [&](const auto& y) { return igammac(concentration, scale / y); });
  }
  template <class V>
  constexpr auto survival_function(const V& v) const {
    const auto x = this->value(v);
    return detail::in_support(less_equal(x, 0), x, 1, 1,
                              [&](const auto& y) { return igamma(concentration, scale / y); });
  }
  template <class V>
  constexpr auto log_cdf(const V& v) const {
    const auto x = this->value(v);
    return detail::in_support(less_equal(x, 0), x, 1, -detail::infinity, [&](const auto& y) {
      return detail::log_igammac(concentration, scale / y);
    });
  }
  template <class V>
  constexpr auto log_survival_function(const V& v) const {
    const auto x = this->value(v);
    return detail::in_support(less_equal(x, 0), x, 1, 0, [&](const auto& y) {
      return detail::log_igamma(concentration, scale / y);
    });
  }
  template <class P>
  constexpr auto quantile(const P& p) const {
    return scale / igammacinv(concentration, this->value(p));
  }
  constexpr auto entropy() const {
    const auto far = greater(concentration, detail::many);
    const auto a = where(far, 1, concentration);
    const auto near = a + lgamma(a) - (1 + a) * digamma(a);
    const auto b = where(far, concentration, detail::many);
    const auto many = detail::half_log_2_pi - 1.5 * log(b) + detail::stirling_rest(b) +
                      (b + 1) * detail::digamma_rest(b);
    return this->per_batch(where(far, many, near) + log(scale));
  }
  constexpr auto mean() const {
    return above(1, [&](auto a) { return scale / (a - 1); }, "mean");
  }
  constexpr auto mode() const { return this->per_batch(scale / (concentration + 1)); }
  constexpr auto variance() const {
    return above(2, [&](auto a) { return square(scale / (a - 1)) / (a - 2); }, "variance");
  }
  constexpr auto stddev() const {
    return above(2, [&](auto a) { return scale / (a - 1) / sqrt(a - 2); }, "stddev");
  }

 private:
  /// f(concentration) where it is above this number.
  template <class F>
  constexpr auto above(double least, const F& f, std::string_view statistic) const {
    const auto exists = greater(concentration, least);
    return this->where_defined(this->per_batch(exists),
                               this->per_batch(f(where(exists, concentration, least + 1))),
                               statistic);
  }
};
template <Operand A, Operand B>
InverseGamma(const A&, const B&, Options = {})
    -> InverseGamma<detail::ElementOf<A, B>, detail::ShapeOf<A>, detail::ShapeOf<B>>;

}  // namespace typeflow::inline TYPEFLOW_ISA::distributions
