// SPDX-License-Identifier: Apache-2.0
#pragma once

// The calls of CUDA's run time that the back end makes, as a table of functions. Tests have another
// table, which records calls and carries them out on the host.

#include <algorithm>
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
  const std::size_t* argument_bytes;  ///< the size of each argument
  int argument_count;
};

/// The kinds of a conditional node of a graph. Its condition is a number in the device's memory.
enum class CudaConditional {
  loop,   ///< runs its one body as long as the condition is not 0
  branch  ///< runs the body with this number
};

/// The run time. Each function returns cudaSuccess or an error. Work is on a stream, in order, and
/// may be under way when the function returns.
struct CudaRuntime {
  cudaError_t (*device_count)(int* count);
  /// The versions of CUDA that the machine's driver has, 0 without a driver, and that this program
  /// was built with: 13020 for 13.2.
  cudaError_t (*versions)(int* driver, int* program);
  cudaError_t (*use_device)(int device);  ///< for what this thread calls next
  cudaError_t (*device_name)(int device, char* name, std::size_t size);
  cudaError_t (*memory)(std::size_t* free, std::size_t* total);

  cudaError_t (*create_stream)(cudaStream_t* stream);
  cudaError_t (*destroy_stream)(cudaStream_t stream);
  cudaError_t (*synchronize)(cudaStream_t stream);

  cudaError_t (*create_event)(cudaEvent_t* event);
  cudaError_t (*destroy_event)(cudaEvent_t event);
  cudaError_t (*record_event)(cudaEvent_t event, cudaStream_t stream);
  /// What the stream is given from now on waits for the event.
  cudaError_t (*wait_for_event)(cudaStream_t stream, cudaEvent_t event);
  cudaError_t (*synchronize_event)(cudaEvent_t event);

  cudaError_t (*allocate)(void** data, std::size_t bytes, cudaStream_t stream);
  cudaError_t (*release)(void* data, cudaStream_t stream);
  /// Memory of the host that devices access directly, at the same address.
  cudaError_t (*allocate_pinned)(void** data, std::size_t bytes);
  cudaError_t (*release_pinned)(void* data);
  /// Whether a byte of the host is in memory of that kind, of anybody's.
  bool (*is_pinned)(const void* data);

  cudaError_t (*copy)(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                      cudaStream_t stream);
  cudaError_t (*fill)(void* data, int byte, std::size_t bytes, cudaStream_t stream);
  /// From the memory of one device to that of another, on a stream of either.
  cudaError_t (*copy_peer)(void* to, int to_device, const void* from, int from_device,
                           std::size_t bytes, cudaStream_t stream);
  /// Lets a device access the memory of another directly, if the machine can.
  cudaError_t (*connect)(int device, int peer);
  cudaError_t (*launch)(const CudaLaunch& launch, cudaStream_t stream);

  /// What this thread gives the stream from now on is recorded, and not run.
  cudaError_t (*begin_capture)(cudaStream_t stream);
  /// The nodes on which the next one will depend, until the next call with the stream.
  cudaError_t (*capture_ends)(cudaStream_t stream, const cudaGraphNode_t** nodes,
                              std::size_t* count);
  /// Has the next node depend on these nodes alone.
  cudaError_t (*set_capture_ends)(cudaStream_t stream, cudaGraphNode_t* nodes, std::size_t count);
  /// Ends that, also after an error.
  cudaError_t (*end_capture)(cudaStream_t stream, cudaGraphExec_t* graph);
  cudaError_t (*launch_graph)(cudaGraphExec_t graph, cudaStream_t stream);
  cudaError_t (*destroy_graph)(cudaGraphExec_t graph);

  /// Whether what follows works: conditional nodes of graphs, CUDA 12.8 and newer.
  bool (*has_conditional_nodes)();
  /// A condition for a node of what is recorded on a stream. Kernels set it.
  cudaError_t (*create_condition)(cudaStream_t recorded, cudaGraphConditionalHandle* condition);
  /// Records a conditional node. Its `count` bodies are empty at first.
  cudaError_t (*add_conditional)(cudaStream_t recorded, cudaGraphConditionalHandle condition,
                                 CudaConditional kind, int count, cudaGraph_t* bodies);
  /// Records in a body what this thread gives the stream from now on.
  cudaError_t (*begin_body)(cudaStream_t stream, cudaGraph_t body);
  cudaError_t (*end_body)(cudaStream_t stream);

