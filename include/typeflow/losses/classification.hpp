// SPDX-License-Identifier: Apache-2.0
#pragma once

// Losses on classes and probabilities: hinge_loss, log_loss, softmax_cross_entropy_loss,
// sigmoid_cross_entropy_loss, weighted_cross_entropy_loss, kl_divergence. The cross entropies of
// each row or element, without weights or reduction, are in ops/nn/cross_entropy.hpp.
//
// Weights, reductions and the order of the arguments are those of losses/regression.hpp.
//
// Source: TensorFlow 1.x, python/ops/losses/losses_impl.py and nn_impl.py.

#include <source_location>

#include "typeflow/losses/regression.hpp"
#include "typeflow/ops/nn/cross_entropy.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// max(0, 1 - s logit); s is 1 for label 1, -1 for label 0. (B,...) x (B,...) -> ()
template <Reduction R = Reduction::sum_by_nonzero_weights, TypedExpr P, Operand L, Operand W = int>
constexpr auto hinge_loss(const P& logits, const L& labels, const W& weights = 1,
                          std::source_location at = std::source_location::current()) {
  static_assert(detail::labels_fit<P, L>,
                "hinge_loss(logits, labels): the logits must be floating-point, and the labels of "
                "their element type and shape, or a number");
  return detail::loss_per_element<R>(logits, labels, weights, at,
                                     [](auto x, auto y) { return relu(1 - (2 * y - 1) * x); });
}

struct LogLossOptions {
  double epsilon = 1e-7;  ///< added to probabilities before taking logarithms
};

/// -label log(p + epsilon) - (1 - label) log(1 - p + epsilon) for probabilities p.
/// (B,...) x (B,...) -> (). For logits use sigmoid_cross_entropy_loss.
template <Reduction R = Reduction::sum_by_nonzero_weights, TypedExpr P, Operand L, Operand W = int>
constexpr auto log_loss(const P& predictions, const L& labels, const W& weights = 1,
                        LogLossOptions options = {},
                        std::source_location at = std::source_location::current()) {
  static_assert(detail::labels_fit<P, L>,
                "log_loss(predictions, labels): the predictions must be floating-point, and the "
                "labels of their element type and shape, or a number");
  return detail::loss_per_element<R>(predictions, labels, weights, at, [&](auto p, auto y) {
    return -y * log(p + options.epsilon) - (1 - y) * log(1 - p + options.epsilon);
  });
}

namespace detail {

/// The weighted and reduced loss for typed operands; the positive class is multiplied by q.
template <Reduction R, TypedExpr P, Operand L, Operand Q, Operand W>
constexpr auto logistic_loss_of(const P& logits, const L& labels, const Q& q, const W& weights,
                                double smoothing, const std::source_location& at) {
  return loss_per_element<R>(logits, labels, weights, at, [&](auto x, auto y) {
    const AnyExpr smooth = smoothing == 0 ? y : y * (1 - smoothing) + 0.5 * smoothing;
    if constexpr (TypedExpr<Q>) {
      return logistic_loss(x, smooth, cast_to(q.any(), x.dtype()));
    } else {
      return logistic_loss(x, smooth, q);
    }
  });
}

}  // namespace detail

struct CrossEntropyOptions {
  double label_smoothing = 0;  ///< moves labels towards even chances, from 0 (not) to 1
};

namespace detail {
constexpr void check_smoothing(ir::Graph& graph, const char* call, double smoothing) {
  if (smoothing >= 0 && smoothing <= 1) return;
  Message message{};
  graph.fail(message << call << "(logits, labels): label_smoothing must be from 0 to 1");
}
}  // namespace detail

/// sigmoid_cross_entropy, weighted and reduced. label_smoothing s changes labels to label (1 - s) +
/// s / 2. (B,...) x (B,...) -> ()
template <Reduction R = Reduction::sum_by_nonzero_weights, TypedExpr P, Operand L, Operand W = int>
constexpr auto sigmoid_cross_entropy_loss(
    const P& logits, const L& labels, const W& weights = 1, CrossEntropyOptions options = {},
    std::source_location at = std::source_location::current()) {
  static_assert(detail::labels_fit<P, L>,
                "sigmoid_cross_entropy_loss(logits, labels): the logits must be floating-point, "
                "and the labels of their element type and shape, or a number");
  const double s = options.label_smoothing;
  detail::check_smoothing(logits.graph(), "sigmoid_cross_entropy_loss", s);
  return detail::logistic_loss_of<R>(logits, labels, 1, weights, s, at);
}

