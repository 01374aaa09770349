// SPDX-License-Identifier: Apache-2.0
#pragma once

// What all distributions share. A distribution is a small struct of expressions, its parameters;
// its methods return expressions:
//
//   namespace tfd = tf::distributions;
//   tfd::Normal prior(loc, 1.0);        // loc is a tensor (3); a number takes its element type
//   auto x = prior.sample<100>();       // (100,3)
//   auto y = prior.log_prob(x);         // (100,3)
//   auto kl = kl_divergence(prior, tfd::Normal(loc, scale));
//
// Shapes are types. `batch_shape` is that of the parameters, broadcast; each of its elements is a
// distribution of its own. `event_shape` is that of one draw: Shape<> for distributions of numbers.
// A sample<N...>() is (N...,batch...,event...). log_prob(x) takes an x that broadcasts with
// (batch...,event...), and has no event axes. A value outside of the support has probability 0; NaN
// stays NaN.
//
// Parameters are not checked: NaN or nonsense comes of a negative scale. Draws are counted in their
// scope, as those of random_normal without a label.

#include <array>
#include <cstddef>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include "typeflow/distributions/log_tails.hpp"
#include "typeflow/distributions/special.hpp"
#include "typeflow/graph.hpp"
#include "typeflow/ops/state/check.hpp"

