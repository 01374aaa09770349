// SPDX-License-Identifier: Apache-2.0
#pragma once

// A GPU as a device of exec/: its memory, and the stream on which kernels are launched.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "typeflow/core/failure.hpp"
#include "typeflow/cuda/capture.hpp"
#include "typeflow/cuda/conditional.hpp"
#include "typeflow/cuda/feeding.hpp"
#include "typeflow/cuda/late_errors.hpp"
#include "typeflow/cuda/runtime.hpp"
#include "typeflow/cuda/staging.hpp"
#include "typeflow/exec/asynchronous.hpp"
#include "typeflow/exec/recorder.hpp"
#include "typeflow/exec/recording.hpp"
#include "typeflow/exec/recordings.hpp"
#include "typeflow/lower/kernel_call.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A stream of one GPU. All its functions may be called by several threads.
class CudaStream final : public RecordingStream {
 public:
  /// Error if the GPU has no stream left. TYPEFLOW_CUDA_GRAPHS=0 in the environment: it records no
  /// kernels; =chain: recorded kernels run one after another.
  CudaStream(const CudaRuntime& runtime, int device)
      : RecordingStream(&runtime),
        runtime_(runtime),
        device_(device),
        records_(!has_setting("0")),
        records_chains_(has_setting("chain")),
        late_(runtime),
        feeds_(runtime, late_),
        to_device_(runtime, late_),
        to_host_(runtime, late_) {
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
    if (event_ != nullptr) runtime_.destroy_event(event_);
    runtime_.destroy_stream(stream_);
  }

  const CudaRuntime& runtime() const { return runtime_; }
  int device() const { return device_; }
  /// The stream, for work of the present call.
  cudaStream_t get() {
    if (capture_ != nullptr) capture_->before_launch(*this);
    return stream_;
  }
  /// The capture that records the work; null: the work is done.
  CudaCapture* capture() const { return capture_.get(); }
  /// Has this thread's calls go to the stream's GPU.
  void use_device() const {
    detail::check_cuda(runtime_, runtime_.use_device(device_), "choosing the device");
  }
  /// Whether an error has been found, which never goes away.
  bool is_broken() const { return late_.is_kept(); }
  /// The present call's kernel, for messages about errors that are found later.
  void note(CudaKernelName kernel) {
    recorded_ != nullptr ? recorded_->push_back(kernel) : late_.launch(kernel);
  }

  /// Copies from the host in the stream's order. The host's memory is free on return.
  void copy_in(void* to, const void* from, std::int64_t bytes) {
    check();
    use_device();
    to_device_.copy_in(to, from, bytes, get());
  }
  /// The same, where a large tensor is on its way while the stream is at work.
  void feed(void* to, const void* from, std::int64_t bytes) {
    check();
    use_device();
    if (bytes >= CudaFeeds::least && feeds_.copy_in(to, from, bytes, get())) return;
    to_device_.copy_in(to, from, bytes, get());
  }
  /// Copies to the host in the stream's order, and waits for it.
  void copy_out(void* to, const void* from, std::int64_t bytes) {
    check();
    use_device();
    const std::uint64_t before = late_.position();
    to_host_.copy_out(to, from, bytes, get());
    late_.succeed(before);
  }

  /// Waits for the stream, and hands on what kernels that this thread launched have reported. An
  /// error of the GPU is kept: launches and copies throw it from then on.
  void finish() noexcept override {
    runtime_.use_device(device_);
    const std::uint64_t before = late_.position();
    const cudaError_t error = runtime_.synchronize(stream_);
    error == cudaSuccess ? late_.succeed(before) : late_.keep(error);
    const std::lock_guard lock(mutex_);
    const auto mine = [me = std::this_thread::get_id()](const Report& r) { return r.thread == me; };
    for (Report& report : reports_) {
      if (!mine(report)) continue;
      if (report.found->what != 0 && report.call->what == 0) {
        *report.call = *report.found;
        report.call->step = report.step;
      }
      if (report.is_recorded) {
        *report.found = report.initial;
      } else {
        spare_.push_back(report.found);  // has room: see failure_of
      }
    }
    std::erase_if(reports_, mine);
  }

