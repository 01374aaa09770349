// SPDX-License-Identifier: Apache-2.0
#pragma once

// Distributions over K classes together, along the last axis: Dirichlet, of probabilities, and
// Multinomial, of counts.

#include <array>
#include <cstddef>
#include <string_view>

#include "typeflow/distributions/count_functions.hpp"
#include "typeflow/distributions/discrete.hpp"
#include "typeflow/distributions/distribution.hpp"
#include "typeflow/random.hpp"

namespace typeflow::inline TYPEFLOW_ISA::distributions {

/// Probabilities x of K classes, with density proportional to the product of the
/// x^(concentration - 1). The concentration is (batch...,K).
template <Element T, class C>
struct Dirichlet : Distribution<Dirichlet<T, C>> {
  static constexpr std::string_view class_name = "Dirichlet";
  static constexpr bool is_continuous = true;
  static constexpr bool reparameterized = true;
  static_assert(C::rank > 0, "Dirichlet: the concentration must have an axis, the classes");
  static_assert(!is_symbolic(detail::last_extent<C>),
                "Dirichlet: the number of classes must be a number");
  using element = T;
  using batch_shape = detail::Drop<C, 1>;
  using event_shape = detail::Last<C, 1>;

  Expr<T, C> concentration;

  template <TypedExpr P>
  constexpr explicit Dirichlet(const P& shape, Options options = {})
      : Distribution<Dirichlet>(shape.graph(), options),
        concentration(detail::parameter<T>(this->graph(), shape)) {}

  /// Gamma numbers divided by their sum. Their logarithms are drawn, because numbers of small
  /// shapes underflow: a number of shape a is one of shape a + 1 times u^(1 / a).
  template <class N>
  constexpr auto draw(N) const {
    using S = detail::Join<N, event_shape>;
    const auto a = detail::expand(concentration, S{});
    const auto e = detail::exponential_numbers<T>(this->graph(), S{});
    return softmax(log(random_gamma(a + 1)) - e / a);
  }
  /// The elements of x must sum to 1, which is not checked.
  template <class V>
  constexpr auto log_prob(const V& v) const {
    const auto x = this->value(v);
    const auto outside = less(x, 0);
    const auto terms = xlogy(concentration - 1, where(outside, 1, x));
    return sum<-1>(where(outside, -detail::infinity, terms)) - log_normalizer();
  }
  constexpr auto entropy() const {
    const auto a = concentration;
    const auto total = sum<-1>(a);
    constexpr auto k = static_cast<double>(detail::last_extent<C>);
    return log_normalizer() + (total - k) * digamma(total) - sum<-1>((a - 1) * digamma(a));
  }
  constexpr auto mean() const { return concentration / total(); }
  constexpr auto mode() const {
    constexpr auto k = static_cast<double>(detail::last_extent<C>);
    const auto inside = all<-1>(greater(concentration, 1), keep_dims);
    const auto x = (concentration - 1) / where(inside, total() - k, 1);
    return this->where_defined(this->per_event(inside), x, "mode");
  }
  constexpr auto variance() const {
    const auto m = mean();
    return m * (1 - m) / (total() + 1);
  }
  /// (batch...,K,K)
  constexpr auto covariance() const {
    const auto m = mean();
    return (diag(m) - expand_dims<-1>(m) * expand_dims<-2>(m)) / expand_dims<-1>(total() + 1);
  }
  /// The logarithm of the density's denominator.
  constexpr auto log_normalizer() const {
    return sum<-1>(lgamma(concentration)) - lgamma(sum<-1>(concentration));
  }

 private:
  constexpr auto total() const { return sum<-1>(concentration, keep_dims); }
};
template <TypedExpr C>
Dirichlet(const C&, Options = {}) -> Dirichlet<detail::ElementOf<C>, detail::ShapeOf<C>>;

/// How often each of K classes is drawn in total_count draws. Probabilities or logits are
/// (batch...,K); draws are of their element type. A draw takes a step for each class.
template <Element T, class C, class S, Extent K>
struct Multinomial : Distribution<Multinomial<T, C, S, K>> {
  static constexpr std::string_view class_name = "Multinomial";
  static constexpr bool is_continuous = false;
  static constexpr bool reparameterized = false;
  using element = T;
  using batch_shape = detail::Broadcast<C, S>;
  using event_shape = Shape<K>;

