// SPDX-License-Identifier: Apache-2.0
#pragma once

// Selecting rows by the elements of a tensor: where (the positions of true elements), boolean_mask,
// dynamic_partition. stitch.hpp has their counterparts.
//
// Only a run knows how many rows are selected, but every shape must be known before. So a result
// has as many rows as there can be, its bound, and comes with a count. Rows past the count are
// zero. By default the bound is the number of elements in question.
//
//   auto [rows, count] = boolean_mask(x, greater(score, 0));  // (N,D) x (N) -> (N,D), ()
//   auto mean_row = sum<0>(rows) / cast<float>(count);
//
// There are two steps: positions from data (Partition), then one Gather of rows at these positions.
// Position -1 means no row; Gather makes it zeros. Positions and counts are int32.

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <source_location>
#include <span>
#include <string>

#include "typeflow/core/error.hpp"
#include "typeflow/ops/elementwise/compare.hpp"
#include "typeflow/ops/index/gather.hpp"
#include "typeflow/ops/shape/concat.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Rows, of which the first `count` were selected. Later rows are zero.
template <TypedExpr V>
struct Selected {
  V values;
  Expr<std::int32_t> count;
};

/// The coordinates of the true elements of a mask, `count` of them. Later rows are zero.
template <TypedExpr I>
struct TrueElements {
  I indices;
  Expr<std::int32_t> count;
};

namespace detail {

/// The number of elements as the extent of one axis: [batch, 4] has 4*batch.
constexpr Extent size_as_extent(const Dims& dims) {
  const Count count = count_of(dims);
  return extent_of(count);
}
/// The same of a shape's elements, for templates (see is_static_shape).
template <class S>
struct SizeOf {
  static constexpr bool is_extent = size_as_extent(S::dims) != no_extent;
  static constexpr Extent or_zero = is_extent ? size_as_extent(S::dims) : 0;  // no second message
};

/// The shape with the `count` axes from `axis` on replaced by one of this extent.
constexpr Dims with_axis(const Dims& x, int axis, int count, Extent extent) {
  Dims out{};
  for (int i = 0; i < axis; ++i) out.append(x.extent[i]);
  out.append(extent);
  for (int i = axis + count; i < x.rank; ++i) out.append(x.extent[i]);
  return out;
}

// Errors of kernels and interpreter.

TYPEFLOW_COLD inline Error too_many_rows(const char* operation, const char* what,
                                         std::int64_t bound, std::int64_t count) {
  return Error(operation, sentence({"at most ", bound, what}), sentence({count}));
}
TYPEFLOW_COLD inline Error no_such_partition(std::int64_t partition, std::int64_t at, int parts) {
  return Error("dynamic_partition",
               sentence({"partition ", partition, " at [", at, "] is not in [0, ", parts, ")"}));
}
}  // namespace detail

namespace ops {

/// The coordinates of a mask's true elements, in row-major order, and their number.
/// (S) -> (bound, rank of S) and ()
struct WhereIndex : custom {
  static constexpr std::string_view name = "WhereIndex";
  static constexpr Derivative derivative = Derivative::zero;
  static constexpr int outputs = 2;
  Extent bound;

  static constexpr std::array<Type, 2> infer(WhereIndex op, const Type& mask) {
    const bool fits = mask.dtype == DType::boolean && mask.dims.rank > 0;
    return {Type(DType::int32, fits ? Dims{2, {op.bound, mask.dims.rank}} : no_dims),
            Type(DType::int32, {})};
  }
  static Error explain(WhereIndex, const Failure& wrong, std::span<const Dims>) {
    return detail::too_many_rows("where", " true elements", wrong.number[0], wrong.number[1]);
  }
  static void interpret(InterpretCall& call) {
    const HostTensor& mask = *call.inputs[0];
    HostTensor& indices = call.outputs[0];
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < mask.size(); ++i) count += mask[i].integer != 0;
    if (count > indices.dims.extent[0]) {
      throw explain({}, {1, {indices.dims.extent[0], count}}, {});
    }
    std::int64_t row = 0;
    for (std::int64_t i = 0; i < mask.size(); ++i) {
      if (mask[i].integer == 0) continue;
      std::int64_t rest = i;
      for (int axis = mask.dims.rank - 1; axis >= 0; --axis) {
        indices[row * mask.dims.rank + axis].integer = rest % mask.dims.extent[axis];
        rest /= mask.dims.extent[axis];
      }
      ++row;
    }
    call.outputs[1][0].integer = count;
  }
};

/// The positions of the elements that equal `part`, then -1, and their number. x holds numbers in
/// [0, parts). Or it is a mask, whose true elements are part 1. (N) -> (bound) and ()
struct Partition : custom {
  static constexpr std::string_view name = "Partition";
  static constexpr Derivative derivative = Derivative::zero;
  static constexpr int outputs = 2;
  Extent bound;
  std::int32_t part;
  std::int32_t parts;

