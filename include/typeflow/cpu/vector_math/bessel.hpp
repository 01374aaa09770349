// SPDX-License-Identifier: Apache-2.0
#pragma once

// The modified Bessel functions of the first kind I_0 and I_1 of batches.
//
// Up to 8 they are p(x^2) and x p(x^2), whose coefficients are positive, so that nothing cancels.
// Beyond, they are e^x p(16 / x - 1) / sqrt(x). The polynomials are minimax ones (Remez). The
// largest errors are given beside them, relative to the function.

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
  /// 4.2e-8
  static constexpr float far[] = {3.70000549e-7f, 1.63862353e-6f, 1.11028739e-5f,
                                  1.36156537e-4f, 3.36055807e-3f, 4.02176499e-1f};
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
  /// 1.1e-8
  static constexpr float far[] = {-4.31407358e-7f, -2.0091145e-6f,  -1.49908974e-5f,
                                  -2.19168753e-4f, -9.74958483e-3f, 3.89398456e-1f};
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
  /// 6.5e-17
  static constexpr double far[] = {
      -1.7013611309325675e-11, 9.6500105761818693e-11,  1.3420401308367187e-10,
      -6.7899467945646532e-10, -5.2533717547492657e-10, 2.2340859877844602e-9,
      1.4545250049106677e-9,   -4.6254516876159665e-9,  -3.4476483993833088e-9,
      6.6017009340127254e-9,   7.5187803556250445e-9,   -5.0603413120996257e-9,
      -1.3396084007840663e-8,  -6.8417009201780031e-9,  7.5515654789727752e-9,
      2.1564616668059109e-8,   3.9326308212298151e-8,   8.8720547855481415e-8,
      2.9735982049227278e-7,   1.4838476520791526e-6,   1.11430337923925e-5,
      1.362160743901722e-4,    3.3605519836678449e-3,   4.021765094450081e-1};
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
  /// 5.3e-17
  static constexpr double far[] = {
      1.6374371865144784e-11, -1.0038619036389415e-10, -1.2783915976784473e-10,
      7.0744875978239301e-10, 4.9895693288661309e-10,  -2.3343802873199363e-9,
      -1.3952474118785993e-9, 4.8607513398759063e-9,   3.387466491172454e-9,
      -7.0256262831462359e-9, -7.6198665895722091e-9,  5.6157329908743852e-9,
      1.4025663198150498e-8,  6.8324540021525245e-9,   -8.4256714088357662e-9,
      -2.3390857587541735e-8, -4.3129489484523435e-8,  -1.0001116226161869e-7,
      -3.4838555030543263e-7, -1.8349102227211203e-6,  -1.5038547201548202e-5,
      -2.1923576383205338e-4, -9.7495771932357249e-3,  3.8939845902587233e-1};
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
      V far = Base::long_polynomial(V(T(16)) / limited - V(T(1)), C::far) / xsimd::sqrt(limited);
      if (!scaled) {  // in two factors, because e^x is infinite before I_n is
        const V root = Base::exp(V(T(0.5)) * limited);
        far = far * root * root;
      }
      y = select(is_far, far, y);
    }
    if constexpr (Order == 1) y = y ^ Base::sign_of(x);
    return y;
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
