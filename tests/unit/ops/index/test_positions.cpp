// SPDX-License-Identifier: Apache-2.0

// invert_permutation, unravel_index, setdiff1d, unique_with_counts: against plain loops and
// TensorFlow's values.

#include <limits>
#include <string>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;
using test::Outcome;

constexpr void permutations(tf::Graph& g) {
  invert_permutation(tf::placeholder<std::int32_t, tf::batch>(g, "i")).named("inverse_i");
  invert_permutation(tf::placeholder<std::int64_t, tf::batch>(g, "l")).named("inverse_l");
}
tf::HostTensor permutation(tf::DType type, std::int64_t n) {
  tf::HostTensor x = tf::host_tensor(type, test::dims({n}));
  for (std::int64_t i = 0; i < n; ++i) x[i].integer = (i * 7 + 3) % n;  // 7 does not divide n
  return x;
}
tf::HostTensor inverse(const tf::HostTensor& x) {
  tf::HostTensor y = x;
  for (std::int64_t i = 0; i < x.size(); ++i) y[x[i].integer].integer = i;
  return y;
}

constexpr void coordinates(tf::Graph& g) {
  auto i = tf::placeholder<std::int32_t, 4>(g, "i");
  auto b = tf::placeholder<std::uint8_t, 2, 3>(g, "b");
  auto l = tf::placeholder<std::int64_t, tf::batch>(g, "l");
  auto s = tf::placeholder<std::int32_t>(g, "s");
  auto none = tf::placeholder<std::int32_t, 0>(g, "none");
  tf::unravel_index<3, 4>(i).named("of_i");
  tf::unravel_index<2, 3, 5>(b).named("of_b");
  tf::unravel_index<tf::batch, 2>(l).named("of_l");
  tf::unravel_index<7>(s).named("of_s");
  tf::unravel_index<3, 0>(none).named("of_none");
}

template <class T>
constexpr void lists(tf::Graph& g) {
  auto x = tf::placeholder<T, tf::batch>(g, "x");
  auto y = tf::placeholder<T, 5>(g, "y");
  auto none = tf::placeholder<T, 0>(g, "none");
  const auto name = [](const auto& d, tf::Label values, tf::Label index, tf::Label count) {
    d.values.named(values);
    d.index.named(index);
    d.count.named(count);
  };
  name(setdiff1d(x, y), "values", "index", "count");
  name(setdiff1d(x, none), "all_values", "all_index", "all_count");
  name(setdiff1d(none, x), "no_values", "no_index", "no_count");
  const auto u = unique_with_counts(x);
  name(u, "unique_values", "unique_index", "unique_count");
  u.counts.named("counts");
  tf::unique_with_counts<4>(y).counts.named("counts_of_y");
}

Outcome difference(const tf::HostTensor& x, const tf::HostTensor& y, const std::string& prefix) {
  tf::HostTensor values = tf::host_tensor(x.dtype, x.dims);
  tf::HostTensor index = tf::host_tensor(tf::DType::int32, x.dims);
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    bool found = false;
    for (std::int64_t k = 0; k < y.size(); ++k) found = found || x.value(i) == y.value(k);
    if (found) continue;
    values[count] = x[i];
    index[count++].integer = i;
  }
  return {{prefix + "values", values},
          {prefix + "index", index},
          {prefix + "count", test::ints({}, {static_cast<double>(count)})}};
}
Outcome counted(const tf::HostTensor& x) {
  tf::HostTensor values = tf::host_tensor(x.dtype, x.dims);
  tf::HostTensor index = tf::host_tensor(tf::DType::int32, x.dims);
  tf::HostTensor counts = index;
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    std::int64_t k = 0;
    while (k < count && !(values.value(k) == x.value(i))) ++k;
    if (k == count) values[count++] = x[i];
    index[i].integer = k;
    ++counts[k].integer;
  }
  return {{"unique_values", values},
          {"unique_index", index},
          {"counts", counts},
          {"unique_count", test::ints({}, {static_cast<double>(count)})}};
}

