// SPDX-License-Identifier: Apache-2.0
#pragma once

// Normalization of each sample by itself: layer_norm, group_norm, instance_norm. They differ in the
// axes over which mean and variance are taken. Sources: Ba, Kiros and Hinton, Layer normalization,
// 2016; Wu and He, Group normalization, 2018; Ulyanov, Vedaldi and Lempitsky, Instance
// normalization: the missing ingredient for fast stylization, 2016.
//
//   layer_norm(x)               zero mean and unit variance along the last axis
//   layer_norm<1, 2>(x)         over two axes
//   layer_norm(g, "norm", x)    times a new variable norm/gamma, plus norm/beta
//
// The variance is the mean of (x - mean)^2, computed after the mean, so that a large mean costs no
// digits. It is the biased variance, which divides by N.

#include <cstdint>
#include <source_location>
#include <type_traits>

#include "typeflow/front/scope.hpp"
#include "typeflow/front/sources.hpp"
#include "typeflow/ops/elementwise/math.hpp"
#include "typeflow/ops/reduce/reductions.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Settings of layers that normalize each sample by itself.
struct NormOptions {
  double epsilon = 1e-5;  ///< added to the variance
  bool center = true;     ///< whether there is a `beta` to add
  bool scale = true;      ///< whether there is a `gamma` to multiply by
};

namespace ops {

/// (x - mean) / sqrt(variance + epsilon), both over `axes` and, if there are groups, over the
/// channels (the last axis) of each. An operation for the sake of its gradient: the terms through
/// mean and variance are two means over the same axes.
struct Standardize : composite {
  static constexpr std::string_view name = "Standardize";
  static constexpr Domain domain = Domain::floating;
  std::uint64_t axes;
  double epsilon;
  std::uint64_t groups;  ///< 0: each channel is apart, or the last is one of the axes

  /// The means, to broadcast to x. Those of groups are means of their channels' means: the large
  /// tensor is only seen with all channels of a place in a row.
  static constexpr AnyExpr mean(const Standardize& op, const AnyExpr& x) {
    const AnyExpr each = reduce<Mean>(x, static_cast<unsigned>(op.axes), true);
    if (op.groups == 0) return each;
    const int last = each.dims().rank - 1;
    const Extent groups = static_cast<Extent>(op.groups);
    Dims split = each.dims();
    split.extent[last] = groups;
    split.append(each.dims().extent[last] / groups);
    const AnyExpr of_groups = reduce<Mean>(reshape_to(each, split), 2u << last, true);
    return reshape_to(broadcast_to(of_groups, split), each.dims());
  }

  /// Shared by forward and backward, so that common subexpressions are merged.
  struct Parts {
    AnyExpr centred;
    AnyExpr factor;
  };
  static constexpr Parts parts(const Standardize& op, const auto& x) {
    const AnyExpr centred = x - mean(op, x);
    return {centred, rsqrt(mean(op, square(centred)) + op.epsilon)};
  }
  static constexpr Type infer(const Standardize&, const Type& x) {
    return {x.dtype, contains(domain, x.dtype) ? x.dims : no_dims};
  }
  static constexpr AnyExpr gradient(const Standardize& op, auto x, auto y, auto dy) {
    const AnyExpr through_mean = mean(op, dy);
    const AnyExpr through_variance = y * mean(op, dy * y);
    return (dy - through_mean - through_variance) * parts(op, x).factor;
  }
  static constexpr AnyExpr expand(const Standardize& op, auto x) {
    const Parts of_x = parts(op, x);
    return of_x.centred * of_x.factor;
  }
};

}  // namespace ops

namespace detail {

/// A layer's gamma and beta, as the options ask: float for 16-bit x.
struct NormVariables {
  AnyExpr gamma{};
  AnyExpr beta{};

