// SPDX-License-Identifier: Apache-2.0

// Pools, depthwise convolutions and sums over channels on a pretended GPU. Each element adds up in
// the processor's order, so the bits are equal.

#include "support/check_cuda.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>
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

/// Channels that fill packets: windows that overlap, that lie side by side, and apart.
constexpr tf::PoolOptions<2> apart{
    .window = {2, 1}, .strides = {3, 4}, .padding = tf::Padding::valid};
constexpr tf::PoolOptions<2> padded{
    .window = {3, 4}, .strides = {3, 5}, .padding = tf::Padding::given, .pads = {{{1, 2}, {3, 0}}}};
constexpr tf::PoolOptions<2> whole{.window = {9, 11}, .strides = {9, 11}};
constexpr tf::PoolOptions<2> sparse{
    .window = {1, 2}, .strides = {8, 9}, .padding = tf::Padding::valid};
/// Numbers of 64 bits: one window a tensor, whatever its size.
constexpr tf::PoolOptions<2> far_apart{
    .window = {2, 3}, .strides = {1 << 29, 1 << 29}, .padding = tf::Padding::valid};
constexpr void wide_numbers(tf::Graph& g) {
  const auto pools = [&](const auto& x, int number) {
    auto y = tf::max_pool<far_apart>(x).named({"max", number});
    tf::gradients(sum(y * y * y), x).named({"dmax", number});
    auto mean = tf::avg_pool<far_apart>(x).named({"avg", number});
    tf::gradients(sum(square(mean)), x).named({"davg", number});
  };
  pools(tf::placeholder<float, tf::batch, 9, 11, 5>(g, "x"), 0);
  pools(tf::placeholder<float, tf::batch, 4, 5, 8>(g, "small"), 1);
}
template <class T, int Channels>
constexpr void pools_of_packets(tf::Graph& g, int i) {
  auto x = tf::placeholder<T, tf::batch, 9, 11, Channels>(g, {"x", i});
  const auto pool = [&](const auto& y, int number) {
    y.named({"max", 7 * i + number});
    if constexpr (!std::is_integral_v<T>) {
      auto dx = tf::gradients(sum(y * y * y), x);
      dx.named({"dmax", 7 * i + number});
      tf::gradients(sum(square(dx)), x).named({"second", 7 * i + number});
    }
  };
  pool(tf::max_pool<3, 2>(x), 0);
  pool(tf::max_pool<2>(x), 1);
  pool(tf::max_pool<2, 2, tf::Padding::valid>(x), 2);
  pool(tf::max_pool<apart>(x), 3);
  pool(tf::max_pool<padded>(x), 4);
  pool(tf::max_pool<whole>(x), 5);
  pool(tf::max_pool<sparse>(x), 6);
  tf::max_pool_with_argmax<3, 2>(x).indices.named({"argmax", i});
  if constexpr (!std::is_integral_v<T>) {
    auto y = tf::avg_pool<3, 2>(x);
    y.named({"avg", i});
    tf::gradients(sum(square(y)), x).named({"davg", i});
    tf::lrn(x).named({"lrn", i});
    tf::lrn(x, {.depth_radius = 1}).named({"lrn_narrow", i});
    tf::lrn(x, {.depth_radius = 4}).named({"lrn_packet", i});
    tf::lrn(x, {.depth_radius = 30}).named({"lrn_wide", i});
  }
}
constexpr void packets(tf::Graph& g) {
  pools_of_packets<float, 8>(g, 0);
  pools_of_packets<double, 12>(g, 1);
  pools_of_packets<tf::float16, 16>(g, 2);
  pools_of_packets<std::int8_t, 8>(g, 3);
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

template <int Channels, int Size, int Stride>
constexpr void with_nan(tf::Graph& g) {
  auto x = tf::placeholder<float, 1, 6, 6, Channels>(g, "x");
  auto slope = tf::placeholder<float, 1, 6 / Stride, 6 / Stride, Channels>(g, "slope");
  auto [y, at] = tf::max_pool_with_argmax<Size, Stride>(x);
  y.named("y");
  at.named("at");
  tf::gradients(sum(y * slope), x).named("dx");
}

template <class Values>
std::vector<std::uint32_t> bits_of(const Values& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}
/// Few different numbers, signed zeros and NaN. Sums of gradients have their signs, too.
template <int Channels, int Size, int Stride>
void check_ties() {
  constexpr float values[] = {1, -0.0f, 0, std::numeric_limits<float>::quiet_NaN(), 1, -1, 0};
  constexpr std::int64_t places = 6 / Stride * (6 / Stride) * Channels;
  std::vector<float> x(36 * Channels);
  std::vector<float> slope(places);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = values[i * i / 3 % 7];
  for (std::size_t i = 0; i < slope.size(); ++i)
    slope[i] = i % 3 == 0 ? -0.0f : 0.5f + static_cast<float>(i % 5);
  tf::Variables variables;
  tf::Session<with_nan<Channels, Size, Stride>, tf::training, tf::CpuTarget<>> near(variables);
  tf::Session<with_nan<Channels, Size, Stride>, tf::training, test::CudaTargetOnHost> far(
      variables);
  const auto run = [&](auto& session) {
    return session.template run<"y", "at", "dx">(tf::feed<"x">(x), tf::feed<"slope">(slope));
  };
  const auto [y, at, dx] = run(near);
  const auto [got_y, got_at, got_dx] = run(far);
  CHECK(got_at == at);
  CHECK(bits_of(got_y) == bits_of(y));
  CHECK(bits_of(got_dx) == bits_of(dx));
}

}  // namespace

TEST_CASE("a GPU pools with the processor's bits") {
  for (const std::int64_t batch : {0, 1, 3}) test::check_cuda<pooled>(batch, 0);
}
TEST_CASE("a GPU computes gradients of pools with the processor's bits") {
  for (const std::int64_t batch : {1, 3}) test::check_cuda<pool_slopes>(batch, 0);
}
TEST_CASE("a GPU pools several channels in a thread with the processor's bits") {
  for (const std::int64_t batch : {0, 1, 3}) test::check_cuda<packets>(batch, 0);
}
TEST_CASE("a GPU pools by numbers of 64 bits where strides need them") {
  for (const std::int64_t batch : {0, 1, 3}) test::check_cuda<wide_numbers>(batch, 0);
}
TEST_CASE("a GPU convolves channels by themselves with the processor's bits") {
  for (const std::int64_t batch : {1, 9}) test::check_cuda<convolved>(batch, 0);
}
TEST_CASE("a GPU pools NaN, signed zeros and equal elements as the processor does") {
  check_ties<3, 3, 2>();
  check_ties<4, 3, 2>();
  check_ties<3, 2, 2>();
  check_ties<8, 2, 2>();
  check_ties<4, 2, 3>();
}
