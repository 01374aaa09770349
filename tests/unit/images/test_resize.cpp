// SPDX-License-Identifier: Apache-2.0

// Resized images against TensorFlow's loops (core/kernels/image/resize_*_op.cc), written in two
// dimensions and in double.

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <typeflow/images.hpp>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;
using tf::Interpolation;
using tf::Sampling;

constexpr Interpolation methods[] = {Interpolation::nearest, Interpolation::bilinear,
                                     Interpolation::bicubic, Interpolation::area};
constexpr Sampling samplings[] = {Sampling::half_pixel, Sampling::legacy, Sampling::align_corners};

// The reference.

double scale_of(Sampling sampling, std::int64_t from, std::int64_t to) {
  return sampling == Sampling::align_corners && to > 1
             ? static_cast<double>(from - 1) / static_cast<double>(to - 1)
             : static_cast<double>(from) / static_cast<double>(to);
}
double place_of(Sampling sampling, std::int64_t j, double scale) {
  const auto at = static_cast<double>(j);
  return sampling == Sampling::half_pixel ? (at + 0.5) * scale - 0.5 : at * scale;
}
std::int64_t bound(std::int64_t i, std::int64_t limit) {
  return std::min(limit - 1, std::max<std::int64_t>(0, i));
}

struct Sample {
  std::int64_t index;
  double weight;
};
using Samples = std::vector<Sample>;

Samples nearest(Sampling sampling, std::int64_t j, std::int64_t from, double scale) {
  const auto at = static_cast<double>(j);
  // An epsilon of what is rounded to a fraction below a whole number in double.
  const double place = (sampling == Sampling::half_pixel ? at + 0.5 : at) * scale + 1e-9;
  const double whole = sampling == Sampling::align_corners ? std::round(place) : std::floor(place);
  return {{bound(static_cast<std::int64_t>(whole), from), 1}};
}
Samples bilinear(Sampling sampling, std::int64_t j, std::int64_t from, double scale) {
  const double in = place_of(sampling, j, scale);
  const double floor = std::floor(in);
  const auto lower = static_cast<std::int64_t>(floor);
  return {{std::max<std::int64_t>(lower, 0), 1 - (in - floor)},
          {std::min(lower + 1, from - 1), in - floor}};
}
Samples bicubic(Sampling sampling, std::int64_t j, std::int64_t from, double scale) {
  const bool keys = sampling == Sampling::half_pixel;
  const double a = keys ? -0.5 : -0.75;
  const auto cubic = [&](double x) {
    x = std::abs(x);
    if (x <= 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
    return x < 2 ? a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a : 0.0;
  };
  const double in = place_of(sampling, j, scale);
  const auto first = static_cast<std::int64_t>(std::floor(in)) - 1;
  Samples out;
  double sum = 0;
  for (std::int64_t i = first; i < first + 4; ++i) {
    const bool outside = i != bound(i, from);
    const double weight = keys && outside ? 0 : cubic(in - static_cast<double>(i));
    out.push_back({bound(i, from), weight});
    sum += weight;
  }
  for (Sample& s : out) s.weight /= keys ? sum : 1;
  return out;
}
Samples area(std::int64_t j, std::int64_t from, double scale) {
  if (scale == 0)
    return {{0, 1}};  // one element with its corners aligned, where TensorFlow has 0/0
  const double begin = static_cast<double>(j) * scale;
  const double end = static_cast<double>(j + 1) * scale;
  Samples out;
  for (auto i = static_cast<std::int64_t>(begin); static_cast<double>(i) < end - 1e-9; ++i) {
    const auto at = static_cast<double>(i);
    out.push_back({bound(i, from), (std::min(at + 1, end) - std::max(at, begin)) / scale});
  }
  return out;
}
Samples samples(tf::ResizeOptions options, std::int64_t j, std::int64_t from, std::int64_t to) {
  const double scale = scale_of(options.sampling, from, to);
  switch (options.method) {
    case Interpolation::nearest:
      return nearest(options.sampling, j, from, scale);
    case Interpolation::bilinear:
      return bilinear(options.sampling, j, from, scale);
    case Interpolation::bicubic:
      return bicubic(options.sampling, j, from, scale);
    default:
      return area(j, from, scale);
  }
}

tf::HostTensor resized(const tf::HostTensor& x, std::int64_t height, std::int64_t width,
                       tf::ResizeOptions options) {
  const int row = x.dims.rank - 3;
  tf::Dims dims = x.dims;
  dims.extent[row] = height;
  dims.extent[row + 1] = width;
  const std::int64_t from_h = x.dims[row];
  const std::int64_t from_w = x.dims[row + 1];
  const std::int64_t channels = x.dims[row + 2];
  tf::HostTensor y = tf::host_tensor(x.dtype, dims);
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const std::int64_t c = i % channels;
    const std::int64_t column = i / channels % width;
    const std::int64_t line = i / channels / width % height;
    const std::int64_t n = i / channels / width / height;
    double sum = 0;
    for (const Sample& v : samples(options, line, from_h, height)) {
      for (const Sample& h : samples(options, column, from_w, width)) {
        sum += v.weight * h.weight *
               x.value(((n * from_h + v.index) * from_w + h.index) * channels + c);
      }
    }
    y.set(i, sum);
  }
  return y;
}

