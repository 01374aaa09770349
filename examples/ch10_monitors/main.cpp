// SPDX-License-Identifier: Apache-2.0

// Chapter 10: monitors of a training. A net of 10, 20 and 10 units learns the species of irises. A
// validation every 50 steps ends the training when the loss of other flowers has not fallen for
// 200 steps. Other monitors print tensors and variables, and keep a variable's values. Expected: an
// accuracy of at least 0.93 (TensorFlow's tutorial: 0.9667).
//
//   ch10_monitors --data DIR       DIR, or DIR/uci, has iris.data of the UC Irvine repository
//   ch10_monitors                  takes TYPEFLOW_DATA, otherwise makes up flowers
//   ch10_monitors --summaries DIR  keeps checkpoints and event files for TensorBoard in DIR

#include <cstdint>
#include <cstdio>

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
  auto logits = dense<3>(g, "logits", hidden);
  auto species = argmax<1>(logits).named("class");
  if (mode == tf::ModeKeys::infer) return;

  auto label = placeholder<std::int32_t, tf::batch>(g, "species");
  auto loss = mean(softmax_cross_entropy(logits, label)).named("loss");
  tf::metrics::accuracy(g, "accuracy", species, label);
  tf::metrics::precision(g, "precision", species, label);
  tf::metrics::recall(g, "recall", species, label);
  if (mode == tf::ModeKeys::train) tf::Adagrad{.rate = 0.1f}.minimize(loss).named("train");
}

void train(const examples::Options& options) {
  const auto flowers = examples::irises(options);
  const auto training = tf::inputs<"x", "species">(flowers.skip(75).batch(75).cache().repeat());
  const auto test = tf::inputs<"x", "species">(flowers.take(75).batch(75).cache());

  tf::Estimator<iris, "accuracy", "precision", "recall"> estimator(
      {.model_folder = options.summaries, .seed = options.seed, .progress_every = 500});
  tf::ValidationMonitor validation(
      estimator, test,
      {.every_n_steps = 50, .early_stopping_metric = "loss", .early_stopping_rounds = 200});
  tf::CaptureVariable<float> bias(estimator.variables(), "logits/b", {.steps = 500});
  const tf::FitResult result = estimator.fit(training, {.max_steps = options.steps}, validation,
                                             bias, tf::StepCounter({.steps = 500, .first = 0}),
                                             tf::PrintTensors<"loss", "class">({.steps = 500}),
                                             tf::LogVariables(estimator, {.steps = 0}));

  for (const auto& [step, b] : bias.values()) {
    std::printf("biases after step %d: %.3f %.3f %.3f\n", static_cast<int>(step),
                static_cast<double>(b[0]), static_cast<double>(b[1]), static_cast<double>(b[2]));
  }
  std::printf("step %d, best step %d with loss %.4f\n", static_cast<int>(result.steps),
              static_cast<int>(validation.best_step()), validation.best_value());
  std::printf("test accuracy %.4f\n", estimator.evaluate(test)["accuracy"]);
}

int main(int argc, char** argv) {
  return examples::run_program(
      argc, argv, "Monitors of a training: validation, early stopping, tensors and variables.",
      {.data_set = examples::iris, .steps = 2000, .batch = 0, .rate = 0, .has_summaries = true},
      train);
}
