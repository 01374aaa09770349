// SPDX-License-Identifier: Apache-2.0

// The functions of SIMD batches: errors in units in the last place against the C++ library's
// functions of long double, at numbers of every exponent and where the functions bend; special
// values; that no lane depends on another.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "support/check_batches.hpp"
#include "support/exact_special_functions.hpp"
#include "support/inverse_error_function.hpp"

#include <typeflow/ops/elementwise/bessel.hpp>
#include <typeflow/ops/elementwise/special_functions.hpp>

namespace {

namespace tf = typeflow;
using test::inf;
using test::not_a_number;
using test::specials;
using test::sweep;

namespace ours {
constexpr auto exp = [](const auto& x) { return tf::math::exp(x); };
constexpr auto expm1 = [](const auto& x) { return tf::math::expm1(x); };
constexpr auto log = [](const auto& x) { return tf::math::log(x); };
constexpr auto log1p = [](const auto& x) { return tf::math::log1p(x); };
constexpr auto sin = [](const auto& x) { return tf::math::sin(x); };
constexpr auto cos = [](const auto& x) { return tf::math::cos(x); };
constexpr auto tan = [](const auto& x) { return tf::math::tan(x); };
constexpr auto atan = [](const auto& x) { return tf::math::atan(x); };
constexpr auto tanh = [](const auto& x) { return tf::math::tanh(x); };
constexpr auto sigmoid = [](const auto& x) { return tf::math::sigmoid(x); };
constexpr auto erf = [](const auto& x) { return tf::math::erf(x); };
constexpr auto erfc = [](const auto& x) { return tf::math::erfc(x); };
constexpr auto gelu = [](const auto& x) { return tf::math::gelu(x); };
constexpr auto gelu_slope = [](const auto& x) { return tf::math::gelu_slope(x); };
constexpr auto erfinv = []<class V>(const V& x) { return tf::math::OfBatch<V>::erfinv(x); };
constexpr auto lgamma = [](const auto& x) { return tf::ops::Lgamma{}(x); };
constexpr auto digamma = [](const auto& x) { return tf::ops::Digamma{}(x); };
constexpr auto trigamma = [](const auto& x) { return tf::ops::Trigamma{}(x); };
constexpr auto i0 = [](const auto& x) { return tf::ops::BesselI0{}(x); };
constexpr auto i1 = [](const auto& x) { return tf::ops::BesselI1{}(x); };
constexpr auto i0e = [](const auto& x) { return tf::ops::BesselI0e{}(x); };
constexpr auto i1e = [](const auto& x) { return tf::ops::BesselI1e{}(x); };
}  // namespace ours

using test::Exact;

Exact gelu(Exact x) {
  const Exact y = std::erfc(-x / std::sqrt(Exact(2))) / 2;
  return y == 0 ? -y : x * y;
}

}  // namespace

TEST_CASE_TEMPLATE("vector functions are within a few units in the last place", Type, TYPES) {
  const bool is_float = sizeof(typename Type::Element) == 4;
  sweep<Type>("exp", 1, is_float ? 104 : 746, ours::exp, [](Exact x) { return std::exp(x); });
  sweep<Type>("expm1", 2, 40, ours::expm1, [](Exact x) { return std::expm1(x); });
  sweep<Type>("log", 1, 4, ours::log, [](Exact x) { return std::log(x); });
  sweep<Type>("log1p", 2, 4, ours::log1p, [](Exact x) { return std::log1p(x); });
  sweep<Type>("sin", 2, 30, ours::sin, [](Exact x) { return std::sin(x); });
  sweep<Type>("cos", 2, 30, ours::cos, [](Exact x) { return std::cos(x); });
  sweep<Type>("tan", 2.5, 30, ours::tan, [](Exact x) { return std::tan(x); });
  sweep<Type>("atan", 2, 4, ours::atan, [](Exact x) { return std::atan(x); });
  sweep<Type>("tanh", 2.5, 10, ours::tanh, [](Exact x) { return std::tanh(x); });
  sweep<Type>("sigmoid", 2.5, 40, ours::sigmoid, [](Exact x) { return 1 / (1 + std::exp(-x)); });
  sweep<Type>("erf", 2, 6, ours::erf, [](Exact x) { return std::erf(x); });
  sweep<Type>("erfc", 5, is_float ? 10 : 27, ours::erfc, [](Exact x) { return std::erfc(x); });
  sweep<Type>("erfinv", 7, 1, ours::erfinv, [](Exact x) { return test::erfinv(x); });
  // In double, floats are rounded once.
  sweep<Type>("lgamma", is_float ? 0.51 : 6, 40, ours::lgamma,
              [](Exact x) { return std::lgamma(x); });
  sweep<Type>("trigamma", is_float ? 0.51 : 7, 40, ours::trigamma, test::trigamma);
  const Exact high = is_float ? 88 : 700;
  const auto bessel = [](int n, bool scaled) {
    return [=](Exact x) { return test::bessel_i(n, scaled, x); };
  };
  sweep<Type>("i0", 6, high, ours::i0, bessel(0, false));
  sweep<Type>("i1", 6, high, ours::i1, bessel(1, false));
  sweep<Type>("i0e", 6, high, ours::i0e, bessel(0, true));
  sweep<Type>("i1e", 6, high, ours::i1e, bessel(1, true));
  sweep<Type>("gelu", 6, is_float ? 14 : 38, ours::gelu, gelu);
}

