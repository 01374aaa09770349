// SPDX-License-Identifier: Apache-2.0

// dynamic_partition and dynamic_stitch.

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;
using test::Outcome;

// References.

/// The rows of x whose partition is `part`, and their number. x is seen as (partitions, rest).
std::pair<tf::HostTensor, tf::HostTensor> rows_of(const tf::HostTensor& x,
                                                  const tf::HostTensor& partitions, int part,
                                                  std::int64_t bound) {
  std::int64_t width = 1;
  tf::Dims dims{1, {bound}};
  for (int i = partitions.dims.rank; i < x.dims.rank; ++i) {
    width *= x.dims.extent[i];
    dims.append(x.dims.extent[i]);
  }
  tf::HostTensor rows = tf::host_tensor(x.dtype, dims);
  std::int64_t count = 0;
  for (std::int64_t p = 0; p < partitions.size(); ++p) {
    if (partitions[p].integer != part) continue;
    for (std::int64_t i = 0; i < width; ++i) rows[count * width + i] = x[p * width + i];
    ++count;
  }
  return {rows, test::ints({}, {static_cast<double>(count)})};
}

/// Row i of data goes to indices[i], for one pair after the other.
tf::HostTensor stitched(const std::vector<tf::HostTensor>& indices,
                        const std::vector<tf::HostTensor>& data, std::int64_t extent) {
  tf::Dims dims{1, {extent}};
  std::int64_t width = 1;
  for (int i = indices[0].dims.rank; i < data[0].dims.rank; ++i) {
    width *= data[0].dims.extent[i];
    dims.append(data[0].dims.extent[i]);
  }
  tf::HostTensor out = tf::host_tensor(data[0].dtype, dims);
  for (std::size_t k = 0; k < indices.size(); ++k) {
    for (std::int64_t row = 0; row < indices[k].size(); ++row) {
      const std::int64_t place = indices[k][row].integer;
      if (place == -1) continue;
      for (std::int64_t i = 0; i < width; ++i) out[place * width + i] = data[k][row * width + i];
    }
  }
  return out;
}

// Models.

template <class T, class P, class S, tf::Extent... D>
constexpr void split(tf::Graph& g, std::type_identity<tf::Shape<D...>>) {
  auto partitions = test::input<P, S>(g, "partitions");
  auto x = tf::placeholder<T, D...>(g, "x");
  const auto parts = tf::dynamic_partition<3>(x, partitions);
  for (int i = 0; i < 3; ++i) {
    parts[static_cast<std::size_t>(i)].values.named({"values", i});
    parts[static_cast<std::size_t>(i)].count.named({"count", i});
  }
}
template <class T, class P, class S, class X>
constexpr void split(tf::Graph& g) {
  split<T, P, S>(g, std::type_identity<X>());
}

template <class T, class P, class S, class X>
void check_split(std::int64_t batch) {
  constexpr auto model = split<T, P, S, X>;
  tf::HostTensors feeds = test::random_feeds<model>(batch);
  for (tf::Number& p : feeds.at("partitions").elements) p.integer %= 3;
  Outcome expected;
  const tf::HostTensor& partitions = feeds.at("partitions");
  for (int i = 0; i < 3; ++i) {
    const std::string suffix = '_' + std::to_string(i);
    const auto [rows, count] = rows_of(feeds.at("x"), partitions, i, partitions.size());
    expected["values" + suffix] = rows;
    expected["count" + suffix] = count;
  }
  test::check_values<model>(feeds, expected);
}

constexpr void bounded(tf::Graph& g) {
  auto x = tf::placeholder<float, 5, 2>(g, "x");
  auto partitions = tf::placeholder<std::int32_t, 5>(g, "partitions");
  const auto [low, high] = tf::dynamic_partition<2, 3>(x, partitions);
  low.values.named("low");
  high.values.named("high");
}

/// Several ranks and types of indices and data, counted and not, one place named often.
constexpr void stitch(tf::Graph& g) {
  auto i = tf::placeholder<std::int32_t, 4>(g, "i");
  auto j = tf::placeholder<std::int64_t, 2, 3>(g, "j");
  auto k = tf::placeholder<std::int32_t, tf::batch>(g, "k");
  auto s = tf::placeholder<std::int32_t>(g, "s");
  auto x = tf::placeholder<float, 4, 5>(g, "x");
  auto y = tf::placeholder<float, 2, 3, 5>(g, "y");
  auto z = tf::placeholder<float, tf::batch, 5>(g, "z");
  auto w = tf::placeholder<float, 5>(g, "w");
  auto n = tf::placeholder<std::int64_t, 4>(g, "n");
  tf::dynamic_stitch<9>(std::tuple{i, j, k, s}, std::tuple{x, y, z, w}).named("all");
  tf::dynamic_stitch<tf::batch>(std::tuple{k}, std::tuple{z}).named("one");
  tf::dynamic_stitch<9>(std::array{i, i}, std::array{n, n + 1}).named("numbers");
}

