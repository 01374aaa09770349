// SPDX-License-Identifier: Apache-2.0

// Convolutions by Winograd's transforms, drawn by chance, and their gradients, against plain loops.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "support/run_convolution.hpp"

namespace {

namespace tf = typeflow;
using test::ConvAxis;
using test::Convolution;
using test::Random;

template <bool Winograd = true>
inline constexpr tf::ConvOptions<2> options{.winograd = Winograd};

/// What all of them compile to, with and without transforms.
template <class T, bool Winograd>
constexpr void kernels_of(tf::Graph& g) {
  auto x = tf::placeholder<T, 2, 5, 5, 16>(g, "x");
  auto w = tf::placeholder<T, 3, 3, 16, 32>(g, "w");
  auto dy = tf::placeholder<T, 2, 5, 5, 32>(g, "dy");
  auto y = conv2d<options<Winograd>>(x, w).named("y");
  auto [dx, dw] = gradients(y, tf::grad_ys(dy), x, w);
  dx.named("dx");
  dw.named("dw");
}

/// A convolution's numbers, and its tensors.
struct Drawn {
  Convolution numbers;
  bool winograd = true;

  tf::Dims x() const {
    return {4, {numbers.batch, numbers.axes[1].in, numbers.axes[2].in, numbers.channels}};
  }
  tf::Dims w() const {
    return {4, {numbers.axes[1].size, numbers.axes[2].size, numbers.channels, numbers.filters}};
  }
  tf::Dims y() const {
    return {4, {numbers.batch, numbers.axes[1].out(), numbers.axes[2].out(), numbers.filters}};
  }
};

int one_of(Random& random, std::initializer_list<int> choices) {
  return choices.begin()[random.below(static_cast<int>(choices.size()))];
}

/// Tiles of 4 places, or of 2, along an axis.
std::int64_t tiles(const ConvAxis& axis) {
  const std::int64_t side = 7 - axis.size;
  return (axis.out() + side - 1) / side;
}

Drawn draw_any(Random& random) {
  Drawn d{};
  const int size = one_of(random, {3, 5});
  for (std::size_t i = 1; i < 3; ++i) {
    ConvAxis& axis = d.numbers.axes[i];
    axis.in = 1 + random.below(17);
    axis.size = size;
    test::set_padding(axis, static_cast<tf::Padding>(random.below(3)), random.below(9),
                      random.below(9));
    axis.in = std::max(axis.in, axis.span() - axis.before - axis.after);
  }
  d.numbers.batch = one_of(random, {0, 1, 2, 5, 19, 40});
  d.numbers.channels = one_of(random, {16, 16, 32, 48, 112});
  d.numbers.filters = one_of(random, {16, 16, 32, 64, 80});
  return d;
}
/// One with enough tiles for transforms; of 16 numbers, one gives any.
Drawn draw(std::uint64_t seed) {
  Random random(seed);
  for (;;) {
    const Drawn d = draw_any(random);
    const Convolution& c = d.numbers;
    const std::int64_t count = c.batch * tiles(c.axes[1]) * tiles(c.axes[2]);
    if (seed % 16 == 0 || (count >= 64 && count <= 1000)) return d;
  }
}

struct Tensors {
  tf::HostTensors feeds;
  test::Outcome expected;
};

Tensors tensors_of(const Drawn& d, tf::DType type, const auto& number) {
  Tensors all;
  for (const char* name : {"x", "w", "dy"}) {
    const tf::Dims shape = *name == 'x' ? d.x() : *name == 'w' ? d.w() : d.y();
    tf::HostTensor tensor = tf::host_tensor(type, shape);
    for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, number(i));
    all.feeds[name] = tensor;
  }
  all.expected = {{"y", test::convolve(d.numbers, d.y(), all.feeds["x"], all.feeds["w"])},
                  {"dx", test::input_gradient(d.numbers, d.x(), all.feeds["w"], all.feeds["dy"])},
                  {"dw", test::filter_gradient(d.numbers, all.feeds["x"], d.w(), all.feeds["dy"])}};
  return all;
}

/// Runs y, dx and dw of these feeds.
test::Outcome run_all(const Drawn& d, tf::DType type, const tf::HostTensors& feeds,
                      const test::KernelTable& kernels, tf::Stream* stream) {
  const test::ConvShapes shapes{d.x(), d.w(), d.y()};
  const tf::Graph g =
      test::convolution_graph(test::attributes_of(d.numbers, 2, d.winograd), shapes, type);
  return test::run_convolution(g, shapes, type, feeds, kernels, stream);
}

