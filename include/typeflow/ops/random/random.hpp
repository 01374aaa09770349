// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random tensors. Element i of a run's draw is a function of (session's seed, path of the
// operation, number of the draw, i). With a label the path is that of the scope and the label;
// without one, operations of a kind count in their scope (ir::Graph::add_random_path).

#include <source_location>

#include "typeflow/core/philox.hpp"
#include "typeflow/ops/elementwise/arithmetic.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

namespace ops {

/// Uniform in [0, 1).
struct RandomUniform : elementwise {
  static constexpr std::string_view name = "RandomUniform";
  static constexpr SideEffect effect = SideEffect::random;
  static constexpr Derivative derivative = Derivative::zero;
  static constexpr Domain domain = Domain::floating;
  static constexpr int flops = 20;
  static constexpr bool own_type = true;
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
    return call.graph.dtype_of(call.node.outputs.first) == DType::float32
               ? number_from(op.element<float>(call.random, call.index))
               : number_from(op.element<double>(call.random, call.index));
  }
};

}  // namespace ops

namespace detail {
/// The result of a random operation named by its label, if it has one.
constexpr AnyExpr labelled(const AnyExpr& x, const Label& label) {
  if (!label.empty()) x.graph->add_name(label, ir::NameKind::value, x.id);
  return x;
}

/// Uniform in [0, 1), of the given type, drawn from this path.
constexpr AnyExpr uniform_node(ir::Graph& graph, std::uint64_t path, const Type& type) {
  return add_node(graph,
                  ops::RandomUniform{
                      {}, static_cast<std::uint32_t>(path), static_cast<std::uint32_t>(path >> 32)},
                  nullptr, 0, type);
}
}  // namespace detail

/// Untyped: uniform in [0, 1), of the given type; without a name if the label is "".
constexpr AnyExpr random_uniform(ir::Graph& graph, const Label& label, const Type& type) {
  const std::uint64_t path = graph.add_random_path("random_uniform", label);
  return detail::labelled(detail::uniform_node(graph, path, type), label);
}

/// Uniform in [low, high), drawn anew in each run: random_uniform<float, tf::batch, 64>(g, "z").
/// The label is the tensor's name, and what it draws depends on no other operation.
template <Element T, Extent... D>
constexpr Expr<T, Shape<D...>> random_uniform(
    Graph& g, Label label, double low = 0, double high = 1,
    std::source_location at = std::source_location::current()) {
  static_assert(std::is_floating_point_v<T>, "random_uniform<T, D...>: T must be float or double");
  ir::Graph& graph = g;
  graph.source = source_line(at);
  const std::uint64_t path = graph.add_random_path("random_uniform", label);
  AnyExpr u = detail::uniform_node(graph, path, Expr<T, Shape<D...>>::type);
  if (low != 0 || high != 1) u = u * (high - low) + low;
  return {g, detail::labelled(u, label).id};
}
/// The same without a name: the first, second... of its scope draws as such.
template <Element T, Extent... D>
constexpr Expr<T, Shape<D...>> random_uniform(
    Graph& g, double low = 0, double high = 1,
    std::source_location at = std::source_location::current()) {
  return random_uniform<T, D...>(g, "", low, high, at);
}

}  // namespace typeflow::inline TYPEFLOW_TARGET