  /// Waits only if a kernel of this thread may have reported a failure.
  void settle() noexcept override {
    {
      const std::lock_guard lock(mutex_);
      const auto me = std::this_thread::get_id();
      const bool waits = std::any_of(reports_.begin(), reports_.end(),
                                     [&](const Report& r) { return r.thread == me; });
      if (!waits) return;
    }
    finish();
  }
  /// Another GPU's stream waits for this one without the host. Others wait here: who waits for them
  /// counts on this stream, too.
  void precede(Stream* later) override {
    AsynchronousStream* const other = later == nullptr ? nullptr : later->asynchronous();
    if (other == nullptr || other->driver() != driver()) return finish();
    check();
    use_device();
    const std::lock_guard lock(mutex_);
    if (event_ == nullptr) {
      detail::check_cuda(runtime_, runtime_.create_event(&event_), "creating an event");
    }
    detail::check_cuda(runtime_, runtime_.record_event(event_, stream_), "recording an event");
    detail::check_cuda(runtime_,
                       runtime_.wait_for_event(static_cast<CudaStream*>(other)->stream_, event_),
                       "waiting for an event");
  }
  /// Throws the error that the GPU had while it was waited for, if there was one.
  void check() const override { late_.check(); }
  /// Throws the error of giving work to the stream. CUDA's calls may return that of an earlier
  /// kernel in place of their own; then waiting fails, too.
  void check(cudaError_t error, const char* what) {
    if (error == cudaSuccess) return;
    if (capture_ == nullptr && runtime_.synchronize(stream_) != cudaSuccess) late_.check(error);
    detail::check_cuda(runtime_, error, what);
  }
  std::unique_ptr<exec::Recorder> recorder() override {
    return records_ ? exec::make_recorder(*this) : nullptr;
  }
  std::unique_ptr<Recording> record(const RecordingNeeds& needs) override;
  bool records_decisions() const override {
    return runtime_.has_conditional_nodes != nullptr && runtime_.has_conditional_nodes();
  }

  /// The number of the random draw in the GPU's memory, for kernels of a recording; null: kernels
  /// get it as an argument.
  const std::uint64_t* draw() {
    if (draw_ != nullptr) draws_ = true;
    return draw_;
  }

  /// Sets the place at which draw() finds the number from now on.
  void set_draw(const std::uint64_t* draw) { draw_ = draw; }
  /// Has the launches of a recording go to another stream, which is recorded, too.
  void record_on(cudaStream_t stream) { stream_ = stream; }

  /// A record, for kernels of this call, of what they find wrong in their data.
  Failure* failure_of(const KernelCall& call) { return failure_of(call.failure, call.step); }
  Failure* failure_of(Failure* of_run, std::int32_t step) {
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
    reports_.push_back({found, of_run, step, std::this_thread::get_id(), false, {}});
    return found;
  }
  /// f(record) for each that a kernel of a recording may write.
  template <class F>
  void each_failure(const F& f) const {
    for (const Report& report : reports_) f(report.found);
  }

 private:
  /// A failing kernel's record, and where the run looks for it.
  struct Report {
    Failure* found;  // in pinned memory
    Failure* call;
    std::int32_t step;
    std::thread::id thread;
    bool is_recorded;  // the record is a recording's
    Failure initial;   // what is in it before the recording is played
  };

  friend class CudaRecording;

  /// Kernels of a recording, which is on its way, may fail.
  void expect(const std::vector<Report>& recorded) {
    const std::lock_guard lock(mutex_);
    for (Report report : recorded) {
      report.thread = std::this_thread::get_id();
      report.is_recorded = true;
      reports_.push_back(report);
    }
  }

  static bool has_setting(std::string_view value) {
    const char* const setting = std::getenv("TYPEFLOW_CUDA_GRAPHS");
    return setting != nullptr && setting == value;
  }

