// SPDX-License-Identifier: Apache-2.0

// A model that is no constexpr function.

// expect: Session<model>: the compiler can't run the model: it must be constexpr

#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

#ifdef CORRECTED
constexpr
#endif
    void
    model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 4>(g, "x");
  mean(x).named("loss");
}

void use(tf::Variables& variables, const std::vector<float>& x) {
  tf::Session<model> session(variables);  // error here
  session.run<"loss">(tf::feed<"x">(x));
}
