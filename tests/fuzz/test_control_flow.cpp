// SPDX-License-Identifier: Apache-2.0

// Random nested branches and loops: programs compute what their graphs mean.

#include <doctest/doctest.h>

#include "control_flow.hpp"

namespace {

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
