// SPDX-License-Identifier: Apache-2.0

// Reductions of losses: every denominator with weights of every shape.

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "support/check_gradients.hpp"
#include "support/check_kernels.hpp"
#include "typeflow/losses.hpp"

namespace tf = typeflow;

namespace {

constexpr int batch = 4;
constexpr int width = 3;

template <tf::Reduction R, class X, class W>
constexpr void reduce_as(const X& x, const W& w, tf::Label weights) {
  compute_weighted_loss<R>(x, w).named(weights);
}
/// All reductions, named after the weights and in the enumeration's order: row, row_1, row_2...
template <class X, class W>
constexpr void reduce(const X& x, const W& w, tf::Label weights) {
  reduce_as<tf::Reduction::unreduced>(x, w, weights);
  reduce_as<tf::Reduction::sum>(x, w, weights);
  reduce_as<tf::Reduction::mean>(x, w, weights);
  reduce_as<tf::Reduction::sum_over_batch_size>(x, w, weights);
  reduce_as<tf::Reduction::sum_over_nonzero_weights>(x, w, weights);
  reduce_as<tf::Reduction::sum_by_nonzero_weights>(x, w, weights);
}

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<double, tf::batch, width>(g, "x");
  reduce(x, tf::placeholder<double>(g, "scalar_w", 0), "scalar");
  reduce(x, tf::placeholder<double, tf::batch>(g, "row_w"), "row");
  reduce(x, tf::placeholder<double, tf::batch, 1>(g, "column_w"), "column");
  reduce(x, tf::placeholder<double, 1, width>(g, "class_w"), "class");
  reduce(x, tf::placeholder<double, tf::batch, width>(g, "full_w"), "full");
  reduce(x, 2.5, "number");
  reduce(x, 1, "one");
  reduce(x, 0, "nothing");
}

/// (batch, width) losses and one weight of each.
using Table = std::vector<double>;

double divide_or_zero(double a, double b) { return b == 0 ? 0 : a / b; }

void check(const test::Outcome& got, const std::string& name, const Table& x, const Table& w) {
  CAPTURE(name);
  double total = 0;
  double weights = 0;
  double nonzero = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    CHECK(got.at(name).value(static_cast<int>(i)) == doctest::Approx(x[i] * w[i]));
    total += x[i] * w[i];
    weights += w[i];
    nonzero += w[i] != 0 ? 1 : 0;
  }
  CHECK(got.at(name + "_1").value(0) == doctest::Approx(total));
  CHECK(got.at(name + "_2").value(0) == doctest::Approx(divide_or_zero(total, weights)));
  CHECK(got.at(name + "_3").value(0) ==
        doctest::Approx(divide_or_zero(total, static_cast<double>(x.size()))));
  CHECK(got.at(name + "_4").value(0) == doctest::Approx(divide_or_zero(total, nonzero)));
  CHECK(got.at(name + "_5").value(0) == doctest::Approx(divide_or_zero(total, nonzero)));
}

/// Weights as f(row, column).
template <class F>
Table table(int rows, const F& f) {
  Table out;
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < width; ++j) out.push_back(f(i, j));
  }
  return out;
}

/// Checks all of the model with weights per row, per class and per element.
void check_all(test::Kernels<model>& kernels, const Table& rows, const Table& classes,
               double scalar) {
  const int n = static_cast<int>(rows.size());
  const auto row = [&](int i) { return rows[static_cast<std::size_t>(i)]; };
  const auto of_class = [&](int j) { return classes[static_cast<std::size_t>(j)]; };
  const Table x = table(n, [](int i, int j) { return 0.5 * i * i - 1.25 * j + 0.3; });
  const Table full = table(n, [&](int i, int j) { return row(i) * of_class(j); });
  const test::Outcome got = kernels.run({{"x", test::doubles({n, width}, x)},
                                         {"scalar_w", test::doubles({}, {scalar})},
                                         {"row_w", test::doubles({n}, rows)},
                                         {"column_w", test::doubles({n, 1}, rows)},
                                         {"class_w", test::doubles({1, width}, classes)},
                                         {"full_w", test::doubles({n, width}, full)}});
  check(got, "scalar", x, table(n, [&](int, int) { return scalar; }));
  check(got, "row", x, table(n, [&](int i, int) { return row(i); }));
  check(got, "column", x, table(n, [&](int i, int) { return row(i); }));
  check(got, "class", x, table(n, [&](int, int j) { return of_class(j); }));
  check(got, "full", x, full);
  check(got, "number", x, table(n, [](int, int) { return 2.5; }));
  check(got, "one", x, table(n, [](int, int) { return 1; }));
  check(got, "nothing", x, table(n, [](int, int) { return 0; }));
}

