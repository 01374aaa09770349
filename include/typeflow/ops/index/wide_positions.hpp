// SPDX-License-Identifier: Apache-2.0
#pragma once

// Positions as std::int64_t, by a last template argument:
//
//   argmax<1, std::int64_t>(x)   top_k<5, std::int64_t>(x)   where<std::int64_t>(mask)
//
// Positions are computed as int32, because an axis has fewer than 2^31 elements. Then they are
// converted, which fuses with later operations.

#include <concepts>
#include <cstdint>
#include <source_location>
#include <type_traits>

#include "typeflow/ops/index/counting.hpp"
#include "typeflow/ops/index/sort.hpp"
#include "typeflow/ops/index/unique.hpp"
#include "typeflow/ops/reduce/reductions.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The types for positions.
template <class I>
concept WidePosition = std::same_as<I, std::int64_t>;

/// argmax<axis>(x) as int64.
template <int Axis, WidePosition I, TypedExpr X, KeepOrDrop K = DropDims>
constexpr auto argmax(const X& x, K keep = {},
                      std::source_location at = std::source_location::current()) {
  return cast<I>(argmax<Axis>(x, keep, at), at);
}
/// argmin<axis>(x) as int64.
template <int Axis, WidePosition I, TypedExpr X, KeepOrDrop K = DropDims>
constexpr auto argmin(const X& x, K keep = {},
                      std::source_location at = std::source_location::current()) {
  return cast<I>(argmin<Axis>(x, keep, at), at);
}
/// argsort<axis>(x) as int64.
template <int Axis, WidePosition I, TypedExpr X>
constexpr auto argsort(const X& x, SortOptions options = {},
                       std::source_location at = std::source_location::current()) {
  return cast<I>(argsort<Axis>(x, options, at), at);
}
/// searchsorted(sorted, values) as int64.
template <WidePosition I, TypedExpr X, TypedExpr V>
constexpr auto searchsorted(const X& sorted, const V& values, SearchOptions options = {},
                            std::source_location at = std::source_location::current()) {
  return cast<I>(searchsorted(sorted, values, options, at), at);
}
/// top_k<k>(x), the indices as int64.
template <Extent K, WidePosition I, TypedExpr X>
constexpr auto top_k(const X& x, std::source_location at = std::source_location::current()) {
  const auto top = top_k<K>(x, at);
  const auto indices = cast<I>(top.indices, at);
  using V = std::remove_cvref_t<decltype(top.values)>;
  return TopK<V, std::remove_const_t<decltype(indices)>>{top.values, indices};
}

namespace detail {

template <WidePosition I, class E>
constexpr auto widen_true_elements(const E& found, const std::source_location& at) {
  const auto indices = cast<I>(found.indices, at);
  return TrueElements<std::remove_const_t<decltype(indices)>>{indices, found.count};
}
template <WidePosition I, class U>
constexpr auto widen_unique(const U& u, const std::source_location& at) {
  const auto index = cast<I>(u.index, at);
  using V = std::remove_cvref_t<decltype(u.values)>;
  return UniqueElements<V, std::remove_const_t<decltype(index)>>{u.values, index, u.count};
}

}  // namespace detail

/// where(mask), the coordinates as int64.
template <WidePosition I, TypedExpr M>
constexpr auto where(const M& mask, std::source_location at = std::source_location::current()) {
  return detail::widen_true_elements<I>(where(mask, at), at);
}
template <Extent Bound, WidePosition I, TypedExpr M>
constexpr auto where(const M& mask, std::source_location at = std::source_location::current()) {
  return detail::widen_true_elements<I>(where<Bound>(mask, at), at);
}

/// unique(x), the positions as int64.
template <WidePosition I, TypedExpr X>
constexpr auto unique(const X& x, std::source_location at = std::source_location::current()) {
  return detail::widen_unique<I>(unique(x, at), at);
}
template <Extent Bound, WidePosition I, TypedExpr X>
constexpr auto unique(const X& x, std::source_location at = std::source_location::current()) {
  return detail::widen_unique<I>(unique<Bound>(x, at), at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
