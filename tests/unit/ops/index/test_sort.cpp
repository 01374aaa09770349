// SPDX-License-Identifier: Apache-2.0

// Order along an axis, against plain loops.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;
using tf::DType;
using tf::Shape;

constexpr double NaN = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

struct Ordered {
  tf::HostTensor values;
  tf::HostTensor indices;
};

/// The first `count` elements along an axis, by selection: the best of what is left, first of
/// equals, NaN above all.
Ordered ordered(const tf::HostTensor& x, int axis, std::int64_t count, bool descending) {
  tf::Dims shape = x.dims;
  const std::int64_t n = shape.extent[axis];
  shape.extent[axis] = count;
  Ordered out{tf::host_tensor(x.dtype, shape), tf::host_tensor(DType::int32, shape)};
  const auto key = [&](std::vector<std::int64_t> c, std::int64_t i) {
    c[static_cast<std::size_t>(axis)] = i;
    return x.value(test::position(c, x.dims));
  };
  const auto better = [&](double a, double b) {
    if (std::isnan(a) || std::isnan(b)) {
      return descending ? std::isnan(a) && !std::isnan(b) : !std::isnan(a) && std::isnan(b);
    }
    return descending ? a > b : a < b;
  };
  for (std::int64_t i = 0; i < out.values.size(); ++i) {
    const std::vector<std::int64_t> c = test::coordinates(i, shape);
    if (c[static_cast<std::size_t>(axis)] != 0) continue;
    std::vector<bool> taken(static_cast<std::size_t>(n), false);
    for (std::int64_t k = 0; k < count; ++k) {
      std::int64_t best = -1;
      for (std::int64_t j = 0; j < n; ++j) {
        if (taken[static_cast<std::size_t>(j)]) continue;
        if (best < 0 || better(key(c, j), key(c, best))) best = j;
      }
      taken[static_cast<std::size_t>(best)] = true;
      std::vector<std::int64_t> to = c;
      to[static_cast<std::size_t>(axis)] = k;
      const std::int64_t at = test::position(to, shape);
      std::vector<std::int64_t> from = c;
      from[static_cast<std::size_t>(axis)] = best;
      out.values[at] = x[test::position(from, x.dims)];
      out.indices[at].integer = best;
    }
  }
  return out;
}

/// Random elements of which many are equal.
tf::HostTensor with_ties(test::Random& random, DType type, const tf::Dims& shape) {
  tf::HostTensor x = tf::host_tensor(type, shape);
  const bool is_signed = !tf::is_unsigned(type);
  for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, random.below(12) - (is_signed ? 5 : 0));
  return x;
}

template <class T, class S, tf::Extent K>
constexpr void orders(tf::Graph& g) {
  auto x = test::input<T, S>(g, "x");
  auto [values, indices] = tf::top_k<K>(x);
  values.named("values");
  indices.named("indices");
  tf::sort(x).named("up");
  tf::sort<0>(x, {.descending = true}).named("down");
  tf::argsort(x, {.descending = true}).named("arg_down");
  tf::argsort<0>(x).named("arg_up");
}

template <class T, class S, tf::Extent K>
void check_orders(const tf::HostTensor& x) {
  INFO(tf::name_of(tf::dtype_of<T>));
  const int last = S::rank - 1;
  const std::int64_t n = S::dims.extent[last];
  const std::int64_t m = S::dims.extent[0];
  const Ordered top = ordered(x, last, K, true);
  test::check_values<orders<T, S, K>>({{"x", x}}, {{"values", top.values},
                                                   {"indices", top.indices},
                                                   {"up", ordered(x, last, n, false).values},
                                                   {"down", ordered(x, 0, m, true).values},
                                                   {"arg_down", ordered(x, last, n, true).indices},
                                                   {"arg_up", ordered(x, 0, m, false).indices}});
}
template <class T, class S, tf::Extent K>
void check_orders() {
  test::Random random(3);
  check_orders<T, S, K>(with_ties(random, tf::dtype_of<T>, S::dims));
}

constexpr void batches(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 7>(g, "x");
  auto top = tf::top_k<3>(x);
  top.values.named("values");
  top.indices.named("indices");
  tf::sort<0>(x).named("columns");
  gradients(sum(square(top.values)), x).named("dx");
  tf::top_k<tf::batch>(tf::reshape<7 * tf::batch>(x)).values.named("half");
}
constexpr void long_row(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch>(g, "x");
  tf::argsort(x).named("order");
  tf::sort(x, {.descending = true}).named("down");
}
constexpr void too_few(tf::Graph& g) {
  tf::top_k<5>(tf::placeholder<float, 2, tf::batch>(g, "x")).values.named("values");
}

constexpr void predictions(tf::Graph& g) {
  auto p = tf::placeholder<float, tf::batch, 4>(g, "p");
  auto t = tf::placeholder<std::int32_t, tf::batch>(g, "t");
  tf::in_top_k(p, t, 1).named("one");
  tf::in_top_k(p, t, 2).named("two");
  tf::in_top_k(p, t, 0).named("none");
  tf::in_top_k(tf::cast<double>(p), tf::cast<std::int64_t>(t), 3).named("three");
  tf::in_top_k(p, tf::cast<std::int8_t>(t), 2).named("small");
}

}  // namespace

