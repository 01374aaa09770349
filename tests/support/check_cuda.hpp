// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs a model on a pretended GPU and on the processor, with the same feeds, and compares all that
// it names. Include it before other headers of the library.

#include "support/cuda_target_on_host.hpp"

#include <cstdint>

#include "support/check_kernels.hpp"

namespace test {

/// The kernels of a model for which the GPU has no code.
template <auto Model, tf::Mode M = tf::training>
int kernels_on_processor() {
  int count = 0;
  using Program = typename Kernels<Model, M, CudaTargetOnHost>::Program;
  for (const tf::KernelEntry& entry : tf::detail::kernel_table<Program, CudaTargetOnHost>) {
    count += entry.run == nullptr;
  }
  return count;
}

/// Compares a model on a GPU with the processor: values, and variables after all effects. Two runs
/// on the GPU, whose threads take other turns, have the same bits. `on_processor` is the number of
/// kernels that have no code for GPUs.
template <auto Model, tf::Mode M = tf::training>
void check_cuda(std::int64_t batch, double tolerance = 2e-6, int on_processor = 0) {
  INFO("batch ", batch);
  CHECK(kernels_on_processor<Model, M>() == on_processor);
  Kernels<Model, M> cpu;
  Kernels<Model, M, CudaTargetOnHost> gpu;
  Kernels<Model, M, CudaTargetOnHost> again;
  const tf::HostTensors feeds =
      random_feeds(Kernels<Model, M>::Program::view, batch, static_cast<std::uint64_t>(batch) + 1);
  const Outcome expected = cpu.run(feeds);
  const int launches = CudaOnHost::get().launches;
  const Outcome got = gpu.run(feeds);
  if (batch > 0) CHECK(CudaOnHost::get().launches > launches);
  const Outcome got_again = again.run(feeds);
  int compared = 0;
  for (const auto& [name, value] : got) {
    check_equal_bits(name, value, got_again.at(name));
    const auto found = expected.find(name);
    if (found == expected.end()) continue;  // inside a kernel
    check_close(name, value, found->second, tolerance);
    ++compared;
  }
  CHECK(compared > 0);
}

}  // namespace test
