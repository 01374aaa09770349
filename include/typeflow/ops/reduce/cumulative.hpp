// SPDX-License-Identifier: Apache-2.0
#pragma once

// Running extremes, and logarithms of running sums of exponentials, along an axis: cummax, cummin,
// cumlogsumexp.
//
//   cummax<0>(x)         a, max(a,b), max(a,b,c)
//   cumlogsumexp<0>(x)   a, log(e^a + e^b), log(e^a + e^b + e^c)
//
// A running maximum is an operation of its own. Its gradients and cumlogsumexp are linear
// recurrences, whose coefficients are at most 1, so nothing overflows.

#include <cstdint>
#include <source_location>

#include "typeflow/ops/reduce/cumsum.hpp"
#include "typeflow/ops/reduce/reductions.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// The extreme of an element and those before it; NaN from the first NaN on.
template <class Self, class Extreme>
struct running_extreme : cumulative<Self> {
  static constexpr Domain domain = Domain::real;
  using extreme = Extreme;

  static constexpr Type infer(const Self&, const Type& x) { return x; }
  /// The gradient goes to the element from which the extreme came, the first of equals: sums of dy
  /// over the elements with one extreme, each at the first of them.
  static constexpr AnyExpr gradient(Self op, auto, auto y, auto dy) {
    const std::uint32_t back = 1 - op.reverse;
    const AnyExpr stays = cast_to(equal(y, apply(Shift{{}, op.axis, back, 0}, y)), y.dtype());
    const AnyExpr sums = apply(LinearRecurrence{{}, op.axis, back}, stays, dy);
    return where(equal(apply(Shift{{}, op.axis, op.reverse, 0}, stays), 0), sums, 0);
  }
  static void interpret(InterpretCall& call) {
    const Self op = decode<Self>(call.graph, call.node);
    const HostTensor& x = *call.inputs[0];
    detail::visit_widest(x.dtype, [&](auto zero) {
      using Wide = decltype(zero);
      if constexpr (contains(domain, dtype_of<Wide>)) {
        Wide total{};
        cumulative<Self>::each(op, x.dims, [&](std::int64_t at, bool begins) {
          const Wide element = typeflow::to<Wide>(x[at]);
          total = begins ? element : Extreme{}(total, element);
          call.outputs[0][at] = number_from(total);
        });
      }
    });
  }
};

struct CumMax : running_extreme<CumMax, Max> {
  static constexpr std::string_view name = "CumMax";
  std::uint32_t axis;
  std::uint32_t reverse;
};
struct CumMin : running_extreme<CumMin, Min> {
  static constexpr std::string_view name = "CumMin";
  std::uint32_t axis;
  std::uint32_t reverse;
};

/// log(sum(e^x)) of an element and those before it. With the running maximum m, the sums s[i] =
/// sum(e^(x[j] - m[i])) over j <= i are s[i-1] e^(m[i-1] - m[i]) + e^(x[i] - m[i]).
struct CumLogSumExp : composite {
  static constexpr std::string_view name = "CumLogSumExp";
  static constexpr Domain domain = Domain::floating;
  std::uint32_t axis;
  std::uint32_t reverse;

  static constexpr Type infer(CumLogSumExp, const Type& x) { return x; }
  /// e^(low - high); 1 where low equals high, also if infinite or beyond the end.
  static constexpr AnyExpr ratio(const auto& low, const auto& high) {
    return where(greater_equal(low, high), 1, exp(low - high));
  }
  /// The sums of e^(x[j] - m[i]) over j <= i.
  static constexpr AnyExpr sums(CumLogSumExp op, const AnyExpr& x, const AnyExpr& m) {
    const AnyExpr decay = ratio(apply(Shift{{}, op.axis, op.reverse, 0}, m), m);
    return apply(LinearRecurrence{{}, op.axis, op.reverse}, decay, ratio(x, m));
  }
  static constexpr AnyExpr expand(CumLogSumExp op, auto x) {
    const AnyExpr m = apply(CumMax{{}, op.axis, op.reverse}, x);
    return m + log(sums(op, x, m));
  }
  /// dx[i] is the sum of dy[j] e^(x[i] - y[j]) over j >= i: e^(x[i] - y[i]) times h[i], where
  /// h[i] = dy[i] + e^(y[i] - y[i+1]) h[i+1].
  static constexpr AnyExpr gradient(CumLogSumExp op, auto x, auto y, auto dy) {
    const std::uint32_t back = 1 - op.reverse;
    const AnyExpr decay = ratio(y, apply(Shift{{}, op.axis, back, 0}, y));
    // y is rounded: of large numbers e^(x[j] - y[i]) does not sum to 1. So it is over its sum.
    const AnyExpr total = stop_gradient(sums(op, x, y));
    return ratio(x, y) * apply(LinearRecurrence{{}, op.axis, back}, decay, dy / total);
  }
};

}  // namespace ops

