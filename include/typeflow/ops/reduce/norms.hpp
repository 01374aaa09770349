// SPDX-License-Identifier: Apache-2.0
#pragma once

// Lengths of vectors: l2_loss, norm, global_norm, l2_normalize. Composed of other operations.

#include <source_location>
#include <type_traits>

#include "typeflow/ops/elementwise/binary.hpp"
#include "typeflow/ops/elementwise/complex.hpp"
#include "typeflow/ops/reduce/reductions.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// sum(x^2) / 2, a scalar, which weight decay adds to a loss.
template <TypedExpr X>
constexpr auto l2_loss(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "l2_loss(x): x must be floating-point; convert with cast<float>(x)");
  detail::mark(at, x);
  return detail::in_float(x, [&](const auto& v) { return sum(square(v, at), {}, at) * 0.5; }, at);
}

namespace detail {
/// |x|^2 of every element, a real number.
template <TypedExpr X>
constexpr auto squared_sizes(const X& x, const std::source_location& at) {
  if constexpr (is_complex_number<typename X::element>) {
    return square(real(x, at), at) + square(imag(x, at), at);
  } else {
    return square(x, at);
  }
}
}  // namespace detail

/// The Euclidean norm, sqrt(sum(|x|^2)), over axes, by default all. It is real for complex numbers.
/// The gradient at a vector of zeros is NaN, as in TensorFlow.
template <int... Axes, TypedExpr X, KeepOrDrop K = DropDims>
constexpr auto norm(const X& x, K keep = {},
                    std::source_location at = std::source_location::current()) {
  static_assert(detail::axes_exist<X::rank, Axes...>, "norm<axes...>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::inexact, X>,
                "norm(x): x must be floating-point or complex; convert with cast<float>(x)");
  return detail::in_float(
      x,
      [&](const auto& v) { return sqrt(sum<Axes...>(detail::squared_sizes(v, at), keep, at), at); },
      at);
}

/// The Euclidean norm of all elements of several tensors together, a real scalar: global_norm(dW,
/// db). Their shapes may differ.
template <TypedExpr X, TypedExpr... Rest>
constexpr auto global_norm(const X& x, const Rest&... rest) {
  static_assert(detail::in_domain<Domain::inexact, X>,
                "global_norm(x...): the tensors must be floating-point or complex; convert with "
                "cast<float>(x)");
  static_assert((std::is_same_v<typename X::element, typename Rest::element> && ...),
                "global_norm(x...): the element types must be equal; convert with cast<T>(x)");
  using T = typename X::element;
  if constexpr (detail::is_half<T>) {
    return cast<T>(global_norm(cast<float>(x), cast<float>(rest)...));
  } else {
    const auto at = std::source_location::current();
    return sqrt((sum(detail::squared_sizes(x, at)) + ... + sum(detail::squared_sizes(rest, at))));
  }
}

/// x / sqrt(max(sum(x^2), epsilon)), with sums over axes, by default all. The results have length
/// 1, except vectors shorter than sqrt(epsilon). (A,N,B) -> (A,N,B)
template <int... Axes, TypedExpr X>
constexpr auto l2_normalize(const X& x, double epsilon = 1e-12,
                            std::source_location at = std::source_location::current()) {
  static_assert(detail::axes_exist<X::rank, Axes...>,
                "l2_normalize<axes...>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::floating, X>,
                "l2_normalize(x): x must be floating-point; convert with cast<float>(x)");
  return detail::in_float(
      x,
      [&](const auto& v) {
        const auto squares = sum<Axes...>(square(v, at), keep_dims, at);
        return v * rsqrt(maximum(squares, epsilon, at), at);
      },
      at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
