// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/check_kernels.ipp"
#include "support/check_values.hpp"

namespace test {

TYPEFLOW_TEST_DEFINITION void check_interpreter(const tf::ir::Graph& graph,
                                                const tf::HostTensors& feeds,
                                                const Outcome& expected, double tolerance) {
  std::vector<std::string> names;
  for (const auto& [name, value] : expected) names.push_back(name);
  tf::Interpreter interpreter(graph);
  const std::vector<tf::HostTensor> got = interpreter.run(names, feeds);
  std::size_t i = 0;
  for (const auto& [name, value] : expected) check_close(name, got[i++], value, tolerance);
}

TYPEFLOW_TEST_DEFINITION void check_values(const TestedModel& model, const tf::HostTensors& feeds,
                                           const Outcome& expected, double tolerance) {
  tf::Graph graph;
  model.trace(graph);
  REQUIRE(tf::ir::verify(graph).view() == "");
  {
    INFO("interpreted");
    check_interpreter(graph, feeds, expected, tolerance);
  }
  const Outcome got = model.compiled(1)->run(feeds);
  {
    INFO("kernels");
    for (const auto& [name, value] : expected) {
      INFO(name);
      REQUIRE(got.count(name) == 1);
      check_close(name, got.at(name), value, tolerance);
    }
  }
  check_parts(model, feeds);
  check_allocations(model, feeds);
}

}  // namespace test
