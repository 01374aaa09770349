// SPDX-License-Identifier: Apache-2.0

// fractional_max_pool, fractional_avg_pool: TensorFlow's values for its regions, plain loops for
// the regions that were drawn, and the regions themselves.

#include <algorithm>
#include <limits>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;

/// The pools of TensorFlow's regions.
constexpr void given(tf::Graph& g) {
  auto x = tf::placeholder<float, 1, 7, 6, 1>(g, "x");
  const tf::AnyExpr rows = tf::constant<std::int64_t, 5>(g, {0, 1, 3, 5, 7}).any();
  const tf::AnyExpr columns = tf::constant<std::int64_t, 4>(g, {0, 2, 4, 6}).any();
  const auto pool = [&](bool is_max, bool overlapping, tf::Label name) {
    const tf::AnyExpr y = tf::detail::fractional_pool(x.any(), rows, columns, is_max, overlapping);
    tf::Expr<float, tf::Shape<1, 4, 3, 1>>(g, y.id).named(name);
  };
  pool(true, false, "max");
  pool(true, true, "max_over");
  pool(false, false, "avg");
  pool(false, true, "avg_over");
}

constexpr void drawn(tf::Graph& g) {
  auto x = tf::placeholder<double, tf::batch, 11, 25, 3>(g, "x");
  auto n = tf::placeholder<std::int32_t, tf::batch, 6, 4, 1>(g, "n");
  const auto name = [](const auto& p, tf::Label values, tf::Label rows, tf::Label columns) {
    p.values.named(values);
    p.rows.named(rows);
    p.columns.named(columns);
  };
  name(tf::fractional_max_pool<7, 18>(x), "max", "max_rows", "max_columns");
  name(tf::fractional_avg_pool<7, 18>(x, {.pseudo_random = true, .overlapping = true}), "avg",
       "avg_rows", "avg_columns");
  name(tf::fractional_max_pool<3, 4>(n, {.pseudo_random = true}), "even", "even_rows",
       "even_columns");
}

/// Pools by ratio, and those that draw once.
constexpr void by_ratio(tf::Graph& g) {
  auto x = tf::placeholder<float, 2, 25, 36, 3>(g, "x");
  const auto name = [](const auto& p, tf::Label values, tf::Label rows, tf::Label columns) {
    using Values = decltype(p.values);
    static_assert(Values::type.dims == tf::Dims{4, {2, 17, 20, 3}});
    p.values.named(values);
    p.rows.named(rows);
    p.columns.named(columns);
  };
  name(tf::fractional_max_pool<tf::PoolingRatio(1.44, 1.73)>(x), "max", "max_rows", "max_columns");
  name(tf::fractional_avg_pool<tf::PoolingRatio(1.44, 1.8)>(
           x, {.pseudo_random = true, .overlapping = true, .deterministic = true}),
       "avg", "avg_rows", "avg_columns");
}

tf::HostTensor pooled(const tf::HostTensor& x, const tf::HostTensor& rows,
                      const tf::HostTensor& columns, bool is_max, bool overlapping) {
  const std::int64_t heights = rows.size() - 1;
  const std::int64_t widths = columns.size() - 1;
  const std::int64_t channels = x.dims[3];
  tf::HostTensor y = tf::host_tensor(x.dtype, test::dims({x.dims[0], heights, widths, channels}));
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const auto c = test::coordinates(i, y.dims);
    const auto end = [&](const tf::HostTensor& borders, std::int64_t region, std::int64_t most) {
      return std::min(borders[region + 1].integer + overlapping, most);
    };
    double sum = 0;
    double largest = -std::numeric_limits<double>::infinity();
    double count = 0;
    for (std::int64_t h = rows[c[1]].integer; h < end(rows, c[1], x.dims[1]); ++h) {
      for (std::int64_t w = columns[c[2]].integer; w < end(columns, c[2], x.dims[2]); ++w) {
        const double e = x.value(test::position({c[0], h, w, c[3]}, x.dims));
        sum += e;
        largest = std::max(largest, e);
        ++count;
      }
    }
    y.set(i, is_max ? largest : sum / count);
  }
  return y;
}

