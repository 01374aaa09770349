// SPDX-License-Identifier: Apache-2.0
#pragma once

// pow of batches. For floats it is e^(b log|a|) in double, which has more digits than the product
// loses. For doubles it is the C++ library's, one by one.

#include <cmath>

#include "typeflow/cpu/vector_math/exponential.hpp"
#include "typeflow/cpu/vector_math/logarithm.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <class T, class A>
struct Powers : VectorBase<T, A> {
  using Base = VectorBase<T, A>;
  using typename Base::V;

  TYPEFLOW_INLINE static V pow(const V& a, const V& b) {
    alignas(64) T x[V::size];
    alignas(64) T y[V::size];
    a.store_aligned(x);
    b.store_aligned(y);
    if constexpr (std::is_same_v<T, float>) {
      magnitudes_to_powers(x, y);
      return with_sign(a, b, V::load_aligned(x));
    } else {
      for (std::size_t i = 0; i < V::size; ++i) x[i] = std::pow(x[i], y[i]);
      return V::load_aligned(x);
    }
  }

 private:
  TYPEFLOW_INLINE static void magnitudes_to_powers(T* x, const T* y) {
    using D = xsimd::batch<double, A>;
    for (std::size_t i = 0; i < V::size; i += D::size) {
      alignas(64) double base[D::size];
      alignas(64) double exponent[D::size];
      for (std::size_t k = 0; k < D::size; ++k) {
        base[k] = double{x[i + k]};
        exponent[k] = double{y[i + k]};
      }
      const D log = Logarithms<double, A>::log(xsimd::abs(D::load_aligned(base)));
      Exponentials<double, A>::exp(D::load_aligned(exponent) * log).store_aligned(base);
      for (std::size_t k = 0; k < D::size; ++k) x[i + k] = static_cast<T>(base[k]);
    }
  }

  /// a^b from |a|^b, by the rules of the C standard: a negative number has powers with whole
  /// exponents only; 1^b, a^0 and (-1)^infinity are 1.
  TYPEFLOW_INLINE static V with_sign(const V& a, const V& b, const V& power) {
    const V one(T(1));
    const V infinity(Base::infinity);
    const V half = b * V(T(0.5));
    const auto whole = xsimd::floor(b) == b;
    const auto odd = whole & !(xsimd::floor(half) == half);
    const V y = select(odd, power | Base::sign_of(a), power);
    const auto none = (a < V(T(0))) & (a > -infinity) & !whole;
    const auto unit = (Base::magnitude(a) == one) & (Base::magnitude(b) == infinity);
    return select((b == V(T(0))) | (a == one) | unit, one,
                  select(none, V(std::numeric_limits<T>::quiet_NaN()), y));
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
