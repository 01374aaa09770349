// SPDX-License-Identifier: Apache-2.0
#pragma once

// Distributions of whole numbers: Bernoulli, Binomial, Poisson, and Categorical over classes.
//
//   tfd::Bernoulli coin(tfd::probs(p));     // p in [0, 1]
//   tfd::Bernoulli coin(tfd::logits(x));    // p = sigmoid(x)
//   tfd::Categorical classes(tfd::logits(x));  // p = softmax(x) along the last axis

#include <cstdint>
#include <numbers>
#include <string_view>

#include "typeflow/distributions/count_functions.hpp"
#include "typeflow/distributions/distribution.hpp"
#include "typeflow/random.hpp"

namespace typeflow::inline TYPEFLOW_ISA::distributions {

/// Parameters that are probabilities: what probs(p) returns.
template <TypedExpr X>
struct Probs {
  X value;
};
/// Parameters that are logits: what logits(x) returns.
template <TypedExpr X>
struct Logits {
  X value;
};

/// A distribution's parameter p, as a probability.
template <TypedExpr X>
constexpr Probs<X> probs(const X& p) {
  return {p};
}
/// A distribution's parameter x, as log(p / (1 - p)), or as unnormalised log-probabilities of
/// classes.
template <TypedExpr X>
constexpr Logits<X> logits(const X& x) {
  return {x};
}

namespace detail {

/// x log_p + y log_q, without NaN where an x is 0 and a log_p is -inf.
template <TypedExpr X, TypedExpr L>
constexpr auto times_log(const X& x, const L& log_p) {
  const auto zero = equal(x, 0);
  return where(zero, 0, x * where(zero, 0, log_p));
}

/// A probability p and q = 1 - p, and their logarithms.
template <Element T, class S>
struct LogOdds {
  Expr<T, S> p;
  Expr<T, S> q;
  Expr<T, S> log_p;
  Expr<T, S> log_q;

  template <class X>
  constexpr explicit LogOdds(const Probs<X>& given)
      : p(given.value),
        q(1 - p),
        log_p(log_probability<false>(p)),
        log_q(log_probability<true>(p)) {}
  template <class X>
  constexpr explicit LogOdds(const Logits<X>& given)
      : p(sigmoid(given.value)),
        q(sigmoid(-given.value)),
        log_p(log_sigmoid(given.value)),
        log_q(log_sigmoid(-given.value)) {}
};

}  // namespace detail

/// 1 with probability p, otherwise 0. Draws are int32.
template <Element T, class S>
struct Bernoulli : Distribution<Bernoulli<T, S>> {
  static constexpr std::string_view class_name = "Bernoulli";
  static constexpr bool is_continuous = false;
  static constexpr bool reparameterized = false;
  using element = T;
  using batch_shape = S;
  using event_shape = Shape<>;

  detail::LogOdds<T, S> odds;

  template <class X>
  constexpr explicit Bernoulli(const Probs<X>& p, Options options = {})
      : Distribution<Bernoulli>(p.value.graph(), options), odds(p) {}
  template <class X>
  constexpr explicit Bernoulli(const Logits<X>& x, Options options = {})
      : Distribution<Bernoulli>(x.value.graph(), options), odds(x) {}

