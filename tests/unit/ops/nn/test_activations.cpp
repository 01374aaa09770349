// SPDX-License-Identifier: Apache-2.0

// Activations against their formulas in long double; also where a formula written down as it is
// would be inf * 0 or inf / inf.

#include "support/check_function.hpp"

namespace {

namespace tf = typeflow;
using test::infinity;

struct Functions {
  template <class T, class S>
  static constexpr void model(tf::Graph& g) {
    auto x = test::input<T, S>(g, "x");
    selu(x).named("selu");
    gelu(x).named("gelu");
    gelu(x, tf::tanh_form).named("tanh_form");
    silu(x).named("silu");
    mish(x).named("mish");
    softsign(x).named("softsign");
    log_sigmoid(x).named("log_sigmoid");
    hard_sigmoid(x).named("hard_sigmoid");
    hard_swish(x).named("hard_swish");
    hard_tanh(x).named("hard_tanh");
  }
};

/// A product of x and something that is 0 at -infinity.
long double gated(long double x, long double gate) { return gate == 0 ? -0.0L : x * gate; }
long double normal(long double x) { return std::erfc(-x / std::sqrt(2.0L)) / 2; }
long double sigmoid(long double x) { return 1 / (1 + std::exp(-x)); }
/// tanh(log(1 + e^x)) = (e^2x + 2 e^x) / (e^2x + 2 e^x + 2)
long double mish_gate(long double x) {
  if (x > 50) return 1;
  const long double n = std::exp(x) * (std::exp(x) + 2);
  return n / (n + 2);
}
long double ramp(long double x) { return x > 3 ? 1 : x < -3 ? 0 : (x + 3) / 6; }
constexpr auto gelu_form = [](long double x) {
  const long double z = 0.7978845608028653558798921L * (x + 0.044715L * x * x * x);
  return gated(x, sigmoid(2 * z));
};

/// The derivative is what is expected, also where the value's formula would be no number.
template <class F>
void check_far_out(const F& f, double below, double above) {
  for (const double size : {50., 1e4, 1e100, 1e300, infinity}) {
    CHECK(test::derivative_at(f, -size) == doctest::Approx(below));
    CHECK(test::derivative_at(f, size) == doctest::Approx(above));
  }
}

}  // namespace

TEST_CASE("selu: values") {
  test::check_function<Functions>(
      "selu",
      [](long double x) {
        constexpr long double scale = 1.0507009873554804934193349852946L;
        return x > 0 ? scale * x : scale * 1.6732632423543772848170429916717L * std::expm1(x);
      },
      4);
}
TEST_CASE("gelu: values") {
  // Far below 0 the relative error of x / sqrt(2) counts x^2 times in the interpreter.
  test::check_function<Functions>("gelu", [](long double x) { return gated(x, normal(x)); }, 40,
                                  {.absolute = 1e-30});
  test::check_function<Functions>("tanh_form", gelu_form, 40, {.absolute = 1e-12});
}
TEST_CASE("silu: values") {
  test::check_function<Functions>("silu", [](long double x) { return gated(x, sigmoid(x)); }, 4,
                                  {.absolute = 1e-35});
}
TEST_CASE("mish: values") {
  test::check_function<Functions>("mish", [](long double x) { return gated(x, mish_gate(x)); }, 8,
                                  {.absolute = 1e-35});
}
TEST_CASE("softsign: values") {
  test::check_function<Functions>(
      "softsign",
      [](long double x) { return std::isinf(x) ? std::copysign(1.0L, x) : x / (1 + std::abs(x)); },
      2);
}
TEST_CASE("log_sigmoid: values") {
  test::check_function<Functions>(
      "log_sigmoid",
      [](long double x) { return x < 0 ? x - std::log1p(std::exp(x)) : -std::log1p(std::exp(-x)); },
      4);
}
TEST_CASE("hard_sigmoid: values") {
  test::check_function<Functions>(
      "hard_sigmoid", [](long double x) { return x == x ? ramp(x) : x; }, 2, {.absolute = 1e-7});
}
TEST_CASE("hard_swish: values") {
  test::check_function<Functions>("hard_swish",
                                  [](long double x) { return x == x ? gated(x, ramp(x)) : x; }, 4,
                                  {.absolute = 4e-7});
}
TEST_CASE("hard_tanh: values") {
  test::check_function<Functions>(
      "hard_tanh", [](long double x) { return x > 1    ? 1
                                              : x < -1 ? -1
                                                       : x; }, 0);
}

TEST_CASE("selu: gradient") {
  test::check_derivatives([](auto x) { return selu(x); });
  check_far_out([](auto x) { return selu(x); }, 0, 1.0507009873554805);
  // As in TensorFlow 2.21.
  CHECK(test::derivative_at([](auto x) { return selu(x); }, 0) == 1.0507009873554805);
  CHECK(test::derivative_at([](auto x) { return gradients(selu(x), x); }, 0) == 0);
}
TEST_CASE("gelu: gradient") {
  test::check_derivatives([](auto x) { return gelu(x); });
  test::check_derivatives([](auto x) { return gelu(x, tf::tanh_form); });
  check_far_out([](auto x) { return gelu(x); }, 0, 1);
  check_far_out([](auto x) { return gelu(x, tf::tanh_form); }, 0, 1);
  CHECK(test::derivative_at([](auto x) { return gelu(x); }, 0) == doctest::Approx(0.5));
}
TEST_CASE("silu: gradient") {
  test::check_derivatives([](auto x) { return silu(x); });
  check_far_out([](auto x) { return silu(x); }, 0, 1);
}
TEST_CASE("mish: gradient") {
  test::check_derivatives([](auto x) { return mish(x); });
  check_far_out([](auto x) { return mish(x); }, 0, 1);
}
TEST_CASE("softsign: gradient") {
  test::check_derivatives([](auto x) { return softsign(x); });
  const auto f = [](auto x) { return softsign(x); };
  CHECK(test::derivative_at(f, 0) == 1);
  CHECK(test::derivative_at(f, infinity) == 0);
  CHECK(test::derivative_at(f, 1e10) == doctest::Approx(1e-20).epsilon(1e-9));
}
TEST_CASE("log_sigmoid: gradient") {
  test::check_derivatives([](auto x) { return log_sigmoid(x); });
  check_far_out([](auto x) { return log_sigmoid(x); }, 1, 0);
}
TEST_CASE("hard_sigmoid: gradient") {
  test::check_derivatives([](auto x) { return hard_sigmoid(3 * x); });
  check_far_out([](auto x) { return hard_sigmoid(x); }, 0, 0);
}
TEST_CASE("hard_swish: gradient") {
  test::check_derivatives([](auto x) { return hard_swish(3 * x); });
  check_far_out([](auto x) { return hard_swish(x); }, 0, 1);
}
TEST_CASE("hard_tanh: gradient") {
  test::check_derivatives([](auto x) { return hard_tanh(x); });
  check_far_out([](auto x) { return hard_tanh(x); }, 0, 0);
}
