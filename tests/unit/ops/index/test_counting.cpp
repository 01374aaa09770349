// SPDX-License-Identifier: Apache-2.0

// searchsorted, histogram_fixed_width(_bins), percentile: against plain loops, std::lower_bound and
// values of numpy.

#include <array>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"
#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;
using tf::PercentileMethod;

constexpr void model(tf::Graph& g) {
  auto row = tf::placeholder<float, 37>(g, "row");
  auto rows = tf::placeholder<std::int32_t, tf::batch, 9>(g, "rows");
  auto values = tf::placeholder<float, tf::batch, 5>(g, "values");
  auto of_rows = tf::placeholder<std::int32_t, tf::batch, 7>(g, "of_rows");
  auto nothing = tf::placeholder<float, 0>(g, "nothing");
  auto low = tf::placeholder<double>(g, "low");
  searchsorted(row, values).named("left");
  searchsorted(row, values, {.right = true}).named("right");
  searchsorted(rows, of_rows).named("left_of_rows");
  searchsorted(rows, of_rows, {.right = true}).named("right_of_rows");
  searchsorted(nothing, values).named("in_nothing");
  tf::histogram_fixed_width_bins<5>(values, -1, 4).named("bins");
  tf::histogram_fixed_width<5>(values, -1, 4).named("histogram");
  tf::histogram_fixed_width<4>(of_rows, low, 5).named("histogram_of_ints");
  auto cube = tf::placeholder<double, 4, tf::batch, 6>(g, "cube");
  tf::percentile<0, 2>(cube, 37.5).named("linear");
  tf::percentile<0>(cube, 50, PercentileMethod::lower, tf::keep_dims).named("lower");
  tf::percentile<-1>(cube, 50, PercentileMethod::higher).named("higher");
  tf::percentile<-1>(cube, 65, PercentileMethod::nearest).named("nearest");
  tf::percentile<0>(cube, 90, PercentileMethod::midpoint).named("midpoint");
}

/// Percentiles of which runs tell q or the number of elements.
constexpr void of_runs(tf::Graph& g) {
  auto cube = tf::placeholder<double, 4, tf::batch, 6>(g, "cube");
  auto q = tf::placeholder<double>(g, "q");
  tf::percentile<1>(cube, q).named("linear");
  tf::percentile<0, 1>(cube, 30, PercentileMethod::lower).named("lower");
  tf::percentile<0>(cube, q, PercentileMethod::higher, tf::keep_dims).named("higher");
  tf::percentile<0>(cube, q, PercentileMethod::nearest).named("nearest");
  tf::percentile<1>(cube, q, PercentileMethod::midpoint).named("midpoint");
}

template <class F>
tf::HostTensor places(const tf::HostTensor& sorted, const tf::HostTensor& values, const F& find) {
  tf::HostTensor y = tf::host_tensor(tf::DType::int32, values.dims);
  const std::int64_t n = sorted.dims[sorted.dims.rank - 1];
  const std::int64_t each =
      sorted.dims.rank == 1 ? values.size() : values.dims[values.dims.rank - 1];
  for (std::int64_t i = 0; i < values.size(); ++i) {
    std::vector<double> row;
    for (std::int64_t k = 0; k < n; ++k) row.push_back(sorted.value(i / each * n + k));
    y.set(i, static_cast<double>(find(row, values.value(i)) - row.begin()));
  }
  return y;
}
const auto lower = [](const auto& row, double x) {
  return std::lower_bound(row.begin(), row.end(), x);
};
const auto upper = [](const auto& row, double x) {
  return std::upper_bound(row.begin(), row.end(), x);
};

/// The first bin whose upper edge is above x, or the last one.
tf::HostTensor bins(const tf::HostTensor& x, double low, double high, int n) {
  return test::map(
      x,
      [=](double e) {
        int bin = 0;
        while (bin + 1 < n && e >= low + (high - low) * (bin + 1) / n) ++bin;
        return bin;
      },
      tf::DType::int32);
}
tf::HostTensor counted(const tf::HostTensor& bins, int n) {
  tf::HostTensor y = tf::host_tensor(tf::DType::int32, test::dims({n}));
  for (std::int64_t i = 0; i < bins.size(); ++i) ++y[bins[i].integer].integer;
  return y;
}

