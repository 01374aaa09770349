// SPDX-License-Identifier: Apache-2.0

// Wrong uses of the operations on indices. Each line below must be an error with the text in its
// comment; without them (-DCORRECTED) the file compiles.

#include "typeflow/indexing.hpp"
#include "typeflow/graph.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 4, 6>(g, "x");
  auto d = tf::placeholder<double, 4, 6>(g, "d");
  auto t = tf::placeholder<bool, 4, 6>(g, "t");
  auto scalar = tf::placeholder<float>(g, "scalar");
  auto deep = tf::placeholder<float, 1, 1, 1, 1, 1, 1, 1>(g, "deep");
  auto squares = tf::placeholder<float, tf::batch, tf::batch, 3>(g, "squares");
  auto i = tf::placeholder<std::int32_t, 4>(g, "i");
  auto j = tf::placeholder<std::int64_t, 5, 2>(g, "j");
  auto b = tf::placeholder<std::int32_t, tf::batch>(g, "b");
  auto threes = tf::placeholder<std::int32_t, 4, 3>(g, "threes");
  auto cubes = tf::placeholder<std::int32_t, 4, 2, 2>(g, "cubes");
  auto j_values = tf::placeholder<float, 5>(g, "j_values");
  auto v = tf::variable<float, 10, 6>(g, "v");
  auto flags = tf::variable<bool, 10, 6>(g, "flags", tf::zeros(), false);
  auto single = tf::variable<float>(g, "single");
  gather(x, i).named("y");
  gather_nd(x, j).named("z");
  scatter_add(v, i, x).named("s");
