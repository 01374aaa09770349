// SPDX-License-Identifier: Apache-2.0

// Classes as floating-point numbers.

// expect: softmax_cross_entropy(logits, labels): labels that are classes, one a row, must be
// integers expect: cast<std::int32_t>(labels) never: dense labels

#include "typeflow/graph.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto logits = tf::placeholder<float, tf::batch, 10>(g, "logits");
  auto labels = tf::placeholder<float, tf::batch>(g, "labels");
#ifdef CORRECTED
  auto loss = softmax_cross_entropy(logits, tf::cast<std::int32_t>(labels));
#else
  auto loss = softmax_cross_entropy(logits, labels);  // error here
#endif
  loss.named("loss");
}
