// SPDX-License-Identifier: Apache-2.0

#include "model.hpp"

namespace {
struct Here;
}  // namespace

isas::Result isas::run_wide(isas::tf::Variables& variables, const std::vector<float>& x) {
  return run<Here>(variables, x);
}
