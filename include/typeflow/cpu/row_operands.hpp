// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where the operands and results of a kernel's rows lie in memory.

#include <cstdint>

#include "typeflow/cpu/body.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// How an operand lies in memory for consecutive rows.
enum class RowsPlace : std::uint8_t {
  matrix,        ///< rows one after the other
  shared,        ///< one row for all
  scattered,     ///< a row here and there
  one_each,      ///< an element for each row, one after the other
  one,           ///< an element for each row, here and there
  along_row,     ///< an index: the position in the row
  along_outside  ///< an index: the position along an outer axis
};

template <int Outer, class L, class M>
struct RowOperands {
  using Registers = typename M::Registers;
  using Ops = typename M::Ops;
  using States = typename M::States;
  static constexpr int N = L::size;
  static constexpr int rank = Outer + 1;
  static constexpr unsigned inner_bit = 1u << Outer;
  static constexpr unsigned outside = inner_bit - 1u;
  using Layout = ir::OperandLayout<rank>;

  static constexpr RowsPlace place_of(const ir::InputSpec& input) {
    const bool along = (input.axes & inner_bit) != 0;
    if (input.is_index) return along ? RowsPlace::along_row : RowsPlace::along_outside;
    if (input.offsets != 0) return RowsPlace::scattered;
    if (along && (input.axes & outside) == 0) return RowsPlace::shared;
    const bool in_order = !input.is_strided && (input.axes & outside) == outside;
    if (along) return in_order ? RowsPlace::matrix : RowsPlace::scattered;
    return in_order ? RowsPlace::one_each : RowsPlace::one;
  }
  static constexpr bool is_anywhere(RowsPlace place) {
    return place == RowsPlace::scattered || place == RowsPlace::one ||
           place == RowsPlace::along_outside;
  }
  template <int I>
  static constexpr RowsPlace place = place_of(M::input_specs[I]);
  template <int I>
  static constexpr bool needs_coordinates = is_anywhere(place<I>);
  template <int I>
  using In = element_of<M::template Input<I>::dtype>;
  template <int S>
  using Out = element_of<M::template Out<S>::dtype>;

  /// Whether some operand needs the rows' coordinates along the outer axes.
  static constexpr bool has_coordinates = [] {
    for (int i = 0; i < M::inputs; ++i) {
      if (is_anywhere(place_of(M::input_specs[i]))) return true;
    }
    for (int s = 0; s < M::stores; ++s) {
      if (M::store_specs[s].is_strided) return true;
    }
    return false;
  }();

  TYPEFLOW_INLINE static void first_coordinates(const KernelCall& call, std::int64_t row,
                                                std::int64_t* coordinate) {
    for (int k = Outer - 1; k > 0; --k) {
      coordinate[k] = row % call.extents[k];
      row /= call.extents[k];
    }
    coordinate[0] = row;
  }
  TYPEFLOW_INLINE static void next_coordinates(const KernelCall& call, std::int64_t* coordinate) {
    int k = Outer - 1;
    for (; k > 0 && ++coordinate[k] == call.extents[k]; --k) coordinate[k] = 0;
    if (k == 0) ++coordinate[0];
  }
  /// The first `count` elements of a vector, usually all.
  template <class T>
  TYPEFLOW_INLINE static auto load_some(const T* at, int count) {
    return count == N ? L::load(at) : L::load(at, count);
  }
  template <class T, class V>
  TYPEFLOW_INLINE static void store_some(T* to, const V& x, int count) {
    if (count == N) return L::store(to, x);
    L::store(to, x, count);
  }
  /// Where operand I begins in a row.
  template <int I>
  TYPEFLOW_INLINE static const In<I>* operand(const KernelCall& call, const Layout* in,
                                              const std::int64_t* coordinate) {
    std::int64_t offset = in[I].begin;
    for (int k = 0; k < Outer; ++k) {
      if ((M::template Input<I>::axes >> k & 1u) != 0) {
        offset += coordinate[k] * in[I].stride[k];
      }
    }
    constexpr int offsets = M::template Input<I>::spec.offsets;
    if constexpr (offsets != 0) offset += *operand<offsets - 1>(call, in, coordinate);
    return call.operand<const In<I>>(M::template operand<I>) + offset;
  }
  template <int I>
  TYPEFLOW_INLINE static std::int64_t position(const std::int64_t* coordinate) {
    std::int64_t at = 0;
    for (int k = 0; k < Outer; ++k) {
      if ((M::template Input<I>::axes >> k & 1u) != 0) at = coordinate[k];
    }
    return at;
  }
  /// Where strided result S begins in a row.
  template <int S>
  TYPEFLOW_INLINE static Out<S>* result(const KernelCall& call, const std::int64_t* coordinate) {
    const auto view = M::template store_strides<S, rank>(call.extents);
    std::int64_t offset = view.begin();
    for (int k = 0; k < Outer; ++k) offset += coordinate[k] * view.stride(k);
    return call.operand<Out<S>>(M::first_store + S) + offset;
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
