// SPDX-License-Identifier: Apache-2.0

// Hundreds of convolutions and their gradients, drawn by chance, by compiled kernels, against plain
// loops: graphs are made at run time, and kernels have neither extents nor settings in their types.
// Numbers are whole and small, so that nothing but the right bits will do.

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include "support/run_convolution.hpp"

namespace {

namespace tf = typeflow;
using test::ConvAxis;
using test::Convolution;
using test::Random;

/// What all of them compile to. Results of one column and of few have kernels of their own.
template <class T, int Groups, int Channels = 4, int Filters = 6>
constexpr void kernels_of(tf::Graph& g) {
  auto x = tf::placeholder<T, 2, 5, 5, Channels>(g, "x");
  auto w = tf::placeholder<T, 3, 3, Channels / Groups, Filters>(g, "w");
  auto dy = tf::placeholder<T, 2, 5, 5, Filters>(g, "dy");
  auto y = conv2d<tf::ConvOptions<2>{.groups = Groups}>(x, w).named("y");
  auto [dx, dw] = gradients(y, tf::grad_ys(dy), x, w);
  dx.named("dx");
  dw.named("dw");
}

int one_of(Random& random, std::initializer_list<int> choices) {
  return choices.begin()[random.below(static_cast<int>(choices.size()))];
}

/// An axis whose kernel fits into the image with its padding.
ConvAxis draw_axis(Random& random, int longest) {
  ConvAxis axis;
  axis.in = 1 + random.below(longest);
  axis.size = one_of(random, {1, 1, 2, 3, 3, 4, 5, 7});
  axis.stride = one_of(random, {1, 1, 2, 3, 5});
  axis.dilation = one_of(random, {1, 1, 1, 2, 3});
  const tf::Padding padding = static_cast<tf::Padding>(random.below(3));
  test::set_padding(axis, padding, random.below(5), random.below(5));
  axis.in = std::max(axis.in, axis.span() - axis.before - axis.after);
  return axis;
}

struct Drawn {
  int rank;
  Convolution numbers;