/// Whether borders begin at 0, end at the length, and have sizes of the ratio, rounded.
bool are_borders(const tf::HostTensor& borders, std::int64_t length) {
  const std::int64_t size = length / (borders.size() - 1);
  bool fit = borders[0].integer == 0 && borders[borders.size() - 1].integer == length;
  for (std::int64_t i = 1; i < borders.size(); ++i) {
    const std::int64_t d = borders[i].integer - borders[i - 1].integer;
    fit = fit && (d == size || d == size + 1);
  }
  return fit;
}

void check_given(bool is_max) {
  std::vector<double> x;
  for (int i = 0; i < 42; ++i) x.push_back(i * 37 % 41);
  const auto y = [](const std::vector<double>& e) { return test::floats({1, 4, 3, 1}, e); };
  // TensorFlow 2.21: tf.nn.fractional_max_pool(x, [1, 1.6, 1.8, 1], ...).
  const test::Outcome of_max = {{"max", y({37, 33, 25, 34, 26, 38, 27, 39, 35, 40, 36, 28})},
                                {"max_over", y({37, 33, 38, 34, 39, 38, 40, 39, 35, 40, 36, 28})}};
  const test::Outcome of_avg = {
      {"avg", y({18.5, 31, 23, 23.5, 15.5, 17.75, 16.5, 18.75, 21, 19.75, 22, 14})},
      {"avg_over", y({18.1666660309, 17, 21.25, 16.3333339691, 17.4444446564, 22.8333339691,
                      18.4444446564, 24.1111106873, 22.6666660309, 21.1666660309, 20, 14})}};
  test::check_values<given>({{"x", test::floats({1, 7, 6, 1}, x)}}, is_max ? of_max : of_avg, 1e-6);
}

void check_drawn(const char* values, bool is_max, bool overlapping) {
  for (const std::int64_t batch : {0, 1, 2}) {
    const tf::HostTensors feeds = test::random_feeds<drawn>(batch);
    const test::Outcome got = test::Kernels<drawn>(3).run(feeds);
    tf::Graph g;
    drawn(g);
    const tf::HostTensors meant = tf::interpret(g, feeds, {}, {7, 0});
    const std::string name = values;
    const tf::HostTensor& x = feeds.at(name == "even" ? "n" : "x");
    const tf::HostTensor& rows = got.at(name + "_rows");
    const tf::HostTensor& columns = got.at(name + "_columns");
    CHECK(are_borders(rows, x.dims[1]));
    CHECK(are_borders(columns, x.dims[2]));
    for (const char* part : {"", "_rows", "_columns"}) {
      test::check_close(name + part, got.at(name + part), meant.at(name + part), 1e-14);
    }
    test::check_close(name, got.at(name), pooled(x, rows, columns, is_max, overlapping), 1e-14);
  }
}

}  // namespace

TEST_CASE("fractional_max_pool: values") {
  check_given(true);
  check_drawn("max", true, false);
  check_drawn("even", true, false);
}

TEST_CASE("fractional_avg_pool: values") {
  check_given(false);
  check_drawn("avg", false, true);
}

TEST_CASE("the borders of fractional pools are valid for all sizes, and change from run to run") {
  for (const std::uint32_t pseudo_random : {0u, 1u}) {
    for (std::int64_t length = 1; length < 40; ++length) {
      for (std::int64_t regions = 1; regions <= length; ++regions) {
        const tf::ops::PoolingSequence op{{}, 3, 5, length, pseudo_random, 0};
        for (std::uint64_t draw = 0; draw < 20; ++draw) {
          tf::HostTensor y = tf::host_tensor(tf::DType::int64, test::dims({regions + 1}));
          op.draw({1, draw}, regions,
                  [&](std::int64_t i, std::int64_t border) { y[i].integer = border; });
          CAPTURE(length);
          CAPTURE(regions);
          REQUIRE(are_borders(y, length));
        }
      }
    }
  }
  // Of 3 regions of 4 elements each one is the larger one a third of the time.
  int larger[3] = {};
  for (std::uint64_t draw = 0; draw < 3000; ++draw) {
    std::int64_t last = 0;
    const tf::ops::PoolingSequence op{{}, 3, 5, 4, 0, 0};
    op.draw({1, draw}, 3, [&](std::int64_t i, std::int64_t border) {
      if (i > 0) larger[i - 1] += border - last == 2;
      last = border;
    });
  }
  for (const int times : larger) CHECK(std::abs(times - 1000) < 120);  // more than four deviations
}

