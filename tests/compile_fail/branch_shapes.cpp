// SPDX-License-Identifier: Apache-2.0

// A branch of another shape, deep in the body of a loop.

// expect: cond(predicate, yes, no): both branches must give the same structure
// never: scan(f, init, xs)
// never: constant expression

#include "typeflow/control_flow.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 4>(g, "x");
  auto xs = tf::placeholder<float, 3, 4>(g, "xs");
  const auto step = [&](auto s, auto v) {
    const auto same = [&] { return s; };
#ifdef CORRECTED
    const auto other = [&] { return v * 2.0f; };
#else
    const auto other = [&] { return tf::sum(v); };
#endif
    auto next = tf::cond(tf::less(tf::sum(v), 0.0f), same, other);  // error here
    return std::pair(s, next);
  };
  auto [last, all] = tf::scan(step, x, xs);
  last.named("last");
  all.named("all");
}
