// SPDX-License-Identifier: Apache-2.0

// depthwise_conv2d and its gradients against loops over places, taps and channels that are written
// here.

#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;
using tf::Padding;

/// The padding in front of an axis, and the number of places.
struct Places {
  std::int64_t before;
  std::int64_t count;
};
Places places(std::int64_t extent, std::int64_t size, const tf::ConvOptions<2>& o,
              std::size_t axis) {
  const std::int64_t span = (size - 1) * o.dilations[axis] + 1;
  const int stride = o.strides[axis];
  if (o.padding == Padding::same) {
    const std::int64_t count = (extent + stride - 1) / stride;
    const std::int64_t missing = (count - 1) * stride + span - extent;
    return {missing > 0 ? missing / 2 : 0, count};
  }
  Places p{o.pads[axis][0], 0};
  while (p.count * stride + span <= extent + o.pads[axis][0] + o.pads[axis][1]) ++p.count;
  return p;
}

/// Calls f(where in x, in w, in y) for every product of the convolution.
template <class F>
void each_product(const tf::Dims& x, const tf::Dims& w, const tf::ConvOptions<2>& o, const F& f) {
  const Places rows = places(x.extent[1], w.extent[0], o, 0);
  const Places columns = places(x.extent[2], w.extent[1], o, 1);
  const std::int64_t many = w.extent[3];
  const tf::Dims y = test::dims({x.extent[0], rows.count, columns.count, x.extent[3] * many});
  for (std::int64_t at = 0; at < tf::count_of(y).coefficient; ++at) {
    const std::vector<std::int64_t> p = test::coordinates(at, y);
    for (std::int64_t a = 0; a < w.extent[0]; ++a) {
      for (std::int64_t b = 0; b < w.extent[1]; ++b) {
        const std::int64_t h = p[1] * o.strides[0] - rows.before + a * o.dilations[0];
        const std::int64_t v = p[2] * o.strides[1] - columns.before + b * o.dilations[1];
        if (h < 0 || h >= x.extent[1] || v < 0 || v >= x.extent[2]) continue;
        const std::int64_t c = p[3] / many;
        f(test::position({p[0], h, v, c}, x), test::position({a, b, c, p[3] % many}, w), at);
      }
    }
  }
}

/// A tensor of sums, which are added up in double.
struct Sums {
  tf::HostTensor result;
  std::vector<double> sums = std::vector<double>(result.elements.size());

  double& operator[](std::int64_t i) { return sums[static_cast<std::size_t>(i)]; }
  tf::HostTensor tensor() {
    for (std::int64_t i = 0; i < result.size(); ++i) result.set(i, (*this)[i]);
    return result;
  }
};

inline constexpr tf::ConvOptions<2> settings[] = {
    {},
    {.strides = {2, 2}},
    {.padding = Padding::valid},
    {.strides = {1, 3}, .padding = Padding::valid},
    {.padding = Padding::same, .dilations = {2, 1}},
    {.strides = {3, 2}, .dilations = {1, 2}},
    {.strides = {2, 2}, .padding = Padding::given, .pads = {{{2, 1}, {0, 3}}}, .dilations = {2, 2}},
};

/// The convolutions of x, (N,H,W,C), with w, (KH,KW,C,M); their gradients with random dy.
template <class T, class X, class W>
constexpr void model(tf::Graph& g) {
  auto x = test::input<T, X>(g, "x");
  auto w = test::input<T, W>(g, "w");
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto each = [&]<std::size_t i>(std::integral_constant<std::size_t, i>) {
      constexpr int number = static_cast<int>(i);
      auto y = depthwise_conv2d<settings[i]>(x, w).named({"y", number});
      auto dy = test::input<T, typename decltype(y)::shape>(g, {"dy", number});
      auto [dx, dw] = gradients(y, tf::grad_ys(dy), x, w);
      dx.named({"dx", number});
      dw.named({"dw", number});
    };
    (each(std::integral_constant<std::size_t, I>{}), ...);
  }(std::make_index_sequence<std::size(settings)>{});
}

