// SPDX-License-Identifier: Apache-2.0
#pragma once

// Linear classifiers and regressors of feature columns.
//
//   constexpr auto columns = tf::feature_columns(age, language);
//   constexpr auto bought = tf::categorical_column_with_identity<"bought", 2>();
//   constexpr tf::Ftrl ftrl{.rate = 0.1f, .l1 = 0.001f};
//
//   tf::LinearClassifier<columns, bought, ftrl> model;

#include <tuple>
#include <type_traits>

#include "typeflow/estimators/canned.hpp"
#include "typeflow/estimators/heads.hpp"
#include "typeflow/optimizers.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The optimiser of linear models that name none: FTRL with the rate 1 / sqrt(number of columns),
/// at most 0.2, as in TensorFlow.
template <const auto& Columns>
inline constexpr Ftrl linear_optimizer{.rate = [] {
  const double count = std::tuple_size_v<std::remove_cvref_t<decltype(Columns)>>;
  double root = 5;
  while (root * root < count) root += 1e-3;
  return 1 / root;
}()};

/// The model function of linear models: "linear/COLUMN/weights" and "linear/bias_weights".
template <const auto& Columns, class Head, const auto& Optimizer = linear_optimizer<Columns>>
struct LinearModel {
  constexpr void operator()(Graph& g, ModeKeys mode) const {
    const auto features = feature_placeholders(g, Columns);
    const auto logits = linear_model<Head::units>(g, "linear", features, Columns);
    add_head<Head>(g, mode, features, logits, [&](const auto& loss) {
      return training_step(g, loss, Part{"linear", Optimizer});
    });
  }
};

/// A logistic regression, or a softmax regression if there are more than two classes.
///
/// Columns are numeric or categorical (feature_columns.hpp). The label is a ClassLabel. The
/// optimiser is a constant, or a function of tf::Graph& that returns one, for rates that depend on
/// global_step(g). See ClassHead for predictions and metrics.
template <const auto& Columns, const auto& Label, const auto& Optimizer = linear_optimizer<Columns>,
          const auto& Weight = unweighted>
using LinearClassifier = ClassEstimator<LinearModel<Columns, ClassHead<Label, Weight>, Optimizer>,
                                        ClassHead<Label, Weight>>;

/// A linear regression with squared loss. The label is a numeric column. See RegressionHead.
template <const auto& Columns, const auto& Label, const auto& Optimizer = linear_optimizer<Columns>,
          const auto& Weight = unweighted>
using LinearRegressor =
    RegressionEstimator<LinearModel<Columns, RegressionHead<Label, Weight>, Optimizer>>;

}  // namespace typeflow::inline TYPEFLOW_ISA
