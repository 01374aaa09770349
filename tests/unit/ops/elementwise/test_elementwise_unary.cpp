// SPDX-License-Identifier: Apache-2.0

// Functions of one floating-point tensor, against the C++ library's in long double.

#include "support/check_elementwise.hpp"
#include "support/check_gradients.hpp"

namespace {

namespace tf = typeflow;
using test::infinity;

template <class T, class S>
constexpr void functions(tf::Graph& g) {
  auto x = test::input<T, S>(g, "x");
  neg(x).named("neg");
  abs(x).named("abs");
  sign(x).named("sign");
  square(x).named("square");
  sqrt(x).named("sqrt");
  rsqrt(x).named("rsqrt");
  reciprocal(x).named("reciprocal");
  exp(x).named("exp");
  expm1(x).named("expm1");
  log(x).named("log");
  log1p(x).named("log1p");
  sin(x).named("sin");
  cos(x).named("cos");
  sigmoid(x).named("sigmoid");
  tanh(x).named("tanh");
  relu(x).named("relu");
  relu6(x).named("relu6");
  leaky_relu(x).named("leaky_relu");
  leaky_relu(x, 1.5).named("steep");
  elu(x).named("elu");
  softplus(x).named("softplus");
  floor(x).named("floor");
  ceil(x).named("ceil");
  round(x).named("round");
  is_nan(x).named("is_nan");
  is_inf(x).named("is_inf");
  is_finite(x).named("is_finite");
}

constexpr void slope_of_rsqrt(tf::Graph& g) {
  auto x = tf::placeholder<float, 5>(g, "x");
  auto dy = tf::placeholder<float, 5>(g, "dy");
  gradients(rsqrt(x), tf::grad_ys(dy), x).named("dx");
}

/// Compares the result `name` with the reference: at ordinary and extreme numbers, float and
/// double, in shapes of every kind, and as `call` makes it in graphs of random shapes.
template <class Reference, class Call>
void check(const std::string& name, const Reference& reference, const Call& call, double ulps,
           bool boolean = false) {
  const auto expected = [&](const tf::HostTensor& x) {
    return test::map(x, reference, boolean ? tf::DType::boolean : x.dtype);
  };
  test::Random random(1);
  test::for_each_shape([&]<class S>(S) {
    const auto x = test::random_tensor(random, tf::DType::float32, S::dims, -4, 4);
    test::check_result<functions<float, S>>(name, {{"x", x}}, expected(x), ulps);
  });
  {
    INFO("extreme numbers");
    const auto x = test::extreme(tf::DType::float32, test::dims({131}));
    test::check_result<functions<float, tf::Shape<131>>>(name, {{"x", x}}, expected(x), ulps);
    const auto y = test::extreme(tf::DType::float64, test::dims({131}), 2);
    test::check_result<functions<double, tf::Shape<131>>>(name, {{"x", y}}, expected(y), ulps);
  }
  for (const std::int64_t batch : {0, 1, 33}) {
    INFO("batch ", batch);
    const auto x = test::random_tensor(random, tf::DType::float32, test::dims({batch, 5}), -4, 4);
    test::check_result<functions<float, tf::Shape<tf::batch, 5>>>(name, {{"x", x}}, expected(x),
                                                                  ulps);
  }
  for (int i = 0; i < 20; ++i) {
    const auto type = i % 2 == 0 ? tf::DType::float32 : tf::DType::float64;
    const tf::Dims shape = test::random_shape(random, random.below(5));
    const auto x = test::random_tensor(random, type, shape, -4, 4);
    tf::Graph g;
    test::name(call(test::input(g, "x", type, shape)), "y");
    REQUIRE(tf::ir::verify(g).view() == "");
    test::check_ulps("y", tf::Interpreter(g).run({"y"}, {{"x", x}})[0], expected(x), ulps);
  }
}

/// First and second derivatives.
template <class F>
void check_derivatives(const F& f, test::Range range = {}, double tolerance = 1e-7) {
  test::check_gradients<tf::Shape<>>(f, range, tolerance);
  test::check_gradients<tf::Shape<7>>(f, range, tolerance);
  test::check_gradients<tf::Shape<2, 1, 3>>(f, range, tolerance);
  test::check_gradients<tf::Shape<5>>([&](auto x) { return gradients(sum(f(x) * square(x)), x); },
                                      range, tolerance * 10);
}

}  // namespace

