// SPDX-License-Identifier: Apache-2.0

// Wrong calls of operations that choose and order rows by data.

#include "typeflow/graph.hpp"
#include "typeflow/indexing.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 4, 3>(g, "x");
  auto row = tf::placeholder<float, 3>(g, "row");
  auto list = tf::placeholder<float, 4>(g, "list");
  auto n = tf::placeholder<std::int32_t, 4>(g, "n");
  auto cells = tf::placeholder<std::int32_t, 4, 2>(g, "cells");
  auto mask = tf::placeholder<bool, 4>(g, "mask");
  auto flag = tf::placeholder<bool>(g, "flag");
  auto squares = tf::placeholder<bool, tf::batch, tf::batch>(g, "squares");
  auto images = tf::placeholder<float, tf::batch, tf::batch>(g, "images");
  auto classes = tf::placeholder<std::int32_t, tf::batch, tf::batch>(g, "classes");
  auto wide = tf::placeholder<double, 4, 3>(g, "wide");
  tf::where<2>(mask).indices.named("right");
#ifndef CORRECTED
  // clang-format off
  where(x);                             // error: where(mask): the mask must be a boolean tensor
  where(flag);                          // error: where(mask): the mask must have an axis
  where(squares);                       // error: where(mask): the number of elements is no multiple of tf::batch; say how many can be true, where<Bound>(mask)
  tf::where<2>(n);                      // error: where<Bound>(mask): the mask must be a boolean tensor
  tf::where<2>(flag);                   // error: where<Bound>(mask): the mask must have an axis
  boolean_mask(x, n);                   // error: boolean_mask<axis>(x, mask): the mask must be a boolean tensor
  boolean_mask(row, mask);              // error: boolean_mask<axis>(x, mask): the mask must have the shape of the axes of x from `axis` on, one or more of them
  tf::boolean_mask<1>(x, mask);         // error: boolean_mask<axis>(x, mask): the mask must have the shape of the axes of x from `axis` on, one or more of them
  tf::boolean_mask<2, 3>(x, mask);      // error: boolean_mask<axis>(x, mask): the mask must have the shape of the axes of x from `axis` on, one or more of them
  tf::boolean_mask<0, 3>(images, squares);  // error: boolean_mask<axis>(x, mask): no more than one axis of the mask can be a multiple of tf::batch
  tf::dynamic_partition<0>(x, n);       // error: dynamic_partition<n>(x, partitions): n must be positive
  tf::dynamic_partition<2>(x, list);    // error: dynamic_partition<n>(x, partitions): partitions must be integers
  tf::dynamic_partition<2>(row, n);     // error: dynamic_partition<n>(x, partitions): partitions must have the shape of the first axes of x, one or more of them
  tf::dynamic_partition<2, 9>(images, classes);  // error: dynamic_partition<n>(x, partitions): no more than one axis of partitions can be a multiple of tf::batch
  tf::dynamic_stitch<5>(std::tuple{n, n}, std::tuple{x});        // error: dynamic_stitch<n>(indices, data): as many tensors of data are needed as of indices, one or more
  tf::dynamic_stitch<5>(std::tuple{list}, std::tuple{x});        // error: dynamic_stitch<n>(indices, data): indices must be integers
  tf::dynamic_stitch<5>(std::tuple{n, n}, std::tuple{x, wide});  // error: dynamic_stitch<n>(indices, data): the element types of data must be equal; convert with cast<T>(x)
  tf::dynamic_stitch<5>(std::tuple{n, n}, std::tuple{x, list});  // error: dynamic_stitch<n>(indices, data): the shape of each tensor of data must begin with that of its indices, and go on alike for all
  tf::dynamic_stitch<5>(std::tuple{classes}, std::tuple{images});  // error: dynamic_stitch<n>(indices, data): no more than one axis of indices can be a multiple of tf::batch
  tf::sparse_to_dense<4>(list, list);          // error: sparse_to_dense<D...>(indices, values): indices must be integers
  tf::sparse_to_dense<4, 4, 4>(cells, list);   // error: sparse_to_dense<D...>(indices, values): indices must have a column for each axis of D...; for one axis a list or a scalar will do, too
  tf::sparse_to_dense<4, 4>(cells, row);       // error: sparse_to_dense<D...>(indices, values): values must be a scalar, or a list with one value for each row of indices
  tf::sparse_to_dense<tf::batch, tf::batch>(cells, list);  // error: sparse_to_dense<D...>(indices, values): no more than one of D... can be a multiple of tf::batch
  tf::sparse_to_dense<4, 4>(cells, n, 0.5f);   // error: sparse_to_dense<D...>(indices, values, otherwise): otherwise must be a number or a scalar with the element type of values
  tf::sparse_to_dense<4, 4>(cells, list, list);  // error: sparse_to_dense<D...>(indices, values, otherwise): otherwise must be a number or a scalar with the element type of values
  unique(x);                            // error: unique(x): x must have one axis
  tf::reverse_sequence<0>(x, n);        // error: reverse_sequence<sequence_axis, batch_axis>(x, lengths): x must have both axes, and they must differ
  tf::reverse_sequence<2>(x, n);        // error: reverse_sequence<sequence_axis, batch_axis>(x, lengths): x must have both axes, and they must differ
  tf::reverse_sequence<1>(x, list);     // error: reverse_sequence<sequence_axis, batch_axis>(x, lengths): lengths must be integers
  tf::reverse_sequence<0, 1>(x, n);     // error: reverse_sequence<sequence_axis, batch_axis>(x, lengths): one length is needed for each index of the batch axis
  tf::roll<2>(x, 1);                    // error: roll<axes...>(x, shift): x has no such axis
  tf::roll<0, -3>(x, {1, 1});           // error: roll<axes...>(x, shift): x has no such axis
  tf::roll<>(x, {});                    // error: roll<axes...>(x, shift): one axis at least must be named
  meshgrid(std::tuple{list, x});        // error: meshgrid(x): each tensor must have one axis
  tf::meshgrid(std::tuple{});           // error: meshgrid(x): there must be a list, and no more than tf::max_rank
  shuffle(flag);                        // error: shuffle(x): x must have an axis
  unique_with_counts(x);                       // error: unique_with_counts(x): x must have one axis
  setdiff1d(list, n);                          // error: setdiff1d(x, y): both must have one element type, of real numbers; convert with cast<T>(x)
  setdiff1d(list, x);                          // error: setdiff1d(x, y): x and y must have one axis each
  // clang-format on
#endif
}

constexpr void use() {
  tf::Graph g;
  model(g);
}
