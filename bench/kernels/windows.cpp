// SPDX-License-Identifier: Apache-2.0

// Convolutions of few channels by few filters, such as moving averages and filters of pictures; and
// pools. Layers of well-known nets are in bench/convolution.cpp.

#include "cases.hpp"

#include <typeflow/operations.hpp>
#include <typeflow/pooling.hpp>

namespace {

using namespace bench;
using Images = Normal<float, 32, 56, 56, 64>;
template <int Channels>
using Picture = Normal<float, 16, 128, 128, Channels>;
template <int Channels, int Filters>
using Filter = Normal<float, 3, 3, Channels, Filters>;

constexpr auto line(auto x, auto w) { return tf::conv1d(x, w); }
constexpr auto image(auto x, auto w) { return tf::conv2d(x, w); }
constexpr auto channels(auto x, auto w) { return tf::depthwise_conv2d(x, w); }

}  // namespace

int main(int argc, char** argv) {
  Cases c(argc, argv);
  using Line = Normal<float, 64, 4096, 1>;
  using Nine = Normal<float, 9, 1, 1>;
  c.both<[](auto x, auto w) { return line(x, w); }, Line, Nine>("conv1d_1_1");
  c.gradient<[](auto w, auto x) { return line(x, w); }, Nine, Line>("conv1d_1_1_filter");
  c.both<[](auto x, auto w) { return line(x, w); }, Line, Normal<float, 5, 1, 4>>("conv1d_1_4");
  c.both<[](auto x, auto w) { return line(x, w); }, Normal<float, 64, 2048, 1>,
         Normal<float, 5, 1, 16>>("conv1d_1_16");
  c.both<[](auto x, auto w) { return image(x, w); }, Picture<1>, Filter<1, 1>>("conv2d_1_1");
  c.gradient<[](auto w, auto x) { return image(x, w); }, Filter<1, 1>, Picture<1>>(
      "conv2d_1_1_filter");
  c.value<[](auto x, auto w, auto b) { return relu(image(x, w) + b); }, Picture<1>, Filter<1, 1>,
          Normal<float, 1>>("conv2d_1_1_bias_relu");
  c.both<[](auto x, auto w) { return image(x, w); }, Picture<3>, Filter<3, 1>>("conv2d_3_1");
  c.both<[](auto x, auto w) { return image(x, w); }, Picture<1>, Filter<1, 8>>("conv2d_1_8");
  c.both<[](auto x, auto w) { return channels(x, w); }, Picture<1>, Filter<1, 1>>("depthwise_1");
  c.both<[](auto x, auto w) { return channels(x, w); }, Picture<3>, Filter<3, 1>>("depthwise_3");
  c.both<[](auto x) { return tf::max_pool<2, 2>(x); }, Images>("max_pool_2");
  c.value<[](auto x) { return tf::max_pool<3, 2>(x); }, Images>("max_pool_3_2");
  c.both<[](auto x) { return tf::avg_pool<2, 2>(x); }, Images>("avg_pool_2");
}
