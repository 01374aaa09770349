// SPDX-License-Identifier: Apache-2.0
#pragma once

// The operations that reduce axes of a tensor, and their untyped form reduce<O>(x, axes, keep),
// which gradients and other operations use. reductions.hpp has the typed functions.
//
// A reduction over no elements gives its identity: sum 0, prod 1, max -inf (for integers the
// lowest), min inf, any false, all true, logsumexp -inf. mean gives NaN. Integers wrap around.

#include <cstdint>
#include <limits>

#include "typeflow/ops/reduce/cumsum.hpp"
#include "typeflow/ops/reduce/reduction.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

struct Sum : reduction<Sum> {
  static constexpr std::string_view name = "Sum";
  static constexpr bool complex_gradient = true;
  static constexpr Domain domain = Domain::numbers;
  std::uint32_t axes;
  std::uint32_t keep_dims;

  template <class T>
  static constexpr T identity() {
    return T(0);
  }
  template <class V>
  constexpr V operator()(V a, V b) const {
    return Add{}(a, b);
  }
  static constexpr AnyExpr gradient(Sum op, auto x, auto, auto dy) {
    return broadcast_to(reshape_to(dy, reduced(x.dims(), op.axes, true)), x.dims());
  }
};

struct Prod : reduction<Prod> {
  static constexpr std::string_view name = "Prod";
  static constexpr Domain domain = Domain::numbers;
  std::uint32_t axes;
  std::uint32_t keep_dims;

  template <class T>
  static constexpr T identity() {
    return T(1);
  }
  template <class V>
  constexpr V operator()(V a, V b) const {
    return Mul{}(a, b);
  }
  /// dy times the product of the other elements: of those before and those behind, never a
  /// quotient, so that zeros need no special case (as in TensorFlow).
  static constexpr AnyExpr gradient(Prod op, auto x, auto, auto dy);
};

/// The gradient of max and min goes to the elements that are the extreme, in equal parts.
constexpr AnyExpr extreme_gradient(unsigned axes, const AnyExpr& x, const AnyExpr& y,
                                   const AnyExpr& dy);

struct Max : reduction<Max> {
  static constexpr std::string_view name = "Max";
  std::uint32_t axes;
  std::uint32_t keep_dims;

  template <class T>
  static constexpr T identity() {
    return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::lowest();
  }
  /// NaN is passed on, from either side.
  template <class V>
  constexpr V operator()(V a, V b) const {
    using math::select;
    return select(a >= b, a, select(a == a, b, a));
  }
  static constexpr AnyExpr gradient(Max op, auto x, auto y, auto dy) {
    return extreme_gradient(op.axes, x, y, dy);
  }
};

struct Min : reduction<Min> {
  static constexpr std::string_view name = "Min";
  std::uint32_t axes;
  std::uint32_t keep_dims;

  template <class T>
  static constexpr T identity() {
    return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::max();
  }
  template <class V>
  constexpr V operator()(V a, V b) const {
    using math::select;
    return select(a <= b, a, select(a == a, b, a));
  }
  static constexpr AnyExpr gradient(Min op, auto x, auto y, auto dy) {
    return extreme_gradient(op.axes, x, y, dy);
  }
};

struct Any : reduction<Any> {
  static constexpr std::string_view name = "Any";
  static constexpr Domain domain = Domain::booleans;
  static constexpr Derivative derivative = Derivative::zero;
  std::uint32_t axes;
  std::uint32_t keep_dims;

  template <class T>
  static constexpr T identity() {
    return T(false);
  }
  template <class V>
  constexpr auto operator()(V a, V b) const {
    return a || b;
  }
};

struct All : reduction<All> {
  static constexpr std::string_view name = "All";
  static constexpr Domain domain = Domain::booleans;
  static constexpr Derivative derivative = Derivative::zero;
  std::uint32_t axes;
  std::uint32_t keep_dims;

  template <class T>
  static constexpr T identity() {
    return T(true);
  }
  template <class V>
  constexpr auto operator()(V a, V b) const {
    return a && b;
  }
};

