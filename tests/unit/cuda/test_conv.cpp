// SPDX-License-Identifier: Apache-2.0

// Convolutions and their gradients on GPUs, against the processor's and plain loops.

#include "support/check_cuda.hpp"

#include <limits>

#include "support/check_conv.hpp"

namespace {

namespace tf = typeflow;
using tf::ConvOptions;
using tf::Padding;

/// A convolution and its gradients, with these numbers.
constexpr void add(auto y, auto a, auto b, int i) {
  y.named({"y", i});
  auto [da, db] = gradients(sum(square(y)), a, b);
  da.named({"da", i});
  db.named({"db", i});
}

/// Channels and filters in packets of 16 bytes, and not.
constexpr void settings(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 12, 9, 6>(g, "x");
  auto w = tf::placeholder<float, 3, 5, 6, 10>(g, "w");
  auto pointwise = tf::placeholder<float, 1, 1, 6, 35>(g, "pointwise");
  auto part = tf::placeholder<float, 3, 3, 3, 10>(g, "part");
  auto wide = tf::placeholder<float, tf::batch, 6, 7, 8>(g, "wide");
  auto v = tf::placeholder<float, 3, 2, 8, 12>(g, "v");
  auto parts = tf::placeholder<float, 3, 3, 4, 8>(g, "parts");
  add(conv2d(x, w), x, w, 0);
  add(conv2d<ConvOptions<2>{.strides = {3, 2}, .padding = Padding::valid}>(x, w), x, w, 1);
  add(conv2d<ConvOptions<2>{.dilations = {2, 1}}>(x, w), x, w, 2);
  add(conv2d(x, pointwise), x, pointwise, 3);
  add(conv2d<ConvOptions<2>{.groups = 2}>(x, part), x, part, 4);
  add(conv2d(wide, v), wide, v, 5);
  add(conv2d<ConvOptions<2>{.strides = {2, 2}, .groups = 2}>(wide, parts), wide, parts, 6);
}

constexpr void more_settings(tf::Graph& g) {
  auto x = tf::placeholder<double, tf::batch, 13, 4>(g, "x");
  auto w = tf::placeholder<double, 3, 4, 6>(g, "w");
  auto volume = tf::placeholder<double, tf::batch, 5, 4, 6, 3>(g, "volume");
  auto u = tf::placeholder<double, 2, 3, 3, 3, 5>(g, "u");
  auto image = tf::placeholder<double, tf::batch, 9, 7, 2>(g, "image");
  auto v = tf::placeholder<double, 3, 3, 2, 4>(g, "v");
  auto small = tf::placeholder<double, tf::batch, 4, 3, 4>(g, "small");
  add(conv1d<ConvOptions<1>{.strides = {2}}>(x, w), x, w, 0);
  add(conv3d<ConvOptions<3>{.strides = {1, 2, 1}}>(volume, u), volume, u, 1);
  add(conv2d<ConvOptions<2>{
          .padding = Padding::given, .pads = {{{2, 1}, {0, 3}}}, .dilations = {1, 2}}>(image, v),
      image, v, 2);
  // Strides and dilations with and without a common divisor.
  add(conv2d<ConvOptions<2>{.strides = {2, 3}, .dilations = {2, 2}}>(image, v), image, v, 3);
  // Strides greater than the window: there are pixels that no place sees.
  add(conv2d<ConvOptions<2>{.strides = {4, 4}}>(image, v), image, v, 4);
  conv2d_transpose<ConvOptions<2>{.strides = {2, 3}}>(small, v).named("transposed");
}

/// Bias, activation and residual; operands along some axes of the result.
constexpr void epilogues(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 13, 11, 5>(g, "x");
  auto w = tf::placeholder<float, 3, 3, 5, 24>(g, "w");
  auto bias = tf::placeholder<float, 24>(g, "bias");
  auto rest = tf::placeholder<float, tf::batch, 7, 11, 24>(g, "rest");
  auto pixels = tf::placeholder<float, tf::batch, 7, 11, 1>(g, "pixels");
  auto scale = tf::placeholder<float, tf::batch, 1, 1, 24>(g, "scale");
  auto y = conv2d<ConvOptions<2>{.strides = {2, 1}}>(x, w);
  relu(rest + pixels * (y + bias)).named("y");
  auto z = conv2d<ConvOptions<2>{.strides = {2, 1}}>(x * 2.0f, w);
  (scale * relu(z + bias)).named("scaled");
  auto dx = gradients(sum(square(y)), x);
  (dx + 1.0f).named("dx");
}

/// So many places that several blocks share the filters' gradient.
constexpr void long_depth(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 16, 16, 3>(g, "x");
  auto w = tf::placeholder<float, 3, 3, 3, 7>(g, "w");
  auto y = conv2d(x, w);
  (gradients(sum(square(y)), w) * 0.5f + 1.0f).named("dw");
}

/// As many tiles of 128 x 128 as a GPU has multiprocessors.
constexpr void big(tf::Graph& g) {
  constexpr ConvOptions<2> groups{.groups = 128};
  auto x = tf::placeholder<float, 1, 5, 13, 128>(g, "x");
  auto w = tf::placeholder<float, 1, 1, 1, 128 * 66>(g, "w");
  auto u = tf::placeholder<float, 1, 1, 68, 128>(g, "u");
  auto a = tf::placeholder<float, 1, 1, 2, 128 * 68>(g, "a");
  auto v = tf::placeholder<float, 1, 1, 68, 128 * 68>(g, "v");
  conv2d<groups>(x, w).named("y");
  conv2d_transpose<groups>(x, u).named("dx");
  gradients(sum(square(conv2d<groups>(a, v))), v).named("dw");
}

constexpr void training(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 12, 12, 3>(g, "x");
  auto w = tf::variable<float, 3, 3, 3, 16>(g, "w", tf::truncated_normal(0, 0.2));
  auto b = tf::variable<float, 16>(g, "b", tf::filled(0.1));
  auto u = tf::variable<float, 3, 3, 16, 8>(g, "u", tf::truncated_normal(0, 0.1));
  auto h = relu(conv2d(x, w) + b);
  auto k = relu(conv2d<ConvOptions<2>{.strides = {2, 2}}>(h, u));
  auto logits = tf::dense<10>(g, "out", tf::reshape<tf::batch, 6 * 6 * 8>(k)).named("logits");
  auto loss = mean(square(logits - 1.0f)).named("loss");
  tf::GradientDescent{.rate = 0.05f}.minimize(loss).named("train");
}

inline constexpr ConvOptions<2> same{};
constexpr void padded(tf::Graph& g) {
  auto x = tf::placeholder<float, 2, 5, 6, 4>(g, "x");
  auto w = tf::placeholder<float, 3, 3, 4, 4>(g, "w");
  conv2d<same>(x, w).named("y");
}

}  // namespace

