// SPDX-License-Identifier: Apache-2.0
#pragma once

// ctc_loss: connectionist temporal classification, the cross entropy of label sequences whose
// places in time are unknown.

#include <array>
#include <cstdint>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/ops/custom.hpp"
#include "typeflow/ops/elementwise/cast.hpp"
#include "typeflow/ops/shape/shape_ops.hpp"
#include "typeflow/sequences/ctc_paths.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The options of TensorFlow's ctc_loss.
struct CtcOptions {
  int blank = -1;  ///< the class for "no label"; negative numbers count from the end
  /// Equal neighbours among the labels count as one, before anything else.
  bool preprocess_collapse_repeated = false;
  /// Equal neighbours of a path read as one label, so two equal labels need a blank between them.
  /// Without it each step that is not a blank is a label, unlike in the paper.
  bool ctc_merge_repeated = true;
  /// Sequences whose labels don't fit into their time have loss 0; otherwise they are an error.
  bool ignore_longer_outputs_than_inputs = false;
};

namespace ops {

/// Common parts of the loss and its gradient. Inputs: logits (T,B,C) of float or double, labels
/// (B,L), their lengths (B) and the logits' lengths (B), all int64.
struct ctc_base : custom {
  static constexpr Domain domain = Domain::floating;

  static constexpr bool fit(const Type& logits, const Type& labels, const Type& label_lengths,
                            const Type& logit_lengths) {
    if (logits.dims.rank != 3 || labels.dims.rank != 2) return false;
    const Extent batch_size = logits.dims.extent[1];
    const Type lengths(DType::int64, Dims{1, {batch_size}});
    return (logits.dtype == DType::float32 || logits.dtype == DType::float64) &&
           labels.dtype == DType::int64 && labels.dims.extent[0] == batch_size &&
           label_lengths == lengths && logit_lengths == lengths;
  }
  TYPEFLOW_COLD static Error explain_ctc(const Failure& wrong) {
    const auto text = [&](int i) { return std::to_string(wrong.number[i]); };
    switch (wrong.what) {
      case ctc::no_class:
        return Error("ctc_loss", "label " + text(0) + " at [" + text(1) + ", " + text(2) +
                                     "] must be a class, in [0, " + text(3) +
                                     "), and not the blank");
      case ctc::label_length:
        return Error("ctc_loss", "label length " + text(0) + " at [" + text(1) +
                                     "] is not in [0, " + text(2) + "]");
      case ctc::logit_length:
        return Error("ctc_loss", "logit length " + text(0) + " at [" + text(1) +
                                     "] is not in [0, " + text(2) + "]");
      default:
        return Error("ctc_loss", "the labels at [" + text(1) + "] need " + text(0) +
                                     " steps, and there are " + text(2));
    }
  }
  /// For interpreting: calls f(batch, b, logits of b) for each sequence.
  template <class F>
  static void each_sequence(const InterpretCall& call, const ctc::Rules& rules, const F& f) {
    const auto integers = [](const HostTensor& x) {
      std::vector<std::int64_t> out;
      for (std::int64_t i = 0; i < x.size(); ++i) out.push_back(x[i].integer);
      return out;
    };
    const HostTensor& x = *call.inputs[0];
    const std::vector<std::int64_t> labels = integers(*call.inputs[1]);
    const std::vector<std::int64_t> label_lengths = integers(*call.inputs[2]);
    const std::vector<std::int64_t> logit_lengths = integers(*call.inputs[3]);
    const ctc::Batch batch{
        x.dims.extent[0], x.dims.extent[1],     x.dims.extent[2],    call.inputs[1]->dims.extent[1],
        labels.data(),    label_lengths.data(), logit_lengths.data()};
    const Failure wrong = batch.check(rules);
    if (wrong.what != 0) throw explain_ctc(wrong);
    for (std::int64_t b = 0; b < batch.size; ++b) {
      f(batch, b, [&, b](std::size_t t, std::int64_t k) {
        return x.value((static_cast<std::int64_t>(t) * batch.size + b) * batch.classes + k);
      });
    }
  }
};

/// -log of the probability of a sequence's labels, for each sequence.
struct CtcLoss : ctc_base {
  static constexpr std::string_view name = "CtcLoss";
  std::int32_t blank;
  std::uint32_t collapse_repeated;
  std::uint32_t merge_repeated;
  std::uint32_t ignore_too_long;

  constexpr ctc::Rules rules() const {
    return {blank, collapse_repeated != 0, merge_repeated != 0, ignore_too_long != 0};
  }
  static constexpr Type infer(const CtcLoss&, const Type& logits, const Type& labels,
                              const Type& label_lengths, const Type& logit_lengths) {
    const bool fits = fit(logits, labels, label_lengths, logit_lengths);
    return {logits.dtype, fits ? label_lengths.dims : no_dims};
  }
  static constexpr std::array<AnyExpr, 4> gradient(const CtcLoss& op, AnyExpr logits,
                                                   AnyExpr labels, AnyExpr label_lengths,
                                                   AnyExpr logit_lengths, AnyExpr, AnyExpr dy);
  static Error explain(const CtcLoss&, const Failure& wrong, std::span<const Dims>) {
    return explain_ctc(wrong);
  }
  static void interpret(InterpretCall& call) {
    const ctc::Rules rules = decode<CtcLoss>(call.graph, call.node).rules();
    each_sequence(call, rules, [&](const ctc::Batch& batch, std::int64_t b, const auto& x) {
      std::vector<double> memory(static_cast<std::size_t>(batch.memory(false)));
      call.outputs[0].set(b, batch.loss<false>(rules, b, x, memory.data(), [](auto...) {}));
    });
  }
};

/// The gradient of each sequence's loss for its logits, (T,B,C): softmax(logits) minus the share of
/// the paths that have this class at this step. 0 past a sequence's end, and if no path is
/// possible.
struct CtcLossGradient : ctc_base {
  static constexpr std::string_view name = "CtcLossGradient";
  std::int32_t blank;
  std::uint32_t collapse_repeated;
  std::uint32_t merge_repeated;
  std::uint32_t ignore_too_long;