  const CudaRuntime& runtime_;
  int device_;
  cudaStream_t stream_ = nullptr;
  const bool records_;
  const bool records_chains_;
  std::unique_ptr<CudaCapture> capture_;  // of a recording
  const std::uint64_t* draw_ = nullptr;
  bool draws_ = false;  // draw() has given the place of the number
  std::shared_ptr<std::vector<CudaKernelName>> recorded_;  // the kernels of a recording
  CudaLateErrors late_;
  CudaFeeds feeds_;
  CudaStaging to_device_;
  CudaStaging to_host_;
  std::mutex mutex_;             // guards what follows
  cudaEvent_t event_ = nullptr;  // of precede()
  std::vector<Report> reports_;
  std::vector<Failure*> spare_;
};

/// Kernels of a stream as a CUDA graph.
class CudaRecording final : public Recording {
 public:
  /// Records what this thread calls with stream(). `on` is the stream that plays it.
  CudaRecording(CudaStream& on, const RecordingNeeds& needs)
      : on_(on), recorder_(on.runtime(), on.device()) {
    const auto bytes = static_cast<std::size_t>(draw_bytes + needs.scratch);
    check(on_.runtime().allocate(&memory_, bytes, on_.get()), "allocating memory");
    try {
      recorder_.draw_ = static_cast<const std::uint64_t*>(memory_);
      recorder_.recorded_ = std::make_shared<std::vector<CudaKernelName>>();
      if (needs.depth > 0) {
        decisions_ = std::make_unique<CudaDecisions<CudaStream>>(
            recorder_, needs.depth, static_cast<std::byte*>(memory_) + draw_bytes);
      }
      check(on_.runtime().begin_capture(recorder_.stream_), "recording kernels");
    } catch (...) {
      on_.runtime().release(memory_, on_.get());
      throw;
    }
    is_open_ = true;
    // Bodies of branches and loops are captured by other streams, whose nodes are chains.
    recorder_.capture_ = std::make_unique<CudaCapture>(on_.runtime(), recorder_.stream_,
                                                       on_.records_chains_ || needs.depth > 0);
  }
  ~CudaRecording() override {
    const CudaRuntime& runtime = on_.runtime();
    runtime.use_device(on_.device());
    if (!recorder_.reports_.empty()) on_.settle();  // the run may still look at them
    decisions_.reset();
    if (is_open_) runtime.end_capture(recorder_.stream_, &graph_);
    if (graph_ != nullptr) runtime.destroy_graph(graph_);
    for (const CudaStream::Report& report : recorder_.reports_) {
      runtime.release_pinned(report.found);
    }
    recorder_.reports_.clear();
    runtime.release(memory_, on_.get());
  }

  Stream& stream() override { return recorder_; }
  Decisions* decisions() override { return decisions_.get(); }
  void begin_call(std::span<const MemoryAccess> accesses) override {
    recorder_.capture_->begin_call(accesses);
  }
  void end() override {
    for (CudaStream::Report& report : recorder_.reports_) report.initial = *report.found;
    recorder_.capture_->end(recorder_);
    is_open_ = false;
    check(on_.runtime().end_capture(recorder_.stream_, &graph_), "making a graph");
    decisions_.reset();
  }
  void play(std::uint64_t draw) override {
    on_.check();
    on_.use_device();
    if (recorder_.draws_ && !(has_draw_ && draw == draw_)) {
      on_.copy_in(memory_, &draw, sizeof draw);
      draw_ = draw;
      has_draw_ = true;
    }
    on_.late_.launch(recorder_.recorded_);
    on_.check(on_.runtime().launch_graph(graph_, on_.get()), "launching a graph");
    if (!recorder_.reports_.empty()) on_.expect(recorder_.reports_);
  }

 private:
  void check(cudaError_t error, const char* what) const {
    detail::check_cuda(on_.runtime(), error, what);
  }

  static constexpr std::int64_t draw_bytes = 256;  ///< what follows is aligned

  CudaStream& on_;
  CudaStream recorder_;
  void* memory_ = nullptr;  // the number of the random draw, then scratch memory
  std::unique_ptr<Decisions> decisions_;
  bool is_open_ = false;
  cudaGraphExec_t graph_ = nullptr;
  bool has_draw_ = false;
  std::uint64_t draw_ = 0;  // of the last time
};

inline std::unique_ptr<Recording> CudaStream::record(const RecordingNeeds& needs) {
  return std::make_unique<CudaRecording>(*this, needs);
}

