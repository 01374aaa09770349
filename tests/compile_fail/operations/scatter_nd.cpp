// SPDX-License-Identifier: Apache-2.0

// Wrong uses of changes at rows of coordinates, and in slices of variables. Each line below must be
// an error with the text in its comment; without them (-DCORRECTED) the file compiles.

#include "typeflow/graph.hpp"
#include "typeflow/indexing.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 4, 6>(g, "x");
  auto t = tf::placeholder<bool, 4, 6>(g, "t");
  auto squares = tf::placeholder<float, tf::batch, tf::batch, 3>(g, "squares");
  auto s = tf::placeholder<float, 5, 3>(g, "s");
  auto j = tf::placeholder<std::int64_t, 5, 2>(g, "j");
  auto threes = tf::placeholder<std::int32_t, 4, 3>(g, "threes");
  auto u = tf::placeholder<float, 5>(g, "u");
  auto d = tf::placeholder<double, 5>(g, "d");
  auto b = tf::placeholder<bool, 5>(g, "b");
  auto v = tf::variable<float, 4, 6>(g, "v");
  auto flags = tf::variable<bool, 4, 6>(g, "flags", tf::zeros(), false);
  tensor_scatter_nd_add(x, j, u).named("y");
  scatter_nd_add(v, j, u).named("added");
  tf::assign_slice<0>(v, 1.0f).named("assigned");
