// SPDX-License-Identifier: Apache-2.0

// max_pool_with_argmax, separable_conv2d and conv2d_in_plane against loops that are written here.

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;

/// The first of the largest elements, or the first NaN, of windows of 3x3, two apart, in images
/// (N,H,W,C) with one element of padding on all sides.
struct Largest {
  tf::HostTensor values;
  tf::HostTensor in_image;
  tf::HostTensor in_batch;
};
Largest largest(const tf::HostTensor& x) {
  const std::int64_t height = x.dims[1];
  const std::int64_t width = x.dims[2];
  const tf::Dims dims =
      test::dims({x.dims[0], (height - 1) / 2 + 1, (width - 1) / 2 + 1, x.dims[3]});
  Largest y{tf::host_tensor(x.dtype, dims), tf::host_tensor(tf::DType::int64, dims),
            tf::host_tensor(tf::DType::int64, dims)};
  for (std::int64_t at = 0; at < y.values.size(); ++at) {
    const std::vector<std::int64_t> c = test::coordinates(at, dims);
    std::int64_t best = -1;
    for (std::int64_t h = 2 * c[1] - 1; h <= 2 * c[1] + 1; ++h) {
      for (std::int64_t w = 2 * c[2] - 1; w <= 2 * c[2] + 1; ++w) {
        if (h < 0 || h >= height || w < 0 || w >= width) continue;
        const std::int64_t i = test::position({c[0], h, w, c[3]}, x.dims);
        const bool done = best >= 0 && std::isnan(x.value(best));
        if (best < 0 || (!done && !(x.value(i) <= x.value(best)))) best = i;
      }
    }
    y.values[at] = x[best];
    y.in_batch[at].integer = best;
    y.in_image[at].integer = best - c[0] * height * width * x.dims[3];
  }
  return y;
}

constexpr tf::PoolOptions<2> window{
    .window = {3, 3}, .strides = {2, 2}, .padding = tf::Padding::given, .pads = {{{1, 1}, {1, 1}}}};

template <class T, tf::Extent... D>
constexpr void pools(tf::Graph& g) {
  auto x = tf::placeholder<T, D...>(g, "x");
  auto [values, indices] = max_pool_with_argmax<window>(x);
  values.named("values");
  indices.named("in_image");
  max_pool_with_argmax<window>(x, {.include_batch_in_index = true}).indices.named("in_batch");
}
template <auto Model>
void check_pools(const tf::HostTensors& feeds) {
  const Largest y = largest(feeds.at("x"));
  test::check_values<Model>(
      feeds, {{"values", y.values}, {"in_image", y.in_image}, {"in_batch", y.in_batch}});
}

/// Of a volume, whose flat positions count its depth, too; and windows of one number.
constexpr void volumes(tf::Graph& g) {
  auto x = tf::placeholder<float, 1, 2, 2, 2, 1>(g, "x");
  constexpr tf::PoolOptions<3> cube{.window = {2, 1, 2}, .strides = {2, 1, 2}};
  max_pool_with_argmax<cube>(x).indices.named("cube");
  auto image = tf::placeholder<float, 1, 4, 4, 1>(g, "image");
  max_pool_with_argmax<2>(image).indices.named("image_argmax");
}

constexpr tf::ConvOptions<2> strided{.strides = {2, 1}, .padding = tf::Padding::valid};

template <class T>
constexpr void convolutions(tf::Graph& g) {
  auto x = tf::placeholder<T, tf::batch, 6, 5, 3>(g, "x");
  auto depthwise = tf::placeholder<T, 3, 2, 3, 2>(g, "depthwise");
  auto pointwise = tf::placeholder<T, 1, 1, 6, 4>(g, "pointwise");
  auto plane = tf::placeholder<T, 3, 2, 1, 1>(g, "plane");
  separable_conv2d<strided>(x, depthwise, pointwise).named("separable");
  conv2d_in_plane<strided>(x, plane).named("in_plane");
}

/// Windows of 3x2 of x, two rows apart: f(where in y's places, where in x, tap).
template <class F>
void each_tap(const tf::HostTensor& x, const F& f) {
  for (std::int64_t place = 0; place < x.dims[0] * 2 * 4; ++place) {
    for (std::int64_t tap = 0; tap < 6; ++tap) {
      const std::int64_t h = place / 4 % 2 * 2 + tap / 2;
      const std::int64_t w = place % 4 + tap % 2;
      f(place, test::position({place / 8, h, w, 0}, x.dims), tap);
    }
  }
}

