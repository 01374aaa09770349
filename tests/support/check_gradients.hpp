// SPDX-License-Identifier: Apache-2.0
#pragma once

// Gradients against central differences, in double, both computed by the interpreter.

#include <doctest/doctest.h>

#include "host_tensors.hpp"
#include "typeflow/testing.hpp"

namespace test {

/// Where inputs are drawn from. None is closer than 0.05 to 0, where relu and abs have a kink.
struct Range {
  double low = -2;
  double high = 2;
};

/// Checks the gradients of f(x...) for each of its inputs, tensors of double of the shapes S.
template <class... S, class F>
void check_gradients(const F& f, Range range = {}, double tolerance = 1e-7) {
  const tf::testing::GradientCheck check =
      tf::testing::check_gradients<S...>(f, {.low = range.low, .high = range.high});
  INFO(check.worst);
  CHECK(check.largest_error <= tolerance);
}

}  // namespace test
