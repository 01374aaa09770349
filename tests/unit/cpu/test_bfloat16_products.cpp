// SPDX-License-Identifier: Apache-2.0

// Products of bfloat16, by the processor's instruction for pairs where the build has it: against
// plain loops in double, with the bound that docs/design.md states.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "typeflow/mixed_matmul.hpp"
#include "typeflow/typeflow.hpp"

namespace {

namespace tf = typeflow;
using tf::bfloat16;

constexpr void products(tf::Graph& g) {
  constexpr tf::Extent rows = tf::symbol<"height">;
  constexpr tf::Extent columns = tf::symbol<"width">;
  constexpr tf::Extent depth = tf::symbol<"time">;
  auto a = tf::placeholder<bfloat16, tf::batch, rows, depth>(g, "a");
  auto b = tf::placeholder<bfloat16, tf::batch, depth, columns>(g, "b");
  auto bias = tf::placeholder<bfloat16, columns>(g, "bias");
  auto dy = tf::placeholder<bfloat16, tf::batch, rows, columns>(g, "dy");
  auto y = matmul(a, b);
  y.named("nn");
  tf::matmul<tf::transpose_both>(transpose<0, 2, 1>(a), transpose<0, 2, 1>(b)).named("tt");
  relu(y + bias).named("layer");
  const auto [da, db] = tf::gradients(tf::sum(y * dy), a, b);
  da.named("da");
  db.named("db");
}
constexpr void by_a_vector(tf::Graph& g) {
  constexpr tf::Extent depth = tf::symbol<"time">;
  auto m = tf::placeholder<bfloat16, tf::batch, depth>(g, "m");
  tf::matmul<float>(m, tf::placeholder<bfloat16, depth, 1>(g, "x")).named("column");
  tf::matmul<float, tf::transpose_b>(tf::placeholder<bfloat16, 1, depth>(g, "xt"), m).named("line");
}
template <int Rows, int Columns, int Depth>
constexpr void transposed(tf::Graph& g) {
  auto at = tf::placeholder<bfloat16, Depth, Rows>(g, "at");
  auto bt = tf::placeholder<bfloat16, Columns, Depth>(g, "bt");
  auto b = tf::placeholder<bfloat16, Depth, Columns>(g, "b");
  tf::matmul<tf::transpose_a>(at, b).named("tn");
  tf::matmul<tf::transpose_both>(at, bt).named("tt");
}

/// (Rows,Depth) x (Depth,Columns) in double, with the sums of absolute values.
struct Expected {
  std::vector<double> sum;
  std::vector<double> size;
};
template <class A, class B>
Expected multiplied(int count, int rows, int columns, int depth, const A& a, const B& b) {
  Expected y;
  for (int n = 0; n < count; ++n) {
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < columns; ++j) {
        double sum = 0;
        double size = 0;
        for (int k = 0; k < depth; ++k) {
          const double x = a(n, i, k) * b(n, k, j);
          sum += x;
          size += std::abs(x);
        }
        y.sum.push_back(sum);
        y.size.push_back(size);
      }
    }
  }
  return y;
}

/// The largest distance in units of the bound: half a unit of bfloat16, and the sums' roundings.
double distance(const std::vector<float>& y, const Expected& expected, int depth) {
  double most = y.size() == expected.sum.size() ? 0.0 : 1e9;
  for (std::size_t i = 0; i < expected.sum.size() && most < 1e9; ++i) {
    const double sums = depth * std::ldexp(expected.size[i], -23) + 1e-38;
    const double bound = std::ldexp(std::abs(expected.sum[i]) + sums, -8) + sums;
    const double off = std::abs(double(y[i]) - expected.sum[i]) / bound;
    if (!(off <= most)) most = std::isnan(off) ? 1e9 : off;
  }
  return most;
}

std::vector<bfloat16> numbers(std::size_t count, bool integers, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> number(-1, 1);
  std::vector<bfloat16> x(count);
  for (auto& e : x) e = bfloat16(integers ? std::round(2 * number(random)) : number(random));
  return x;
}