TEST_CASE("neg: values") {
  check("neg", [](long double x) -> long double { return -x; }, [](auto x) { return neg(x); }, 0);
}
TEST_CASE("abs: values") {
  check(
      "abs", [](long double x) -> long double { return std::abs(x); },
      [](auto x) { return abs(x); }, 0);
}
TEST_CASE("sign: values") {
  check(
      "sign", [](long double x) -> long double { return x > 0   ? 1
                                                        : x < 0 ? -1
                                                                : x; },
      [](auto x) { return sign(x); }, 0);
}
TEST_CASE("square: values") {
  check(
      "square", [](long double x) -> long double { return x * x; },
      [](auto x) { return square(x); }, 0.5);
}
TEST_CASE("sqrt: values") {
  check(
      "sqrt", [](long double x) -> long double { return std::sqrt(x); },
      [](auto x) { return sqrt(x); }, 1);
}
TEST_CASE("rsqrt: values") {
  check(
      "rsqrt", [](long double x) -> long double { return 1 / std::sqrt(x); },
      [](auto x) { return rsqrt(x); }, 1.5);
}
TEST_CASE("reciprocal: values") {
  check(
      "reciprocal", [](long double x) -> long double { return 1 / x; },
      [](auto x) { return reciprocal(x); }, 1);
}
TEST_CASE("exp: values") {
  check(
      "exp", [](long double x) -> long double { return std::exp(x); },
      [](auto x) { return exp(x); }, 2);
}
TEST_CASE("expm1: values") {
  check(
      "expm1", [](long double x) -> long double { return std::expm1(x); },
      [](auto x) { return expm1(x); }, 2.5);
}
TEST_CASE("log: values") {
  check(
      "log", [](long double x) -> long double { return std::log(x); },
      [](auto x) { return log(x); }, 1);
}
TEST_CASE("log1p: values") {
  check(
      "log1p", [](long double x) -> long double { return std::log1p(x); },
      [](auto x) { return log1p(x); }, 1);
}
TEST_CASE("sin: values") {
  check(
      "sin", [](long double x) -> long double { return std::sin(x); },
      [](auto x) { return sin(x); }, 1);
}
TEST_CASE("cos: values") {
  check(
      "cos", [](long double x) -> long double { return std::cos(x); },
      [](auto x) { return cos(x); }, 1);
}
TEST_CASE("sigmoid: values") {
  check(
      "sigmoid", [](long double x) -> long double { return 1 / (1 + std::exp(-x)); },
      [](auto x) { return sigmoid(x); }, 3);
}
TEST_CASE("tanh: values") {
  check(
      "tanh", [](long double x) -> long double { return std::tanh(x); },
      [](auto x) { return tanh(x); }, 2);
}
TEST_CASE("relu: values") {
  check(
      "relu", [](long double x) -> long double { return x < 0 ? 0 : x; },
      [](auto x) { return relu(x); }, 0);
}
TEST_CASE("relu6: values") {
  check(
      "relu6", [](long double x) -> long double { return x < 0   ? 0
                                                         : x > 6 ? 6
                                                                 : x; },
      [](auto x) { return relu6(x); }, 0);
}
TEST_CASE("elu: values") {
  check(
      "elu", [](long double x) -> long double { return x > 0 ? x : std::expm1(x); },
      [](auto x) { return elu(x); }, 2.5);
}
TEST_CASE("softplus: values") {
  check(
      "softplus",
      [](long double x) -> long double {
        return (x > 0 ? x : 0) + std::log1p(std::exp(x != x ? x : -std::abs(x)));
      },
      [](auto x) { return softplus(x); }, 3);
}
TEST_CASE("floor: values") {
  check(
      "floor", [](long double x) -> long double { return std::floor(x); },
      [](auto x) { return floor(x); }, 0);
}
TEST_CASE("ceil: values") {
  check(
      "ceil", [](long double x) -> long double { return std::ceil(x); },
      [](auto x) { return ceil(x); }, 0);
}
TEST_CASE("round: values") {  // halves to even
  check(
      "round",
      [](long double x) -> long double {
        return 2 * std::round(x / 2) == x + 1 || 2 * std::round(x / 2) == x - 1 ? x
               : std::abs(x - std::trunc(x)) == 0.5L ? 2 * std::round(x / 2)
                                                     : std::round(x);
      },
      [](auto x) { return round(x); }, 0);
}

