// SPDX-License-Identifier: Apache-2.0

// Colours: the examples of TensorFlow's documentation, and pixels converted one by one.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <typeflow/images.hpp>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"
#include "unit/images/pixel.hpp"

namespace {

namespace tf = typeflow;
using test::hsv;
using test::Pixel;
using test::rgb;

template <class F>
tf::HostTensor map_pixels(const tf::HostTensor& x, const F& f) {
  tf::HostTensor y = x;
  for (std::int64_t i = 0; i < x.size(); i += 3) {
    const Pixel pixel = f(Pixel{x.value(i), x.value(i + 1), x.value(i + 2)});
    for (int c = 0; c < 3; ++c) y.set(i + c, pixel[static_cast<std::size_t>(c)]);
  }
  return y;
}
Pixel saturated(const Pixel& x, double factor) {
  const auto [h, s, v] = hsv(x);
  return rgb({h, std::clamp(s * factor, 0., 1.), v});
}
Pixel turned(const Pixel& x, double delta) {
  const auto [h, s, v] = hsv(x);
  return rgb({h + delta, s, v});
}
double grey(const Pixel& x) { return 0.2989 * x[0] + 0.5870 * x[1] + 0.1140 * x[2]; }

template <class T>
constexpr void colors(tf::Graph& g) {
  auto x = tf::placeholder<T, tf::batch, 5, 7, 3>(g, "x");
  rgb_to_hsv(x).named("hsv");
  hsv_to_rgb(x).named("rgb");
  auto lit = rgb_to_grayscale(x).named("grey");
  grayscale_to_rgb(lit).named("back");
  adjust_saturation(x, 1.5).named("saturated");
  adjust_hue(x, -0.3).named("turned");
  auto factor = tf::placeholder<float>(g, "factor");
  adjust_hue(x, factor).named("fed");
}
template <class T>
void check_colors(double tolerance) {
  tf::HostTensors feeds = test::random_feeds<colors<T>>(3, 1, 0, 1);
  tf::HostTensor& x = feeds.at("x");
  const double special[] = {0, 0, 0, 1, 1, 1, 0.25, 0.25, 0.25, 1, 0, 0,
                            0, 1, 0, 0, 0, 1, 1,    0,    0.5,  0, 1, 1};
  for (int i = 0; i < 24; ++i) x.set(i, special[i]);
  tf::HostTensor lit = tf::host_tensor(x.dtype, tf::Dims{4, {3, 5, 7, 1}});
  tf::HostTensor back = x;
  for (std::int64_t i = 0; i < lit.size(); ++i) {
    lit.set(i, grey({x.value(3 * i), x.value(3 * i + 1), x.value(3 * i + 2)}));
    for (int c = 0; c < 3; ++c) back[3 * i + c] = lit[i];
  }
  const double factor = feeds.at("factor").value(0);
  test::check_values<colors<T>>(
      feeds,
      {{"hsv", map_pixels(x, hsv)},
       {"rgb", map_pixels(x, rgb)},
       {"grey", lit},
       {"back", back},
       {"saturated", map_pixels(x, [](const Pixel& p) { return saturated(p, 1.5); })},
       {"turned", map_pixels(x, [](const Pixel& p) { return turned(p, -0.3); })},
       {"fed", map_pixels(x, [&](const Pixel& p) { return turned(p, factor); })}},
      tolerance);
}

/// The images 1 2 3, 4 5 6 / 7 8 9, 10 11 12 of TensorFlow's examples.
constexpr void examples(tf::Graph& g) {
  auto x = tf::placeholder<double, 2, 2, 3>(g, "x");
  adjust_brightness(x, 0.1).named("brightness");
  adjust_contrast(x, 2).named("contrast");
  adjust_saturation(x, 0.5).named("saturation");
  adjust_hue(x, 0.2).named("hue");
  adjust_gamma(x, 0.2).named("gamma");
  adjust_gamma(x, 2, 3).named("gain");
  per_image_standardization(x).named("standardized");
  per_image_standardization(0 * x + 5).named("flat");
  rgb_to_grayscale(x).named("grey");
}
void check_example(const char* name, const std::vector<double>& values, double tolerance) {
  const tf::HostTensors feeds = {
      {"x", test::doubles({2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})}};
  const auto channels = static_cast<tf::Extent>(values.size() / 4);
  test::check_values<examples>(feeds, {{name, test::doubles({2, 2, channels}, values)}}, tolerance);
}

/// Bytes are scaled to [0, 1] and back.
constexpr void bytes(tf::Graph& g) {
  auto x = tf::placeholder<std::uint8_t, 2, 3, 3>(g, "x");
  adjust_brightness(x, 0.1).named("brightness");
  adjust_gamma(x, 2).named("gamma");
  per_image_standardization(x).named("standardized");
  rgb_to_grayscale(x).named("grey");
  tf::convert_image_dtype<float>(x).named("float");
  tf::convert_image_dtype<tf::bfloat16>(x).named("bfloat16");
  tf::convert_image_dtype<std::uint16_t>(x).named("uint16");
  tf::convert_image_dtype<std::int8_t>(x).named("int8");
  auto f = tf::placeholder<float, 8>(g, "f");
  tf::convert_image_dtype<std::uint8_t>(f).named("from_float");
  tf::convert_image_dtype<std::int16_t>(f).named("to_short");
  tf::convert_image_dtype<double>(f).named("double");
  auto s = tf::placeholder<std::int16_t, 6>(g, "s");
  tf::convert_image_dtype<std::uint8_t>(s).named("from_short");
  tf::convert_image_dtype<std::int8_t>(s).named("from_short_signed");
  tf::convert_image_dtype<double>(s).named("from_short_double");
}
constexpr double byte_values[] = {0,   1,   2,   3,   50,  77,  100, 127, 128,
                                  129, 200, 210, 220, 230, 240, 250, 254, 255};
tf::HostTensors byte_feeds() {
  tf::HostTensors feeds = test::random_feeds<bytes>(1);
  for (int i = 0; i < 18; ++i) feeds.at("x").set(i, byte_values[i]);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  feeds.at("f") = test::floats({8}, {-0.5, 0, 0.5, 0.999, 1, 2, nan, 1e30});
  feeds.at("s") = test::tensor(tf::DType::int16, {6}, {-32768, -1, 0, 127, 128, 32767});
  return feeds;
}
template <class F>
tf::HostTensor map_bytes(tf::DType type, const F& f) {
  return test::map(byte_feeds().at("x"), f, type);
}

using Image = tf::Shape<2, 3, 2, 3>;
constexpr test::Range unit{0.1, 0.9};

}  // namespace

