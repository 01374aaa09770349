// SPDX-License-Identifier: Apache-2.0

// Parts of images against TensorFlow's loops and documented offsets.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <typeflow/images.hpp>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"
#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;

/// x with pixel (row + top, column + left) of x at (row, column), 0 outside.
tf::HostTensor moved(const tf::HostTensor& x, std::int64_t height, std::int64_t width,
                     std::int64_t top, std::int64_t left) {
  const int row = x.dims.rank - 3;
  tf::Dims dims = x.dims;
  dims.extent[row] = height;
  dims.extent[row + 1] = width;
  tf::HostTensor y = tf::host_tensor(x.dtype, dims);
  for (std::int64_t i = 0; i < y.size(); ++i) {
    std::vector<std::int64_t> at = test::coordinates(i, dims);
    std::int64_t& r = at[static_cast<std::size_t>(row)];
    std::int64_t& c = at[static_cast<std::size_t>(row + 1)];
    r += top;
    c += left;
    const bool inside = r >= 0 && r < x.dims[row] && c >= 0 && c < x.dims[row + 1];
    if (inside) y[i] = x[test::position(at, x.dims)];
  }
  return y;
}

constexpr void centred(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 6, 7, 2>(g, "x");
  auto one = tf::placeholder<std::uint8_t, 5, 5, 1>(g, "one");
  tf::crop_or_pad<3, 10>(x).named("mixed");
  tf::crop_or_pad<9, 4>(x).named("other");
  tf::crop_or_pad<6, 7>(x).named("same");
  tf::crop_or_pad<2, 8>(one).named("bytes");
  tf::central_crop<1, 2>(x).named("half");
  tf::central_crop<1, 3>(one).named("third");
  tf::central_crop<1, 1>(x).named("all");
}

// crop_and_resize.

tf::HostTensor cropped(const tf::HostTensor& x, const tf::HostTensor& boxes,
                       const tf::HostTensor& images, std::int64_t height, std::int64_t width,
                       bool nearest, double outside) {
  const std::int64_t h = x.dims[1];
  const std::int64_t w = x.dims[2];
  const std::int64_t channels = x.dims[3];
  tf::HostTensor y =
      tf::host_tensor(x.dtype, tf::Dims{4, {boxes.dims[0], height, width, channels}});
  const auto place = [](double from, double to, std::int64_t j, std::int64_t size,
                        std::int64_t extent) {
    const auto last = static_cast<double>(extent - 1);
    return size > 1 ? from * last + static_cast<double>(j) * (to - from) * last /
                                        static_cast<double>(size - 1)
                    : 0.5 * (from + to) * last;
  };
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const std::vector<std::int64_t> at = test::coordinates(i, y.dims);
    const std::int64_t b = at[0];
    const double in_y = place(boxes.value(4 * b), boxes.value(4 * b + 2), at[1], height, h);
    const double in_x = place(boxes.value(4 * b + 1), boxes.value(4 * b + 3), at[2], width, w);
    const bool inside = in_y >= 0 && in_y <= static_cast<double>(h - 1) && in_x >= 0 &&
                        in_x <= static_cast<double>(w - 1);
    const auto pixel = [&](double r, double c) {
      const auto n = static_cast<std::int64_t>(images.value(b));
      return x.value(((n * h + static_cast<std::int64_t>(r)) * w + static_cast<std::int64_t>(c)) *
                         channels +
                     at[3]);
    };
    if (!inside) {
      y.set(i, outside);
    } else if (nearest) {
      y.set(i, pixel(std::round(in_y), std::round(in_x)));
    } else {
      const double top = std::floor(in_y);
      const double left = std::floor(in_x);
      const auto across = [&](double r) {
        return pixel(r, left) + (pixel(r, std::ceil(in_x)) - pixel(r, left)) * (in_x - left);
      };
      y.set(i, across(top) + (across(std::ceil(in_y)) - across(top)) * (in_y - top));
    }
  }
  return y;
}

inline constexpr tf::CropAndResizeOptions nearest{tf::Interpolation::nearest, 0.5f};

template <class T>
constexpr void crops(tf::Graph& g) {
  auto x = tf::placeholder<T, 3, 5, 7, 2>(g, "x");
  auto boxes = tf::placeholder<T, tf::batch, 4>(g, "boxes");
  auto images = tf::placeholder<std::int32_t, tf::batch>(g, "images");
  tf::crop_and_resize<4, 3>(x, boxes, images).named("bilinear");
  tf::crop_and_resize<1, 6>(x, boxes, images).named("row");
  tf::crop_and_resize<3, 5, nearest>(x, boxes, images).named("nearest");
}

