// SPDX-License-Identifier: Apache-2.0

// A runner whose output is a name that the model has not.

// expect: no tensor
// expect: clas
// expect: did you mean

#include "typeflow/make_runner.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 4>(g, "x");
  argmax<1>(x).named("class");
}

tf::Runner make(tf::Variables& variables) {
  using Session = tf::Session<model, tf::inference>;
#ifdef CORRECTED
  return tf::runner<Session, "class">(variables);
#else
  return tf::runner<Session, "clas">(variables);  // error here
#endif
}
