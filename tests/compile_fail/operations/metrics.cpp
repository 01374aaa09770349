// SPDX-License-Identifier: Apache-2.0

// What streaming metrics refuse.

#include "typeflow/metrics.hpp"

#include "typeflow/graph.hpp"

namespace tf = typeflow;
namespace metrics = tf::metrics;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 3>(g, "x");
  auto n = tf::placeholder<std::int32_t, tf::batch, 3>(g, "n");
  auto k = tf::placeholder<std::int32_t, tf::batch>(g, "k");
  auto one = tf::placeholder<float, tf::batch>(g, "one");
  auto w = tf::placeholder<float, 3>(g, "w");
  auto words = tf::placeholder<std::string_view, tf::batch>(g, "words");
  metrics::accuracy(g, "right", n, n, one);
#ifndef CORRECTED
  // clang-format off
  metrics::mean(g, "mean", x, w);                                // error: weights of a metric: they must be a number, or floating-point with the values' axes from the first on, each extent the values' or 1
  metrics::accuracy(g, "integer_weights", n, n, k);              // error: weights of a metric: they must be a number, or floating-point with the values' axes from the first on, each extent the values' or 1
  metrics::mean(g, "words", words);                              // error: metrics::mean(g, name, values): the values must be numbers
  metrics::percentage_below(g, "below", n, 1);                   // error: metrics::percentage_below(g, name, values, threshold): the values must be floating-point
  metrics::accuracy(g, "accuracy", x, n);                        // error: metrics::accuracy(g, name, predictions, labels): both must have one element type and one shape
  metrics::recall_at_k<2>(g, "recall_at_k", x, one);             // error: metrics::recall_at_k<k>(g, name, predictions, labels): the predictions must be floating-point, (B,C), and the labels integers, (B) or (B,L)
  metrics::mean_absolute_error(g, "absolute", x, n);             // error: metrics::mean_absolute_error(g, name, predictions, labels): the predictions must be floating-point, and the labels of their element type and shape
  metrics::mean_squared_error(g, "squared", x, one);             // error: metrics::mean_squared_error(g, name, predictions, labels): the predictions must be floating-point, and the labels of their element type and shape
  metrics::root_mean_squared_error(g, "root", n, n);             // error: metrics::root_mean_squared_error(g, name, predictions, labels): the predictions must be floating-point, and the labels of their element type and shape
  metrics::mean_relative_error(g, "relative", x, x, one);        // error: metrics::mean_relative_error(g, name, predictions, labels, normalizer): the predictions must be floating-point, and labels and normalizer of their element type and shape
  metrics::mean_cosine_distance<2>(g, "cosine", x, x);           // error: metrics::mean_cosine_distance<axis>(g, name, predictions, labels): the predictions have no such axis
  metrics::true_positives(g, "tp", x, one);                      // error: metrics::true_positives(g, name, predictions, labels): both must be booleans or numbers of one shape
  metrics::true_negatives(g, "tn", x, one);                      // error: metrics::true_negatives(g, name, predictions, labels): both must be booleans or numbers of one shape
  metrics::false_positives(g, "fp", x, one);                     // error: metrics::false_positives(g, name, predictions, labels): both must be booleans or numbers of one shape
  metrics::false_negatives(g, "fn", x, one);                     // error: metrics::false_negatives(g, name, predictions, labels): both must be booleans or numbers of one shape
  metrics::precision(g, "precision", x, one);                    // error: metrics::precision(g, name, predictions, labels): both must be booleans or numbers of one shape
  metrics::recall(g, "recall", x, one);                          // error: metrics::recall(g, name, predictions, labels): both must be booleans or numbers of one shape
  metrics::confusion_matrix<3>(g, "confusion", k, one);          // error: metrics::confusion_matrix<classes>(g, name, predictions, labels): both must be integers in tensors of one shape
  metrics::mean_iou<3>(g, "iou", k, n);                          // error: metrics::mean_iou<classes>(g, name, predictions, labels): both must be integers in tensors of one shape
  metrics::auc(g, "auc", x, k);                                  // error: metrics::auc(g, name, predictions, labels): the predictions must be floating-point, and the labels booleans or numbers of their shape
  metrics::auc<1>(g, "auc_1", one, k);                           // error: metrics with thresholds: there must be two at least
  metrics::specificity_at_sensitivity(g, "specificity", k, k, 0.5);  // error: metrics::specificity_at_sensitivity(g, name, predictions, labels, sensitivity): the predictions must be floating-point
  metrics::sensitivity_at_specificity(g, "sensitivity", x, k, 0.5);  // error: metrics::sensitivity_at_specificity(g, name, predictions, labels, specificity): the predictions must be floating-point
  metrics::auc(g, "auc_given", x, k, {0.5});                     // error: metrics::auc(g, name, predictions, labels): the predictions must be floating-point, and the labels booleans or numbers of their shape
  metrics::precision_at_thresholds(g, "precision_at", n, n, {0.5});  // error: metrics::precision_at_thresholds(g, name, predictions, labels, thresholds): the predictions must be floating-point, and the labels booleans or numbers of their shape
  metrics::recall_at_thresholds(g, "recall_at", n, n, {0.5});  // error: metrics::recall_at_thresholds(g, name, predictions, labels, thresholds): the predictions must be floating-point, and the labels booleans or numbers of their shape
  metrics::true_positives_at_thresholds(g, "true_positives_at", n, n, {0.5});  // error: metrics::true_positives_at_thresholds(g, name, predictions, labels, thresholds): the predictions must be floating-point, and the labels booleans or numbers of their shape
  metrics::false_positives_at_thresholds(g, "false_positives_at", n, n, {0.5});  // error: metrics::false_positives_at_thresholds(g, name, predictions, labels, thresholds): the predictions must be floating-point, and the labels booleans or numbers of their shape
  metrics::true_negatives_at_thresholds(g, "true_negatives_at", n, n, {0.5});  // error: metrics::true_negatives_at_thresholds(g, name, predictions, labels, thresholds): the predictions must be floating-point, and the labels booleans or numbers of their shape
  metrics::false_negatives_at_thresholds(g, "false_negatives_at", n, n, {0.5});  // error: metrics::false_negatives_at_thresholds(g, name, predictions, labels, thresholds): the predictions must be floating-point, and the labels booleans or numbers of their shape
  // clang-format on
#endif
}