namespace detail {

/// Every element one step further along the axis. The first ones are the fold's identity: for Max
/// -infinity or the least number.
template <class Fold>
constexpr AnyExpr after(const UntypedExpr auto& x, int axis, bool reverse) {
  const auto along = static_cast<std::uint32_t>(axis);
  const std::uint32_t back = reverse ? 1 : 0;
  Dims line{};
  line.rank = x.dims().rank;
  for (int i = 0; i < line.rank; ++i) line.extent[i] = i == axis ? x.dims().extent[i] : 1;
  const AnyExpr number = index_along(*x.graph, line, axis) + 1;
  const AnyExpr begins = equal(apply(ops::Shift{{}, along, back, 0}, number), 0);
  return where(begins, constant_node(*x.graph, x.dtype(), Fold::start_of(x.dtype())),
               apply(ops::Shift{{}, along, back, 0}, x));
}

template <class O>
constexpr AnyExpr running(const UntypedExpr auto& x, int axis, bool reverse) {
  const O op{{}, static_cast<std::uint32_t>(axis), reverse ? 1u : 0u};
  return add_node(*x.graph, op, &x.id, 1, x.graph->type_of(x.id));
}

}  // namespace detail

/// Untyped cummax, cummin and cumlogsumexp along an axis.
template <UntypedExpr X>
constexpr AnyExpr cummax_along(const X& x, int axis, CumulativeOptions options = {}) {
  const auto y = detail::running<ops::CumMax>(x, axis, options.reverse);
  return options.exclusive ? detail::after<ops::Max>(y, axis, options.reverse) : y;
}
template <UntypedExpr X>
constexpr AnyExpr cummin_along(const X& x, int axis, CumulativeOptions options = {}) {
  const auto y = detail::running<ops::CumMin>(x, axis, options.reverse);
  return options.exclusive ? detail::after<ops::Min>(y, axis, options.reverse) : y;
}
template <UntypedExpr X>
constexpr AnyExpr cumlogsumexp_along(const X& x, int axis, CumulativeOptions options = {}) {
  const auto y = detail::in_float(x, [&](const auto& v) {
    return detail::running<ops::CumLogSumExp>(v, axis, options.reverse);
  });
  return options.exclusive ? detail::after<ops::Max>(y, axis, options.reverse) : y;
}

/// The running maximum along an axis: cummax<1>(x), cummax<1>(x, {.reverse = true}). (A,N,B) ->
/// (A,N,B). It is NaN from the first NaN on. An exclusive one begins with -infinity, or the least
/// integer. Gradients go to the element from which the maximum came, the first of equals.
template <int Axis, TypedExpr X>
constexpr auto cummax(const X& x, CumulativeOptions options = {},
                      std::source_location at = std::source_location::current()) {
  constexpr int axis = normalize_axis(Axis, X::rank);
  static_assert(axis >= 0, "cummax<axis>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::real, X>,
                "cummax<axis>(x): x must be a tensor of real numbers");
  detail::mark(at, x);
  return detail::same_type(x, cummax_along(x.any(), axis, options).id);
}

/// The running minimum along an axis: cummin<1>(x), cummin<1>(x, {.reverse = true}).
/// (A,N,B) -> (A,N,B). As cummax; an exclusive one begins with infinity, or the largest integer.
template <int Axis, TypedExpr X>
constexpr auto cummin(const X& x, CumulativeOptions options = {},
                      std::source_location at = std::source_location::current()) {
  constexpr int axis = normalize_axis(Axis, X::rank);
  static_assert(axis >= 0, "cummin<axis>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::real, X>,
                "cummin<axis>(x): x must be a tensor of real numbers");
  detail::mark(at, x);
  return detail::same_type(x, cummin_along(x.any(), axis, options).id);
}

/// log(cumsum(e^x)) along an axis, without overflow: cumlogsumexp<1>(x),
/// cumlogsumexp<1>(x, {.exclusive = true}). (A,N,B) -> (A,N,B)
///
/// An exclusive one begins with -infinity (TensorFlow's cumulative_logsumexp begins with the least
/// finite number). 16-bit elements are computed in float.
template <int Axis, TypedExpr X>
constexpr auto cumlogsumexp(const X& x, CumulativeOptions options = {},
                            std::source_location at = std::source_location::current()) {
  constexpr int axis = normalize_axis(Axis, X::rank);
  static_assert(axis >= 0, "cumlogsumexp<axis>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::floating, X>,
                "cumlogsumexp<axis>(x): x must be floating-point; convert with cast<float>(x)");
  detail::mark(at, x);
  return detail::same_type(x, cumlogsumexp_along(x.any(), axis, options).id);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
