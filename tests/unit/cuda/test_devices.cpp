// SPDX-License-Identifier: Apache-2.0

// Models on two pretended GPUs and the processor, with branches and loops.

#include "support/cuda_target_on_host.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/devices.hpp>

namespace {

namespace tf = typeflow;

/// Parts on three devices, a branch and two loops.
constexpr void spread(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 9>(g, "x");
  auto w = variable<float, 9>(g, "w", tf::ones());
  auto first = tf::on(g, tf::gpu(0), [&] { return tanh(x * w); });
  auto second = tf::on(g, tf::gpu(1), [&] { return first + square(x); }).named("second");
  auto third = tf::on(g, tf::cpu(0), [&] { return second * 0.5f; }).named("third");
  auto n = sum(third);
  auto chosen =
      tf::cond(greater(n, 0.0f), [&] { return third - second; }, [&] { return third + second; });
  auto grown =
      tf::fori_loop(0, 5, [&](auto, auto v) { return v * 1.25f + 0.125f * second; }, chosen);
  auto halved = tf::while_loop([](auto v) { return greater(sum(square(v)), 1.0f); },
                               [](auto v) { return v * 0.5f; }, grown);
  halved.named("y");
  sum(halved).named("total");
}
constexpr void train(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 9>(g, "x");
  auto h = tf::on(g, tf::gpu(1), [&] { return relu(tf::dense<17>(g, "a", x)); });
  auto y = tf::on(g, tf::gpu(0), [&] { return tf::dense<3>(g, "b", h); });
  auto loss = mean(square(y - 1.0f)).named("loss");
  tf::Adam{.rate = 0.01f}.minimize(loss).named("train");
}

std::vector<float> inputs(std::size_t rows, float scale) {
  std::vector<float> x(rows * 9);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = scale * std::sin(static_cast<float>(3 * i));
  return x;
}

struct TwoGpus {
  TwoGpus() { test::CudaOnHost::get().devices = 2; }
  ~TwoGpus() { test::CudaOnHost::get().devices = 1; }
};

}  // namespace

TEST_CASE("branches and loops over two GPUs and the processor agree with the processor") {
  const TwoGpus machine;
  tf::Variables near;
  tf::Session<spread> cpu(near, {.soft_placement = true});
  tf::Variables far;
  tf::Session<spread, tf::training, test::CudaTargetOnHost> gpu(far);
  CHECK(gpu.devices().size() == 3);
  for (const std::size_t rows : {1u, 4u, 30u}) {
    for (const float scale : {1.0f, -2.0f}) {
      const std::vector<float> x = inputs(rows, scale);
      const auto [y, total, second] = cpu.run<"y", "total", "second">(tf::feed<"x">(x));
      const auto [got, sum, part] = gpu.run<"y", "total", "second">(tf::feed<"x">(x));
      CHECK(sum == doctest::Approx(total).epsilon(1e-4));
      for (std::size_t i = 0; i < x.size(); ++i) {
        CHECK(got.data()[i] == doctest::Approx(y.data()[i]).epsilon(1e-5));
        CHECK(part.data()[i] == doctest::Approx(second.data()[i]).epsilon(1e-5));
      }
    }
  }
}

TEST_CASE("a net that is spread over two GPUs trains as on the processor") {
  const TwoGpus machine;
  tf::Variables near;
  tf::Session<train> cpu(near, {.seed = 2, .soft_placement = true});
  tf::Variables far;
  tf::Session<train, tf::training, test::CudaTargetOnHost> gpu(far, {.seed = 2});
  const std::vector<float> x = inputs(12, 1);
  for (int i = 0; i < 10; ++i) {
    const float expected = cpu.run<"train", "loss">(tf::feed<"x">(x));
    const float got = gpu.run<"train", "loss">(tf::feed<"x">(x));
    CHECK(got == doctest::Approx(expected).epsilon(1e-4));
  }
  const auto devices = gpu.devices();
  CHECK(devices[1].sent > 0);
  CHECK(devices[2].sent > 0);
}
