// SPDX-License-Identifier: Apache-2.0
#pragma once

// Threads that put a dataset's elements into a queue.

#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include "typeflow/core/error.hpp"
#include "typeflow/data/batched.hpp"
#include "typeflow/data/dataset.hpp"
#include "typeflow/queues/coordinator.hpp"
#include "typeflow/queues/queue.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A QueueRunner whose threads read the dataset, one at a time, and push its elements: the parts of
/// a tuple are the items of the queue's element, after the priority of a tf::Priority queue. A
/// single thread keeps their order. The queue is closed after the last element. What the dataset
/// throws stops all threads of the coordinator, and its join() throws it.
///
///   tf::QueueRunner runner = tf::queue_runner(queue, rows, 2);
///   runner.start(coordinator);
///
/// The queue must live as long as the coordinator. Error if there is less than one thread.
template <auto Kind, class... Items, class T>
QueueRunner queue_runner(Queue<Kind, Items...>& queue, const Dataset<T>& dataset, int threads = 1) {
  struct Reader {
    std::mutex mutex;  // guards `iterator`
    DatasetIterator<T> iterator;
  };
  constexpr int parts = [] {
    if constexpr (detail::IsTuple<T>::value) {
      return static_cast<int>(std::tuple_size_v<T>);
    } else {
      return 1;
    }
  }();
  constexpr int items = static_cast<int>(Queue<Kind, Items...>::item_count);
  static_assert(parts == items,
                "queue_runner(queue, dataset): the dataset's elements must have a part for each "
                "item of the queue");
  return QueueRunner(
      queue, threads,
      [&queue, reader = std::shared_ptr<Reader>(new Reader{{}, DatasetIterator<T>(dataset)})] {
        std::optional<T> element;
        {
          const std::lock_guard lock(reader->mutex);
          element = reader->iterator.next();
        }
        if (!element) throw OutOfRange("queue_runner", "the dataset has come to its end");
        if constexpr (detail::IsTuple<T>::value) {
          std::apply([&](const auto&... part) { queue.push(part...); }, *element);
        } else {
          queue.push(*element);
        }
      });
}

}  // namespace typeflow::inline TYPEFLOW_ISA