  static constexpr std::array<Type, 2> infer(Partition op, const Type& x) {
    const bool fits = (x.dtype == DType::boolean || is_integer(x.dtype)) && x.dims.rank == 1;
    return {Type(DType::int32, fits ? Dims{1, {op.bound}} : no_dims), Type(DType::int32, {})};
  }
  static Failure wrong_part(std::int64_t part, std::int64_t at) { return {1, {part, at}}; }
  /// Error: there are more elements than fit.
  static Failure no_room(DType type, std::int64_t bound, std::int64_t count) {
    return {type == DType::boolean ? 2 : 3, {bound, count}};
  }
  static Error explain(Partition op, const Failure& wrong, std::span<const Dims>) {
    const auto& number = wrong.number;
    if (wrong.what == 1) return detail::no_such_partition(number[0], number[1], op.parts);
    return wrong.what == 2
               ? detail::too_many_rows("boolean_mask", " true elements", number[0], number[1])
               : detail::too_many_rows("dynamic_partition", " rows in a part", number[0],
                                       number[1]);
  }
  static void interpret(InterpretCall& call) {
    const Partition op = decode<Partition>(call.graph, call.node);
    const HostTensor& x = *call.inputs[0];
    HostTensor& positions = call.outputs[0];
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const std::int64_t part = x[i].integer;
      if (part < 0 || part >= op.parts) throw explain(op, wrong_part(part, i), {});
      if (part != op.part) continue;
      if (count < positions.size()) positions[count].integer = i;
      ++count;
    }
    if (count > positions.size()) {
      throw explain(op, no_room(x.dtype, positions.size(), count), {});
    }
    for (std::int64_t i = count; i < positions.size(); ++i) positions[i].integer = -1;
    call.outputs[1][0].integer = count;
  }
};

}  // namespace ops

namespace detail {

/// The slices of x at these positions along an axis, zeros for -1.
template <UntypedExpr X>
constexpr AnyExpr slices_at(const X& x, const AnyExpr& positions, int axis) {
  return gather_node(x, positions, axis, 0, Indexing::selection);
}

/// The parts of x at the selected positions. The axes of x from `axis` on that `part` has are
/// merged into one.
template <UntypedExpr X>
constexpr std::array<AnyExpr, 2> select_rows(const X& x, const AnyExpr& part, int axis,
                                             const ops::Partition& op) {
  const Extent size = size_as_extent(part.dims());
  const auto [positions, count] = apply(op, reshape_to(part, Dims{1, {size}}));
  const AnyExpr rows = reshape_to(x, with_axis(x.dims(), axis, part.dims().rank, size));
  return {slices_at(rows, positions, axis), count};
}

}  // namespace detail

// The same functions on AnyExpr, where shapes are values. Each returns the values and the count.

/// Untyped: the coordinates of true elements.
template <UntypedExpr X>
constexpr std::array<AnyExpr, 2> where(const X& mask, Extent bound) {
  return apply(ops::WhereIndex{{}, bound}, mask);
}

/// Untyped: the rows of x where the mask is true.
template <UntypedExpr X>
constexpr std::array<AnyExpr, 2> boolean_mask(const X& x, const AnyExpr& mask, int axis,
                                              Extent bound) {
  return detail::select_rows(x, mask, axis, ops::Partition{{}, bound, 1, 2});
}

/// Untyped: the rows of x whose partition is `part`, of `parts`.
template <UntypedExpr X>
constexpr std::array<AnyExpr, 2> dynamic_partition(const X& x, const AnyExpr& partitions, int part,
                                                   int parts, Extent bound) {
  return detail::select_rows(x, partitions, 0, ops::Partition{{}, bound, part, parts});
}

