// SPDX-License-Identifier: Apache-2.0
#pragma once

// What `fuzz --write --cuda` puts its models into: sessions on a pretended GPU, compared with the
// interpreter of graphs and with the processor's kernels.

#include "support/library_on_host.hpp"

#include <cstdint>
#include <cstdio>
#include <iterator>
#include <optional>
#include <string>
#include <type_traits>

#include <typeflow/cuda/atomic_sums.hpp>
#include <typeflow/cuda/bits.hpp>
#include <typeflow/cuda/compression.hpp>
#include <typeflow/cuda/indexing.hpp>
#include <typeflow/cuda/pooling.hpp>

#include "fuzz/compiled.hpp"

namespace fuzz {

/// The target that a model is tried with; its seed chooses.
enum class Trial {
  exact,    ///< our kernels, one GPU
  atomic,   ///< sums at indices that are added atomically
  library,  ///< a library multiplies matrices
  rounded,  ///< operands of products have 16 bits, or those of TF32
  count
};
constexpr Trial trial_of(std::uint64_t seed) {
  return static_cast<Trial>(seed % static_cast<std::uint64_t>(Trial::count));
}
template <std::uint64_t Seed>
constexpr tf::Precision precision = [] {
  constexpr tf::Precision all[] = {tf::Precision::tf32, tf::Precision::bfloat16,
                                   tf::Precision::float16};
  const auto turn = Seed / static_cast<std::uint64_t>(Trial::count) % std::size(all);
  return trial_of(Seed) == Trial::rounded ? all[turn] : tf::Precision::exact;
}();
template <std::uint64_t Seed>
using KernelsOfSeed = std::conditional_t<
    trial_of(Seed) == Trial::atomic, tf::AtomicSums<>,
    std::conditional_t<trial_of(Seed) == Trial::library, test::LibraryKernels, tf::OwnCudaKernels>>;

/// A session of a model on so many GPUs. Without one, the processor's kernels run everything.
template <auto Function, std::uint64_t Seed>
struct GpuSession {
  using Target = test::BasicCudaTargetOnHost<precision<Seed>, KernelsOfSeed<Seed>>;

  explicit GpuSession(int gpus) {
    test::CudaOnHost::get().devices = gpus;
    session.emplace(store, tf::SessionOptions{.seed = 1, .threads = 2, .print = {}});
  }

  tf::Variables store;
  std::optional<tf::Session<Function, tf::training, Target>> session;
};

/// Runs the model of a seed on a GPU, several times, with other orders of threads and of
/// a recorded graph's nodes, and on the processor; `runs(run, i)` makes run i. The seed says what
/// else is tried. Prints what differs from the interpreter of graphs, from the processor, or
/// between runs; returns whether something does.
template <auto Function, std::uint64_t Seed, class Runs>
bool differs_on_gpu(std::uint64_t seed, const Runs& runs) {
  using Session = GpuSession<Function, Seed>;
  constexpr Trial trial = trial_of(Seed);
  Session processor(0);
  Session gpu(1);
  Session again(1);
  // Rounded operands: within 2^-7 of a product, which what follows may enlarge. Of whole numbers
  // any bit may change then, and with it what is compared with them.
  constexpr bool rounds = trial == Trial::rounded;
  constexpr double looseness = rounds ? 50 : 1;
  return differs_by(seed, [&](const Model& model, std::size_t i, const tf::HostTensors& variables,
                              const Outcome& meant) {
    const auto outcome_of = [&](Session& on) {
      return outcome(*on.session, on.store, runs, model, i, variables);
    };
    const Outcome got = outcome_of(gpu);
    std::string wrong;
    if (!rounds || model.numbers != Numbers::exact) {
      wrong = difference(model, model.runs[i], meant, got, false, looseness);
      if (!wrong.empty()) return "GPU: " + wrong;
      wrong = difference(model, model.runs[i], outcome_of(processor), got, false, looseness);
      if (!wrong.empty()) return "GPU and processor: " + wrong;
    }
    for (int k = 0; k < 5 && wrong.empty(); ++k) {  // from the second time on as a graph
      wrong = difference(model, model.runs[i], got, outcome_of(again), trial != Trial::atomic);
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
