// SPDX-License-Identifier: Apache-2.0
#pragma once

// Heads: what a model's logits predict, and how they are judged and trained. A head has a column of
// labels and, if examples have weights, a numeric column of weights.
//
//   constexpr auto income = tf::categorical_column_with_vocabulary_list<"income">({"<=50K",
//   ">50K"}); constexpr auto weight = tf::numeric_column<"weight">();
//
//   constexpr void model(tf::Graph& g, tf::ModeKeys mode) {
//     using Head = tf::ClassHead<income, weight>;
//     const auto features = feature_placeholders(g, columns);
//     auto logits = linear_model<Head::units>(g, "linear", features, columns);
//     tf::add_head<Head>(g, mode, features, logits,
//                        [](auto loss) { return tf::Ftrl{.rate = 0.1f}.minimize(loss); });
//   }
//
// The ready-made estimators (linear.hpp, dnn.hpp) are such models.

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "typeflow/estimators/model_function.hpp"
#include "typeflow/feature_columns.hpp"
#include "typeflow/losses.hpp"
#include "typeflow/metrics.hpp"
#include "typeflow/typeflow.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A column of labels that are classes: one word or integer for each example, of a vocabulary's
/// list or file, or an integer that is the class.
template <class C>
concept ClassLabel = CategoricalColumn<C> && requires {
  typename C::raw_feature;
  requires C::buckets >= 2;
};
/// A column of labels that are numbers.
template <class C>
concept NumericLabel = DenseColumn<C> && !CategoricalColumn<C> && requires { C::key; };

/// In place of a column of weights: all examples count the same.
struct Unweighted {};
inline constexpr Unweighted unweighted{};

namespace detail {

template <const auto& Object>
using TypeOf = std::remove_cvref_t<decltype(Object)>;

/// The feature of a label or a weight: one of the model's, or a placeholder of its own.
template <const auto& Column, FeatureSet F>
constexpr auto with_feature_of(Graph& g, const F& features) {
  if constexpr (F::template has<TypeOf<Column>::key>) {
    return features;
  } else {
    return feature_placeholders(g, feature_columns(Column));
  }
}
/// The weights of examples, (batch), or 1.
template <const auto& Weight, FeatureSet F>
constexpr auto example_weights(Graph& g, const F& features) {
  if constexpr (std::is_same_v<TypeOf<Weight>, Unweighted>) {
    return 1;
  } else {
    static_assert(NumericLabel<TypeOf<Weight>> && TypeOf<Weight>::width == 1,
                  "the weight of a head: a numeric column of one number for each example");
    return reshape<batch>(numbers_of(Weight, with_feature_of<Weight>(g, features)));
  }
}

/// Whether a feature has the name of a result that heads name.
template <class... Named>
consteval bool hides_result(const Features<Named...>*) {
  for (const std::string_view name : Features<Named...>::names) {
    for (const std::string_view result :
         {"loss", "train", "logits", "probabilities", "classes", "predictions"}) {
      if (name == result) return true;
    }
  }
  return false;
}

}  // namespace detail

/// A head of classes. The logits are (batch,1) for two classes, else (batch,classes). The loss is
/// the logistic loss for two, else the cross entropy of softmax, as a weighted mean.
///
/// Predictions: "logits", "probabilities" (batch,classes), "classes" (batch), int64.
/// Metrics: accuracy and average_loss; of two classes also auc and accuracy/baseline_label_mean,
/// the share of class 1 among the labels.
template <const auto& Label, const auto& Weight = unweighted>
struct ClassHead {
  static_assert(ClassLabel<detail::TypeOf<Label>>,
                "the label of a head of classes: a categorical column of a vocabulary, or with "
                "identity, with two classes or more");
  static constexpr Text key = detail::TypeOf<Label>::key;
  static constexpr Extent classes = detail::TypeOf<Label>::buckets;
  static constexpr bool is_binary = classes == 2;
  static constexpr Extent units = is_binary ? 1 : classes;

  /// Names the predictions.
  template <TypedExpr L>
  static constexpr void predict(const L& logits) {
    logits.named("logits");
    if constexpr (is_binary) {
      concat<1>(sigmoid(-logits), sigmoid(logits)).named("probabilities");
    } else {
      softmax(logits).named("probabilities");
    }
    class_of(logits).named("classes");
  }

