// SPDX-License-Identifier: Apache-2.0
#pragma once

// The target of sessions that use GPUs: /gpu:0, /gpu:1, ... beside the processor.

#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "typeflow/cuda/kernel_names.hpp"
#include "typeflow/cuda/kernels.hpp"
#include "typeflow/cuda/stream.hpp"
#include "typeflow/exec/all.hpp"
#include "typeflow/exec/host_code.hpp"
#include "typeflow/exec/machine.hpp"
#include "typeflow/runtime/cpu_target.hpp"
#include "typeflow/runtime/local_devices.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The processor's devices and the GPUs that the process may use, by one table of CUDA's functions.
/// TYPEFLOW_VISIBLE_DEVICES chooses among those that CUDA shows (runtime/local_devices.hpp).
///
/// GPUs round the operands of float products to `P`, in matrix products and convolutions. `Kernels`
/// has the GPU's code for kernel types: OwnCudaKernels, or CudaLibraries (cuda/libraries.hpp).
template <Precision P, class Kernels = OwnCudaKernels>
class BasicCudaDevices {
 public:
  static constexpr Precision precision = P;
  static constexpr DeviceKind default_kind = DeviceKind::gpu;

  BasicCudaDevices(const TargetOptions& options, const CudaRuntime& runtime)
      : processors_(options) {
    for (const MachineDevice& device : processors_.devices()) devices_.push_back(device);
    int count = 0;
    // Without a driver or a device the processor runs everything.
    if (runtime.device_count(&count) != cudaSuccess) count = 0;
    for (const int number : visible(count)) {
      if (devices_.size() == max_devices) break;
      const int index = static_cast<int>(gpus_.size());
      gpus_.push_back(shared_gpu(runtime, number));
      CudaGpu& gpu = *gpus_.back();
      for (int other = 0; other < index; ++other) {
        runtime.connect(number, gpus_[static_cast<std::size_t>(other)]->stream.device());
        runtime.connect(gpus_[static_cast<std::size_t>(other)]->stream.device(), number);
      }
      devices_.push_back({.device = gpu_device(index),
                          .memory = &gpu.memory,
                          .stream = &gpu.stream,
                          .description = gpu.name.c_str()});
    }
  }

  std::span<const MachineDevice> devices() const { return devices_; }

  template <class Kernel, DeviceKind D = DeviceKind::cpu>
  static constexpr KernelEntry kernel =
      D == DeviceKind::gpu ? cuda_kernels::noted<Kernel, Kernels, P>()
                           : cpu_kernels::entry<Kernel, cpu_kernels::DefaultArch>;
  /// The processor's code for every kernel, for steps that can't run on a GPU.
  template <class Kernel>
  static constexpr KernelEntry host_kernel = cpu_kernels::entry<Kernel, cpu_kernels::DefaultArch>;
  static constexpr auto move_to_host = &exec::move_to_host;

 private:
  static Device gpu_device(int index) { return gpu(index); }
  /// The numbers of GPUs that sessions have, of those that CUDA shows.
  static std::vector<int> visible(int count) {
    constexpr const char* variable = "TYPEFLOW_VISIBLE_DEVICES";
    if (const char* const list = std::getenv(variable)) {
      return visible_devices(list, count, variable);
    }
    std::vector<int> all;
    for (int number = 0; number < count; ++number) all.push_back(number);
    return all;
  }

  CpuTarget<> processors_;
  std::vector<std::shared_ptr<CudaGpu>> gpus_;
  std::vector<MachineDevice> devices_;
};

using CudaDevices = BasicCudaDevices<Precision::exact>;

#if defined(__CUDACC__)

/// GPUs and the processor, with float products of a precision:
/// `tf::Session<model, tf::training, tf::BasicCudaTarget<tf::Precision::tf32>>`. What a model
/// leaves open runs on /gpu:0. With CudaLibraries as `Kernels`, NVIDIA's libraries multiply.
template <Precision P, class Kernels = OwnCudaKernels>
class BasicCudaTarget : public BasicCudaDevices<P, Kernels> {
 public:
  explicit BasicCudaTarget(const TargetOptions& options = {})
      : BasicCudaDevices<P, Kernels>(options, cuda_runtime) {}
};
/// With exact products of floats. (A class, so that runtime/default_target.hpp can declare it.)
class CudaTarget : public BasicCudaTarget<Precision::exact> {
 public:
  explicit CudaTarget(const TargetOptions& options = {}) : BasicCudaTarget(options) {}
};

#endif

}  // namespace typeflow::inline TYPEFLOW_ISA
