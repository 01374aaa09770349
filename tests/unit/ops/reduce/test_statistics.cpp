// SPDX-License-Identifier: Apache-2.0

// Counts of zeros, weighted moments, sums for moments, clipping by norms, crelu: against loops in
// double.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <tuple>

#include "typeflow/statistics.hpp"
#include "typeflow/testing.hpp"

namespace {

namespace tf = typeflow;
namespace testing = tf::testing;
using testing::Elements;
using testing::Inputs;

tf::HostTensor result(tf::DType type, const tf::Dims& dims, const std::function<double(int)>& f) {
  tf::HostTensor y = tf::host_tensor(type, dims);
  for (int i = 0; i < y.size(); ++i) y.set(i, f(i));
  return y;
}

/// The weighted mean and variance of the columns of (N,C) elements, weights (N,1).
struct OfColumns {
  const tf::HostTensor& x;
  const tf::HostTensor& w;
  bool weighted;
  std::int64_t columns = x.dims[1];
  double weight(std::int64_t row) const { return weighted ? w.value(row) : 1; }
  double sum(std::int64_t column, const std::function<double(double)>& f) const {
    double y = 0;
    for (std::int64_t r = 0; r < x.dims[0]; ++r) y += weight(r) * f(x.value(r * columns + column));
    return y;
  }
  double mean(std::int64_t c) const {
    return sum(c, [](double v) { return v; }) / sum(c, [](double) { return 1; });
  }
  double variance(std::int64_t c) const {
    const double m = mean(c);
    return sum(c, [&](double v) { return (v - m) * (v - m); }) / sum(c, [](double) { return 1; });
  }
};

double norm(const tf::HostTensor& x, std::int64_t begin, std::int64_t end) {
  double squares = 0;
  for (std::int64_t i = begin; i < end; ++i) squares += x.value(i) * x.value(i);
  return std::sqrt(squares);
}

}  // namespace

TEST_CASE("count_nonzero: values") {
  const auto check = testing::check_values<
      Elements<bool, std::int8_t, std::int32_t, std::uint64_t, float, double, tf::float16>,
      tf::Shape<tf::batch, 37>, tf::Shape<4, 0>, tf::Shape<1, 1>>(
      [](auto x) { return tf::count_nonzero<1>(x); },
      [](const tf::HostTensor& x) {
        const std::int64_t n = x.dims[1];
        return result(tf::DType::int64, {1, {x.dims[0]}}, [&](int i) {
          double count = 0;
          for (std::int64_t k = 0; k < n; ++k) {
            count += tf::is_floating(x.dtype) ? x.value(i * n + k) != 0 : x[i * n + k].integer != 0;
          }
          return count;
        });
      },
      {.ranges = {{-2, 3}}, .also = {0, -0., NAN, INFINITY}});
  INFO(check.worst);
  CHECK(check.largest_error == 0);
  const auto all = testing::check_values<tf::Shape<3, 5>>(
      [](auto x) { return tf::count_nonzero(x, tf::keep_dims); },
      [](const tf::HostTensor&) {
        return result(tf::DType::int64, {2, {1, 1}}, [](int) { return 13; });
      },
      {.ranges = {{1, 2}}, .also = {0, 3, -0.}});
  INFO(all.worst);
  CHECK(all.largest_error == 0);
}

TEST_CASE("zero_fraction: values") {
  const auto check = testing::check_values<Elements<float, double, std::int32_t>,
                                           tf::Shape<tf::batch, 37>, tf::Shape<>, tf::Shape<0>>(
      [](auto x) { return tf::zero_fraction(x); },
      [](const tf::HostTensor& x) {
        return result(tf::DType::float32, {}, [&](int) {
          double zeros = 0;
          for (std::int64_t i = 0; i < x.size(); ++i) {
            zeros += tf::is_floating(x.dtype) ? x.value(i) == 0 : x[i].integer == 0;
          }
          return static_cast<float>(zeros) / static_cast<float>(x.size());
        });
      },
      {.ranges = {{-2, 3}}, .also = {0, -0., NAN}});
  INFO(check.worst);
  CHECK(check.largest_error == 0);
}

TEST_CASE("weighted_moments: values") {
  const auto check_both = [](const auto& f, bool weighted, bool variance) {
    const auto check =
        testing::check_values<Elements<float, double, tf::float16>,
                              Inputs<tf::Shape<tf::batch, 7>, tf::Shape<tf::batch, 1>>>(
            f,
            [&](const tf::HostTensor& x, const tf::HostTensor& w) {
              const OfColumns of{x, w, weighted};
              return result(x.dtype, {1, {7}},
                            [&](int i) { return variance ? of.variance(i) : of.mean(i); });
            },
            {.ranges = {{-2, 2}, {0.5, 3}}, .batch = 19});
    INFO(check.worst);
    CHECK(check.largest_error <= 4);
  };
  check_both([](auto x, auto w) { return tf::weighted_moments<0>(x, w).mean; }, true, false);
  check_both([](auto x, auto w) { return tf::weighted_moments<0>(x, w).variance; }, true, true);
  check_both([](auto x, auto) { return tf::weighted_moments<0>(x, 2).variance; }, false, true);
}