#ifndef CORRECTED
  // clang-format off
  tensor_scatter_nd_add(t, j, b);  // error: tensor_scatter_nd_add(x, indices, updates): x must be a tensor of numbers
  tensor_scatter_nd_add(x, tf::cast<float>(j), u);  // error: tensor_scatter_nd_add(x, indices, updates): the indices must be integers
  tensor_scatter_nd_add(x, threes, u);  // error: tensor_scatter_nd_add(x, indices, updates): the last axis of the indices must have as many elements as axes of x are indexed, at least 1 and at most 7
  tensor_scatter_nd_add(squares, j, s);  // error: tensor_scatter_nd_add(x, indices, updates): only one of the axes that are indexed may have tf::batch
  tensor_scatter_nd_add(x, j, d);  // error: tensor_scatter_nd_add(x, indices, updates): the updates must have the element type of x, and broadcast to the shape of the slices that the indices name
  tensor_scatter_nd_add(x, j, x);  // error: tensor_scatter_nd_add(x, indices, updates): the updates must have the element type of x, and broadcast to the shape of the slices that the indices name
  tensor_scatter_nd_sub(t, j, b);  // error: tensor_scatter_nd_sub(x, indices, updates): x must be a tensor of numbers
  tensor_scatter_nd_sub(x, tf::cast<float>(j), u);  // error: tensor_scatter_nd_sub(x, indices, updates): the indices must be integers
  tensor_scatter_nd_sub(x, threes, u);  // error: tensor_scatter_nd_sub(x, indices, updates): the last axis of the indices must have as many elements as axes of x are indexed, at least 1 and at most 7
  tensor_scatter_nd_sub(squares, j, s);  // error: tensor_scatter_nd_sub(x, indices, updates): only one of the axes that are indexed may have tf::batch
  tensor_scatter_nd_sub(x, j, d);  // error: tensor_scatter_nd_sub(x, indices, updates): the updates must have the element type of x, and broadcast to the shape of the slices that the indices name
  tensor_scatter_nd_sub(x, j, x);  // error: tensor_scatter_nd_sub(x, indices, updates): the updates must have the element type of x, and broadcast to the shape of the slices that the indices name
  tensor_scatter_nd_max(t, j, b);  // error: tensor_scatter_nd_max(x, indices, updates): x must be a tensor of real numbers
  tensor_scatter_nd_max(x, tf::cast<float>(j), u);  // error: tensor_scatter_nd_max(x, indices, updates): the indices must be integers
  tensor_scatter_nd_max(x, threes, u);  // error: tensor_scatter_nd_max(x, indices, updates): the last axis of the indices must have as many elements as axes of x are indexed, at least 1 and at most 7
  tensor_scatter_nd_max(squares, j, s);  // error: tensor_scatter_nd_max(x, indices, updates): only one of the axes that are indexed may have tf::batch
  tensor_scatter_nd_max(x, j, d);  // error: tensor_scatter_nd_max(x, indices, updates): the updates must have the element type of x, and broadcast to the shape of the slices that the indices name
  tensor_scatter_nd_max(x, j, x);  // error: tensor_scatter_nd_max(x, indices, updates): the updates must have the element type of x, and broadcast to the shape of the slices that the indices name
  tensor_scatter_nd_min(t, j, b);  // error: tensor_scatter_nd_min(x, indices, updates): x must be a tensor of real numbers
  tensor_scatter_nd_min(x, tf::cast<float>(j), u);  // error: tensor_scatter_nd_min(x, indices, updates): the indices must be integers
  tensor_scatter_nd_min(x, threes, u);  // error: tensor_scatter_nd_min(x, indices, updates): the last axis of the indices must have as many elements as axes of x are indexed, at least 1 and at most 7
  tensor_scatter_nd_min(squares, j, s);  // error: tensor_scatter_nd_min(x, indices, updates): only one of the axes that are indexed may have tf::batch
  tensor_scatter_nd_min(x, j, d);  // error: tensor_scatter_nd_min(x, indices, updates): the updates must have the element type of x, and broadcast to the shape of the slices that the indices name
  tensor_scatter_nd_min(x, j, x);  // error: tensor_scatter_nd_min(x, indices, updates): the updates must have the element type of x, and broadcast to the shape of the slices that the indices name
  tensor_scatter_nd_update(x, tf::cast<float>(j), u);  // error: tensor_scatter_nd_update(x, indices, updates): the indices must be integers
  tensor_scatter_nd_update(x, threes, u);  // error: tensor_scatter_nd_update(x, indices, updates): the last axis of the indices must have as many elements as axes of x are indexed, at least 1 and at most 7
  tensor_scatter_nd_update(squares, j, s);  // error: tensor_scatter_nd_update(x, indices, updates): only one of the axes that are indexed may have tf::batch
  tensor_scatter_nd_update(x, j, d);  // error: tensor_scatter_nd_update(x, indices, updates): the updates must have the element type of x, and broadcast to the shape of the slices that the indices name
  tensor_scatter_nd_update(x, j, x);  // error: tensor_scatter_nd_update(x, indices, updates): the updates must have the element type of x, and broadcast to the shape of the slices that the indices name
  scatter_nd_add(flags, j, b);  // error: scatter_nd_add(variable, indices, values): the variable must hold numbers
  scatter_nd_add(v, tf::cast<float>(j), u);  // error: scatter_nd_add(variable, indices, values): the indices must be integers
  scatter_nd_add(v, threes, u);  // error: scatter_nd_add(variable, indices, values): the last axis of the indices must have as many elements as axes of the variable are indexed, at least 1 and at most 7
  scatter_nd_add(v, j, d);  // error: scatter_nd_add(variable, indices, values): the values must have the variable's element type and broadcast to the shape of the slices that the indices name
  scatter_nd_sub(flags, j, b);  // error: scatter_nd_sub(variable, indices, values): the variable must hold numbers
  scatter_nd_sub(v, tf::cast<float>(j), u);  // error: scatter_nd_sub(variable, indices, values): the indices must be integers
  scatter_nd_sub(v, threes, u);  // error: scatter_nd_sub(variable, indices, values): the last axis of the indices must have as many elements as axes of the variable are indexed, at least 1 and at most 7
  scatter_nd_sub(v, j, d);  // error: scatter_nd_sub(variable, indices, values): the values must have the variable's element type and broadcast to the shape of the slices that the indices name
  scatter_nd_update(v, tf::cast<float>(j), u);  // error: scatter_nd_update(variable, indices, values): the indices must be integers
  scatter_nd_update(v, threes, u);  // error: scatter_nd_update(variable, indices, values): the last axis of the indices must have as many elements as axes of the variable are indexed, at least 1 and at most 7
  scatter_nd_update(v, j, d);  // error: scatter_nd_update(variable, indices, values): the values must have the variable's element type and broadcast to the shape of the slices that the indices name
  tf::assign_slice<4>(v, 1.0f);  // error: assign_slice<...>(variable, value): the arguments must be such that slice<...>(variable) takes: an index or a range within each axis
  tf::assign_slice<1>(v, x);  // error: assign_slice<...>(variable, value): the value must have the variable's element type and broadcast to the shape of the slice
  // clang-format on
#endif
}