  template <Element T, Extent... D>
  constexpr NormVariables(std::type_identity<Expr<T, Shape<D...>>>, Graph& graph, Label name,
                          const NormOptions& options, const std::source_location& at) {
    const Scope in(graph, name);
    if (options.scale) gamma = variable<T, D...>(graph, "gamma", ones(), true, at).any();
    if (options.center) beta = variable<T, D...>(graph, "beta", zeros(), true, at).any();
  }
  /// y * gamma + beta; `shape` broadcasts to y's.
  constexpr AnyExpr scaled(AnyExpr y, const Dims& shape) const {
    if (gamma.exists()) y = y * reshape_to(gamma, shape);
    return beta.exists() ? y + reshape_to(beta, shape) : y;
  }
};

constexpr AnyExpr standardize_over(unsigned axes, double epsilon, const UntypedExpr auto& x,
                                   int groups = 0) {
  const ops::Standardize op{{}, axes, epsilon, static_cast<std::uint64_t>(groups)};
  return in_float(x, [&](const auto& v) { return apply(op, v); });
}

/// The axes of layer_norm<Axes...>: the last one if none is named.
template <class S, int... Axes>
struct LayerNormRule {
  static constexpr bool has_axes = sizeof...(Axes) > 0 ? axes_exist<S::rank, Axes...> : S::rank > 0;
  static constexpr unsigned axes = [] {
    if constexpr (sizeof...(Axes) > 0) {
      return axis_bits<S::rank, Axes...>();
    } else {
      return axis_bits<S::rank, -1>();
    }
  }();
  /// The shape of gamma and beta: the extents of the axes.
  static constexpr Dims value =
      has_axes ? reduced(S::dims, all_axes(S::rank) & ~axes, false) : Dims{};
  static constexpr bool has_numbers = is_static(value);
  /// Their shape to broadcast to x: with 1 between the axes.
  static constexpr Dims shape = [] {
    if (!has_axes) return Dims{};
    const bool last = (axes & (axes + (1u << (S::rank - value.rank)))) == 0;
    return last ? value : reduced(S::dims, all_axes(S::rank) & ~axes, true);
  }();
};

/// The axes between the first and the last.
template <class S>
constexpr unsigned inner_axes() {
  return S::rank > 2 ? all_axes(S::rank) & ~1u & ~(1u << (S::rank - 1)) : 0;
}

/// The shape of x with its channels, the last axis, as (Groups, channels / Groups).
template <class S, int Groups>
struct GroupNormRule {
  static constexpr Extent channels =
      S::rank > 0 ? S::dims.extent[S::rank > 0 ? S::rank - 1 : 0] : 0;
  static constexpr bool has_rank = S::rank >= 2 && S::rank < max_rank;
  static constexpr bool fits = has_rank && !is_symbolic(channels) && Groups >= 1 &&
                               channels % (Groups < 1 ? 1 : Groups) == 0;
  static constexpr Dims split = [] {
    Dims d = S::dims;
    if (!fits) return d;
    d.extent[d.rank - 1] = Groups;
    d.append(channels / Groups);
    return d;
  }();
};
template <int Groups, class S>
constexpr AnyExpr standardize_groups(double epsilon, const AnyExpr& x) {
  using Rule = GroupNormRule<S, Groups>;
  if (inner_axes<S>() != 0) {
    return standardize_over(inner_axes<S>(), epsilon, x, Groups == Rule::channels ? 0 : Groups);
  }
  return reshape_to(standardize_over(1u << S::rank, epsilon, reshape_to(x, Rule::split)), S::dims);
}

/// The type of gamma and beta of a layer for x. `Rule::value` is their shape.
template <class X, class Rule>
using NormVariableOf = std::type_identity<Expr<Computed<typename X::element>, shape_of_t<Rule>>>;

template <class S>
struct ChannelsRule {
  static constexpr Extent channels = GroupNormRule<S, 1>::channels;
  static constexpr Dims value = Dims{1, {is_symbolic(channels) ? 1 : channels}};
};

}  // namespace detail

/// (x - mean) / sqrt(variance + epsilon), with mean and variance over the axes, by default the
/// last: layer_norm(x), layer_norm<1, 2>(x). Rows of equal elements give 0. (..,N) -> (..,N)
template <int... Axes, TypedExpr X>
constexpr auto layer_norm(const X& x, double epsilon = NormOptions{}.epsilon,
                          std::source_location at = std::source_location::current()) {
  using Rule = detail::LayerNormRule<typename X::shape, Axes...>;
  static_assert(detail::in_domain<Domain::floating, X>,
                "layer_norm(x): x must be floating-point; convert with cast<float>(x)");
  static_assert(Rule::has_axes, "layer_norm<axes...>(x): x has no such axis");
  detail::mark(at, x);
  return detail::same_type(x, detail::standardize_over(Rule::axes, epsilon, x.any()).id);
}

/// The same times gamma plus beta, new variables with the extents of the axes: name/gamma, ones,
/// and name/beta, zeros. (..,N) -> (..,N)
template <int... Axes, TypedExpr X>
constexpr auto layer_norm(Graph& graph, Label name, const X& x, NormOptions options = {},
                          std::source_location at = std::source_location::current()) {
  using Rule = detail::LayerNormRule<typename X::shape, Axes...>;
  static_assert(detail::in_domain<Domain::floating, X>,
                "layer_norm(g, name, x): x must be floating-point; convert with cast<float>(x)");
  static_assert(Rule::has_axes, "layer_norm<axes...>(g, name, x): x has no such axis");
  static_assert(Rule::has_numbers,
                "layer_norm<axes...>(g, name, x): the extents of the axes must be numbers, not "
                "tf::batch");
  if constexpr (Rule::has_numbers) {
    const detail::NormVariables variables(detail::NormVariableOf<X, Rule>{}, graph, name, options,
                                          at);
    const NameScope scope(graph, name);
    detail::mark(at, x);
    const AnyExpr y = detail::in_float(x.any(), [&](const AnyExpr& v) {
      return variables.scaled(detail::standardize_over(Rule::axes, options.epsilon, v),
                              Rule::shape);
    });
    return detail::same_type(x, y.id);
  } else {
    return detail::same_type(x, x.id());
  }
}