// Every method with every sampling.

constexpr int variants = 12;
template <int I>
inline constexpr tf::ResizeOptions variant{methods[I / 3], samplings[I % 3]};

template <class T>
constexpr void sizes(tf::Graph& g) {
  auto x = tf::placeholder<T, tf::batch, 5, 7, 3>(g, "x");
  auto wide = tf::placeholder<T, 3, 4, 11>(g, "wide");
  auto weights = tf::placeholder<T, tf::batch, 8, 3, 3>(g, "weights");
  [&]<int... I>(std::integer_sequence<int, I...>) {
    const auto one = [&]<int K>(std::integral_constant<int, K>) {
      auto mixed = resize<8, 3, variant<K>>(x).named({"mixed", K});
      resize<2, 14, variant<K>>(x).named({"other", K});
      resize<1, 1, variant<K>>(wide).named({"one", K});
      resize<9, 4, variant<K>>(resize<1, 1, variant<K>>(wide)).named({"repeated", K});
      gradients(sum(mixed * weights), x).named({"dx", K});
    };
    (one(std::integral_constant<int, I>{}), ...);
  }(std::make_integer_sequence<int, variants>{});
}

template <class T>
void check_sizes(double tolerance) {
  const tf::HostTensors feeds =
      test::random_feeds(tf::ir::Lowering<sizes<T>, tf::training>::view, 2, 1);
  test::Outcome expected;
  for (int k = 0; k < variants; ++k) {
    const tf::ResizeOptions options{methods[k / 3], samplings[k % 3]};
    const std::string number = "_" + std::to_string(k);
    const tf::HostTensor& x = feeds.at("x");
    const tf::HostTensor one = resized(feeds.at("wide"), 1, 1, options);
    expected["mixed" + number] = resized(x, 8, 3, options);
    expected["other" + number] = resized(x, 2, 14, options);
    expected["one" + number] = one;
    expected["repeated" + number] = resized(one, 9, 4, options);
    // The transposed matrix, an element of x at a time.
    tf::HostTensor dx = tf::host_tensor(x.dtype, x.dims);
    tf::HostTensor unit = tf::host_tensor(tf::DType::float64, x.dims);
    for (std::int64_t i = 0; i < x.size(); ++i) {
      unit.set(i, 1);
      const tf::HostTensor column = resized(unit, 8, 3, options);
      unit.set(i, 0);
      double sum = 0;
      for (std::int64_t j = 0; j < column.size(); ++j) {
        sum += column.value(j) * feeds.at("weights").value(j);
      }
      dx.set(i, sum);
    }
    expected["dx" + number] = dx;
  }
  test::check_values<sizes<T>>(feeds, expected, tolerance);
}

