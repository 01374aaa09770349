// SPDX-License-Identifier: Apache-2.0

// gpu_steps [CASE]: times of training steps on a GPU, one line each: case, value, unit, "-".
//
// A step has feeds from the host, and fetches nothing. NAME is a step whose kernels are a graph,
// and run at the same time where they can; NAME_pinned the same with feeds in pinned memory;
// NAME_chain one whose graph runs them one after another; NAME_launched one that launches each
// kernel. thousand_steps is the time of a step of 1,000 in a
// while_loop. Feeds of 64 MiB print the rate at which they come to the GPU.

#include <typeflow/control_flow.hpp>
#include <typeflow/cuda.hpp>
#include <typeflow/cuda/indexing.hpp>
#include <typeflow/cuda/pooling.hpp>
#include <typeflow/indexing.hpp>
#include <typeflow/pooling.hpp>
#include <typeflow/rnn.hpp>
#include <typeflow/typeflow.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gpu_timing.hpp"

namespace tf = typeflow;
using gpu_timing::check;
using gpu_timing::is_wanted;
using gpu_timing::print_time;
using gpu_timing::seconds_of;

namespace {

constexpr void train(const auto& logits, const auto& label) {
  auto loss = mean(softmax_cross_entropy(logits, label)).named("loss");
  tf::GradientDescent{.rate = 0.01f}.minimize(loss).named("run");
}
/// Chapter 3's, 784-10.
constexpr void softmax_regression(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 784>(g, "x");
  auto label = tf::placeholder<std::int32_t, tf::batch>(g, "label");
  train(tf::dense<10>(g, "output", x), label);
}
/// Chapter 4's, 784-300-10, without dropout.
constexpr void mlp(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 784>(g, "x");
  auto label = tf::placeholder<std::int32_t, tf::batch>(g, "label");
  train(tf::dense<10>(g, "output", relu(tf::dense<300>(g, "hidden", x))), label);
}
/// Chapter 5's, without dropout.
constexpr void cnn(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 784>(g, "x");
  auto label = tf::placeholder<std::int32_t, tf::batch>(g, "label");
  auto h =
      tf::max_pool<2, 2>(relu(tf::conv2d<32, 5>(g, "first", reshape<tf::batch, 28, 28, 1>(x))));
  auto last = tf::max_pool<2, 2>(relu(tf::conv2d<64, 5>(g, "second", h)));
  train(tf::dense<10>(g, "output", relu(tf::dense<1024>(g, "full", flatten(last)))), label);
}

/// Chapter 5's second, without regularization.
constexpr void cifar(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 1728>(g, "x");
  auto label = tf::placeholder<std::int32_t, tf::batch>(g, "label");
  auto h =
      tf::max_pool<3, 2>(relu(tf::conv2d<64, 5>(g, "first", reshape<tf::batch, 24, 24, 3>(x))));
  auto last = tf::max_pool<3, 2>(lrn(relu(tf::conv2d<64, 5>(g, "second", lrn(h)))));
  auto full = relu(tf::dense<192>(g, "fourth", relu(tf::dense<384>(g, "third", flatten(last)))));
  train(tf::dense<10>(g, "output", full), label);
}

/// An LSTM of 256 units that reads the rows of 28 x 28 images, as chapter 7's.
constexpr void lstm(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 784>(g, "x");
  auto label = tf::placeholder<std::int32_t, tf::batch>(g, "label");
  const tf::BasicLSTM<28, 256> cell(g, "cell");
  auto read = dynamic_rnn(cell, reshape<tf::batch, 28, 28>(x));
  train(tf::dense<10>(g, "output", tf::select<1>(read.outputs, -1)), label);
}

/// 1,000 steps of softmax regression, until the loss is below a number that it never reaches.
constexpr void thousand_steps(tf::Graph& g) {
  auto x = tf::placeholder<float, 100, 784>(g, "x");
  auto label = tf::placeholder<std::int32_t, 100>(g, "label");
  auto w = tf::variable<float, 784, 10>(g, "w", tf::zeros());
  auto bias = tf::variable<float, 10>(g, "bias", tf::zeros());
  auto [last, steps] = tf::while_loop(
      [](auto loss, auto i) { return logical_and(less(i, 1000), tf::greater(loss, -1.0f)); },
      [&](auto, auto i) {
        auto loss = mean(softmax_cross_entropy(matmul(x, w.read()) + bias.read(), label));
        tf::GradientDescent{.rate = 0.01f}.minimize(loss);
        return std::tuple(loss, i + 1);
      },
      std::tuple(tf::constant<float>(g, 0.0f), tf::constant<std::int32_t>(g, 0)));
  last.named("loss");
  steps.named("steps");
}

/// Hardly any work on 64 MiB.
constexpr void fed(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 4096>(g, "x");
  auto total = tf::variable<float>(g, "total", tf::zeros());
  assign(total, sum(x)).named("run");
}

/// Sets TYPEFLOW_CUDA_GRAPHS, which sessions read when they open, while it lives.
class GraphSetting {
 public:
  explicit GraphSetting(const char* value) : before_(of_environment()) {
    setenv("TYPEFLOW_CUDA_GRAPHS", value, 1);
  }
  GraphSetting(const GraphSetting&) = delete;
  GraphSetting& operator=(const GraphSetting&) = delete;
  ~GraphSetting() { setenv("TYPEFLOW_CUDA_GRAPHS", before_.c_str(), 1); }