/// layer_norm(g, name, x) over the last axis as an object. It can be called many times, and makes
/// its variables once: tf::LayerNorm<64> norm(g, "norm"); norm(x). T is the element type of the
/// variables: float for 16-bit x. (..,N) -> (..,N)
template <Extent N, Element T = float>
class LayerNorm {
 public:
  constexpr LayerNorm(Graph& graph, Label name, NormOptions options = {},
                      std::source_location at = std::source_location::current())
      : epsilon_(options.epsilon),
        variables_(std::type_identity<Expr<T, Shape<N>>>{}, graph, name, options, at) {}

  template <TypedExpr X>
  constexpr auto operator()(const X& x,
                            std::source_location at = std::source_location::current()) const {
    using Channels = detail::ChannelsRule<typename X::shape>;
    static_assert(X::rank >= 1 && Channels::channels == N,
                  "layer_norm: the last axis of x must have the layer's channels");
    static_assert(
        std::is_same_v<detail::Computed<typename X::element>, T>,
        "layer_norm: the variables must have the element type of x, or float for 16 bits");
    detail::mark(at, x);
    constexpr unsigned axes = 1u << (X::rank < 1 ? 0 : X::rank - 1);
    const AnyExpr y = detail::in_float(x.any(), [&](const AnyExpr& v) {
      return variables_.scaled(detail::standardize_over(axes, epsilon_, v), Dims{1, {N}});
    });
    return detail::same_type(x, y.id);
  }

 private:
  double epsilon_;
  detail::NormVariables variables_;
};

/// (x - mean) / sqrt(variance + epsilon): group_norm<32>(x). Mean and variance are taken for each
/// sample and each of Groups parts of its channels (the last axis), over the axes between. (N,..,C)
/// -> (N,..,C)
template <int Groups, TypedExpr X>
constexpr auto group_norm(const X& x, double epsilon = NormOptions{}.epsilon,
                          std::source_location at = std::source_location::current()) {
  using Rule = detail::GroupNormRule<typename X::shape, Groups>;
  static_assert(detail::in_domain<Domain::floating, X>,
                "group_norm<groups>(x): x must be floating-point; convert with cast<float>(x)");
  static_assert(Rule::has_rank, "group_norm<groups>(x): x must have 2 to 7 axes, (N,..,C)");
  static_assert(!Rule::has_rank || Rule::fits,
                "group_norm<groups>(x): groups must divide the channels of x, its last axis");
  detail::mark(at, x);
  return detail::same_type(
      x, detail::standardize_groups<Groups, typename X::shape>(epsilon, x.any()).id);
}

/// The same times gamma plus beta, new variables (C): name/gamma, ones, and name/beta, zeros.
/// (N,..,C) -> (N,..,C)
template <int Groups, TypedExpr X>
constexpr auto group_norm(Graph& graph, Label name, const X& x, NormOptions options = {},
                          std::source_location at = std::source_location::current()) {
  using Rule = detail::GroupNormRule<typename X::shape, Groups>;
  static_assert(detail::in_domain<Domain::floating, X>,
                "group_norm<groups>(g, name, x): x must be floating-point; convert with "
                "cast<float>(x)");
  static_assert(Rule::has_rank,
                "group_norm<groups>(g, name, x): x must have 2 to 7 axes, (N,..,C)");
  static_assert(!Rule::has_rank || Rule::fits,
                "group_norm<groups>(g, name, x): groups must divide the channels of x, its last "
                "axis");
  using Channels = detail::ChannelsRule<typename X::shape>;
  const detail::NormVariables variables(detail::NormVariableOf<X, Channels>{}, graph, name, options,
                                        at);
  const NameScope scope(graph, name);
  detail::mark(at, x);
  const AnyExpr y = detail::in_float(x.any(), [&](const AnyExpr& v) {
    return variables.scaled(
        detail::standardize_groups<Groups, typename X::shape>(options.epsilon, v), Channels::value);
  });
  return detail::same_type(x, y.id);
}