tf::HostTensors feeds_of(std::int64_t batch) {
  test::Random random(static_cast<std::uint64_t>(batch));
  const auto numbers = [&](tf::DType type, const std::vector<tf::Extent>& extents) {
    tf::HostTensor x = tf::host_tensor(type, test::dims(extents));
    for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, random.below(17) / 2. - 3);
    return x;
  };
  const auto sort = [](tf::HostTensor x) {
    const std::int64_t n = x.dims[x.dims.rank - 1];
    for (std::int64_t row = 0; row < x.size() / n; ++row) {
      std::vector<double> e;
      for (std::int64_t i = 0; i < n; ++i) e.push_back(x.value(row * n + i));
      std::sort(e.begin(), e.end());
      for (std::int64_t i = 0; i < n; ++i) x.set(row * n + i, e[static_cast<std::size_t>(i)]);
    }
    return x;
  };
  return {
      {"row", sort(numbers(tf::DType::float32, {37}))},
      {"rows", sort(numbers(tf::DType::int32, {batch, 9}))},
      {"values", numbers(tf::DType::float32, {batch, 5})},
      {"of_rows", numbers(tf::DType::int32, {batch, 7})},
      {"nothing", tf::host_tensor(tf::DType::float32, test::dims({0}))},
      {"low", test::doubles({}, {-3})},
      {"cube", test::random_tensor(random, tf::DType::float64, test::dims({4, batch, 6}), -2, 2)}};
}

/// f of the sorted elements of each group; the group of an element is f's third argument.
template <class G, class F>
tf::HostTensor of_groups(const tf::HostTensor& x, const tf::Dims& shape, const G& group,
                         const F& f) {
  std::vector<std::vector<double>> groups(
      static_cast<std::size_t>(tf::count_of(shape).coefficient));
  for (std::int64_t i = 0; i < x.size(); ++i) {
    groups[static_cast<std::size_t>(group(test::coordinates(i, x.dims)))].push_back(x.value(i));
  }
  tf::HostTensor y = tf::host_tensor(x.dtype, shape);
  for (std::int64_t i = 0; i < y.size(); ++i) {
    std::vector<double>& e = groups[static_cast<std::size_t>(i)];
    std::sort(e.begin(), e.end());
    y.set(i, f(e));
  }
  return y;
}

void check(const std::vector<std::string>& names) {
  for (const std::int64_t batch : {1, 3, 40}) {
    CAPTURE(batch);
    const tf::HostTensors f = feeds_of(batch);
    const tf::HostTensor& row = f.at("row");
    const tf::HostTensor& rows = f.at("rows");
    const tf::HostTensor& values = f.at("values");
    const tf::HostTensor& cube = f.at("cube");
    using Elements = std::vector<double>;
    const auto by_batch = [](const auto& c) { return c[1]; };
    const auto by_column = [](const auto& c) { return c[1] * 6 + c[2]; };
    const auto by_row = [batch](const auto& c) { return c[0] * batch + c[1]; };
    const test::Outcome all = {
        {"left", places(row, values, lower)},
        {"right", places(row, values, upper)},
        {"left_of_rows", places(rows, f.at("of_rows"), lower)},
        {"right_of_rows", places(rows, f.at("of_rows"), upper)},
        {"in_nothing", tf::host_tensor(tf::DType::int32, values.dims)},
        {"bins", bins(values, -1, 4, 5)},
        {"histogram", counted(bins(values, -1, 4, 5), 5)},
        {"histogram_of_ints", counted(bins(f.at("of_rows"), -3, 5, 4), 4)},
        // Of 24 elements number 8.625, of 4 between 1 and 2, of 6 number 2.5 and 3.25.
        {"linear", of_groups(cube, test::dims({batch}), by_batch,
                             [](const Elements& e) { return 0.375 * e[8] + 0.625 * e[9]; })},
        {"lower", of_groups(cube, test::dims({1, batch, 6}), by_column,
                            [](const Elements& e) { return e[1]; })},
        {"higher",
         of_groups(cube, test::dims({4, batch}), by_row, [](const Elements& e) { return e[3]; })},
        {"nearest",
         of_groups(cube, test::dims({4, batch}), by_row, [](const Elements& e) { return e[3]; })},
        {"midpoint", of_groups(cube, test::dims({batch, 6}), by_column,
                               [](const Elements& e) { return (e[2] + e[3]) / 2; })}};
    test::Outcome expected;
    for (const std::string& name : names) expected[name] = all.at(name);
    test::check_values<model>(f, expected, 1e-14);
  }
}

