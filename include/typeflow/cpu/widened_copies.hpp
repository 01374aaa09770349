// SPDX-License-Identifier: Apache-2.0
#pragma once

// 16-bit operands of contractions whose loops read floats: these get a copy in the workspace, whose
// elements are widened. It is exact.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "typeflow/core/extent.hpp"
#include "typeflow/core/half.hpp"
#include "typeflow/cpu/call.hpp"
#include "typeflow/cpu/half_vectors.hpp"
#include "typeflow/lower/kernel_meaning.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// Widens `count` 16-bit numbers, in vectors of N.
template <class From, int N>
void widen(const KernelCall& call, const From* from, float* to, std::int64_t count) {
  constexpr std::int64_t of_task = 8192;
  parallel(call, (count + of_task - 1) / of_task, 2, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t last = std::min(count, end * of_task);
    std::int64_t i = begin * of_task;
    for (; i + N <= last; i += N) {
      Vector<std::uint16_t, N> x;
      std::memcpy(&x.v, from + i, sizeof x.v);
      const Vector<float, N> wide = widened<From>(x);
      std::memcpy(to + i, &wide.v, sizeof wide.v);
    }
    for (; i < last; ++i) to[i] = static_cast<float>(from[i]);
  });
}

/// Copies of the operands of a contraction O, whose kernel's Epilogue is E.
template <class O, class E>
struct WidenedCopies {
  template <int I>
  using Operand = typename E::template Operand<I>;
  template <int I>
  static constexpr bool is_narrow =
      std::is_same_v<Operand<I>, bfloat16> || std::is_same_v<Operand<I>, float16>;
  static constexpr bool any = is_narrow<0> || is_narrow<1>;

  /// Bytes of the copies, which are in front of the loops' workspace.
  static std::int64_t bytes(const std::int64_t* extents) {
    return checked_sum(bytes_of<0>(extents), bytes_of<1>(extents));
  }
  /// Calls `loops` with operands of floats.
  static void run(const KernelCall& call, void (*loops)(const KernelCall&)) {
    void* operands[E::operands];
    for (int i = 0; i < E::operands; ++i) operands[i] = call.operands[i];
    auto* const copies = static_cast<std::byte*>(call.workspace);
    widen_operand<0>(call, operands, copies);
    widen_operand<1>(call, operands, copies + bytes_of<0>(call.extents));
    KernelCall wide = call;
    wide.operands = operands;
    wide.workspace = copies + bytes(call.extents);
    loops(wide);
  }

 private:
  template <int I>
  static std::int64_t elements_of(const std::int64_t* extents) {
    using Extents = ir::ContractionExtents;
    std::int64_t count = O::elements(I, extents + Extents::outer + E::outer, extents[Extents::rows],
                                     extents[Extents::columns], extents[Extents::depth]);
    for (int k = 0; k < E::outer; ++k) {
      if ((E::template outer_of<I> >> k & 1u) != 0) {
        count = checked_product(count, extents[Extents::outer + k]);
      }
    }
    return count;
  }
  template <int I>
  static std::int64_t bytes_of(const std::int64_t* extents) {
    if constexpr (!is_narrow<I>) return 0;
    constexpr std::int64_t line = 64 / sizeof(float);
    return checked_product(checked_sum(elements_of<I>(extents), line - 1) / line, 64);
  }
  template <int I>
  static void widen_operand(const KernelCall& call, void** operands, std::byte* to) {
    if constexpr (is_narrow<I>) {
      auto* const copy = reinterpret_cast<float*>(to);
      widen<Operand<I>, E::Tile::lanes>(call, call.operand<const Operand<I>>(I), copy,
                                        elements_of<I>(call.extents));
      operands[I] = copy;
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
