// SPDX-License-Identifier: Apache-2.0

// A mistake inside of a layer, a template with a declared type, of a model with settings: g++
// comes to it from the evaluation of the model.

// expect: matmul(a, b): the columns of a must equal the rows of b

#include "typeflow/typeflow.hpp"
namespace tf = typeflow;
struct Config {
  int inputs = 784;
  int hidden = 300;
};
template <int Out>
constexpr tf::Expr<float, tf::Shape<tf::batch, Out>> layer(tf::Graph& g, tf::Label name, auto x) {
  tf::Scope in(g, name);
#ifdef CORRECTED
  auto W = tf::variable<float, 784, Out>(g, "W");
#else
  auto W = tf::variable<float, 785, Out>(g, "W");
#endif
  return matmul(x, W);  // error here
}
template <Config C>
constexpr void mlp(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, C.inputs>(g, "x");
  mean(layer<C.hidden>(g, "fc", x)).named("loss");
}
inline constexpr Config config{};
void use(tf::Variables& variables) { tf::Session<mlp<config>> session(variables); }
