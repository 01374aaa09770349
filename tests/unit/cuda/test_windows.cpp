// SPDX-License-Identifier: Apache-2.0

// Pools, depthwise convolutions and sums over channels on a pretended GPU. Each element adds up in
// the processor's order, so the bits are equal.

#include "support/check_cuda.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include <typeflow/cuda/pooling.hpp>

namespace {

namespace tf = typeflow;

template <class T>
constexpr void pools(tf::Graph& g, int i) {
  auto x = tf::placeholder<T, tf::batch, 9, 7, 3>(g, {"x", i});
  auto one = tf::placeholder<T, 1, 1, 1, 1>(g, {"one", i});
  tf::max_pool<2>(x).named({"max", i});
  tf::max_pool<3, 2>(x).named({"max_overlapping", i});
  tf::max_pool<2>(one).named({"max_one", i});
  const auto [values, indices] = tf::max_pool_with_argmax<3, 2>(x);
  indices.named({"argmax", i});
  tf::max_pool_with_argmax<2, 1, tf::Padding::valid>(x, {.include_batch_in_index = true})
      .indices.named({"argmax_of_batch", i});
  auto line = tf::placeholder<T, tf::batch, 11, 2>(g, {"line", i});
  tf::max_pool<tf::PoolOptions<1>{.window = {3}, .strides = {2}}>(line).named({"max_line", i});
  auto volume = tf::placeholder<T, tf::batch, 3, 4, 5, 2>(g, {"volume", i});
  tf::max_pool<tf::PoolOptions<3>{.window = {2, 2, 3}, .strides = {1, 2, 2}}>(volume).named(
      {"max_volume", i});
  if constexpr (!std::is_integral_v<T>) {
    tf::avg_pool<3, 2>(x).named({"avg", i});
    tf::avg_pool<2, 1, tf::Padding::valid>(x).named({"avg_valid", i});
    tf::lrn(x, {.depth_radius = 1}).named({"lrn", i});
    tf::lrn(x).named({"lrn_all", i});
  }
}
constexpr void pooled(tf::Graph& g) {
  pools<float>(g, 0);
  pools<std::int8_t>(g, 1);
  pools<tf::float16>(g, 2);
}
template <class T>
constexpr void pool_gradients(tf::Graph& g, int i) {
  auto x = tf::placeholder<T, tf::batch, 9, 7, 3>(g, {"x", i});
  auto y = tf::max_pool<3, 2>(x);
  auto dx = tf::gradients(sum(y * y * y), x);
  dx.named({"dmax", i});
  tf::gradients(sum(square(dx)), x).named({"second", i});
  tf::gradients(sum(square(tf::avg_pool<3, 2>(x))), x).named({"davg", i});
  tf::gradients(sum(square(tf::avg_pool<2, 1, tf::Padding::valid>(x))), x).named({"dvalid", i});
  auto volume = tf::placeholder<T, tf::batch, 3, 4, 5, 2>(g, {"volume", i});
  auto z = tf::max_pool<tf::PoolOptions<3>{.window = {2, 2, 3}, .strides = {1, 2, 2}}>(volume);
  tf::gradients(sum(square(z)), volume).named({"dvolume", i});
}
constexpr void pool_slopes(tf::Graph& g) {
  pool_gradients<float>(g, 0);
  pool_gradients<double>(g, 1);
}

constexpr tf::ConvOptions<2> strided{.strides = {2, 3}};
constexpr tf::ConvOptions<2> dilated{.padding = tf::Padding::valid, .dilations = {2, 1}};
template <class T>
constexpr void depthwise(tf::Graph& g, int i) {
  auto x = tf::placeholder<T, tf::batch, 8, 23, 5>(g, {"x", i});
  auto w = tf::placeholder<T, 3, 4, 5, 2>(g, {"w", i});
  auto y = tf::depthwise_conv2d(x, w);
  y.named({"same", i});
  const auto slopes = [&](const auto& result, int number) {
    const auto [dx, dw] = tf::gradients(sum(square(result)), x, w);
    dx.named({"dx", 3 * i + number});
    dw.named({"dw", 3 * i + number});
  };
  slopes(y, 0);
  auto z = tf::depthwise_conv2d<strided>(x, w);
  z.named({"strided", i});
  slopes(z, 1);
  auto v = tf::depthwise_conv2d<dilated>(x, w);
  v.named({"dilated", i});
  slopes(v, 2);
}
constexpr void convolved(tf::Graph& g) {
  depthwise<float>(g, 0);
  depthwise<double>(g, 1);
}

constexpr void with_nan(tf::Graph& g) {
  auto x = tf::placeholder<float, 1, 6, 6, 2>(g, "x");
  auto [y, at] = tf::max_pool_with_argmax<3, 2>(x);
  y.named("y");
  at.named("at");
  tf::gradients(sum(tf::where(equal(y, y), y, 1)), x).named("dx");
}
template <class Target>
using SessionOn = tf::Session<with_nan, tf::training, Target>;

}  // namespace

TEST_CASE("a GPU pools with the processor's bits") {
  for (const std::int64_t batch : {0, 1, 3}) test::check_cuda<pooled>(batch, 0);
}
TEST_CASE("a GPU computes gradients of pools with the processor's bits") {
  for (const std::int64_t batch : {1, 3}) test::check_cuda<pool_slopes>(batch, 0);
}
TEST_CASE("a GPU convolves channels by themselves with the processor's bits") {
  for (const std::int64_t batch : {1, 9}) test::check_cuda<convolved>(batch, 0);
}
TEST_CASE("a GPU pools NaN and equal elements as the processor does") {
  std::vector<float> x(72, 1.0f);
  x[20] = std::numeric_limits<float>::quiet_NaN();
  x[31] = x[20];
  x[50] = 2;
  tf::Variables variables;
  SessionOn<tf::CpuTarget<>> near(variables);
  SessionOn<test::CudaTargetOnHost> far(variables);
  const auto [at, dx] = near.run<"at", "dx">(tf::feed<"x">(x));
  const auto [got_at, got_dx] = far.run<"at", "dx">(tf::feed<"x">(x));
  CHECK(got_at == at);
  CHECK(got_dx == dx);
}
