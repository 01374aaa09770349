// SPDX-License-Identifier: Apache-2.0

// Division, shifts and powers of Vectors of integers, against the same in wider integers.

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <typeflow/cpu/integer_functions.hpp>
#include <typeflow/ops/elementwise/binary.hpp>
#include <typeflow/ops/elementwise/bitwise.hpp>

namespace {

namespace tf = typeflow;
namespace simd = tf::cpu_kernels;

__extension__ typedef __int128 Wide;

// Results in wide integers, cut off to T.
template <class T>
T divided(Wide a, Wide b) {
  return static_cast<T>(b == 0 ? 0 : a / b);
}
template <class T>
T floored(Wide a, Wide b) {
  if (b == 0) return 0;
  const Wide q = a / b;
  return static_cast<T>(a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q);
}
template <class T>
T rest(Wide a, Wide b) {
  if (b == 0) return static_cast<T>(a);
  const Wide r = a % b;
  return static_cast<T>(r != 0 && (r < 0) != (b < 0) ? r + b : r);
}
template <class T>
T shifted_left(Wide a, Wide b) {
  constexpr int bits = 8 * sizeof(T);
  T y = static_cast<T>(a);
  for (Wide i = 0; i < b && i < bits; ++i) y = static_cast<T>(static_cast<Wide>(y) * 2);
  return b < 0 ? T(0) : y;
}
template <class T>
T shifted_right(Wide a, Wide b) {
  constexpr Wide bits = 8 * sizeof(T);
  Wide y = a;
  for (Wide i = 0; i < (b < 0 || b > bits ? bits : b); ++i) y = (y - (y & 1)) / 2;
  return static_cast<T>(y);
}
template <class T>
T power(Wide a, Wide b) {
  if (b < 0) return static_cast<T>(a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0);
  std::uint64_t y = 1;
  for (Wide i = 0; i < b; ++i) y *= static_cast<std::uint64_t>(a);
  return static_cast<T>(y);
}

/// The number of elements in which an operation of vectors differs from `expected`.
template <class O, class T, int N>
int wrong(const std::vector<T>& a, const std::vector<T>& b, T (*expected)(Wide, Wide)) {
  using V = simd::Vector<T, N>;
  int count = 0;
  for (std::size_t i = 0; i + N <= a.size(); i += N) {
    V x;
    V y;
    for (int k = 0; k < N; ++k) {
      x.v[k] = a[i + static_cast<std::size_t>(k)];
      y.v[k] = b[i + static_cast<std::size_t>(k)];
    }
    const V z = simd::call_integers(O{}, x, y);
    for (int k = 0; k < N; ++k) count += z.v[k] != expected(T{x.v[k]}, T{y.v[k]});
  }
  return count;
}
template <class T, int N>
void compare(const std::vector<T>& a, const std::vector<T>& b) {
  INFO(tf::name_of(tf::dtype_of<T>), " ", N);
  CHECK(wrong<tf::ops::Div, T, N>(a, b, divided<T>) == 0);
  CHECK(wrong<tf::ops::FloorDiv, T, N>(a, b, floored<T>) == 0);
  CHECK(wrong<tf::ops::FloorMod, T, N>(a, b, rest<T>) == 0);
  CHECK(wrong<tf::ops::LeftShift, T, N>(a, b, shifted_left<T>) == 0);
  CHECK(wrong<tf::ops::RightShift, T, N>(a, b, shifted_right<T>) == 0);
  std::vector<T> exponents = b;
  for (T& e : exponents) e = static_cast<T>(e % 70);
  CHECK(wrong<tf::ops::Pow, T, N>(a, exponents, power<T>) == 0);
}

template <class T>
void all_pairs() {
  std::vector<T> a;
  std::vector<T> b;
  for (int i = 0; i < 256; ++i) {
    for (int k = 0; k < 256; ++k) {
      a.push_back(static_cast<T>(i));
      b.push_back(static_cast<T>(k));
    }
  }
  compare<T, 64>(a, b);
  compare<T, 8>(a, b);
  compare<T, 4>(a, b);
}

/// Numbers of all sizes, around multiples of the divisors, and the largest and lowest ones.
template <class T, int N>
void random_pairs() {
  std::mt19937_64 random(5);
  const auto number = [&] {
    return static_cast<T>(static_cast<T>(random()) >> random() % (8 * sizeof(T)));
  };
  using Limits = std::numeric_limits<T>;
  const T special[] = {0,
                       1,
                       static_cast<T>(-1),
                       2,
                       3,
                       Limits::min(),
                       Limits::max(),
                       static_cast<T>(Limits::max() - 1),
                       static_cast<T>(Limits::min() + 1)};
  std::vector<T> a;
  std::vector<T> b;
  for (const T x : special) {
    for (const T y : special) {
      a.insert(a.end(), static_cast<std::size_t>(N), x);
      b.insert(b.end(), static_cast<std::size_t>(N), y);
    }
  }
  for (int i = 0; i < 20'000; ++i) {
    const T y = number();
    // Near y times a whole number: there a quotient is nearly whole.
    const auto multiple = static_cast<std::uint64_t>(y) * (static_cast<std::uint64_t>(number()));
    const T near = static_cast<T>(multiple + random() % 3 - 1);
    a.push_back(random() % 2 == 0 ? number() : near);
    b.push_back(random() % 16 == 0 ? special[random() % std::size(special)] : y);
  }
  compare<T, N>(a, b);
}

}  // namespace

TEST_CASE("operations of vectors of bytes compute what wider integers do, for all pairs") {
  all_pairs<std::int8_t>();
  all_pairs<std::uint8_t>();
}
TEST_CASE("operations of vectors of integers compute what wider integers do") {
  random_pairs<std::int16_t, 32>();
  random_pairs<std::uint16_t, 32>();
  random_pairs<std::int16_t, 8>();
  random_pairs<std::int32_t, 16>();
  random_pairs<std::uint32_t, 16>();
  random_pairs<std::int32_t, 4>();
  random_pairs<std::int64_t, 8>();
  random_pairs<std::uint64_t, 8>();
  random_pairs<std::int64_t, 2>();
  random_pairs<std::uint64_t, 2>();
}
TEST_CASE("64-bit quotients are right below and above 2^51") {
  using V = simd::Vector<std::int64_t, 8>;
  constexpr std::int64_t bound = std::int64_t{1} << 51;
  for (std::int64_t a = bound - 40; a < bound + 40; ++a) {
    for (std::int64_t b = 1; b < 30; ++b) {
      const V q = simd::quotient<false>(V(-a), V(b));
      REQUIRE(q.v[3] == -a / b);
      REQUIRE(simd::quotient<true>(V(-a), V(b)).v[6] == floored<std::int64_t>(-a, b));
      REQUIRE(simd::quotient<false>(V(b * (a / b) - 1), V(b)).v[5] == (b * (a / b) - 1) / b);
    }
  }
}
