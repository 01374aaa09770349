// SPDX-License-Identifier: Apache-2.0
#pragma once

// exp, expm1, sigmoid and tanh of batches.
//
// All use e^x = 2^n e^r with |r| <= log(2) / 2, and e^r - 1 = r + r^2 p(r). The polynomials are
// minimax ones (Remez). The largest errors are given beside them, relative to e^r - 1.

#include "typeflow/cpu/vector_math/common.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <class T>
struct ExponentialConstants;
template <>
struct ExponentialConstants<float> {
  static constexpr float log2_e = 1.44269504f;
  static constexpr float ln2_high = 0.693359375f;  // 9 bits, W. J. Cody and W. Waite, 1980
  static constexpr float ln2_low = -2.12194440e-4f;
  /// e^low rounds to 0, e^high to infinity.
  static constexpr float low = -104;
  static constexpr float high = 89;
  /// From here on e^-x - 1 is -1, and tanh(x) is 1.
  static constexpr float far = 20;
  static constexpr float tiny = 1e-9f;  ///< e^x - 1 is x below
  /// 2.4e-9
  static constexpr float expm1[] = {1.99143164e-4f, 1.3940793e-3f,  8.33327323e-3f,
                                    4.16663587e-2f, 1.66666672e-1f, 0.5f};
};
template <>
struct ExponentialConstants<double> {
  static constexpr double log2_e = 1.44269504088896341;
  static constexpr double ln2_high = 6.93147180369123816490e-1;  // 33 bits, FDLIBM
  static constexpr double ln2_low = 1.90821492927058770002e-10;
  static constexpr double low = -746;
  static constexpr double high = 710;
  static constexpr double far = 40;
  static constexpr double tiny = 1e-17;
  /// 1.0e-18
  static constexpr double expm1[] = {2.0924591529695161e-9,
                                     2.5109206049972363e-8,
                                     2.7557242460058249e-7,
                                     2.7557243934522406e-6,
                                     2.4801587360612145e-5,
                                     1.9841269886154486e-4,
                                     1.3888888888867034e-3,
                                     8.3333333333217383e-3,
                                     4.1666666666666699e-2,
                                     1.6666666666666677e-1,
                                     0.5};
};

template <class T, class A>
struct Exponentials : VectorBase<T, A> {
  using Base = VectorBase<T, A>;
  using C = ExponentialConstants<T>;
  using typename Base::V;

  /// e^x, for x in [low, high].
  TYPEFLOW_INLINE static V exp(const V& x) {
    const Reduced e = reduced(Base::at_most(Base::at_least(x, C::low), C::high));
    return Base::scaled(V(T(1)) + e.expm1, e.n, e.t);
  }

  /// 2 (2^(n-1) (e^r - 1) + (2^(n-1) - 1/2)), because 2^n would be infinite before its product is.
  TYPEFLOW_INLINE static V expm1(const V& x) {
    const Reduced e = reduced(Base::at_most(Base::at_least(x, -C::far), C::high));
    const V half = Base::power_of_two(e.t - V(T(1)));
    const V y = cpu_kernels::fma(half, e.expm1, half - V(T(0.5)));
    return select(Base::magnitude(x) < V(C::tiny), x, y + y);
  }

  /// By e^-|x|, which is finite, so that a small result keeps its bits.
  TYPEFLOW_INLINE static V sigmoid(const V& x) {
    const V e = exp(-Base::magnitude(x));
    return select(x < V(T(0)), e, V(T(1))) / (V(T(1)) + e);
  }

  /// (e^2|x| - 1) / (e^2|x| + 1), with the sign of x.
  TYPEFLOW_INLINE static V tanh(const V& x) {
    const V doubled = Base::at_most(Base::magnitude(x), C::far);
    const Reduced e = reduced(doubled + doubled);
    const V power = Base::power_of_two(e.t);
    const V y = cpu_kernels::fma(power, e.expm1, power - V(T(1)));
    return (y / (y + V(T(2)))) | Base::sign_of(x);
  }

 protected:
  struct Reduced {
    V n;      ///< a whole number
    V t;      ///< n + rounder
    V expm1;  ///< e^(x - n log 2) - 1
  };
  TYPEFLOW_INLINE static Reduced reduced(const V& x) {
    const V t = cpu_kernels::fma(x, V(C::log2_e), V(Base::F::rounder));
    const V n = t - V(Base::F::rounder);
    return of_rest(n, t, remainder(x, n));
  }
  /// For x + rest, the rest much smaller than x.
  TYPEFLOW_INLINE static Reduced reduced(const V& x, const V& rest) {
    const V t = cpu_kernels::fma(x, V(C::log2_e), V(Base::F::rounder));
    const V n = t - V(Base::F::rounder);
    return of_rest(n, t, remainder(x, n) + rest);
  }

 private:
  TYPEFLOW_INLINE static V remainder(const V& x, const V& n) {
    return cpu_kernels::fma(n, V(-C::ln2_low), cpu_kernels::fma(n, V(-C::ln2_high), x));
  }
  TYPEFLOW_INLINE static Reduced of_rest(const V& n, const V& t, const V& r) {
    V p;
    if constexpr (sizeof(T) == 8) {  // in one chain, so many terms hold up the next vector's
      p = Base::long_polynomial(r, C::expm1);
    } else {
      p = Base::polynomial(r, C::expm1);
    }
    return {n, t, cpu_kernels::fma(r * r, p, r)};
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
