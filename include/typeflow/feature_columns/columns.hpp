// SPDX-License-Identifier: Apache-2.0
#pragma once

// Feature columns as values. A column is a small struct without tensors: it names the features that
// it reads, and says what a model sees of them. Names and sizes are in its type, because the shapes
// of variables follow from them.
//
//   constexpr auto age = tf::numeric_column<"age">();
//   constexpr auto ages = tf::bucketized_column(age, {18, 25, 30, 35, 40, 45, 50, 55, 60, 65});
//   constexpr auto education = tf::categorical_column_with_hash_bucket<"education", 1000>();
//   constexpr auto columns = tf::feature_columns(ages, tf::embedding_column<8>(education));
//
// A categorical column turns features into ids of categories, -1 for none (categories.hpp). A dense
// column gives each example a row of numbers (input_layer.hpp).

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "typeflow/core/error.hpp"
#include "typeflow/feature_columns/features.hpp"
#include "typeflow/front/initializers.hpp"
#include "typeflow/ops/index/embedding.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

template <Text Key, Element T, Extent Values>
struct RawCategory {
  using type = RawFeature<Key, T, Values>;
};
template <Text Key, Element T>
struct RawCategory<Key, T, 1> {
  using type = RawFeature<Key, T>;
};

/// The value that means "none" in a feature of categories: "" and -1, as in TensorFlow.
template <Element T>
constexpr T no_category() {
  if constexpr (is_string<T>) {
    return T();
  } else {
    return static_cast<T>(-1);
  }
}

/// What categorical columns of one feature share.
template <Text Key, Element T, Extent Values, Extent Buckets>
struct CategoryOf {
  static_assert(Values > 0, "a categorical column has one value or more for each example");
  static_assert(Buckets > 0, "a categorical column has one category or more");
  static constexpr Text key = Key;
  static constexpr Text name = Key;
  static constexpr bool is_categorical = true;
  static constexpr bool is_weighted = false;
  static constexpr Extent buckets = Buckets;
  using element = T;
  using raw_feature = typename RawCategory<Key, T, Values>::type;

  constexpr std::tuple<raw_feature> raw_features() const {
    return {{no_category<T>(), true, true}};
  }
};

}  // namespace detail

/// A column that gives ids of categories.
template <class C>
concept CategoricalColumn = requires {
  requires C::is_categorical;
  { C::buckets } -> std::convertible_to<Extent>;
};
/// A column that gives each example a row of numbers.
template <class C>
concept DenseColumn = requires {
  { C::width } -> std::convertible_to<Extent>;
};
/// A column of sequences: a row of numbers for each step.
template <class C>
concept SequenceColumn = requires { requires C::is_sequence_column; };

/// The normaliser of columns without one.
struct NoNormalizer {
  constexpr auto operator()(const auto& x) const { return x; }
};

/// A feature of numbers, of D... each example: numeric_column<"age">().
template <Text Key, class T, class Normalizer, Extent... D>
struct NumericColumn {
  static constexpr Text key = Key;
  static constexpr Text name = Key;
  static constexpr Extent width = (Extent{1} * ... * D);
  static_assert(((D > 0) && ...), "numeric_column<name, D...>(): the extents must be positive");

  Normalizer normalizer{};
  T default_value{};
  bool has_default = false;

  constexpr std::tuple<RawFeature<Key, T, D...>> raw_features() const {
    return {{default_value, has_default, false}};
  }
};

/// A column of float numbers: numeric_column<"age">(), numeric_column<"pixels", 28, 28>(). In a
/// file without the feature it is an error, unless the column has a default:
/// with_default(numeric_column<"age">(), 0).
template <Text Key, Extent... D>
constexpr auto numeric_column() {
  return NumericColumn<Key, float, NoNormalizer, D...>{};
}
/// The same of another type, such as std::int64_t, as integers are in an Example. The model sees
/// them as float.
template <Text Key, Element T, Extent... D>
constexpr auto numeric_column() {
  return NumericColumn<Key, T, NoNormalizer, D...>{};
}
/// The same with a function of the float tensor, (batch,D...) -> (batch,D...), without captures:
/// numeric_column<"age">([](auto x) { return (x - 38.6f) / 13.6f; }).
template <Text Key, Extent... D, class Normalizer>
  requires(!Element<Normalizer>)
constexpr auto numeric_column(Normalizer normalizer) {
  return NumericColumn<Key, float, Normalizer, D...>{normalizer};
}
template <Text Key, Element T, Extent... D, class Normalizer>
constexpr auto numeric_column(Normalizer normalizer) {
  return NumericColumn<Key, T, Normalizer, D...>{normalizer};
}
/// The column with a number for files that do not have its feature.
template <Text Key, class T, class Normalizer, Extent... D>
constexpr auto with_default(NumericColumn<Key, T, Normalizer, D...> column,
                            std::type_identity_t<T> value) {
  column.default_value = value;
  column.has_default = true;
  return column;
}

