// SPDX-License-Identifier: Apache-2.0
#pragma once

// ctc_beam_search_decoder: the most probable label sequences.

#include <array>
#include <cstdint>
#include <limits>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "typeflow/sequences/ctc.hpp"
#include "typeflow/sequences/ctc_beams.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// Inputs: logits (T,B,C) of double, lengths (B) of int64, and an empty tensor (W,0) for a beam of
/// width W. Results: labels (B,paths,T) padded with -1, their numbers, and their log-probabilities.
struct CtcBeamSearch : custom {
  static constexpr std::string_view name = "CtcBeamSearch";
  static constexpr int outputs = 3;
  static constexpr int flops = 100;
  static constexpr Derivative derivative = Derivative::zero;
  Extent paths;
  std::int64_t blank;
  std::int64_t merge;  ///< equal neighbours among the labels are written once

  static constexpr std::array<Type, 3> infer(const CtcBeamSearch& op, const Type& logits,
                                             const Type& lengths, const Type& beam) {
    const bool fits = logits.dtype == DType::float64 && logits.dims.rank == 3 &&
                      lengths == Type(DType::int64, Dims{1, {logits.dims.extent[1]}}) &&
                      beam.dims.rank == 2;
    if (!fits) {
      return {Type(DType::int32, no_dims), Type(DType::int32, no_dims),
              Type(DType::float64, no_dims)};
    }
    const Dims paths{2, {logits.dims.extent[1], op.paths}};
    return {Type(DType::int32, Dims{3, {paths.extent[0], op.paths, logits.dims.extent[0]}}),
            Type(DType::int32, paths), Type(DType::float64, paths)};
  }
  /// The mistake in the lengths at(b) of `size` sequences.
  template <class At>
  static Failure find_wrong(const At& at, std::int64_t size, std::int64_t time) {
    for (std::int64_t b = 0; b < size; ++b) {
      if (at(b) < 0 || at(b) > time) return {1, {at(b), b, time}};
    }
    return {};
  }
  TYPEFLOW_COLD static Error explain(const CtcBeamSearch&, const Failure& wrong,
                                     std::span<const Dims>) {
    return Error("ctc_beam_search_decoder", "length " + std::to_string(wrong.number[0]) + " at [" +
                                                std::to_string(wrong.number[1]) +
                                                "] is not in [0, " +
                                                std::to_string(wrong.number[2]) + "]");
  }
  static void interpret(InterpretCall& call) {
    const CtcBeamSearch op = decode<CtcBeamSearch>(call.graph, call.node);
    const HostTensor& logits = *call.inputs[0];
    const HostTensor& lengths = *call.inputs[1];
    const std::int64_t time = logits.dims.extent[0];
    const std::int64_t size = logits.dims.extent[1];
    const std::int64_t classes = logits.dims.extent[2];
    const std::int64_t width = call.inputs[2]->dims.extent[0];
    const Failure wrong =
        find_wrong([&](std::int64_t b) { return lengths[b].integer; }, size, time);
    if (wrong.what != 0) throw explain(op, wrong, {});
    std::vector<double> memory(
        static_cast<std::size_t>(ctc::BeamSearch::memory(time, width, classes)));
    for (std::int64_t b = 0; b < size; ++b) {
      ctc::BeamSearch search(memory.data(), time, width, classes, op.blank);
      search.run(lengths[b].integer, [&](std::int64_t t, std::int64_t k) {
        return logits[(t * size + b) * classes + k].real;
      });
      for (std::int64_t p = 0; p < op.paths; ++p) {
        const std::int64_t row = b * op.paths + p;
        const bool found = p < search.count();
        for (std::int64_t t = 0; t < time; ++t) call.outputs[0][row * time + t].integer = -1;
        call.outputs[1][row].integer = found ? search.length(p, op.merge != 0) : 0;
        call.outputs[2][row].real =
            found ? search.log_probability(p) : -std::numeric_limits<double>::infinity();
        if (!found) continue;
        search.each_label(p, op.merge != 0, [&](std::int64_t t, std::int64_t label) {
          call.outputs[0][row * time + t].integer = label;
        });
      }
    }
  }
};

}  // namespace ops

