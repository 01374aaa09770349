// SPDX-License-Identifier: Apache-2.0

// One model in two translation units that are compiled for different instruction sets, and what
// they exchange: the store of variables, and errors.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "model.hpp"

namespace {

std::vector<float> values() {
  std::vector<float> x(7 * 20);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  return x;
}

}  // namespace

TEST_CASE("translation units for different instruction sets keep their own kernels") {
  const std::vector<float> x = values();
  isas::tf::Variables variables;
  const isas::Result baseline = isas::run_baseline(variables, x);
  CHECK(std::string(baseline.arch) == "sse2");
#ifdef TYPEFLOW_RUN_WIDE
  isas::tf::Variables others;
  const isas::Result wide = isas::run_wide(others, x);
  CHECK(std::string(wide.arch) != "sse2");
  CHECK(wide.loss == doctest::Approx(baseline.loss).epsilon(1e-5));
#else
  std::puts("skipped: this processor has no AVX2 to run the other unit");
#endif
}

TEST_CASE("translation units for different instruction sets work on one store") {
  const std::vector<float> x = values();
  isas::tf::Variables variables;
  isas::run_baseline(variables, x);
  const float twice = isas::run_baseline(variables, x).loss;
  CHECK(variables.names() == std::vector<std::string>{"W"});
  CHECK(variables.dims("W").rank == 2);
#ifdef TYPEFLOW_RUN_WIDE
  for (const bool wide_first : {true, false}) {
    isas::tf::Variables shared;
    (wide_first ? isas::run_wide : isas::run_baseline)(shared, x);
    const float both = (wide_first ? isas::run_baseline : isas::run_wide)(shared, x).loss;
    CHECK(both == doctest::Approx(twice).epsilon(1e-5));
    const std::vector<float> ones(600, 1.0f);
    shared.set<float>("W", ones);
    CHECK(shared.get<float>("W")[599] == 1.0f);
  }
#endif
}

TEST_CASE("an error of one translation unit is caught in another, in all its parts") {
  const auto check = [](isas::Result (*run)(isas::tf::Variables&, const std::vector<float>&)) {
    isas::tf::Variables variables;
    bool caught = false;
    try {
      run(variables, std::vector<float>(7));
    } catch (const isas::tf::Error& error) {
      caught = true;
      CHECK(error.operation() == "feed \"x\"");
      CHECK(error.expected() == "float [batch, 20]");
      CHECK(error.given() == "float, 7 elements");
      const isas::tf::Error copy = error;
      CHECK(std::string(copy.what()) ==
            "feed \"x\": expected float [batch, 20], got float, 7 elements");
      CHECK(copy.given() == error.given());
    }
    CHECK(caught);
  };
  check(isas::run_baseline);
#ifdef TYPEFLOW_RUN_WIDE
  check(isas::run_wide);
#endif
  const isas::tf::Error sentence("a thing", "is wrong");
  CHECK(std::string(sentence.what()) == "a thing: is wrong");
  CHECK(sentence.operation() == "a thing");
  CHECK(sentence.expected().empty());
  CHECK(sentence.given().empty());
  CHECK(isas::tf::Error("wrong").operation().empty());
}
