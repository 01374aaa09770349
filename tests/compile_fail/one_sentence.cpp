// SPDX-License-Identifier: Apache-2.0

// A mistake of shapes in a whole program: nothing that follows from it is told as another one.

// expect: matmul(a, b): the columns of a must equal the rows of b
// expect: Shape<785, 10>
// never: internal error
// never: no tensor
// never: does not fit the model
// never: softmax_cross_entropy
// never: incomplete type
// never: constant expression
// never: no member

#include <vector>

#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 784>(g, "x");
  auto y = tf::placeholder<float, tf::batch, 10>(g, "y");
#ifdef CORRECTED
  auto W = tf::variable<float, 784, 10>(g, "W", tf::zeros());
#else
  auto W = tf::variable<float, 785, 10>(g, "W", tf::zeros());
#endif
  auto b = tf::variable<float, 10>(g, "b", tf::zeros());
  auto logits = (matmul(x, W) + b).named("logits");  // error here
  auto loss = mean(softmax_cross_entropy(logits, y)).named("loss");
  tf::GradientDescent{.rate = 0.5f}.minimize(loss).named("train");
}

float use(tf::Variables& variables, const std::vector<float>& x, const std::vector<float>& y) {
  tf::Session<model> session(variables);
  session.run<"train">(tf::feed<"x">(x), tf::feed<"y">(y));
  const auto logits = session.run<"logits">(tf::feed<"x">(x));
  const auto [loss, again] = session.run<"loss", "logits">(tf::feed<"x">(x), tf::feed<"y">(y));
  const float first = again(0, 1);
  return loss > 0.0f ? first : logits(0, 1);
}

float use_elsewhere(tf::Variables& variables, const std::vector<float>& x) {
  tf::Session<model> session(variables);
  return session.run<"logits">(tf::feed<"x">(x))(0, 0);
}