constexpr void bytes(tf::Graph& g) {
  auto x = tf::placeholder<std::uint8_t, 2, 3, 1>(g, "x");
  tf::resize<4, 6, tf::ResizeOptions{Interpolation::nearest}>(x).named("twice");
  tf::resize<2, 2, tf::ResizeOptions{Interpolation::nearest, Sampling::align_corners}>(x).named(
      "corners");
  auto half = cast<tf::bfloat16>(x);
  tf::resize<4, 3>(half).named("half");
}

/// Rows of channels of several lengths in bytes, and of one byte.
constexpr tf::ResizeOptions nearest_one{Interpolation::nearest};
template <tf::Extent... Channels>
constexpr void channels(tf::Graph& g) {
  const auto one = [&]<tf::Extent C>(std::integral_constant<tf::Extent, C>) {
    auto x = tf::placeholder<std::uint8_t, 2, 3, 2, C>(g, {"x", static_cast<int>(C)});
    resize<4, 5, nearest_one>(x).named({"y", static_cast<int>(C)});
  };
  (one(std::integral_constant<tf::Extent, Channels>{}), ...);
}
template <tf::Extent... Channels>
void check_channels() {
  const tf::HostTensors feeds = test::random_feeds<channels<Channels...>>();
  test::Outcome expected;
  for (const tf::Extent c : {Channels...}) {
    const std::string number = "_" + std::to_string(c);
    expected["y" + number] = resized(feeds.at("x" + number), 4, 5, nearest_one);
  }
  test::check_values<channels<Channels...>>(feeds, expected);
}

/// Multiples of both sides, which are broadcasts; of one; with other operations around them.
constexpr tf::ResizeOptions legacy_one{Interpolation::nearest, Sampling::legacy};
template <class T, tf::Extent C>
constexpr void multiples(tf::Graph& g) {
  auto x = tf::placeholder<T, tf::batch, 5, 4, C>(g, "x");
  resize<10, 8, nearest_one>(x).named("twice");
  resize<15, 8, legacy_one>(x).named("rows_first");
  resize<5, 12, nearest_one>(x).named("columns");
  resize<10, 9, nearest_one>(x).named("rows");
  resize<10, 12, nearest_one>(x).named("columns_first");
  (resize<10, 8, nearest_one>(x + x) + resize<10, 8, nearest_one>(x)).named("around");
  resize<20, 16, nearest_one>(resize<10, 8, nearest_one>(x)).named("again");
}
template <class T, tf::Extent C>
void check_multiples() {
  for (const std::int64_t batch : {1, 3}) {
    const tf::HostTensors feeds =
        test::random_feeds(tf::ir::Lowering<multiples<T, C>, tf::training>::view, batch, 1);
    const tf::HostTensor& x = feeds.at("x");
    const tf::HostTensor twice = resized(x, 10, 8, nearest_one);
    tf::HostTensor around = twice;
    for (std::int64_t i = 0; i < around.size(); ++i) around.set(i, 3 * twice.value(i));
    test::check_values<multiples<T, C>>(feeds,
                                        {{"twice", twice},
                                         {"rows_first", resized(x, 15, 8, legacy_one)},
                                         {"columns", resized(x, 5, 12, nearest_one)},
                                         {"rows", resized(x, 10, 9, nearest_one)},
                                         {"columns_first", resized(x, 10, 12, nearest_one)},
                                         {"around", around},
                                         {"again", resized(x, 20, 16, nearest_one)}},
                                        1e-6);
  }
}

/// One image for the whole batch.
constexpr void one_for_all(tf::Graph& g) {
  auto x = tf::placeholder<float, 1, 1, 1, 40>(g, "x");
  auto images = tf::reshape<3, 5, 4, 2>(tf::broadcast_to<3, 1, 1, 40>(x));
  resize<10, 4, nearest_one>(images).named("rows");
  resize<10, 8, nearest_one>(images).named("both");
}