  tf::Dims with(std::int64_t first, std::int64_t last, auto extent) const {
    tf::Dims shape{};
    shape.append(first);
    for (std::size_t i = static_cast<std::size_t>(3 - rank); i < 3; ++i) {
      shape.append(extent(numbers.axes[i]));
    }
    shape.append(last);
    return shape;
  }
  tf::Dims x() const {
    return with(numbers.batch, numbers.channels, [](const ConvAxis& a) { return a.in; });
  }
  tf::Dims y() const {
    return with(numbers.batch, numbers.filters, [](const ConvAxis& a) { return a.out(); });
  }
  tf::Dims w() const {
    const tf::Dims all =
        with(0, numbers.channels / numbers.groups, [](const ConvAxis& a) { return a.size; });
    tf::Dims shape{};
    for (int i = 1; i < all.rank; ++i) shape.append(all.extent[i]);
    shape.append(numbers.filters);
    return shape;
  }
  test::ConvShapes shapes() const { return {x(), w(), y()}; }
  std::string text() const {
    const auto list = [](const tf::Dims& d) {
      tf::Message m{};
      m << d;
      return std::string(m.view());
    };
    std::string out = list(x()) + " x " + list(w()) + " -> " + list(y()) + ", groups " +
                      std::to_string(numbers.groups);
    for (const ConvAxis& a : numbers.axes) {
      out += "; stride " + std::to_string(a.stride) + ", dilation " + std::to_string(a.dilation) +
             ", pads " + std::to_string(a.before) + " " + std::to_string(a.after);
    }
    return out;
  }
};

Drawn draw(std::uint64_t seed) {
  Random random(seed);
  Drawn d{one_of(random, {1, 2, 2, 2, 3}), {}};
  const int longest = d.rank == 3 ? 5 : d.rank == 2 ? 12 : 40;
  for (int i = 3 - d.rank; i < 3; ++i) {
    d.numbers.axes[static_cast<std::size_t>(i)] = draw_axis(random, longest);
  }
  d.numbers.batch = one_of(random, {0, 1, 1, 2, 3, 4, 8, 19});
  d.numbers.groups = one_of(random, {1, 1, 1, 2, 3, 17});
  d.numbers.channels = d.numbers.groups * one_of(random, {1, 1, 2, 3, 5, 8, 16, 17});
  d.numbers.filters = d.numbers.groups * (random.chance(0.2) && d.numbers.groups < 4
                                              ? one_of(random, {47, 48, 49, 70, 97})
                                              : one_of(random, {1, 2, 3, 8, 10, 16, 17, 24}));
  return d;
}

/// Products of x and w.
std::int64_t cost(const Drawn& d) {
  std::int64_t products = d.numbers.channels / d.numbers.groups;
  for (const std::int64_t e : d.y().extent) products *= std::max<std::int64_t>(e, 1);
  for (const ConvAxis& axis : d.numbers.axes) products *= axis.size;
  return products;
}

/// Thousands of places, or matrices that don't stay in cache: what kernels do in parts.
Drawn draw_large(std::uint64_t seed) {
  Random random(seed);
  for (;;) {
    Drawn d{one_of(random, {1, 2, 2, 3}), {}};
    const int longest = d.rank == 3 ? 9 : d.rank == 2 ? 30 : 700;
    std::int64_t places = 1;
    for (int i = 3 - d.rank; i < 3; ++i) {
      ConvAxis& axis = d.numbers.axes[static_cast<std::size_t>(i)];
      axis = draw_axis(random, longest);
      places *= axis.out();
    }
    d.numbers.batch = one_of(random, {1, 7, 40});
    d.numbers.groups = one_of(random, {1, 1, 2});
    d.numbers.channels = d.numbers.groups * one_of(random, {1, 3, 5, 16, 33, 64, 70, 160});
    d.numbers.filters = d.numbers.groups * one_of(random, {1, 8, 17, 49, 130});
    const std::int64_t weights = d.numbers.channels * d.numbers.filters * d.numbers.axes[0].size *
                                 d.numbers.axes[1].size * d.numbers.axes[2].size;
    const bool is_large = places * d.numbers.batch >= 2048 || weights >= 150'000;
    if (is_large && cost(d) < 2'000'000) return d;
  }
}

/// Makes a few elements infinite, and one a NaN. Where they meet padding, the product is left out.
void set_not_finite(Random& random, tf::HostTensor& x) {
  for (int i = 0; i < 4 && x.size() > 0; ++i) {
    const double infinity = std::numeric_limits<double>::infinity();
    x.set(random.below(static_cast<int>(x.size())), i == 3
                                                        ? std::numeric_limits<double>::quiet_NaN()
                                                    : i == 2 ? -infinity
                                                             : infinity);
  }
}

tf::Graph graph_of(const Drawn& d, tf::DType type) {
  return test::convolution_graph(test::attributes_of(d.numbers, d.rank), d.shapes(), type);
}

/// Runs y, dx and dw of these feeds.
template <class T>
test::Outcome run_all(const Drawn& d, const tf::HostTensors& feeds,
                      const test::KernelTable& kernels, tf::Stream* stream) {
  constexpr tf::DType type = tf::dtype_of<T>;
  return test::run_convolution(graph_of(d, type), d.shapes(), type, feeds, kernels, stream);
}

template <class T>
void check(const Drawn& d, std::uint64_t seed, const test::KernelTable& kernels, tf::Stream* stream,
           bool finite = true) {
  const std::string text = d.text();
  INFO("seed ", seed, ", ", tf::name_of(tf::dtype_of<T>), ", ", text);
  constexpr tf::DType type = tf::dtype_of<T>;
  const tf::Graph g = graph_of(d, type);
  REQUIRE(tf::ir::verify(g).view() == "");

  Random random(seed);
  tf::HostTensors feeds;
  for (const char* name : {"x", "w", "dy"}) {
    const tf::Dims shape = *name == 'x' ? d.x() : *name == 'w' ? d.w() : d.y();
    feeds[name] = test::whole_numbers(random, type, shape);
    if (!finite && *name != 'x') set_not_finite(random, feeds[name]);
  }
  const test::Outcome expected{
      {"y", test::convolve(d.numbers, d.y(), feeds["x"], feeds["w"])},
      {"dx", test::input_gradient(d.numbers, d.x(), feeds["w"], feeds["dy"])},
      {"dw", test::filter_gradient(d.numbers, feeds["x"], d.w(), feeds["dy"])}};
  const test::Outcome results = run_all<T>(d, feeds, kernels, stream);
  for (const auto& [name, tensor] : expected) {
    test::check_close(name, results.at(name), tensor, 0);
  }
  if (seed % 4 == 0 && cost(d) < 200'000) test::check_interpreter(g, feeds, expected);
}

test::KernelTable all_kernels() {
  test::KernelTable kernels;
  kernels.add<&kernels_of<float, 1>>();
  kernels.add<&kernels_of<float, 1, 1, 1>>();
  kernels.add<&kernels_of<float, 1, 6, 2>>();
  kernels.add<&kernels_of<float, 2>>();
  kernels.add<&kernels_of<double, 1>>();
  kernels.add<&kernels_of<double, 1, 1, 1>>();
  kernels.add<&kernels_of<double, 1, 6, 2>>();
  kernels.add<&kernels_of<double, 2>>();
  kernels.add<&kernels_of<tf::bfloat16, 1>>();
  kernels.add<&kernels_of<tf::bfloat16, 1, 1, 1>>();
  kernels.add<&kernels_of<tf::bfloat16, 1, 6, 2>>();
  kernels.add<&kernels_of<tf::bfloat16, 2>>();
  return kernels;
}

}  // namespace

TEST_CASE("convolutions drawn by chance") {
  const test::KernelTable kernels = all_kernels();
  tf::ThreadPool threads(2);
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    tf::Stream* const stream = seed % 2 == 0 ? nullptr : threads.executor();
    const Drawn d = draw(seed);
    check<float>(d, seed, kernels, stream);
    if (seed % 3 == 0) check<double>(d, seed, kernels, stream);
  }
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Drawn d = draw_large(seed);
    check<float>(d, seed, kernels, nullptr);
    if (seed % 2 == 0) check<float>(d, seed, kernels, threads.executor());
    if (seed % 3 == 0) check<double>(d, seed, kernels, threads.executor());
  }
}