/// group_norm<Groups>(g, name, x) as an object. It can be called many times, and makes its
/// variables once: tf::GroupNorm<32, 256> norm(g, "norm"); norm(x). T is the element type of the
/// variables: float for 16-bit x. (N,..,C) -> (N,..,C)
template <int Groups, Extent C, Element T = float>
class GroupNorm {
 public:
  constexpr GroupNorm(Graph& graph, Label name, NormOptions options = {},
                      std::source_location at = std::source_location::current())
      : epsilon_(options.epsilon),
        variables_(std::type_identity<Expr<T, Shape<C>>>{}, graph, name, options, at) {}

  template <TypedExpr X>
  constexpr auto operator()(const X& x,
                            std::source_location at = std::source_location::current()) const {
    using Rule = detail::GroupNormRule<typename X::shape, Groups>;
    static_assert(Rule::has_rank && Rule::channels == C,
                  "group_norm: x must have 2 to 7 axes, the last with the layer's channels");
    static_assert(!Rule::has_rank || Rule::fits,
                  "group_norm: groups must divide the channels of x, its last axis");
    static_assert(
        std::is_same_v<detail::Computed<typename X::element>, T>,
        "group_norm: the variables must have the element type of x, or float for 16 bits");
    detail::mark(at, x);
    const AnyExpr y = detail::in_float(x.any(), [&](const AnyExpr& v) {
      return variables_.scaled(detail::standardize_groups<Groups, typename X::shape>(epsilon_, v),
                               Dims{1, {C}});
    });
    return detail::same_type(x, y.id);
  }

 private:
  double epsilon_;
  detail::NormVariables variables_;
};

/// (x - mean) / sqrt(variance + epsilon), with mean and variance for each sample and channel (the
/// first and the last axis), over the axes between. (N,H,W,C) -> (N,H,W,C)
template <TypedExpr X>
constexpr auto instance_norm(const X& x, double epsilon = NormOptions{}.epsilon,
                             std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "instance_norm(x): x must be floating-point; convert with cast<float>(x)");
  static_assert(X::rank >= 3,
                "instance_norm(x): x must have axes between its first and its last, (N,H,W,C)");
  detail::mark(at, x);
  constexpr unsigned axes = detail::inner_axes<typename X::shape>();
  return detail::same_type(x, detail::standardize_over(axes, epsilon, x.any()).id);
}

/// instance_norm(g, name, x) as an object. It can be called many times, and makes its variables
/// once: tf::InstanceNorm<64> norm(g, "norm"); norm(x). T is the element type of the variables:
/// float for 16-bit x. (N,H,W,C) -> (N,H,W,C)
template <Extent C, Element T = float>
class InstanceNorm {
 public:
  constexpr InstanceNorm(Graph& graph, Label name, NormOptions options = {},
                         std::source_location at = std::source_location::current())
      : epsilon_(options.epsilon),
        variables_(std::type_identity<Expr<T, Shape<C>>>{}, graph, name, options, at) {}

  template <TypedExpr X>
  constexpr auto operator()(const X& x,
                            std::source_location at = std::source_location::current()) const {
    static_assert(X::rank >= 3 && detail::ChannelsRule<typename X::shape>::channels == C,
                  "instance_norm: x must have axes between its first and its last, (N,H,W,C), and "
                  "the last must have the layer's channels");
    static_assert(
        std::is_same_v<detail::Computed<typename X::element>, T>,
        "instance_norm: the variables must have the element type of x, or float for 16 bits");
    detail::mark(at, x);
    constexpr unsigned axes = detail::inner_axes<typename X::shape>();
    const AnyExpr y = detail::in_float(x.any(), [&](const AnyExpr& v) {
      return variables_.scaled(detail::standardize_over(axes, epsilon_, v), Dims{1, {C}});
    });
    return detail::same_type(x, y.id);
  }

 private:
  double epsilon_;
  detail::NormVariables variables_;
};

/// A layer used once: instance_norm(x) times gamma plus beta, new variables (C): name/gamma, ones,
/// and name/beta, zeros. (N,H,W,C) -> (N,H,W,C)
template <TypedExpr X>
constexpr auto instance_norm(Graph& graph, Label name, const X& x, NormOptions options = {},
                             std::source_location at = std::source_location::current()) {
  constexpr Extent channels = detail::ChannelsRule<typename X::shape>::channels;
  static_assert(detail::in_domain<Domain::floating, X>,
                "instance_norm(g, name, x): x must be floating-point; convert with "
                "cast<float>(x)");
  static_assert(X::rank >= 3,
                "instance_norm(g, name, x): x must have axes between its first and its last, "
                "(N,H,W,C)");
  static_assert(!is_symbolic(channels),
                "instance_norm(g, name, x): the last axis of x must be a number, not tf::batch");
  const InstanceNorm<channels, detail::Computed<typename X::element>> norm(graph, name, options,
                                                                           at);
  const NameScope scope(graph, name);
  return norm(x, at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
