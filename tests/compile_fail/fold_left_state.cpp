// SPDX-License-Identifier: Apache-2.0

// A state that grows: said in the words of the function that was called, not of what it is made of.

// expect: fold_left(f, init, xs): f must give a state of the structure
// never: scan(f, init, xs)
// never: constant expression

#include "typeflow/control_flow.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 4>(g, "x");
  auto xs = tf::placeholder<float, 3, 4>(g, "xs");
#ifdef CORRECTED
  tf::fold_left([](auto s, auto v) { return s + v; }, x, xs).named("last");
#else
  tf::fold_left([](auto s, auto v) { return tf::concat<0>(s, v); }, x, xs);  // error here
#endif
}
