// SPDX-License-Identifier: Apache-2.0

// Operations that change the shape: reshape, expand_dims, squeeze, transpose, broadcast_to, tile,
// space_to_depth, depth_to_space; and rank, shape and size, which tell it.

#include <string>
#include <vector>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;
using Place = std::vector<std::int64_t>;

tf::HostTensor reshaped(tf::HostTensor x, const std::vector<tf::Extent>& shape) {
  x.dims = test::dims(shape);
  return x;
}

template <class T>
constexpr void elements_of(tf::Graph& g, int i) {
  auto x = tf::placeholder<T, 3, 1, 5>(g, {"x", i});
  tf::reshape<5, 3>(x).named({"reshape", i});
  tf::expand_dims<1>(x).named({"expand_dims", i});
  tf::squeeze<1>(x).named({"squeeze", i});
  tf::transpose<2, 0, 1>(x).named({"transpose", i});
  tf::broadcast_to<2, 3, 4, 5>(x).named({"broadcast_to", i});
  tf::tile<2, 3, 1>(x).named({"tile", i});
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
    const auto pick = [&](const std::vector<tf::Extent>& shape, const auto& f) {
      return test::pick(x, test::dims(shape), f);
    };
    expected.merge(test::Outcome(
        {{"reshape" + of, reshaped(x, {5, 3})},
         {"expand_dims" + of, reshaped(x, {3, 1, 1, 5})},
         {"squeeze" + of, reshaped(x, {3, 5})},
         {"transpose" + of,
          pick({5, 3, 1}, [](const Place& c) { return Place{c[1], c[2], c[0]}; })},
         {"broadcast_to" + of,
          pick({2, 3, 4, 5}, [](const Place& c) { return Place{c[1], 0, c[3]}; })},
         {"tile" + of, pick({6, 3, 5}, [](const Place& c) { return Place{c[0] % 3, 0, c[2]}; })}}));
  }
  test::check_values<elements>(feeds, expected);
}

constexpr void shapes(tf::Graph& g) {
  auto scalar = tf::placeholder<float>(g, "scalar");
  auto empty = tf::placeholder<float, 3, 0, 2>(g, "empty");
  auto large = tf::placeholder<float, 7, 90, 131>(g, "large");
  auto six = tf::placeholder<float, 2, 1, 3, 2, 2, 1>(g, "six");
  tf::reshape<1, 1>(scalar).named("scalar_matrix");
  tf::expand_dims<-1>(scalar).named("scalar_vector");
  tf::transpose(scalar).named("scalar_transposed");
  tf::broadcast_to<3, 2>(scalar).named("scalar_broadcast");
  tf::tile<>(scalar).named("scalar_tiled");
  tf::squeeze(tf::expand_dims<0>(scalar)).named("scalar_squeezed");
  tf::reshape<0, 5>(empty).named("empty_reshaped");
  tf::transpose<1, 2, 0>(empty).named("empty_transposed");
  tf::tile<2, 3, 2>(empty).named("empty_tiled");
  tf::transpose<0, 2, 1>(large).named("large_inner");
  tf::transpose<1, 0, 2>(large).named("large_outer");
  tf::transpose(large).named("large_reversed");
  tf::transpose<0, 1>(tf::reshape<630, 131>(large)).named("large_same");
  tf::transpose<1, 0>(tf::reshape<630, 131>(large)).named("large_matrix");
  tf::tile<0, 1, 1>(large).named("large_none");
  tf::tile<2, 2, 2, 1, 3, 2>(six).named("six_tiled");  // in two rounds
  tf::transpose<5, 3, 1, 4, 2, 0>(six).named("six_transposed");
}

constexpr void batches(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 4, 6>(g, "x");
  tf::tile<3, 1, 2>(x).named("tile");
  tf::transpose<1, 0, 2>(x).named("transpose");
  tf::squeeze<0>(tf::expand_dims<0>(tf::broadcast_to<5, tf::batch, 4, 6>(x))).named("broadcast_to");
  auto image = tf::expand_dims<-1>(x);
  tf::space_to_depth<2>(image).named("space_to_depth");
  tf::depth_to_space<2>(tf::reshape<tf::batch, 2, 3, 4>(x)).named("depth_to_space");
}

/// What is asked of shapes is known at once, or when a run starts.
constexpr void questions(tf::Graph& g) {
  auto scalar = tf::placeholder<float>(g, "scalar");
  auto x = tf::placeholder<float, 2, 0, 5>(g, "x");
  auto y = tf::placeholder<double, 3 * tf::batch, 4, tf::batch>(g, "y");
  rank(scalar).named("scalar_rank");
  shape(scalar).named("scalar_shape");
  size(scalar).named("scalar_size");
  rank(x).named("x_rank");
  shape(x).named("x_shape");
  size(x).named("x_size");
  rank(y).named("y_rank");
  shape(y).named("y_shape");
  size(y).named("y_size");
}

