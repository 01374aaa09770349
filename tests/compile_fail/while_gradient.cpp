// SPDX-License-Identifier: Apache-2.0

// The gradient of a loop needs memory for its iterations: how many may there be?

// expect: loop without a bound on its
// expect: bounds): give {.max_iterations

#include "typeflow/control_flow.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

#ifdef CORRECTED
inline constexpr tf::WhileOptions options{.max_iterations = 20};
#else
inline constexpr tf::WhileOptions options{};
#endif

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float>(g, "x");
  auto y = tf::while_loop([](auto v) { return tf::less(v, 100.0f); },
                          [](auto v) { return v * 2.0f; }, x, options);
  gradients(y, x).named("dx");
}

void use() {
  tf::Variables variables;
  tf::Session<model> session(variables);  // error here
  session.run<"dx">(tf::feed<"x">(1.0f));
}
