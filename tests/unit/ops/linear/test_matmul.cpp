// SPDX-License-Identifier: Apache-2.0

// Products of matrices, one or many, against a plain loop: shapes, flags, element types.

#include <complex>
#include <cstdint>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;
using Place = std::vector<std::int64_t>;

std::complex<double> at(const tf::HostTensor& x, std::int64_t i) {
  return {x.value(i), x[i].imaginary};
}

/// The element of x at the last of these coordinates, 0 where x has the extent 1.
std::complex<double> broadcast_at(const tf::HostTensor& x, const Place& place) {
  std::int64_t i = 0;
  const std::size_t added = place.size() - static_cast<std::size_t>(x.dims.rank);
  for (int axis = 0; axis < x.dims.rank; ++axis) {
    const std::int64_t extent = x.dims.extent[axis];
    i = i * extent + (extent == 1 ? 0 : place[static_cast<std::size_t>(axis) + added]);
  }
  return at(x, i);
}

tf::HostTensor product(const tf::HostTensor& a, const tf::HostTensor& b, const tf::Dims& shape,
                       bool ta = false, bool tb = false) {
  tf::HostTensor y = tf::host_tensor(a.dtype, shape);
  const std::int64_t depth = a.dims.extent[a.dims.rank - (ta ? 2 : 1)];
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const Place place = test::coordinates(i, shape);
    const std::size_t row = place.size() - 2;
    std::complex<double> total = 0;
    for (std::int64_t k = 0; k < depth; ++k) {
      Place of_a = place;
      Place of_b = place;
      of_a[row] = ta ? k : place[row];
      of_a[row + 1] = ta ? place[row] : k;
      of_b[row] = tb ? place[row + 1] : k;
      of_b[row + 1] = tb ? k : place[row + 1];
      total += broadcast_at(a, of_a) * broadcast_at(b, of_b);
    }
    tf::visit_dtype(y.dtype, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_integral_v<T>) {  // wraps around
        const T wrapped = static_cast<T>(static_cast<std::int64_t>(total.real()));
        y[i].integer = static_cast<std::int64_t>(wrapped);
      } else {
        y.set(i, total.real());
      }
    });
    if (tf::is_complex(y.dtype)) y[i].imaginary = total.imag();
  }
  return y;
}

template <class T>
constexpr void products(tf::Graph& g) {
  auto a = tf::placeholder<T, tf::batch, 3, 5, 7>(g, "a");
  auto at = tf::placeholder<T, 3, 7, 5>(g, "at");
  auto b = tf::placeholder<T, tf::batch, 1, 7, 9>(g, "b");
  auto bt = tf::placeholder<T, 9, 7>(g, "bt");
  matmul(a, b).named("nn");
  tf::matmul<tf::transpose_a>(at, b).named("tn");
  tf::matmul<tf::transpose_b>(a, bt).named("nt");
  tf::batch_matmul<tf::transpose_both>(at, bt).named("tt");
}

template <class T>
void check_products(double tolerance) {
  INFO(tf::name_of(tf::dtype_of<T>));
  tf::HostTensors feeds = test::random_feeds<products<T>>(2, 1, -3, 3);
  if (tf::is_complex(tf::dtype_of<T>)) {
    for (auto& [name, x] : feeds) {
      for (std::int64_t i = 0; i < x.size(); ++i) x[i].imaginary = static_cast<double>(i % 5) - 2;
    }
  }
  const auto& a = feeds.at("a");
  const auto& at = feeds.at("at");
  const auto& b = feeds.at("b");
  const auto& bt = feeds.at("bt");
  const test::Outcome expected = {{"nn", product(a, b, test::dims({2, 3, 5, 9}))},
                                  {"tn", product(at, b, test::dims({2, 3, 5, 9}), true)},
                                  {"nt", product(a, bt, test::dims({2, 3, 5, 9}), false, true)},
                                  {"tt", product(at, bt, test::dims({3, 5, 9}), true, true)}};
  test::check_values<products<T>>(feeds, expected, tolerance);
  if (!tf::is_complex(tf::dtype_of<T>)) return;
  test::Kernels<products<T>> kernels;  // check_values compares the real parts
  const test::Outcome got = kernels.run(feeds);
  for (const auto& [name, value] : expected) {
    INFO(name);
    const tf::HostTensor& y = got.at(name);
    for (std::int64_t i = 0; i < y.size(); ++i) {
      CHECK(y[i].imaginary == doctest::Approx(value[i].imaginary).epsilon(tolerance).scale(10));
    }
  }
}

