// SPDX-License-Identifier: Apache-2.0

// Means, variances and lengths of vectors, against plain loops.

#include <algorithm>
#include <cmath>
#include <complex>

#include "support/check_reductions.hpp"

namespace {

namespace tf = typeflow;
using namespace test;  // references: sum_of, prod_of...
using tf::DType;
using tf::Shape;

template <class T, class S>
constexpr void inexact(tf::Graph& g) {
  auto x = test::input<T, S>(g, "x");
  TYPEFLOW_TEST_REDUCE(mean)
  TYPEFLOW_TEST_REDUCE(logsumexp)
  TYPEFLOW_TEST_REDUCE(norm)
  auto [mean, variance] = tf::moments<0>(x);
  auto [kept_mean, kept_variance] = tf::moments<-1>(x, tf::keep_dims);
  (mean * 2).named({"twice", 1});  // the mean itself stays inside the kernel
  variance.named({"variance", 1});
  (kept_mean * 2).named({"twice", 2});
  kept_variance.named({"variance", 2});
  tf::moments(x).variance.named({"variance", 0});
  l2_loss(x).named("l2_loss");
  tf::l2_normalize<-1>(x).named("l2_normalize");
  tf::l2_normalize(x, 1e4).named("short");
}
template <class T, class S>
void check_inexact(double tolerance) {
  const tf::HostTensor x = tensor_with_ties(tf::dtype_of<T>, S::dims);
  const DType type = x.dtype;
  test::Outcome out;
  expect(out, "mean", x, type, mean_of);
  expect(out, "logsumexp", x, type, logsumexp_of);
  expect(out, "norm", x, type, norm_of);
  expect(out, "twice", x, type, [](const Elements& e) { return 2 * mean_of(e); }, 1, 2);
  expect(out, "variance", x, type, variance_of, 0, 2);
  const Elements all = test::elements(x);
  out["l2_loss"] = test::tensor(type, {}, {squares_of(all) / 2});
  const tf::HostTensor squares = folded(x, 1u << (S::rank - 1), true, DType::float64, squares_of);
  out["l2_normalize"] =
      test::zip(x, squares, [](double e, double s) { return e / std::sqrt(std::max(s, 1e-12)); });
  const double length = std::sqrt(std::max(squares_of(all), 1e4));
  out["short"] = test::map(x, [=](double e) { return e / length; });
  test::check_values<inexact<T, S>>({{"x", x}}, out, tolerance);
}

template <class T>
constexpr void complex_norms(tf::Graph& g) {
  auto z = tf::placeholder<std::complex<T>, 2, 2>(g, "z");
  auto all = norm(z).named("all");
  auto rows = tf::norm<1>(z, tf::keep_dims).named("rows");
  global_norm(z, tf::slice<0>(z)).named("global");
  static_assert(std::is_same_v<typename decltype(all)::element, T>);
  static_assert(std::is_same_v<typename decltype(rows)::shape, Shape<2, 1>>);
}
template <class T>
void check_complex_norms(DType type, DType real, double tolerance) {
  tf::HostTensor z = tf::host_tensor(type, test::dims({2, 2}));
  z[0] = {1, 0, -2};
  z[1] = {2, 0, 0};  // 3
  z[2] = {0, 0, 3};
  z[3] = {-4, 0, 0};  // 5
  test::check_values<complex_norms<T>>({{"z", z}},
                                       {{"all", test::tensor(real, {}, {std::sqrt(34.0)})},
                                        {"rows", test::tensor(real, {2, 1}, {3, 5})},
                                        {"global", test::tensor(real, {}, {std::sqrt(43.0)})}},
                                       tolerance);
}

}  // namespace

// Every model has all of them; these are the shapes.
TEST_CASE("mean: values") {
  check_inexact<float, Shape<1>>(1e-6);
  check_inexact<float, Shape<131>>(1e-6);
  check_inexact<float, Shape<5, 1, 3>>(1e-6);
  check_inexact<float, Shape<2, 3, 37>>(1e-6);
}
TEST_CASE("moments: values") { check_inexact<double, Shape<40, 37>>(1e-13); }
TEST_CASE("norm: values") { check_inexact<float, Shape<300, 6>>(2e-6); }
TEST_CASE("norms of complex numbers are real") {
  check_complex_norms<float>(DType::complex64, DType::float32, 1e-6);
  check_complex_norms<double>(DType::complex128, DType::float64, 1e-15);
}
TEST_CASE("l2_loss: values") { check_inexact<float, Shape<6, 300>>(2e-6); }
TEST_CASE("l2_normalize: values") {
  // What is shorter than sqrt(epsilon) is divided by that; zeros stay.
  tf::Graph g;
  auto x = tf::placeholder<double, 2, 2>(g, "x");
  tf::l2_normalize<1>(x, 4).named("y");
  test::check_interpreter(g, {{"x", test::doubles({2, 2}, {3, 4, 1, 0})}},
                          {{"y", test::doubles({2, 2}, {0.6, 0.8, 0.5, 0})}}, 1e-15);
}

TEST_CASE("global_norm: values") {
  tf::Graph g;
  auto a = tf::placeholder<double, 2, 2>(g, "a");
  auto b = tf::placeholder<double>(g, "b");
  global_norm(a).named("one");
  global_norm(a, b, b).named("three");
  test::check_interpreter(
      g, {{"a", test::doubles({2, 2}, {1, -2, 2, 0})}, {"b", test::doubles({}, {6})}},
      {{"one", test::doubles({}, {3})}, {"three", test::doubles({}, {9})}}, 1e-15);
}
