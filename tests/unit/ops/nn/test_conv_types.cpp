// SPDX-License-Identifier: Apache-2.0

// Convolutions of images of one and three axes, of each element type, of NaN and infinities;
// conv2d_transpose against a scatter loop.

#include <array>
#include <cstdint>
#include <limits>

#include "support/check_conv.hpp"

namespace {

namespace tf = typeflow;
using tf::ConvOptions;
using tf::Padding;

// One image axis.

struct Line {
  int width;
  int channels;
  int size;
  int filters;
  ConvOptions<1> options{};
};
constexpr Line lines[] = {
    {11, 3, 3, 10},
    {12, 17, 4, 24, {.strides = {2}}},
    {1, 5, 3, 1},
    {10, 16, 3, 70, {.strides = {3}, .padding = Padding::valid, .dilations = {2}}},
    {9, 6, 5, 4, {.padding = Padding::given, .pads = {{{4, 1}}}, .groups = 2}},
};

template <class T, std::size_t I>
constexpr void line(tf::Graph& g) {
  constexpr Line c = lines[I];
  constexpr int i = static_cast<int>(I);
  auto x = tf::placeholder<T, tf::batch, c.width, c.channels>(g, {"x", i});
  auto w = tf::placeholder<T, c.size, c.channels / c.options.groups, c.filters>(g, {"w", i});
  auto y = conv1d<c.options>(x, w).named({"y", i});
  auto dy = test::input<T, typename decltype(y)::shape>(g, {"dy", i});
  auto [dx, dw] = gradients(y, tf::grad_ys(dy), x, w);
  dx.named({"dx", i});
  dw.named({"dw", i});
}
template <class T>
constexpr void all_lines(tf::Graph& g) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (line<T, I>(g), ...);
  }(std::make_index_sequence<std::size(lines)>{});
}

// Three.

struct Volume {
  std::array<int, 3> image;
  int channels;
  std::array<int, 3> kernel;
  int filters;
  ConvOptions<3> options{};
};
constexpr Volume volumes[] = {
    {{4, 5, 6}, 3, {3, 3, 3}, 10},
    {{5, 4, 3}, 5, {2, 3, 1}, 24, {.strides = {2, 1, 2}}},
    {{1, 3, 7}, 4, {3, 2, 5}, 6, {.strides = {1, 2, 3}, .groups = 2}},
    {{5, 5, 5}, 1, {2, 3, 2}, 17, {.padding = Padding::valid, .dilations = {2, 1, 3}}},
    {{2, 3, 4}, 3, {3, 1, 2}, 1, {.padding = Padding::given, .pads = {{{1, 0}, {2, 1}, {0, 3}}}}},
};

template <class T, std::size_t I>
constexpr void volume(tf::Graph& g) {
  constexpr Volume c = volumes[I];
  constexpr int i = static_cast<int>(I);
  auto x =
      tf::placeholder<T, tf::batch, c.image[0], c.image[1], c.image[2], c.channels>(g, {"x", i});
  auto w = tf::placeholder<T, c.kernel[0], c.kernel[1], c.kernel[2], c.channels / c.options.groups,
                           c.filters>(g, {"w", i});
  auto y = conv3d<c.options>(x, w).named({"y", i});
  auto dy = test::input<T, typename decltype(y)::shape>(g, {"dy", i});
  auto [dx, dw] = gradients(y, tf::grad_ys(dy), x, w);
  dx.named({"dx", i});
  dw.named({"dw", i});
}
template <class T>
constexpr void all_volumes(tf::Graph& g) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (volume<T, I>(g), ...);
  }(std::make_index_sequence<std::size(volumes)>{});
}

/// Draws x, w and dy of case i, and computes what is expected of them.
template <class T, int Rank>
void add(tf::HostTensors& feeds, test::Outcome& expected, test::Random& random, std::size_t i,
         const tf::ConvOptions<Rank>& options, const tf::Dims& image, const tf::Dims& kernel) {
  const auto name = [i](const char* prefix) { return prefix + std::to_string(i); };
  const auto draw = [&](const tf::Dims& shape) {
    return test::whole_numbers(random, tf::dtype_of<T>, shape);
  };
  const tf::HostTensor x = feeds[name("x_")] = draw(image);
  const tf::HostTensor w = feeds[name("w_")] = draw(kernel);
  const tf::HostTensor y = expected[name("y_")] = test::convolve(options, x, w);
  const tf::HostTensor dy = feeds[name("dy_")] = draw(y.dims);
  expected[name("dx_")] = test::input_gradient(options, x.dims, w, dy);
  expected[name("dw_")] = test::filter_gradient(options, x, w.dims, dy);
}

