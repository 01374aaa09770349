// SPDX-License-Identifier: Apache-2.0
#pragma once

// The calls of CUDA's run time that the back end makes, as a table of functions. Tests have another
// table, which records calls and carries them out on the host.

#include <cstddef>
#include <string>

#include "typeflow/core/error.hpp"
#include "typeflow/cuda/platform.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A kernel with its arguments.
struct CudaLaunch {
  const void* kernel;
  /// Calls the kernel on the host, as one thread; null where nvcc has compiled it.
  void (*on_host)(const void* kernel, void** arguments);
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes;
  void** arguments;
};

/// The run time. Each function returns cudaSuccess or an error. All work is on a stream, in order.
struct CudaRuntime {
  cudaError_t (*device_count)(int* count);
  cudaError_t (*use_device)(int device);  ///< for what this thread calls next
  cudaError_t (*device_name)(int device, char* name, std::size_t size);
  cudaError_t (*memory)(std::size_t* free, std::size_t* total);

  cudaError_t (*create_stream)(cudaStream_t* stream);
  cudaError_t (*destroy_stream)(cudaStream_t stream);
  cudaError_t (*synchronize)(cudaStream_t stream);

  cudaError_t (*allocate)(void** data, std::size_t bytes, cudaStream_t stream);
  cudaError_t (*release)(void* data, cudaStream_t stream);
  /// Memory of the host that devices access directly, at the same address.
  cudaError_t (*allocate_pinned)(void** data, std::size_t bytes);
  cudaError_t (*release_pinned)(void* data);

  cudaError_t (*copy)(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                      cudaStream_t stream);
  cudaError_t (*fill)(void* data, int byte, std::size_t bytes, cudaStream_t stream);
  cudaError_t (*launch)(const CudaLaunch& launch, cudaStream_t stream);

  const char* (*error_text)(cudaError_t error);
};

#if defined(__CUDACC__)

/// CUDA's own.
inline constexpr CudaRuntime cuda_runtime{
    .device_count = [](int* count) { return cudaGetDeviceCount(count); },
    .use_device = [](int device) { return cudaSetDevice(device); },
    .device_name =
        [](int device, char* name, std::size_t size) {
          cudaDeviceProp properties;
          const cudaError_t error = cudaGetDeviceProperties(&properties, device);
          for (std::size_t i = 0; i < size && error == cudaSuccess; ++i) {
            name[i] = i + 1 < size ? properties.name[i] : '\0';
            if (name[i] == '\0') break;
          }
          return error;
        },
    .memory = [](std::size_t* free, std::size_t* total) { return cudaMemGetInfo(free, total); },
    .create_stream =
        [](cudaStream_t* stream) {
          return cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking);
        },
    .destroy_stream = [](cudaStream_t stream) { return cudaStreamDestroy(stream); },
    .synchronize = [](cudaStream_t stream) { return cudaStreamSynchronize(stream); },
    .allocate = [](void** data, std::size_t bytes,
                   cudaStream_t stream) { return cudaMallocAsync(data, bytes, stream); },
    .release = [](void* data, cudaStream_t stream) { return cudaFreeAsync(data, stream); },
    .allocate_pinned =
        [](void** data, std::size_t bytes) {
          return cudaHostAlloc(data, bytes, cudaHostAllocPortable | cudaHostAllocMapped);
        },
    .release_pinned = [](void* data) { return cudaFreeHost(data); },
    .copy = [](void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
               cudaStream_t stream) { return cudaMemcpyAsync(to, from, bytes, kind, stream); },
    .fill = [](void* data, int byte, std::size_t bytes,
               cudaStream_t stream) { return cudaMemsetAsync(data, byte, bytes, stream); },
    .launch =
        [](const CudaLaunch& launch, cudaStream_t stream) {
          return cudaLaunchKernel(launch.kernel, launch.grid, launch.block, launch.arguments,
                                  launch.shared_bytes, stream);
        },
    .error_text = [](cudaError_t error) { return cudaGetErrorString(error); }};

#endif

namespace detail {

/// Throws an Error that names what was done, if it failed.
inline void check_cuda(const CudaRuntime& runtime, cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  throw Error(std::string("CUDA: ") + what, runtime.error_text(error));
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
