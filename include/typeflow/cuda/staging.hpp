// SPDX-License-Identifier: Apache-2.0
#pragma once

// Pinned memory of the host, through which tensors pass to and from a GPU: the host's part of a
// copy is done when the tensor is there or taken from there, and the GPU's part is asynchronous.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "typeflow/cuda/late_errors.hpp"
#include "typeflow/cuda/runtime.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Buffers in turn, each with the event that ends its use. They grow up to the size of a piece.
/// All functions may be called by several threads; the device must be chosen before.
class CudaStaging {
 public:
  /// `late` gets what the GPU has found wrong when the host waits for it.
  CudaStaging(const CudaRuntime& runtime, CudaLateErrors& late) : runtime_(runtime), late_(late) {}
  CudaStaging(const CudaStaging&) = delete;
  CudaStaging& operator=(const CudaStaging&) = delete;
  /// The stream must be finished.
  ~CudaStaging() {
    for (Buffer& buffer : buffers_) {
      if (buffer.data != nullptr) runtime_.release_pinned(buffer.data);
      if (buffer.event != nullptr) runtime_.destroy_event(buffer.event);
    }
  }

  /// Copies from the host. The host's memory is free on return.
  void copy_in(void* to, const void* from, std::int64_t bytes, cudaStream_t stream) {
    const std::lock_guard lock(mutex_);
    for (std::int64_t done = 0; done < bytes; done += piece) {
      const std::size_t size = size_of_piece(bytes - done);
      Buffer& buffer = next(size);
      std::memcpy(buffer.data, static_cast<const std::byte*>(from) + done, size);
      check(runtime_.copy(static_cast<std::byte*>(to) + done, buffer.data, size,
                          cudaMemcpyHostToDevice, stream),
            "copying to the device");
      end_use(buffer, stream);
    }
  }
  /// Copies to the host, whose memory has the tensor on return.
  void copy_out(void* to, const void* from, std::int64_t bytes, cudaStream_t stream) {
    const std::lock_guard lock(mutex_);
    Buffer* under_way = nullptr;  // of the piece before
    std::int64_t begin = 0;
    const auto take = [&](std::int64_t end) {
      wait_for(*under_way);
      std::memcpy(static_cast<std::byte*>(to) + begin, under_way->data,
                  static_cast<std::size_t>(end - begin));
    };
    for (std::int64_t done = 0; done < bytes; done += piece) {
      const std::size_t size = size_of_piece(bytes - done);
      Buffer& buffer = next(size);
      check(runtime_.copy(buffer.data, static_cast<const std::byte*>(from) + done, size,
                          cudaMemcpyDeviceToHost, stream),
            "copying from the device");
      end_use(buffer, stream);
      if (under_way != nullptr) take(done);
      under_way = &buffer;
      begin = done;
    }
    if (under_way != nullptr) take(bytes);
  }

 private:
  static constexpr std::int64_t piece = std::int64_t{2} << 20;  ///< bytes that are copied at once

  struct Buffer {
    void* data = nullptr;
    std::size_t size = 0;
    cudaEvent_t event = nullptr;
    bool is_used = false;  // by a copy that may be under way
  };

  static std::size_t size_of_piece(std::int64_t rest) {
    return static_cast<std::size_t>(std::min(rest, piece));
  }
  void check(cudaError_t error, const char* what) const {
    detail::check_cuda(runtime_, error, what);
  }
  /// The buffer that was used longest ago, with at least so many bytes.
  Buffer& next(std::size_t size) {
    Buffer& buffer = buffers_[turn_++ % buffers_.size()];
    if (buffer.is_used) wait_for(buffer);
    if (buffer.event == nullptr) check(runtime_.create_event(&buffer.event), "creating an event");
    if (buffer.size < size) {
      if (buffer.data != nullptr) runtime_.release_pinned(buffer.data);
      buffer.data = nullptr;
      buffer.size = 0;
      const std::size_t grown = std::bit_ceil(std::max<std::size_t>(size, 4096));
      check(runtime_.allocate_pinned(&buffer.data, grown), "allocating pinned memory");
      buffer.size = grown;
    }
    return buffer;
  }
  void wait_for(Buffer& buffer) {
    late_.check(runtime_.synchronize_event(buffer.event));
    buffer.is_used = false;
  }
  void end_use(Buffer& buffer, cudaStream_t stream) {
    const cudaError_t error = runtime_.record_event(buffer.event, stream);
    buffer.is_used = error == cudaSuccess;
    if (error != cudaSuccess) runtime_.synchronize(stream);
    check(error, "recording an event");
  }

  const CudaRuntime& runtime_;
  CudaLateErrors& late_;
  std::mutex mutex_;  // guards what follows
  std::array<Buffer, 8> buffers_;
  std::size_t turn_ = 0;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