/// The position of the extreme along one axis; the first where several are equal.
template <class Self, class Better>
struct arg_extreme : reduction<Self> {
  static constexpr bool index_result = true;
  static constexpr Derivative derivative = Derivative::zero;
  static constexpr DType result(DType) { return DType::int32; }
  /// For one element the position is 0. It is no constant, because effects that x follows must
  /// still happen.
  static constexpr AnyExpr simplify(const Self& op, auto x, auto y) {
    if (!folds_none(x.dims(), op.axes)) return y;
    return reshape_to(cast_to(less(x, x), DType::int32), y.dims());
  }
  static void interpret(InterpretCall& call) {
    HostTensor& y = call.outputs[0];
    detail::visit_widest(call.inputs[0]->dtype, [&](auto zero) {
      using Wide = decltype(zero);
      if constexpr (contains(Self::domain, dtype_of<Wide>)) {
        std::vector<Wide> best(static_cast<std::size_t>(y.size()));
        reduction<Self>::each(call, [&](std::int64_t out, std::int64_t in, std::int64_t position) {
          Wide& b = best[static_cast<std::size_t>(out)];
          const Wide value = to<Wide>((*call.inputs[0])[in]);
          if (position == 0 || Better{}(value, b) || (b != b && value == value)) {
            b = value;
            y[out].integer = position;
          }
        });
      }
    });
  }
};
struct greater_of {
  constexpr auto operator()(auto a, auto b) const { return a > b; }
};
struct less_of {
  constexpr auto operator()(auto a, auto b) const { return a < b; }
};

struct ArgMax : arg_extreme<ArgMax, greater_of> {
  static constexpr std::string_view name = "ArgMax";
  std::uint32_t axes;
  std::uint32_t keep_dims;
  using better = greater_of;
  using extreme = Max;
};
struct ArgMin : arg_extreme<ArgMin, less_of> {
  static constexpr std::string_view name = "ArgMin";
  std::uint32_t axes;
  std::uint32_t keep_dims;
  using better = less_of;
  using extreme = Min;
};

/// sum(x) / N
struct Mean : composite {
  static constexpr std::string_view name = "Mean";
  static constexpr Domain domain = Domain::floating;
  std::uint32_t axes;
  std::uint32_t keep_dims;

  static constexpr Type infer(Mean op, const Type& x) {
    return {x.dtype, reduced(x.dims, op.axes, op.keep_dims != 0)};
  }
  /// N or 1/N as a constant; N may have symbols, which are then kept.
  static constexpr AnyExpr count(const Mean& op, const AnyExpr& x, bool inverse) {
    Count count{};
    for (int i = 0; i < x.dims().rank; ++i) {
      if ((op.axes >> i & 1u) != 0) count.multiply(x.dims().extent[i]);
    }
    const int powers = count.coefficient == 0 ? 0 : count.powers;
    double n = static_cast<double>(count.coefficient);
    if (inverse && powers == 0) n = n == 0 ? std::numeric_limits<double>::infinity() : 1 / n;
    return detail::constant_node(*x.graph, x.dtype(), Number{n, 0}, inverse ? -powers : powers);
  }
  static constexpr AnyExpr gradient(Mean op, auto x, auto, auto dy) {
    return Sum::gradient(Sum{{}, op.axes, op.keep_dims}, x, x, dy * count(op, x, true));
  }
  static constexpr AnyExpr expand(Mean op, auto x);
  static void interpret(InterpretCall& call) {
    const HostTensor& x = *call.inputs[0];
    HostTensor& y = call.outputs[0];
    std::vector<double> total(static_cast<std::size_t>(y.size()));
    reduction<Sum>::each(call, [&](std::int64_t out, std::int64_t in, std::int64_t) {
      total[static_cast<std::size_t>(out)] += x.value(in);
    });
    const double n = static_cast<double>(x.size()) / static_cast<double>(y.size());
    for (std::int64_t i = 0; i < y.size(); ++i) y.set(i, total[static_cast<std::size_t>(i)] / n);
  }
};

/// log(sum(exp(x))), computed from x minus its largest element, so that nothing overflows.
struct LogSumExp : composite {
  static constexpr std::string_view name = "LogSumExp";
  static constexpr Domain domain = Domain::floating;
  std::uint32_t axes;
  std::uint32_t keep_dims;

  static constexpr Type infer(LogSumExp op, const Type& x) {
    return {x.dtype, reduced(x.dims, op.axes, op.keep_dims != 0)};
  }
  static constexpr AnyExpr gradient(LogSumExp op, auto x, auto y, auto dy);
  static constexpr AnyExpr expand(LogSumExp op, auto x);
};

}  // namespace ops

/// Untyped reduction: O over the axes given as bits.
template <class O>
constexpr AnyExpr reduce(const AnyExpr& x, unsigned axes, bool keep) {
  const O op{{}, axes, keep ? 1u : 0u};
  const auto node = [&](const AnyExpr& v) {
    return add_node(*v.graph, op, &v.id, 1, O::infer(op, v.graph->type_of(v.id)));
  };
  if constexpr (O::kind == Kind::composite) {
    return detail::in_float(x, node);
  } else {
    return node(x);
  }
}