/// dynamic_stitch undoes dynamic_partition.
constexpr void there_and_back(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 7>(g, "x");
  auto partitions = tf::placeholder<std::int32_t, tf::batch>(g, "partitions");
  auto ids = tf::placeholder<std::int32_t, tf::batch>(g, "ids");
  auto parts = tf::dynamic_partition<3>(x, partitions);
  auto y = tf::dynamic_stitch<tf::batch>(tf::dynamic_partition<3>(ids, partitions), parts);
  y.named("y");
  auto scaled =
      tf::dynamic_stitch<tf::batch>(tf::dynamic_partition<3>(ids, partitions),
                                    std::tuple{parts[0].values, 2 * parts[1].values, parts[2]});
  gradients(sum(scaled * x), x).named("dx");
}

/// The same with ids that cannot be -1 where a partition has no more of them.
constexpr void unsigned_ids(tf::Graph& g) {
  auto x = tf::placeholder<float, 5, 2>(g, "x");
  auto partitions = tf::placeholder<std::int32_t, 5>(g, "partitions");
  auto ids = tf::placeholder<std::uint8_t, 5>(g, "ids");
  tf::dynamic_stitch<300>(tf::dynamic_partition<2>(ids, partitions),
                          tf::dynamic_partition<2>(x, partitions))
      .named("y");
}

tf::HostTensors stitch_feeds(std::int64_t batch) {
  tf::HostTensors feeds = test::random_feeds<stitch>(batch);
  test::Random random(6);
  for (const char* name : {"i", "j", "s", "k"}) {
    const int extent = name[0] == 'k' && batch < 9 ? static_cast<int>(batch) : 9;
    for (tf::Number& n : feeds.at(name).elements) n.integer = random.below(extent + 1) - 1;
  }
  return feeds;
}

}  // namespace

TEST_CASE("dynamic_partition: values") {
  using tf::Shape;
  check_split<float, std::int32_t, Shape<131>, Shape<131>>(1);
  check_split<double, std::int64_t, Shape<2, 3, 37>, Shape<2, 3, 37>>(1);
  check_split<std::int32_t, std::uint8_t, Shape<5, 1>, Shape<5, 1, 3>>(1);
  check_split<bool, std::int32_t, Shape<3>, Shape<3, 0, 2>>(1);
  check_split<std::int64_t, std::int32_t, Shape<3, 0>, Shape<3, 0, 2>>(1);
  for (const std::int64_t batch : {0, 1, 9}) {
    check_split<std::uint8_t, std::int32_t, Shape<2, tf::batch>, Shape<2, tf::batch, 4>>(batch);
  }
}

TEST_CASE("dynamic_partition: gradient") {
  test::check_gradients<tf::Shape<6, 3>>([](auto x) {
    auto partitions = tf::constant<int, 6>(x.graph(), {1, 0, 2, 1, 1, 0});
    const auto [a, b, c] = tf::dynamic_partition<3>(x, partitions);
    return a.values + 2 * b.values * b.values;  // c has no gradient
  });
  for (const std::int64_t batch : {0, 1, 33}) {
    tf::HostTensors feeds = test::random_feeds<there_and_back>(batch);
    tf::HostTensor dx = tf::host_tensor(tf::DType::float32, feeds.at("x").dims);
    for (std::int64_t i = 0; i < batch; ++i) {
      feeds.at("ids").set(i, static_cast<double>(i));
      feeds.at("partitions")[i].integer %= 3;
      const double factor = feeds.at("partitions")[i].integer == 1 ? 4 : 2;
      for (std::int64_t k = 7 * i; k < 7 * i + 7; ++k) dx.set(k, factor * feeds.at("x").value(k));
    }
    test::check_values<there_and_back>(feeds, {{"y", feeds.at("x")}, {"dx", dx}}, 1e-6);
  }
}

