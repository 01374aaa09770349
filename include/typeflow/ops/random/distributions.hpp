// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random tensors of other distributions: normal, truncated normal, Bernoulli, categorical. Each run
// draws them anew, as random.hpp says. typeflow/random.hpp has distributions with rejection or with
// costly parameters.

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <numbers>
#include <source_location>

#include "typeflow/ops/elementwise/cast.hpp"
#include "typeflow/ops/elementwise/compare.hpp"
#include "typeflow/ops/elementwise/math.hpp"
#include "typeflow/ops/random/random.hpp"
#include "typeflow/ops/reduce/cumsum.hpp"
#include "typeflow/ops/reduce/reduce.hpp"
#include "typeflow/ops/shape/shape_ops.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// The standard normal distribution within two deviations. Uniform points below the curve's maximum
/// are redrawn until one is under the curve.
struct RandomTruncatedNormal : random_elements {
  static constexpr std::string_view name = "RandomTruncatedNormal";
  static constexpr int flops = 60;
  std::uint32_t path_low;
  std::uint32_t path_high;

  constexpr std::uint64_t key(std::uint64_t seed) const {
    return random_key(seed, std::uint64_t{path_high} << 32 | path_low);
  }
  template <Element T>
  constexpr T element(const RandomState& random, std::int64_t index) const {
    ElementStream stream(key(random.seed), random.draw, static_cast<std::uint64_t>(index));
    for (;;) {
      const double x = 4 * stream.next() - 2;
      if (stream.next() < std::exp(-0.5 * x * x)) return static_cast<T>(x);
    }
  }
  static Number evaluate(const ir::EvaluateCall& call) {
    const RandomTruncatedNormal op = decode<RandomTruncatedNormal>(call.graph, call.node);
    const DType type = call.graph.dtype_of(call.node.outputs.first);
    return detail::fitted({op.element<double>(call.random, call.index), 0}, type);
  }
};

}  // namespace ops

namespace detail {

/// A second source of numbers for an operation.
constexpr std::uint64_t second_path(std::uint64_t path) { return random_key(path, 1); }

/// Standard normal. Source: Box and Muller, Ann. Math. Statist. 29 (1958).
constexpr AnyExpr normal_node(std::same_as<ir::Graph> auto& graph, std::uint64_t path,
                              const Type& type) {
  const bool half = is_half_precision(type.dtype);
  const Type drawn(half ? DType::float32 : type.dtype, type.dims);
  const auto radius = sqrt(-2 * log(1 - uniform_node(graph, path, drawn)));
  const auto turns = uniform_node(graph, second_path(path), drawn);
  // Not cos(x): its type is deduced, which for clang depends on that of a gradient, through cos(x).
  const AnyExpr z = radius * detail::apply_untyped(ops::Cos{}, turns * (2 * std::numbers::pi));
  return half ? cast_to(z, type.dtype) : z;
}

/// Standard normal within two deviations.
constexpr AnyExpr truncated_normal_node(std::same_as<ir::Graph> auto& graph, std::uint64_t path,
                                        const Type& type) {
  return add_node(graph,
                  ops::RandomTruncatedNormal{
                      {}, static_cast<std::uint32_t>(path), static_cast<std::uint32_t>(path >> 32)},
                  nullptr, 0, type);
}

/// x deviation + mean
constexpr AnyExpr scaled(const AnyExpr& x, double mean, double deviation) {
  const AnyExpr wide = deviation == 1 ? x : x * deviation;
  return mean == 0 ? wide : wide + mean;
}

/// Dims without the last extent, followed by these.
constexpr Dims with_last(const Dims& dims, std::initializer_list<Extent> last) {
  Dims out{};
  for (int i = 0; i + 1 < dims.rank; ++i) out.append(dims.extent[i]);
  for (const Extent e : last) out.append(e);
  return out;
}
/// Indices drawn for each row of logits: the number of running sums of the probabilities that are
/// not above a uniform number. In double, because float's 24 bits are too few for many classes.
constexpr AnyExpr categorical_node(const UntypedExpr auto& logits, std::uint64_t path,
                                   Extent draws) {
  const Dims dims = logits.dims();
  const int axis = dims.rank - 1;
  const unsigned last = 1u << axis;
  const auto x = cast_to(logits, DType::float64);
  const auto sums = cumsum_along(exp(x - reduce<ops::Max>(x, last, true)), axis);
  const auto u =
      uniform_node(*logits.graph, path, Type(DType::float64, with_last(dims, {draws, Extent{1}})));
  // Less than the sum of all: at most, 1 - 2^-53 times a number rounds to the next smaller one.
  const auto at = u * reshape_to(reduce<ops::Max>(sums, last, true), with_last(dims, {1, 1}));
  const auto row = reshape_to(sums, with_last(dims, {1, dims.extent[axis]}));
  return reduce<ops::Sum>(cast_to(less_equal(row, at), DType::int32), last << 1, false);
}

template <class S, Extent Draws>
struct CategoricalRule {
  static constexpr Dims value = with_last(S::dims, {Draws});
};
template <class S>
struct OneCategoryRule {
  static constexpr Dims value = with_last(S::dims, {});
};

template <class X>
constexpr void check_logits() {
  static_assert(X::rank > 0, "categorical(logits): the logits must have an axis, the classes");
  static_assert(X::rank < max_rank, "categorical(logits): the logits must have at most 7 axes");
  static_assert(in_domain<Domain::floating, X>,
                "categorical(logits): the logits must be floating-point; convert with "
                "cast<float>(logits)");
}

}  // namespace detail

