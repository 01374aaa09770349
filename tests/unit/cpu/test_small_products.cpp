// SPDX-License-Identifier: Apache-2.0

// Many products of small matrices, which have loops of their own: the same bits as chains of
// multiplications and additions in plain loops, fused where the instruction set has that.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "typeflow/typeflow.hpp"

#include "support/multiply_add.hpp"

namespace {

namespace tf = typeflow;

template <class T, int Count, int Rows, int Columns, int Depth>
constexpr void products(tf::Graph& g) {
  auto a = tf::placeholder<T, Count, Rows, Depth>(g, "a");
  auto at = tf::placeholder<T, Count, Depth, Rows>(g, "at");
  auto b = tf::placeholder<T, Count, Depth, Columns>(g, "b");
  auto bt = tf::placeholder<T, Count, Columns, Depth>(g, "bt");
  auto bias = tf::placeholder<T, Columns>(g, "bias");
  matmul(a, b).named("nn");
  tf::matmul<tf::transpose_both>(at, bt).named("tt");
  abs(matmul(a, b) + bias).named("nn_epilogue");
  abs(tf::matmul<tf::transpose_both>(at, bt) + bias).named("tt_epilogue");
}

/// Equal numbers, or both NaN.
template <class Y, class T>
bool equal(const Y& y, const std::vector<T>& expected) {
  return std::equal(y.begin(), y.end(), expected.begin(), expected.end(),
                    [](T p, T q) { return p == q || (std::isnan(p) && std::isnan(q)); });
}

template <class T, int Count, int Rows, int Columns, int Depth>
void check() {
  CAPTURE(Count);
  CAPTURE(Rows);
  CAPTURE(Columns);
  CAPTURE(Depth);
  constexpr std::size_t rows = Rows;
  constexpr std::size_t columns = Columns;
  constexpr std::size_t depth = Depth;
  std::mt19937 random(7);
  std::uniform_real_distribution<T> number(-1, 1);
  std::vector<T> a(Count * rows * depth);
  std::vector<T> b(Count * depth * columns);
  std::vector<T> bias(columns);
  for (auto* const x : {&a, &b, &bias}) {
    for (T& e : *x) e = number(random);
  }
  // Neighbours of these, in memory and in vectors, must not notice them.
  b.front() = std::numeric_limits<T>::infinity();
  b.back() = std::numeric_limits<T>::quiet_NaN();
  a.back() = T(-0.0);
  std::vector<T> at(a.size());
  std::vector<T> bt(b.size());
  std::vector<T> product;
  std::vector<T> after;
  for (std::size_t n = 0; n < Count; ++n) {
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        T sum = 0;
        for (std::size_t k = 0; k < depth; ++k) {
          const T left = a[(n * rows + i) * depth + k];
          const T right = b[(n * depth + k) * columns + j];
          at[(n * depth + k) * rows + i] = left;
          bt[(n * columns + j) * depth + k] = right;
          sum = test::multiply_add(left, right, sum);
        }
        product.push_back(sum);
        after.push_back(std::abs(sum + bias[j]));
      }
    }
  }
  for (const int threads : {1, 2, 3, 8}) {
    CAPTURE(threads);
    tf::Variables variables;
    tf::Session<products<T, Count, Rows, Columns, Depth>> session(variables, {.threads = threads});
    const auto [nn, tt, nn_after, tt_after] =
        session.template run<"nn", "tt", "nn_epilogue", "tt_epilogue">(
            tf::feed<"a">(a), tf::feed<"at">(at), tf::feed<"b">(b), tf::feed<"bt">(bt),
            tf::feed<"bias">(bias));
    CHECK(equal(nn, product));
    CHECK(equal(tt, product));
    CHECK(equal(nn_after, after));
    CHECK(equal(tt_after, after));
  }
}

TEST_CASE("small products of float are chains of multiplications and additions") {
  check<float, 300, 8, 8, 8>();
  check<float, 1000, 3, 3, 3>();
  check<float, 301, 3, 2, 3>();
  check<float, 777, 4, 4, 4>();
  check<float, 300, 4, 1, 4>();
  check<float, 301, 3, 1, 3>();
  check<float, 7, 13, 16, 9>();
  check<float, 5, 4, 5, 70>();  // too deep for a transposed b
}

TEST_CASE("small products of double are chains of multiplications and additions") {
  check<double, 300, 8, 8, 8>();
  check<double, 9, 17, 3, 5>();
  check<double, 500, 3, 3, 3>();
  check<double, 2, 4, 3, 4>();
  check<double, 77, 4, 1, 4>();
}

// (B,2,3)^T x (2,5), where all matrices have the same b
constexpr void shared(tf::Graph& g) {
  auto a = tf::placeholder<float, tf::batch, 2, 3>(g, "a");
  auto b = tf::placeholder<float, 1, 2, 5>(g, "b");
  tf::matmul<tf::transpose_a>(a, b).named("y");
}
TEST_CASE("small products may share an operand") {
  tf::Variables variables;
  tf::Session<shared> session(variables);
  for (const std::size_t count : {0u, 1u, 2u, 9u}) {
    CAPTURE(count);
    std::vector<float> a(count * 6);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7);
    const std::vector<float> b = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    std::vector<float> expected;
    for (std::size_t n = 0; n < count; ++n) {
      for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < 5; ++j) {
          expected.push_back(a[n * 6 + i] * b[j] + a[n * 6 + 3 + i] * b[5 + j]);
        }
      }
    }
    const auto y = session.run<"y">(tf::feed<"a">(a), tf::feed<"b">(b));
    CHECK(equal(y, expected));
  }
}

// (5,7,4,4) x (5,1,4,3) and (1,7,4,3): the matrices of b or c repeat.
constexpr void squares(tf::Graph& g) {
  auto a = tf::placeholder<float, 5, 7, 4, 4>(g, "a");
  auto b = tf::placeholder<float, 5, 1, 4, 3>(g, "b");
  auto c = tf::placeholder<float, 1, 7, 4, 3>(g, "c");
  matmul(a, b).named("y");
  matmul(a, c).named("z");
}
TEST_CASE("small products of squares may share an operand") {
  std::vector<float> a(5 * 7 * 16);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 11);
  std::vector<float> b(5 * 12);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 13);
  std::vector<float> c(7 * 12);
  for (std::size_t i = 0; i < c.size(); ++i) c[i] = static_cast<float>(i % 5);
  std::vector<float> y;
  std::vector<float> z;
  for (std::size_t n = 0; n < 35; ++n) {
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t j = 0; j < 3; ++j) {
        y.push_back(0);
        z.push_back(0);
        for (std::size_t k = 0; k < 4; ++k) {
          const float left = a[(n * 4 + i) * 4 + k];
          y.back() += left * b[(n / 7 * 4 + k) * 3 + j];
          z.back() += left * c[(n % 7 * 4 + k) * 3 + j];
        }
      }
    }
  }
  tf::Variables variables;
  tf::Session<squares> session(variables);
  const auto [got_y, got_z] =
      session.run<"y", "z">(tf::feed<"a">(a), tf::feed<"b">(b), tf::feed<"c">(c));
  CHECK(equal(got_y, y));
  CHECK(equal(got_z, z));
}

}  // namespace
