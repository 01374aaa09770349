// SPDX-License-Identifier: Apache-2.0

// Kernels of integers of 1 and 2 bytes only, which fill whole registers, and of booleans, against
// plain loops.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include <typeflow/typeflow.hpp>

#include "support/check_kernels.hpp"

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

constexpr void booleans(tf::Graph& g) {
  auto f = tf::placeholder<bool, rows, tf::batch>(g, "f");
  auto h = tf::placeholder<bool, rows, tf::batch>(g, "h");
  auto x = tf::placeholder<std::int8_t, rows, tf::batch>(g, "x");
  auto row = tf::placeholder<bool, rows, 1>(g, "row");
  tf::logical_and(f, h).named("and");
  tf::logical_or(f, tf::logical_not(h)).named("or_not");
  tf::logical_xor(f, h).named("xor");
  tf::equal(f, h).named("equal");
  tf::where(f, h, row).named("chosen");
  tf::where(f, x, 7).named("number");
  tf::logical_and(tf::less(x, 3), f).named("less");
  tf::cast<std::int8_t>(f).named("as_number");
  tf::cast<bool>(x).named("as_boolean");
  tf::any<1>(tf::logical_and(f, h)).named("any");
  tf::all<0>(tf::logical_or(f, h)).named("all");
  // With other numbers, booleans are in registers of floats or doubles.
  tf::where(tf::not_equal(f, h), tf::cast<float>(x), 0).named("as_float");
  tf::cast<double>(tf::where(f, h, tf::equal(h, row))).named("as_double");
}

void check_booleans() {
  tf::Variables variables;
  tf::Session<booleans> one(variables, {.threads = 1});
  tf::Session<booleans> two(variables, {.threads = 2});
  std::mt19937 random(3);
  for (const std::int64_t n : lengths) {
    INFO(n);
    const auto size = static_cast<std::size_t>(rows * n);
    std::vector<std::int8_t> x(size);
    for (auto& e : x) e = static_cast<std::int8_t>(random() % 3 == 0 ? 0 : random());
    const std::unique_ptr<bool[]> f(new bool[size + 1]);
    const std::unique_ptr<bool[]> h(new bool[size + 1]);
    for (std::size_t i = 0; i < size; ++i) f[i] = random() % 2 == 0;
    for (std::size_t i = 0; i < size; ++i) h[i] = random() % 8 != 0;
    const bool row[rows] = {true, false, false, true, false};
    for (auto* session : {&one, &two}) {
      const auto feeds = [&](auto run) {
        return run(tf::feed<"f">(std::span<const bool>(f.get(), size)),
                   tf::feed<"h">(std::span<const bool>(h.get(), size)), tf::feed<"x">(x),
                   tf::feed<"row">(std::span<const bool>(row)));
      };
      const auto [both, or_not, exclusive, same] = feeds([&](auto... feed) {
        return session->template run<"and", "or_not", "xor", "equal">(feed...);
      });
      const auto [chosen, number, less, as_number] = feeds([&](auto... feed) {
        return session->template run<"chosen", "number", "less", "as_number">(feed...);
      });
      const auto [as_boolean, any, all, as_float] = feeds([&](auto... feed) {
        return session->template run<"as_boolean", "any", "all", "as_float">(feed...);
      });
      const auto as_double =
          feeds([&](auto... feed) { return session->template run<"as_double">(feed...); });
      int wrong = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        bool every = true;
        for (std::int64_t r = 0; r < rows; ++r) {
          const auto at = static_cast<std::size_t>(r * n + i);
          wrong += both(r, i) != (f[at] && h[at]);
          wrong += or_not(r, i) != (f[at] || !h[at]);
          wrong += exclusive(r, i) != (f[at] != h[at]);
          wrong += same(r, i) != (f[at] == h[at]);
          wrong += chosen(r, i) != (f[at] ? h[at] : row[r]);
          wrong += number(r, i) != (f[at] ? x[at] : 7);
          wrong += less(r, i) != (x[at] < 3 && f[at]);
          wrong += as_number(r, i) != (f[at] ? 1 : 0);
          wrong += as_boolean(r, i) != (x[at] != 0);
          wrong += as_float(r, i) != (f[at] != h[at] ? static_cast<float>(x[at]) : 0.0f);
          wrong += as_double(r, i) != ((f[at] ? h[at] : h[at] == row[r]) ? 1.0 : 0.0);
          every = every && (f[at] || h[at]);
        }
        wrong += all(i) != every;
      }
      for (std::int64_t r = 0; r < rows; ++r) {
        bool some = false;
        for (std::int64_t i = 0; i < n; ++i) {
          const auto at = static_cast<std::size_t>(r * n + i);
          some = some || (f[at] && h[at]);
        }
        wrong += any(r) != some;
      }
      CHECK(wrong == 0);
    }
  }
}

