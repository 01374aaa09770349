// SPDX-License-Identifier: Apache-2.0

// Estimators: fit, partial_fit, evaluate, predict, export_model.

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "unit/estimators/models.hpp"

namespace estimators {

using Line = tf::Estimator<line, "accuracy", "worst">;

TEST_CASE("A fit trains so many further steps, or until so many in all") {
  const Points points(40);
  Line estimator({.seed = 3, .progress = nullptr});
  CHECK_FALSE(estimator.is_trained());
  CHECK(estimator.step() == 0);
  const auto inputs = points.inputs({.batch = 8, .shuffle = true});
  CHECK(estimator.fit(inputs, {.steps = 30}).steps == 30);
  CHECK(estimator.fit(inputs, {.steps = 20}).steps == 50);
  CHECK(estimator.fit(inputs, {.max_steps = 60}).steps == 60);
  CHECK(estimator.fit(inputs, {.max_steps = 60}).steps == 60);
  CHECK(estimator.step() == 60);
  CHECK(estimator.partial_fit(points.inputs({.batch = 8, .epochs = 1})).steps == 65);
  CHECK(estimator.is_trained());
}

TEST_CASE("An evaluation gives the mean of the batches' losses, and metrics of all rows") {
  const Points points(40), others(13, 5);
  Line estimator({.seed = 3, .progress = nullptr});
  estimator.fit(points.inputs({.batch = 8, .shuffle = true}), {.steps = 15});
  const tf::Evaluation found = estimator.evaluate(others.inputs({.batch = 5, .epochs = 1}));

  const auto w = estimator.variables().get<float>("w");
  const auto b = static_cast<double>(estimator.variables().get<float>("b")[0]);
  double loss = 0, worst = 0;
  int right = 0;
  for (const auto& [first, last] : {std::pair(0, 5), std::pair(5, 10), std::pair(10, 13)}) {
    double sum = 0, most = 0;
    for (int i = first; i < last; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double y = static_cast<double>(w[0]) * static_cast<double>(others.x[2 * at]) +
                       static_cast<double>(w[1]) * static_cast<double>(others.x[2 * at + 1]) + b;
      const double off = y - static_cast<double>(others.label[at]);
      sum += off * off;
      most = std::max(most, std::abs(off));
      right += (y > 0) == (others.label[at] > 0);
    }
    loss += sum / (last - first) / 3;
    worst += most / 3;
  }
  CHECK(found["loss"] == doctest::Approx(loss).epsilon(1e-5));
  CHECK(found["accuracy"] == doctest::Approx(right / 13.0).epsilon(1e-6));
  CHECK(found["worst"] == doctest::Approx(worst).epsilon(1e-5));
  CHECK(found.step() == 15);
  CHECK(estimator.evaluate(others.inputs({.batch = 5, .epochs = 1})) == found);
}

TEST_CASE("Predictions are those of all rows, and need no labels") {
  const Points points(40), others(13, 5);
  Line estimator({.seed = 3, .progress = nullptr});
  estimator.fit(points.inputs({.batch = 8}), {.steps = 15});
  const auto [y, positive] =
      estimator.predict<"y", "is_positive">(others.inputs({.batch = 5, .epochs = 1}));
  REQUIRE(y.size() == 13);
  const auto w = estimator.variables().get<float>("w");
  const float b = estimator.variables().get<float>("b")[0];
  for (std::size_t i = 0; i < 13; ++i) {
    CHECK(y[i] == doctest::Approx(w[0] * others.x[2 * i] + w[1] * others.x[2 * i + 1] + b));
    CHECK(positive[i] == (y[i] > 0));
  }
  const auto alone = estimator.predict<"y">(tf::rows<"x">({.epochs = 1}, tf::matrix(others.x, 2)));
  CHECK(alone == y);
}

}  // namespace estimators
