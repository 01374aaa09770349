// SPDX-License-Identifier: Apache-2.0

// Shapes of matrix products, read as they are or transposed, and of their gradients.

#include "support.hpp"

constexpr bool matrix_products(tf::Graph& g) {
  auto a = tf::placeholder<float, 2, 3>(g, "a");
  auto at = tf::placeholder<float, 3, 2>(g, "at");
  auto b = tf::placeholder<float, 3, 4>(g, "b");
  auto bt = tf::placeholder<float, 4, 3>(g, "bt");
  static_assert(is_tensor<decltype(matmul(a, b)), float, 2, 4>);
  static_assert(is_tensor<decltype(tf::matmul<tf::transpose_a>(at, b)), float, 2, 4>);
  static_assert(is_tensor<decltype(tf::matmul<tf::transpose_b>(a, bt)), float, 2, 4>);
  static_assert(is_tensor<decltype(tf::matmul<tf::transpose_both>(at, bt)), float, 2, 4>);
  (matmul(a, b) + tf::matmul<tf::transpose_a>(at, b) + tf::matmul<tf::transpose_b>(a, bt) +
   tf::matmul<tf::transpose_both>(at, bt))
      .named("sum");
  return count<tf::ops::MatMul>(g) == 4;
}
static_assert(holds<matrix_products>());

constexpr bool rows_may_be_batch(tf::Graph& g) {
  auto x = tf::placeholder<double, tf::batch, 784>(g, "x");
  auto x4 = tf::placeholder<double, 4 * tf::batch, 784>(g, "x4");
  auto W = tf::variable<double, 784, 10>(g, "W");
  static_assert(is_tensor<decltype(matmul(x, W)), double, tf::batch, 10>);
  static_assert(is_tensor<decltype(matmul(x4, W)), double, 4 * tf::batch, 10>);
  // Products with itself: over batch, and of all pairs of rows. Two batch axes stay two.
  static_assert(is_tensor<decltype(tf::matmul<tf::transpose_a>(x, x)), double, 784, 784>);
  static_assert(
      is_tensor<decltype(tf::matmul<tf::transpose_b>(x, x)), double, tf::batch, tf::batch>);
  tf::matmul<tf::transpose_a>(x, x).named("gram");
  tf::matmul<tf::transpose_b>(x4, x).named("pairs");
  return true;
}
static_assert(holds<rows_may_be_batch>());

constexpr bool axes_in_front_broadcast(tf::Graph& g) {
  auto a = tf::placeholder<float, tf::batch, 5, 2, 3>(g, "a");
  auto at = tf::placeholder<float, tf::batch, 1, 3, 2>(g, "at");
  auto b = tf::placeholder<float, 5, 3, 4>(g, "b");
  auto bt = tf::placeholder<float, 4, 3>(g, "bt");
  static_assert(is_tensor<decltype(matmul(a, b)), float, tf::batch, 5, 2, 4>);
  static_assert(is_tensor<decltype(tf::matmul<tf::transpose_a>(at, b)), float, tf::batch, 5, 2, 4>);
  static_assert(is_tensor<decltype(tf::matmul<tf::transpose_b>(a, bt)), float, tf::batch, 5, 2, 4>);
  static_assert(
      is_tensor<decltype(tf::batch_matmul<tf::transpose_both>(at, bt)), float, tf::batch, 1, 2, 4>);
  (matmul(a, b) + tf::matmul<tf::transpose_a>(at, b)).named("sum");
  return true;
}
static_assert(holds<axes_in_front_broadcast>());

/// A transpose of the last two axes is a way to read an operand; a broadcast in front is none.
constexpr bool operands_are_read_in_place(tf::Graph& g) {
  auto a = tf::placeholder<float, 6, 2, 3>(g, "a");
  auto b = tf::placeholder<float, 2, 4>(g, "b");
  auto y = matmul(tf::transpose<0, 2, 1>(a),
                  tf::Expr<float, tf::Shape<6, 2, 4>>(g, broadcast_to(b.any(), {3, {6, 2, 4}}).id));
  y.named("y");
  tf::Pool<tf::Id> roots;
  roots.push(y.id());
  const tf::ir::Simplified simplified = tf::ir::simplify(tf::ir::Graph(g), roots);
  const tf::ir::Node& product = simplified.graph.node_of(simplified.map[y.id()]);
  return simplified.graph.input(product, 0) == simplified.map[a.id()] &&
         simplified.graph.input(product, 1) == simplified.map[b.id()] &&
         simplified.graph.words_of(product)[0] == 1;
}
static_assert(holds<operands_are_read_in_place>());