/// Untyped: standard normal, of the given type; without a name if the label is "".
constexpr AnyExpr random_normal(std::same_as<ir::Graph> auto& graph, const Label& label,
                                const Type& type) {
  const std::uint64_t path = graph.add_random_path("random_normal", label);
  return detail::labelled(detail::normal_node(graph, path, type), label);
}

/// Normal numbers, drawn anew in each run: random_normal<float, tf::batch, 64>(g, "z"). For
/// parameters that are tensors write mean + deviation * random_normal<...>(...), which has
/// gradients for them.
template <Element T, Extent... D>
constexpr Expr<T, Shape<D...>> random_normal(
    Graph& g, Label label, double mean = 0, double standard_deviation = 1,
    std::source_location at = std::source_location::current()) {
  static_assert(detail::is_real_floating<T>, "random_normal<T, D...>: T must be floating-point");
  ir::Graph& graph = g;
  graph.source = source_line(at);
  const std::uint64_t path = graph.add_random_path("random_normal", label);
  const AnyExpr z = detail::normal_node(graph, path, Expr<T, Shape<D...>>::type);
  return {g, detail::labelled(detail::scaled(z, mean, standard_deviation), label).id};
}
/// The same without a name; unnamed ones draw by their order in the scope.
template <Element T, Extent... D>
constexpr Expr<T, Shape<D...>> random_normal(
    Graph& g, double mean = 0, double standard_deviation = 1,
    std::source_location at = std::source_location::current()) {
  return random_normal<T, D...>(g, "", mean, standard_deviation, at);
}

/// Normal numbers within two standard deviations of the mean, drawn anew in each run:
/// truncated_normal<float, 784, 100>(g, "noise", 0, 0.1). Numbers beyond are drawn again, so the
/// deviation of the result is 0.8796... times the given one.
template <Element T, Extent... D>
constexpr Expr<T, Shape<D...>> truncated_normal(
    Graph& g, Label label, double mean = 0, double standard_deviation = 1,
    std::source_location at = std::source_location::current()) {
  static_assert(detail::is_real_floating<T>, "truncated_normal<T, D...>: T must be floating-point");
  ir::Graph& graph = g;
  graph.source = source_line(at);
  const std::uint64_t path = graph.add_random_path("truncated_normal", label);
  const AnyExpr x = detail::truncated_normal_node(graph, path, Expr<T, Shape<D...>>::type);
  return {g, detail::labelled(detail::scaled(x, mean, standard_deviation), label).id};
}
/// The same without a name.
template <Element T, Extent... D>
constexpr Expr<T, Shape<D...>> truncated_normal(
    Graph& g, double mean = 0, double standard_deviation = 1,
    std::source_location at = std::source_location::current()) {
  return truncated_normal<T, D...>(g, "", mean, standard_deviation, at);
}

/// True with probability p, elementwise: never where p <= 0 or NaN, always where p >= 1. Drawn anew
/// in each run. A label is the result's name. p gets no gradient. (S) -> (S)
template <TypedExpr P>
constexpr auto bernoulli(const P& p, Label label = "",
                         std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, P>,
                "bernoulli(p): p must be floating-point; convert with cast<float>(p)");
  detail::mark(at, p);
  ir::Graph& graph = p.graph();
  const std::uint64_t path = graph.add_random_path("bernoulli", label);
  const bool half = detail::is_half<typename P::element>;
  const auto wide = half ? cast_to(p.any(), DType::float32) : p.any();
  const AnyExpr hit =
      less(detail::uniform_node(graph, path, Type(wide.dtype(), P::type.dims)), wide);
  return Expr<bool, typename P::shape>(p.graph(), detail::labelled(hit, label).id);
}

/// N int32 indices of classes, drawn for each row of unnormalised log-probabilities: class k with
/// probability e^logits[k] / sum of e^logits. Drawn anew in each run; a label is the result's name.
/// A class with logit -infinity is never drawn. A row with NaN or infinity, or with no class to
/// draw, gives no meaningful index. (..,K) -> (..,N)
///
/// TensorFlow's multinomial. It computes a row's running sums once, and compares each number with
/// all K of them.
template <Extent N, TypedExpr X>
constexpr auto categorical(const X& logits, Label label = "",
                           std::source_location at = std::source_location::current()) {
  detail::check_logits<X>();
  detail::mark(at, logits);
  ir::Graph& graph = logits.graph();
  const std::uint64_t path = graph.add_random_path("categorical", label);
  using S = shape_of_t<detail::CategoricalRule<typename X::shape, N>>;
  const AnyExpr k = detail::categorical_node(logits.any(), path, N);
  return Expr<std::int32_t, S>(logits.graph(), detail::labelled(k, label).id);
}
/// The same with one index for each row. (..,K) -> (..)
template <TypedExpr X>
constexpr auto categorical(const X& logits, Label label = "",
                           std::source_location at = std::source_location::current()) {
  detail::check_logits<X>();
  detail::mark(at, logits);
  ir::Graph& graph = logits.graph();
  const std::uint64_t path = graph.add_random_path("categorical", label);
  using S = shape_of_t<detail::OneCategoryRule<typename X::shape>>;
  const AnyExpr k = reshape_to(detail::categorical_node(logits.any(), path, 1), S::dims);
  return Expr<std::int32_t, S>(logits.graph(), detail::labelled(k, label).id);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
