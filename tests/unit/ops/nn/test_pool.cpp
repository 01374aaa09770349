// SPDX-License-Identifier: Apache-2.0

// max_pool, avg_pool, and the operations that their gradients and those of these are made of:
// against loops over windows that are written here.

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;

/// How a window of `size` moves along an axis: where the first one begins, and how many there are.
struct Places {
  std::int64_t first;
  std::int64_t count;
};
Places places(std::int64_t extent, int size, int stride, tf::Padding padding,
              const std::array<int, 2>& pads) {
  if (padding == tf::Padding::same) {
    const std::int64_t count = (extent + stride - 1) / stride;
    const std::int64_t missing = (count - 1) * stride + size - extent;
    return {missing > 0 ? -(missing / 2) : 0, count};
  }
  Places p{-pads[0], 0};
  while (p.first + p.count * stride + size <= extent + pads[1]) ++p.count;
  return p;
}

/// Calls f(position in y, positions in x of the window's elements) for a pool over (N,H,W,C).
template <class F>
void each_window(const tf::Dims& x, const tf::PoolOptions<2>& pool, const F& f) {
  const std::int64_t height = x.extent[1];
  const std::int64_t width = x.extent[2];
  const std::int64_t channels = x.extent[3];
  const Places rows = places(height, pool.window[0], pool.strides[0], pool.padding, pool.pads[0]);
  const Places columns = places(width, pool.window[1], pool.strides[1], pool.padding, pool.pads[1]);
  std::int64_t at = 0;
  for (std::int64_t n = 0; n < x.extent[0]; ++n) {
    for (std::int64_t i = 0; i < rows.count; ++i) {
      for (std::int64_t j = 0; j < columns.count; ++j) {
        for (std::int64_t c = 0; c < channels; ++c) {
          std::vector<std::int64_t> inside;
          for (int a = 0; a < pool.window[0]; ++a) {
            for (int b = 0; b < pool.window[1]; ++b) {
              const std::int64_t h = rows.first + i * pool.strides[0] + a;
              const std::int64_t w = columns.first + j * pool.strides[1] + b;
              if (h < 0 || h >= height || w < 0 || w >= width) continue;
              inside.push_back(((n * height + h) * width + w) * channels + c);
            }
          }
          f(at++, inside);
        }
      }
    }
  }
}

tf::Dims pooled(const tf::Dims& x, const tf::PoolOptions<2>& pool) {
  tf::Dims y = x;
  for (int i = 0; i < 2; ++i) {
    const auto axis = static_cast<std::size_t>(i);
    y.extent[1 + i] = places(x.extent[1 + i], pool.window[axis], pool.strides[axis], pool.padding,
                             pool.pads[axis])
                          .count;
  }
  return y;
}

/// The first of the largest elements, or the first NaN.
std::int64_t largest(const tf::HostTensor& x, const std::vector<std::int64_t>& inside) {
  std::int64_t best = inside.at(0);
  for (const std::int64_t i : inside) {
    if (std::isnan(x.value(i))) return i;
    if (x.value(i) > x.value(best)) best = i;
  }
  return best;
}

/// z where x is the largest of its window; the pool of x if z is x.
tf::HostTensor max_pooled(const tf::HostTensor& x, const tf::PoolOptions<2>& pool,
                          const tf::HostTensor& z) {
  tf::HostTensor y = tf::host_tensor(z.dtype, pooled(x.dims, pool));
  each_window(x.dims, pool, [&](std::int64_t at, const std::vector<std::int64_t>& inside) {
    y[at] = z[largest(x, inside)];
  });
  return y;
}
tf::HostTensor avg_pooled(const tf::HostTensor& x, const tf::PoolOptions<2>& pool) {
  tf::HostTensor y = tf::host_tensor(x.dtype, pooled(x.dims, pool));
  each_window(x.dims, pool, [&](std::int64_t at, const std::vector<std::int64_t>& inside) {
    double sum = 0;
    for (const std::int64_t i : inside) sum += x.value(i);
    y.set(at, sum / static_cast<double>(inside.size()));
  });
  return y;
}
/// The gradients: dy at the largest elements, or in equal parts.
tf::HostTensor given_back(const tf::HostTensor& x, const tf::PoolOptions<2>& pool,
                          const tf::HostTensor& dy, bool to_largest) {
  std::vector<double> sums(static_cast<std::size_t>(x.size()));
  each_window(x.dims, pool, [&](std::int64_t at, const std::vector<std::int64_t>& inside) {
    if (to_largest) {
      sums[static_cast<std::size_t>(largest(x, inside))] += dy.value(at);
    } else {
      for (const std::int64_t i : inside) {
        sums[static_cast<std::size_t>(i)] += dy.value(at) / static_cast<double>(inside.size());
      }
    }
  });
  tf::HostTensor dx = tf::host_tensor(x.dtype, x.dims);
  for (std::int64_t i = 0; i < dx.size(); ++i) dx.set(i, sums[static_cast<std::size_t>(i)]);
  return dx;
}