TEST_CASE("weighted_moments: gradient") {
  const auto check = testing::check_gradients<tf::Shape<4, 3>, tf::Shape<4, 1>>([](auto x, auto w) {
    const auto [mean, variance] = tf::weighted_moments<0>(x, 3 + w, tf::keep_dims);
    return mean + variance;
  });
  INFO(check.worst);
  CHECK(check.largest_error < 1e-6);
}

TEST_CASE("sufficient_statistics: values") {
  const auto check_one = [](const auto& f, int power) {
    const auto check = testing::check_values<Elements<float, double>, tf::Shape<tf::batch, 7>>(
        f,
        [&](const tf::HostTensor& x) {
          const OfColumns of{x, x, false};
          return result(x.dtype, {1, {7}}, [&](int i) {
            return of.sum(i, [&](double v) { return std::pow(v - 0.5, power); });
          });
        },
        {.batch = 11});
    INFO(check.worst);
    CHECK(check.largest_error <= 8);
  };
  check_one([](auto x) { return tf::broadcast_to<7>(tf::sufficient_statistics<0>(x, 0.5).count); },
            0);
  check_one([](auto x) { return tf::sufficient_statistics<0>(x, 0.5).sum; }, 1);
  check_one([](auto x) { return tf::sufficient_statistics<0>(x, 0.5).squares; }, 2);
}

TEST_CASE("sufficient_statistics: gradient") {
  const auto check = testing::check_gradients<tf::Shape<4, 3>, tf::Shape<3>>([](auto x, auto s) {
    const auto sums = tf::sufficient_statistics<0>(x, s);
    return sums.sum * sums.squares / sums.count;
  });
  INFO(check.worst);
  CHECK(check.largest_error < 1e-5);
}

TEST_CASE("normalize_moments: values") {
  const auto check_both = [](const auto& f, bool variance) {
    const auto check = testing::check_values<Elements<float, double>, tf::Shape<tf::batch, 7>>(
        f,
        [&](const tf::HostTensor& x) {
          const OfColumns of{x, x, false};
          return result(x.dtype, {1, {7}},
                        [&](int i) { return variance ? of.variance(i) : of.mean(i); });
        },
        {.batch = 11});
    INFO(check.worst);
    CHECK(check.largest_error <= 8);
  };
  check_both(
      [](auto x) { return tf::normalize_moments(tf::sufficient_statistics<0>(x, 0.5), 0.5).mean; },
      false);
  check_both(
      [](auto x) {
        const auto s = tf::sufficient_statistics<0>(x);
        return tf::normalize_moments(s.count, s.sum, s.squares).variance;
      },
      true);
}

TEST_CASE("normalize_moments: gradient") {
  const auto check = testing::check_gradients<tf::Shape<3>, tf::Shape<3>>([](auto a, auto b) {
    const auto count = tf::constant<double>(a.graph(), 4);
    const auto [mean, variance] = tf::normalize_moments(count, a, b, 0.25);
    return mean * variance;
  });
  INFO(check.worst);
  CHECK(check.largest_error < 1e-6);
}

TEST_CASE("clip_by_norm: values") {
  const auto rows =
      testing::check_values<Elements<float, double, tf::bfloat16>, tf::Shape<tf::batch, 37>,
                            tf::Shape<2, 1>, tf::Shape<3, 0>>(
          [](auto x) { return tf::clip_by_norm<1>(x, 1.5); },
          [](const tf::HostTensor& x) {
            const std::int64_t n = x.dims[1];
            return result(x.dtype, x.dims, [&](int i) {
              const std::int64_t row = i / n * n;
              return x.value(i) * 1.5 / std::max(norm(x, row, row + n), 1.5);
            });
          },
          {.ranges = {{-0.5, 0.5}}, .also = {3, 0, -0.}});
  INFO(rows.worst);
  CHECK(rows.largest_error <= 2);
  const auto all = testing::check_values<Inputs<tf::Shape<3, 5>, tf::Shape<>>>(
      [](auto x, auto limit) { return tf::clip_by_norm(0 * x, 1 + limit); },
      [](double x, double) { return 0 * x; });
  INFO(all.worst);
  CHECK(all.largest_error == 0);
}

