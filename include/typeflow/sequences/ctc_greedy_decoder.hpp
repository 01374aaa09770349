// SPDX-License-Identifier: Apache-2.0
#pragma once

// ctc_greedy_decoder: the labels that the most probable class of each step gives.

#include <array>
#include <cstdint>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>

#include "typeflow/ops/elementwise/arithmetic.hpp"
#include "typeflow/ops/reduce/reductions.hpp"
#include "typeflow/sequences/ctc.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// The labels read from paths (T,B) of classes, (B,T), padded with -1; and their numbers (B).
struct CtcCollapse : custom {
  static constexpr std::string_view name = "CtcCollapse";
  static constexpr int outputs = 2;
  static constexpr int flops = 0;
  static constexpr Derivative derivative = Derivative::zero;
  std::int32_t blank;
  std::uint32_t merge_repeated;

  static constexpr std::array<Type, 2> infer(const CtcCollapse&, const Type& classes,
                                             const Type& lengths) {
    const bool fits = classes.dtype == DType::int32 && classes.dims.rank == 2 &&
                      lengths == Type(DType::int64, Dims{1, {classes.dims.extent[1]}});
    if (!fits) return {Type(DType::int32, no_dims), Type(DType::int32, no_dims)};
    return {Type(DType::int32, Dims{2, {classes.dims.extent[1], classes.dims.extent[0]}}),
            Type(DType::int32, lengths.dims)};
  }
  /// For one path with classes at(t): calls put(i, label) for each label; returns their number.
  template <class At, class Put>
  std::int64_t collapse(std::int64_t steps, const At& at, const Put& put) const {
    std::int64_t count = 0;
    std::int64_t last = -1;
    for (std::int64_t t = 0; t < steps; ++t) {
      const std::int64_t k = at(t);
      if (k != blank && !(merge_repeated != 0 && k == last)) put(count++, k);
      last = k;
    }
    return count;
  }
  TYPEFLOW_COLD static Error explain(const CtcCollapse&, const Failure& wrong,
                                     std::span<const Dims>) {
    return Error("ctc_greedy_decoder", "length " + std::to_string(wrong.number[0]) + " at [" +
                                           std::to_string(wrong.number[1]) + "] is not in [0, " +
                                           std::to_string(wrong.number[2]) + "]");
  }
  static void interpret(InterpretCall& call) {
    const CtcCollapse op = decode<CtcCollapse>(call.graph, call.node);
    const HostTensor& classes = *call.inputs[0];
    const HostTensor& lengths = *call.inputs[1];
    const std::int64_t time = classes.dims.extent[0];
    for (std::int64_t b = 0; b < lengths.size(); ++b) {
      const std::int64_t steps = lengths[b].integer;
      if (steps < 0 || steps > time) throw explain(op, {1, {steps, b, time}}, {});
      for (std::int64_t t = 0; t < time; ++t) call.outputs[0][b * time + t].integer = -1;
      call.outputs[1][b].integer = op.collapse(
          steps, [&](std::int64_t t) { return classes[t * lengths.size() + b].integer; },
          [&](std::int64_t i, std::int64_t k) { call.outputs[0][b * time + i].integer = k; });
    }
  }
};

}  // namespace ops

/// The result of ctc_greedy_decoder.
template <TypedExpr D, TypedExpr N, TypedExpr S>
struct CtcDecoded {
  D decoded;         ///< labels, padded with -1
  N lengths;         ///< number of labels
  S neg_sum_logits;  ///< minus the sum of the largest logit of each step
};

namespace detail {
template <Extent B, Extent T>
struct DecodedRule {
  static constexpr Dims value = Dims{2, {B, T}};
};
}  // namespace detail

struct CtcDecoderOptions {
  int blank = -1;              ///< the class for "no label"; negative: from the end
  bool merge_repeated = true;  ///< whether equal neighbours are one label
};

/// Takes the most probable class of each step, merges equal neighbours (unless merge_repeated is
/// false), and drops blanks: auto [decoded, lengths, neg_sum_logits] = ctc_greedy_decoder(logits,
/// logit_lengths). Logits have time steps first; sequence b has logit_lengths[b] steps. Labels and
/// lengths are int32. (T,B,C) x (B) -> (B,T), (B), (B)
///
/// A length outside of [0, T] is an Error of the run.
template <TypedExpr X, TypedExpr N>
constexpr auto ctc_greedy_decoder(const X& logits, const N& logit_lengths,
                                  CtcDecoderOptions options = {},
                                  std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X> && X::rank == 3,
                "ctc_greedy_decoder(logits, logit_lengths): the logits must be floating-point, "
                "(T,B,C)");
  constexpr Dims x = X::rank == 3 ? X::shape::dims : Dims{3, {1, 1, 1}};
  static_assert(x.extent[2] > 0,
                "ctc_greedy_decoder(logits, logit_lengths): the classes must be a number, 1 or "
                "more");
  static_assert(detail::in_domain<Domain::integers, N> &&
                    (X::rank != 3 || N::shape::dims == Dims{1, {x.extent[1]}}),
                "ctc_greedy_decoder(logits, logit_lengths): the lengths must be integers, (B)");
  detail::mark(at, logits);
  ir::Graph& graph = logits.graph();
  const int blank = detail::blank_class(options.blank, x.extent[2]);
  if (blank == none) {
    Message message{};
    graph.fail(message << "ctc_greedy_decoder: the blank must be one of the " << x.extent[2]
                       << " classes");
  }
  const AnyExpr lengths = cast_to(logit_lengths.any(), DType::int64);
  const AnyExpr classes = reduce<ops::ArgMax>(logits.any(), 4u, false);
  const ops::CtcCollapse op{{}, blank, options.merge_repeated ? 1u : 0u};
  const std::array<AnyExpr, 2> labels = apply(op, classes, lengths);
  const AnyExpr best = reduce<ops::Max>(logits.any(), 4u, false);
  const AnyExpr step = cast_to(index_along(graph, best.dims(), 0), DType::int64);
  const AnyExpr sum = reduce<ops::Sum>(where(less(step, lengths), best, 0), 1u, false);
  using D = Expr<std::int32_t, shape_of_t<detail::DecodedRule<x.extent[1], x.extent[0]>>>;
  using L = Expr<std::int32_t, typename N::shape>;
  using S = Expr<typename X::element, typename N::shape>;
  Graph& g = logits.graph();
  return CtcDecoded<D, L, S>{D(g, labels[0].id), L(g, labels[1].id), S(g, (-sum).id)};
}

}  // namespace typeflow::inline TYPEFLOW_ISA
