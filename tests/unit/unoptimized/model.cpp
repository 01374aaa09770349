// SPDX-License-Identifier: Apache-2.0

// Kernels of all kinds, to be compiled without optimisation.

#include <vector>

#include <typeflow/typeflow.hpp>

namespace tf = typeflow;

namespace {

constexpr void kernels(auto x) {
  (tf::exp(x) + tf::sin(x) + tf::log(x)).named("y");
  tf::where(tf::greater(x, 0), x, -x).named("magnitudes");
  tf::matmul<tf::transpose_a>(x, x).named("products");
  tf::cast<std::int32_t>(x).named("integers");
}

constexpr void floats(tf::Graph& g) { kernels(tf::placeholder<float, tf::batch, 20>(g, "x")); }
constexpr void doubles(tf::Graph& g) { kernels(tf::placeholder<double, tf::batch, 20>(g, "x")); }

}  // namespace

int main() {
  tf::Variables variables;
  tf::Session<floats> single(variables);
  tf::Session<doubles> twice(variables);
  const auto a = single.run<"magnitudes">(tf::feed<"x">(std::vector<float>(40, -1.5f)));
  const auto b = twice.run<"magnitudes">(tf::feed<"x">(std::vector<double>(40, -1.5)));
  return a(1, 19) == 1.5f && b(1, 19) == 1.5 ? 0 : 1;
}