  template <class N>
  constexpr auto draw(N shape) const {
    return cast<std::int32_t>(bernoulli(detail::expand(odds.p, shape)));
  }
  template <class V>
  constexpr auto log_prob(const V& v) const {
    const auto x = this->value(v);
    const auto outside = logical_and(not_equal(x, 0), not_equal(x, 1));
    return where(is_nan(x), x,
                 where(outside, -detail::infinity, where(equal(x, 1), odds.log_p, odds.log_q)));
  }
  template <class V>
  constexpr auto cdf(const V& v) const {
    const auto x = this->value(v);
    return where(is_nan(x), x, where(less(x, 0), 0, where(less(x, 1), odds.q, 1)));
  }
  template <class V>
  constexpr auto log_cdf(const V& v) const {
    const auto x = this->value(v);
    return where(is_nan(x), x,
                 where(less(x, 0), -detail::infinity, where(less(x, 1), odds.log_q, 0)));
  }
  template <class V>
  constexpr auto survival_function(const V& v) const {
    const auto x = this->value(v);
    return where(is_nan(x), x, where(less(x, 0), 1, where(less(x, 1), odds.p, 0)));
  }
  template <class V>
  constexpr auto log_survival_function(const V& v) const {
    const auto x = this->value(v);
    return where(is_nan(x), x,
                 where(less(x, 0), 0, where(less(x, 1), odds.log_p, -detail::infinity)));
  }
  /// The smallest number whose cdf is at least p.
  template <class P>
  constexpr auto quantile(const P& p) const {
    const auto level = this->value(p);
    const auto outside = logical_not(logical_and(greater_equal(level, 0), less_equal(level, 1)));
    return where(outside, detail::not_a_number, where(less_equal(level, odds.q), 0, level * 0 + 1));
  }
  constexpr auto entropy() const {
    return -detail::times_log(odds.p, odds.log_p) - detail::times_log(odds.q, odds.log_q);
  }
  constexpr auto mean() const { return odds.p; }
  /// The likelier number; 0 if both are as likely.
  constexpr auto mode() const { return cast<std::int32_t>(greater(odds.p, 0.5)); }
  constexpr auto variance() const { return odds.p * odds.q; }
};
template <class X>
Bernoulli(const Probs<X>&, Options = {}) -> Bernoulli<detail::ElementOf<X>, detail::ShapeOf<X>>;
template <class X>
Bernoulli(const Logits<X>&, Options = {}) -> Bernoulli<detail::ElementOf<X>, detail::ShapeOf<X>>;

/// The number of successes in total_count trials of probability p. Draws are of p's element type.
template <Element T, class C, class S>
struct Binomial : Distribution<Binomial<T, C, S>> {
  static constexpr std::string_view class_name = "Binomial";
  static constexpr bool is_continuous = false;
  static constexpr bool reparameterized = false;
  using element = T;
  using batch_shape = detail::Broadcast<C, S>;
  using event_shape = Shape<>;

  Expr<T, C> total_count;
  detail::LogOdds<T, S> odds;

  template <Operand N, class X>
  constexpr Binomial(const N& trials, const Probs<X>& p, Options options = {})
      : Distribution<Binomial>(detail::graph_of(trials, p.value), options),
        total_count(detail::parameter<T>(this->graph(), trials)),
        odds(p) {}
  template <Operand N, class X>
  constexpr Binomial(const N& trials, const Logits<X>& x, Options options = {})
      : Distribution<Binomial>(detail::graph_of(trials, x.value), options),
        total_count(detail::parameter<T>(this->graph(), trials)),
        odds(x) {}