TEST_CASE("dynamic_partition: errors") {
  const auto check = [](const std::vector<double>& partitions, const char* text) {
    tf::HostTensors feeds = test::random_feeds<bounded>();
    feeds.at("partitions") = test::ints({5}, partitions);
    test::Kernels<bounded> kernels;
    CHECK_THROWS_WITH_AS(kernels.run(feeds), doctest::Contains(text), tf::Error);
    tf::Graph g;
    bounded(g);
    CHECK_THROWS_WITH_AS(tf::Interpreter(g).run({"low", "high"}, feeds), doctest::Contains(text),
                         tf::Error);
  };
  check({0, 1, 2, 1, 0}, "dynamic_partition: partition 2 at [2] is not in [0, 2)");
  check({0, 1, 1, 1, -1}, "dynamic_partition: partition -1 at [4] is not in [0, 2)");
  check({1, 1, 0, 1, 1}, "dynamic_partition: expected at most 3 rows in a part, got 4");
}

TEST_CASE("dynamic_stitch: values") {
  for (const std::int64_t batch : {0, 1, 6, 20}) {
    const tf::HostTensors feeds = stitch_feeds(batch);
    const auto at = [&](const char* name) { return feeds.at(name); };
    tf::HostTensor more = at("n");
    for (tf::Number& n : more.elements) ++n.integer;
    test::check_values<stitch>(feeds,
                               {{"all", stitched({at("i"), at("j"), at("k"), at("s")},
                                                 {at("x"), at("y"), at("z"), at("w")}, 9)},
                                {"one", stitched({at("k")}, {at("z")}, batch)},
                                {"numbers", stitched({at("i"), at("i")}, {at("n"), more}, 9)}});
  }
  test::Random random(8);
  for (int round = 0; round < 40; ++round) {
    tf::Graph g;
    tf::HostTensors feeds;
    std::vector<tf::HostTensor> indices;
    std::vector<tf::HostTensor> data;
    std::vector<tf::AnyExpr> of_indices;
    std::vector<tf::AnyExpr> of_data;
    const tf::Dims row = test::random_shape(random, random.below(3));
    const int extent = 1 + random.below(8);
    const int pairs = 1 + random.below(3);
    for (int k = 0; k < pairs; ++k) {
      const tf::Dims shape = test::random_shape(random, random.below(3));
      tf::Dims of_rows = shape;
      for (int i = 0; i < row.rank; ++i) of_rows.append(row.extent[i]);
      indices.push_back(test::random_tensor(random, tf::DType::int32, shape, 0, extent));
      data.push_back(test::random_tensor(random, tf::DType::float32, of_rows, -1, 1));
      of_indices.push_back(test::input(g, {"i", k}, tf::DType::int32, shape));
      of_data.push_back(test::input(g, {"x", k}, tf::DType::float32, of_rows));
      feeds["i_" + std::to_string(k)] = indices.back();
      feeds["x_" + std::to_string(k)] = data.back();
    }
    test::name(tf::dynamic_stitch(of_indices, of_data, extent), "y");
    REQUIRE(tf::ir::verify(g).view() == "");
    test::check_interpreter(g, feeds, {{"y", stitched(indices, data, extent)}});
  }
}

TEST_CASE("dynamic_stitch: unsigned indices that are used up to a count") {
  tf::HostTensors feeds = test::random_feeds<unsigned_ids>(1);
  const int partitions[] = {0, 1, 1, 0, 1};
  const int ids[] = {255, 7, 0, 254, 30};
  for (int i = 0; i < 5; ++i) {
    feeds.at("partitions").set(i, partitions[i]);
    feeds.at("ids").set(i, ids[i]);
  }
  test::check_values<unsigned_ids>(feeds,
                                   {{"y", stitched({feeds.at("ids")}, {feeds.at("x")}, 300)}});
}

TEST_CASE("dynamic_stitch: gradient") {
  test::check_gradients<tf::Shape<4, 2>, tf::Shape<2, 1, 2>>([](auto x, auto y) {
    tf::Graph& g = x.graph();
    auto i = tf::constant<int, 4>(g, {3, 1, 3, -1});
    auto j = tf::constant<int, 2, 1>(g, {0, 1});
    return tf::dynamic_stitch<5>(std::tuple{i, j}, std::tuple{x * x, y});
  });
}

TEST_CASE("dynamic_stitch: errors") {
  tf::HostTensors feeds = stitch_feeds(2);
  feeds.at("j").set(4, 9);
  const char* const text = "dynamic_stitch: index 9 at [4] is not in [0, 9)";
  test::Kernels<stitch> kernels;
  CHECK_THROWS_WITH_AS(kernels.run(feeds), doctest::Contains(text), tf::Error);
  tf::Graph g;
  stitch(g);
  CHECK_THROWS_WITH_AS(tf::Interpreter(g).run({"all"}, feeds), doctest::Contains(text), tf::Error);
}
