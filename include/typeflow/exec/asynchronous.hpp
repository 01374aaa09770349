// SPDX-License-Identifier: Apache-2.0
#pragma once

// Devices that work by themselves, as GPUs do: kernels and copies are given to a stream, and come
// in its order. The host waits for what it reads.

#include <cstdint>
#include <span>

#include "typeflow/exec/decisions.hpp"
#include "typeflow/exec/memory.hpp"
#include "typeflow/exec/memory_access.hpp"
#include "typeflow/lower/kernel_call.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Kernel calls that are made again as one. The device's stream outlives it.
class Recording {
 public:
  Recording() = default;
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  virtual ~Recording() = default;

  /// The stream with which kernels are called to be recorded. They are not run.
  virtual Stream& stream() = 0;
  /// The next call reads and writes this memory and no other. When the recording is played, calls
  /// may be made at once if none of their accesses conflict, or in another order.
  virtual void begin_call(std::span<const MemoryAccess> accesses) = 0;
  /// Records branches and loops; null: the host decides, and kernels alone are recorded.
  virtual Decisions* decisions() { return nullptr; }
  /// After the last call.
  virtual void end() = 0;
  /// Makes the calls, in the device's stream, with the random numbers of a draw.
  virtual void play(std::uint64_t draw) = 0;
};

class AsynchronousStream : public Stream {
 public:
  /// Returns when the failures of this thread's kernels are known.
  virtual void settle() noexcept = 0;
  /// What `later` is given from now on comes after what this one was given. `later` may be null: a
  /// stream of the host.
  virtual void precede(Stream* later) = 0;
  /// Throws the Error that the device has found since it was made.
  virtual void check() const = 0;
  /// Begins to record kernels; null: the device can't. The caller owns the result.
  virtual Recording* record(const RecordingNeeds& needs) = 0;
  /// Whether recordings may have branches and loops.
  virtual bool records_decisions() const { return false; }
  /// Streams of one driver are of one class.
  const void* driver() const { return driver_; }

 protected:
  explicit AsynchronousStream(const void* its_driver) : driver_(its_driver) {
    asynchronous_ = this;
  }
  ~AsynchronousStream() = default;

 private:
  const void* driver_;
};

/// Memory whose copies come after the kernels that the device's stream was called with before, and
/// before those after. So nobody finishes the stream before a copy.
class AsynchronousMemory : public Memory {
 public:
  /// Copies to another memory of the same driver.
  virtual void copy_to(AsynchronousMemory& other, void* to, const void* from,
                       std::int64_t bytes) = 0;
  /// The same, also in the order of the other memory's stream: after what that one was given, and
  /// before all that it is given from now on.
  virtual void copy_in_turn_to(AsynchronousMemory& other, void* to, const void* from,
                               std::int64_t bytes) = 0;
  /// Memory::copy_in of what a run is fed. It may begin while kernels are at work that come before.
  virtual void feed(void* to, const void* from, std::int64_t bytes) = 0;
  /// Memories of one driver are of one class.
  const void* driver() const { return driver_; }

 protected:
  explicit AsynchronousMemory(const void* its_driver) : driver_(its_driver) {
    asynchronous_ = this;
  }
  ~AsynchronousMemory() = default;

 private:
  const void* driver_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