template <class T>
void check_lines(std::int64_t batch) {
  INFO(tf::name_of(tf::dtype_of<T>), ", batch ", batch);
  test::Random random(static_cast<std::uint64_t>(batch) + 11);
  tf::HostTensors feeds;
  test::Outcome expected;
  for (std::size_t i = 0; i < std::size(lines); ++i) {
    const Line& c = lines[i];
    add<T>(feeds, expected, random, i, c.options, test::dims({batch, c.width, c.channels}),
           test::dims({c.size, c.channels / c.options.groups, c.filters}));
  }
  test::check_values<all_lines<T>>(feeds, expected);
}
template <class T>
void check_volumes(std::int64_t batch) {
  INFO(tf::name_of(tf::dtype_of<T>), ", batch ", batch);
  test::Random random(static_cast<std::uint64_t>(batch) + 17);
  tf::HostTensors feeds;
  test::Outcome expected;
  for (std::size_t i = 0; i < std::size(volumes); ++i) {
    const Volume& c = volumes[i];
    add<T>(feeds, expected, random, i, c.options,
           test::dims({batch, c.image[0], c.image[1], c.image[2], c.channels}),
           test::dims(
               {c.kernel[0], c.kernel[1], c.kernel[2], c.channels / c.options.groups, c.filters}));
  }
  test::check_values<all_volumes<T>>(feeds, expected);
}

// The transpose: y is an image (N,H',W',F), w a kernel (KH,KW,C,F), the result (N,H,W,C).

struct Transposed {
  int height;
  int width;
  int filters;
  std::array<int, 2> kernel;
  int channels;
  ConvOptions<2> options;
  std::array<int, 2> result;  ///< extents of the image
};
constexpr Transposed transposed[] = {
    {5, 4, 3, {3, 3}, 10, {}, {5, 4}},
    {4, 5, 17, {5, 5}, 3, {.strides = {2, 2}}, {8, 10}},
    {3, 2, 24, {2, 3}, 5, {.strides = {3, 1}}, {9, 2}},
    {3, 4, 5, {3, 2}, 1, {.strides = {2, 3}, .padding = Padding::valid}, {7, 11}},
    {1, 1, 16, {4, 4}, 33, {.padding = Padding::valid}, {4, 4}},
    {4, 3, 3, {3, 3}, 6, {.padding = Padding::valid, .dilations = {2, 1}}, {8, 5}},
    {4,
     4,
     6,
     {3, 3},
     10,
     {.strides = {2, 2}, .padding = Padding::given, .pads = {{{1, 0}, {0, 2}}}},
     {8, 7}},
};

