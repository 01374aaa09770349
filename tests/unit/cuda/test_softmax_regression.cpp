// SPDX-License-Identifier: Apache-2.0

// Training steps on pretended GPUs, against the processor's.

#include "support/cuda_target_on_host.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace {

namespace tf = typeflow;

constexpr void softmax_regression(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 50>(g, "x");
  auto y = placeholder<float, tf::batch, 10>(g, "y");
  auto W = variable<float, 50, 10>(g, "W", tf::truncated_normal(0, 0.1));
  auto b = variable<float, 10>(g, "b", tf::zeros);
  auto logits = (matmul(x, W) + b).named("logits");
  auto loss = mean(softmax_cross_entropy(logits, y)).named("loss");
  mean(cast<float>(equal(argmax<1>(logits), argmax<1>(y)))).named("accuracy");
  tf::GradientDescent{.rate = 0.5f}.minimize(loss).named("train");
}

struct Data {
  explicit Data(std::size_t rows) : x(rows * 50), y(rows * 10) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(7 * i));
    for (std::size_t i = 0; i < rows; ++i) y[i * 10 + i * i % 10] = 1;
  }
  std::vector<float> x, y;
};

template <class Session>
std::vector<float> losses(Session& session, std::size_t rows, int steps) {
  const Data data(rows);
  std::vector<float> out;
  for (int i = 0; i < steps; ++i) {
    out.push_back(
        session.template run<"train", "loss">(tf::feed<"x">(data.x), tf::feed<"y">(data.y)));
  }
  out.push_back(session.template run<"accuracy">(tf::feed<"x">(data.x), tf::feed<"y">(data.y)));
  return out;
}

}  // namespace

TEST_CASE("softmax regression trains on a GPU as on the processor") {
  for (const std::size_t rows : {1u, 7u, 100u}) {
    CAPTURE(rows);
    tf::Variables near;
    tf::Session<softmax_regression> on_cpu(near, {.seed = 1});
    tf::Variables far;
    tf::Session<softmax_regression, tf::training, test::CudaTargetOnHost> on_gpu(far, {.seed = 1});
    const std::vector<float> expected = losses(on_cpu, rows, 5);
    const std::vector<float> got = losses(on_gpu, rows, 5);
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      CHECK(got[i] == doctest::Approx(expected[i]).epsilon(1e-5));
    }
    CHECK(test::CudaOnHost::get().launches > 0);
  }
}
