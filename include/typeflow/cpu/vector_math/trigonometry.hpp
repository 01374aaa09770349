// SPDX-License-Identifier: Apache-2.0
#pragma once

// sin, cos and tan of batches: x = n pi/2 + r with |r| <= pi/4, and a polynomial for each function.
// The products of n with the parts of pi/2 are exact (W. J. Cody and W. Waite, Software Manual for
// the Elementary Functions, 1980). The C++ library computes elements that are too large for that,
// one by one.

#include <cmath>

#include "typeflow/cpu/vector_math/common.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <class T>
struct TrigonometryConstants;
template <>
struct TrigonometryConstants<float> {
  static constexpr float two_over_pi = 6.36619772e-1f;
  static constexpr float largest = 6000;  ///< n has 12 bits
  /// pi/2 in parts of 12, 12, 12 and 24 bits
  static constexpr float half_pi[] = {1.5703125f, 4.83751297e-4f, 7.54953362e-8f, 2.563344068e-12f};
  /// sin r = r + r^3 p(r^2), cos r = 1 - r^2 / 2 + r^4 p(r^2), Remez; relative
  /// errors 8.8e-9, 1.3e-10
  static constexpr float sine[] = {-1.9514632e-4f, 8.33215564e-3f, -1.66666552e-1f};
  static constexpr float cosine[] = {2.44324128e-5f, -1.38873095e-3f, 4.16666456e-2f};
};
template <>
struct TrigonometryConstants<double> {
  static constexpr double two_over_pi = 6.36619772367581343e-1;
  static constexpr double largest = 1e6;  ///< n has 20 bits
  /// pi/2 in parts of 33, 33, 33 and 53 bits
  static constexpr double half_pi[] = {1.57079632673412561, 6.07710050630396598e-11,
                                       2.02226624871116646e-21, 8.47842766036889957e-32};
  /// relative errors 8.0e-18, 1.6e-18
  static constexpr double sine[] = {1.5895904770753898e-10, -2.5050742308207795e-8,
                                    2.7557313587618746e-6,  -1.9841269829495482e-4,
                                    8.3333333333220055e-3,  -1.666666666666663e-1};
  static constexpr double cosine[] = {-1.13583105538063e-11,  2.0875696574164959e-9,
                                      -2.7557314148638197e-7, 2.4801587288748251e-5,
                                      -1.3888888888872895e-3, 4.1666666666666595e-2};
};

template <class T, class A>
struct Trigonometry : VectorBase<T, A> {
  using Base = VectorBase<T, A>;
  using C = TrigonometryConstants<T>;
  using F = typename Base::F;
  using typename Base::U;
  using typename Base::V;

  TYPEFLOW_INLINE static V sin(const V& x) {
    const V y = Base::magnitude(x);
    const V near = in_quadrant<0>(y) ^ Base::sign_of(x);
    if (xsimd::all(y <= V(C::largest))) return near;
    return with_large(x, near, [](double e) { return std::sin(e); });
  }
  TYPEFLOW_INLINE static V cos(const V& x) {
    const V y = Base::magnitude(x);
    const V near = in_quadrant<1>(y);
    if (xsimd::all(y <= V(C::largest))) return near;
    return with_large(x, near, [](double e) { return std::cos(e); });
  }

  /// sin r / cos r; in odd quadrants -cos r / sin r. What r, and 1 - r^2 / 2, lost by rounding goes
  /// into the sums, because the quotient has the errors of both.
  TYPEFLOW_INLINE static V tan(const V& x) {
    const V y = Base::magnitude(x);
    const Reduced e = reduced<0>(y);
    const V z = e.r * e.r;
    const V near_cosine = cpu_kernels::fma(V(T(-0.5)), z, V(T(1)));
    const V rest = cpu_kernels::fma(V(T(-0.5)), z, V(T(1)) - near_cosine);
    const V s = e.r + cpu_kernels::fma(z * e.r, Base::polynomial(z, C::sine), e.lost * near_cosine);
    const V c = near_cosine + cpu_kernels::fma(z * z, Base::polynomial(z, C::cosine),
                                               cpu_kernels::fma(Base::neg(e.r), e.lost, rest));
    const auto odd = e.odd > V(T(1));
    const V near = (select(odd, c, s) / select(odd, Base::neg(s), c)) ^ Base::sign_of(x);
    if (xsimd::all(y <= V(C::largest))) return near;
    return with_large(x, near, [](double u) { return std::tan(u); });
  }

 private:
  struct Reduced {
    V r;         ///< y - n pi/2, rounded
    V lost;      ///< and what it lost by that
    U quadrant;  ///< n + Quarters, in the lower bits
    V odd;       ///< 2 in odd quadrants, 0 in even ones
  };
  template <int Quarters>
  TYPEFLOW_INLINE static Reduced reduced(const V& y) {
    const V t = cpu_kernels::fma(y, V(C::two_over_pi), V(F::rounder));
    const V n = t - V(F::rounder);
    V r = cpu_kernels::fma(n, V(-C::half_pi[0]), y);
    V lost(T(0));
    for (int i = 1; i < 3; ++i) {
      const V next = cpu_kernels::fma(n, V(-C::half_pi[i]), r);
      lost = lost + cpu_kernels::fma(n, V(-C::half_pi[i]), r - next);
      r = next;
    }
    r = cpu_kernels::fma(n, V(-C::half_pi[3]), r);
    const U quadrant = Base::bits(t) + U(Quarters);
    return {r, lost, quadrant, Base::number((quadrant << (F::width - 1)) >> 1)};
  }
  TYPEFLOW_INLINE static V sine(const V& r, const V& z) {
    return cpu_kernels::fma(z * r, Base::polynomial(z, C::sine), r);
  }
  TYPEFLOW_INLINE static V cosine(const V& z) {
    return cpu_kernels::fma(z * z, Base::polynomial(z, C::cosine),
                            cpu_kernels::fma(V(T(-0.5)), z, V(T(1))));
  }
  /// sin(y + Quarters pi/2)
  template <int Quarters>
  TYPEFLOW_INLINE static V in_quadrant(const V& y) {
    const Reduced e = reduced<Quarters>(y);
    const V z = e.r * e.r;
    const U sign = (e.quadrant >> 1) << (F::width - 1);
    return select(e.odd > V(T(1)), cosine(z), sine(e.r, z)) ^ Base::number(sign);
  }

  /// y, but where |x| is large, infinite or NaN.
  template <class Function>
  [[gnu::noinline]] static V with_large(const V& x, const V& y, Function f) {
    alignas(64) T from[V::size];
    alignas(64) T to[V::size];
    x.store_aligned(from);
    y.store_aligned(to);
    for (std::size_t i = 0; i < V::size; ++i) {
      if (!(std::abs(from[i]) <= C::largest)) to[i] = static_cast<T>(f(double{from[i]}));
    }
    return V::load_aligned(to);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