void check_questions(std::int64_t b) {
  const double n = static_cast<double>(b);
  test::check_values<questions>(test::random_feeds<questions>(b),
                                {{"scalar_rank", test::ints({}, {0})},
                                 {"scalar_shape", test::ints({0}, {})},
                                 {"scalar_size", test::ints({}, {1})},
                                 {"x_rank", test::ints({}, {3})},
                                 {"x_shape", test::ints({3}, {2, 0, 5})},
                                 {"x_size", test::ints({}, {0})},
                                 {"y_rank", test::ints({}, {3})},
                                 {"y_shape", test::ints({3}, {3 * n, 4, n})},
                                 {"y_size", test::ints({}, {12 * n * n})}});
}

}  // namespace

TEST_CASE("reshape: values") {
  check_elements();

  const tf::HostTensors feeds = test::random_feeds<shapes>();
  const tf::HostTensor& scalar = feeds.at("scalar");
  const tf::HostTensor& large = feeds.at("large");
  const tf::HostTensor& six = feeds.at("six");
  const tf::HostTensor matrix = reshaped(large, {630, 131});
  const auto nothing = [](const std::vector<tf::Extent>& shape) {
    return tf::host_tensor(tf::DType::float32, test::dims(shape));
  };
  test::check_values<shapes>(
      feeds,
      {{"scalar_matrix", reshaped(scalar, {1, 1})},
       {"scalar_vector", reshaped(scalar, {1})},
       {"scalar_transposed", scalar},
       {"scalar_broadcast",
        test::pick(scalar, test::dims({3, 2}), [](const Place&) { return Place{}; })},
       {"scalar_tiled", scalar},
       {"scalar_squeezed", scalar},
       {"empty_reshaped", nothing({0, 5})},
       {"empty_transposed", nothing({0, 2, 3})},
       {"empty_tiled", nothing({6, 0, 4})},
       {"large_inner", test::pick(large, test::dims({7, 131, 90}),
                                  [](const Place& c) { return Place{c[0], c[2], c[1]}; })},
       {"large_outer", test::pick(large, test::dims({90, 7, 131}),
                                  [](const Place& c) { return Place{c[1], c[0], c[2]}; })},
       {"large_reversed", test::pick(large, test::dims({131, 90, 7}),
                                     [](const Place& c) { return Place{c[2], c[1], c[0]}; })},
       {"large_same", matrix},
       {"large_matrix", test::pick(matrix, test::dims({131, 630}),
                                   [](const Place& c) { return Place{c[1], c[0]}; })},
       {"large_none", nothing({0, 90, 131})},
       {"six_tiled",
        test::pick(six, test::dims({4, 2, 6, 2, 6, 2}),
                   [](const Place& c) { return Place{c[0] % 2, 0, c[2] % 3, c[3], c[4] % 2, 0}; })},
       {"six_transposed", test::pick(six, test::dims({1, 2, 1, 2, 3, 2}), [](const Place& c) {
          return Place{c[5], c[2], c[4], c[1], c[3], c[0]};
        })}});
}

TEST_CASE("reshape: gradient") {
  test::check_gradients<tf::Shape<2, 6>>([](const auto& x) { return tf::reshape<3, 4>(x * x); });
}

TEST_CASE("transpose: values") {
  // Every permutation of four axes; more in "reshape: values".
  test::Random random(2);
  int permutation[] = {0, 1, 2, 3};
  do {
    tf::Graph g;
    const tf::Dims shape = test::dims({2, 3, 1, 4});
    test::name(transpose_to(test::input(g, "x", tf::DType::int64, shape), permutation), "y");
    const tf::HostTensor x = test::random_tensor(random, tf::DType::int64, shape, -9, 9);
    const tf::HostTensor y = test::pick(x, tf::permuted(shape, permutation), [&](const Place& c) {
      Place from(4);
      for (std::size_t i = 0; i < 4; ++i) from[static_cast<std::size_t>(permutation[i])] = c[i];
      return from;
    });
    test::check_interpreter(g, {{"x", x}}, {{"y", y}});
  } while (std::next_permutation(permutation, permutation + 4));
}

