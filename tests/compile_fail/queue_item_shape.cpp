// SPDX-License-Identifier: Apache-2.0

// Rows of another shape than the queue's item.

// expect: enqueue_many(queue, x...): there must be an x for each item of the queue, of its element
// expect: queue_item_shape.cpp

#include "typeflow/queues.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto q = tf::queue<tf::Queue<tf::Fifo{.capacity = 8}, tf::Item<float, 3>>>(g, "q");
#ifdef CORRECTED
  enqueue_many(q, placeholder<float, tf::batch, 3>(g, "x")).named("put");
#else
  enqueue_many(q, placeholder<float, tf::batch, 4>(g, "x")).named("put");  // error here
#endif
}

void use() {
  tf::Variables variables;
  tf::Session<model> session(variables);
}