/// The percentile of sorted elements as numpy's manual describes it.
double percentile(const std::vector<double>& e, double q, PercentileMethod method) {
  const double place = q / 100 * static_cast<double>(e.size() - 1);
  const double low = e[static_cast<std::size_t>(std::floor(place))];
  const double high = e[static_cast<std::size_t>(std::ceil(place))];
  switch (method) {
    case PercentileMethod::lower:
      return low;
    case PercentileMethod::higher:
      return high;
    case PercentileMethod::nearest:
      return e[static_cast<std::size_t>(std::nearbyint(place))];
    case PercentileMethod::midpoint:
      return (low + high) / 2;
    case PercentileMethod::linear:
      break;
  }
  return low + (high - low) * (place - std::floor(place));
}

/// What the interpreter makes of f(x).
template <class F>
std::vector<double> result_of(const std::vector<double>& x, const F& f) {
  tf::Graph g;
  f(tf::placeholder<double, 5>(g, "x")).named("y");
  return test::elements(tf::Interpreter(g).run({"y"}, {{"x", test::doubles({5}, x)}})[0]);
}

/// Percentile q of 0, 1, ..., N - 1, with q as a number and as a tensor.
template <tf::Extent N>
std::array<double, 2> of_numbers(double q, PercentileMethod method) {
  tf::Graph g;
  const auto x = tf::range<double, N>(g, 0, 1);
  tf::percentile(x, q, method).named("of_number");
  tf::percentile(x, tf::constant<double>(g, q), method).named("of_tensor");
  const auto y = tf::Interpreter(g).run({"of_number", "of_tensor"}, {});
  return {y[0].value(0), y[1].value(0)};
}

}  // namespace

