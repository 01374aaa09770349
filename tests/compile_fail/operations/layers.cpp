// SPDX-License-Identifier: Apache-2.0

// What normalization and attention refuse.

#include "typeflow/attention.hpp"
#include "typeflow/graph.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 6, 8>(g, "x");
  auto wide = tf::placeholder<double, tf::batch, 6, 8>(g, "wide");
  auto integers = tf::placeholder<std::int32_t, tf::batch, 6, 8>(g, "integers");
  auto row = tf::placeholder<float, 8>(g, "row");
  auto columns = tf::placeholder<float, 6, 5, tf::batch>(g, "columns");
  auto other = tf::placeholder<float, 3, 6, 8>(g, "other");
  auto keys = tf::placeholder<float, tf::batch, 6, 7>(g, "keys");
  auto values = tf::placeholder<float, tf::batch, 5, 8>(g, "values");
  auto mask = tf::placeholder<bool, 6, 5>(g, "mask");
  auto square = tf::placeholder<float, tf::batch, tf::batch, 8>(g, "square");
  multi_head_attention<2>(g, "attention", layer_norm(g, "norm", x)).named("right");
#ifndef CORRECTED
  // clang-format off
  layer_norm(integers);                     // error: layer_norm(x): x must be floating-point; convert with cast<float>(x)
  tf::layer_norm<3>(x);                     // error: layer_norm<axes...>(x): x has no such axis
  layer_norm(g, "a", integers);             // error: layer_norm(g, name, x): x must be floating-point; convert with cast<float>(x)
  tf::layer_norm<-4>(g, "b", x);            // error: layer_norm<axes...>(g, name, x): x has no such axis
  layer_norm(g, "c", columns);              // error: layer_norm<axes...>(g, name, x): the extents of the axes must be numbers, not tf::batch
  tf::group_norm<2>(integers);              // error: group_norm<groups>(x): x must be floating-point; convert with cast<float>(x)
  tf::group_norm<2>(row);                   // error: group_norm<groups>(x): x must have 2 to 7 axes, (N,..,C)
  tf::group_norm<3>(x);                     // error: group_norm<groups>(x): groups must divide the channels of x, its last axis
  tf::group_norm<2>(g, "d", integers);      // error: group_norm<groups>(g, name, x): x must be floating-point; convert with cast<float>(x)
  tf::group_norm<2>(g, "e", row);           // error: group_norm<groups>(g, name, x): x must have 2 to 7 axes, (N,..,C)
  tf::group_norm<2>(g, "f", columns);       // error: group_norm<groups>(g, name, x): groups must divide the channels of x, its last axis
  instance_norm(integers);                  // error: instance_norm(x): x must be floating-point; convert with cast<float>(x)
  instance_norm(row);                       // error: instance_norm(x): x must have axes between its first and its last, (N,H,W,C)
  instance_norm(g, "h", integers);          // error: instance_norm(g, name, x): x must be floating-point; convert with cast<float>(x)
  instance_norm(g, "i", row);               // error: instance_norm(g, name, x): x must have axes between its first and its last, (N,H,W,C)
  instance_norm(g, "j", columns);           // error: instance_norm(g, name, x): the last axis of x must be a number, not tf::batch
  attention(x, x, row);                     // error: attention(q, k, v): q, k and v must have two axes or more, (..,T,D), (..,S,D) and (..,S,E)
  attention(x, wide, x);                    // error: attention(q, k, v): the element types must be equal and floating
  attention(x, keys, x);                    // error: attention(q, k, v): the last axes of q and k must be equal, and a number
  attention(x, x, values);                  // error: attention(q, k, v): k and v must have as many rows, (..,S,D) and (..,S,E)
  attention(x, other, other);               // error: attention(q, k, v): the axes in front of the last two must be equal, or 1
  attention(x, x, x, integers);             // error: attention(q, k, v, mask): the mask must be boolean, or of the element type of q
  attention(x, x, x, mask);                 // error: attention(q, k, v, mask): the mask must broadcast to (..,T,S)
  tf::multi_head_attention<2>(g, "k", integers);  // error: multi_head_attention<heads>(g, name, x): x must be floating-point; convert with cast<float>(x)
  tf::multi_head_attention<2>(g, "l", row);       // error: multi_head_attention<heads>(g, name, x): x must be (B,T,C)
  tf::multi_head_attention<3>(g, "m", x);         // error: multi_head_attention<heads>(g, name, x): heads must divide the channels of x, its last axis
  tf::multi_head_attention<2>(g, "n", square);    // error: multi_head_attention<heads>(g, name, x): the first two axes of x must not be multiples of the same symbol
  tf::multi_head_attention<2>(g, "o", x, integers);  // error: multi_head_attention<heads>(g, name, x, mask): the mask must be boolean, or of the element type of x
  tf::multi_head_attention<2>(g, "p", x, mask);      // error: multi_head_attention<heads>(g, name, x, mask): the mask must broadcast to (B,heads,T,T)
  // clang-format on
#endif
}
