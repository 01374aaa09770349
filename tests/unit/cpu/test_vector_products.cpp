// SPDX-License-Identifier: Apache-2.0

// Products with one row or one column, and of few long rows, which have loops of their own: the
// same bits as chains of multiplications and additions in plain loops, fused where the instruction
// set has that; or, of a long depth, close to sums of double.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "typeflow/typeflow.hpp"

#include "support/multiply_add.hpp"

namespace {

namespace tf = typeflow;

constexpr tf::Extent rows = tf::batch;
constexpr tf::Extent columns = tf::symbol<"width">;
constexpr tf::Extent depth = tf::symbol<"time">;

template <class T, tf::Extent Columns = columns, tf::Extent Depth = depth>
constexpr void products(tf::Graph& g) {
  auto a = tf::placeholder<T, rows, Depth>(g, "a");
  auto at = tf::placeholder<T, Depth, rows>(g, "at");
  auto b = tf::placeholder<T, Depth, Columns>(g, "b");
  auto bt = tf::placeholder<T, Columns, Depth>(g, "bt");
  auto bias = tf::placeholder<T, Columns>(g, "bias");
  auto rest = tf::placeholder<T, rows, Columns>(g, "rest");
  matmul(a, b).named("nn");
  tf::matmul<tf::transpose_a>(at, b).named("tn");
  tf::matmul<tf::transpose_b>(a, bt).named("nt");
  tf::matmul<tf::transpose_both>(at, bt).named("tt");
  abs(matmul(a, b) + bias + rest).named("nn_epilogue");
  abs(tf::matmul<tf::transpose_both>(at, bt) + bias + rest).named("tt_epilogue");
}

struct Size {
  std::size_t m, n, k;
};
/// Whether the sums are of lanes and parts of the depth (cpu/deep_products.hpp).
constexpr bool is_deep(Size s) { return s.m <= 16 && s.n <= 16 && s.m * s.n <= 128 && s.k >= 4096; }

/// With `wild`, also an infinity and a NaN.
template <class T>
std::vector<T> drawn(std::mt19937& random, std::size_t count, bool wild) {
  std::uniform_real_distribution<T> number(-1, 1);
  std::vector<T> x(count);
  for (std::size_t i = 0; i < count; ++i) x[i] = i % 7 == 3 ? T(-0.0) : number(random);
  if (wild && count > 2) {
    x[count / 2] = std::numeric_limits<T>::infinity();
    x[count - 1] = std::numeric_limits<T>::quiet_NaN();
  }
  return x;
}
template <class T>
std::vector<T> transposed(const std::vector<T>& x, std::size_t m, std::size_t n) {
  std::vector<T> y;
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < m; ++i) y.push_back(x[i * n + j]);
  }
  return y;
}
/// Equal numbers and signs, or both NaN.
template <class Y, class T>
bool same(const Y& y, const std::vector<T>& expected) {
  return std::equal(y.begin(), y.end(), expected.begin(), expected.end(), [](T p, T q) {
    return (p == q && std::signbit(p) == std::signbit(q)) || (std::isnan(p) && std::isnan(q));
  });
}

/// The products as chains; of deep ones, checks `y` against sums of double, and returns it.
template <class T>
std::vector<T> multiplied(Size s, const std::vector<T>& a, const std::vector<T>& b,
                          const std::vector<T>& y) {
  std::vector<T> chains;
  bool close = true;
  for (std::size_t i = 0; i < s.m; ++i) {
    for (std::size_t j = 0; j < s.n; ++j) {
      T chain = 0;
      double sum = 0;
      double size = 0;
      for (std::size_t k = 0; k < s.k; ++k) {
        const T left = a[i * s.k + k];
        const T right = b[k * s.n + j];
        chain = test::multiply_add(left, right, chain);
        sum += double(left) * double(right);
        size += std::abs(double(left) * double(right));
      }
      chains.push_back(chain);
      if (!is_deep(s)) continue;
      const double off = std::abs(double(y[i * s.n + j]) - sum);
      const bool is_close = off <= 100 * double(std::numeric_limits<T>::epsilon()) * size;
      close = close && (std::isfinite(sum) ? is_close : !std::isfinite(y[i * s.n + j]));
      close = close && std::isnan(sum) == std::isnan(y[i * s.n + j]);
    }
  }
  CHECK(close);
  return is_deep(s) ? y : chains;
}

