// SPDX-License-Identifier: Apache-2.0

// Products of few rows by a matrix that no cache holds: the same bits as chains of multiplications
// and additions in plain loops, for any number of threads.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "typeflow/typeflow.hpp"

#include "support/multiply_add.hpp"

namespace {

namespace tf = typeflow;

template <class T, int Columns, int Depth>
constexpr void products(tf::Graph& g) {
  auto a = tf::placeholder<T, tf::batch, Depth>(g, "a");
  auto at = tf::placeholder<T, Depth, tf::batch>(g, "at");
  auto b = tf::placeholder<T, Depth, Columns>(g, "b");
  auto bias = tf::placeholder<T, Columns>(g, "bias");
  matmul(a, b).named("nn");
  tf::matmul<tf::transpose_a>(at, b).named("tn");
  relu(matmul(a, b) + bias).named("nn_epilogue");
}

template <class Y, class T>
bool equal(const Y& y, const std::vector<T>& expected) {
  return std::equal(y.begin(), y.end(), expected.begin(), expected.end());
}

template <class T, int Columns, int Depth>
void check() {
  constexpr std::size_t columns = Columns;
  constexpr std::size_t depth = Depth;
  static_assert(columns * depth * sizeof(T) > std::size_t{1} << 22);
  std::mt19937 random(7);
  std::uniform_real_distribution<T> number(-1, 1);
  std::vector<T> b(depth * columns);
  std::vector<T> bias(columns);
  for (T& e : b) e = number(random);
  for (T& e : bias) e = number(random);
  for (const std::size_t rows : {2u, 13u, 66u}) {
    CAPTURE(rows);
    std::vector<T> a(rows * depth);
    for (T& e : a) e = number(random);
    std::vector<T> at(a.size());
    std::vector<T> product(rows * columns);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t k = 0; k < depth; ++k) {
        const T left = a[i * depth + k];
        at[k * rows + i] = left;
        for (std::size_t j = 0; j < columns; ++j) {
          T& sum = product[i * columns + j];
          sum = test::multiply_add(left, b[k * columns + j], sum);
        }
      }
    }
    std::vector<T> after(product.size());
    for (std::size_t i = 0; i < after.size(); ++i) {
      after[i] = std::max(product[i] + bias[i % columns], T(0));
    }
    for (const int threads : {1, 2, 3, 8}) {
      CAPTURE(threads);
      tf::Variables variables;
      tf::Session<products<T, Columns, Depth>> session(variables, {.threads = threads});
      const auto [nn, tn, nn_after] = session.template run<"nn", "tn", "nn_epilogue">(
          tf::feed<"a">(a), tf::feed<"at">(at), tf::feed<"b">(b), tf::feed<"bias">(bias));
      CHECK(equal(nn, product));
      CHECK(equal(tn, product));
      CHECK(equal(nn_after, after));
    }
  }
}

TEST_CASE("products of few rows by a large matrix of float are chains") {
  check<float, 1037, 1030>();
}
TEST_CASE("products of few rows by a large matrix of double are chains") {
  check<double, 432, 1290>();
}

// A session plans its memory for the largest batch, and then runs smaller ones.
TEST_CASE("more rows never need less memory") {
  constexpr auto kernel =
      tf::detail::kernel_table<tf::ir::Lowering<products<float, 8, 8>>, tf::CpuTarget<>>[0];
  for (const std::int64_t columns : {1, 10, 40, 100, 200, 1000, 3000}) {
    CAPTURE(columns);
    for (const std::int64_t depth : {1, 100, 300, 1000, 10000, 30000}) {
      CAPTURE(depth);
      std::size_t before = 0;
      for (const std::int64_t rows : {2, 30, 64, 127, 128, 200, 5000}) {
        CAPTURE(rows);
        const std::int64_t extents[] = {rows, columns, depth};
        const auto needed = static_cast<std::size_t>(kernel.workspace(extents));
        CHECK(needed >= before);
        before = needed;
      }
    }
  }
}
}  // namespace
