// SPDX-License-Identifier: Apache-2.0

// Several callers of one runner, under the thread sanitizer where there is one.

#include "model.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace tf = typeflow;

TEST_CASE("several callers of a runner get their own results") {
  const tf::Runner runner = runner_test::make();
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&runner, &wrong, caller] {
      const auto value = static_cast<float>(caller);
      for (int i = 0; i < 20; ++i) {
        // Of rows that are all v the logits are 2 v (6 - 4 j) + j.
        const std::vector<float> x(static_cast<std::size_t>(4 * (caller + 1)), value);
        std::vector<float> into(x.size() / 4 * 3);
        runner.run({{"x", x}}, {{"logits", into}});
        const tf::RunnerResults owned = runner.run({{"x", x}}, {"class", "logits"});
        for (std::size_t k = 0; k < into.size(); ++k) {
          const auto j = static_cast<float>(k % 3);
          const float expected = 2 * value * (6 - 4 * j) + j;
          if (into[k] != expected || owned.get<float>("logits")[k] != expected) ++wrong;
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(wrong == 0);
}
