// SPDX-License-Identifier: Apache-2.0

// Kernels of integers of 1 and 2 bytes only, which fill whole registers, against plain loops.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <typeflow/typeflow.hpp>

namespace {

namespace tf = typeflow;

constexpr int rows = 5;
// None, parts of registers of every instruction set, several registers, several chunks.
constexpr std::int64_t lengths[] = {0,  1,  7,  15, 16,  17,  31,  32,   33,
                                    63, 64, 65, 97, 128, 257, 300, 1000, 17000};

template <class T>
constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<T, rows, tf::batch>(g, "x");
  auto y = tf::placeholder<T, rows, tf::batch>(g, "y");
  auto t = tf::placeholder<T, tf::batch, rows>(g, "t");
  tf::sum<1>(x).named("sums");
  tf::prod<1>(x).named("products");
  tf::max<1>(x).named("most");
  tf::min<1>(x).named("least");
  tf::sum<0>(x).named("column_sums");
  tf::max<0>(x).named("column_most");
  tf::sum<0>(t).named("long_sums");
  tf::min<0>(t).named("long_least");
  tf::max(x).named("most_of_all");
  (x * y - x).named("map");
  (x - tf::max<1>(x, tf::keep_dims)).named("less");
  tf::sum<1>(x * y).named("dots");
}

template <class T>
T wrapped(std::int64_t x) {
  return static_cast<T>(x);
}

template <class T>
void check() {
  INFO(tf::name_of(tf::dtype_of<T>));
  tf::Variables variables;
  tf::Session<model<T>> one(variables, {.threads = 1});
  tf::Session<model<T>> two(variables, {.threads = 2});
  std::mt19937 random(11);
  constexpr T low = std::numeric_limits<T>::min();
  constexpr T high = std::numeric_limits<T>::max();
  for (const std::int64_t n : lengths) {
    INFO(n);
    const auto size = static_cast<std::size_t>(rows * n);
    std::vector<T> x(size);
    std::vector<T> y(size);
    for (T& e : x)
      e = random() % 8 == 0 ? low : random() % 8 == 0 ? high : static_cast<T>(random());
    for (T& e : y) e = static_cast<T>(random());
    const auto at = [&](std::int64_t r, std::int64_t i) {
      return x[static_cast<std::size_t>(r * n + i)];
    };
    for (auto* session : {&one, &two}) {
      int wrong = 0;
      const auto [sums, products, most, least] =
          session->template run<"sums", "products", "most", "least">(
              tf::feed<"x">(x), tf::feed<"y">(y), tf::feed<"t">(x));
      const auto [column_sums, column_most, long_sums, long_least] =
          session->template run<"column_sums", "column_most", "long_sums", "long_least">(
              tf::feed<"x">(x), tf::feed<"y">(y), tf::feed<"t">(x));
      const auto [map, less, dots, all] =
          session->template run<"map", "less", "dots", "most_of_all">(
              tf::feed<"x">(x), tf::feed<"y">(y), tf::feed<"t">(x));
      T largest = low;
      for (std::int64_t r = 0; r < rows; ++r) {
        std::int64_t sum = 0;
        std::int64_t dot = 0;
        T product = 1;
        T max = low;
        T min = high;
        for (std::int64_t i = 0; i < n; ++i) {
          const T e = at(r, i);
          const T f = y[static_cast<std::size_t>(r * n + i)];
          sum += e;
          dot += std::int64_t{e} * f;
          product = wrapped<T>(std::int64_t{product} * e);
          max = std::max(max, e);
          min = std::min(min, e);
          wrong += map(r, i) != wrapped<T>(std::int64_t{e} * f - e);
        }
        for (std::int64_t i = 0; i < n; ++i) {
          wrong += less(r, i) != wrapped<T>(std::int64_t{at(r, i)} - max);
        }
        wrong += sums(r) != wrapped<T>(sum);
        wrong += dots(r) != wrapped<T>(dot);
        wrong += products(r) != product;
        wrong += most(r) != max;
        wrong += least(r) != min;
        largest = std::max(largest, max);
      }
      wrong += all != largest;
      for (std::int64_t i = 0; i < n; ++i) {
        std::int64_t sum = 0;
        T max = low;
        for (std::int64_t r = 0; r < rows; ++r) {
          sum += at(r, i);
          max = std::max(max, at(r, i));
        }
        wrong += column_sums(i) != wrapped<T>(sum);
        wrong += column_most(i) != max;
      }
      for (std::int64_t c = 0; c < rows; ++c) {
        std::int64_t sum = 0;
        T min = high;
        for (std::int64_t i = 0; i < n; ++i) {
          const T e = x[static_cast<std::size_t>(i * rows + c)];
          sum += e;
          min = std::min(min, e);
        }
        wrong += long_sums(c) != wrapped<T>(sum);
        wrong += long_least(c) != min;
      }
      CHECK(wrong == 0);
    }
  }
}

}  // namespace

TEST_CASE("kernels of int8 compute what plain loops do") { check<std::int8_t>(); }
TEST_CASE("kernels of uint8 compute what plain loops do") { check<std::uint8_t>(); }
TEST_CASE("kernels of int16 compute what plain loops do") { check<std::int16_t>(); }
TEST_CASE("kernels of uint16 compute what plain loops do") { check<std::uint16_t>(); }
