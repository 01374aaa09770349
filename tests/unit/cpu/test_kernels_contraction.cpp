// SPDX-License-Identifier: Apache-2.0

// Matrix products and transpositions against the interpreter: transposes, tails, epilogues.

#include "support/check_kernels.hpp"
#include "typeflow/lower/cost.hpp"

namespace {

namespace tf = typeflow;

constexpr void products(tf::Graph& g) {
  auto a = tf::placeholder<float, tf::batch, 23>(g, "a");
  auto at = tf::placeholder<float, 23, tf::batch>(g, "at");
  auto b = tf::placeholder<float, 23, 50>(g, "b");
  auto bt = tf::placeholder<float, 50, 23>(g, "bt");
  matmul(a, b).named("nn");
  tf::matmul<tf::transpose_a>(at, b).named("tn");
  tf::matmul<tf::transpose_b>(a, bt).named("nt");
  tf::matmul<tf::transpose_both>(at, bt).named("tt");
}

template <int Columns>
constexpr void widths(tf::Graph& g) {
  auto a = tf::placeholder<float, tf::batch, 9>(g, "a");
  auto b = tf::placeholder<float, 9, Columns>(g, "b");
  auto bias = tf::placeholder<float, Columns>(g, "bias");
  auto rest = tf::placeholder<float, tf::batch, Columns>(g, "rest");
  auto scale = tf::placeholder<float, tf::batch, 1>(g, "scale");
  relu(rest + scale * (matmul(a, b) + bias)).named("y");
}

/// Sums that wait in memory, and a transposed factor large enough to be copied.
constexpr void deep(tf::Graph& g) {
  auto a = tf::placeholder<float, tf::batch, 2100>(g, "a");
  auto at = tf::placeholder<float, 2100, tf::batch>(g, "at");
  auto b = tf::placeholder<float, 2100, 67>(g, "b");
  auto bt = tf::placeholder<float, 34, 2100>(g, "bt");
  auto ct = tf::placeholder<double, 2100, tf::batch>(g, "ct");
  auto d = tf::placeholder<double, 21, 2100>(g, "d");
  matmul(a, b).named("nn");
  tf::matmul<tf::transpose_a>(at, b).named("tn");
  relu(tf::matmul<tf::transpose_a>(at, b) * 2 + 1).named("tn_epilogue");
  tf::matmul<tf::transpose_b>(a, bt).named("nt");
  tf::matmul<tf::transpose_both>(ct, d).named("tt");
}

constexpr void doubles(tf::Graph& g) {
  auto a = tf::placeholder<double, tf::batch, 31>(g, "a");
  auto b = tf::placeholder<double, 31, 21>(g, "b");
  tanh(matmul(a, b)).named("y");
  greater(tf::matmul<tf::transpose_a>(a, a), 0).named("gram");
}

template <tf::Extent... D>
constexpr auto index(tf::Graph& g, int axis) {
  return tf::Expr<std::int32_t, tf::Shape<D...>>(
      g, tf::index_along(g, tf::Shape<D...>::dims, axis).id);
}

/// Matrices in front of which there are axes: those that an epilogue's operands run along, or a or
/// b alone; an epilogue that ends in the rows of one big product, and one that does not.
constexpr void batched(tf::Graph& g) {
  auto a = tf::placeholder<float, tf::batch, 3, 5, 9>(g, "a");
  auto at = tf::placeholder<float, tf::batch, 3, 9, 5>(g, "at");
  auto b = tf::placeholder<float, tf::batch, 3, 9, 20>(g, "b");
  auto bt = tf::placeholder<float, tf::batch, 3, 20, 9>(g, "bt");
  auto heads = tf::placeholder<float, 3, 9, 20>(g, "heads");
  auto one = tf::placeholder<float, 9, 20>(g, "one");
  auto two = tf::placeholder<float, 9, 20>(g, "two");
  auto left = tf::placeholder<float, 5, 9>(g, "left");
  auto bias = tf::placeholder<float, 20>(g, "bias");
  auto head_bias = tf::placeholder<float, 3, 1, 20>(g, "head_bias");
  auto mask = tf::placeholder<float, tf::batch, 1, 1, 20>(g, "mask");
  auto row = tf::placeholder<float, 5, 1>(g, "row");
  auto rest = tf::placeholder<float, tf::batch, 3, 5, 20>(g, "rest");
  auto ints = tf::placeholder<std::int32_t, tf::batch, 3, 5, 20>(g, "ints");
  auto head = index<3, 1, 1>(g, 0);
  auto line = index<5, 1>(g, 0);
  auto column = index<5, 20>(g, 1);
  ((matmul(a, b) + head_bias) * mask).named("nn");
  relu(tf::matmul<tf::transpose_a>(at, b) + row).named("tn");
  where(less(head, ints), tanh(tf::matmul<tf::transpose_b>(a, bt)) + rest, 0).named("nt");
  where(logical_and(less(line, ints), less(column, ints)),
        tf::matmul<tf::transpose_both>(at, bt) - bias, 1)
      .named("tt");
  relu(matmul(a, heads) + head_bias).named("heads");
  (rest + relu(matmul(a, one) + bias)).named("rows");
  (relu(matmul(a, two) + row)).named("no_rows");
  (relu(matmul(left, b)) * mask).named("left");
}

/// One row or one column, or no rows of a's own; axes of extent 1.
constexpr void thin(tf::Graph& g) {
  auto q = tf::placeholder<double, tf::batch, 4, 1, 7>(g, "q");
  auto k = tf::placeholder<double, tf::batch, 1, 11, 7>(g, "k");
  auto w = tf::placeholder<double, 7, 6>(g, "w");
  auto v = tf::placeholder<double, 4, 7, 1>(g, "v");
  auto bias = tf::placeholder<double, 4, 1, 1>(g, "bias");
  exp(tf::matmul<tf::transpose_b>(q, k) + bias).named("qk");
  tanh(matmul(q, w) + bias).named("qw");
  (matmul(k, v) + bias).named("kv");
  (matmul(q, v) * bias).named("qv");
}

/// Results of one column, whose epilogues take several rows at once: operands along rows, columns,
/// both, none, and the axes in front; positions; other element types; a part of a larger tensor.
constexpr void columns(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 9>(g, "x");
  auto xt = tf::placeholder<float, 9, tf::batch>(g, "xt");
  auto w = tf::placeholder<float, 9, 1>(g, "w");
  auto bias = tf::placeholder<float, 1>(g, "bias");
  auto rest = tf::placeholder<float, tf::batch, 1>(g, "rest");
  auto scalar = tf::placeholder<float>(g, "scalar");
  auto ints = tf::placeholder<std::int32_t, tf::batch, 1>(g, "ints");
  auto stack = tf::placeholder<double, tf::batch, 37, 5>(g, "stack");
  auto each = tf::placeholder<double, tf::batch, 5, 1>(g, "each");
  auto lines = tf::placeholder<double, 37, 1>(g, "lines");
  auto front = tf::placeholder<double, tf::batch, 1, 1>(g, "front");
  auto all = tf::placeholder<double, tf::batch, 37, 1>(g, "all");
  sigmoid(matmul(x, w) + bias).named("nn");
  (rest * tf::matmul<tf::transpose_a>(xt, w) - scalar).named("tn");
  where(less(index<tf::batch, 1>(g, 0), ints), matmul(x, w), bias).named("positions");
  greater(matmul(x, w) + rest, 0).named("mask");
  tf::concat<1>(relu(matmul(x, w) + bias), x).named("part");
  ((matmul(stack, each) + lines) * front - all).named("stack");
  dropout(matmul(x, w) + rest, {.keep = 0.5}).named("dropout");
}

/// More matrices than are copied at once.
constexpr void many(tf::Graph& g) {
  auto a = tf::placeholder<float, tf::batch, 3, 200>(g, "a");
  auto b = tf::placeholder<float, tf::batch, 90, 200>(g, "b");
  (tf::matmul<tf::transpose_b>(a, b) + 1.0f).named("y");
}

/// Products that are of matrices, whatever stands in front of the rows of a.
constexpr void of_matrices(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 4, 12>(g, "x");
  auto w = tf::placeholder<float, 12, 33>(g, "w");
  auto bias = tf::placeholder<float, 33>(g, "bias");
  auto y = matmul(x, w) + bias;
  relu(y).named("y");
  gradients(sum(y * y), w).named("dw");
}

constexpr void batched_training(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 6, 12>(g, "x");
  auto w = tf::variable<float, 12, 33>(g, "w", tf::truncated_normal(0, 0.1));
  auto u = tf::variable<float, 6, 6>(g, "u", tf::truncated_normal(0, 0.1));
  auto h = relu(matmul(matmul(u, x), w) + 0.1f);
  auto loss = mean(square(tf::matmul<tf::transpose_b>(h, h) - 1)).named("loss");
  tf::GradientDescent{.rate = 0.05f}.minimize(loss).named("train");
}

constexpr void training(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 12>(g, "x");
  auto h = tf::dense<33>(g, "first", x);
  auto y = tf::dense<3>(g, "second", relu(h));
  auto loss = mean(square(y - 1)).named("loss");
  tf::GradientDescent{.rate = 0.05f}.minimize(loss).named("train");
}

constexpr void transposes(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 35>(g, "x");
  auto y = tf::placeholder<std::int64_t, 3, 18, 5, 2>(g, "y");
  auto t = tf::placeholder<bool, 4, 17, 3>(g, "t");
  tf::transpose(x).named("x");
  tf::transpose<0, 2, 1, 3>(y).named("y0213");
  tf::transpose<3, 1, 0, 2>(y).named("y3102");
  tf::transpose<2, 3, 0, 1>(y).named("y2301");
  tf::transpose<1, 0, 2>(t).named("t102");
  tf::transpose<2, 1, 0>(t).named("t210");
}

}  // namespace

