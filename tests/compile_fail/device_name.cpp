// SPDX-License-Identifier: Apache-2.0

// A device's name that is none.

// expect: on(g, name, f)
// expect: (device_name.cpp:19)
// expect: cpu, gpu or * at position 8

#include "typeflow/devices.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, 3>(g, "x");
#ifdef CORRECTED
  tf::on(g, "/device:cpu:0", [&] { return exp(x).named("y"); });
#else
  tf::on(g, "/device:tpu:0", [&] { return exp(x).named("y"); });
#endif
}

void use(tf::Variables& variables) {
  tf::Session<model> session(variables);  // error here
}
