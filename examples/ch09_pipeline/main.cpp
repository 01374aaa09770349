// SPDX-License-Identifier: Apache-2.0

// Chapter 9's several devices, as a pipeline: four stages of a net of dense layers for MNIST, on
// four virtual devices, and eight parts of each batch that go through them one behind another.
//
// A device is idle while the pipeline fills and empties: for (S - 1) / (M + S - 1) of the time with
// S stages and M parts, if all stages take equally long. The program measures the time of each step
// on one device, carries the plan for four devices out with these times, and compares. (A machine
// with fewer cores than devices can't measure it otherwise.) With --output pipeline.svg it draws
// what each device does when.
//
//   ch09_pipeline --data DIR         DIR has MNIST
//   ch09_pipeline                    takes TYPEFLOW_DATA, otherwise trains on drawn digits
//   ch09_pipeline --size gpipe       all parts forward, then all backward
//
// Expected: "bubble predicted 0.27 measured M", M somewhat larger, because stages differ.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <typeflow/data.hpp>
#include <typeflow/devices.hpp>
#include <typeflow/losses.hpp>
#include <typeflow/parallel.hpp>
#include <typeflow/typeflow.hpp>

#include "common/digits.hpp"
#include "common/program.hpp"

namespace tf = typeflow;

constexpr int stages = 4;
constexpr int parts = 8;

template <tf::PipelineOrder Order>
constexpr void net(tf::Graph& g) {
  auto x = placeholder<float, parts * tf::batch, 784>(g, "x");
  auto y = placeholder<float, parts * tf::batch, 10>(g, "y");
  auto rate = placeholder<float>(g, "rate", 0.1f);
  constexpr tf::LayerOptions options = {.activation = tf::relu};
  auto pipe = tf::pipeline<parts>(
      g, Order, x, y, [&](auto a) { return dense<512>(g, "fc1", a, options); },
      [&](auto a) { return dense<512>(g, "fc2", a, options); },
      [&](auto a) { return dense<512>(g, "fc3", a, options); },
      [&](auto a, auto b) {
        auto logits = dense<10>(g, "out", dense<512>(g, "fc4", a, options));
        return mean(softmax_cross_entropy(logits, b));
      });
  pipe.loss().named("loss");
  minimize(tf::GradientDescent{.rate = rate}, pipe.gradients()).named("train");
}

/// Trains by this order, and compares the bubble.
template <tf::PipelineOrder Order>
void train(const examples::Options& options) {
  const tf::Datasets data = examples::load_digits(options);
  const std::int64_t rows = options.batch / parts * parts;
  tf::Variables variables;
  tf::Session<net<Order>> session(variables,
                                  {.seed = options.seed, .devices = tf::DeviceList::of(stages)});
  // The same on one device, for the times of steps.
  tf::Variables of_one;
  tf::Session<net<Order>> one(of_one, {.seed = options.seed, .threads = 1, .soft_placement = true});
  tf::Batches batches(data.train, {.size = rows, .seed = options.seed});
  std::map<tf::Id, double> seconds;  // the least of all runs
  tf::Trace trace;
  one.trace(&trace);
  double difference = 0;
  for (std::int64_t step = 1; step <= options.steps; ++step) {
    const auto batch = batches.next();
    const auto run = [&](auto& on) {
      return on.template run<"loss", "train">(tf::feed<"x">(batch.images),
                                              tf::feed<"y">(batch.one_hot),
                                              tf::feed<"rate">(options.rate));
    };
    const float loss = run(session);
    difference = std::max(difference, static_cast<double>(std::abs(loss - run(one))));
    for (const tf::Span& span : trace.spans()) {
      const double taken = span.end - span.begin;
      const auto [place, made] = seconds.try_emplace(span.step, taken);
      if (!made) place->second = std::min(place->second, taken);
    }
    trace.clear();
    if (step % 10 == 0) {
      std::printf("step %lld loss %.4f\n", static_cast<long long>(step), static_cast<double>(loss));
    }
  }
  std::printf("the losses of one device differ by %g\n", difference);

  tf::SimulationOptions measured;
  measured.sizes = rows / parts;
  measured.seconds = [&](tf::Id step) { return seconds[step]; };
  const tf::Simulation simulated = tf::simulate<"train">(session, measured);
  double busy = 0;
  for (const double of_device : simulated.busy) busy += of_device;
  if (!options.output.empty()) {
    std::ofstream file(options.output);
    file << tf::timeline_svg(session, simulated.spans);
    if (!file.flush()) throw std::runtime_error("can't write " + options.output);
    std::printf("timeline in %s\n", options.output.c_str());
  }
  constexpr double predicted = static_cast<double>(stages - 1) / (parts + stages - 1);
  std::printf("bubble predicted %.2f measured %.2f\n", predicted,
              1 - busy / (stages * simulated.seconds));
}

void run(const examples::Options& options) {
  if (options.size == "gpipe") {
    train<tf::PipelineOrder::all_forward_then_backward>(options);
  } else {
    train<tf::PipelineOrder::one_forward_one_backward>(options);
  }
}

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "A net in four stages on four devices.",
                               {.data_set = examples::mnist,
                                .steps = 100,
                                .batch = 512,
                                .rate = 0.1f,
                                .sizes = {"alternating", "gpipe"}},
                               run);
}
