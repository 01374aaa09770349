// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reductions over axes known at compile time: sum, mean, max, min, argmax, argmin.
//
//   sum(x)                  over all axes, a scalar
//   sum<1>(x)               over axis 1; sum<0, 2>(x) over two; negative axes count from the end
//   sum<1>(x, keep_dims)    the reduced axes stay, with extent 1

#include <cstdint>
#include <limits>
#include <source_location>

#include "typeflow/front/shape_ops.hpp"

namespace typeflow {

/// Tag: reduced axes stay in the shape with extent 1.
struct KeepDims {};
inline constexpr KeepDims keep_dims{};

namespace ops {

/// What all reductions share: the axes as bits, and whether they stay with extent 1.
template <class Self>
struct reduction : operation_base {
  static constexpr Kind kind = Kind::reduction;
  static constexpr Domain domain = Domain::real;
  static constexpr bool index_result = false;  ///< the result is a position: argmax
  static constexpr DType result(DType element) { return element; }
  static constexpr Type infer(const Self& op, const Type& x) {
    return {Self::result(x.dtype), reduced(x.dims, op.axes, op.keep_dims != 0)};
  }
  /// Calls f(output position, input position, position among the reduced) for every element.
  template <class F>
  static void each(const InterpretCall& call, const F& f) {
    const Self op = decode<Self>(call.graph, call.node);
    const HostTensor& x = *call.inputs[0];
    for (std::int64_t i = 0; i < x.size(); ++i) {
      std::int64_t out = 0;
      std::int64_t out_stride = 1;
      std::int64_t in = 0;
      std::int64_t in_stride = 1;
      std::int64_t rest = i;
      for (int axis = x.dims.rank - 1; axis >= 0; --axis) {
        const std::int64_t extent = x.dims.extent[axis];
        const bool is_reduced = (op.axes >> axis & 1u) != 0;
        (is_reduced ? in : out) += rest % extent * (is_reduced ? in_stride : out_stride);
        (is_reduced ? in_stride : out_stride) *= extent;
        rest /= extent;
      }
      f(out, i, in);
    }
  }
  /// Folds numbers of 8 bytes: the interpreter is exact where kernels round.
  static void interpret(InterpretCall& call) {
    const Self op = decode<Self>(call.graph, call.node);
    HostTensor& y = call.outputs[0];
    visit_dtype(y.dtype, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (contains(Self::domain, dtype_of<T>)) {
        using Wide = detail::Widest<T>;
        std::vector<Wide> total(static_cast<std::size_t>(y.size()),
                                static_cast<Wide>(Self::template identity<detail::Computed<T>>()));
        each(call, [&](std::int64_t out, std::int64_t in, std::int64_t) {
          Wide& t = total[static_cast<std::size_t>(out)];
          t = op(t, to<Wide>((*call.inputs[0])[in]));
        });
        for (std::int64_t i = 0; i < y.size(); ++i) {
          y[i] = number_from(detail::convert_element<T>(total[static_cast<std::size_t>(i)]));
        }
      }
    });
  }
};

struct Sum : reduction<Sum> {
  static constexpr std::string_view name = "Sum";
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

/// The gradient of max and min: to the elements that are the extreme, in equal parts.
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
  static constexpr AnyExpr gradient(Max op, AnyExpr x, AnyExpr y, AnyExpr dy) {
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
  static constexpr AnyExpr gradient(Min op, AnyExpr x, AnyExpr y, AnyExpr dy) {
    return extreme_gradient(op.axes, x, y, dy);
  }
};

/// The position of the extreme along one axis; the first where several are equal.
template <class Self, class Better>
struct arg_extreme : reduction<Self> {
  static constexpr bool index_result = true;
  static constexpr Derivative derivative = Derivative::zero;
  static constexpr DType result(DType) { return DType::int32; }
  static void interpret(InterpretCall& call) {
    HostTensor& y = call.outputs[0];
    visit_dtype(call.inputs[0]->dtype, [&](auto zero) {
      if constexpr (contains(Self::domain, dtype_of<decltype(zero)>)) {
        using Wide = detail::Widest<decltype(zero)>;
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

/// sum(x) / N; the sum times 1/N before fusion.
struct Mean : composite {
  static constexpr std::string_view name = "Mean";
  std::uint32_t axes;
  std::uint32_t keep_dims;

  static constexpr Type infer(Mean op, const Type& x) {
    return {x.dtype, reduced(x.dims, op.axes, op.keep_dims != 0)};
  }
  /// 1/N as a constant; N may hold a power of batch.
  static constexpr AnyExpr reciprocal(const Mean& op, const AnyExpr& x) {
    Count count{};
    for (int i = 0; i < x.dims().rank; ++i) {
      if ((op.axes >> i & 1u) != 0) count.multiply(x.dims().extent[i]);
    }
    const double n = static_cast<double>(count.coefficient);
    const double value = count.coefficient == 0 ? std::numeric_limits<double>::infinity() : 1 / n;
    return detail::constant_node(*x.graph, x.dtype(), Number{value, 0}, -count.power);
  }
  static constexpr AnyExpr gradient(Mean op, auto x, auto, auto dy) {
    return Sum::gradient(Sum{{}, op.axes, op.keep_dims}, x, x, dy * reciprocal(op, x));
  }
  static constexpr AnyExpr expand(Mean op, AnyExpr x);
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

}  // namespace ops

/// Untyped reduction: O over the axes given as bits.
template <class O>
constexpr AnyExpr reduce(const AnyExpr& x, unsigned axes, bool keep) {
  const O op{{}, axes, keep ? 1u : 0u};
  return add_node(*x.graph, op, &x.id, 1, O::infer(op, x.graph->type_of(x.id)));
}

namespace ops {
constexpr AnyExpr extreme_gradient(unsigned axes, const AnyExpr& x, const AnyExpr& y,
                                   const AnyExpr& dy) {
  const Dims kept = reduced(x.dims(), axes, true);
  const AnyExpr chosen = cast_to(equal(x, reshape_to(y, kept)), x.dtype());
  return chosen / reduce<Sum>(chosen, axes, true) * reshape_to(dy, kept);
}
constexpr AnyExpr Mean::expand(Mean op, AnyExpr x) {
  return reduce<Sum>(x, op.axes, op.keep_dims != 0) * reciprocal(op, x);
}
}  // namespace ops

namespace detail {

constexpr unsigned all_axes(int rank) { return (1u << rank) - 1; }

/// The axes as bits; every axis where none is named.
template <int Rank, int... Axes>
constexpr unsigned axis_bits() {
  if constexpr (sizeof...(Axes) == 0) {
    return all_axes(Rank);
  } else {
    return ((normalize_axis(Axes, Rank) < 0 ? 0u : 1u << normalize_axis(Axes, Rank)) | ...);
  }
}
template <int Rank, int... Axes>
inline constexpr bool axes_exist = ((normalize_axis(Axes, Rank) >= 0) && ...);

template <class S, unsigned Axes, bool Keep>
struct ReduceRule {
  static constexpr Dims value = reduced(S::dims, Axes, Keep);
};

template <class O, bool Keep, int... Axes, TypedExpr X>
constexpr auto reduce_typed(const X& x, const std::source_location& at) {
  constexpr unsigned axes = axis_bits<X::rank, Axes...>();
  using T = element_of<[] {
    if constexpr (requires { O::result(DType::int32); }) {
      return O::result(X::type.dtype);
    } else {
      return X::type.dtype;
    }
  }()>;
  using E = Expr<T, shape_of_t<ReduceRule<typename X::shape, axes, Keep>>>;
  mark(at, x);
  const Id id = x.id();
  return E(x.graph(), add_node(x.graph(), O{{}, axes, Keep ? 1u : 0u}, &id, 1, E::type).id);
}

/// Makes dx fit the operand that it is the gradient of: sums over the axes that broadcasting
/// added, repeats along those that the rule left out.
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

/// The sum over axes, all if none is named.
template <int... Axes, TypedExpr X>
constexpr auto sum(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::axes_exist<X::rank, Axes...>, "sum<axes...>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::numbers, X>, "sum(x): x must be a tensor of numbers");
  return detail::reduce_typed<ops::Sum, false, Axes...>(x, at);
}

/// The sum over axes, all if none is named. The axes stay with extent 1.
template <int... Axes, TypedExpr X>
constexpr auto sum(const X& x, KeepDims,
                   std::source_location at = std::source_location::current()) {
  static_assert(detail::axes_exist<X::rank, Axes...>, "sum<axes...>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::numbers, X>, "sum(x): x must be a tensor of numbers");
  return detail::reduce_typed<ops::Sum, true, Axes...>(x, at);
}

/// The mean over axes, all if none is named.
template <int... Axes, TypedExpr X>
constexpr auto mean(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::axes_exist<X::rank, Axes...>, "mean<axes...>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::floating, X>,
                "mean(x): x must be float or double; convert with cast<float>(x)");
  return detail::reduce_typed<ops::Mean, false, Axes...>(x, at);
}

/// The mean over axes, all if none is named. The axes stay with extent 1.
template <int... Axes, TypedExpr X>
constexpr auto mean(const X& x, KeepDims,
                    std::source_location at = std::source_location::current()) {
  static_assert(detail::axes_exist<X::rank, Axes...>, "mean<axes...>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::floating, X>,
                "mean(x): x must be float or double; convert with cast<float>(x)");
  return detail::reduce_typed<ops::Mean, true, Axes...>(x, at);
}

/// The largest element over axes, all if none is named; NaN if there is one.
template <int... Axes, TypedExpr X>
constexpr auto max(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::axes_exist<X::rank, Axes...>, "max<axes...>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::numbers, X>, "max(x): x must be a tensor of numbers");
  return detail::reduce_typed<ops::Max, false, Axes...>(x, at);
}

/// The largest element over axes, all if none is named; NaN if there is one. The axes stay with
/// extent 1.
template <int... Axes, TypedExpr X>
constexpr auto max(const X& x, KeepDims,
                   std::source_location at = std::source_location::current()) {
  static_assert(detail::axes_exist<X::rank, Axes...>, "max<axes...>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::numbers, X>, "max(x): x must be a tensor of numbers");
  return detail::reduce_typed<ops::Max, true, Axes...>(x, at);
}

/// The smallest element over axes, all if none is named; NaN if there is one.
template <int... Axes, TypedExpr X>
constexpr auto min(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::axes_exist<X::rank, Axes...>, "min<axes...>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::numbers, X>, "min(x): x must be a tensor of numbers");
  return detail::reduce_typed<ops::Min, false, Axes...>(x, at);
}

/// The smallest element over axes, all if none is named; NaN if there is one. The axes stay with
/// extent 1.
template <int... Axes, TypedExpr X>
constexpr auto min(const X& x, KeepDims,
                   std::source_location at = std::source_location::current()) {
  static_assert(detail::axes_exist<X::rank, Axes...>, "min<axes...>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::numbers, X>, "min(x): x must be a tensor of numbers");
  return detail::reduce_typed<ops::Min, true, Axes...>(x, at);
}

/// The int32 position of the largest element along one axis, the first of equals.
template <int... Axes, TypedExpr X>
constexpr auto argmax(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::axes_exist<X::rank, Axes...>, "argmax<axes...>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::numbers, X>, "argmax(x): x must be a tensor of numbers");
  static_assert(sizeof...(Axes) == 1, "argmax<axis>(x): one axis must be named");
  return detail::reduce_typed<ops::ArgMax, false, Axes...>(x, at);
}

/// The int32 position of the largest element along one axis, the first of equals. The axes stay
/// with extent 1.
template <int... Axes, TypedExpr X>
constexpr auto argmax(const X& x, KeepDims,
                      std::source_location at = std::source_location::current()) {
  static_assert(detail::axes_exist<X::rank, Axes...>, "argmax<axes...>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::numbers, X>, "argmax(x): x must be a tensor of numbers");
  static_assert(sizeof...(Axes) == 1, "argmax<axis>(x): one axis must be named");
  return detail::reduce_typed<ops::ArgMax, true, Axes...>(x, at);
}

/// The int32 position of the smallest element along one axis, the first of equals.
template <int... Axes, TypedExpr X>
constexpr auto argmin(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::axes_exist<X::rank, Axes...>, "argmin<axes...>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::numbers, X>, "argmin(x): x must be a tensor of numbers");
  static_assert(sizeof...(Axes) == 1, "argmin<axis>(x): one axis must be named");
  return detail::reduce_typed<ops::ArgMin, false, Axes...>(x, at);
}

/// The int32 position of the smallest element along one axis, the first of equals. The axes stay
/// with extent 1.
template <int... Axes, TypedExpr X>
constexpr auto argmin(const X& x, KeepDims,
                      std::source_location at = std::source_location::current()) {
  static_assert(detail::axes_exist<X::rank, Axes...>, "argmin<axes...>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::numbers, X>, "argmin(x): x must be a tensor of numbers");
  static_assert(sizeof...(Axes) == 1, "argmin<axis>(x): one axis must be named");
  return detail::reduce_typed<ops::ArgMin, true, Axes...>(x, at);
}

}  // namespace typeflow
