// SPDX-License-Identifier: Apache-2.0

// Elementwise kernels against the interpreter: every operation, element type and broadcast.

#include "support/check_kernels.hpp"

namespace {

namespace tf = typeflow;

constexpr void arithmetic(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 19>(g, "x");
  auto row = tf::placeholder<float, 19>(g, "row");
  auto column = tf::placeholder<float, tf::batch, 1>(g, "column");
  auto scalar = tf::placeholder<float>(g, "scalar");
  (x + row).named("add");
  (x - column).named("sub");
  (x * scalar).named("mul");
  (row / (column + 3)).named("div");
  (-x).named("neg");
  (x * row + column).named("fma");
  (x * row - column).named("fms");
  (column - x * row).named("fnma");
  (2 * x + 1).named("literals");
}

constexpr void functions(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 5, 3>(g, "x");
  auto positive = square(x) + 0.25f;
  exp(x).named("exp");
  log(positive).named("log");
  sqrt(positive).named("sqrt");
  abs(x).named("abs");
  relu(x).named("relu");
  sigmoid(x).named("sigmoid");
  tanh(x).named("tanh");
  softplus(x).named("softplus");
  maximum(x, positive).named("maximum");
  minimum(x, 0.5f).named("minimum");
  where(greater(x, 0), exp(-x), x).named("where");
  tf::cast<float>(tf::logical_and(less(x, 1), greater_equal(x, -1))).named("inside");
}

constexpr void doubles(tf::Graph& g) {
  auto x = tf::placeholder<double, tf::batch, 7>(g, "x");
  auto y = tf::placeholder<float, 7>(g, "y");
  (exp(x) * tf::cast<double>(y)).named("product");
  (tf::cast<float>(x) + tanh(y)).named("narrow");
  where(less(x, 0), tanh(x), log(square(x) + 1)).named("where");
  tf::cast<std::int64_t>(x * 10).named("integer");
}

constexpr void integers(tf::Graph& g) {
  auto a = tf::placeholder<std::int32_t, tf::batch, 9>(g, "a");
  auto b = tf::placeholder<std::int32_t, 9>(g, "b");
  auto c = tf::placeholder<std::int64_t, 9>(g, "c");
  auto u = tf::placeholder<std::uint8_t, tf::batch, 9>(g, "u");
  auto t = tf::placeholder<bool, 9>(g, "t");
  (a * b - 3).named("a");
  (a / (b + 1)).named("quotient");
  (-a).named("negative");
  maximum(a, b).named("maximum");
  (c * c + 5).named("c");
  (u + u).named("u");
  where(t, a, b).named("where");
  tf::cast<float>(a).named("float");
  tf::cast<std::uint8_t>(a * 100).named("wrapped");
  tf::cast<bool>(b).named("bool");
  tf::logical_or(t, equal(a, b)).named("or");
  tf::logical_not(t).named("not");
  equal(t, less(a, b)).named("same");
  tf::cast<std::int64_t>(u).named("long");
}

constexpr void broadcasts(tf::Graph& g) {
  auto a = tf::placeholder<float, 4, 1, 6, 1>(g, "a");
  auto b = tf::placeholder<float, 3, 1, 5>(g, "b");
  auto c = tf::placeholder<float, 4, 3, 6, 5>(g, "c");
  (a + b).named("outer");
  (c * a + b).named("all");
  (tf::reshape<12, 30>(c) + tf::reshape<12, 1>(tf::reshape<4, 3>(mean<2, 3>(c)))).named("views");
}

constexpr void random_numbers(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 21>(g, "x");
  auto u = tf::random_uniform<float, tf::batch, 21>(g, "u");
  u.named("uniform");
  (x + u * 2).named("noisy");
  tf::random_uniform<double, 33>(g, "d", -1, 1).named("wide");
  dropout(x, {.keep = 0.6f}).named("dropped");
}

}  // namespace

TEST_CASE("elementwise kernels agree with the interpreter") {
  for (const std::int64_t batch : {0, 1, 3, 16, 257}) {
    test::check_against_interpreter<arithmetic>(batch);
    test::check_against_interpreter<functions>(batch, 1e-6);
    test::check_against_interpreter<doubles>(batch, 4e-7);
    test::check_against_interpreter<integers>(batch, 0);
    test::check_against_interpreter<random_numbers>(batch);
  }
  test::check_against_interpreter<broadcasts>(1);
}

TEST_CASE("elementwise kernels have equal bits, fused or not, for any number of threads") {
  for (const std::int64_t batch : {1, 1003}) {
    test::check_bits<arithmetic>(batch);
    test::check_bits<functions>(batch);
    test::check_bits<doubles>(batch);
    test::check_bits<random_numbers>(batch);
  }
}
