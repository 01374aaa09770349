// SPDX-License-Identifier: Apache-2.0

// Four layers of LSTM on four devices, eight steps: chapter 1's model parallelism. Layer d works on
// step t while layer d + 1 works on step t - 1. The program compares the results with those of one
// device, bit for bit, predicts the speed-up by simulating the plan with the times that one device
// took, and measures it. With --output timeline.svg it writes what each device did when, as a
// drawing and as timeline.svg.json for Chrome's trace viewer.
//
// Expected: "equal 1, speed-up predicted P measured M". P is near 8 * 4 / (8 + 4 - 1) = 2.9; M
// can't be larger than the number of cores.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <typeflow/devices.hpp>
#include <typeflow/rnn.hpp>
#include <typeflow/typeflow.hpp>

#include "common/program.hpp"

namespace tf = typeflow;

constexpr int layers = 4;
constexpr int steps = 8;
constexpr tf::Extent rows = 32;
constexpr tf::Extent units = 256;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, steps, rows, units>(g, "x");
  auto inputs = tf::unstack<0>(x);
  for (int d = 0; d < layers; ++d) {
    tf::on(g, tf::cpu(d), [&] {
      const tf::BasicLSTM<units, units> cell(g, {"layer", d});
      auto state = tf::zero_state<rows>(g, cell);
      for (auto& input : inputs) {
        auto [output, next] = cell(input, state);
        input = output;
        state = next;
      }
    });
  }
  tf::on(g, tf::cpu(layers - 1), [&] { return tf::stack<0>(inputs); }).named("outputs");
}

using Session = tf::Session<model, tf::inference>;

/// The least time of some runs in seconds.
double time(Session& session, const std::vector<float>& x, std::vector<float>& outputs) {
  double least = 1e30;
  for (int i = 0; i < 10; ++i) {
    const auto start = std::chrono::steady_clock::now();
    session.run<>(tf::feed<"x">(x), tf::into<"outputs">(outputs));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    least = std::min(least, seconds.count());
  }
  return least;
}

void write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  if (!file.flush()) throw std::runtime_error("can't write " + path);
}

void run(const examples::Options& options) {
  std::vector<float> x(steps * rows * units);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>((i * 7919) % 2003) / 1001 - 1;
  }
  tf::Variables variables;
  Session one(variables, {.seed = 1, .threads = 1, .soft_placement = true});
  Session several(variables, {.devices = tf::DeviceList::of(layers)});
  std::vector<float> of_one(x.size());
  std::vector<float> of_several(x.size());
  const double serial = time(one, x, of_one);
  const double parallel = time(several, x, of_several);

  // Each step's time on one device, for the simulation.
  tf::Trace trace;
  one.trace(&trace);
  one.run<>(tf::feed<"x">(x), tf::into<"outputs">(of_one));
  std::map<tf::Id, double> seconds;
  double total = 0;
  for (const tf::Span& span : trace.spans()) {
    seconds[span.step] = span.end - span.begin;
    total += span.end - span.begin;
  }
  const tf::Simulation simulated =
      tf::simulate<"outputs">(several, {.seconds = [&](tf::Id step) { return seconds[step]; }});

  if (!options.output.empty()) {
    trace.clear();
    several.trace(&trace);
    several.run<>(tf::feed<"x">(x), tf::into<"outputs">(of_several));
    write(options.output, tf::timeline_svg(several, trace.spans()));
    write(options.output + ".json", tf::chrome_trace(several, trace.spans()));
    std::printf("timeline in %s and %s.json\n", options.output.c_str(), options.output.c_str());
  }
  std::printf("equal %d, speed-up predicted %.2f measured %.2f\n", of_one == of_several,
              total / simulated.seconds, serial / parallel);
}

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "Four LSTM layers on four devices.",
                               {.steps = 0, .batch = 0, .rate = 0, .seed = 0}, run);
}
