// SPDX-License-Identifier: Apache-2.0
#pragma once

// Weights and reductions: losses per element are multiplied by weights and reduced, with the
// denominators of TensorFlow 1.x's tf.losses.compute_weighted_loss.
//
// Weights are a number or a tensor. The tensor's axes are the first axes of the losses; each extent
// is the same or 1. Losses (B,T,C) accept weights (B), (B,1), (B,T), (1,1,C) or (B,T,C). Further
// axes must have extent 1: losses (B) accept weights (B,1). (In numpy's rule axes align at the end;
// here weights with one axis belong to the samples.)

#include <cstdint>
#include <source_location>

#include "typeflow/ops/elementwise/arithmetic.hpp"
#include "typeflow/ops/elementwise/binary.hpp"
#include "typeflow/ops/elementwise/cast.hpp"
#include "typeflow/ops/elementwise/compare.hpp"
#include "typeflow/ops/reduce/reduce.hpp"
#include "typeflow/ops/shape/concat.hpp"  // has a simplification rule of sums

namespace typeflow::inline TYPEFLOW_ISA {

/// How losses l with weights w become one number.
enum class Reduction : std::uint8_t {
  unreduced,                 ///< l w, with the shape of l
  sum,                       ///< sum(l w)
  mean,                      ///< sum(l w) / sum(w), 0 if that is 0
  sum_over_batch_size,       ///< sum(l w) / number of elements of l
  sum_over_nonzero_weights,  ///< TensorFlow's older name for the next one
  sum_by_nonzero_weights,    ///< sum(l w) / number of elements with w != 0; 0 if there is none
};

namespace detail {

/// The weights' extents with trailing axes of 1 added or removed, to as many axes as the losses
/// have; no_dims if they don't fit.
constexpr Dims aligned_weights(const Dims& losses, const Dims& weights) {
  Dims out{};
  for (int i = 0; i < losses.rank; ++i) {
    const Extent e = i < weights.rank ? weights.extent[i] : 1;
    if (e != 1 && e != losses.extent[i]) return no_dims;
    out.append(e);
  }
  for (int i = losses.rank; i < weights.rank; ++i) {
    if (weights.extent[i] != 1) return no_dims;
  }
  return out;
}

template <class T, class S, class W>
inline constexpr bool weights_fit =
    is_of<T, W> && aligned_weights(S::dims, ShapeOf<W>::type::dims).valid();

/// `count`, at least 1, as a tensor.
constexpr AnyExpr one_or_more(ir::Graph& graph, DType type, const Count& count) {
  const auto n = static_cast<double>(count.coefficient);
  if (count.powers == 0) return constant_node(graph, type, Number{n < 1 ? 1 : n, 0});
  return maximum(constant_node(graph, type, Number{n, 0}, count.powers), 1);
}

/// a / b; 0 where b is 0.
constexpr AnyExpr divide_or_zero(const AnyExpr& a, const AnyExpr& b) {
  const AnyExpr nothing = equal(b, 0);
  return where(nothing, 0, a / where(nothing, 1, b));
}

/// The sum of all elements; x may be a scalar.
constexpr AnyExpr sum_of_all(const AnyExpr& x) { return x.dims().rank == 0 ? x : sum(x); }

/// The sum of all elements of x broadcast to this shape.
constexpr AnyExpr sum_as(const AnyExpr& x, const Dims& shape) {
  Count repeats{};
  for (int i = 0; i < shape.rank; ++i) {
    if (x.dims().rank == 0 || x.dims().extent[i] != shape.extent[i]) {
      repeats.multiply(shape.extent[i]);
    }
  }
  const auto n = static_cast<double>(repeats.coefficient);
  return sum_of_all(x) * constant_node(*x.graph, x.dtype(), Number{n, 0}, repeats.powers);
}

/// Losses times one number, reduced.
template <Literal W>
constexpr AnyExpr reduce_losses(const AnyExpr& losses, W weight, Reduction how) {
  const bool as_they_are = weight == W(1) || (how == Reduction::mean && weight != W(0));
  const AnyExpr weighted = as_they_are ? losses : losses * weight;
  if (how == Reduction::unreduced) return weighted;
  const AnyExpr total = sum_of_all(weighted);
  if (how == Reduction::sum) return total;
  return total / one_or_more(*losses.graph, losses.dtype(), count_of(losses.dims()));
}
/// Losses times a tensor of weights, reduced.
template <TypedExpr W>
constexpr AnyExpr reduce_losses(const AnyExpr& losses, const W& weights, Reduction how) {
  const Dims shape = losses.dims();
  AnyExpr w = cast_to(weights.any(), losses.dtype());
  if (W::rank > 0) w = reshape_to(w, aligned_weights(shape, w.dims()));
  const AnyExpr weighted = losses * w;
  if (how == Reduction::unreduced) return weighted;
  const AnyExpr total = sum_of_all(weighted);
  if (how == Reduction::sum) return total;
  if (how == Reduction::sum_over_batch_size) {
    return total / one_or_more(*losses.graph, losses.dtype(), count_of(shape));
  }
  const AnyExpr counted = how == Reduction::mean ? w : cast_to(not_equal(w, 0), w.dtype());
  return divide_or_zero(total, sum_as(counted, shape));
}

/// The type of a reduced loss.
template <Reduction R, class T, class S>
struct ReducedLoss {
  using type = Expr<T, Shape<>>;
};
template <class T, class S>
struct ReducedLoss<Reduction::unreduced, T, S> {
  using type = Expr<T, S>;
};

/// Calls f(element type to compute in) and reduces the losses that it returns, of element type T
/// and shape S.
template <Reduction R, class T, class S, Operand W, class F>
constexpr auto loss_of(Graph& g, const W& weights, const std::source_location& at, const F& f) {
  constexpr bool fit = weights_fit<T, S, W>;
  (void)sizeof(requirement<"weights of a loss: they must be a number, or have the predictions' "
                           "element type and the losses' axes from the first on, each extent the "
                           "losses' or 1",
                           fit>);
  static_assert(fit,
                "weights of a loss: they must be a number, or have the predictions' element type "
                "and the losses' axes from the first on, each extent the losses' or 1");
  using E = typename ReducedLoss<R, T, S>::type;
  ir::Graph& graph = g;
  graph.source = source_line(at);
  if constexpr (fit) {
    const AnyExpr losses = f(is_half<T> ? DType::float32 : dtype_of<T>);
    return E(g, cast_to(reduce_losses(losses, weights, R), dtype_of<T>).id);
  } else {
    return E();
  }
}

}  // namespace detail

/// Losses times weights, reduced: compute_weighted_loss<tf::Reduction::sum>(losses, weights). Every
/// loss of the library ends with it. The top of losses/reduction.hpp explains how weights
/// broadcast. (B,...) x weights -> (), or (B,...) with Reduction::unreduced
template <Reduction R = Reduction::sum_by_nonzero_weights, TypedExpr X, Operand W = int>
constexpr auto compute_weighted_loss(const X& losses, const W& weights = 1,
                                     std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "compute_weighted_loss(losses, weights): the losses must be floating-point; "
                "convert with cast<float>(losses)");
  return detail::loss_of<R, typename X::element, typename X::shape>(
      losses.graph(), weights, at, [&](DType type) { return cast_to(losses.any(), type); });
}

}  // namespace typeflow::inline TYPEFLOW_ISA
