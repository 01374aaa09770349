// SPDX-License-Identifier: Apache-2.0

// A small residual net with the units of ResNet-50 v2: its gradients against central differences,
// and a few training steps.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "typeflow/testing.hpp"
#include "typeflow/typeflow.hpp"

#include "../examples/ch06_resnet_v2/resnet.hpp"
#include "support/host_tensors.hpp"

namespace {

namespace tf = typeflow;

constexpr int size = 8;
constexpr int images = 4;

/// Units with and without a shortcut of their own, with and without a stride.
template <class T>
constexpr void small(tf::Graph& g) {
  auto x = tf::placeholder<T, tf::batch, size, size, 3>(g, "image");
  auto logits = resnet::logits<4, 3, resnet::Stage{8, 2, 1}, resnet::Stage{12, 2, 2}>(g, x);
  auto labels = tf::placeholder<std::int32_t, tf::batch>(g, "labels");
  auto loss = mean(softmax_cross_entropy(logits, labels)).named("loss");
  if constexpr (std::is_same_v<T, float>) {
    tf::Momentum{.rate = 0.05}.minimize(loss).named("train");
  } else {
    for (const auto& [v, dv] : gradients(loss)) {
      tf::Scope in(g, v);
      dv.named("gradient");
    }
  }
}

tf::HostTensor drawn_images(tf::DType type) {
  test::Random random(5);
  return test::random_tensor(random, type, test::dims({images, size, size, 3}), -1, 1);
}
const std::vector<double> labels{0, 2, 1, 2};

}  // namespace

TEST_CASE("the gradients of a residual net are those of central differences") {
  tf::Graph g;
  small<double>(g);
  tf::Interpreter run(g);
  const tf::HostTensors feeds = {{"image", drawn_images(tf::DType::float64)},
                                 {"labels", test::ints({images}, labels)}};
  test::Random random(7);
  std::vector<std::string> fetches = {"loss"};
  std::vector<std::string> paths;
  for (const tf::Parameter& parameter : tf::parameters(g)) {
    const std::string path(parameter.path);
    const bool is_scale = path.ends_with("gamma");
    run.variables[path] = test::random_tensor(random, tf::DType::float64, parameter.dims,
                                              is_scale ? 0.5 : -0.5, is_scale ? 1.5 : 0.5);
    if (path.find("moving") != std::string::npos) continue;
    paths.push_back(path);
    fetches.push_back(path + "/gradient");
  }
  const auto gradients = run.run(fetches, feeds);
  const auto loss = [&] { return run.run({"loss"}, feeds)[0].value(0); };
  CHECK(paths.size() > 40);
  for (std::size_t k = 0; k < paths.size(); ++k) {
    CAPTURE(paths[k]);
    tf::HostTensor& variable = run.variables.at(paths[k]);
    const std::int64_t i = variable.size() / 2;
    const double here = variable.value(i);
    variable.set(i, here + 1e-6);
    const double above = loss();
    variable.set(i, here - 1e-6);
    const double difference = (above - loss()) / 2e-6;
    variable.set(i, here);
    CHECK(gradients[k + 1].value(i) == doctest::Approx(difference).epsilon(1e-5));
  }
}

TEST_CASE("a residual net learns a few pictures by heart") {
  tf::Variables variables;
  tf::Session<small<float>> session(variables, {.seed = 2});
  std::vector<float> pictures;
  const tf::HostTensor drawn = drawn_images(tf::DType::float32);
  for (std::int64_t i = 0; i < drawn.size(); ++i) {
    pictures.push_back(static_cast<float>(drawn.value(i)));
  }
  const std::vector<std::int32_t> classes(labels.begin(), labels.end());
  float first = 0;
  float last = 0;
  for (int step = 0; step < 30; ++step) {
    last = session.run<"loss", "train">(tf::feed<"image">(pictures), tf::feed<"labels">(classes));
    if (step == 0) first = last;
    REQUIRE(std::isfinite(last));
  }
  CHECK(first > 0.7f);
  CHECK(last < 0.2f);
}
