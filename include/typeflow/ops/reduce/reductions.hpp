// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reductions over axes known at compile time: sum, prod, mean, max, min, argmax, argmin, any, all,
// logsumexp, moments.
//
//   sum(x)                  over all axes, a scalar
//   sum<1>(x)               over axis 1; sum<0, 2>(x) over two; negative axes count from the end
//   sum<1>(x, keep_dims)    the reduced axes stay, with extent 1
//
// reduce.hpp has the operations, and their results for no elements.

#include <concepts>
#include <source_location>
#include <type_traits>

#include "typeflow/ops/reduce/reduce.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Tag: reduced axes stay in the shape with extent 1.
struct KeepDims {};
inline constexpr KeepDims keep_dims{};
/// Options of reductions.
struct DropDims {};

/// The last argument of a reduction.
template <class K>
concept KeepOrDrop = std::same_as<K, KeepDims> || std::same_as<K, DropDims>;

namespace detail {

/// Whether the named axis has no elements; false for a batch, where that is unknown.
template <class S, int... Axes>
inline constexpr bool empty_axis = [] {
  constexpr unsigned axes = axis_bits<S::rank, Axes...>();
  for (int i = 0; i < S::rank; ++i) {
    if ((axes >> i & 1u) != 0 && S::dims.extent[i] == 0) return true;
  }
  return false;
}();

template <class S, unsigned Axes, bool Keep>
struct ReduceRule {
  static constexpr Dims value = reduced(S::dims, Axes, Keep);
};

template <class O, KeepOrDrop K, int... Axes, TypedExpr X>
constexpr auto reduce_typed(const X& x, const std::source_location& at) {
  constexpr unsigned axes = axis_bits<X::rank, Axes...>();
  constexpr bool keep = std::is_same_v<K, KeepDims>;
  using T = element_of<[] {
    if constexpr (requires { O::result(DType::int32); }) {
      return O::result(X::type.dtype);
    } else {
      return X::type.dtype;
    }
  }()>;
  using E = Expr<T, shape_of_t<ReduceRule<typename X::shape, axes, keep>>>;
  mark(at, x);
  return E(x.graph(), reduce<O>(x.any(), axes, keep).id);
}

}  // namespace detail

