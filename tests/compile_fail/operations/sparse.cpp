// SPDX-License-Identifier: Apache-2.0

// Wrong uses of sparse tensors. Each line below must be an error with the text in its comment;
// without them (-DCORRECTED) the file compiles.

#include "typeflow/graph.hpp"
#include "typeflow/sparse/combine.hpp"
#include "typeflow/sparse/elements.hpp"
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
  auto flags = tf::placeholder<bool, 6, 3>(g, "flags");
  auto whole = tf::placeholder<std::int32_t, 9>(g, "whole");
  auto list = tf::placeholder<std::int32_t, 8>(g, "list");
  auto column = tf::placeholder<std::int32_t, 9, 1>(g, "column");
  auto pairs = tf::placeholder<std::int32_t, tf::batch, 2>(g, "pairs");
  auto several = tf::placeholder<float, tf::batch>(g, "several");
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
  sparse_retain(a, list);  // error: sparse_retain(x, keep): keep must have a boolean for each element of x
  sparse_reorder(squares);  // error: sparse_reorder(x): x may have tf::batch in one axis at most
  tf::sparse_slice<0, tf::whole>(a);  // error: sparse_slice<...>(x): each axis needs tf::whole, or a tf::range or tf::from inside of it with steps of 1
  tf::sparse_slice<tf::range(0, 9), tf::whole>(a);  // error: sparse_slice<...>(x): each axis needs tf::whole, or a tf::range or tf::from inside of it with steps of 1
  sparse_softmax(tf::sparse_tensor<5>(column, v));  // error: sparse_softmax(x): x must have two axes or more, and tf::batch in one of those in front of the last at most
  sparse_softmax(tf::sparse_tensor<4, 6>(i, whole));  // error: sparse_softmax(x): x must be floating-point; convert the values with cast<float>(x)
  sparse_fill_empty_rows(tf::sparse_tensor<4, 6>(pairs, several), 1);  // error: sparse_fill_empty_rows(x, value): the numbers of elements and of rows must both be numbers, or both multiples of tf::batch
  sparse_add(a, tf::sparse_tensor<4, 6>(i, whole));  // error: sparse_add(a, b): indices and values must have equal element types; convert with cast<T>(x)
  sparse_add(a, tf::sparse_tensor<4, 6>(pairs, several));  // error: sparse_add(a, b): the numbers of elements must both be numbers, or both multiples of tf::batch
  tf::sparse_concat<2>(a, a);  // error: sparse_concat<axis>(a, b): there must be such an axis, the shapes must be equal but along it, and there both numbers or both multiples of tf::batch
  tf::sparse_concat<0>(a, tf::sparse_tensor<5, 7>(i, v));  // error: sparse_concat<axis>(a, b): there must be such an axis, the shapes must be equal but along it, and there both numbers or both multiples of tf::batch
  tf::sparse_merge<9>(a, a);  // error: sparse_merge<Size>(ids, values): the ids must be integers, as many as there are values
  tf::sparse_segment_sum<3>(flags, whole, whole);  // error: sparse_segment_sum<n>(x, indices, ids): x must be a tensor of numbers with an axis of rows
  tf::sparse_segment_sum<3>(b, whole, list);  // error: sparse_segment_sum<n>(x, indices, ids): indices and ids must be integers in one axis, as many of each
  tf::sparse_segment_mean<3>(whole, whole, whole);  // error: sparse_segment_mean<n>(x, indices, ids): x must be floating-point with an axis of rows
  tf::sparse_segment_mean<3>(b, whole, list);  // error: sparse_segment_mean<n>(x, indices, ids): indices and ids must be integers in one axis, as many of each
  tf::sparse_segment_sqrt_n<3>(whole, whole, whole);  // error: sparse_segment_sqrt_n<n>(x, indices, ids): x must be floating-point with an axis of rows
  tf::sparse_segment_sqrt_n<3>(b, whole, list);  // error: sparse_segment_sqrt_n<n>(x, indices, ids): indices and ids must be integers in one axis, as many of each
  // clang-format on
#endif
}
