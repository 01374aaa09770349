// SPDX-License-Identifier: Apache-2.0

// pad and mirror_pad, against an index into the unpadded tensor for each element.

#include <limits>
#include <string>
#include <vector>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;
using Amounts = std::vector<std::int64_t>;

/// Where along an axis the element at `i` comes from, for `before` elements in front; -1: a border.
using Source = std::int64_t (*)(std::int64_t i, std::int64_t n);
std::int64_t constant(std::int64_t i, std::int64_t n) { return i < 0 || i >= n ? -1 : i; }
std::int64_t reflect(std::int64_t i, std::int64_t n) {
  return i < 0 ? -i : i >= n ? 2 * n - 2 - i : i;
}
std::int64_t symmetric(std::int64_t i, std::int64_t n) {
  return i < 0 ? -1 - i : i >= n ? 2 * n - 1 - i : i;
}

tf::HostTensor padded(const tf::HostTensor& x, const Amounts& amounts, Source source,
                      double value = 0) {
  tf::Dims shape = x.dims;
  for (std::size_t a = 0; 2 * a < amounts.size(); ++a) {
    shape.extent[a] += amounts[2 * a] + amounts[2 * a + 1];
  }
  tf::HostTensor y = tf::host_tensor(x.dtype, shape);
  for (std::int64_t i = 0; i < y.size(); ++i) {
    std::vector<std::int64_t> c = test::coordinates(i, shape);
    bool inside = true;
    for (std::size_t a = 0; a < c.size(); ++a) {
      c[a] = source(c[a] - amounts[2 * a], x.dims.extent[a]);
      inside = inside && c[a] >= 0;
    }
    if (inside) {
      y[i] = x[test::position(c, x.dims)];
    } else {
      y.set(i, value);
    }
  }
  return y;
}

template <class T>
constexpr void elements_of(tf::Graph& g, int i) {
  auto x = tf::placeholder<T, 3, 5>(g, {"x", i});
  tf::pad<1, 0, 2, 3>(x).named({"zeros", i});
  tf::pad<0, 2, 0, 1>(x, 1).named({"ones", i});
  tf::mirror_pad<tf::Mirror::reflect, 2, 1, 0, 4>(x).named({"reflect", i});
  tf::mirror_pad<tf::Mirror::symmetric, 0, 3, 5, 0>(x).named({"symmetric", i});
}
constexpr void elements(tf::Graph& g) {
  test::for_each_element_type([&]<class T>(T, int i) { elements_of<T>(g, i); });
}
void check_elements() {
  const tf::HostTensors feeds = test::random_feeds<elements>();
  test::Outcome expected;
  for (int i = 0; i < tf::dtype_count; ++i) {
    const std::string of = "_" + std::to_string(i);
    const tf::HostTensor& x = feeds.at("x" + of);
    expected.merge(test::Outcome({{"zeros" + of, padded(x, {1, 0, 2, 3}, &constant)},
                                  {"ones" + of, padded(x, {0, 2, 0, 1}, &constant, 1)},
                                  {"reflect" + of, padded(x, {2, 1, 0, 4}, &reflect)},
                                  {"symmetric" + of, padded(x, {0, 3, 5, 0}, &symmetric)}}));
  }
  test::check_values<elements>(feeds, expected);
}

/// Scalars, axes of extent 0 and 1, more than one thread's share, a value from a tensor.
constexpr void shapes(tf::Graph& g) {
  auto scalar = tf::placeholder<float>(g, "scalar");
  auto empty = tf::placeholder<float, 3, 0, 2>(g, "empty");
  auto thin = tf::placeholder<float, 5, 1, 3>(g, "thin");
  auto image = tf::placeholder<float, 4, 30, 31, 7>(g, "image");
  auto line = tf::placeholder<float, 40003>(g, "line");
  tf::pad<>(scalar).named("scalar_same");
  tf::pad<0, 0, 0, 0, 0, 0>(empty).named("empty_same");
  tf::pad<0, 1, 1, 1, 0, 0>(empty, scalar).named("empty_filled");
  tf::pad<0, 0, 2, 0, 0, 1>(thin, -std::numeric_limits<float>::infinity()).named("thin_infinite");
  tf::pad<0, 0, 1, 1, 2, 1, 0, 0>(image).named("image_around");
  tf::pad<0, 0, 0, 0, 0, 0, 1, 2>(image, scalar).named("image_channels");
  tf::pad<17, 5>(line, 3).named("line_ends");
  tf::mirror_pad<tf::Mirror::reflect, 0, 0, 29, 29, 3, 0, 0, 0>(image).named("image_reflected");
}

