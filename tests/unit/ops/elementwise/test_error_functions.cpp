// SPDX-License-Identifier: Apache-2.0

// erfc against the C++ library's, erfinv against erfc's inverse.

#include "support/check_function.hpp"
#include "support/inverse_error_function.hpp"

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

}  // namespace

TEST_CASE("erfc: values") {
  const auto reference = [](long double x) { return std::erfc(x); };
  test::check_function<Functions>("erfc", reference, 4);
  test::check_function<Functions>("erfc", reference, 4, {.range = {-1, 9}});
}
TEST_CASE("erfinv: values") {
  test::check_function<Functions>("erfinv", [](long double x) { return test::erfinv(x); }, 4,
                                  {.range = {-1.05, 1.05}});
  // Where the quotient for the farthest numbers begins
  test::check_function<Functions>("erfinv", [](long double x) { return test::erfinv(x); }, 4,
                                  {.range = {1 - 1e-10, 1}});
  // The 97.5th percentile of the normal distribution, over sqrt(2)
  CHECK(tf::math::erfinv(0.95) == doctest::Approx(1.3859038243496777).epsilon(1e-15));
  for (const double tail : {1e-3, 1e-9, 1e-14}) {
    CHECK(tf::math::erfinv(1 - tail) ==
          doctest::Approx(static_cast<double>(test::erfinv(1 - tail))).epsilon(1e-15));
  }
}

TEST_CASE("erfc: gradient") {
  test::check_derivatives([](auto x) { return erfc(x); });
}
TEST_CASE("erfinv: gradient") {
  test::check_derivatives([](auto x) { return erfinv(x); }, {-0.8, 0.8});
}
