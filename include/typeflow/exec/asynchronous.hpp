// SPDX-License-Identifier: Apache-2.0
#pragma once

// Devices that work by themselves, as GPUs do: kernels and copies are given to a stream, and come
// in its order. The host waits for what it reads.

#include <cstdint>
#include <memory>

#include "typeflow/exec/memory.hpp"
#include "typeflow/exec/recorder.hpp"
#include "typeflow/lower/kernel_call.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

class AsynchronousStream : public Stream {
 public:
  /// Returns when the failures of this thread's kernels are known.
  virtual void settle() noexcept = 0;
  /// What `later` is given from now on comes after what this one was given. `later` may be null: a
  /// stream of the host.
  virtual void precede(Stream* later) = 0;
  /// Throws the Error that the device has found since it was made.
  virtual void check() const = 0;
  /// Records instructions of runs for this stream, which outlives it; null: they are not recorded.
  virtual std::unique_ptr<exec::Recorder> recorder() { return nullptr; }
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
