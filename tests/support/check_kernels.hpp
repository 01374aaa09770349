// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs a model's kernels and its interpreter on the same feeds, and compares all that it names.
//
// A file of tests has many models, so what does not depend on one is no template, and is compiled
// once (check_kernels.cpp) for all that link test_compiled.

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <typeflow/interpret/interpret.hpp>
#include <typeflow/typeflow.hpp>

#include "support/host_tensors.hpp"
#include "support/tested_on_gpu.hpp"

namespace test {

/// Values, effects' variables included, by name.
using Outcome = std::map<std::string, tf::HostTensor>;

/// The same as bytes: quicker to compare where only equality is asked for.
using Bits = std::map<std::string, std::vector<std::byte>>;

/// A tensor's elements as an array of its own type.
std::vector<std::byte> to_bytes(const tf::HostTensor& tensor);
tf::HostTensor from_bytes(tf::DType type, const tf::Dims& shape, const void* data);

/// Random feeds for all placeholders: floats in [low, high), integers in [0, 10), both truth
/// values.
tf::HostTensors random_feeds(const tf::ir::ProgramView& program, std::int64_t batch,
                             std::uint64_t seed, double low = -2, double high = 2);

/// A compiled program with its variables, on a target.
class ProgramRuns {
 public:
  tf::Variables variables;
  tf::Variables states;
  tf::Engine engine;

  /// `program` outlives it.
  ProgramRuns(const tf::ir::ProgramView& program, const tf::TargetView& target, tf::Mode mode);
  virtual ~ProgramRuns() = default;

  static tf::EngineOptions options(tf::Mode mode = tf::training);

  /// Runs every step; fetches every named value that has memory, and the variables afterwards.
  Outcome run(const tf::HostTensors& feeds);
  Bits bits(const tf::HostTensors& feeds);
  /// Runs every step twice, each time from the same values of variables. How often the second time
  /// allocates.
  long allocations_of_second(const tf::HostTensors& feeds);
  tf::HostTensors values();

 private:
  void add_variables(Outcome& out);

  const tf::ir::ProgramView& program_;
};

// The target whose kernels are tested. (tests/unit/cuda runs the same tests on those of GPUs.)
#ifdef TYPEFLOW_TEST_TARGET
using KernelTarget = TYPEFLOW_TEST_TARGET;
#else
using KernelTarget = tf::CpuTarget<>;
#endif

/// A target whose kernels get another stream; null: their own.
class OnStream {
 public:
  explicit OnStream(tf::Stream* stream) : stream_(stream) {}
  tf::TargetView of(tf::TargetView target);

 private:
  tf::Stream* stream_;
  tf::MachineDevice device_{};
};

/// The target comes into being before the program's engine, and ends after it.
template <class Target>
struct HoldsTarget {
  Target target;
  OnStream on_stream;
};

template <auto Model, tf::Mode M = tf::training, class Target = KernelTarget>
struct Kernels : HoldsTarget<Target>, ProgramRuns {
  using Program = tf::ir::Lowering<Model, M | tf::detail::placing<Target>>;
  static_assert(Program::error.empty());

  explicit Kernels(int thread_count = 1, tf::Stream* stream = nullptr)
      : HoldsTarget<Target>{Target(tf::TargetOptions{.threads = thread_count}), OnStream(stream)},
        ProgramRuns(Program::view, this->on_stream.of(tf::detail::view_of<Program>(this->target)),
                    M) {
    if constexpr (tf::PrefersGpus<Target>) REQUIRE(is_tested<Program, Target>);
  }
};

/// A model, as the checks below take it.
struct TestedModel {
  void (*trace)(tf::Graph& graph);
  tf::Mode mode;
  std::unique_ptr<ProgramRuns> (*kernels)(int threads, tf::Stream* stream);
  const tf::ir::ProgramView* program;
  bool is_on_gpu;

  std::unique_ptr<ProgramRuns> compiled(int threads) const { return kernels(threads, nullptr); }
  /// The stream outlives it.
  std::unique_ptr<ProgramRuns> compiled(tf::Stream& stream) const { return kernels(1, &stream); }
};
template <auto Model, tf::Mode M = tf::training>
TestedModel tested() {
  using Compiled = Kernels<Model, M>;
  return {[](tf::Graph& graph) { Model(graph); }, M,
          [](int threads, tf::Stream* stream) -> std::unique_ptr<ProgramRuns> {
            return std::make_unique<Compiled>(threads, stream);
          },
          &Compiled::Program::view, tf::PrefersGpus<KernelTarget>};
}

/// Whether a and b are equal, or close for floating elements: relative to the largest element.
void check_close(const std::string& name, const tf::HostTensor& a, const tf::HostTensor& b,
                 double tolerance);
void check_equal_bits(const std::string& name, const tf::HostTensor& a, const tf::HostTensor& b);
void check_equal_bits(const Outcome& a, const Outcome& b);
void check_equal_bits(const Bits& a, const Bits& b);

/// Checks that a model has the same bits however its loops are divided, and on two threads that
/// share every loop.
void check_parts(const TestedModel& model, const tf::HostTensors& feeds);

/// Checks that a model's second run with the same feeds allocates nothing, with one thread and with
/// two that share every loop.
void check_allocations(const TestedModel& model, const tf::HostTensors& feeds);
template <auto Model, tf::Mode M = tf::training>
void check_allocations(const tf::HostTensors& feeds) {
  check_allocations(tested<Model, M>(), feeds);
}

/// The same for the placeholders of a model.
template <auto Model>
tf::HostTensors random_feeds(std::int64_t batch = 1, std::uint64_t seed = 1, double low = -2,
                             double high = 2) {
  return random_feeds(Kernels<Model>::Program::view, batch, seed, low, high);
}

/// Compares a model's kernels with the interpreter: values, and variables after all effects.
void check_against_interpreter(const TestedModel& model, std::int64_t batch, double tolerance,
                               int threads);
template <auto Model, tf::Mode M = tf::training>
void check_against_interpreter(std::int64_t batch, double tolerance = 2e-6, int threads = 1) {
  check_against_interpreter(tested<Model, M>(), batch, tolerance, threads);
}

/// Checks that a model has the same bits with 1, 2, 3 and 8 threads, and however its loops are
/// divided (scattered_parts.hpp). Returns how many loops threads share.
int check_threads(const TestedModel& model, const tf::HostTensors& feeds);
int check_threads(const TestedModel& model, std::int64_t batch);
template <auto Model>
int check_threads(std::int64_t batch) {
  return check_threads(tested<Model>(), batch);
}

/// The same, and with the model unfused, which costs the compiler all its kernels again: for tests
/// of fused loops. Of random models the fuzzer compares both.
void check_bits(const TestedModel& fused, const TestedModel& unfused, std::int64_t batch);
template <auto Model>
void check_bits(std::int64_t batch) {
  check_bits(tested<Model>(), tested<Model, tf::debug>(), batch);
}

}  // namespace test

#ifndef TYPEFLOW_COMPILED_TESTING
#include "support/check_kernels.ipp"
#endif
