// SPDX-License-Identifier: Apache-2.0
#pragma once

// The names of cuda_target_on_host.hpp for nvcc: tests of kernels and of runs on a real GPU
// (scripts/ gpu_check).

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include <typeflow/cuda.hpp>
#include <typeflow/typeflow.hpp>

namespace test {

namespace tf = typeflow;

/// What was called. No call fails on demand.
class CudaOnHost {
 public:
  static CudaOnHost& get() {
    static CudaOnHost only;
    return only;
  }

  static constexpr bool counts_bodies = false;  ///< the GPU alone knows how often it ran them

  int devices = 1;  ///< that sessions find, if the machine has them
  std::atomic<int> launches{0};
  std::atomic<int> graphs{0};
  std::atomic<int> graph_launches{0};
  std::atomic<int> peer_copies{0};
  std::atomic<int> event_waits{0};
  std::atomic<int> allocations{0};
  std::atomic<int> copies_in{0};
  std::atomic<int> copies_out{0};
  std::atomic<int> synchronizations{0};
  std::atomic<int> pinned_allocations{0};
  std::atomic<std::int64_t> in_use{0};
  bool has_conditional_nodes = true;
  std::atomic<int> conditional_nodes{0};
  std::atomic<int> body_runs{0};

  static bool has_devices(int wanted) {
    int count = 0;
    return tf::cuda_runtime.device_count(&count) == cudaSuccess && count >= wanted;
  }

  /// CUDA's functions. Calls are counted.
  static const tf::CudaRuntime& runtime() {
    static const tf::CudaRuntime table = [] {
      tf::CudaRuntime counting = tf::cuda_runtime;
      counting.device_count = [](int* count) {
        const cudaError_t error = tf::cuda_runtime.device_count(count);
        *count = std::min(*count, get().devices);
        return error;
      };
      counting.synchronize = [](cudaStream_t stream) {
        ++get().synchronizations;
        return tf::cuda_runtime.synchronize(stream);
      };
      counting.wait_for_event = [](cudaStream_t stream, cudaEvent_t event) {
        ++get().event_waits;
        return tf::cuda_runtime.wait_for_event(stream, event);
      };
      counting.allocate = [](void** data, std::size_t bytes, cudaStream_t stream) {
        const cudaError_t error = tf::cuda_runtime.allocate(data, bytes, stream);
        if (error == cudaSuccess) get().note(*data, bytes);
        return error;
      };
      counting.release = [](void* data, cudaStream_t stream) {
        get().forget(data);
        return tf::cuda_runtime.release(data, stream);
      };
      counting.allocate_pinned = [](void** data, std::size_t bytes) {
        ++get().pinned_allocations;
        return tf::cuda_runtime.allocate_pinned(data, bytes);
      };
      counting.copy = [](void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                         cudaStream_t stream) {
        get().copies_in += kind == cudaMemcpyHostToDevice;
        get().copies_out += kind == cudaMemcpyDeviceToHost;
        return tf::cuda_runtime.copy(to, from, bytes, kind, stream);
      };
      counting.copy_peer = [](void* to, int to_device, const void* from, int from_device,
                              std::size_t bytes, cudaStream_t stream) {
        ++get().peer_copies;
        return tf::cuda_runtime.copy_peer(to, to_device, from, from_device, bytes, stream);
      };
      counting.launch = [](const tf::CudaLaunch& launch, cudaStream_t stream) {
        ++get().launches;
        return tf::cuda_runtime.launch(launch, stream);
      };
      counting.end_capture = [](cudaStream_t stream, cudaGraphExec_t* graph) {
        const cudaError_t error = tf::cuda_runtime.end_capture(stream, graph);
        get().graphs += error == cudaSuccess;
        return error;
      };
      counting.launch_graph = [](cudaGraphExec_t graph, cudaStream_t stream) {
        ++get().graph_launches;
        return tf::cuda_runtime.launch_graph(graph, stream);
      };
      counting.has_conditional_nodes = [] {
        return get().has_conditional_nodes && tf::cuda_runtime.has_conditional_nodes();
      };
      counting.add_conditional = [](cudaStream_t recorded, cudaGraphConditionalHandle condition,
                                    tf::CudaConditional kind, int count, cudaGraph_t* bodies) {
        ++get().conditional_nodes;
        return tf::cuda_runtime.add_conditional(recorded, condition, kind, count, bodies);
      };
      return counting;
    }();
    return table;
  }

 private:
  void note(const void* data, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    ++allocations;
    in_use += static_cast<std::int64_t>(bytes);
    bytes_of_[data] = bytes;
  }
  /// Called before the release: then the address may be somebody else's.
  void forget(const void* data) {
    const std::lock_guard lock(mutex_);
    const auto found = bytes_of_.find(data);
    if (found == bytes_of_.end()) return;
    in_use -= static_cast<std::int64_t>(found->second);
    bytes_of_.erase(found);
  }

  std::mutex mutex_;
  std::map<const void*, std::size_t> bytes_of_;
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