TEST_CASE_TEMPLATE("the slope of gelu is within 2 units in the last place of 1", Type, TYPES) {
  using T = typename Type::Element;
  const std::vector<T> x = test::arguments(T(6));
  const std::vector<T> y = test::computed<typename Type::Batch>(x, ours::gelu_slope);
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Exact z = x[i];
    const Exact density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi_v<Exact>);
    const Exact exact = std::erfc(-z / std::sqrt(Exact(2))) / 2 + (density == 0 ? 0 : z * density);
    worst = std::max(worst, static_cast<double>(std::abs(y[i] - exact)));
  }
  CAPTURE(worst);
  CHECK(worst <= 2 * double{std::numeric_limits<T>::epsilon()});
}

/// Below 0 digamma has a root between any two integers, where its parts cancel.
TEST_CASE_TEMPLATE("digamma of batches is precise above 0, at its root, too", Type, TYPES) {
  using T = typename Type::Element;
  std::vector<T> x = test::arguments(T(20));
  T root = T(1.4616321449683623L);
  for (int i = 0; i < 20; ++i) x.push_back(root = std::nextafter(root, T(0)));
  for (int i = 0; i < 40; ++i) x.push_back(root = std::nextafter(root, T(2)));
  const std::vector<T> y = test::computed<typename Type::Batch>(x, ours::digamma);
  double above = 0;
  double below = 0;  // as a part of the result, or of a logarithm if that is larger
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Exact exact = test::digamma(x[i]);
    if (x[i] >= 0) {
      above = std::max(above, test::ulps(y[i], exact));
    } else if (std::isfinite(y[i])) {
      const Exact size = std::max(std::abs(exact), std::log(2 - Exact(x[i])));
      below = std::max(below, static_cast<double>(std::abs(y[i] - exact) / size));
    } else {
      CHECK(test::ulps(y[i], exact) == 0);
    }
  }
  CAPTURE(above);
  CAPTURE(below);
  CHECK(above <= (sizeof(T) == 4 ? 0.51 : 6));
  CHECK(below <= 4 * double{std::numeric_limits<T>::epsilon()});
}