TEST_CASE("the extents of pools by ratio are TensorFlow's") {
  // tf.nn.fractional_max_pool(zeros([1, n, n, 1]), [1, ratio, ratio, 1]) of TensorFlow 2.21
  const float ratios[] = {1, 1.2f, 1.25f, 1.44f, 1.73f, 1.8f, 2, 1.0001f, 1.3f};
  const tf::Extent sizes[][10] = {
      {2, 2, 1, 1, 1, 1, 1, 1, 1, 1},           {3, 3, 2, 2, 2, 1, 1, 1, 2, 2},
      {6, 6, 5, 4, 4, 3, 3, 3, 5, 4},           {7, 7, 5, 5, 4, 4, 3, 3, 6, 5},
      {10, 10, 8, 8, 6, 5, 5, 5, 9, 7},         {25, 25, 20, 20, 17, 14, 13, 12, 24, 19},
      {28, 28, 23, 22, 19, 16, 15, 14, 27, 21}, {36, 36, 29, 28, 24, 20, 20, 18, 35, 27}};
  for (const auto& row : sizes) {
    for (int i = 0; i < 9; ++i) {
      CHECK(tf::detail::pooled_extent(row[0], ratios[i]) == row[i + 1]);
    }
  }
}

TEST_CASE("fractional pools by ratio, and deterministic ones") {
  const tf::HostTensors feeds = test::random_feeds<by_ratio>(2);
  test::Kernels<by_ratio> kernels(3);
  test::Outcome first;
  bool same = true;
  for (int run = 0; run < 5; ++run) {
    const test::Outcome got = kernels.run(feeds);
    const auto check = [&](const std::string& name, bool is_max, bool overlapping) {
      const tf::HostTensor& rows = got.at(name + "_rows");
      const tf::HostTensor& columns = got.at(name + "_columns");
      CHECK(are_borders(rows, 25));
      CHECK(are_borders(columns, 36));
      test::check_close(name, got.at(name),
                        pooled(feeds.at("x"), rows, columns, is_max, overlapping), 1e-6);
    };
    check("max", true, false);
    check("avg", false, true);
    if (run == 0) first = got;
    for (const char* part : {"avg_rows", "avg_columns"}) {
      CHECK(test::elements(got.at(part)) == test::elements(first.at(part)));
    }
    same = same && test::elements(got.at("max_rows")) == test::elements(first.at("max_rows"));
  }
  CHECK(!same);  // the others draw in each run
  tf::Graph g;
  by_ratio(g);
  const tf::HostTensors meant = tf::interpret(g, feeds, {}, {7, 0});
  for (const auto& [name, x] : first) {
    CAPTURE(name);
    if (!feeds.contains(name)) test::check_close(name, x, meant.at(name), 1e-6);
  }
  // Another seed has other regions.
  const tf::HostTensors other = tf::interpret(g, feeds, {}, {8, 0});
  CHECK(test::elements(other.at("avg_rows")) != test::elements(first.at("avg_rows")));
}

TEST_CASE("fractional_max_pool: gradient") {
  test::check_gradients<tf::Shape<1, 4, 3, 2>>(
      [](auto x) { return tf::fractional_max_pool<2, 3>(x, {.overlapping = true}).values; });
}

TEST_CASE("fractional_avg_pool: gradient") {
  test::check_gradients<tf::Shape<1, 4, 4, 2>>(
      [](auto x) { return tf::fractional_avg_pool<2, 2>(x, {.overlapping = true}).values; });
}
