// SPDX-License-Identifier: Apache-2.0

// Chapter 10: the species of irises by a model function of one's own. Three layers of 10, 20 and 10
// units and a logistic regression learn from 120 flowers; 30 others are the test. Expected: an
// accuracy of at least 0.93.
//
//   ch10_iris --data DIR    DIR, or DIR/uci, has iris.data of the UC Irvine repository
//   ch10_iris               takes TYPEFLOW_DATA, otherwise makes up flowers

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <tuple>
#include <vector>

#include <typeflow/estimators.hpp>
#include <typeflow/losses.hpp>
#include <typeflow/metrics.hpp>
#include <typeflow/optimizers.hpp>
#include <typeflow/typeflow.hpp>

#include "common/iris.hpp"
#include "common/program.hpp"

namespace tf = typeflow;

constexpr void iris(tf::Graph& g, tf::ModeKeys mode) {
  auto x = placeholder<float, tf::batch, 4>(g, "x");
  auto hidden = tf::stack<10, 20, 10>(g, "fc", x, []<int N>(tf::Graph& in, tf::Label name, auto h) {
    return dense<N>(in, name, h, {.activation = tf::relu});
  });
  auto logits = dense<3>(g, "logistic_regression", hidden, {.weights = tf::zeros()});
  auto species = argmax<1>(logits).named("class");
  softmax(logits).named("prob");
  if (mode == tf::ModeKeys::infer) return;

  auto label = placeholder<std::int32_t, tf::batch>(g, "species");
  auto loss = softmax_cross_entropy_loss(logits, one_hot<3>(label)).named("loss");
  tf::metrics::accuracy(g, "accuracy", species, label);
  if (mode == tf::ModeKeys::train) tf::Adagrad{.rate = 0.1f}.minimize(loss).named("train");
}

void train(const examples::Options& options) {
  const auto flowers = examples::irises(options);
  const auto training = tf::inputs<"x", "species">(flowers.skip(30).batch(120).cache().repeat());
  const auto test = tf::inputs<"x", "species">(flowers.take(30).batch(30));

  tf::Estimator<iris, "accuracy"> estimator({.seed = options.seed});
  estimator.fit(training, {.steps = options.steps});

  const std::vector<float> found = {6.4f, 3.2f, 4.5f, 1.5f, 5.8f, 3.1f, 5.0f, 1.7f};
  const auto [species, prob] =
      estimator.predict<"class", "prob">(tf::rows<"x">({.epochs = 1}, tf::matrix(found, 4)));
  for (std::size_t i = 0; i < species.size(); ++i) {
    const auto k = static_cast<std::size_t>(species[i]);
    std::printf("new flower %zu: class %zu, probability %.2f\n", i + 1, k,
                static_cast<double>(prob(i, k)));
  }
  std::printf("test accuracy %.4f\n", estimator.evaluate(test)["accuracy"]);
}

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "The species of irises by an estimator.",
                               {.data_set = examples::iris, .steps = 700, .batch = 0, .rate = 0},
                               train);
}