/// The root of the mean square of errors of whole results, as a part of that of the exact ones.
double relative_error(const tf::HostTensor& result, const tf::HostTensor& exact) {
  double error = 0;
  double size = 0;
  for (std::int64_t i = 0; i < exact.size(); ++i) {
    error += std::pow(result.value(i) - exact.value(i), 2);
    size += std::pow(exact.value(i), 2);
  }
  return size == 0 ? std::sqrt(error) : std::sqrt(error / size);
}

/// The same of the largest error.
double largest_error(const tf::HostTensor& result, const tf::HostTensor& exact) {
  double error = 0;
  double size = 0;
  for (std::int64_t i = 0; i < exact.size(); ++i) {
    error = std::max(error, std::abs(result.value(i) - exact.value(i)));
    size += std::pow(exact.value(i), 2);
  }
  return size == 0 ? error : error / std::sqrt(size / static_cast<double>(exact.size()));
}

test::KernelTable all_kernels() {
  test::KernelTable kernels;
  kernels.add<&kernels_of<float, true>>();
  kernels.add<&kernels_of<float, false>>();
  kernels.add<&kernels_of<double, true>>();
  return kernels;
}

/// Bias, activation and residual behind it, and a step of training.
template <int Size, int In, int Out>
constexpr void layer(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 11, 9, In>(g, "x");
  auto rest = tf::placeholder<float, tf::batch, 11, 9, Out>(g, "rest");
  auto w = tf::variable<float, Size, Size, In, Out>(g, "w", tf::truncated_normal(0, 0.1));
  auto b = tf::variable<float, Out>(g, "b", tf::filled(0.1));
  auto h = relu(rest + conv2d<options<>>(x, w) + b).named("h");
  auto loss = mean(square(h)).named("loss");
  (gradients(loss, x) * 3.0f).named("dx");
  tf::GradientDescent{.rate = 0.05f}.minimize(loss).named("train");
}

constexpr void of_bfloat16(tf::Graph& g) {
  auto x = tf::placeholder<tf::bfloat16, 2, 30, 31, 16>(g, "x");
  auto w = tf::placeholder<tf::bfloat16, 3, 3, 16, 16>(g, "w");
  conv2d<options<>>(x, w).named("y");
}

constexpr bool takes(tf::ConvOptions<2> o, int height, int width, int channels, int filters) {
  tf::Dims x{4, {1, 20, 20, channels}};
  tf::Dims w{4, {height, width, channels / o.groups, filters}};
  tf::ops::ConvAttributes a{
      tf::detail::conv_window(o, x, w), {1, 20, 20}, o.groups, 2, o.winograd ? 1 : 0};
  return a.takes_winograd(channels, filters);
}
static_assert(takes({.winograd = true}, 3, 3, 16, 48));
static_assert(takes({.padding = tf::Padding::valid, .winograd = true}, 5, 5, 32, 16));
static_assert(!takes({}, 3, 3, 16, 16));
static_assert(!takes({.strides = {1, 2}, .winograd = true}, 3, 3, 16, 16));
static_assert(!takes({.dilations = {2, 1}, .winograd = true}, 3, 3, 16, 16));
static_assert(!takes({.groups = 2, .winograd = true}, 3, 3, 32, 32));
static_assert(!takes({.winograd = true}, 3, 5, 16, 16));
static_assert(!takes({.winograd = true}, 7, 7, 16, 16));
static_assert(!takes({.winograd = true}, 3, 3, 3, 16));
static_assert(!takes({.winograd = true}, 3, 3, 16, 10));

}  // namespace

TEST_CASE("convolutions by Winograd's transforms, drawn by chance") {
  const test::KernelTable kernels = all_kernels();
  tf::ThreadPool threads(2);
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    tf::Stream* const stream = seed % 2 == 0 ? nullptr : threads.executor();
    const Drawn d = draw(seed);
    INFO("seed ", seed, ": ", d.numbers.batch, " of ", d.numbers.axes[1].in, " x ",
         d.numbers.axes[2].in, ", ", d.numbers.axes[1].size, " taps, ", d.numbers.channels, " to ",
         d.numbers.filters);
    for (const tf::DType type : {tf::DType::float32, tf::DType::float64}) {
      if (type == tf::DType::float64 && seed % 4 != 0) continue;
      Random random(seed);
      const Tensors all = tensors_of(d, type, [&](std::int64_t) { return random.uniform(-1, 1); });
      const test::Outcome results = run_all(d, type, all.feeds, kernels, stream);
      const double bound = type == tf::DType::float32 ? 3e-6 : 6e-15;
      for (const auto& [name, exact] : all.expected) {
        INFO(name);
        CHECK(relative_error(results.at(name), exact) < bound);
        CHECK(largest_error(results.at(name), exact) < 15 * bound);
      }
    }
  }
}

