// SPDX-License-Identifier: Apache-2.0
#pragma once

// How a program calls a CPU kernel: one signature for all, so that a program is a table.

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>

#include "typeflow/core/dtype.hpp"
#include "typeflow/graph/op.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::simd {

/// Runs parts of a range, maybe at the same time. Which parts depends on the grain alone, never on
/// the number of threads.
class Executor {
 public:
  using Task = void (*)(void* context, std::int64_t begin, std::int64_t end);
  virtual void run(std::int64_t count, std::int64_t grain, Task task, void* context) = 0;

 protected:
  ~Executor() = default;
};

/// What a kernel gets. Operands are pointers to contiguous row-major tensors, first those that are
/// read, then those that are written.
struct KernelCall {
  void* const* operands;
  const std::int64_t* extents;
  const std::uint32_t* words;  ///< data members of the body's operations, in order
  void* workspace;             ///< of KernelEntry::workspace bytes, 64-byte aligned
  Executor* executor;          ///< null: one thread
  RandomState random;
  const void* description = nullptr;  ///< KernelEntry::description

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
};

/// Calls f(begin, end) for parts of [0, count) of at least `grain` elements.
template <class F>
void parallel(const KernelCall& call, std::int64_t count, std::int64_t grain, F&& f) {
  if (count <= 0) return;
  if (call.executor == nullptr || count <= grain) {
    f(std::int64_t{0}, count);
    return;
  }
  call.executor->run(
      count, std::max<std::int64_t>(grain, 1),
      [](void* context, std::int64_t begin, std::int64_t end) {
        (*static_cast<std::remove_reference_t<F>*>(context))(begin, end);
      },
      &f);
}

/// An operand of an operation that has a kernel of its own.
struct Tensor {
  void* data;
  DType dtype;
  std::span<const std::int64_t> extents;

  std::int64_t size() const {
    std::int64_t n = 1;
    for (const std::int64_t e : extents) n *= e;
    return n;
  }
};

/// The CPU kernel of a custom operation O: specialise it with
///   template <class Arch>
///   static void run(const O& op, const Tensor* inputs, const Tensor* outputs, const KernelCall&);
/// or with template <class Arch, class T>, T being the element type of the first input: then it is
/// compiled for no other. If it needs KernelCall::workspace, it also has
///   static std::int64_t workspace(const std::int64_t* extents);
/// the bytes for these extents (of the inputs, then of the outputs; no fewer for a larger batch).
template <class O>
struct kernel_of {
  template <class Arch>
  static void run(const O&, const Tensor*, const Tensor*, const KernelCall&) {
    static_assert(!std::is_same_v<O, O>,
                  "no kernel of this operation is included for this back end");
  }
};

}  // namespace typeflow::inline TYPEFLOW_TARGET::simd
