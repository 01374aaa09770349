// SPDX-License-Identifier: Apache-2.0

// Two libraries for different instruction sets in one program, each with what is no template
// compiled once, and this file without: none runs the code of another.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "compiled.hpp"

namespace tf = typeflow;

namespace {

std::vector<float> values() {
  std::vector<float> x(7 * 20);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  return x;
}

}  // namespace

TEST_CASE("libraries for different instruction sets keep their own compiled code") {
  tf::Variables variables;
  const isas::CompiledResult baseline = isas::step_baseline(variables, values());
  CHECK(baseline.arch == "sse2");
  CHECK(std::isfinite(baseline.loss));
#ifdef TYPEFLOW_RUN_WIDE
  tf::Variables others;
  const isas::CompiledResult wide = isas::step_wide(others, values());
  CHECK(wide.arch != "sse2");
  CHECK(wide.loss == doctest::Approx(baseline.loss).epsilon(1e-5));
  const float twice = isas::step_baseline(variables, values()).loss;
  CHECK(isas::step_baseline(others, values()).loss == doctest::Approx(twice).epsilon(1e-5));
#else
  std::puts("skipped: this processor has no AVX2 to run the other library");
#endif
}

TEST_CASE("an error of a library with compiled code is caught by a file without") {
  const auto refused = [](isas::CompiledResult (*step)(tf::Variables&, const std::vector<float>&)) {
    tf::Variables variables;
    try {
      step(variables, std::vector<float>(7));
    } catch (const tf::Error& error) {
      return error.expected();
    }
    return std::string("nothing");
  };
  CHECK(refused(isas::step_baseline) == "float [batch, 20]");
#ifdef TYPEFLOW_RUN_WIDE
  CHECK(refused(isas::step_wide) == "float [batch, 20]");
#endif
}
