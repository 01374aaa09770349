// SPDX-License-Identifier: Apache-2.0

// Matrix products on GPUs, against the processor's: transposes, tails, batches, epilogues.

#include "support/check_cuda.hpp"

#include <typeflow/cuda/mixed_matmul.hpp>
#include <typeflow/mixed_matmul.hpp>

namespace {

namespace tf = typeflow;

template <class T, int Depth, int Columns>
constexpr void products(tf::Graph& g) {
  auto a = tf::placeholder<T, tf::batch, Depth>(g, "a");
  auto at = tf::placeholder<T, Depth, tf::batch>(g, "at");
  auto b = tf::placeholder<T, Depth, Columns>(g, "b");
  auto bt = tf::placeholder<T, Columns, Depth>(g, "bt");
  matmul(a, b).named("nn");
  tf::matmul<tf::transpose_a>(at, b).named("tn");
  tf::matmul<tf::transpose_b>(a, bt).named("nt");
  tf::matmul<tf::transpose_both>(at, bt).named("tt");
}

template <tf::Extent... D>
constexpr auto index(tf::Graph& g, int axis) {
  return tf::Expr<std::int32_t, tf::Shape<D...>>(
      g, tf::index_along(g, tf::Shape<D...>::dims, axis).id);
}

/// Operands along rows, columns, both and neither; 16-bit results and operands; two results of one
/// product.
constexpr void epilogues(tf::Graph& g) {
  auto a = tf::placeholder<float, tf::batch, 9>(g, "a");
  auto b = tf::placeholder<float, 9, 70>(g, "b");
  auto c = tf::placeholder<float, 9, 70>(g, "c");
  auto bias = tf::placeholder<float, 70>(g, "bias");
  auto rest = tf::placeholder<float, tf::batch, 70>(g, "rest");
  auto scale = tf::placeholder<float, tf::batch, 1>(g, "scale");
  auto factor = tf::placeholder<float>(g, "factor");
  auto half_a = tf::placeholder<tf::float16, tf::batch, 9>(g, "half_a");
  auto half_b = tf::placeholder<tf::float16, 9, 70>(g, "half_b");
  auto row = index<tf::batch, 1>(g, 0);
  auto column = index<70>(g, 0);
  relu(rest + factor * scale * (matmul(a, b) + bias)).named("y");
  auto sum = (matmul(a, c) + bias).named("sum");
  tanh(sum).named("tanh");
  where(less(row, column), matmul(a, b * 2.0f), 0).named("upper");
  tf::matmul<float>(half_a, half_b).named("half");
  cast<tf::bfloat16>(matmul(a, b + c) * 0.5f).named("bfloat16");
  greater(matmul(a, b - c), 0).named("truth");
}

constexpr void dropped_out(tf::Graph& g) {
  auto a = tf::placeholder<double, tf::batch, 5>(g, "a");
  auto b = tf::placeholder<double, 5, 33>(g, "b");
  tf::dropout(relu(matmul(a, b)), {.keep = 0.75}).named("y");
}

/// Axes in front of the matrices: those along which both operands run, or one alone.
constexpr void batched(tf::Graph& g) {
  auto a = tf::placeholder<float, tf::batch, 3, 5, 9>(g, "a");
  auto at = tf::placeholder<float, tf::batch, 3, 9, 5>(g, "at");
  auto b = tf::placeholder<float, tf::batch, 3, 9, 20>(g, "b");
  auto bt = tf::placeholder<float, tf::batch, 3, 20, 9>(g, "bt");
  auto heads = tf::placeholder<float, 3, 9, 20>(g, "heads");
  auto one = tf::placeholder<float, 9, 20>(g, "one");
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
  (relu(matmul(left, b)) * mask).named("left");
}

/// One row or one column; axes of extent 1 in front.
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

/// So few elements with such a long depth that several blocks share a tile.
constexpr void deep(tf::Graph& g) {
  auto a = tf::placeholder<float, tf::batch, 2100>(g, "a");
  auto at = tf::placeholder<float, 2100, tf::batch>(g, "at");
  auto b = tf::placeholder<float, 2100, 67>(g, "b");
  auto bt = tf::placeholder<float, 34, 2100>(g, "bt");
  auto ct = tf::placeholder<double, 2101, tf::batch>(g, "ct");
  auto d = tf::placeholder<double, 21, 2101>(g, "d");
  auto e = tf::placeholder<float, tf::batch, 3, 300>(g, "e");
  auto f = tf::placeholder<float, tf::batch, 5, 300>(g, "f");
  auto bias = tf::placeholder<float, 67>(g, "bias");
  auto scale = tf::placeholder<float, tf::batch, 1, 1>(g, "scale");
  matmul(a, b).named("nn");
  relu(tf::matmul<tf::transpose_a>(at, b) * 2 + bias).named("tn");
  tf::matmul<tf::transpose_b>(a, bt).named("nt");
  tf::matmul<tf::transpose_both>(ct, d).named("tt");
  (tf::matmul<tf::transpose_b>(e, f) * scale).named("batched");
}

/// As many tiles of 128 x 128 as a GPU has multiprocessors.
template <int Rows, int Columns, int Depth>
constexpr void big(tf::Graph& g) {
  auto a = tf::placeholder<float, tf::batch, Rows, Depth>(g, "a");
  auto at = tf::placeholder<float, tf::batch, Depth, Rows>(g, "at");
  auto b = tf::placeholder<float, tf::batch, Depth, Columns>(g, "b");
  auto bt = tf::placeholder<float, Columns, Depth>(g, "bt");
  auto bias = tf::placeholder<float, Columns>(g, "bias");
  tanh(matmul(a, b) + bias).named("nn");
  tf::matmul<tf::transpose_both>(at, bt).named("tt");
}

constexpr void training(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 6, 12>(g, "x");
  auto w = tf::variable<float, 12, 33>(g, "w", tf::truncated_normal(0, 0.1));
  auto u = tf::variable<float, 6, 6>(g, "u", tf::truncated_normal(0, 0.1));
  auto h = relu(matmul(matmul(u, x), w) + 0.1f);
  auto loss = mean(square(tf::matmul<tf::transpose_b>(h, h) - 1)).named("loss");
  tf::GradientDescent{.rate = 0.05f}.minimize(loss).named("train");
}

}  // namespace