  template <class N>
  constexpr auto draw(N shape) const {
    return random_binomial(detail::expand(total_count, shape), odds.p);
  }
  template <class V>
  constexpr auto log_prob(const V& v) const {
    const auto x = this->value(v);
    const auto outside =
        logical_or(not_equal(floor(x), x), logical_or(less(x, 0), greater(x, total_count)));
    const auto k = where(outside, 0, x);
    const auto rest = total_count - k;
    const auto first = less(k, rest);
    const auto least = where(first, k, rest);
    const auto most = where(first, rest, k);
    const auto ways = detail::log_gamma_growth(most + 1, least) - lgamma(least + 1);
    const auto few = ways + detail::times_log(k, odds.log_p) + detail::times_log(rest, odds.log_q);
    const auto far =
        logical_and(greater(least, detail::many), greater(minimum(odds.p, odds.q), 1e-30));
    const auto many =
        detail::log_many_trials(where(far, k, detail::many), where(far, rest, detail::many),
                                where(far, odds.p, 0.5), where(far, odds.q, 0.5));
    return where(is_nan(x), x, where(outside, -detail::infinity, where(far, many, few)));
  }
  template <class V>
  constexpr auto cdf(const V& v) const {
    return tail(
        v, 0, 1, [](auto a, auto b, auto p) { return detail::betaincc(a, b, p); },
        [](auto a, auto b, auto q) { return betainc(a, b, q); });
  }
  template <class V>
  constexpr auto log_cdf(const V& v) const {
    return tail(
        v, -detail::infinity, 0,
        [](auto a, auto b, auto p) { return detail::log_betaincc(a, b, p); },
        [](auto a, auto b, auto q) { return detail::log_betainc(a, b, q); });
  }
  template <class V>
  constexpr auto survival_function(const V& v) const {
    return tail(
        v, 1, 0, [](auto a, auto b, auto p) { return betainc(a, b, p); },
        [](auto a, auto b, auto q) { return detail::betaincc(a, b, q); });
  }
  template <class V>
  constexpr auto log_survival_function(const V& v) const {
    return tail(
        v, 0, -detail::infinity,
        [](auto a, auto b, auto p) { return detail::log_betainc(a, b, p); },
        [](auto a, auto b, auto q) { return detail::log_betaincc(a, b, q); });
  }
  /// The smallest number whose cdf is at least p. It has no gradient.
  template <class P>
  constexpr auto quantile(const P& p) const {
    return apply(ops::BinomialQuantile{}, total_count, odds.p, odds.q, this->value(p));
  }
  /// NaN unless total_count is a whole number. Its gradient for p has no gradient.
  constexpr auto entropy() const {
    return apply(ops::BinomialEntropy{}, total_count, odds.log_p - odds.log_q);
  }
  constexpr auto mean() const { return this->per_batch(total_count * odds.p); }
  /// The likeliest number; the larger of two that are as likely.
  constexpr auto mode() const {
    return this->per_batch(minimum(floor((total_count + 1) * odds.p), total_count));
  }
  constexpr auto variance() const { return this->per_batch(total_count * odds.p * odds.q); }

 private:
  /// `under` for x < 0 and `over` from total_count on. Between them of_p(k + 1, n - k, p) or
  /// of_q(n - k, k + 1, q), which is the same, by the smaller of p and q: it has all digits.
  template <class V, class F, class G>
  constexpr auto tail(const V& v, double under, double over, const F& of_p, const G& of_q) const {
    const auto x = this->value(v);
    const auto inside = logical_and(greater_equal(x, 0), less(x, total_count));
    const auto k = where(inside, floor(x), 0);
    const auto rest = where(inside, total_count - k, 1);
    const auto by_q = greater(odds.p, 0.5);
    const auto share = where(inside, where(by_q, odds.q, odds.p), 0.5);
    const auto found = where(by_q, of_q(rest, k + 1, share), of_p(k + 1, rest, share));
    return where(is_nan(x), x,
                 where(less(x, 0), under, where(greater_equal(x, total_count), over, found)));
  }
};
template <Operand N, class X>
Binomial(const N&, const Probs<X>&, Options = {})
    -> Binomial<detail::ElementOf<N, X>, detail::ShapeOf<N>, detail::ShapeOf<X>>;
template <Operand N, class X>
Binomial(const N&, const Logits<X>&, Options = {})
    -> Binomial<detail::ElementOf<N, X>, detail::ShapeOf<N>, detail::ShapeOf<X>>;

/// The number of events with this mean. Draws are of the rate's element type.
template <Element T, class R>
struct Poisson : Distribution<Poisson<T, R>> {
  static constexpr std::string_view class_name = "Poisson";
  static constexpr bool is_continuous = false;
  static constexpr bool reparameterized = false;
  using element = T;
  using batch_shape = R;
  using event_shape = Shape<>;

  Expr<T, R> rate;

