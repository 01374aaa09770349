// SPDX-License-Identifier: Apache-2.0

// Complex numbers in SIMD batches, for special parts in all combinations, numbers of all sizes and
// ordinary ones: products and quotients against plain loops over std::complex, absolute values and
// exponentials against long double.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include <typeflow/cpu/complex_functions.hpp>

#include "support/check_batches.hpp"

namespace {

namespace tf = typeflow;
using test::inf;
using test::not_a_number;

template <class T>
using Numbers = std::vector<std::complex<T>>;

/// All pairs of special parts.
template <class T>
Numbers<T> special() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> part = {not_a_number<T>};
  for (const T x : {T(0), T(1), T(1.5), Limits::min(), Limits::denorm_min(), Limits::max(), inf<T>,
                    std::sqrt(Limits::max()), std::sqrt(Limits::min()) / 3, Limits::max() / 3}) {
    part.push_back(x);
    part.push_back(-x);
  }
  Numbers<T> z;
  for (const T re : part) {
    for (const T im : part) z.emplace_back(re, im);
  }
  return z;
}
/// Near one another, or of any sizes.
template <class T>
Numbers<T> random(int count, std::uint64_t seed, bool alike) {
  using Limits = std::numeric_limits<T>;
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<T> near(-4, 4);
  std::uniform_real_distribution<T> exponent(Limits::min_exponent - Limits::digits,
                                             Limits::max_exponent);
  const auto part = [&] {
    return alike ? near(generator) : near(generator) * std::exp2(exponent(generator));
  };
  Numbers<T> z;
  for (int i = 0; i < count; ++i) {
    const T re = part();
    z.emplace_back(re, part());
  }
  return z;
}

/// f of batches of these numbers: batches or complex numbers by their parts.
template <class V, class T, class F, class... X>
auto computed(const F& f, const Numbers<T>& first, const X&... rest) {
  using Parts = tf::cpu_kernels::Parts<V>;
  using Y = decltype(f(Parts{}, (static_cast<void>(rest), Parts{})...));
  constexpr bool is_complex = std::is_same_v<Y, Parts>;
  std::vector<std::conditional_t<is_complex, std::complex<T>, T>> y(first.size());
  for (std::size_t i = 0; i < y.size(); i += V::size) {
    const auto load = [&](const Numbers<T>& x) {
      T re[V::size];
      T im[V::size];
      for (std::size_t k = 0; k < V::size; ++k) {
        const std::complex<T> z = x[std::min(i + k, x.size() - 1)];
        re[k] = z.real();
        im[k] = z.imag();
      }
      return Parts{V::load_unaligned(re), V::load_unaligned(im)};
    };
    const Y part = f(load(first), load(rest)...);
    T re[V::size];
    T im[V::size];
    if constexpr (is_complex) {
      part.re.store_unaligned(re);
      part.im.store_unaligned(im);
    } else {
      part.store_unaligned(re);
    }
    for (std::size_t k = 0; k < V::size && i + k < y.size(); ++k) {
      if constexpr (is_complex) {
        y[i + k] = {re[k], im[k]};
      } else {
        y[i + k] = re[k];
      }
    }
  }
  return y;
}

/// Units in the last place between two numbers; NaN is near NaN, and 0 is far from -0.
template <class T>
double distance(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b) ? 0 : 1e30;
  if (std::signbit(a) != std::signbit(b)) return 1e30;
  return std::isinf(a) ? (a == b ? 0 : 1e30) : test::ulps(a, static_cast<long double>(b));
}
template <class T>
double distance(std::complex<T> a, std::complex<T> b) {
  return std::max(distance(a.real(), b.real()), distance(a.imag(), b.imag()));
}

/// f of batches and of numbers, for pairs of a and b.
template <class V, class T, class F, class G>
void compare(const F& f, const G& expected, const Numbers<T>& a, const Numbers<T>& b,
             double bound) {
  const auto y = computed<V>(f, a, b);
  int wrong = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::complex<T> exact = expected(a[i], b[i]);
    if (distance(y[i], exact) <= bound || wrong++ > 3) continue;
    MESSAGE(a[i] << " and " << b[i] << ": " << y[i] << " instead of " << exact);
  }
  CHECK(wrong == 0);
}
template <class Type, class F, class G>
void compare_pairs(const F& f, const G& expected, double bound) {
  using T = typename Type::Element;
  using V = typename Type::Batch;
  const Numbers<T> all = special<T>();
  for (const std::complex<T> b : all) {
    compare<V>(f, expected, all, Numbers<T>(all.size(), b), bound);
  }
  for (const bool alike : {false, true}) {
    compare<V>(f, expected, random<T>(50'000, 1, alike), random<T>(50'000, 2, alike), bound);
    compare<V>(f, expected, random<T>(50'000, 3, alike), random<T>(50'000, 4, !alike), bound);
  }
}