TEST_CASE("convolutions and their gradients on a GPU are the processor's for all settings") {
  for (const std::int64_t batch : {0, 1, 3}) {
    test::check_cuda<settings>(batch);
    test::check_cuda<more_settings>(batch, 1e-14);
  }
}

TEST_CASE("operations follow a convolution in its kernel on a GPU") {
  for (const std::int64_t batch : {1, 2}) test::check_cuda<epilogues>(batch, 1e-5);
}

TEST_CASE("blocks on a GPU share a product with a long depth, and add up parts in order") {
  test::check_cuda<long_depth>(5, 1e-5);
}

TEST_CASE("big convolutions on a GPU have big tiles") { test::check_cuda<big>(1); }

TEST_CASE("a convolutional net trains on a GPU as on the processor") {
  for (const std::int64_t batch : {1, 3}) test::check_cuda<training>(batch, 1e-5);
}

TEST_CASE("padding on a GPU meets no weight, even an infinite one") {
  tf::HostTensors feeds = test::random_feeds<padded>();
  feeds.at("w").set(0, std::numeric_limits<double>::infinity());
  feeds.at("w").set(37, std::numeric_limits<double>::quiet_NaN());
  feeds.at("x").set(0, 0.0);  // which is no padding: infinity times 0 is NaN
  test::Kernels<padded, tf::training, test::CudaTargetOnHost> gpu;
  const test::Outcome got = gpu.run(feeds);
  const tf::HostTensor expected = test::convolve(same, feeds.at("x"), feeds.at("w"));
  int finite = 0;
  int nan = 0;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    finite += std::isfinite(expected.value(i));
    nan += std::isnan(expected.value(i));
  }
  CHECK(finite > expected.size() / 2);
  CHECK(nan > 0);
  test::check_close("y", got.at("y"), expected, 2e-6);
}