using tf::Padding;

/// For images of 5x4 and more.
struct Wide {
  static constexpr tf::PoolOptions<2> pools[] = {
      {.window = {2, 2}, .strides = {2, 2}},
      {.window = {3, 3}, .strides = {2, 2}},
      {.window = {3, 3}, .padding = Padding::valid},
      {.window = {2, 3}, .strides = {3, 1}},
      {.window = {3, 2}, .strides = {1, 2}, .padding = Padding::valid},
      {.window = {3, 3}, .strides = {2, 3}, .padding = Padding::given, .pads = {{{1, 2}, {0, 1}}}},
      {.window = {1, 1}, .strides = {2, 3}},
      {.window = {5, 4}},
  };
};
/// For images of 1x1 and more, or none.
struct Small {
  static constexpr tf::PoolOptions<2> pools[] = {
      {.window = {3, 3}, .strides = {2, 1}},
      {.window = {1, 2}, .strides = {3, 3}},
  };
};

/// Pools of x with their gradients, and the gradients of those for what they get.
template <class Settings, class T, tf::Extent... D>
constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<T, D...>(g, "x");
  auto v = tf::placeholder<T, D...>(g, "v");
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto each = [&]<std::size_t i>(std::integral_constant<std::size_t, i>) {
      constexpr int number = static_cast<int>(i);
      constexpr tf::PoolOptions<2> pool = Settings::pools[i];
      auto most = max_pool<pool>(x);
      auto w = test::input<T, typename decltype(most)::shape>(g, {"w", number});
      most.named({"max", number});
      auto mean = avg_pool<pool>(x).named({"avg", number});
      auto of_max = gradients(sum(most * w), x).named({"of_max", number});
      auto of_avg = gradients(sum(mean * w), x).named({"of_avg", number});
      if constexpr (!tf::detail::is_half<T>) {  // whose of_max would stay inside of a kernel
        gradients(sum(of_max * v), w).named({"selected", number});
        gradients(sum(of_avg * v), w).named({"averaged", number});
      }
    };
    (each(std::integral_constant<std::size_t, I>{}), ...);
  }(std::make_index_sequence<std::size(Settings::pools)>{});
}

template <class Settings, class T, tf::Extent... D>
void check(std::int64_t batch, double tolerance) {
  constexpr auto traced = &model<Settings, T, D...>;
  INFO("batch ", batch, ", channels ", std::array{D...}.back());
  const tf::HostTensors feeds = test::random_feeds<traced>(batch, 3);
  const tf::HostTensor& x = feeds.at("x");
  const tf::HostTensor& v = feeds.at("v");
  test::Outcome expected;
  int i = 0;
  for (const tf::PoolOptions<2>& pool : Settings::pools) {
    const std::string number = "_" + std::to_string(i++);
    const tf::HostTensor& w = feeds.at("w" + number);
    expected["max" + number] = max_pooled(x, pool, x);
    expected["avg" + number] = avg_pooled(x, pool);
    expected["of_max" + number] = given_back(x, pool, w, true);
    expected["of_avg" + number] = given_back(x, pool, w, false);
    if (tf::is_half_precision(x.dtype)) continue;
    expected["selected" + number] = max_pooled(x, pool, v);
    expected["averaged" + number] = avg_pooled(v, pool);
  }
  test::check_values<traced>(feeds, expected, tolerance);
  test::check_threads<traced>(batch);
}