template <class T, tf::Extent Columns = columns, tf::Extent Depth = depth>
void check(const std::vector<Size>& sizes) {
  std::vector<std::vector<T>> first;
  for (const int threads : {1, 2, 3, 8}) {
    CAPTURE(threads);
    tf::Variables variables;
    tf::Session<products<T, Columns, Depth>> session(variables, {.threads = threads});
    std::mt19937 random(7);
    std::size_t number = 0;
    for (const Size s : sizes) {
      CAPTURE(s.m);
      CAPTURE(s.n);
      CAPTURE(s.k);
      for (const bool wild : {false, true}) {
        const auto a = drawn<T>(random, s.m * s.k, wild);
        const auto b = drawn<T>(random, s.k * s.n, wild);
        const auto bias = drawn<T>(random, s.n, false);
        const auto rest = drawn<T>(random, s.m * s.n, false);
        const auto at = transposed(a, s.m, s.k);
        const auto bt = transposed(b, s.k, s.n);
        const auto m = static_cast<std::int64_t>(s.m);
        const auto n = static_cast<std::int64_t>(s.n);
        const auto k = static_cast<std::int64_t>(s.k);
        const auto [nn, tn, nt, tt, nn_after, tt_after] =
            session.template run<"nn", "tn", "nt", "tt", "nn_epilogue", "tt_epilogue">(
                tf::feed<"a">(a.data(), {m, k}), tf::feed<"at">(at.data(), {k, m}),
                tf::feed<"b">(b.data(), {k, n}), tf::feed<"bt">(bt.data(), {n, k}),
                tf::feed<"bias">(bias.data(), {n}), tf::feed<"rest">(rest.data(), {m, n}));
        if (threads == 1) {
          first.push_back(multiplied(s, a, b, std::vector<T>(nn.begin(), nn.end())));
        }
        const std::vector<T>& product = first[number++];
        std::vector<T> after(product.size());
        for (std::size_t i = 0; i < after.size(); ++i) {
          after[i] = std::abs(product[i] + bias[i % s.n] + rest[i]);
        }
        CHECK(same(nn, product));
        CHECK(same(tn, product));
        CHECK(same(nt, product));
        CHECK(same(tt, product));
        CHECK(same(nn_after, after));
        CHECK(same(tt_after, after));
      }
    }
  }
}

// Lines, vectors, groups of rows and tasks that are whole, or one element longer or shorter.
const std::vector<Size> vectors = {
    {1, 1, 300},  {1, 7, 16},    {1, 431, 7}, {1, 1000, 300}, {1, 203, 290},  {1, 10, 784},
    {1, 65, 17},  {1, 3, 4095},  {7, 1, 16},  {431, 1, 7},    {1000, 1, 300}, {17, 1, 1029},
    {64, 1, 16},  {65, 1, 15},   {31, 1, 33}, {33, 1, 31},    {100, 1, 48},   {203, 1, 291},
    {9, 1, 4095}, {17, 1, 4100}, {0, 1, 5},   {3, 1, 0},      {1, 0, 3},      {1, 33, 40},
    {47, 1, 21},  {1, 63, 10}};
// Matrices that no near cache holds: short and long rows, and pieces of rows.
const std::vector<Size> large = {{1, 601, 441}, {1, 2501, 107}, {4603, 1, 61},
                                 {37, 1, 7101}, {1, 9001, 31},  {1, 1024, 256}};
// Tiles that are written to the result: whole or half ones, with part of a vector.
const std::vector<Size> thin = {{4, 5, 9},    {12, 20, 4},   {8, 49, 3},  {9, 47, 130},
                                {100, 20, 4}, {6, 48, 33},   {3, 17, 40}, {2, 31, 100},
                                {13, 33, 65}, {7, 2, 1},     {70, 50, 1}, {130, 10, 17},
                                {5, 16, 16},  {16, 16, 4099}};
// Many short rows: groups, vectors and tasks that are whole, or not.
const std::vector<Size> points = {{64, 2, 2},  {65, 3, 3},   {2051, 4, 4}, {71, 2, 4},
                                  {130, 4, 2}, {1024, 4, 3}, {1031, 3, 4}, {100, 8, 4},
                                  {99, 5, 3},  {67, 7, 2},   {63, 3, 3},   {90, 9, 4}};
const std::vector<Size> deep = {{1, 1, 4096},  {1, 1, 8192},  {1, 1, 8193}, {3, 3, 20001},
                                {16, 8, 4097}, {2, 16, 4100}, {5, 1, 9000}, {1, 6, 8191},
                                {4, 3, 40000}, {13, 9, 4111}, {0, 4, 5000}};

