// SPDX-License-Identifier: Apache-2.0
#pragma once

// Categorical columns as expressions: category_ids(g, column, features) is (batch,K), int64, with K
// values for each example; -1 is no category.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "typeflow/bits.hpp"
#include "typeflow/control_flow.hpp"
#include "typeflow/feature_columns/columns.hpp"
#include "typeflow/front/scope.hpp"
#include "typeflow/indexing.hpp"
#include "typeflow/strings.hpp"
#include "typeflow/typeflow.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// True where a feature has a value.
template <TypedExpr X>
constexpr auto is_category(const X& x) {
  using T = typename X::element;
  if constexpr (is_string<T>) {
    return not_equal(x, constant<T>(x.graph(), T()));
  } else {
    return not_equal(x, T(-1));
  }
}

/// (batch) -> (batch,1); (batch,K) as it is.
template <TypedExpr X>
constexpr auto as_values(const X& x) {
  static_assert(X::rank == 1 || X::rank == 2,
                "a feature of categories must be (batch), or (batch, values)");
  if constexpr (X::rank == 1) {
    return reshape<X::shape::dims.extent[0], 1>(x);
  } else {
    return reshape<X::shape::dims.extent[0], X::shape::dims.extent[1]>(x);
  }
}

template <TypedExpr X>
constexpr auto hash_bucket(const X& x, std::int64_t buckets) {
  if constexpr (is_string<typename X::element>) {
    return string_to_hash_bucket_fast(x, buckets);
  } else {
    return string_to_hash_bucket_fast(as_string(x), buckets);
  }
}

template <Text Key, class T, Extent Buckets, Extent Values, TypedExpr X>
constexpr auto ids_of(Graph&, const HashBucketColumn<Key, T, Buckets, Values>&, const X& x) {
  return hash_bucket(x, Buckets);
}

/// `position`, where it is that of a word; the id of another word elsewhere.
template <class Column, TypedExpr X, TypedExpr P>
constexpr auto id_or_other(const Column& column, const X& x, const P& position) {
  if constexpr (Column::oov_buckets > 0) {
    return where(less(position, 0), Column::words + hash_bucket(x, Column::oov_buckets), position);
  } else {
    return where(less(position, 0), column.default_value, position);
  }
}
template <Text Key, std::size_t N, Extent Oov, Extent Values, TypedExpr X>
constexpr auto ids_of(Graph& g,
                      const VocabularyListColumn<Key, std::string_view, N, Oov, Values>& column,
                      const X& x) {
  std::string_view words[N] = {};
  for (std::size_t i = 0; i < N; ++i) words[i] = column.vocabulary[i];
  const auto keys = constant<std::string_view, static_cast<Extent>(N)>(g, words);
  return id_or_other(column, x, find_strings(x, keys));
}
template <Text Key, std::size_t N, Extent Oov, Extent Values, TypedExpr X>
constexpr auto ids_of(Graph& g,
                      const VocabularyListColumn<Key, std::int64_t, N, Oov, Values>& column,
                      const X& x) {
  constexpr auto count = static_cast<Extent>(N);
  std::int64_t numbers[N] = {};
  std::int64_t positions[N] = {};
  for (std::size_t i = 0; i < N; ++i) positions[i] = static_cast<std::int64_t>(i);
  std::sort(positions, positions + N, [&](std::int64_t a, std::int64_t b) {
    return column.vocabulary[static_cast<std::size_t>(a)] <
           column.vocabulary[static_cast<std::size_t>(b)];
  });
  for (std::size_t i = 0; i < N; ++i) {
    numbers[i] = column.vocabulary[static_cast<std::size_t>(positions[i])];
  }
  const auto sorted = constant<std::int64_t, count>(g, numbers);
  const auto place = minimum(searchsorted(sorted, x), static_cast<std::int32_t>(N) - 1);
  const auto found = equal(gather(sorted, place), x);
  return id_or_other(column, x,
                     where(found, gather(constant<std::int64_t, count>(g, positions), place), -1));
}
template <Text Key, Extent Size, Extent Oov, Extent Values, TypedExpr X>
constexpr auto ids_of(Graph& g, const VocabularyFileColumn<Key, Size, Oov, Values>& column,
                      const X& x) {
  const Scope in(g, Label(Key.characters), {.reuse = Reuse::reuse_or_create});
  const auto words = variable<std::string_view, Size>(g, "vocabulary", zeros(), false);
  return id_or_other(column, x, find_strings(x, words));
}
template <Text Key, Extent Buckets, Extent Values, TypedExpr X>
constexpr auto ids_of(Graph&, const IdentityColumn<Key, Buckets, Values>& column, const X& x) {
  const auto inside = logical_and(greater_equal(x, 0), less(x, Buckets));
  if (column.default_value >= 0) return where(inside, x, column.default_value);
  const Effect valid = check(logical_or(inside, logical_not(is_category(x))),
                             "a categorical column with identity: an id is out of range: {}", x);
  return after(valid, x);
}

}  // namespace detail