/// The memory of one GPU. Copies are made in the order of its stream. Those to the host wait for
/// their end.
class CudaMemory final : public AsynchronousMemory {
 public:
  explicit CudaMemory(CudaStream& stream) : AsynchronousMemory(stream.driver()), stream_(stream) {}

  std::byte* allocate(std::int64_t bytes) override {
    const CudaRuntime& runtime = prepared();
    void* data = nullptr;
    const auto size = static_cast<std::size_t>(bytes);
    if (runtime.allocate(&data, size, stream_.get()) != cudaSuccess) throw std::bad_alloc();
    cudaError_t error = runtime.fill(data, 0, size, stream_.get());
    // Another GPU may copy to it at once.
    if (error == cudaSuccess) error = runtime.synchronize(stream_.get());
    if (error != cudaSuccess) runtime.release(data, stream_.get());
    check(error, "clearing memory");
    return static_cast<std::byte*>(data);
  }
  void release(std::byte* data, std::int64_t) noexcept override {
    stream_.runtime().release(data, stream_.get());
  }
  bool is_host() const override { return false; }
  void copy_in(void* to, const void* from, std::int64_t bytes) override {
    stream_.copy_in(to, from, bytes);
  }
  void feed(void* to, const void* from, std::int64_t bytes) override {
    stream_.feed(to, from, bytes);
  }
  void copy_out(void* to, const void* from, std::int64_t bytes) override {
    stream_.copy_out(to, from, bytes);
  }
  void copy(void* to, const void* from, std::int64_t bytes) override {
    check(prepared().copy(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice,
                          stream_.get()),
          "copying within the device");
  }
  void copy_to(AsynchronousMemory& other, void* to, const void* from, std::int64_t bytes) override {
    const CudaStream& receiver = static_cast<CudaMemory&>(other).stream_;
    check(prepared().copy_peer(to, receiver.device(), from, stream_.device(),
                               static_cast<std::size_t>(bytes), stream_.get()),
          "copying to another device");
  }
  void copy_in_turn_to(AsynchronousMemory& other, void* to, const void* from,
                       std::int64_t bytes) override {
    CudaStream& receiver = static_cast<CudaMemory&>(other).stream_;
    receiver.precede(&stream_);
    copy_to(other, to, from, bytes);
    try {
      stream_.precede(&receiver);
    } catch (...) {
      stream_.finish();
      throw;
    }
  }
  void clear(void* data, std::int64_t bytes) override {
    check(prepared().fill(data, 0, static_cast<std::size_t>(bytes), stream_.get()),
          "clearing memory");
  }

 private:
  const CudaRuntime& prepared() const {
    stream_.check();
    stream_.use_device();
    return stream_.runtime();
  }
  void check(cudaError_t error, const char* what) const {
    detail::check_cuda(stream_.runtime(), error, what);
  }

  CudaStream& stream_;
};

/// A GPU of one table of CUDA's functions. All sessions of the process share its stream and its
/// copies of variables.
struct CudaGpu {
  CudaGpu(const CudaRuntime& runtime, int number)
      : stream(runtime, number), memory(stream), name("a GPU") {
    char text[256];
    if (runtime.device_name(number, text, sizeof text) == cudaSuccess) name = text;
  }

  CudaStream stream;
  CudaMemory memory;
  std::string name;
};

/// The GPU with this number. It lives as long as somebody has it. One that an error has broken is
/// not shared any more.
inline std::shared_ptr<CudaGpu> shared_gpu(const CudaRuntime& runtime, int number) {
  static std::mutex mutex;
  static std::map<std::pair<const CudaRuntime*, int>, std::weak_ptr<CudaGpu>> all;
  const std::lock_guard lock(mutex);
  std::weak_ptr<CudaGpu>& known = all[{&runtime, number}];
  std::shared_ptr<CudaGpu> gpu = known.lock();
  if (gpu == nullptr || gpu->stream.is_broken()) {
    gpu = std::make_shared<CudaGpu>(runtime, number);
    known = gpu;
  }
  return gpu;
}

}  // namespace typeflow::inline TYPEFLOW_ISA
