// SPDX-License-Identifier: Apache-2.0
#pragma once

// Cross entropies, without weights or reduction: softmax_cross_entropy of each row,
// sigmoid_cross_entropy and weighted_cross_entropy of each element. losses.hpp has the same,
// weighted and reduced.
//
// The softmax cross entropies are composite, as softmax is: see ops/nn/softmax.hpp.

#include <cstdint>
#include <limits>
#include <source_location>
#include <string_view>
#include <type_traits>

#include "typeflow/ops/nn/softmax.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// -sum(labels * log_softmax(logits)) along an axis.
struct SoftmaxCrossEntropy : composite {
  static constexpr std::string_view name = "SoftmaxCrossEntropy";
  std::uint32_t axis;

  static constexpr Type infer(SoftmaxCrossEntropy op, const Type& logits, const Type& labels) {
    if (!(logits == labels) || !softmax::has_axis(logits.dims, op.axis)) {
      return {logits.dtype, no_dims};
    }
    return {logits.dtype, reduced(logits.dims, 1u << op.axis, false)};
  }
  static constexpr std::array<AnyExpr, 2> gradient(SoftmaxCrossEntropy op, auto logits, auto labels,
                                                   auto, auto dy) {
    const unsigned axis = op.axis;
    const AnyExpr row = reshape_to(dy, reduced(logits.dims(), 1u << axis, true));
    const AnyExpr total = reduce<Sum>(labels, 1u << axis, true);
    return {(softmax_along(logits, axis) * total - labels) * row,
            -log_softmax_along(logits, axis) * row};
  }
  static constexpr AnyExpr expand(SoftmaxCrossEntropy op, auto logits, auto labels) {
    const unsigned axis = op.axis;
    const softmax::Parts parts = softmax::parts(logits, axis);
    const AnyExpr loss = log(parts.s) * reduce<Sum>(labels, 1u << axis, true) -
                         reduce<Sum>(labels * parts.z, 1u << axis, true);
    return reshape_to(loss, reduced(logits.dims(), 1u << axis, false));
  }
  static void interpret(InterpretCall& call) {
    const HostTensor& x = *call.inputs[0];
    const HostTensor& labels = *call.inputs[1];
    const unsigned axis = decode<SoftmaxCrossEntropy>(call.graph, call.node).axis;
    const std::int64_t n = x.dims.extent[axis];
    if (n == 0) softmax::fill_with_nan(call.outputs[0]);
    softmax::each_row(x.dims, axis, [&](std::int64_t first, std::int64_t stride) {
      const softmax::LogSumExp log_sum = softmax::log_sum_exp(x, first, stride, n);
      double loss = 0;
      for (std::int64_t i = first; i < first + n * stride; i += stride) {
        loss -= labels.value(i) * log_sum.log_softmax(x.value(i));
      }
      call.outputs[0].set(softmax::row_of(first, stride, n), loss);
    });
  }
};

/// -log_softmax(logits)[label] along an axis; NaN where the label is out of range.
struct SparseSoftmaxCrossEntropy : composite {
  static constexpr std::string_view name = "SparseSoftmaxCrossEntropy";
  std::uint32_t axis;

