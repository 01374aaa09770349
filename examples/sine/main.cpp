// SPDX-License-Identifier: Apache-2.0

// A time series by a recurrent net: a gated recurrent unit (GRU) reads 25 values of a sine wave
// with noise, and predicts the next one. Afterwards it reads its own predictions, and goes on by
// itself. Expected: a root mean square error (RMSE) below 0.05 on the waves that follow the ones of
// the training, whose noise has a deviation of 0.02.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numbers>
#include <random>
#include <span>
#include <vector>

#include <typeflow/optimizers.hpp>
#include <typeflow/plots.hpp>
#include <typeflow/rnn.hpp>
#include <typeflow/training.hpp>
#include <typeflow/typeflow.hpp>

#include "common/program.hpp"

namespace tf = typeflow;

constexpr std::size_t window = 25;
constexpr std::size_t values = 1200;
constexpr std::size_t seen = 900;   // values for the training; the others follow them
constexpr std::size_t drawn = 150;  // values that the net goes on by itself
constexpr double period = 40;

constexpr void predictor(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, window>(g, "x");
  auto next = placeholder<float, tf::batch>(g, "next");
  auto rate = placeholder<float>(g, "rate", 0.01f);
  const tf::GRU<1, 16> gru(g, "gru");
  auto last = dynamic_rnn(gru, tf::expand_dims<-1>(x)).state;  // (batch,16)
  auto predicted = tf::squeeze<1>(dense<1>(g, "out", last)).named("predicted");
  auto error = mean(square(predicted - next)).named("error");
  tf::Adam{.rate = rate}.minimize(error).named("train");
}

/// Windows of a series, and the value that follows each.
struct Windows {
  explicit Windows(std::span<const float> series) {
    for (std::size_t i = 0; i + window < series.size(); ++i) add(series, i);
  }
  Windows(std::span<const float> series, std::size_t count, std::mt19937_64& random) {
    for (std::size_t i = 0; i < count; ++i) add(series, random() % (series.size() - window));
  }
  std::vector<float> x;     // (count,window)
  std::vector<float> next;  // (count)

 private:
  void add(std::span<const float> series, std::size_t first) {
    const auto part = series.subspan(first, window);
    x.insert(x.end(), part.begin(), part.end());
    next.push_back(series[first + window]);
  }
};

void train(const examples::Options& options) {
  std::mt19937_64 random(options.seed);
  std::normal_distribution<double> noise(0, 0.02);
  std::vector<float> series(values);
  for (std::size_t t = 0; t < values; ++t) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(t) / period;
    series[t] = static_cast<float>(std::sin(angle) + noise(random));
  }
  const auto past = std::span<const float>(series).first(seen);
  const auto future = std::span<const float>(series).subspan(seen - window);

  tf::Variables variables;
  tf::Session<predictor> session(variables, {.seed = options.seed});
  tf::Progress progress({.steps = options.steps, .batch_size = options.batch});
  for (std::int64_t step = 1; step <= options.steps; ++step) {
    const Windows batch(past, static_cast<std::size_t>(options.batch), random);
    const float error = session.run<"error", "train">(
        tf::feed<"x">(batch.x), tf::feed<"next">(batch.next), tf::feed<"rate">(options.rate));
    progress.show(step, static_cast<double>(error));
  }
  progress.finish();

  const Windows tests(future);
  const float error = session.run<"error">(tf::feed<"x">(tests.x), tf::feed<"next">(tests.next));

  // By itself: each prediction becomes the last value of the next window.
  std::vector<float> alone(future.begin(), future.begin() + window);
  for (std::size_t t = 0; t < drawn; ++t) {
    const auto last = std::span<const float>(alone).last(window);
    alone.push_back(session.run<"predicted">(tf::feed<"x">(last))(0));
  }
  tf::Curve truth{.name = "values"};
  tf::Curve predicted{.name = "by itself"};
  for (std::size_t t = 0; t < window + drawn; ++t) {
    truth.y.push_back(static_cast<double>(future[t]));
    truth.x.push_back(static_cast<double>(t) - static_cast<double>(window));
    if (t < window) continue;
    predicted.y.push_back(static_cast<double>(alone[t]));
    predicted.x.push_back(truth.x.back());
  }
  const std::vector<tf::Curve> curves = {truth, predicted};
  tf::write_plot(options.output,
                 tf::plot_curves(curves, {.title = "A sine wave, predicted from 25 values",
                                          .x_label = "step after the last one that the net read",
                                          .y_label = "value"}));
  std::printf("values and predictions: %s\n", options.output.c_str());
  std::printf("test rmse %.4f\n", std::sqrt(static_cast<double>(error)));
}

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "A sine wave, predicted by a GRU.",
                               {.steps = 600, .batch = 64, .rate = 0.01f, .output = "sine.svg"},
                               train);
}
