// SPDX-License-Identifier: Apache-2.0
#pragma once

// Operations that change the shape: reshape, expand_dims, squeeze, transpose, broadcast_to, tile,
// space_to_depth and depth_to_space; and index_along, the position of an element along an axis.

#include <array>
#include <source_location>
#include <utility>

#include "typeflow/interpret/host_tensor.hpp"
#include "typeflow/ops/elementwise/cast.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// The same elements in row-major order with another shape; no copy.
struct Reshape : view {
  static constexpr std::string_view name = "Reshape";
  static constexpr bool complex_gradient = true;
  static constexpr bool takes_strings = true;
  static constexpr int flops = 0;
  static constexpr AnyExpr gradient(Reshape, auto x, auto, auto dy) {
    return reshape_to(dy, x.dims());
  }
};

/// The elements repeated along axes of extent 1 and new leading axes.
struct BroadcastTo : elementwise {
  static constexpr Builtin builtin = Builtin::broadcast_to;
  static constexpr std::string_view name = "BroadcastTo";
  static constexpr bool complex_gradient = true;
  static constexpr bool takes_strings = true;
  static constexpr Domain domain = Domain::any;
  static constexpr bool own_type = true;
  static constexpr Number evaluate(const ir::EvaluateCall& call) { return call.inputs[0]; }
  template <class V>
  constexpr V operator()(V x) const {
    return x;
  }
  static constexpr AnyExpr gradient(BroadcastTo, auto, auto, auto dy) { return dy; }
  static constexpr AnyExpr simplify(BroadcastTo, AnyExpr x, AnyExpr y) {
    return alike(x, y) ? x : y;
  }
};

}  // namespace ops

/// x transposed, where a few cheap elementwise operations made x of smaller integers: these are
/// transposed instead, which moves fewer bytes. No value for other tensors.
constexpr AnyExpr transposed_before(const AnyExpr& x, const int* permutation, int flops);

