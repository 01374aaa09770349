// SPDX-License-Identifier: Apache-2.0

// What follows a convolution on its tile, and its bits: fused or not, for any number of threads.

#include "support/check_conv.hpp"

namespace {

namespace tf = typeflow;
using tf::ConvOptions;
using tf::Padding;

/// (N,13,11,5) x (3,3,5,F) -> (N,7,11,F), 77 places: tiles end in the middle of an image.
inline constexpr ConvOptions<2> strided{.strides = {2, 1}};

/// Bias, activation and residual; what runs along the pixels alone; a scalar.
template <int F>
constexpr void on_the_tile(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 13, 11, 5>(g, "x");
  auto w = tf::placeholder<float, 3, 3, 5, F>(g, "w");
  auto bias = tf::placeholder<float, F>(g, "bias");
  auto rest = tf::placeholder<float, tf::batch, 7, 11, F>(g, "rest");
  auto pixels = tf::placeholder<float, tf::batch, 7, 11, 1>(g, "pixels");
  auto factor = tf::placeholder<float>(g, "factor");
  relu(rest + pixels * (factor * conv2d<strided>(x, w) + bias)).named("y");
}

/// What runs along some of the axes that are rows of the convolution, and not along others.
constexpr void along_some_axes(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 13, 11, 5>(g, "x");
  auto w = tf::placeholder<float, 3, 3, 5, 24>(g, "w");
  auto u = tf::placeholder<float, 3, 3, 5, 24>(g, "u");
  auto v = tf::placeholder<float, 3, 3, 5, 24>(g, "v");
  auto bias = tf::placeholder<float, 24>(g, "bias");
  auto scale = tf::placeholder<float, tf::batch, 1, 1, 24>(g, "scale");
  auto mask = tf::placeholder<float, 1, 7, 11, 1>(g, "mask");
  auto column = tf::placeholder<float, 11, 1>(g, "column");
  (scale * relu(conv2d<strided>(x, w) + bias)).named("scaled");
  (mask * relu(conv2d<strided>(x, u) + bias)).named("masked");
  tanh(conv2d<strided>(x, v) - column + scale).named("both");
}

/// Settings and their gradients, which leave the tile as they are.
constexpr void plain(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 12, 9, 6>(g, "x");
  auto w = tf::placeholder<float, 3, 5, 6, 20>(g, "w");
  auto pointwise = tf::placeholder<float, 1, 1, 6, 35>(g, "pointwise");
  auto part = tf::placeholder<float, 3, 3, 3, 10>(g, "part");
  const auto add = [](auto y, auto a, auto b, int i) {
    y.named({"y", i});
    auto [da, db] = gradients(sum(square(y)), a, b);
    da.named({"da", i});
    db.named({"db", i});
  };
  add(conv2d(x, w), x, w, 0);
  add(conv2d<ConvOptions<2>{.strides = {3, 2}, .padding = Padding::valid}>(x, w), x, w, 1);
  add(conv2d<ConvOptions<2>{.dilations = {2, 1}}>(x, w), x, w, 2);
  add(conv2d(x, pointwise), x, pointwise, 3);
  add(conv2d<ConvOptions<2>{.groups = 2}>(x, part), x, part, 4);
}

/// One column: what follows takes several places at once.
template <class T, int Channels, int Filters>
constexpr void one_column(tf::Graph& g) {
  auto x = tf::placeholder<T, tf::batch, 9, 37, Channels>(g, "x");
  auto w = tf::placeholder<T, 3, 3, Channels, Filters>(g, "w");
  auto bias = tf::placeholder<T, 1>(g, "bias");
  auto rest = tf::placeholder<T, tf::batch, 9, 37, 1>(g, "rest");
  auto y = conv2d(x, w);
  if constexpr (Filters == 1) (rest * relu(y + bias)).named("y");
  auto [dx, dw] = gradients(sum(square(y)), x, w);
  tanh(dx * 0.1f - rest).named("dx");
  (dw * 2.0f).named("dw");
}

constexpr void doubles(tf::Graph& g) {
  auto x = tf::placeholder<double, tf::batch, 7, 8, 3>(g, "x");
  auto w = tf::placeholder<double, 3, 2, 3, 11>(g, "w");
  auto bias = tf::placeholder<double, 11>(g, "bias");
  auto y = tanh(conv2d<strided>(x, w) + bias).named("y");
  auto [dx, dw, dbias] = gradients(sum(y * y), x, w, bias);
  dx.named("dx");
  dw.named("dw");
  dbias.named("dbias");
}

/// A small net and its step: two layers, one of stride 2, and a dense one behind them.
constexpr void training(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 12, 12, 3>(g, "x");
  auto label = tf::placeholder<std::int32_t, tf::batch>(g, "label");
  auto w = tf::variable<float, 3, 3, 3, 16>(g, "w", tf::truncated_normal(0, 0.2));
  auto b = tf::variable<float, 16>(g, "b", tf::filled(0.1));
  auto u = tf::variable<float, 3, 3, 16, 8>(g, "u", tf::truncated_normal(0, 0.1));
  auto h = relu(conv2d(x, w) + b);
  auto k = relu(conv2d<ConvOptions<2>{.strides = {2, 2}}>(h, u));
  auto logits = tf::dense<10>(g, "out", tf::reshape<tf::batch, 6 * 6 * 8>(k)).named("logits");
  auto loss = mean(softmax_cross_entropy(logits, label)).named("loss");
  tf::GradientDescent{.rate = 0.05f}.minimize(loss).named("train");
}

}  // namespace

