// SPDX-License-Identifier: Apache-2.0

// What the script models compiles and runs: a transformer's encoder stack of LAYERS layers on
// (64,128,256), with a training step. Each layer is PyTorch's TransformerEncoderLayer without
// dropout: attention of 8 heads and a net of 1024 units, each added to its input and normalized.
//
//   encoder THREADS    milliseconds of a step (fastest_on of timing.hpp), and what its arithmetic
//                      would take at the rate of additions and multiplications in registers
//   encoder            the program's size

#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include <typeflow/attention.hpp>
#include <typeflow/lower/cost.hpp>
#include <typeflow/typeflow.hpp>

#include "../timing.hpp"

namespace tf = typeflow;

constexpr int batch = 64;
constexpr int length = 128;
constexpr int width = 256;
constexpr int hidden = 1024;

using Activations = tf::Expr<float, tf::Shape<tf::batch, length, width>>;

constexpr Activations layer(tf::Graph& g, const Activations& x) {
  Activations attended = tf::multi_head_attention<8>(g, "attention", x);
  Activations y = tf::layer_norm(g, "attention_norm", x + attended);
  auto rows = tf::reshape<length * tf::batch, width>(y);
  auto inner = gelu(tf::dense<hidden>(g, "inner", rows));
  auto outer = tf::reshape<tf::batch, length, width>(tf::dense<width>(g, "outer", inner));
  return tf::layer_norm(g, "norm", y + outer);
}

constexpr void encoder(tf::Graph& g) {
  Activations x = tf::placeholder<float, tf::batch, length, width>(g, "x");
  for (int i = 0; i < LAYERS; ++i) {
    const tf::Scope in(g, "layer", i);
    x = layer(g, x);
  }
  auto target = tf::placeholder<float, tf::batch, length, width>(g, "target");
  auto loss = mean(square(x - target)).named("loss");
  tf::GradientDescent{.rate = 0.01f}.minimize(loss).named("train");
}

int main(int argc, char** argv) {
  using Program = tf::ir::Lowering<encoder>;
  if (argc < 2) {
    std::printf("nodes=%d steps=%d kernels=%d\n", Program::node_count, Program::view.steps.size,
                Program::kernel_count);
    return 0;
  }
  const int threads = std::atoi(argv[1]);
  std::mt19937 generator(1);
  std::normal_distribution<float> number;
  std::vector<float> x(batch * length * width);
  for (float& e : x) e = number(generator);
  tf::Variables variables;
  tf::Session<encoder> session(variables, {.seed = 1, .threads = threads});
  const std::vector<float> target(x.size());
  const double seconds = bench::fastest_on(
      threads, [&] { session.run<"loss", "train">(tf::feed<"x">(x), tf::feed<"target">(target)); },
      10);
  double flops = 0;
  for (const tf::ir::Step& step : Program::view.steps) {
    flops += static_cast<double>(tf::ir::cost_of(Program::view, step, batch).flops);
  }
  std::printf("%.4f %.4f\n", seconds * 1e3, flops / bench::peak_flops(threads) * 1e3);
}