namespace ops {

/// Axis i of the result is axis permutation[i] of x.
struct Transpose : custom {
  static constexpr Builtin builtin = Builtin::transpose;
  static constexpr std::string_view name = "Transpose";
  static constexpr bool complex_gradient = true;
  static constexpr bool takes_strings = true;
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
  /// A transpose that moves nothing, or that follows another one.
  static constexpr AnyExpr simplify(Transpose op, auto x, auto y) {
    const bool twice = made_by<Transpose>(x);
    const auto source = twice ? input_of(x, 0) : x;
    int permutation[max_rank] = {};
    bool moves = false;
    for (int i = 0; i < y.dims().rank; ++i) {
      const int axis = op.permutation[i];
      permutation[i] = twice ? operation_of<Transpose>(x).permutation[axis] : axis;
      moves = moves || permutation[i] != i;
    }
    if (!moves) return source;
    if (twice) return transpose_to(source, permutation);
    int kept = 0;
    while (permutation[kept] == kept) ++kept;
    if (kept + 2 >= y.dims().rank) return y;  // a product takes transposed matrices as they are
    constexpr int cheap = 12;
    const AnyExpr moved = transposed_before(x, permutation, cheap);
    return moved.exists() ? moved : y;
  }
  static constexpr bool layout(const Transpose& op, const Dims& x, const Dims&, Layout& out) {
    const Layout in = row_major(x);
    out = in;
    for (int i = 0; i < x.rank; ++i) out.stride[i] = in.stride[op.permutation[i]];
    return true;
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

/// The simplified view y of x: a view of x's operand, or a tensor that has y's form already.
constexpr AnyExpr viewed(const AnyExpr& x, const AnyExpr& y) {
  const AnyExpr source = y.graph->op_of(x.id).kind == Kind::view ? input_of(x, 0) : x;
  if (alike(source, y)) return source;
  if (made_by<ops::BroadcastTo>(source)) {
    const AnyExpr one = input_of(source, 0);
    const Dims dims = one.dims();
    if (squeezed(dims).rank == 0 && dims.rank <= y.dims().rank) {
      return broadcast_to(one, y.dims());  // one number everywhere, in any shape
    }
  }
  return source.id == x.id ? y : reshape_to(source, y.dims());
}

/// Untyped transpose.
constexpr AnyExpr transpose_to(const AnyExpr& x, const int* permutation) {
  ops::Transpose op{};
  for (int i = 0; i < x.dims().rank; ++i) op.permutation[i] = permutation[i];
  return add_node(*x.graph, op, &x.id, 1, Type(x.dtype(), permuted(x.dims(), permutation)));
}

constexpr AnyExpr transposed_before(const AnyExpr& x, const int* permutation, int flops) {
  ir::Graph& graph = *x.graph;
  const ir::Node node = graph.node_of(x.id);
  const ir::Op& op = *node.op;
  std::uint32_t words[8] = {};
  flops -= op.flops;
  if (op.kind != Kind::elementwise || op.effect != SideEffect::pure || !op.inferable ||
      op.words > 8 || flops < 0 || node.device != graph.device) {
    return {};
  }
  AnyExpr moved{};
  Id inputs[max_arity] = {};
  for (int k = 0; k < node.inputs.count; ++k) {
    const AnyExpr a = input_of(x, k);
    const DType type = a.dtype();
    inputs[k] = a.id;
    if (a.dims().rank == 0) continue;
    if (squeezed(a.dims()).rank <= 1) {
      const Dims dims = broadcast(a.dims(), reduced(x.dims(), ~0u, true));
      inputs[k] = reshape_to(a, permuted(dims, permutation)).id;
      continue;
    }
    if (moved.exists() || a.dims() != x.dims()) return {};
    moved = transposed_before(a, permutation, flops);
    if (!moved.exists() && (is_integer(type) || type == DType::boolean) &&
        size_of(type) < size_of(x.dtype()) && !made_by<ops::Transpose>(a) &&
        !made_by<ops::IndexAlong>(a)) {
      moved = transpose_to(a, permutation);
    }
    if (!moved.exists()) return {};
    inputs[k] = moved.id;
  }
  if (!moved.exists()) return {};
  for (int i = 0; i < op.words; ++i) words[i] = graph.words_of(node)[i];
  const Id type = graph.intern(Type(x.dtype(), permuted(x.dims(), permutation)));
  return {&graph, graph.add_value(op, inputs, node.inputs.count, type, words, op.words)};
}

/// Untyped: int32 positions along `axis` of the given shape.
constexpr AnyExpr index_along(ir::Graph& graph, const Dims& dims, int axis) {
  return add_node(graph, ops::IndexAlong{{}, static_cast<std::uint32_t>(axis)}, nullptr, 0,
                  Type(DType::int32, dims));
}

/// x with the shape [D...], its elements in row-major order: reshape<28, 28>(x). Extents with
/// tf::batch may change their factor: [batch, 4] is [4*batch].
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
    }(std::make_index_sequence<static_cast<std::size_t>(X::rank)>{});
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

namespace detail {

/// The shape with an axis of extent 1, which is `axis` of the result.
constexpr Dims expanded(const Dims& x, int axis) {
  Dims out{};
  for (int i = 0; i <= x.rank; ++i) {
    if (i == axis) out.append(1);
    if (i < x.rank) out.append(x.extent[i]);
  }
  return out;
}
template <int Axis, class S>
struct ExpandRule {
  static constexpr int axis = normalize_axis(Axis, S::rank + 1);
  static constexpr Dims value = axis < 0 || S::rank == max_rank ? no_dims : expanded(S::dims, axis);
};

/// The shape without the named axes, or without all axes of extent 1.
template <class S, int... Axes>
struct SqueezeRule {
  static constexpr Dims value = [] {
    unsigned axes = 0;
    const int named[] = {Axes..., 0};
    const int count = static_cast<int>(sizeof...(Axes));
    for (int i = 0; i < count; ++i) {
      const int axis = normalize_axis(named[i], S::rank);
      if (axis < 0 || S::dims.extent[axis] != 1) return no_dims;
      axes |= 1u << axis;
    }
    return sizeof...(Axes) == 0 ? squeezed(S::dims) : reduced(S::dims, axes, false);
  }();
};

template <class S, int... N>
struct TileRule {
  static constexpr bool valid =
      sizeof...(N) == static_cast<std::size_t>(S::rank) && S::rank < max_rank && ((N >= 0) && ...);
  static constexpr Dims value = [] {
    if (!valid) return no_dims;
    const int times[] = {N..., 0};
    Dims out = S::dims;
    for (int i = 0; i < S::rank; ++i) out.extent[i] = typeflow::times(S::dims.extent[i], times[i]);
    return out;
  }();
};

template <class S, int Block>
struct SpaceToDepthRule {
  static constexpr Dims value = [] {
    if (S::rank != 4 || Block < 1) return no_dims;
    const Extent* const x = S::dims.extent;
    if (is_symbolic(x[1]) || is_symbolic(x[2]) || is_symbolic(x[3])) return no_dims;
    if (x[1] % Block != 0 || x[2] % Block != 0) return no_dims;
    return Dims{4, {x[0], x[1] / Block, x[2] / Block, x[3] * Block * Block}};
  }();
};
template <class S, int Block>
struct DepthToSpaceRule {
  static constexpr Dims value = [] {
    if (S::rank != 4 || Block < 1) return no_dims;
    const Extent* const x = S::dims.extent;
    if (is_symbolic(x[1]) || is_symbolic(x[2]) || is_symbolic(x[3])) return no_dims;
    if (x[3] % (Block * Block) != 0) return no_dims;
    return Dims{4, {x[0], x[1] * Block, x[2] * Block, x[3] / (Block * Block)}};
  }();
};

}  // namespace detail

/// x with a new axis of extent 1, which is `Axis` of the result: expand_dims<0>(x);
/// expand_dims<-1>(x) adds it behind the last. (A,B) -> (1,A,B)
template <int Axis, TypedExpr X>
constexpr auto expand_dims(const X& x, std::source_location at = std::source_location::current()) {
  using Rule = detail::ExpandRule<Axis, typename X::shape>;
  static_assert(Rule::value.valid(), "expand_dims<axis>(x): the result has no such axis");
  detail::mark(at, x);
  return Expr<typename X::element, shape_of_t<Rule>>(x.graph(),
                                                     reshape_to(x.any(), Rule::value).id);
}

/// x without the named axes, whose extents must be 1; by default without all axes of extent 1.
/// squeeze<1, 2>(x): (A,1,1,B) -> (A,B)
template <int... Axes, TypedExpr X>
constexpr auto squeeze(const X& x, std::source_location at = std::source_location::current()) {
  using Rule = detail::SqueezeRule<typename X::shape, Axes...>;
  static_assert(Rule::value.valid(), "squeeze<axes...>(x): the axes must be axes of x of extent 1");
  detail::mark(at, x);
  return Expr<typename X::element, shape_of_t<Rule>>(x.graph(),
                                                     reshape_to(x.any(), Rule::value).id);
}

/// x repeated along its axes of extent 1, and along new leading axes, to the shape [D...]:
/// broadcast_to<4, 3>(x). (3) -> (4,3)
template <Extent... D, TypedExpr X>
constexpr auto broadcast_to(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(broadcast(X::shape::dims, Shape<D...>::dims) == Shape<D...>::dims,
                "broadcast_to<D...>(x): x must broadcast to the shape");
  detail::mark(at, x);
  return Expr<typename X::element, Shape<D...>>(x.graph(),
                                                broadcast_to(x.any(), Shape<D...>::dims).id);
}

/// Untyped tile: times[i] copies along axis i. [.., n, ..] is read as [.., 1, n, ..] and repeated
/// to [.., times, n, ..], as many axes at a time as max_rank allows.
constexpr AnyExpr tile_to(const AnyExpr& x, const int* times) {
  AnyExpr y = x;
  const int rank = x.dims().rank;
  for (int axis = 0; axis < rank;) {
    const Dims before = y.dims();
    Dims split{};
    Dims repeated{};
    Dims after{};
    int room = max_rank - rank;
    int next = rank;
    for (int i = 0; i < rank; ++i) {
      const bool tiled = i >= axis && times[i] != 1;
      const bool now = tiled && room > 0;
      if (tiled && !now && next == rank) next = i;
      if (now) {
        --room;
        split.append(1);
        repeated.append(times[i]);
      }
      split.append(before.extent[i]);
      repeated.append(before.extent[i]);
      after.append(now ? typeflow::times(before.extent[i], times[i]) : before.extent[i]);
    }
    y = reshape_to(broadcast_to(reshape_to(y, split), repeated), after);
    axis = next;
  }
  return y;
}

/// x repeated N times along each axis, with one number for each axis: tile<2, 1>(x). (A,B) ->
/// (2*A,B)
template <int... N, TypedExpr X>
constexpr auto tile(const X& x, std::source_location at = std::source_location::current()) {
  using Rule = detail::TileRule<typename X::shape, N...>;
  static_assert(
      Rule::value.valid(),
      "tile<n...>(x): one number, 0 or more, is needed for each axis of x, which may have "
      "7 axes");
  detail::mark(at, x);
  const int times[] = {N..., 0};
  return Expr<typename X::element, shape_of_t<Rule>>(x.graph(), tile_to(x.any(), times).id);
}

/// Blocks of pixels as channels, row by row, for images (N,H,W,C).
/// (N,H,W,C) -> (N,H/Block,W/Block,Block*Block*C)
template <int Block, TypedExpr X>
constexpr auto space_to_depth(const X& x,
                              std::source_location at = std::source_location::current()) {
  using Rule = detail::SpaceToDepthRule<typename X::shape, Block>;
  static_assert(Rule::value.valid(),
                "space_to_depth<block>(x): x must be (N,H,W,C), H and W multiples of the block");
  detail::mark(at, x);
  const Dims& y = Rule::value;
  const Extent c = X::shape::dims.extent[3];
  const int permutation[] = {0, 1, 3, 2, 4, 5};
  const AnyExpr blocks = reshape_to(x.any(), Dims{6, {y[0], y[1], Block, y[2], Block, c}});
  return Expr<typename X::element, shape_of_t<Rule>>(
      x.graph(), reshape_to(transpose_to(blocks, permutation), y).id);
}

/// The inverse of space_to_depth: channels as blocks of pixels.
/// (N,H,W,Block*Block*C) -> (N,H*Block,W*Block,C)
template <int Block, TypedExpr X>
constexpr auto depth_to_space(const X& x,
                              std::source_location at = std::source_location::current()) {
  using Rule = detail::DepthToSpaceRule<typename X::shape, Block>;
  static_assert(Rule::value.valid(),
                "depth_to_space<block>(x): x must be (N,H,W,C), C a multiple of block * block");
  detail::mark(at, x);
  const Dims& y = Rule::value;
  const Dims& shape = X::shape::dims;
  const int permutation[] = {0, 1, 3, 2, 4, 5};
  const AnyExpr blocks =
      reshape_to(x.any(), Dims{6, {shape[0], shape[1], shape[2], Block, Block, y[3]}});
  return Expr<typename X::element, shape_of_t<Rule>>(
      x.graph(), reshape_to(transpose_to(blocks, permutation), y).id);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
