// SPDX-License-Identifier: Apache-2.0

// Folds of many rows of every length that has a loop of its own, against plain loops: rows of few
// elements, parts of a vector, few vectors and many.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include <typeflow/typeflow.hpp>

namespace {

namespace tf = typeflow;

// Blocks of as many rows as any register has lanes, and a part of one.
constexpr int rows = 70;
constexpr std::int64_t lengths[] = {1,   2,   3,   4,   5,   6,   7,   8,   15,   16,   17,   31,
                                    32,  33,  35,  48,  50,  63,  64,  65,  97,   100,  127,  128,
                                    129, 255, 256, 257, 300, 511, 512, 513, 1023, 1024, 1025, 2100};

enum class Fold : std::uint8_t { sum, extremes, positions, both_positions };

template <class T, Fold F>
constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<T, rows, tf::batch>(g, "x");
  if constexpr (F == Fold::sum) tf::sum<1>(x).named("a");
  if constexpr (F == Fold::extremes) {
    tf::max<1>(x).named("a");
    tf::min<0>(x).named("b");
  }
  if constexpr (F == Fold::positions) tf::argmax<1>(x).named("a");
  if constexpr (F == Fold::both_positions) {
    tf::argmax<1>(x).named("a");
    tf::argmin<1>(x).named("b");
  }
}

/// Few different numbers; NaN of both signs and infinities in some rows, only these in others, or
/// only zeros of both signs; only the least or the greatest integers.
template <class T, Fold F>
std::vector<T> numbers(std::int64_t length, std::mt19937& random) {
  std::vector<T> x(static_cast<std::size_t>(rows * length));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i) / length;
    const auto draw = random();
    const int n = static_cast<int>(draw >> 8) % 101 - 50;
    x[i] = static_cast<T>(static_cast<float>(std::is_unsigned_v<T> ? n + 50 : n));
    if constexpr (tf::detail::is_real_floating<T>) {
      const float nan = std::numeric_limits<float>::quiet_NaN();
      const float infinity = std::numeric_limits<float>::infinity();
      if (n == 0 && draw % 2 == 0) x[i] = static_cast<T>(-0.0f);
      if (row % 5 == 1 && draw % 40 == 0) x[i] = static_cast<T>(draw % 80 == 0 ? nan : -nan);
      if (row % 5 == 2 && draw % 40 == 0) {
        x[i] = static_cast<T>(draw % 80 == 0 ? infinity : -infinity);
      }
      if (row % 5 == 3) x[i] = static_cast<T>(draw % 2 == 0 ? -infinity : -nan);
      if (row % 10 == 4) x[i] = static_cast<T>(nan);
      if (row % 10 == 5) x[i] = static_cast<T>(draw % 2 == 0 ? -0.0f : 0.0f);
    } else if constexpr (F != Fold::sum) {
      if (row % 10 == 5) x[i] = std::numeric_limits<T>::lowest();
      if (row % 10 == 6) x[i] = std::numeric_limits<T>::max();
    }
  }
  return x;
}

/// Of `count` elements, `step` apart: the largest or smallest, NaN if there is one.
template <class T>
double extreme(const T* x, std::int64_t count, std::int64_t step, bool largest) {
  double best =
      largest ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  if constexpr (!tf::detail::is_real_floating<T>) {
    best = static_cast<double>(largest ? std::numeric_limits<T>::lowest()
                                       : std::numeric_limits<T>::max());
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const auto e = static_cast<double>(x[i * step]);
    if (e != e) return e;
    if (largest ? e > best : e < best) best = e;
  }
  return best;
}
/// The first of the largest or smallest, numbers before NaN.
template <class T>
int position(const T* x, std::int64_t count, bool largest) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < count; ++i) {
    const auto e = static_cast<double>(x[i]);
    const auto b = static_cast<double>(x[best]);
    if (b != b ? e == e : largest ? e > b : e < b) best = i;
  }
  return static_cast<int>(best);
}
bool same(double a, double b) { return a == b || (a != a && b != b); }

