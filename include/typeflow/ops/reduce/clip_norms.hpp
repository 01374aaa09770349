// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tensors scaled down to a norm: clip_by_norm, clip_by_global_norm. (optimizers/clip.hpp has
// functions of these names for lists of gradients.)

#include <limits>
#include <source_location>
#include <tuple>
#include <type_traits>

#include "typeflow/ops/elementwise/numerics.hpp"
#include "typeflow/ops/reduce/norms.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {
/// Whether a limit is a number, or a scalar of the element type T.
template <class L, class T>
inline constexpr bool is_limit = [] {
  if constexpr (TypedExpr<L>) {
    return L::rank == 0 && std::is_same_v<typename L::element, T>;
  } else {
    return Literal<L>;
  }
}();
template <Operand L>
constexpr AnyExpr limit_node(ir::Graph& graph, DType type, const L& limit) {
  if constexpr (TypedExpr<L>) {
    return cast_to(limit.any(), type);
  } else {
    return literal_node(graph, type, limit);
  }
}
/// sqrt(squares), with the gradient 0 at 0.
constexpr AnyExpr smooth_norm(const AnyExpr& squares) {
  const AnyExpr nonzero = greater(squares, 0);  // keeps infinite slopes of sqrt away
  return where(nonzero, sqrt(where(nonzero, squares, 1)), squares);
}
/// limit / norm if the norm is larger than the limit, or NaN; else exactly 1.
constexpr AnyExpr shrinking_factor(const AnyExpr& norm, const AnyExpr& most) {
  const AnyExpr fits = less_equal(norm, most);
  return where(fits, 1, most / where(fits, 1, norm));
}
}  // namespace detail

/// x, scaled down where its norm over axes, by default all, is larger than `limit`:
/// x * limit / max(norm, limit). The limit is a positive number or scalar, which may be infinite.
/// The gradient at a vector of zeros is 1. (S) -> (S)
template <int... Axes, TypedExpr X, Operand L>
constexpr auto clip_by_norm(const X& x, const L& limit,
                            std::source_location at = std::source_location::current()) {
  static_assert(detail::axes_exist<X::rank, Axes...>,
                "clip_by_norm<axes...>(x, limit): x has no such axis");
  static_assert(detail::in_domain<Domain::floating, X>,
                "clip_by_norm(x, limit): x must be floating-point; convert with cast<float>(x)");
  static_assert(detail::is_limit<L, typename X::element>,
                "clip_by_norm(x, limit): the limit must be a number or a scalar with the element "
                "type of x");
  return detail::in_float(
      x,
      [&](const auto& v) {
        detail::mark(at, x);
        ir::Graph& graph = x.graph();
        const AnyExpr most = detail::limit_node(graph, v.any().dtype(), limit);
        const AnyExpr squares = sum<Axes...>(square(v, at), keep_dims, at).any();
        const AnyExpr factor = detail::shrinking_factor(detail::smooth_norm(squares), most);
        return detail::same_type(v, (v.any() * factor).id);
      },
      at);
}

/// Tensors scaled down together, and the norm of all before. Made by clip_by_global_norm.
template <class Tensors, TypedExpr N>
struct ClippedTensors {
  Tensors tensors;  ///< a std::tuple
  N norm;
};

/// All tensors scaled by limit / max(norm, limit), where norm is that of all together,
/// global_norm(x...): auto [tensors, norm] = clip_by_global_norm(std::tuple{a, b}, 5). If the norm
/// is NaN or infinite, all elements become NaN, as in TensorFlow. (S)... -> (S)..., ()
template <TypedExpr... X, Operand L>
constexpr auto clip_by_global_norm(const std::tuple<X...>& tensors, const L& limit,
                                   std::source_location at = std::source_location::current()) {
  static_assert(sizeof...(X) > 0, "clip_by_global_norm(tensors, limit): there must be a tensor");
  static_assert(detail::same_elements<X...> && (detail::in_domain<Domain::floating, X> && ...),
                "clip_by_global_norm(tensors, limit): the tensors must be floating-point, all of "
                "one element type; convert with cast<T>(x)");
  using T = typename detail::FirstElement<X...>::type;
  static_assert(detail::is_limit<L, T>,
                "clip_by_global_norm(tensors, limit): the limit must be a number or a scalar with "
                "the element type of the tensors");
  return std::apply(
      [&](const auto&... x) {
        auto& g = detail::graph_of(x...);
        detail::mark(at, x...);
        ir::Graph& graph = g;
        constexpr DType type = detail::is_half<T> ? DType::float32 : dtype_of<T>;
        const AnyExpr most = detail::limit_node(graph, type, limit);
        AnyExpr squares = detail::literal_node(graph, type, 0);
        ((squares = squares + sum(square(cast_to(x.any(), type)))), ...);
        const AnyExpr norm = sqrt(squares);
        const AnyExpr scale =
            where(is_finite(norm), detail::shrinking_factor(detail::smooth_norm(squares), most),
                  detail::literal_node(graph, type, std::numeric_limits<double>::quiet_NaN()));
        const auto scaled = [&](const auto& v) {
          return detail::same_type(v, cast_to(cast_to(v.any(), type) * scale, dtype_of<T>).id);
        };
        using Tensors = std::tuple<decltype(scaled(x))...>;
        return ClippedTensors<Tensors, Expr<T>>{Tensors{scaled(x)...},
                                                Expr<T>(g, cast_to(norm, dtype_of<T>).id)};
      },
      tensors);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
