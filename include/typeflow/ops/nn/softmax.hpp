// SPDX-License-Identifier: Apache-2.0
#pragma once

// softmax and log_softmax, along one axis, the last by default. Cross entropies are in
// ops/nn/cross_entropy.hpp.
//
// They are composite: gradient rules work on the whole operation, and are short and stable. Before
// fusion each expands into a maximum, exponentials and sums, which become phases of one kernel over
// rows. The maximum is subtracted, so nothing overflows.

#include <cmath>
#include <limits>
#include <source_location>

#include "typeflow/ops/reduce/reductions.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

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
/// log(sum(exp(row))) in double, as a sum of two: the larger may be so large that it would swallow
/// the other.
struct LogSumExp {
  double largest = -std::numeric_limits<double>::infinity();
  double rest = 0;

  double log_softmax(double x) const { return x - largest - rest; }
};
inline LogSumExp log_sum_exp(const HostTensor& x, std::int64_t first, std::int64_t stride,
                             std::int64_t n) {
  LogSumExp out;
  for (std::int64_t i = 0; i < n; ++i) {
    out.largest = std::fmax(out.largest, x.value(first + i * stride));
  }
  double total = 0;
  for (std::int64_t i = 0; i < n; ++i) total += std::exp(x.value(first + i * stride) - out.largest);
  out.rest = std::log(total);
  return out;
}
/// Interprets f(x - log(sum(exp(x)))) along an axis.
template <class F>
void interpret(InterpretCall& call, std::uint32_t axis, const F& f) {
  const HostTensor& x = *call.inputs[0];
  const std::int64_t n = x.dims.extent[axis];
  each_row(x.dims, axis, [&](std::int64_t first, std::int64_t stride) {
    const LogSumExp log_sum = log_sum_exp(x, first, stride, n);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t at = first + i * stride;
      call.outputs[0].set(at, f(log_sum.log_softmax(x.value(at))));
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

}  // namespace typeflow::inline TYPEFLOW_ISA