/// A transpose of other axes that makes the rows of matrices their columns is one that keeps the
/// rows, and a flag.
constexpr bool rows_are_kept(tf::Graph& g) {
  auto q = tf::placeholder<float, 6, 4, 2, 3>(g, "q");
  auto k = tf::placeholder<float, 6, 5, 2, 3>(g, "k");
  auto y = matmul(tf::transpose<0, 2, 1, 3>(q), tf::transpose<0, 2, 3, 1>(k));
  y.named("y");
  tf::Pool<tf::Id> roots;
  roots.push(y.id());
  const tf::ir::Simplified simplified = tf::ir::simplify(tf::ir::Graph(g), roots);
  const tf::ir::Graph& graph = simplified.graph;
  const tf::ir::Node& product = graph.node_of(simplified.map[y.id()]);
  return graph.words_of(product)[0] == 2 &&
         graph.dims_of(graph.input(product, 0)) == tf::Dims{4, {6, 2, 4, 3}} &&
         graph.dims_of(graph.input(product, 1)) == tf::Dims{4, {6, 2, 5, 3}};
}
static_assert(holds<rows_are_kept>());

/// Few rows of a transposed a stay rows, if one b multiplies all of them: they are one matrix then.
constexpr bool few_rows_stay_rows(tf::Graph& g) {
  auto x = tf::placeholder<float, 6, 5, 7, 2>(g, "x");
  auto y = matmul(tf::transpose<0, 2, 3, 1>(x), tf::placeholder<float, 5, 4>(g, "w"));
  y.named("y");
  tf::Pool<tf::Id> roots;
  roots.push(y.id());
  const tf::ir::Simplified simplified = tf::ir::simplify(tf::ir::Graph(g), roots);
  const tf::ir::Graph& graph = simplified.graph;
  const tf::ir::Node& product = graph.node_of(simplified.map[y.id()]);
  return graph.words_of(product)[0] == 0 &&
         graph.dims_of(graph.input(product, 0)) == tf::Dims{4, {6, 7, 2, 5}};
}
static_assert(holds<few_rows_stay_rows>());

/// The gradients have the shapes of the operands, and are products that read their operands
/// transposed instead of transposing them.
template <tf::Transposed T, class A, class B>
constexpr bool gradient_fits(tf::Graph& g, const A& a, const B& b) {
  auto y = sum(tf::matmul<T>(a, b));
  auto [da, db] = gradients(y, a, b);
  static_assert(std::is_same_v<decltype(da), tf::Expr<float, typename A::shape>>);
  static_assert(std::is_same_v<decltype(db), tf::Expr<float, typename B::shape>>);
  return records(g).type_of(da.id()) == A::type && records(g).type_of(db.id()) == B::type &&
         count<tf::ops::MatMul>(g) == 3 && count<tf::ops::Transpose>(g) == 0;
}
constexpr bool gradient_of_one_for_all(tf::Graph& g) {
  return gradient_fits<tf::Transposed::neither>(g, tf::placeholder<float, tf::batch, 5, 3>(g, "a"),
                                                tf::placeholder<float, 3, 4>(g, "b")) &&
         count<tf::ops::Sum>(g) == 1;  // y's
}
static_assert(holds<gradient_of_one_for_all>());
constexpr bool gradient_of_neither(tf::Graph& g) {
  return gradient_fits<tf::Transposed::neither>(g, tf::placeholder<float, tf::batch, 3>(g, "a"),
                                                tf::placeholder<float, 3, 4>(g, "b"));
}
constexpr bool gradient_of_a(tf::Graph& g) {
  return gradient_fits<tf::transpose_a>(g, tf::placeholder<float, 3, tf::batch>(g, "a"),
                                        tf::placeholder<float, 3, 4>(g, "b"));
}
constexpr bool gradient_of_b(tf::Graph& g) {
  return gradient_fits<tf::transpose_b>(g, tf::placeholder<float, tf::batch, 3>(g, "a"),
                                        tf::placeholder<float, 4, 3>(g, "b"));
}
constexpr bool gradient_of_both(tf::Graph& g) {
  return gradient_fits<tf::transpose_both>(g, tf::placeholder<float, 3, tf::batch>(g, "a"),
                                           tf::placeholder<float, 4, 3>(g, "b"));
}
static_assert(holds<gradient_of_neither>());
static_assert(holds<gradient_of_a>());
static_assert(holds<gradient_of_b>());
static_assert(holds<gradient_of_both>());