TEST_CASE("top_k: values") {
  check_orders<float, Shape<1>, 1>();
  check_orders<float, Shape<131>, 17>();
  check_orders<float, Shape<3, 0, 2>, 1>();
  check_orders<float, Shape<5, 1, 3>, 2>();
  check_orders<double, Shape<2, 3, 37>, 37>();
  check_orders<std::int8_t, Shape<4, 30>, 6>();
  check_orders<std::uint64_t, Shape<4, 9>, 3>();
  check_orders<std::int32_t, Shape<4, 9>, 0>();
  check_orders<tf::bfloat16, Shape<3, 20>, 4>();
}

TEST_CASE("sort: values") {
  // Beyond those with top_k: NaN above all, infinities, both zeros alike.
  const tf::HostTensor x = test::floats({2, 9}, {3, NaN, -inf, 0, -0.0, inf, NaN, -7, 3,  //
                                                 NaN, NaN, NaN, 1, NaN, NaN, NaN, -1, NaN});
  check_orders<float, Shape<2, 9>, 4>(x);
  const Ordered top = ordered(x, 1, 4, true);
  CHECK(test::elements(top.indices) == std::vector<double>{1, 6, 5, 0, 0, 1, 2, 4});
}

TEST_CASE("argsort: values") {
  test::Random random(29);
  for (int round = 0; round < 40; ++round) {
    const tf::Dims shape = test::random_shape(random, 1 + random.below(4));
    const int axis = random.below(shape.rank);
    const std::int64_t n = shape.extent[axis];
    const bool descending = random.chance(0.5);
    tf::Graph g;
    const tf::AnyExpr x = test::input(g, "x", DType::int32, shape);
    const tf::HostTensor value = with_ties(random, DType::int32, shape);
    test::name(tf::detail::sort_along(x, axis, {descending}, 0), "sorted");
    test::name(tf::detail::sort_along(x, axis, {descending}, 1), "order");
    REQUIRE(tf::ir::verify(g).view() == "");
    const Ordered want = ordered(value, axis, n, descending);
    test::check_interpreter(g, {{"x", value}}, {{"sorted", want.values}, {"order", want.indices}});
  }
}

TEST_CASE("top_k of batches, and of rows that several threads sort") {
  for (const std::int64_t batch : {0, 1, 5, 1003}) {
    test::check_against_interpreter<batches>(batch, 0);
    test::check_threads<batches>(batch);
  }
  test::check_against_interpreter<long_row>(100003, 0, 3);
  test::check_threads<long_row>(100003);
}

TEST_CASE("top_k: errors") {
  const tf::HostTensors feeds{{"x", test::floats({2, 3}, {1, 2, 3, 4, 5, 6})}};
  test::Kernels<too_few> kernels;
  CHECK_THROWS_WITH_AS(kernels.run(feeds), doctest::Contains("k = 5, but a row has 3 elements"),
                       tf::Error);
  tf::Graph graph;
  too_few(graph);
  CHECK_THROWS_WITH_AS(tf::Interpreter(graph).run({"values"}, feeds),
                       doctest::Contains("top_k: k = 5, but a row has 3 elements"), tf::Error);
}

TEST_CASE("top_k: gradient") {
  test::check_gradients<Shape<9>>([](auto x) { return tf::top_k<4>(x).values; });
  test::check_gradients<Shape<2, 3, 5>>([](auto x) { return tf::top_k<2>(square(x)).values; });
  test::check_gradients<Shape<2, 5>>([](auto x) {
    const auto top = tf::top_k<3>(x);
    return gradients(sum(top.values * square(top.values)), x);
  });
}

TEST_CASE("sort: gradient") {
  test::check_gradients<Shape<7>>([](auto x) { return tf::sort(x); });
  test::check_gradients<Shape<2, 5, 3>>(
      [](auto x) { return tf::sort<1>(x, {.descending = true}); });
}

TEST_CASE("in_top_k: values") {
  // Ties count as in; targets that are no class, rows with NaN or infinity do not.
  const tf::HostTensors feeds{{"p", test::floats({8, 4}, {0.1, 0.9, 0.5, 0.5,  //
                                                          0.1, 0.9, 0.5, 0.5,  //
                                                          2,   2,   2,   2,    //
                                                          1,   2,   3,   4,    //
                                                          1,   2,   3,   4,    //
                                                          1,   NaN, 3,   4,    //
                                                          inf, 2,   3,   4,    //
                                                          1,   2,   3,   -4})},
                              {"t", test::ints({8}, {1, 3, 0, 4, -1, 3, 3, 3})}};
  const auto flags = [](const std::vector<double>& f) {
    return test::tensor(DType::boolean, {8}, f);
  };
  test::check_values<predictions>(feeds, {{"one", flags({1, 0, 1, 0, 0, 0, 0, 0})},
                                          {"two", flags({1, 1, 1, 0, 0, 0, 0, 0})},
                                          {"none", flags({0, 0, 0, 0, 0, 0, 0, 0})},
                                          {"three", flags({1, 1, 1, 0, 0, 0, 0, 0})},
                                          {"small", flags({1, 1, 1, 0, 0, 0, 0, 0})}});
  for (const std::int64_t batch : {0, 1, 300}) {
    test::check_against_interpreter<predictions>(batch, 0);
    test::check_threads<predictions>(batch);
  }
}
