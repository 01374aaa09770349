// SPDX-License-Identifier: Apache-2.0

// What the script compile_time compiles: a residual chain of BLOCKS blocks and one training step;
// with FETCH_SETS=4 runs of three more sets of fetches. Given an argument, it prints the
// program's size instead of running it.

#include <cstdio>
#include <vector>

#include "../residual_chain.hpp"

#ifndef FETCH_SETS
#define FETCH_SETS 1
#endif
static_assert(FETCH_SETS == 1 || FETCH_SETS == 4);

namespace tf = typeflow;

inline constexpr auto model = bench::residual_chain<BLOCKS>;

int main(int argc, char**) {
  if (argc > 1) {
    using Program = tf::ir::Lowering<model>;
    std::printf("nodes=%d steps=%d kernels=%d\n", Program::node_count, Program::view.steps.size,
                Program::kernel_count);
    return 0;
  }
  tf::Variables variables;
  tf::Session<model> session(variables, {.seed = 1, .threads = 1});
  const std::vector<float> x(bench::rows * bench::width, 0.5f);
  float loss = session.run<"loss", "train">(tf::feed<"x">(x));
#if FETCH_SETS == 4
  session.run<"train">(tf::feed<"x">(x));
  loss += session.run<"loss">(tf::feed<"x">(x));
  loss += session.run<"middle">(tf::feed<"x">(x))(0, 0);
#endif
  std::printf("loss %g\n", static_cast<double>(loss));
}