/// The bucket of each number: bucket k has boundaries[k - 1] <= x < boundaries[k]; NaN is in the
/// last one. As a dense column it is a one in the bucket's place. Made by bucketized_column.
template <class Source, std::size_t N>
struct BucketizedColumn {
  static constexpr Text name = detail::joined(Source::name, Text("_bucketized"));
  static constexpr bool is_categorical = true;
  static constexpr bool is_weighted = false;
  static constexpr Extent buckets_of_number = static_cast<Extent>(N) + 1;
  static constexpr Extent buckets = buckets_of_number * Source::width;
  static constexpr Extent width = buckets;

  Source source;
  std::array<float, N> boundaries;

  constexpr auto raw_features() const { return source.raw_features(); }
};

/// Buckets of a numeric column, with boundaries in ascending order: bucketized_column(age, {18,
/// 65}) has three. The numbers of a column of several have buckets of their own.
template <Text Key, class T, class Normalizer, Extent... D, std::size_t N>
constexpr auto bucketized_column(const NumericColumn<Key, T, Normalizer, D...>& source,
                                 const float (&boundaries)[N]) {
  BucketizedColumn<NumericColumn<Key, T, Normalizer, D...>, N> column{source, {}};
  for (std::size_t i = 0; i < N; ++i) {
    column.boundaries[i] = boundaries[i];
    if (i > 0 && !(boundaries[i - 1] < boundaries[i])) {
      throw Error("bucketized_column(column, boundaries)", "boundaries in ascending order");
    }
  }
  return column;
}

/// Words or numbers of a list. Others have the id `default_value`, or one of Oov further ids by
/// their hash. Made by categorical_column_with_vocabulary_list.
template <Text Key, Element T, std::size_t N, Extent Oov, Extent Values>
struct VocabularyListColumn : detail::CategoryOf<Key, T, Values, static_cast<Extent>(N) + Oov> {
  static constexpr Extent words = static_cast<Extent>(N);
  static constexpr Extent oov_buckets = Oov;
  std::array<T, N> vocabulary{};
  std::int64_t default_value = -1;
};

struct VocabularyOptions {
  std::int64_t default_value = -1;  ///< the id of others; -1: they have none
};

namespace detail {
template <class Column, std::size_t N>
constexpr Column with_vocabulary(const typename Column::element (&words)[N],
                                 VocabularyOptions options) {
  Column column;
  column.default_value = options.default_value;
  for (std::size_t i = 0; i < N; ++i) {
    column.vocabulary[i] = words[i];
    for (std::size_t k = 0; k < i; ++k) {
      if (words[k] == words[i]) throw Error("a vocabulary", "each word once");
    }
  }
  if (options.default_value < -1 || options.default_value >= Column::buckets ||
      (options.default_value >= 0 && Column::oov_buckets > 0)) {
    throw Error("a vocabulary's default_value", "-1 or an id, and no buckets for other words");
  }
  return column;
}
}  // namespace detail

/// categorical_column_with_vocabulary_list<"sex">({"Female", "Male"}): ids 0 and 1. With `Oov`
/// buckets others have the ids from 2 on, by their hash. Up to `Values` values for each example.
template <Text Key, Extent Oov = 0, Extent Values = 1, std::size_t N>
constexpr auto categorical_column_with_vocabulary_list(const std::string_view (&words)[N],
                                                       VocabularyOptions options = {}) {
  return detail::with_vocabulary<VocabularyListColumn<Key, std::string_view, N, Oov, Values>>(
      words, options);
}
/// The same of numbers.
template <Text Key, Extent Oov = 0, Extent Values = 1, std::size_t N>
constexpr auto categorical_column_with_vocabulary_list(const std::int64_t (&words)[N],
                                                       VocabularyOptions options = {}) {
  return detail::with_vocabulary<VocabularyListColumn<Key, std::int64_t, N, Oov, Values>>(words,
                                                                                          options);
}

/// The first Size words of a file, which the program puts into the variable `key/vocabulary` before
/// the first run: variables.set("education/vocabulary", tf::read_vocabulary(path, size)). Made by
/// categorical_column_with_vocabulary_file.
template <Text Key, Extent Size, Extent Oov, Extent Values>
struct VocabularyFileColumn : detail::CategoryOf<Key, std::string_view, Values, Size + Oov> {
  static constexpr Extent words = Size;
  static constexpr Extent oov_buckets = Oov;
  std::int64_t default_value = -1;
};
/// categorical_column_with_vocabulary_file<"word", 10000>()
template <Text Key, Extent Size, Extent Oov = 0, Extent Values = 1>
constexpr auto categorical_column_with_vocabulary_file(VocabularyOptions options = {}) {
  return VocabularyFileColumn<Key, Size, Oov, Values>{{}, options.default_value};
}