  Expr<T, C> total_count;
  Categorical<T, S, K> classes;

  template <Operand N, class X>
  constexpr Multinomial(const N& draws, const Probs<X>& p, Options options = {})
      : Distribution<Multinomial>(p.value.graph(), options),
        total_count(detail::parameter<T>(this->graph(), draws)),
        classes(p, options) {}
  template <Operand N, class X>
  constexpr Multinomial(const N& draws, const Logits<X>& x, Options options = {})
      : Distribution<Multinomial>(x.value.graph(), options),
        total_count(detail::parameter<T>(this->graph(), draws)),
        classes(x, options) {}

  /// The first class' count is binomial; so is the second's among the other draws, and so on.
  template <class N>
  constexpr auto draw(N shape) const {
    const auto p = classes.probabilities();
    const auto rest = cumsum<-1>(p, {.reverse = true});
    const auto share = where(less_equal(rest, 0), 0, minimum(p / rest, 1));
    const auto shares = unstack<-1>(share);
    auto left = detail::expand(total_count, shape);
    std::array<decltype(left), static_cast<std::size_t>(K)> counts{};
    for (std::size_t k = 0; k + 1 < counts.size(); ++k) {
      counts[k] = random_binomial(left, detail::expand(shares[k], shape));
      left = left - counts[k];
    }
    counts.back() = left;
    return stack<-1>(counts);
  }
  template <class V>
  constexpr auto log_prob(const V& v) const {
    const auto x = this->value(v);
    const auto outside = logical_or(logical_or(is_inf(x), not_equal(floor(x), x)), less(x, 0));
    const auto k = where(outside, 0, x);
    const auto terms = detail::times_log(k, classes.log_p) - lgamma(k + 1);
    const auto lp = lgamma(total_count + 1) + sum<-1>(where(is_nan(x), x, terms));
    const auto possible =
        logical_and(logical_not(any<-1>(outside)), equal(sum<-1>(k), total_count));
    return where(any<-1>(is_nan(x)), detail::not_a_number, where(possible, lp, -detail::infinity));
  }
  /// NaN unless total_count is a whole number. Its gradient for the probabilities has no gradient.
  constexpr auto entropy() const {
    const auto n = total_count;
    return sum<-1>(apply(ops::MultinomialShare{}, count(), minimum(classes.probabilities(), 1))) -
           apply(ops::MultinomialShare{}, n, 1);
  }
  constexpr auto mean() const { return this->per_event(count() * classes.probabilities()); }
  constexpr auto variance() const {
    const auto p = classes.probabilities();
    return this->per_event(count() * p * (1 - p));
  }
  /// (batch...,K,K)
  constexpr auto covariance() const {
    const auto p = classes.probabilities();
    return expand_dims<-1>(count()) * (diag(p) - expand_dims<-1>(p) * expand_dims<-2>(p));
  }

 private:
  constexpr auto count() const { return expand_dims<-1>(total_count); }
};
template <Operand N, class X>
Multinomial(const N&, const Probs<X>&, Options = {})
    -> Multinomial<detail::ElementOf<X>, detail::ShapeOf<N>, detail::Drop<detail::ShapeOf<X>, 1>,
                   detail::last_extent<detail::ShapeOf<X>>>;
template <Operand N, class X>
Multinomial(const N&, const Logits<X>&, Options = {})
    -> Multinomial<detail::ElementOf<X>, detail::ShapeOf<N>, detail::Drop<detail::ShapeOf<X>, 1>,
                   detail::last_extent<detail::ShapeOf<X>>>;

}  // namespace typeflow::inline TYPEFLOW_ISA::distributions
