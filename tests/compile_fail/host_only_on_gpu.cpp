// SPDX-License-Identifier: Apache-2.0

// An operation that needs the host, pinned to a GPU.

// expect: Print: it runs on a CPU
// expect: and is pinned to /gpu:0

#include "typeflow/devices.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 3>(g, "x");
#ifdef CORRECTED
  print(x, "shown");
#else
  tf::on<tf::Gpu<0>>(g, [&] { return print(x, "shown"); });
#endif
}

void use(tf::Variables& variables) {
  tf::Session<model> session(variables);  // error here
}
