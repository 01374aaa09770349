// SPDX-License-Identifier: Apache-2.0
#pragma once

// Values of a row's elements that stay in shared memory from one pass over the row to the next, so
// that each input is read once, and each operation is computed once for each element.
//
//   softmax, pass 0: reads x, keeps x        x, max(x)
//            pass 1: keeps e instead of x    e = exp(x - max), sum(e)
//            pass 2:                         e / sum, stored
//
// A thread goes over the same elements in all passes, so it reads only what it has written itself.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "typeflow/cuda/body.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// The values that the passes of a body M keep. The inner axis is that of InnerBit.
template <class M, unsigned InnerBit>
struct KeptValues {
  static constexpr int none = -1;
  /// Bytes of an element's values that are kept at the same time, at most.
  static constexpr int most_bytes = 8;

  struct Plan {
    typename M::Flags known[M::passes + 1] = {};  ///< before a pass: computed in an earlier one
    typename M::Flags need[M::passes + 1] = {};   ///< known or not
    int slot[M::values + 1] = {};                 ///< none: not kept
    int slots = 0;
    int bytes = 0;  ///< of a slot
  };

  /// Whether value v can be kept: an element's, and no index, which costs nothing to compute.
  static constexpr bool is_kept(int v, bool computed) {
    if (v < M::inputs) {
      return (M::input_specs[v].axes & InnerBit) != 0 && !M::input_specs[v].is_index;
    }
    return computed && v >= M::first_item && ir::is_element_value(M::item_specs[v - M::first_item]);
  }

  /// The plan that keeps inputs, and values that are computed of them if `computed`.
  static constexpr Plan make_plan(bool computed) {
    Plan out;
    int size[M::values + 1] = {};
    [&]<int... V>(std::integer_sequence<int, V...>) {
      ((size[V] = static_cast<int>(sizeof(Computed<typename M::template ElementOf<V>>))), ...);
    }(std::make_integer_sequence<int, M::values>{});
    typename M::Flags known{};
    int last[M::values + 1] = {};  // the last pass that takes it
    for (int v = 0; v < M::values; ++v) out.slot[v] = none;
    for (int p = 0; p < M::passes; ++p) {
      out.known[p] = known;
      out.need[p] = M::needs_of(p, known);
      for (int v = 0; v < M::values; ++v) {
        const auto at = static_cast<std::size_t>(v);
        if (!out.need[p][at]) continue;
        if (known[at]) {
          last[v] = p;
          out.bytes = std::max(out.bytes, size[v]);
        }
        known[at] = known[at] || is_kept(v, computed);
      }
    }
    // The first free slot for each. A slot is free in the pass that takes its value last.
    std::array<int, M::values + 1> free_from{};
    for (int p = 0; p < M::passes; ++p) {
      for (int v = 0; v < M::values; ++v) {
        const auto at = static_cast<std::size_t>(v);
        if (!out.need[p][at] || out.known[p][at] || last[v] == 0) continue;
        int slot = 0;
        while (slot < out.slots && free_from[static_cast<std::size_t>(slot)] > p) ++slot;
        out.slot[v] = slot;
        free_from[static_cast<std::size_t>(slot)] = last[v];
        out.slots = std::max(out.slots, slot + 1);
      }
    }
    return out;
  }

  static constexpr Plan plan = [] {
    const Plan computed = make_plan(true);
    if (computed.slots * computed.bytes <= most_bytes) return computed;
    const Plan read = make_plan(false);
    return read.slots * read.bytes <= most_bytes ? read : Plan{};
  }();
  /// Whether there are any.
  static constexpr bool any = plan.slots > 0;

  /// Bytes of a row.
  static constexpr std::int64_t bytes(std::int64_t length) {
    return length * plan.slots * plan.bytes;
  }

  /// Whether a pass computes a value, or loads it, and whether it takes it from shared memory.
  template <int P, int V>
  static constexpr bool computes =
      plan.need[P][static_cast<std::size_t>(V)] && !plan.known[P][static_cast<std::size_t>(V)];
  template <int P, int V>
  static constexpr bool takes =
      plan.need[P][static_cast<std::size_t>(V)] && plan.known[P][static_cast<std::size_t>(V)];

  template <int P>
  TYPEFLOW_DEVICE static void take(std::byte* row, std::int32_t length, std::int32_t i,
                                   typename M::Registers& r) {
    each_value([&]<int V>(std::integral_constant<int, V>) {
      if constexpr (takes<P, V>) get<V>(r) = *place<V>(row, length, i);
    });
  }
  template <int P>
  TYPEFLOW_DEVICE static void keep(std::byte* row, std::int32_t length, std::int32_t i,
                                   const typename M::Registers& r) {
    each_value([&]<int V>(std::integral_constant<int, V>) {
      if constexpr (computes<P, V> && plan.slot[V] != none) *place<V>(row, length, i) = get<V>(r);
    });
  }

 private:
  template <class F>
  TYPEFLOW_DEVICE static void each_value(const F& f) {
    [&]<int... V>(std::integer_sequence<int, V...>) {
      (f(std::integral_constant<int, V>{}), ...);
    }(std::make_integer_sequence<int, M::values>{});
  }
  template <int V>
  TYPEFLOW_DEVICE static Computed<typename M::template ElementOf<V>>* place(std::byte* row,
                                                                            std::int32_t length,
                                                                            std::int32_t i) {
    constexpr std::int32_t slot = plan.slot[V];
    return reinterpret_cast<Computed<typename M::template ElementOf<V>>*>(
        row + (slot * length + i) * plan.bytes);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
