// SPDX-License-Identifier: Apache-2.0

// What iterators, and queues that a dataset fills, refuse.

#include <cstdint>
#include <tuple>

#include "typeflow/iterators.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  tf::iterator<tf::ElementPart<float, 3>>(g, "right");
#ifndef CORRECTED
  // clang-format off
  tf::iterator<float>(g, "x");                                     // error: iterator<P...>(g, name): the P must be parts, as tf::ElementPart<float, tf::batch, 784>
  tf::iterator<>(g, "x");                                          // error: iterator<P...>(g, name): the P must be parts, as tf::ElementPart<float, tf::batch, 784>
  // clang-format on
#endif
}

void fill(tf::Queue<tf::Fifo{.capacity = 3}, tf::Item<float>>& queue,
          const tf::Dataset<float>& numbers,
          [[maybe_unused]] const tf::Dataset<std::tuple<float, float>>& pairs) {
  tf::queue_runner(queue, numbers);
#ifndef CORRECTED
  // clang-format off
  tf::queue_runner(queue, pairs);                                  // error: queue_runner(queue, dataset): the dataset's elements must have a part for each item of the queue
  // clang-format on
#endif
}
