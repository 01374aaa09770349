// SPDX-License-Identifier: Apache-2.0
#pragma once

// shuffle: the rows of a tensor in random order.

#include <cstdint>
#include <source_location>

#include "typeflow/ops/index/selection.hpp"
#include "typeflow/ops/random/random.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// The numbers 0 .. n-1 in random order: the sorted order of n random 64-bit numbers. All orders
/// are equally likely, and the order is a function of (seed, path, draw, n) on any device. (n)
struct RandomPermutation : custom {
  static constexpr std::string_view name = "RandomPermutation";
  static constexpr SideEffect effect = SideEffect::random;
  static constexpr Derivative derivative = Derivative::zero;
  static constexpr int flops = 20;
  std::uint32_t path_low;  ///< hash of the operation's path
  std::uint32_t path_high;

  /// A number to sort; equal ones stay in order.
  struct Ticket {
    std::uint64_t number;
    std::int32_t index;
    friend bool operator<(const Ticket& a, const Ticket& b) {
      return a.number != b.number ? a.number < b.number : a.index < b.index;
    }
  };
  constexpr Ticket ticket(const RandomState& random, std::int32_t index) const {
    const std::uint64_t key = random_key(random.seed, std::uint64_t{path_high} << 32 | path_low);
    const auto i = static_cast<std::uint64_t>(index);
    const Philox words = Philox::generate(key, i / 2, random.draw);
    return {std::uint64_t{words.word[i % 2 * 2]} << 32 | words.word[i % 2 * 2 + 1], index};
  }

  static void interpret(InterpretCall& call) {
    const RandomPermutation op = decode<RandomPermutation>(call.graph, call.node);
    HostTensor& y = call.outputs[0];
    for (std::int64_t i = 0; i < y.size(); ++i) {  // the number of smaller ones is its place
      const Ticket own = op.ticket(call.random, static_cast<std::int32_t>(i));
      std::int64_t before = 0;
      for (std::int64_t k = 0; k < y.size(); ++k) {
        before += op.ticket(call.random, static_cast<std::int32_t>(k)) < own;
      }
      y[before].integer = i;
    }
  }
};

}  // namespace ops

/// Untyped shuffle.
template <UntypedExpr X>
constexpr AnyExpr shuffle(const X& x, const Label& label = "") {
  ir::Graph& graph = *x.graph;
  const std::uint64_t path = graph.add_random_path("shuffle", label);
  const AnyExpr order =
      add_node(graph,
               ops::RandomPermutation{
                   {}, static_cast<std::uint32_t>(path), static_cast<std::uint32_t>(path >> 32)},
               nullptr, 0, Type(DType::int32, Dims{1, {x.dims()[0]}}));
  return detail::labelled(detail::slices_at(x, order, 0), label);
}

/// x with its rows (the slices along axis 0) in random order, drawn anew in each run; all orders
/// are equally likely. A label is the result's name, and makes the order independent of other
/// operations. Unnamed shuffles draw by their order in the scope. (N,D) -> (N,D)
///
/// TensorFlow's random_shuffle, but gradients flow back to the rows.
template <TypedExpr X>
constexpr auto shuffle(const X& x, Label label = "",
                       std::source_location at = std::source_location::current()) {
  static_assert(X::rank > 0, "shuffle(x): x must have an axis");
  detail::mark(at, x);
  return detail::same_type(x, shuffle(x.any(), label).id);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
