// SPDX-License-Identifier: Apache-2.0
#pragma once

// softmax, log_softmax and softmax_cross_entropy, along one axis, the last by default.
//
// They are composite: gradient rules work on the whole operation, and are short and stable. Before
// fusion each expands into a maximum, exponentials and sums, which become phases of one kernel over
// rows. The maximum is subtracted, so nothing overflows.

#include <cmath>
#include <limits>
#include <source_location>

#include "typeflow/ops/reduce/reductions.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

namespace ops {

namespace softmax {
/// The common parts of these operations, merged by common subexpression elimination: z = x - max(x)
/// and s = sum(exp(z)), both along the axis.
struct Parts {
  AnyExpr z;
  AnyExpr exp_z;
  AnyExpr s;  ///< with the axis kept
};
constexpr Parts parts(const AnyExpr& x, unsigned axis) {
  const AnyExpr z = x - reduce<Max>(x, 1u << axis, true);
  const AnyExpr exp_z = exp(z);
  return {z, exp_z, reduce<Sum>(exp_z, 1u << axis, true)};
}
/// Calls f(first element, stride) for every row along the axis.
template <class F>
void each_row(const Dims& dims, unsigned axis, const F& f) {
  std::int64_t stride = 1;
  for (int i = dims.rank - 1; i > static_cast<int>(axis); --i) stride *= dims.extent[i];
  const std::int64_t extent = dims.extent[axis];
  const std::int64_t count = count_of(dims).coefficient;
  for (std::int64_t i = 0; i < count; ++i) {
    if (i / stride % extent == 0) f(i, stride);
  }
}
/// The number of the row that begins at this element.
constexpr std::int64_t row_of(std::int64_t first, std::int64_t stride, std::int64_t extent) {
  return first / (stride * extent) * stride + first % stride;
}
constexpr bool has_axis(const Dims& dims, std::uint32_t axis) {
  return static_cast<int>(axis) < dims.rank;
}
/// The loss of rows without classes.
inline void fill_with_nan(HostTensor& losses) {
  for (std::int64_t i = 0; i < losses.size(); ++i) {
    losses.set(i, std::numeric_limits<double>::quiet_NaN());
  }
}
/// log(sum(exp(row))) in double.
inline double log_sum_exp(const HostTensor& x, std::int64_t first, std::int64_t stride,
                          std::int64_t n) {
  double largest = -std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < n; ++i) {
    largest = std::fmax(largest, x.value(first + i * stride));
  }
  double total = 0;
  for (std::int64_t i = 0; i < n; ++i) total += std::exp(x.value(first + i * stride) - largest);
  return largest + std::log(total);
}
/// Interprets f(x - log(sum(exp(x)))) along an axis.
template <class F>
void interpret(InterpretCall& call, std::uint32_t axis, const F& f) {
  const HostTensor& x = *call.inputs[0];
  const std::int64_t n = x.dims.extent[axis];
  each_row(x.dims, axis, [&](std::int64_t first, std::int64_t stride) {
    const double log_sum = log_sum_exp(x, first, stride, n);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t at = first + i * stride;
      call.outputs[0].set(at, f(x.value(at) - log_sum));
    }
  });
}

}  // namespace softmax

struct Softmax : composite {
  static constexpr std::string_view name = "Softmax";
  std::uint32_t axis;

  static constexpr Type infer(Softmax, const Type& x) { return x; }
  static constexpr AnyExpr gradient(Softmax op, auto, auto y, auto dy) {
    return y * (dy - reduce<Sum>(dy * y, 1u << op.axis, true));
  }
  static constexpr AnyExpr expand(Softmax op, auto x) {
    const softmax::Parts parts = softmax::parts(x, op.axis);
    return parts.exp_z / parts.s;
  }
  static void interpret(InterpretCall& call) {
    softmax::interpret(call, decode<Softmax>(call.graph, call.node).axis,
                       [](double x) { return std::exp(x); });
  }
};

/// The softmax of the visible elements, for which a boolean tensor, which broadcasts, is true; 0
/// for the others, whatever they are. With `guarded` a row may have no visible element, and is then
/// 0.
struct MaskedSoftmax : composite {
  static constexpr std::string_view name = "MaskedSoftmax";
  std::uint32_t axis;
  std::uint32_t guarded;

  static constexpr Type infer(MaskedSoftmax op, const Type& x, const Type& visible) {
    const bool fits = is_floating(x.dtype) && visible.dtype == DType::boolean &&
                      softmax::has_axis(x.dims, op.axis) &&
                      broadcast(visible.dims, x.dims) == x.dims;
    return {x.dtype, fits ? x.dims : no_dims};
  }
  static constexpr std::array<AnyExpr, 2> gradient(MaskedSoftmax op, auto, auto, auto y, auto dy) {
    return {y * (dy - reduce<Sum>(dy * y, 1u << op.axis, true)), AnyExpr{}};
  }
  static constexpr AnyExpr expand(MaskedSoftmax op, auto x, auto visible) {
    // Not -inf, which would give NaN in rows without visible elements.
    const double lowest = x.dtype() == DType::float64 ? std::numeric_limits<double>::lowest()
                                                      : std::numeric_limits<float>::lowest();
    const AnyExpr seen = where(visible, x, lowest);
    const AnyExpr z = seen - reduce<Max>(seen, 1u << op.axis, true);
    const AnyExpr exp_z = where(visible, exp(z), 0);  // of a row of `lowest` exp(z) is 1 everywhere
    AnyExpr s = reduce<Sum>(exp_z, 1u << op.axis, true);
    if (op.guarded != 0) s = where(any_along(visible, op.axis, x.dims().rank), s, 1);
    return exp_z / s;
  }

