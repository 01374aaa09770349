// SPDX-License-Identifier: Apache-2.0

// What the script models compiles and runs: the training step of MODEL, one of the functions here,
// by gradient descent. peers/models.py has the same models.
//
//   models THREADS    milliseconds of a step, and what its arithmetic would take at the rate of
//                     additions and multiplications in registers
//   models            the program's size

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include <typeflow/lower/cost.hpp>
#include <typeflow/pooling.hpp>
#include <typeflow/typeflow.hpp>

#include "../residual_chain.hpp"
#include "../timing.hpp"

namespace tf = typeflow;

constexpr void train(const auto& logits, const auto& labels) {
  auto loss = mean(softmax_cross_entropy(logits, labels)).named("loss");
  tf::GradientDescent{.rate = 0.01f}.minimize(loss).named("train");
}

/// Chapter 3's, 784-10.
struct softmax_regression {
  static constexpr int batch = 100;
  static constexpr int inputs = 784;
  static constexpr bool has_labels = true;
  static constexpr void model(tf::Graph& g) {
    auto x = placeholder<float, tf::batch, 784>(g, "x");
    auto labels = placeholder<std::int32_t, tf::batch>(g, "labels");
    train(dense<10>(g, "output", x), labels);
  }
};

/// Chapter 4's, 784-300-10, without dropout.
struct mlp {
  static constexpr int batch = 100;
  static constexpr int inputs = 784;
  static constexpr bool has_labels = true;
  static constexpr void model(tf::Graph& g) {
    auto x = placeholder<float, tf::batch, 784>(g, "x");
    auto labels = placeholder<std::int32_t, tf::batch>(g, "labels");
    train(dense<10>(g, "output", relu(dense<300>(g, "hidden", x))), labels);
  }
};

/// A convolution with its bias and relu.
template <int Size, int In, int Out>
constexpr auto conv(tf::Graph& g, tf::Label name, const auto& x) {
  const tf::Scope in(g, name);
  auto W = tf::variable<float, Size, Size, In, Out>(g, "W", tf::truncated_normal(0, 0.05));
  auto b = tf::variable<float, Out>(g, "b", tf::zeros());
  return relu(conv2d(x, W) + b);
}

/// Chapter 5's on MNIST, without dropout.
struct cnn {
  static constexpr int batch = 50;
  static constexpr int inputs = 784;
  static constexpr bool has_labels = true;
  static constexpr void model(tf::Graph& g) {
    auto x = placeholder<float, tf::batch, 784>(g, "x");
    auto labels = placeholder<std::int32_t, tf::batch>(g, "labels");
    auto p1 = max_pool<2>(conv<5, 1, 32>(g, "conv1", reshape<tf::batch, 28, 28, 1>(x)));
    auto p2 = max_pool<2>(conv<5, 32, 64>(g, "conv2", p1));
    auto h = relu(dense<1024>(g, "dense", reshape<tf::batch, 3136>(p2)));
    train(dense<10>(g, "output", h), labels);
  }
};

/// Chapter 5's on CIFAR-10, from the normalized parts of 24 x 24 pixels on, without weight decay.
struct cifar {
  static constexpr int batch = 128;
  static constexpr int inputs = 24 * 24 * 3;
  static constexpr bool has_labels = true;
  static constexpr void model(tf::Graph& g) {
    constexpr tf::LrnOptions options = {
        .depth_radius = 4, .bias = 1, .alpha = 0.001 / 9, .beta = 0.75};
    auto x = placeholder<float, tf::batch, 1728>(g, "x");
    auto labels = placeholder<std::int32_t, tf::batch>(g, "labels");
    auto c1 = conv<5, 3, 64>(g, "conv1", reshape<tf::batch, 24, 24, 3>(x));
    auto c2 = conv<5, 64, 64>(g, "conv2", lrn(max_pool<3, 2>(c1), options));
    auto p2 = max_pool<3, 2>(lrn(c2, options));
    auto h3 = relu(dense<384>(g, "local3", reshape<tf::batch, 2304>(p2)));
    auto h4 = relu(dense<192>(g, "local4", h3));
    train(dense<10>(g, "output", h4), labels);
  }
};

/// Twenty residual blocks of 64 x 256. It has no labels.
struct residual {
  static constexpr int batch = bench::rows;
  static constexpr int inputs = bench::width;
  static constexpr bool has_labels = false;
  static constexpr void model(tf::Graph& g) { bench::residual_chain<20>(g); }
};

template <class M>
double seconds_of_step(int threads) {
  std::mt19937 generator(1);
  std::normal_distribution<float> number;
  std::vector<float> x(std::size_t{M::batch} * M::inputs);
  for (float& e : x) e = number(generator);
  std::vector<std::int32_t> labels(M::batch);
  for (std::int32_t& label : labels) label = static_cast<std::int32_t>(generator() % 10);
  tf::Variables variables;
  tf::Session<M::model> session(variables, {.seed = 1, .threads = threads});
  return bench::fastest(
      [&] {
        if constexpr (M::has_labels) {
          tf::run<"loss", "train">(session, tf::feed<"x">(x), tf::feed<"labels">(labels));
        } else {
          tf::run<"loss", "train">(session, tf::feed<"x">(x));
        }
      },
      3);
}

int main(int argc, char** argv) {
  using Program = tf::ir::Lowering<MODEL::model>;
  if (argc < 2) {
    std::printf("nodes=%d steps=%d kernels=%d\n", Program::node_count, Program::view.steps.size,
                Program::kernel_count);
    return 0;
  }
  const int threads = std::atoi(argv[1]);
  const double seconds = seconds_of_step<MODEL>(threads);
  double flops = 0;
  for (const tf::ir::Step& step : Program::view.steps) {
    flops += static_cast<double>(tf::ir::cost_of(Program::view, step, MODEL::batch).flops);
  }
  std::printf("%.4f %.4f\n", seconds * 1e3, flops / bench::peak_flops(threads) * 1e3);
}