#ifndef CORRECTED
  // clang-format off
  tf::gather<tf::GatherOptions{.batch_dims = 2}>(x, i);  // error: gather<axis>(x, indices): x has no such axis
  tf::gather<tf::GatherOptions{.batch_dims = 2, .axis = 1}>(x, i);  // error: gather<options>(x, indices): batch_dims must be from 0 to the axis, and at most the rank of the indices
  gather(scalar, i);  // error: gather<axis>(x, indices): x has no such axis
  gather(x, x);  // error: gather<axis>(x, indices): the indices must be integers
  tf::gather<tf::GatherOptions{.batch_dims = 1}>(x, j);  // error: gather<options>(x, indices): the first batch_dims axes of x and of the indices must be the same
  tf::gather<tf::GatherOptions{.batch_dims = 1}>(x, b);  // error: gather<options>(x, indices): the first batch_dims axes of x and of the indices must be the same
  tf::gather<-3>(x, i);  // error: gather<axis>(x, indices): x has no such axis
  tf::gather<0>(x, t);  // error: gather<axis>(x, indices): the indices must be integers
  tf::gather<0>(deep, cubes);  // error: gather<axis>(x, indices): the result would have more axes than tf::max_rank
  gather_nd(x, tf::reshape<12, 2>(x));  // error: gather_nd(x, indices): the indices must be integers
  gather_nd(x, threes);  // error: gather_nd(x, indices): the last axis of the indices must have as many elements as axes of x are indexed, at least 1 and at most 7
  gather_nd(x, b);  // error: gather_nd(x, indices): the last axis of the indices must have as many elements as axes of x are indexed, at least 1 and at most 7
  gather_nd(squares, j);  // error: gather_nd(x, indices): only one of the axes that are indexed may have tf::batch
  tf::scatter_nd<4, 6>(tf::cast<float>(j), j_values);  // error: scatter_nd<D...>(indices, values): the indices must be integers
  tf::scatter_nd<4>(j, x);  // error: scatter_nd<D...>(indices, values): the last axis of the indices must have as many elements as axes of the result are indexed, at least 1 and at most 7
  tf::scatter_nd<4, 6>(j, x);  // error: scatter_nd<D...>(indices, values): the values must have the shape of the indices without the last axis, and then that of a slice of the result
  tf::segment_sum<3>(t, i);  // error: segment_sum<n>(values, ids): the values must be numbers
  tf::segment_sum<3>(x, j);  // error: segment_sum<n>(values, ids): the ids must be integers in one axis
  tf::segment_sum<3>(x, b);  // error: segment_sum<n>(values, ids): the values must have as many rows as there are ids
  tf::unsorted_segment_sum<3>(t, i);  // error: unsorted_segment_sum<n>(values, ids): the values must be numbers
  tf::unsorted_segment_sum<3>(x, x);  // error: unsorted_segment_sum<n>(values, ids): the ids must be integers
  tf::unsorted_segment_sum<3>(x, j);  // error: unsorted_segment_sum<n>(values, ids): the first axes of the values must be the axes of the ids
  tf::bincount<3>(x);  // error: bincount<n>(x): x must be a tensor of integers
  tf::bincount<3>(x, x);  // error: bincount<n>(x, weights): x must be a tensor of integers
  tf::bincount<3>(i, x);  // error: bincount<n>(x, weights): the weights must be numbers in a tensor of the shape of x
  tf::confusion_matrix<3>(i, b);  // error: confusion_matrix<classes>(labels, predictions): both must be integers in tensors of one shape, with at most 7 axes
  tf::confusion_matrix<tf::batch>(i, i);  // error: confusion_matrix<classes>(labels, predictions): the number of classes must be a number, not tf::batch
  tf::confusion_matrix<3>(i, tf::cast<float>(i), i);  // error: confusion_matrix<classes>(labels, predictions, weights): labels and predictions must be integers in tensors of one shape, with at most 7 axes
  tf::confusion_matrix<tf::batch>(i, i, i);  // error: confusion_matrix<classes>(labels, predictions, weights): the number of classes must be a number, not tf::batch
  tf::confusion_matrix<3>(i, i, x);  // error: confusion_matrix<classes>(labels, predictions, weights): the weights must be numbers in a tensor of the shape of the labels
  embedding_lookup(scalar, i);  // error: embedding_lookup(params, ids): params must have an axis of rows
  embedding_lookup(x, x);  // error: embedding_lookup(params, ids): the ids must be integers
  embedding_lookup(deep, cubes);  // error: embedding_lookup(params, ids): the result would have more axes than tf::max_rank
  tf::embedding_lookup_sparse<3>(x, i, b);  // error: embedding_lookup_sparse<n>(params, ids, segment_ids): params must have an axis of rows; ids and segment_ids must be integers in one axis of equal extents
  tf::embedding_lookup_sparse<3>(threes, i, i);  // error: embedding_lookup_sparse<n>(params, ids, segment_ids): params must be floating-point numbers
  tf::embedding_lookup_sparse<3>(x, i, tf::cast<float>(i), tf::sum<1>(x));  // error: embedding_lookup_sparse<n>(params, ids, segment_ids, weights): params must have an axis of rows; ids and segment_ids must be integers in one axis of equal extents
  tf::embedding_lookup_sparse<3>(d, i, i, tf::sum<1>(x));  // error: embedding_lookup_sparse<n>(params, ids, segment_ids, weights): params and weights must have one floating-point type, and the weights the shape of the ids
  tf::safe_embedding_lookup_sparse<3>(x, i, b);  // error: safe_embedding_lookup_sparse<n>(params, ids, segment_ids): params must have an axis of rows; ids and segment_ids must be integers in one axis of equal extents
  tf::safe_embedding_lookup_sparse<3>(threes, i, i);  // error: safe_embedding_lookup_sparse<n>(params, ids, segment_ids): params must be floating-point numbers
  tf::safe_embedding_lookup_sparse<3>(x, i, i, i);  // error: safe_embedding_lookup_sparse<n>(params, ids, segment_ids, weights): params and weights must have one floating-point type, and the weights the shape of the ids
  tf::safe_embedding_lookup_sparse<3>(x, i, b, i);  // error: safe_embedding_lookup_sparse<n>(params, ids, segment_ids, weights): params must have an axis of rows; ids and segment_ids must be integers in one axis of equal extents
  scatter_add(flags, i, t);  // error: scatter_add(variable, indices, values): the variable must hold numbers and have an axis
  scatter_add(single, i, 1.0f);  // error: scatter_add(variable, indices, values): the variable must hold numbers and have an axis
  scatter_add(v, tf::cast<float>(i), x);  // error: scatter_add(variable, indices, values): the indices must be integers
  scatter_add(v, i, d);  // error: scatter_add(variable, indices, values): the values must have the variable's element type and broadcast to the shape of the slices that the indices name
  scatter_add(v, b, x);  // error: scatter_add(variable, indices, values): the values must have the variable's element type and broadcast to the shape of the slices that the indices name
  scatter_sub(flags, i, t);  // error: scatter_sub(variable, indices, values): the variable must hold numbers and have an axis
  scatter_sub(v, tf::cast<float>(i), x);  // error: scatter_sub(variable, indices, values): the indices must be integers
  scatter_sub(v, j, x);  // error: scatter_sub(variable, indices, values): the values must have the variable's element type and broadcast to the shape of the slices that the indices name
  scatter_mul(flags, i, t);  // error: scatter_mul(variable, indices, values): the variable must hold numbers and have an axis
  scatter_mul(v, tf::cast<float>(i), x);  // error: scatter_mul(variable, indices, values): the indices must be integers
  scatter_mul(v, j, x);  // error: scatter_mul(variable, indices, values): the values must have the variable's element type and broadcast to the shape of the slices that the indices name
  scatter_update(single, i, 1.0f);  // error: scatter_update(variable, indices, values): the variable must have an axis
  scatter_update(v, tf::cast<float>(i), x);  // error: scatter_update(variable, indices, values): the indices must be integers
  scatter_update(v, j, x);  // error: scatter_update(variable, indices, values): the values must have the variable's element type and broadcast to the shape of the slices that the indices name
  scatter_div(flags, i, t);  // error: scatter_div(variable, indices, values): the variable must hold numbers and have an axis
  scatter_div(v, tf::cast<float>(i), x);  // error: scatter_div(variable, indices, values): the indices must be integers
  scatter_div(v, j, x);  // error: scatter_div(variable, indices, values): the values must have the variable's element type and broadcast to the shape of the slices that the indices name
  scatter_max(flags, i, t);  // error: scatter_max(variable, indices, values): the variable must hold real numbers and have an axis
  scatter_max(v, tf::cast<float>(i), x);  // error: scatter_max(variable, indices, values): the indices must be integers
  scatter_max(v, j, x);  // error: scatter_max(variable, indices, values): the values must have the variable's element type and broadcast to the shape of the slices that the indices name
  scatter_min(flags, i, t);  // error: scatter_min(variable, indices, values): the variable must hold real numbers and have an axis
  scatter_min(v, tf::cast<float>(i), x);  // error: scatter_min(variable, indices, values): the indices must be integers
  scatter_min(v, j, x);  // error: scatter_min(variable, indices, values): the values must have the variable's element type and broadcast to the shape of the slices that the indices name
  invert_permutation(x);  // error: invert_permutation(x): x must be int32 or int64, with one axis
  tf::unravel_index<3, 4>(x);  // error: unravel_index<D...>(indices): the indices must be integers
  tf::unravel_index<>(i);  // error: unravel_index<D...>(indices): the shape must have 1 to 7 axes, and the indices fewer axes than tf::max_rank
  // clang-format on
#endif
}
