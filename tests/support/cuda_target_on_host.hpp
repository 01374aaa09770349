// SPDX-License-Identifier: Apache-2.0
#pragma once

// The CUDA back end on the host: a table of CUDA's functions that carries them out, and a target
// that uses it.
//
// Calls are as asynchronous as they can be: what a stream is given waits in a queue until somebody
// waits for it. So a host that reads too early gets old numbers, and a buffer that is written or
// released too early gives wrong ones. A graph's nodes are done in an order that is shuffled anew
// each time, as far as their dependencies allow it.
//
// Memory of a pretended GPU can be accessed only while a call works on it. If the host touches it
// in between, or a kernel touches memory of the host or of another GPU, the program ends.

#if defined(__CUDACC__)
#include "support/cuda_target_on_gpu.hpp"
#else

#include "support/cuda_graph_on_host.hpp"
#include "support/cuda_on_host.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <typeflow/cuda.hpp>
#include <typeflow/typeflow.hpp>

/// A stream: what it was given and has not done yet.
struct CudaStreamOnHost {
  using Work = std::function<cudaError_t()>;

  int device = 0;
  std::deque<Work> work;
  std::uint64_t given = 0;
  std::uint64_t done = 0;
  cudaError_t error = cudaSuccess;  // of work since somebody waited
  std::unique_ptr<CudaGraphOnHost> captured;
  struct CudaBodyOnHost* body = nullptr;  // that gets what is captured; null: a graph
};
/// A point in a stream.
struct CudaEventOnHost {
  int device = 0;
  CudaStreamOnHost* stream = nullptr;
  std::uint64_t after = 0;
};
/// A body of a conditional node.
struct CudaBodyOnHost {
  CudaGraphOnHost graph;
};

namespace test {

namespace tf = typeflow;

/// The pretended GPUs' state, and what was called.
class CudaOnHost {
 public:
  static CudaOnHost& get() {
    static CudaOnHost only;
    return only;
  }

  int devices = 1;
  int driver_version = 0;                          ///< 0: none
  std::atomic<std::uint32_t> seed{1};              ///< of the order of threads
  std::atomic<long> until_failure{-1};             ///< the call that fails, counted down; -1: none
  std::atomic<long> until_kernel_failure{-1};      ///< the kernel that fails while it runs
  std::atomic<bool> synchronization_fails{false};  ///< as after a kernel that went wrong
  std::atomic<int> launches{0};                    ///< also those that are recorded
  std::atomic<int> graphs{0};                      ///< that were made
  std::atomic<int> graph_launches{0};
  cuda_on_host::GraphSize last_graph;      ///< that was made
  std::atomic<bool> checks_writes{false};  ///< of graphs, by all their bytes: for small models
  std::atomic<int> peer_copies{0};
  std::atomic<int> event_waits{0};  ///< of streams
  std::atomic<int> allocations{0};
  std::atomic<int> copies_in{0};
  std::atomic<int> copies_out{0};
  std::atomic<int> synchronizations{0};  ///< of streams
  std::atomic<int> event_synchronizations{0};
  std::atomic<int> pinned_allocations{0};
  std::atomic<std::int64_t> in_use{0};  ///< bytes
  bool has_conditional_nodes = true;
  std::atomic<int> conditional_nodes{0};
  std::atomic<int> body_runs{0};               ///< of conditional nodes, that were run
  static constexpr bool counts_bodies = true;  ///< a real GPU does not say

  static bool has_devices(int wanted) { return wanted <= most_devices; }

