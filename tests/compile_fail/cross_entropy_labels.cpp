// SPDX-License-Identifier: Apache-2.0

// Integer labels with an axis too many: one class a row is needed.

// expect: softmax_cross_entropy(logits, labels): integer labels must broadcast to the shape
// expect: Shape<-1, 10>
// expect: Shape<-1, 1>

#include "typeflow/graph.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto logits = tf::placeholder<float, tf::batch, 10>(g, "logits");
  auto labels = tf::placeholder<std::int32_t, tf::batch, 1>(g, "labels");
#ifdef CORRECTED
  auto loss = softmax_cross_entropy(logits, tf::reshape<tf::batch>(labels));
#else
  auto loss = softmax_cross_entropy(logits, labels);  // error here
#endif
  loss.named("loss");
}
