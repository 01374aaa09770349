// SPDX-License-Identifier: Apache-2.0

// Kernels of tensors without elements, and folds and products over nothing, against the
// interpreter.

#include "support/check_kernels.hpp"

namespace {

namespace tf = typeflow;

/// The folded axis is inside, between and outside of others; there are few and many columns.
template <tf::Extent C>
constexpr void folds(tf::Graph& g) {
  const auto reduce = [](auto x, auto axis, auto beside, tf::Label total, tf::Label largest,
                         tf::Label centred, tf::Label soft) {
    (sum<axis()>(x * 2) + beside).named(total);
    (max<axis()>(x + 1) * beside).named(largest);
    (x - sum<axis()>(x, tf::keep_dims)).named(centred);
    (softmax<axis()>(x) * 2).named(soft);
  };
  const auto axis = []<int A>(std::integral_constant<int, A> a) { return a; };
  auto inside = tf::placeholder<float, 3, C, tf::batch>(g, "inside");
  auto between = tf::placeholder<float, 3, tf::batch, C>(g, "between");
  auto outside = tf::placeholder<float, tf::batch, 3, C>(g, "outside");
  reduce(inside, axis(std::integral_constant<int, 2>{}), tf::placeholder<float, 3, C>(g, "by"),
         "sum2", "max2", "centred2", "soft2");
  reduce(between, axis(std::integral_constant<int, 1>{}), tf::placeholder<float, 3, 1>(g, "row"),
         "sum1", "max1", "centred1", "soft1");
  reduce(outside, axis(std::integral_constant<int, 0>{}), tf::placeholder<float, C>(g, "column"),
         "sum0", "max0", "centred0", "soft0");
  sum<0, 1>(outside).named("sum01");
  sum<0, 2>(between).named("sum02");
  sum<1, 2>(inside).named("sum12");
  sum(between * between).named("total");
}

constexpr void movement(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 5, 7>(g, "x");
  auto y = tf::placeholder<float, 5, tf::batch, 7>(g, "y");
  tf::transpose<1, 0, 2>(x).named("outer");
  tf::transpose<0, 2, 1>(x).named("inner");
  tf::transpose<2, 1, 0>(x).named("all");
  tf::concat<2>(x, x * 2).named("beside");
  tf::concat<1>(y, y * 3).named("below");
  tf::pad<1, 2, 0, 0, 0, 3>(y).named("pad");
  tf::reverse<1>(y).named("reverse");
  tf::cumsum<1>(y).named("cumsum");
  tf::cumsum<2>(x).named("cumsum_inside");
  tf::sort(x).named("sort");
  tf::argsort(tf::transpose<0, 2, 1>(y)).named("argsort");
  tf::broadcast_to<4, 5, tf::batch, 7>(y).named("broadcast");
}

constexpr void products(tf::Graph& g) {
  auto a = tf::placeholder<float, tf::batch, 33>(g, "a");
  auto b = tf::placeholder<float, 33, 40>(g, "b");
  auto c = tf::placeholder<float, 33, tf::batch>(g, "c");
  auto v = tf::placeholder<float, 33, 1>(g, "v");
  relu(matmul(a, b) + 1).named("rows");
  matmul(a, v).named("vector");
  (matmul(c, a) + 1).named("depth");
  tf::matmul<tf::transpose_a>(b, c).named("columns");
  matmul(tf::placeholder<float, tf::batch, 4, 4>(g, "s"), tf::placeholder<float, 4, 4>(g, "t"))
      .named("small");
  matmul(tf::placeholder<float, 2, 4, tf::batch>(g, "l"),
         tf::placeholder<float, 2, tf::batch, 4>(g, "r"))
      .named("small_depth");
  (matmul(tf::placeholder<tf::bfloat16, 40, tf::batch>(g, "h"),
          tf::placeholder<tf::bfloat16, tf::batch, 40>(g, "i")))
      .named("halves");
}

constexpr void images(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 6, 7, 3>(g, "x");
  auto w = tf::variable<float, 3, 3, 3, 5>(g, "w", tf::ones());
  auto y = conv2d(x, w);
  y.named("conv");
  tf::max_pool<2, 2>(y).named("max");
  tf::avg_pool<2, 2>(y).named("avg");
  auto [dx, dw] = tf::gradients(sum(tf::max_pool<2, 2>(square(y))), x, w);
  dx.named("dx");
  dw.named("dw");
}

}  // namespace

TEST_CASE("folds of tensors without elements, and over nothing, agree with the interpreter") {
  for (const std::int64_t batch : {0, 1}) {
    test::check_against_interpreter<folds<2>>(batch, 1e-5);
    test::check_against_interpreter<folds<40>>(batch, 1e-5);
    test::check_against_interpreter<folds<64>>(batch, 1e-5);
  }
}

TEST_CASE("tensors without elements are moved, multiplied and convolved as the interpreter does") {
  for (const std::int64_t batch : {0, 1}) {
    test::check_against_interpreter<movement>(batch, 1e-5);
    test::check_against_interpreter<products>(batch, 1e-5);
    test::check_against_interpreter<images>(batch, 1e-4);
  }
}