/// White images, cut to their lower right borders.
constexpr void to_borders(tf::Graph& g) {
  auto begins = tf::placeholder<float, tf::batch, 2>(g, "begins");
  auto boxes = concat<1>(begins, tf::ones_like(begins));
  auto images = tf::slice<tf::whole, 0>(cast<std::int32_t>(tf::zeros_like(begins)));
  tf::crop_and_resize<14, 7>(tf::ones<float, 1, 50, 32, 1>(g), boxes, images).named("crop");
}

constexpr void far_away(tf::Graph& g) {
  auto x = tf::placeholder<float, 1, 2, 2, 1>(g, "x");
  auto boxes = tf::placeholder<float, 1, 4>(g, "boxes");
  auto images = tf::placeholder<std::int64_t, 1>(g, "images");
  tf::crop_and_resize<1, 1>(x, boxes, images).named("crop");
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

constexpr std::int64_t box_count = 9;

tf::HostTensors crop_feeds(tf::DType type) {
  tf::HostTensors feeds = test::random_feeds<crops<float>>(box_count, 3, -0.2, 1.2);
  for (auto& [name, x] : feeds) {
    if (name != "images") x.dtype = type;
  }
  const double whole[] = {0, 0, 1, 1, 1, 1, 0, 0};  // and turned around
  for (int i = 0; i < 8; ++i) feeds.at("boxes").set(i, whole[i]);
  for (int i = 0; i < box_count; ++i) feeds.at("images").set(i, i % 3);
  return feeds;
}
template <class T>
void check_crops(double tolerance) {
  const tf::HostTensors feeds = crop_feeds(tf::dtype_of<T>);
  const auto expect = [&](std::int64_t height, std::int64_t width, bool is_nearest, double other) {
    return cropped(feeds.at("x"), feeds.at("boxes"), feeds.at("images"), height, width, is_nearest,
                   other);
  };
  test::check_values<crops<T>>(feeds,
                               {{"bilinear", expect(4, 3, false, 0)},
                                {"row", expect(1, 6, false, 0)},
                                {"nearest", expect(3, 5, true, 0.5)}},
                               tolerance);
}

constexpr void at_random(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 5, 6, 2>(g, "x");
  tf::random_crop<3, 2>(x).named("crop");
  tf::random_crop<3, 2>(x, "labelled");
  auto one = tf::placeholder<std::int32_t, 4, 4, 1>(g, "one");
  tf::random_crop<4, 1>(one).named("of_one");
}

constexpr void differentiated(tf::Graph& g) {
  auto x = tf::placeholder<double, tf::batch, 4, 5, 2>(g, "x");
  auto w = tf::placeholder<double, tf::batch, 2, 3, 2>(g, "w");
  auto loss = sum(tf::random_crop<2, 3>(x) * w).named("loss");
  sum(x * gradients(loss, x)).named("product");
}

}  // namespace

