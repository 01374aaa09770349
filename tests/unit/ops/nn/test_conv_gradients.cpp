// SPDX-License-Identifier: Apache-2.0

// Gradients of convolutions against central differences in double, and gradients of these.

#include <type_traits>

#include "support/check_gradients.hpp"

namespace {

namespace tf = typeflow;
using tf::ConvOptions;
using tf::Padding;
using tf::Shape;

/// Of f(x, w), of the first gradients of a function of it that is not linear, and of the second:
/// all that a family of operations can meet.
template <class X, class W, class F>
void check_orders(const F& f) {
  test::check_gradients<X, W>(f);
  const auto dx = [&](auto x, auto w) { return gradients(sum(square(f(x, w))), x); };
  const auto dw = [&](auto x, auto w) { return gradients(sum(square(f(x, w))), w); };
  test::check_gradients<X, W>(dx, {-1, 1}, 1e-6);
  test::check_gradients<X, W>(dw, {-1, 1}, 1e-6);
  test::check_gradients<X, W>([&](auto x, auto w) { return gradients(sum(square(dx(x, w))), w); },
                              {-1, 1}, 1e-5);
  test::check_gradients<X, W>([&](auto x, auto w) { return gradients(sum(square(dw(x, w))), x); },
                              {-1, 1}, 1e-5);
}

template <ConvOptions<2> O, class X, class W>
void check_conv2d() {
  test::check_gradients<X, W>([](auto x, auto w) { return conv2d<O>(x, w); });
}
template <ConvOptions<2> O, class Y, class W>
void check_transpose() {
  test::check_gradients<Y, W>([](auto y, auto w) { return conv2d_transpose<O>(y, w); });
}

}  // namespace

TEST_CASE("conv2d: gradient") {
  check_conv2d<ConvOptions<2>{}, Shape<2, 4, 5, 3>, Shape<3, 3, 3, 2>>();
  check_conv2d<ConvOptions<2>{.strides = {2, 3}}, Shape<1, 6, 5, 2>, Shape<3, 2, 2, 3>>();
  check_conv2d<ConvOptions<2>{.strides = {3, 2}, .padding = Padding::valid}, Shape<1, 6, 7, 2>,
               Shape<2, 2, 2, 1>>();
  check_conv2d<ConvOptions<2>{.dilations = {2, 2}}, Shape<1, 5, 4, 1>, Shape<3, 3, 1, 2>>();
  check_conv2d<ConvOptions<2>{.strides = {2, 1}, .dilations = {1, 2}, .groups = 2},
               Shape<2, 4, 5, 4>, Shape<2, 3, 2, 4>>();
  check_conv2d<ConvOptions<2>{.groups = 3}, Shape<1, 3, 3, 3>, Shape<3, 3, 1, 6>>();
  check_conv2d<ConvOptions<2>{
                   .strides = {2, 2}, .padding = Padding::given, .pads = {{{2, 0}, {1, 3}}}},
               Shape<1, 4, 5, 2>, Shape<3, 3, 2, 2>>();
  check_conv2d<ConvOptions<2>{}, Shape<2, 1, 2, 2>, Shape<5, 3, 2, 1>>();
}

TEST_CASE("conv2d: gradients of gradients") {
  check_orders<Shape<1, 3, 4, 2>, Shape<2, 3, 2, 2>>(
      [](auto x, auto w) { return conv2d<ConvOptions<2>{.strides = {1, 2}}>(x, w); });
  check_orders<Shape<1, 4, 3, 2>, Shape<2, 2, 1, 2>>([](auto x, auto w) {
    return conv2d<ConvOptions<2>{.strides = {3, 1}, .padding = Padding::valid, .groups = 2}>(x, w);
  });
}

TEST_CASE("conv1d: gradient") {
  test::check_gradients<Shape<2, 7, 3>, Shape<3, 3, 2>>(
      [](auto x, auto w) { return conv1d(x, w); });
  test::check_gradients<Shape<1, 8, 4>, Shape<2, 2, 4>>([](auto x, auto w) {
    return conv1d<ConvOptions<1>{
        .strides = {3}, .padding = Padding::valid, .dilations = {2}, .groups = 2}>(x, w);
  });
  check_orders<Shape<1, 5, 2>, Shape<3, 2, 1>>(
      [](auto x, auto w) { return conv1d<ConvOptions<1>{.strides = {2}}>(x, w); });
}

TEST_CASE("conv3d: gradient") {
  test::check_gradients<Shape<1, 2, 3, 3, 2>, Shape<2, 3, 2, 2, 2>>(
      [](auto x, auto w) { return conv3d(x, w); });
  test::check_gradients<Shape<1, 3, 4, 3, 2>, Shape<2, 2, 1, 1, 2>>([](auto x, auto w) {
    return conv3d<ConvOptions<3>{.strides = {1, 2, 2}, .dilations = {2, 1, 1}, .groups = 2}>(x, w);
  });
}

TEST_CASE("conv2d_transpose: gradient") {
  check_transpose<ConvOptions<2>{}, Shape<1, 3, 4, 2>, Shape<3, 3, 3, 2>>();
  check_transpose<ConvOptions<2>{.strides = {2, 3}}, Shape<2, 2, 2, 1>, Shape<3, 2, 2, 1>>();
  check_transpose<ConvOptions<2>{.strides = {2, 1}, .padding = Padding::valid}, Shape<1, 2, 3, 2>,
                  Shape<3, 2, 1, 2>>();
  check_orders<Shape<1, 2, 2, 2>, Shape<3, 2, 1, 2>>(
      [](auto y, auto w) { return conv2d_transpose<ConvOptions<2>{.strides = {2, 1}}>(y, w); });
}
