// SPDX-License-Identifier: Apache-2.0
#pragma once

// What `fuzz --write --cuda` puts its models into: sessions on a pretended GPU, compared with the
// interpreter of graphs and with the processor's kernels.

#include "support/cuda_target_on_host.hpp"

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include <typeflow/cuda/bits.hpp>
#include <typeflow/cuda/compression.hpp>
#include <typeflow/cuda/indexing.hpp>
#include <typeflow/cuda/pooling.hpp>

#include "fuzz/compiled.hpp"

namespace fuzz {

/// A session of a model on so many GPUs. Without one, the processor's kernels run everything.
template <auto Function>
struct GpuSession {
  explicit GpuSession(int gpus) {
    test::CudaOnHost::get().devices = gpus;
    session.emplace(store, tf::SessionOptions{.seed = 1, .threads = 2, .print = {}});
  }

  tf::Variables store;
  std::optional<tf::Session<Function, tf::training, test::CudaTargetOnHost>> session;
};

/// Runs the model of a seed on a GPU, several times, with other orders of threads and of a recorded
/// graph's nodes, and on the processor; `runs(run, i)` makes run i. Prints what differs from the
/// interpreter of graphs, from the processor, or between runs; returns whether something does.
template <auto Function, class Runs>
bool differs_on_gpu(std::uint64_t seed, const Runs& runs) {
  GpuSession<Function> processor(0);
  GpuSession<Function> gpu(1);
  GpuSession<Function> again(1);
  return differs_by(seed, [&](const Model& model, std::size_t i, const tf::HostTensors& variables,
                              const Outcome& meant) {
    const auto outcome_of = [&](GpuSession<Function>& on) {
      return outcome(*on.session, on.store, runs, model, i, variables);
    };
    const Outcome got = outcome_of(gpu);
    std::string wrong = difference(model, model.runs[i], meant, got, false);
    if (!wrong.empty()) return "GPU: " + wrong;
    wrong = difference(model, model.runs[i], outcome_of(processor), got, false);
    if (!wrong.empty()) return "GPU and processor: " + wrong;
    for (int k = 0; k < 5 && wrong.empty(); ++k) {  // from the second time on as a graph
      wrong = difference(model, model.runs[i], got, outcome_of(again), true);
      if (!wrong.empty()) wrong = "GPU with other orders, the same run again: " + wrong;
    }
    return wrong;
  });
}

/// Whether the GPU got no kernel. Prints how many it got.
inline bool nothing_was_launched() {
  const int launches = test::CudaOnHost::get().launches;
  std::printf("%d kernels were launched\n", launches);
  return launches == 0;
}

}  // namespace fuzz
