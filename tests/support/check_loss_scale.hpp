// SPDX-License-Identifier: Apache-2.0
#pragma once

// What tests of mixed precision share, on processors and on GPUs: a loss that is scaled, and steps
// of it that overflow, beside steps without a scale.

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "typeflow/mixed_precision.hpp"
#include "typeflow/optimizers.hpp"
#include "typeflow/typeflow.hpp"

namespace test {

namespace tf = typeflow;

/// A variable's elements.
template <class T>
std::vector<float> floats(const tf::Variables& store, const char* name) {
  std::vector<float> out;
  for (const T x : store.get<T>(name)) out.push_back(static_cast<float>(x));
  return out;
}

constexpr void scaled_loss(tf::Graph& g) {
  auto x = placeholder<float, 2>(g, "x");
  auto w = variable<float, 2>(g, "w", tf::ones());
  const tf::LossScale scale(g, {.initial = 8, .interval = 3});
  auto loss = sum(w * x).named("loss");
  scale.minimize(tf::Adam{.rate = 0.25}, loss).named("train");
}
constexpr void unscaled_loss(tf::Graph& g) {
  auto x = placeholder<float, 2>(g, "x");
  auto w = variable<float, 2>(g, "w", tf::ones());
  tf::Adam{.rate = 0.25}.minimize(sum(w * x)).named("train");
}

/// Trains both losses by sessions with Target. A step whose gradient is not finite must leave the
/// variables as they are and halve the scale, which three good steps double.
template <class Target>
void check_loss_scale() {
  tf::Variables store;
  tf::Session<scaled_loss, tf::training, Target> session(store);
  tf::Variables plain;
  tf::Session<unscaled_loss, tf::training, Target> reference(plain);
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
  float scale = 8;
  std::int32_t good = 0;
  const float inputs[] = {1, 2, inf,          3, 4, 5, not_a_number, -inf, 1, 2, 3, 4,
                          5, 6, not_a_number, 2, 1};
  for (const float input : inputs) {
    const std::vector<float> x{input, 0.5f};
    session.template run<"train">(tf::feed<"x">(x));
    if (std::isfinite(input)) {
      reference.template run<"train">(tf::feed<"x">(x));
      if (++good == 3) {
        scale *= 2;
        good = 0;
      }
    } else {
      scale *= 0.5f;
      good = 0;
    }
    CHECK(store.get<float>("loss_scale/scale")[0] == scale);
    CHECK(store.get<std::int32_t>("loss_scale/good_steps")[0] == good);
    // Powers of two scale without rounding.
    CHECK(floats<float>(store, "w") == floats<float>(plain, "w"));
    CHECK(floats<float>(store, "w/adam/m") == floats<float>(plain, "w/adam/m"));
  }
}

}  // namespace test
