// SPDX-License-Identifier: Apache-2.0
#pragma once

// The CUDA back end on the host: a table of CUDA's functions that records calls and carries them
// out, and a target that uses it.
//
// Memory of the pretended GPUs can be accessed only while a call works on it. If the host touches
// it in between, or a kernel touches memory of the host, the program ends.

#include "support/cuda_on_host.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <typeflow/cuda.hpp>
#include <typeflow/typeflow.hpp>

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
  std::atomic<std::uint32_t> seed{1};              ///< of the order of threads
  std::atomic<long> until_failure{-1};             ///< the call that fails, counted down; -1: none
  std::atomic<bool> synchronization_fails{false};  ///< as after a kernel that went wrong
  std::atomic<int> launches{0};
  std::atomic<int> allocations{0};
  std::atomic<int> copies_in{0};
  std::atomic<int> copies_out{0};
  std::atomic<int> synchronizations{0};
  std::atomic<std::int64_t> in_use{0};  ///< bytes

  static const tf::CudaRuntime& runtime() {
    static const tf::CudaRuntime table{
        .device_count =
            [](int* count) {
              *count = get().devices;
              return *count > 0 ? cudaSuccess : cudaErrorInvalidValue;
            },
        .use_device =
            [](int device) { return device < get().devices ? cudaSuccess : cudaErrorInvalidValue; },
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
              *stream = nullptr;
              return get().next();
            },
        .destroy_stream = [](cudaStream_t) { return cudaSuccess; },
        .synchronize =
            [](cudaStream_t) {
              ++get().synchronizations;
              return get().synchronization_fails ? cudaErrorLaunch : cudaSuccess;
            },
        .allocate = [](void** data, std::size_t bytes,
                       cudaStream_t) { return get().allocate(data, bytes); },
        .release = [](void* data, cudaStream_t) { return get().release(data); },
        .allocate_pinned =
            [](void** data, std::size_t bytes) {
              *data = ::operator new(bytes);
              return get().next();
            },
        .release_pinned =
            [](void* data) {
              ::operator delete(data);
              return cudaSuccess;
            },
        .copy = [](void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                   cudaStream_t) { return get().copy(to, from, bytes, kind); },
        .fill =
            [](void* data, int byte, std::size_t bytes, cudaStream_t) {
              const Access access(get());
              std::memset(data, byte, bytes);
              return get().next();
            },
        .launch = [](const tf::CudaLaunch& launch, cudaStream_t) { return get().launch(launch); },
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
  static constexpr std::size_t region_size = std::size_t{1} << 30;
  static constexpr std::size_t alignment = 256;

  /// While it lives, the GPUs' memory can be accessed.
  class Access {
   public:
    explicit Access(CudaOnHost& all) : all_(all) {
      const std::lock_guard lock(all_.mutex_);
      if (all_.accesses_++ == 0) mprotect(all_.region_, region_size, PROT_READ | PROT_WRITE);
    }
    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;
    ~Access() {
      const std::lock_guard lock(all_.mutex_);
      if (--all_.accesses_ == 0) mprotect(all_.region_, region_size, PROT_NONE);
    }

   private:
    CudaOnHost& all_;
  };

  CudaOnHost()
      : region_(static_cast<std::byte*>(mmap(nullptr, region_size, PROT_NONE,
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
    free_[0] = region_size;
  }

  cudaError_t next() {
    return until_failure.load() >= 0 && until_failure.fetch_sub(1) == 0 ? cudaErrorMemoryAllocation
                                                                        : cudaSuccess;
  }
  cudaError_t allocate(void** data, std::size_t bytes) {
    if (next() != cudaSuccess) return cudaErrorMemoryAllocation;
    ++allocations;
    const std::size_t size = (bytes + alignment - 1) / alignment * alignment;
    {
      const std::lock_guard lock(mutex_);
      auto place = free_.begin();
      while (place != free_.end() && place->second < size) ++place;
      if (place == free_.end()) return cudaErrorMemoryAllocation;
      const std::size_t first = place->first;
      const std::size_t rest = place->second - size;
      free_.erase(place);
      if (rest > 0) free_[first + size] = rest;
      used_[first] = size;
      *data = region_ + first;
    }
    in_use += static_cast<std::int64_t>(size);
    const Access access(*this);
    std::memset(*data, 0xcd, size);
    return cudaSuccess;
  }
  cudaError_t release(void* data) {
    const std::lock_guard lock(mutex_);
    const auto used = used_.find(static_cast<std::size_t>(static_cast<std::byte*>(data) - region_));
    if (used == used_.end()) return cudaErrorInvalidValue;
    in_use -= static_cast<std::int64_t>(used->second);
    auto place = free_.emplace(used->first, used->second).first;
    used_.erase(used);
    if (const auto after = std::next(place);
        after != free_.end() && place->first + place->second == after->first) {
      place->second += after->second;
      free_.erase(after);
    }
    if (place != free_.begin()) {
      const auto before = std::prev(place);
      if (before->first + before->second == place->first) {
        before->second += place->second;
        free_.erase(place);
      }
    }
    return cudaSuccess;
  }
  bool is_device(const void* data) const { return data >= region_ && data < region_ + region_size; }
  cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    if (next() != cudaSuccess) return cudaErrorInvalidValue;
    if (is_device(to) != (kind != cudaMemcpyDeviceToHost) ||
        is_device(from) != (kind != cudaMemcpyHostToDevice)) {
      return cudaErrorInvalidValue;
    }
    copies_in += kind == cudaMemcpyHostToDevice;
    copies_out += kind == cudaMemcpyDeviceToHost;
    const Access access(*this);
    std::memcpy(to, from, bytes);
    return cudaSuccess;
  }
  cudaError_t launch(const tf::CudaLaunch& launch) {
    if (next() != cudaSuccess) return cudaErrorInvalidValue;
    ++launches;
    const Access access(*this);
    try {
      cuda_on_host::run_grid([&] { launch.on_host(launch.kernel, launch.arguments); }, launch.grid,
                             launch.block, seed.fetch_add(1));
    } catch (const cuda_on_host::Misuse& found) {
      misuse = found.why;
      return cudaErrorLaunch;
    }
    return cudaSuccess;
  }

  std::byte* const region_;
  std::mutex mutex_;  // guards what follows
  int accesses_ = 0;
  std::map<std::size_t, std::size_t> free_;
  std::map<std::size_t, std::size_t> used_;
};

/// The processor and pretended GPUs.
class CudaTargetOnHost : public tf::CudaDevices {
 public:
  explicit CudaTargetOnHost(const tf::TargetOptions& options = {})
      : CudaDevices(options, CudaOnHost::runtime()) {}
};

}  // namespace test
