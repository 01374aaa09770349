// SPDX-License-Identifier: Apache-2.0

// A graph with a branch and a loop that is compiled at run time, by code that is compiled with -O3.

#include <typeflow/control_flow.hpp>
#include <typeflow/interpret/program.hpp>
#include <typeflow/operations.hpp>

namespace tf = typeflow;

int main() {
  tf::Graph g;
  auto x = tf::placeholder<float, 3>(g, "x");
  auto doubled = tf::fori_loop(0, 5, [](auto, auto state) { return state + state; }, x);
  auto total = tf::sum(doubled);
  tf::cond(tf::greater(total, 0), [&] { return doubled; }, [&] { return -doubled; }).named("y");
  tf::ir::ProgramInterpreter program(g);
  const float given[] = {1, -2, -3};
  tf::HostTensor fed = tf::host_tensor(tf::DType::float32, tf::Dims{1, {3}});
  for (int i = 0; i < 3; ++i) fed.set(i, given[i]);
  const tf::HostTensor y = program.run({"y"}, {{"x", fed}})[0];
  for (int i = 0; i < 3; ++i) {
    if (y.value(i) != -32 * given[i]) return 1;
  }
  return 0;
}
