// SPDX-License-Identifier: Apache-2.0
#pragma once

// Running sums and products along an axis: cumsum, cumprod.
//
//   cumsum<0>(x)                        a, a+b, a+b+c
//   cumsum<0>(x, {.exclusive = true})   0, a, a+b
//   cumsum<0>(x, {.reverse = true})     a+b+c, b+c, c
//
// The gradient of cumprod is no quotient, as TensorFlow's is, but a linear recurrence. So it is
// right where elements are zero, and so are its gradients.

#include <array>
#include <cstdint>
#include <source_location>

#include "typeflow/ops/custom.hpp"
#include "typeflow/ops/shape/shape_ops.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Options of running sums and products.
struct CumulativeOptions {
  bool exclusive = false;  ///< without the element itself: starts from 0, or 1
  bool reverse = false;    ///< from the last element to the first
};

namespace ops {

/// Common parts of cumulative operations: attributes `axis`, `reverse` (0 or 1), and a result like
/// the first input.
template <class Self>
struct cumulative : custom {
  static constexpr Domain domain = Domain::numbers;

  /// Calls f(position, whether the axis begins there) for every element, in the order of the axis.
  template <class F>
  static void each(const Self& op, const Dims& dims, const F& f) {
    const std::int64_t length = dims.extent[op.axis];
    const std::int64_t size = count_of(dims).coefficient;
    std::int64_t inner = 1;
    for (int i = dims.rank - 1; i > static_cast<int>(op.axis); --i) inner *= dims.extent[i];
    for (std::int64_t first = 0; first < size; ++first) {
      if (first / inner % length != 0) continue;
      for (std::int64_t i = 0; i < length; ++i) {
        f(first + (op.reverse != 0 ? length - 1 - i : i) * inner, i == 0);
      }
    }
  }
  /// y at each position is next(the y before it or `start`, position); if exclusive, the y before.
  /// Computed in numbers of 8 bytes, to be rounded once.
  template <class F>
  static void accumulate(InterpretCall& call, int start, bool exclusive, const F& next) {
    const Self op = decode<Self>(call.graph, call.node);
    HostTensor& y = call.outputs[0];
    detail::visit_widest(y.dtype, [&](auto zero) {
      using Wide = decltype(zero);
      Wide total{};
      each(op, y.dims, [&](std::int64_t at, bool begins) {
        if (begins) total = static_cast<Wide>(start);
        const Wide before = total;
        total = next(total, at);
        y[at] = detail::fitted(number_from(exclusive ? before : total), y.dtype);
      });
    });
  }
};

struct CumSum : cumulative<CumSum> {
  static constexpr std::string_view name = "CumSum";
  std::uint32_t axis;
  std::uint32_t exclusive;
  std::uint32_t reverse;

  static constexpr Type infer(const CumSum&, const Type& x) { return x; }
  static constexpr AnyExpr gradient(CumSum op, auto, auto, auto dy) {
    op.reverse = 1 - op.reverse;
    return apply(op, dy);
  }
  static void interpret(InterpretCall& call) {
    const HostTensor& x = *call.inputs[0];
    accumulate(call, 0, decode<CumSum>(call.graph, call.node).exclusive != 0,
               [&](auto total, std::int64_t at) {
                 return Add{}(total, typeflow::to<decltype(total)>(x[at]));
               });
  }
};

/// Every element one step further along the axis; the first ones are `fill` (0 or 1).
struct Shift : cumulative<Shift> {
  static constexpr std::string_view name = "Shift";
  static constexpr int flops = 0;
  std::uint32_t axis;
  std::uint32_t reverse;
  std::uint32_t fill;

  static constexpr Type infer(const Shift&, const Type& x) { return x; }
  static constexpr AnyExpr gradient(Shift op, auto, auto, auto dy) {
    return apply(Shift{{}, op.axis, 1 - op.reverse, 0}, dy);
  }
  static void interpret(InterpretCall& call) {
    const HostTensor& x = *call.inputs[0];
    const std::uint32_t fill = decode<Shift>(call.graph, call.node).fill;
    accumulate(call, static_cast<int>(fill), true,
               [&](auto total, std::int64_t at) { return typeflow::to<decltype(total)>(x[at]); });
  }
};

/// y[i] = a[i] * y[i-1] + b[i], from y[-1] = 0.
struct LinearRecurrence : cumulative<LinearRecurrence> {
  static constexpr std::string_view name = "LinearRecurrence";
  static constexpr int flops = 2;
  std::uint32_t axis;
  std::uint32_t reverse;

