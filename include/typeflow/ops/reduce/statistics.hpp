// SPDX-License-Identifier: Apache-2.0
#pragma once

// Counts of zeros and weighted moments: count_nonzero, zero_fraction, weighted_moments,
// sufficient_statistics, normalize_moments. Composed of other operations.

#include <cstdint>
#include <source_location>
#include <type_traits>

#include "typeflow/ops/elementwise/cast.hpp"
#include "typeflow/ops/reduce/reductions.hpp"
#include "typeflow/ops/shape/fill.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The number of elements that are not 0, over axes, by default all, as int64. NaN is not 0.
template <int... Axes, TypedExpr X, KeepOrDrop K = DropDims>
constexpr auto count_nonzero(const X& x, K keep = {},
                             std::source_location at = std::source_location::current()) {
  static_assert(detail::axes_exist<X::rank, Axes...>,
                "count_nonzero<axes...>(x): x has no such axis");
  static_assert(!detail::is_string<typename X::element>,
                "count_nonzero(x): x must be a tensor of numbers or booleans");
  return sum<Axes...>(cast<std::int64_t>(not_equal(x, zeros_like(x, at), at), at), keep, at);
}

/// The share of elements that are 0, a float. NaN without elements.
template <TypedExpr X>
constexpr auto zero_fraction(const X& x,
                             std::source_location at = std::source_location::current()) {
  static_assert(!detail::is_string<typename X::element>,
                "zero_fraction(x): x must be a tensor of numbers or booleans");
  const auto zeros = sum(cast<std::int64_t>(typeflow::equal(x, zeros_like(x, at), at), at), {}, at);
  return cast<float>(zeros, at) / cast<float>(size(x, at), at);
}

namespace detail {
/// Whether weights broadcast to the shape of x.
template <class X, class W>
inline constexpr bool can_weight = [] {
  if constexpr (TypedExpr<W>) {
    return std::is_same_v<typename X::element, typename W::element> &&
           broadcast(X::shape::dims, W::shape::dims) == X::shape::dims;
  } else {
    return literal_fits<typename X::element, W>;
  }
}();
/// The number of elements over axes, as a scalar of type T.
template <Element T, class S, int... Axes>
constexpr Expr<T> elements_over(Graph& g) {
  constexpr unsigned axes = axis_bits<S::rank, Axes...>();
  Count count{};
  for (int i = 0; i < S::rank; ++i) {
    if ((axes >> i & 1u) != 0) count.multiply(S::dims.extent[i]);
  }
  ir::Graph& graph = g;
  const Number coefficient{static_cast<double>(count.coefficient), 0};
  return {g, constant_node(graph, dtype_of<T>, coefficient, count.powers).id};
}
}  // namespace detail

/// Mean and variance over axes, by default all, where each element counts as often as its weight
/// says: weighted_moments<0>(x, w). The weights broadcast to x. The variance is the weighted mean
/// of (x - mean)^2. (N,C) x (N,1) -> (C), (C)
template <int... Axes, TypedExpr X, Operand W, KeepOrDrop K = DropDims>
constexpr auto weighted_moments(const X& x, const W& weights, K keep = {},
                                std::source_location at = std::source_location::current()) {
  static_assert(detail::axes_exist<X::rank, Axes...>,
                "weighted_moments<axes...>(x, weights): x has no such axis");
  static_assert(detail::in_domain<Domain::floating, X>,
                "weighted_moments(x, weights): x must be floating-point; convert with "
                "cast<float>(x)");
  static_assert(detail::can_weight<X, W>,
                "weighted_moments(x, weights): the weights must have the element type of x and "
                "broadcast to its shape");
  using T = typename X::element;
  if constexpr (detail::is_half<T>) {
    const auto narrow = [&] {
      if constexpr (TypedExpr<W>) {
        return weighted_moments<Axes...>(cast<float>(x, at), cast<float>(weights, at), keep, at);
      } else {
        return weighted_moments<Axes...>(cast<float>(x, at), weights, keep, at);
      }
    }();
    const auto variance = cast<T>(narrow.variance, at);
    return Moments<std::remove_const_t<decltype(variance)>>{cast<T>(narrow.mean, at), variance};
  } else {
    detail::mark(at, x);
    ir::Graph& graph = x.graph();
    const AnyExpr any{&graph, detail::operand_id(graph, X::type.dtype, weights)};
    const auto w = detail::same_type(x, broadcast_to(any, X::shape::dims).id);
    const auto total = sum<Axes...>(w, keep_dims, at);
    const auto centre = sum<Axes...>(w * x, keep_dims, at) / total;
    const auto variance = sum<Axes...>(w * square(x - centre, at), keep, at);
    using M = std::remove_const_t<decltype(variance)>;
    const auto in_shape = [&](const auto& y) {
      return M(x.graph(), reshape_to(y.any(), M::shape::dims).id);
    };
    return Moments<M>{in_shape(centre), variance / in_shape(total)};
  }
}

