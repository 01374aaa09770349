// SPDX-License-Identifier: Apache-2.0

// Windows that move over images: TensorFlow's examples (python/kernel_tests/nn_ops/
// morphological_ops_test.py, the documentation of extract_patches), and its formulas as loops.

#include <algorithm>
#include <limits>
#include <vector>

#include <typeflow/images/morphology.hpp>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;

inline constexpr tf::Dilation2dOptions valid{.padding = tf::Padding::valid};
inline constexpr tf::Dilation2dOptions apart{.strides = {2, 1}, .dilations = {1, 2}};
inline constexpr tf::Patches2dOptions fives{.window = {3, 3}, .strides = {5, 5}};
inline constexpr tf::Patches2dOptions around{
    .window = {2, 3}, .strides = {2, 1}, .padding = tf::Padding::same, .dilations = {1, 2}};

constexpr void examples(tf::Graph& g) {
  auto x = tf::placeholder<double, 1, 2, 2, 1>(g, "x");
  auto filter = tf::placeholder<double, 2, 2, 1>(g, "filter");
  tf::dilation2d(x, filter).named("dilated");
  tf::dilation2d<valid>(x, filter).named("dilated_inside");
  tf::erosion2d(x, filter).named("eroded");
  tf::erosion2d<valid>(x, filter).named("eroded_inside");
  auto hundred = tf::placeholder<std::int32_t, 1, 10, 10, 1>(g, "hundred");
  tf::extract_image_patches<fives>(hundred).named("patches");
}
template <class T>
constexpr void many(tf::Graph& g) {
  auto x = tf::placeholder<T, tf::batch, 5, 6, 3>(g, "x");
  auto filter = tf::placeholder<T, 3, 2, 3>(g, "filter");
  tf::dilation2d<apart>(x, filter).named("dilated");
  tf::erosion2d<apart>(x, filter).named("eroded");
  tf::extract_image_patches<around>(x).named("patches");
}

/// A window whose padding is what `same` asks for, computed from its definition.
struct Geometry {
  std::int64_t size[2];
  std::int64_t stride[2];
  std::int64_t dilation[2];

  std::int64_t places(const tf::HostTensor& x, int i) const {
    return (x.dims[1 + i] + stride[i] - 1) / stride[i];
  }
  /// The row or column of x; outside of it for padding.
  std::int64_t at(const tf::HostTensor& x, int i, std::int64_t place, std::int64_t tap) const {
    const std::int64_t reach = (places(x, i) - 1) * stride[i] + (size[i] - 1) * dilation[i] + 1;
    const std::int64_t padding = std::max<std::int64_t>(0, reach - x.dims[1 + i]);
    return place * stride[i] + tap * dilation[i] - padding / 2;
  }
};

/// Calls f(place of the result, the window's row, its column, channel, element of x), for all of
/// them; the element is -1 for padding.
template <class F>
void each_tap(const tf::HostTensor& x, const Geometry& g, const F& f) {
  for (std::int64_t n = 0; n < x.dims[0]; ++n) {
    for (std::int64_t i = 0; i < g.places(x, 0); ++i) {
      for (std::int64_t j = 0; j < g.places(x, 1); ++j) {
        const std::int64_t place = (n * g.places(x, 0) + i) * g.places(x, 1) + j;
        for (std::int64_t u = 0; u < g.size[0]; ++u) {
          for (std::int64_t v = 0; v < g.size[1]; ++v) {
            const std::int64_t row = g.at(x, 0, i, u);
            const std::int64_t column = g.at(x, 1, j, v);
            const bool inside = row >= 0 && row < x.dims[1] && column >= 0 && column < x.dims[2];
            for (std::int64_t c = 0; c < x.dims[3]; ++c) {
              const std::int64_t from =
                  ((n * x.dims[1] + row) * x.dims[2] + column) * x.dims[3] + c;
              f(place, u, v, c, inside ? from : -1);
            }
          }
        }
      }
    }
  }
}