/// Matrices; axes of extent 1 and 0; lengths that no vector divides; a sum of nothing.
constexpr void shapes(tf::Graph& g) {
  auto m = tf::placeholder<float, 33, 65>(g, "m");
  auto n = tf::placeholder<float, 65, 51>(g, "n");
  auto row = tf::placeholder<float, 1, 65>(g, "row");
  auto column = tf::placeholder<float, 65, 1>(g, "column");
  auto many = tf::placeholder<float, 4, 1, 3, 65>(g, "many");
  auto columns = tf::placeholder<float, 2, 65, 1>(g, "columns");
  auto no_rows = tf::placeholder<float, 3, 0, 5>(g, "no_rows");
  auto five = tf::placeholder<float, 3, 5, 2>(g, "five");
  auto no_depth = tf::placeholder<float, 2, 4, 0>(g, "no_depth");
  auto no_depth_b = tf::placeholder<float, 0, 6>(g, "no_depth_b");
  auto no_matrix = tf::placeholder<float, 0, 2, 5>(g, "no_matrix");
  auto one_matrix = tf::placeholder<float, 5, 3>(g, "one_matrix");
  matmul(m, n).named("mn");
  matmul(row, n).named("row_n");
  matmul(m, column).named("m_column");
  matmul(row, column).named("dot");
  matmul(column, row).named("outer");
  matmul(many, n).named("many_n");
  matmul(many, columns).named("many_columns");
  matmul(no_rows, five).named("nothing");
  matmul(no_depth, no_depth_b).named("zeros");
  matmul(no_matrix, one_matrix).named("none");
}

tf::Dims with(tf::Dims x, std::initializer_list<tf::Extent> extents) {
  for (const tf::Extent e : extents) x.append(e);
  return x;
}

}  // namespace

