// SPDX-License-Identifier: Apache-2.0
#pragma once

// Further arguments of CPU kernels besides KernelCall: threads, and operands as tensors.

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>

#include "typeflow/core/config.hpp"
#include "typeflow/core/dtype.hpp"
#include "typeflow/lower/kernel_call.hpp"

/// How many grains a range has, at least, that a stream divides. Tests set it to 0: streams of
/// theirs divide every range.
#ifndef TYPEFLOW_SHARED_GRAINS
#define TYPEFLOW_SHARED_GRAINS 2
#endif

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// The stream of CPU kernels (null: one thread). Runs parts of a range, possibly at the same time.
/// A part has at least `grain` elements, so a range of fewer than two grains is one part. Only the
/// grain decides the parts, never the number of threads. No kernel's result depends on the parts:
/// tests have streams with smaller ones, in other orders.
class Executor : public Stream {
 public:
  using Task = void (*)(void* context, std::int64_t begin, std::int64_t end);
  virtual void run(std::int64_t count, std::int64_t grain, Task task, void* context) = 0;

 protected:
  ~Executor() = default;
};

/// The least cost of a part for a thread. Costs count floating-point operations in full vectors;
/// two bytes that are read or written cost as much as one. A core with AVX-512 does some 100 of
/// them in a nanosecond, so a part takes about 4 us. Handing it to another thread takes 1 to 2 us.
inline constexpr std::int64_t cost_of_part = 393216;

/// The number of items of this cost that are worth a part.
constexpr std::int64_t grain_of_cost(std::int64_t cost) {
  return std::max<std::int64_t>(1, cost_of_part / std::max<std::int64_t>(cost, 1));
}

/// The number of items that are worth a part if each reads and writes so many bytes.
constexpr std::int64_t grain_of_bytes(std::int64_t bytes) { return grain_of_cost(bytes / 2); }

/// The number of elements that is worth a part where they are moved one by one, for a cost of 12.
inline constexpr std::int64_t chunk_size = cost_of_part / 12;

/// The number of elements of T that are worth a part where rows are moved: as runs of bytes, or one
/// by one. A row takes some 5 ns more.
template <class T>
constexpr std::int64_t grain_of_moves(std::int64_t length_of_row, bool as_runs) {
  const std::int64_t cost = as_runs ? static_cast<std::int64_t>(sizeof(T)) : 12;
  return grain_of_cost(cost + 500 / std::max<std::int64_t>(length_of_row, 1));
}

/// Equal pieces of a long row, but for whole cache lines.
struct Pieces {
  std::int64_t length;
  std::int64_t count;
  std::int64_t grain;  ///< the number of pieces, of any rows, that are worth a part

  /// Pieces of at most so many elements.
  Pieces split(std::int64_t most, std::int64_t row) const {
    if (length <= most) return *this;
    return {most, (row - 1) / most + 1, grain * (length / most)};
  }
};
/// The pieces of a row of `length` > 0 elements of this cost, each of which is worth a part.
[[gnu::noinline]] inline Pieces pieces_of(std::int64_t length, std::int64_t cost) {
  const std::int64_t count = std::max<std::int64_t>(1, length / grain_of_cost(cost));
  constexpr std::int64_t lines = 64;
  const std::int64_t piece = ((length - 1) / count / lines + 1) * lines;
  return {piece, (length - 1) / piece + 1, grain_of_cost(cost * std::min(piece, length))};
}

/// Calls f(begin, end) for parts of [0, count) of at least `grain` elements: once for all if there
/// are fewer than two grains. f's results must not depend on the parts.
template <class F>
void parallel(const KernelCall& call, std::int64_t count, std::int64_t grain, F&& f) {
  if (count <= 0) return;
  if (call.stream == nullptr || count < TYPEFLOW_SHARED_GRAINS * grain) {
    f(std::int64_t{0}, count);
    return;
  }
  static_cast<Executor*>(call.stream)
      ->run(
          count, std::max<std::int64_t>(grain, 1),
          [](void* context, std::int64_t begin, std::int64_t end) {
            (*static_cast<std::remove_reference_t<F>*>(context))(begin, end);
          },
          &f);
}

/// A fold whose chunks threads share. `fold` folds chunks [begin, end), each into a state of its
/// own. `merge` then merges one chunk's state, in the order of the chunks. States are kept for
/// `at_once` chunks at a time: number k has the place k % at_once.
struct SharedFold {
  std::int64_t chunks;
  std::int64_t at_once;
  std::int64_t cost_of_chunk;
  void* context;
  void (*fold)(void* context, std::int64_t begin, std::int64_t end);
  void (*merge)(void* context, std::int64_t chunk);
};
TYPEFLOW_COLD inline void fold_chunks(const KernelCall& call, const SharedFold& shared) {
  for (std::int64_t first = 0; first < shared.chunks; first += shared.at_once) {
    const std::int64_t end = std::min(first + shared.at_once, shared.chunks);
    parallel(call, end - first, grain_of_cost(shared.cost_of_chunk),
             [&](std::int64_t begin, std::int64_t behind) {
               shared.fold(shared.context, first + begin, first + behind);
             });
    for (std::int64_t chunk = first; chunk < end; ++chunk) shared.merge(shared.context, chunk);
  }
}

/// An operand of an operation with a kernel of its own.
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

/// The CPU kernel of a custom operation O. Specialise it with
///   template <class Arch>
///   static void run(const O& op, const Tensor* inputs, const Tensor* outputs, const KernelCall&);
/// or with template <class Arch, class T>, where T is the element type of the first input; it is
/// then compiled for this type only. If it needs KernelCall::workspace, it also has
///   static std::int64_t workspace(const std::int64_t* extents);
/// which returns the bytes for these extents (of the inputs, then of the outputs), or
///   static std::int64_t workspace(const Tensor* inputs, const Tensor* outputs);
/// for tensors without data. It reports wrong data by KernelCall::fail.
template <class O>
struct kernel_of {
  template <class Arch>
  static void run(const O&, const Tensor*, const Tensor*, const KernelCall&) {
    static_assert(!std::is_same_v<O, O>,
                  "no kernel of this operation is included for this back end");
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