  static constexpr Type infer(const LinearRecurrence&, const Type& a, const Type& b) {
    return {a.dtype, a == b ? a.dims : no_dims};
  }
  /// y[j] contains b[i] times a[i+1] ... a[j], so db[i] = dy[i] + a[i+1] * db[i+1].
  static constexpr std::array<AnyExpr, 2> gradient(LinearRecurrence op, auto a, auto, auto y,
                                                   auto dy) {
    const std::uint32_t back = 1 - op.reverse;
    const AnyExpr db =
        apply(LinearRecurrence{{}, op.axis, back}, apply(Shift{{}, op.axis, back, 0}, a), dy);
    return {db * apply(Shift{{}, op.axis, op.reverse, 0}, y), db};
  }
  static void interpret(InterpretCall& call) {
    const HostTensor& a = *call.inputs[0];
    const HostTensor& b = *call.inputs[1];
    accumulate(call, 0, false, [&](auto total, std::int64_t at) {
      using Wide = decltype(total);
      return Add{}(Mul{}(typeflow::to<Wide>(a[at]), total), typeflow::to<Wide>(b[at]));
    });
  }
};

struct CumProd : cumulative<CumProd> {
  static constexpr std::string_view name = "CumProd";
  std::uint32_t axis;
  std::uint32_t exclusive;
  std::uint32_t reverse;

  static constexpr Type infer(const CumProd&, const Type& x) { return x; }
  /// y[j] = x[0] ... x[j], so dx[i] is the product in front of i times d[i], where d[i] = dy[i] +
  /// x[i+1] * d[i+1].
  static constexpr AnyExpr gradient(CumProd op, auto x, auto y, auto dy) {
    const std::uint32_t back = 1 - op.reverse;
    const bool exclusive = op.exclusive != 0;
    const AnyExpr in_front = exclusive ? y : apply(Shift{{}, op.axis, op.reverse, 1}, y);
    const AnyExpr d =
        apply(LinearRecurrence{{}, op.axis, back}, apply(Shift{{}, op.axis, back, 0}, x),
              exclusive ? apply(Shift{{}, op.axis, back, 0}, dy) : dy);
    return in_front * d;
  }
  static void interpret(InterpretCall& call) {
    const HostTensor& x = *call.inputs[0];
    accumulate(call, 1, decode<CumProd>(call.graph, call.node).exclusive != 0,
               [&](auto total, std::int64_t at) {
                 return Mul{}(total, typeflow::to<decltype(total)>(x[at]));
               });
  }
};

}  // namespace ops

/// Untyped running sum and product.
template <UntypedExpr X>
constexpr AnyExpr cumsum_along(const X& x, int axis, CumulativeOptions options = {}) {
  return apply(
      ops::CumSum{{}, static_cast<std::uint32_t>(axis), options.exclusive, options.reverse}, x);
}
template <UntypedExpr X>
constexpr AnyExpr cumprod_along(const X& x, int axis, CumulativeOptions options = {}) {
  return apply(
      ops::CumProd{{}, static_cast<std::uint32_t>(axis), options.exclusive, options.reverse}, x);
}

/// The running sum along an axis: cumsum<1>(x), cumsum<1>(x, {.exclusive = true, .reverse = true}).
/// (A,N,B) -> (A,N,B). It adds in the order of the elements, and rounds each partial sum to the
/// element type; 16-bit elements add up in float. Integers wrap around.
template <int Axis, TypedExpr X>
constexpr auto cumsum(const X& x, CumulativeOptions options = {},
                      std::source_location at = std::source_location::current()) {
  constexpr int axis = normalize_axis(Axis, X::rank);
  static_assert(axis >= 0, "cumsum<axis>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::numbers, X>,
                "cumsum<axis>(x): x must be a tensor of numbers");
  detail::mark(at, x);
  return detail::same_type(x, cumsum_along(x.any(), axis, options).id);
}

/// The running product along an axis: cumprod<1>(x), cumprod<1>(x, {.exclusive = true}).
/// (A,N,B) -> (A,N,B). The gradient is right where elements are zero, too; TensorFlow's is NaN.
template <int Axis, TypedExpr X>
constexpr auto cumprod(const X& x, CumulativeOptions options = {},
                       std::source_location at = std::source_location::current()) {
  constexpr int axis = normalize_axis(Axis, X::rank);
  static_assert(axis >= 0, "cumprod<axis>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::numbers, X>,
                "cumprod<axis>(x): x must be a tensor of numbers");
  detail::mark(at, x);
  return detail::same_type(x, cumprod_along(x.any(), axis, options).id);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
