// SPDX-License-Identifier: Apache-2.0
#pragma once

// Devices that record kernel calls and make them again as one, as CUDA graphs do. A device's stream
// is a RecordingStream, which begins Recordings. recordings.hpp decides what is recorded, and when.

#include <cstdint>
#include <memory>
#include <span>

#include "typeflow/exec/asynchronous.hpp"
#include "typeflow/exec/decisions.hpp"
#include "typeflow/exec/memory_access.hpp"
#include "typeflow/lower/kernel_call.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Kernel calls that are made again as one. The device's stream outlives them.
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

/// The stream of a device that can record.
class RecordingStream : public AsynchronousStream {
 public:
  /// Begins to record kernels.
  virtual std::unique_ptr<Recording> record(const RecordingNeeds& needs) = 0;
  /// Whether recordings may have branches and loops.
  virtual bool records_decisions() const { return false; }

 protected:
  using AsynchronousStream::AsynchronousStream;
  ~RecordingStream() = default;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