TEST_CASE("convolutions leave padding out, whatever it meets: infinities and NaN") {
  const test::KernelTable kernels = all_kernels();
  tf::ThreadPool threads(2);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Drawn d = draw(seed);
    check<float>(d, seed, kernels, seed % 2 == 0 ? nullptr : threads.executor(), false);
    if (seed % 3 == 0) check<double>(d, seed, kernels, nullptr, false);
    if (seed % 3 == 1) check<tf::bfloat16>(d, seed, kernels, nullptr, false);
  }
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const Drawn d = draw_large(seed);
    check<float>(d, seed, kernels, threads.executor(), false);
    if (seed % 4 == 0) check<tf::bfloat16>(d, seed, kernels, threads.executor(), false);
  }
}

TEST_CASE("convolutions of many channels, whose rows and panels kernels copy") {
  const test::KernelTable kernels = all_kernels();
  tf::ThreadPool threads(3);
  std::uint64_t seed = 0;
  for (const auto& [channels, filters] : {std::array{260, 600}, std::array{513, 130}}) {
    for (const int size : {1, 3}) {
      for (const int stride : {1, 2}) {
        Drawn d{2, {}};
        d.numbers.batch = 3;
        d.numbers.channels = channels;
        d.numbers.filters = filters;
        for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
          ConvAxis& axis = d.numbers.axes[i];
          axis.in = size == 1 ? 15 + static_cast<int>(i) : 3 + static_cast<int>(i);
          axis.size = size;
          axis.stride = stride;
          test::set_padding(axis, tf::Padding::same, 0, 0);
        }
        for (const bool finite : {true, false}) {
          check<float>(d, ++seed, kernels, threads.executor(), finite);
          check<double>(d, seed, kernels, nullptr, finite);
        }
      }
    }
  }
}

namespace {

/// A square image of few channels.
Drawn few(int batch, int size, int channels, int kernel, int filters, int stride, int dilation,
          tf::Padding padding) {
  Drawn d{2, {}};
  d.numbers.batch = batch;
  d.numbers.channels = channels;
  d.numbers.filters = filters;
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    ConvAxis& axis = d.numbers.axes[i];
    axis.in = size + static_cast<int>(i);
    axis.size = kernel;
    axis.stride = stride;
    axis.dilation = dilation;
    test::set_padding(axis, padding, 2, 1);
    axis.in = std::max(axis.in, axis.span() - axis.before - axis.after);
  }
  return d;
}

}  // namespace

TEST_CASE("convolutions of images of few channels") {
  const test::KernelTable kernels = all_kernels();
  tf::ThreadPool threads(3);
  std::uint64_t seed = 1;
  constexpr int filters[] = {1, 3, 16, 32, 64, 96};
  constexpr int kernel_sizes[] = {1, 2, 3, 4, 5, 6, 7, 11};
  for (const int channels : {1, 2, 3, 4, 5}) {
    for (const int kernel : kernel_sizes) {
      for (const int count : filters) {
        const int stride = kernel == 11 ? 4 : 1 + static_cast<int>(seed % 3);
        const int dilation = kernel < 4 && seed % 5 == 0 ? 2 : 1;
        const auto padding = static_cast<tf::Padding>(seed % 3);
        const Drawn d = few(static_cast<int>(seed % 4), 9 + static_cast<int>(seed % 11), channels,
                            kernel, count, stride, dilation, padding);
        tf::Stream* const stream = seed % 2 == 0 ? nullptr : threads.executor();
        check<float>(d, seed, kernels, stream, seed % 7 != 0);
        if (seed % 5 == 0) check<double>(d, seed, kernels, stream, seed % 7 != 0);
        ++seed;
      }
    }
  }
  // Lines that are cut; windows too far apart to be copied; results that go past the caches.
  check<float>(few(1, 1030, 4, 3, 3, 1, 1, tf::Padding::same), ++seed, kernels, nullptr);
  check<float>(few(1, 300, 3, 3, 3, 1, 128, tf::Padding::same), ++seed, kernels, nullptr);
  check<float>(few(1, 256, 1, 1, 64, 1, 1, tf::Padding::same), ++seed, kernels, nullptr);
  check<float>(few(2, 185, 1, 2, 64, 1, 1, tf::Padding::valid), ++seed, kernels,
               threads.executor());
}