template <class Y>
std::vector<float> values(const Y& y) {
  std::vector<float> x;
  for (const bfloat16 e : y) x.push_back(static_cast<float>(e));
  return x;
}
template <class Y>
std::vector<std::uint16_t> bits(const Y& y) {
  std::vector<std::uint16_t> x;
  for (const bfloat16 e : y) x.push_back(std::bit_cast<std::uint16_t>(e));
  return x;
}

void check(int count, int rows, int columns, int depth) {
  CAPTURE(count);
  CAPTURE(rows);
  CAPTURE(columns);
  CAPTURE(depth);
  const auto elements = [](int i, int j, int k) {
    return static_cast<std::size_t>(i) * static_cast<std::size_t>(j) * static_cast<std::size_t>(k);
  };
  for (const bool integers : {true, false}) {
    CAPTURE(integers);
    const auto a = numbers(elements(count, rows, depth), integers, 1);
    const auto b = numbers(elements(count, depth, columns), integers, 2);
    const auto bias = numbers(elements(1, 1, columns), integers, 3);
    const auto dy = numbers(elements(count, rows, columns), integers, 4);
    const auto at = [](const auto& x, int i) {
      return double(static_cast<float>(x[std::size_t(i)]));
    };
    const auto of_a = [&](int n, int i, int k) { return at(a, (n * rows + i) * depth + k); };
    const auto of_b = [&](int n, int k, int j) { return at(b, (n * depth + k) * columns + j); };
    const auto of_dy = [&](int n, int i, int j) { return at(dy, (n * rows + i) * columns + j); };
    const Expected y = multiplied(count, rows, columns, depth, of_a, of_b);
    const Expected da = multiplied(count, rows, depth, columns, of_dy,
                                   [&](int n, int j, int k) { return of_b(n, k, j); });
    const Expected db = multiplied(
        count, depth, columns, rows, [&](int n, int k, int i) { return of_a(n, i, k); }, of_dy);
    std::vector<std::uint16_t> first[5];
    for (const int threads : {1, 2, 3, 8}) {
      tf::Variables variables;
      tf::Session<products> session(variables, {.threads = threads});
      const auto [nn, tt, layer, ga, gb] = session.run<"nn", "tt", "layer", "da", "db">(
          tf::feed<"a">(a.data(), {count, rows, depth}),
          tf::feed<"b">(b.data(), {count, depth, columns}),
          tf::feed<"bias">(bias.data(), {columns}),
          tf::feed<"dy">(dy.data(), {count, rows, columns}));
      CHECK(distance(values(nn), y, depth) <= 1);
      CHECK(distance(values(ga), da, columns) <= 1);
      CHECK(distance(values(gb), db, rows) <= 1);
      CHECK(bits(nn) == bits(tt));
      bool follows = true;
      const std::vector<float> products_now = values(nn);
      const std::vector<float> layers_now = values(layer);
      for (std::size_t i = 0; i < products_now.size(); ++i) {
        const bfloat16 sum(products_now[i] + static_cast<float>(bias[i % bias.size()]));
        follows = follows && layers_now[i] == std::max(0.0f, static_cast<float>(sum));
      }
      CHECK(follows);
      const std::vector<std::uint16_t> now[] = {bits(nn), bits(tt), bits(layer), bits(ga),
                                                bits(gb)};
      for (int i = 0; i < 5; ++i) {
        if (threads == 1) first[i] = now[i];
        CHECK(first[i] == now[i]);
      }
    }
  }
}

template <int Rows, int Columns, int Depth>
void check_transposed() {
  const auto at = numbers(std::size_t{Depth} * Rows, false, 5);
  const auto bt = numbers(std::size_t{Columns} * Depth, false, 6);
  std::vector<bfloat16> b(bt.size());
  for (std::size_t k = 0; k < Depth; ++k) {
    for (std::size_t j = 0; j < Columns; ++j) b[k * Columns + j] = bt[j * Depth + k];
  }
  const Expected y = multiplied(
      1, Rows, Columns, Depth,
      [&](int, int i, int k) { return double(static_cast<float>(at[std::size_t(k * Rows + i)])); },
      [&](int, int k, int j) {
        return double(static_cast<float>(b[std::size_t(k * Columns + j)]));
      });
  for (const int threads : {1, 3}) {
    tf::Variables variables;
    tf::Session<transposed<Rows, Columns, Depth>> session(variables, {.threads = threads});
    const auto [tn, tt] =
        session.template run<"tn", "tt">(tf::feed<"at">(at), tf::feed<"bt">(bt), tf::feed<"b">(b));
    CHECK(distance(values(tn), y, Depth) <= 1);
    CHECK(bits(tn) == bits(tt));
  }
}

}  // namespace

