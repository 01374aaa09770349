// SPDX-License-Identifier: Apache-2.0

// Running extremes and logarithms of sums of exponentials along an axis, against plain loops.

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;
using tf::DType;
using tf::Shape;

constexpr double inf = std::numeric_limits<double>::infinity();
const double not_a_number = std::numeric_limits<double>::quiet_NaN();

constexpr tf::CumulativeOptions all_options[] = {
    {}, {.exclusive = true}, {.reverse = true}, {.exclusive = true, .reverse = true}};

/// y[i] = f(the elements up to x[i], in order) along an axis.
template <class F>
tf::HostTensor running(const tf::HostTensor& x, int axis, tf::CumulativeOptions options,
                       const F& f) {
  tf::HostTensor y = tf::host_tensor(x.dtype, x.dims);
  const std::int64_t n = x.dims.extent[axis];
  for (std::int64_t i = 0; i < x.size(); ++i) {
    std::vector<std::int64_t> c = test::coordinates(i, x.dims);
    std::int64_t& k = c[static_cast<std::size_t>(axis)];
    const std::int64_t last = k;
    std::vector<double> elements;
    const auto take = [&] { elements.push_back(x.value(test::position(c, x.dims))); };
    if (options.reverse) {
      for (k = n - 1; k >= last + options.exclusive; --k) take();
    } else {
      for (k = 0; k <= last - options.exclusive; ++k) take();
    }
    y.set(i, f(elements));
  }
  return y;
}
double largest(double none, const std::vector<double>& x) {
  double most = none;
  for (const double e : x)
    most = std::isnan(e) || std::isnan(most) ? not_a_number : std::max(most, e);
  return most;
}
double log_sum_exp(const std::vector<double>& x) {
  const double most = largest(-inf, x);
  if (std::isinf(most) || std::isnan(most)) return most;
  long double total = 0;
  for (const double e : x) total += std::exp(static_cast<long double>(e) - most);
  return most + static_cast<double>(std::log(total));
}

template <class T, class S>
constexpr void scans(tf::Graph& g) {
  auto x = test::input<T, S>(g, "x");
  for (int i = 0; i < 4; ++i) {
    tf::cummax<-1>(x, all_options[i]).named({"max", i});
    tf::cummin<0>(x, all_options[i]).named({"min", i});
    if constexpr (std::is_floating_point_v<T>) {
      tf::cumlogsumexp<-1>(x, all_options[i]).named({"log", i});
      tf::cumlogsumexp<0>(x, all_options[i]).named({"outer_log", i});
    }
  }
}

template <class T, class S>
void check_scans(const tf::HostTensor& x, double tolerance = 0) {
  INFO(tf::name_of(tf::dtype_of<T>));
  const bool floating = std::is_floating_point_v<T>;
  const double least = floating ? -inf : static_cast<double>(std::numeric_limits<T>::min());
  const double most = floating ? inf : static_cast<double>(std::numeric_limits<T>::max());
  const int last = S::rank - 1;
  test::Outcome expected;
  for (int i = 0; i < 4; ++i) {
    const std::string suffix = "_" + std::to_string(i);
    const tf::CumulativeOptions o = all_options[i];
    expected["max" + suffix] = running(x, last, o, [&](auto& e) { return largest(least, e); });
    expected["min" + suffix] = running(x, 0, o, [&](std::vector<double> e) {
      for (double& element : e) element = -element;
      return -largest(-most, e);
    });
    if (!floating) continue;
    expected["log" + suffix] = running(x, last, o, log_sum_exp);
    expected["outer_log" + suffix] = running(x, 0, o, log_sum_exp);
  }
  test::check_values<scans<T, S>>({{"x", x}}, expected, tolerance);
}
template <class T, class S>
void check_random(double low, double high, double tolerance = 0) {
  test::Random random(5);
  check_scans<T, S>(test::random_tensor(random, tf::dtype_of<T>, S::dims, low, high), tolerance);
}

using D3 = Shape<2, 4, 3>;

}  // namespace

