// SPDX-License-Identifier: Apache-2.0

// Linear algebra: LAPACK comes with the target.

#include <cmath>
#include <cstdio>
#include <vector>

#include <typeflow/linalg.hpp>
#include <typeflow/typeflow.hpp>

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto a = tf::placeholder<float, 2, 2>(g, "a");
  auto b = tf::placeholder<float, 2, 1>(g, "b");
  matrix_solve(a, b).named("x");
}

int main() {
  tf::Variables variables;
  tf::Session<model> session(variables);
  const auto x = session.run<"x">(tf::feed<"a">(std::vector<float>{2, 1, 1, 3}),
                                  tf::feed<"b">(std::vector<float>{3, 5}));
  if (std::abs(x(0, 0) - 0.8f) < 1e-6f && std::abs(x(1, 0) - 1.4f) < 1e-6f) return 0;
  std::printf("x is (%g, %g)\n", static_cast<double>(x(0, 0)), static_cast<double>(x(1, 0)));
  return 1;
}
