// SPDX-License-Identifier: Apache-2.0
#pragma once

// The target of sessions that use GPUs: /gpu:0, /gpu:1, ... beside the processor.

#include <cstdlib>
#include <memory>
#include <mutex>
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
#include "typeflow/runtime/engine.hpp"
#include "typeflow/runtime/local_devices.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// Why a machine with a driver has no GPU for this program, in one sentence. Empty if there is no
/// driver, or if it is new enough and the user may have hidden the GPUs: then nobody expects one.
/// (A driver serves all programs of its major version.)
inline std::string reason_without_gpu(const CudaRuntime& runtime, cudaError_t found) {
  int driver = 0;
  int program = 0;
  if (runtime.versions(&driver, &program) != cudaSuccess || driver == 0) return {};
  const auto text = [](int version) {
    return std::to_string(version / 1000) + '.' + std::to_string(version % 1000 / 10);
  };
  std::string reason = "typeflow: the processor runs what is meant for GPUs: ";
  if (driver / 1000 < program / 1000) {
    return reason + "NVIDIA's driver is for CUDA " + text(driver) + ", expected " +
           text(program / 1000 * 1000) + " or newer";
  }
  if (std::getenv("CUDA_VISIBLE_DEVICES") != nullptr) return {};
  reason += "NVIDIA's driver for CUDA " + text(driver) + " has no device";
  return found == cudaSuccess ? reason : reason + " (" + runtime.error_text(found) + ')';
}

/// Prints a reason, if there is one, unless the process has printed another one.
inline void say_once(const std::string& reason) {
  static std::once_flag said;
  if (!reason.empty()) std::call_once(said, [&] { print_line(reason); });
}

}  // namespace detail

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
    const cudaError_t found = runtime.device_count(&count);
    if (found != cudaSuccess) count = 0;
    if (count == 0) detail::say_once(detail::reason_without_gpu(runtime, found));
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
