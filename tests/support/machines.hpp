// SPDX-License-Identifier: Apache-2.0
#pragma once

// Machines for tests: several devices, some with memory that the host can't touch, and streams that
// take their time, and transports that deliver later.

#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <typeflow/exec/machine.hpp>
#include <typeflow/interpret/program.hpp>
#include <typeflow/ops/control/region.hpp>
#include <typeflow/resources/waiting.hpp>
#include <typeflow/runtime/local_devices.hpp>

#include "support/failing_memory.hpp"
#include "support/transports.hpp"

namespace test {

namespace tf = typeflow;

/// Memory like a GPU's: its addresses can't be read or written. Each has a twin that can, at the
/// same distance, which copies and the device's kernels use.
class FarMemory final : public tf::Memory {
 public:
  FarMemory() {
    const auto reserve = [](int protection) {
      void* const data =
          mmap(nullptr, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (data == MAP_FAILED) throw std::bad_alloc();
      return static_cast<std::byte*>(data);
    };
    far_ = reserve(PROT_NONE);
    near_ = reserve(PROT_READ | PROT_WRITE);
  }
  FarMemory(const FarMemory&) = delete;
  FarMemory& operator=(const FarMemory&) = delete;
  ~FarMemory() {
    munmap(far_, size);
    munmap(near_, size);
  }

  std::byte* allocate(std::int64_t bytes) override {
    FailingMemory::count_allocation();
    const std::size_t first = used_.fetch_add((static_cast<std::size_t>(bytes) + 127) / 64 * 64);
    if (first + static_cast<std::size_t>(bytes) > size) throw std::bad_alloc();
    ++allocations;
    return far_ + first;
  }
  void release(std::byte* data, std::int64_t bytes) noexcept override {
    std::memset(twin(data), 0xcd, static_cast<std::size_t>(bytes));
  }
  bool is_host() const override { return false; }
  void copy_in(void* to, const void* from, std::int64_t bytes) override {
    ++copies;
    ++copies_in;
    std::memcpy(twin(to), from, static_cast<std::size_t>(bytes));
  }
  void copy_out(void* to, const void* from, std::int64_t bytes) override {
    ++copies;
    std::memcpy(to, twin(from), static_cast<std::size_t>(bytes));
  }
  void copy(void* to, const void* from, std::int64_t bytes) override {
    std::memcpy(twin(to), twin(from), static_cast<std::size_t>(bytes));
  }
  void clear(void* data, std::int64_t bytes) override {
    std::memset(twin(data), 0, static_cast<std::size_t>(bytes));
  }

  bool has(const void* address) const { return address >= far_ && address < far_ + size; }
  void* twin(const void* address) const {
    return near_ + (static_cast<const std::byte*>(address) - far_);
  }

  std::atomic<int> allocations{0};
  std::atomic<int> copies{0};     ///< from the host and to the host
  std::atomic<int> copies_in{0};  ///< from the host

 private:
  static constexpr std::size_t size = std::size_t{1} << 30;
  std::byte* far_;
  std::byte* near_;
  std::atomic<std::size_t> used_{0};
};

/// A stream whose work ends after a while, another one each time.
class SlowStream final : public tf::Stream {
 public:
  explicit SlowStream(std::uint64_t seed, FarMemory* far = nullptr)
      : memory(far), state_(seed * 2 + 1) {}
  void finish() noexcept override {
    const std::uint64_t now = state_.fetch_add(0x9E3779B97F4A7C15ull);
    const std::uint64_t drawn = (now ^ (now >> 29)) * 0xBF58476D1CE4E5B9ull >> 56;
    if (drawn < 16) std::this_thread::yield();
    for (std::uint64_t i = 0; i < drawn % 64; ++i)
      std::atomic_signal_fence(std::memory_order_seq_cst);
  }

  FarMemory* const memory;  ///< of the device, if it is far

 private:
  std::atomic<std::uint64_t> state_;
};

/// Interprets a kernel on a device of a Machine: reads and writes the twins of far addresses. A
/// kernel of a far device that gets memory of the host ends the program.
inline void run_on_machine(const tf::KernelCall& call) {
  const auto* const stream = static_cast<const SlowStream*>(call.stream);
  if (stream == nullptr || stream->memory == nullptr) return tf::ir::interpret_kernel(call);
  const auto& spec = *static_cast<const tf::ir::KernelSpec*>(call.description);
  int count = spec.stores;
  for (int i = 0; i < spec.inputs; ++i) count += !spec.input[i].is_index;
  std::vector<void*> operands;
  for (int i = 0; i < count; ++i) {
    if (call.operands[i] != nullptr && !stream->memory->has(call.operands[i])) std::abort();
    operands.push_back(call.operands[i] == nullptr ? nullptr
                                                   : stream->memory->twin(call.operands[i]));
  }
  tf::KernelCall near = call;
  near.operands = operands.data();
  tf::ir::interpret_kernel(near);
}

/// Kernels of a Machine that wait now and then, as a dequeue does, each for a time of its own.
class WaitingKernels {
 public:
  static bool may_wait(int kernel) { return kernel % 3 == 1; }
  static void run(const tf::KernelCall& call) {
    const auto* const stream = static_cast<const SlowStream*>(call.stream);
    if (stream == nullptr || call.failure == nullptr || call.failure->waiter == nullptr) {
      return run_on_machine(call);
    }
    static WaitingKernels all;
    tf::wait_for(call, all.waiters_, [&] {
      if (all.draws_.fetch_add(0x9E3779B97F4A7C15ull) * 0xBF58476D1CE4E5B9ull >> 62 != 0)
        return false;
      run_on_machine(call);
      return true;
    });
  }

