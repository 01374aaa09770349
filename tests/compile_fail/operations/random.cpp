// SPDX-License-Identifier: Apache-2.0

// What random tensors refuse.

#include "typeflow/graph.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto n = tf::placeholder<std::int32_t, 3>(g, "n");
  auto scalar = tf::placeholder<float>(g, "scalar");
  tf::random_uniform<float, 3>(g, "right");
#ifndef CORRECTED
  // clang-format off
  tf::random_uniform<std::complex<float>, 3>(g, "a");  // error: random_uniform<T, D...>: T must be floating-point or integer
  tf::random_uniform<bool>(g, "b");                    // error: random_uniform<T, D...>: T must be floating-point or integer
  tf::random_normal<std::int32_t, 3>(g, "c");          // error: random_normal<T, D...>: T must be floating-point
  tf::truncated_normal<std::int32_t>(g, "d");          // error: truncated_normal<T, D...>: T must be floating-point
  bernoulli(n);                                        // error: bernoulli(p): p must be floating-point; convert with cast<float>(p)
  categorical(n);                                      // error: categorical(logits): the logits must be floating-point; convert with cast<float>(logits)
  tf::categorical<3>(scalar);                          // error: categorical(logits): the logits must have an axis, the classes
  // clang-format on
#endif
}
