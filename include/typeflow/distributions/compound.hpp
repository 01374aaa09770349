// SPDX-License-Identifier: Apache-2.0
#pragma once

// Distributions made of others: Independent, MixtureSameFamily, TransformedDistribution.

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "typeflow/distributions/bijectors.hpp"
#include "typeflow/distributions/discrete.hpp"
#include "typeflow/distributions/distribution.hpp"

namespace typeflow::inline TYPEFLOW_ISA::distributions {

/// A distribution whose last N batch axes are event axes: the probabilities along them multiply.
template <AnyDistribution D, int N>
struct Independent : Distribution<Independent<D, N>> {
  static constexpr std::string_view class_name = "Independent";
  static constexpr bool is_continuous = D::is_continuous;
  static constexpr bool reparameterized = D::reparameterized;
  static_assert(N >= 0 && N <= D::batch_shape::rank,
                "independent<n>(distribution): the distribution has fewer batch axes");
  using element = typename D::element;
  using batch_shape = detail::Drop<typename D::batch_shape, N>;
  using event_shape =
      detail::Join<detail::Last<typename D::batch_shape, N>, typename D::event_shape>;

  D base;

  constexpr explicit Independent(const D& of)
      : Distribution<Independent>(of.graph(), of.options()), base(of) {}

  template <class S>
  constexpr auto draw(S) const {
    return base.draw(detail::Join<S, detail::Last<typename D::batch_shape, N>>{});
  }
  template <class X>
  constexpr auto log_prob(const X& x) const {
    return detail::sum_last<N>(base.log_prob(this->value(x)));
  }
  /// The probability that each element of a draw is at most that of x.
  template <class X>
  constexpr auto cdf(const X& x) const {
    static_assert(D::event_shape::rank == 0,
                  "Independent.cdf(x): only distributions of numbers have one");
    return detail::prod_last<N>(base.cdf(this->value(x)));
  }
  template <class X>
  constexpr auto log_cdf(const X& x) const {
    static_assert(D::event_shape::rank == 0,
                  "Independent.log_cdf(x): only distributions of numbers have one");
    return detail::sum_last<N>(base.log_cdf(this->value(x)));
  }
  template <class X>
  constexpr auto survival_function(const X& x) const {
    return -expm1(log_cdf(x));
  }
  template <class X>
  constexpr auto log_survival_function(const X& x) const {
    return detail::log1mexp(log_cdf(x));
  }
  constexpr auto entropy() const { return detail::sum_last<N>(base.entropy()); }
  constexpr auto mean() const { return base.mean(); }
  constexpr auto mode() const { return base.mode(); }
  constexpr auto variance() const { return base.variance(); }
  constexpr auto stddev() const { return base.stddev(); }
  /// Of vectors: (batch...,K,K), zero beside the diagonal.
  constexpr auto covariance() const
    requires(event_shape::rank == 1 && N == 1)
  {
    return diag(base.variance());
  }
};
/// independent<1>(Normal(loc, scale)): with loc and scale of (B,K), B normal vectors of K elements.
template <int N, AnyDistribution D>
constexpr auto independent(const D& base) {
  return Independent<D, N>(base);
}

/// A mixture of distributions of one kind. Their batch is (batch...,K), and the categorical
/// distribution, of batch (batch...) or (), says how often each of the K is drawn. Draws have
/// gradients for the components' parameters if theirs have, and none for the weights.
template <class C, AnyDistribution D>
struct MixtureSameFamily : Distribution<MixtureSameFamily<C, D>> {
  static constexpr std::string_view class_name = "MixtureSameFamily";
  static constexpr bool is_continuous = D::is_continuous;
  static constexpr bool reparameterized = false;
  static constexpr Extent k = C::classes;
  static_assert(D::batch_shape::rank > 0 && detail::last_extent<typename D::batch_shape> == k,
                "MixtureSameFamily(mixture, components): the last batch axis of the components "
                "must have as many elements as the mixture has classes");
  using element = typename D::element;
  using batch_shape = detail::Drop<typename D::batch_shape, 1>;
  using event_shape = typename D::event_shape;
  static_assert(
      std::is_same_v<detail::Broadcast<typename C::batch_shape, batch_shape>, batch_shape>,
      "MixtureSameFamily(mixture, components): the batch of the mixture must broadcast "
      "to that of the components, without its last axis");
  static_assert(std::is_same_v<typename C::element, element>,
                "MixtureSameFamily(mixture, components): the element types must be equal");

