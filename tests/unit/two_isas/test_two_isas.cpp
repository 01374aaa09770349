// SPDX-License-Identifier: Apache-2.0

// One model in two translation units that are compiled for different instruction sets.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "model.hpp"

TEST_CASE("translation units for different instruction sets keep their own kernels") {
  std::vector<float> x(7 * 20);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  const isas::Result baseline = isas::run_baseline(x);
  CHECK(std::string(baseline.arch) == "sse2");
#ifdef TYPEFLOW_RUN_WIDE
  const isas::Result wide = isas::run_wide(x);
  CHECK(std::string(wide.arch) != "sse2");
  CHECK(wide.loss == doctest::Approx(baseline.loss).epsilon(1e-5));
#else
  std::puts("skipped: this processor has no AVX2 to run the other unit");
#endif
}