  template <TypedExpr P>
  constexpr explicit Poisson(const P& events, Options options = {})
      : Distribution<Poisson>(events.graph(), options),
        rate(detail::parameter<T>(this->graph(), events)) {}

  template <class N>
  constexpr auto draw(N shape) const {
    return random_poisson(detail::expand(rate, shape));
  }
  template <class V>
  constexpr auto log_prob(const V& v) const {
    const auto x = this->value(v);
    const auto outside = logical_or(logical_or(is_inf(x), not_equal(floor(x), x)), less(x, 0));
    const auto k = where(outside, 0, x);
    const auto far = greater(k, detail::many);
    const auto small = where(far, 1, k);
    const auto few = xlogy(small, rate) - rate - lgamma(small + 1);
    const auto many = detail::log_many_events(where(far, k, detail::many), where(far, rate, 1));
    return where(is_nan(x), x, where(outside, -detail::infinity, where(far, many, few)));
  }
  template <class V>
  constexpr auto cdf(const V& v) const {
    return tail(v, 0, [](auto a, auto x) { return igammac(a, x); });
  }
  template <class V>
  constexpr auto log_cdf(const V& v) const {
    return tail(v, -detail::infinity, [](auto a, auto x) { return detail::log_igammac(a, x); });
  }
  template <class V>
  constexpr auto survival_function(const V& v) const {
    return tail(v, 1, [](auto a, auto x) { return igamma(a, x); });
  }
  template <class V>
  constexpr auto log_survival_function(const V& v) const {
    return tail(v, 0, [](auto a, auto x) { return detail::log_igamma(a, x); });
  }
  /// The smallest number whose cdf is at least p. It has no gradient.
  template <class P>
  constexpr auto quantile(const P& p) const {
    return apply(ops::PoissonQuantile{}, rate, this->value(p));
  }
  /// Its gradient has no gradient.
  constexpr auto entropy() const { return apply(ops::PoissonEntropy{}, rate); }
  constexpr auto mean() const { return rate; }
  /// The likeliest number; the larger of two that are as likely.
  constexpr auto mode() const { return floor(rate); }
  constexpr auto variance() const { return rate; }

 private:
  /// f(floor(x) + 1, rate), and `under` for x < 0.
  template <class V, class F>
  constexpr auto tail(const V& v, double under, const F& f) const {
    const auto x = this->value(v);
    return where(is_nan(x), x, detail::in_support(less(x, 0), x, 0, under, [&](const auto& y) {
                   return f(floor(y) + 1, rate);
                 }));
  }
};
template <TypedExpr R>
Poisson(const R&, Options = {}) -> Poisson<detail::ElementOf<R>, detail::ShapeOf<R>>;

/// A class, 0 to K - 1, for each row of K probabilities or logits, along the last axis. Draws are
/// int32. Its classes have an order for cdf, but no mean.
template <Element T, class S, Extent K>
struct Categorical : Distribution<Categorical<T, S, K>> {
  static constexpr std::string_view class_name = "Categorical";
  static constexpr bool is_continuous = false;
  static constexpr bool reparameterized = false;
  using element = T;
  using batch_shape = S;
  using event_shape = Shape<>;
  using parameter_shape = detail::Join<S, Shape<K>>;
  static constexpr Extent classes = K;

  Expr<T, parameter_shape> log_p;

  template <class X>
  constexpr explicit Categorical(const Probs<X>& p, Options options = {})
      : Distribution<Categorical>(p.value.graph(), options),
        log_p(rows(detail::log_probability<false>(p.value))),
        p_(rows(p.value)) {}
  template <class X>
  constexpr explicit Categorical(const Logits<X>& x, Options options = {})
      : Distribution<Categorical>(x.value.graph(), options),
        log_p(rows(log_softmax(x.value))),
        p_(exp(log_p)) {}

  constexpr auto probabilities() const { return p_; }

