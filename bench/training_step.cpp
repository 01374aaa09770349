// SPDX-License-Identifier: Apache-2.0

// How long a training step takes, beside the arithmetic floor: its floating-point operations at
// the rate that as many cores reach on multiplications and additions in registers, measured in
// the same run.

#include <cstdio>
#include <random>
#include <vector>

#include <typeflow/lower/cost.hpp>
#include <typeflow/typeflow.hpp>

#include "residual_chain.hpp"
#include "timing.hpp"

namespace {

namespace tf = typeflow;

constexpr int batch = 100;

constexpr void softmax_regression(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 784>(g, "x");
  auto y = tf::placeholder<float, tf::batch, 10>(g, "y");
  auto W = tf::variable<float, 784, 10>(g, "W", tf::zeros());
  auto b = tf::variable<float, 10>(g, "b", tf::zeros());
  auto loss = mean(softmax_cross_entropy(matmul(x, W) + b, y)).named("loss");
  tf::GradientDescent{.rate = 0.5f}.minimize(loss).named("train");
}

template <auto Model>
double flops_of_step() {
  constexpr const tf::ir::ProgramView& program = tf::ir::Lowering<Model>::view;
  double flops = 0;
  for (const tf::ir::Step& step : program.steps) {
    flops += static_cast<double>(tf::ir::cost_of(program, step, batch).flops);
  }
  return flops;
}

std::vector<float> uniform(int count) {
  std::mt19937 generator(1);
  std::uniform_real_distribution<float> number(0, 1);
  std::vector<float> x(static_cast<std::size_t>(count));
  for (float& e : x) e = number(generator);
  return x;
}

template <auto Model, class... Feeds>
void measure(const char* name, const std::vector<double>& peak, const Feeds&... feeds) {
  for (const int threads : {1, 2}) {
    tf::Variables variables;
    tf::Session<Model> session(variables, {.seed = 1, .threads = threads});
    const double seconds =
        bench::fastest([&] { session.template run<"loss", "train">(feeds...); }, 2);
    const double flops = flops_of_step<Model>();
    const double floor = flops / peak[static_cast<std::size_t>(threads)];
    std::printf("model=%s threads=%d us=%.1f gflops=%.1f floor_us=%.1f times_floor=%.2f\n", name,
                threads, seconds * 1e6, flops / seconds * 1e-9, floor * 1e6, seconds / floor);
  }
}

}  // namespace

int main() {
  const std::vector<double> peak = {0, bench::peak_flops(1), bench::peak_flops(2)};
  std::printf("peak_gflops_1=%.1f peak_gflops_2=%.1f\n", peak[1] * 1e-9, peak[2] * 1e-9);

  const std::vector<float> h = uniform(bench::rows * bench::width);
  measure<bench::residual_chain<50>>("residual_chain_50", peak, tf::feed<"x">(h));

  const std::vector<float> images = uniform(batch * 784);
  std::vector<float> labels(batch * 10, 0.0f);
  for (std::size_t i = 0; i < batch; ++i) labels[i * 10 + i % 10] = 1;
  measure<softmax_regression>("softmax_regression", peak, tf::feed<"x">(images),
                              tf::feed<"y">(labels));
}