 private:
  WaitingKernels()
      : ticks_([this](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            waiters_.notify();
            std::this_thread::sleep_for(std::chrono::microseconds(1));
          }
        }) {}

  tf::Waiters waiters_;
  std::atomic<std::uint64_t> draws_{1};
  std::jthread ticks_;
};

/// /cpu:0 to /cpu:n-1. Bit d of `far` gives device d far memory. With `transports` most devices
/// send by a LateTransport.
class Machine {
 public:
  Machine(int devices, unsigned far, std::uint64_t seed, bool transports = false)
      : transport_(transports ? std::make_unique<LateTransport>(seed) : nullptr) {
    for (int d = 0; d < devices; ++d) {
      FarMemory* const memory = (far >> d & 1u) != 0
                                    ? memories_.emplace_back(std::make_unique<FarMemory>()).get()
                                    : nullptr;
      streams_.push_back(
          std::make_unique<SlowStream>(seed + static_cast<std::uint64_t>(d), memory));
      devices_.push_back({tf::cpu(d), &near_, streams_.back().get(), 0});
      if (memory != nullptr) devices_.back().memory = memory;
      const bool copies = (seed / 3 + static_cast<std::uint64_t>(d)) % 4 == 3;
      if (!copies) devices_.back().transport = transport_.get();
    }
  }
  /// `run` calls a kernel.
  tf::ir::InterpretedMachine interpreted(
      void (*run)(const tf::KernelCall&) = &run_on_machine) const {
    return {devices_, run};
  }
  /// The same, where a part of the kernels waits.
  tf::ir::InterpretedMachine waiting() const {
    return {devices_, &WaitingKernels::run, &WaitingKernels::may_wait};
  }
  std::span<const tf::MachineDevice> devices() const { return devices_; }
  LateTransport* transport() const { return transport_.get(); }  ///< null if there is none
  /// The far memory number i.
  FarMemory& far(std::size_t i = 0) const { return *memories_[i]; }

 private:
  FailingMemory near_;
  std::vector<std::unique_ptr<FarMemory>> memories_;
  std::vector<std::unique_ptr<SlowStream>> streams_;
  std::unique_ptr<LateTransport> transport_;
  std::vector<tf::MachineDevice> devices_;
};

/// The processor as /cpu:0, and under the names /gpu:0, /gpu:1, ... those of 16 pretended GPUs that
/// the process may use.
class PretendedGpus : public tf::CpuTarget<> {
 public:
  static constexpr tf::DeviceKind default_kind = tf::DeviceKind::gpu;

  explicit PretendedGpus(const tf::TargetOptions& options) : CpuTarget(options) {
    devices_.push_back({tf::cpu(0)});
    for (const int number : tf::visible_devices(16)) {
      if (devices_.size() == tf::max_devices) break;
      names_.push_back(std::make_unique<std::string>("pretended GPU " + std::to_string(number)));
      const int index = static_cast<int>(devices_.size()) - 1;
      devices_.push_back({.device = tf::gpu(index), .description = names_.back()->c_str()});
    }
  }
  std::span<const tf::MachineDevice> devices() const { return devices_; }

 private:
  std::vector<std::unique_ptr<std::string>> names_;
  std::vector<tf::MachineDevice> devices_;
};

/// The same graph with random pins to /cpu:0 ... /cpu:n-1, and with loops that let random numbers
/// of iterations overlap.
inline tf::ir::Graph pinned(const tf::ir::Graph& graph, int devices, std::uint64_t seed) {
  tf::ir::Graph out = graph;
  std::uint64_t state = seed;
  const auto draw = [&](int count) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<int>((state >> 33) % static_cast<std::uint64_t>(count));
  };
  for (tf::ir::Node& node : out.nodes) {
    if (draw(3) != 0) node.device = tf::cpu(draw(devices));
    if (!tf::is<tf::ops::Loop>(*node.op)) continue;
    auto loop = tf::decode<tf::ops::Loop>(out, node);
    loop.parallel = draw(2) == 0 ? 0 : draw(20);
    tf::ir::set_attributes(out, node, loop);
  }
  return out;
}

}  // namespace test
