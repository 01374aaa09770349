// SPDX-License-Identifier: Apache-2.0

// A perceptron learns two spirals on /gpu:0. On a machine without a GPU the same program trains on
// the processor.
//
// Expected: a training accuracy above 0.95. It ends with the line "accuracy A on DEVICE".

#include <typeflow/typeflow.hpp>

#include <typeflow/cuda.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <vector>

namespace tf = typeflow;

namespace {

constexpr void perceptron(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 2>(g, "x");
  auto label = placeholder<std::int32_t, tf::batch>(g, "label");
  auto h = relu(tf::dense<64>(g, "first", x));
  h = relu(tf::dense<64>(g, "second", h));
  auto logits = tf::dense<2>(g, "logits", h);
  auto loss = mean(softmax_cross_entropy(logits, label)).named("loss");
  mean(cast<float>(equal(argmax<1>(logits), label))).named("accuracy");
  tf::Adam{.rate = 0.01f}.minimize(loss).named("train");
}

struct Spirals {
  std::vector<float> x;
  std::vector<std::int32_t> label;

  explicit Spirals(std::size_t points) {
    for (std::size_t i = 0; i < points; ++i) {
      const std::int32_t arm = static_cast<std::int32_t>(i % 2);
      const float turn = 3.0f * static_cast<float>(i) / static_cast<float>(points);
      const float angle = 3.14159f * (2 * turn + static_cast<float>(arm));
      x.push_back(turn * std::cos(angle));
      x.push_back(turn * std::sin(angle));
      label.push_back(arm);
    }
  }
};

}  // namespace

int main() try {
  for (const tf::LocalDevice& device : tf::list_local_devices<tf::CudaTarget>()) {
    std::printf("%s: %s\n", device.name.c_str(), device.description.c_str());
  }
  tf::Variables variables;
  tf::Session<perceptron, tf::training, tf::CudaTarget> session(variables, {.seed = 1});
  const Spirals data(600);
  const auto x = tf::feed<"x">(data.x);
  const auto label = tf::feed<"label">(data.label);
  for (int step = 1; step <= 500; ++step) {
    const float loss = session.run<"train", "loss">(x, label);
    if (step % 100 == 0) std::printf("step %d loss %.4f\n", step, static_cast<double>(loss));
  }
  const bool has_gpu = session.devices().size() > 1;
  std::printf("accuracy %.4f on %s\n", static_cast<double>(session.run<"accuracy">(x, label)),
              has_gpu ? "/gpu:0" : "the processor");
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
