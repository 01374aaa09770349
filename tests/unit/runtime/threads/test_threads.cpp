// SPDX-License-Identifier: Apache-2.0

// Several callers of one session that has threads of its own. What the thread sanitizer makes of
// it is half of the test.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <typeflow/typeflow.hpp>

namespace {

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch>(g, "x");
  (x * 2 + 1).named("y");
  sum(x).named("sum");
}

}  // namespace

TEST_CASE("two callers of a session with two threads get their own results") {
  constexpr int rows = 1 << 19;  // many parts: the callers compete for the session's threads
  tf::Variables variables;
  tf::Session<model> session(variables, {.threads = 2});
  std::vector<int> wrong(2, 0);
  const auto call = [&](int caller) {
    const std::vector<float> x(rows, static_cast<float>(caller + 1));
    for (int run = 0; run < 8; ++run) {
      const auto [y, sum] = session.run<"y", "sum">(tf::feed<"x">(x));
      const float expected = 2 * x[0] + 1;
      for (const float e : y) wrong[static_cast<std::size_t>(caller)] += e != expected;
      wrong[static_cast<std::size_t>(caller)] += sum != static_cast<float>(rows) * x[0];
    }
  };
  std::thread first(call, 0);
  std::thread second(call, 1);
  first.join();
  second.join();
  CHECK(wrong == std::vector<int>{0, 0});
}

TEST_CASE("parts of a loop are disjoint and have at least a grain; less than two grains are one") {
  tf::ThreadPool pool(2);
  tf::KernelCall call{};
  call.stream = pool.executor();
  for (const std::int64_t grain : {1, 3, 64}) {
    for (const std::int64_t count : {1, 2, 5, 6, 7, 63, 64, 127, 128, 129, 1000}) {
      CAPTURE(grain);
      CAPTURE(count);
      std::mutex mutex;
      std::vector<std::pair<std::int64_t, std::int64_t>> parts;
      tf::cpu_kernels::parallel(call, count, grain, [&](std::int64_t begin, std::int64_t end) {
        const std::lock_guard lock(mutex);
        parts.emplace_back(begin, end);
      });
      std::sort(parts.begin(), parts.end());
      std::int64_t next = 0;
      bool whole = true;
      for (const auto& [begin, end] : parts) {
        whole = whole && begin == next && (end - begin >= grain || parts.size() == 1);
        next = end;
      }
      CHECK(whole);
      CHECK(next == count);
      CHECK((parts.size() == 1) == (count < 2 * grain));
    }
  }
}
