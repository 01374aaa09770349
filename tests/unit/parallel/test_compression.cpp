// SPDX-License-Identifier: Apache-2.0

// tf::compressed: values, bytes that travel, gradients, and training with compressed gradients.

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <typeflow/compression.hpp>
#include <typeflow/data.hpp>
#include <typeflow/devices.hpp>
#include <typeflow/losses.hpp>
#include <typeflow/parallel.hpp>
#include <typeflow/typeflow.hpp>

#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;

constexpr void edge(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch>(g, "x");
  tf::compressed(x).named("y");
}

/// A tensor of /cpu:1 that /cpu:0 reads, and the gradient that comes back.
template <bool Compressed>
constexpr auto two_devices(tf::Graph& g, const auto& x) {
  auto h = tf::on<tf::Cpu<1>>(g, [&] { return tanh(x); });
  return tf::on<tf::Cpu<0>>(g, [&] {
    if constexpr (Compressed) {
      return square(tf::compressed(h));
    } else {
      return square(h);
    }
  });
}
template <bool Compressed>
constexpr void forward(tf::Graph& g) {
  two_devices<Compressed>(g, tf::placeholder<float, 1000>(g, "x")).named("y");
}
template <bool Compressed>
constexpr void backward(tf::Graph& g) {
  auto x = tf::placeholder<float, 1000>(g, "x");
  tf::gradients(sum(two_devices<Compressed>(g, x)), x).named("dx");
}

/// (B,784) -> (B,10)
constexpr auto logits_of(tf::Graph& g, auto images) {
  auto h = tf::dense<64>(g, "hidden", images, {.activation = tf::relu});
  return tf::dense<10>(g, "out", h);
}
/// A classifier of handwritten digits on two towers, whose gradients may be compressed.
template <bool Compressed>
constexpr void digits(tf::Graph& g) {
  auto x = tf::placeholder<float, 2 * tf::batch, 784>(g, "x");
  auto y = tf::placeholder<std::int32_t, 2 * tf::batch>(g, "y");
  auto towers = tf::data_parallel<2>(
      g,
      [&](auto images, auto labels) {
        return mean(tf::softmax_cross_entropy(logits_of(g, images), labels));
      },
      x, y);
  const auto wire = [](const tf::AnyExpr& gradient) {
    return Compressed ? tf::compressed(gradient) : gradient;
  };
  minimize(tf::GradientDescent{.rate = 0.3f}, towers.gradients(g.trainable(), wire)).named("train");
}
constexpr void classifier(tf::Graph& g) {
  argmax<1>(logits_of(g, tf::placeholder<float, tf::batch, 784>(g, "x"))).named("digit");
}

float truncated(float x) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0xFFFF0000u);
}

}  // namespace

TEST_CASE("compressed keeps the upper 16 bits of each float") {
  std::vector<float> x = {0.0f,
                          -0.0f,
                          1.0f,
                          -1.5f,
                          3.14159265f,
                          1e-40f,
                          -1e38f,
                          std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::max(),
                          std::numeric_limits<float>::min()};
  std::uint32_t bits = 12345;
  while (x.size() < 20000) {
    bits = bits * 1664525u + 1013904223u;
    const auto drawn = std::bit_cast<float>(bits);
    if (!std::isnan(drawn)) x.push_back(drawn);
  }
  tf::Variables variables;
  tf::Session<edge> session(variables);
  const auto y = session.run<"y">(tf::feed<"x">(x));
  for (std::size_t i = 0; i < x.size(); ++i) {
    CHECK(std::bit_cast<std::uint32_t>(y[i]) == std::bit_cast<std::uint32_t>(truncated(x[i])));
    if (std::isfinite(x[i]) && std::fabs(x[i]) >= std::numeric_limits<float>::min()) {
      CHECK(std::fabs(y[i] - x[i]) < std::fabs(x[i]) * 0x1p-7f);
    }
  }
  // NaN stays NaN, also one whose mark is in the bits that go away.
  const std::vector<float> nans = {std::nanf(""), std::bit_cast<float>(0x7F800001u),
                                   std::bit_cast<float>(0xFF800001u)};
  const auto still = session.run<"y">(tf::feed<"x">(nans));
  for (std::size_t i = 0; i < 3; ++i) CHECK(std::isnan(still[i]));
}

