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

/// Says what the seeds have met.
fuzz::Met check_devices(std::uint64_t first, int graphs, bool waits) {
  fuzz::Met met;
  for (std::uint64_t seed = first; seed < first + static_cast<std::uint64_t>(graphs); ++seed) {
    const fuzz::ControlSize size = fuzz::size_of_seed(seed);
    const fuzz::DeviceKind kind = fuzz::devices_of_seed(seed, waits);
    const std::string wrong = fuzz::check_devices(seed, size, kind, &met);
    if (wrong.empty()) continue;
    CAPTURE(seed);
    FAIL_CHECK(wrong << '\n' << fuzz::control_flow_text(seed, size));
  }
  return met;
}

}  // namespace

TEST_CASE("random branches and loops, nested up to a depth of three") {
  check(1000, 500, {});
  check(5000, 300, {.statements = 3, .depth = 1});
}
TEST_CASE("more random branches and loops, nested up to a depth of three (long)") {
  check(1500, 1000, {});
  check(5300, 700, {.statements = 3, .depth = 1});
}

TEST_CASE("random branches and loops on one to four devices") {
  const fuzz::Met met = check_devices(0, 200, false);
  CHECK(met.late_copies >= 25);
  CHECK(met.late_transfers >= 250);
}
TEST_CASE("random branches and loops on one to four devices, with steps that wait") {
  check_devices(500, 30, true);
}
TEST_CASE("more random branches and loops on one to four devices (long)") {
  const fuzz::Met met = check_devices(200, 300, false);
  CHECK(met.late_copies >= 25);
  CHECK(met.late_transfers >= 250);
  CHECK(met.with_detached >= 1);
  check_devices(530, 270, true);
}

TEST_CASE("graphs whose plans once gave memory away too early") {
  for (const std::uint64_t seed : {343u, 3890u, 4341u, 7097u}) {
    CAPTURE(seed);
    fuzz::ControlSize size = fuzz::size_of_seed(seed);
    size.compressed = false;  // as they were found
    for (const bool transports : {false, true}) {
      CHECK(fuzz::check_devices(seed, size, {.transports = transports}) == "");
    }
  }
}

TEST_CASE("random runs on one to four devices that fail or are cancelled at a random step") {
  int checked = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const fuzz::ControlSize size = fuzz::size_of_seed(seed);
    const bool transports = fuzz::devices_of_seed(seed).transports;
    const std::string wrong = fuzz::check_failures(seed, 10, checked, size, transports);
    if (wrong.empty()) continue;
    CAPTURE(seed);
    FAIL_CHECK(wrong << '\n' << fuzz::control_flow_text(seed, size));
  }
  CHECK(checked >= 1000);
}