TEST_CASE_TEMPLATE("vector functions of special values", Type, TYPES) {
  using T = typename Type::Element;
  constexpr double infinity = inf<double>;
  constexpr double none = not_a_number<double>;
  const double least = std::numeric_limits<T>::denorm_min();
  const double largest = std::numeric_limits<T>::max();
  specials<Type>("exp", ours::exp,
                 {{0, 1},
                  {-0.0, 1},
                  {infinity, infinity},
                  {-infinity, 0},
                  {none, none},
                  {largest, infinity},
                  {-largest, 0},
                  {least, 1}});
  specials<Type>("expm1", ours::expm1,
                 {{0, 0},
                  {-0.0, -0.0},
                  {infinity, infinity},
                  {-infinity, -1},
                  {none, none},
                  {largest, infinity},
                  {-largest, -1},
                  {least, least},
                  {-least, -least}});
  specials<Type>("log", ours::log,
                 {{1, 0},
                  {0, -infinity},
                  {-0.0, -infinity},
                  {infinity, infinity},
                  {-1, none},
                  {-infinity, none},
                  {none, none},
                  {-least, none}});
  specials<Type>("lgamma", ours::lgamma,
                 {{1, 0},
                  {2, 0},
                  {0, infinity},
                  {-0.0, infinity},
                  {-1, infinity},
                  {-3, infinity},
                  {-1e6, infinity},
                  {infinity, infinity},
                  {-infinity, infinity},
                  {largest, infinity},
                  {none, none}});
  specials<Type>("digamma", ours::digamma,
                 {{0, -infinity},
                  {-0.0, infinity},
                  {-1, none},
                  {-1e6, none},
                  {-largest, none},
                  {infinity, infinity},
                  {-infinity, none},
                  {none, none}});
  specials<Type>("trigamma", ours::trigamma,
                 {{0, infinity},
                  {-0.0, infinity},
                  {-1, infinity},
                  {-largest, infinity},
                  {infinity, 0},
                  {-infinity, none},
                  {least, infinity},
                  {none, none}});
  specials<Type>("i0", ours::i0,
                 {{0, 1},
                  {-0.0, 1},
                  {infinity, infinity},
                  {-infinity, infinity},
                  {none, none},
                  {largest, infinity}});
  specials<Type>("i1", ours::i1,
                 {{0, 0},
                  {-0.0, -0.0},
                  {infinity, infinity},
                  {-infinity, -infinity},
                  {none, none},
                  {-largest, -infinity}});
  specials<Type>("i0e", ours::i0e,
                 {{0, 1}, {-0.0, 1}, {infinity, 0}, {-infinity, 0}, {none, none}});
  specials<Type>("i1e", ours::i1e,
                 {{0, 0}, {-0.0, -0.0}, {infinity, 0}, {-infinity, -0.0}, {none, none}});
  specials<Type>("log1p", ours::log1p,
                 {{0, 0},
                  {-0.0, -0.0},
                  {-1, -infinity},
                  {infinity, infinity},
                  {-2, none},
                  {-infinity, none},
                  {none, none},
                  {least, least},
                  {-least, -least}});
  specials<Type>("sin", ours::sin,
                 {{0, 0},
                  {-0.0, -0.0},
                  {infinity, none},
                  {-infinity, none},
                  {none, none},
                  {least, least},
                  {-least, -least}});
  specials<Type>("cos", ours::cos,
                 {{0, 1}, {-0.0, 1}, {infinity, none}, {-infinity, none}, {none, none}});
  specials<Type>("tan", ours::tan,
                 {{0, 0},
                  {-0.0, -0.0},
                  {infinity, none},
                  {-infinity, none},
                  {none, none},
                  {least, least},
                  {-least, -least}});
  const double quarter = std::acos(0.0);
  specials<Type>("atan", ours::atan,
                 {{0, 0},
                  {-0.0, -0.0},
                  {infinity, quarter},
                  {-infinity, -quarter},
                  {none, none},
                  {largest, quarter},
                  {least, least},
                  {-least, -least}});
  specials<Type>("tanh", ours::tanh,
                 {{0, 0},
                  {-0.0, -0.0},
                  {infinity, 1},
                  {-infinity, -1},
                  {none, none},
                  {largest, 1},
                  {-largest, -1},
                  {least, least},
                  {-least, -least}});
  specials<Type>("sigmoid", ours::sigmoid,
                 {{0, 0.5},
                  {-0.0, 0.5},
                  {infinity, 1},
                  {-infinity, 0},
                  {none, none},
                  {largest, 1},
                  {-largest, 0}});
  specials<Type>("erf", ours::erf,
                 {{0, 0},
                  {-0.0, -0.0},
                  {infinity, 1},
                  {-infinity, -1},
                  {none, none},
                  {largest, 1},
                  {-largest, -1},
                  {least, least},
                  {-least, -least}});
  specials<Type>("erfc", ours::erfc,
                 {{0, 1},
                  {-0.0, 1},
                  {infinity, 0},
                  {-infinity, 2},
                  {none, none},
                  {largest, 0},
                  {-largest, 2},
                  {least, 1}});
  specials<Type>("erfinv", ours::erfinv,
                 {{0, 0},
                  {-0.0, -0.0},
                  {1, infinity},
                  {-1, -infinity},
                  {1.5, none},
                  {infinity, none},
                  {-infinity, none},
                  {none, none}});
  specials<Type>("gelu", ours::gelu,
                 {{0, 0},
                  {-0.0, -0.0},
                  {infinity, infinity},
                  {-infinity, -0.0},
                  {none, none},
                  {largest, largest},
                  {-largest, -0.0}});
  specials<Type>("gelu_slope", ours::gelu_slope,
                 {{infinity, 1}, {-infinity, 0}, {none, none}, {largest, 1}, {-largest, 0}});
}

TEST_CASE_TEMPLATE("an element of a vector function does not depend on the others", Type, TYPES) {
  const auto check = [](const auto& f) { test::check_independence<Type>(f); };
  check(ours::exp);
  check(ours::expm1);
  check(ours::log);
  check(ours::log1p);
  check(ours::sin);
  check(ours::cos);
  check(ours::tan);
  check(ours::atan);
  check(ours::tanh);
  check(ours::sigmoid);
  check(ours::erf);
  check(ours::erfc);
  check(ours::erfinv);
  check(ours::lgamma);
  check(ours::digamma);
  check(ours::trigamma);
  check(ours::i0);
  check(ours::i1);
  check(ours::i0e);
  check(ours::i1e);
  check(ours::gelu);
  check(ours::gelu_slope);
}