namespace {

/// Bytes that elementwise operations widen, transposed.
constexpr void widened(tf::Graph& g) {
  auto x = tf::placeholder<std::uint8_t, tf::batch, 6, 19, 3>(g, "x");
  auto flags = tf::placeholder<bool, 3, 4, 5, 7>(g, "flags");
  auto mean = tf::placeholder<float, 3>(g, "mean");
  auto row = tf::placeholder<float, 6, 1, 1>(g, "row");
  auto wide = tf::cast<float>(x);
  tf::transpose<0, 3, 1, 2>(wide).named("first");
  tf::transpose<3, 0, 2, 1>((wide - mean) * 0.5f + row).named("normalized");
  tf::transpose<0, 2, 1, 3>(wide).named("rows");
  (wide + 1).named("more");
  tf::transpose<1, 3, 0, 2>(tf::cast<double>(flags) * 3).named("thrice");
}

}  // namespace

TEST_CASE("transpose: of bytes that operations widen") {
  for (const std::int64_t batch : {1, 5}) {
    const tf::HostTensors feeds =
        test::random_feeds(tf::ir::Lowering<widened, tf::training>::view, batch, 3);
    const tf::HostTensor& x = feeds.at("x");
    const auto wide = [&](const tf::HostTensor& from, tf::DType type, const auto& f) {
      tf::HostTensor to = tf::host_tensor(type, from.dims);
      for (std::int64_t i = 0; i < to.size(); ++i) to.set(i, f(from.value(i), i));
      return to;
    };
    const auto same = [](double e, std::int64_t) { return e; };
    const tf::HostTensor floats = wide(x, tf::DType::float32, same);
    const tf::HostTensor normalized = wide(x, tf::DType::float32, [&](double e, std::int64_t i) {
      return (e - feeds.at("mean").value(i % 3)) * 0.5 + feeds.at("row").value(i / 57 % 6);
    });
    const tf::HostTensor thrice =
        wide(feeds.at("flags"), tf::DType::float64, [](double e, std::int64_t) { return 3 * e; });
    const std::int64_t b = batch;
    test::check_values<widened>(
        feeds,
        {{"more", wide(x, tf::DType::float32, [](double e, std::int64_t) { return e + 1; })},
         {"first", test::pick(floats, test::dims({b, 3, 6, 19}),
                              [](const Place& c) { return Place{c[0], c[2], c[3], c[1]}; })},
         {"normalized", test::pick(normalized, test::dims({3, b, 19, 6}),
                                   [](const Place& c) { return Place{c[1], c[3], c[2], c[0]}; })},
         {"rows", test::pick(floats, test::dims({b, 19, 6, 3}),
                             [](const Place& c) { return Place{c[0], c[2], c[1], c[3]}; })},
         {"thrice", test::pick(thrice, test::dims({4, 7, 3, 5}),
                               [](const Place& c) { return Place{c[2], c[0], c[3], c[1]}; })}},
        1e-5);
  }
}

TEST_CASE("transpose: gradient") {
  test::check_gradients<tf::Shape<2, 3, 2>>(
      [](const auto& x) { return tf::transpose<2, 0, 1>(square(x)); });
}

TEST_CASE("expand_dims: values") {
  // Also in "reshape: values": the elements stay where they are.
  tf::Graph g;
  auto x = tf::placeholder<float, 2, 3>(g, "x");
  tf::expand_dims<0>(x).named("first");
  tf::expand_dims<-1>(x).named("last");
  tf::expand_dims<-2>(x).named("middle");
  const tf::HostTensor value = test::floats({2, 3}, {1, 2, 3, 4, 5, 6});
  test::check_interpreter(g, {{"x", value}},
                          {{"first", reshaped(value, {1, 2, 3})},
                           {"last", reshaped(value, {2, 3, 1})},
                           {"middle", reshaped(value, {2, 1, 3})}});
}

TEST_CASE("expand_dims: gradient") {
  test::check_gradients<tf::Shape<3>>([](const auto& x) { return tf::expand_dims<0>(x) * x; });
}

TEST_CASE("squeeze: values") {
  tf::Graph g;
  auto x = tf::placeholder<float, 1, 2, 1, 3, 1>(g, "x");
  squeeze(x).named("all");
  tf::squeeze<0, -1>(x).named("ends");
  const tf::HostTensor value = test::floats({1, 2, 1, 3, 1}, {1, 2, 3, 4, 5, 6});
  test::check_interpreter(g, {{"x", value}},
                          {{"all", reshaped(value, {2, 3})}, {"ends", reshaped(value, {2, 1, 3})}});
}

TEST_CASE("squeeze: gradient") {
  test::check_gradients<tf::Shape<1, 3, 1>>([](const auto& x) { return square(squeeze(x)); });
}

TEST_CASE("broadcast_to: values") {
  tf::Graph g;
  auto x = tf::placeholder<float, 2, 1>(g, "x");
  tf::broadcast_to<2, 3>(x).named("columns");
  tf::broadcast_to<2, 2, 1>(x).named("planes");
  test::check_interpreter(g, {{"x", test::floats({2, 1}, {1, 2})}},
                          {{"columns", test::floats({2, 3}, {1, 1, 1, 2, 2, 2})},
                           {"planes", test::floats({2, 2, 1}, {1, 2, 1, 2})}});
}