template <class T>
constexpr void of_integers(tf::Graph& g) {
  auto x = tf::placeholder<T, tf::batch, 5, 6, 19>(g, "x");
  max_pool<3, 2>(x).named("y");
}

constexpr void other_ranks(tf::Graph& g) {
  auto line = tf::placeholder<float, tf::batch, 9, 5>(g, "line");
  auto body = tf::placeholder<float, 2, 3, 4, 5, 3>(g, "body");
  max_pool<tf::PoolOptions<1>{.window = {3}, .strides = {2}}>(line).named("max_1d");
  auto mean_1d = avg_pool<tf::PoolOptions<1>{.window = {4}, .padding = Padding::valid}>(line);
  mean_1d.named("avg_1d");
  constexpr tf::PoolOptions<3> cube{.window = {2, 2, 2}, .strides = {2, 2, 2}};
  auto most = max_pool<cube>(body).named("max_3d");
  auto mean = avg_pool<cube>(body).named("avg_3d");
  gradients(sum(most * most), body).named("of_max_3d");
  gradients(sum(mean * mean), body).named("of_avg_3d");
}

constexpr void special(tf::Graph& g) {
  auto x = tf::placeholder<float, 1, 2, 4, 1>(g, "x");
  auto y = max_pool<2>(x).named("y");
  gradients(sum(y), x).named("dx");
  avg_pool<2>(x).named("mean");
}

/// The pool over an image of one axis, (N,W,C), as one over (N,1,W,C), and back.
tf::HostTensor in_rows(tf::HostTensor x, const tf::Dims& dims) {
  x.dims = dims;
  return x;
}

/// Cubes of 2x2x2 side by side in an image of (N,D,H,W,C): f(position of the cube, elements).
template <class F>
void each_cube(const tf::Dims& x, const F& f) {
  const tf::Dims y = test::dims({x.extent[0], (x.extent[1] + 1) / 2, (x.extent[2] + 1) / 2,
                                 (x.extent[3] + 1) / 2, x.extent[4]});
  for (std::int64_t at = 0; at < tf::count_of(y).coefficient; ++at) {
    const std::vector<std::int64_t> c = test::coordinates(at, y);
    std::vector<std::int64_t> inside;
    for (int i = 0; i < 8; ++i) {
      const std::vector<std::int64_t> e = {c[0], 2 * c[1] + i / 4, 2 * c[2] + i / 2 % 2,
                                           2 * c[3] + i % 2, c[4]};
      if (e[1] >= x.extent[1] || e[2] >= x.extent[2] || e[3] >= x.extent[3]) continue;
      inside.push_back(test::position(e, x));
    }
    f(at, inside);
  }
}

}  // namespace

TEST_CASE("max_pool: values") {
  for (const std::int64_t batch : {0, 1, 3}) {
    check<Wide, float, tf::batch, 7, 6, 3>(batch, 1e-6);
    check<Wide, float, tf::batch, 5, 4, 40>(batch, 1e-6);
  }
  check<Wide, double, 2, 6, 11, 17>(1, 1e-14);
  check<Small, float, 3, 1, 1, 1>(1, 1e-6);
  check<Small, float, tf::batch, 1, 7, 16>(4, 1e-6);
  check<Small, double, 2, 0, 3, 5>(1, 0);
  check<Small, float, 2, 3, 3, 0>(1, 0);
}

TEST_CASE("avg_pool: values") {
  check<Small, tf::bfloat16, tf::batch, 5, 7, 21>(2, 8e-3);
  check<Small, tf::float16, tf::batch, 5, 7, 21>(2, 1e-3);
}

TEST_CASE_TEMPLATE("max_pool: integers", T, std::int8_t, std::int32_t, std::uint64_t) {
  const tf::HostTensors feeds = test::random_feeds<of_integers<T>>(3);
  const tf::HostTensor& x = feeds.at("x");
  constexpr tf::PoolOptions<2> pool{.window = {3, 3}, .strides = {2, 2}};
  test::check_values<of_integers<T>>(feeds, {{"y", max_pooled(x, pool, x)}});
}

