// SPDX-License-Identifier: Apache-2.0
#pragma once

// Functions of SIMD batches against those of long double: arguments of every size, errors in units
// in the last place, special values. On the instruction set of the build, and on x86's oldest,
// which has no fused multiply-add.

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <typeflow/cpu/vector_math.hpp>

namespace test {

namespace tf = typeflow;

template <class T>
inline constexpr T inf = std::numeric_limits<T>::infinity();
template <class T>
inline constexpr T not_a_number = std::numeric_limits<T>::quiet_NaN();

#if defined(__x86_64__)
using Oldest = xsimd::sse2;
#else
using Oldest = tf::cpu_kernels::DefaultArch;
#endif
template <class T, class A>
struct Type {
  using Element = T;
  using Batch = xsimd::batch<T, A>;
};
#define TYPES                                                                                  \
  test::Type<float, typeflow::cpu_kernels::DefaultArch>,                                       \
      test::Type<double, typeflow::cpu_kernels::DefaultArch>, test::Type<float, test::Oldest>, \
      test::Type<double, test::Oldest>

/// f of every element, in batches.
template <class V, class T, class F>
std::vector<T> computed(std::vector<T> x, const F& f) {
  const std::size_t count = x.size();
  x.resize((count + V::size - 1) / V::size * V::size, T(1));
  for (std::size_t i = 0; i < x.size(); i += V::size) {
    const V y = f(V::load_unaligned(x.data() + i));
    y.store_unaligned(x.data() + i);
  }
  x.resize(count);
  return x;
}

/// Both signs of numbers of every exponent; of numbers at which functions bend, and their
/// neighbours; of many in [0, high].
template <class T>
std::vector<T> arguments(T high) {
  using Pattern = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr int mantissa = std::numeric_limits<T>::digits - 1;
  std::mt19937_64 random(1);
  std::vector<T> x;
  const auto add = [&x](T e) {
    x.push_back(e);
    x.push_back(-e);
  };
  for (Pattern exponent = 0; exponent < Pattern{2} * std::numeric_limits<T>::max_exponent - 1;
       ++exponent) {
    for (int i = 0; i < (sizeof(T) == 4 ? 40 : 6); ++i) {
      const Pattern digits = static_cast<Pattern>(random()) & ((Pattern{1} << mantissa) - 1);
      add(std::bit_cast<T>(exponent << mantissa | digits));
    }
    add(std::bit_cast<T>(exponent << mantissa));
  }
  const T ln2 = T(0.693147180559945309L);
  const T quarter = T(0.785398163397448310L);
  std::vector<T> bends = {T(0.46875),
                          T(0.875),
                          T(4),
                          T(6),
                          T(6000),
                          T(1e6),
                          std::sqrt(T(0.5)),
                          std::sqrt(T(2)),
                          T(1) - std::sqrt(T(0.5)),
                          std::sqrt(T(2)) - 1,
                          std::numeric_limits<T>::max_exponent * ln2,
                          (std::numeric_limits<T>::min_exponent - mantissa - 2) * ln2,
                          (std::numeric_limits<T>::min_exponent - 1) * ln2,
                          T(20),
                          T(40)};
  for (int n = 1; n < 200; ++n) {
    bends.push_back(static_cast<T>(n) * quarter);
    bends.push_back(static_cast<T>(n) * ln2 / 2);
  }
  for (T e : bends) {
    for (int i = 0; i < 3; ++i) add(e = std::nextafter(e, inf<T>));
    for (int i = 0; i < 6; ++i) add(e = std::nextafter(e, -inf<T>));
  }
  std::uniform_real_distribution<T> inside(0, high);
  for (int i = 0; i < 20000; ++i) add(inside(random));
  return x;
}

/// |got - exact| in units of the last place of exact.
template <class T>
double ulps(T got, long double exact) {
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) && std::isnan(got) ? 0 : 1e30;
  const long double last = std::ldexp(1.0L, std::numeric_limits<T>::max_exponent);
  if (std::abs(exact) >= last && got == std::copysign(inf<T>, static_cast<T>(exact))) return 0;
  const long double mine = std::isinf(got) ? std::copysign(last, static_cast<long double>(got))
                                           : static_cast<long double>(got);
  int exponent = 0;
  std::frexp(exact, &exponent);
  constexpr int digits = std::numeric_limits<T>::digits;
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent) - digits;
  return static_cast<double>(std::abs(mine - exact) / std::ldexp(1.0L, exponent));
}

template <class Type, class F, class G>
void sweep(const std::string& name, double bound, long double high, const F& f, const G& exact) {
  using T = typename Type::Element;
  const std::vector<T> x = arguments(static_cast<T>(high));
  const std::vector<T> y = computed<typename Type::Batch>(x, f);
  double worst = -1;
  std::size_t at = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double error = ulps(y[i], exact(static_cast<long double>(x[i])));
    if (error > worst) {
      worst = error;
      at = i;
    }
  }
  CAPTURE(name);
  CAPTURE(x[at]);
  CAPTURE(y[at]);
  CAPTURE(worst);
  CHECK(worst <= bound);
}

/// f of these is exactly those: NaN is equal to NaN, 0 and -0 are different.
template <class Type, class F>
void specials(const std::string& name, const F& f,
              const std::vector<std::pair<double, double>>& table) {
  using T = typename Type::Element;
  for (const auto& [from, to] : table) {
    const T y = computed<typename Type::Batch>(std::vector<T>{static_cast<T>(from)}, f)[0];
    const T expected = static_cast<T>(to);
    CAPTURE(name);
    CAPTURE(from);
    CAPTURE(y);
    CHECK((std::isnan(expected) ? std::isnan(y)
                                : y == expected && std::signbit(y) == std::signbit(expected)));
  }
}

/// An element's result has the same bits wherever it stands in a batch, whatever the others are.
template <class Type, class F>
void check_independence(const F& f) {
  using T = typename Type::Element;
  using V = typename Type::Batch;
  const std::vector<T> others = {T(0.3), T(1e30), T(-700), inf<T>, not_a_number<T>, T(-0.0)};
  for (const T x : {T(0.1), T(-2.5), T(11), T(7000), T(88.5), T(1e-30)}) {
    std::vector<T> y;
    for (const T other : others) {
      for (std::size_t place = 0; place < V::size; ++place) {
        std::vector<T> lanes(V::size, other);
        lanes[place] = x;
        y.push_back(computed<V>(lanes, f)[place]);
      }
    }
    const auto differs = [&](T e) {
      return std::memcmp(&e, y.data(), sizeof e) != 0 && !(std::isnan(e) && std::isnan(y[0]));
    };
    CHECK(std::count_if(y.begin(), y.end(), differs) == 0);
  }
}

}  // namespace test
