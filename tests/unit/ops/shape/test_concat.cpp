// SPDX-License-Identifier: Apache-2.0

// concat and stack, against a loop that copies part after part.

#include <array>
#include <string>
#include <vector>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;

/// The parts one after another along an axis.
tf::HostTensor joined(const std::vector<tf::HostTensor>& parts, int axis) {
  tf::Dims shape = parts[0].dims;
  shape.extent[axis] = 0;
  for (const tf::HostTensor& part : parts) shape.extent[axis] += part.dims.extent[axis];
  tf::HostTensor out = tf::host_tensor(parts[0].dtype, shape);
  std::int64_t begin = 0;
  for (const tf::HostTensor& part : parts) {
    for (std::int64_t i = 0; i < part.size(); ++i) {
      std::vector<std::int64_t> c = test::coordinates(i, part.dims);
      c[static_cast<std::size_t>(axis)] += begin;
      out[test::position(c, shape)] = part[i];
    }
    begin += part.dims.extent[axis];
  }
  return out;
}
tf::HostTensor reshaped(tf::HostTensor x, const tf::Dims& shape) {
  x.dims = shape;
  return x;
}

template <class T>
constexpr void elements_of(tf::Graph& g, int i) {
  auto a = tf::placeholder<T, 3, 2, 5>(g, {"a", i});
  auto b = tf::placeholder<T, 3, 4, 5>(g, {"b", i});
  auto c = tf::placeholder<T, 3, 2, 1>(g, {"c", i});
  tf::concat<1>(a, b).named({"ab", i});
  tf::concat<-1>(a, c, a).named({"aca", i});
  tf::stack<2>(a, a).named({"aa", i});
}
constexpr void elements(tf::Graph& g) {
  test::for_each_element_type([&]<class T>(T, int i) { elements_of<T>(g, i); });
}

void check_elements() {
  const tf::HostTensors feeds = test::random_feeds<elements>();
  test::Outcome expected;
  for (int i = 0; i < tf::dtype_count; ++i) {
    const std::string of = "_" + std::to_string(i);
    const tf::HostTensor& a = feeds.at("a" + of);
    const tf::HostTensor column = reshaped(a, test::dims({3, 2, 1, 5}));
    expected.merge(test::Outcome({{"ab" + of, joined({a, feeds.at("b" + of)}, 1)},
                                  {"aca" + of, joined({a, feeds.at("c" + of), a}, 2)},
                                  {"aa" + of, joined({column, column}, 2)}}));
  }
  test::check_values<elements>(feeds, expected);
}

/// Scalars, empty parts, more inputs than a node takes, more than one thread's share.
constexpr void shapes(tf::Graph& g) {
  auto scalar = tf::placeholder<float>(g, "scalar");
  auto line = tf::placeholder<float, 131>(g, "line");
  auto empty = tf::placeholder<float, 0>(g, "empty");
  auto none = tf::placeholder<float, 3, 0, 2>(g, "none");
  auto large = tf::placeholder<float, 150, 257>(g, "large");
  auto narrow = tf::placeholder<float, 150, 3>(g, "narrow");
  tf::stack<0>(scalar, scalar, scalar).named("scalars");
  tf::concat<0>(line).named("one");
  tf::concat<0>(empty, line, empty, line).named("lines");
  tf::concat<0>(empty, empty).named("nothing");
  tf::concat<2>(none, none).named("none_inside");
  tf::concat<1>(narrow, large, narrow).named("wide");
  tf::concat<0>(large, large).named("tall");
  std::array<tf::Expr<float, tf::Shape<131>>, 40> many{};
  for (int i = 0; i < 40; ++i) many[static_cast<std::size_t>(i)] = line * static_cast<float>(i);
  tf::stack<1>(many).named("many");
  tf::concat<0>(many).named("long");
}

constexpr void batches(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 3>(g, "x");
  auto y = tf::placeholder<float, 2 * tf::batch, 3>(g, "y");
  tf::concat<0>(x, y, x).named("rows");
  tf::concat<1>(x, x * 2).named("columns");
  tf::stack<1>(x, x).named("stack");
  // Taken apart again, in other parts: the gradient of rows.
  tf::gradients(sum(square(tf::concat<0>(x, y) * 3)), y).named("dy");
}

}  // namespace

