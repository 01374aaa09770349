// SPDX-License-Identifier: Apache-2.0

// A training that is saved, and goes on from the file, ends where one without a break ends.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "typeflow/saving.hpp"
#include "typeflow/typeflow.hpp"
#include "unit/saving/folder.hpp"

namespace tf = typeflow;

namespace {

/// Momentum by hand, its slot a variable, on a loss with random noise: values, slot, step and
/// draws.
constexpr void model(tf::Graph& g) {
  auto w = variable<float, 3, 2>(g, "fc/W", tf::ones);
  auto m = variable<float, 3, 2>(g, "fc/W/momentum", tf::zeros, false);
  auto step = variable<std::int64_t>(g, "step", tf::zeros, false);
  auto noise = random_normal<float, 3, 2>(g, "noise");
  auto gradient = 2 * w * square(noise);
  auto slope = assign(m, 0.9f * m + gradient);
  (slope + assign_sub(w, 0.01f * slope.value()) + assign_add(step, 1)).named("train");
}

void train(tf::Session<model>& session, int steps) {
  for (int i = 0; i < steps; ++i) session.run<"train">();
}
bool equal(const tf::Variables& a, const tf::Variables& b) {
  return a.names() == b.names() && a.draws() == b.draws() &&
         std::ranges::all_of(a.names(), [&](const std::string& name) {
           return std::ranges::equal(a.find(name)->bytes, b.find(name)->bytes);
         });
}

}  // namespace

TEST_CASE("a training that goes on from a file equals one without a break") {
  const Folder folder;
  tf::Variables whole;
  tf::Session<model> session(whole, {.seed = 5});
  train(session, 4);
  save(whole, folder / "x");
  train(session, 6);

  tf::Variables resumed;
  load(resumed, folder / "x");
  CHECK_FALSE(equal(resumed, whole));
  CHECK(resumed.get<std::int64_t>("step")[0] == 4);
  tf::Session<model> second(resumed, {.seed = 5});
  train(second, 6);
  CHECK(resumed.get<std::int64_t>("step")[0] == 10);
  CHECK(equal(resumed, whole));

  // The same with the session open meanwhile: the store is restored in place.
  load(whole, folder / "x");
  train(session, 6);
  CHECK(equal(resumed, whole));
}
