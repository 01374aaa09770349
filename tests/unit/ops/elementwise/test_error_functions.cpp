// SPDX-License-Identifier: Apache-2.0

// erfc against the C++ library's, erfinv against erfc's inverse.

#include "support/check_function.hpp"

namespace {

namespace tf = typeflow;

struct Functions {
  template <class T, class S>
  static constexpr void model(tf::Graph& g) {
    auto x = test::input<T, S>(g, "x");
    erfc(x).named("erfc");
    erfinv(x).named("erfinv");
  }
};

/// The root of erfc(y) = 1 - x for x >= 0, by Newton's method on its logarithm.
long double erfinv(long double x) {
  if (!(std::abs(x) <= 1)) return test::nan;
  if (std::abs(x) == 1) return x * test::infinity;
  if (x < 0) return -erfinv(-x);
  if (x < 0.1L) {  // erf itself, there
    long double y = x;
    for (int i = 0; i < 20; ++i) {
      y -= (std::erf(y) - x) * std::sqrt(std::numbers::pi_v<long double>) / 2 * std::exp(y * y);
    }
    return y;
  }
  long double y = std::sqrt(-std::log1p(-x));
  for (int i = 0; i < 60; ++i) {
    const long double tail = std::erfc(y);
    const long double slope =
        -2 / std::sqrt(std::numbers::pi_v<long double>) * std::exp(-y * y) / tail;
    y -= (std::log(tail) - std::log1p(-x)) / slope;
  }
  return y;
}

}  // namespace

TEST_CASE("erfc: values") {
  const auto reference = [](long double x) { return std::erfc(x); };
  test::check_function<Functions>("erfc", reference, 4);
  test::check_function<Functions>("erfc", reference, 4, {.range = {-1, 9}});
}
TEST_CASE("erfinv: values") {
  test::check_function<Functions>("erfinv", [](long double x) { return erfinv(x); }, 4,
                                  {.range = {-1.05, 1.05}});
  // The 97.5th percentile of the normal distribution, over sqrt(2)
  CHECK(tf::math::erfinv(0.95) == doctest::Approx(1.3859038243496777).epsilon(1e-15));
  for (const double tail : {1e-3, 1e-9, 1e-14}) {
    CHECK(tf::math::erfinv(1 - tail) ==
          doctest::Approx(static_cast<double>(erfinv(1 - tail))).epsilon(1e-15));
  }
}

TEST_CASE("erfc: gradient") {
  test::check_derivatives([](auto x) { return erfc(x); });
}
TEST_CASE("erfinv: gradient") {
  test::check_derivatives([](auto x) { return erfinv(x); }, {-0.8, 0.8});
}