constexpr void batches(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 3>(g, "x");
  tf::pad<0, 0, 1, 1>(x, 9).named("columns");
  tf::pad<2 * tf::batch, tf::batch, 0, 0>(x, 4).named("rows");
  tf::mirror_pad<tf::Mirror::symmetric, 0, 0, 3, 2>(x).named("mirrored");
}

/// Steps between the elements: the gradient of a slice that has them.
constexpr void steps(tf::Graph& g) {
  auto x = tf::placeholder<double, 40003>(g, "x");
  auto y = tf::placeholder<float, 6, 5, 4>(g, "y");
  tf::gradients(sum(square(tf::slice<tf::range(2, 40000, 3)>(x))), x).named("dx");
  tf::gradients(sum(square(tf::slice<tf::range(1, 6, 2), tf::whole, tf::every(3)>(y))), y)
      .named("dy");
}

/// Rows of elements of several sizes, whose first and last elements are chosen or not.
template <int Step>
inline constexpr tf::AxisSlice slices[] = {tf::every(Step), tf::range(1, 36, Step),
                                           tf::range(3, 37, Step), tf::range(8, 9, Step)};
template <class T, int Step>
constexpr void rows_with_steps(tf::Graph& g) {
  auto x = tf::placeholder<T, 3, 37>(g, "x");
  const auto one = [&]<int I>(std::integral_constant<int, I>) {
    tf::gradients(sum(square(tf::slice<tf::whole, slices<Step>[I]>(x))), x).named({"dx", I});
  };
  [&]<int... I>(std::integer_sequence<int, I...>) {
    (one(std::integral_constant<int, I>{}), ...);
  }(std::make_integer_sequence<int, 4>{});
}

template <class T, int Step>
void check_rows_with_steps() {
  INFO(Step);
  const tf::HostTensors feeds = test::random_feeds<rows_with_steps<T, Step>>();
  constexpr std::int64_t bounds[][2] = {{0, 37}, {1, 36}, {3, 37}, {8, 9}};
  test::Outcome expected;
  for (int k = 0; k < 4; ++k) {
    tf::HostTensor dx = feeds.at("x");
    for (std::int64_t i = 0; i < dx.size(); ++i) {
      const std::int64_t at = i % 37 - bounds[k][0];
      const bool chosen = at >= 0 && i % 37 < bounds[k][1] && at % Step == 0;
      dx.set(i, chosen ? 2 * dx.value(i) : 0);
    }
    expected["dx_" + std::to_string(k)] = dx;
  }
  test::check_values<rows_with_steps<T, Step>>(feeds, expected);
}

}  // namespace

TEST_CASE("pad: rows with steps") {
  check_rows_with_steps<float, 2>();
  check_rows_with_steps<float, 4>();
  check_rows_with_steps<float, 5>();
  check_rows_with_steps<double, 2>();
  check_rows_with_steps<tf::bfloat16, 3>();
}

TEST_CASE("pad: values") {
  check_elements();

  const tf::HostTensors feeds = test::random_feeds<shapes>();
  const double number = feeds.at("scalar").value(0);
  const tf::HostTensor& image = feeds.at("image");
  test::check_values<shapes>(
      feeds, {{"scalar_same", feeds.at("scalar")},
              {"empty_same", feeds.at("empty")},
              {"empty_filled", padded(feeds.at("empty"), {0, 1, 1, 1, 0, 0}, &constant, number)},
              {"thin_infinite", padded(feeds.at("thin"), {0, 0, 2, 0, 0, 1}, &constant,
                                       -std::numeric_limits<double>::infinity())},
              {"image_around", padded(image, {0, 0, 1, 1, 2, 1, 0, 0}, &constant)},
              {"image_channels", padded(image, {0, 0, 0, 0, 0, 0, 1, 2}, &constant, number)},
              {"line_ends", padded(feeds.at("line"), {17, 5}, &constant, 3)},
              {"image_reflected", padded(image, {0, 0, 29, 29, 3, 0, 0, 0}, &reflect)}});
}