template <class T>
Numbers<T> all_numbers() {
  Numbers<T> z = special<T>();
  for (const bool alike : {false, true}) {
    for (const std::complex<T> e : random<T>(100'000, 5, alike)) z.push_back(e);
  }
  return z;
}

template <class Type>
using Functions =
    tf::cpu_kernels::ComplexFunctions<typename Type::Element, typename Type::Batch::arch_type>;
constexpr auto product = []<class Type>() {
  return [](const auto& a, const auto& b) { return Functions<Type>::product(a, b); };
};
constexpr auto quotient = []<class Type>() {
  return [](const auto& a, const auto& b) { return Functions<Type>::quotient(a, b); };
};

}  // namespace

TEST_CASE_TEMPLATE("products of batches are those of std::complex", Type, TYPES) {
  compare_pairs<Type>(
      product.template operator()<Type>(), [](const auto& a, const auto& b) { return a * b; }, 0);
}

TEST_CASE_TEMPLATE("quotients of batches are those of std::complex", Type, TYPES) {
  // Quotients of floats are rounded from doubles, whose last places may differ.
  compare_pairs<Type>(
      quotient.template operator()<Type>(), [](const auto& a, const auto& b) { return a / b; },
      sizeof(typename Type::Element) == 4 ? 1 : 0);
}

TEST_CASE_TEMPLATE("products and quotients of batches are near those of long double", Type, TYPES) {
  using T = typename Type::Element;
  using V = typename Type::Batch;
  using Exact = std::complex<long double>;
  const Numbers<T> a = random<T>(50'000, 6, true);
  const Numbers<T> b = random<T>(50'000, 7, true);
  const auto product_of = computed<V>(product.template operator()<Type>(), a, b);
  const auto quotient_of = computed<V>(quotient.template operator()<Type>(), a, b);
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto check = [&](std::complex<T> got, Exact exact) {
      const long double error = std::abs(Exact(got) - exact) / std::abs(exact);
      worst = std::max(worst, static_cast<double>(error / std::numeric_limits<T>::epsilon()));
    };
    check(product_of[i], Exact(a[i]) * Exact(b[i]));
    check(quotient_of[i], Exact(a[i]) / Exact(b[i]));
  }
  CHECK(worst <= 2);
}

TEST_CASE_TEMPLATE("absolute values of batches neither over- nor underflow", Type, TYPES) {
  using T = typename Type::Element;
  const Numbers<T> z = all_numbers<T>();
  const std::vector<T> y =
      computed<typename Type::Batch>([](const auto& x) { return Functions<Type>::absolute(x); }, z);
  double worst = 0;
  for (std::size_t i = 0; i < z.size(); ++i) {
    const auto re = static_cast<long double>(z[i].real());
    const auto im = static_cast<long double>(z[i].imag());
    const bool infinite = std::isinf(re) || std::isinf(im);  // also beside NaN
    const double error =
        infinite ? (y[i] == inf<T> ? 0 : 1e30) : test::ulps(y[i], std::sqrt(re * re + im * im));
    if (error > 1.3) MESSAGE(z[i] << ": " << y[i]);
    worst = std::max(worst, error);
    if (y[i] == 0) CHECK(!std::signbit(y[i]));
  }
  CHECK(worst <= 1.3);
}

TEST_CASE_TEMPLATE("exponentials of batches have both parts right", Type, TYPES) {
  using T = typename Type::Element;
  Numbers<T> z = all_numbers<T>();
  const T high = std::log(std::numeric_limits<T>::max());
  std::mt19937_64 generator(8);
  std::uniform_real_distribution<T> any(-T(1.3) * high, T(1.3) * high);
  for (int i = 0; i < 100'000; ++i) {
    const T re = any(generator);
    z.emplace_back(re, i % 2 == 0 ? any(generator) : any(generator) / high);
  }
  const auto y =
      computed<typename Type::Batch>([](const auto& x) { return Functions<Type>::exp(x); }, z);
  double worst = 0;
  for (std::size_t i = 0; i < z.size(); ++i) {
    const auto re = static_cast<long double>(z[i].real());
    const auto im = static_cast<long double>(z[i].imag());
    double error = 0;
    if (std::isfinite(re) && std::isfinite(im)) {
      // A zero imaginary part keeps its sign, also where e^re is infinite.
      const long double size = std::exp(re);
      const long double zero = std::copysign(0.0L, im);
      error = std::max(test::ulps(y[i].real(), size * std::cos(im)),
                       test::ulps(y[i].imag(), im == 0 ? zero : size * std::sin(im)));
      if (im == 0) CHECK(std::signbit(y[i].imag()) == std::signbit(im));
    } else {
      error = distance(y[i], std::exp(z[i]));
    }
    if (error > 4) MESSAGE(z[i] << ": " << y[i]);
    worst = std::max(worst, error);
  }
  CAPTURE(worst);
  CHECK(worst <= 4);
}

TEST_CASE_TEMPLATE("an element's result does not depend on the others of a batch", Type, TYPES) {
  using T = typename Type::Element;
  using V = typename Type::Batch;
  const Numbers<T> all = special<T>();
  const Numbers<T> usual = random<T>(static_cast<int>(V::size), 9, true);
  const auto check = [&](const auto& f, const auto&... second) {
    const auto alone = computed<V>(f, usual, second...);
    int wrong = 0;
    for (const std::complex<T> other : all) {
      for (std::size_t place = 0; place < V::size; ++place) {
        Numbers<T> mixed(V::size, other);
        mixed[place] = usual[place];
        wrong += std::memcmp(&computed<V>(f, mixed, second...)[place], &alone[place],
                             sizeof alone[place]) != 0;
      }
    }
    CHECK(wrong == 0);
  };
  const Numbers<T> second = random<T>(static_cast<int>(V::size), 10, true);
  check(product.template operator()<Type>(), second);
  check(quotient.template operator()<Type>(), second);
  check([](const auto& x) { return Functions<Type>::absolute(x); });
  check([](const auto& x) { return Functions<Type>::exp(x); });
}