/// Words or integers by their hash, FarmHash's Fingerprint64 modulo the buckets, as in TensorFlow.
/// Made by categorical_column_with_hash_bucket.
template <Text Key, Element T, Extent Buckets, Extent Values>
struct HashBucketColumn : detail::CategoryOf<Key, T, Values, Buckets> {};
/// categorical_column_with_hash_bucket<"education", 1000>()
template <Text Key, Extent Buckets, Extent Values = 1>
constexpr auto categorical_column_with_hash_bucket() {
  return HashBucketColumn<Key, std::string_view, Buckets, Values>{};
}
/// The same of integers, which are hashed as their decimal texts.
template <Text Key, Element T, Extent Buckets, Extent Values = 1>
constexpr auto categorical_column_with_hash_bucket() {
  static_assert(detail::is_string<T> || std::is_same_v<T, std::int64_t>,
                "categorical_column_with_hash_bucket<name, T, buckets>(): T must be "
                "std::string_view or std::int64_t");
  return HashBucketColumn<Key, T, Buckets, Values>{};
}

/// Integers that are ids already. Made by categorical_column_with_identity.
template <Text Key, Extent Buckets, Extent Values>
struct IdentityColumn : detail::CategoryOf<Key, std::int64_t, Values, Buckets> {
  std::int64_t default_value = -1;
};
struct IdentityOptions {
  std::int64_t default_value = -1;  ///< for ids out of range; -1: they are an error of the run
};
/// categorical_column_with_identity<"day", 7>()
template <Text Key, Extent Buckets, Extent Values = 1>
constexpr auto categorical_column_with_identity(IdentityOptions options = {}) {
  return IdentityColumn<Key, Buckets, Values>{{}, options.default_value};
}

/// A categorical column with a feature of weights, float, one for each value. Made by
/// weighted_categorical_column.
template <CategoricalColumn Category, Text Weight>
struct WeightedColumn {
  static constexpr Text weight_key = Weight;
  static constexpr Text name =
      detail::joined(detail::joined(Category::name, Text("_weighted_by_")), Weight);
  static constexpr bool is_categorical = true;
  static constexpr bool is_weighted = true;
  static constexpr Extent buckets = Category::buckets;

  Category category;

  template <Text Key, class T, Extent... D>
  static constexpr RawFeature<Weight, float, D...> weights_of(const RawFeature<Key, T, D...>&) {
    return {0, true, true};
  }
  constexpr auto raw_features() const {
    const auto values = category.raw_features();
    static_assert(std::tuple_size_v<decltype(values)> == 1,
                  "weighted_categorical_column<name>(column): the column must be one of a feature");
    return std::tuple_cat(values, std::tuple(weights_of(std::get<0>(values))));
  }
};
/// weighted_categorical_column<"frequencies">(words)
template <Text Weight, CategoricalColumn Category>
constexpr auto weighted_categorical_column(const Category& category) {
  static_assert(!Category::is_weighted,
                "weighted_categorical_column<name>(column): the column has weights already");
  return WeightedColumn<Category, Weight>{category};
}

namespace detail {

template <class C>
inline constexpr bool is_hash_bucket_column = false;
template <Text Key, class T, Extent Buckets, Extent Values>
inline constexpr bool is_hash_bucket_column<HashBucketColumn<Key, T, Buckets, Values>> = true;

template <class C>
inline constexpr bool is_raw_category = false;
template <Text Key, Element T, Extent... D>
inline constexpr bool is_raw_category<RawFeature<Key, T, D...>> =
    (is_string<T> || std::is_same_v<T, std::int64_t>) && sizeof...(D) <= 1;

/// The names, sorted, with a text between them, as TensorFlow names columns of several.
template <std::size_t Size>
constexpr Text<Size> sorted_names(auto names, std::string_view between, std::string_view after) {
  std::sort(names.begin(), names.end());
  Text<Size> out;
  std::size_t at = 0;
  const auto append = [&](std::string_view text) {
    for (const char c : text) out.characters[at++] = c;
  };
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) append(between);
    append(names[i]);
  }
  append(after);
  return out;
}
template <class... C>
constexpr std::size_t size_of_names(std::size_t between, std::size_t after) {
  return (C::name.view().size() + ...) + between * (sizeof...(C) - 1) + after + 1;
}

}  // namespace detail

/// Combinations of the values of several columns, by their hash, as in TensorFlow. Made by
/// crossed_column.
template <Extent Buckets, class... Keys>
struct CrossedColumn {
  static constexpr Text name = detail::sorted_names<detail::size_of_names<Keys...>(3, 0)>(
      std::array{Keys::name.view()...}, "_X_", "");
  static constexpr bool is_categorical = true;
  static constexpr bool is_weighted = false;
  static constexpr Extent buckets = Buckets;

