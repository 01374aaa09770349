// SPDX-License-Identifier: Apache-2.0

// Wrong uses of searches, histograms and percentiles. Each line below must be an error with the
// text in its comment; without them (-DCORRECTED) the file compiles.

#include "typeflow/graph.hpp"
#include "typeflow/indexing.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 4, 6>(g, "x");
  auto d = tf::placeholder<double, 6>(g, "d");
  auto t = tf::placeholder<bool, 4, 6>(g, "t");
  auto n = tf::placeholder<std::int32_t, 4, 6>(g, "n");
  auto rows = tf::placeholder<float, 3, 6>(g, "rows");
  auto batches = tf::placeholder<float, tf::batch, 6>(g, "batches");
  auto none = tf::placeholder<float, 0>(g, "none");
  auto twice = tf::placeholder<float, tf::batch, tf::batch>(g, "twice");
  searchsorted(x, x).named("y");
  tf::histogram_fixed_width<4>(x, 0, 1).named("h");
  tf::percentile<1>(batches, 50).named("p");
  tf::percentile(batches, 50).named("q");
  tf::percentile<0>(twice, 50).named("r");
#ifndef CORRECTED
  // clang-format off
  searchsorted(d, x);  // error: searchsorted(sorted, values): both must have one element type, of real numbers; convert with cast<T>(x)
  searchsorted(t, t);  // error: searchsorted(sorted, values): both must have one element type, of real numbers; convert with cast<T>(x)
  searchsorted(x, rows);  // error: searchsorted(sorted, values): sorted must have one axis, or the values all its axes but the last
  tf::histogram_fixed_width_bins<4>(t, 0, 1);  // error: histogram_fixed_width_bins<n>(x, low, high): x must be a tensor of real numbers
  tf::histogram_fixed_width_bins<0>(x, 0, 1);  // error: histogram_fixed_width_bins<n>(x, low, high): n must be a number from 1 on, below 2^24
  tf::histogram_fixed_width<4>(t, 0, 1);  // error: histogram_fixed_width<n>(x, low, high): x must be a tensor of real numbers
  tf::histogram_fixed_width<0>(x, 0, 1);  // error: histogram_fixed_width<n>(x, low, high): n must be a number from 1 on, below 2^24
  tf::percentile<2>(x, 50);  // error: percentile<axes...>(x, q): x has no such axis
  tf::percentile(n, 50);  // error: percentile(x, q): x must be floating-point; convert with cast<float>(x)
  tf::percentile(twice, 50);  // error: percentile<axes...>(x, q): the axes must have elements, and no symbol twice
  tf::percentile(none, 50);  // error: percentile<axes...>(x, q): the axes must have elements, and no symbol twice
  // clang-format on
#endif
}
