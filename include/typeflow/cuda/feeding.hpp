// SPDX-License-Identifier: Apache-2.0
#pragma once

// Large tensors that runs are fed: they are on their way to a GPU while kernels of earlier runs are
// at work.
//
// The arena's memory of a feed is in use until the run before is done. So the tensor is copied from
// pinned memory to a second buffer of the GPU, on a stream of its own, and from there to the arena
// in the order of the kernels. The GPU's copy takes a fraction of the time of the host's.
//
//   copy stream   waits until the buffer's last tensor is taken, copies from the host
//   stream        waits until the tensor has arrived, copies within the GPU, runs kernels
//
// A tensor that is in pinned memory already is copied from there. Then the host waits for its
// arrival, which takes less time than copying it: callers may change a feed when the run returns.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "typeflow/cuda/late_errors.hpp"
#include "typeflow/cuda/runtime.hpp"
#include "typeflow/cuda/staging.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Second buffers of large feeds on a GPU, and the stream that fills them. All functions may be
/// called by several threads; the device must be chosen before.
class CudaFeeds {
 public:
  /// Bytes of the smallest tensor for which the second buffer pays.
  static constexpr std::int64_t least = std::int64_t{1} << 18;

  /// `late` gets what the GPU has found wrong when the host waits for it.
  CudaFeeds(const CudaRuntime& runtime, CudaLateErrors& late)
      : runtime_(runtime), late_(late), staging_(runtime, late) {}
  CudaFeeds(const CudaFeeds&) = delete;
  CudaFeeds& operator=(const CudaFeeds&) = delete;
  ~CudaFeeds() {
    if (copies_ == nullptr) return;
    runtime_.synchronize(copies_);
    for (Buffer& buffer : buffers_) {
      if (buffer.data != nullptr) runtime_.release(buffer.data, copies_);
      if (buffer.arrived != nullptr) runtime_.destroy_event(buffer.arrived);
      if (buffer.taken != nullptr) runtime_.destroy_event(buffer.taken);
    }
    runtime_.synchronize(copies_);
    runtime_.destroy_stream(copies_);
  }

  /// Copies a tensor from the host. It is at `to` for all that `stream` is given from now on. The
  /// host's memory is free on return. Returns false, and does nothing, if the GPU has no memory
  /// for a second buffer. The stream must be finished when this object ends.
  bool copy_in(void* to, const void* from, std::int64_t bytes, cudaStream_t stream) {
    const std::lock_guard lock(mutex_);
    if (copies_ == nullptr) check(runtime_.create_stream(&copies_), "creating a stream");
    Buffer& buffer = buffer_for(to);
    if (!make_room(buffer, bytes, stream)) return false;
    if (buffer.is_used) wait(copies_, buffer.taken);
    if (is_pinned(from, bytes)) {
      copy_pinned(buffer, from, bytes);
    } else {
      staging_.copy_in(buffer.data, from, bytes, copies_);
      check(runtime_.record_event(buffer.arrived, copies_), "recording an event");
    }
    wait(stream, buffer.arrived);
    check(runtime_.copy(to, buffer.data, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice,
                        stream),
          "copying within the device");
    const cudaError_t error = runtime_.record_event(buffer.taken, stream);
    buffer.is_used = error == cudaSuccess;
    if (error != cudaSuccess) runtime_.synchronize(stream);
    check(error, "recording an event");
    return true;
  }

 private:
  /// The second buffer of a feed.
  struct Buffer {
    const void* to = nullptr;
    void* data = nullptr;
    std::int64_t size = 0;
    cudaEvent_t arrived = nullptr;
    cudaEvent_t taken = nullptr;
    bool is_used = false;    // `taken` has been recorded
    std::uint64_t turn = 0;  // of the last use
  };

  void check(cudaError_t error, const char* what) const {
    detail::check_cuda(runtime_, error, what);
  }
  void wait(cudaStream_t stream, cudaEvent_t event) const {
    check(runtime_.wait_for_event(stream, event), "waiting for an event");
  }
  bool is_pinned(const void* from, std::int64_t bytes) const {
    return runtime_.is_pinned(from) &&
           runtime_.is_pinned(static_cast<const std::byte*>(from) + (bytes - 1));
  }
  /// Copies from the caller's memory, and waits for it.
  void copy_pinned(const Buffer& buffer, const void* from, std::int64_t bytes) {
    check(runtime_.copy(buffer.data, from, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice,
                        copies_),
          "copying to the device");
    const cudaError_t error = runtime_.record_event(buffer.arrived, copies_);
    if (error != cudaSuccess) {
      runtime_.synchronize(copies_);
      check(error, "recording an event");
    }
    late_.check(runtime_.synchronize_event(buffer.arrived));
  }
  /// The buffer of a feed, or the one that was used longest ago.
  Buffer& buffer_for(const void* to) {
    auto found = std::find_if(buffers_.begin(), buffers_.end(),
                              [&](const Buffer& buffer) { return buffer.to == to; });
    if (found == buffers_.end()) {
      found = std::min_element(buffers_.begin(), buffers_.end(),
                               [](const Buffer& a, const Buffer& b) { return a.turn < b.turn; });
    }
    found->to = to;
    found->turn = ++turn_;
    return *found;
  }
  bool make_room(Buffer& buffer, std::int64_t bytes, cudaStream_t stream) {
    for (cudaEvent_t* const event : {&buffer.arrived, &buffer.taken}) {
      if (*event == nullptr) check(runtime_.create_event(event), "creating an event");
    }
    if (buffer.size >= bytes) return true;
    if (buffer.data != nullptr) runtime_.release(buffer.data, stream);  // once the tensor is taken
    buffer.data = nullptr;
    buffer.size = 0;
    buffer.is_used = false;
    if (runtime_.allocate(&buffer.data, static_cast<std::size_t>(bytes), copies_) != cudaSuccess) {
      buffer.data = nullptr;
      return false;
    }
    buffer.size = bytes;
    return true;
  }

  const CudaRuntime& runtime_;
  CudaLateErrors& late_;
  CudaStaging staging_;
  std::mutex mutex_;  // guards what follows
  cudaStream_t copies_ = nullptr;
  std::array<Buffer, 4> buffers_;
  std::uint64_t turn_ = 0;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
