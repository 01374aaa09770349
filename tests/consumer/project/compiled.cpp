// SPDX-License-Identifier: Apache-2.0

// A program that compiles once what is no template, with the header precompiled: the sources and
// the macros come with the targets. Its variables go to a file, the argument, and come back.

#include <cmath>
#include <cstdio>
#include <vector>

#include <typeflow/saving.hpp>
#include <typeflow/typeflow.hpp>

#if !defined(TYPEFLOW_COMPILED) || !defined(TYPEFLOW_COMPILED_SAVING)
#error "typeflow::compiled must have headers declare alone, those of the linked wings, too"
#endif
#if defined(TYPEFLOW_COMPILED_DATA)
#error "typeflow::data is not linked"
#endif

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 1>(g, "x");
  auto w = tf::variable<float, 1, 1>(g, "w", tf::filled(2.0));
  mean(square(matmul(x, w))).named("loss");
}

// a * b + c must round twice, whatever the processor: a * b is 1 - 2^-46, which rounds to 1.
bool is_contracted() {
  volatile float a = 1 + 0x1p-23f;
  volatile float b = 1 - 0x1p-23f;
  volatile float c = -1;
  const float x = a, y = b, z = c;
  return x * y + z != 0;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  tf::Variables made;
  {
    tf::Session<model> makes_variables(made);
  }
  save(made, argv[1]);
  tf::Variables variables;
  load(variables, argv[1]);
  tf::Session<model> session(variables);
  const float loss = session.run<"loss">(tf::feed<"x">(std::vector<float>{1, 0.5f, -1, 0}));
  if (!(std::abs(loss - 2.25f) < 1e-6f)) {
    std::printf("the loss is %g instead of 2.25\n", static_cast<double>(loss));
    return 1;
  }
  if (is_contracted()) {
    std::puts("a * b + c is a fused multiply-add");
    return 1;
  }
  return 0;
}
