// SPDX-License-Identifier: Apache-2.0
#pragma once

// log and log1p of batches: log(2^n (1 + f)), where 1 + f is in [sqrt(1/2), sqrt(2)).

#include "typeflow/cpu/vector_math/common.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <class T>
struct LogarithmConstants;
template <>
struct LogarithmConstants<float> {
  static constexpr std::uint32_t sqrt_half = 0x3f3504f3;  ///< bits of sqrt(1/2)
  static constexpr float ln2_high = 0.693359375f;
  static constexpr float ln2_low = -2.12194440e-4f;
  /// log(1 + f) = f - f^2 / 2 + f^3 p(f), Remez, relative error 3.2e-9
  static constexpr float p[] = {6.92104474e-2f,  -1.17806986e-1f, 1.18651316e-1f,
                                -1.23855524e-1f, 1.42200217e-1f,  -1.66692168e-1f,
                                2.00021461e-1f,  -2.49999866e-1f, 3.33333105e-1f};
};
template <>
struct LogarithmConstants<double> {
  static constexpr std::uint64_t sqrt_half = 0x3fe6a09e667f3bcd;
  static constexpr double ln2_high = 6.93147180369123816490e-1;
  static constexpr double ln2_low = 1.90821492927058770002e-10;
  /// log((1 + s) / (1 - s)) = 2 s + s^3 p(s^2), Remez, relative error 1.4e-18
  static constexpr double p[] = {
      1.4795475733633168e-1, 1.5314098770126017e-1, 1.8183562407948917e-1, 2.2222198610730662e-1,
      2.8571428742015803e-1, 3.9999999999416375e-1, 6.666666666666734e-1};
};

template <class T, class A>
struct Logarithms : VectorBase<T, A> {
  using Base = VectorBase<T, A>;
  using C = LogarithmConstants<T>;
  using F = typename Base::F;
  using typename Base::U;
  using typename Base::V;

  struct Parts {
    U exponent;  ///< n + bias
    V n;
    V mantissa;  ///< 1 + f
  };
  /// For a normal number above 0.
  TYPEFLOW_INLINE static Parts parts(const V& x) {
    constexpr auto one = F::bias << F::mantissa;
    const U shifted = Base::bits(x) + U(one - C::sqrt_half);
    const U exponent = shifted >> F::mantissa;
    // A whole number in the lower bits of 2^mantissa is added to it.
    constexpr T up = static_cast<T>(typename F::Bits{1} << F::mantissa);
    const V n = Base::number(exponent | Base::bits(V(up))) - V(up + T(F::bias));
    const U fraction = shifted & U((typename F::Bits{1} << F::mantissa) - 1);
    return {exponent, n, Base::number(fraction + U(C::sqrt_half))};
  }

  TYPEFLOW_INLINE static V log(const V& x) {
    const auto small = x < V(std::numeric_limits<T>::min());
    constexpr T up = static_cast<T>(typename F::Bits{1} << F::mantissa);
    const Parts m = parts(select(small, x * V(up), x));
    const V n = m.n - select(small, V(T(F::mantissa)), V(T(0)));
    return with_limits(x, V(T(0)), of_parts(n, m.mantissa - V(T(1))));
  }

  /// n is taken from 1 + x as rounded, f from x.
  TYPEFLOW_INLINE static V log1p(const V& x) {
    const Parts m = parts(V(T(1)) + x);
    const V down = Base::number((U(2 * F::bias) - m.exponent) << F::mantissa);  // 2^-n
    const V f = cpu_kernels::fma(x, down, down - V(T(1)));
    const V y = of_parts(m.n, select(x < V(T(1 << 20)), f, m.mantissa - V(T(1))));
    return select(x == V(T(0)), x, with_limits(x, V(T(-1)), y));
  }

 private:
  TYPEFLOW_INLINE static V of_parts(const V& n, const V& f) {
    const V squared = f * f;
    if constexpr (std::is_same_v<T, float>) {
      const V cubes = squared * f * Base::polynomial(f, C::p);
      const V rest =
          cpu_kernels::fma(V(T(-0.5)), squared, cpu_kernels::fma(n, V(C::ln2_low), cubes));
      return cpu_kernels::fma(n, V(C::ln2_high), f + rest);
    } else {
      const V half = V(T(0.5)) * squared;  // as FDLIBM's e_log.c
      const V s = f / (V(T(2)) + f);
      const V z = s * s;
      const V r = cpu_kernels::fma(z, Base::polynomial(z, C::p), half);
      const V rest = half - cpu_kernels::fma(s, r, n * V(C::ln2_low));
      return cpu_kernels::fma(n, V(C::ln2_high), f - rest);
    }
  }

  /// y; -infinity where x is at its lower limit, NaN below, infinity for infinity.
  TYPEFLOW_INLINE static V with_limits(const V& x, const V& low, const V& y) {
    const V inside = select(x < V(Base::infinity), y, x);
    const V outside = select(x == low, V(-Base::infinity), V(std::numeric_limits<T>::quiet_NaN()));
    return select(x > low, inside, outside);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