TEST_CASE("matmul: values") {
  SUBCASE("element types") {
    check_products<float>(1e-6);
    check_products<double>(1e-14);
    check_products<std::int8_t>(0);
    check_products<std::uint64_t>(0);
    check_products<tf::float16>(1e-3);
    check_products<tf::bfloat16>(8e-3);
    check_products<std::complex<double>>(1e-13);
  }
  SUBCASE("shapes") {
    const tf::HostTensors f = test::random_feeds<shapes>();
    const auto y = [&](const char* a, const char* b, const std::vector<tf::Extent>& shape) {
      return product(f.at(a), f.at(b), test::dims(shape));
    };
    test::check_values<shapes>(f,
                               {{"mn", y("m", "n", {33, 51})},
                                {"row_n", y("row", "n", {1, 51})},
                                {"m_column", y("m", "column", {33, 1})},
                                {"dot", y("row", "column", {1, 1})},
                                {"outer", y("column", "row", {65, 65})},
                                {"many_n", y("many", "n", {4, 1, 3, 51})},
                                {"many_columns", y("many", "columns", {4, 2, 3, 1})},
                                {"nothing", y("no_rows", "five", {3, 0, 2})},
                                {"zeros", y("no_depth", "no_depth_b", {2, 4, 6})},
                                {"none", y("no_matrix", "one_matrix", {0, 2, 3})}},
                               1e-6);
  }
  SUBCASE("random shapes") {
    test::Random random(3);
    for (int i = 0; i < 60; ++i) {
      const tf::Dims front = test::random_shape(random, random.below(4));
      tf::Dims front_a{};
      tf::Dims front_b{};
      const int drop = random.below(front.rank + 1);  // axes that one operand lacks
      for (int axis = 0; axis < front.rank; ++axis) {
        const tf::Extent e = front.extent[axis];
        if (axis >= drop) front_a.append(random.chance(0.3) ? 1 : e);
        front_b.append(axis < drop || front_a.extent[axis - drop] == 1 || random.chance(0.7) ? e
                                                                                             : 1);
      }
      const bool ta = random.chance(0.5);
      const bool tb = random.chance(0.5);
      const int m = 1 + random.below(5);
      const int k = random.below(5);
      const int n = 1 + random.below(5);
      const tf::Dims of_a = with(front_a, {ta ? k : m, ta ? m : k});
      const tf::Dims of_b = with(front_b, {tb ? n : k, tb ? k : n});
      const tf::DType type = i % 3 == 0 ? tf::DType::int32 : tf::DType::float64;
      tf::Graph g;
      const tf::AnyExpr a = test::input(g, "a", type, of_a);
      const tf::AnyExpr b = test::input(g, "b", type, of_b);
      test::name(matmul(a, b, ta, tb), "y");
      REQUIRE(tf::ir::verify(g).view() == "");
      tf::HostTensors feeds;
      for (const auto& [name, dims] : {std::pair{"a", of_a}, std::pair{"b", of_b}}) {
        tf::HostTensor x = tf::host_tensor(type, dims);
        for (std::int64_t e = 0; e < x.size(); ++e) x.set(e, random.uniform(-9, 9));
        feeds.emplace(name, x);
      }
      test::check_interpreter(
          g, feeds, {{"y", product(feeds.at("a"), feeds.at("b"), with(front, {m, n}), ta, tb)}},
          1e-14);
    }
  }
}

TEST_CASE("matmul: gradient") {
  const auto plain = [](const auto& a, const auto& b) { return matmul(a, b); };
  test::check_gradients<tf::Shape<2, 3, 4>, tf::Shape<2, 4, 5>>(plain);
  test::check_gradients<tf::Shape<2, 3, 4>, tf::Shape<4, 5>>(plain);
  test::check_gradients<tf::Shape<3, 4>, tf::Shape<2, 4, 5>>(plain);
  test::check_gradients<tf::Shape<2, 1, 3, 4>, tf::Shape<5, 4, 2>>(plain);
  const auto ta = [](const auto& a, const auto& b) { return tf::matmul<tf::transpose_a>(a, b); };
  const auto tb = [](const auto& a, const auto& b) { return tf::matmul<tf::transpose_b>(a, b); };
  const auto both = [](const auto& a, const auto& b) {
    return tf::matmul<tf::transpose_both>(a, b);
  };
  test::check_gradients<tf::Shape<2, 4, 3>, tf::Shape<4, 5>>(ta);
  test::check_gradients<tf::Shape<2, 3, 4>, tf::Shape<5, 4>>(tb);
  test::check_gradients<tf::Shape<2, 4, 3>, tf::Shape<2, 5, 4>>(both);
  test::check_gradients<tf::Shape<4, 3>, tf::Shape<2, 5, 4>>(both);
  test::check_gradients<tf::Shape<2, 4, 3>>(
      [](const auto& a) { return tf::matmul<tf::transpose_b>(a, a); });
}

TEST_CASE("batch_matmul: values") {
  // It is matmul: with flags above.
  const tf::HostTensors feeds = test::random_feeds<products<double>>(3);
  test::check_values<products<double>>(
      feeds, {{"tt", product(feeds.at("at"), feeds.at("bt"), test::dims({3, 5, 9}), true, true)}},
      1e-14);
}

TEST_CASE("batch_matmul: gradient") {
  test::check_gradients<tf::Shape<2, 3, 4>, tf::Shape<2, 5, 4>>(
      [](const auto& a, const auto& b) { return tf::batch_matmul<tf::transpose_b>(a, b); });
}
