// SPDX-License-Identifier: Apache-2.0
#pragma once

// Dense columns as expressions, and input_layer, which puts them side by side.

#include <tuple>

#include "typeflow/feature_columns/categories.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A dense column: (batch,width). An embedding makes its table in the present scope, as
/// `name/embedding_weights`.
template <Text Key, class T, class Normalizer, Extent... D, FeatureSet F>
constexpr auto dense_tensor(Graph&, const NumericColumn<Key, T, Normalizer, D...>& column,
                            const F& features) {
  return numbers_of(column, features);
}
template <class Source, std::size_t N, FeatureSet F>
constexpr auto dense_tensor(Graph& g, const BucketizedColumn<Source, N>& column,
                            const F& features) {
  return sum<1>(one_hot<BucketizedColumn<Source, N>::buckets>(category_ids(g, column, features)));
}
template <CategoricalColumn Category, FeatureSet F>
constexpr auto dense_tensor(Graph& g, const IndicatorColumn<Category>& column, const F& features) {
  const auto ids = category_ids(g, column.category, features);
  const auto ones = one_hot<Category::buckets>(ids);  // (batch,K,buckets)
  if constexpr (Category::is_weighted) {
    const auto weights = category_weights(column.category, features);
    using I = typename decltype(ids)::shape;
    return sum<1>(where(reshape<I::dims.extent[0], I::dims.extent[1], 1>(greater_equal(ids, 0)),
                        ones * reshape<I::dims.extent[0], I::dims.extent[1], 1>(weights), 0.0f));
  } else {
    return sum<1>(ones);
  }
}

namespace detail {

/// By Newton's method: std::sqrt is no constant. For x >= 1.
constexpr double square_root(double x) {
  double root = x;
  for (double next = (x + 1) / 2; next < root; next = (root + x / root) / 2) root = next;
  return root;
}

/// The table of an embedding column; the same one for all columns that share it.
template <Extent Dimension, class Category, Text Table>
constexpr auto embedding_table(Graph& g,
                               const EmbeddingColumn<Dimension, Category, Table>& column) {
  using Column = EmbeddingColumn<Dimension, Category, Table>;
  constexpr bool is_shared = Table.view() != Column::name.view();
  const Scope in(
      g, Label(Column::table.characters),
      {.reuse = is_shared ? Reuse::reuse_or_create : Reuse::inherit,
       .initializer = truncated_normal(0, 1 / square_root(static_cast<double>(Dimension)))});
  return variable<float, Category::buckets, Dimension>(g, "embedding_weights",
                                                       column.options.initializer);
}

}  // namespace detail

template <Extent Dimension, class Category, Text Table, FeatureSet F>
constexpr auto dense_tensor(Graph& g, const EmbeddingColumn<Dimension, Category, Table>& column,
                            const F& features) {
  const auto table = detail::embedding_table(g, column);
  const auto ids = category_ids(g, column.category, features);
  const EmbeddingColumnOptions& options = column.options;
  if constexpr (Category::is_weighted) {
    return combine_categories(table, ids, category_weights(column.category, features),
                              options.combiner, options.max_norm);
  } else {
    return combine_categories(table, ids, options.combiner, options.max_norm);
  }
}

/// Dense columns side by side, in the order of the list: input_layer(g, "input", features,
/// feature_columns(...)). (batch, sum of the widths)
///
/// (TensorFlow orders them by name.) The tables of embeddings are variables
/// `name/word_embedding/embedding_weights`.
template <FeatureSet F, class... Columns>
constexpr auto input_layer(Graph& g, Label name, const F& features,
                           const std::tuple<Columns...>& columns) {
  static_assert(sizeof...(Columns) > 0, "input_layer(g, name, features, columns): no columns");
  static_assert((DenseColumn<Columns> && ...),
                "input_layer(g, name, features, columns): a categorical column is not dense; use "
                "indicator_column(column) or embedding_column<n>(column)");
  constexpr bool is_complete = detail::has_features_of<F, Columns...>;
  static_assert(is_complete,
                "input_layer(g, name, features, columns): a column reads a feature that is not "
                "among the features");
  if constexpr (is_complete && sizeof...(Columns) > 0 && (DenseColumn<Columns> && ...)) {
    const Scope in(g, name);
    return std::apply(
        [&](const auto&... column) { return concat<1>(dense_tensor(g, column, features)...); },
        columns);
  } else {
    return std::get<0>(features.tensors).tensor;
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