TEST_CASE("convolutions by few filters, whose kernels fill vectors with places") {
  const test::KernelTable kernels = all_kernels();
  tf::ThreadPool threads(3);
  std::uint64_t seed = 1;
  constexpr int channel_counts[] = {1, 2, 3, 8, 15, 16, 33};
  constexpr int kernel_sizes[] = {1, 2, 3, 5, 9};
  for (const int channels : channel_counts) {
    for (const int kernel : kernel_sizes) {
      for (const int filters : {1, 2, 3, 4, 5}) {
        if (channels * kernel > 100) continue;
        const int stride = 1 + static_cast<int>(seed % 7 == 0) + static_cast<int>(seed % 11 == 0);
        const int dilation = 1 + static_cast<int>(seed % 5 == 0);
        const Drawn d = few(static_cast<int>(seed % 4), 1 + static_cast<int>(seed % 37), channels,
                            kernel, filters, stride, dilation, static_cast<tf::Padding>(seed % 3));
        tf::Stream* const stream = seed % 2 == 0 ? nullptr : threads.executor();
        check<float>(d, seed, kernels, stream, seed % 4 != 0);
        if (seed % 3 == 0) check<double>(d, seed, kernels, stream, seed % 4 != 0);
        if (seed % 9 == 0) check<tf::bfloat16>(d, seed, kernels, stream, seed % 4 != 0);
        ++seed;
      }
    }
  }
  // Lines that are cut.
  for (const int filters : {1, 2}) {
    for (const bool finite : {true, false}) {
      Drawn d{1, {}};
      d.numbers.batch = 3;
      d.numbers.channels = 1;
      d.numbers.filters = filters;
      d.numbers.axes[2].in = 3001;
      d.numbers.axes[2].size = 9;
      test::set_padding(d.numbers.axes[2], tf::Padding::same, 0, 0);
      check<float>(d, ++seed, kernels, threads.executor(), finite);
      check<double>(d, ++seed, kernels, nullptr, finite);
      d.numbers.axes[2].stride = 2;
      test::set_padding(d.numbers.axes[2], tf::Padding::same, 0, 0);
      check<float>(d, ++seed, kernels, nullptr, finite);
    }
  }
}

TEST_CASE("convolutions have equal bits for any number of threads") {
  const test::KernelTable kernels = all_kernels();
  tf::ThreadPool two(2);
  tf::ThreadPool three(3);
  tf::ThreadPool eight(8);
  std::uint64_t seed = 0;
  for (const Drawn& d :
       {few(1, 70, 1, 5, 32, 1, 1, tf::Padding::same),
        few(3, 40, 3, 3, 70, 2, 1, tf::Padding::same),
        few(5, 31, 5, 4, 16, 1, 1, tf::Padding::given),
        few(2, 60, 3, 11, 24, 4, 1, tf::Padding::same),
        few(9, 9, 32, 5, 17, 1, 1, tf::Padding::same),
        few(8, 13, 33, 1, 40, 2, 1, tf::Padding::same),
        few(3, 70, 1, 3, 1, 1, 1, tf::Padding::same), few(2, 90, 3, 5, 2, 1, 1, tf::Padding::given),
        few(2, 90, 1, 3, 4, 2, 1, tf::Padding::same),
        few(4, 40, 9, 3, 1, 1, 2, tf::Padding::same)}) {
    Random random(++seed);
    tf::HostTensors feeds;
    for (const char* name : {"x", "w", "dy"}) {
      const tf::Dims shape = *name == 'x' ? d.x() : *name == 'w' ? d.w() : d.y();
      tf::HostTensor& feed = feeds[name] = tf::host_tensor(tf::DType::float32, shape);
      for (std::int64_t i = 0; i < feed.size(); ++i) feed.set(i, random.uniform(-1, 1));
    }
    const test::Outcome one = run_all<float>(d, feeds, kernels, nullptr);
    for (tf::ThreadPool* const pool : {&two, &three, &eight}) {
      const test::Outcome other = run_all<float>(d, feeds, kernels, pool->executor());
      for (const auto& [name, value] : one) test::check_equal_bits(name, other.at(name), value);
    }
  }
}