TEST_CASE("concat: values") {
  check_elements();

  const tf::HostTensors feeds = test::random_feeds<shapes>();
  const tf::HostTensor& line = feeds.at("line");
  const tf::HostTensor& empty = feeds.at("empty");
  const tf::HostTensor& large = feeds.at("large");
  const tf::HostTensor& narrow = feeds.at("narrow");
  const tf::HostTensor one = reshaped(feeds.at("scalar"), test::dims({1}));
  std::vector<tf::HostTensor> many;
  std::vector<tf::HostTensor> columns;
  for (int i = 0; i < 40; ++i) {
    many.push_back(test::map(line, [&](double x) { return x * i; }));
    columns.push_back(reshaped(many.back(), test::dims({131, 1})));
  }
  test::check_values<shapes>(
      feeds, {{"scalars", joined({one, one, one}, 0)},
              {"one", line},
              {"lines", joined({line, line}, 0)},
              {"nothing", empty},
              {"none_inside", tf::host_tensor(tf::DType::float32, test::dims({3, 0, 4}))},
              {"wide", joined({narrow, large, narrow}, 1)},
              {"tall", joined({large, large}, 0)},
              {"many", joined(columns, 1)},
              {"long", joined(many, 0)}});
}

TEST_CASE("concat: values of batch axes") {
  for (const std::int64_t b : {0, 1, 3, 100}) {
    const tf::HostTensors feeds = test::random_feeds<batches>(b);
    const tf::HostTensor& x = feeds.at("x");
    const tf::HostTensor& y = feeds.at("y");
    const tf::HostTensor column = reshaped(x, test::dims({b, 1, 3}));
    test::check_values<batches>(
        feeds,
        {{"rows", joined({x, y, x}, 0)},
         {"columns", joined({x, test::map(x, [](double e) { return 2 * e; })}, 1)},
         {"stack", joined({column, column}, 1)},
         {"dy", test::map(y, [](double e) { return 18 * e; })}},
        1e-6);
  }
}

TEST_CASE("concat: values of shapes drawn by chance") {
  test::Random random(5);
  for (int i = 0; i < 100; ++i) {
    tf::Graph g;
    const tf::Dims shape = test::random_shape(random, 1 + random.below(4));
    const int axis = random.below(shape.rank);
    std::vector<tf::AnyExpr> inputs;
    std::vector<tf::HostTensor> parts;
    tf::HostTensors feeds;
    const int count = 1 + random.below(36);
    for (int k = 0; k < count; ++k) {
      tf::Dims part = shape;
      part.extent[axis] = random.below(4);
      inputs.push_back(test::input(g, {"x", k}, tf::DType::int32, part));
      parts.push_back(test::random_tensor(random, tf::DType::int32, part, -9, 9));
      feeds["x_" + std::to_string(k)] = parts.back();
    }
    test::name(tf::concat_to(inputs, axis), "y");
    REQUIRE(tf::ir::verify(g).view() == "");
    test::check_interpreter(g, feeds, {{"y", joined(parts, axis)}});
  }
}

TEST_CASE("concat: gradient") {
  test::check_gradients<tf::Shape<2, 3>, tf::Shape<2, 1>>(
      [](const auto& a, const auto& b) { return square(tf::concat<1>(a, b, a)); });
  test::check_gradients<tf::Shape<2>, tf::Shape<3>>(
      [](const auto& a, const auto& b) { return tf::concat<0>(b, a) * tf::concat<0>(a, b); });
}

TEST_CASE("stack: values") {
  // Also in "concat: values".
  tf::Graph g;
  auto x = tf::placeholder<float, 2>(g, "x");
  auto y = tf::placeholder<float, 2>(g, "y");
  tf::stack<0>(x, y).named("rows");
  tf::stack<-1>(x, y).named("columns");
  test::check_interpreter(g, {{"x", test::floats({2}, {1, 2})}, {"y", test::floats({2}, {3, 4})}},
                          {{"rows", test::floats({2, 2}, {1, 2, 3, 4})},
                           {"columns", test::floats({2, 2}, {1, 3, 2, 4})}});
}

TEST_CASE("stack: gradient") {
  test::check_gradients<tf::Shape<2, 2>, tf::Shape<2, 2>>(
      [](const auto& a, const auto& b) { return square(tf::stack<1>(a, b, a * b)); });
  test::check_gradients<tf::Shape<>>([](const auto& a) { return tf::stack<0>(a, a * a); });
}
