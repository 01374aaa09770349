// SPDX-License-Identifier: Apache-2.0

// Random nested branches and loops of primitives: what they mean by dead values and tags is what
// the functional forms mean, and what they have become by recognition.

#include <doctest/doctest.h>

#include "primitives.hpp"

namespace {

void check(std::uint64_t first, std::uint64_t graphs, fuzz::PrimitivesSize size, bool programs) {
  for (std::uint64_t seed = first; seed < first + graphs; ++seed) {
    const std::string wrong = fuzz::check_primitives(seed, size, programs);
    if (wrong.empty()) continue;
    CAPTURE(seed);
    FAIL_CHECK(wrong);
  }
}

}  // namespace

TEST_CASE("a thousand random graphs of primitives, nested up to a depth of three") {
  check(1000, 1000, {}, false);
}

TEST_CASE("random graphs of primitives, compiled") {
  check(5000, 100, {.statements = 4, .depth = 2}, true);
}

TEST_CASE("random graphs of primitives whose edges were mixed up are refused, or mean one thing") {
  int refused = 0;
  int well_formed = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    std::string wrong;
    const fuzz::Rewired became = fuzz::check_rewired(seed, {.statements = 4}, wrong);
    refused += became == fuzz::Rewired::refused ? 1 : 0;
    well_formed += became == fuzz::Rewired::well_formed ? 1 : 0;
    if (wrong.empty()) continue;
    CAPTURE(seed);
    FAIL_CHECK(wrong);
  }
  CHECK(refused > 200);
  CHECK(well_formed > 200);
}
