// SPDX-License-Identifier: Apache-2.0

// softmax and log_softmax.

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string_view>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;
using test::check_gradients;
using Row = tf::Shape<4>;
using Matrix = tf::Shape<3, 4>;
using Cube = tf::Shape<2, 3, 4>;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// References: a row's log(sum(exp(x))), in long double.

/// The largest element along an axis through element i, and log(sum(exp(x - largest))).
struct LogSum {
  long double largest;
  long double log_sum;
};
LogSum log_sum_exp(const tf::HostTensor& x, std::int64_t i, int axis) {
  std::vector<std::int64_t> at = test::coordinates(i, x.dims);
  const auto each = [&](const auto& f) {
    for (std::int64_t k = 0; k < x.dims.extent[axis]; ++k) {
      at[static_cast<std::size_t>(axis)] = k;
      f(static_cast<long double>(x.value(test::position(at, x.dims))));
    }
  };
  long double largest = -infinity;
  each([&](long double e) { largest = e > largest || e != e ? e : largest; });
  long double total = 0;
  each([&](long double e) { total += std::exp(e - largest); });
  return {largest, std::log(total)};
}
tf::HostTensor log_softmax_of(const tf::HostTensor& x, int axis) {
  tf::HostTensor y = tf::host_tensor(x.dtype, x.dims);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const LogSum row = log_sum_exp(x, i, axis);
    y.set(i, static_cast<double>(x.value(i) - row.largest - row.log_sum));
  }
  return y;
}
tf::HostTensor softmax_of(const tf::HostTensor& x, int axis) {
  tf::HostTensor y = tf::host_tensor(x.dtype, x.dims);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const LogSum row = log_sum_exp(x, i, axis);
    y.set(i, static_cast<double>(std::exp(x.value(i) - row.largest - row.log_sum)));
  }
  return y;
}
template <class T, class S>
constexpr void model(tf::Graph& g) {
  auto x = test::input<T, S>(g, "x");
  softmax(x).named("softmax");
  tf::softmax<0>(x).named("softmax_0");
  tf::softmax<-S::rank>(x).named("softmax_first");
  log_softmax(x).named("log_softmax");
  tf::log_softmax<0>(x).named("log_softmax_0");
  log(softmax(x)).named("log_of_softmax");
}

template <class T, class S>
void check(std::string_view function, double tolerance,
           const tf::HostTensors& feeds = test::random_feeds<model<T, S>>(6, 3, -5, 5)) {
  const tf::HostTensor& x = feeds.at("x");
  const tf::HostTensor first = softmax_of(x, 0);
  const tf::HostTensor logarithms = log_softmax_of(x, S::rank - 1);
  test::Outcome expected = {{"softmax", softmax_of(x, S::rank - 1)},
                            {"softmax_0", first},
                            {"softmax_first", first},
                            {"log_softmax", logarithms},
                            {"log_softmax_0", log_softmax_of(x, 0)},
                            {"log_of_softmax", logarithms}};
  std::erase_if(expected, [&](const auto& e) { return !e.first.starts_with(function); });
  test::check_values<model<T, S>>(feeds, expected, tolerance);
}
/// Rows with infinities, NaN, differences that exp can't hold, and numbers beside which their
/// logarithms are nothing.
tf::HostTensors extreme(tf::DType type) {
  return {{"x", test::tensor(type, {7, 3},
                             {1e4,  1e4,       -1e4,         -infinity, 0,    1,    infinity,
                              0,    0,         not_a_number, 0,         1,    -1e4, -1e4,
                              -1e4, -infinity, -infinity,    -infinity, 1e20, 1e20, 0})}};
}

/// f(untyped x, axis) for shapes drawn by chance.
template <class F, class Reference>
void check_random_shapes(const F& f, const Reference& reference) {
  test::Random random(5);
  for (int i = 0; i < 30; ++i) {
    const tf::Dims shape = test::random_shape(random, 1 + random.below(4));
    const int axis = random.below(shape.rank);
    CAPTURE(axis);
    tf::Graph g;
    const tf::AnyExpr x = test::input(g, "x", tf::DType::float64, shape);
    test::name(f(x, static_cast<unsigned>(axis)), "y");
    const tf::HostTensors feeds{
        {"x", test::random_tensor(random, tf::DType::float64, shape, -3, 3)}};
    test::check_interpreter(g, feeds, {{"y", reference(feeds.at("x"), axis)}}, 1e-13);
  }
}

/// Checks the functions whose names in the model begin with this.
void check_shapes(std::string_view function) {
  check<float, tf::Shape<1>>(function, 1e-6);
  check<double, tf::Shape<37>>(function, 1e-14);
  check<float, tf::Shape<3, 0, 2>>(function, 0);
  check<float, tf::Shape<5, 3, 1>>(function, 1e-6);
  check<float, tf::Shape<tf::batch, 131>>(function, 1e-6);
  check<tf::float16, tf::Shape<3, 10>>(function, 1e-2);
  check<tf::bfloat16, tf::Shape<3, 10>>(function, 6e-2);
  check<float, tf::Shape<7, 3>>(function, 1e-6, extreme(tf::DType::float32));
  check<double, tf::Shape<7, 3>>(function, 1e-14, extreme(tf::DType::float64));
}

}  // namespace

TEST_CASE("softmax: values") {
  check_shapes("softmax");
  check_random_shapes([](auto x, unsigned axis) { return softmax_along(x, axis); }, softmax_of);
}

TEST_CASE("log_softmax: values") {
  check_shapes("log");
  check_random_shapes([](auto x, unsigned axis) { return log_softmax_along(x, axis); },
                      log_softmax_of);
}

TEST_CASE("softmax: gradient") {
  check_gradients<Row>([](auto x) { return softmax(x); });
  check_gradients<Cube>([](auto x) { return softmax(x); });
  check_gradients<Cube>([](auto x) { return tf::softmax<0>(x); });
  check_gradients<Cube>([](auto x) { return tf::softmax<1>(x); });
  check_gradients<Matrix>([](auto x) { return gradients(sum(square(softmax(x))), x); });
}

TEST_CASE("log_softmax: gradient") {
  check_gradients<Row>([](auto x) { return log(softmax(x)); });
  check_gradients<Cube>([](auto x) { return log_softmax(x); });
  check_gradients<Cube>([](auto x) { return tf::log_softmax<0>(x); });
  check_gradients<Matrix>([](auto x) { return gradients(sum(square(log_softmax(x))), x); });
}