/// The sum over axes, by default all: sum(x), sum<1>(x), sum<0, 2>(x, keep_dims). With keep_dims
/// the axes stay with extent 1. (A,B,C) -> (A,C) for sum<1>
template <int... Axes, TypedExpr X, KeepOrDrop K = DropDims>
constexpr auto sum(const X& x, K = {}, std::source_location at = std::source_location::current()) {
  static_assert(detail::axes_exist<X::rank, Axes...>, "sum<axes...>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::numbers, X>, "sum(x): x must be a tensor of numbers");
  return detail::reduce_typed<ops::Sum, K, Axes...>(x, at);
}

/// The product over axes, by default all. The gradient is right where elements are 0, too.
template <int... Axes, TypedExpr X, KeepOrDrop K = DropDims>
constexpr auto prod(const X& x, K = {}, std::source_location at = std::source_location::current()) {
  static_assert(detail::axes_exist<X::rank, Axes...>, "prod<axes...>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::numbers, X>, "prod(x): x must be a tensor of numbers");
  return detail::reduce_typed<ops::Prod, K, Axes...>(x, at);
}

/// The mean over axes, by default all. (TensorFlow's mean of integers rounds down. Here it does not
/// compile: convert them, or write sum(x) / n.)
template <int... Axes, TypedExpr X, KeepOrDrop K = DropDims>
constexpr auto mean(const X& x, K = {}, std::source_location at = std::source_location::current()) {
  static_assert(detail::axes_exist<X::rank, Axes...>, "mean<axes...>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::floating, X>,
                "mean(x): x must be floating-point; convert with cast<float>(x)");
  return detail::reduce_typed<ops::Mean, K, Axes...>(x, at);
}

/// The largest element over axes, by default all; NaN if there is one. The gradient goes to the
/// largest elements, in equal parts.
template <int... Axes, TypedExpr X, KeepOrDrop K = DropDims>
constexpr auto max(const X& x, K = {}, std::source_location at = std::source_location::current()) {
  static_assert(detail::axes_exist<X::rank, Axes...>, "max<axes...>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::real, X>, "max(x): x must be a tensor of real numbers");
  return detail::reduce_typed<ops::Max, K, Axes...>(x, at);
}

/// The smallest element over axes, by default all; NaN if there is one. The gradient goes to the
/// smallest elements, in equal parts.
template <int... Axes, TypedExpr X, KeepOrDrop K = DropDims>
constexpr auto min(const X& x, K = {}, std::source_location at = std::source_location::current()) {
  static_assert(detail::axes_exist<X::rank, Axes...>, "min<axes...>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::real, X>, "min(x): x must be a tensor of real numbers");
  return detail::reduce_typed<ops::Min, K, Axes...>(x, at);
}

/// The int32 position of the largest element along one axis. Of equal elements it is the first; NaN
/// is ignored unless there is nothing else. (A,B,C) -> (A,C) for argmax<1>. 0 along an axis of
/// tf::batch in a run without elements.
template <int... Axes, TypedExpr X, KeepOrDrop K = DropDims>
constexpr auto argmax(const X& x, K = {},
                      std::source_location at = std::source_location::current()) {
  static_assert(detail::axes_exist<X::rank, Axes...>, "argmax<axes...>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::real, X>,
                "argmax(x): x must be a tensor of real numbers");
  static_assert(sizeof...(Axes) == 1, "argmax<axis>(x): one axis must be named");
  static_assert(!detail::empty_axis<typename X::shape, Axes...>,
                "argmax<axis>(x): the axis has no element");
  return detail::reduce_typed<ops::ArgMax, K, Axes...>(x, at);
}

/// The int32 position of the smallest element along one axis. Of equal elements it is the first;
/// NaN is ignored unless there is nothing else. (A,B,C) -> (A,C) for argmin<1>. 0 along an axis of
/// tf::batch in a run without elements.
template <int... Axes, TypedExpr X, KeepOrDrop K = DropDims>
constexpr auto argmin(const X& x, K = {},
                      std::source_location at = std::source_location::current()) {
  static_assert(detail::axes_exist<X::rank, Axes...>, "argmin<axes...>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::real, X>,
                "argmin(x): x must be a tensor of real numbers");
  static_assert(sizeof...(Axes) == 1, "argmin<axis>(x): one axis must be named");
  static_assert(!detail::empty_axis<typename X::shape, Axes...>,
                "argmin<axis>(x): the axis has no element");
  return detail::reduce_typed<ops::ArgMin, K, Axes...>(x, at);
}

/// Whether any element is true, over axes, by default all.
template <int... Axes, TypedExpr X, KeepOrDrop K = DropDims>
constexpr auto any(const X& x, K = {}, std::source_location at = std::source_location::current()) {
  static_assert(detail::axes_exist<X::rank, Axes...>, "any<axes...>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::booleans, X>, "any(x): x must be a boolean tensor");
  return detail::reduce_typed<ops::Any, K, Axes...>(x, at);
}

/// Whether every element is true, over axes, by default all.
template <int... Axes, TypedExpr X, KeepOrDrop K = DropDims>
constexpr auto all(const X& x, K = {}, std::source_location at = std::source_location::current()) {
  static_assert(detail::axes_exist<X::rank, Axes...>, "all<axes...>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::booleans, X>, "all(x): x must be a boolean tensor");
  return detail::reduce_typed<ops::All, K, Axes...>(x, at);
}

/// log(sum(exp(x))) over axes, by default all, without overflow. -inf if all elements are, inf if
/// one is. The gradient is softmax(x); where all elements are -inf it is 0, where one is inf it is
/// 1.
template <int... Axes, TypedExpr X, KeepOrDrop K = DropDims>
constexpr auto logsumexp(const X& x, K = {},
                         std::source_location at = std::source_location::current()) {
  static_assert(detail::axes_exist<X::rank, Axes...>, "logsumexp<axes...>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::floating, X>,
                "logsumexp(x): x must be floating-point; convert with cast<float>(x)");
  return detail::reduce_typed<ops::LogSumExp, K, Axes...>(x, at);
}

/// The results of moments.
template <TypedExpr X>
struct Moments {
  X mean;
  X variance;
};

/// Mean and variance over axes, by default all; the variance is the mean of (x - mean)^2: auto
/// [mean, variance] = moments<0>(x). (N,C) -> (C), (C)
template <int... Axes, TypedExpr X, KeepOrDrop K = DropDims>
constexpr auto moments(const X& x, K keep = {},
                       std::source_location at = std::source_location::current()) {
  static_assert(detail::axes_exist<X::rank, Axes...>, "moments<axes...>(x): x has no such axis");
  static_assert(detail::in_domain<Domain::floating, X>,
                "moments(x): x must be floating-point; convert with cast<float>(x)");
  detail::mark(at, x);
  using T = typename X::element;
  if constexpr (detail::is_half<T>) {
    const auto [mean, variance] = moments<Axes...>(cast<float>(x, at), keep, at);
    const auto narrow = cast<T>(variance, at);
    return Moments<std::remove_const_t<decltype(narrow)>>{cast<T>(mean, at), narrow};
  } else {
    const auto centre = mean<Axes...>(x, keep_dims, at);
    const auto variance = mean<Axes...>(square(x - centre), keep, at);
    using M = std::remove_const_t<decltype(variance)>;
    return Moments<M>{M(x.graph(), reshape_to(centre.any(), M::shape::dims).id), variance};
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
