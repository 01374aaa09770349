// SPDX-License-Identifier: Apache-2.0
#pragma once

// What `fuzz --write --cuda` puts its models into: sessions on pretended GPUs, compared with the
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
#include <typeflow/devices.hpp>

#include "fuzz/compiled.hpp"

namespace fuzz {

/// What is tried with a model, by the number of its seed.
enum class Trial {
  exact,     ///< our kernels, one GPU
  two_gpus,  ///< operations are pinned to one of two GPUs
  atomic,    ///< sums at indices that are added atomically
  library,   ///< a library multiplies matrices
  rounded,   ///< operands of products have 16 bits, or those of TF32
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

/// Pins about two thirds of the operations that only compute to one of two GPUs. (The others run
/// where their inputs are.)
template <auto Function, std::uint64_t Seed>
constexpr void on_two_gpus(tf::Graph& g) {
  Function(g);
  tf::ir::Graph& graph = g;
  for (tf::Id id = 0; id < graph.nodes.size(); ++id) {
    tf::ir::Node& node = graph.nodes[id];
    const tf::Kind kind = node.op->kind;
    const bool computes = kind == tf::Kind::elementwise || kind == tf::Kind::reduction ||
                          kind == tf::Kind::contraction;
    const auto hash = (Seed + static_cast<std::uint64_t>(id)) * 0x9E3779B97F4A7C15ull >> 60;
    const bool is_free = node.region == 0 && node.device.kind == tf::DeviceKind::any;
    if (computes && is_free && !is_host_only(graph, node) && hash < 10) {
      node.device = tf::gpu(static_cast<int>(hash % 2));
    }
  }
}
template <auto Function, std::uint64_t Seed>
constexpr auto model_on_gpus() {
  if constexpr (trial_of(Seed) == Trial::two_gpus) {
    return &on_two_gpus<Function, Seed>;
  } else {
    return Function;
  }
}

/// A session of a model on so many GPUs. Without one, the processor's kernels run everything.
template <auto Function, std::uint64_t Seed>
struct GpuSession {
  using Target = test::BasicCudaTargetOnHost<precision<Seed>, KernelsOfSeed<Seed>>;

  explicit GpuSession(int gpus) {
    test::CudaOnHost::get().devices = gpus;
    // The processor computes what is pinned to a GPU that has no kernel for it.
    session.emplace(
        store, tf::SessionOptions{.seed = 1, .threads = 2, .soft_placement = true, .print = {}});
  }

  tf::Variables store;
  std::optional<tf::Session<model_on_gpus<Function, Seed>(), tf::training, Target>> session;
};

/// Runs the model of a seed on one or two GPUs, several times, with other orders of threads and of
/// a recorded graph's nodes, and on the processor; `runs(run, i)` makes run i. The seed says what
/// else is tried. Prints what differs from the interpreter of graphs, from the processor, or
/// between runs; returns whether something does.
template <auto Function, std::uint64_t Seed, class Runs>
bool differs_on_gpu(std::uint64_t seed, const Runs& runs) {
  using Session = GpuSession<Function, Seed>;
  constexpr Trial trial = trial_of(Seed);
  constexpr int gpus = trial == Trial::two_gpus ? 2 : 1;
  Session processor(0);
  Session gpu(gpus);
  Session again(gpus);
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

/// Whether the GPUs got no kernel. Prints how many they got.
inline bool nothing_was_launched() {
  const int launches = test::CudaOnHost::get().launches;
  std::printf("%d kernels were launched, %d tensors went to another GPU\n", launches,
              test::CudaOnHost::get().peer_copies.load());
  return launches == 0;
}

}  // namespace fuzz
