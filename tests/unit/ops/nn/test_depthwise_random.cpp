// SPDX-License-Identifier: Apache-2.0

// Hundreds of depthwise convolutions and their gradients, drawn by chance, against plain loops: see
// test_conv_random.cpp. A depthwise convolution is one of as many groups as channels.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "support/check_conv.hpp"
#include "support/run_time_program.hpp"

namespace {

namespace tf = typeflow;
using test::ConvAxis;
using test::Convolution;
using test::Random;

/// What all of them compile to.
template <class T>
constexpr void kernels_of(tf::Graph& g) {
  auto x = tf::placeholder<T, 2, 5, 5, 4>(g, "x");
  auto w = tf::placeholder<T, 3, 3, 4, 1>(g, "w");
  auto dy = tf::placeholder<T, 2, 5, 5, 4>(g, "dy");
  auto y = depthwise_conv2d(x, w).named("y");
  auto [dx, dw] = gradients(y, tf::grad_ys(dy), x, w);
  dx.named("dx");
  dw.named("dw");
}

/// An axis whose kernel fits into the image with its padding. The image may be all padding for
/// some taps.
ConvAxis draw_axis(Random& random, int longest) {
  ConvAxis axis;
  axis.in = 1 + random.below(longest);
  axis.size = 1 + random.below(7);
  axis.stride = 1 + std::max(random.below(6) - 2, 0);
  axis.dilation = 1 + std::max(random.below(6) - 2, 0);
  test::set_padding(axis, static_cast<tf::Padding>(random.below(3)), random.below(9),
                    random.below(9));
  axis.in = std::max(axis.in, axis.span() - axis.before - axis.after);
  return axis;
}

/// With infinities and NaN in all three operands, unless all shall be finite.
template <class T>
void check(std::uint64_t seed, const test::KernelTable& kernels, tf::Stream* stream, bool finite) {
  constexpr tf::DType type = tf::dtype_of<T>;
  Random random(seed);
  Convolution c;
  for (const std::size_t i : {1u, 2u}) c.axes[i] = draw_axis(random, random.chance(0.5) ? 4 : 24);
  c.batch = random.below(4);
  c.channels = 1 + random.below(random.chance(0.3) ? 150 : 40);
  c.filters = c.groups = c.channels;
  const ConvAxis& h = c.axes[1];
  const ConvAxis& v = c.axes[2];
  INFO("seed ", seed, ", ", tf::name_of(type), ", finite ", finite);
  tf::ops::WindowAttributes window = tf::ops::one_element;
  window.set(1, {h.size, h.stride, h.dilation, h.before, h.after});
  window.set(2, {v.size, v.stride, v.dilation, v.before, v.after});
  const tf::Dims of_x = test::dims({c.batch, h.in, v.in, c.channels});
  const tf::Dims of_w = test::dims({h.size, v.size, c.channels});
  const tf::Dims of_y = test::convolved<2>(c);

  tf::Graph g;
  const tf::AnyExpr x = test::input(g, "x", type, of_x);
  const tf::AnyExpr w = test::input(g, "w", type, of_w);
  const tf::AnyExpr dy = test::input(g, "dy", type, of_y);
  test::name(apply(tf::ops::DepthwiseConv{{}, window}, x, w), "y");
  test::name(tf::ops::depthwise_input_gradient(window, x, dy, w), "dx");
  test::name(apply(tf::ops::DepthwiseFilterGradient{{}, window}, x, dy), "dw");
  REQUIRE(tf::ir::verify(g).view() == "");

  tf::HostTensors feeds{{"x", test::whole_numbers(random, type, of_x)},
                        {"w", test::whole_numbers(random, type, of_w)},
                        {"dy", test::whole_numbers(random, type, of_y)}};
  std::map<std::string, std::vector<std::byte>> bytes;
  std::map<std::string, const void*> fed;
  std::map<std::string, void*> results;
  for (auto& [name, feed] : feeds) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    for (const double e : {infinity, -infinity, std::numeric_limits<double>::quiet_NaN()}) {
      if (!finite && feed.size() > 0) feed.set(random.below(static_cast<int>(feed.size())), e);
    }
    fed[name] = (bytes[name] = test::to_bytes(feed)).data();
  }
  const test::Outcome expected{{"y", test::convolve(c, of_y, feeds["x"], feeds["w"])},
                               {"dx", test::input_gradient(c, of_x, feeds["w"], feeds["dy"])},
                               {"dw", test::filter_gradient(c, feeds["x"], of_w, feeds["dy"])}};
  for (const auto& [name, tensor] : expected) {
    bytes[name].assign(test::to_bytes(tensor).size(), std::byte{0x7f});
    results[name] = bytes[name].data();
  }
  test::RunTimeProgram(g, kernels, stream).run(fed, results);
  for (const auto& [name, tensor] : expected) {
    test::check_close(name, test::from_bytes(type, tensor.dims, results[name]), tensor, 0);
  }
  if (seed % 4 == 0) test::check_interpreter(g, feeds, expected);
}

}  // namespace

TEST_CASE("depthwise convolutions drawn by chance") {
  test::KernelTable kernels;
  kernels.add<&kernels_of<float>>();
  kernels.add<&kernels_of<double>>();
  tf::ThreadPool threads(2);
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    tf::Stream* const stream = seed % 2 == 0 ? nullptr : threads.executor();
    check<float>(seed, kernels, stream, seed % 3 != 0);
    if (seed % 3 == 0) check<double>(seed, kernels, stream, seed % 2 == 0);
  }
}
