// SPDX-License-Identifier: Apache-2.0

// What the operations of neural networks refuse.

#include "typeflow/graph.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 10>(g, "x");
  auto wide = tf::placeholder<double, tf::batch, 10>(g, "wide");
  auto integers = tf::placeholder<std::int32_t, tf::batch, 10>(g, "integers");
  auto columns = tf::placeholder<std::int32_t, tf::batch, 1>(g, "columns");
  auto classes = tf::placeholder<std::int32_t, tf::batch>(g, "classes");
  auto mask = tf::placeholder<bool, tf::batch>(g, "mask");
  auto scalar = tf::placeholder<float>(g, "scalar");
  auto rows = tf::placeholder<float, tf::batch, tf::batch>(g, "rows");
  auto image = tf::placeholder<float, tf::batch, 4, 4>(g, "image");
  softmax_cross_entropy(dropout(tf::dense<10>(g, "fc", x)), classes).named("right");
#ifndef CORRECTED
  // clang-format off
  softmax(integers);                         // error: softmax(x): x must be floating-point; convert with cast<float>(x)
  softmax(scalar);                           // error: softmax<axis>(x): x has no such axis
  tf::softmax<2>(x);                         // error: softmax<axis>(x): x has no such axis
  log_softmax(integers);                     // error: log_softmax(x): x must be floating-point; convert with cast<float>(x)
  tf::log_softmax<-3>(x);                    // error: log_softmax<axis>(x): x has no such axis
  softmax_cross_entropy(integers, classes);  // error: softmax_cross_entropy(logits, labels): the logits must be floating-point, with one axis at least
  softmax_cross_entropy(scalar, scalar);     // error: softmax_cross_entropy(logits, labels): the logits must be floating-point, with one axis at least
  tf::softmax_cross_entropy<2>(x, x);        // error: softmax_cross_entropy<axis>(logits, labels): the logits have no such axis
  softmax_cross_entropy(x, wide);            // error: softmax_cross_entropy(logits, labels): dense labels must have the element type of the logits and broadcast to their shape
  softmax_cross_entropy(x, image);           // error: softmax_cross_entropy(logits, labels): dense labels must have the element type of the logits and broadcast to their shape
  softmax_cross_entropy(x, columns);         // error: softmax_cross_entropy(logits, labels): integer labels must broadcast to the shape of the logits without the axis of the classes
  softmax_cross_entropy(x, mask);            // error: softmax_cross_entropy(logits, labels): integer labels need a fixed number of classes
  softmax_cross_entropy(rows, classes);      // error: softmax_cross_entropy(logits, labels): integer labels need a fixed number of classes
  dropout(integers);                         // error: dropout(x): x must be floating-point; convert with cast<float>(x)
  tf::dense<3>(g, "a", classes);             // error: dense(g, name, x): x must be a matrix, (batch, features), or have more axes
  tf::dense<3>(g, "b", rows);                // error: dense(g, name, x): the columns of x must be a number, not tf::batch
  tf::Dense<5, 3>(g, "c")(x);                // error: dense: the columns of x must equal the layer's inputs
  // clang-format on
#endif
}