  static constexpr Type infer(SparseSoftmaxCrossEntropy op, const Type& logits,
                              const Type& labels) {
    if (!softmax::has_axis(logits.dims, op.axis) || is_floating(labels.dtype)) {
      return {logits.dtype, no_dims};
    }
    const Dims rows = reduced(logits.dims, 1u << op.axis, false);
    return {logits.dtype, rows == labels.dims ? rows : no_dims};
  }
  /// The label's column in each row, and 1 for a label that is a class or NaN for others.
  struct Labels {
    AnyExpr hit;    ///< in the shape of logits: whether this is the label's column
    AnyExpr valid;  ///< for each row, with the axis kept
  };
  static constexpr Labels find(const UntypedExpr auto& logits, const UntypedExpr auto& labels,
                               unsigned axis) {
    const Dims dims = logits.dims();
    // In a type that can also hold the number of classes.
    const bool narrow = size_of(labels.dtype()) < 4 || labels.dtype() == DType::int32;
    const auto row = cast_to(reshape_to(labels, reduced(dims, 1u << axis, true)),
                             narrow ? DType::int32 : DType::int64);
    Dims classes{};
    classes.rank = dims.rank;
    for (int i = 0; i < dims.rank; ++i)
      classes.extent[i] = i == static_cast<int>(axis) ? dims.extent[axis] : 1;
    const AnyExpr column = index_along(*logits.graph, classes, static_cast<int>(axis));
    const auto in_range = logical_and(greater_equal(row, 0), less(row, dims.extent[axis]));
    const AnyExpr one = detail::constant_node(*logits.graph, logits.dtype(), Number{1, 0});
    const AnyExpr nan = detail::constant_node(*logits.graph, logits.dtype(),
                                              Number{std::numeric_limits<double>::quiet_NaN(), 0});
    return {equal(cast_to(row, DType::int32), column), where(in_range, one, nan)};
  }
  static constexpr std::array<AnyExpr, 2> gradient(SparseSoftmaxCrossEntropy op, auto logits,
                                                   auto labels, auto, auto dy) {
    const unsigned axis = op.axis;
    const AnyExpr row = reshape_to(dy, reduced(logits.dims(), 1u << axis, true));
    const Labels label = find(logits, labels, axis);
    return {
        (softmax_along(logits, axis) - cast_to(label.hit, logits.dtype())) * (row * label.valid),
        AnyExpr{}};
  }
  static constexpr AnyExpr expand(SparseSoftmaxCrossEntropy op, auto logits, auto labels) {
    const unsigned axis = op.axis;
    const softmax::Parts parts = softmax::parts(logits, axis);
    const Labels label = find(logits, labels, axis);
    const AnyExpr chosen = reduce<Sum>(where(label.hit, parts.z, 0), 1u << axis, true);
    const AnyExpr loss = (log(parts.s) - chosen) * label.valid;
    return reshape_to(loss, reduced(logits.dims(), 1u << axis, false));
  }
  static void interpret(InterpretCall& call) {
    const HostTensor& x = *call.inputs[0];
    const HostTensor& labels = *call.inputs[1];
    const unsigned axis = decode<SparseSoftmaxCrossEntropy>(call.graph, call.node).axis;
    const std::int64_t n = x.dims.extent[axis];
    if (n == 0) softmax::fill_with_nan(call.outputs[0]);
    softmax::each_row(x.dims, axis, [&](std::int64_t first, std::int64_t stride) {
      const std::int64_t row = softmax::row_of(first, stride, n);
      const std::int64_t label = labels[row].integer;
      const bool in_range = label >= 0 && label < n;
      const softmax::LogSumExp log_sum = softmax::log_sum_exp(x, first, stride, n);
      call.outputs[0].set(row, in_range ? 0 - log_sum.log_softmax(x.value(first + label * stride))
                                        : std::numeric_limits<double>::quiet_NaN());
    });
  }
};

}  // namespace ops

/// The cross entropy between softmax(logits) and labels along an axis, by default the last:
/// -sum(labels * log_softmax(logits)).
///
/// Dense labels are probabilities. They have the element type of the logits and broadcast to their
/// shape: (..,N) x (..,N) -> (..). Integer labels are classes, one for each row; they broadcast to
/// the shape of the logits without the axis: (..,N) x (..) -> (..). A label that is no class gives
/// NaN.
///
/// The gradient for the logits is softmax(logits) * sum(labels) - labels, which is right for any
/// labels. (TensorFlow's is softmax(logits) - labels, which is right if they sum to 1.) The
/// gradient for dense labels is -log_softmax(logits).
template <int Axis = -1, TypedExpr X, TypedExpr L>
constexpr auto softmax_cross_entropy(const X& logits, const L& labels,
                                     std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X> && X::rank >= 1,
                "softmax_cross_entropy(logits, labels): the logits must be floating-point, with "
                "one axis at least");
  constexpr int named = normalize_axis(Axis, X::rank);
  static_assert(named >= 0 || X::rank < 1,
                "softmax_cross_entropy<axis>(logits, labels): the logits have no such axis");
  constexpr unsigned axis = named >= 0 ? static_cast<unsigned>(named) : 0;
  constexpr bool dense = detail::is_real_floating<typename L::element>;
  using Rule = detail::ReduceRule<typename X::shape, 1u << axis, false>;
  using E = Expr<typename X::element, shape_of_t<Rule>>;
  constexpr bool spread = broadcast(L::shape::dims, X::shape::dims) == X::shape::dims;
  // One floating-point number a row.
  constexpr bool classes = dense && !spread && L::shape::dims == E::shape::dims;
  static_assert(!classes,
                "softmax_cross_entropy(logits, labels): labels that are classes, one a row, must "
                "be integers; convert with cast<std::int32_t>(labels)");
  static_assert(
      !dense || classes || (std::is_same_v<typename X::element, typename L::element> && spread),
      "softmax_cross_entropy(logits, labels): dense labels must have the element type of "
      "the logits and broadcast to their shape");
  static_assert(dense || broadcast(L::shape::dims, E::shape::dims) == E::shape::dims,
                "softmax_cross_entropy(logits, labels): integer labels must broadcast to the shape "
                "of the logits without the axis of the classes");
  static_assert(
      dense || (L::type.dtype != DType::boolean && !is_symbolic(X::shape::dims.extent[axis])),
      "softmax_cross_entropy(logits, labels): integer labels need a fixed number of "
      "classes");
  detail::mark(at, logits);
  using Loss = std::conditional_t<dense, ops::SoftmaxCrossEntropy, ops::SparseSoftmaxCrossEntropy>;
  const AnyExpr all = broadcast_to(labels.any(), dense ? X::shape::dims : E::shape::dims);
  const AnyExpr loss = detail::in_float(logits.any(), [&](const AnyExpr& x) {
    const AnyExpr y = dense ? cast_to(all, x.dtype()) : all;
    const Id ids[] = {x.id, y.id};
    return add_node(*x.graph, Loss{{}, axis}, ids, 2, Type(x.dtype(), E::type.dims));
  });
  return E(logits.graph(), loss.id);
}

