// SPDX-License-Identifier: Apache-2.0
#pragma once

// What bench/gpu.cu and bench/gpu_steps.cu share: times of runs on a GPU, printed as
// `case value unit ratio-to-ceiling`.

#include <typeflow/cuda.hpp>
#include <typeflow/typeflow.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <string_view>
#include <utility>

namespace gpu_timing {

namespace tf = typeflow;

/// The case that is wanted; all of them if it is empty.
inline std::string_view wanted;
inline bool is_wanted(std::string_view name) { return wanted.empty() || wanted == name; }

inline void check(cudaError_t error) {
  if (error != cudaSuccess) throw tf::Error("CUDA", cudaGetErrorString(error));
}

/// Seconds of a run: the mean of as many as take `least` seconds, after some to warm up. The GPU
/// has done all when it returns.
template <class Run>
double seconds_of(const Run& run, double least = 0.3) {
  using Clock = std::chrono::steady_clock;
  const auto wait = [] { check(cudaDeviceSynchronize()); };
  for (int i = 0; i < 5; ++i) run();  // the second run records a graph
  wait();
  for (int runs = 2;; runs *= 4) {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < runs; ++i) run();
    wait();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (seconds > least) return seconds / runs;
  }
}

/// Seconds of a run of "run", of a model without feeds.
template <auto Model, class Target = tf::CudaTarget>
double seconds_of_model() {
  tf::Variables variables;
  tf::Session<Model, tf::training, Target> session(variables, {.seed = 1});
  return seconds_of([&] { session.template run<"run">(); });
}

/// A model that is bound by memory: `bytes` are what a run must read and write, the ceiling is
/// bytes a second.
template <auto Model, class Target = tf::CudaTarget>
void memory_bound(const char* name, double bytes, double ceiling) {
  if (!is_wanted(name)) return;
  const double rate = bytes / seconds_of_model<Model, Target>();
  std::printf("%s %.1f GB/s %.3f\n", name, rate / 1e9, rate / ceiling);
  std::fflush(stdout);
}

/// One that is bound by arithmetic: `operations` of a run.
template <auto Model, class Target = tf::CudaTarget>
void compute_bound(const char* name, double operations, double ceiling) {
  if (!is_wanted(name)) return;
  const double rate = operations / seconds_of_model<Model, Target>();
  std::printf("%s %.2f TFLOP/s %.3f\n", name, rate / 1e12, rate / ceiling);
  std::fflush(stdout);
}

/// Prints a time without a ceiling.
inline void print_time(const char* name, double seconds) {
  std::printf("%s %.1f us -\n", name, 1e6 * seconds);
  std::fflush(stdout);
}

/// Bytes a second of a copy of 1 GiB, read and written: the ceiling of what memory bounds.
inline double copy_rate() {
  constexpr std::size_t gib = std::size_t{1} << 30;
  void* from = nullptr;
  void* to = nullptr;
  check(cudaMalloc(&from, gib));
  check(cudaMalloc(&to, gib));
  const double seconds =
      seconds_of([&] { check(cudaMemcpyAsync(to, from, gib, cudaMemcpyDeviceToDevice)); });
  check(cudaFree(from));
  check(cudaFree(to));
  return 2.0 * static_cast<double>(gib) / seconds;
}

/// Runs a program of cases: `main [CASE]`. Its exit status.
template <class Cases>
int run_cases(int argc, char** argv, const Cases& cases) try {
  if (argc > 1) wanted = argv[1];
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
    std::fprintf(stderr, "%s: this machine has no GPU that CUDA can use\n", argv[0]);
    return 1;
  }
  cases();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
  return 1;
}

}  // namespace gpu_timing