TEST_CASE(
    "a compressed edge has half of the bytes, in both directions, and the same values on one "
    "device") {
  std::vector<float> x(1000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  tf::Variables variables;
  tf::Session<forward<false>> exact(variables, {.devices = tf::DeviceList::of(2)});
  tf::Session<forward<true>> lossy(variables, {.devices = tf::DeviceList::of(2)});
  tf::Session<forward<true>> alone(variables, {.soft_placement = true});
  const auto y_exact = exact.run<"y">(tf::feed<"x">(x));
  const auto y = lossy.run<"y">(tf::feed<"x">(x));
  CHECK(exact.devices()[1].sent == 4000);
  CHECK(lossy.devices()[1].sent == 2000);
  CHECK(lossy.devices()[0].sent == 0);
  CHECK(alone.run<"y">(tf::feed<"x">(x)) == y);
  for (std::size_t i = 0; i < x.size(); ++i) {
    CHECK(std::fabs(y[i] - y_exact[i]) <= 2.1f * 0x1p-7f * y_exact[i]);
    CHECK(y_exact[i] == doctest::Approx(std::tanh(x[i]) * std::tanh(x[i])).epsilon(1e-5));
  }
  // The gradient crosses back with 16 bits.
  tf::Session<backward<false>> exact_back(variables, {.devices = tf::DeviceList::of(2)});
  tf::Session<backward<true>> lossy_back(variables, {.devices = tf::DeviceList::of(2)});
  tf::Session<backward<true>> alone_back(variables, {.soft_placement = true});
  const auto dx_exact = exact_back.run<"dx">(tf::feed<"x">(x));
  const auto dx = lossy_back.run<"dx">(tf::feed<"x">(x));
  CHECK(exact_back.devices()[0].sent == 4000);
  CHECK(lossy_back.devices()[0].sent == 2000);
  CHECK(alone_back.run<"dx">(tf::feed<"x">(x)) == dx);
  for (std::size_t i = 0; i < x.size(); ++i) {
    CHECK(std::fabs(dx[i] - dx_exact[i]) <= 0x1p-6f * std::fabs(dx_exact[i]));
  }
}

TEST_CASE("synchronous training of two towers loses nothing by compressed gradients") {
  const char* const folder = std::getenv("TYPEFLOW_DATA");
  if (folder == nullptr || !tf::has_mnist(folder)) {
    MESSAGE("skipped: TYPEFLOW_DATA names no folder with MNIST");
    return;
  }
  const tf::Datasets mnist = tf::read_mnist(folder);
  const auto accuracy = [&]<auto Model>() {
    tf::Variables variables;
    tf::Session<Model> session(variables, {.seed = 1, .devices = tf::DeviceList::of(2)});
    constexpr std::size_t rows = 100;
    std::vector<float> x(rows * 784);
    std::vector<std::int32_t> y(rows);
    for (std::size_t step = 0; step < 600; ++step) {
      const std::size_t first = step * rows % 55000;
      std::copy_n(mnist.train.images.begin() + static_cast<std::ptrdiff_t>(first * 784), x.size(),
                  x.begin());
      std::copy_n(mnist.train.labels.begin() + static_cast<std::ptrdiff_t>(first), rows, y.begin());
      session.template run<"train">(tf::feed<"x">(x), tf::feed<"y">(y));
    }
    tf::Session<classifier> tests(variables);
    const auto digit = tests.run<"digit">(tf::feed<"x">(mnist.test.images));
    std::size_t right = 0;
    for (std::size_t i = 0; i < mnist.test.labels.size(); ++i) {
      right += static_cast<int>(digit[i]) == static_cast<int>(mnist.test.labels[i]);
    }
    return std::pair(
        100.0 * static_cast<double>(right) / static_cast<double>(mnist.test.labels.size()),
        session.devices()[1].sent);
  };
  const auto [exact, all] = accuracy.operator()<digits<false>>();
  const auto [lossy, half] = accuracy.operator()<digits<true>>();
  MESSAGE("test accuracy: ", exact, " %, with compressed gradients ", lossy, " %");
  MESSAGE("bytes sent by /cpu:1: ", all, ", with compressed gradients ", half);
  CHECK(exact > 94);
  CHECK(lossy > exact - 0.5);
  CHECK(half < all * 6 / 10);
}
