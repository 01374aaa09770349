// SPDX-License-Identifier: Apache-2.0
#pragma once

// Losses on numbers: absolute_difference, mean_squared_error, huber_loss, log_poisson_loss,
// cosine_distance, mean_pairwise_squared_error.
//
//   mean_squared_error(predictions, labels)
//   mean_squared_error(predictions, labels, weights)
//   mean_squared_error<tf::Reduction::sum>(predictions, labels, weights)
//
// Predictions come first, as in softmax_cross_entropy(logits, labels); TensorFlow's tf.losses take
// them second. Labels have the shape of the predictions, or are one number; they do not broadcast
// otherwise.
//
// Source: TensorFlow 1.x, python/ops/losses/losses_impl.py.

#include <numbers>
#include <source_location>

#include "typeflow/losses/reduction.hpp"
#include "typeflow/ops/elementwise/math.hpp"
#include "typeflow/ops/nn/cross_entropy.hpp"
#include "typeflow/ops/reduce/reductions.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// The loss f(prediction, label) of every element, reduced.
template <Reduction R, TypedExpr P, Operand L, Operand W, class F>
constexpr auto loss_per_element(const P& predictions, const L& labels, const W& weights,
                                const std::source_location& at, const F& f) {
  using T = typename P::element;
  return loss_of<R, T, typename P::shape>(predictions.graph(), weights, at, [&](DType type) {
    ir::Graph& graph = predictions.graph();
    const AnyExpr y{&graph, operand_id(graph, dtype_of<T>, labels)};
    return f(cast_to(predictions.any(), type), cast_to(y, type));
  });
}

}  // namespace detail

/// |prediction - label|. (B,...) x (B,...) -> ()
template <Reduction R = Reduction::sum_by_nonzero_weights, TypedExpr P, Operand L, Operand W = int>
constexpr auto absolute_difference(const P& predictions, const L& labels, const W& weights = 1,
                                   std::source_location at = std::source_location::current()) {
  static_assert(detail::labels_fit<P, L>,
                "absolute_difference(predictions, labels): the predictions must be floating-point, "
                "and the labels of their element type and shape, or a number");
  return detail::loss_per_element<R>(predictions, labels, weights, at,
                                     [](auto x, auto y) { return abs(x - y); });
}

/// (prediction - label)^2. (B,...) x (B,...) -> ()
template <Reduction R = Reduction::sum_by_nonzero_weights, TypedExpr P, Operand L, Operand W = int>
constexpr auto mean_squared_error(const P& predictions, const L& labels, const W& weights = 1,
                                  std::source_location at = std::source_location::current()) {
  static_assert(detail::labels_fit<P, L>,
                "mean_squared_error(predictions, labels): the predictions must be floating-point, "
                "and the labels of their element type and shape, or a number");
  return detail::loss_per_element<R>(predictions, labels, weights, at,
                                     [](auto x, auto y) { return square(x - y); });
}

struct HuberOptions {
  double delta = 1;  ///< where the parabola ends; above 0
};

/// With d = |prediction - label|: d^2 / 2 if d <= delta, else delta d - delta^2 / 2.
/// (B,...) x (B,...) -> (). Source: Huber, "Robust estimation of a location parameter", 1964.
template <Reduction R = Reduction::sum_by_nonzero_weights, TypedExpr P, Operand L, Operand W = int>
constexpr auto huber_loss(const P& predictions, const L& labels, const W& weights = 1,
                          HuberOptions options = {},
                          std::source_location at = std::source_location::current()) {
  static_assert(detail::labels_fit<P, L>,
                "huber_loss(predictions, labels): the predictions must be floating-point, and the "
                "labels of their element type and shape, or a number");
  return detail::loss_per_element<R>(predictions, labels, weights, at, [&](auto x, auto y) {
    const AnyExpr d = x - y;
    const AnyExpr slope = minimum(maximum(d, -options.delta), options.delta);
    return slope * (d - 0.5 * slope);  // not by |d|: its second derivative would be 0 at 0
  });
}

struct LogPoissonOptions {
  bool compute_full_loss = false;  ///< adds Stirling's approximation of log(label!)
};