TEST_CASE("cummax: values") {
  check_random<float, Shape<19, 37>>(-80, 80, 1e-6);
  check_random<double, Shape<2, 1, 0>>(-1, 1);
  check_random<std::int8_t, Shape<2, 40>>(-9, 9);
  // From the first NaN on.
  test::check_values<scans<double, Shape<6>>>(
      {{"x", test::tensor(DType::float64, {6}, {-1, 0, not_a_number, 1, 2, -inf})}},
      {{"max_0", test::tensor(DType::float64, {6},
                              {-1, 0, not_a_number, not_a_number, not_a_number, not_a_number})},
       {"max_2", test::tensor(DType::float64, {6},
                              {not_a_number, not_a_number, not_a_number, 2, 2, -inf})}});
}

TEST_CASE("cummin: values") {
  check_scans<double, Shape<6>>(test::tensor(DType::float64, {6}, {3, 1, 2, -4, inf, 0}), 1e-14);
}

TEST_CASE("cumlogsumexp: values") {
  // Infinities, and numbers whose exponentials overflow.
  check_scans<double, Shape<6>>(test::tensor(DType::float64, {6}, {-inf, -inf, 3, 800, -800, 799}),
                                1e-14);
  check_scans<double, Shape<6>>(test::tensor(DType::float64, {6}, {1, inf, 2, -inf, 3, 4}), 1e-14);
  check_scans<double, Shape<6>>(test::tensor(DType::float64, {6}, {0, not_a_number, 1, 2, 3, 4}),
                                1e-14);
}

TEST_CASE("cummax: gradient") {
  for (const tf::CumulativeOptions options : all_options) {
    CAPTURE(options.exclusive);
    CAPTURE(options.reverse);
    if (options.exclusive) {  // -infinity first
      test::check_gradients<D3>(
          [=](auto x) { return tf::maximum(tf::cummax<1>(x, options), -9) * x; });
    } else {
      test::check_gradients<D3>([=](auto x) { return tf::cummax<1>(x, options) * x; });
    }
  }
}

TEST_CASE("cummin: gradient") {
  test::check_gradients<D3>([](auto x) { return tf::cummin<1>(x) * x; });
}

TEST_CASE("cummax: gradients go to the first of equals") {
  tf::Graph g;
  auto x = tf::placeholder<float, 6>(g, "x");
  gradients(sum(tf::cummax<0>(x)), x).named("dx");
  tf::Interpreter interpreter(g);
  const std::vector<tf::HostTensor> got =
      interpreter.run({"dx"}, {{"x", test::floats({6}, {0, 0, -1, 2, 2, 1})}});
  CHECK(test::elements(got[0]) == std::vector<double>{3, 0, 0, 3, 0, 0});
}

TEST_CASE("cumlogsumexp: gradient") {
  for (const tf::CumulativeOptions options : all_options) {
    CAPTURE(options.exclusive);
    CAPTURE(options.reverse);
    const auto along = [=](auto x) {
      auto y = tf::cumlogsumexp<1>(x, options);
      return tf::maximum(y, -9);  // the first of an exclusive one is -infinity
    };
    test::check_gradients<D3>([=](auto x) { return along(x) * x; });
    test::check_gradients<D3>([=](auto x) {  // of the gradient
      return gradients(sum(square(along(x))), x);
    });
  }
}

namespace {
constexpr void large_numbers(tf::Graph& g) {
  auto x = tf::placeholder<float, 3, 4>(g, "x");
  auto w = tf::placeholder<float, 4>(g, "w");
  gradients(sum(w * tf::cumlogsumexp<1>(x)), x).named("dx");
}
}  // namespace

TEST_CASE(
    "cumlogsumexp: the gradients of large numbers are exact, though the results are rounded") {
  // The gradients of the same numbers less 1e8 or 10000, computed by JAX in double.
  test::check_values<large_numbers>(
      {{"x", test::floats({3, 4}, {1e8, 1e8, 1e8, 1e8,         //
                                   10000, 10001, 9999, 10002,  //
                                   10000, -1e8, 10000.5, 10000.25})},
       {"w", test::floats({4}, {1, 2, 3, 4})}},
      {{"dx", test::floats({3, 4}, {4, 3, 2, 1,                                          //
                                    2.620645531, 4.405371297, 0.398326133, 2.575657040,  //
                                    5.149722857, 0, 3.544293800, 1.305983343})}},
      2e-7);
}