TEST_CASE("leaky_relu: values") {
  check(
      "leaky_relu", [](double x) { return x > 0 ? x : 0.2 * x; },
      [](auto x) { return leaky_relu(x); }, 1.5);
  check(
      "steep", [](double x) { return x > 0 ? x : 1.5 * x; },
      [](auto x) { return leaky_relu(x, 1.5); }, 0.5);
}
TEST_CASE("is_nan: values") {
  check(
      "is_nan", [](double x) { return std::isnan(x); }, [](auto x) { return is_nan(x); }, 0, true);
}
TEST_CASE("is_inf: values") {
  check(
      "is_inf", [](double x) { return std::isinf(x); }, [](auto x) { return is_inf(x); }, 0, true);
}
TEST_CASE("is_finite: values") {
  check(
      "is_finite", [](double x) { return std::isfinite(x); }, [](auto x) { return is_finite(x); },
      0, true);
}

TEST_CASE("neg: gradient") {
  check_derivatives([](auto x) { return neg(x); });
}
TEST_CASE("abs: gradient") {
  check_derivatives([](auto x) { return abs(x); });
}
TEST_CASE("square: gradient") {
  check_derivatives([](auto x) { return square(x); });
}
TEST_CASE("sqrt: gradient") {
  check_derivatives([](auto x) { return sqrt(x); }, {0.3, 3});
}
TEST_CASE("rsqrt: gradient") {
  check_derivatives([](auto x) { return rsqrt(x); }, {0.3, 3}, 1e-6);
}
/// Of denormal numbers 1 / x is infinite, but not the gradient, if dy is small.
TEST_CASE("rsqrt: gradient at denormal numbers") {
  const tf::Dims dims = test::dims({5});
  const tf::HostTensor x = test::floats({5}, {1e-40, 2e-39, 0x1p-149, 3e38, 2});
  const tf::HostTensor dy = test::floats({5}, {0, 1e-30, -1e-35, 1e20, 3});
  tf::HostTensor dx = tf::host_tensor(tf::DType::float32, dims);
  for (std::int64_t i = 0; i < dx.size(); ++i) {
    const long double a = x.value(i);
    dx.set(i, static_cast<double>(-0.5L * dy.value(i) / (a * std::sqrt(a))));
  }
  test::check_result<slope_of_rsqrt>("dx", {{"x", x}, {"dy", dy}}, dx, 6);
}
TEST_CASE("reciprocal: gradient") {
  check_derivatives([](auto x) { return reciprocal(x); }, {0.3, 3}, 1e-6);
}
TEST_CASE("exp: gradient") {
  check_derivatives([](auto x) { return exp(x); });
}
TEST_CASE("expm1: gradient") {
  check_derivatives([](auto x) { return expm1(x); });
}
namespace {
constexpr void slopes_of_expm1(tf::Graph& g) {
  auto x = tf::placeholder<float, 3>(g, "x");
  auto dx = gradients(sum(expm1(x)), x);
  gradients(sum(dx), x).named("ddx");
  (1 * dx).named("dx");
}
}  // namespace
TEST_CASE("expm1: the first two derivatives are e^x where the value is rounded to -1") {
  const tf::HostTensors x = {{"x", test::floats({3}, {-5, -20, -80})}};
  const tf::HostTensor slopes = test::floats(
      {3}, {0.0067379469990854671, 2.0611536224385578699e-9, 1.8048513878454152987e-35});
  test::check_result<slopes_of_expm1>("dx", x, slopes, 2);
  test::check_result<slopes_of_expm1>("ddx", x, slopes, 2);
}
TEST_CASE("log: gradient") {
  check_derivatives([](auto x) { return log(x); }, {0.3, 3}, 1e-6);
}
TEST_CASE("log1p: gradient") {
  check_derivatives([](auto x) { return log1p(x); }, {-0.5, 3});
}
TEST_CASE("sin: gradient") {
  check_derivatives([](auto x) { return sin(x); });
}
TEST_CASE("cos: gradient") {
  check_derivatives([](auto x) { return cos(x); });
}
TEST_CASE("sigmoid: gradient") {
  check_derivatives([](auto x) { return sigmoid(x); });
}
TEST_CASE("tanh: gradient") {
  check_derivatives([](auto x) { return tanh(x); });
}
TEST_CASE("relu: gradient") {
  check_derivatives([](auto x) { return relu(x); });
}
TEST_CASE("relu6: gradient") {
  check_derivatives([](auto x) { return relu6(x); }, {-9, 9});
}
TEST_CASE("leaky_relu: gradient") {
  check_derivatives([](auto x) { return leaky_relu(x); });
}
TEST_CASE("elu: gradient") {
  check_derivatives([](auto x) { return elu(x); });
}
TEST_CASE("softplus: gradient") {
  check_derivatives([](auto x) { return softplus(x); });
}