/// The negative log likelihood of a label under a Poisson distribution whose mean has the logarithm
/// x: exp(x) - x label. For labels above 1 compute_full_loss adds label log(label) - label + log(2
/// pi label) / 2. (B,...) x (B,...) -> ()
template <Reduction R = Reduction::sum_by_nonzero_weights, TypedExpr P, Operand L, Operand W = int>
constexpr auto log_poisson_loss(const P& log_input, const L& labels, const W& weights = 1,
                                LogPoissonOptions options = {},
                                std::source_location at = std::source_location::current()) {
  static_assert(detail::labels_fit<P, L>,
                "log_poisson_loss(log_input, labels): the input must be floating-point, and the "
                "labels of its element type and shape, or a number");
  return detail::loss_per_element<R>(log_input, labels, weights, at, [&](auto x, auto y) {
    const AnyExpr loss = exp(x) - x * y;
    if (!options.compute_full_loss) return loss;
    const AnyExpr small = logical_and(greater_equal(y, 0), less_equal(y, 1));
    const AnyExpr z = where(small, 1, y);  // so that log(0) never occurs, not even in the gradient
    const AnyExpr stirling = z * log(z) - z + 0.5 * log((2 * std::numbers::pi) * z);
    return loss + where(small, 0, stirling);
  });
}

/// 1 - sum(prediction * label) along an axis, for vectors of length 1:
/// cosine_distance<tf::Reduction::unreduced, 1>(predictions, labels). The losses keep the axis,
/// with extent 1. (B,D) x (B,D) -> (); the losses are (B,1)
template <Reduction R = Reduction::sum_by_nonzero_weights, int Axis = -1, TypedExpr P, Operand L,
          Operand W = int>
constexpr auto cosine_distance(const P& predictions, const L& labels, const W& weights = 1,
                               std::source_location at = std::source_location::current()) {
  constexpr int axis = normalize_axis(Axis, P::rank);
  static_assert(axis >= 0,
                "cosine_distance<reduction, axis>(predictions, labels): the predictions "
                "have no such axis");
  static_assert(detail::labels_fit<P, L>,
                "cosine_distance(predictions, labels): the predictions must be floating-point, and "
                "the labels of their element type and shape, or a number");
  constexpr unsigned axes = axis < 0 ? 0 : 1u << axis;
  using S = shape_of_t<detail::ReduceRule<typename P::shape, axes, true>>;
  using T = typename P::element;
  return detail::loss_of<R, T, S>(predictions.graph(), weights, at, [&](DType type) {
    ir::Graph& graph = predictions.graph();
    const AnyExpr y{&graph, detail::operand_id(graph, dtype_of<T>, labels)};
    const AnyExpr products = cast_to(predictions.any(), type) * cast_to(y, type);
    return 1 - reduce<ops::Sum>(products, axes, true);
  });
}

namespace detail {
/// The axis of the samples.
template <class P>
struct OneASampleRule {
  static constexpr Dims value{1, {P::rank > 0 ? P::shape::dims.extent[0] : 1}};
};
}  // namespace detail

/// For each sample, the mean of ((y_i - y_j) - (t_i - t_j))^2 over all pairs of elements, with
/// predictions y and labels t. A sample with predictions x, y, z and labels a, b, c gives
/// (((a-b)-(x-y))^2 + ((a-c)-(x-z))^2 + ((b-c)-(y-z))^2) / 3. Samples of one element give 0.
/// (B,...) x (B,...) x weights (), (B) or (B,1...) -> ()
///
/// The result is the weighted sum over the samples, as in TensorFlow: there is no reduction to
/// choose.
template <TypedExpr P, Operand L, Operand W = int>
constexpr auto mean_pairwise_squared_error(
    const P& predictions, const L& labels, const W& weights = 1,
    std::source_location at = std::source_location::current()) {
  static_assert(detail::labels_fit<P, L> && P::rank >= 1,
                "mean_pairwise_squared_error(predictions, labels): the predictions must be "
                "floating-point and have an axis of samples, and the labels be of their element "
                "type and shape, or a number");
  using T = typename P::element;
  using S = shape_of_t<detail::OneASampleRule<P>>;
  return detail::loss_of<Reduction::sum, T, S>(predictions.graph(), weights, at, [&](DType type) {
    ir::Graph& graph = predictions.graph();
    const AnyExpr y{&graph, detail::operand_id(graph, dtype_of<T>, labels)};
    const AnyExpr difference = cast_to(predictions.any(), type) - cast_to(y, type);
    if (P::rank == 1) return 0 * difference;
    // The sum over pairs of (d_i - d_j)^2 is n times that of (d_i - mean(d))^2.
    constexpr unsigned axes = detail::all_axes(P::rank) & ~1u;
    const AnyExpr centred = difference - reduce<ops::Mean>(difference, axes, true);
    const AnyExpr squares = reduce<ops::Sum>(square(centred), axes, false);
    Count count{};
    for (int i = 1; i < P::rank; ++i) count.multiply(P::shape::dims.extent[i]);
    const AnyExpr n = detail::one_or_more(graph, type, count);
    return squares * (2 / maximum(n - 1, 1));
  });
}

}  // namespace typeflow::inline TYPEFLOW_ISA
