// SPDX-License-Identifier: Apache-2.0

// Trigonometric and hyperbolic functions against the C++ library's in long double.

#include "support/check_function.hpp"

namespace {

namespace tf = typeflow;

struct Functions {
  template <class T, class S>
  static constexpr void model(tf::Graph& g) {
    auto x = test::input<T, S>(g, "x");
    tan(x).named("tan");
    asin(x).named("asin");
    acos(x).named("acos");
    atan(x).named("atan");
    sinh(x).named("sinh");
    cosh(x).named("cosh");
    asinh(x).named("asinh");
    acosh(x).named("acosh");
    atanh(x).named("atanh");
  }
};

/// The largest finite float's hyperbolic sine is infinite as a float, not as a long double; so the
/// reference rounds, as every comparison with it does.
template <class F>
void check(const std::string& name, const F& f, double ulps, test::Range range) {
  test::check_function<Functions>(name, f, ulps, {.range = range});
}

}  // namespace

TEST_CASE("tan: values") {
  check("tan", [](long double x) { return std::tan(x); }, 2, {-9, 9});
}
TEST_CASE("asin: values") {
  check("asin", [](long double x) { return std::asin(x); }, 3, {-1.1, 1.1});
}
TEST_CASE("acos: values") {
  check("acos", [](long double x) { return std::acos(x); }, 3, {-1.1, 1.1});
}
TEST_CASE("atan: values") {
  check("atan", [](long double x) { return std::atan(x); }, 3, {-9, 9});
}
TEST_CASE("sinh: values") {
  check("sinh", [](long double x) { return std::sinh(x); }, 3, {-80, 80});
}
TEST_CASE("cosh: values") {
  check("cosh", [](long double x) { return std::cosh(x); }, 3, {-80, 80});
}
TEST_CASE("asinh: values") {
  check("asinh", [](long double x) { return std::asinh(x); }, 4, {-9, 9});
}
TEST_CASE("acosh: values") {
  check("acosh", [](long double x) { return std::acosh(x); }, 3, {0, 9});
}
TEST_CASE("atanh: values") {
  check("atanh", [](long double x) { return std::atanh(x); }, 3, {-1.1, 1.1});
}

TEST_CASE("tan: gradient") {
  test::check_derivatives([](auto x) { return tan(x); }, {-1, 1});
}
TEST_CASE("asin: gradient") {
  test::check_derivatives([](auto x) { return asin(x); }, {-0.8, 0.8});
}
TEST_CASE("acos: gradient") {
  test::check_derivatives([](auto x) { return acos(x); }, {-0.8, 0.8});
}
TEST_CASE("atan: gradient") {
  test::check_derivatives([](auto x) { return atan(x); });
  CHECK(test::derivative_at([](auto x) { return atan(x); }, -1e300) == 0);
}
TEST_CASE("sinh: gradient") {
  test::check_derivatives([](auto x) { return sinh(x); });
}
TEST_CASE("cosh: gradient") {
  test::check_derivatives([](auto x) { return cosh(x); });
}
TEST_CASE("asinh: gradient") {
  test::check_derivatives([](auto x) { return asinh(x); });
  // 1 / sqrt(1 + x^2) without x^2
  for (const double x : {1e100, -1e200, 1e300}) {
    CHECK(test::derivative_at([](auto t) { return asinh(t); }, x) * std::abs(x) ==
          doctest::Approx(1).epsilon(1e-11));
  }
}
TEST_CASE("acosh: gradient") {
  test::check_derivatives([](auto x) { return acosh(x); }, {1.3, 4});
  CHECK(test::derivative_at([](auto t) { return acosh(t); }, 1e300) * 1e300 ==
        doctest::Approx(1).epsilon(1e-11));
}
TEST_CASE("atanh: gradient") {
  test::check_derivatives([](auto x) { return atanh(x); }, {-0.8, 0.8});
}
