// SPDX-License-Identifier: Apache-2.0
#pragma once

// Maxima or minima of rows of one to four registers, as many rows at a time as a register has
// lanes.
//
// The folds of ops::Max and ops::Min give the first of equal elements, and NaN if there is one. So
// the order matters only if there is NaN, or if the result is a zero and zeros have both signs. All
// other rows are folded by the processor's own instructions, whose order is free. One comparison
// finds NaN in two registers.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "typeflow/cpu/folds.hpp"
#include "typeflow/cpu/row_operands.hpp"
#include "typeflow/cpu/unrolled.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

#if defined(__AVX512DQ__)
/// Kernels that only fold the rows of one matrix.
template <int Outer, ir::InnerExtent Inner, class L, class M>
class RowExtremes {
  using Rows = RowOperands<Outer, L, M>;
  using T = typename M::template ElementOf<0>;
  using O = typename M::template Item<0>::op;
  using V = typename L::template of<T>;
  static constexpr int N = L::size;
  static constexpr bool is_float = std::is_same_v<T, float>;
  static constexpr int most =
      Inner == ir::InnerExtent::small ? std::min<int>(4, ir::small_extent / N) : 4;

 public:
  static constexpr bool possible = (is_float || std::is_same_v<T, double>) && N * sizeof(T) == 64 &&
                                   is_extreme<O> && M::inputs == 1 && M::items == 1 &&
                                   M::stores == 1 && !M::store_specs[0].is_strided &&
                                   Rows::place_of(M::input_specs[0]) == RowsPlace::matrix;

  /// Folds rows [begin, end) if they have so many elements that it pays. Returns the first row that
  /// is left. Calls others(row, row + N) for rows whose order matters.
  template <class F>
  static std::int64_t run(const KernelCall& call, std::int64_t length, std::int64_t begin,
                          std::int64_t end, const F& others) {
    const std::int64_t registers = length <= N / 2 ? 0 : (length + N - 1) / N;
    unrolled<most>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
      if (registers == i + 1) begin = run_rows<i + 1>(call, length, begin, end, others);
    });
    return begin;
  }

 private:
  template <int Registers, class F>
  static std::int64_t run_rows(const KernelCall& call, std::int64_t length, std::int64_t row,
                               std::int64_t end, const F& others) {
    const T* const in = call.operand<const T>(0);
    T* const out = call.operand<T>(1);
    for (; row + N <= end; row += N) {
      if (!fold<Registers>(in + row * length, length, out + row)) others(row, row + N);
    }
    return row;
  }

  /// N rows. False if their order matters.
  template <int Registers>
  [[gnu::noinline, gnu::flatten]] static bool fold(const T* from, std::int64_t length, T* to) {
    constexpr int whole = (Registers - 1) * N;
    const V identity(O::template identity<T>());
    const auto last = static_cast<__mmask16>(0xffffu >> (16 - (length - whole)));
    __mmask16 nan = 0;
    V all[N];
    unrolled<N>([&](auto k) TYPEFLOW_INLINE_LAMBDA {
      const T* const row = from + k * length;
      V x;
      if constexpr (is_float) x = _mm512_mask_loadu_ps(identity, last, row + whole);
      if constexpr (!is_float) {
        x = _mm512_mask_loadu_pd(identity, static_cast<__mmask8>(last), row + whole);
      }
      if constexpr (Registers % 2 == 1) nan = _kor_mask16(nan, nan_in(x, x));
      V before = x;
      unrolled<Registers - 1>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
        const V y = V::load_unaligned(row + i * N);
        if constexpr (i % 2 == Registers % 2) nan = _kor_mask16(nan, nan_in(y, before));
        x = extreme(x, y);
        before = y;
      });
      all[k] = x;
    });
    join<N / 2>(all);
    const V result = in_order_of_rows<N, N>(all[0]);
    if (nan != 0) return false;
    if (xsimd::any(result == V(T(0))) && has_negative_zeros(from, length)) return false;
    result.store_unaligned(to);
    return true;
  }
  template <int Half>
  TYPEFLOW_INLINE static void join(V* all) {
    if constexpr (Half > 0) {
      unrolled<Half>([&](auto k) TYPEFLOW_INLINE_LAMBDA {
        const V a = all[k];
        const V b = all[k + Half];
        all[k] = extreme(halves<Half, false, N>(a, b), halves<Half, true, N>(a, b));
      });
      join<Half / 2>(all);
    }
  }
  static V extreme(const V& a, const V& b) {
    return std::is_same_v<O, ops::Max> ? xsimd::max(a, b) : xsimd::min(a, b);
  }
  static __mmask16 nan_in(const V& a, const V& b) {
    if constexpr (is_float) return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q);
    if constexpr (!is_float) return _mm512_cmp_pd_mask(a, b, _CMP_UNORD_Q);
  }
  static bool has_negative_zeros(const T* from, std::int64_t length) {
    constexpr int negative_zero = 4;
    unsigned found = 0;
    for (std::int64_t i = 0; i < N * length; i += N) {
      const V x = V::load_unaligned(from + i);
      if constexpr (is_float) found |= _mm512_fpclass_ps_mask(x, negative_zero);
      if constexpr (!is_float) found |= _mm512_fpclass_pd_mask(x, negative_zero);
    }
    return found != 0;
  }
};
#else
template <int Outer, ir::InnerExtent Inner, class L, class M>
struct RowExtremes {
  static constexpr bool possible = false;
};
#endif

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
