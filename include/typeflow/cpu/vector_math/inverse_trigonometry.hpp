// SPDX-License-Identifier: Apache-2.0
#pragma once

// atan and atan2 of batches: the arc tangent of a quotient q in [0, 1], by one polynomial, to which
// or from which a multiple of pi/2 is added.

#include "typeflow/cpu/vector_math/common.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <class T>
struct InverseTrigonometryConstants;
template <>
struct InverseTrigonometryConstants<float> {
  static constexpr float half_pi = 1.57079637f;
  static constexpr float half_pi_rest = -4.37113883e-8f;
  /// atan q = q + q^3 p(q^2), Remez, relative error 2.7e-9
  static constexpr float arc[] = {-1.78150961e-3f, 1.08645381e-2f,  -3.10920663e-2f,
                                  5.78787476e-2f,  -8.39924738e-2f, 1.09508775e-1f,
                                  -1.42640159e-1f, 1.99985296e-1f,  -3.33332986e-1f};
};
template <>
struct InverseTrigonometryConstants<double> {
  static constexpr double half_pi = 1.57079632679489656;
  static constexpr double half_pi_rest = 6.12323399573676604e-17;
  /// relative error 4.6e-18
  static constexpr double arc[] = {
      1.3230039198814361e-5, -1.5221178348017513e-4, 8.3156387730756471e-4, -2.8856258117520538e-3,
      7.1979254656836114e-3, -1.390264592416289e-2,  2.1987161279294641e-2, -2.990582441019107e-2,
      3.6643214751512825e-2, -4.2192466114894613e-2, 4.7223496707120755e-2, -5.2535272175450502e-2,
      5.8805299189423128e-2, -6.6664044443076761e-2, 7.6922798917685622e-2, -9.0909070080649038e-2,
      1.1111111007357764e-1, -1.4285714282588605e-1, 1.9999999999951756e-1, -3.3333333333333071e-1};
};

template <class T, class A>
struct InverseTrigonometry : VectorBase<T, A> {
  using Base = VectorBase<T, A>;
  using C = InverseTrigonometryConstants<T>;
  using typename Base::V;

  TYPEFLOW_INLINE static V atan(const V& x) {
    const V y = Base::magnitude(x);
    const auto steep = y > V(T(1));
    const V t = arc(select(steep, V(T(1)) / y, y));
    return select(steep, V(C::half_pi) - (t - V(C::half_pi_rest)), t) | Base::sign_of(x);
  }

  /// The angle of (|x|, |y|) is t or pi/2 - t; it is subtracted from pi if x is negative.
  TYPEFLOW_INLINE static V atan2(const V& y, const V& x) {
    const V a = Base::magnitude(x);
    const V b = Base::magnitude(y);
    const auto steep = b > a;
    const V low = select(steep, a, b);
    const V high = select(steep, b, a);
    // Two zeros have the angle of (1, 0), two infinities that of (1, 1).
    const V equal = select(high == V(T(0)), high, V(T(1)));
    const V t = arc(select(low == high, equal, low / high));
    const auto left = (Base::sign_of(x) | V(T(1))) < V(T(0));
    const V turned = t ^ Base::sign_of(x) ^ select(steep, V(T(-0.0)), V(T(0)));
    const V start = select(steep, V(C::half_pi), select(left, V(2 * C::half_pi), V(T(0))));
    const V rest = select(steep, V(C::half_pi_rest), select(left, V(2 * C::half_pi_rest), V(T(0))));
    return (start + (turned + rest)) | Base::sign_of(y);
  }

 private:
  /// atan q, q in [0, 1].
  TYPEFLOW_INLINE static V arc(const V& q) {
    const V z = q * q;
    return cpu_kernels::fma(z * q, Base::long_polynomial(z, C::arc), q);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
