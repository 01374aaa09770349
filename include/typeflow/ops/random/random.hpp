// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random tensors. Element i of a run's draw is a function of (session's seed, path of the
// operation, number of the draw, i). With a label the path consists of the scope and the label.
// Without one, operations of a kind are counted in their scope (ir::Graph::add_random_path).
//
// An operation that draws has the path as attributes, and element<T>(random, i), which kernels and
// the interpreter call for every element. Uniform numbers also have a SIMD form with the same bits
// (cpu/random.hpp). Such an operation is never shared with an equal one, and gradients use its
// result, not a second draw. Other distributions are functions of uniform numbers where possible
// (ops/random/distributions.hpp): they fuse, and have gradients for their parameters.

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <source_location>
#include <type_traits>

#include "typeflow/core/philox.hpp"
#include "typeflow/front/sources.hpp"
#include "typeflow/ops/elementwise/arithmetic.hpp"
#include "typeflow/ops/elementwise/binary.hpp"
#include "typeflow/ops/elementwise/compare.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// Base of operations that draw each element by itself.
struct random_elements : elementwise {
  static constexpr SideEffect effect = SideEffect::random;
  static constexpr Derivative derivative = Derivative::zero;
  static constexpr Domain domain = Domain::floating;
  static constexpr int flops = 20;
  static constexpr bool own_type = true;
};

/// Uniform in [0, 1).
struct RandomUniform : random_elements {
  static constexpr std::string_view name = "RandomUniform";
  std::uint32_t path_low;  ///< hash of the operation's path
  std::uint32_t path_high;

  constexpr std::uint64_t key(std::uint64_t seed) const {
    return random_key(seed, std::uint64_t{path_high} << 32 | path_low);
  }
  template <Element T>
  constexpr T element(const RandomState& random, std::int64_t index) const {
    return uniform_element<T>(key(random.seed), random.draw, static_cast<std::uint64_t>(index));
  }
  static constexpr Number evaluate(const ir::EvaluateCall& call) {
    const RandomUniform op = decode<RandomUniform>(call.graph, call.node);
    return visit_dtype(call.graph.dtype_of(call.node.outputs.first), [&](auto zero) {
      using T = decltype(zero);
      if constexpr (detail::is_real_floating<T>) {
        return number_from(op.element<T>(call.random, call.index));
      } else {
        return Number{};
      }
    });
  }
};

/// Integers from `low` on, uniform in a range.
struct RandomInteger : random_elements {
  static constexpr std::string_view name = "RandomInteger";
  static constexpr Domain domain = Domain::integers;
  std::uint32_t path_low;
  std::uint32_t path_high;
  std::int64_t low;
  std::uint64_t range;  ///< the number of integers

  constexpr std::uint64_t key(std::uint64_t seed) const {
    return random_key(seed, std::uint64_t{path_high} << 32 | path_low);
  }
  template <Element T>
  constexpr T element(const RandomState& random, std::int64_t index) const {
    const std::uint64_t above =
        integer_element(key(random.seed), random.draw, static_cast<std::uint64_t>(index), range);
    return static_cast<T>(static_cast<std::uint64_t>(low) + above);
  }
  static constexpr Number evaluate(const ir::EvaluateCall& call) {
    return {0, decode<RandomInteger>(call.graph, call.node)
                   .element<std::int64_t>(call.random, call.index)};
  }
};

}  // namespace ops

namespace detail {
/// The result of a random operation, named by its label if it has one.
constexpr AnyExpr labelled(const AnyExpr& x, const Label& label) {
  if (!label.empty()) x.graph->add_name(label, ir::NameKind::value, x.id);
  return x;
}

/// Uniform numbers in [0, 1) of the given type, drawn from this path.
constexpr AnyExpr uniform_node(std::same_as<ir::Graph> auto& graph, std::uint64_t path,
                               const Type& type) {
  return add_node(graph,
                  ops::RandomUniform{
                      {}, static_cast<std::uint32_t>(path), static_cast<std::uint32_t>(path >> 32)},
                  nullptr, 0, type);
}

/// Uniform integers from `low` on, in a range of this size.
constexpr AnyExpr integer_node(std::same_as<ir::Graph> auto& graph, std::uint64_t path,
                               const Type& type, std::int64_t low, std::uint64_t range) {
  return add_node(
      graph,
      ops::RandomInteger{
          {}, static_cast<std::uint32_t>(path), static_cast<std::uint32_t>(path >> 32), low, range},
      nullptr, 0, type);
}
}  // namespace detail

