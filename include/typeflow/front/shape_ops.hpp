// SPDX-License-Identifier: Apache-2.0
#pragma once

// Operations that change the shape: reshape, transpose, broadcast_to; and index_along, the
// position of an element along an axis.

#include <array>
#include <source_location>
#include <utility>

#include "typeflow/front/cast.hpp"
#include "typeflow/graph/host_tensor.hpp"

namespace typeflow {

namespace ops {

/// The same elements in row-major order with another shape; no copy.
struct Reshape : operation_base {
  static constexpr std::string_view name = "Reshape";
  static constexpr Kind kind = Kind::view;
  static constexpr int flops = 0;
  static constexpr AnyExpr gradient(Reshape, auto x, auto, auto dy) {
    return reshape_to(dy, x.dims());
  }
};

/// The elements repeated along axes of extent 1 and new leading axes.
struct BroadcastTo : operation_base {
  static constexpr Builtin builtin = Builtin::broadcast_to;
  static constexpr std::string_view name = "BroadcastTo";
  static constexpr Kind kind = Kind::elementwise;
  static constexpr Domain domain = Domain::any;
  static constexpr bool condition_first = false;
  static constexpr bool nullary = true;  // the shape is no function of the input's
  static constexpr DType result(DType element) { return element; }
  template <class V>
  constexpr V operator()(V x) const {
    return x;
  }
  static constexpr AnyExpr gradient(BroadcastTo, auto, auto, auto dy) { return dy; }
};

/// Axis i of the result is axis permutation[i] of x.
struct Transpose : custom {
  static constexpr Builtin builtin = Builtin::transpose;
  static constexpr std::string_view name = "Transpose";
  static constexpr int flops = 0;
  std::int32_t permutation[max_rank];

  static constexpr Type infer(Transpose op, const Type& x) {
    return {x.dtype, permuted(x.dims, op.permutation)};
  }
  static constexpr AnyExpr gradient(Transpose op, auto x, auto, auto dy) {
    int inverse[max_rank] = {};
    for (int i = 0; i < x.dims().rank; ++i) inverse[op.permutation[i]] = i;
    return transpose_to(dy, inverse);
  }
  static void interpret(InterpretCall& call) {
    const HostTensor& x = *call.inputs[0];
    HostTensor& y = call.outputs[0];
    const Transpose op = decode<Transpose>(call.graph, call.node);
    std::int64_t strides[max_rank] = {};
    std::int64_t stride = 1;
    for (int i = x.dims.rank - 1; i >= 0; --i) {
      strides[i] = stride;
      stride *= x.dims.extent[i];
    }
    for (std::int64_t i = 0; i < y.size(); ++i) {
      std::int64_t position = 0;
      std::int64_t rest = i;
      for (int axis = y.dims.rank - 1; axis >= 0; --axis) {
        position += rest % y.dims.extent[axis] * strides[op.permutation[axis]];
        rest /= y.dims.extent[axis];
      }
      y[i] = x[position];
    }
  }
};

/// Element [.., i, ..] is i, the position along one axis.
struct IndexAlong : operation_base {
  static constexpr Builtin builtin = Builtin::index_along;
  static constexpr std::string_view name = "IndexAlong";
  static constexpr Kind kind = Kind::source;
  static constexpr Derivative derivative = Derivative::zero;
  std::uint32_t axis;
};

}  // namespace ops

/// Untyped reshape; the element counts must agree.
constexpr AnyExpr reshape_to(const AnyExpr& x, const Dims& dims) {
  if (x.dims() == dims) return x;
  return add_node(*x.graph, ops::Reshape{}, &x.id, 1, Type(x.dtype(), dims));
}

/// Untyped broadcast to a shape that x's broadcasts to.
constexpr AnyExpr broadcast_to(const AnyExpr& x, const Dims& dims) {
  if (x.dims() == dims) return x;
  return add_node(*x.graph, ops::BroadcastTo{}, &x.id, 1, Type(x.dtype(), dims));
}

/// Untyped transpose.
constexpr AnyExpr transpose_to(const AnyExpr& x, const int* permutation) {
  ops::Transpose op{};
  for (int i = 0; i < x.dims().rank; ++i) op.permutation[i] = permutation[i];
  return add_node(*x.graph, op, &x.id, 1, Type(x.dtype(), permuted(x.dims(), permutation)));
}

/// Untyped: int32 positions along `axis` of the given shape.
constexpr AnyExpr index_along(Graph& graph, const Dims& dims, int axis) {
  return add_node(graph, ops::IndexAlong{{}, static_cast<std::uint32_t>(axis)}, nullptr, 0,
                  Type(DType::int32, dims));
}

/// x with the shape [D...], its elements in row-major order: reshape<28, 28>(x). Extents that are
/// multiples of tf::batch may change their factor: [batch, 4] is [4*batch].
template <Extent... D, TypedExpr X>
constexpr auto reshape(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(count_of(Shape<D...>::dims) == count_of(X::shape::dims),
                "reshape<D...>(x): the new shape must have as many elements as x");
  detail::mark(at, x);
  return Expr<typename X::element, Shape<D...>>(x.graph(),
                                                reshape_to(x.any(), Shape<D...>::dims).id);
}

namespace detail {
template <class S, int... P>
struct PermutationRule {
  static constexpr bool valid = [] {
    unsigned seen = 0;
    ((seen |= P >= 0 && P < S::rank ? 1u << P : 0u), ...);
    return sizeof...(P) == static_cast<std::size_t>(S::rank) && seen == (1u << S::rank) - 1;
  }();
  static constexpr Dims value = [] {
    if constexpr (valid) {
      const int permutation[] = {P..., 0};
      return permuted(S::dims, permutation);
    } else {
      return no_dims;
    }
  }();
};
}  // namespace detail

/// The axes of x in another order: transpose<1, 0>(x); without numbers, in reverse order.
/// (A,B,C) -> (C,B,A)
template <int... P, TypedExpr X>
constexpr auto transpose(const X& x, std::source_location at = std::source_location::current()) {
  if constexpr (sizeof...(P) == 0 && X::rank > 0) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return transpose<(X::rank - 1 - static_cast<int>(I))...>(x, at);
    }
    (std::make_index_sequence<static_cast<std::size_t>(X::rank)>{});
  } else {
    using Rule = detail::PermutationRule<typename X::shape, P...>;
    static_assert(Rule::valid,
                  "transpose<axes...>(x): the axes must be a permutation of the axes of x");
    detail::mark(at, x);
    const int permutation[] = {P..., 0};
    return Expr<typename X::element, shape_of_t<Rule>>(x.graph(),
                                                       transpose_to(x.any(), permutation).id);
  }
}

}  // namespace typeflow