TEST_CASE("what follows a convolution is done on its tile") {
  CHECK(tf::ir::Lowering<on_the_tile<24>>::view.steps.size == 1);
  for (const std::int64_t batch : {0, 1, 2, 5}) {
    test::check_against_interpreter<on_the_tile<1>>(batch, 2e-6);
    test::check_against_interpreter<on_the_tile<24>>(batch, 2e-6);
    test::check_against_interpreter<on_the_tile<70>>(batch, 2e-6, 2);
    test::check_against_interpreter<on_the_tile<3>>(batch, 2e-6);
    test::check_bits<on_the_tile<1>>(batch);
    test::check_bits<on_the_tile<3>>(batch);
    test::check_bits<on_the_tile<24>>(batch);
    test::check_bits<on_the_tile<70>>(batch);
  }
  test::check_bits<on_the_tile<70>>(40);
}

TEST_CASE("what follows a convolution of one column takes several places at once") {
  for (const std::int64_t batch : {0, 1, 5, 40}) {
    test::check_bits<one_column<float, 1, 1>>(batch);
    test::check_bits<one_column<float, 3, 1>>(batch);
    test::check_bits<one_column<float, 1, 3>>(batch);
    test::check_bits<one_column<double, 1, 1>>(batch);
    if (batch > 5) continue;
    test::check_against_interpreter<one_column<float, 1, 1>>(batch, 1e-5);
    test::check_against_interpreter<one_column<float, 3, 1>>(batch, 1e-5, 2);
    test::check_against_interpreter<one_column<float, 1, 3>>(batch, 1e-5, 2);
    test::check_against_interpreter<one_column<double, 1, 1>>(batch, 1e-12, 2);
  }
}

TEST_CASE(
    "what runs along some of a convolution's axes only is right, and bits are those of unfused "
    "kernels") {
  for (const std::int64_t batch : {0, 1, 2, 5}) {
    test::check_against_interpreter<along_some_axes>(batch, 1e-5);
    test::check_against_interpreter<along_some_axes>(batch, 1e-5, 2);
    test::check_bits<along_some_axes>(batch);
  }
  test::check_bits<along_some_axes>(40);
}

TEST_CASE("convolutions and their gradients have equal bits for any number of threads") {
  for (const std::int64_t batch : {1, 3, 40}) {
    test::check_bits<plain>(batch);
    test::check_bits<doubles>(batch);
  }
  test::check_against_interpreter<doubles>(3, 1e-12, 2);
}

TEST_CASE("a convolutional net's training step is right, and has equal bits, fused or not") {
  for (const std::int64_t batch : {1, 3}) {
    test::check_against_interpreter<training>(batch, 1e-5);
    test::check_against_interpreter<training>(batch, 1e-5, 2);
  }
  for (const std::int64_t batch : {1, 3, 40}) test::check_bits<training>(batch);
}