TEST_CASE("broadcast_to: gradient") {
  test::check_gradients<tf::Shape<2, 1>>(
      [](const auto& x) { return square(tf::broadcast_to<3, 2, 4>(x)); });
  test::check_gradients<tf::Shape<>>([](const auto& x) { return tf::broadcast_to<5>(x * x); });
}

TEST_CASE("tile: values") {
  // TensorFlow's example, and axes of batches.
  tf::Graph g;
  auto x = tf::placeholder<std::int32_t, 2, 2>(g, "x");
  tf::tile<1, 2>(x).named("y");
  test::check_interpreter(g, {{"x", test::ints({2, 2}, {1, 2, 3, 4})}},
                          {{"y", test::ints({2, 4}, {1, 2, 1, 2, 3, 4, 3, 4})}});

  for (const std::int64_t b : {0, 1, 5}) {
    const tf::HostTensors feeds = test::random_feeds<batches>(b);
    const tf::HostTensor& x4 = feeds.at("x");
    const auto pick = [&](const std::vector<tf::Extent>& shape, const auto& f) {
      return test::pick(x4, test::dims(shape), f);
    };
    const auto pixel = [](const Place& c) {
      return Place{c[0], 2 * c[1] + c[3] / 2, 2 * c[2] + c[3] % 2};
    };
    const auto channel = [](const Place& c) {
      // (b, 2, 3, 4) lies in x as (b, 4, 6)
      const std::int64_t i = (c[1] / 2 * 3 + c[2] / 2) * 4 + c[1] % 2 * 2 + c[2] % 2;
      return Place{c[0], i / 6, i % 6};
    };
    test::check_values<batches>(
        feeds,
        {{"tile",
          pick({3 * b, 4, 12}, [&](const Place& c) { return Place{c[0] % b, c[1], c[2] % 6}; })},
         {"transpose", pick({4, b, 6}, [](const Place& c) { return Place{c[1], c[0], c[2]}; })},
         {"broadcast_to",
          pick({5, b, 4, 6}, [](const Place& c) { return Place{c[1], c[2], c[3]}; })},
         {"space_to_depth", pick({b, 2, 3, 4}, pixel)},
         {"depth_to_space", pick({b, 4, 6, 1}, channel)}});
  }
}

TEST_CASE("tile: gradient") {
  test::check_gradients<tf::Shape<2, 3>>([](const auto& x) { return square(tf::tile<3, 2>(x)); });
  test::check_gradients<tf::Shape<1, 2, 1, 2, 1, 2>>(
      [](const auto& x) { return tf::tile<2, 2, 2, 2, 1, 1>(x * x); });
}

TEST_CASE("space_to_depth: values") {
  // TensorFlow's examples; more in "tile: values".
  tf::Graph g;
  auto x = tf::placeholder<float, 1, 2, 2, 3>(g, "x");
  auto y = tf::placeholder<float, 1, 4, 4, 1>(g, "y");
  tf::space_to_depth<2>(x).named("colours");
  tf::space_to_depth<2>(y).named("pixels");
  test::check_interpreter(
      g,
      {{"x", test::floats({1, 2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})},
       {"y", test::floats({1, 4, 4, 1}, {1, 2, 5, 6, 3, 4, 7, 8, 9, 10, 13, 14, 11, 12, 15, 16})}},
      {{"colours", test::floats({1, 1, 1, 12}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})},
       {"pixels",
        test::floats({1, 2, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})}});
}

TEST_CASE("space_to_depth: gradient") {
  test::check_gradients<tf::Shape<1, 2, 4, 2>>(
      [](const auto& x) { return tf::space_to_depth<2>(square(x)); });
}

TEST_CASE("depth_to_space: values") {
  tf::Graph g;
  auto x = tf::placeholder<float, 1, 2, 2, 4>(g, "x");
  tf::depth_to_space<2>(x).named("y");
  test::check_interpreter(
      g,
      {{"x", test::floats({1, 2, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})}},
      {{"y", test::floats({1, 4, 4, 1}, {1, 2, 5, 6, 3, 4, 7, 8, 9, 10, 13, 14, 11, 12, 15, 16})}});
}

TEST_CASE("depth_to_space: gradient") {
  test::check_gradients<tf::Shape<1, 1, 2, 9>>(
      [](const auto& x) { return tf::depth_to_space<3>(square(x)); });
}

TEST_CASE("shape: values") {
  for (const std::int64_t b : {0, 1, 7}) check_questions(b);
}
TEST_CASE("size: values") { check_questions(1000); }
TEST_CASE("rank: values") { check_questions(2); }
