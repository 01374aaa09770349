// SPDX-License-Identifier: Apache-2.0
#pragma once

// The Kullback-Leibler divergence of two distributions of one kind: the mean of
// p.log_prob(x) - q.log_prob(x) for draws x of p. (batch...), of both batches broadcast.
//
//   auto loss = sum(kl_divergence(tfd::Normal(mean, deviation), tfd::Normal(zero, 1.0)));
//
// Each pair with a closed form is an overload; others do not compile.

#include <numbers>

#include "typeflow/distributions/compound.hpp"
#include "typeflow/distributions/gamma.hpp"
#include "typeflow/distributions/location_scale.hpp"
#include "typeflow/distributions/normal.hpp"
#include "typeflow/distributions/positive.hpp"
#include "typeflow/distributions/simplex.hpp"
#include "typeflow/distributions/von_mises.hpp"

namespace typeflow::inline TYPEFLOW_ISA::distributions {

template <AnyDistribution P, AnyDistribution Q>
constexpr auto kl_divergence(const P& p, const Q&) {
  static_assert(
      typeflow::detail::never<P, Q>,
      "kl_divergence(p, q): no closed form is known for this pair; estimate it from draws "
      "x of p as the mean of p.log_prob(x) - q.log_prob(x)");
  return p.log_prob(p.sample());
}

template <Element T, class L, class S, class M, class R>
constexpr auto kl_divergence(const Normal<T, L, S>& p, const Normal<T, M, R>& q) {
  const auto ratio = square(p.scale / q.scale);
  return 0.5 * (square((p.loc - q.loc) / q.scale) + (ratio - 1 - log(ratio)));
}
/// As that of the logarithms: an invertible function changes nothing.
template <Element T, class L, class S, class M, class R>
constexpr auto kl_divergence(const LogNormal<T, L, S>& p, const LogNormal<T, M, R>& q) {
  return kl_divergence(p.logarithm, q.logarithm);
}
template <Element T, class S, class R>
constexpr auto kl_divergence(const HalfNormal<T, S>& p, const HalfNormal<T, R>& q) {
  const auto ratio = square(p.scale / q.scale);
  return 0.5 * (ratio - 1 - log(ratio));
}
/// Infinite if q does not cover p.
template <Element T, class A, class B, class C, class D>
constexpr auto kl_divergence(const Uniform<T, A, B>& p, const Uniform<T, C, D>& q) {
  const auto covered = logical_and(less_equal(q.low, p.low), less_equal(p.high, q.high));
  return where(covered, log((q.high - q.low) / (p.high - p.low)), detail::infinity);
}
template <Element T, class L, class S, class M, class R>
constexpr auto kl_divergence(const Laplace<T, L, S>& p, const Laplace<T, M, R>& q) {
  const auto ratio = p.scale / q.scale;
  const auto distance = abs(p.loc - q.loc);
  const auto part = p.scale * expm1(-distance / p.scale);
  return ratio - 1 - log(ratio) + (distance + part) / q.scale;
}
template <Element T, class L, class S, class M, class R>
constexpr auto kl_divergence(const Gumbel<T, L, S>& p, const Gumbel<T, M, R>& q) {
  const auto ratio = p.scale / q.scale;
  const auto shift = (p.loc - q.loc) / q.scale;
  return -log(ratio) + shift + std::numbers::egamma * (ratio - 1) +
         expm1(lgamma(ratio + 1) - shift);
}
/// Source: Chyzak and Nielsen, "A closed-form formula for the Kullback-Leibler divergence between
/// Cauchy distributions", 2019.
template <Element T, class L, class S, class M, class R>
constexpr auto kl_divergence(const Cauchy<T, L, S>& p, const Cauchy<T, M, R>& q) {
  return log1p((square(p.scale - q.scale) + square(p.loc - q.loc)) / (4 * p.scale * q.scale));
}

template <Element T, class R, class Q>
constexpr auto kl_divergence(const Exponential<T, R>& p, const Exponential<T, Q>& q) {
  const auto more = (q.rate - p.rate) / p.rate;
  return more - detail::log_of_ratio(more, q.rate / p.rate);
}
template <Element T, class A, class B, class C, class D>
constexpr auto kl_divergence(const Gamma<T, A, B>& p, const Gamma<T, C, D>& q) {
  const auto more = (q.rate - p.rate) / p.rate;
  return detail::above_tangent(p.concentration, q.concentration) + p.concentration * more -
         q.concentration * detail::log_of_ratio(more, q.rate / p.rate);
}
template <Element T, class D, class E>
constexpr auto kl_divergence(const Chi2<T, D>& p, const Chi2<T, E>& q) {
  return kl_divergence(p.gamma, q.gamma);
}
/// As that of the reciprocals.
template <Element T, class A, class B, class C, class D>
constexpr auto kl_divergence(const InverseGamma<T, A, B>& p, const InverseGamma<T, C, D>& q) {
  return kl_divergence(Gamma(p.concentration, p.scale), Gamma(q.concentration, q.scale));
}
template <Element T, class A, class B, class C, class D>
constexpr auto kl_divergence(const Beta<T, A, B>& p, const Beta<T, C, D>& q) {
  return detail::above_tangent(p.a, q.a) + detail::above_tangent(p.b, q.b) -
         detail::above_tangent(p.a + p.b, q.a + q.b);
}
/// Infinite if q does not cover p.
template <Element T, class A, class S, class B, class R>
constexpr auto kl_divergence(const Pareto<T, A, S>& p, const Pareto<T, B, R>& q) {
  const auto ratio = q.concentration / p.concentration;
  const auto inside = q.concentration * log(p.scale / q.scale) - log(ratio) + ratio - 1;
  return where(greater_equal(p.scale, q.scale), inside, detail::infinity);
}
/// Source: Bauckhage, "Computing the Kullback-Leibler divergence between two Weibull
/// distributions", 2013.
template <Element T, class A, class S, class B, class R>
constexpr auto kl_divergence(const Weibull<T, A, S>& p, const Weibull<T, B, R>& q) {
  const auto ratio = q.concentration / p.concentration;
  const auto scales = log(p.scale / q.scale);
  return -log(ratio) - q.concentration * scales + std::numbers::egamma * (ratio - 1) +
         expm1(q.concentration * scales + lgamma(ratio + 1));
}
template <Element T, class L, class K, class M, class C>
constexpr auto kl_divergence(const VonMises<T, L, K>& p, const VonMises<T, M, C>& q) {
  const auto spread = detail::circular_variance(p.concentration);
  const auto turned = 2 * square(sin(0.5 * (p.loc - q.loc)));  // 1 - cos, which would cancel
  return log(bessel_i0e(q.concentration) / bessel_i0e(p.concentration)) -
         spread * (p.concentration - q.concentration) + (1 - spread) * q.concentration * turned;
}

namespace detail {
/// p (log p - log q); 0 where p is 0.
template <TypedExpr P, TypedExpr A, TypedExpr B>
constexpr auto relative(const P& p, const A& log_p, const B& log_q) {
  const auto zero = equal(p, 0);
  return where(zero, 0, p * (where(zero, 0, log_p) - where(zero, 0, log_q)));
}
/// The same of both outcomes. Where the distributions are close, by the difference of the
/// probabilities.
template <class P, class Q>
constexpr auto relative_odds(const P& p, const Q& q) {
  const auto less_likely = less(p.p, 0.5);
  const auto more = where(less_likely, q.p - p.p, p.q - q.q);
  const auto near = less(abs(more), 0.5 * minimum(p.p, p.q));
  const auto part = [&](const auto& of_p, const auto& difference) {
    const auto safe = where(near, of_p, 1);
    return -safe * log1p(where(near, difference, 0) / safe);
  };
  return where(near, part(p.p, more) + part(p.q, -more),
               relative(p.p, p.log_p, q.log_p) + relative(p.q, p.log_q, q.log_q));
}
}  // namespace detail

/// Infinite if q excludes a number that p gives.
template <Element T, class S, class R>
constexpr auto kl_divergence(const Bernoulli<T, S>& p, const Bernoulli<T, R>& q) {
  return detail::relative_odds(p.odds, q.odds);
}
/// NaN where the total counts differ: then there is no closed form.
template <Element T, class C, class S, class D, class R>
constexpr auto kl_divergence(const Binomial<T, C, S>& p, const Binomial<T, D, R>& q) {
  const auto one = detail::relative_odds(p.odds, q.odds);
  return where(equal(p.total_count, q.total_count), p.total_count * one, detail::not_a_number);
}
template <Element T, class R, class Q>
constexpr auto kl_divergence(const Poisson<T, R>& p, const Poisson<T, Q>& q) {
  const auto none = equal(p.rate, 0);
  const auto rate = where(none, 1, p.rate);
  const auto more = q.rate - rate;
  return where(none, q.rate, more - rate * detail::log_of_ratio(more / rate, q.rate / rate));
}
/// Infinite if q excludes a class that p gives.
template <Element T, class S, class R, Extent K>
constexpr auto kl_divergence(const Categorical<T, S, K>& p, const Categorical<T, R, K>& q) {
  return sum<-1>(detail::relative(p.probabilities(), p.log_p, q.log_p));
}
/// NaN where the total counts differ: then there is no closed form.
template <Element T, class C, class S, class D, class R, Extent K>
constexpr auto kl_divergence(const Multinomial<T, C, S, K>& p, const Multinomial<T, D, R, K>& q) {
  return where(equal(p.total_count, q.total_count),
               p.total_count * kl_divergence(p.classes, q.classes), detail::not_a_number);
}
template <Element T, class C, class D>
constexpr auto kl_divergence(const Dirichlet<T, C>& p, const Dirichlet<T, D>& q) {
  return sum<-1>(detail::above_tangent(p.concentration, q.concentration)) -
         detail::above_tangent(sum<-1>(p.concentration), sum<-1>(q.concentration));
}

template <class P, class Q, int N>
constexpr auto kl_divergence(const Independent<P, N>& p, const Independent<Q, N>& q) {
  return detail::sum_last<N>(kl_divergence(p.base, q.base));
}

/// The mean of -q.log_prob(x) for draws x of p.
template <AnyDistribution P, AnyDistribution Q>
constexpr auto cross_entropy(const P& p, const Q& q) {
  return p.entropy() + kl_divergence(p, q);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::distributions