TEST_CASE("rgb_to_hsv: values") {
  SUBCASE("float") { check_colors<float>(2e-6); }
  SUBCASE("double") { check_colors<double>(1e-14); }
}
TEST_CASE("hsv_to_rgb: values") {
  // There and back, of all bytes in steps of 17.
  for (int i = 0; i < 16 * 16 * 16; ++i) {
    const Pixel x = {i % 16 / 15., i / 16 % 16 / 15., i / 256 / 15.};
    const Pixel y = rgb(hsv(x));
    for (std::size_t c = 0; c < 3; ++c) REQUIRE(y[c] == doctest::Approx(x[c]));
  }
  check_colors<float>(2e-6);
}
TEST_CASE("rgb_to_grayscale: values") {
  check_colors<float>(2e-6);
  check_example("grey", {1.8149, 4.8146, 7.8143, 10.814}, 1e-14);
  // 127.2646 and so on of 255.5, cut off.
  std::vector<double> lit;
  for (int i = 0; i < 18; i += 3) {
    const double y = grey({byte_values[i], byte_values[i + 1], byte_values[i + 2]});
    lit.push_back(std::floor(y / 255 * 255.5));
  }
  test::check_values<bytes>(byte_feeds(),
                            {{"grey", test::tensor(tf::DType::uint8, {2, 3, 1}, lit)}});
}
TEST_CASE("grayscale_to_rgb: values") { check_colors<double>(1e-14); }