/// Results of all lengths. NaN may have any bits.
template <class T, Fold F>
std::vector<double> check(int threads) {
  INFO(tf::name_of(tf::dtype_of<T>), " ", static_cast<int>(F));
  tf::Variables variables;
  tf::Session<model<T, F>> session(variables, {.threads = threads});
  std::mt19937 random(5);
  std::vector<double> results;
  const auto keep = [&](auto element) {
    const auto x = static_cast<double>(element);
    results.push_back(x == x ? x : std::numeric_limits<double>::quiet_NaN());
  };
  for (const std::int64_t n : lengths) {
    INFO(n);
    const std::vector<T> x = numbers<T, F>(n, random);
    int wrong = 0;
    const auto a = session.template run<"a">(tf::feed<"x">(x));
    for (int r = 0; r < rows; ++r) {
      keep(a(r));
      const T* const row = x.data() + r * n;
      if constexpr (F == Fold::sum) {
        double sum = 0;
        double size = 1;
        for (std::int64_t i = 0; i < n; ++i) {
          sum += static_cast<double>(row[i]);
          size += std::abs(static_cast<double>(row[i]));
        }
        const auto got = static_cast<double>(a(r));
        // The sum of 16-bit numbers is rounded once.
        const double unit = std::is_same_v<T, tf::bfloat16>  ? 0x1p-8
                            : std::is_same_v<T, tf::float16> ? 0x1p-11
                                                             : 0;
        wrong += !same(got, sum) && !(std::abs(got - sum) < 1e-6 * size + unit * std::abs(sum));
      } else if constexpr (F == Fold::extremes) {
        wrong += !same(static_cast<double>(a(r)), extreme(row, n, 1, true));
      } else {
        wrong += a(r) != position(row, n, true);
      }
    }
    if constexpr (F == Fold::both_positions) {
      const auto b = session.template run<"b">(tf::feed<"x">(x));
      for (int r = 0; r < rows; ++r) {
        keep(b(r));
        wrong += b(r) != position(x.data() + r * n, n, false);
      }
    }
    if constexpr (F == Fold::extremes) {
      const auto b = session.template run<"b">(tf::feed<"x">(x));
      for (std::int64_t i = 0; i < n; ++i) {
        keep(b(i));
        wrong += !same(static_cast<double>(b(i)), extreme(x.data() + i, rows, n, false));
      }
    }
    CHECK(wrong == 0);
  }
  return results;
}
template <class T, Fold F>
void check_threads() {
  const std::vector<double> one = check<T, F>(1);
  for (const int threads : {2, 3, 8}) {
    const std::vector<double> several = check<T, F>(threads);
    REQUIRE(several.size() == one.size());
    CHECK(std::memcmp(several.data(), one.data(), one.size() * sizeof(double)) == 0);
  }
}

}  // namespace

TEST_CASE("sums of rows are those of plain loops, with equal bits for any number of threads") {
  check_threads<float, Fold::sum>();
  check_threads<double, Fold::sum>();
  check_threads<tf::bfloat16, Fold::sum>();
  check_threads<tf::float16, Fold::sum>();
  check_threads<std::int32_t, Fold::sum>();
}
TEST_CASE("extremes of rows and columns are those of plain loops") {
  check_threads<float, Fold::extremes>();
  check_threads<tf::bfloat16, Fold::extremes>();
  check_threads<tf::float16, Fold::extremes>();
  check_threads<std::int8_t, Fold::extremes>();
  check_threads<std::uint16_t, Fold::extremes>();
  check_threads<std::int64_t, Fold::extremes>();
}
TEST_CASE("positions of extremes are those of plain loops") {
  check_threads<float, Fold::positions>();
  check_threads<double, Fold::positions>();
  check_threads<tf::bfloat16, Fold::positions>();
  check_threads<tf::float16, Fold::positions>();
  check_threads<std::int8_t, Fold::positions>();
  check_threads<std::uint8_t, Fold::positions>();
  check_threads<std::int16_t, Fold::positions>();
  check_threads<std::uint16_t, Fold::positions>();
  check_threads<std::int32_t, Fold::positions>();
  check_threads<std::uint64_t, Fold::positions>();
}
TEST_CASE("a kernel of two positions finds those of plain loops") {
  check_threads<float, Fold::both_positions>();
  check_threads<tf::bfloat16, Fold::both_positions>();
  check_threads<tf::float16, Fold::both_positions>();
  check_threads<std::int8_t, Fold::both_positions>();
  check_threads<std::uint16_t, Fold::both_positions>();
}