 private:
  /// Whether any element along an axis is true, for a tensor of this rank; the axis is kept.
  static constexpr AnyExpr any_along(const auto& visible, std::uint32_t axis, int rank) {
    const int own = static_cast<int>(axis) - (rank - visible.dims().rank);
    return own < 0 ? visible : reduce<Any>(visible, 1u << own, true);
  }
};

struct LogSoftmax : composite {
  static constexpr std::string_view name = "LogSoftmax";
  std::uint32_t axis;

  static constexpr Type infer(LogSoftmax, const Type& x) { return x; }
  static constexpr AnyExpr gradient(LogSoftmax op, auto x, auto, auto dy) {
    return dy - softmax_along(x, op.axis) * reduce<Sum>(dy, 1u << op.axis, true);
  }
  static constexpr AnyExpr expand(LogSoftmax op, auto x) {
    const softmax::Parts parts = softmax::parts(x, op.axis);
    return parts.z - log(parts.s);
  }
  static void interpret(InterpretCall& call) {
    softmax::interpret(call, decode<LogSoftmax>(call.graph, call.node).axis,
                       [](double x) { return x; });
  }
};

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
      const double log_sum = softmax::log_sum_exp(x, first, stride, n);
      double loss = 0;
      for (std::int64_t i = first; i < first + n * stride; i += stride) {
        loss += labels.value(i) * (log_sum - x.value(i));
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
  static constexpr Labels find(const AnyExpr& logits, const AnyExpr& labels, unsigned axis) {
    const Dims dims = logits.dims();
    // In a type that can also hold the number of classes.
    const bool narrow = size_of(labels.dtype()) < 4 || labels.dtype() == DType::int32;
    const AnyExpr row = cast_to(reshape_to(labels, reduced(dims, 1u << axis, true)),
                                narrow ? DType::int32 : DType::int64);
    Dims classes{};
    classes.rank = dims.rank;
    for (int i = 0; i < dims.rank; ++i)
      classes.extent[i] = i == static_cast<int>(axis) ? dims.extent[axis] : 1;
    const AnyExpr column = index_along(*logits.graph, classes, static_cast<int>(axis));
    const AnyExpr in_range = logical_and(greater_equal(row, 0), less(row, dims.extent[axis]));
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
      call.outputs[0].set(row, in_range ? softmax::log_sum_exp(x, first, stride, n) -
                                              x.value(first + label * stride)
                                        : std::numeric_limits<double>::quiet_NaN());
    });
  }
};

}  // namespace ops

/// Untyped softmax and log_softmax along an axis.
template <UntypedExpr X>
constexpr AnyExpr softmax_along(const X& x, unsigned axis) {
  return detail::in_float(x, [&](const AnyExpr& v) {
    return add_node(*v.graph, ops::Softmax{{}, axis}, &v.id, 1, v.graph->type_of(v.id));
  });
}
/// Untyped: the softmax along an axis of the visible elements; `visible` is boolean and broadcasts
/// to x. 0 elsewhere. With `guarded` a row may have no visible element.
template <UntypedExpr X>
constexpr AnyExpr masked_softmax_along(const X& x, const X& visible, unsigned axis, bool guarded) {
  return detail::in_float(x, [&](const AnyExpr& v) {
    return apply(ops::MaskedSoftmax{{}, axis, guarded ? 1u : 0u}, v, visible);
  });
}
template <UntypedExpr X>
constexpr AnyExpr log_softmax_along(const X& x, unsigned axis) {
  return detail::in_float(x, [&](const AnyExpr& v) {
    return add_node(*v.graph, ops::LogSoftmax{{}, axis}, &v.id, 1, v.graph->type_of(v.id));
  });
}

namespace detail {
constexpr Id log_of_softmax(const AnyExpr& x) {
  const ir::Graph& graph = *x.graph;
  const ir::Node& node = graph.node_of(x.id);
  if (is<ops::Cast>(*node.op) && is_half_precision(x.dtype())) {  // computed in float
    const Id found = log_of_softmax(AnyExpr{x.graph, graph.input(node, 0)});
    return found == none ? none : cast_to(AnyExpr{x.graph, found}, x.dtype()).id;
  }
  if (!is<ops::Softmax>(*node.op)) return none;
  const AnyExpr logits{x.graph, graph.input(node, 0)};
  return log_softmax_along(logits, decode<ops::Softmax>(graph, node).axis).id;
}
}  // namespace detail

/// exp(x) / sum(exp(x)) along an axis. (..,N) -> (..,N)
template <int Axis = -1, TypedExpr X>
constexpr auto softmax(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(normalize_axis(Axis, X::rank) >= 0, "softmax<axis>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::floating, X>,
                "softmax(x): x must be floating-point; convert with cast<float>(x)");
  detail::mark(at, x);
  return detail::same_type(
      x, softmax_along(x.any(), static_cast<unsigned>(normalize_axis(Axis, X::rank))).id);
}

/// log(softmax(x)) along an axis. (..,N) -> (..,N)
template <int Axis = -1, TypedExpr X>
constexpr auto log_softmax(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(normalize_axis(Axis, X::rank) >= 0, "log_softmax<axis>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::floating, X>,
                "log_softmax(x): x must be floating-point; convert with cast<float>(x)");
  detail::mark(at, x);
  return detail::same_type(
      x, log_softmax_along(x.any(), static_cast<unsigned>(normalize_axis(Axis, X::rank))).id);
}

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

}  // namespace typeflow::inline TYPEFLOW_TARGET
