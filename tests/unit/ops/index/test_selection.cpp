// SPDX-License-Identifier: Apache-2.0

// where (indices), boolean_mask and sparse_to_dense, and what a session makes of
// an operation with several results.

#include <doctest/doctest.h>

#include <array>
#include <complex>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;
using test::Outcome;

template <class S>
constexpr std::int64_t size_of = count_of(S::dims).coefficient;

// References.

/// The coordinates of true elements, zeros after them.
tf::HostTensor true_elements(const tf::HostTensor& mask, std::int64_t bound) {
  tf::HostTensor out = tf::host_tensor(tf::DType::int32, test::dims({bound, mask.dims.rank}));
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < mask.size(); ++i) {
    if (mask.value(i) == 0) continue;
    for (const std::int64_t c : test::coordinates(i, mask.dims)) {
      out.set(at++, static_cast<double>(c));
    }
  }
  return out;
}

tf::HostTensor count_of(const tf::HostTensor& mask) {
  double count = 0;
  for (std::int64_t i = 0; i < mask.size(); ++i) count += mask.value(i) != 0;
  return test::ints({}, {count});
}

/// The slices of x, seen as (A, size of mask, B), where the mask is true; zeros after them.
tf::HostTensor kept(const tf::HostTensor& x, const tf::HostTensor& mask, int axis,
                    std::int64_t bound) {
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  tf::Dims dims{};
  for (int i = 0; i < axis; ++i) {
    outer *= x.dims.extent[i];
    dims.append(x.dims.extent[i]);
  }
  dims.append(bound);
  for (int i = axis + mask.dims.rank; i < x.dims.rank; ++i) {
    inner *= x.dims.extent[i];
    dims.append(x.dims.extent[i]);
  }
  tf::HostTensor out = tf::host_tensor(x.dtype, dims);
  for (std::int64_t a = 0; a < outer; ++a) {
    std::int64_t row = 0;
    for (std::int64_t m = 0; m < mask.size(); ++m) {
      if (mask.value(m) == 0) continue;
      for (std::int64_t b = 0; b < inner; ++b) {
        out[(a * bound + row) * inner + b] = x[(a * mask.size() + m) * inner + b];
      }
      ++row;
    }
  }
  return out;
}

tf::HostTensor dense(const tf::HostTensor& indices, const tf::HostTensor& values,
                     const tf::Dims& shape, double otherwise) {
  tf::HostTensor out = tf::host_tensor(values.dtype, shape);
  for (std::int64_t i = 0; i < out.size(); ++i) out.set(i, otherwise);
  const std::int64_t rows = indices.size() / shape.rank;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::vector<std::int64_t> place;
    for (int axis = 0; axis < shape.rank; ++axis) {
      place.push_back(indices[row * shape.rank + axis].integer);
    }
    if (place[0] == -1) continue;
    out[test::position(place, shape)] = values[values.dims.rank == 0 ? 0 : row];
  }
  return out;
}

// Models.

/// placeholder<T, 2, D..., 3> of a Shape<D...>.
template <class T, tf::Extent... D>
constexpr auto around(tf::Graph& g, tf::Label name, std::type_identity<tf::Shape<D...>>) {
  return tf::placeholder<T, 2, D..., 3>(g, name);
}

template <class S>
constexpr void masks(tf::Graph& g) {
  auto mask = test::input<bool, S>(g, "mask");
  auto x = test::input<float, S>(g, "x");
  auto y = around<float>(g, "y", std::type_identity<S>());
  auto [indices, count] = where(mask);
  indices.named("indices");
  count.named("count");
  auto [values, kept] = boolean_mask(x, mask);
  values.named("values");
  kept.named("kept");
  tf::boolean_mask<1>(y, mask).values.named("inner");
  tf::boolean_mask<1, size_of<S> + 2>(y, mask).values.named("wide");
}

template <class S>
Outcome expected_masks(const tf::HostTensors& feeds) {
  const tf::HostTensor& mask = feeds.at("mask");
  return {{"indices", true_elements(mask, size_of<S>)},
          {"count", count_of(mask)},
          {"values", kept(feeds.at("x"), mask, 0, size_of<S>)},
          {"kept", count_of(mask)},
          {"inner", kept(feeds.at("y"), mask, 1, size_of<S>)},
          {"wide", kept(feeds.at("y"), mask, 1, size_of<S> + 2)}};
}

