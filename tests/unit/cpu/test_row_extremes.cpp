// SPDX-License-Identifier: Apache-2.0

// Maxima and minima of rows, which kernels that do nothing else fold in another order.

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include <typeflow/operations.hpp>

#include "support/check_kernels.hpp"

namespace {

namespace tf = typeflow;

/// Kernels of one fold, and one of both.
template <class T, int Length>
constexpr void extremes(tf::Graph& g) {
  auto x = tf::placeholder<T, tf::batch, Length>(g, "x");
  auto y = tf::placeholder<T, tf::batch, Length>(g, "y");
  auto z = tf::placeholder<T, tf::batch, Length>(g, "z");
  max<1>(x).named("max");
  min<1>(y).named("min");
  tf::concat<1>(max<1>(z, tf::keep_dims), min<1>(z, tf::keep_dims)).named("both");
}

template <class T>
auto bits(T x) {
  return std::bit_cast<std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>(x);
}
/// Random numbers, or of a few, so that many are equal; some rows have NaN, and some only zeros.
template <class T>
std::vector<T> elements(test::Random& random, std::int64_t rows, int length) {
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const T infinity = std::numeric_limits<T>::infinity();
  const T few[] = {0, T(-0.0), -1, -infinity, 2, infinity};
  std::vector<T> x;
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto kind = random.below(5);
    for (std::int64_t j = 0; j < length; ++j) {
      x.push_back(kind < 2 ? static_cast<T>(random.uniform(-1, 1))
                           : few[random.below(kind == 2   ? 2
                                              : kind == 3 ? 4
                                                          : 6)]);
    }
    const auto last = x.size() - 1;
    if (random.chance(0.05)) x[last - static_cast<std::size_t>(random.below(length))] = nan;
    if (random.chance(0.03)) x[last - static_cast<std::size_t>(random.below(length))] = -nan;
  }
  return x;
}

template <class T, int Length>
void check_extremes() {
  test::Random random(Length);
  tf::Variables variables;
  tf::Session<extremes<T, Length>> session(variables);
  for (const std::int64_t rows : {0, 1, 7, 8, 9, 15, 16, 17, 33, 64, 200}) {
    for (int turn = 0; turn < 6; ++turn) {
      // Rows of random numbers alone in half of the turns: none is left to other loops.
      std::vector<T> x = elements<T>(random, rows, Length);
      if (turn % 2 == 0) {
        for (T& e : x) e = static_cast<T>(random.uniform(-1, 1));
      }
      const auto [most, least, both] = session.template run<"max", "min", "both">(
          tf::feed<"x">(x.data(), {rows, Length}), tf::feed<"y">(x.data(), {rows, Length}),
          tf::feed<"z">(x.data(), {rows, Length}));
      for (std::int64_t i = 0; i < rows; ++i) {
        T largest = x[static_cast<std::size_t>(i * Length)];
        T smallest = largest;
        for (std::int64_t j = 1; j < Length; ++j) {
          const T e = x[static_cast<std::size_t>(i * Length + j)];
          if (e > largest || e != e) largest = e;
          if (e < smallest || e != e) smallest = e;
        }
        CHECK((most(i) == largest || (most(i) != most(i) && largest != largest)));
        CHECK((least(i) == smallest || (least(i) != least(i) && smallest != smallest)));
        CHECK(bits(most(i)) == bits(both(i, 0)));
        CHECK(bits(least(i)) == bits(both(i, 1)));
        if (Length <= 32) {  // folded in order
          CHECK(bits(most(i)) == bits(largest));
          CHECK(bits(least(i)) == bits(smallest));
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("maxima and minima of rows have the bits of folds that do more") {
  SUBCASE("float") {
    [&]<int... L>(std::integer_sequence<int, L...>) {
      (check_extremes<float, L>(), ...);
    }(std::integer_sequence<int, 1, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65>{});
  }
  SUBCASE("double") {
    [&]<int... L>(std::integer_sequence<int, L...>) {
      (check_extremes<double, L>(), ...);
    }(std::integer_sequence<int, 4, 5, 8, 9, 16, 17, 24, 31, 32, 33>{});
  }
}