/// Weights of these shapes fit losses of those.
template <class Weights, class Losses>
constexpr bool fits = tf::detail::weights_fit<float, Losses, tf::Expr<float, Weights>>;
using Rows = tf::Shape<tf::batch>;
using Steps = tf::Shape<tf::batch, 5, 3>;
static_assert(fits<tf::Shape<>, Steps> && fits<Steps, Steps> && fits<Rows, Steps>);
static_assert(fits<tf::Shape<tf::batch, 5>, Steps> && fits<tf::Shape<tf::batch, 1>, Steps>);
static_assert(fits<tf::Shape<1, 1, 3>, Steps> && fits<tf::Shape<1, 5>, Steps>);
static_assert(fits<tf::Shape<tf::batch, 1>, Rows>);
static_assert(!fits<tf::Shape<3>, Steps> && !fits<tf::Shape<5, 3>, Steps>);
static_assert(!fits<tf::Shape<tf::batch, 3>, Rows> && !fits<tf::Shape<4>, tf::Shape<3>>);
static_assert(!fits<tf::Shape<tf::batch, 3>, Steps> && fits<tf::Shape<1>, tf::Shape<>>);

}  // namespace

TEST_CASE("compute_weighted_loss: values") {
  test::Kernels<model> kernels;
  check_all(kernels, {1.2, 0, -0.5, 2}, {0.5, 0, 3}, 0.75);
  check_all(kernels, {0, 0, 0, 0}, {0, 0, 0}, 0);    // 0, where all weights are
  check_all(kernels, {1, -1, 2, -2}, {1, 1, 1}, 1);  // weights of sum 0
  check_all(kernels, {}, {1, 2, 3}, 2);              // a batch of nothing
}

TEST_CASE("compute_weighted_loss: gradient") {
  using S = tf::Shape<3, 4>;
  test::check_gradients<S, tf::Shape<3>>(
      [](auto x, auto w) { return compute_weighted_loss<tf::Reduction::mean>(x, w); });
  test::check_gradients<S, S>(
      [](auto x, auto w) { return compute_weighted_loss<tf::Reduction::unreduced>(x, w); });
  test::check_gradients<S, tf::Shape<>>([](auto x, auto w) { return compute_weighted_loss(x, w); });

  tf::Graph g;
  auto x = tf::placeholder<double, 2, 2>(g, "x");
  auto w = tf::placeholder<double, 2>(g, "w");
  gradients(compute_weighted_loss(x, w), x).named("dx");
  gradients(compute_weighted_loss<tf::Reduction::mean>(x, w), x).named("dx_mean");
  const tf::HostTensors feeds = {{"x", test::doubles({2, 2}, {1, 2, 3, 4})},
                                 {"w", test::doubles({2}, {0, 0})}};
  for (const tf::HostTensor& dx : tf::Interpreter(g).run({"dx", "dx_mean"}, feeds)) {
    CHECK(test::elements(dx) == std::vector<double>(4, 0.));
  }
}

TEST_CASE("losses of 16 bits are summed in float") {
  tf::Graph g;
  auto x = tf::placeholder<tf::float16, 4096>(g, "x");
  mean_squared_error(x, 0).named("loss");
  const tf::HostTensors feeds = {
      {"x", test::tensor(tf::DType::float16, {4096}, std::vector<double>(4096, 100))}};
  CHECK(tf::Interpreter(g).run({"loss"}, feeds)[0].value(0) == 10000);
}