/// With infinities and a NaN in w and dy, unless all shall be finite. Where these meet padding, the
/// product is left out.
template <class T, class X, class W>
void check(std::int64_t batch, double tolerance, bool finite = true) {
  constexpr auto traced = &model<T, X, W>;
  INFO("batch ", batch, ", channels ", X::dims.extent[3], " x ", W::dims.extent[3]);
  tf::HostTensors feeds = test::random_feeds<traced>(batch, 11);
  test::Random random(static_cast<std::uint64_t>(batch) + 7);
  for (auto& [name, feed] : feeds) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (finite || name == "x" || feed.size() == 0) continue;
    for (const double e : {infinity, -infinity, std::numeric_limits<double>::quiet_NaN()}) {
      feed.set(random.below(static_cast<int>(feed.size())), e);
    }
  }
  const tf::HostTensor& x = feeds.at("x");
  const tf::HostTensor& w = feeds.at("w");
  test::Outcome expected;
  for (std::size_t i = 0; i < std::size(settings); ++i) {
    const std::string number = "_" + std::to_string(i);
    const tf::HostTensor& dy = feeds.at("dy" + number);
    Sums y{dy};
    Sums dx{x};
    Sums dw{w};
    each_product(x.dims, w.dims, settings[i],
                 [&](std::int64_t in, std::int64_t k, std::int64_t out) {
                   y[out] += x.value(in) * w.value(k);
                   dx[in] += dy.value(out) * w.value(k);
                   dw[k] += dy.value(out) * x.value(in);
                 });
    expected["y" + number] = y.tensor();
    expected["dx" + number] = dx.tensor();
    expected["dw" + number] = dw.tensor();
  }
  test::check_values<traced>(feeds, expected, tolerance);
  test::check_threads<traced>(batch);
}

inline constexpr tf::ConvOptions<2> strided{.strides = {2, 1}};

template <tf::ConvOptions<2> O>
constexpr auto convolve = [](auto x, auto w) { return depthwise_conv2d<O>(x, w); };

}  // namespace

TEST_CASE("depthwise_conv2d: values") {
  using tf::Shape;
  for (const std::int64_t batch : {0, 1, 3}) {
    check<float, Shape<tf::batch, 9, 8, 5>, Shape<3, 3, 5, 1>>(batch, 2e-6);
  }
  check<float, Shape<2, 6, 21, 40>, Shape<2, 3, 40, 1>>(1, 2e-6);
  check<float, Shape<tf::batch, 5, 6, 7>, Shape<3, 2, 7, 3>>(2, 2e-6);
  // Several registers of channels side by side, one more, and a part; five taps of a row.
  check<float, Shape<tf::batch, 5, 16, 85>, Shape<3, 5, 85, 1>>(2, 2e-6);
  check<float, Shape<1, 4, 5, 512>, Shape<3, 3, 512, 1>>(1, 2e-6);  // places 2048 bytes apart
  check<double, Shape<2, 5, 7, 19>, Shape<1, 3, 19, 2>>(1, 1e-14);
  check<float, Shape<3, 1, 1, 1>, Shape<1, 1, 1, 1>>(1, 2e-6);
  check<float, Shape<2, 5, 5, 0>, Shape<3, 2, 0, 1>>(1, 0);
  check<tf::bfloat16, Shape<tf::batch, 5, 5, 9>, Shape<3, 3, 9, 1>>(2, 8e-3);
  check<tf::float16, Shape<tf::batch, 5, 5, 9>, Shape<3, 3, 9, 2>>(2, 1e-3);
}

TEST_CASE("depthwise_conv2d leaves padding out, whatever it meets: infinities and NaN") {
  using tf::Shape;
  for (const std::int64_t batch : {1, 3}) {
    check<float, Shape<tf::batch, 9, 8, 5>, Shape<3, 3, 5, 1>>(batch, 2e-6, false);
  }
  check<float, Shape<2, 6, 21, 40>, Shape<2, 3, 40, 1>>(1, 2e-6, false);
  check<double, Shape<2, 5, 7, 19>, Shape<1, 3, 19, 2>>(1, 1e-14, false);
  check<tf::bfloat16, Shape<tf::batch, 5, 5, 9>, Shape<3, 3, 9, 1>>(2, 8e-3, false);
}

TEST_CASE("depthwise_conv2d: gradient") {
  using tf::Shape;
  test::check_gradients<Shape<2, 4, 5, 2>, Shape<3, 2, 2, 1>>(convolve<tf::ConvOptions<2>{}>);
  test::check_gradients<Shape<1, 5, 4, 2>, Shape<2, 2, 2, 3>>(
      convolve<tf::ConvOptions<2>{
          .strides = {2, 1}, .padding = Padding::valid, .dilations = {1, 2}}>);
  // Second order: the gradients of both gradients for x and w.
  test::check_gradients<Shape<1, 4, 3, 2>, Shape<2, 2, 2, 1>>(
      [](auto x, auto w) {
        auto y = depthwise_conv2d<strided>(x, w);
        return gradients(sum(square(y) * y), x);
      },
      {-1, 1}, 1e-6);
  test::check_gradients<Shape<1, 4, 3, 2>, Shape<2, 2, 2, 1>>(
      [](auto x, auto w) {
        auto y = depthwise_conv2d<strided>(x, w);
        return gradients(sum(square(y) * y), w);
      },
      {-1, 1}, 1e-6);
}
