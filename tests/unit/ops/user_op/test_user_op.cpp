// SPDX-License-Identifier: Apache-2.0

// A user's operations, used in two translation units of one program.

#include <doctest/doctest.h>

#include <algorithm>

#include "acme.hpp"
#include "support/check_kernels.hpp"

namespace tf = typeflow;

TEST_CASE("a user's operations agree with the interpreter") {
  for (const std::int64_t batch : {1, 7, 100}) {
    test::check_against_interpreter<acme::model>(batch, 1e-5);
    test::check_bits<acme::model>(batch);
  }
}

TEST_CASE("a user's operations work in two translation units, on one store") {
  tf::Variables variables;
  const std::vector<float> x = {1, -2, 0.5f, 3};
  const auto loss = [&](float w) {
    std::vector<double> y;
    for (const double e : x) y.push_back(e * w / (1 + std::exp(-1.5 * e * w)));
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += y[x.size() - 1 - i] * x[i];
    return sum;
  };
  CHECK(acme::first(variables, x) == doctest::Approx(loss(1)));
  const float w = variables.get<float>("w")[0];
  const double slope = (loss(1.001f) - loss(0.999f)) / 0.002;
  CHECK(w == doctest::Approx(1 - 0.01 * slope).epsilon(1e-3));
  CHECK(acme::second(variables, x) == doctest::Approx(loss(w)));
}