template <class S>
void check_masks(std::uint64_t seed) {
  tf::HostTensors feeds = test::random_feeds<masks<S>>(1, seed);
  test::check_values<masks<S>>(feeds, expected_masks<S>(feeds));
  for (const double all : {0.0, 1.0}) {
    for (tf::Number& m : feeds.at("mask").elements) m.integer = all != 0;
    test::check_values<masks<S>>(feeds, expected_masks<S>(feeds));
  }
}

/// Every element type, and a batch that is any part of the mask's axes.
constexpr void batches(tf::Graph& g) {
  auto rows = tf::placeholder<bool, tf::batch>(g, "rows");
  auto cells = tf::placeholder<bool, tf::batch, 3>(g, "cells");
  auto pairs = tf::placeholder<bool, tf::batch, tf::batch>(g, "pairs");
  auto b = tf::placeholder<bool, tf::batch, 3>(g, "b");
  auto u = tf::placeholder<std::uint8_t, tf::batch, 3>(g, "u");
  auto i = tf::placeholder<std::int32_t, tf::batch, 3>(g, "i");
  auto l = tf::placeholder<std::int64_t, tf::batch, 3>(g, "l");
  auto d = tf::placeholder<double, tf::batch, 3>(g, "d");
  auto c = tf::placeholder<std::complex<double>, tf::batch, 3>(g, "c");
  auto h = tf::placeholder<tf::float16, tf::batch, 3>(g, "h");
  where(rows).indices.named("row");
  where(cells).indices.named("cell");
  tf::where<64>(pairs).indices.named("pair");
  tf::where<2 * tf::batch>(rows).indices.named("twice");
  boolean_mask(b, cells).values.named("of_b");
  boolean_mask(u, cells).values.named("of_u");
  boolean_mask(i, cells).values.named("of_i");
  boolean_mask(l, rows).values.named("of_l");
  boolean_mask(c, cells).values.named("of_c");
  boolean_mask(h, cells).values.named("of_h");
  tf::boolean_mask<0, 9>(d, rows).values.named("of_d");
}

constexpr void mask_gradients(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 37>(g, "x");
  auto mask = tf::placeholder<bool, tf::batch>(g, "mask");
  auto [rows, count] = boolean_mask(x, mask);
  auto mean_row = (tf::sum<0>(rows) / tf::maximum(tf::cast<float>(count), 1)).named("mean");
  gradients(sum(square(mean_row)), x).named("dx");
}

template <class I>
constexpr void scattered(tf::Graph& g) {
  auto cells = tf::placeholder<I, 5, 2>(g, "cells");
  auto places = tf::placeholder<I, 5>(g, "places");
  auto place = tf::placeholder<I>(g, "place");
  auto x = tf::placeholder<float, 5>(g, "x");
  auto n = tf::placeholder<std::int64_t, 5>(g, "n");
  auto one = tf::placeholder<float>(g, "one");
  auto mask = tf::placeholder<bool, 5, 1>(g, "mask");
  tf::sparse_to_dense<4, 3>(cells, x).named("cells_x");
  tf::sparse_to_dense<4, 3>(cells, n, -7).named("cells_n");
  tf::sparse_to_dense<4, 3>(cells, one, 0.5f).named("cells_one");
  tf::sparse_to_dense<4>(places, x, one).named("places_x");
  tf::sparse_to_dense<4>(place, one).named("place_one");
  tf::sparse_to_dense<3>(tf::constant<I, 2>(g, {2, 0}), one).named("fixed");
  tf::sparse_to_dense<5, 1>(where(mask), x, 0.25f).named("where_x");
  auto b = tf::placeholder<float, tf::batch>(g, "b");
  (tf::sparse_to_dense<tf::batch, 3>(cells, x) + reshape<tf::batch, 1>(b)).named("batch_x");
}