namespace detail {

/// Whether labels have the element type and shape of floating-point predictions, or are a scalar.
template <class P, class L>
inline constexpr bool labels_fit =
    in_domain<Domain::floating, P> && is_of<typename P::element, L> &&
    (ShapeOf<L>::type::rank == 0 || ShapeOf<L>::type::dims == P::shape::dims);

/// (1 - y) softplus(x) + q y softplus(-x). No term is a difference of large numbers. The gradient
/// at 0 is that of the formula.
template <UntypedExpr X, Operand Q>
constexpr AnyExpr logistic_loss(const X& x, const X& y, const Q& q) {
  const X positive = greater_equal(x, 0);
  const X tail = softplus(where(positive, -x, x));  // log(1 + exp(-|x|))
  const X of_0 = where(positive, x, 0) + tail;
  const X of_1 = where(positive, 0, -x) + tail;
  return (1 - y) * of_0 + q * (y * of_1);
}

template <class P, class Q>
inline constexpr bool class_weights_fit =
    is_of<typename P::element, Q> &&
    broadcast(ShapeOf<Q>::type::dims, P::shape::dims) == P::shape::dims;

/// The loss of each element for typed operands; the positive class is multiplied by q.
template <TypedExpr P, Operand L, Operand Q>
constexpr auto logistic_loss_of_each(const P& logits, const L& labels, const Q& q,
                                     const std::source_location& at) {
  using T = typename P::element;
  mark(at, logits);
  ir::Graph& graph = logits.graph();
  const AnyExpr y{&graph, operand_id(graph, dtype_of<T>, labels)};
  const AnyExpr loss = in_float(logits.any(), [&](const AnyExpr& x) {
    const AnyExpr label = cast_to(y, x.dtype());
    if constexpr (TypedExpr<Q>) {
      return logistic_loss(x, label, cast_to(q.any(), x.dtype()));
    } else {
      return logistic_loss(x, label, q);
    }
  });
  return same_type(logits, loss.id);
}

}  // namespace detail

/// The cross entropy between sigmoid(logit) and a label in [0, 1], for each element: label
/// softplus(-x) + (1 - label) softplus(x). (...) x (...) -> (...)
template <TypedExpr P, Operand L>
constexpr auto sigmoid_cross_entropy(const P& logits, const L& labels,
                                     std::source_location at = std::source_location::current()) {
  static_assert(detail::labels_fit<P, L>,
                "sigmoid_cross_entropy(logits, labels): the logits must be floating-point, and the "
                "labels of their element type and shape, or a number");
  return detail::logistic_loss_of_each(logits, labels, 1, at);
}

/// The same, with the term of label 1 multiplied by pos_weight: label pos_weight softplus(-x) +
/// (1 - label) softplus(x). pos_weight is a number or a tensor that broadcasts to the logits (one
/// weight for each class). (...) x (...) -> (...)
template <TypedExpr P, Operand L, Operand Q>
constexpr auto weighted_cross_entropy(const P& logits, const L& labels, const Q& pos_weight,
                                      std::source_location at = std::source_location::current()) {
  static_assert(detail::labels_fit<P, L> && detail::class_weights_fit<P, Q>,
                "weighted_cross_entropy(logits, labels, pos_weight): the logits must be "
                "floating-point, the labels of their element type and shape, or a number, and "
                "pos_weight a number or a tensor that broadcasts to them");
  return detail::logistic_loss_of_each(logits, labels, pos_weight, at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
