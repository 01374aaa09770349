// SPDX-License-Identifier: Apache-2.0

// A loop whose state has no next value.

// expect: Merge
// expect: without a back
// expect: connect(state

#include "typeflow/primitives.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;
namespace p = tf::primitives;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float>(g, "x");
  auto frame = p::frame(g);
  auto state = p::merge(p::enter(x, frame));
  auto [last, now] = p::switch_(state, p::loop_cond(less(state, 100.0f)));
  auto next = p::next_iteration(now * 2.0f);
#ifdef CORRECTED
  p::connect(state, next);
#endif
  p::exit(last).named("y");
}

void use(tf::Variables& variables) {
  tf::Session<model> session(variables);  // error here
  session.run<"y">(tf::feed<"x">(1.0f));
}
