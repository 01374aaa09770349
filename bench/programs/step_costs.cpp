// SPDX-License-Identifier: Apache-2.0

// The steps of the training program of MODEL, one of lstm_model.hpp's, for GPUs. A line for each:
// operations, bytes read and written, whether it is a product, name; separated by tabs.

#include <cstdio>
#include <string>
#include <vector>

#include <typeflow/exec/cost_model.hpp>
#include <typeflow/lower/cost.hpp>

#include "lstm_model.hpp"

int main() {
  using Program = tf::ir::Lowering<MODEL::model, tf::Mode::gpu_first>;
  const std::vector<std::string> names = tf::exec::step_names(Program::view);
  for (int i = 0; i < Program::view.steps.size; ++i) {
    const tf::ir::Step& step = Program::view.steps[i];
    const tf::ir::StepCost cost = tf::ir::cost_of(Program::view, step, MODEL::batch);
    const bool is_product =
        Program::view.kernels[step.kernel].kind == tf::ir::KernelKind::contraction;
    std::printf("%lld\t%lld\t%d\t%s\n", static_cast<long long>(cost.flops),
                static_cast<long long>(cost.bytes), is_product ? 1 : 0,
                names[static_cast<std::size_t>(i)].c_str());
  }
}
