// SPDX-License-Identifier: Apache-2.0

// queues [PAIRS]: how many elements a second go through a queue of numbers, from one thread to
// another and within one. The median of five rounds.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include <typeflow/queues/queue.hpp>

namespace tf = typeflow;

namespace {

using Number = tf::Item<std::int64_t>;

template <class F>
double median_seconds(const F& f) {
  std::vector<double> seconds;
  for (int round = 0; round < 5; ++round) {
    const auto start = std::chrono::steady_clock::now();
    f();
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    seconds.push_back(passed.count());
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[2];
}

/// One thread pushes, and this one pops.
template <class Q>
void two_threads(const char* what, std::int64_t pairs) {
  std::int64_t sum = 0;
  const double seconds = median_seconds([&] {
    Q queue("numbers");
    std::jthread producer([&] {
      for (std::int64_t i = 0; i < pairs; ++i) queue.push(i);
      queue.close();
    });
    while (const auto x = queue.pop_or_end()) sum += *x;
  });
  const bool right = sum == 5 * (pairs * (pairs - 1) / 2);
  std::printf("%-44s %7.2f M pairs/s%s\n", what, static_cast<double>(pairs) / seconds * 1e-6,
              right ? "" : "  WRONG SUM");
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t pairs = argc > 1 ? std::atoll(argv[1]) : 2'000'000;
  two_threads<tf::Queue<tf::Fifo{.capacity = 1024}, Number>>("Fifo of 1024, two threads", pairs);
  two_threads<tf::Queue<tf::Fifo{.capacity = 2}, Number>>("Fifo of 2, two threads", pairs / 20);
  two_threads<tf::Queue<tf::Shuffle{.capacity = 1024, .min_after_dequeue = 512}, Number>>(
      "Shuffle of 1024, two threads", pairs);
  std::int64_t sum = 0;
  const double seconds = median_seconds([&] {
    tf::Queue<tf::Fifo{.capacity = 1024}, Number> queue("numbers");
    for (std::int64_t i = 0; i < pairs; ++i) {
      queue.push(i);
      sum += queue.pop();
    }
  });
  std::printf("%-44s %7.2f M pairs/s\n", "Fifo of 1024, one thread",
              static_cast<double>(pairs) / seconds * 1e-6);
  return sum == 0;
}