  C mixture;
  D components;

  constexpr MixtureSameFamily(const C& weights, const D& parts, Options options = {})
      : Distribution<MixtureSameFamily>(parts.graph(), options),
        mixture(weights),
        components(parts) {}

  template <class S>
  constexpr auto draw(S shape) const {
    const auto all_drawn = components.draw(detail::Join<S, Shape<k>>{});
    const auto chosen =
        equal(expand_dims<-1>(mixture.draw(shape)), range<std::int32_t, k>(this->graph(), 0, 1));
    return sum<S::rank>(where(with_event_axes(chosen), all_drawn, 0));
  }
  template <class X>
  constexpr auto log_prob(const X& x) const {
    const auto each = components.log_prob(expand_dims<-1 - event_rank>(this->value(x)));
    return logsumexp<-1>(each + mixture.log_p);
  }
  template <class X>
  constexpr auto cdf(const X& x) const {
    static_assert(event_rank == 0,
                  "MixtureSameFamily.cdf(x): only distributions of numbers have "
                  "one");
    return sum<-1>(components.cdf(expand_dims<-1>(this->value(x))) * mixture.probabilities());
  }
  template <class X>
  constexpr auto log_cdf(const X& x) const {
    static_assert(event_rank == 0,
                  "MixtureSameFamily.log_cdf(x): only distributions of numbers have one");
    return logsumexp<-1>(components.log_cdf(expand_dims<-1>(this->value(x))) + mixture.log_p);
  }
  template <class X>
  constexpr auto survival_function(const X& x) const {
    static_assert(event_rank == 0,
                  "MixtureSameFamily.survival_function(x): only distributions of numbers have one");
    return sum<-1>(components.survival_function(expand_dims<-1>(this->value(x))) *
                   mixture.probabilities());
  }
  template <class X>
  constexpr auto log_survival_function(const X& x) const {
    static_assert(
        event_rank == 0,
        "MixtureSameFamily.log_survival_function(x): only distributions of numbers have one");
    return logsumexp<-1>(components.log_survival_function(expand_dims<-1>(this->value(x))) +
                         mixture.log_p);
  }
  /// By bisection between the components' quantiles: see mixture_quantile.hpp, which it needs.
  template <class P>
  constexpr auto quantile(const P& p) const {
    constexpr bool known = requires { mixture_quantile(*this, p); };
    static_assert(known,
                  "MixtureSameFamily.quantile(p) is a loop: include "
                  "<typeflow/distributions/mixture_quantile.hpp>");
    if constexpr (known) {
      return mixture_quantile(*this, p);
    } else {
      return this->value(p);
    }
  }
  /// Not known in closed form: does not compile.
  template <class Self = MixtureSameFamily>
  constexpr auto entropy() const {
    static_assert(typeflow::detail::never<Self>,
                  "MixtureSameFamily.entropy(): no closed form is known; entropy_lower_bound() is "
                  "at most as large, and the mean of -log_prob(x) over draws x estimates it");
    return entropy_lower_bound();
  }
  /// The components' entropies, weighted. The mixture's is at least that, since it is concave, and
  /// at most that of the weights more.
  constexpr auto entropy_lower_bound() const {
    return sum<-1>(components.entropy() * mixture.probabilities());
  }
  constexpr auto mean() const { return weighted(components.mean()); }
  /// Of each element of an event.
  constexpr auto variance() const {
    const auto m = components.mean();
    const auto centre = expand_dims<-1 - event_rank>(mean());
    return weighted(components.variance() + square(m - centre));
  }
  /// Of vectors: (batch...,D,D).
  constexpr auto covariance() const
    requires(event_shape::rank == 1)
  {
    const auto off = components.mean() - expand_dims<-2>(mean());
    const auto each = components.covariance() + expand_dims<-1>(off) * expand_dims<-2>(off);
    return sum<-3>(each * expand_dims<-1>(expand_dims<-1>(mixture.probabilities())));
  }

 private:
  static constexpr int event_rank = event_shape::rank;