template <class I>
void check_scattered() {
  const tf::HostTensor cells =
      test::tensor(tf::dtype_of<I>, {5, 2}, {3, 2, 0, 1, -1, 9, 0, 0, 3, 2});
  const tf::HostTensor places = test::tensor(tf::dtype_of<I>, {5}, {2, 2, -1, 0, 2});
  const tf::HostTensor place = test::tensor(tf::dtype_of<I>, {}, {3});
  const tf::HostTensor x = test::floats({5}, {1.5, -2, 3, 4, 5});
  const tf::HostTensor n = test::tensor(tf::DType::int64, {5}, {1, 2, 3, 4, 5});
  const tf::HostTensor one = test::floats({}, {8});
  const tf::HostTensor mask = test::tensor(tf::DType::boolean, {5, 1}, {0, 1, 0, 1, 0});
  const tf::Dims table = test::dims({4, 3});
  test::check_values<scattered<I>>({{"cells", cells},
                                    {"places", places},
                                    {"place", place},
                                    {"x", x},
                                    {"n", n},
                                    {"one", one},
                                    {"mask", mask},
                                    {"b", test::floats({6}, {0, 0, 0, 0, 0, 0})}},
                                   {{"cells_x", dense(cells, x, table, 0)},
                                    {"cells_n", dense(cells, n, table, -7)},
                                    {"cells_one", dense(cells, one, table, 0.5)},
                                    {"places_x", dense(places, x, test::dims({4}), 8)},
                                    {"fixed", test::floats({3}, {8, 0, 8})},
                                    {"place_one", test::floats({4}, {0, 0, 0, 8})},
                                    {"where_x", test::floats({5, 1}, {0.25, 1.5, 0.25, -2, 0.25})},
                                    {"batch_x", dense(cells, x, test::dims({6, 3}), 0)}});
}

constexpr void wrong(tf::Graph& g) {
  auto mask = tf::placeholder<bool, 5>(g, "mask");
  auto rows = tf::placeholder<bool, 5>(g, "rows");
  auto indices = tf::placeholder<std::int32_t, 5, 2>(g, "indices");
  auto x = tf::placeholder<float, 5, 4>(g, "x");
  tf::where<2>(mask).indices.named("where");
  tf::boolean_mask<0, 2>(x, rows).values.named("masked");
  tf::sparse_to_dense<3, 4>(indices, tf::sum<1>(x)).named("dense");
}

/// Names results of an operation apart from each other, and leaves some unused.
constexpr void several_results(tf::Graph& g) {
  auto x = tf::placeholder<float, 6>(g, "x");
  auto [values, index, count] = tf::unique<4>(x);
  values.named("values");
  index.named("index");
  count.named("count");
  tf::unique<6>(2 * x).count.named("only_count");
  auto again = tf::unique<4>(x);
  (again.values + values).named("sum");
  (tf::cast<float>(again.index) * 0.5f).named("half");
}

/// What a run of `name` throws.
template <auto Model>
std::string error_of(const tf::HostTensors& feeds, const char* name, bool kernels) {
  try {
    if (kernels) {
      test::Kernels<Model> model;
      model.run(feeds);
    } else {
      tf::Graph graph;
      Model(graph);
      tf::Interpreter(graph).run({name}, feeds);
    }
  } catch (const tf::Error& error) {
    return error.what();
  }
  return "";
}
void check_error(const tf::HostTensors& feeds, const char* name, const char* text) {
  CHECK(error_of<wrong>(feeds, name, true).find(text) != std::string::npos);
  CHECK(error_of<wrong>(feeds, name, false).find(text) != std::string::npos);
}
tf::HostTensors good_feeds() {
  return {{"mask", test::tensor(tf::DType::boolean, {5}, {1, 0, 0, 1, 0})},
          {"rows", test::tensor(tf::DType::boolean, {5}, {0, 1, 0, 0, 1})},
          {"indices", test::ints({5, 2}, {0, 0, 0, 1, 0, 2, 0, 3, 2, 3})},
          {"x", test::floats({5, 4}, std::vector<double>(20, 1))}};
}

}  // namespace

TEST_CASE("where_index: values") {
  // The masks of all shapes are also those of boolean_mask.
  check_masks<tf::Shape<1>>(1);
  check_masks<tf::Shape<131>>(2);
  check_masks<tf::Shape<3, 0, 2>>(3);
  check_masks<tf::Shape<5, 1, 3>>(4);
  check_masks<tf::Shape<2, 3, 37>>(5);
  for (const std::int64_t batch : {0, 1, 7}) {
    const tf::HostTensors feeds = test::random_feeds<batches>(batch, 3);
    const tf::HostTensor& rows = feeds.at("rows");
    const tf::HostTensor& cells = feeds.at("cells");
    test::check_values<batches>(feeds, {{"row", true_elements(rows, batch)},
                                        {"cell", true_elements(cells, 3 * batch)},
                                        {"pair", true_elements(feeds.at("pairs"), 64)},
                                        {"twice", true_elements(rows, 2 * batch)},
                                        {"of_b", kept(feeds.at("b"), cells, 0, 3 * batch)},
                                        {"of_u", kept(feeds.at("u"), cells, 0, 3 * batch)},
                                        {"of_i", kept(feeds.at("i"), cells, 0, 3 * batch)},
                                        {"of_c", kept(feeds.at("c"), cells, 0, 3 * batch)},
                                        {"of_h", kept(feeds.at("h"), cells, 0, 3 * batch)},
                                        {"of_l", kept(feeds.at("l"), rows, 0, batch)},
                                        {"of_d", kept(feeds.at("d"), rows, 0, 9)}});
  }
}