/// The ids of a categorical column of one feature, of the tensor of this feature: one in [0,
/// buckets) for each value; -1 where there is none ("" or -1), and for words that are in no
/// vocabulary.
template <CategoricalColumn Column, TypedExpr X>
  requires requires { typename Column::raw_feature; }
constexpr auto category_ids_of(Graph& g, const Column& column, const X& x) {
  static_assert(std::is_same_v<typename X::element, typename Column::element>,
                "a categorical column: its feature has another element type than the column");
  return where(detail::is_category(x), detail::ids_of(g, column, x), -1);
}

/// The ids of a column's categories: (batch,K), int64, -1 for none.
template <CategoricalColumn Column, FeatureSet F>
  requires requires { typename Column::raw_feature; }
constexpr auto category_ids(Graph& g, const Column& column, const F& features) {
  return category_ids_of(g, column, detail::as_values(features.template get<Column::key>()));
}
template <CategoricalColumn Category, Text Weight, FeatureSet F>
constexpr auto category_ids(Graph& g, const WeightedColumn<Category, Weight>& column,
                            const F& features) {
  return category_ids(g, column.category, features);
}
template <class Source, std::size_t N, FeatureSet F>
constexpr auto category_ids(Graph& g, const BucketizedColumn<Source, N>& column,
                            const F& features) {
  using Column = BucketizedColumn<Source, N>;
  float boundaries[N] = {};
  for (std::size_t i = 0; i < N; ++i) boundaries[i] = column.boundaries[i];
  const auto x = numbers_of(column.source, features);  // (batch,width)
  const auto sorted = constant<float, static_cast<Extent>(N)>(g, boundaries);
  const auto bucket = cast<std::int64_t>(searchsorted(sorted, x, {.right = true}));
  std::int64_t first[Source::width] = {};
  for (Extent i = 0; i < Source::width; ++i) first[i] = i * Column::buckets_of_number;
  return bucket + constant<std::int64_t, Source::width>(g, first);
}

/// The numbers of a numeric column, normalised: (batch,width).
template <Text Key, class T, class Normalizer, Extent... D, FeatureSet F>
constexpr auto numbers_of(const NumericColumn<Key, T, Normalizer, D...>& column,
                          const F& features) {
  const auto given = features.template get<Key>();
  using X = decltype(given);
  static_assert(std::is_same_v<typename X::element, T>,
                "a numeric column: its feature has another element type than the column");
  const auto x = column.normalizer(cast<float>(given));
  return reshape<X::shape::dims.extent[0], (Extent{1} * ... * D)>(x);
}

namespace detail {

/// FarmHash's FingerprintCat64 of 64 bits each.
template <TypedExpr A, TypedExpr B>
constexpr auto combined_fingerprints(const A& a, const B& b) {
  Graph& g = b.graph();
  const auto multiplier = constant<std::uint64_t>(g, 0xc6a4a7935bd1e995u);
  const auto mixed = [](const auto& x) { return bitwise_xor(x, right_shift(x, 47)); };
  const auto state = bitwise_xor(bitwise_xor(a, multiplier), mixed(b * multiplier) * multiplier);
  return mixed(mixed(state * multiplier) * multiplier);
}

/// A key's values: 64 bits each, and whether there is one. (batch,K)
template <Text Key, Element T, Extent... D, FeatureSet F>
constexpr auto bits_of_key(Graph&, const RawFeature<Key, T, D...>&, const F& features) {
  const auto x = as_values(features.template get<Key>());
  static_assert(
      std::is_same_v<typename decltype(x)::element, T>,
      "crossed_column<buckets>(keys...): a feature has another element type than its key");
  if constexpr (is_string<T>) {
    return std::pair(string_fingerprint(x), is_category(x));
  } else {
    return std::pair(bitcast<std::uint64_t>(x), is_category(x));
  }
}
template <CategoricalColumn Column, FeatureSet F>
constexpr auto bits_of_key(Graph& g, const Column& column, const F& features) {
  const auto ids = category_ids(g, column, features);
  if constexpr (requires { typename Column::raw_feature; }) {
    // As in TensorFlow, all words that are in no vocabulary are one value, -1.
    return std::pair(bitcast<std::uint64_t>(ids),
                     is_category(as_values(features.template get<Column::key>())));
  } else {
    return std::pair(bitcast<std::uint64_t>(ids), greater_equal(ids, 0));
  }
}

/// The combinations of a state (batch,K) with further keys: (batch,K L...), and whether they have
/// all their values.
template <TypedExpr S, TypedExpr V>
constexpr auto crossed(const S& state, const V& valid) {
  return std::pair(state, valid);
}
template <TypedExpr S, TypedExpr V, class Next, class... Rest>
constexpr auto crossed(const S& state, const V& valid, const Next& next, const Rest&... rest) {
  constexpr Extent rows = S::shape::dims.extent[0];
  constexpr Extent k = S::shape::dims.extent[1];
  constexpr Extent l = decltype(next.first)::shape::dims.extent[1];
  const auto left = [](const auto& x) { return reshape<rows, k, 1>(x); };
  const auto right = [](const auto& x) { return reshape<rows, 1, l>(x); };
  const auto pairs = combined_fingerprints(left(state), right(next.first));
  return crossed(reshape<rows, k * l>(pairs),
                 reshape<rows, k * l>(logical_and(left(valid), right(next.second))), rest...);
}

}  // namespace detail

