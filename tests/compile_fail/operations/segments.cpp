// SPDX-License-Identifier: Apache-2.0

// Wrong uses of windows at an index and of folds over segments. Each line below must be an error
// with the text in its comment; without them (-DCORRECTED) the file compiles.

#include "typeflow/graph.hpp"
#include "typeflow/indexing.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 4, 6>(g, "x");
  auto d = tf::placeholder<double, 4, 6>(g, "d");
  auto t = tf::placeholder<bool, 4, 6>(g, "t");
  auto scalar = tf::placeholder<float>(g, "scalar");
  auto rows = tf::placeholder<float, tf::batch, 6>(g, "rows");
  auto i = tf::placeholder<std::int32_t, 4>(g, "i");
  auto j = tf::placeholder<std::int64_t, 5, 2>(g, "j");
  auto b = tf::placeholder<std::int32_t, tf::batch>(g, "b");
  auto k = tf::placeholder<std::int32_t>(g, "k");
  tf::dynamic_slice<2, 3>(x, k, 0).named("window");
  tf::unsorted_segment_max<3>(x, i).named("largest");
#ifndef CORRECTED
  // clang-format off
  tf::dynamic_slice<2>(x, k, k);  // error: dynamic_slice<sizes...>(x, starts...): there must be a size for each axis of x, not larger than the axis; a batch axis is taken whole
  tf::dynamic_slice<2, 7>(x, k, k);  // error: dynamic_slice<sizes...>(x, starts...): there must be a size for each axis of x, not larger than the axis; a batch axis is taken whole
  tf::dynamic_slice<1, 6>(rows, k, k);  // error: dynamic_slice<sizes...>(x, starts...): there must be a size for each axis of x, not larger than the axis; a batch axis is taken whole
  tf::dynamic_slice<1, 6>(x, k);  // error: dynamic_slice<sizes...>(x, starts...): the starts must be an integer for each axis of x, or one tensor of as many integers
  tf::dynamic_slice<1, 6>(x, k, 0.5);  // error: dynamic_slice<sizes...>(x, starts...): the starts must be an integer for each axis of x, or one tensor of as many integers
  tf::dynamic_slice<1, 6>(x, i);  // error: dynamic_slice<sizes...>(x, starts...): the starts must be an integer for each axis of x, or one tensor of as many integers
  dynamic_update_slice(x, d, k, k);  // error: dynamic_update_slice(x, update, starts...): the element types must be equal; convert with cast<T>(x)
  dynamic_update_slice(x, scalar, k, k);  // error: dynamic_update_slice(x, update, starts...): the update must have an axis for each of x, not larger than that; a batch axis is written whole
  dynamic_update_slice(rows, x, k, k);  // error: dynamic_update_slice(x, update, starts...): the update must have an axis for each of x, not larger than that; a batch axis is written whole
  dynamic_update_slice(x, x, k, scalar);  // error: dynamic_update_slice(x, update, starts...): the starts must be an integer for each axis of x, or one tensor of as many integers
  tf::segment_prod<3>(t, i);  // error: segment_prod<n>(values, ids): the values must be numbers
  tf::segment_prod<3>(x, j);  // error: segment_prod<n>(values, ids): the ids must be integers in one axis
  tf::segment_prod<3>(x, b);  // error: segment_prod<n>(values, ids): the values must have as many rows as there are ids
  tf::segment_max<3>(t, i);  // error: segment_max<n>(values, ids): the values must be real numbers
  tf::segment_max<3>(x, j);  // error: segment_max<n>(values, ids): the ids must be integers in one axis
  tf::segment_max<3>(x, b);  // error: segment_max<n>(values, ids): the values must have as many rows as there are ids
  tf::segment_min<3>(t, i);  // error: segment_min<n>(values, ids): the values must be real numbers
  tf::segment_min<3>(x, j);  // error: segment_min<n>(values, ids): the ids must be integers in one axis
  tf::segment_min<3>(x, b);  // error: segment_min<n>(values, ids): the values must have as many rows as there are ids
  tf::segment_mean<3>(tf::cast<std::int32_t>(x), i);  // error: segment_mean<n>(values, ids): the values must be floating-point numbers
  tf::segment_mean<3>(x, j);  // error: segment_mean<n>(values, ids): the ids must be integers in one axis
  tf::segment_mean<3>(x, b);  // error: segment_mean<n>(values, ids): the values must have as many rows as there are ids
  tf::unsorted_segment_prod<3>(t, i);  // error: unsorted_segment_prod<n>(values, ids): the values must be numbers
  tf::unsorted_segment_prod<3>(x, x);  // error: unsorted_segment_prod<n>(values, ids): the ids must be integers
  tf::unsorted_segment_prod<3>(x, j);  // error: unsorted_segment_prod<n>(values, ids): the first axes of the values must be the axes of the ids
  tf::unsorted_segment_max<3>(t, i);  // error: unsorted_segment_max<n>(values, ids): the values must be real numbers
  tf::unsorted_segment_max<3>(x, x);  // error: unsorted_segment_max<n>(values, ids): the ids must be integers
  tf::unsorted_segment_max<3>(x, j);  // error: unsorted_segment_max<n>(values, ids): the first axes of the values must be the axes of the ids
  tf::unsorted_segment_min<3>(t, i);  // error: unsorted_segment_min<n>(values, ids): the values must be real numbers
  tf::unsorted_segment_min<3>(x, x);  // error: unsorted_segment_min<n>(values, ids): the ids must be integers
  tf::unsorted_segment_min<3>(x, j);  // error: unsorted_segment_min<n>(values, ids): the first axes of the values must be the axes of the ids
  tf::unsorted_segment_mean<3>(j, j);  // error: unsorted_segment_mean<n>(values, ids): the values must be floating-point numbers
  tf::unsorted_segment_mean<3>(x, x);  // error: unsorted_segment_mean<n>(values, ids): the ids must be integers
  tf::unsorted_segment_mean<3>(x, j);  // error: unsorted_segment_mean<n>(values, ids): the first axes of the values must be the axes of the ids
  tf::unsorted_segment_sqrt_n<3>(j, j);  // error: unsorted_segment_sqrt_n<n>(values, ids): the values must be floating-point numbers
  tf::unsorted_segment_sqrt_n<3>(x, x);  // error: unsorted_segment_sqrt_n<n>(values, ids): the ids must be integers
  tf::unsorted_segment_sqrt_n<3>(x, j);  // error: unsorted_segment_sqrt_n<n>(values, ids): the first axes of the values must be the axes of the ids
  // clang-format on
#endif
}
