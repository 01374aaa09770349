// SPDX-License-Identifier: Apache-2.0

// The functions of two SIMD batches, for every pair of special values and of numbers of all sizes:
// pow and atan2 against the C++ library's of long double, fmod against that of the element type,
// which is exact.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "support/check_batches.hpp"

namespace {

namespace tf = typeflow;
using test::inf;
using test::not_a_number;

constexpr auto power = [](const auto& a, const auto& b) { return tf::math::pow(a, b); };
constexpr auto angle = [](const auto& y, const auto& x) { return tf::math::atan2(y, x); };
constexpr auto rest = [](const auto& a, const auto& b) { return tf::math::fmod(a, b); };

/// Both signs of special values, and of `count` numbers of all sizes.
template <class T>
std::vector<T> numbers(int count) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> x = {Limits::max(), Limits::denorm_min(),       Limits::min(),
                      inf<T>,        std::nextafter(T(1), T(0)), std::nextafter(T(1), T(2))};
  for (const double e : {0., 0.1, 0.5, 1., 1.5, 2., 3., 7., 100., 1e30, 1e-30, 16777215.}) {
    x.push_back(static_cast<T>(e));
  }
  std::mt19937 random(1);
  std::lognormal_distribution<T> sizes(0, 3);
  std::uniform_real_distribution<T> exponents(Limits::min_exponent - Limits::digits,
                                              Limits::max_exponent);
  for (int i = 0; i < count; ++i) {
    x.push_back(sizes(random));
    if (i % 4 == 0) x.push_back(std::exp2(exponents(random)));
  }
  for (std::size_t i = 0, all = x.size(); i < all; ++i) x.push_back(-x[i]);
  x.push_back(not_a_number<T>);
  return x;
}

/// The largest error of f(a, b) over all pairs, in units in the last place of exact(a, b). Zeros
/// and infinities have the right sign.
template <class Type, class F, class G>
double largest_error(const F& f, const G& exact, int count) {
  using T = typename Type::Element;
  using V = typename Type::Batch;
  const std::vector<T> all = numbers<T>(count);
  double worst = 0;
  for (const T b : all) {
    const std::vector<T> y = test::computed<V>(all, [&](const V& a) { return f(a, V(b)); });
    for (std::size_t i = 0; i < y.size(); ++i) {
      const long double expected = exact(all[i], b);
      const double error = test::ulps(y[i], expected);
      worst = std::max(worst, error);
      if (expected == 0 || std::isinf(expected)) {
        CHECK(std::signbit(y[i]) == std::signbit(expected));
      }
    }
  }
  return worst;
}

}  // namespace

TEST_CASE_TEMPLATE("pow of batches is within 1 unit in the last place", Type, TYPES) {
  const auto exact = [](long double a, long double b) { return std::pow(a, b); };
  CHECK(largest_error<Type>(power, exact, 150) <= 1);
}

TEST_CASE_TEMPLATE("squares, cubes, roots and inverses are rounded as other powers", Type, TYPES) {
  using T = typename Type::Element;
  using V = typename Type::Batch;
  const std::vector<T> all = numbers<T>(20'000);
  for (const T b : {T(2), T(3), T(-1), T(0.5), T(-2), T(-0.5)}) {
    CAPTURE(b);
    const std::vector<T> y = test::computed<V>(all, [&](const V& a) { return power(a, V(b)); });
    double worst = 0;
    int wrong_signs = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const auto exact = std::pow(static_cast<long double>(all[i]), static_cast<long double>(b));
      worst = std::max(worst, test::ulps(y[i], exact));
      if (exact == exact) wrong_signs += std::signbit(y[i]) != std::signbit(exact);
    }
    CAPTURE(worst);
    const bool rounded_once = sizeof(T) == 4 || b == T(2) || b == T(-1) || b == T(0.5);
    CHECK(worst <= (rounded_once ? 0.51 : 1));
    CHECK(wrong_signs == 0);
  }
}

TEST_CASE_TEMPLATE("a power with an exponent that a kernel knows has the bits of other powers",
                   Type, TYPES) {
  using T = typename Type::Element;
  using V = typename Type::Batch;
  const std::vector<T> all = numbers<T>(20'000);
  const auto compare = [&]<int Halves>(std::integral_constant<int, Halves>) {
    const std::vector<T> y = test::computed<V>(
        all, [](const V& a) { return tf::math::OfBatch<V>::template fixed_power<Halves>(a); });
    const std::vector<T> expected =
        test::computed<V>(all, [](const V& a) { return power(a, V(T(Halves) / 2)); });
    int wrong = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      wrong += std::isnan(y[i]) ? !std::isnan(expected[i])
                                : std::memcmp(&y[i], &expected[i], sizeof(T)) != 0;
    }
    CAPTURE(Halves);
    CHECK(wrong == 0);
  };
  compare(std::integral_constant<int, 6>{});
  compare(std::integral_constant<int, 1>{});
  compare(std::integral_constant<int, -1>{});
  compare(std::integral_constant<int, -4>{});
}

TEST_CASE_TEMPLATE("whole powers are rounded as other powers", Type, TYPES) {
  using T = typename Type::Element;
  using V = typename Type::Batch;
  const std::vector<T> all = numbers<T>(5'000);
  for (const int n : {2, 3, 4, 5, 7, 10, 31, 64, -2, -3, -4, -9, -64}) {
    CAPTURE(n);
    const std::vector<T> y =
        test::computed<V>(all, [n](const V& a) { return tf::math::OfBatch<V>::whole_power(a, n); });
    double worst = 0;
    int wrong_signs = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const auto exact = std::pow(static_cast<long double>(all[i]), static_cast<long double>(n));
      worst = std::max(worst, test::ulps(y[i], exact));
      if (exact == exact) wrong_signs += std::signbit(y[i]) != std::signbit(exact);
    }
    CAPTURE(worst);
    CHECK(worst <= (sizeof(T) == 4 ? 0.51 : 1));
    CHECK(wrong_signs == 0);
  }
}