  static const tf::CudaRuntime& runtime() {
    static const tf::CudaRuntime table{
        .device_count =
            [](int* count) {
              *count = get().devices;
              return *count > 0 ? cudaSuccess : cudaErrorInvalidValue;
            },
        .versions =
            [](int* driver, int* program) {
              *driver = get().driver_version;
              *program = 13020;
              return cudaSuccess;
            },
        .use_device =
            [](int device) {
              if (device >= get().devices) return cudaErrorInvalidValue;
              used_device = device;
              return cudaSuccess;
            },
        .device_name =
            [](int device, char* name, std::size_t size) {
              std::snprintf(name, size, "pretended GPU %d", device);
              return cudaSuccess;
            },
        .memory =
            [](std::size_t* free, std::size_t* total) {
              *free = *total = region_size;
              return cudaSuccess;
            },
        .create_stream =
            [](cudaStream_t* stream) {
              const cudaError_t error = get().next();
              if (error != cudaSuccess) return error;
              *stream = new CudaStreamOnHost;
              (*stream)->device = used_device;
              return cudaSuccess;
            },
        .destroy_stream =
            [](cudaStream_t stream) {
              const std::lock_guard lock(get().calls_);
              get().finish(*stream, stream->given);
              get().ended_.emplace_back(stream);
              return cudaSuccess;
            },
        .synchronize =
            [](cudaStream_t stream) {
              const std::lock_guard lock(get().calls_);
              ++get().synchronizations;
              get().finish(*stream, stream->given);
              const cudaError_t error = std::exchange(stream->error, cudaSuccess);
              return get().synchronization_fails ? cudaErrorLaunch : error;
            },
        .create_event =
            [](cudaEvent_t* event) {
              const cudaError_t error = get().next();
              if (error == cudaSuccess) *event = new CudaEventOnHost{used_device};
              return error;
            },
        .destroy_event =
            [](cudaEvent_t event) {
              delete event;
              return cudaSuccess;
            },
        .record_event =
            [](cudaEvent_t event, cudaStream_t stream) {
              const std::lock_guard lock(get().calls_);
              if (get().next() != cudaSuccess) return cudaErrorInvalidValue;
              if (event->device != stream->device) return cudaErrorInvalidValue;
              *event = {event->device, stream, stream->given};
              return cudaSuccess;
            },
        .wait_for_event =
            [](cudaStream_t stream, cudaEvent_t event) {
              ++get().event_waits;
              return get().give(stream, [point = *event] {
                if (point.stream != nullptr) get().finish(*point.stream, point.after);
                return cudaSuccess;
              });
            },
        .synchronize_event =
            [](cudaEvent_t event) {
              const std::lock_guard lock(get().calls_);
              ++get().event_synchronizations;
              if (event->stream == nullptr) return cudaSuccess;
              get().finish(*event->stream, event->after);
              return get().synchronization_fails ? cudaErrorLaunch : event->stream->error;
            },
        .allocate = [](void** data, std::size_t bytes,
                       cudaStream_t stream) { return get().allocate(data, bytes, stream); },
        .release =
            [](void* data, cudaStream_t stream) {
              return get().give(stream, [data] { return get().release(data); }, false);
            },
        .allocate_pinned =
            [](void** data, std::size_t bytes) {
              const cudaError_t error = get().next();
              if (error != cudaSuccess) return error;
              ++get().pinned_allocations;
              *data = ::operator new(bytes);
              std::memset(*data, 0xcd, bytes);
              const std::lock_guard lock(get().mutex_);
              get().pinned_[static_cast<const std::byte*>(*data)] = bytes;
              return cudaSuccess;
            },
        .release_pinned =
            [](void* data) {
              {
                const std::lock_guard lock(get().mutex_);
                get().pinned_.erase(static_cast<const std::byte*>(data));
              }
              ::operator delete(data);
              return cudaSuccess;
            },
        .is_pinned =
            [](const void* data) {
              const auto* const byte = static_cast<const std::byte*>(data);
              const std::lock_guard lock(get().mutex_);
              const auto after = get().pinned_.upper_bound(byte);
              if (after == get().pinned_.begin()) return false;
              const auto& [first, size] = *std::prev(after);
              return byte < first + size;
            },
        .copy = [](void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                   cudaStream_t stream) { return get().copy(to, from, bytes, kind, stream); },
        .fill =
            [](void* data, int byte, std::size_t bytes, cudaStream_t stream) {
              return get().give(stream, [=, device = stream->device] {
                const Access access(get(), device_bit(device));
                std::memset(data, byte, bytes);
                return cudaSuccess;
              });
            },
        .copy_peer =
            [](void* to, int to_device, const void* from, int from_device, std::size_t bytes,
               cudaStream_t stream) {
              ++get().peer_copies;
              if (to_device == from_device) return cudaErrorInvalidValue;
              if (stream->device != to_device && stream->device != from_device) {
                return cudaErrorInvalidValue;
              }
              if (get().device_of(to) != to_device || get().device_of(from) != from_device) {
                return cudaErrorInvalidValue;
              }
              return get().give_copy(to, from, bytes, stream);
            },
        .connect = [](int, int) { return cudaSuccess; },
        .launch = [](const tf::CudaLaunch& launch,
                     cudaStream_t stream) { return get().launch(launch, stream); },
        .begin_capture =
            [](cudaStream_t stream) {
              const std::lock_guard lock(get().calls_);
              if (get().next() != cudaSuccess) return cudaErrorInvalidValue;
              stream->captured = std::make_unique<CudaGraphOnHost>();
              return cudaSuccess;
            },
        .capture_ends =
            [](cudaStream_t stream, const cudaGraphNode_t** nodes, std::size_t* count) {
              const std::lock_guard lock(get().calls_);
              if (get().next() != cudaSuccess) return cudaErrorInvalidValue;
              *nodes = stream->captured->ends.data();
              *count = stream->captured->ends.size();
              return cudaSuccess;
            },
        .set_capture_ends =
            [](cudaStream_t stream, cudaGraphNode_t* nodes, std::size_t count) {
              const std::lock_guard lock(get().calls_);
              if (get().next() != cudaSuccess) return cudaErrorInvalidValue;
              stream->captured->ends.assign(nodes, nodes + count);
              return cudaSuccess;
            },
        .end_capture =
            [](cudaStream_t stream, cudaGraphExec_t* graph) {
              const std::lock_guard lock(get().calls_);
              const auto captured = std::move(stream->captured);
              if (get().next() != cudaSuccess) return cudaErrorInvalidValue;
              ++get().graphs;
              get().last_graph = cuda_on_host::size_of(*captured->nodes);
              *graph = new CudaGraphOnHost{std::move(*captured)};
              return cudaSuccess;
            },
        .launch_graph =
            [](cudaGraphExec_t graph, cudaStream_t stream) {
              ++get().graph_launches;
              // A graph may be destroyed while it is under way.
              return get().give(stream, [nodes = graph->nodes] { return get().run(*nodes); });
            },
        .destroy_graph =
            [](cudaGraphExec_t graph) {
              delete graph;
              return cudaSuccess;
            },
        .has_conditional_nodes = [] { return get().has_conditional_nodes; },
        .create_condition =
            [](cudaStream_t recorded, cudaGraphConditionalHandle* condition) {
              const std::lock_guard lock(get().calls_);
              if (get().next() != cudaSuccess) return cudaErrorInvalidValue;
              if (recorded->captured == nullptr) return cudaErrorInvalidValue;
              auto made = std::make_shared<unsigned>(unset);
              *condition = reinterpret_cast<std::uintptr_t>(made.get());
              get().conditions_[*condition] = std::move(made);
              return cudaSuccess;
            },
        .add_conditional =
            [](cudaStream_t recorded, cudaGraphConditionalHandle condition,
               tf::CudaConditional kind, int count, cudaGraph_t* bodies) {
              return get().add_conditional(recorded, condition, kind, count, bodies);
            },
        .begin_body =
            [](cudaStream_t stream, cudaGraph_t body) {
              const std::lock_guard lock(get().calls_);
              if (get().next() != cudaSuccess) return cudaErrorInvalidValue;
              if (stream->captured != nullptr) return cudaErrorInvalidValue;
              stream->captured = std::make_unique<CudaGraphOnHost>();
              stream->body = body;
              return cudaSuccess;
            },
        .end_body =
            [](cudaStream_t stream) {
              const std::lock_guard lock(get().calls_);
              if (stream->body == nullptr) return cudaErrorInvalidValue;
              std::exchange(stream->body, nullptr)->graph = std::move(*stream->captured);
              stream->captured = nullptr;
              return get().next() == cudaSuccess ? cudaSuccess : cudaErrorInvalidValue;
            },
        .error_text = [](cudaError_t error) -> const char* {
          switch (error) {
            case cudaSuccess:
              return "no error";
            case cudaErrorMemoryAllocation:
              return "out of memory";
            case cudaErrorLaunch:
              return get().misuse.c_str();
            default:
              return "invalid value";
          }
        }};
    return table;
  }