template <Extent Buckets, class... Keys, FeatureSet F>
constexpr auto category_ids(Graph& g, const CrossedColumn<Buckets, Keys...>& column,
                            const F& features) {
  const auto hash_of = [&](const auto& first, const auto&... rest) {
    const auto seed = constant<std::uint64_t>(g, column.hash_key);
    const auto [state, valid] =
        detail::crossed(detail::combined_fingerprints(seed, first.first), first.second, rest...);
    const auto bucket = mod(state, constant<std::uint64_t>(g, static_cast<std::uint64_t>(Buckets)));
    return where(valid, cast<std::int64_t>(bucket), -1);
  };
  return std::apply(
      [&](const auto&... key) { return hash_of(detail::bits_of_key(g, key, features)...); },
      column.keys);
}

/// The weights of a weighted column's values: (batch,K), float.
template <CategoricalColumn Category, Text Weight, FeatureSet F>
constexpr auto category_weights(const WeightedColumn<Category, Weight>&, const F& features) {
  return detail::as_values(features.template get<Weight>());
}

/// The rows of a table, (buckets,R), for ids and their weights, (batch,K), combined: (batch,R).
///
/// As in TensorFlow's columns: an id of -1 is left out, and so is one whose weight is not positive,
/// but for Combiner::sum. An example without ids is zero.
template <TypedExpr W, TypedExpr I, TypedExpr V>
constexpr auto combine_categories(const W& table, const I& ids, const V& weights, Combiner combiner,
                                  double max_norm = std::numeric_limits<double>::infinity()) {
  constexpr Extent rows = I::shape::dims.extent[0];
  constexpr Extent k = I::shape::dims.extent[1];
  const auto present = combiner == Combiner::sum
                           ? greater_equal(ids, 0)
                           : logical_and(greater_equal(ids, 0), greater(weights, 0.0f));
  const auto weight = where(present, weights, 0.0f);
  const auto found = embedding_lookup(table, maximum(ids, 0), {.max_norm = max_norm});
  const auto kept = where(reshape<rows, k, 1>(present), found, 0.0f);
  const auto total = sum<1>(kept * reshape<rows, k, 1>(weight));  // (batch,R)
  if (combiner == Combiner::sum) return total;
  const auto norm =
      reshape<rows, 1>(combiner == Combiner::mean ? sum<1>(weight) : sqrt(sum<1>(square(weight))));
  const auto empty = logical_not(greater(norm, 0.0f));
  return where(empty, 0.0f, total / where(empty, 1.0f, norm));
}
/// The same, with weights of 1.
template <TypedExpr W, TypedExpr I>
constexpr auto combine_categories(const W& table, const I& ids, Combiner combiner,
                                  double max_norm = std::numeric_limits<double>::infinity()) {
  constexpr Extent rows = I::shape::dims.extent[0];
  constexpr Extent k = I::shape::dims.extent[1];
  if constexpr (k == 1) {  // one row: all combiners agree
    const auto id = reshape<rows>(ids);
    const auto found = embedding_lookup(table, maximum(id, 0), {.max_norm = max_norm});
    return where(greater_equal(ids, 0), found, 0.0f);
  } else {
    const auto ones = where(greater_equal(ids, 0), constant<float>(ids.graph(), 1), 1.0f);
    return combine_categories(table, ids, ones, combiner, max_norm);
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
