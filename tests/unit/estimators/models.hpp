// SPDX-License-Identifier: Apache-2.0
#pragma once

// A model of the tests: a line with all that a training has to keep. Dropout draws random numbers,
// Adam has slots, and the session has a state.

#include <cstdint>
#include <vector>

#include <typeflow/estimators.hpp>
#include <typeflow/metrics.hpp>
#include <typeflow/optimizers.hpp>
#include <typeflow/summaries.hpp>
#include <typeflow/typeflow.hpp>

namespace estimators {

namespace tf = typeflow;

constexpr void line(tf::Graph& g, tf::ModeKeys mode) {
  auto x = placeholder<float, tf::batch, 2>(g, "x");
  auto w = variable<float, 2, 1>(g, "w", tf::normal());
  auto b = variable<float>(g, "b", tf::zeros());
  auto y = (reshape<tf::batch>(matmul(dropout(x, {.keep = 0.9f}), w)) + b).named("y");
  greater(y, 0).named("is_positive");
  if (mode == tf::ModeKeys::infer) return;
  auto label = placeholder<float, tf::batch>(g, "label");
  auto loss = mean(square(y - label));
  tf::metrics::accuracy(g, "accuracy", greater(y, 0), greater(label, 0));
  max(abs(y - label)).named("worst");
  if (mode == tf::ModeKeys::eval) {
    loss.named("loss");
  } else {
    tf::Summaries summaries(g);
    summaries.scalar("batch/label", mean(label));
    summaries.merge().named("summaries");
    auto steps = state<float>(g, "steps");
    auto growing = ((1 + 0.01f * steps) * loss).named("loss");
    (tf::Adam{.rate = 0.05f}.minimize(growing) + assign(steps, steps + 1)).named("train");
  }
}

/// y = 2 x0 - x1 + 0.5 of points of a grid.
struct Points {
  std::vector<float> x;
  std::vector<float> label;

  explicit Points(int count, int from = 0) {
    for (int i = from; i < from + count; ++i) {
      const auto a = static_cast<float>(i % 7 - 3), b = static_cast<float>(i % 5 - 2);
      x.push_back(a);
      x.push_back(b);
      label.push_back(2 * a - b + 0.5f);
    }
  }
  auto inputs(const tf::RowOptions& options) const {
    return tf::rows<"x", "label">(options, tf::matrix(x, 2), label);
  }
};

}  // namespace estimators
