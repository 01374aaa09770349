// SPDX-License-Identifier: Apache-2.0

// A Merge of what two Switches by different predicates give.

// expect: the edge from Switch
// expect: (primitives_predicates.cpp:23)
// expect: to Merge
// expect: depends on another predicate

#include "typeflow/primitives.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;
namespace p = tf::primitives;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float>(g, "x");
  auto large = greater(x, 1.0f);
  auto [no, yes] = p::switch_(x, greater(x, 0.0f));
#ifdef CORRECTED
  auto other = yes;
#else
  auto other = p::switch_(x, large).on_true;
#endif
  p::merge(no, other).named("y");
}

void use(tf::Variables& variables) {
  tf::Session<model> session(variables);  // error here
  session.run<"y">(tf::feed<"x">(1.0f));
}
