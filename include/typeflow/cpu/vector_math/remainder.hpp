// SPDX-License-Identifier: Apache-2.0
#pragma once

// fmod of batches, without error. The remainder of a quotient below 2^24 for floats (2^53 for
// doubles) is one fused multiply-add. The C++ library computes elements with larger quotients, one
// by one, and all elements where no multiply-add rounds once.

#include <cmath>

#include "typeflow/cpu/vector_math/common.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <class T, class A>
struct Remainders : VectorBase<T, A> {
  using Base = VectorBase<T, A>;
  using typename Base::V;

  /// x - q y for the quotient q, rounded towards zero; it has the sign of x.
  TYPEFLOW_INLINE static V fmod(const V& x, const V& y) {
    if constexpr (fma_rounds_once<A>) {
      const V a = Base::magnitude(x);
      const V b = Base::magnitude(y);
      const V quotient = a / b;
      const V q = xsimd::trunc(quotient);
      // The rounded quotient may be 1 too large. Then the remainder is negative, and still exact.
      const V signed_rest = cpu_kernels::fma(Base::neg(q), b, a);
      const V rest = select(signed_rest < V(T(0)), signed_rest + b, signed_rest);
      // 0 times an infinite y would be NaN.
      const V y_is_large = select(a < b, a, rest);
      const V result = y_is_large | Base::sign_of(x);
      // NaN is among the others.
      if (xsimd::all(quotient < V(Base::F::rounder))) return result;
      return one_by_one(x, y);
    } else {
      return one_by_one(x, y);
    }
  }

 private:
  [[gnu::noinline]] static V one_by_one(const V& x, const V& y) {
    alignas(64) T a[V::size];
    alignas(64) T b[V::size];
    x.store_aligned(a);
    y.store_aligned(b);
    for (std::size_t i = 0; i < V::size; ++i) a[i] = std::fmod(a[i], b[i]);
    return V::load_aligned(a);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
