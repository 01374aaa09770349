// SPDX-License-Identifier: Apache-2.0
#pragma once

// Columns of sequences: one value for each step. Their features are (batch,time), and the feature
// `name_length`, (batch), int32, has the number of steps of each example; what comes after them is
// not looked at.

#include <cstdint>
#include <tuple>
#include <utility>

#include "typeflow/feature_columns/input_layer.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A categorical column whose feature is a sequence. Made by
/// sequence_categorical_column_with_hash_bucket and its kin.
template <CategoricalColumn Category>
struct SequenceCategory {
  static constexpr Text key = Category::key;
  static constexpr Text name = Category::name;
  static constexpr Text length_key = detail::joined(key, Text("_length"));
  static constexpr bool is_sequence_category = true;
  using element = typename Category::element;
  static constexpr Extent buckets = Category::buckets;

  Category category;

  constexpr auto raw_features() const {
    return std::tuple(RawSequence<key, typename Category::element>{}, RawLength<length_key>{});
  }
};
template <class C>
concept SequenceCategoricalColumn = requires { requires C::is_sequence_category; };

template <Text Key, Extent Buckets>
constexpr auto sequence_categorical_column_with_hash_bucket() {
  return SequenceCategory{categorical_column_with_hash_bucket<Key, Buckets>()};
}
template <Text Key, Element T, Extent Buckets>
constexpr auto sequence_categorical_column_with_hash_bucket() {
  return SequenceCategory{categorical_column_with_hash_bucket<Key, T, Buckets>()};
}
template <Text Key, Extent Buckets>
constexpr auto sequence_categorical_column_with_identity(IdentityOptions options = {}) {
  return SequenceCategory{categorical_column_with_identity<Key, Buckets>(options)};
}
template <Text Key, Extent Oov = 0, std::size_t N>
constexpr auto sequence_categorical_column_with_vocabulary_list(const std::string_view (&words)[N],
                                                                VocabularyOptions options = {}) {
  return SequenceCategory{categorical_column_with_vocabulary_list<Key, Oov>(words, options)};
}
template <Text Key, Extent Oov = 0, std::size_t N>
constexpr auto sequence_categorical_column_with_vocabulary_list(const std::int64_t (&words)[N],
                                                                VocabularyOptions options = {}) {
  return SequenceCategory{categorical_column_with_vocabulary_list<Key, Oov>(words, options)};
}
template <Text Key, Extent Size, Extent Oov = 0>
constexpr auto sequence_categorical_column_with_vocabulary_file(VocabularyOptions options = {}) {
  return SequenceCategory{categorical_column_with_vocabulary_file<Key, Size, Oov>(options)};
}

/// Numbers of a sequence, D... each step. Made by sequence_numeric_column.
template <Text Key, class Normalizer, Extent... D>
struct SequenceNumericColumn {
  static constexpr Text key = Key;
  static constexpr Text name = Key;
  static constexpr Text length_key = detail::joined(key, Text("_length"));
  static constexpr bool is_sequence_column = true;
  static constexpr Extent width = (Extent{1} * ... * D);

  Normalizer normalizer{};

  constexpr auto raw_features() const {
    return std::tuple(RawSequence<Key, float, D...>{}, RawLength<length_key>{});
  }
};
/// sequence_numeric_column<"price">(): (batch,time,1). Steps after the last one are 0.
template <Text Key, Extent... D>
constexpr auto sequence_numeric_column() {
  return SequenceNumericColumn<Key, NoNormalizer, D...>{};
}
template <Text Key, Extent... D, class Normalizer>
constexpr auto sequence_numeric_column(Normalizer normalizer) {
  return SequenceNumericColumn<Key, Normalizer, D...>{normalizer};
}

/// An indicator or embedding of each step's category: (batch,time,width).
template <SequenceCategoricalColumn Category>
struct SequenceIndicatorColumn {
  static constexpr Text key = Category::key;
  static constexpr Text length_key = Category::length_key;
  static constexpr bool is_sequence_column = true;
  static constexpr Extent width = Category::buckets;
  Category category;
  constexpr auto raw_features() const { return category.raw_features(); }
};
template <Extent Dimension, SequenceCategoricalColumn Category>
struct SequenceEmbeddingColumn {
  static constexpr Text key = Category::key;
  static constexpr Text length_key = Category::length_key;
  static constexpr bool is_sequence_column = true;
  static constexpr Extent width = Dimension;
  Category category;
  EmbeddingColumnOptions options{};
  constexpr auto raw_features() const { return category.raw_features(); }
};
template <SequenceCategoricalColumn Category>
constexpr auto indicator_column(const Category& category) {
  return SequenceIndicatorColumn<Category>{category};
}
template <Extent Dimension, SequenceCategoricalColumn Category>
constexpr auto embedding_column(const Category& category, EmbeddingColumnOptions options = {}) {
  return SequenceEmbeddingColumn<Dimension, Category>{category, options};
}

