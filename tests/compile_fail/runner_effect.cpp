// SPDX-License-Identifier: Apache-2.0

// A runner whose output is an effect.

// expect: one of these outputs is an effect

#include "typeflow/make_runner.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto w = tf::variable<float, 2>(g, "w", tf::ones());
  assign(w, w + 1).named("more");
  (w * 2).named("twice");
}

tf::Runner make(tf::Variables& variables) {
  using Session = tf::Session<model, tf::inference>;
#ifdef CORRECTED
  return tf::runner<Session, "twice">(variables);
#else
  return tf::runner<Session, "more">(variables);  // error here
#endif
}