/// Sums from which normalize_moments computes mean and variance; those of several parts add up.
/// Made by sufficient_statistics.
template <TypedExpr X>
struct SufficientStatistics {
  Expr<typename X::element> count;  ///< the number of elements
  X sum;                            ///< of x - shift
  X squares;                        ///< the sum of (x - shift)^2
};

/// {count, sum, squares} of x over axes, by default all: sufficient_statistics<0>(x). With a shift
/// near the mean, a number or a tensor that broadcasts to x, the sums are those of x - shift, whose
/// variance is more precise. (N,C) -> (), (C), (C)
template <int... Axes, TypedExpr X, Operand S = int, KeepOrDrop K = DropDims>
constexpr auto sufficient_statistics(const X& x, const S& shift = 0, K keep = {},
                                     std::source_location at = std::source_location::current()) {
  static_assert(detail::axes_exist<X::rank, Axes...>,
                "sufficient_statistics<axes...>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::floating, X> && !detail::is_half<typename X::element>,
                "sufficient_statistics(x): x must be float or double; convert with "
                "cast<float>(x)");
  static_assert(detail::can_weight<X, S>,
                "sufficient_statistics(x, shift): the shift must have the element type of x and "
                "broadcast to its shape");
  detail::mark(at, x);
  const auto shifted = x - shift;  // x - 0 is x
  const auto total = sum<Axes...>(shifted, keep, at);
  using M = std::remove_const_t<decltype(total)>;
  return SufficientStatistics<M>{
      detail::elements_over<typename X::element, typename X::shape, Axes...>(x.graph()), total,
      sum<Axes...>(square(shifted, at), keep, at)};
}

/// Mean and variance from sums, {mean, variance}: normalize_moments(count, sum, squares, shift),
/// with the shift of sufficient_statistics. The variance is squares / count - (sum / count)^2.
/// () x (S) x (S) -> (S), (S)
template <TypedExpr N, TypedExpr X, Operand S = int>
constexpr auto normalize_moments(const N& count, const X& sum, const X& squares, const S& shift = 0,
                                 std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "normalize_moments(count, sum, squares): the sums must be floating-point; convert "
                "with cast<float>(x)");
  static_assert(N::rank == 0 && std::is_same_v<typename N::element, typename X::element>,
                "normalize_moments(count, sum, squares): the count must be a scalar with the "
                "element type of the sums");
  static_assert(detail::can_weight<X, S>,
                "normalize_moments(count, sum, squares, shift): the shift must have the element "
                "type of the sums and broadcast to their shape");
  detail::mark(at, count);
  const auto shifted = sum / count;
  const auto variance = squares / count - square(shifted, at);
  return Moments<std::remove_const_t<decltype(variance)>>{shifted + shift, variance};
}
template <TypedExpr X, Operand S = int>
constexpr auto normalize_moments(const SufficientStatistics<X>& sums, const S& shift = 0,
                                 std::source_location at = std::source_location::current()) {
  return normalize_moments(sums.count, sums.sum, sums.squares, shift, at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
