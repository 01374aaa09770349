// SPDX-License-Identifier: Apache-2.0

// Random nested branches and loops: programs compute what their graphs mean.

#include <doctest/doctest.h>

#include "control_flow.hpp"

namespace {

fuzz::ControlSize size_of(std::uint64_t seed) {
  return seed % 2 == 0 ? fuzz::ControlSize{} : fuzz::ControlSize{.statements = 3, .depth = 1};
}

void check(std::uint64_t first, int graphs, fuzz::ControlSize size) {
  for (std::uint64_t seed = first; seed < first + static_cast<std::uint64_t>(graphs); ++seed) {
    const std::string wrong = fuzz::check_control_flow(seed, size);
    if (wrong.empty()) continue;
    CAPTURE(seed);
    FAIL_CHECK(wrong << '\n' << fuzz::control_flow_text(seed, size));
  }
}

}  // namespace

TEST_CASE("random branches and loops, nested up to a depth of three") {
  check(1000, 1500, {});
  check(5000, 1000, {.statements = 3, .depth = 1});
}

TEST_CASE("random branches and loops on one to four devices, with and without steps that wait") {
  int late_copies = 0;
  for (std::uint64_t seed = 0; seed < 800; ++seed) {
    const fuzz::ControlSize size = size_of(seed);
    const std::string wrong = fuzz::check_devices(seed, size, seed % 800 >= 500, &late_copies);
    if (wrong.empty()) continue;
    CAPTURE(seed);
    FAIL_CHECK(wrong << '\n' << fuzz::control_flow_text(seed, size));
  }
  CHECK(late_copies >= 100);
}

TEST_CASE("graphs whose plans once gave memory away too early") {
  for (const std::uint64_t seed : {343u, 3890u, 4341u, 7097u}) {
    CAPTURE(seed);
    CHECK(fuzz::check_devices(seed, size_of(seed), false) == "");
  }
}

TEST_CASE("random runs on one to four devices that fail or are cancelled at a random step") {
  int checked = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const fuzz::ControlSize size = size_of(seed);
    const std::string wrong = fuzz::check_failures(seed, 10, checked, size);
    if (wrong.empty()) continue;
    CAPTURE(seed);
    FAIL_CHECK(wrong << '\n' << fuzz::control_flow_text(seed, size));
  }
  CHECK(checked >= 1000);
}