TEST_CASE("crop_or_pad: values") {
  const tf::HostTensors feeds = test::random_feeds<centred>(2);
  const tf::HostTensor& x = feeds.at("x");
  const tf::HostTensor& one = feeds.at("one");
  test::check_values<centred>(feeds, {{"mixed", moved(x, 3, 10, 1, -1)},
                                      {"other", moved(x, 9, 4, -1, 1)},
                                      {"same", x},
                                      {"bytes", moved(one, 2, 8, 1, -1)}});
}
TEST_CASE("central_crop: values") {
  const tf::HostTensors feeds = test::random_feeds<centred>(2);
  // Python: int((6 - 6 * .5) / 2) = 1, int((7 - 7 * .5) / 2) = 1, int((5 - 5 / 3) / 2) = 1
  test::check_values<centred>(feeds, {{"half", moved(feeds.at("x"), 4, 5, 1, 1)},
                                      {"third", moved(feeds.at("one"), 3, 3, 1, 1)},
                                      {"all", feeds.at("x")}});
}
TEST_CASE("crop_and_resize: values") {
  SUBCASE("float") { check_crops<float>(2e-6); }
  SUBCASE("double") { check_crops<double>(1e-14); }
  SUBCASE("boxes that end at the border do not leave the image") {
    const tf::HostTensors feeds = test::random_feeds<to_borders>(500, 1, 0, 1);
    tf::HostTensor white = tf::host_tensor(tf::DType::float32, test::dims({500, 14, 7, 1}));
    for (std::int64_t i = 0; i < white.size(); ++i) white.set(i, 1);
    test::check_values<to_borders>(feeds, {{"crop", white}});
  }
}
TEST_CASE("random_crop: values") {
  constexpr std::int64_t batch = 1500;
  tf::HostTensors feeds = test::random_feeds<at_random>(batch);
  tf::HostTensor& x = feeds.at("x");
  for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, static_cast<double>(i));
  tf::HostTensor& one = feeds.at("one");
  for (std::int64_t i = 0; i < one.size(); ++i) one.set(i, static_cast<double>(i));
  test::Kernels<at_random> kernels;
  const test::Outcome got = kernels.run(feeds);
  for (const char* name : {"crop", "labelled"}) {
    const tf::HostTensor& y = got.at(name);
    std::vector<int> places(3 * 5, 0);
    int wrong = 0;
    for (std::int64_t n = 0; n < batch; ++n) {
      const auto first = static_cast<std::int64_t>(y.value(n * 12)) - n * 60;
      const std::int64_t row = first / 12;
      const std::int64_t column = first % 12 / 2;
      REQUIRE((row >= 0 && row < 3 && column >= 0 && column < 5 && first % 2 == 0));
      ++places[static_cast<std::size_t>(row * 5 + column)];
      for (std::int64_t i = 0; i < 12; ++i) {
        const std::int64_t from = ((n * 5 + row + i / 4) * 6 + column + i / 2 % 2) * 2 + i % 2;
        wrong += y.value(n * 12 + i) != x.value(from);
      }
    }
    CHECK(wrong == 0);
    // 100 of each, with a deviation of 10.
    CHECK(*std::min_element(places.begin(), places.end()) > 55);
    CHECK(*std::max_element(places.begin(), places.end()) < 145);
  }
  CHECK(got.at("crop").elements.size() == got.at("labelled").elements.size());
  int different = 0;
  for (std::int64_t n = 0; n < batch; ++n) {
    different += got.at("crop").value(12 * n) != got.at("labelled").value(12 * n);
  }
  CHECK(different > batch / 2);
  const tf::HostTensor& column = got.at("of_one");
  for (int i = 1; i < 4; ++i) CHECK(column.value(i) == column.value(0) + 4 * i);
  test::check_parts(test::tested<at_random>(), feeds);
  test::check_allocations<at_random>(feeds);
}

TEST_CASE("crop_or_pad: gradient") {
  test::check_gradients<tf::Shape<2, 4, 5, 2>>([](auto x) { return tf::crop_or_pad<6, 2>(x); });
}
TEST_CASE("central_crop: gradient") {
  test::check_gradients<tf::Shape<4, 5, 2>>([](auto x) { return tf::central_crop<1, 2>(x); });
}
TEST_CASE("random_crop: gradient") {
  // A crop is linear in the image: sum(x dx) is the loss, if both have the same draw.
  const test::Outcome got =
      test::Kernels<differentiated>().run(test::random_feeds<differentiated>(40));
  CHECK(got.at("loss").value(0) != 0);
  CHECK(got.at("product").value(0) == doctest::Approx(got.at("loss").value(0)).epsilon(1e-12));
}
TEST_CASE("crop_and_resize: gradient") {
  test::check_gradients<tf::Shape<2, 5, 4, 2>, tf::Shape<3, 4>>([](auto x, auto boxes) {
    auto images = tf::constant<std::int32_t, 3>(x.graph(), {1, 0, 1});
    return tf::crop_and_resize<3, 4>(x, sigmoid(boxes), images) +
           sum<1, 2>(tf::crop_and_resize<1, 1>(x, sigmoid(boxes), images), tf::keep_dims);
  });
  test::check_gradients<tf::Shape<2, 5, 4, 2>>([](auto x) {
    auto boxes = tf::constant<double, 1, 4>(x.graph(), {0.1, 0.2, 1.1, 0.6});
    return tf::crop_and_resize<3, 4, nearest>(x, boxes,
                                              tf::constant<std::int32_t, 1>(x.graph(), {1}));
  });
}

TEST_CASE("crop_and_resize: errors") {
  tf::HostTensors feeds = crop_feeds(tf::DType::float32);
  for (const int wrong : {-1, 3}) {
    feeds.at("images").set(2, wrong);
    const std::string text =
        "crop_and_resize: box index " + std::to_string(wrong) + " at [2] is not in [0, 3)";
    CHECK(contains(message_of([&] { test::Kernels<crops<float>>().run(feeds); }), text));
    tf::Graph graph;
    crops<float>(graph);
    CHECK(contains(message_of([&] { tf::interpret(graph, feeds); }), text));
  }
  // The position of such an image's pixels wraps around to that of the first one's.
  tf::HostTensors wrapping = test::random_feeds<far_away>(1);
  wrapping.at("images")[0].integer = std::int64_t{1} << 62;
  CHECK(contains(message_of([&] { test::Kernels<far_away>().run(wrapping); }),
                 "box index 4611686018427387904 at [0] is not in [0, 1)"));
}