TEST_CASE("matrix products agree with the interpreter") {
  for (const std::int64_t batch : {0, 1, 5, 8, 13, 100}) {
    test::check_against_interpreter<products>(batch, 1e-6);
    test::check_against_interpreter<widths<1>>(batch, 1e-6);
    test::check_against_interpreter<widths<10>>(batch, 1e-6);
    test::check_against_interpreter<widths<16>>(batch, 1e-6);
    test::check_against_interpreter<widths<48>>(batch, 1e-6);
    test::check_against_interpreter<widths<67>>(batch, 1e-6);
    test::check_against_interpreter<doubles>(batch, 1e-12);
    test::check_against_interpreter<transposes>(batch, 0);
  }
  for (const std::int64_t batch : {0, 1, 2, 9}) {
    test::check_against_interpreter<batched>(batch, 1e-6);
    test::check_against_interpreter<batched>(batch, 1e-6, 2);
    test::check_against_interpreter<thin>(batch, 1e-12);
    test::check_against_interpreter<thin>(batch, 1e-12, 2);
  }
  for (const std::int64_t batch : {0, 1, 7, 8, 15, 16, 17, 64, 130}) {
    test::check_against_interpreter<columns>(batch, 1e-6);
    test::check_against_interpreter<columns>(batch, 1e-6, 2);
  }
  for (const std::int64_t batch : {3, 66, 130}) {
    test::check_against_interpreter<deep>(batch, 1e-5);
    test::check_against_interpreter<deep>(batch, 1e-5, 2);
  }
  test::check_against_interpreter<many>(40, 1e-6, 2);
  for (const std::int64_t batch : {1, 5, 64}) {
    test::check_against_interpreter<batched_training>(batch, 1e-6);
    test::check_against_interpreter<training>(batch, 1e-6);
  }
}