TEST_CASE("adjust_brightness: values") {
  check_example("brightness", {1.1, 2.1, 3.1, 4.1, 5.1, 6.1, 7.1, 8.1, 9.1, 10.1, 11.1, 12.1},
                1e-14);
  test::check_values<bytes>(byte_feeds(), {{"brightness", map_bytes(tf::DType::uint8, [](double x) {
                                              return std::min(255., (x / 255 + 0.1) * 255.5);
                                            })}});
}
TEST_CASE("adjust_contrast: values") {
  check_example("contrast", {-3.5, -2.5, -1.5, 2.5, 3.5, 4.5, 8.5, 9.5, 10.5, 14.5, 15.5, 16.5},
                1e-14);
}
TEST_CASE("adjust_saturation: values") {
  check_example("saturation", {2, 2.5, 3, 5, 5.5, 6, 8, 8.5, 9, 11, 11.5, 12}, 1e-14);
  check_colors<float>(2e-6);
}
TEST_CASE("adjust_hue: values") {
  check_example("hue", {2.4, 1, 3, 5.4, 4, 6, 8.4, 7, 9, 11.4, 10, 12}, 1e-14);
  check_colors<float>(2e-6);
}
TEST_CASE("adjust_gamma: values") {
  check_example("gamma",
                {1, 1.1486983, 1.2457309, 1.319508, 1.3797297, 1.4309691, 1.4757731, 1.5157166,
                 1.5518456, 1.5848932, 1.6153942, 1.6437519},
                1e-7);
  check_example("gain", {3, 12, 27, 48, 75, 108, 147, 192, 243, 300, 363, 432}, 1e-14);
  test::check_values<bytes>(byte_feeds(), {{"gamma", map_bytes(tf::DType::uint8, [](double x) {
                                              return std::min(255., x * x / 65025 * 255.5);
                                            })}});
}
TEST_CASE("per_image_standardization: values") {
  std::vector<double> values;
  for (int i = 1; i <= 12; ++i) values.push_back((i - 6.5) / std::sqrt(143. / 12));
  check_example("standardized", values, 1e-14);
  check_example("flat", std::vector<double>(12, 0), 0);
  double mean = 0;
  double variance = 0;
  for (const double x : byte_values) mean += x / 18;
  for (const double x : byte_values) variance += (x - mean) * (x - mean) / 18;
  test::check_values<bytes>(
      byte_feeds(),
      {{"standardized",
        map_bytes(tf::DType::float32, [&](double x) { return (x - mean) / std::sqrt(variance); })}},
      2e-6);
}
TEST_CASE("convert_image_dtype: values") {
  const auto of = [](double factor) { return [=](double x) { return std::floor(x * factor); }; };
  const auto share = [](double x) { return x / 255; };
  test::check_values<bytes>(
      byte_feeds(),
      {{"float", map_bytes(tf::DType::float32, share)},
       {"bfloat16", map_bytes(tf::DType::bfloat16, share)},
       {"uint16", map_bytes(tf::DType::uint16, of(256))},
       {"int8", map_bytes(tf::DType::int8, of(0.5))},
       {"from_float", test::tensor(tf::DType::uint8, {8}, {0, 0, 127, 255, 255, 255, 0, 255})},
       {"to_short",
        test::tensor(tf::DType::int16, {8}, {-16383, 0, 16383, 32734, 32767, 32767, 0, 32767})},
       {"double", test::map(
                      byte_feeds().at("f"), [](double x) { return x; }, tf::DType::float64)},
       {"from_short", test::tensor(tf::DType::uint8, {6}, {0, 0, 0, 0, 1, 255})},
       {"from_short_signed", test::tensor(tf::DType::int8, {6}, {-128, -1, 0, 0, 0, 127})},
       {"from_short_double",
        test::doubles({6}, {-32768. / 32767, -1. / 32767, 0, 127. / 32767, 128. / 32767, 1})}});
}

TEST_CASE("rgb_to_hsv: gradient") {
  test::check_gradients<Image>([](auto x) { return rgb_to_hsv(x); }, unit, 1e-6);
}
TEST_CASE("hsv_to_rgb: gradient") {
  test::check_gradients<Image>([](auto x) { return hsv_to_rgb(x); }, unit, 1e-6);
}
TEST_CASE("rgb_to_grayscale: gradient") {
  test::check_gradients<Image>([](auto x) { return rgb_to_grayscale(x); });
}
TEST_CASE("grayscale_to_rgb: gradient") {
  test::check_gradients<tf::Shape<2, 3, 1>>([](auto x) { return grayscale_to_rgb(x); });
}
TEST_CASE("convert_image_dtype: gradient") {
  test::check_gradients<tf::Shape<2, 3>>([](auto x) {
    return tf::convert_image_dtype<double>(tf::convert_image_dtype<double>(x) * 2);
  });
}
TEST_CASE("adjust_brightness: gradient") {
  test::check_gradients<Image, tf::Shape<>>([](auto x, auto a) { return adjust_brightness(x, a); });
}
TEST_CASE("adjust_contrast: gradient") {
  test::check_gradients<Image, tf::Shape<>>([](auto x, auto a) { return adjust_contrast(x, a); });
}
TEST_CASE("adjust_saturation: gradient") {
  test::check_gradients<Image, tf::Shape<>>([](auto x, auto a) { return adjust_saturation(x, a); },
                                            unit, 1e-6);
}
TEST_CASE("adjust_hue: gradient") {
  test::check_gradients<Image, tf::Shape<>>([](auto x, auto a) { return adjust_hue(x, a); }, unit,
                                            1e-6);
}
TEST_CASE("adjust_gamma: gradient") {
  test::check_gradients<Image, tf::Shape<>, tf::Shape<>>(
      [](auto x, auto gamma, auto gain) { return adjust_gamma(x, gamma, gain); }, unit, 1e-6);
}
TEST_CASE("per_image_standardization: gradient") {
  test::check_gradients<Image>([](auto x) { return per_image_standardization(x); });
}
