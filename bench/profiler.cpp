// SPDX-License-Identifier: Apache-2.0

// The cost of a profiler: training steps with and without one, in turn. The least of many times
// counts, because what else the machine does makes some longer, none shorter.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include <typeflow/profiler.hpp>
#include <typeflow/typeflow.hpp>

#include "residual_chain.hpp"

namespace {

namespace tf = typeflow;

constexpr void softmax_regression(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 784>(g, "x");
  auto y = tf::placeholder<float, tf::batch, 10>(g, "y");
  auto loss = mean(softmax_cross_entropy(dense<10>(g, "fc", x), y)).named("loss");
  tf::GradientDescent{.rate = 0.5f}.minimize(loss).named("train");
}

template <auto Model, class... Feeds>
void measure(const char* name, int runs, const Feeds&... feeds) {
  tf::Variables variables;
  tf::Session<Model> session(variables, {.seed = 1, .threads = 1});
  const auto seconds_of_run = [&] {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < runs; ++i) session.template run<"loss", "train">(feeds...);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / runs;
  };
  seconds_of_run();
  double off = 1e30;
  double on = 1e30;
  for (int round = 0; round < 100; ++round) {
    off = std::min(off, seconds_of_run());
    tf::Profiler profiler(session);
    on = std::min(on, seconds_of_run());
  }
  std::printf("model=%s us_without=%.2f us_with=%.2f more_percent=%.2f\n", name, off * 1e6,
              on * 1e6, (on / off - 1) * 100);
}

}  // namespace

int main() {
  const std::vector<float> images(100 * 784, 0.5f);
  std::vector<float> labels(100 * 10, 0.0f);
  for (std::size_t i = 0; i < 100; ++i) labels[i * 10 + i % 10] = 1;
  measure<softmax_regression>("softmax_regression", 100, tf::feed<"x">(images),
                              tf::feed<"y">(labels));
  const std::vector<float> h(bench::rows * bench::width, 0.3f);
  measure<bench::residual_chain<50>>("residual_chain_50", 2, tf::feed<"x">(h));
}