TEST_CASE("where_index: errors") {
  tf::HostTensors feeds = good_feeds();
  feeds.at("mask") = test::tensor(tf::DType::boolean, {5}, {1, 0, 1, 1, 0});
  check_error(feeds, "where", "where: expected at most 2 true elements, got 3");
  CHECK(error_of<wrong>(good_feeds(), "where", true) == "");
}

TEST_CASE("boolean_mask: values") {
  test::Random random(11);
  for (int round = 0; round < 40; ++round) {
    tf::Graph g;
    const tf::Dims shape = test::random_shape(random, 1 + random.below(5));
    const int axis = random.below(shape.rank);
    tf::Dims part{};
    for (int i = axis + random.below(shape.rank - axis); i >= axis; --i) part.rank++;
    for (int i = 0; i < part.rank; ++i) part.extent[i] = shape.extent[axis + i];
    tf::HostTensor mask = test::random_tensor(random, tf::DType::int32, part, 0, 1.99);
    mask.dtype = tf::DType::boolean;
    const tf::HostTensor x = test::random_tensor(random, tf::DType::float64, shape, -1, 1);
    const std::int64_t bound = count_of(mask)[0].integer + random.below(3);
    const auto [values, count] =
        boolean_mask(test::input(g, "x", x.dtype, shape),
                     test::input(g, "mask", tf::DType::boolean, part), axis, bound);
    test::name(values, "values");
    test::name(count, "count");
    test::name(where(test::input(g, "of_where", tf::DType::boolean, part), bound)[0], "indices");
    REQUIRE(tf::ir::verify(g).view() == "");
    test::check_interpreter(g, {{"x", x}, {"mask", mask}, {"of_where", mask}},
                            {{"values", kept(x, mask, axis, bound)},
                             {"count", count_of(mask)},
                             {"indices", true_elements(mask, bound)}});
  }
}

TEST_CASE("boolean_mask: gradient") {
  test::check_gradients<tf::Shape<5, 3>>([](auto x) {
    return boolean_mask(x, tf::constant<bool, 5>(x.graph(), {true, false, false, true, true}))
        .values;
  });
  test::check_gradients<tf::Shape<2, 3, 2, 2>>([](auto x) {
    auto mask = tf::constant<bool, 3, 2>(x.graph(), {true, false, false, true, true, false});
    return tf::boolean_mask<1, 4>(x * x, mask).values;
  });
  test::check_gradients<tf::Shape<4>>([](auto x) {
    return boolean_mask(x, tf::constant<bool, 4>(x.graph(), {false, false, false, false})).values;
  });
  for (const std::int64_t batch : {0, 1, 50}) {
    test::check_against_interpreter<mask_gradients>(batch);
    test::check_threads<mask_gradients>(batch);
  }
}

TEST_CASE("boolean_mask: errors") {
  tf::HostTensors feeds = good_feeds();
  feeds.at("rows") = test::tensor(tf::DType::boolean, {5}, {1, 0, 1, 1, 1});
  check_error(feeds, "masked", "boolean_mask: expected at most 2 true elements, got 4");
}

TEST_CASE("sparse_to_dense: values") {
  check_scattered<std::int32_t>();
  check_scattered<std::int64_t>();
  test::Random random(5);
  for (int round = 0; round < 40; ++round) {
    tf::Graph g;
    tf::Dims shape = test::random_shape(random, 1 + random.below(4));
    for (int i = 0; i < shape.rank; ++i) shape.extent[i] += shape.extent[i] == 0;
    const tf::Extent rows = random.below(7);
    tf::HostTensor indices = tf::host_tensor(tf::DType::int32, test::dims({rows, shape.rank}));
    for (std::int64_t i = 0; i < indices.size(); ++i) {
      indices.set(i, random.below(static_cast<int>(shape.extent[i % shape.rank])));
    }
    const tf::HostTensor values =
        test::random_tensor(random, tf::DType::float32, test::dims({rows}), -1, 1);
    test::name(sparse_to_dense(test::input(g, "i", indices.dtype, indices.dims),
                               test::input(g, "x", values.dtype, values.dims),
                               tf::detail::constant_node(g, tf::DType::float32, {0.5, 0}), shape),
               "y");
    REQUIRE(tf::ir::verify(g).view() == "");
    test::check_interpreter(g, {{"i", indices}, {"x", values}},
                            {{"y", dense(indices, values, shape, 0.5)}});
  }
}

