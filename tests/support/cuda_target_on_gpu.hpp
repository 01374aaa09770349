// SPDX-License-Identifier: Apache-2.0
#pragma once

// The names of cuda_target_on_host.hpp for nvcc: tests of kernels run on a real GPU (scripts/
// gpu_check).

#include <atomic>

#include <typeflow/cuda.hpp>
#include <typeflow/typeflow.hpp>

namespace test {

namespace tf = typeflow;

/// What was called.
class CudaOnHost {
 public:
  static CudaOnHost& get() {
    static CudaOnHost only;
    return only;
  }

  std::atomic<int> launches{0};

  /// CUDA's functions. Launches are counted.
  static const tf::CudaRuntime& runtime() {
    static const tf::CudaRuntime table = [] {
      tf::CudaRuntime counting = tf::cuda_runtime;
      counting.launch = [](const tf::CudaLaunch& launch, cudaStream_t stream) {
        ++get().launches;
        return tf::cuda_runtime.launch(launch, stream);
      };
      return counting;
    }();
    return table;
  }
};

/// The processor and the machine's GPUs.
template <tf::Precision P, class Kernels = tf::OwnCudaKernels>
class BasicCudaTargetOnHost : public tf::BasicCudaDevices<P, Kernels> {
 public:
  explicit BasicCudaTargetOnHost(const tf::TargetOptions& options = {})
      : tf::BasicCudaDevices<P, Kernels>(options, CudaOnHost::runtime()) {}
};
using CudaTargetOnHost = BasicCudaTargetOnHost<tf::Precision::exact>;

}  // namespace test
