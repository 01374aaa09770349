// SPDX-License-Identifier: Apache-2.0
#pragma once

// Wide and deep models: the logits of a linear model of categories and crosses, and those of a
// network of embeddings and numbers, are added. Each has an optimiser of its own. Source: Cheng et
// al., "Wide & deep learning for recommender systems", arXiv:1606.07792.
//
//   tf::DnnLinearCombinedClassifier<wide, deep, income, tf::hidden_units<100, 50>> model;

#include "typeflow/estimators/dnn.hpp"
#include "typeflow/estimators/linear.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The model function of wide and deep models. Variables are below "linear" and "dnn".
template <const auto& LinearColumns, const auto& DnnColumns, class Head, const auto& Hidden,
          const auto& LinearOptimizer = linear_optimizer<LinearColumns>,
          const auto& DnnOptimizer = dnn_optimizer>
struct DnnLinearCombinedModel {
  constexpr void operator()(Graph& g, ModeKeys mode) const {
    const auto features = feature_placeholders(g, feature_columns(LinearColumns, DnnColumns));
    const auto wide = linear_model<Head::units>(g, "linear", features, LinearColumns);
    const auto deep = dnn_logits<Head::units>(g, "dnn", features, DnnColumns, Hidden);
    add_head<Head>(g, mode, features, wide + deep, [&](const auto& loss) {
      return training_step(g, loss, Part{"linear", LinearOptimizer}, Part{"dnn", DnnOptimizer});
    });
  }
};

/// A wide and deep model that classifies. See LinearClassifier for label, optimisers and weight,
/// and ClassHead for predictions and metrics.
template <const auto& LinearColumns, const auto& DnnColumns, const auto& Label, const auto& Hidden,
          const auto& LinearOptimizer = linear_optimizer<LinearColumns>,
          const auto& DnnOptimizer = dnn_optimizer, const auto& Weight = unweighted>
using DnnLinearCombinedClassifier =
    ClassEstimator<DnnLinearCombinedModel<LinearColumns, DnnColumns, ClassHead<Label, Weight>,
                                          Hidden, LinearOptimizer, DnnOptimizer>,
                   ClassHead<Label, Weight>>;

/// A wide and deep model that predicts numbers, with squared loss. See RegressionHead.
template <const auto& LinearColumns, const auto& DnnColumns, const auto& Label, const auto& Hidden,
          const auto& LinearOptimizer = linear_optimizer<LinearColumns>,
          const auto& DnnOptimizer = dnn_optimizer, const auto& Weight = unweighted>
using DnnLinearCombinedRegressor = RegressionEstimator<
    DnnLinearCombinedModel<LinearColumns, DnnColumns, RegressionHead<Label, Weight>, Hidden,
                           LinearOptimizer, DnnOptimizer>>;

}  // namespace typeflow::inline TYPEFLOW_ISA
