// SPDX-License-Identifier: Apache-2.0

// Elementwise functions of bfloat16 and float16: of all the numbers that there are, against the C++
// library's functions of floats, rounded once.

#include <cmath>
#include <map>
#include <string>

#include "support/check_halves.hpp"

namespace {

namespace tf = typeflow;
using tf::DType;
using All = tf::Shape<test::halves>;

template <class T>
constexpr void functions(tf::Graph& g) {
  auto x = test::input<T, All>(g, "x");
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
  elu(x).named("elu");
  softplus(x).named("softplus");
  floor(x).named("floor");
  ceil(x).named("ceil");
  round(x).named("round");
  erf(x).named("erf");
  lgamma(x).named("lgamma");
  tf::identity(x).named("identity");
  (2 * tf::stop_gradient(x)).named("stop_gradient");
  is_nan(x).named("is_nan");
  is_inf(x).named("is_inf");
  is_finite(x).named("is_finite");
}

/// Functions that are rounded once are within a unit, since those of float are not exact; those
/// made of two, which round twice, within two.
struct Reference {
  float (*f)(float);
  int units;
};
const std::map<std::string, Reference> references{
    {"neg", {[](float x) { return -x; }, 0}},
    {"abs", {[](float x) { return std::abs(x); }, 0}},
    {"sign", {[](float x) { return x > 0   ? 1.0f
                                   : x < 0 ? -1.0f
                                           : x; }, 0}},
    {"square", {[](float x) { return x * x; }, 0}},
    {"sqrt", {[](float x) { return std::sqrt(x); }, 0}},
    {"rsqrt", {[](float x) { return 1 / std::sqrt(x); }, 2}},
    {"reciprocal", {[](float x) { return 1 / x; }, 0}},
    {"exp", {[](float x) { return std::exp(x); }, 1}},
    {"expm1", {[](float x) { return std::expm1(x); }, 1}},
    {"log", {[](float x) { return std::log(x); }, 1}},
    {"log1p", {[](float x) { return std::log1p(x); }, 1}},
    {"sin", {[](float x) { return std::sin(x); }, 1}},
    {"cos", {[](float x) { return std::cos(x); }, 1}},
    {"sigmoid", {[](float x) { return 1 / (1 + std::exp(-x)); }, 1}},
    {"tanh", {[](float x) { return std::tanh(x); }, 1}},
    {"relu", {[](float x) { return x < 0 ? 0.0f : x; }, 0}},
    {"relu6", {[](float x) { return x < 0   ? 0.0f
                                    : x > 6 ? 6.0f
                                            : x; }, 0}},
    {"leaky_relu", {[](float x) { return x > 0 ? x : x * 0.2f; }, 1}},
    {"elu", {[](float x) { return x > 0 ? x : std::expm1(x); }, 1}},
    {"softplus",
     {[](float x) { return std::fmax(x, 0.0f) + std::log1p(std::exp(-std::abs(x))); }, 1}},
    {"floor", {[](float x) { return std::floor(x); }, 0}},
    {"ceil", {[](float x) { return std::ceil(x); }, 0}},
    {"round", {[](float x) { return std::nearbyint(x); }, 0}},
    {"erf", {[](float x) { return std::erf(x); }, 1}},
    {"lgamma", {[](float x) { return std::lgamma(x); }, 1}},
    {"identity", {[](float x) { return x; }, 0}},
    {"stop_gradient", {[](float x) { return 2 * x; }, 0}}};

template <class T>
void check_functions() {
  INFO(tf::name_of(tf::dtype_of<T>));
  const tf::HostTensor x = test::all_halves<T>();
  tf::Graph graph;
  functions<T>(graph);
  const tf::HostTensors interpreted = tf::interpret(graph, {{"x", x}});
  test::Kernels<functions<T>> kernels;
  const test::Outcome compiled = kernels.run({{"x", x}});
  const auto predicate = [&](bool (*f)(double)) { return test::map(x, f, DType::boolean); };
  for (const test::Outcome& got :
       {test::Outcome(interpreted.begin(), interpreted.end()), compiled}) {
    for (const auto& [name, reference] : references) {
      const auto expected = test::map(
          x, [&](double e) { return static_cast<float>(T(reference.f(static_cast<float>(e)))); });
      test::check_units<T>(name, got.at(name), expected, reference.units);
    }
    test::check_close("is_nan", got.at("is_nan"), predicate([](double e) { return std::isnan(e); }),
                      0);
    test::check_close("is_inf", got.at("is_inf"), predicate([](double e) { return std::isinf(e); }),
                      0);
    test::check_close("is_finite", got.at("is_finite"),
                      predicate([](double e) { return std::isfinite(e); }), 0);
  }
}

// Functions of two.

template <class T>
constexpr void pairs(tf::Graph& g) {
  auto a = test::input<T, All>(g, "a");
  auto b = test::input<T, All>(g, "b");
  (a + b).named("add");
  (a - b).named("sub");
  (a * b).named("mul");
  (a / b).named("div");
  tf::floordiv(a, b).named("floordiv");
  tf::mod(a, b).named("mod");
  tf::pow(a, b).named("pow");
  tf::atan2(a, b).named("atan2");
  tf::maximum(a, b).named("maximum");
  tf::minimum(a, b).named("minimum");
  tf::squared_difference(a, b).named("squared_difference");
  tf::clip_by_value(a, -2, b).named("clip_by_value");
  tf::add_n(a, b, a).named("add_n");
  where(less(a, b), a, b).named("where");
  equal(a, b).named("equal");
  not_equal(a, b).named("not_equal");
  less(a, b).named("less");
  less_equal(a, b).named("less_equal");
  greater(a, b).named("greater");
  greater_equal(a, b).named("greater_equal");
}

/// The nearest T.
template <class T>
float rounded(float x) {
  return static_cast<float>(T(x));
}
float floor_mod(float a, float b) {
  const float rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
float larger(float a, float b) { return std::isnan(a) || std::isnan(b) ? a + b : a > b ? a : b; }
float smaller(float a, float b) { return std::isnan(a) || std::isnan(b) ? a + b : a < b ? a : b; }

template <class T>
void check_pairs() {
  INFO(tf::name_of(tf::dtype_of<T>));
  // Each number with another one: near ones, so that differences cancel, then any.
  const tf::HostTensor a = test::all_halves<T>();
  tf::HostTensor near = a;
  tf::HostTensor any = a;
  test::Random random(8);
  for (std::int64_t i = 0; i < a.size(); ++i) {
    near[i] = a[(i + random.below(5)) % a.size()];
    any[i] = a[random.below(test::halves)];
  }
  test::Kernels<pairs<T>> kernels;
  tf::Graph graph;
  pairs<T>(graph);
  for (const tf::HostTensor& b : {near, any}) {
    const auto check = [&](const std::string& name, int units, const auto& f) {
      const auto expected = test::zip(a, b, [&](double x, double y) {
        return rounded<T>(f(static_cast<float>(x), static_cast<float>(y)));
      });
      INFO("interpreted");
      test::check_units<T>(name, tf::Interpreter(graph).run({name}, {{"a", a}, {"b", b}})[0],
                           expected, units);
      return expected;
    };
    const test::Outcome got = kernels.run({{"a", a}, {"b", b}});
    const auto check_all = [&](const std::string& name, int units, const auto& f) {
      test::check_units<T>(name, got.at(name), check(name, units, f), units);
    };
    const auto check_predicate = [&](const std::string& name, const auto& f) {
      const auto expected = test::zip(a, b, f, DType::boolean);
      test::check_close(name, got.at(name), expected, 0);
      test::check_close(name, tf::Interpreter(graph).run({name}, {{"a", a}, {"b", b}})[0], expected,
                        0);
    };
    check_all("add", 0, [](float x, float y) { return x + y; });
    check_all("sub", 0, [](float x, float y) { return x - y; });
    check_all("mul", 0, [](float x, float y) { return x * y; });
    check_all("div", 0, [](float x, float y) { return x / y; });
    check_all("floordiv", 0, [](float x, float y) { return std::floor(x / y); });
    check_all("mod", 0, floor_mod);
    check_all("pow", 1, [](float x, float y) { return std::pow(x, y); });
    check_all("atan2", 1, [](float y, float x) { return std::atan2(y, x); });
    check_all("maximum", 0, larger);
    check_all("minimum", 0, smaller);
    check_all("squared_difference", 0, [](float x, float y) {
      const float d = rounded<T>(x - y);
      return d * d;
    });
    check_all("clip_by_value", 0, [](float x, float high) { return larger(smaller(x, high), -2); });
    check_all("add_n", 0, [](float x, float y) { return rounded<T>(x + y) + x; });
    check_all("where", 0, [](float x, float y) { return x < y ? x : y; });
    check_predicate("equal", [](double x, double y) { return x == y; });
    check_predicate("not_equal", [](double x, double y) { return x != y; });
    check_predicate("less", [](double x, double y) { return x < y; });
    check_predicate("less_equal", [](double x, double y) { return x <= y; });
    check_predicate("greater", [](double x, double y) { return x > y; });
    check_predicate("greater_equal", [](double x, double y) { return x >= y; });
  }
}

}  // namespace

TEST_CASE("functions of every bfloat16") { check_functions<tf::bfloat16>(); }
TEST_CASE("functions of every float16") { check_functions<tf::float16>(); }
TEST_CASE("functions of two bfloat16") { check_pairs<tf::bfloat16>(); }
TEST_CASE("functions of two float16") { check_pairs<tf::float16>(); }