template <class T, std::size_t I>
constexpr void transpose(tf::Graph& g) {
  constexpr Transposed c = transposed[I];
  constexpr int i = static_cast<int>(I);
  auto y = tf::placeholder<T, tf::batch, c.height, c.width, c.filters>(g, {"y", i});
  auto w = tf::placeholder<T, c.kernel[0], c.kernel[1], c.channels, c.filters>(g, {"w", i});
  auto x = conv2d_transpose<c.options>(y, w).named({"x", i});
  static_assert(std::is_same_v<typename decltype(x)::shape,
                               tf::Shape<tf::batch, c.result[0], c.result[1], c.channels>>);
  auto dx = test::input<T, typename decltype(x)::shape>(g, {"dx", i});
  auto [dy, dw] = gradients(x, tf::grad_ys(dx), y, w);
  dy.named({"dy", i});
  dw.named({"dw", i});
}
template <class T>
constexpr void all_transposed(tf::Graph& g) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (transpose<T, I>(g), ...);
  }(std::make_index_sequence<std::size(transposed)>{});
}
/// x is where the convolution's gradient goes if y is the gradient of its result: so dy is the
/// convolution of dx, and dw has the place of the filter's gradient.
template <class T>
void check_transposed(std::int64_t batch) {
  INFO(tf::name_of(tf::dtype_of<T>), ", batch ", batch);
  test::Random random(static_cast<std::uint64_t>(batch) + 23);
  tf::HostTensors feeds;
  test::Outcome expected;
  for (std::size_t i = 0; i < std::size(transposed); ++i) {
    const Transposed& c = transposed[i];
    const auto name = [i](const char* prefix) { return prefix + std::to_string(i); };
    const auto draw = [&](const tf::Dims& shape) {
      return test::whole_numbers(random, tf::dtype_of<T>, shape);
    };
    const tf::HostTensor y = feeds[name("y_")] =
        draw(test::dims({batch, c.height, c.width, c.filters}));
    const tf::HostTensor w = feeds[name("w_")] =
        draw(test::dims({c.kernel[0], c.kernel[1], c.channels, c.filters}));
    const tf::Dims image = test::dims({batch, c.result[0], c.result[1], c.channels});
    expected[name("x_")] = test::input_gradient(c.options, image, w, y);
    const tf::HostTensor dx = feeds[name("dx_")] = draw(image);
    expected[name("dy_")] = test::convolve(c.options, dx, w);
    expected[name("dw_")] = test::filter_gradient(c.options, dx, w.dims, y);
  }
  test::check_values<all_transposed<T>>(feeds, expected);
}

// Every element type.

inline constexpr ConvOptions<2> strided{.strides = {2, 1}};

template <class T>
constexpr void element_type(tf::Graph& g) {
  auto x = tf::placeholder<T, tf::batch, 5, 6, 17>(g, "x_0");
  auto w = tf::placeholder<T, 3, 3, 17, 10>(g, "w_0");
  auto y = conv2d<strided>(x, w).named("y_0");
  auto dy = test::input<T, typename decltype(y)::shape>(g, "dy_0");
  auto [dx, dw] = gradients(y, tf::grad_ys(dy), x, w);
  dx.named("dx_0");
  dw.named("dw_0");
}
template <class T>
void check_type() {
  INFO(tf::name_of(tf::dtype_of<T>));
  test::Random random(3);
  tf::HostTensors feeds;
  test::Outcome expected;
  add<T>(feeds, expected, random, 0, strided, test::dims({3, 5, 6, 17}),
         test::dims({3, 3, 17, 10}));
  test::check_values<element_type<T>>(feeds, expected);
}

constexpr void not_finite(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 9, 9, 3>(g, "x");
  auto w = tf::placeholder<float, 3, 3, 3, 17>(g, "w");
  conv2d(x, w).named("y");
}

}  // namespace

TEST_CASE("conv2d: values of each element type") {
  check_type<float>();
  check_type<double>();
  check_type<tf::float16>();
  check_type<tf::bfloat16>();
}

TEST_CASE("conv2d: NaN and infinities reach the windows that see them, and no others") {
  const double infinity = std::numeric_limits<double>::infinity();
  test::Random random(5);
  tf::HostTensor x = test::whole_numbers(random, tf::DType::float32, test::dims({2, 9, 9, 3}));
  const tf::HostTensor w =
      test::map(test::whole_numbers(random, tf::DType::float32, test::dims({3, 3, 3, 17})),
                [](double e) { return e == 0 ? 1 : e; });
  const auto pixel = [](int n, int row, int column) { return ((n * 9 + row) * 9 + column) * 3; };
  x.set(pixel(0, 0, 0), std::numeric_limits<double>::quiet_NaN());
  x.set(pixel(0, 5, 8) + 2, infinity);
  x.set(pixel(1, 8, 4) + 1, -infinity);
  test::check_values<not_finite>({{"x", x}, {"w", w}},
                                 {{"y", test::convolve(ConvOptions<2>{}, x, w)}});
}

TEST_CASE("conv1d: values") {
  for (const std::int64_t batch : {0, 1, 3, 5}) check_lines<float>(batch);
}
TEST_CASE("conv3d: values") {
  for (const std::int64_t batch : {0, 1, 3}) check_volumes<float>(batch);
}
TEST_CASE("conv2d_transpose: values") {
  for (const std::int64_t batch : {0, 1, 3, 5}) check_transposed<float>(batch);
}
