// SPDX-License-Identifier: Apache-2.0

// Boxes: TensorFlow's tests of non_max_suppression (core/kernels/image/non_max_suppression_op_test
// .cc), and frames drawn pixel by pixel as its kernel does.

#include <cmath>
#include <limits>
#include <vector>

#include <typeflow/images.hpp>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;

// non_max_suppression.

template <class K>
constexpr void name(const K& kept, tf::Label indices, tf::Label count) {
  kept.indices.named(indices);
  kept.count.named(count);
}

template <class T>
constexpr void suppression(tf::Graph& g) {
  auto boxes = tf::placeholder<T, 6, 4>(g, "boxes");
  auto scores = tf::placeholder<T, 6>(g, "scores");
  name(tf::non_max_suppression<3>(boxes, scores), "three", "three_count");
  name(tf::non_max_suppression<2>(boxes, scores), "two", "two_count");
  name(tf::non_max_suppression<30>(boxes, scores), "all", "all_count");
  name(tf::non_max_suppression<3>(boxes, scores, {.score_threshold = 0.5}), "high", "high_count");
  name(tf::non_max_suppression<6>(boxes, scores, {.iou_threshold = 1}), "each", "each_count");
}
constexpr void many(tf::Graph& g) {
  auto boxes = tf::placeholder<float, tf::batch, 4>(g, "boxes");
  auto scores = tf::placeholder<float, tf::batch>(g, "scores");
  name(tf::non_max_suppression<20>(boxes, scores, {.iou_threshold = 0.3}), "kept", "count");
}

template <class T>
constexpr void above(tf::Graph& g) {
  auto boxes = tf::placeholder<T, 3, 4>(g, "boxes");
  auto scores = tf::placeholder<T, 3>(g, "scores");
  name(tf::non_max_suppression<3>(boxes, scores, {.score_threshold = 0.2}), "kept", "count");
}

tf::HostTensor padded(std::int64_t size, const std::vector<double>& indices) {
  std::vector<double> all = indices;
  all.resize(static_cast<std::size_t>(size), 0);
  return test::ints({size}, all);
}

template <class T>
void check_clusters(const std::vector<double>& corners) {
  const tf::DType type = tf::dtype_of<T>;
  const tf::HostTensors feeds = {{"boxes", test::tensor(type, {6, 4}, corners)},
                                 {"scores", test::tensor(type, {6}, {.9, .75, .6, .95, .5, .3})}};
  test::check_values<suppression<T>>(feeds, {{"three", padded(3, {3, 0, 5})},
                                             {"three_count", test::ints({}, {3})},
                                             {"two", padded(2, {3, 0})},
                                             {"two_count", test::ints({}, {2})},
                                             {"all", padded(30, {3, 0, 5})},
                                             {"all_count", test::ints({}, {3})},
                                             {"high", padded(3, {3, 0})},
                                             {"high_count", test::ints({}, {2})},
                                             {"each", padded(6, {3, 0, 1, 2, 4, 5})},
                                             {"each_count", test::ints({}, {6})}});
}

/// Greedily, on a grid where every quotient is far from the threshold or exact.
std::vector<double> greedy(const tf::HostTensor& boxes, const tf::HostTensor& scores,
                           double threshold) {
  std::vector<double> kept;
  std::vector<bool> used(static_cast<std::size_t>(scores.size()), false);
  for (;;) {
    std::int64_t best = -1;
    for (std::int64_t i = 0; i < scores.size(); ++i) {
      if (used[static_cast<std::size_t>(i)] || std::isnan(scores.value(i))) continue;
      if (best < 0 || scores.value(i) > scores.value(best)) best = i;
    }
    if (best < 0) return kept;
    used[static_cast<std::size_t>(best)] = true;
    bool covered = false;
    for (const double k : kept) {
      // Cells of the grid that both have, and that one has.
      int both = 0;
      int either = 0;
      const auto has = [&](std::int64_t b, int y, int x) {
        const double at_y = y + 0.5;
        const double at_x = x + 0.5;
        return (boxes.value(4 * b) < at_y) != (boxes.value(4 * b + 2) < at_y) &&
               (boxes.value(4 * b + 1) < at_x) != (boxes.value(4 * b + 3) < at_x);
      };
      for (int cell = 0; cell < 144; ++cell) {
        const bool a = has(best, cell / 12, cell % 12);
        const bool b = has(static_cast<std::int64_t>(k), cell / 12, cell % 12);
        both += a && b;
        either += a || b;
      }
      covered = covered || (either > 0 && both > threshold * either);
    }
    if (!covered) kept.push_back(static_cast<double>(best));
  }
}

// draw_bounding_boxes.

constexpr void frames(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 7, 9, 3>(g, "x");
  auto boxes = tf::placeholder<float, tf::batch, 12, 4>(g, "boxes");
  auto grey = tf::placeholder<double, 1, 4, 5, 1>(g, "grey");
  auto one = tf::placeholder<double, 1, 1, 4>(g, "one");
  auto colors = tf::placeholder<double, 2, 1>(g, "colors");
  auto nothing = tf::placeholder<float, tf::batch, 0, 4>(g, "nothing");
  draw_bounding_boxes(x, boxes).named("drawn");
  draw_bounding_boxes(x, nothing).named("as_it_was");
  draw_bounding_boxes(grey, one).named("white");
  draw_bounding_boxes(grey, one, colors).named("colored");
}