template <class T>
void check_lists(const tf::HostTensor& x, const tf::HostTensor& y) {
  const tf::HostTensor none = tf::host_tensor(x.dtype, test::dims({0}));
  Outcome all = difference(x, y, "");
  all.merge(difference(x, none, "all_"));
  all.merge(difference(none, x, "no_"));
  all.merge(counted(x));
  std::vector<std::vector<double>> groups;
  for (std::int64_t i = 0; i < y.size(); ++i) {
    bool known = false;
    for (auto& group : groups) {
      if (group[0] != y.value(i)) continue;
      group.push_back(y.value(i));
      known = true;
    }
    if (!known) groups.push_back({y.value(i)});
  }
  tf::HostTensor counts = tf::host_tensor(tf::DType::int32, test::dims({4}));
  for (std::size_t i = 0; i < groups.size(); ++i) {
    counts.set(static_cast<std::int64_t>(i), static_cast<double>(groups[i].size()));
  }
  all["counts_of_y"] = counts;
  test::check_values<lists<T>>({{"x", x}, {"y", y}, {"none", none}}, all);
}
tf::HostTensor list_of(tf::DType type, const std::vector<double>& x) {
  tf::HostTensor t = tf::host_tensor(type, test::dims({static_cast<std::int64_t>(x.size())}));
  for (std::int64_t i = 0; i < t.size(); ++i) t.set(i, x[static_cast<std::size_t>(i)]);
  return t;
}

template <auto Model>
void check_error(const tf::HostTensors& feeds, const std::string& name, const char* text) {
  CAPTURE(name);
  test::Kernels<Model> kernels;
  CHECK_THROWS_WITH_AS(kernels.run(feeds), doctest::Contains(text), tf::Error);
  tf::Graph g;
  Model(g);
  CHECK_THROWS_WITH_AS(tf::Interpreter(g).run({name}, feeds), doctest::Contains(text), tf::Error);
}

constexpr void one_permutation(tf::Graph& g) {
  invert_permutation(tf::placeholder<std::int32_t, 5>(g, "x")).named("y");
}
constexpr void one_index(tf::Graph& g) {
  tf::unravel_index<3, 4>(tf::placeholder<std::int32_t, 2, 2>(g, "x")).named("y");
}
constexpr void few(tf::Graph& g) {
  tf::unique_with_counts<2>(tf::placeholder<float, 4>(g, "x")).counts.named("y");
}

}  // namespace

TEST_CASE("invert_permutation: values") {
  for (const std::int64_t n : {0, 1, 2, 5, 300}) {
    const tf::HostTensor i = permutation(tf::DType::int32, n);
    const tf::HostTensor l = permutation(tf::DType::int64, n);
    test::check_values<permutations>({{"i", i}, {"l", l}},
                                     {{"inverse_i", inverse(i)}, {"inverse_l", inverse(l)}});
  }
  // TensorFlow 2.21.
  const tf::HostTensor x = test::ints({5}, {3, 4, 0, 2, 1});
  test::check_values<one_permutation>({{"x", x}}, {{"y", test::ints({5}, {2, 4, 3, 0, 1})}});
}

TEST_CASE("invert_permutation: errors") {
  check_error<one_permutation>({{"x", test::ints({5}, {0, 1, 5, 3, 4})}}, "y",
                               "invert_permutation: element 5 at [2] is not in [0, 5)");
  check_error<one_permutation>({{"x", test::ints({5}, {0, -1, 2, 3, 4})}}, "y",
                               "invert_permutation: element -1 at [1] is not in [0, 5)");
  check_error<one_permutation>({{"x", test::ints({5}, {0, 3, 2, 3, 4})}}, "y",
                               "invert_permutation: 3 is at [1] and at [3]");
}

