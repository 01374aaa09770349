// SPDX-License-Identifier: Apache-2.0

// space_to_batch and batch_to_space against loops, and the examples of TensorFlow's documentation.

#include <doctest/doctest.h>

#include <vector>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;
using Coordinates = std::vector<std::int64_t>;

constexpr tf::SpaceToBatchOptions<2> padded{.block = {2, 3}, .paddings = {{{1, 0}, {0, 2}}}};
constexpr tf::BatchToSpaceOptions<2> cropped{.block = {2, 3}, .crops = {{{1, 0}, {0, 2}}}};

template <class T, tf::Extent N>
constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<T, N, 3, 4, 2>(g, "x");
  auto blocks = space_to_batch<padded>(x).named("blocks");
  batch_to_space<cropped>(blocks).named("again");
  tf::space_to_batch<3>(x).named("rows");
  // Of three axes, back and forth.
  tf::batch_to_space<3, 2, 1>(tf::space_to_batch<3, 2, 1>(x)).named("three");
}

/// Element (block * N + n, i, j, c) is x's at (n, i * 2 + block / 3 - 1, j * 3 + block % 3, c).
tf::HostTensor blocks_of(const tf::HostTensor& x) {
  const std::int64_t n = x.dims[0];
  tf::HostTensor y = tf::host_tensor(x.dtype, test::dims({6 * n, 2, 2, 2}));
  for (std::int64_t at = 0; at < y.size(); ++at) {
    const Coordinates c = test::coordinates(at, y.dims);
    const std::int64_t block = c[0] / n;
    const Coordinates from = {c[0] % n, c[1] * 2 + block / 3 - 1, c[2] * 3 + block % 3, c[3]};
    if (from[1] < 0 || from[2] >= 4) continue;
    y[at] = x[test::position(from, x.dims)];
  }
  return y;
}

template <class T, tf::Extent N>
void check(std::int64_t batch) {
  const tf::HostTensors feeds = test::random_feeds<model<T, N>>(batch, 3);
  const tf::HostTensor& x = feeds.at("x");
  const tf::HostTensor rows =
      test::pick(x, test::dims({3 * x.dims[0], 1, 4, 2}), [&](const Coordinates& c) {
        return Coordinates{c[0] % x.dims[0], c[1] * 3 + c[0] / x.dims[0], c[2], c[3]};
      });
  test::check_values<model<T, N>>(
      feeds, {{"blocks", blocks_of(x)}, {"again", x}, {"rows", rows}, {"three", x}});
}

/// Numbers 1, 2, 3... of TensorFlow's documentation.
constexpr void documented(tf::Graph& g) {
  auto x = tf::placeholder<float, 1, 4, 4, 1>(g, "x");
  auto y = tf::placeholder<float, 2, 2, 4, 1>(g, "y");
  tf::space_to_batch<2, 2>(x).named("third");
  space_to_batch<tf::SpaceToBatchOptions<2>{.block = {2, 2}, .paddings = {{{0, 0}, {2, 0}}}}>(y)
      .named("fourth");
}

}  // namespace

TEST_CASE("space_to_batch: values") {
  check<float, tf::batch>(2);
  check<float, tf::batch>(0);
  check<std::int8_t, 1>(1);
  std::vector<double> numbers;
  for (int i = 1; i <= 16; ++i) numbers.push_back(i);
  test::check_values<documented>(
      {{"x", test::floats({1, 4, 4, 1}, numbers)}, {"y", test::floats({2, 2, 4, 1}, numbers)}},
      {{"third",
        test::floats({4, 2, 2, 1}, {1, 3, 9, 11, 2, 4, 10, 12, 5, 7, 13, 15, 6, 8, 14, 16})},
       {"fourth", test::floats({8, 1, 3, 1}, {0, 1, 3, 0, 9,  11, 0, 2, 4, 0, 10, 12,
                                              0, 5, 7, 0, 13, 15, 0, 6, 8, 0, 14, 16})}});
}

TEST_CASE("batch_to_space: values") {  // of other axes than those behind the batch: a line
  const tf::testing::ValueCheck check = tf::testing::check_values<tf::Shape<6, 2, 1>>(
      [](auto x) {
        return batch_to_space<tf::BatchToSpaceOptions<1>{.block = {3}, .crops = {{{2, 1}}}}>(x);
      },
      [](const tf::HostTensor& x) {
        return test::pick(x, test::dims({2, 3, 1}), [](const Coordinates& c) {
          return Coordinates{(c[1] + 2) % 3 * 2 + c[0], (c[1] + 2) / 3, 0};
        });
      });
  INFO(check.worst);
  CHECK(check.largest_error == 0);
}

TEST_CASE("space_to_batch: gradient") {
  test::check_gradients<tf::Shape<2, 3, 4, 1>>([](auto x) { return space_to_batch<padded>(x); });
}

TEST_CASE("batch_to_space: gradient") {
  test::check_gradients<tf::Shape<6, 2, 2, 1>>([](auto x) { return batch_to_space<cropped>(x); });
}