namespace typeflow::inline TYPEFLOW_ISA::distributions {

/// Settings of a distribution.
struct Options {
  /// A statistic that the parameters leave undefined, as the mean of a Cauchy distribution, is NaN.
  /// If false, a run that computes it fails, with the names of the distribution and the statistic.
  bool allow_nan_stats = true;
};

namespace detail {

/// The shape of a parameter; a number is a scalar.
template <class P>
struct ShapeOfParameter {
  using type = Shape<>;
};
template <TypedExpr P>
struct ShapeOfParameter<P> {
  using type = typename P::shape;
};
template <class P>
using ShapeOf = typename ShapeOfParameter<P>::type;

template <class... P>
struct FirstElement {
  using type = float;
};
template <class P, class... Rest>
struct FirstElement<P, Rest...> : FirstElement<Rest...> {};
template <TypedExpr P, class... Rest>
struct FirstElement<P, Rest...> {
  using type = typename P::element;
};

/// The element type of a distribution with these parameters: that of the first tensor.
template <class... P>
using ElementOf = typename FirstElement<P...>::type;

/// The shape of the sum of tensors of these shapes; Shape<> if they do not broadcast.
template <class... S>
using Broadcast = shape_of_t<typeflow::detail::BroadcastRule<S...>>;

template <class A, class B>
struct JoinShapes;
template <Extent... A, Extent... B>
struct JoinShapes<Shape<A...>, Shape<B...>> {
  using type = Shape<A..., B...>;
};
/// (A...) and (B...) -> (A...,B...)
template <class A, class B>
using Join = typename JoinShapes<A, B>::type;

/// S without its last N extents, and these extents.
template <class S, int N>
struct DropRule {
  static constexpr Dims value = [] {
    Dims out{};
    for (int i = 0; i < S::rank - N; ++i) out.append(S::dims.extent[i]);
    return out;
  }();
};
template <class S, int N>
using Drop = shape_of_t<DropRule<S, N>>;
template <class S, int N>
struct LastRule {
  static constexpr Dims value = [] {
    Dims out{};
    for (int i = S::rank < N ? 0 : S::rank - N; i < S::rank; ++i) out.append(S::dims.extent[i]);
    return out;
  }();
};
template <class S, int N>
using Last = shape_of_t<LastRule<S, N>>;

/// The last extent of a shape with axes.
template <class S>
inline constexpr Extent last_extent =
    S::rank > 0 ? S::dims.extent[S::rank > 0 ? S::rank - 1 : 0] : 1;

/// The parameter as a tensor of element type T.
template <Element T, Operand P>
constexpr auto parameter(Graph& g, const P& p) {
  if constexpr (TypedExpr<P>) {
    static_assert(std::is_same_v<typename P::element, T>,
                  "the element types of a distribution's parameters must be equal; convert with "
                  "cast<T>(x)");
    return Expr<T, typename P::shape>(p.graph(), p.id());
  } else {
    return constant<T>(g, static_cast<T>(p));
  }
}

template <class P, class... Rest>
constexpr Graph& first_graph(const P& p, const Rest&... rest) {
  if constexpr (TypedExpr<P>) {
    return p.graph();
  } else {
    return first_graph(rest...);
  }
}
/// The graph of the parameters of a distribution; checks that they broadcast. (Its type is deduced
/// so that the checks run where it is called.)
template <class... P>
constexpr auto& graph_of(const P&... p) {
  static_assert((TypedExpr<P> || ...),
                "a distribution needs a tensor among its parameters: write constant<float>(g, 2)");
  static_assert(typeflow::detail::broadcasts<Expr<float, ShapeOf<P>>...>,
                "the shapes of a distribution's parameters do not broadcast");
  return first_graph(p...);
}

template <Extent... D, TypedExpr X>
constexpr auto expand(const X& x, Shape<D...>) {
  return broadcast_to<D...>(x);
}
template <Extent... D, TypedExpr X>
constexpr auto reshape_as(const X& x, Shape<D...>) {
  return reshape<D...>(x);
}
template <Element T, Extent... D>
constexpr auto normal_numbers(Graph& g, Shape<D...>) {
  return random_normal<T, D...>(g);
}
/// Uniform in (0, 1). 0 becomes an eighth of an epsilon: a far smaller number would be rarer than
/// it is drawn, and a quarter would round other draws up to 1.
template <Element T, Extent... D>
constexpr auto uniform_numbers(Graph& g, Shape<D...>) {
  return random_uniform<T, D...>(g, std::numeric_limits<T>::epsilon() / 8, 1.0);
}
/// Exponential numbers of rate 1.
template <Element T, Extent... D>
constexpr auto exponential_numbers(Graph& g, Shape<D...>) {
  return -log1p(-random_uniform<T, D...>(g));
}

/// The sum over the last N axes.
template <int N, TypedExpr X>
constexpr auto sum_last(const X& x) {
  if constexpr (N == 0) {
    return x;
  } else {
    return [&]<int... I>(std::integer_sequence<int, I...>) {
      return sum<(X::rank - N + I)...>(x);
    }(std::make_integer_sequence<int, N>{});
  }
}

/// The product over the last N axes.
template <int N, TypedExpr X>
constexpr auto prod_last(const X& x) {
  if constexpr (N == 0) {
    return x;
  } else {
    return [&]<int... I>(std::integer_sequence<int, I...>) {
      return prod<(X::rank - N + I)...>(x);
    }(std::make_integer_sequence<int, N>{});
  }
}

/// f(x) in the support, `other` outside. f sees `safe` in place of an x outside, so that it
/// computes no NaN, not even in the gradient.
template <TypedExpr C, TypedExpr X, class F>
constexpr auto in_support(const C& outside, const X& x, double safe, double other, const F& f) {
  return where(outside, other, f(where(outside, safe, x)));
}

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

}  // namespace detail

/// Base of the distributions. Self has the types `element`, `batch_shape` and `event_shape`, a
/// `class_name`, draw(shape) and log_prob(x), and the statistics that exist.
template <class Self>
class Distribution {
 public:
  constexpr Distribution(Graph& graph, Options options) : graph_(&graph), options_(options) {
    using T = typename Self::element;
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                  "a distribution's parameters must be float or double; convert with "
                  "cast<float>(x)");
  }

  constexpr Graph& graph() const { return *graph_; }
  constexpr bool allow_nan_stats() const { return options_.allow_nan_stats; }
  constexpr Options options() const { return options_; }

  /// Draws, anew in each run: sample() is (batch...,event...), sample<N...>() is
  /// (N...,batch...,event...). If `reparameterized`, its gradients for the parameters are those of
  /// the draws; otherwise the draws have none.
  template <Extent... N>
  constexpr auto sample() const {
    return self().draw(detail::Join<Shape<N...>, typename Self::batch_shape>{});
  }

