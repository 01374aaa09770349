// SPDX-License-Identifier: Apache-2.0

// A batch that a queue can never have.

// expect: dequeue_many<n>(queue): n must be at least 1, and at most the capacity less
// min_after_dequeue expect: queue_dequeue_many.cpp

#include "typeflow/queues.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

using Numbers =
    tf::Queue<tf::Shuffle{.capacity = 100, .min_after_dequeue = 50}, tf::Item<std::int64_t>>;

constexpr void model(tf::Graph& g) {
  auto q = tf::queue<Numbers>(g, "q");
#ifdef CORRECTED
  dequeue_many<50>(q).named("batch");
#else
  dequeue_many<64>(q).named("batch");  // error here
#endif
}

void use() {
  tf::Variables variables;
  tf::Session<model> session(variables);
}
