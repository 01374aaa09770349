// SPDX-License-Identifier: Apache-2.0

// Random graphs of processes that talk by queues, on one to four devices.

#include <doctest/doctest.h>

#include "queues.hpp"

TEST_CASE("random producers and consumers compute what a simulation does, each step once") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const std::string wrong = fuzz::check_queues(seed);
    if (wrong.empty()) continue;
    CAPTURE(seed);
    FAIL_CHECK(wrong << '\n' << fuzz::queues_text(seed, seed % 2 == 1, false));
  }
}

TEST_CASE("runs with queues that fail or are stopped at a random step lose and double no element") {
  int checked = 0;
  for (std::uint64_t seed = 0; seed < 70; ++seed) {
    const std::string wrong = fuzz::check_queue_failures(seed, 5, checked);
    if (wrong.empty()) continue;
    CAPTURE(seed);
    FAIL_CHECK(wrong << '\n' << fuzz::queues_text(seed, false, false));
  }
  CHECK(checked >= 200);
}

TEST_CASE("processes that wait for ever do what they can, until the run or the queues are ended") {
  int blocked = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const std::string wrong = fuzz::check_queue_deadlock(seed, blocked);
    if (wrong.empty()) continue;
    CAPTURE(seed);
    FAIL_CHECK(wrong << '\n' << fuzz::queues_text(seed, false, true));
  }
  CHECK(blocked >= 50);
}
