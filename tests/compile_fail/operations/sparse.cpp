// SPDX-License-Identifier: Apache-2.0

// Wrong uses of sparse tensors. Each line below must be an error with the text in its comment;
// without them (-DCORRECTED) the file compiles.

#include "typeflow/graph.hpp"
#include "typeflow/sparse/product.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto i = tf::placeholder<std::int32_t, 9, 2>(g, "i");
  auto threes = tf::placeholder<std::int32_t, 9, 3>(g, "threes");
  auto v = tf::placeholder<float, 9>(g, "v");
  auto u = tf::placeholder<float, 8>(g, "u");
  auto b = tf::placeholder<float, 6, 3>(g, "b");
  auto d = tf::placeholder<double, 6, 3>(g, "d");
  auto scalar = tf::placeholder<float>(g, "scalar");
  auto batches = tf::placeholder<float, tf::batch, tf::batch>(g, "batches");
  const auto a = tf::sparse_tensor<4, 6>(i, v);
  const auto cube = tf::sparse_tensor<4, 6, 2>(threes, v);
  const auto squares = tf::sparse_tensor<tf::batch, tf::batch>(i, v);
  sparse_dense_matmul(a, b).named("y");
  to_dense(a).named("dense");
#ifndef CORRECTED
  // clang-format off
  tf::sparse_tensor<4, 6>(threes, v);  // error: sparse_tensor<D...>(indices, values): the indices must be integers, a row with a coordinate for each axis, the values one axis with as many elements as there are rows
  tf::sparse_tensor<4, 6>(i, u);  // error: sparse_tensor<D...>(indices, values): the indices must be integers, a row with a coordinate for each axis, the values one axis with as many elements as there are rows
  to_sparse(scalar);  // error: to_sparse(x): x must have an axis, and fewer than tf::max_rank
  to_sparse(batches);  // error: to_sparse(x): the number of elements is no multiple of tf::batch; say how many can differ from zero, to_sparse<Bound>(x)
  tf::to_sparse<4>(scalar);  // error: to_sparse<Bound>(x): x must have an axis, and fewer than tf::max_rank
  to_dense(squares);  // error: to_dense(x): x must have fewer axes than tf::max_rank, and tf::batch in one of them at most
  sparse_dense_matmul(cube, b);  // error: sparse_dense_matmul(a, b): a and b must be matrices, of two axes
  tf::sparse_dense_matmul<tf::transpose_a>(a, b);  // error: sparse_dense_matmul(a, b): the columns of a must equal the rows of b
  sparse_dense_matmul(a, d);  // error: sparse_dense_matmul(a, b): the element types must be equal, those of numbers; convert with cast<T>(x)
  // clang-format on
#endif
}
