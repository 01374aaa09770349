// SPDX-License-Identifier: Apache-2.0
#pragma once

// Neural networks of feature columns: classifiers and regressors.
//
//   constexpr auto measures = tf::feature_columns(tf::numeric_column<"x", 4>());
//   constexpr auto species = tf::categorical_column_with_identity<"species", 3>();
//
//   tf::DnnClassifier<measures, species, tf::hidden_units<10, 20, 10>> model;

#include "typeflow/estimators/canned.hpp"
#include "typeflow/estimators/heads.hpp"
#include "typeflow/nn/dropout.hpp"
#include "typeflow/optimizers.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The hidden layers of a network, from the first one on: constexpr tf::HiddenUnits<100, 50>
/// hidden{.activation = tf::tanh, .dropout = 0.1}.
template <Extent... Units>
struct HiddenUnits {
  static_assert(((Units > 0) && ...), "tf::HiddenUnits<n...>: a layer has one unit or more");
  Activation activation = relu;
  double dropout = 0;  ///< the share of a hidden layer's results that a training step drops
};
/// Hidden layers with relu and without dropout.
template <Extent... Units>
inline constexpr HiddenUnits<Units...> hidden_units{};

namespace detail {

template <Extent... Units, TypedExpr X>
constexpr auto hidden_layers(Graph&, const X& x, const HiddenUnits<Units...>&, int) {
  return x;
}
template <Extent... All, Extent First, Extent... Rest, TypedExpr X>
constexpr auto hidden_layers(Graph& g, const X& x, const HiddenUnits<All...>& options, int layer,
                             HiddenUnits<First, Rest...>) {
  auto y = dense<First>(g, Label("hiddenlayer", layer), x, {.activation = options.activation});
  if (options.dropout != 0) y = dropout(y, {.keep = 1 - options.dropout});
  if constexpr (sizeof...(Rest) > 0) {
    return hidden_layers(g, y, options, layer + 1, HiddenUnits<Rest...>());
  } else {
    return y;
  }
}

}  // namespace detail

/// The logits of a network: dnn_logits<3>(g, "dnn", features, columns, tf::hidden_units<10, 20>).
/// Columns are dense. The variables are NAME/input/COLUMN/embedding_weights, NAME/hiddenlayer_0/W
/// and so on, NAME/logits/W. (batch,Units)
template <Extent Units, FeatureSet F, class Columns, Extent... Hidden>
constexpr auto dnn_logits(Graph& g, Label name, const F& features, const Columns& columns,
                          const HiddenUnits<Hidden...>& hidden) {
  static_assert(sizeof...(Hidden) > 0, "dnn_logits: a network has one hidden layer or more");
  const Scope in(g, name);
  const auto input = input_layer(g, "input", features, columns);
  return dense<Units>(g, "logits",
                      detail::hidden_layers(g, input, hidden, 0, HiddenUnits<Hidden...>()));
}

/// The optimiser of networks that name none, as in TensorFlow.
inline constexpr Adagrad dnn_optimizer{.rate = 0.05f};

/// The model function of networks, whose variables are below "dnn".
template <const auto& Columns, class Head, const auto& Hidden,
          const auto& Optimizer = dnn_optimizer>
struct DnnModel {
  constexpr void operator()(Graph& g, ModeKeys mode) const {
    const auto features = feature_placeholders(g, Columns);
    const auto logits = dnn_logits<Head::units>(g, "dnn", features, Columns, Hidden);
    add_head<Head>(g, mode, features, logits, [&](const auto& loss) {
      return training_step(g, loss, Part{"dnn", Optimizer});
    });
  }
};

/// A network that classifies. Columns are dense. See LinearClassifier for label, optimiser and
/// weight, and ClassHead for predictions and metrics.
template <const auto& Columns, const auto& Label, const auto& Hidden,
          const auto& Optimizer = dnn_optimizer, const auto& Weight = unweighted>
using DnnClassifier = ClassEstimator<DnnModel<Columns, ClassHead<Label, Weight>, Hidden, Optimizer>,
                                     ClassHead<Label, Weight>>;

/// A network that predicts numbers, with squared loss. See RegressionHead.
template <const auto& Columns, const auto& Label, const auto& Hidden,
          const auto& Optimizer = dnn_optimizer, const auto& Weight = unweighted>
using DnnRegressor =
    RegressionEstimator<DnnModel<Columns, RegressionHead<Label, Weight>, Hidden, Optimizer>>;

}  // namespace typeflow::inline TYPEFLOW_ISA
