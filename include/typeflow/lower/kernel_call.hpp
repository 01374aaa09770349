// SPDX-License-Identifier: Apache-2.0
#pragma once

// The call of a kernel, for any processor. All kernels have one signature, so a program is a table.

#include <cstdint>

#include "typeflow/core/error.hpp"
#include "typeflow/core/failure.hpp"
#include "typeflow/graph/op.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

class Characters;
class RunScope;

/// The stream of a device, with which its kernels are called. A run calls kernels one after the
/// other. A kernel may return before it has computed anything, if the kernels after it still find
/// its results. Before a run looks at results itself, it calls finish(). Runs may overlap.
class Stream {
 public:
  /// Returns when every kernel that was called is done. The default: at once.
  virtual void finish() noexcept {}
  /// This stream, if its device works by itself (exec/asynchronous.hpp); else null.
  class AsynchronousStream* asynchronous() const { return asynchronous_; }

 protected:
  class AsynchronousStream* asynchronous_ = nullptr;
  ~Stream() = default;
};

/// A kernel's arguments. Operands are pointers to contiguous row-major tensors, first those to
/// read, then those to write. The array of pointers lives until the kernel returns, everything else
/// until the stream is finished.
struct KernelCall {
  void* const* operands;
  const std::int64_t* extents;
  const std::uint32_t* words;  ///< data members of the body's operations, in order
  void* workspace;             ///< of KernelEntry::workspace bytes, 64-byte aligned
  Stream* stream;              ///< the device's; null if it has none
  RandomState random;
  const void* description = nullptr;  ///< KernelEntry::description
  Failure* failure = nullptr;         ///< of the run: the first one stays
  std::int32_t step = -1;             ///< of the program
  Characters* characters = nullptr;   ///< the run's, for strings that the kernel makes
  RunScope* run = nullptr;            ///< the run, and what it holds until it ends

  /// Reports that the data is wrong. The run ends when the kernel has returned, with the Error that
  /// O::explain makes of the report. Call it in the thread that called the kernel, or in
  /// Stream::finish, because the engine reads it in between. Threads must not decide which of
  /// several mistakes is reported.
  void fail(const Failure& found) const {
    if (failure->what != 0) return;
    *failure = found;
    failure->step = step;
  }

  template <class T>
  T* operand(int i) const {
    return static_cast<T*>(operands[i]);
  }
};

/// A kernel in a program's table.
struct KernelEntry {
  void (*run)(const KernelCall&);
  std::int64_t (*workspace)(const std::int64_t* extents);  ///< bytes
  const void* description = nullptr;  ///< further data for the function, if it needs any
  /// The meaning of KernelCall::failure; operands are not read. Null: the kernel never fails.
  Error (*explain)(const KernelCall&) = nullptr;
  /// Whether a device may record the calls and make them again (exec/recordings.hpp).
  bool may_be_recorded = true;
  /// Calls read and write operands and workspace alone, whose extents say how much. So a device may
  /// make calls at once that have none of it in common.
  bool is_confined = false;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
