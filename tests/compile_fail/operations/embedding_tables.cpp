// SPDX-License-Identifier: Apache-2.0

// Wrong uses of tables in parts and of rows to be combined. Each line below must be an error with
// the text in its comment; without them (-DCORRECTED) the file compiles.

#include "typeflow/graph.hpp"
#include "typeflow/indexing.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto a = tf::placeholder<float, 4, 3>(g, "a");
  auto b = tf::placeholder<float, 3, 3>(g, "b");
  auto d = tf::placeholder<double, 3, 3>(g, "d");
  auto n = tf::placeholder<std::int32_t, 4, 3>(g, "n");
  auto i = tf::placeholder<std::int32_t, 4>(g, "i");
  embedding_lookup(std::tuple{a, b}, i).named("rows");
  tf::embedding_combine<2>(a, i).named("combined");
#ifndef CORRECTED
  // clang-format off
  embedding_lookup(n, i, {.max_norm = 1});  // error: embedding_lookup(params, ids, options): params must be floating-point numbers
  embedding_lookup(std::tuple{b, a}, i);  // error: embedding_lookup<strategy>(tables, ids): the tables must have one element type, of numbers, and one shape but for the number of rows; by mod the first ones have one row more than the others if the rows can't be shared out equally
  embedding_lookup(std::tuple{a, d}, i);  // error: embedding_lookup<strategy>(tables, ids): the tables must have one element type, of numbers, and one shape but for the number of rows; by mod the first ones have one row more than the others if the rows can't be shared out equally
  embedding_lookup(std::tuple{a, b}, a);  // error: embedding_lookup<strategy>(tables, ids): the ids must be integers, with fewer than tf::max_rank axes
  tf::embedding_combine<2>(b, i);  // error: embedding_combine<n>(rows, segment_ids): segment_ids must be integers in one axis, one for each row
  tf::embedding_combine<2>(n, i);  // error: embedding_combine<n>(rows, segment_ids): rows must be floating-point numbers
  tf::embedding_combine<2>(a, i, i);  // error: embedding_combine<n>(rows, segment_ids, weights): rows and weights must have one floating-point type, and the weights the shape of the segment ids
  // clang-format on
#endif
}