/// The result of ctc_beam_search_decoder.
template <TypedExpr D, TypedExpr N, TypedExpr P>
struct CtcBeams {
  D decoded;            ///< labels, padded with -1
  N lengths;            ///< number of labels
  P log_probabilities;  ///< of all paths that read as the labels
};

struct CtcBeamOptions {
  int beam_width = 100;  ///< label sequences that are followed at a time
  int blank = -1;        ///< the class for "no label"; negative: from the end
  /// Equal neighbours among the labels of a result are written once: A A B becomes A B. Results may
  /// then be equal. The default of TensorFlow 1.x is true; TensorFlow 2 has no such setting.
  bool merge_repeated = false;
};

namespace detail {
template <Extent B, Extent P, Extent T>
struct BeamsRule {
  static constexpr Dims value = Dims{3, {B, P, T}};
};
}  // namespace detail

/// The Paths most probable label sequences, the best first: auto [decoded, lengths,
/// log_probabilities] = ctc_beam_search_decoder<3>(logits, logit_lengths, {.beam_width = 50}).
/// Logits have time steps first; sequence b has logit_lengths[b] steps. A sequence's probability is
/// that of all paths that read as it, as far as the beam followed them. Labels and lengths are
/// int32. (T,B,C) x (B) -> (B,Paths,T), (B,Paths), (B,Paths)
///
/// Where there are fewer sequences the rest has no labels and the log-probability -inf. A length
/// outside of [0, T] is an Error of the run.
template <Extent Paths = 1, TypedExpr X, TypedExpr N>
constexpr auto ctc_beam_search_decoder(const X& logits, const N& logit_lengths,
                                       CtcBeamOptions options = {},
                                       std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X> && X::rank == 3,
                "ctc_beam_search_decoder<Paths>(logits, logit_lengths): the logits must be "
                "floating-point, (T,B,C)");
  static_assert(Paths > 0 && !is_symbolic(Paths),
                "ctc_beam_search_decoder<Paths>(logits, logit_lengths): Paths must be a number "
                "from 1 on");
  constexpr Dims x = X::rank == 3 ? X::shape::dims : Dims{3, {1, 1, 1}};
  static_assert(x.extent[2] > 0,
                "ctc_beam_search_decoder<Paths>(logits, logit_lengths): the classes must be a "
                "number, 1 or more");
  static_assert(detail::in_domain<Domain::integers, N> &&
                    (X::rank != 3 || N::shape::dims == Dims{1, {x.extent[1]}}),
                "ctc_beam_search_decoder<Paths>(logits, logit_lengths): the lengths must be "
                "integers, (B)");
  detail::mark(at, logits);
  ir::Graph& graph = logits.graph();
  const int blank = detail::blank_class(options.blank, x.extent[2]);
  if (blank == none || options.beam_width < Paths) {
    Message message{};
    message << "ctc_beam_search_decoder: ";
    if (blank == none) {
      graph.fail(message << "the blank must be one of the " << x.extent[2] << " classes");
    } else {
      graph.fail(message << "a beam of " << options.beam_width << " is too narrow for " << Paths
                         << " paths");
    }
  }
  const AnyExpr beam = broadcast_to(detail::constant_node(graph, DType::boolean, Number{}),
                                    Dims{2, {options.beam_width > 0 ? options.beam_width : 1, 0}});
  const std::array<AnyExpr, 3> y = apply(
      ops::CtcBeamSearch{{}, Paths, blank, options.merge_repeated ? 1 : 0},
      cast_to(logits.any(), DType::float64), cast_to(logit_lengths.any(), DType::int64), beam);
  using D = Expr<std::int32_t, shape_of_t<detail::BeamsRule<x.extent[1], Paths, x.extent[0]>>>;
  using L = Expr<std::int32_t, Shape<x.extent[1], Paths>>;
  using P = Expr<typename X::element, Shape<x.extent[1], Paths>>;
  Graph& g = logits.graph();
  return CtcBeams<D, L, P>{D(g, y[0].id), L(g, y[1].id),
                           P(g, cast_to(y[2], dtype_of<typename X::element>).id)};
}

}  // namespace typeflow::inline TYPEFLOW_ISA