TEST_CASE("unravel_index: values") {
  for (const std::int64_t batch : {1, 3, 40}) {
    tf::HostTensor l = tf::host_tensor(tf::DType::int64, test::dims({batch}));
    tf::HostTensor of_l = tf::host_tensor(tf::DType::int64, test::dims({2, batch}));
    for (std::int64_t i = 0; i < batch; ++i) {
      l[i].integer = 2 * batch - 1 - i;
      of_l[i].integer = l[i].integer / 2;
      of_l[batch + i].integer = l[i].integer % 2;
    }
    tf::HostTensor b = tf::host_tensor(tf::DType::uint8, test::dims({2, 3}));
    tf::HostTensor of_b = tf::host_tensor(tf::DType::uint8, test::dims({3, 2, 3}));
    for (std::int64_t i = 0; i < 6; ++i) {
      b[i].integer = 5 * i + 4;
      of_b[i].integer = (5 * i + 4) / 15;
      of_b[6 + i].integer = (5 * i + 4) / 5 % 3;
      of_b[12 + i].integer = 4;
    }
    test::check_values<coordinates>(
        {{"i", test::ints({4}, {2, 5, 7, 11})},
         {"b", b},
         {"l", l},
         {"s", test::ints({}, {6})},
         {"none", test::ints({0}, {})}},
        {{"of_i", test::ints({2, 4}, {0, 1, 1, 2, 2, 1, 3, 3})},  // TensorFlow 2.21
         {"of_b", of_b},
         {"of_l", of_l},
         {"of_s", test::ints({1}, {6})},
         {"of_none", test::ints({2, 0}, {})}});
  }
}

TEST_CASE("unravel_index: errors") {
  check_error<one_index>({{"x", test::ints({2, 2}, {0, 11, 12, 1})}}, "y",
                         "unravel_index: index 12 at [1, 0] is not in [0, 12)");
  check_error<one_index>({{"x", test::ints({2, 2}, {0, 11, 1, -1})}}, "y",
                         "unravel_index: index -1 at [1, 1] is not in [0, 12)");
}

TEST_CASE("setdiff1d: values") {
  const auto difference_of = [](const std::vector<double>& x) {
    check_lists<std::int32_t>(list_of(tf::DType::int32, x),
                              list_of(tf::DType::int32, {1, 3, 5, 5, -7}));
    check_lists<double>(list_of(tf::DType::float64, x),
                        list_of(tf::DType::float64, {1, 3, 5, 5, -7}));
  };
  difference_of({});
  difference_of({5});
  difference_of({4});
  difference_of({1, 2, 3, 4, 5, 6, 2});  // TensorFlow: 2 4 6 2 at 1 3 5 6
  std::vector<double> many;
  for (int i = 0; i < 200; ++i) many.push_back((i * i) % 23 - 9);
  difference_of(many);

  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  check_lists<double>(list_of(tf::DType::float64, {-0., nan, infinity, -infinity, nan, 0, 5e-324}),
                      list_of(tf::DType::float64, {0, nan, infinity, 1, 1}));
}

TEST_CASE("setdiff1d: gradient") {
  test::check_gradients<tf::Shape<4>>([](auto x) {
    auto y = tf::constant<double, 1>(x.graph(), {100});
    return setdiff1d(x, y).values;
  });
}

TEST_CASE("unique_with_counts: values") {
  for (const int size : {0, 1, 9, 100}) {
    std::vector<double> x;
    for (int i = 0; i < size; ++i) x.push_back((i * i) % 7);
    check_lists<std::int32_t>(list_of(tf::DType::int32, x),
                              list_of(tf::DType::int32, {1, 2, 1, 4, 8}));
  }
}

TEST_CASE("unique_with_counts: errors") {
  check_error<few>({{"x", test::floats({4}, {1, 2, 2, 3})}}, "y",
                   "unique: expected at most 2 distinct elements, got another one at [3]");
}