template <class T>
void check_convolutions(double tolerance) {
  const tf::HostTensors feeds = test::random_feeds<convolutions<T>>(2, 5);
  const tf::HostTensor& x = feeds.at("x");
  std::vector<double> separable(2 * 2 * 4 * 4);
  std::vector<double> in_plane(2 * 2 * 4 * 3);
  each_tap(x, [&](std::int64_t place, std::int64_t pixel, std::int64_t tap) {
    for (std::int64_t c = 0; c < 3; ++c) {
      const double e = x.value(pixel + c);
      in_plane[static_cast<std::size_t>(place * 3 + c)] += e * feeds.at("plane").value(tap);
      for (std::int64_t m = 0; m < 2; ++m) {
        for (std::int64_t f = 0; f < 4; ++f) {
          separable[static_cast<std::size_t>(place * 4 + f)] +=
              e * feeds.at("depthwise").value((tap * 3 + c) * 2 + m) *
              feeds.at("pointwise").value((c * 2 + m) * 4 + f);
        }
      }
    }
  });
  test::check_values<convolutions<T>>(
      feeds,
      {{"separable", test::tensor(x.dtype, {2, 2, 4, 4}, separable)},
       {"in_plane", test::tensor(x.dtype, {2, 2, 4, 3}, in_plane)}},
      tolerance);
}

}  // namespace

TEST_CASE("max_pool_with_argmax: values") {
  for (const std::int64_t batch : {0, 3}) {
    check_pools<&pools<float, tf::batch, 5, 6, 3>>(
        test::random_feeds<pools<float, tf::batch, 5, 6, 3>>(batch, 2));
  }
  check_pools<&pools<std::int32_t, 2, 7, 3, 1>>(
      test::random_feeds<pools<std::int32_t, 2, 7, 3, 1>>(1, 2));  // with many that are equal
  check_pools<&pools<tf::float16, 1, 2, 2, 19>>(
      test::random_feeds<pools<tf::float16, 1, 2, 2, 19>>(1, 2));
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double inf = std::numeric_limits<double>::infinity();
  check_pools<&pools<float, 1, 3, 4, 1>>(
      {{"x", test::floats({1, 3, 4, 1}, {1, nan, -inf, -inf, nan, 2, -inf, -inf, 5, 5, -inf, 5})}});
  // The flat positions that TensorFlow's documentation describes, counted by hand.
  test::check_values<volumes>(
      {{"x", test::floats({1, 2, 2, 2, 1}, {1, 2, 3, 4, 5, 1, 0, 9})},
       {"image", test::floats({1, 4, 4, 1}, {1, 2, 5, 5, 3, 0, 1, 2, 7, 1, 0, 0, 8, 9, 0, 3})}},
      {{"cube", test::tensor(tf::DType::int64, {1, 1, 2, 1, 1}, {4, 7})},
       {"image_argmax", test::tensor(tf::DType::int64, {1, 2, 2, 1}, {4, 2, 13, 15})}});
}

TEST_CASE("max_pool_with_argmax: gradient") {
  test::check_gradients<tf::Shape<2, 5, 4, 3>>(
      [](auto x) { return max_pool_with_argmax<3, 2>(x).values; });
}

TEST_CASE("separable_conv2d: values") { check_convolutions<float>(1e-6); }

TEST_CASE("conv2d_in_plane: values") { check_convolutions<double>(1e-14); }

TEST_CASE("separable_conv2d: gradient") {
  test::check_gradients<tf::Shape<1, 5, 4, 2>, tf::Shape<3, 2, 2, 2>, tf::Shape<1, 1, 4, 3>>(
      [](auto x, auto d, auto p) { return separable_conv2d<strided>(x, d, p); });
}

TEST_CASE("conv2d_in_plane: gradient") {
  test::check_gradients<tf::Shape<2, 5, 4, 2>, tf::Shape<3, 2, 1, 1>>(
      [](auto x, auto w) { return conv2d_in_plane<strided>(x, w); });
}