/// Untyped: uniform in [0, 1), with the given type; without a name if the label is "".
template <class G>
  requires std::convertible_to<G&, ir::Graph&>
constexpr AnyExpr random_uniform(G& model, const Label& label, const Type& type) {
  ir::Graph& graph = model;
  const std::uint64_t path = graph.add_random_path("random_uniform", label);
  return detail::labelled(detail::uniform_node(graph, path, type), label);
}

namespace detail {

/// The largest T below a number, which is rounded to T first.
template <class T>
constexpr double largest_below(double high) {
  using Bits = std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;
  const T rounded = convert_element<T>(high);
  if (rounded == 0) return -static_cast<double>(std::numeric_limits<T>::denorm_min());
  const Bits bits = std::bit_cast<Bits>(rounded);
  return static_cast<double>(
      std::bit_cast<T>(static_cast<Bits>(rounded > 0 ? bits - 1u : bits + 1u)));
}

template <class T>
inline constexpr bool draws_integers = std::integral<T> && !std::same_as<T, bool>;

}  // namespace detail

/// Uniform numbers in [low, high), drawn anew in each run: random_uniform<float, tf::batch, 64>(g,
/// "z"). The label is the tensor's name. The numbers depend on no other operation. They have as
/// many random bits as their type has digits: 24 for float, 53 for double.
template <Element T, Extent... D>
  requires(!detail::draws_integers<T>)
constexpr Expr<T, Shape<D...>> random_uniform(
    Graph& g, Label label, double low = 0, double high = 1,
    std::source_location at = std::source_location::current()) {
  static_assert(detail::is_real_floating<T>,
                "random_uniform<T, D...>: T must be floating-point or integer");
  ir::Graph& graph = g;
  graph.source = source_line(at);
  const std::uint64_t path = graph.add_random_path("random_uniform", label);
  AnyExpr u = detail::uniform_node(graph, path, Expr<T, Shape<D...>>::type);
  if constexpr (detail::is_real_floating<T>) {
    if (low != 0 || high != 1) u = u * (high - low) + low;
    // A rounded sum may be `high`.
    if (low != 0 && low < high) u = minimum(u, detail::largest_below<T>(high));
  }
  return {g, detail::labelled(u, label).id};
}
/// The same without a name; unnamed ones draw by their order in the scope.
template <Element T, Extent... D>
  requires(!detail::draws_integers<T>)
constexpr Expr<T, Shape<D...>> random_uniform(
    Graph& g, double low = 0, double high = 1,
    std::source_location at = std::source_location::current()) {
  return random_uniform<T, D...>(g, "", low, high, at);
}

/// Uniform integers in [low, high): random_uniform<std::int32_t, 100>(g, "dice", 1, 7). Their
/// probabilities are equal up to one part in 2^64.
template <Element T, Extent... D>
  requires detail::draws_integers<T>
constexpr Expr<T, Shape<D...>> random_uniform(
    Graph& g, Label label, std::type_identity_t<T> low, std::type_identity_t<T> high,
    std::source_location at = std::source_location::current()) {
  ir::Graph& graph = g;
  graph.source = source_line(at);
  if (!(low < high)) {
    Message message{};
    message << "random_uniform<T, D...>(g, label, low, high), ";
    detail::print_place(message, graph.source);
    graph.fail(message << ": low must be less than high");
  }
  const std::uint64_t path = graph.add_random_path("random_uniform", label);
  const auto first = static_cast<std::uint64_t>(low);
  const AnyExpr x = detail::integer_node(graph, path, Expr<T, Shape<D...>>::type,
                                         static_cast<std::int64_t>(first),
                                         static_cast<std::uint64_t>(high) - first);
  return {g, detail::labelled(x, label).id};
}
/// The same without a name.
template <Element T, Extent... D>
  requires detail::draws_integers<T>
constexpr Expr<T, Shape<D...>> random_uniform(
    Graph& g, std::type_identity_t<T> low, std::type_identity_t<T> high,
    std::source_location at = std::source_location::current()) {
  return random_uniform<T, D...>(g, "", low, high, at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