TEST_CASE("products on a GPU are the processor's for any transposes and extents") {
  for (const std::int64_t batch : {0, 1, 4, 65}) {
    test::check_cuda<products<float, 23, 50>>(batch);
    test::check_cuda<products<double, 17, 67>>(batch, 1e-14);
  }
  test::check_cuda<products<float, 0, 5>>(3);
  test::check_cuda<products<float, 1, 1>>(2);
  test::check_cuda<products<float, 32, 64>>(64);
}

TEST_CASE("operations follow a product in its kernel on a GPU") {
  for (const std::int64_t batch : {0, 1, 3, 66}) test::check_cuda<epilogues>(batch, 1e-5);
}

TEST_CASE("dropout after a product on a GPU has the processor's random numbers") {
  for (const std::int64_t batch : {1, 70}) test::check_cuda<dropped_out>(batch, 1e-14);
}

TEST_CASE("products of many matrices on a GPU repeat operands in place") {
  for (const std::int64_t batch : {0, 1, 2, 5}) {
    test::check_cuda<batched>(batch, 1e-5);
    test::check_cuda<thin>(batch, 1e-12);
  }
}

TEST_CASE("blocks on a GPU share a product with a long depth, and add up parts in order") {
  for (const std::int64_t batch : {0, 3}) test::check_cuda<deep>(batch, 1e-5);
}

/// So long that several threads share an element when its parts are added up.
constexpr void deeper(tf::Graph& g) {
  auto a = tf::placeholder<float, tf::batch, 12001>(g, "a");
  auto b = tf::placeholder<float, 12001, 5>(g, "b");
  auto bias = tf::placeholder<float, 5>(g, "bias");
  relu(matmul(a, b) + bias).named("y");
}

using tf::cuda_kernels::TileChoice;
template <class T>
constexpr tf::cuda_kernels::ProductPlan plan(std::int64_t rows, std::int64_t columns,
                                             std::int64_t depth, std::int64_t matrices = 1) {
  using Tiles = tf::cuda_kernels::ProductTiles<T>;
  return tf::cuda_kernels::ProductPlan::of<Tiles>({rows, columns, depth, 1}, matrices);
}

TEST_CASE("threads share an element of many parts") {
  static_assert(plan<float>(3, 5, 12001).parts >= 16);
  for (const std::int64_t batch : {3, 33}) test::check_cuda<deeper>(batch, 1e-4);
}

TEST_CASE("results of few tiles are divided along the depth if that takes less time") {
  CHECK(plan<float>(100, 300, 100).parts == 1);   // the launch that adds up would take longer
  CHECK(plan<float>(100, 300, 784).parts == 3);   // 40 tiles
  CHECK(plan<float>(100, 10, 784).parts == 7);    // 4 tiles: all panels at once
  CHECK(plan<float>(800, 1024, 100).parts == 1);  // more tiles than multiprocessors
  CHECK(plan<float>(4, 4, 0).parts == 1);
  using Tiles = tf::cuda_kernels::ProductTiles<float>;
  using tf::cuda_kernels::ProductPlan;
  // Operands that are found slowly.
  CHECK(ProductPlan::of<Tiles>({800, 64, 9800, 1}, 1).tile == TileChoice::few);
  CHECK(ProductPlan::of<Tiles>({800, 64, 9800, 1}, 1, 240).tile == TileChoice::small);
}

TEST_CASE("big products on a GPU have big tiles") {
  static_assert(plan<float>(68, 80, 20, 256).tile == TileChoice::big);
  static_assert(plan<float>(68, 80, 20, 255).tile == TileChoice::small);
  static_assert(plan<float>(68, 80, 20, 60).tile == TileChoice::small);
  static_assert(plan<float>(68, 80, 20, 5).tile == TileChoice::few);
  static_assert(plan<double>(68, 80, 20, 5).tile == TileChoice::small);
  test::check_cuda<big<68, 80, 20>>(60);
  test::check_cuda<big<68, 80, 20>>(256);
  test::check_cuda<big<130, 65, 7>>(128);
}

TEST_CASE("products and their gradients train on a GPU as on the processor") {
  for (const std::int64_t batch : {1, 3}) test::check_cuda<training>(batch, 1e-5);
}
