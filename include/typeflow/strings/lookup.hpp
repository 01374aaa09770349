// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tables from strings to numbers or strings: lookup(x, keys, values, default_value).
//
// A table is two tensors, K keys and K values: constants, variables or fed. A hash index of the
// keys finds a string. The index is a tensor, too, so it can be made once and kept in a state.

#include <bit>
#include <cstdint>
#include <source_location>
#include <string_view>

#include "typeflow/ops/elementwise/binary.hpp"
#include "typeflow/ops/elementwise/compare.hpp"
#include "typeflow/ops/index/gather.hpp"
#include "typeflow/strings/pieces.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The extent of the hash index of `keys` keys. It uses open addressing, with at most half of the
/// places taken.
constexpr Extent string_index_size(Extent keys) {
  return static_cast<Extent>(std::bit_ceil(2 * static_cast<std::uint64_t>(keys > 0 ? keys : 1)));
}

namespace ops {

/// The hash index of keys (K), as int32. A place holds 1 + the position of its key, or 0.
struct StringIndex : of_strings {
  static constexpr std::string_view name = "StringIndex";
  static constexpr Type infer(const StringIndex&, const Type& keys) {
    const bool fits = keys.dtype == DType::string && keys.dims.rank == 1 &&
                      !is_symbolic(keys.dims.extent[0]) && keys.dims.extent[0] < (1 << 30);
    return {DType::int32, fits ? Dims{1, {string_index_size(keys.dims.extent[0])}} : no_dims};
  }
};

/// The position of each string among keys (K), found by their index; -1 if absent. As int64.
struct FindString : of_strings {
  static constexpr std::string_view name = "FindString";
  static constexpr Type infer(const FindString&, const Type& x, const Type& keys,
                              const Type& index) {
    const bool fits = x.dtype == DType::string && StringIndex::infer({}, keys) == index;
    return {DType::int64, fits ? x.dims : no_dims};
  }
};

}  // namespace ops

namespace detail {

template <class K>
struct IndexRule {
  static constexpr bool fits = [] {
    if constexpr (StringExpr<K>) {
      return K::rank == 1 && is_static(K::shape::dims) && K::shape::dims.extent[0] > 0;
    } else {
      return false;
    }
  }();
  static constexpr Dims value = [] {
    if constexpr (fits) {
      return Dims{1, {string_index_size(K::shape::dims.extent[0])}};
    } else {
      return Dims{1, {1}};
    }
  }();
};

}  // namespace detail

/// The hash index of keys, for find_strings and lookup: (K) -> (2^n, at least 2 K), int32. Two
/// equal keys are an Error of the run. To make it once instead of in every run, assign it to a
/// state:
///
///   auto index = state<std::int32_t, tf::string_index_size(K)>(g, "index");
///   assign(index, string_index(keys)).named("make_index");
template <StringExpr K>
constexpr auto string_index(const K& keys,
                            std::source_location at = std::source_location::current()) {
  using Rule = detail::IndexRule<K>;
  static_assert(Rule::fits, "string_index(keys): keys must be (K), K a number above 0");
  detail::mark(at, keys);
  return Expr<std::int32_t, shape_of_t<Rule>>(keys.graph(),
                                              apply(ops::StringIndex{}, keys.any()).id);
}

/// The position of each string among the keys, as int64; -1 if absent. `index` is string_index of
/// the same keys. With an index of other keys it may miss strings, but finds no wrong ones.
template <StringExpr X, StringExpr K, TypedExpr I>
constexpr auto find_strings(const X& x, const K& keys, const I& index,
                            std::source_location at = std::source_location::current()) {
  using Rule = detail::IndexRule<K>;
  static_assert(Rule::fits, "find_strings(x, keys, index): keys must be (K), K a number above 0");
  static_assert(!Rule::fits || I::type == Type(DType::int32, Rule::value),
                "find_strings(x, keys, index): index must be string_index(keys)");
  detail::mark(at, x);
  const AnyExpr y = apply(ops::FindString{}, x.any(), keys.any(), index.any());
  return Expr<std::int64_t, typename X::shape>(x.graph(), y.id);
}
/// The same without an index: every run makes one.
template <StringExpr X, StringExpr K>
constexpr auto find_strings(const X& x, const K& keys,
                            std::source_location at = std::source_location::current()) {
  return find_strings(x, keys, string_index(keys, at), at);
}

namespace detail {
template <class K, class V>
inline constexpr bool is_table = [] {
  if constexpr (TypedExpr<V>) {
    return IndexRule<K>::fits && V::shape::dims == K::shape::dims;
  } else {
    return false;
  }
}();
template <class V, class D>
inline constexpr bool is_default_of = [] {
  if constexpr (TypedExpr<D>) {
    return D::type == Type(dtype_of<typename V::element>, {});
  } else if constexpr (is_string<typename V::element>) {
    return std::convertible_to<const D&, std::string_view>;
  } else if constexpr (Literal<D>) {
    return literal_fits<typename V::element, D>;
  } else {
    return false;
  }
}();
}  // namespace detail

/// The value of each string's key, or `default_value` if it is not among the keys: lookup(words,
/// vocabulary, ids, -1). (I...) x (K) x (K) -> (I...)
///
/// Values have any type, strings too. The default is a number (a text for strings) or a scalar
/// tensor. `index` as in find_strings.
template <StringExpr X, StringExpr K, TypedExpr V, class D, TypedExpr I>
constexpr auto lookup(const X& x, const K& keys, const V& values, const D& default_value,
                      const I& index, std::source_location at = std::source_location::current()) {
  static_assert(detail::is_table<K, V>,
                "lookup(x, keys, values, default_value): keys and values must be (K), K a number "
                "above 0");
  static_assert(detail::is_default_of<V, D>,
                "lookup(x, keys, values, default_value): default_value must be a scalar of the "
                "values' type");
  const auto position = find_strings(x, keys, index, at);
  const auto value = gather(values, maximum(position, 0));
  if constexpr (detail::is_string<typename V::element> && !TypedExpr<D>) {
    const auto other = constant<std::string_view>(x.graph(), std::string_view(default_value));
    return where(less(position, 0), other, value);
  } else {
    return where(less(position, 0), default_value, value);
  }
}
/// The same without an index: every run makes one.
template <StringExpr X, StringExpr K, TypedExpr V, class D>
constexpr auto lookup(const X& x, const K& keys, const V& values, const D& default_value,
                      std::source_location at = std::source_location::current()) {
  return lookup(x, keys, values, default_value, string_index(keys, at), at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