  std::string misuse;  ///< of the last launch that failed

 private:
  static constexpr int most_devices = 4;
  static constexpr std::size_t region_size = std::size_t{1} << 30;  ///< of a device
  static constexpr std::size_t alignment = 256;
  static constexpr std::size_t guard = 256;  ///< bytes behind an allocation that nobody writes
  static constexpr std::byte filler{0xcd};

  static inline thread_local int used_device = 0;

  static constexpr unsigned device_bit(int device) { return 1u << device; }
  static constexpr unsigned all_devices = (1u << most_devices) - 1;

  /// While it lives, the memory of some GPUs can be accessed.
  class Access {
   public:
    Access(CudaOnHost& all, unsigned devices) : all_(all), devices_(devices) {
      const std::lock_guard lock(all_.mutex_);
      each([&](int device) {
        if (all_.accesses_[device]++ == 0) all_.protect(device, PROT_READ | PROT_WRITE);
      });
    }
    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;
    ~Access() {
      const std::lock_guard lock(all_.mutex_);
      each([&](int device) {
        if (--all_.accesses_[device] == 0) all_.protect(device, PROT_NONE);
      });
    }

   private:
    template <class F>
    void each(const F& f) const {
      for (int device = 0; device < most_devices; ++device) {
        if ((devices_ & device_bit(device)) != 0) f(device);
      }
    }