TEST_CASE_TEMPLATE("pow of numbers near 1 to large powers keeps its digits", Type, TYPES) {
  using T = typename Type::Element;
  using V = typename Type::Batch;
  std::mt19937 random(2);
  std::uniform_real_distribution<T> sizes(T(0.5), T(2));
  std::uniform_real_distribution<long double> logarithms(-700, 700);
  const long double most = sizeof(T) == 4 ? 0.12L : 1;
  double worst = 0;
  for (int n = 0; n < 20000; ++n) {
    std::vector<T> a(V::size);
    std::vector<T> b(V::size);
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = n % 2 == 0 ? sizes(random) : 1 + (sizes(random) - T(1.25)) / static_cast<T>(n);
      b[i] = static_cast<T>(logarithms(random) * most / std::log(static_cast<long double>(a[i])));
    }
    std::vector<T> y(V::size);
    tf::math::pow(V::load_unaligned(a.data()), V::load_unaligned(b.data()))
        .store_unaligned(y.data());
    for (std::size_t i = 0; i < a.size(); ++i) {
      const auto exact = std::pow(static_cast<long double>(a[i]), static_cast<long double>(b[i]));
      worst = std::max(worst, test::ulps(y[i], exact));
    }
  }
  CAPTURE(worst);
  CHECK(worst <= (sizeof(T) == 4 ? 0.51 : 1));
}

// Registers of positive numbers, and of powers of two, have shorter ways.
TEST_CASE_TEMPLATE("pow has the same bits beside negative numbers and NaN", Type, TYPES) {
  using T = typename Type::Element;
  using V = typename Type::Batch;
  std::vector<T> bases = numbers<T>(20);
  for (const double e : {-100., -10., -1., 2., 3., 50., 120.}) {
    bases.push_back(static_cast<T>(std::exp2(e)));
  }
  const std::vector<T> exponents = numbers<T>(150);
  double worst = 0;
  int wrong = 0;
  for (const T a : bases) {
    const std::vector<T> y =
        test::computed<V>(exponents, [&](const V& b) { return power(V(a), b); });
    for (const T other : {T(-3), not_a_number<T>}) {
      std::vector<T> beside(V::size, a);
      beside[0] = other;
      const std::vector<T> mixed = test::computed<V>(
          exponents, [&](const V& b) { return power(V::load_unaligned(beside.data()), b); });
      for (std::size_t i = 0; i < y.size(); ++i) {
        if (i % V::size == 0) continue;
        wrong += std::isnan(y[i]) ? !std::isnan(mixed[i])
                                  : std::memcmp(&y[i], &mixed[i], sizeof(T)) != 0;
      }
    }
    for (std::size_t i = 0; i < y.size(); ++i) {
      const auto exact =
          std::pow(static_cast<long double>(a), static_cast<long double>(exponents[i]));
      worst = std::max(worst, test::ulps(y[i], exact));
    }
  }
  CHECK(wrong == 0);
  CAPTURE(worst);
  CHECK(worst <= 1);
}

TEST_CASE_TEMPLATE("atan2 of batches is within 2 units in the last place", Type, TYPES) {
  const auto exact = [](long double y, long double x) { return std::atan2(y, x); };
  CHECK(largest_error<Type>(angle, exact, 300) <= 2);
}

TEST_CASE_TEMPLATE("fmod of batches is exact", Type, TYPES) {
  using T = typename Type::Element;
  const auto exact = [](T a, T b) { return static_cast<long double>(std::fmod(a, b)); };
  CHECK(largest_error<Type>(rest, exact, 300) == 0);
}

TEST_CASE_TEMPLATE("fmod is exact where the quotient is nearly whole", Type, TYPES) {
  using T = typename Type::Element;
  using V = typename Type::Batch;
  std::mt19937_64 random(3);
  std::uniform_real_distribution<T> sizes(T(0.5), T(2));
  for (int n = 0; n < 20000; ++n) {
    const T b = sizes(random);
    std::vector<T> a(V::size);
    for (T& e : a) {
      e = static_cast<T>(random() >> (n % 63)) * b;
      for (std::uint64_t k = random() % 4; k > 0; --k) e = std::nextafter(e, -inf<T>);
    }
    const std::vector<T> y = test::computed<V>(a, [b](const V& x) { return rest(x, V(b)); });
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(y[i] == std::fmod(a[i], b));
  }
}

TEST_CASE_TEMPLATE("an element of a function of two batches depends on its own alone", Type,
                   TYPES) {
  using V = typename Type::Batch;
  using T = typename Type::Element;
  const auto check = [](const auto& f) {
    for (const T b : {T(0.3), T(-2), T(-0.5), T(2), T(3), T(1e-20), T(1e20), inf<T>}) {
      test::check_independence<Type>([&](const V& a) { return f(a, V(b)); });
      test::check_independence<Type>([&](const V& a) { return f(V(b), a); });
    }
  };
  test::check_independence<Type>(
      [](const V& a) { return tf::math::OfBatch<V>::whole_power(a, -5); });
  test::check_independence<Type>(
      [](const V& a) { return tf::math::OfBatch<V>::template fixed_power<6>(a); });
  check(power);
  check(angle);
  check(rest);
}
