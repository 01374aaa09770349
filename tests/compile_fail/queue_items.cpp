// SPDX-License-Identifier: Apache-2.0

// An element that lacks an item of its queue.

// expect: enqueue(queue, x...): there must be an x for each item of the queue, of its element type
// expect: queue_items.cpp

#include "typeflow/queues.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

using Examples =
    tf::Queue<tf::Fifo{.capacity = 8}, tf::Item<float, 28, 28>, tf::Item<std::int32_t>>;

constexpr void model(tf::Graph& g) {
  auto q = tf::queue<Examples>(g, "q");
  auto image = placeholder<float, 28, 28>(g, "image");
#ifdef CORRECTED
  enqueue(q, image, 3).named("put");
#else
  enqueue(q, image).named("put");  // error here
#endif
}

void use() {
  tf::Variables variables;
  tf::Session<model> session(variables);
}