TEST_CASE("a product of many matrices and one is a product of two, as is the gradient of the one") {
  constexpr const tf::ir::ProgramView& view = tf::ir::Lowering<of_matrices>::view;
  int products = 0;
  for (const tf::ir::Step& step : view.steps) {
    if (view.kernels[step.kernel].kind != tf::ir::KernelKind::contraction) continue;
    ++products;
    CHECK(step.extents.count == 3);  // rows, columns, depth
  }
  CHECK(products == 2);
  constexpr const tf::ir::ProgramView& each = tf::ir::Lowering<many>::view;
  REQUIRE(each.steps.size == 1);
  CHECK(tf::ir::cost_of(each, each.steps[0], 40).flops == 40 * 3 * 90 * (2 * 200 + 1));
  CHECK(tf::ir::Lowering<batched>::view.steps.size == 8);  // what follows is done on the tile
  test::check_against_interpreter<of_matrices>(7, 1e-6);
}

TEST_CASE("matrix products have equal bits, fused or not, for any number of threads") {
  for (const std::int64_t batch : {1, 3, 700}) {
    test::check_bits<products>(batch);
    test::check_bits<widths<67>>(batch);
    test::check_bits<training>(batch);
  }
  test::check_bits<deep>(130);
  for (const std::int64_t batch : {1, 3, 40}) {
    test::check_bits<batched>(batch);
    test::check_bits<thin>(batch);
    test::check_bits<many>(batch);
    test::check_bits<columns>(batch);
    test::check_bits<batched_training>(batch);
  }
}
