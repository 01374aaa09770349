// SPDX-License-Identifier: Apache-2.0

// A value from outside in an iteration, without an Enter.

// expect: the edge from Placeholder
// expect: crosses frames
// expect: enter_constant

#include "typeflow/primitives.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;
namespace p = tf::primitives;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float>(g, "x");
  auto frame = p::frame(g);
  auto state = p::merge(p::enter(x, frame));
  auto [last, now] = p::switch_(state, p::loop_cond(less(state, 100.0f)));
#ifdef CORRECTED
  auto factor = p::enter_constant(x, frame);
#else
  auto factor = x;
#endif
  p::connect(state, p::next_iteration(now * factor));
  p::exit(last).named("y");
}

void use(tf::Variables& variables) {
  tf::Session<model> session(variables);  // error here
  session.run<"y">(tf::feed<"x">(1.0f));
}