namespace detail {

/// Whether a step counts: (batch,time) of (batch).
template <TypedExpr X, TypedExpr L>
constexpr auto steps_of(Graph& g, const X&, const L& lengths) {
  static_assert(X::rank >= 2 && L::rank == 1 && std::is_same_v<typename L::element, std::int32_t>,
                "a sequence's feature must be (batch,time), its lengths (batch), int32");
  constexpr Extent rows = X::shape::dims.extent[0];
  constexpr Extent steps = X::shape::dims.extent[1];
  return less(range<std::int32_t, steps>(g, 0, 1), reshape<rows, 1>(lengths));
}

}  // namespace detail

/// The id of each step's category: (batch,time), -1 for none and after the last step.
template <SequenceCategoricalColumn Column, FeatureSet F>
constexpr auto category_ids(Graph& g, const Column& column, const F& features) {
  const auto x = features.template get<Column::key>();
  const auto step = detail::steps_of(g, x, features.template get<Column::length_key>());
  // An id after the last step is not looked at: it may be any.
  if constexpr (detail::is_string<typename Column::element>) {
    return where(step, category_ids_of(g, column.category, x), -1);
  } else {
    return category_ids_of(g, column.category, where(step, x, -1));
  }
}

/// A column of sequences: (batch,time,width).
template <Text Key, class Normalizer, Extent... D, FeatureSet F>
constexpr auto sequence_tensor(Graph& g, const SequenceNumericColumn<Key, Normalizer, D...>& column,
                               const F& features) {
  using Column = SequenceNumericColumn<Key, Normalizer, D...>;
  const auto given = features.template get<Key>();
  constexpr Extent rows = decltype(given)::shape::dims.extent[0];
  constexpr Extent steps = decltype(given)::shape::dims.extent[1];
  const auto x = reshape<rows, steps, Column::width>(column.normalizer(given));
  const auto step = detail::steps_of(g, given, features.template get<Column::length_key>());
  return where(reshape<rows, steps, 1>(step), x, 0.0f);
}
template <class Category, FeatureSet F>
constexpr auto sequence_tensor(Graph& g, const SequenceIndicatorColumn<Category>& column,
                               const F& features) {
  return one_hot<Category::buckets>(category_ids(g, column.category, features));
}
template <Extent Dimension, class Category, FeatureSet F>
constexpr auto sequence_tensor(Graph& g, const SequenceEmbeddingColumn<Dimension, Category>& column,
                               const F& features) {
  const auto table = detail::embedding_table(
      g, embedding_column<Dimension>(column.category.category, column.options));
  const auto ids = category_ids(g, column.category, features);
  constexpr Extent rows = decltype(ids)::shape::dims.extent[0];
  constexpr Extent steps = decltype(ids)::shape::dims.extent[1];
  const auto found =
      embedding_lookup(table, maximum(ids, 0), {.max_norm = column.options.max_norm});
  return where(reshape<rows, steps, 1>(greater_equal(ids, 0)), found, 0.0f);
}

/// Columns of sequences side by side, and the number of steps of each example, that of the first
/// column: the inputs of dynamic_rnn. (batch,time,sum of the widths) and (batch)
template <FeatureSet F, class... Columns>
constexpr auto sequence_input_layer(Graph& g, Label name, const F& features,
                                    const std::tuple<Columns...>& columns) {
  constexpr bool are_sequences = sizeof...(Columns) > 0 && (SequenceColumn<Columns> && ...);
  constexpr bool is_complete = detail::has_features_of<F, Columns...>;
  static_assert(are_sequences,
                "sequence_input_layer(g, name, features, columns): the columns must be of "
                "sequences");
  static_assert(is_complete,
                "sequence_input_layer(g, name, features, columns): a column reads a feature that "
                "is not among the features");
  const Scope in(g, name);
  if constexpr (are_sequences && is_complete) {
    using First = std::tuple_element_t<0, std::tuple<Columns...>>;
    const auto lengths = features.template get<First::length_key>();
    const auto inputs = std::apply(
        [&](const auto&... column) { return concat<2>(sequence_tensor(g, column, features)...); },
        columns);
    return std::pair(inputs, lengths);
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
