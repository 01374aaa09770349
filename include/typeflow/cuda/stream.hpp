// SPDX-License-Identifier: Apache-2.0
#pragma once

// A GPU as a device of exec/: its memory, and the stream on which kernels are launched.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "typeflow/core/failure.hpp"
#include "typeflow/cuda/runtime.hpp"
#include "typeflow/exec/memory.hpp"
#include "typeflow/lower/kernel_call.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A stream of one GPU. All its functions may be called by several threads.
class CudaStream final : public Stream {
 public:
  /// Error if the GPU has no stream left.
  CudaStream(const CudaRuntime& runtime, int device) : runtime_(runtime), device_(device) {
    use_device();
    detail::check_cuda(runtime_, runtime_.create_stream(&stream_), "creating a stream");
  }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  ~CudaStream() {
    runtime_.use_device(device_);
    runtime_.synchronize(stream_);
    for (const Report& report : reports_) runtime_.release_pinned(report.found);
    for (Failure* const spare : spare_) runtime_.release_pinned(spare);
    runtime_.destroy_stream(stream_);
  }

  const CudaRuntime& runtime() const { return runtime_; }
  cudaStream_t get() const { return stream_; }
  /// Has this thread's calls go to the stream's GPU.
  void use_device() const {
    detail::check_cuda(runtime_, runtime_.use_device(device_), "choosing the device");
  }

  /// Waits for the stream, and hands on what kernels that this thread launched have reported. An
  /// error of the GPU is kept: launches and copies throw it from then on.
  void finish() noexcept override {
    runtime_.use_device(device_);
    if (const cudaError_t error = runtime_.synchronize(stream_); error != cudaSuccess) {
      error_.store(error);
    }
    const std::lock_guard lock(mutex_);
    const auto mine = [me = std::this_thread::get_id()](const Report& r) { return r.thread == me; };
    for (Report& report : reports_) {
      if (!mine(report)) continue;
      if (report.found->what != 0 && report.call->what == 0) {
        *report.call = *report.found;
        report.call->step = report.step;
      }
      spare_.push_back(report.found);  // has room: see failure_of
    }
    std::erase_if(reports_, mine);
  }

  /// Throws the error that the GPU had while it was waited for, if there was one.
  void check() const {
    detail::check_cuda(runtime_, error_.load(std::memory_order_relaxed), "an earlier kernel");
  }

  /// A record, for kernels of this call, of what they find wrong in their data.
  Failure* failure_of(const KernelCall& call) {
    const std::lock_guard lock(mutex_);
    spare_.reserve(spare_.size() + reports_.size() + 1);
    if (spare_.empty()) {
      void* made = nullptr;
      detail::check_cuda(runtime_, runtime_.allocate_pinned(&made, sizeof(Failure)),
                         "allocating pinned memory");
      spare_.push_back(static_cast<Failure*>(made));
    }
    reports_.reserve(reports_.size() + 1);
    Failure* const found = spare_.back();
    spare_.pop_back();
    *found = Failure{};
    reports_.push_back({found, call.failure, call.step, std::this_thread::get_id()});
    return found;
  }

 private:
  /// A failing kernel's record, and where the run looks for it.
  struct Report {
    Failure* found;  // in pinned memory
    Failure* call;
    std::int32_t step;
    std::thread::id thread;
  };

  const CudaRuntime& runtime_;
  int device_;
  cudaStream_t stream_ = nullptr;
  std::atomic<cudaError_t> error_{cudaSuccess};  // of finish()
  std::mutex mutex_;                             // guards what follows
  std::vector<Report> reports_;
  std::vector<Failure*> spare_;
};

/// The memory of one GPU. Copies wait until they are done.
class CudaMemory final : public Memory {
 public:
  explicit CudaMemory(CudaStream& stream) : stream_(stream) {}

  std::byte* allocate(std::int64_t bytes) override {
    const CudaRuntime& runtime = prepared();
    void* data = nullptr;
    const auto size = static_cast<std::size_t>(bytes);
    if (runtime.allocate(&data, size, stream_.get()) != cudaSuccess) throw std::bad_alloc();
    const cudaError_t error = runtime.fill(data, 0, size, stream_.get());
    if (error != cudaSuccess) runtime.release(data, stream_.get());
    wait(error, "clearing memory");
    return static_cast<std::byte*>(data);
  }
  void release(std::byte* data, std::int64_t) noexcept override {
    stream_.runtime().release(data, stream_.get());
  }
  bool is_host() const override { return false; }
  void copy_in(void* to, const void* from, std::int64_t bytes) override {
    copy(to, from, bytes, cudaMemcpyHostToDevice, "copying to the device");
  }
  void copy_out(void* to, const void* from, std::int64_t bytes) override {
    copy(to, from, bytes, cudaMemcpyDeviceToHost, "copying from the device");
  }
  void copy(void* to, const void* from, std::int64_t bytes) override {
    copy(to, from, bytes, cudaMemcpyDeviceToDevice, "copying within the device");
  }
  void clear(void* data, std::int64_t bytes) override {
    const CudaRuntime& runtime = prepared();
    wait(runtime.fill(data, 0, static_cast<std::size_t>(bytes), stream_.get()), "clearing memory");
  }

 private:
  const CudaRuntime& prepared() const {
    stream_.check();
    stream_.use_device();
    return stream_.runtime();
  }
  void copy(void* to, const void* from, std::int64_t bytes, cudaMemcpyKind kind, const char* what) {
    const CudaRuntime& runtime = prepared();
    wait(runtime.copy(to, from, static_cast<std::size_t>(bytes), kind, stream_.get()), what);
  }
  void wait(cudaError_t error, const char* what) {
    if (error == cudaSuccess) error = stream_.runtime().synchronize(stream_.get());
    detail::check_cuda(stream_.runtime(), error, what);
  }

  CudaStream& stream_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
