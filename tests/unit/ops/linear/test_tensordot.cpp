// SPDX-License-Identifier: Apache-2.0

// tensordot: against plain loops and TensorFlow's values.

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto a = tf::placeholder<float, 2, 3, 4>(g, "a");
  auto b = tf::placeholder<float, 4, 2, 3>(g, "b");
  auto rows = tf::placeholder<double, tf::batch, 5>(g, "rows");
  auto w = tf::placeholder<double, 5, 3>(g, "w");
  auto n = tf::placeholder<std::int32_t, 2, 3>(g, "n");
  auto m = tf::placeholder<std::int32_t, 0, 2>(g, "m");
  tf::tensordot<tf::Axes<2, 0>, tf::Axes<0, 1>>(a, b).named("two");
  tf::tensordot<tf::Axes<-1>, tf::Axes<-3>>(a, b).named("one");
  tf::tensordot<1>(a, b).named("last");
  tf::tensordot<1>(rows, w).named("matrices");
  tf::tensordot<0>(n, n).named("outer");
  tf::tensordot<2>(n, n).named("all");
  tf::tensordot<1>(m, n).named("none");
}

/// The products over `pairs` of axes, by coordinates.
tf::HostTensor dot(const tf::HostTensor& a, const tf::HostTensor& b,
                   const std::vector<std::pair<int, int>>& pairs) {
  std::vector<tf::Extent> extents;
  std::vector<int> of_a;
  std::vector<int> of_b;
  const auto has = [&](int axis, bool second) {
    for (const auto& [i, k] : pairs) {
      if ((second ? k : i) == axis) return true;
    }
    return false;
  };
  for (int i = 0; i < a.dims.rank; ++i) {
    if (!has(i, false)) of_a.push_back(i), extents.push_back(a.dims[i]);
  }
  for (int i = 0; i < b.dims.rank; ++i) {
    if (!has(i, true)) of_b.push_back(i), extents.push_back(b.dims[i]);
  }
  tf::HostTensor y = tf::host_tensor(a.dtype, test::dims(extents));
  std::vector<double> sums(static_cast<std::size_t>(y.size()));
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const auto ca = test::coordinates(i, a.dims);
    for (std::int64_t k = 0; k < b.size(); ++k) {
      const auto cb = test::coordinates(k, b.dims);
      bool meet = true;
      for (const auto& [p, q] : pairs) {
        meet = meet && ca[static_cast<std::size_t>(p)] == cb[static_cast<std::size_t>(q)];
      }
      if (!meet) continue;
      std::vector<std::int64_t> c;
      for (const int axis : of_a) c.push_back(ca[static_cast<std::size_t>(axis)]);
      for (const int axis : of_b) c.push_back(cb[static_cast<std::size_t>(axis)]);
      sums[static_cast<std::size_t>(test::position(c, y.dims))] += a.value(i) * b.value(k);
    }
  }
  for (std::int64_t i = 0; i < y.size(); ++i) y.set(i, sums[static_cast<std::size_t>(i)]);
  return y;
}

}  // namespace

TEST_CASE("tensordot: values") {
  for (const std::int64_t batch : {0, 1, 33}) {
    const tf::HostTensors f = test::random_feeds<model>(batch, 5);
    const auto& a = f.at("a");
    const auto& b = f.at("b");
    test::check_values<model>(f,
                              {{"two", dot(a, b, {{2, 0}, {0, 1}})},
                               {"one", dot(a, b, {{2, 0}})},
                               {"last", dot(a, b, {{2, 0}})},
                               {"matrices", dot(f.at("rows"), f.at("w"), {{1, 0}})},
                               {"outer", dot(f.at("n"), f.at("n"), {})},
                               {"all", dot(f.at("n"), f.at("n"), {{0, 0}, {1, 1}})},
                               {"none", dot(f.at("m"), f.at("n"), {{1, 0}})}},
                              1e-6);
  }
  // TensorFlow 2.21: tensordot(range(24), the rows of range(24) in reverse, [[2, 0], [0, 1]]).
  tf::HostTensors f = test::random_feeds<model>(1, 5);
  for (std::int64_t i = 0; i < 24; ++i) {
    f.at("a").set(i, static_cast<double>(i));
    f.at("b").set(i, static_cast<double>((3 - i / 6) * 6 + i % 6));
  }
  test::check_values<model>(
      f, {{"two", test::floats({3, 3}, {642, 702, 762, 978, 1070, 1162, 1314, 1438, 1562})}});
}

TEST_CASE("tensordot: gradient") {
  test::check_gradients<tf::Shape<2, 3, 2>, tf::Shape<2, 2>>(
      [](auto a, auto b) { return tf::tensordot<tf::Axes<2, 0>, tf::Axes<0, 1>>(a, b); });
}