constexpr void any_size(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::symbol<"height">, tf::symbol<"width">, 3>(g, "x");
  tf::resize<2, 2>(x).named("small");
}

}  // namespace

TEST_CASE("resize: values") {
  SUBCASE("float") { check_sizes<float>(2e-6); }
  SUBCASE("double") { check_sizes<double>(1e-14); }
  SUBCASE("bytes and 16 bits") {
    tf::HostTensor x = tf::host_tensor(tf::DType::uint8, tf::Dims{3, {2, 3, 1}});
    for (int i = 0; i < 6; ++i) x.set(i, 40 * i);
    const auto of = [](tf::DType type, tf::Dims dims, const std::vector<double>& values) {
      tf::HostTensor y = tf::host_tensor(type, dims);
      for (std::int64_t i = 0; i < y.size(); ++i) y.set(i, values[static_cast<std::size_t>(i)]);
      return y;
    };
    test::check_values<bytes>(
        {{"x", x}}, {{"twice", of(tf::DType::uint8, {3, {4, 6, 1}},
                                  {0,   0,   40,  40,  80,  80,  0,   0,   40,  40,  80,  80,
                                   120, 120, 160, 160, 200, 200, 120, 120, 160, 160, 200, 200})},
                     {"corners", of(tf::DType::uint8, {3, {2, 2, 1}}, {0, 80, 120, 200})},
                     // Rows at -1/4, 1/4, 3/4 and 5/4.
                     {"half", of(tf::DType::bfloat16, {3, {4, 3, 1}},
                                 {0, 40, 80, 30, 70, 110, 90, 130, 170, 120, 160, 200})}});
  }
  SUBCASE("sides that a run tells") {
    tf::Variables variables;
    tf::Session<any_size> session(variables);
    std::vector<float> x(4 * 6 * 3);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i / 3);
    const auto y = session.run<"small">(tf::feed<"x">(x.data(), {4, 6, 3}));
    // Half-pixel centres: between rows 0 and 1, 2 and 3, on columns 1 and 4.
    CHECK(y(0, 0, 0) == 4);
    CHECK(y(0, 1, 2) == 7);
    CHECK(y(1, 0, 1) == 16);
    CHECK(y(1, 1, 0) == 19);
  }
}

TEST_CASE("resize: nearest pixels of any number of channels") {
  check_channels<1, 3, 4, 5, 15, 16, 17, 63, 64, 100, 129, 512, 513>();
}

TEST_CASE("resize: nearest pixels of multiples of the sides are repeated") {
  check_multiples<float, 1>();
  check_multiples<float, 3>();
  check_multiples<float, 16>();
  check_multiples<double, 5>();
  check_multiples<std::int32_t, 33>();
}

TEST_CASE("resize: images that are one image are not taken for rows that repeat") {
  const tf::HostTensors feeds =
      test::random_feeds(tf::ir::Lowering<one_for_all, tf::training>::view, 1, 1);
  const tf::HostTensor& x = feeds.at("x");
  tf::HostTensor images = tf::host_tensor(tf::DType::float32, {4, {3, 5, 4, 2}});
  for (std::int64_t i = 0; i < images.size(); ++i) images[i] = x[i % 40];
  test::check_values<one_for_all>(feeds,
                                  {{"rows", resized(images, 10, 4, nearest_one)},
                                   {"both", resized(images, 10, 8, nearest_one)}},
                                  1e-6);
}

TEST_CASE("resize: gradient") {
  [&]<int... I>(std::integer_sequence<int, I...>) {
    (test::check_gradients<tf::Shape<2, 4, 3, 2>>(
         [](auto x) { return resize<7, 2, variant<I>>(x); }),
     ...);
  }(std::make_integer_sequence<int, variants>{});
  // Of the gradient.
  test::check_gradients<tf::Shape<4, 3, 1>>([](auto x) {
    return tf::gradients(sum(square(resize<7, 2, tf::ResizeOptions{Interpolation::bicubic}>(x))),
                         x);
  });
}