/// weighted_cross_entropy, weighted and reduced: weighted_cross_entropy_loss(logits, labels, 3,
/// weights). (B,...) x (B,...) -> ()
template <Reduction R = Reduction::sum_by_nonzero_weights, TypedExpr P, Operand L, Operand Q,
          Operand W = int>
constexpr auto weighted_cross_entropy_loss(
    const P& logits, const L& labels, const Q& pos_weight, const W& weights = 1,
    std::source_location at = std::source_location::current()) {
  static_assert(detail::labels_fit<P, L> && detail::class_weights_fit<P, Q>,
                "weighted_cross_entropy_loss(logits, labels, pos_weight): the logits must be "
                "floating-point, the labels of their element type and shape, or a number, and "
                "pos_weight a number or a tensor that broadcasts to them");
  return detail::logistic_loss_of<R>(logits, labels, pos_weight, weights, 0, at);
}

/// softmax_cross_entropy along an axis, by default the last, weighted and reduced. Labels are
/// probabilities (B,N), or classes as integers (B). label_smoothing s with N classes changes labels
/// to label (1 - s) + s / N. (B,N) x (B,N) or (B) -> (); the losses are (B)
///
/// An integer that is not a class gives NaN, even if its weight is 0.
template <Reduction R = Reduction::sum_by_nonzero_weights, int Axis = -1, TypedExpr P, TypedExpr L,
          Operand W = int>
constexpr auto softmax_cross_entropy_loss(
    const P& logits, const L& labels, const W& weights = 1, CrossEntropyOptions options = {},
    std::source_location at = std::source_location::current()) {
  const auto of_labels = softmax_cross_entropy<Axis>(logits, labels, at);
  using E = std::remove_const_t<decltype(of_labels)>;
  using T = typename E::element;
  const double s = options.label_smoothing;
  detail::check_smoothing(logits.graph(), "softmax_cross_entropy_loss", s);
  return detail::loss_of<R, T, typename E::shape>(logits.graph(), weights, at, [&](DType type) {
    const AnyExpr losses = cast_to(of_labels.any(), type);
    if (s == 0) return losses;
    // The cross entropy is linear in the labels.
    constexpr int axis = normalize_axis(Axis, P::rank);
    constexpr unsigned along = axis < 0 ? 0u : static_cast<unsigned>(axis);
    const AnyExpr of_even = reduce<ops::Mean>(log_softmax_along(cast_to(logits.any(), type), along),
                                              1u << along, false);
    return (1 - s) * losses - s * of_even;
  });
}

struct KlDivergenceOptions {
  double epsilon = 1e-7;  ///< the smallest probability; smaller ones count as this
};

/// The Kullback-Leibler divergence of predicted distributions from the labels' distributions,
/// sum(label log(label / prediction)), along an axis, by default the last. Both are clipped to
/// [epsilon, 1]. (B,N) x (B,N) -> (); the losses are (B). Source: Keras's
/// kullback_leibler_divergence.
template <Reduction R = Reduction::sum_by_nonzero_weights, int Axis = -1, TypedExpr P, Operand L,
          Operand W = int>
constexpr auto kl_divergence(const P& predictions, const L& labels, const W& weights = 1,
                             KlDivergenceOptions options = {},
                             std::source_location at = std::source_location::current()) {
  constexpr int axis = normalize_axis(Axis, P::rank);
  static_assert(axis >= 0,
                "kl_divergence<reduction, axis>(predictions, labels): the predictions have no such "
                "axis");
  static_assert(detail::labels_fit<P, L>,
                "kl_divergence(predictions, labels): the predictions must be floating-point, and "
                "the labels of their element type and shape, or a number");
  constexpr unsigned axes = axis < 0 ? 0 : 1u << axis;
  using S = shape_of_t<detail::ReduceRule<typename P::shape, axes, false>>;
  using T = typename P::element;
  return detail::loss_of<R, T, S>(predictions.graph(), weights, at, [&](DType type) {
    ir::Graph& graph = predictions.graph();
    const AnyExpr labels_in{&graph, detail::operand_id(graph, dtype_of<T>, labels)};
    const AnyExpr p = clip_by_value(cast_to(predictions.any(), type), options.epsilon, 1);
    const AnyExpr y = clip_by_value(cast_to(labels_in, type), options.epsilon, 1);
    return reduce<ops::Sum>(broadcast_to(y * log(y / p), predictions.any().dims()), axes, false);
  });
}

}  // namespace typeflow::inline TYPEFLOW_ISA
