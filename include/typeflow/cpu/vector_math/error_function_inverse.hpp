// SPDX-License-Identifier: Apache-2.0
#pragma once

// erfinv of batches. For floats it is x p(w) with w = -log(1 - x^2), and p a polynomial in w or, in
// the tails, in its root (M. Giles, Approximating the erfinv function, 2010). For doubles it is
// Wichura's, as in ops/elementwise/error_functions.hpp: a quotient of polynomials for each of three
// ranges, of which few elements are in the last.

#include "typeflow/cpu/vector_math/logarithm.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <class T>
struct ErfinvConstants;
template <>
struct ErfinvConstants<float> {
  /// erfinv(x) / x = p(w - 5/2), w < 5, and p(sqrt(w) - 3), w from 5 to 16: Remez, relative errors
  /// 1.1e-7
  static constexpr float near[] = {2.85345543e-8f,  3.43727862e-7f, -3.52885968e-6f,
                                   -4.39678661e-6f, 2.18602218e-4f, -1.25370757e-3f,
                                   -4.17770771e-3f, 2.46640727e-1f, 1.50140941f};
  static constexpr float far[] = {-2.00131923e-4f, 1.02706661e-4f, 1.34913996e-3f,
                                  -3.67566035e-3f, 5.73946116e-3f, -7.62166688e-3f,
                                  9.43893567e-3f,  1.00167406f,    2.83297682f};
};
/// Numerators and denominators. Wichura's numerators are of the quantile of the normal
/// distribution, at (1 + x) / 2. Here they are divided by sqrt(2), the first one also by 2.
template <>
struct ErfinvConstants<double> {
  static constexpr double near_over[] = {
      8.8709406962545515e+2, 1.1819493347062294e+4, 2.3782041382114386e+4, 1.6235862515167575e+4,
      4.8548868893843887e+3, 6.9706266534389598e+2, 4.7072688112383978e+1, 1.1975323115670913};
  static constexpr double near_below[] = {5.2264952788528545610e+3, 2.8729085735721942674e+4,
                                          3.9307895800092710610e+4, 2.1213794301586595867e+4,
                                          5.3941960214247511077e+3, 6.8718700749205790830e+2,
                                          4.2313330701600911252e+1, 1};
  static constexpr double middle_over[] = {
      5.4768603193044649e-4, 1.606818488654419e-2, 1.7096479033317635e-1, 8.983496455234804e-1,
      2.5794182871800493,    4.079650609331799,    3.274143290202006,     1.0065220336036879};
  static constexpr double middle_below[] = {1.05075007164441684324e-9, 5.47593808499534494600e-4,
                                            1.51986665636164571966e-2, 1.48103976427480074590e-1,
                                            6.89767334985100004550e-1, 1.67638483018380384940e+0,
                                            2.05319162663775882187e+0, 1};
  static constexpr double far_over[] = {
      1.4215210861921614e-7, 1.9173593302226657e-5, 8.7869398261380983e-4, 1.8761091133968671e-2,
      2.0969999137249602e-1, 1.2620629496172389,    3.8634793616288834,    4.7078495219130337};
  static constexpr double far_below[] = {2.04426310338993978564e-15, 1.42151175831644588870e-7,
                                         1.84631831751005468180e-5,  7.86869131145613259100e-4,
                                         1.48753612908506148525e-2,  1.36929880922735805310e-1,
                                         5.99832206555887937690e-1,  1};
};

template <class T, class A>
struct ErrorFunctionInverse : VectorBase<T, A> {
  using Base = VectorBase<T, A>;
  using C = ErfinvConstants<T>;
  using Logs = Logarithms<T, A>;
  using typename Base::V;

  TYPEFLOW_INLINE static V erfinv(const V& x) {
    const V size = Base::magnitude(x);
    V y;
    if constexpr (std::is_same_v<T, float>) {
      const V one(T(1));
      const V w = Base::neg(Logs::log((one - size) * (one + size)));
      const V near = Base::polynomial(w - V(T(2.5)), C::near);
      const V far = Base::polynomial(xsimd::sqrt(w) - V(T(3)), C::far);
      y = x * select(w < V(T(5)), near, far);
    } else {
      const V r = cpu_kernels::fma(V(T(-0.25)) * x, x, V(T(0.180625)));
      const auto is_near = size <= V(T(0.85));
      const V t = xsimd::sqrt(Base::neg(Logs::log(V(T(0.5)) * (V(T(1)) - size))));
      const V middle = t - V(T(1.6));
      V over = select(is_near, x * Base::polynomial(r, C::near_over),
                      Base::polynomial(middle, C::middle_over));
      V below = select(is_near, Base::polynomial(r, C::near_below),
                       Base::polynomial(middle, C::middle_below));
      const auto is_far = t > V(T(5));
      if (xsimd::any(is_far)) {
        const V far = t - V(T(5));
        over = select(is_far, Base::polynomial(far, C::far_over), over);
        below = select(is_far, Base::polynomial(far, C::far_below), below);
      }
      const V quotient = over / below;
      y = select(is_near, quotient, quotient | Base::sign_of(x));
    }
    // Beyond 1 there is a logarithm of a negative number.
    return select(size == V(T(1)), x * V(Base::infinity), y);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