  template <class N>
  constexpr auto draw(N) const {
    return categorical(detail::expand(log_p, detail::Join<N, Shape<K>>{}));
  }
  template <class V>
  constexpr auto log_prob(const V& v) const {
    const auto x = this->value(v);
    const auto outside =
        logical_or(not_equal(floor(x), x), logical_or(less(x, 0), greater_equal(x, K)));
    const auto k = where(outside, 0, x);
    const auto found = sum<-1>(where(equal(expand_dims<-1>(k), positions()), log_p, 0));
    return where(is_nan(x), x, where(outside, -detail::infinity, found));
  }
  /// The probability of a class that is at most x.
  template <class V>
  constexpr auto cdf(const V& v) const {
    const auto x = this->value(v);
    return where(is_nan(x), x, minimum(sum<-1>(where(at_most(x), probabilities(), 0)), 1));
  }
  template <class V>
  constexpr auto log_cdf(const V& v) const {
    const auto x = this->value(v);
    return log_sum(x, at_most(x));
  }
  template <class V>
  constexpr auto survival_function(const V& v) const {
    const auto x = this->value(v);
    return where(is_nan(x), x, minimum(sum<-1>(where(at_most(x), 0, probabilities())), 1));
  }
  template <class V>
  constexpr auto log_survival_function(const V& v) const {
    const auto x = this->value(v);
    return log_sum(x, logical_not(at_most(x)));
  }
  /// The smallest class whose cdf is at least p, up to rounding, as a number of the parameters'
  /// element type.
  template <class P>
  constexpr auto quantile(const P& p) const {
    const auto level = this->value(p);
    const auto outside = logical_not(logical_and(greater_equal(level, 0), less_equal(level, 1)));
    const auto below = less(cumsum<-1>(probabilities()), expand_dims<-1>(level));
    const auto count = sum<-1>(cast<T>(below));
    return where(outside, detail::not_a_number, minimum(count, static_cast<T>(K - 1)));
  }
  constexpr auto entropy() const { return -sum<-1>(detail::times_log(probabilities(), log_p)); }
  /// The likeliest class; the first of equals.
  constexpr auto mode() const { return argmax<-1>(log_p); }

 private:
  template <class X>
  static constexpr auto rows(const X& x) {
    static_assert(!is_symbolic(K), "Categorical: the number of classes must be a number");
    static_assert(X::rank > 0,
                  "Categorical: probabilities and logits must have an axis, the classes");
    return x;
  }
  constexpr auto positions() const { return range<T, K>(this->graph(), 0, 1); }
  template <class X>
  constexpr auto at_most(const X& x) const {
    return less_equal(positions(), expand_dims<-1>(x));
  }
  /// The logarithm of the probability of these classes.
  template <class X, class C>
  constexpr auto log_sum(const X& x, const C& chosen) const {
    const auto rest = sum<-1>(where(chosen, 0, probabilities()));
    const auto most = less(rest, 0.5);
    const auto none = logical_not(any<-1>(chosen));
    const auto some = logical_or(chosen, expand_dims<-1>(none));
    const auto few = logsumexp<-1>(where(some, log_p, -detail::infinity));
    const auto found = where(most, log1p(-where(most, rest, 0)), few);
    return where(is_nan(x), x, where(none, -detail::infinity, found));
  }

  Expr<T, parameter_shape> p_;
};
template <class X>
Categorical(const Probs<X>&, Options = {})
    -> Categorical<detail::ElementOf<X>, detail::Drop<detail::ShapeOf<X>, 1>,
                   detail::last_extent<detail::ShapeOf<X>>>;
template <class X>
Categorical(const Logits<X>&, Options = {})
    -> Categorical<detail::ElementOf<X>, detail::Drop<detail::ShapeOf<X>, 1>,
                   detail::last_extent<detail::ShapeOf<X>>>;

}  // namespace typeflow::inline TYPEFLOW_ISA::distributions
