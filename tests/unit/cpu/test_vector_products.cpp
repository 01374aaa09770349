// SPDX-License-Identifier: Apache-2.0

// Products with one row or one column, which have loops of their own: the same bits as chains of
// multiplications and additions in plain loops, fused where the instruction set has that.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "typeflow/typeflow.hpp"

namespace {

namespace tf = typeflow;

template <class T, int Rows, int Columns, int Depth>
constexpr void products(tf::Graph& g) {
  auto a = tf::placeholder<T, Rows, Depth>(g, "a");
  auto at = tf::placeholder<T, Depth, Rows>(g, "at");
  auto b = tf::placeholder<T, Depth, Columns>(g, "b");
  auto bt = tf::placeholder<T, Columns, Depth>(g, "bt");
  auto bias = tf::placeholder<T, Columns>(g, "bias");
  auto rest = tf::placeholder<T, Rows, Columns>(g, "rest");
  matmul(a, b).named("nn");
  tf::matmul<tf::transpose_a>(at, b).named("tn");
  tf::matmul<tf::transpose_b>(a, bt).named("nt");
  tf::matmul<tf::transpose_both>(at, bt).named("tt");
  relu(matmul(a, b) + bias + rest).named("nn_epilogue");
  relu(tf::matmul<tf::transpose_both>(at, bt) + bias + rest).named("tt_epilogue");
}

/// a * b + c, as the vectors compute it.
template <class T>
T multiply_add(T a, T b, T c) {
#if defined(__FMA__)
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

template <class T>
std::vector<T> drawn(std::mt19937& random, int count) {
  std::uniform_real_distribution<T> number(-1, 1);
  std::vector<T> x(static_cast<std::size_t>(count));
  for (T& e : x) e = number(random);
  return x;
}
template <class T>
std::vector<T> transposed(const std::vector<T>& x, int rows, int columns) {
  std::vector<T> y(x.size());
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      y[static_cast<std::size_t>(j * rows + i)] = x[static_cast<std::size_t>(i * columns + j)];
    }
  }
  return y;
}

template <class T, int Rows, int Columns, int Depth>
void check() {
  CAPTURE(Rows);
  CAPTURE(Columns);
  CAPTURE(Depth);
  std::mt19937 random(7);
  const auto a = drawn<T>(random, Rows * Depth);
  const auto b = drawn<T>(random, Depth * Columns);
  const auto bias = drawn<T>(random, Columns);
  const auto rest = drawn<T>(random, Rows * Columns);
  std::vector<T> product;
  std::vector<T> after;
  for (std::size_t i = 0; i < Rows; ++i) {
    for (std::size_t j = 0; j < Columns; ++j) {
      T sum = 0;
      for (std::size_t k = 0; k < Depth; ++k) {
        sum = multiply_add(a[i * Depth + k], b[k * Columns + j], sum);
      }
      product.push_back(sum);
      after.push_back(std::max(sum + bias[j] + rest[i * Columns + j], T(0)));
    }
  }
  tf::Variables variables;
  tf::Session<products<T, Rows, Columns, Depth>> session(variables, {.threads = 2});
  const auto at = transposed(a, Rows, Depth);
  const auto bt = transposed(b, Depth, Columns);
  const auto equal = [](const auto& y, const std::vector<T>& expected) {
    return std::equal(y.begin(), y.end(), expected.begin(), expected.end());
  };
  const auto [nn, tn, nt, tt] = session.template run<"nn", "tn", "nt", "tt">(
      tf::feed<"a">(a), tf::feed<"at">(at), tf::feed<"b">(b), tf::feed<"bt">(bt));
  CHECK(equal(nn, product));
  CHECK(equal(tn, product));
  CHECK(equal(nt, product));
  CHECK(equal(tt, product));
  const auto [nn_after, tt_after] = session.template run<"nn_epilogue", "tt_epilogue">(
      tf::feed<"a">(a), tf::feed<"at">(at), tf::feed<"b">(b), tf::feed<"bt">(bt),
      tf::feed<"bias">(bias), tf::feed<"rest">(rest));
  CHECK(equal(nn_after, after));
  CHECK(equal(tt_after, after));
}

TEST_CASE("products with one row are chains of multiplications and additions") {
  check<float, 1, 1, 300>();
  check<float, 1, 7, 16>();
  check<float, 1, 431, 7>();
  check<float, 1, 1000, 300>();
  check<double, 1, 203, 290>();
}

TEST_CASE("products with one column are chains of multiplications and additions") {
  check<float, 7, 1, 16>();
  check<float, 431, 1, 7>();
  check<float, 1000, 1, 300>();
  check<double, 203, 1, 290>();
  check<float, 17, 1, 1029>();  // a vector of rows, and one that overlaps it
  check<double, 203, 1, 291>();
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