/// Columns of fewer and of more than 64 elements side by side, as parts of registers or not.
template <class T, int Width>
constexpr void columns(tf::Graph& g) {
  auto x = tf::placeholder<T, 2, tf::batch, Width>(g, "x");
  auto row = tf::placeholder<T, 2, tf::batch, 1>(g, "row");
  tf::sum<1>(x).named("sum");
  tf::max<1>(x).named("max");
  tf::min<1>(x * row).named("min");
  tf::any<1>(tf::less(x, row)).named("any");
}

template <class T, int Width>
void check_columns() {
  INFO(tf::name_of(tf::dtype_of<T>), " ", Width);
  tf::Variables variables;
  tf::Session<columns<T, Width>> session(variables, {.threads = 1});
  std::mt19937 random(5);
  for (const std::int64_t n : {0, 1, 2, 31, 63, 64, 65, 700, 2051}) {
    INFO(n);
    std::vector<T> x(static_cast<std::size_t>(2 * n * Width));
    std::vector<T> row(static_cast<std::size_t>(2 * n));
    for (T& e : x) e = static_cast<T>(random());
    for (T& e : row) {  // some rows have any number below, most have none
      e = random() % 64 == 0 ? static_cast<T>(random()) : std::numeric_limits<T>::min();
    }
    const auto [sums, most, least, some] =
        session.template run<"sum", "max", "min", "any">(tf::feed<"x">(x), tf::feed<"row">(row));
    int wrong = 0;
    for (std::int64_t o = 0; o < 2; ++o) {
      for (std::int64_t j = 0; j < Width; ++j) {
        T sum = 0;
        T max = std::numeric_limits<T>::min();
        T min = std::numeric_limits<T>::max();
        bool any = false;
        for (std::int64_t k = o * n; k < (o + 1) * n; ++k) {
          const T e = x[static_cast<std::size_t>(k * Width + j)];
          const T f = row[static_cast<std::size_t>(k)];
          sum = wrapped<T>(std::int64_t{sum} + e);
          max = std::max(max, e);
          min = std::min(min, wrapped<T>(std::int64_t{e} * f));
          any = any || e < f;
        }
        wrong += sums(o, j) != sum;
        wrong += most(o, j) != max;
        wrong += least(o, j) != min;
        wrong += some(o, j) != any;
      }
    }
    CHECK(wrong == 0);
  }
  CHECK(test::check_threads<columns<T, Width>>(20000) >= 2);
}

template <class T>
void check_columns() {
  check_columns<T, 33>();
  check_columns<T, 40>();
  check_columns<T, 64>();
  check_columns<T, 65>();
}

}  // namespace

TEST_CASE("kernels of int8 compute what plain loops do") { check<std::int8_t>(); }
TEST_CASE("kernels of uint8 compute what plain loops do") { check<std::uint8_t>(); }
TEST_CASE("kernels of int16 compute what plain loops do") { check<std::int16_t>(); }
TEST_CASE("kernels of uint16 compute what plain loops do") { check<std::uint16_t>(); }
TEST_CASE("kernels of booleans compute what plain loops do") { check_booleans(); }
TEST_CASE("columns of narrow integers are folded as in plain loops, for any number of threads") {
  check_columns<std::int8_t>();
  check_columns<std::uint8_t>();
  check_columns<std::int16_t>();
  check_columns<std::uint16_t>();
}
