// SPDX-License-Identifier: Apache-2.0
#pragma once

// How tensors get from the memory of one device to that of another.
//
// MachineDevice::transport carries what a device sends. Null stands for copies of memory, which the
// sending device's thread makes. Another transport begins a transfer and says later that it is
// over, in any thread. Until then no thread waits: the device's other work goes on.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>

#include "typeflow/core/config.hpp"
#include "typeflow/core/device.hpp"
#include "typeflow/exec/asynchronous.hpp"
#include "typeflow/exec/memory.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A tensor to be carried.
struct Transfer {
  Device from_device;
  Device to_device;
  Memory* from_memory;
  const void* from;
  Memory* to_memory;
  void* to;
  std::int64_t bytes;
};

/// Is told when a transfer is over.
class Completion {
 public:
  Completion() = default;
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;

  /// The receiver's memory has the tensor. In any thread, once for each transfer.
  void done() noexcept { end(State::done); }
  /// The tensor can't be carried. The run ends with an error that has the reason.
  TYPEFLOW_COLD void fail(std::string_view reason) noexcept {
    try {
      reason_ = reason;
    } catch (...) {  // no memory: the error has no reason
    }
    end(State::failed);
  }

  // For the stream that sends.

  /// Is called when the transfer is over, in the thread that says so.
  using Wake = void (*)(void* context) noexcept;
  TYPEFLOW_COLD void begin(Wake wake, void* context) {
    wake_ = wake;
    context_ = context;
    reason_.clear();
    state_.store(State::under_way);
  }
  bool is_over() const { return state_.load() != State::under_way; }
  /// After is_over(): whether the tensor is there. Then nobody calls `wake` any more.
  TYPEFLOW_COLD bool has_arrived() {
    const std::lock_guard lock(mutex_);
    return state_.load() == State::done;
  }
  const std::string& reason() const { return reason_; }

 private:
  enum class State : int { under_way, done, failed };

  void end(State state) noexcept {
    const std::lock_guard lock(mutex_);
    state_.store(state);
    wake_(context_);
  }

  std::mutex mutex_;  // is held while the sender is woken, so that it doesn't end before
  std::atomic<State> state_{State::done};
  Wake wake_ = nullptr;
  void* context_ = nullptr;
  std::string reason_;
};

/// Carries tensors between devices. It is used by several threads at once.
class Transport {
 public:
  /// Begins a transfer of at least one byte. Calls over.done() or over.fail(reason) when it is
  /// over; it may do so before it returns. Until then the tensor and its place at the receiver
  /// stay as they are. If it throws, the transfer is over, and the run fails.
  virtual void begin(const Transfer& transfer, Completion& over) = 0;
  /// The run has ended early, and waits for the end of this transfer: let it be over soon.
  virtual void cancel(Completion& over) noexcept { static_cast<void>(over); }

 protected:
  ~Transport() = default;
};

namespace exec {

/// Whether there is a direct way between two memories that are not the host's.
inline bool of_one_driver(const AsynchronousMemory* from, const AsynchronousMemory* to) {
  return from != nullptr && to != nullptr && from->driver() == to->driver();
}

/// Copies between memories; null is the host's.
TYPEFLOW_COLD inline void transfer(Memory* from_memory, const void* from, Memory* to_memory,
                                   void* to, std::int64_t bytes) {
  if (bytes <= 0 || from == to) return;
  const bool from_host = from_memory == nullptr || from_memory->is_host();
  const bool to_host = to_memory == nullptr || to_memory->is_host();
  if (from_host && to_host) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  } else if (from_host) {
    to_memory->copy_in(to, from, bytes);
  } else if (to_host) {
    from_memory->copy_out(to, from, bytes);
  } else if (from_memory == to_memory) {
    from_memory->copy(to, from, bytes);
  } else if (of_one_driver(from_memory->asynchronous(), to_memory->asynchronous())) {
    from_memory->asynchronous()->copy_to(*to_memory->asynchronous(), to, from, bytes);
  } else {  // by way of the host
    std::byte part[4096];
    constexpr auto most = static_cast<std::int64_t>(sizeof part);
    for (std::int64_t done = 0; done < bytes; done += most) {
      const std::int64_t size = std::min(most, bytes - done);
      from_memory->copy_out(part, static_cast<const std::byte*>(from) + done, size);
      to_memory->copy_in(static_cast<std::byte*>(to) + done, part, size);
    }
  }
}

}  // namespace exec

/// Copies memory in the thread that begins the transfer: what devices without a transport do. For
/// transports that only look at transfers.
class MemoryTransport : public Transport {
 public:
  void begin(const Transfer& transfer, Completion& over) override {
    exec::transfer(transfer.from_memory, transfer.from, transfer.to_memory, transfer.to,
                   transfer.bytes);
    over.done();
  }

 protected:
  ~MemoryTransport() = default;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
