// SPDX-License-Identifier: Apache-2.0

// conv2d with its gradients for many shapes and settings, against plain loops. The numbers are
// whole and small, so that all sums are exact and nothing but the right bits will do.

#include <array>
#include <string>
#include <utility>

#include "support/check_conv.hpp"

namespace {

namespace tf = typeflow;
using tf::ConvOptions;
using tf::Padding;

/// An image (N,height,width,channels) and a kernel (kernel[0],kernel[1],channels/groups,filters).
struct Case {
  int height;
  int width;
  int channels;
  std::array<int, 2> kernel;
  int filters;
  ConvOptions<2> options{};

  tf::Dims image(std::int64_t batch) const { return test::dims({batch, height, width, channels}); }
  tf::Dims weights() const {
    return test::dims({kernel[0], kernel[1], channels / options.groups, filters});
  }
};

/// Padding::same, in all ways that an odd pad can fall.
constexpr Case same[] = {
    {7, 9, 3, {3, 3}, 10},
    {6, 5, 1, {1, 1}, 1},
    {9, 8, 5, {5, 5}, 24, {.strides = {2, 2}}},
    {8, 11, 17, {1, 7}, 10, {.strides = {1, 2}}},
    {11, 6, 3, {7, 1}, 24, {.strides = {3, 1}}},
    {6, 7, 33, {2, 3}, 10},
    {13, 10, 5, {3, 3}, 10, {.strides = {3, 2}}},
    {9, 9, 3, {3, 3}, 24, {.dilations = {2, 2}}},
    {8, 7, 16, {3, 3}, 70, {.strides = {2, 2}}},
    {7, 7, 33, {1, 1}, 70, {.strides = {2, 2}}},
    {6, 6, 33, {3, 3}, 1},
};
/// Images that the kernel is larger than, and of one row, column or pixel.
constexpr Case small[] = {
    {1, 1, 3, {3, 3}, 10},
    {1, 9, 5, {3, 3}, 10},
    {9, 1, 1, {5, 2}, 24, {.strides = {2, 2}}},
    {2, 3, 3, {5, 5}, 24},
    {2, 2, 1, {5, 5}, 1, {.strides = {3, 3}}},
    {3, 2, 16, {3, 3}, 10, {.strides = {1, 3}, .dilations = {3, 2}}},
    {3, 3, 5, {3, 3}, 70, {.padding = Padding::valid}},
    {1, 1, 17, {1, 1}, 24, {.padding = Padding::valid}},
};
/// No padding, or what is given: none, too much, unequal.
constexpr Case padded[] = {
    {10, 7, 16, {3, 3}, 70, {.strides = {2, 2}, .padding = Padding::valid}},
    {9, 8, 5, {3, 2}, 10, {.strides = {2, 1}, .padding = Padding::valid, .dilations = {2, 1}}},
    {10, 10, 3, {2, 2}, 5, {.strides = {3, 3}, .padding = Padding::valid}},  // leaves elements out
    {6, 5, 1, {5, 5}, 24, {.padding = Padding::valid}},
    {6, 7, 3, {3, 3}, 10, {.padding = Padding::given, .pads = {{{0, 2}, {3, 1}}}}},
    {7,
     5,
     16,
     {5, 3},
     24,
     {.strides = {2, 3}, .padding = Padding::given, .pads = {{{4, 1}, {0, 2}}}}},
    {2, 2, 3, {2, 2}, 10, {.padding = Padding::given, .pads = {{{3, 3}, {2, 4}}}}},
    {5, 6, 5, {3, 3}, 1, {.padding = Padding::given}},
};
/// Channels that fall into parts.
constexpr Case grouped[] = {
    {6, 6, 16, {3, 3}, 24, {.groups = 2}},
    {7, 5, 6, {3, 3}, 70, {.strides = {2, 1}, .padding = Padding::valid, .groups = 2}},
    {5, 7, 17, {3, 3}, 34, {.groups = 17}},
    {6, 6, 3, {5, 5}, 24, {.strides = {2, 2}, .groups = 3}},
    {8, 9, 8, {1, 3}, 12, {.strides = {1, 2}, .dilations = {1, 2}, .groups = 4}},
    {4, 4, 34, {1, 1}, 10, {.groups = 2}},
};

template <class T, const auto& Cases, std::size_t I>
constexpr void convolution(tf::Graph& g) {
  constexpr Case c = Cases[I];
  constexpr int i = static_cast<int>(I);
  auto x = tf::placeholder<T, tf::batch, c.height, c.width, c.channels>(g, {"x", i});
  auto w = tf::placeholder<T, c.kernel[0], c.kernel[1], c.channels / c.options.groups, c.filters>(
      g, {"w", i});
  auto y = conv2d<c.options>(x, w).named({"y", i});
  auto dy = test::input<T, typename decltype(y)::shape>(g, {"dy", i});
  auto [dx, dw] = gradients(y, tf::grad_ys(dy), x, w);
  dx.named({"dx", i});
  dw.named({"dw", i});
}
/// All cases of a table, and their gradients.
template <class T, const auto& Cases>
constexpr void convolutions(tf::Graph& g) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (convolution<T, Cases, I>(g), ...);
  }(std::make_index_sequence<std::size(Cases)>{});
}

template <class T, const auto& Cases>
void check(std::int64_t batch) {
  INFO(tf::name_of(tf::dtype_of<T>), ", batch ", batch);
  test::Random random(static_cast<std::uint64_t>(batch) + 1);
  tf::HostTensors feeds;
  test::Outcome expected;
  for (std::size_t i = 0; i < std::size(Cases); ++i) {
    const Case& c = Cases[i];
    const auto name = [i](const char* prefix) { return prefix + std::to_string(i); };
    const auto draw = [&](const tf::Dims& shape) {
      return test::whole_numbers(random, tf::dtype_of<T>, shape);
    };
    const tf::HostTensor x = feeds[name("x_")] = draw(c.image(batch));
    const tf::HostTensor w = feeds[name("w_")] = draw(c.weights());
    const tf::HostTensor y = expected[name("y_")] = test::convolve(c.options, x, w);
    const tf::HostTensor dy = feeds[name("dy_")] = draw(y.dims);
    expected[name("dx_")] = test::input_gradient(c.options, x.dims, w, dy);
    expected[name("dw_")] = test::filter_gradient(c.options, x, w.dims, dy);
  }
  test::check_values<convolutions<T, Cases>>(feeds, expected);
}

}  // namespace

TEST_CASE("conv2d: values") {
  for (const std::int64_t batch : {0, 1, 3, 5}) {
    check<float, same>(batch);
    check<float, small>(batch);
    check<float, padded>(batch);
    check<float, grouped>(batch);
  }
}