TEST_CASE("sparse_to_dense: gradient") {
  test::check_gradients<tf::Shape<4>, tf::Shape<>>([](auto x, auto otherwise) {
    auto indices = tf::constant<int, 4, 2>(x.graph(), {2, 1, 0, 0, 2, 1, -1, 0});
    return tf::sparse_to_dense<3, 2>(indices, x, otherwise);
  });
  test::check_gradients<tf::Shape<>>(
      [](auto x) { return tf::sparse_to_dense<5>(tf::constant<int, 2>(x.graph(), {3, 1}), x); });
}

TEST_CASE("sparse_to_dense: errors") {
  tf::HostTensors feeds = good_feeds();
  feeds.at("indices").set(7, 4);
  check_error(feeds, "dense", "sparse_to_dense: index 4 at [3, 1] is not in [0, 4)");
  feeds.at("indices").set(2, -2);
  check_error(feeds, "dense", "sparse_to_dense: index -2 at [1, 0] is not in [0, 3)");
}

TEST_CASE("results of one operation are named, fetched and used apart from each other") {
  const std::vector<float> x{5, 3, 5, 5, 1, 3};
  tf::Variables variables;
  tf::Session<several_results> session(variables);
  CHECK(session.run<"count">(tf::feed<"x">(x)) == 3);
  CHECK(session.run<"only_count">(tf::feed<"x">(x)) == 3);
  const auto index = session.run<"index">(tf::feed<"x">(x));
  CHECK(std::vector<int>(index.begin(), index.end()) == std::vector<int>{0, 1, 0, 0, 2, 1});
  const auto [sum, half, values] = session.run<"sum", "half", "values">(tf::feed<"x">(x));
  CHECK(std::vector<float>(sum.begin(), sum.end()) == std::vector<float>{10, 6, 2, 0});
  CHECK(std::vector<float>(half.begin(), half.end()) == std::vector<float>{0, .5f, 0, 0, 1, .5f});
  CHECK(std::vector<float>(values.begin(), values.end()) == std::vector<float>{5, 3, 1, 0});

  const tf::HostTensors feeds{{"x", test::floats({6}, {5, 3, 5, 5, 1, 3})}};
  const Outcome expected{{"values", test::floats({4}, {5, 3, 1, 0})},
                         {"index", test::ints({6}, {0, 1, 0, 0, 2, 1})},
                         {"count", test::ints({}, {3})},
                         {"only_count", test::ints({}, {3})},
                         {"sum", test::floats({4}, {10, 6, 2, 0})},
                         {"half", test::floats({6}, {0, 0.5, 0, 0, 1, 0.5})}};
  test::check_values<several_results>(feeds, expected);
  test::Kernels<several_results, tf::debug> debugged;
  const Outcome got = debugged.run(feeds);
  for (const auto& [name, value] : expected) test::check_close(name, got.at(name), value, 0);

  // What a kernel without its first result computes, when that is fed.
  const std::vector<float> fed{100, 200, 300, 400};
  const auto [one, two] = session.run<"sum", "count">(tf::feed<"x">(x), tf::feed<"values">(fed));
  CHECK(std::vector<float>(one.begin(), one.end()) == std::vector<float>{105, 203, 301, 400});
  CHECK(two == 3);

  tf::Graph g;
  several_results(g);
  CHECK(describe(g).find("values, index, count = Unique(x)  float [4], int32 [6], int32 []") !=
        std::string::npos);
}

TEST_CASE("the verifier checks the type of each result") {
  tf::Graph g;
  const tf::AnyExpr x = test::input(g, "x", tf::DType::float32, test::dims({6}));
  unique(x, 4);
  CHECK(tf::ir::verify(g).view() == "");
  const std::array types{tf::Type(tf::DType::float32, test::dims({4})),
                         tf::Type(tf::DType::int32, test::dims({5})),
                         tf::Type(tf::DType::int32, test::dims({}))};
  add_node(g, tf::ops::Unique{{}, 4}, &x.id, 1, types);
  CHECK(tf::ir::verify(g).view().find("the result has another type") != std::string::npos);
}