  /// The mean of the losses, and the metrics of an evaluation.
  template <TypedExpr L, FeatureSet F>
  static constexpr auto loss(Graph& g, ModeKeys mode, const L& logits, const F& features) {
    const auto given = detail::with_feature_of<Label>(g, features);
    const auto ids = reshape<batch>(category_ids(g, Label, given));
    const Effect valid = check(greater_equal(ids, 0), "a label is none of the classes: {}",
                               given.template get<key>());
    const auto label = after(valid, ids);
    const auto weights = detail::example_weights<Weight>(g, features);
    const auto losses = losses_of(logits, label);
    if (mode == ModeKeys::eval) {
      metrics::accuracy(g, "accuracy", class_of(logits), label, weights);
      metrics::mean(g, "average_loss", losses, weights);
      if constexpr (is_binary) {
        metrics::mean(g, "accuracy/baseline_label_mean", cast<float>(label), weights);
        metrics::auc(g, "auc", reshape<batch>(sigmoid(logits)), label, weights);
      }
    }
    return compute_weighted_loss<Reduction::mean>(losses, weights);
  }

 private:
  template <TypedExpr L>
  static constexpr auto class_of(const L& logits) {
    if constexpr (is_binary) {
      return cast<std::int64_t>(greater(reshape<batch>(logits), 0.0f));
    } else {
      return cast<std::int64_t>(argmax<1>(logits));
    }
  }
  template <TypedExpr L, TypedExpr Y>
  static constexpr auto losses_of(const L& logits, const Y& label) {
    if constexpr (is_binary) {
      return sigmoid_cross_entropy(reshape<batch>(logits), cast<float>(label));
    } else {
      return softmax_cross_entropy(logits, label);
    }
  }
};

/// A head of numbers. The logits, (batch,width of the label), are the predictions; the loss is the
/// squared difference, as a weighted mean.
///
/// Predictions: "predictions", (batch), or (batch,width) if the width is not 1.
/// Metrics: average_loss, prediction/mean, label/mean.
template <const auto& Label, const auto& Weight = unweighted>
struct RegressionHead {
  static_assert(NumericLabel<detail::TypeOf<Label>>,
                "the label of a head of numbers: a numeric column");
  static constexpr Text key = detail::TypeOf<Label>::key;
  static constexpr Extent units = detail::TypeOf<Label>::width;

  template <TypedExpr L>
  static constexpr void predict(const L& logits) {
    if constexpr (units == 1) {
      reshape<batch>(logits).named("predictions");
    } else {
      logits.named("predictions");
    }
  }
  template <TypedExpr L, FeatureSet F>
  static constexpr auto loss(Graph& g, ModeKeys mode, const L& logits, const F& features) {
    const auto label = numbers_of(Label, detail::with_feature_of<Label>(g, features));
    const auto weights = detail::example_weights<Weight>(g, features);
    const auto losses = square(logits - label);
    if (mode == ModeKeys::eval) {
      metrics::mean(g, "average_loss", losses, weights);
      metrics::mean(g, "prediction/mean", logits, weights);
      metrics::mean(g, "label/mean", label, weights);
    }
    return compute_weighted_loss<Reduction::mean>(losses, weights);
  }
};

/// Gives a model its head: the predictions; but for ModeKeys::infer the "loss"; for
/// ModeKeys::train the effect "train", which step(loss) returns. `features` are those that the
/// logits are computed from.
template <class Head, FeatureSet F, TypedExpr L, class Step>
constexpr void add_head(Graph& g, ModeKeys mode, const F& features, const L& logits,
                        const Step& step) {
  static_assert(!F::template has<Head::key>,
                "add_head<head>: the label is among the features of the model");
  static_assert(!detail::hides_result(static_cast<const F*>(nullptr)),
                "add_head<head>: a feature has the name of a result, such as \"loss\" or "
                "\"classes\"; give it another one");
  Head::predict(logits);
  if (mode == ModeKeys::infer) return;
  const auto loss = Head::loss(g, mode, logits, features).named("loss");
  if (mode == ModeKeys::train) step(loss).named("train");
}

}  // namespace typeflow::inline TYPEFLOW_ISA