  std::tuple<Keys...> keys;
  std::uint64_t hash_key = 0xDECAFCAFFE;

  constexpr auto raw_features() const {
    return std::apply([](const auto&... k) { return std::tuple_cat(k.raw_features()...); }, keys);
  }
};

/// A feature of words or integers as a key of crossed_column: raw_feature<"education">(). Up to
/// `Values` values for each example.
template <Text Key, Element T = std::string_view, Extent Values = 1>
constexpr auto raw_feature() {
  return typename detail::RawCategory<Key, T, Values>::type{detail::no_category<T>(), true, true};
}

/// crossed_column<10000>(raw_feature<"education">(), ages): pairs, triples... of raw features and
/// of categorical columns with ids, such as buckets, in a hash of 10,000 buckets.
///
/// The hash of a column by hash would be hashed again, and collide more: cross its feature.
template <Extent Buckets, class... Keys>
constexpr auto crossed_column(const Keys&... keys) {
  static_assert(sizeof...(Keys) > 1, "crossed_column<buckets>(keys...): there must be two keys");
  static_assert(!(detail::is_hash_bucket_column<Keys> || ...),
                "crossed_column<buckets>(keys...): a column by hash can't be crossed; cross its "
                "feature, raw_feature<name>()");
  static_assert(
      ((CategoricalColumn<Keys> || detail::is_raw_category<Keys>) && ...),
      "crossed_column<buckets>(keys...): the keys must be categorical columns, or features "
      "of words or integers, raw_feature<name>()");
  return CrossedColumn<Buckets, Keys...>{{keys...}};
}

/// How often each category occurs, or the sum of its weights: (batch,buckets). Made by
/// indicator_column.
template <CategoricalColumn Category>
struct IndicatorColumn {
  static constexpr Text name = detail::joined(Category::name, Text("_indicator"));
  static constexpr Extent width = Category::buckets;
  Category category;
  constexpr auto raw_features() const { return category.raw_features(); }
};
template <CategoricalColumn Category>
constexpr auto indicator_column(const Category& category) {
  return IndicatorColumn<Category>{category};
}

struct EmbeddingColumnOptions {
  Combiner combiner = Combiner::mean;
  /// How the table is initialized. By default as its scope says, or by truncated_normal(0, 1 /
  /// sqrt(dimension)).
  Initializer initializer{};
  double max_norm = std::numeric_limits<double>::infinity();  ///< rows are scaled down to it
};

/// A learned vector for each category. Made by embedding_column, and by shared_embedding_columns
/// for several columns of one table.
template <Extent Dimension, CategoricalColumn Category, Text Table>
struct EmbeddingColumn {
  static_assert(Dimension > 0, "an embedding has one number or more");
  static constexpr Text name = detail::joined(Category::name, Text("_embedding"));
  static constexpr Text table = Table;  ///< the scope of the table
  static constexpr Extent width = Dimension;
  Category category;
  EmbeddingColumnOptions options{};
  constexpr auto raw_features() const { return category.raw_features(); }
};
/// embedding_column<8>(education): (batch,8)
template <Extent Dimension, CategoricalColumn Category>
constexpr auto embedding_column(const Category& category, EmbeddingColumnOptions options = {}) {
  return EmbeddingColumn<Dimension, Category, detail::joined(Category::name, Text("_embedding"))>{
      category, options};
}
/// Columns of as many categories, with one table: a tuple of embedding columns.
template <Extent Dimension, CategoricalColumn... Categories>
constexpr auto shared_embedding_columns(EmbeddingColumnOptions options,
                                        const Categories&... categories) {
  static_assert(sizeof...(Categories) > 1,
                "shared_embedding_columns<dimension>(options, columns...): there must be two");
  static_assert(
      ((Categories::buckets == std::tuple_element_t<0, std::tuple<Categories...>>::buckets) && ...),
      "shared_embedding_columns<dimension>(options, columns...): the columns must have "
      "as many categories");
  constexpr std::string_view after = "_shared_embedding";
  constexpr Text table =
      detail::sorted_names<detail::size_of_names<Categories...>(1, after.size())>(
          std::array{Categories::name.view()...}, "_", after);
  return std::tuple(EmbeddingColumn<Dimension, Categories, table>{categories, options}...);
}

namespace detail {
template <class C>
constexpr std::tuple<C> as_columns(const C& column) {
  return std::tuple<C>(column);
}
template <class... C>
constexpr std::tuple<C...> as_columns(const std::tuple<C...>& columns) {
  return columns;
}
}  // namespace detail

/// A list of columns, for linear_model, input_layer and parsing. Lists in it are taken apart.
template <class... C>
constexpr auto feature_columns(const C&... columns) {
  return std::tuple_cat(detail::as_columns(columns)...);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