TEST_CASE("transforms are taken, of enough tiles, where they are asked for") {
  const test::KernelTable kernels = all_kernels();
  for (const std::int64_t batch : {15, 16}) {  // of 4 tiles
    Drawn d{};
    d.numbers = {
        batch, 16, 16, 1, {ConvAxis{}, ConvAxis{8, 3, 1, 1, 1, 1}, ConvAxis{8, 3, 1, 1, 1, 1}}};
    Random random(1);
    const Tensors all =
        tensors_of(d, tf::DType::float32, [&](std::int64_t) { return random.uniform(-1, 1); });
    const test::Outcome results = run_all(d, tf::DType::float32, all.feeds, kernels, nullptr);
    d.winograd = false;
    const test::Outcome plain = run_all(d, tf::DType::float32, all.feeds, kernels, nullptr);
    for (const auto& [name, tensor] : results) {
      CHECK((test::to_bytes(tensor) == test::to_bytes(plain.at(name))) == (batch < 16));
    }
  }
}

TEST_CASE("errors are those that docs/guide.md states") {
  const test::KernelTable kernels = all_kernels();
  const auto square = [](int samples, int size, int taps, int channels, int filters) {
    const ConvAxis axis{size, taps, 1, 1, taps / 2, taps / 2};
    return Drawn{{samples, channels, filters, 1, {ConvAxis{}, axis, axis}}};
  };
  for (const Drawn& d : {square(8, 14, 5, 32, 64), square(1, 56, 3, 64, 64)}) {
    Random random(1);
    const Tensors all =
        tensors_of(d, tf::DType::float32, [&](std::int64_t) { return random.uniform(-1, 1); });
    const test::Outcome results = run_all(d, tf::DType::float32, all.feeds, kernels, nullptr);
    for (const auto& [name, exact] : all.expected) {
      INFO(d.numbers.axes[1].size, " taps, ", name);
      CHECK(relative_error(results.at(name), exact) < 2e-6);
      CHECK(largest_error(results.at(name), exact) < 3e-5);
    }
  }
}

TEST_CASE("where numbers are not finite, or very large, sums are plain ones") {
  const test::KernelTable kernels = all_kernels();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    Drawn d = draw(seed);
    d.numbers.batch = std::max<std::int64_t>(d.numbers.batch, 1);
    INFO("seed ", seed);
    Random random(seed);
    const double special = seed % 3 == 0   ? infinity
                           : seed % 3 == 1 ? std::numeric_limits<double>::quiet_NaN()
                                           : -3 * std::pow(2, 42);
    Tensors all = tensors_of(d, tf::DType::float32, [&](std::int64_t i) {
      return i == 9 || random.below(500) == 0 ? special : random.below(7) - 3.0;
    });
    const test::Outcome results = run_all(d, tf::DType::float32, all.feeds, kernels, nullptr);
    d.winograd = false;
    const test::Outcome plain = run_all(d, tf::DType::float32, all.feeds, kernels, nullptr);
    for (const auto& [name, exact] : all.expected) {
      INFO(name);
      test::check_close(name, results.at(name), plain.at(name), 0);
      if (seed % 3 != 2) test::check_close(name, results.at(name), exact, 0);
    }
  }
}

TEST_CASE("what follows is done tile by tile, with equal bits for any number of threads") {
  for (const std::int64_t batch : {0, 3, 8}) {
    test::check_against_interpreter<layer<3, 16, 16>>(batch, 2e-5);
    test::check_against_interpreter<layer<5, 32, 48>>(batch, 2e-5, 2);
    test::check_bits<layer<3, 16, 16>>(batch);
    test::check_bits<layer<5, 32, 48>>(batch);
  }
  test::check_bits<layer<3, 16, 16>>(40);
  test::check_against_interpreter<of_bfloat16>(1, 1e-2);
}