 private:
  static std::string of_environment() {
    const char* const value = std::getenv("TYPEFLOW_CUDA_GRAPHS");
    return value != nullptr ? value : "1";
  }

  const std::string before_;
};

/// Tensors in pinned memory while it lives.
template <class T>
class Pinned {
 public:
  explicit Pinned(std::vector<T>& tensor) : data_(tensor.data()) {
    check(cudaHostRegister(data_, tensor.size() * sizeof(T), cudaHostRegisterDefault));
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  ~Pinned() { cudaHostUnregister(data_); }

 private:
  T* const data_;
};

/// A training step with feeds from the host.
template <auto Model, class Target = tf::CudaTarget>
void training_step(const std::string& name, int batch, int inputs = 784, bool is_pinned = false) {
  if (!is_wanted(name)) return;
  std::vector<float> x(static_cast<std::size_t>(batch) * static_cast<std::size_t>(inputs), 0.5f);
  std::vector<std::int32_t> label(static_cast<std::size_t>(batch), 3);
  std::optional<Pinned<float>> pinned_x;
  std::optional<Pinned<std::int32_t>> pinned_label;
  if (is_pinned) {
    pinned_x.emplace(x);
    pinned_label.emplace(label);
  }
  tf::Variables variables;
  tf::Session<Model, tf::training, Target> session(variables, {.seed = 1});
  print_time(name.c_str(), seconds_of([&] {
               session.template run<"run">(tf::feed<"x">(x), tf::feed<"label">(label));
             }));
}
/// The same in all ways.
template <auto Model>
void training_step_all_ways(const std::string& name, int batch, int inputs = 784) {
  training_step<Model>(name, batch, inputs);
  training_step<Model>(name + "_pinned", batch, inputs, true);
  for (const auto& [setting, suffix] :
       {std::pair("chain", "_chain"), std::pair("0", "_launched")}) {
    const GraphSetting graphs(setting);
    training_step<Model>(name + suffix, batch, inputs);
  }
}

void steps_in_a_loop() {
  if (!is_wanted("thousand_steps")) return;
  tf::Variables variables;
  tf::Session<thousand_steps, tf::training, tf::CudaTarget> session(variables, {.seed = 1});
  const std::vector<float> x(100 * 784, 0.5f);
  const std::vector<std::int32_t> label(100, 3);
  int steps = 0;
  const double seconds =
      seconds_of([&] { steps = session.run<"steps">(tf::feed<"x">(x), tf::feed<"label">(label)); });
  if (steps != 1000) throw tf::Error("thousand_steps", "the loop took another number of steps");
  print_time("thousand_steps", seconds / 1000);
}

void feeds() {
  constexpr std::size_t count = 4096 * 4096;
  const auto time = [&](const char* name, const std::vector<float>& x) {
    if (!is_wanted(name)) return;
    tf::Variables variables;
    tf::Session<fed, tf::training, tf::CudaTarget> session(variables);
    const double seconds = seconds_of([&] { session.run<"run">(tf::feed<"x">(x)); });
    std::printf("%s %.1f GB/s -\n", name, count * sizeof(float) / seconds / 1e9);
  };
  std::vector<float> x(count, 0.5f);
  time("feed", x);
  const Pinned pinned(x);
  time("feed_pinned", x);
}

}  // namespace

int main(int argc, char** argv) {
  return gpu_timing::run_cases(argc, argv, [] {
    using Tf32 = tf::BasicCudaTarget<tf::Precision::tf32>;
    training_step_all_ways<softmax_regression>("softmax_regression", 100);
    training_step_all_ways<mlp>("mlp", 100);
    training_step_all_ways<cnn>("cnn", 50);
    training_step_all_ways<lstm>("lstm", 128);
    training_step_all_ways<cifar>("cifar", 128, 1728);
    training_step<cifar, Tf32>("cifar_tf32", 128, 1728);
    training_step<cifar, Tf32>("cifar_tf32_pinned", 128, 1728, true);
    steps_in_a_loop();
    feeds();
  });
}