template <class T>
void check_many() {
  const tf::HostTensors feeds = test::random_feeds<many<T>>(2);
  const tf::HostTensor& x = feeds.at("x");
  const tf::HostTensor& filter = feeds.at("filter");
  const Geometry g{{3, 2}, {2, 1}, {1, 2}};
  constexpr double infinity = std::numeric_limits<double>::infinity();
  tf::HostTensor dilated = tf::host_tensor(x.dtype, tf::Dims{4, {2, 3, 6, 3}});
  for (tf::Number& y : dilated.elements) y.real = -infinity;
  tf::HostTensor eroded = dilated;
  for (tf::Number& y : eroded.elements) y.real = infinity;
  each_tap(
      x, g,
      [&](std::int64_t place, std::int64_t u, std::int64_t v, std::int64_t c, std::int64_t from) {
        if (from < 0) return;
        const std::int64_t y = place * 3 + c;
        const double there = filter.value((u * 2 + v) * 3 + c);
        const double turned = filter.value(((2 - u) * 2 + 1 - v) * 3 + c);
        dilated.set(y, std::max(dilated.value(y), x.value(from) + there));
        eroded.set(y, std::min(eroded.value(y), x.value(from) - turned));
      });
  const Geometry windows{{2, 3}, {2, 1}, {1, 2}};
  tf::HostTensor patches = tf::host_tensor(x.dtype, tf::Dims{4, {2, 3, 6, 18}});
  each_tap(
      x, windows,
      [&](std::int64_t place, std::int64_t u, std::int64_t v, std::int64_t c, std::int64_t from) {
        if (from >= 0) patches[place * 18 + (u * 3 + v) * 3 + c] = x[from];
      });
  test::check_values<many<T>>(feeds,
                              {{"dilated", dilated}, {"eroded", eroded}, {"patches", patches}});
}

tf::HostTensors example_feeds() {
  tf::HostTensors feeds = test::random_feeds<examples>(1);
  feeds.at("x") = test::doubles({1, 2, 2, 1}, {0.1, 0.2, 0.3, 0.4});
  feeds.at("filter") = test::doubles({2, 2, 1}, {0.4, 0.3, 0.1, 0});
  for (int i = 0; i < 100; ++i) feeds.at("hundred").set(i, i + 1);
  return feeds;
}

}  // namespace

TEST_CASE("dilation2d: values") {
  test::check_values<examples>(example_feeds(),
                               {{"dilated", test::doubles({1, 2, 2, 1}, {0.5, 0.6, 0.7, 0.8})},
                                {"dilated_inside", test::doubles({1, 1, 1, 1}, {0.5})}},
                               1e-15);
  check_many<float>();
}
TEST_CASE("erosion2d: values") {
  test::check_values<examples>(example_feeds(),
                               {{"eroded", test::doubles({1, 2, 2, 1}, {0, 0.1, 0.3, 0.4})},
                                {"eroded_inside", test::doubles({1, 1, 1, 1}, {0})}},
                               1e-15);
  check_many<float>();
}
TEST_CASE("extract_image_patches: values") {
  test::check_values<examples>(
      example_feeds(),
      {{"patches", test::ints({1, 2, 2, 9}, {1,  2,  3,  11, 12, 13, 21, 22, 23, 6,  7,  8,
                                             16, 17, 18, 26, 27, 28, 51, 52, 53, 61, 62, 63,
                                             71, 72, 73, 56, 57, 58, 66, 67, 68, 76, 77, 78})}});
  check_many<float>();
}

TEST_CASE("dilation2d: gradient") {
  test::check_gradients<tf::Shape<2, 4, 5, 2>, tf::Shape<2, 3, 2>>(
      [](auto x, auto filter) { return tf::dilation2d<apart>(x, filter); });
}
TEST_CASE("erosion2d: gradient") {
  test::check_gradients<tf::Shape<2, 4, 5, 2>, tf::Shape<2, 3, 2>>(
      [](auto x, auto filter) { return tf::erosion2d<valid>(x, filter); });
}
TEST_CASE("extract_image_patches: gradient") {
  test::check_gradients<tf::Shape<2, 4, 5, 2>>(
      [](auto x) { return tf::extract_image_patches<around>(x); });
}