TEST_CASE("max_pool: images of one and of three axes") {
  const tf::HostTensors feeds = test::random_feeds<other_ranks>(2);
  const tf::HostTensor& line = feeds.at("line");
  const tf::HostTensor row = in_rows(line, test::dims({2, 1, 9, 5}));
  const tf::HostTensor& body = feeds.at("body");
  const tf::Dims cubes = test::dims({2, 2, 2, 3, 3});
  tf::HostTensor most = tf::host_tensor(tf::DType::float32, cubes);
  tf::HostTensor mean = most;
  tf::HostTensor of_max = tf::host_tensor(tf::DType::float32, body.dims);
  tf::HostTensor of_avg = of_max;
  each_cube(body.dims, [&](std::int64_t at, const std::vector<std::int64_t>& inside) {
    const std::int64_t best = largest(body, inside);
    most[at] = body[best];
    of_max.set(best, 2 * body.value(best));
    double sum = 0;
    const auto count = static_cast<double>(inside.size());
    for (const std::int64_t i : inside) sum += body.value(i);
    mean.set(at, sum / count);
    for (const std::int64_t i : inside) of_avg.set(i, 2 * sum / count / count);
  });
  const tf::HostTensor max_1d = max_pooled(row, {.window = {1, 3}, .strides = {1, 2}}, row);
  const tf::HostTensor avg_1d = avg_pooled(row, {.window = {1, 4}, .padding = Padding::valid});
  test::check_values<other_ranks>(feeds,
                                  {{"max_1d", in_rows(max_1d, test::dims({2, 5, 5}))},
                                   {"avg_1d", in_rows(avg_1d, test::dims({2, 6, 5}))},
                                   {"max_3d", most},
                                   {"avg_3d", mean},
                                   {"of_max_3d", of_max},
                                   {"of_avg_3d", of_avg}},
                                  1e-6);
}

TEST_CASE("max_pool: NaN, infinities and ties") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double inf = std::numeric_limits<double>::infinity();
  const auto run = [](const std::vector<double>& x, const std::vector<double>& y,
                      const std::vector<double>& dx, const std::vector<double>& mean) {
    test::check_values<special>({{"x", test::floats({1, 2, 4, 1}, x)}},
                                {{"y", test::floats({1, 1, 2, 1}, y)},
                                 {"dx", test::floats({1, 2, 4, 1}, dx)},
                                 {"mean", test::floats({1, 1, 2, 1}, mean)}});
  };
  run({1, 2, 0, 0,  //
       2, 1, 0, 0},
      {2, 0},
      {0, 1, 1, 0,  //
       0, 0, 0, 0},
      {1.5, 0});
  run({5, nan, -inf, -inf,  //
       nan, 9, -inf, -inf},
      {nan, -inf},
      {0, 1, 1, 0,  //
       0, 0, 0, 0},
      {nan, -inf});
  run({inf, 1, -inf, 3,  //
       1, 1, 3, 4},
      {inf, 4},
      {1, 0, 0, 0,  //
       0, 0, 0, 1},
      {inf, -inf});
}

TEST_CASE("max_pool: gradient") {
  test::check_gradients<tf::Shape<2, 5, 4, 3>>([](auto x) { return max_pool<3, 2>(x); });
  // The gradient is a function of x, too: f(x) = 3 y^2 at the largest elements.
  test::check_gradients<tf::Shape<1, 4, 5, 2>>([](auto x) {
    auto y = max_pool<3, 2, Padding::valid>(x);
    return gradients(sum(y * y * y), x);
  });
  test::check_gradients<tf::Shape<1, 3, 3, 2>>(
      [](auto x) {
        auto y = max_pool<2, 1>(x);
        return gradients(sum(square(gradients(sum(y * y * y), x))), x);
      },
      {}, 1e-5);
}

TEST_CASE("avg_pool: gradient") {
  test::check_gradients<tf::Shape<2, 5, 4, 3>>([](auto x) { return avg_pool<3, 2>(x); });
  test::check_gradients<tf::Shape<1, 4, 5, 2>>([](auto x) {
    auto y = avg_pool<3, 2, Padding::valid>(x);
    return gradients(sum(y * y * y), x);
  });
  test::check_gradients<tf::Shape<1, 3, 3, 2>>(
      [](auto x) {
        auto y = avg_pool<2, 1>(x);
        return gradients(sum(square(gradients(sum(y * y * y), x))), x);
      },
      {}, 1e-5);
}
