// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sorting along an axis: top_k, sort, argsort; and in_top_k.
//
// Equal elements stay in the order of their positions, in both directions, so results are the same
// everywhere. NaN counts as larger than every number: it comes first in top_k and in descending
// order, last in ascending order. (TensorFlow does not specify that.)

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/ops/elementwise/numerics.hpp"
#include "typeflow/ops/index/gather.hpp"
#include "typeflow/ops/reduce/reduce.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Settings of sort and argsort.
struct SortOptions {
  bool descending = false;
};

namespace detail {

/// Whether element i, x, comes before element j, y.
template <class T>
constexpr bool in_order(const T& x, std::int64_t i, const T& y, std::int64_t j, bool ascending) {
  const T& low = ascending ? x : y;
  const T& high = ascending ? y : x;
  const bool less = low < high;
  if (less != (high < low)) return less;  // one branch, which is well predicted
  const bool low_is_nan = low != low;
  const bool high_is_nan = high != high;
  return low_is_nan == high_is_nan ? i < j : high_is_nan;
}

}  // namespace detail

namespace ops {

/// The first `count` elements of each row, in order, and their positions in it.
struct TopK : custom {
  static constexpr std::string_view name = "TopK";
  static constexpr Domain domain = Domain::real;
  static constexpr int outputs = 2;
  Extent count;
  std::uint64_t ascending;  // 64 bits: attributes have no padding

  static constexpr std::array<Type, 2> infer(const TopK& op, const Type& x) {
    Dims dims = x.dims.rank < 1 || !contains(domain, x.dtype) ? no_dims : x.dims;
    if (dims.valid()) dims.extent[dims.rank - 1] = op.count;
    return {Type{x.dtype, dims}, Type{DType::int32, dims}};
  }
  /// The gradient for an element goes back to its position.
  static constexpr AnyExpr gradient(TopK, auto x, const std::array<AnyExpr, 2>& y,
                                    const std::array<AnyExpr, 2>& dy) {
    if (!dy[0].exists()) return {};
    const int last = x.dims().rank - 1;
    return detail::scatter_sum_node(y[1], dy[0], x.dims().extent[last], last, last,
                                    Indexing::gather);
  }
  TYPEFLOW_COLD static Error explain(const TopK&, const Failure& wrong, std::span<const Dims>) {
    return Error("top_k", detail::sentence({"k = ", wrong.number[0], ", but a row has ",
                                            wrong.number[1], " elements"}));
  }
  static void interpret(InterpretCall& call) {
    const bool ascending = decode<TopK>(call.graph, call.node).ascending != 0;
    const HostTensor& x = *call.inputs[0];
    HostTensor& values = call.outputs[0];
    HostTensor& indices = call.outputs[1];
    const std::int64_t length = x.dims.extent[x.dims.rank - 1];
    const std::int64_t count = values.dims.extent[x.dims.rank - 1];
    if (count > length) throw explain({}, {1, {count, length}}, {});
    std::vector<std::int64_t> order(static_cast<std::size_t>(length));
    for (std::int64_t row = 0; count > 0 && row < values.size() / count; ++row) {
      for (std::int64_t i = 0; i < length; ++i) order[static_cast<std::size_t>(i)] = i;
      std::sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
        return detail::visit_widest(x.dtype, [&](auto zero) {
          using Wide = decltype(zero);
          if constexpr (contains(domain, dtype_of<Wide>)) {
            return detail::in_order(typeflow::to<Wide>(x[row * length + i]), i,
                                    typeflow::to<Wide>(x[row * length + j]), j, ascending);
          } else {
            return false;
          }
        });
      });
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t position = order[static_cast<std::size_t>(i)];
        values[row * count + i] = x[row * length + position];
        indices[row * count + i].integer = position;
      }
    }
  }
};

}  // namespace ops

/// Untyped: the first `count` elements along the last axis, in order, and their positions.
template <UntypedExpr X>
constexpr std::array<AnyExpr, 2> top_k_along_last(const X& x, Extent count, bool ascending) {
  const ops::TopK op{{}, count, ascending ? 1u : 0u};
  return add_node(*x.graph, op, &x.id, 1, ops::TopK::infer(op, x.graph->type_of(x.id)));
}

namespace detail {

/// x with an axis and the last one exchanged.
template <UntypedExpr X>
constexpr AnyExpr exchange_with_last(const X& x, int axis) {
  const int last = x.dims().rank - 1;
  if (axis == last) return x;
  int permutation[max_rank] = {};
  for (int i = 0; i <= last; ++i) permutation[i] = i;
  std::swap(permutation[axis], permutation[last]);
  return transpose_to(x, permutation);
}

/// Untyped: all elements in order along an axis (output 0), or their positions (output 1).
template <UntypedExpr X>
constexpr AnyExpr sort_along(const X& x, int axis, SortOptions options, std::size_t output) {
  const AnyExpr rows = exchange_with_last(x, axis);
  const Extent length = x.dims().extent[axis];
  const AnyExpr sorted = top_k_along_last(rows, length, !options.descending)[output];
  return exchange_with_last(sorted, axis);
}

/// Whether an axis has `count` elements, as far as that is known.
constexpr bool may_have(Extent length, Extent count) {
  if (symbols_of(count) == symbols_of(length)) return factor_of(count) <= factor_of(length);
  return !is_symbolic(count) && is_symbolic(length);
}

template <class S, Extent Count>
struct TopKRule {
  static constexpr bool fits = S::rank > 0 && may_have(S::dims.extent[S::rank - 1], Count);
  static constexpr Dims value = [] {
    Dims dims = S::dims;
    if (fits) dims.extent[S::rank - 1] = Count;
    return dims;
  }();
};

}  // namespace detail