namespace detail {

/// The rows of x that `part` selects; its shape is that of x's axes from Axis on.
template <int Axis, Extent Bound, class X, class P>
struct SelectRule {
  static constexpr Dims x = X::shape::dims;
  static constexpr Dims part = P::shape::dims;
  static constexpr int axis = normalize_axis(Axis, X::rank);
  static constexpr bool fits = [] {
    if (axis < 0 || part.rank == 0 || axis + part.rank > x.rank) return false;
    for (int i = 0; i < part.rank; ++i) {
      if (x.extent[axis + i] != part.extent[i]) return false;
    }
    return true;
  }();
  static constexpr Extent size = size_as_extent(part);
  static constexpr Extent bound = Bound == no_extent ? size : Bound;
  static constexpr bool is_axis = size != no_extent;
  static constexpr bool valid = fits && is_axis;
  static constexpr Dims value = valid ? with_axis(x, axis, part.rank, bound) : no_dims;
};

template <Extent Bound, TypedExpr M>
constexpr auto where_typed(const M& mask, const std::source_location& at) {
  mark(at, mask);
  const auto [indices, count] = where(mask.any(), Bound);
  using I = Expr<std::int32_t, Shape<Bound, M::rank>>;
  return TrueElements<I>{I(mask.graph(), indices.id), {mask.graph(), count.id}};
}

template <int Axis, Extent Bound, TypedExpr X, TypedExpr M>
constexpr auto boolean_mask_typed(const X& x, const M& mask, const std::source_location& at) {
  static_assert(in_domain<Domain::booleans, M>,
                "boolean_mask<axis>(x, mask): the mask must be a boolean tensor");
  using Rule = SelectRule<Axis, Bound, X, M>;
  static_assert(Rule::fits,
                "boolean_mask<axis>(x, mask): the mask must have the shape of the axes of x from "
                "`axis` on, one or more of them");
  static_assert(Rule::is_axis,
                "boolean_mask<axis>(x, mask): no more than one axis of the mask can be a multiple "
                "of tf::batch");
  using V = Expr<typename X::element, shape_of_t<Rule>>;
  if constexpr (Rule::valid) {
    mark(at, x);
    const auto [values, count] = boolean_mask(x.any(), mask.any(), Rule::axis, Rule::bound);
    return typeflow::Selected<V>{V(x.graph(), values.id), {x.graph(), count.id}};
  } else {
    return typeflow::Selected<V>{};
  }
}

template <int N, Extent Bound, TypedExpr X, TypedExpr P>
constexpr auto dynamic_partition_typed(const X& x, const P& partitions,
                                       const std::source_location& at) {
  static_assert(N > 0, "dynamic_partition<n>(x, partitions): n must be positive");
  static_assert(in_domain<Domain::integers, P>,
                "dynamic_partition<n>(x, partitions): partitions must be integers");
  using Rule = SelectRule<0, Bound, X, P>;
  static_assert(Rule::fits,
                "dynamic_partition<n>(x, partitions): partitions must have the shape of the first "
                "axes of x, one or more of them");
  static_assert(Rule::is_axis,
                "dynamic_partition<n>(x, partitions): no more than one axis of partitions can be a "
                "multiple of tf::batch");
  using V = Expr<typename X::element, shape_of_t<Rule>>;
  std::array<typeflow::Selected<V>, static_cast<std::size_t>(N > 0 ? N : 1)> parts{};
  if constexpr (Rule::valid && N > 0) {
    mark(at, x);
    for (int i = 0; i < N; ++i) {
      const auto [values, count] = dynamic_partition(x.any(), partitions.any(), i, N, Rule::bound);
      parts[static_cast<std::size_t>(i)] = {V(x.graph(), values.id), {x.graph(), count.id}};
    }
  }
  return parts;
}

}  // namespace detail

/// The coordinates of the mask's true elements, in row-major order: {indices, count}.
/// (S) -> (size of S, rank of S) and ()
///
/// A mask with more than one tf::batch axis needs a bound.
template <TypedExpr M>
constexpr auto where(const M& mask, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::booleans, M>,
                "where(mask): the mask must be a boolean tensor");
  static_assert(M::rank > 0, "where(mask): the mask must have an axis");
  using Size = detail::SizeOf<typename M::shape>;
  static_assert(Size::is_extent,
                "where(mask): the number of elements is no multiple of tf::batch; say how many can "
                "be true, where<Bound>(mask)");
  return detail::where_typed<Size::or_zero>(mask, at);
}
/// The same with at most Bound true elements; more are an Error of the run.
/// (S) -> (Bound, rank of S) and ()
template <Extent Bound, TypedExpr M>
constexpr auto where(const M& mask, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::booleans, M>,
                "where<Bound>(mask): the mask must be a boolean tensor");
  static_assert(M::rank > 0, "where<Bound>(mask): the mask must have an axis");
  return detail::where_typed<Bound>(mask, at);
}

/// The parts of x at which the mask is true, in order: {values, count}. The mask has the shape of
/// the axes of x from `axis` on, which are merged into one. (A,S,B) x (S) -> (A, size of S, B) and
/// ()
template <int Axis = 0, TypedExpr X, TypedExpr M>
constexpr auto boolean_mask(const X& x, const M& mask,
                            std::source_location at = std::source_location::current()) {
  return detail::boolean_mask_typed<Axis, no_extent>(x, mask, at);
}
/// The same with at most Bound parts; more are an Error of the run: boolean_mask<0, 16>(x, mask).
/// (A,S,B) x (S) -> (A,Bound,B) and ()
template <int Axis, Extent Bound, TypedExpr X, TypedExpr M>
constexpr auto boolean_mask(const X& x, const M& mask,
                            std::source_location at = std::source_location::current()) {
  return detail::boolean_mask_typed<Axis, Bound>(x, mask, at);
}

/// The rows of x with partition 0, those with partition 1...: an array of N {values, count}.
/// Partitions have the shape of the first axes of x. (S,B) x (S) -> N times (size of S, B) and ()
///
/// A partition outside of [0, N) is an Error of the run.
template <int N, TypedExpr X, TypedExpr P>
constexpr auto dynamic_partition(const X& x, const P& partitions,
                                 std::source_location at = std::source_location::current()) {
  return detail::dynamic_partition_typed<N, no_extent>(x, partitions, at);
}
/// The same with at most Bound rows in a part; more are an Error of the run.
/// (S,B) x (S) -> N times (Bound,B) and ()
template <int N, Extent Bound, TypedExpr X, TypedExpr P>
constexpr auto dynamic_partition(const X& x, const P& partitions,
                                 std::source_location at = std::source_location::current()) {
  return detail::dynamic_partition_typed<N, Bound>(x, partitions, at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