  template <class X>
  static constexpr auto with_event_axes(const X& x) {
    if constexpr (event_rank == 0) {
      return x;
    } else if constexpr (event_rank == 1) {
      return expand_dims<-1>(x);
    } else {
      static_assert(event_rank == 2, "MixtureSameFamily: events have two axes at most");
      return expand_dims<-1>(expand_dims<-1>(x));
    }
  }
  template <class X>
  constexpr auto weighted(const X& x) const {
    return sum<-1 - event_rank>(x * with_event_axes(mixture.probabilities()));
  }
};

/// f(x) for draws x of the base, with a bijector f of numbers. A value that f does not give has no
/// meaningful log_prob: it is NaN for most bijectors. Moments and entropy are known where f is
/// affine.
template <AnyDistribution D, class F>
struct TransformedDistribution : Distribution<TransformedDistribution<D, F>> {
  static constexpr std::string_view class_name = "TransformedDistribution";
  static constexpr bool is_continuous = D::is_continuous;
  static constexpr bool reparameterized = D::reparameterized;
  static_assert(D::is_continuous,
                "TransformedDistribution(base, bijector): the base must be continuous");
  using element = typename D::element;
  using batch_shape = typename D::batch_shape;
  using event_shape = typename D::event_shape;

  D base;
  F bijector;

  constexpr TransformedDistribution(const D& of, const F& by)
      : Distribution<TransformedDistribution>(of.graph(), of.options()), base(of), bijector(by) {
    using S = detail::Join<batch_shape, event_shape>;
    static_assert(std::is_same_v<typename decltype(by.forward(zeros()))::shape, S>,
                  "TransformedDistribution(base, bijector): the bijector's parameters must "
                  "broadcast to the base's batch and event shape");
  }

  template <class S>
  constexpr auto draw(S shape) const {
    return bijector.forward(base.draw(shape));
  }
  template <class Y>
  constexpr auto log_prob(const Y& y) const {
    const auto x = bijector.inverse(this->value(y));
    // A slope that all elements share counts once for each element of an event.
    const auto each = bijector.forward_log_det_jacobian(x);
    using S = detail::Broadcast<typename decltype(each)::shape, typename decltype(x)::shape>;
    const auto slope = detail::expand(each, S{});
    return base.log_prob(x) - detail::sum_last<event_shape::rank>(slope);
  }
  template <class Y>
  constexpr auto cdf(const Y& y) const {
    return below(
        y, [&](auto x) { return base.cdf(x); }, [&](auto x) { return base.survival_function(x); });
  }
  template <class Y>
  constexpr auto log_cdf(const Y& y) const {
    return below(
        y, [&](auto x) { return base.log_cdf(x); },
        [&](auto x) { return base.log_survival_function(x); });
  }
  template <class Y>
  constexpr auto survival_function(const Y& y) const {
    return below(
        y, [&](auto x) { return base.survival_function(x); }, [&](auto x) { return base.cdf(x); });
  }
  template <class Y>
  constexpr auto log_survival_function(const Y& y) const {
    return below(
        y, [&](auto x) { return base.log_survival_function(x); },
        [&](auto x) { return base.log_cdf(x); });
  }
  template <class P>
  constexpr auto quantile(const P& p) const {
    const auto q = this->value(p);
    const auto grows = bijector.increasing(q);
    return bijector.forward(base.quantile(where(grows, q, 1 - q)));
  }
  constexpr auto entropy() const
    requires(bijectors::is_affine<F>)
  {
    const auto each = detail::expand(bijector.forward_log_det_jacobian(zeros()),
                                     detail::Join<batch_shape, event_shape>{});
    return base.entropy() + detail::sum_last<event_shape::rank>(each);
  }
  constexpr auto mean() const
    requires(bijectors::is_affine<F>)
  {
    return bijector.forward(base.mean());
  }
  constexpr auto mode() const
    requires(bijectors::is_affine<F>)
  {
    return bijector.forward(base.mode());
  }
  constexpr auto variance() const
    requires(bijectors::is_affine<F>)
  {
    return base.variance() * square(bijector.slope(zeros()));
  }
  constexpr auto stddev() const
    requires(bijectors::is_affine<F>)
  {
    return base.stddev() * abs(bijector.slope(zeros()));
  }

 private:
  /// A draw's shape, to ask the bijector at.
  constexpr auto zeros() const {
    return detail::expand(constant<element>(this->graph(), element(0)),
                          detail::Join<batch_shape, event_shape>{});
  }
  /// growing(x) of the base's x where the bijector grows, falling(x) where it falls.
  template <class Y, class Growing, class Falling>
  constexpr auto below(const Y& y, const Growing& growing, const Falling& falling) const {
    const auto x = bijector.inverse(this->value(y));
    return where(bijector.increasing(x), growing(x), falling(x));
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::distributions