TEST_CASE("clip_by_norm, clip_by_global_norm: what fits stays as it is") {
  for (const double limit : {49., 1e200, 1e-12, double{INFINITY}}) {
    CAPTURE(limit);
    tf::Graph g;
    auto x = tf::placeholder<double, 2>(g, "x");
    auto most = tf::constant<double>(g, limit);
    auto one = tf::clip_by_norm(x, most).named("one");
    auto all = std::get<0>(tf::clip_by_global_norm(std::tuple{x}, most).tensors).named("all");
    gradients(sum(one), x).named("of_one");
    gradients(sum(all), x).named("of_all");
    for (const double scale : {1e-13, 1e-300, 1e100, 0.}) {
      if (scale > limit) continue;
      const std::vector<double> elements = {0.1 * scale, 0.3 * scale};
      tf::HostTensor input = tf::host_tensor(tf::DType::float64, {1, {2}});
      for (int i = 0; i < 2; ++i) input.set(i, elements[static_cast<std::size_t>(i)]);
      const auto y = tf::Interpreter(g).run({"one", "all", "of_one", "of_all"}, {{"x", input}});
      for (int i = 0; i < 2; ++i) {
        CHECK(y[0].value(i) == input.value(i));
        CHECK(y[1].value(i) == input.value(i));
        CHECK(y[2].value(i) == 1);
        CHECK(y[3].value(i) == 1);
      }
    }
  }
}

TEST_CASE("clip_by_norm: gradient") {
  const auto check = testing::check_gradients<tf::Shape<2, 3>, tf::Shape<>>([](auto x, auto limit) {
    return tf::clip_by_norm<1>(x, 3 + limit) + tf::clip_by_norm(x, 2);
  });
  INFO(check.worst);
  CHECK(check.largest_error < 1e-6);
}

TEST_CASE("clip_by_global_norm: values") {
  const auto check_limit = [](const auto& f, double limit) {
    const auto check =
        testing::check_values<Elements<float, double>, Inputs<tf::Shape<3, 5>, tf::Shape<4>>>(
            f, [&](const tf::HostTensor& a, const tf::HostTensor& b) {
              const double total = std::hypot(norm(a, 0, a.size()), norm(b, 0, b.size()));
              const double scale = limit / std::max(total, limit);
              return result(a.dtype, {1, {20}}, [&](int i) {
                return i == 19 ? total : scale * (i < 15 ? a.value(i) : b.value(i - 15));
              });
            });
    INFO(check.worst);
    CHECK(check.largest_error <= 4);
  };
  const auto joined = [](const auto& clipped) {
    const auto& [a, b] = clipped.tensors;
    return tf::concat<0>(tf::reshape<15>(a), b, tf::reshape<1>(clipped.norm));
  };
  static_assert(std::is_empty_v<decltype(joined)>);
  check_limit(
      [](auto a, auto b) {
        return decltype(joined){}(tf::clip_by_global_norm(std::tuple{a, b}, 0.5));
      },
      0.5);
  check_limit(
      [](auto a, auto b) {
        return decltype(joined){}(tf::clip_by_global_norm(std::tuple{a, b}, 100));
      },
      100);
}
TEST_CASE("clip_by_global_norm: values of an infinite norm") {
  const auto check = testing::check_values<Elements<float, tf::float16>, tf::Shape<6>>(
      [](auto x) { return std::get<0>(tf::clip_by_global_norm(std::tuple{x}, 1).tensors); },
      [](double) { return NAN; }, {.also = {INFINITY}});
  INFO(check.worst);
  CHECK(check.largest_error == 0);
}

TEST_CASE("clip_by_global_norm: gradient") {
  const auto check = testing::check_gradients<tf::Shape<3>, tf::Shape<3>>([](auto a, auto b) {
    const auto [tensors, norm] = tf::clip_by_global_norm(std::tuple{a, b}, 0.5);
    return std::get<0>(tensors) * std::get<1>(tensors) + norm;
  });
  INFO(check.worst);
  CHECK(check.largest_error < 1e-6);
}

TEST_CASE("crelu: values") {
  const auto check = testing::check_values<Elements<float, double, std::int32_t>,
                                           tf::Shape<tf::batch, 37>, tf::Shape<2, 0>>(
      [](auto x) { return tf::crelu(x); },
      [](const tf::HostTensor& x) {
        const std::int64_t n = x.dims[1];
        return result(x.dtype, {2, {x.dims[0], 2 * n}}, [&](int i) {
          const std::int64_t c = i % (2 * n);
          const tf::Number& e = x[i / (2 * n) * n + c % n];
          const double v = tf::is_floating(x.dtype) ? e.real : static_cast<double>(e.integer);
          const double y = c < n ? v : -v;
          return y > 0 || std::isnan(y) ? y : 0.;
        });
      },
      {.ranges = {{-3, 4}}, .also = {0, INFINITY, -INFINITY, NAN}});
  INFO(check.worst);
  CHECK(check.largest_error == 0);
}
TEST_CASE("crelu: gradient") {
  const auto check =
      testing::check_gradients<tf::Shape<2, 3>>([](auto x) { return tf::crelu<0>(x); });
  INFO(check.worst);
  CHECK(check.largest_error < 1e-6);
}
