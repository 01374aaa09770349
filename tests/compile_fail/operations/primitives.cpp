// SPDX-License-Identifier: Apache-2.0

// What primitives of control flow refuse by the types of their arguments.

#include "typeflow/primitives.hpp"
#include "typeflow/graph.hpp"

namespace tf = typeflow;
namespace p = tf::primitives;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 4>(g, "x");
  auto y = tf::placeholder<float, 3>(g, "y");
  auto n = tf::placeholder<std::int32_t>(g, "n");
  auto flag = tf::placeholder<bool>(g, "flag");
  auto flags = tf::placeholder<bool, 4>(g, "flags");
  auto [no, yes] = p::switch_(x, flag);
  p::merge(no, yes).named("right");
  auto state = p::merge(p::enter(x, p::frame(g)));
#ifndef CORRECTED
  // clang-format off
  p::switch_(x, flags);                       // error: switch_(x, predicate): the predicate must be a boolean scalar
  p::switch_(x, n);                           // error: switch_(x, predicate): the predicate must be a boolean scalar
  p::merge(x, y);                             // error: merge(a, b): a and b must have equal element types and shapes
  p::merge(x, tf::cast<double>(x));           // error: merge(a, b): a and b must have equal element types and shapes
  p::merge_with_index(x, y);                  // error: merge_with_index(a, b): a and b must have equal element types and shapes
  p::loop_cond(flags);                        // error: loop_cond(predicate): the predicate must be a boolean scalar
  p::loop_cond(n);                            // error: loop_cond(predicate): the predicate must be a boolean scalar
  p::connect(state, p::next_iteration(y));    // error: connect(state, next): both must have equal element types and shapes
  // clang-format on
#endif
}