TEST_CASE("pad: values of batch axes") {
  for (const std::int64_t b : {0, 1, 3, 50}) {
    const tf::HostTensors feeds = test::random_feeds<batches>(b);
    const tf::HostTensor& x = feeds.at("x");
    test::check_values<batches>(feeds, {{"columns", padded(x, {0, 0, 1, 1}, &constant, 9)},
                                        {"rows", padded(x, {2 * b, b, 0, 0}, &constant, 4)},
                                        {"mirrored", padded(x, {0, 0, 3, 2}, &symmetric)}});
  }
}

TEST_CASE("pad: values with steps") {
  const tf::HostTensors feeds = test::random_feeds<steps>();
  tf::HostTensor dx = feeds.at("x");
  for (std::int64_t i = 0; i < dx.size(); ++i) {
    dx.set(i, i >= 2 && i < 40000 && i % 3 == 2 ? 2 * dx.value(i) : 0);
  }
  tf::HostTensor dy = feeds.at("y");
  for (std::int64_t i = 0; i < dy.size(); ++i) {
    dy.set(i, i / 20 % 2 == 1 && i % 4 % 3 == 0 ? 2 * dy.value(i) : 0);
  }
  test::check_values<steps>(feeds, {{"dx", dx}, {"dy", dy}});
  test::check_threads<steps>(1);
}

TEST_CASE("pad: values of windows drawn by chance") {
  // With steps, which gradients of slices have.
  test::Random random(3);
  for (int i = 0; i < 100; ++i) {
    tf::Graph g;
    const tf::Dims shape = test::random_shape(random, random.below(4));
    tf::SliceWindow window = tf::window_at_start(shape);
    tf::Dims size = shape;
    for (int a = 0; a < shape.rank; ++a) {
      window.begin[a] = random.below(4);
      window.step[a] = 1 + random.below(3);
      const tf::Extent covered =
          shape.extent[a] == 0 ? 0 : (shape.extent[a] - 1) * window.step[a] + 1;
      size.extent[a] = window.begin[a] + covered + random.below(3);
    }
    const tf::AnyExpr x = test::input(g, "x", tf::DType::float64, shape);
    const tf::AnyExpr value = test::input(g, "value", tf::DType::float64, tf::Dims{});
    test::name(tf::pad_to(x, window, size, value), "y");
    const tf::HostTensors feeds = {
        {"x", test::random_tensor(random, tf::DType::float64, shape, -2, 2)},
        {"value", test::random_tensor(random, tf::DType::float64, tf::Dims{}, -2, 2)}};
    tf::HostTensor y = tf::host_tensor(tf::DType::float64, size);
    for (tf::Number& n : y.elements) n = feeds.at("value")[0];
    for (std::int64_t k = 0; k < feeds.at("x").size(); ++k) {
      std::vector<std::int64_t> c = test::coordinates(k, shape);
      for (std::size_t a = 0; a < c.size(); ++a) c[a] = window.begin[a] + c[a] * window.step[a];
      y[test::position(c, size)] = feeds.at("x")[k];
    }
    test::check_interpreter(g, feeds, {{"y", y}});
  }
}

