// SPDX-License-Identifier: Apache-2.0
#pragma once

// How a program calls a kernel, whatever processor it is for: one signature for all, so that a
// program is a table.

#include <cstdint>

#include "typeflow/core/error.hpp"
#include "typeflow/core/failure.hpp"
#include "typeflow/graph/op.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

class Characters;

/// What all kernels of a target are called with. A run calls them one after the other; they may
/// return before they have computed anything, if those that are called after them find their
/// results all the same. Before a run itself looks at results, it calls finish(). Runs may overlap.
class Queue {
 public:
  /// Returns when every kernel that has been called is done: by default, at once.
  virtual void finish() noexcept {}

 protected:
  ~Queue() = default;
};

/// What a kernel gets. Operands are pointers to contiguous row-major tensors, first those that are
/// read, then those that are written. Their array is there until the kernel returns, all else until
/// the queue is finished.
struct KernelCall {
  void* const* operands;
  const std::int64_t* extents;
  const std::uint32_t* words;  ///< data members of the body's operations, in order
  void* workspace;             ///< of KernelEntry::workspace bytes, 64-byte aligned
  Queue* queue;                ///< the target's; null if it has none
  RandomState random;
  const void* description = nullptr;  ///< KernelEntry::description
  Failure* failure = nullptr;         ///< of the run: the first one stays
  std::int32_t step = -1;             ///< of the program
  Characters* characters = nullptr;   ///< the run's, for strings that the kernel makes

  /// The data is wrong: ends the run, as soon as the kernel has returned, with the Error that
  /// O::explain makes of this. To be called by the thread that called the kernel, or in
  /// Queue::finish: the engine reads it in between. Which of several mistakes is reported must not
  /// depend on threads.
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

/// A kernel as a program's table holds it.
struct KernelEntry {
  void (*run)(const KernelCall&);
  std::int64_t (*workspace)(const std::int64_t* extents);  ///< bytes
  const void* description = nullptr;  ///< what the function has to know besides, if anything
  /// What KernelCall::failure means; operands are not read. Null: no kernel that fails.
  Error (*explain)(const KernelCall&) = nullptr;
};

}  // namespace typeflow::inline TYPEFLOW_TARGET
