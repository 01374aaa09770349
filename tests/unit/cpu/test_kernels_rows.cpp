// SPDX-License-Identifier: Apache-2.0

// Rows and columns of every class of length against plain loops: positions of extremes, order, and
// costly values that a row's passes share.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <type_traits>
#include <vector>

#include <typeflow/typeflow.hpp>

namespace {

namespace tf = typeflow;

constexpr int rows = 3;
// None, parts of vectors, vectors, several chunks.
constexpr std::int64_t lengths[] = {1, 7, 8, 9, 15, 16, 17, 31, 48, 49, 64, 257, 1000, 1024, 17000};

/// Few different numbers, so that there are equals, zeros of both signs, NaN and infinities: some
/// rows hold all of these, others few or only NaN.
template <class T>
std::vector<T> numbers(std::int64_t length, int kind, std::mt19937& random) {
  std::vector<T> x(static_cast<std::size_t>(rows * length));
  for (T& e : x) {
    const auto draw = random();
    if constexpr (tf::detail::is_real_floating<T>) {
      const int n = static_cast<int>(draw % 23) - 11;
      e = T(static_cast<float>(n) / 4);
      if (draw % 3 == 0 && n == 0) e = T(-0.0f);
      if (kind == 1 && n == 11) e = T(std::numeric_limits<float>::quiet_NaN());
      if (kind == 1 && n == 10) e = T(std::numeric_limits<float>::infinity());
      if (kind == 2) e = T(draw % 64 != 0 ? std::numeric_limits<float>::quiet_NaN() : -1.0f);
      if (kind == 3) e = T(std::numeric_limits<float>::quiet_NaN());
      if (kind == 4) e = T(-std::numeric_limits<float>::infinity());
    } else {
      e = static_cast<T>(draw);
      if (kind == 1) e = static_cast<T>(draw % 5);
      if (kind == 2)
        e = draw % 2 == 0 ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
      if (kind == 3) e = std::numeric_limits<T>::min();
      if (kind == 4) e = std::numeric_limits<T>::max();
    }
  }
  return x;
}

template <class T>
constexpr void extremes(tf::Graph& g) {
  auto x = tf::placeholder<T, rows, tf::batch>(g, "x");
  auto t = tf::placeholder<T, tf::batch, rows>(g, "t");
  tf::argmax<1>(x).named("argmax");
  tf::argmin<1>(x).named("argmin");
  tf::argmax<0>(t).named("argmax_of_columns");
  tf::argmin<0>(x).named("argmin_of_columns");
}

/// The first of the best, numbers before NaN.
template <class T, class Better>
int position(const std::vector<T>& x, std::int64_t first, std::int64_t step, std::int64_t count,
             Better better) {
  using W = std::conditional_t<tf::detail::is_real_floating<T>, double, T>;
  std::int64_t best = 0;
  const auto at = [&](std::int64_t i) {
    return static_cast<W>(x[static_cast<std::size_t>(first + i * step)]);
  };
  for (std::int64_t i = 1; i < count; ++i) {
    const bool is_nan = at(i) != at(i);
    const bool best_is_nan = at(best) != at(best);
    if (best_is_nan ? !is_nan : better(at(i), at(best))) best = i;
  }
  return static_cast<int>(best);
}

template <class T>
void check_extremes() {
  INFO(tf::name_of(tf::dtype_of<T>));
  tf::Variables variables;
  tf::Session<extremes<T>> one(variables, {.threads = 1});
  tf::Session<extremes<T>> two(variables, {.threads = 2});
  std::mt19937 random(7);
  int wrong = 0;
  for (const std::int64_t n : lengths) {
    for (int kind = 0; kind < 5; ++kind) {
      const std::vector<T> x = numbers<T>(n, kind, random);
      for (auto* session : {&one, &two}) {
        const auto [most, least, most_of_columns, least_of_columns] =
            session->template run<"argmax", "argmin", "argmax_of_columns", "argmin_of_columns">(
                tf::feed<"x">(x), tf::feed<"t">(x));
        for (int r = 0; r < rows; ++r) {
          wrong += most(r) != position(x, r * n, 1, n, std::greater<>());
          wrong += least(r) != position(x, r * n, 1, n, std::less<>());
          wrong += most_of_columns(r) != position(x, r, rows, n, std::greater<>());
        }
        for (std::int64_t i = 0; i < n; ++i) {
          wrong += least_of_columns(i) != position(x, i, n, rows, std::less<>());
        }
      }
    }
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("argmax and argmin of rows and columns are those of a plain loop") {
  check_extremes<float>();
  check_extremes<double>();
  check_extremes<std::int8_t>();
  check_extremes<std::uint64_t>();
}

namespace {

template <class T>
constexpr void orders(tf::Graph& g) {
  auto x = tf::placeholder<T, rows, tf::batch>(g, "x");
  tf::argsort(x).named("up");
  tf::argsort(x, {.descending = true}).named("down");
  tf::sort(x).named("sorted");
  tf::top_k<1>(x).indices.named("top1");
}
template <class T>
constexpr void top(tf::Graph& g) {
  auto x = tf::placeholder<T, rows, tf::batch>(g, "x");
  auto [values, indices] = tf::top_k<20>(x);
  indices.named("top20");
  values.named("values");
}

/// Positions in order: NaN is the largest, the lower position first.
template <class T>
std::vector<int> order(const std::vector<T>& x, std::int64_t first, std::int64_t count,
                       bool descending) {
  using W = std::conditional_t<tf::detail::is_real_floating<T>, double, T>;
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int i, int j) {
    const W a = static_cast<W>(x[static_cast<std::size_t>(first + (descending ? j : i))]);
    const W b = static_cast<W>(x[static_cast<std::size_t>(first + (descending ? i : j))]);
    const bool less = a < b || (a == a && b != b);
    const bool greater = b < a || (b == b && a != a);
    return less || (!greater && i < j);
  });
  return order;
}

template <class T>
void check_orders() {
  INFO(tf::name_of(tf::dtype_of<T>));
  tf::Variables variables;
  tf::Session<orders<T>> session(variables, {.threads = 2});
  tf::Session<top<T>> largest(variables, {.threads = 2});
  std::mt19937 random(9);
  int wrong = 0;
  std::vector<std::int64_t> counts(std::begin(lengths), std::end(lengths));
  counts.push_back(70000);  // sorted in parts
  for (const std::int64_t n : counts) {
    for (int kind = 0; kind < 4; ++kind) {
      const std::vector<T> x = numbers<T>(n, kind, random);
      const auto [up, down, sorted, top1] =
          session.template run<"up", "down", "sorted", "top1">(tf::feed<"x">(x));
      for (int r = 0; r < rows; ++r) {
        const std::vector<int> rising = order(x, r * n, n, false);
        const std::vector<int> falling = order(x, r * n, n, true);
        for (std::int64_t i = 0; i < n; ++i) {
          const auto k = static_cast<std::size_t>(i);
          wrong += up(r, i) != rising[k];
          wrong += down(r, i) != falling[k];
          const T expected = x[static_cast<std::size_t>(r * n + rising[k])];
          const T got = sorted(r, i);
          wrong += std::memcmp(&got, &expected, sizeof(T)) != 0;  // the sign of 0, too
        }
        wrong += top1(r, 0) != falling[0];
        if (n < 20) continue;
        const auto [top20, values] = largest.template run<"top20", "values">(tf::feed<"x">(x));
        for (int i = 0; i < 20; ++i) {
          wrong += top20(r, i) != falling[static_cast<std::size_t>(i)];
          const T expected =
              x[static_cast<std::size_t>(r * n + falling[static_cast<std::size_t>(i)])];
          const T got = values(r, i);
          wrong += std::memcmp(&got, &expected, sizeof(T)) != 0;
        }
      }
    }
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("sort, argsort and top_k order rows as a stable sort does") {
  check_orders<float>();
  check_orders<double>();
  check_orders<std::uint64_t>();
}

namespace {

constexpr int several = 7;  // rows: four that take each pass together, and others

/// Softmax, its gradient, and two costly functions that three passes need.
template <class T>
constexpr void shared(tf::Graph& g) {
  auto x = tf::placeholder<T, several, tf::batch>(g, "x");
  auto w = tf::placeholder<T, several, tf::batch>(g, "w");
  auto y = tf::softmax(x);
  y.named("softmax");
  tf::gradients(sum(y * w), x).named("gradient");
  auto u = tanh(x) + exp(w);
  ((u - mean<1>(u, tf::keep_dims)) / sqrt(mean<1>(square(u), tf::keep_dims))).named("scaled");
}

template <class T>
void check_shared(double tolerance) {
  tf::Variables variables;
  tf::Session<shared<T>> session(variables, {.threads = 1});
  tf::Session<shared<T>> two(variables, {.threads = 2});
  std::mt19937 random(3);
  std::uniform_real_distribution<T> number(-2, 2);
  std::vector<std::int64_t> counts(std::begin(lengths), std::end(lengths));
  // Lengths up to which rows go together, and rows that are kept as a whole and in part.
  counts.insert(counts.end(), {33, 100, 511, 512, 513, 16384, 16385, 33000});
  for (const std::int64_t n : counts) {
    INFO(n);
    std::vector<T> x(static_cast<std::size_t>(several * n));
    std::vector<T> w(x.size());
    for (T& e : x) e = number(random);
    for (T& e : w) e = number(random);
    const auto [y, dx, scaled] =
        session.template run<"softmax", "gradient", "scaled">(tf::feed<"x">(x), tf::feed<"w">(w));
    const auto [y2, dx2, scaled2] =
        two.template run<"softmax", "gradient", "scaled">(tf::feed<"x">(x), tf::feed<"w">(w));
    double error = 0;
    int different = 0;
    for (int r = 0; r < several; ++r) {
      double total = 0, dot = 0, mean = 0, squares = 0;
      const auto in = [&](const std::vector<T>& v, std::int64_t i) {
        return static_cast<double>(v[static_cast<std::size_t>(r * n + i)]);
      };
      const auto u = [&](std::int64_t i) { return std::tanh(in(x, i)) + std::exp(in(w, i)); };
      for (std::int64_t i = 0; i < n; ++i) {
        total += std::exp(in(x, i));
        dot += std::exp(in(x, i)) * in(w, i);
        mean += u(i) / static_cast<double>(n);
        squares += u(i) * u(i) / static_cast<double>(n);
      }
      for (std::int64_t i = 0; i < n; ++i) {
        const double p = std::exp(in(x, i)) / total;
        error = std::max(error, std::abs(static_cast<double>(y(r, i)) - p) / p);
        error = std::max(
            error, std::abs(static_cast<double>(dx(r, i)) - p * (in(w, i) - dot / total)) / p);
        error = std::max(error, std::abs(static_cast<double>(scaled(r, i)) -
                                         (u(i) - mean) / std::sqrt(squares)));
        different += y(r, i) != y2(r, i) || dx(r, i) != dx2(r, i) || scaled(r, i) != scaled2(r, i);
      }
    }
    CHECK(error < tolerance);
    CHECK(different == 0);
  }
}

}  // namespace

TEST_CASE("passes over rows of any length share costly values") {
  check_shared<float>(3e-5);
  check_shared<double>(1e-12);
}
