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

TEST_CASE("random branches and loops on one to four devices") {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const fuzz::ControlSize size =
        seed % 2 == 0 ? fuzz::ControlSize{} : fuzz::ControlSize{.statements = 3, .depth = 1};
    const std::string wrong = fuzz::check_devices(seed, size);
    if (wrong.empty()) continue;
    CAPTURE(seed);
    FAIL_CHECK(wrong << '\n' << fuzz::control_flow_text(seed, size));
  }
}