tf::HostTensor drawn(tf::HostTensor x, const tf::HostTensor& boxes,
                     const std::vector<std::vector<double>>& colors) {
  const std::int64_t h = x.dims[1];
  const std::int64_t w = x.dims[2];
  const std::int64_t channels = x.dims[3];
  for (std::int64_t i = 0; i < boxes.size() / 4; ++i) {
    const std::int64_t n = i / boxes.dims[1];
    const auto corner = [&](int k, std::int64_t extent) {
      return static_cast<std::int64_t>(boxes.value(4 * i + k) * static_cast<double>(extent - 1));
    };
    const std::int64_t top = corner(0, h);
    const std::int64_t left = corner(1, w);
    const std::int64_t bottom = corner(2, h);
    const std::int64_t right = corner(3, w);
    if (top > bottom || left > right) continue;
    const auto put = [&](std::int64_t row, std::int64_t column) {
      if (row < 0 || row >= h || column < 0 || column >= w) return;
      for (std::int64_t c = 0; c < channels; ++c) {
        x.set(((n * h + row) * w + column) * channels + c,
              colors[static_cast<std::size_t>(i % boxes.dims[1]) % colors.size()]
                    [static_cast<std::size_t>(c)]);
      }
    };
    for (std::int64_t column = left; column <= right; ++column) {
      put(top, column);
      put(bottom, column);
    }
    for (std::int64_t row = top; row <= bottom; ++row) {
      put(row, left);
      put(row, right);
    }
  }
  return x;
}

}  // namespace

TEST_CASE("non_max_suppression: values") {
  SUBCASE("three clusters, as TensorFlow tests them") {
    const std::vector<double> corners = {0, 0,  1, 1,  0, 0.1f,  1, 1.1f,  0, -0.1f, 1, 0.9f,
                                         0, 10, 1, 11, 0, 10.1f, 1, 11.1f, 0, 100,   1, 101};
    const std::vector<double> flipped = {1, 1,  0, 0,  0, 0.1f,  1, 1.1f,  0, 0.9f, 1, -0.1f,
                                         0, 10, 1, 11, 1, 10.1f, 0, 11.1f, 1, 101,  0, 100};
    check_clusters<float>(corners);
    check_clusters<float>(flipped);
    check_clusters<tf::bfloat16>(corners);
  }
  SUBCASE("a score of 0.2 is not above a threshold of 0.2") {
    const std::vector<double> corners = {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5};
    const auto check = [&]<class T>(T) {
      test::check_values<above<T>>(
          {{"boxes", test::tensor(tf::dtype_of<T>, {3, 4}, corners)},
           {"scores", test::tensor(tf::dtype_of<T>, {3}, {0.2, 0.21, 0.3})}},
          {{"kept", test::ints({3}, {2, 1, 0})}, {"count", test::ints({}, {2})}});
    };
    check(0.0f);
    check(0.0);
    check(tf::bfloat16());
  }
  SUBCASE("many, with equal scores, without area and with NaN") {
    for (const std::int64_t count : {0, 1, 60}) {
      test::Random random(3);
      tf::HostTensor boxes = tf::host_tensor(tf::DType::float32, test::dims({count, 4}));
      tf::HostTensor scores = tf::host_tensor(tf::DType::float32, test::dims({count}));
      for (std::int64_t i = 0; i < boxes.size(); ++i) boxes.set(i, random.below(13));
      for (std::int64_t i = 0; i < count; ++i) scores.set(i, 0.125 * random.below(20));
      if (count > 9) scores.set(9, std::numeric_limits<double>::quiet_NaN());
      std::vector<double> kept = greedy(boxes, scores, 0.3);
      if (count > 20) REQUIRE(kept.size() > 20);
      kept.resize(std::min<std::size_t>(kept.size(), 20));
      test::check_values<many>({{"boxes", boxes}, {"scores", scores}},
                               {{"kept", padded(20, kept)},
                                {"count", test::ints({}, {static_cast<double>(kept.size())})}});
    }
  }
}

TEST_CASE("draw_bounding_boxes: values") {
  tf::HostTensors feeds = test::random_feeds<frames>(2, 5, -0.2, 1.2);
  const double sizes[] = {0.2, 0.1, 0.9, 0.7,   // inside
                          -1,  -2,  3,   4,     // around
                          0.5, 0.5, 0.5, 0.5,   // a pixel
                          0.9, 0.2, 0.1, 0.7};  // upside down
  for (int i = 0; i < 16; ++i) feeds.at("boxes").set(i, sizes[i]);
  feeds.at("one") = test::doubles({1, 1, 4}, {0, 0.3, 0.7, 2});
  const std::vector<std::vector<double>> table = {
      {1, 1, 0},     {0, 0, 1},   {1, 0, 0},   {0, 1, 0}, {0.5, 0, 0.5},
      {0.5, 0.5, 0}, {0.5, 0, 0}, {0, 0, 0.5}, {0, 1, 1}, {1, 0, 1}};
  const tf::HostTensor& colors = feeds.at("colors");
  test::check_values<frames>(feeds, {{"drawn", drawn(feeds.at("x"), feeds.at("boxes"), table)},
                                     {"as_it_was", feeds.at("x")},
                                     {"white", drawn(feeds.at("grey"), feeds.at("one"), {{1}})},
                                     {"colored", drawn(feeds.at("grey"), feeds.at("one"),
                                                       {{colors.value(0)}, {colors.value(1)}})}});
}
TEST_CASE("draw_bounding_boxes: gradient") {
  test::check_gradients<tf::Shape<2, 4, 5, 2>, tf::Shape<3, 2>>([](auto x, auto colors) {
    auto boxes = tf::constant<double, 2, 2, 4>(
        x.graph(), {0, 0, 0.5, 1, 0.2, 0.3, 0.9, 0.9, 0.5, 0, 0.6, 2, -1, -1, 0.4, 0.4});
    return draw_bounding_boxes(x, boxes, colors);
  });
}