TEST_CASE("pad: sums of windows drawn by chance") {
  test::Random random(5);
  int joined = 0;
  for (int i = 0; i < 300; ++i) {
    tf::Graph g;
    tf::Dims size = test::random_shape(random, 1 + random.below(3));
    const int axis = random.below(size.rank);
    for (int a = 0; a < size.rank; ++a) size.extent[a] += 1;
    size.extent[axis] += 4;
    const tf::AnyExpr zero = tf::detail::constant_node(g, tf::DType::float64, tf::Number{});
    tf::AnyExpr sum;
    tf::HostTensors feeds;
    tf::HostTensor y = tf::host_tensor(tf::DType::float64, size);
    tf::Extent first[3] = {};
    tf::Extent last[3] = {};
    for (int k = 0; k < 3; ++k) {
      tf::Dims shape = size;
      shape.extent[axis] = 1 + random.below(static_cast<int>(size.extent[axis]));
      tf::SliceWindow window = tf::window_at_start(shape);
      first[k] = random.below(static_cast<int>(size.extent[axis] - shape.extent[axis]) + 1);
      last[k] = first[k] + shape.extent[axis];
      window.begin[axis] = static_cast<std::int32_t>(first[k]);
      const std::string name = "x_" + std::to_string(k);
      const tf::AnyExpr x = test::input(g, {"x", k}, tf::DType::float64, shape);
      const bool negative = random.below(2) == 0;
      const tf::AnyExpr part = tf::pad_to(negative ? -x : x, window, size, zero);
      const tf::HostTensor of_x = test::random_tensor(random, tf::DType::float64, shape, -2, 2);
      for (std::int64_t j = 0; j < of_x.size(); ++j) {
        std::vector<std::int64_t> c = test::coordinates(j, shape);
        c[static_cast<std::size_t>(axis)] += first[k];
        const std::int64_t at = test::position(c, size);
        y.set(at, y.value(at) + (negative ? -of_x.value(j) : of_x.value(j)));
      }
      feeds.insert({name, of_x});
      sum = k == 0 ? part : random.below(2) == 0 ? sum + part : part + sum;
    }
    test::name(sum, "y");
    tf::Pool<tf::Id> roots;
    roots.push(sum.id);
    const tf::ir::Simplified simplified = tf::ir::simplify(tf::ir::Graph(g), roots);
    REQUIRE(tf::ir::verify(simplified).view() == "");
    tf::Interpreter after(simplified.graph, simplified.order, simplified.map);
    test::check_close("y", after.run({"y"}, feeds)[0], y, 0);
    // The first two are one pad, or none, unless there is a gap between them.
    int pads = 0;
    for (const tf::Id id : simplified.order) {
      pads += tf::is<tf::ops::Pad>(*simplified.graph.nodes[id].op) ? 1 : 0;
    }
    const bool gap = first[1] > last[0] || first[0] > last[1];
    if (!gap) CHECK(pads <= 2);
    joined += pads < 2 ? 1 : 0;
  }
  CHECK(joined > 50);
}

/// Gradients of differences of neighbours along each axis, and of windows that overlap but for one.
constexpr void differences(tf::Graph& g) {
  auto x = tf::placeholder<float, 5, 37, 19>(g, "x");
  auto along_1 = tf::slice<tf::whole, tf::from(1)>(x) - tf::slice<tf::whole, tf::range(0, 36)>(x);
  auto along_2 = tf::slice<tf::whole, tf::whole, tf::from(2)>(x) -
                 tf::slice<tf::whole, tf::whole, tf::range(0, 17)>(x);
  auto part = tf::slice<tf::range(1, 3)>(x) * tf::slice<tf::range(2, 4)>(x);
  tf::gradients(sum(square(along_1)), x).named("d1");
  tf::gradients(sum(square(along_2)), x).named("d2");
  tf::gradients(sum(part), x).named("d3");
}

TEST_CASE("pad: gradients of slices that overlap") {
  const tf::HostTensors feeds = test::random_feeds<differences>(2);
  const tf::HostTensor& x = feeds.at("x");
  test::Outcome expected;
  for (const char* name : {"d1", "d2", "d3"}) {
    expected.insert({name, tf::host_tensor(tf::DType::float32, x.dims)});
  }
  const auto add = [&](const char* name, std::int64_t at, double value) {
    expected.at(name).set(at, expected.at(name).value(at) + value);
  };
  for (std::int64_t i = 0; i < x.size(); ++i) {
    if (i / 19 % 37 < 36) {
      const double slope = 2 * (x.value(i + 19) - x.value(i));
      add("d1", i + 19, slope);
      add("d1", i, -slope);
    }
    if (i % 19 < 17) {
      const double slope = 2 * (x.value(i + 2) - x.value(i));
      add("d2", i + 2, slope);
      add("d2", i, -slope);
    }
    const std::int64_t slab = 37 * 19;
    if (i / slab == 1 || i / slab == 2) {
      add("d3", i, x.value(i + slab));
      add("d3", i + slab, x.value(i));
    }
  }
  test::check_values<differences>(feeds, expected, 1e-5);
}