  /// The density at x, or the probability of x if it is discrete.
  template <class X>
  constexpr auto prob(const X& x) const {
    return exp(self().log_prob(x));
  }
  /// The logarithm of the probability of a draw that is at most x.
  template <class X>
  constexpr auto log_cdf(const X& x) const {
    return detail::log_from(self().cdf(x), self().survival_function(x));
  }
  /// The probability of a draw above x.
  template <class X>
  constexpr auto survival_function(const X& x) const {
    return 1 - self().cdf(x);
  }
  template <class X>
  constexpr auto log_survival_function(const X& x) const {
    return detail::log_from(self().survival_function(x), self().cdf(x));
  }
  /// The standard deviation.
  constexpr auto stddev() const { return sqrt(self().variance()); }

  /// x as a tensor of the distribution's element type; checks that its shape fits.
  template <class X>
  constexpr auto value(const X& x) const {
    using T = typename Self::element;
    using S = detail::Join<typename Self::batch_shape, typename Self::event_shape>;
    constexpr bool fits = typeflow::detail::broadcasts<Expr<T, detail::ShapeOf<X>>, Expr<T, S>>;
    (void)sizeof(
        typeflow::detail::requirement<
            "the shape of x does not broadcast with the batch and event shape of the distribution",
            fits>);
    static_assert(fits,
                  "the shape of x does not broadcast with the batch and event shape of the "
                  "distribution");
    if constexpr (TypedExpr<X>) {
      return cast<T>(x);
    } else {
      static_assert(Literal<X>, "x must be a tensor or a number");
      return constant<T>(graph(), static_cast<T>(x));
    }
  }

 protected:
  constexpr const Self& self() const { return static_cast<const Self&>(*this); }

  /// A statistic with the shape that all elements of the batch have.
  template <TypedExpr X>
  constexpr auto per_batch(const X& x) const {
    return detail::expand(x, typename Self::batch_shape{});
  }
  template <TypedExpr X>
  constexpr auto per_event(const X& x) const {
    return detail::expand(x,
                          detail::Join<typename Self::batch_shape, typename Self::event_shape>{});
  }

  /// x where the condition holds. Elsewhere it is NaN, or the run fails.
  template <TypedExpr C, TypedExpr X>
  constexpr auto where_defined(const C& condition, const X& x, std::string_view statistic) const {
    if (allow_nan_stats()) return where(condition, x, detail::not_a_number);
    std::array<char, 128> text{};
    std::size_t size = 0;
    const auto add = [&](std::string_view part) {
      for (const char c : part) text[size++] = c;
    };
    add(Self::class_name);
    add(".");
    add(statistic);
    add("() is undefined for these parameters, and allow_nan_stats is false");
    CheckText message("");
    message.text = std::string_view(text.data(), size);
    // where(...) has the type of the result: the condition's axes are the batch's, too.
    return after(check(condition, message), where(condition, x, detail::not_a_number));
  }

 private:
  Graph* graph_;
  Options options_;
};

/// Base of the continuous distributions of numbers that loc moves and scale stretches.
template <class Self, Element T, class L, class S>
struct LocationScale : Distribution<Self> {
  static constexpr bool is_continuous = true;
  static constexpr bool reparameterized = true;
  using element = T;
  using batch_shape = detail::Broadcast<L, S>;
  using event_shape = Shape<>;

  Expr<T, L> loc;
  Expr<T, S> scale;

  /// `graph` is graph_of(centre, width), called by the class itself: so g++ names the line of the
  /// user when the parameters do not fit.
  template <Operand A, Operand B>
  constexpr LocationScale(Graph& graph, const A& centre, const B& width, Options options)
      : Distribution<Self>(graph, options),
        loc(detail::parameter<T>(this->graph(), centre)),
        scale(detail::parameter<T>(this->graph(), width)) {}

 protected:
  /// (x - loc) / scale
  template <class X>
  constexpr auto standard(const X& x) const {
    return (this->value(x) - loc) / scale;
  }
};

/// A distribution of this library.
template <class D>
concept AnyDistribution = requires {
  typename D::batch_shape;
  typename D::event_shape;
  typename D::element;
  { D::is_continuous } -> std::convertible_to<bool>;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::distributions