  constexpr ctc::Rules rules() const {
    return {blank, collapse_repeated != 0, merge_repeated != 0, ignore_too_long != 0};
  }
  static constexpr Type infer(const CtcLossGradient&, const Type& logits, const Type& labels,
                              const Type& label_lengths, const Type& logit_lengths) {
    const bool fits = fit(logits, labels, label_lengths, logit_lengths);
    return {logits.dtype, fits ? logits.dims : no_dims};
  }
  static Error explain(const CtcLossGradient&, const Failure& wrong, std::span<const Dims>) {
    return explain_ctc(wrong);
  }
  static void interpret(InterpretCall& call) {
    const ctc::Rules rules = decode<CtcLossGradient>(call.graph, call.node).rules();
    HostTensor& dx = call.outputs[0];
    each_sequence(call, rules, [&](const ctc::Batch& batch, std::int64_t b, const auto& x) {
      std::vector<double> memory(static_cast<std::size_t>(batch.memory(true)));
      batch.loss<true>(rules, b, x, memory.data(), [&](std::size_t t, std::int64_t k, double d) {
        dx.set((static_cast<std::int64_t>(t) * batch.size + b) * batch.classes + k, d);
      });
    });
  }
};

constexpr std::array<AnyExpr, 4> CtcLoss::gradient(const CtcLoss& op, AnyExpr logits,
                                                   AnyExpr labels, AnyExpr label_lengths,
                                                   AnyExpr logit_lengths, AnyExpr, AnyExpr dy) {
  const CtcLossGradient of_logits{
      {}, op.blank, op.collapse_repeated, op.merge_repeated, op.ignore_too_long};
  const AnyExpr dx = apply(of_logits, logits, labels, label_lengths, logit_lengths);
  const AnyExpr column = reshape_to(dy, Dims{2, {logits.dims().extent[1], 1}});
  return {dx * column, AnyExpr{}, AnyExpr{}, AnyExpr{}};
}

}  // namespace ops

namespace detail {
/// The class of the blank, counted from 0; none if there is no such class.
constexpr int blank_class(int blank, Extent classes) {
  const Extent at = blank < 0 ? classes + blank : blank;
  return at < 0 || at >= classes ? none : static_cast<int>(at);
}
template <class L>
struct SequencesRule {
  static constexpr Dims value = Dims{1, {L::rank > 0 ? L::dims.extent[0] : 0}};
};
}  // namespace detail

/// -log of the probability that a sequence reads as its labels, for each of B sequences. The
/// probability is the sum over all paths, one class a step, that become the labels when equal
/// neighbours are merged and then blanks are dropped. (T,B,C) x (B,L) x (B) x (B) -> (B)
///
/// Logits have time steps first and are not normalised. Sequence b has logit_lengths[b] steps; the
/// first label_lengths[b] elements of its row are its labels. The loss is infinite if no path is
/// possible.
///
/// These are Errors of the run: a label that is not a class, or is the blank; a length out of
/// range; labels that need more steps than there are.
template <TypedExpr X, TypedExpr L, TypedExpr M, TypedExpr N>
constexpr auto ctc_loss(const X& logits, const L& labels, const M& label_lengths,
                        const N& logit_lengths, CtcOptions options = {},
                        std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X> && X::rank == 3,
                "ctc_loss(logits, labels, label_lengths, logit_lengths): the logits must be "
                "floating-point, (T,B,C)");
  static_assert(detail::in_domain<Domain::integers, L> && detail::in_domain<Domain::integers, M> &&
                    detail::in_domain<Domain::integers, N>,
                "ctc_loss(logits, labels, label_lengths, logit_lengths): labels and lengths must "
                "be integers");
  constexpr Extent classes = X::rank == 3 ? X::shape::dims.extent[X::rank == 3 ? 2 : 0] : 1;
  static_assert(classes > 0,
                "ctc_loss(logits, labels, label_lengths, logit_lengths): the classes must be a "
                "number, 1 or more");
  using Rule = detail::SequencesRule<typename L::shape>;
  static_assert(X::rank != 3 || (L::rank == 2 && M::shape::dims == Rule::value &&
                                 N::shape::dims == Rule::value &&
                                 X::shape::dims.extent[X::rank > 1] == Rule::value.extent[0]),
                "ctc_loss(logits, labels, label_lengths, logit_lengths): the labels must be (B,L), "
                "and both lengths (B)");
  detail::mark(at, logits);
  ir::Graph& graph = logits.graph();
  const int blank = detail::blank_class(options.blank, classes);
  if (blank == none) {
    Message message{};
    graph.fail(message << "ctc_loss: the blank must be one of the " << classes << " classes");
  }
  const ops::CtcLoss op{{},
                        blank,
                        options.preprocess_collapse_repeated ? 1u : 0u,
                        options.ctc_merge_repeated ? 1u : 0u,
                        options.ignore_longer_outputs_than_inputs ? 1u : 0u};
  const AnyExpr loss = detail::in_float(logits.any(), [&](const AnyExpr& x) {
    return apply(op, x, cast_to(labels.any(), DType::int64),
                 cast_to(label_lengths.any(), DType::int64),
                 cast_to(logit_lengths.any(), DType::int64));
  });
  return Expr<typename X::element, shape_of_t<Rule>>(logits.graph(), loss.id);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
