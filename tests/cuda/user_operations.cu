// SPDX-License-Identifier: Apache-2.0

// The model of user_operations.hpp on the default devices of a CudaTarget.

#include "user_operations.hpp"

#include <cmath>
#include <cstdio>
#include <vector>

int main() {
  typeflow::Variables variables;
  typeflow::Session<acme::model, typeflow::training, typeflow::CudaTarget> session(variables);
  std::vector<float> x(10 * 37);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  float first = 0;
  float last = 0;
  for (int i = 0; i < 100; ++i) {
    last = session.run<"train", "loss">(typeflow::feed<"x">(x));
    if (i == 0) first = last;
  }
  std::printf("%s\n", last < first ? "the loss falls" : "the loss does not fall");
  return last < first ? 0 : 1;
}