  const char* (*error_text)(cudaError_t error);
};

#if defined(__CUDACC__)

/// CUDA's own.
inline constexpr CudaRuntime cuda_runtime{
    .device_count = [](int* count) { return cudaGetDeviceCount(count); },
    .versions =
        [](int* driver, int* program) {
          *program = CUDART_VERSION;
          return cudaDriverGetVersion(driver);
        },
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
    .create_event =
        [](cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDisableTiming); },
    .destroy_event = [](cudaEvent_t event) { return cudaEventDestroy(event); },
    .record_event = [](cudaEvent_t event,
                       cudaStream_t stream) { return cudaEventRecord(event, stream); },
    .wait_for_event = [](cudaStream_t stream,
                         cudaEvent_t event) { return cudaStreamWaitEvent(stream, event, 0); },
    .synchronize_event = [](cudaEvent_t event) { return cudaEventSynchronize(event); },
    .allocate = [](void** data, std::size_t bytes,
                   cudaStream_t stream) { return cudaMallocAsync(data, bytes, stream); },
    .release = [](void* data, cudaStream_t stream) { return cudaFreeAsync(data, stream); },
    .allocate_pinned =
        [](void** data, std::size_t bytes) {
          // It may be called while this thread records, which forbids calls that are not recorded.
          cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
          cudaError_t error = cudaThreadExchangeStreamCaptureMode(&mode);
          if (error != cudaSuccess) return error;
          error = cudaHostAlloc(data, bytes, cudaHostAllocPortable | cudaHostAllocMapped);
          const cudaError_t back = cudaThreadExchangeStreamCaptureMode(&mode);
          return error != cudaSuccess ? error : back;
        },
    .release_pinned = [](void* data) { return cudaFreeHost(data); },
    .is_pinned =
        [](const void* data) {
          cudaPointerAttributes known{};
          if (cudaPointerGetAttributes(&known, data) == cudaSuccess) {
            return known.type == cudaMemoryTypeHost;
          }
          static_cast<void>(cudaGetLastError());  // nobody asks for it
          return false;
        },
    .copy = [](void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
               cudaStream_t stream) { return cudaMemcpyAsync(to, from, bytes, kind, stream); },
    .fill = [](void* data, int byte, std::size_t bytes,
               cudaStream_t stream) { return cudaMemsetAsync(data, byte, bytes, stream); },
    .copy_peer =
        [](void* to, int to_device, const void* from, int from_device, std::size_t bytes,
           cudaStream_t stream) {
          return cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, stream);
        },
    .connect =
        [](int device, int peer) {
          int is_possible = 0;
          cudaError_t error = cudaDeviceCanAccessPeer(&is_possible, device, peer);
          if (error != cudaSuccess || is_possible == 0) return error;
          cudaMemPool_t pool;
          error = cudaDeviceGetDefaultMemPool(&pool, peer);
          if (error != cudaSuccess) return error;
          cudaMemAccessDesc access{};
          access.location.type = cudaMemLocationTypeDevice;
          access.location.id = device;
          access.flags = cudaMemAccessFlagsProtReadWrite;
          return cudaMemPoolSetAccess(pool, &access, 1);
        },
    .launch =
        [](const CudaLaunch& launch, cudaStream_t stream) {
          std::size_t bytes = launch.shared_bytes;
          // More than 48 KiB, with the kernel's own, have to be asked for.
          if (bytes > std::size_t{32} << 10) {
            // A GPU that has less runs code that needs less.
            int device = 0;
            int most = 0;
            cudaFuncAttributes of_kernel{};
            cudaError_t error = cudaGetDevice(&device);
            if (error == cudaSuccess) {
              error =
                  cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
            }
            if (error == cudaSuccess) error = cudaFuncGetAttributes(&of_kernel, launch.kernel);
            if (error != cudaSuccess) return error;
            bytes = std::min(bytes, static_cast<std::size_t>(most) - of_kernel.sharedSizeBytes);
            error = cudaFuncSetAttribute(launch.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                         static_cast<int>(bytes));
            if (error != cudaSuccess) return error;
          }
          return cudaLaunchKernel(launch.kernel, launch.grid, launch.block, launch.arguments, bytes,
                                  stream);
        },
    .begin_capture =
        [](cudaStream_t stream) {
          return cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
        },
    .capture_ends =
        [](cudaStream_t stream, const cudaGraphNode_t** nodes, std::size_t* count) {
          cudaStreamCaptureStatus status;
          const cudaError_t error =
              cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, nodes, nullptr, count);
          if (error != cudaSuccess) return error;
          return status == cudaStreamCaptureStatusActive ? cudaSuccess
                                                         : cudaErrorStreamCaptureInvalidated;
        },
    .set_capture_ends =
        [](cudaStream_t stream, cudaGraphNode_t* nodes, std::size_t count) {
          return cudaStreamUpdateCaptureDependencies(stream, count > 0 ? nodes : nullptr, nullptr,
                                                     count, cudaStreamSetCaptureDependencies);
        },
    .end_capture =
        [](cudaStream_t stream, cudaGraphExec_t* graph) {
          cudaGraph_t captured = nullptr;
          cudaError_t error = cudaStreamEndCapture(stream, &captured);
          if (error == cudaSuccess) error = cudaGraphInstantiate(graph, captured, 0);
          if (captured != nullptr) cudaGraphDestroy(captured);
          if (error != cudaSuccess) static_cast<void>(cudaGetLastError());  // it is returned alone
          return error;
        },
    .launch_graph = [](cudaGraphExec_t graph,
                       cudaStream_t stream) { return cudaGraphLaunch(graph, stream); },
    .destroy_graph = [](cudaGraphExec_t graph) { return cudaGraphExecDestroy(graph); },
    .has_conditional_nodes =
        [] {
          int version = 0;
          return cudaDriverGetVersion(&version) == cudaSuccess && version >= 12080;
        },
    .create_condition =
        [](cudaStream_t recorded, cudaGraphConditionalHandle* condition) {
          cudaStreamCaptureStatus status;
          cudaGraph_t graph = nullptr;
          const cudaError_t error = cudaStreamGetCaptureInfo(recorded, &status, nullptr, &graph);
          return error != cudaSuccess ? error : cudaGraphConditionalHandleCreate(condition, graph);
        },
    .add_conditional =
        [](cudaStream_t recorded, cudaGraphConditionalHandle condition, CudaConditional kind,
           int count, cudaGraph_t* bodies) {
          cudaStreamCaptureStatus status;
          cudaGraph_t graph = nullptr;
          const cudaGraphNode_t* before = nullptr;
          const cudaGraphEdgeData* edges = nullptr;
          std::size_t edge_count = 0;
          cudaError_t error = cudaStreamGetCaptureInfo(recorded, &status, nullptr, &graph, &before,
                                                       &edges, &edge_count);
          if (error != cudaSuccess) return error;
          cudaGraphNodeParams made{};
          made.type = cudaGraphNodeTypeConditional;
          made.conditional.handle = condition;
          made.conditional.type =
              kind == CudaConditional::loop ? cudaGraphCondTypeWhile : cudaGraphCondTypeSwitch;
          made.conditional.size = static_cast<unsigned>(count);
          cudaGraphNode_t node = nullptr;
          error = cudaGraphAddNode(&node, graph, before, edges, edge_count, &made);
          if (error != cudaSuccess) return error;
          std::copy_n(made.conditional.phGraph_out, count, bodies);
          return cudaStreamUpdateCaptureDependencies(recorded, &node, nullptr, 1,
                                                     cudaStreamSetCaptureDependencies);
        },
    .begin_body =
        [](cudaStream_t stream, cudaGraph_t body) {
          return cudaStreamBeginCaptureToGraph(stream, body, nullptr, nullptr, 0,
                                               cudaStreamCaptureModeThreadLocal);
        },
    .end_body =
        [](cudaStream_t stream) {
          cudaGraph_t body = nullptr;
          return cudaStreamEndCapture(stream, &body);
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