TEST_CASE("products of bfloat16 keep to the stated bound, for any number of threads") {
  check(1, 3, 17, 1);
  check(1, 33, 129, 37);
  check(1, 4, 17, 258);
  check(1, 129, 64, 2115);
  check(3, 64, 65, 33);
  check(1, 1, 40, 37);
  check(1, 40, 1, 130);
  check(3, 1, 17, 33);
  check(2, 21, 1, 64);
}

TEST_CASE("a row's product with a vector of bfloat16 does not depend on the other rows") {
  for (const int rows : {2, 15, 16, 17, 130}) {
    CAPTURE(rows);
    for (const int depth : {0, 1, 2, 31, 32, 33, 64, 1001}) {
      CAPTURE(depth);
      const auto x = numbers(std::size_t(depth), false, 9);
      const auto row = numbers(std::size_t(depth), false, 10);
      std::vector<bfloat16> m;
      for (int i = 0; i < rows; ++i) m.insert(m.end(), row.begin(), row.end());
      if (depth > 0) m[0] = bfloat16(1000.0f);
      double sum = 0;
      double size = 0;
      for (std::size_t k = 0; k < x.size(); ++k) {
        const double product =
            double(static_cast<float>(x[k])) * double(static_cast<float>(row[k]));
        sum += product;
        size += std::abs(product);
      }
      float first = 0;
      for (const int threads : {1, 3}) {
        tf::Variables variables;
        tf::Session<by_a_vector> session(variables, {.threads = threads});
        const auto [column, line] = session.run<"column", "line">(
            tf::feed<"m">(m.data(), {rows, depth}), tf::feed<"x">(x.data(), {depth, 1}),
            tf::feed<"xt">(x.data(), {1, depth}));
        if (threads == 1) first = column.data()[1];
        CHECK(std::abs(first - sum) <= depth * std::ldexp(size, -23));
        for (std::size_t i = 1; i < std::size_t(rows); ++i) {
          CHECK(column.data()[i] == first);
          CHECK(line.data()[i] == first);
        }
      }
    }
  }
}

TEST_CASE("products of transposed matrices of bfloat16 have the same bits") {
  check_transposed<70, 49, 301>();
}

TEST_CASE("products of bfloat16 keep infinities and NaN in their rows and columns") {
  constexpr int n = 35;
  auto a = numbers(n * n, false, 7);
  const auto b = numbers(n * n, false, 8);
  a[4 * n + 34] = bfloat16(std::numeric_limits<float>::infinity());
  a[5 * n] = bfloat16(std::numeric_limits<float>::quiet_NaN());
  tf::Variables variables;
  tf::Session<products> session(variables);
  const std::vector<float> y = values(
      session.run<"nn">(tf::feed<"a">(a.data(), {1, n, n}), tf::feed<"b">(b.data(), {1, n, n})));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const auto x = y[i * n + j];
      if (i == 4) {
        CHECK(x == std::copysign(std::numeric_limits<float>::infinity(),
                                 static_cast<float>(b[34 * n + j])));
      } else {
        CHECK(std::isnan(x) == (i == 5));
      }
    }
  }
}

TEST_CASE("large products of bfloat16 take denormal operands for zeros only with the instruction") {
  constexpr int n = 35;
  const std::vector<bfloat16> a(n * n, bfloat16(std::ldexp(1.0f, -130)));
  const std::vector<bfloat16> b(n * n, bfloat16(std::ldexp(1.0f, 100)));
  tf::Variables variables;
  tf::Session<products> session(variables);
#if defined(__AVX512BF16__)
  const float expected = 0;
#else
  const float expected = std::ldexp(35.0f, -30);
#endif
  const auto y =
      session.run<"nn">(tf::feed<"a">(a.data(), {1, n, n}), tf::feed<"b">(b.data(), {1, n, n}));
  for (const float x : values(y)) CHECK(x == expected);
}
