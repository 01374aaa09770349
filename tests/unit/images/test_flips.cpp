// SPDX-License-Identifier: Apache-2.0

// Images mirrored and turned, pixel by pixel.

#include <cstdint>
#include <functional>
#include <vector>

#include <typeflow/images.hpp>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;

template <class X>
constexpr void turn(const X& x) {
  flip_left_right(x).named("left_right");
  flip_up_down(x).named("up_down");
  transpose_image(x).named("transposed");
  rot90(x).named("once");
  tf::rot90<2>(x).named("twice");
  tf::rot90<-1>(x).named("back");
  tf::rot90<4>(x).named("four");
}
constexpr void batches(tf::Graph& g) { turn(tf::placeholder<float, tf::batch, 4, 5, 3>(g, "x")); }
constexpr void single(tf::Graph& g) { turn(tf::placeholder<std::uint8_t, 3, 2, 1>(g, "x")); }

/// The pixel of x, of height H and width W, that is at a row and column of the result.
struct Place {
  std::int64_t row;
  std::int64_t column;
};
using Move =
    std::function<Place(std::int64_t row, std::int64_t column, std::int64_t h, std::int64_t w)>;

tf::HostTensor moved(const tf::HostTensor& x, bool turned, const Move& from) {
  const int row = x.dims.rank - 3;
  const std::int64_t h = x.dims[row];
  const std::int64_t w = x.dims[row + 1];
  tf::Dims dims = x.dims;
  dims.extent[row] = turned ? w : h;
  dims.extent[row + 1] = turned ? h : w;
  return test::pick(x, dims, [&](std::vector<std::int64_t> at) {
    std::int64_t& r = at[static_cast<std::size_t>(row)];
    std::int64_t& c = at[static_cast<std::size_t>(row + 1)];
    const Place place = from(r, c, h, w);
    r = place.row;
    c = place.column;
    return at;
  });
}
test::Outcome expected(const tf::HostTensor& x) {
  using I = std::int64_t;
  return {
      {"left_right", moved(x, false, [](I r, I c, I, I w) { return Place{r, w - 1 - c}; })},
      {"up_down", moved(x, false, [](I r, I c, I h, I) { return Place{h - 1 - r, c}; })},
      {"transposed", moved(x, true, [](I r, I c, I, I) { return Place{c, r}; })},
      {"once", moved(x, true, [](I r, I c, I, I w) { return Place{c, w - 1 - r}; })},
      {"twice", moved(x, false, [](I r, I c, I h, I w) { return Place{h - 1 - r, w - 1 - c}; })},
      {"back", moved(x, true, [](I r, I c, I h, I) { return Place{h - 1 - c, r}; })},
      {"four", x},
  };
}

void check_both(const char* name) {
  for (const bool is_batch : {true, false}) {
    const tf::HostTensors feeds =
        is_batch ? test::random_feeds<batches>(3) : test::random_feeds<single>(1);
    const test::Outcome all = expected(feeds.at("x"));
    const test::Outcome one = {{name, all.at(name)}};
    if (is_batch) {
      test::check_values<batches>(feeds, one);
    } else {
      test::check_values<single>(feeds, one);
    }
  }
}

constexpr void at_random(tf::Graph& g) {
  auto x = tf::placeholder<double, tf::batch, 2, 3, 1>(g, "x");
  auto w = tf::placeholder<double, tf::batch, 2, 3, 1>(g, "w");
  auto left_right = random_flip_left_right(x).named("left_right");
  auto up_down = random_flip_up_down(x, "up_down");
  auto loss = sum((left_right + up_down) * w).named("loss");
  sum(x * gradients(loss, x)).named("product");
}

constexpr std::int64_t count = 400;

/// How many of the images are as `change` makes them; the others are as they were.
template <class Change>
std::int64_t changed(const test::Outcome& got, const tf::HostTensor& x, const char* name,
                     const Change& change) {
  const tf::HostTensor& y = got.at(name);
  std::int64_t flipped = 0;
  for (std::int64_t n = 0; n < count; ++n) {
    bool is_same = true;
    bool is_changed = true;
    for (std::int64_t i = 0; i < 6; ++i) {
      is_same = is_same && y.value(6 * n + i) == x.value(6 * n + i);
      is_changed = is_changed && y.value(6 * n + i) == x.value(6 * n + change(i));
    }
    CHECK(is_same != is_changed);
    flipped += is_changed;
  }
  return flipped;
}

/// Both are linear for a draw: sum(x dx) is the loss, if it and the gradient have the same draws.
void check_shared_draws() {
  const test::Outcome got =
      test::Kernels<at_random, tf::debug>().run(test::random_feeds<at_random>(count));
  CHECK(got.at("loss").value(0) != 0);
  CHECK(got.at("product").value(0) == doctest::Approx(got.at("loss").value(0)).epsilon(1e-12));
}

}  // namespace

TEST_CASE("flip_left_right: values") { check_both("left_right"); }
TEST_CASE("flip_up_down: values") { check_both("up_down"); }
TEST_CASE("transpose_image: values") { check_both("transposed"); }
TEST_CASE("rot90: values") {
  check_both("once");
  check_both("twice");
  check_both("back");
  check_both("four");
  // TensorFlow's documentation: 1 2 / 3 4 becomes 2 4 / 1 3.
  const tf::HostTensor x = test::ints({2, 2, 1}, {1, 2, 3, 4});
  CHECK(test::elements(expected(x).at("once")) == std::vector<double>{2, 4, 1, 3});
}

TEST_CASE("random_flip_left_right: values") {
  const tf::HostTensors feeds = test::random_feeds<at_random>(count);
  const auto flipped = changed(test::Kernels<at_random, tf::debug>().run(feeds), feeds.at("x"),
                               "left_right", [](std::int64_t i) { return i / 3 * 3 + 2 - i % 3; });
  CHECK(flipped > 150);  // 200, with a deviation of 10
  CHECK(flipped < 250);
}
TEST_CASE("random_flip_up_down: values") {
  const tf::HostTensors feeds = test::random_feeds<at_random>(count);
  const auto flipped = changed(test::Kernels<at_random, tf::debug>().run(feeds), feeds.at("x"),
                               "up_down", [](std::int64_t i) { return (i + 3) % 6; });
  CHECK(flipped > 150);
  CHECK(flipped < 250);
}

TEST_CASE("flip_left_right: gradient") {
  test::check_gradients<tf::Shape<2, 3, 4, 2>>([](auto x) { return flip_left_right(x); });
}
TEST_CASE("flip_up_down: gradient") {
  test::check_gradients<tf::Shape<2, 3, 4, 2>>([](auto x) { return flip_up_down(x); });
}
TEST_CASE("transpose_image: gradient") {
  test::check_gradients<tf::Shape<3, 4, 2>>([](auto x) { return transpose_image(x); });
}
TEST_CASE("rot90: gradient") {
  test::check_gradients<tf::Shape<3, 4, 2>>([](auto x) { return tf::rot90<3>(x); });
}
TEST_CASE("random_flip_left_right: gradient") { check_shared_draws(); }
TEST_CASE("random_flip_up_down: gradient") { check_shared_draws(); }
