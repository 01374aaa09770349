// SPDX-License-Identifier: Apache-2.0
#pragma once

// A linear model of columns: each number and each category has a weight, and an example's logits
// are the sum of its weights.

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "typeflow/feature_columns/categories.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

struct LinearModelOptions {
  Combiner combiner = Combiner::sum;  ///< of an example's categories of one column
  Initializer weights = zeros();
  Initializer bias = zeros();
};

/// The logits of columns, and the variables that they are made of: weights has one for each column,
/// (width,Units) or (buckets,Units), in the order of the list.
template <class Logits, class Weights, class Bias>
struct WeightedSum {
  Logits logits;  ///< (batch,Units)
  Weights weights;
  Bias bias;  ///< (Units)
};

namespace detail {

template <CategoricalColumn Column, TypedExpr W, FeatureSet F>
constexpr auto weighted_column(Graph& g, const Column& column, const W& weights, const F& features,
                               Combiner combiner) {
  const auto ids = category_ids(g, column, features);
  if constexpr (Column::is_weighted) {
    return combine_categories(weights, ids, category_weights(column, features), combiner);
  } else {
    return combine_categories(weights, ids, combiner);
  }
}
template <Text Key, class T, class Normalizer, Extent... D, TypedExpr W, FeatureSet F>
constexpr auto weighted_column(Graph&, const NumericColumn<Key, T, Normalizer, D...>& column,
                               const W& weights, const F& features, Combiner) {
  return matmul(numbers_of(column, features), weights);
}

template <class Column>
constexpr Extent weights_of_column() {
  if constexpr (CategoricalColumn<Column>) {
    return Column::buckets;
  } else {
    return Column::width;
  }
}
template <Extent Units, class Column>
constexpr auto linear_weights(Graph& g, const Column&, const LinearModelOptions& options) {
  const Scope in(g, Label(Column::name.characters));
  return variable<float, weights_of_column<Column>(), Units>(g, "weights", options.weights);
}

template <class C>
inline constexpr bool is_linear_column = CategoricalColumn<C>;
template <Text Key, class T, class Normalizer, Extent... D>
inline constexpr bool is_linear_column<NumericColumn<Key, T, Normalizer, D...>> = true;

template <class... Columns>
inline constexpr bool are_linear = sizeof...(Columns) > 0 && (is_linear_column<Columns> && ...);

template <Extent Units, FeatureSet F, class... Columns>
constexpr auto linear_sums(Graph& g, const F& features, const std::tuple<Columns...>& columns,
                           const LinearModelOptions& options) {
  const auto weights = std::apply(
      [&](const auto&... column) {
        return std::tuple<decltype(linear_weights<Units>(g, column, options))...>{
            linear_weights<Units>(g, column, options)...};
      },
      columns);
  const auto bias = variable<float, Units>(g, "bias_weights", options.bias);
  const auto sums = [&]<std::size_t... I>(std::index_sequence<I...>) {
    return (
        weighted_column(g, std::get<I>(columns), std::get<I>(weights), features, options.combiner) +
        ...);
  }(std::index_sequence_for<Columns...>{});
  const auto logits = sums + bias;
  return WeightedSum<std::remove_const_t<decltype(logits)>, std::remove_const_t<decltype(weights)>,
                     std::remove_const_t<decltype(bias)>>{logits, weights, bias};
}

}  // namespace detail

/// The sum of the weights of an example's numbers and categories, and a bias:
/// weighted_sum_from_feature_columns<1>(g, "linear", features, columns). The variables are
/// `name/column/weights` and `name/bias_weights`; so g.trainable("linear") has all of them.
template <Extent Units = 1, FeatureSet F, class... Columns>
constexpr auto weighted_sum_from_feature_columns(Graph& g, Label name, const F& features,
                                                 const std::tuple<Columns...>& columns,
                                                 const LinearModelOptions& options = {}) {
  constexpr bool are_linear = detail::are_linear<Columns...>;
  constexpr bool is_complete = detail::has_features_of<F, Columns...>;
  static_assert(are_linear,
                "weighted_sum_from_feature_columns(g, name, features, columns): the columns must "
                "be numeric or categorical; give the column of an indicator or embedding itself");
  static_assert(is_complete,
                "weighted_sum_from_feature_columns(g, name, features, columns): a column reads a "
                "feature that is not among the features");
  const Scope in(g, name);
  if constexpr (are_linear && is_complete) {
    return detail::linear_sums<Units>(g, features, columns, options);
  }
}

/// The logits alone: (batch,Units).
template <Extent Units = 1, FeatureSet F, class... Columns>
constexpr auto linear_model(Graph& g, Label name, const F& features,
                            const std::tuple<Columns...>& columns,
                            const LinearModelOptions& options = {}) {
  constexpr bool are_linear = detail::are_linear<Columns...>;
  constexpr bool is_complete = detail::has_features_of<F, Columns...>;
  static_assert(are_linear,
                "linear_model(g, name, features, columns): the columns must be numeric or "
                "categorical; give the column of an indicator or embedding itself");
  static_assert(is_complete,
                "linear_model(g, name, features, columns): a column reads a feature that is not "
                "among the features");
  const Scope in(g, name);
  if constexpr (are_linear && is_complete) {
    return detail::linear_sums<Units>(g, features, columns, options).logits;
  } else {
    return std::get<0>(features.tensors).tensor;
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