TEST_CASE("products with one row or column are chains of multiplications and additions") {
  check<float>(vectors);
  check<double>(vectors);
}
TEST_CASE("products of a large matrix and a vector are chains of multiplications and additions") {
  check<float>(large);
  check<double>(large);
}
TEST_CASE("products with few rows or columns are chains of multiplications and additions") {
  check<float>(thin);
  check<double>(thin);
}
TEST_CASE("products of many short rows are chains of multiplications and additions") {
  check<float>(points);
  check<double>(points);
}
/// The same of extents that the model knows.
template <class T, int Columns, int Depth>
void check_points() {
  std::vector<Size> sizes;
  for (const std::size_t m : {63u, 64u, 65u, 255u, 257u, 1031u})
    sizes.push_back({m, Columns, Depth});
  check<T, Columns, Depth>(sizes);
}
TEST_CASE("products of many short rows of known extents are chains, too") {
  check_points<float, 2, 2>();
  check_points<float, 3, 3>();
  check_points<float, 4, 3>();
  check_points<float, 3, 4>();
  check_points<float, 8, 8>();
  check_points<float, 2, 7>();
  check_points<double, 3, 3>();
  check_points<double, 4, 4>();
  check_points<double, 8, 2>();
}
TEST_CASE("products of few long rows and columns have equal bits for any number of threads") {
  check<float>(deep);
  check<double>(deep);
}

// A kernel has the loops that its known extents may need, and no others.
using Product = tf::ops::MatMul;
static_assert(Product::excluded_loops(784, 10, 100) ==
              (Product::never_deep | Product::never_vector));
static_assert(Product::excluded_loops(tf::batch, 10, 784) == Product::never_deep);
static_assert(Product::excluded_loops(784, 1, 10) == Product::never_deep);
static_assert(Product::excluded_loops(16, 16, 4096) == Product::never_vector);
static_assert((Product::excluded_loops(17, 16, 4096) & Product::never_deep) != 0);
static_assert((Product::excluded_loops(16, 16, 4095) & Product::never_deep) != 0);
static_assert(Product::excluded_loops(1, tf::batch, tf::batch) == 0);

template <int M, int N, int K>
constexpr void known(tf::Graph& g) {
  auto a = tf::placeholder<float, M, K>(g, "a");
  auto at = tf::placeholder<float, K, M>(g, "at");
  auto b = tf::placeholder<float, K, N>(g, "b");
  auto rows_of_one = reshape<M, 1, K>(a);  // rows that are axes outside of the matrices
  matmul(a, b).named("nn");
  tf::matmul<tf::transpose_a>(at, b).named("tn");
  matmul(rows_of_one, b).named("of_one_row");
}
template <int M, int N, int K>
void check_known() {
  const Size s{M, N, K};
  CAPTURE(s.m);
  CAPTURE(s.n);
  CAPTURE(s.k);
  std::mt19937 random(7);
  const auto a = drawn<float>(random, s.m * s.k, false);
  const auto b = drawn<float>(random, s.k * s.n, false);
  const auto at = transposed(a, s.m, s.k);
  tf::Variables variables;
  tf::Session<known<M, N, K>> session(variables, {.threads = 1});
  const auto [nn, tn, of_one_row] = session.template run<"nn", "tn", "of_one_row">(
      tf::feed<"a">(a), tf::feed<"at">(at), tf::feed<"b">(b));
  const std::vector<float> y = multiplied(s, a, b, std::vector<float>(nn.begin(), nn.end()));
  CHECK(same(nn, y));
  CHECK(same(tn, y));
  CHECK(same(of_one_row, y));
}
TEST_CASE("products of known extents have the bits of those of unknown ones") {
  check_known<1, 1, 4100>();
  check_known<16, 8, 4096>();
  check_known<17, 8, 4096>();
  check_known<16, 9, 4096>();
  check_known<16, 8, 4095>();
  check_known<1, 50, 70>();
  check_known<50, 1, 70>();
  check_known<50, 3, 70>();
}

constexpr void one_row(tf::Graph& g) {
  auto a = tf::placeholder<float, 1, 3>(g, "a");
  auto b = tf::placeholder<float, 3, tf::batch>(g, "b");
  auto bt = tf::placeholder<float, tf::batch, 3>(g, "bt");
  matmul(a, b).named("y");
  relu(tf::matmul<tf::transpose_b>(a, bt) + 1).named("after");
}
TEST_CASE("a product with one row may have no columns") {
  tf::Variables variables;
  tf::Session<one_row> session(variables, {.threads = 2});
  const std::vector<float> a = {1, 2, 3};
  const auto [some, some_after] = session.run<"y", "after">(
      tf::feed<"a">(a), tf::feed<"b">(std::vector<float>{4, 5, 6, 7, 8, 9}),
      tf::feed<"bt">(std::vector<float>{4, 6, 8, 5, 7, 9}));
  CHECK(std::vector<float>(some.begin(), some.end()) == std::vector<float>{40, 46});
  CHECK(std::vector<float>(some_after.begin(), some_after.end()) == std::vector<float>{41, 47});
  const auto [none, none_after] = session.run<"y", "after">(
      tf::feed<"a">(a), tf::feed<"b">(std::vector<float>{}), tf::feed<"bt">(std::vector<float>{}));
  CHECK(none.begin() == none.end());
  CHECK(none_after.begin() == none_after.end());
}
}  // namespace