/// The same in a batch, along an axis in its middle and along the last one.
constexpr void differences_of_a_batch(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 6, 33>(g, "x");
  auto along_1 = tf::slice<tf::whole, tf::from(1)>(x) - tf::slice<tf::whole, tf::range(0, 5)>(x);
  auto along_2 = tf::slice<tf::whole, tf::whole, tf::from(1)>(x) -
                 tf::slice<tf::whole, tf::whole, tf::range(0, 32)>(x);
  tf::gradients(sum(square(along_1)), x).named("d1");
  tf::gradients(sum(square(along_2)), x).named("d2");
}

TEST_CASE("pad: gradients of slices of a batch that overlap") {
  for (const int batch : {0, 1, 2, 7}) {
    CAPTURE(batch);
    const tf::HostTensors feeds = test::random_feeds<differences_of_a_batch>(batch);
    const tf::HostTensor& x = feeds.at("x");
    tf::HostTensor d1 = tf::host_tensor(tf::DType::float32, x.dims);
    tf::HostTensor d2 = d1;
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const auto slope = [&](bool has, std::int64_t from, std::int64_t to) {
        return has ? 2 * (x.value(to) - x.value(from)) : 0;
      };
      const std::int64_t row = i / 33 % 6;
      const std::int64_t column = i % 33;
      d1.set(i, slope(row > 0, i - 33, i) - slope(row < 5, i, i + 33));
      d2.set(i, slope(column > 0, i - 1, i) - slope(column < 32, i, i + 1));
    }
    test::check_values<differences_of_a_batch>(feeds, {{"d1", d1}, {"d2", d2}}, 1e-5);
  }
}

TEST_CASE("pad: gradient") {
  test::check_gradients<tf::Shape<2, 3>>(
      [](const auto& x) { return tf::pad<1, 0, 2, 1>(x * x, 5); });
  test::check_gradients<tf::Shape<2, 3>, tf::Shape<>>(
      [](const auto& x, const auto& value) { return square(tf::pad<1, 1, 0, 2>(x, value)); });
  test::check_gradients<tf::Shape<4>>(
      [](const auto& x) { return tf::gradients(sum(square(tf::pad<1, 2>(x * x))), x) * 1; });
}

TEST_CASE("mirror_pad: values") {
  // The examples of TensorFlow's documentation; more in "pad: values".
  tf::Graph g;
  auto x = tf::placeholder<std::int32_t, 2, 3>(g, "x");
  tf::mirror_pad<tf::Mirror::reflect, 1, 1, 2, 2>(x).named("reflect");
  tf::mirror_pad<tf::Mirror::symmetric, 1, 1, 2, 2>(x).named("symmetric");
  test::check_interpreter(g, {{"x", test::ints({2, 3}, {1, 2, 3, 4, 5, 6})}},
                          {{"reflect", test::ints({4, 7}, {6, 5, 4, 5, 6, 5, 4,  //
                                                           3, 2, 1, 2, 3, 2, 1,  //
                                                           6, 5, 4, 5, 6, 5, 4,  //
                                                           3, 2, 1, 2, 3, 2, 1})},
                           {"symmetric", test::ints({4, 7}, {2, 1, 1, 2, 3, 3, 2,  //
                                                             2, 1, 1, 2, 3, 3, 2,  //
                                                             5, 4, 4, 5, 6, 6, 5,  //
                                                             5, 4, 4, 5, 6, 6, 5})}});
}

TEST_CASE("mirror_pad: gradient") {
  test::check_gradients<tf::Shape<3, 4>>(
      [](const auto& x) { return tf::mirror_pad<tf::Mirror::reflect, 2, 0, 1, 3>(square(x)); });
  test::check_gradients<tf::Shape<3, 2>>(
      [](const auto& x) { return tf::mirror_pad<tf::Mirror::symmetric, 3, 1, 0, 2>(square(x)); });
}