    CudaOnHost& all_;
    const unsigned devices_;
  };

  CudaOnHost()
      : region_(static_cast<std::byte*>(mmap(nullptr, most_devices * region_size, PROT_NONE,
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
    for (std::size_t device = 0; device < most_devices; ++device) {
      free_[device * region_size] = region_size;
    }
  }

  void protect(int device, int how) const {
    mprotect(region_ + static_cast<std::size_t>(device) * region_size, region_size, how);
  }
  /// The device in whose memory an address is; -1: the host's.
  int device_of(const void* data) const {
    if (data < region_ || data >= region_ + most_devices * region_size) return -1;
    return static_cast<int>(
        static_cast<std::size_t>(static_cast<const std::byte*>(data) - region_) / region_size);
  }

  cudaError_t next() {
    return until_failure.load() >= 0 && until_failure.fetch_sub(1) == 0 ? cudaErrorMemoryAllocation
                                                                        : cudaSuccess;
  }
  /// Gives a stream work. `counts`: the call may be the one that fails.
  cudaError_t give(cudaStream_t stream, CudaStreamOnHost::Work work, bool counts = true) {
    const std::lock_guard lock(calls_);
    if (counts && next() != cudaSuccess) return cudaErrorInvalidValue;
    if (stream->captured != nullptr) {
      stream->captured->add(std::move(work));
      return cudaSuccess;
    }
    stream->work.push_back(std::move(work));
    ++stream->given;
    if (stream->work.size() > most_work) finish(*stream, stream->given - most_work / 2);
    return cudaSuccess;
  }
  /// Has a stream do what it was given, up to a point.
  void finish(CudaStreamOnHost& stream, std::uint64_t point) {
    while (stream.done < point) {
      const CudaStreamOnHost::Work work = std::move(stream.work.front());
      stream.work.pop_front();
      ++stream.done;
      if (const cudaError_t error = work(); error != cudaSuccess) stream.error = error;
    }
  }
  cudaError_t run(const CudaGraphOnHost::Nodes& nodes) {
    const std::uint32_t order = seed.fetch_add(1);
    if (!checks_writes) {
      return cuda_on_host::run_nodes(nodes, order, [](int) { return cudaSuccess; });
    }
    const Access access(*this, all_devices);
    std::vector<std::span<const std::byte>> blocks;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [first, size] : used_) blocks.emplace_back(region_ + first, size);
    }
    cuda_on_host::WriteCheck check(nodes, std::move(blocks));
    return cuda_on_host::run_nodes(nodes, order, [&](int node) {
      if (check.note(node)) return cudaSuccess;
      misuse = "nodes of a graph write the same bytes without an order";
      return cudaErrorLaunch;
    });
  }
  cudaError_t allocate(void** data, std::size_t bytes, cudaStream_t stream) {
    if (next() != cudaSuccess) return cudaErrorMemoryAllocation;
    if (stream->captured != nullptr) return cudaErrorInvalidValue;
    ++allocations;
    const std::size_t size = (bytes + alignment - 1) / alignment * alignment + guard;
    {
      const std::lock_guard lock(mutex_);
      auto place = free_.begin();
      const auto fits = [&](const auto& part) {
        return part.second >= size &&
               part.first / region_size == static_cast<std::size_t>(stream->device);
      };
      while (place != free_.end() && !fits(*place)) ++place;
      if (place == free_.end()) return cudaErrorMemoryAllocation;
      const std::size_t first = place->first;
      const std::size_t rest = place->second - size;
      free_.erase(place);
      if (rest > 0) free_[first + size] = rest;
      used_[first] = size;
      asked_[first] = bytes;
      *data = region_ + first;
    }
    in_use += static_cast<std::int64_t>(size);
    const Access access(*this, device_bit(stream->device));
    std::memset(*data, static_cast<int>(filler), size);
    return cudaSuccess;
  }
  cudaError_t release(void* data) {
    const std::lock_guard lock(mutex_);
    const auto used = used_.find(static_cast<std::size_t>(static_cast<std::byte*>(data) - region_));
    if (used == used_.end()) return cudaErrorInvalidValue;
    {
      const std::byte* const end = region_ + used->first + used->second;
      const std::byte* const behind = region_ + used->first + asked_[used->first];
      const int device = device_of(data);
      protect(device, PROT_READ | PROT_WRITE);
      const bool is_whole = std::all_of(behind, end, [](std::byte b) { return b == filler; });
      if (accesses_[device] == 0) protect(device, PROT_NONE);
      if (!is_whole) {
        std::fprintf(stderr, "a kernel has written behind %zu bytes\n", asked_[used->first]);
        std::abort();
      }
    }
    in_use -= static_cast<std::int64_t>(used->second);
    auto place = free_.emplace(used->first, used->second).first;
    used_.erase(used);
    if (const auto after = std::next(place); after != free_.end() &&
                                             after->first % region_size != 0 &&
                                             place->first + place->second == after->first) {
      place->second += after->second;
      free_.erase(after);
    }
    if (place->first % region_size != 0 && place != free_.begin()) {
      const auto before = std::prev(place);
      if (before->first + before->second == place->first) {
        before->second += place->second;
        free_.erase(place);
      }
    }
    return cudaSuccess;
  }
  /// A copy by a stream touches the memory of its device alone.
  cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                   cudaStream_t stream) {
    if (device_of(to) != (kind == cudaMemcpyDeviceToHost ? -1 : stream->device) ||
        device_of(from) != (kind == cudaMemcpyHostToDevice ? -1 : stream->device)) {
      return cudaErrorInvalidValue;
    }
    copies_in += kind == cudaMemcpyHostToDevice;
    copies_out += kind == cudaMemcpyDeviceToHost;
    return give_copy(to, from, bytes, stream);
  }
  cudaError_t give_copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
    return give(stream, [=, this] {
      unsigned touched = 0;
      for (const int device : {device_of(to), device_of(from)}) {
        if (device >= 0) touched |= device_bit(device);
      }
      const Access access(*this, touched);
      std::memcpy(to, from, bytes);
      return cudaSuccess;
    });
  }
  /// The node needs a condition that was set since it ran last.
  cudaError_t add_conditional(cudaStream_t recorded, cudaGraphConditionalHandle condition,
                              tf::CudaConditional kind, int count, cudaGraph_t* bodies) {
    const auto found = conditions_.find(condition);
    if (recorded->captured == nullptr || found == conditions_.end()) return cudaErrorInvalidValue;
    ++conditional_nodes;
    const std::shared_ptr<unsigned> value = std::move(found->second);
    conditions_.erase(found);
    const auto made = std::make_shared<std::vector<CudaBodyOnHost>>(count);
    for (int k = 0; k < count; ++k) bodies[k] = &(*made)[static_cast<std::size_t>(k)];
    return give(recorded, [this, value, kind, made] {
      const auto chosen = [&] { return std::exchange(*value, unset); };
      for (unsigned number = chosen();; number = chosen()) {
        if (number == unset) {
          misuse = "a conditional node whose condition no kernel has set";
          return cudaErrorLaunch;
        }
        const bool loops = kind == tf::CudaConditional::loop;
        if (loops ? number == 0 : number >= made->size()) return cudaSuccess;
        ++body_runs;
        const cudaError_t error = run(*(*made)[loops ? 0 : number].graph.nodes);
        if (error != cudaSuccess || !loops) return error;
      }
    });
  }
  cudaError_t launch(const tf::CudaLaunch& launch, cudaStream_t stream) {
    ++launches;
    if (stream->device != used_device) return cudaErrorInvalidValue;
    // The arguments are gone when the kernel runs.
    struct Call {
      tf::CudaLaunch launch;
      std::vector<std::unique_ptr<std::max_align_t[]>> values;
      std::vector<void*> arguments;
    };
    const auto call = std::make_shared<Call>(Call{launch, {}, {}});
    for (int i = 0; i < launch.argument_count; ++i) {
      const std::size_t bytes = launch.argument_bytes[i];
      call->values.push_back(
          std::make_unique<std::max_align_t[]>(bytes / sizeof(std::max_align_t) + 1));
      std::memcpy(call->values.back().get(), launch.arguments[i], bytes);
      call->arguments.push_back(call->values.back().get());
    }
    return give(stream, [this, call, device = stream->device] {
      const Access access(*this, device_bit(device));
      if (until_kernel_failure.load() >= 0 && until_kernel_failure.fetch_sub(1) == 0) {
        misuse = "an illegal memory access was encountered";
        return cudaErrorLaunch;
      }
      try {
        cuda_on_host::run_grid(
            [&] { call->launch.on_host(call->launch.kernel, call->arguments.data()); },
            call->launch.grid, call->launch.block, seed.fetch_add(1), call->launch.shared_bytes);
      } catch (const cuda_on_host::Misuse& found) {
        misuse = found.why;
        return cudaErrorLaunch;
      }
      return cudaSuccess;
    });
  }

  static constexpr std::size_t most_work = 1000;
  static constexpr unsigned unset = 0xdead;  // no kernel has set the condition

  std::map<cudaGraphConditionalHandle, std::shared_ptr<unsigned>> conditions_;  // without a node

  std::recursive_mutex calls_;                            // guards streams and events
  std::vector<std::unique_ptr<CudaStreamOnHost>> ended_;  // others may wait for events of these
  std::byte* const region_;
  std::mutex mutex_;  // guards what follows
  int accesses_[most_devices] = {};
  std::map<std::size_t, std::size_t> free_;
  std::map<std::size_t, std::size_t> used_;
  std::map<const std::byte*, std::size_t> pinned_;
  std::map<std::size_t, std::size_t> asked_;  // the bytes of those in use, without what is added
};

/// The processor and pretended GPUs.
template <tf::Precision P, class Kernels = tf::OwnCudaKernels>
class BasicCudaTargetOnHost : public tf::BasicCudaDevices<P, Kernels> {
 public:
  explicit BasicCudaTargetOnHost(const tf::TargetOptions& options = {})
      : tf::BasicCudaDevices<P, Kernels>(options, CudaOnHost::runtime()) {}
};
using CudaTargetOnHost = BasicCudaTargetOnHost<tf::Precision::exact>;

}  // namespace test

#endif
