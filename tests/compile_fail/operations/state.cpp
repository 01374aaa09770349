// SPDX-License-Identifier: Apache-2.0

// What sources of tensors, assignments and gradients refuse.

#include "typeflow/derivatives.hpp"
#include "typeflow/graph.hpp"
#include "typeflow/hessians.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto v = tf::variable<float, 2, 3>(g, "v");
  auto n = tf::variable<std::int32_t, 3>(g, "n", tf::zeros());
  auto pair = tf::placeholder<float, 2>(g, "pair");
  auto wide = tf::placeholder<double, 3>(g, "wide");
  auto deep = tf::placeholder<float, 1, 1, 1, 1, 2>(g, "deep");
  auto loss = sum(v);
  [[maybe_unused]] const double rate = 2;
  assign(v, 1).named("right");
  check(less(v, 1), "{}", v).named("small");
  gradients(loss, v).named("dv");
#ifndef CORRECTED
  // clang-format off
  tf::variable<float, tf::batch, 3>(g, "a");        // error: variable<T, D...>: the extents of a variable must be numbers, not tf::batch
  tf::fresh_variable<float, tf::batch, 3>(g, "b");  // error: fresh_variable<T, D...>: the extents must be numbers, not tf::batch
  tf::state<float, 4 * tf::batch>(g, "c");          // error: state<T, D...>: the extents of a state must be numbers, not tf::batch
  tf::constant<float, 2, 2>(g, {1, 2, 3});          // error: constant<T, D...>(g, {...}): as many numbers are needed as the shape has elements
  assign(v, pair);                                  // error: assign(variable, value): the value must have the variable's element type and broadcast to its shape
  assign(v, wide);                                  // error: assign(variable, value): the value must have the variable's element type and broadcast to its shape
  assign(n, 0.5f);                                  // error: assign(variable, value): the value must have the variable's element type and broadcast to its shape
  assign_add(v, pair);                              // error: assign_add(variable, value): the value must have the variable's element type and broadcast to its shape
  assign_sub(v, wide);                              // error: assign_sub(variable, value): the value must have the variable's element type and broadcast to its shape
  assign_mul(n, 0.5);                               // error: assign_mul(variable, value): the value must have the variable's element type and broadcast to its shape
  check(v, "v is {}", v);                           // error: check(condition, text, x...): the condition must be a tensor of booleans, as less(a, b) and is_finite(x) are
  check(less(v, 1), "{} of {}", v, 3);              // error: check(condition, text, x...): what the text shows must be tensors
  gradients(v, v);                                  // error: gradients(y, x): y must be a scalar; for other shapes give its gradient, gradients(y, grad_ys(dy), x)
  gradients(sum(n), n);                             // error: gradients(y, x): y and x must be floating-point
  gradients(v, tf::grad_ys(pair), v);               // error: gradients(y, grad_ys(dy), x): dy must have the element type and shape of y
  gradients(tf::ys(v, loss), v);                    // error: gradients(ys(y...), x): the ys must be scalars; for other shapes give their gradients, gradients(ys(y...), grad_ys(dy...), x)
  gradients(tf::ys(v, loss), tf::grad_ys(v), v);    // error: gradients(ys(y...), grad_ys(dy...), x): as many dys are needed as ys, each with the element type and shape of its y
  gradients(pair, g.trainable());                   // error: gradients(y, variables): y must be a scalar
  gradients(pair);                                  // error: gradients(y): y must be a scalar
  gradients_or_zero(pair, v);                       // error: gradients_or_zero(y, x): y must be a scalar
  gradients_or_zero(sum(n), v);                     // error: gradients_or_zero(y, x): y and x must be floating-point
  jvp(v, v, pair);                                  // error: jvp(y, x, v): v must have the element type and shape of x
  jvp(sum(n), n, n);                                // error: jvp(y, x, v): y and x must be of floating-point type
  jvp(v, tf::xs(v, pair), tf::tangents(v));         // error: jvp(y, xs(x...), tangents(v...)): as many tangents are needed as xs, each with the element type and shape of its x
  hvp(v, v, v);                                     // error: hvp(y, x, v): y must be a scalar
  hvp(loss, v, pair);                               // error: hvp(y, x, v): v must have the element type and shape of x
  tf::custom_gradient([](auto x) { return exp(x); }, [&](auto, auto, auto dy) { return rate * dy; }, v);  // error: custom_gradient(f, rule, x...): the rule must not capture; give it what it needs as an x
  hessians(v, v);                                   // error: hessians(y, x...): y must be a scalar
  hessians(sum(n), n);                              // error: hessians(y, x...): y and x must be floating-point
  hessians(sum(deep), deep);                        // error: hessians(y, x...): x must have at most half of tf::max_rank axes, and tf::batch in one of them at most
  // clang-format on
#endif
}