// Functions without a gradient: zero beside another that has one.
TEST_CASE("sign: gradient") {
  check_derivatives([](auto x) { return x * sign(x); });
}
TEST_CASE("floor: gradient") {
  check_derivatives([](auto x) { return x * floor(x); });
}
TEST_CASE("ceil: gradient") {
  check_derivatives([](auto x) { return x * ceil(x); });
}
TEST_CASE("round: gradient") {
  check_derivatives([](auto x) { return x * round(x); });
}
TEST_CASE("is_nan: gradient") {
  check_derivatives([](auto x) { return where(is_nan(x), x, 3 * x); });
}
TEST_CASE("is_inf: gradient") {
  check_derivatives([](auto x) { return where(is_inf(x), x, 3 * x); });
}
TEST_CASE("is_finite: gradient") {
  check_derivatives([](auto x) { return where(is_finite(x), x, 3 * x); });
}

namespace {
/// The gradient of sum(f(x)) at these numbers.
template <class F>
std::vector<double> derivative_at(const F& f, const std::vector<double>& at) {
  tf::Graph g;
  auto x = tf::placeholder<double, tf::batch>(g, "x");
  gradients(sum(f(x)), x).named("dx");
  return test::elements(tf::Interpreter(g).run(
      {"dx"}, {{"x", test::doubles({static_cast<tf::Extent>(at.size())}, at)}})[0]);
}
}  // namespace

TEST_CASE("derivatives of activations at kinks and far out are those of TensorFlow") {
  using V = std::vector<double>;
  CHECK(derivative_at([](auto x) { return relu6(x); }, {0, 6, 5, -1, 7}) == V{0, 0, 1, 0, 0});
  CHECK(derivative_at([](auto x) { return leaky_relu(x); }, {0, 1, -1}) == V{0.2, 1, 0.2});
  CHECK(derivative_at([](auto x) { return elu(x); }, {0, 1000, -1000}) == V{1, 1, 0});
  CHECK(derivative_at([](auto x) { return softsign(x); }, {0}) == V{1});
  CHECK(derivative_at([](auto x) { return softplus(x); }, {1000, -1000}) == V{1, 0});
  CHECK(derivative_at([](auto x) { return abs(x); }, {0, -3}) == V{0, -1});
}

TEST_CASE("functions have equal bits, fused or not, for any number of threads") {
  for (const std::int64_t batch : {1, 1003}) {
    test::check_bits<functions<float, tf::Shape<tf::batch, 5>>>(batch);
  }
}

TEST_CASE("zeros keep their sign") {  // but for rounding with SSE2 alone
  test::Random random(1);
  using Model = test::Kernels<functions<double, tf::Shape<131>>>;
  tf::HostTensor x = test::random_tensor(random, tf::DType::float64, test::dims({131}), -1, 1);
  x.set(3, -0.0);
  Model kernels;
  const test::Outcome y = kernels.run({{"x", x}});
  for (const std::string name : {"sign", "sqrt", "expm1", "log1p", "sin", "tanh", "relu", "relu6",
                                 "elu", "leaky_relu", "reciprocal"}) {
    INFO(name);
    CHECK(std::signbit(y.at(name).value(3)));
  }
  for (const std::string name : {"abs", "neg"}) CHECK(!std::signbit(y.at(name).value(3)));
}