/// The results of top_k.
template <TypedExpr V, TypedExpr I>
struct TopK {
  V values;
  I indices;
};

/// The k largest elements of each row along the last axis, the largest first, and their int32
/// positions, the lower one first for equals: auto [values, indices] = top_k<5>(x).
/// (..,N) -> (..,k), (..,k). NaN counts as larger than every number.
///
/// Gradients of the values go to the elements that were chosen. If N is tf::batch, a run with less
/// than k elements is an error.
template <Extent K, TypedExpr X>
constexpr auto top_k(const X& x, std::source_location at = std::source_location::current()) {
  using Rule = detail::TopKRule<typename X::shape, K>;
  static_assert(X::rank >= 1, "top_k<k>(x): x must have an axis");
  static_assert(X::rank < 1 || Rule::fits,
                "top_k<k>(x): the last axis of x has less than k elements");
  static_assert(detail::in_domain<Domain::real, X>,
                "top_k<k>(x): x must be a tensor of real numbers");
  detail::mark(at, x);
  using S = shape_of_t<Rule>;
  const auto [values, indices] = top_k_along_last(x.any(), K, false);
  return TopK<Expr<typename X::element, S>, Expr<std::int32_t, S>>{{x.graph(), values.id},
                                                                   {x.graph(), indices.id}};
}

/// The elements in ascending order along an axis, by default the last: sort<0>(x, {.descending =
/// true}). (A,N,B) -> (A,N,B). NaN comes after every number, in descending order before. The
/// gradient goes to the elements' old positions.
template <int Axis = -1, TypedExpr X>
constexpr auto sort(const X& x, SortOptions options = {},
                    std::source_location at = std::source_location::current()) {
  constexpr int axis = normalize_axis(Axis, X::rank);
  static_assert(axis >= 0, "sort<axis>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::real, X>,
                "sort<axis>(x): x must be a tensor of real numbers");
  detail::mark(at, x);
  return detail::same_type(x, detail::sort_along(x.any(), axis, options, 0).id);
}

/// The int32 positions of the elements in sorted order; in both directions the lower position first
/// for equal elements. (A,N,B) -> (A,N,B)
template <int Axis = -1, TypedExpr X>
constexpr auto argsort(const X& x, SortOptions options = {},
                       std::source_location at = std::source_location::current()) {
  constexpr int axis = normalize_axis(Axis, X::rank);
  static_assert(axis >= 0, "argsort<axis>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::real, X>,
                "argsort<axis>(x): x must be a tensor of real numbers");
  detail::mark(at, x);
  return Expr<std::int32_t, typename X::shape>(x.graph(),
                                               detail::sort_along(x.any(), axis, options, 1).id);
}

namespace detail {
template <UntypedExpr X>
constexpr AnyExpr in_top_k(const X& predictions, const AnyExpr& targets, int k) {
  const Dims dims = predictions.dims();
  const int axis = dims.rank - 1;
  const unsigned bit = 1u << axis;
  Dims classes = dims;
  for (int i = 0; i < axis; ++i) classes.extent[i] = 1;
  const DType type = size_of(targets.dtype()) == 8 ? DType::int64 : DType::int32;
  const AnyExpr target = cast_to(reshape_to(targets, reduced(dims, bit, true)), type);
  const AnyExpr hit = equal(cast_to(index_along(*predictions.graph, classes, axis), type), target);
  const auto chosen = reduce<ops::Sum>(where(hit, predictions, 0), bit, true);
  const auto larger =
      reduce<ops::Sum>(cast_to(greater(predictions, chosen), DType::int32), bit, true);
  const auto finite = reduce<ops::All>(is_finite(predictions), bit, true);
  const AnyExpr found = reduce<ops::Any>(hit, bit, true);
  return reshape_to(logical_and(logical_and(finite, found), less(larger, k)), targets.dims());
}
}  // namespace detail

/// Whether the target class is among the k largest predictions of a row; ties count as in:
/// in_top_k(logits, labels, 5). (..,C) x (..) -> (..), booleans. As in TensorFlow, false if the
/// target is no class, or if a prediction of the row is NaN or infinite.
template <TypedExpr P, TypedExpr I>
constexpr auto in_top_k(const P& predictions, const I& targets, int k,
                        std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, P> && P::rank >= 1,
                "in_top_k(predictions, targets, k): the predictions must be floating-point, "
                "with one axis at least");
  static_assert(detail::in_domain<Domain::integers, I>,
                "in_top_k(predictions, targets, k): the targets must be integers");
  static_assert(
      P::rank < 1 ||
          reduced(P::shape::dims, 1u << (P::rank > 0 ? P::rank - 1 : 0), false) == I::shape::dims,
      "in_top_k(predictions, targets, k): the targets must have the shape of the predictions "
      "without the last axis");
  detail::mark(at, predictions);
  return Expr<bool, typename I::shape>(predictions.graph(),
                                       detail::in_top_k(predictions.any(), targets.any(), k).id);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