namespace ops {
constexpr AnyExpr extreme_gradient(unsigned axes, const AnyExpr& x, const AnyExpr& y,
                                   const AnyExpr& dy) {
  const Dims kept = reduced(x.dims(), axes, true);
  const AnyExpr chosen = cast_to(equal(x, reshape_to(y, kept)), x.dtype());
  return chosen / reduce<Sum>(chosen, axes, true) * reshape_to(dy, kept);
}
constexpr AnyExpr Prod::gradient(Prod op, auto x, auto, auto dy) {
  // Axis by axis: the product over one axis is an element for the next.
  AnyExpr products[max_rank] = {};  // the elements before the axis is reduced
  int axes[max_rank] = {};
  int count = 0;
  for (int axis = 0; axis < x.dims().rank; ++axis) {
    if ((op.axes >> axis & 1u) == 0 || x.dims().extent[axis] == 1) continue;
    products[count] =
        count == 0 ? x : reduce<Prod>(products[count - 1], 1u << axes[count - 1], true);
    axes[count++] = axis;
  }
  AnyExpr dx = reshape_to(dy, reduced(x.dims(), op.axes, true));
  for (int i = count - 1; i >= 0; --i) {
    dx = dx * (cumprod_along(products[i], axes[i], {.exclusive = true}) *
               cumprod_along(products[i], axes[i], {.exclusive = true, .reverse = true}));
  }
  return dx;
}
constexpr AnyExpr Mean::expand(Mean op, auto x) {
  // Not times 1/N: the mean of equal numbers is that number.
  return reduce<Sum>(x, op.axes, op.keep_dims != 0) / count(op, x, false);
}
constexpr AnyExpr LogSumExp::gradient(LogSumExp op, auto x, auto y, auto dy) {
  const Dims kept = reduced(x.dims(), op.axes, true);
  const AnyExpr of_all = reshape_to(y, kept);
  // Infinity minus infinity would be NaN, for an infinite x and for a row of -infinity.
  const AnyExpr share = where(greater_equal(x, of_all), 1, exp(x - of_all));
  const AnyExpr nothing = equal(of_all, -std::numeric_limits<double>::infinity());
  // y is rounded: the shares of large numbers do not sum to 1.
  const AnyExpr total = reduce<Sum>(share, op.axes, true);
  return where(nothing, 0, share / total * reshape_to(dy, kept));
}
constexpr AnyExpr LogSumExp::expand(LogSumExp op, auto x) {
  const auto largest = reduce<Max>(x, op.axes, true);
  // inf - inf would be NaN. Where the largest is infinite or NaN, x stays as it is.
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto finite = where(less(abs(largest), infinity), largest, 0);
  const AnyExpr y = log(reduce<Sum>(exp(x - finite), op.axes, true)) + finite;
  return reshape_to(y, reduced(x.dims(), op.axes, op.keep_dims != 0));
}
}  // namespace ops

namespace detail {

constexpr unsigned all_axes(int rank) { return (1u << rank) - 1; }

/// The axes as bits; every axis if none is named. An axis out of range, which the caller has
/// refused, counts as the last one, so that the result's rank is no second mistake.
template <int Rank, int... Axes>
constexpr unsigned axis_bits() {
  if constexpr (sizeof...(Axes) == 0) {
    return all_axes(Rank);
  } else {
    return (((normalize_axis(Axes, Rank) >= 0 ? 1u << normalize_axis(Axes, Rank)
                                              : all_axes(Rank) & ~(all_axes(Rank) >> 1)) |
             ...));
  }
}
template <int Rank, int... Axes>
inline constexpr bool axes_exist = ((normalize_axis(Axes, Rank) >= 0) && ...);

/// Fits dx to the operand whose gradient it is: sums over axes that broadcasting added, repeats
/// along axes that the rule left out.
constexpr AnyExpr fit_to(const AnyExpr& dx, const Dims& operand) {
  const Dims dims = dx.dims();
  if (dims == operand) return dx;
  const int added = dims.rank - operand.rank;
  unsigned leading = 0;
  unsigned repeated = 0;
  for (int i = 0; i < dims.rank; ++i) {
    if (i < added) {
      leading |= 1u << i;
    } else if (operand.extent[i - added] == 1 && dims.extent[i] != 1) {
      repeated |= 1u << i;
    }
  }
  AnyExpr sum = dx;
  if (repeated != 0) {
    sum = reshape_to(reduce<ops::Sum>(dx, leading | repeated, true), operand);
  } else if (leading != 0) {
    sum = reduce<ops::Sum>(dx, leading, false);
  }
  return broadcast_to(sum, operand);
}

}  // namespace detail

/// Untyped: the sum of all elements.
template <UntypedExpr X>
constexpr AnyExpr sum(const X& x) {
  return reduce<ops::Sum>(x, (1u << x.dims().rank) - 1, false);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
