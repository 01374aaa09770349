// SPDX-License-Identifier: Apache-2.0

// Random changes of colours: their amounts are found again in the results.

#include <array>
#include <cmath>
#include <string>

#include <typeflow/images.hpp>

#include "support/check_kernels.hpp"
#include "support/message_of.hpp"
#include "unit/images/pixel.hpp"

namespace {

namespace tf = typeflow;
using test::hsv;
using test::Pixel;

constexpr std::int64_t count = 300;

constexpr void at_random(tf::Graph& g) {
  auto x = tf::placeholder<double, tf::batch, 2, 2, 3>(g, "x");
  auto w = tf::placeholder<double, tf::batch, 2, 2, 3>(g, "w");
  const auto with_gradient = [&](auto y, tf::Label loss_name, tf::Label product) {
    auto loss = sum(y * w).named(loss_name);
    sum(x * gradients(loss, x)).named(product);
  };
  auto brightness = random_brightness(x, 0.25).named("brightness");
  gradients(sum(brightness * w), x).named("dx");
  auto contrast = random_contrast(x, 0.5, 1.5).named("contrast");
  with_gradient(contrast, "loss_c", "product_c");
  auto saturation = random_saturation(x, 0.5, 0.75, "saturation");
  with_gradient(saturation, "loss_s", "product_s");
  auto hue = random_hue(x, 0.125).named("hue");
  with_gradient(hue, "loss_h", "product_h");
}

/// The amounts that f finds in the images; all of an image must agree.
template <class F>
void check_amounts(const char* name, double low, double high, const F& f) {
  const tf::HostTensors feeds = test::random_feeds<at_random>(count, 1, 0.1, 1);
  const test::Outcome got = test::Kernels<at_random, tf::debug>().run(feeds);
  const tf::HostTensor& x = feeds.at("x");
  const tf::HostTensor& y = got.at(name);
  double sum = 0;
  double squares = 0;
  for (std::int64_t n = 0; n < count; ++n) {
    double first = 0;
    for (int i = 0; i < 4; ++i) {
      const auto pixel = [&](const tf::HostTensor& t, std::int64_t p) {
        return Pixel{t.value(3 * p), t.value(3 * p + 1), t.value(3 * p + 2)};
      };
      Pixel mean{};
      for (int k = 0; k < 4; ++k) {
        for (std::size_t c = 0; c < 3; ++c) mean[c] += pixel(x, 4 * n + k)[c] / 4;
      }
      const double amount = f(pixel(x, 4 * n + i), pixel(y, 4 * n + i), mean);
      if (i == 0) first = amount;
      CHECK(amount == doctest::Approx(first).epsilon(1e-9));
    }
    CHECK(first >= low - 1e-12);
    CHECK(first < high);
    sum += first;
    squares += first * first;
  }
  // A uniform distribution's moments, within five deviations of their means.
  const double mean = sum / count;
  const double range = high - low;
  CHECK(std::abs(mean - (low + high) / 2) < 0.09 * range);
  CHECK(std::abs(squares / count - mean * mean - range * range / 12) < 0.03 * range * range);
}
/// Of a function with f(t x) = t f(x) the loss is sum(x dx), if both have the same draw.
void check_shared_draw(const char* loss, const char* product) {
  const tf::HostTensors feeds = test::random_feeds<at_random>(count, 1, 0.1, 1);
  const test::Outcome got = test::Kernels<at_random, tf::debug>().run(feeds);
  CHECK(got.at(loss).value(0) != 0);
  CHECK(got.at(product).value(0) == doctest::Approx(got.at(loss).value(0)).epsilon(1e-11));
}

/// What tracing f of images says.
template <class F>
std::string mistake(const F& f) {
  return message_of([&] {
    tf::Graph g;
    f(tf::placeholder<float, 2, 2, 3>(g, "x"));
  });
}
void check_mistake(const std::string& message, const char* sentence) {
  CHECK(message.find("test_random_colors.cpp:") != message.npos);
  CHECK(message.find(sentence) != message.npos);
}

}  // namespace

TEST_CASE("random_hue, random_saturation: runs allocate nothing") {
  test::check_allocations<at_random, tf::debug>(test::random_feeds<at_random>(7, 1, 0.1, 1));
}
TEST_CASE("random_brightness: values") {
  check_amounts("brightness", -0.25, 0.25,
                [](const Pixel& x, const Pixel& y, const Pixel&) { return y[1] - x[1]; });
}
TEST_CASE("random_contrast: values") {
  check_amounts("contrast", 0.5, 1.5, [](const Pixel& x, const Pixel& y, const Pixel& mean) {
    return (y[2] - mean[2]) / (x[2] - mean[2]);
  });
}
TEST_CASE("random_saturation: values") {
  check_amounts("saturation", 0.5, 0.75,
                [](const Pixel& x, const Pixel& y, const Pixel&) { return hsv(y)[1] / hsv(x)[1]; });
}
TEST_CASE("random_hue: values") {
  check_amounts("hue", -0.125, 0.125, [](const Pixel& x, const Pixel& y, const Pixel&) {
    const double delta = hsv(y)[0] - hsv(x)[0];
    return delta - std::round(delta);
  });
}

TEST_CASE("random_brightness: gradient") {
  const tf::HostTensors feeds = test::random_feeds<at_random>(count);
  const test::Outcome got = test::Kernels<at_random, tf::debug>().run(feeds);
  test::check_equal_bits("dx", got.at("dx"), feeds.at("w"));
}
TEST_CASE("random_contrast: gradient") { check_shared_draw("loss_c", "product_c"); }
TEST_CASE("random_saturation: gradient") { check_shared_draw("loss_s", "product_s"); }
TEST_CASE("random_hue: gradient") { check_shared_draw("loss_h", "product_h"); }

TEST_CASE("adjust_gamma: errors") {
  check_mistake(mistake([](auto x) { adjust_gamma(x, -1); }),
                "adjust_gamma(x, gamma): gamma must be 0 or more");
}
TEST_CASE("random_brightness: errors") {
  check_mistake(mistake([](auto x) { random_brightness(x, -1); }),
                "random_brightness(x, max_delta): max_delta must be 0 or more");
}
TEST_CASE("random_contrast: errors") {
  check_mistake(mistake([](auto x) { random_contrast(x, 1, 0.5); }),
                "random_contrast(x, lower, upper): 0 <= lower <= upper must hold");
}
TEST_CASE("random_saturation: errors") {
  check_mistake(mistake([](auto x) { random_saturation(x, -1, 0.5); }),
                "random_saturation(x, lower, upper): 0 <= lower <= upper must hold");
}
TEST_CASE("random_hue: errors") {
  check_mistake(mistake([](auto x) { random_hue(x, 0.6); }),
                "random_hue(x, max_delta): max_delta must be in [0, 0.5]");
}
