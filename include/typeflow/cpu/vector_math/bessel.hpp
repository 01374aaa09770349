// SPDX-License-Identifier: Apache-2.0
#pragma once

// The modified Bessel functions of the first kind I_0 and I_1 of batches.
//
// Up to 8 they are p(x^2) and x p(x^2), whose coefficients are positive, so that nothing cancels.
// Beyond, they are e^x (1 / sqrt(2 pi) + p(16 / x - 1) / x) / sqrt(x). The polynomials are minimax
// ones (Remez). The largest errors are given beside them, relative to the function.

#include <type_traits>

#include "typeflow/cpu/vector_math/exponential.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <class T, int Order>
struct BesselConstants;
template <>
struct BesselConstants<float, 0> {
  /// 4.1e-9
  static constexpr float near[] = {1.3566482e-19f,
                                   1.99131027e-17f,
                                   1.00695963e-14f,
                                   2.37213656e-12f,
                                   4.71799932e-10f,
                                   6.7802354e-8f,
                                   6.78183051e-6f,
                                   4.34026966e-4f,
                                   1.56250019e-2f,
                                   2.5e-1f,
                                   1};
  /// 9.9e-9
  static constexpr float far[] = {5.71015744e-6f, 2.06065306e-5f, 1.57261369e-4f, 2.02116114e-3f,
                                  5.17477244e-2f};
};
template <>
struct BesselConstants<float, 1> {
  /// 1.1e-8
  static constexpr float near[] = {5.96735202e-21f,
                                   1.05282504e-18f,
                                   5.5253452e-16f,
                                   1.48711609e-13f,
                                   3.36822618e-11f,
                                   5.65061864e-9f,
                                   6.78177059e-7f,
                                   5.42534181e-5f,
                                   2.60416674e-3f,
                                   6.25e-2f,
                                   0.5f};
  /// 1.2e-8
  static constexpr float far[] = {-6.66342294e-6f, -2.55988907e-5f, -2.14506465e-4f,
                                  -3.29209701e-3f, -1.52701214e-1f};
};
template <>
struct BesselConstants<double, 0> {
  /// 3.9e-17
  static constexpr double near[] = {3.559358359497225e-46,
                                    3.2307967368715103e-43,
                                    4.6557862501074075e-40,
                                    5.3122795805290948e-37,
                                    5.4468224061132393e-34,
                                    4.901629700044549e-31,
                                    3.8429050630706505e-28,
                                    2.5978027157875744e-25,
                                    1.4963343983078578e-22,
                                    7.242258479854363e-20,
                                    2.8969033920826696e-17,
                                    9.3859669903291541e-15,
                                    2.4028075495244456e-12,
                                    4.7095027970679003e-10,
                                    6.7816840277777778e-8,
                                    6.7816840277777774e-6,
                                    4.3402777777777775e-4,
                                    1.5625e-2,
                                    2.5e-1,
                                    1};
  /// 2.6e-17
  static constexpr double far[] = {
      1.4463556688950099e-9,  -8.247114883972395e-10, -9.5137930541997674e-9,
      4.8160220838705558e-9,  2.9711851199945714e-8,  -1.1559883098479882e-8,
      -6.0858028604428031e-8, 1.0120460275715109e-8,  9.4223212372312932e-8,
      2.3594305788207985e-8,  -1.0389672052871792e-7, -1.0953157804248183e-7,
      -1.544896202140468e-10, 1.2076696925393686e-7,  2.2431165915686522e-7,
      4.0493944385673705e-7,  1.0145840202567412e-6,  3.7431707468935541e-6,
      1.9998392005459798e-5,  1.5829014875721879e-4,  2.0211670414781338e-3,
      5.1747664697206514e-2};
};
template <>
struct BesselConstants<double, 1> {
  /// 3.0e-17
  static constexpr double near[] = {8.7957969479271475e-48,
                                    8.5613631638346651e-45,
                                    1.2917016554198946e-41,
                                    1.5626891250101393e-38,
                                    1.70210409003161e-35,
                                    1.6338787769684486e-32,
                                    1.3724659637033823e-29,
                                    9.9915489650534652e-27,
                                    6.2347266576282237e-24,
                                    3.2919356727131495e-21,
                                    1.4484516960402927e-18,
                                    5.2144261057385763e-16,
                                    1.5017547184527767e-13,
                                    3.3639305693342149e-11,
                                    5.6514033564814812e-9,
                                    6.781684027777778e-7,
                                    5.4253472222222219e-5,
                                    2.6041666666666665e-3,
                                    6.25e-2,
                                    0.5};
  /// 3.0e-17
  static constexpr double far[] = {
      -1.5052722160836467e-9, 9.2468722679499132e-10, 9.8525723371074546e-9,
      -5.4202227313098993e-9, -3.0676607132924802e-8, 1.3243524427501166e-8,
      6.2895937690623568e-8,  -1.2910744578530471e-8, -9.8183717741944078e-8,
      -2.1376586821705432e-8, 1.1055031477223946e-7,  1.1299997588015307e-7,
      -3.4574774942983892e-9, -1.3115277492042842e-7, -2.4314648347734653e-7,
      -4.4695370821898705e-7, -1.1532195100371569e-6, -4.4209470827894176e-6,
      -2.4937616803363073e-5, -2.1567913850034352e-4, -3.2920930828050634e-3,
      -1.5270114200896573e-1};
};

template <class T, class A>
struct BesselFunctions : Exponentials<T, A> {
  using Base = Exponentials<T, A>;
  using typename Base::V;

  /// I_0 or I_1 of x; over e^|x| if it is to be scaled.
  template <int Order>
  TYPEFLOW_INLINE static V bessel_i(const V& x, bool scaled) {
    using C = BesselConstants<T, Order>;
    const V size = Base::magnitude(x);
    const auto is_far = size > V(T(8));
    V y(T(0));
    if (!xsimd::all(is_far)) {
      y = Base::long_polynomial(x * x, C::near);
      if constexpr (Order == 1) y = y * size;
      if (scaled) y = y * Base::exp(Base::neg(size));
    }
    if (xsimd::any(is_far)) {
      // Where that is the infinite function's, 1 / sqrt(x) must not be 0.
      const V limited = scaled ? size : Base::at_most(size, 4 * Base::C::high);
      const V inverse = V(T(1)) / limited;
      const V u = cpu_kernels::fma(V(T(16)), inverse, V(T(-1)));
      V p;
      if constexpr (std::is_same_v<T, float>) {
        p = Base::polynomial(u, C::far);
      } else {
        p = Base::long_polynomial(u, C::far);
      }
      V far = cpu_kernels::fma(inverse, p, V(T(inv_sqrt_two_pi))) / xsimd::sqrt(limited);
      if (!scaled) {  // in two factors, because e^x is infinite before I_n is
        const V root = Base::exp(V(T(0.5)) * limited);
        far = far * root * root;
      }
      y = select(is_far, far, y);
    }
    if constexpr (Order == 1) y = y ^ Base::sign_of(x);
    return y;
  }

 private:
  static constexpr double inv_sqrt_two_pi = 0.398942280401432678;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
