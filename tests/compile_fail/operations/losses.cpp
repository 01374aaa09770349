// SPDX-License-Identifier: Apache-2.0

// What losses refuse.

#include "typeflow/losses.hpp"

#include "typeflow/graph.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 3>(g, "x");
  auto y = tf::placeholder<float, tf::batch, 3>(g, "y");
  auto n = tf::placeholder<std::int32_t, tf::batch, 3>(g, "n");
  auto one = tf::placeholder<float, tf::batch>(g, "one");
  auto classes = tf::placeholder<std::int32_t, tf::batch>(g, "classes");
  auto w = tf::placeholder<float, 3>(g, "w");
  auto wide_y = tf::placeholder<double, tf::batch, 3>(g, "wide_y");
  auto wide_w = tf::placeholder<double, tf::batch>(g, "wide_w");
  g.add_loss(mean_squared_error(x, y, one)).named("right");
#ifndef CORRECTED
  // clang-format off
  compute_weighted_loss(n);                  // error: compute_weighted_loss(losses, weights): the losses must be floating-point
  compute_weighted_loss(x, w);               // error: weights of a loss: they must be a number, or have the predictions' element type and the losses' axes from the first on
  huber_loss(x, y, wide_w);                  // error: weights of a loss: they must be a number, or have the predictions' element type and the losses' axes from the first on
  softmax_cross_entropy_loss(x, classes, y); // error: weights of a loss: they must be a number, or have the predictions' element type and the losses' axes from the first on
  absolute_difference(x, one);               // error: absolute_difference(predictions, labels): the predictions must be floating-point, and the labels of their element type and shape
  mean_squared_error(x, n);                  // error: mean_squared_error(predictions, labels): the predictions must be floating-point, and the labels of their element type and shape
  huber_loss(n, n);                          // error: huber_loss(predictions, labels): the predictions must be floating-point, and the labels of their element type and shape
  log_poisson_loss(x, n);                    // error: log_poisson_loss(log_input, labels): the input must be floating-point, and the labels of its element type and shape
  cosine_distance(x, one);                   // error: cosine_distance(predictions, labels): the predictions must be floating-point, and the labels of their element type and shape
  cosine_distance<tf::Reduction::sum, 2>(x, y);  // error: cosine_distance<reduction, axis>(predictions, labels): the predictions have no such axis
  mean_pairwise_squared_error(x, one);       // error: mean_pairwise_squared_error(predictions, labels): the predictions must be floating-point
  hinge_loss(x, n);                          // error: hinge_loss(logits, labels): the logits must be floating-point, and the labels of their element type and shape
  log_loss(x, n);                            // error: log_loss(predictions, labels): the predictions must be floating-point, and the labels of their element type and shape
  sigmoid_cross_entropy(x, n);               // error: sigmoid_cross_entropy(logits, labels): the logits must be floating-point, and the labels of their element type and shape
  weighted_cross_entropy(x, y, one);         // error: weighted_cross_entropy(logits, labels, pos_weight): the logits must be floating-point
  sigmoid_cross_entropy_loss(x, n);          // error: sigmoid_cross_entropy_loss(logits, labels): the logits must be floating-point, and the labels of their element type and shape
  weighted_cross_entropy_loss(x, n, 2);      // error: weighted_cross_entropy_loss(logits, labels, pos_weight): the logits must be floating-point
  softmax_cross_entropy_loss(x, one);        // error: softmax_cross_entropy(logits, labels): labels that are classes, one a row, must be integers
  softmax_cross_entropy_loss(x, wide_w);     // error: softmax_cross_entropy(logits, labels): labels that are classes, one a row, must be integers
  softmax_cross_entropy_loss(x, wide_y);     // error: softmax_cross_entropy(logits, labels): dense labels must have the element type of the logits and broadcast to their shape
  kl_divergence(x, n);                       // error: kl_divergence(predictions, labels): the predictions must be floating-point, and the labels of their element type and shape
  kl_divergence<tf::Reduction::sum, 2>(x, y);  // error: kl_divergence<reduction, axis>(predictions, labels): the predictions have no such axis
  g.add_loss(x);                             // error: g.add_loss(loss): the loss must be a scalar tensor; take mean(loss)
  tf::total_loss<int>(g);                    // error: total_loss<T>(g): T must be floating-point
  tf::regularization_loss<int>(g);           // error: regularization_loss<T>(g): T must be floating-point
  // clang-format on
#endif
}
