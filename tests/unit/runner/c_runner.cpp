// SPDX-License-Identifier: Apache-2.0

#include "c_runner.h"

#include <typeflow/runner_c.hpp>

#include "model.hpp"

typeflow_runner* make_test_runner() { return typeflow::make_c_runner(runner_test::make); }
typeflow_runner* make_incomplete_runner() {
  return typeflow::make_c_runner(runner_test::make_incomplete);
}