TEST_CASE("searchsorted: values") {
  check({"left", "right", "left_of_rows", "right_of_rows", "in_nothing"});
  // numpy.searchsorted([1, 2, 2, inf, nan], [nan, 2, inf, -inf, 3], side)
  const auto run = [](bool right) {
    return result_of({1, 2, 2, INFINITY, NAN}, [right](auto x) {
      auto v = tf::constant<double, 5>(x.graph(), {NAN, 2, INFINITY, -INFINITY, 3});
      return searchsorted(x, tf::tile<4>(v), {.right = right});  // kernels take several at once
    });
  };
  const auto four_times = [](const std::vector<double>& places) {
    std::vector<double> all;
    for (int i = 0; i < 4; ++i) all.insert(all.end(), places.begin(), places.end());
    return all;
  };
  CHECK(run(false) == four_times({4, 1, 3, 0, 3}));
  CHECK(run(true) == four_times({5, 3, 4, 0, 3}));
}
TEST_CASE("histogram_fixed_width_bins: values") {
  check({"bins"});
  CHECK(result_of({28, 29, 57, 58, 99}, [](auto x) {
          return tf::histogram_fixed_width_bins<100>(x, 0, 100);
        }) == std::vector<double>{28, 29, 57, 58, 99});
  CHECK(result_of({-1e308, 0, 3.5e307, 8.5e307, INFINITY}, [](auto x) {
          return tf::histogram_fixed_width_bins<10>(x, 0, 1e308);
        }) == std::vector<double>{0, 0, 3, 8, 9});
}
TEST_CASE("histogram_fixed_width: values") {
  check({"histogram", "histogram_of_ints"});
  // Infinities are in the outer bins, NaN in none.
  CHECK(result_of({-INFINITY, 0.5, NAN, INFINITY, 1}, [](auto x) {
          return tf::histogram_fixed_width<2>(x, 0, 1);
        }) == std::vector<double>{1, 3});
}
TEST_CASE("percentile: values") {
  check({"linear", "lower", "higher", "nearest", "midpoint"});
  const std::vector<double> x = {15, 50, 20, 40, 35};
  const auto at = [&](double q, PercentileMethod method) {
    return result_of(x, [&](auto e) { return tf::percentile(e, q, method); })[0];
  };
  // numpy.percentile([15, 20, 35, 40, 50], q)
  CHECK(at(40, PercentileMethod::linear) == doctest::Approx(29));
  CHECK(at(0, PercentileMethod::linear) == 15);
  CHECK(at(100, PercentileMethod::higher) == 50);
  CHECK(at(37.5, PercentileMethod::nearest) == 35);  // number 1.5
  CHECK(at(62.5, PercentileMethod::nearest) == 35);  // number 2.5
  CHECK(std::isnan(result_of({1, 2, NAN, 4, 5}, [](auto e) { return tf::percentile(e, 0); })[0]));
  // 29 percent of 100 are 29 and 28 percent of 25 are 7, though 0.29 * 100 is less, 0.28 * 25 more.
  CHECK(of_numbers<101>(29, PercentileMethod::lower) == std::array{29., 29.});
  CHECK(of_numbers<101>(29, PercentileMethod::linear) == std::array{29., 29.});
  CHECK(of_numbers<26>(28, PercentileMethod::higher) == std::array{7., 7.});
}
TEST_CASE("percentile: values of which runs tell q or the number of elements") {
  for (const auto& [batch, q] :
       {std::pair{std::int64_t{1}, 50.}, {3, 50.}, {40, 37.5}, {5, 100.}, {6, 0.}}) {
    CAPTURE(batch);
    tf::HostTensors f = {{"cube", feeds_of(batch).at("cube")}, {"q", test::doubles({}, {q})}};
    const tf::HostTensor& cube = f.at("cube");
    const auto of = [](double at, PercentileMethod method) {
      return [=](const std::vector<double>& e) { return percentile(e, at, method); };
    };
    const auto by_place = [](const auto& c) { return c[0] * 6 + c[2]; };
    const auto by_column = [](const auto& c) { return c[1] * 6 + c[2]; };
    test::check_values<of_runs>(
        f,
        {{"linear", of_groups(cube, test::dims({4, 6}), by_place, of(q, PercentileMethod::linear))},
         {"lower", of_groups(
                       cube, test::dims({6}), [](const auto& c) { return c[2]; },
                       of(30, PercentileMethod::lower))},
         {"higher",
          of_groups(cube, test::dims({1, batch, 6}), by_column, of(q, PercentileMethod::higher))},
         {"nearest",
          of_groups(cube, test::dims({batch, 6}), by_column, of(q, PercentileMethod::nearest))},
         {"midpoint",
          of_groups(cube, test::dims({4, 6}), by_place, of(q, PercentileMethod::midpoint))}},
        1e-14);
  }
  const auto of_tensor = [](const std::vector<double>& x, double q) {
    return result_of(
        x, [q](auto e) { return tf::percentile(e, tf::constant<double>(e.graph(), q)); })[0];
  };
  CHECK(of_tensor({15, 50, 20, 40, 35}, 40) == doctest::Approx(29));  // numpy.percentile
  CHECK(of_tensor({1, INFINITY, 3, INFINITY, 2}, 90) == INFINITY);
  CHECK(of_tensor({1, INFINITY, 3, INFINITY, 2}, 50) == 3);
  CHECK(std::isnan(of_tensor({1, 2, NAN, 4, 5}, 0)));
}
TEST_CASE("percentile: gradient") {
  test::check_gradients<tf::Shape<5, 3>>([](auto x) { return square(tf::percentile<0>(x, 30)); });
  test::check_gradients<tf::Shape<5, 3>>(
      [](auto x) { return square(tf::percentile(x, 80, PercentileMethod::midpoint)); });
  // By elements and by q.
  test::check_gradients<tf::Shape<5, 3>, tf::Shape<>>(
      [](auto x, auto q) { return square(tf::percentile<0>(x, 30 + q)); });
}
TEST_CASE("percentile: errors") {
  CHECK_THROWS_WITH(result_of({1, 2, 3, 4, 5}, [](auto e) { return tf::percentile(e, 101); }),
                    doctest::Contains("percentile(x, q): q must be in [0, 100]"));
  for (const auto& [batch, q] :
       {std::pair{std::int64_t{3}, 100.1}, {3, -0.1}, {3, double{NAN}}, {0, 50.}}) {
    const tf::HostTensors f = {{"cube", test::random_feeds<of_runs>(batch).at("cube")},
                               {"q", test::doubles({}, {q})}};
    const std::string wrong = batch == 0 ? "percentile: x must have elements along the axes"
                                         : "percentile: q must be in [0, 100]";
    const auto check = [&](const std::string& message) {
      CAPTURE(message);
      CHECK(message.find(wrong) != message.npos);
    };
    check(message_of([&] { test::Kernels<of_runs>().run(f); }));
    tf::Graph graph;
    of_runs(graph);
    check(message_of([&] { tf::interpret(graph, f); }));
  }
}
