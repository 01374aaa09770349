// SPDX-License-Identifier: Apache-2.0
#pragma once

// erf, erfc and gelu of batches.
//
// erf is a polynomial near 0, and 1 minus an exponential farther out. Of floats in registers of 64
// bytes it, and what gelu takes from erfc, are polynomials in each of 16 intervals. erfc is
// e^(-x^2) P(q) / (x + 3) with q = (x - 3) / (x + 3) for x >= 0, and 2 minus that of -x elsewhere.
// The polynomials are minimax ones (Remez). The largest errors are given beside them, relative to
// erf or erfc.

#include "typeflow/cpu/vector_math/exponential.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <class T>
struct ErrorFunctionConstants;
template <>
struct ErrorFunctionConstants<float> {
  /// erf x = x + x p(x^2) below the split, 2.5e-8; 1 - e^-(x + x p(x)) from there to 4, 3.2e-9.
  static constexpr float split = 0.875f;
  static constexpr float end = 4;
  static constexpr float near[] = {-6.20325562e-4f, 5.03218127e-3f,  -2.67914627e-2f,
                                   1.12824552e-1f,  -3.76125515e-1f, 1.28379151e-1f};
  static constexpr float far[] = {9.14145039e-6f, -3.02147469e-4f, 3.55960336e-3f, -2.35893652e-2f,
                                  1.06039494e-1f, 6.35268688e-1f,  1.28620088e-1f};
  /// From here on erfc is 0, and gelu of negative numbers and its slope are. 2.0e-8
  static constexpr float erfc_end = 10.1f;
  static constexpr float gelu_end = 14.8f;
  static constexpr float erfc[] = {
      -3.25951987e-4f, -4.84371674e-4f, 3.08006536e-3f, -1.22581969e-3f, -2.68395878e-2f,
      1.19528964e-1f,  -3.10466051e-1f, 5.90228319e-1f, -8.8339448e-1f,  1.07400692f};
};
template <>
struct ErrorFunctionConstants<double> {
  /// x + x p(x^2) below the split, 2.6e-17; from there to 4 1 - e^-x^2 c(x) / d(x) of W. J. Cody,
  /// Rational Chebyshev approximations for the error function, 1969. Beyond, 1 - erf is so small
  /// that the same quotient is good enough for erf.
  static constexpr double split = 0.875;
  static constexpr double end = 6;
  static constexpr double near[] = {
      -8.6551153597099119e-10, 1.4118058480493038e-8,  -1.6288380600566049e-7,
      1.6456518574451352e-6,   -1.4925381489699133e-5, 1.2055324326112927e-4,
      -8.5483268394448864e-4,  5.2239776229561262e-3,  -2.6866170644932613e-2,
      1.1283791670954303e-1,   -3.7612638903183737e-1, 1.2837916709551259e-1};
  static constexpr double c[] = {
      2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0,
      6.61191906371416295e1,  2.98635138197400131e2,  8.81952221241769090e2,
      1.71204761263407058e3,  2.05107837782607147e3,  1.23033935479799725e3};
  static constexpr double d[] = {1,
                                 1.57449261107098347e1,
                                 1.17693950891312499e2,
                                 5.37181101862009858e2,
                                 1.62138957456669019e3,
                                 3.29079923573345963e3,
                                 4.36261909014324716e3,
                                 3.43936767414372164e3,
                                 1.23033935480374942e3};
  /// 2.1e-16
  static constexpr double erfc_end = 27.3;
  static constexpr double gelu_end = 39;
  static constexpr double erfc[] = {
      -3.3635353920061352e-9, -1.9807352944401995e-9, 3.8246048071723229e-8,
      4.473089354956135e-8,   -2.1723346400318369e-7, -4.0433027311720131e-7,
      9.8590964436287823e-7,  2.7620175635374465e-6,  -4.742617650357345e-6,
      -1.7468878646145719e-5, 3.0395981210991177e-5,  1.0756099066552098e-4,
      -2.767773849730829e-4,  -5.4830960609388989e-4, 3.0340619415442777e-3,
      -1.2124166354349291e-3, -2.6827234620181457e-2, 1.195277612876765e-1,
      -3.1046726190071072e-1, 5.9022835710409516e-1,  -8.8339445316988219e-1,
      1.0740069070883398};
};

#if defined(__AVX512F__)
/// erf of floats, where an instruction looks up 16 numbers of 16: erf(m) + t p(t), t = x - m, with
/// a p for each of 16 intervals, whose middles m are multiples of their width. In the first it is
/// x + x p(x). The width is one for which the largest erf(m) are nearly floats. The polynomials'
/// largest error is 4.9e-8; the result is within 1.5 units in the last place.
struct PiecewiseErf {
  static constexpr float end = 4;  ///< erf is 1 from 3.92 on
  static constexpr float width = 0.26536411f;
  static constexpr int degree = 4;
  /// The intervals' coefficients, the highest powers' first; then erf(m).
  alignas(64) static constexpr float table[degree + 2][16] = {
      {0.110868797f, 0.0772344917f, -0.000793571875f, -0.059038084f, -0.0659629926f, -0.0370848589f,
       -0.00532730948f, 0.0108256144f, 0.012453977f, 0.00811596867f, 0.00386670628f, 0.00144939439f,
       0.000441685377f, 0.000111414789f, 2.35241678e-5f, 4.18871832e-6f},
      {0.000307804003f, 0.131960124f, 0.182315737f, 0.137114376f, 0.0485617593f, -0.0218067374f,
       -0.0487410687f, -0.0431241021f, -0.0265345946f, -0.0126623223f, -0.00488905888f,
       -0.0015605709f, -0.000417037721f, -9.40684768e-5f, -1.80108345e-5f, -2.93908829e-6f},
      {-0.376143038f, -0.301207811f, -0.123938434f, 0.0533803292f, 0.152788952f, 0.163056299f,
       0.121335626f, 0.070427224f, 0.0332586467f, 0.0130475815f, 0.00430347398f, 0.00120244909f,
       0.000286090944f, 5.81726927e-5f, 1.01364431e-5f, 1.51668996e-6f},
      {3.00486533e-7f, -0.279065698f, -0.451847881f, -0.47662431f, -0.388189375f, -0.257464468f,
       -0.142395362f, -0.0665076748f, -0.0264315587f, -0.00898176897f, -0.00261836895f,
       -0.000656382239f, -0.000141741533f, -2.64013179e-5f, -4.24607015e-6f, -5.90110176e-7f},
      {0.128379166f, 1.0516541f, 0.851385593f, 0.598708332f, 0.365712583f, 0.194043964f,
       0.0894326195f, 0.0358036533f, 0.0124507183f, 0.00376094622f, 0.000986814615f,
       0.000224910604f, 4.45266814e-5f, 7.65714776e-6f, 1.14380066e-6f, 1.48412582e-7f},
      {0.0f, 0.292548895f, 0.547084332f, 0.739768684f, 0.866677046f, 0.939400673f, 0.975658059f,
       0.991385102f, 0.997320116f, 0.999268591f, 0.99982512f, 0.999963403f, 0.999993324f,
       0.999998927f, 0.999999881f, 1.0f}};

  TYPEFLOW_INLINE static __m512 erf(__m512 x) {
    const __m512 y = _mm512_min_ps(_mm512_set1_ps(end), _mm512_abs_ps(x));  // in this order: NaN
    const __m512 rounder = _mm512_set1_ps(Format<float>::rounder);
    const __m512 rounded = _mm512_fmadd_ps(y, _mm512_set1_ps(1 / width), rounder);
    const __m512 n = _mm512_sub_ps(rounded, rounder);
    const __m512 t = _mm512_fnmadd_ps(n, _mm512_set1_ps(width), y);
    const __m512i interval = _mm512_castps_si512(rounded);  // in the lowest four bits
    __m512 p = _mm512_permutexvar_ps(interval, _mm512_load_ps(table[0]));
    for (int k = 1; k <= degree; ++k) {
      p = _mm512_fmadd_ps(p, t, _mm512_permutexvar_ps(interval, _mm512_load_ps(table[k])));
    }
    const __mmask16 is_first = _mm512_cmp_ps_mask(n, _mm512_setzero_ps(), _CMP_EQ_OQ);
    const __m512 middle = _mm512_permutexvar_ps(interval, _mm512_load_ps(table[degree + 1]));
    p = _mm512_fmadd_ps(p, t, _mm512_mask_mov_ps(middle, is_first, y));
    const __m512i sign = _mm512_set1_epi32(std::numeric_limits<std::int32_t>::min());
    constexpr int second_where_third = 0xD8;
    return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(
        _mm512_castps_si512(p), _mm512_castps_si512(x), sign, second_where_third));
  }
};

/// e^(a^2 / 2) erfc(a / sqrt(2)) of floats from 0 to below 15, in the same way: p(a - m), with a p
/// for each of 16 intervals, four for each power of two of a + 1. For each m the function is
/// nearly a float. The polynomials' largest error is 8e-9, that of the result 6.3e-8.
struct PiecewiseTail {
  static constexpr int degree = 6;
  /// The intervals' coefficients, the highest powers' first. Those of a below 1 come last: the
  /// lowest four bits of the exponent and fraction of a + 1 begin there.
  alignas(64) static constexpr float table[degree + 1][16] = {
      {0.0012175173f, 0.000461787393f, 0.000190015591f, 8.40474022e-05f, 2.81348002e-05f,
       7.71845316e-06f, 2.50985227e-06f, 9.34575382e-07f, 2.63208932e-07f, 6.24916154e-08f,
       1.872586e-08f, 6.6535466e-09f, 0.0152294375f, 0.00828219857f, 0.00463105831f,
       0.00265861745f},
      {-0.00405514147f, -0.00165332097f, -0.000734717469f, -0.000371374568f, -0.000140121803f,
       -4.43395074e-05f, -1.65020429e-05f, -7.0435517e-06f, -2.31765216e-06f, -6.67042457e-07f,
       -2.31534884e-07f, -9.6198427e-08f, -0.051370319f, -0.0227925498f, -0.0137000065f,
       -0.00813026447f},
      {0.0123603567f, 0.00560685992f, 0.0027588564f, 0.00152510486f, 0.00064950774f,
       0.000242772556f, 0.000104776249f, 5.09716047e-05f, 1.96709607e-05f, 6.93684433e-06f,
       2.86427576e-06f, 1.37549421e-06f, 0.124696702f, 0.0580099076f, 0.0367631242f, 0.023067385f},
      {-0.0354360752f, -0.0180403255f, -0.00989858247f, -0.00601489749f, -0.00295230933f,
       -0.00130964129f, -0.000657568686f, -0.000365338899f, -0.000168663129f, -7.26313956e-05f,
       -3.5613506e-05f, -1.97399095e-05f, -0.265935242f, -0.135393053f, -0.09092246f,
       -0.0606779978f},
      {0.0934596583f, 0.0540886447f, 0.0334546119f, 0.0225398485f, 0.0128924148f, 0.00685651507f,
       0.0040335427f, 0.00257222285f, 0.00142796896f, 0.000753910048f, 0.00043998324f,
       0.000281949411f, 0.499998897f, 0.282956064f, 0.20298031f, 0.145245314f},
      {-0.222416759f, -0.149042368f, -0.10546083f, -0.0796507969f, -0.05380987f, -0.0347402692f,
       -0.024143137f, -0.0177704748f, -0.0119278217f, -0.00775489956f, -0.00540080899f,
       -0.00400769664f, -0.797884524f, -0.512586594f, -0.397641718f, -0.308844596f},
      {0.463227719f, 0.369731724f, 0.305746347f, 0.262781262f, 0.213403702f, 0.169825375f,
       0.140769839f, 0.120341547f, 0.0982617885f, 0.0790350959f, 0.0658635795f, 0.0566884838f, 1.0f,
       0.75867033f, 0.650589824f, 0.560135126f}};
  alignas(64) static constexpr float middles[16] = {
      1.24230003f, 1.75489998f,  2.26469994f,  2.73320007f, 3.48670006f, 4.49370003f,
      5.49650002f, 6.48250008f,  7.99860001f,  9.99720001f, 12.0321999f, 14.0042f,
      0.0f,        0.376049995f, 0.615199983f, 0.873075008f};

  TYPEFLOW_INLINE static __m512 scaled_tail(__m512 a) {
    constexpr int below_interval = 21;  // bits
    const __m512i interval =
        _mm512_srli_epi32(_mm512_castps_si512(_mm512_add_ps(a, _mm512_set1_ps(1))), below_interval);
    const __m512 t = _mm512_sub_ps(a, _mm512_permutexvar_ps(interval, _mm512_load_ps(middles)));
    __m512 p = _mm512_permutexvar_ps(interval, _mm512_load_ps(table[0]));
    for (int k = 1; k <= degree; ++k) {
      p = _mm512_fmadd_ps(p, t, _mm512_permutexvar_ps(interval, _mm512_load_ps(table[k])));
    }
    return p;
  }
};

/// gelu of floats and its slope down to -end: both are found from a function of a = |x|, which is a
/// polynomial of a - m in each of 16 intervals, in which (a + 2.5)^2 grows by as much: so steep are
/// these functions. For each m both are nearly floats. The polynomials' largest errors: 5.0e-8 of
/// the tail and 4e-8 of the slope, relative to it where a is above 2, else to 1.
struct PiecewiseGelu {
  static constexpr float end = 5.19f;
  static constexpr float scale = 0.549235586f;  ///< 1 / sqrt((7.7^2 - 2.5^2) / 16)
  static constexpr int degree = 6;
  /// The coefficients of erfc(a / sqrt(2)) / 2, the highest powers' first.
  alignas(64) static constexpr float tail[degree + 1][16] = {
      {0.00218073069f, 0.00270227785f, 0.000237912798f, -0.00126057223f, -0.00122818991f,
       -0.000606982911f, -9.07984358e-05f, 0.000149121959f, 0.000193292421f, 0.000153820787f,
       9.93070207e-05f, 5.63874419e-05f, 2.92263212e-05f, 1.41236542e-05f, 6.45077535e-06f,
       2.81113284e-06f},
      {-0.0116381571f, 0.00167546968f, 0.00606467808f, 0.00452095363f, 0.00150052051f,
       -0.000465873512f, -0.00112831942f, -0.00104608585f, -0.000730287342f, -0.000436294358f,
       -0.000233833955f, -0.000115852177f, -5.40045112e-05f, -2.38322646e-05f, -1.0068341e-05f,
       -4.09823724e-06f},
      {0.000643730164f, -0.0225022249f, -0.0119635146f, -0.000250803685f, 0.00540684676f,
       0.00609270949f, 0.00464000041f, 0.00291430205f, 0.00161453756f, 0.000819252338f,
       0.000386711617f, 0.000172745655f, 7.37889495e-05f, 3.0176534e-05f, 1.1920094e-05f,
       4.56881571e-06f},
      {0.0663621575f, 0.0136847887f, -0.020012442f, -0.0296661407f, -0.0250535011f, -0.0166681428f,
       -0.00956754386f, -0.00496315118f, -0.0023791166f, -0.00107517466f, -0.00046054757f,
       -0.000189301398f, -7.51886328e-05f, -2.88156207e-05f, -1.07363376e-05f, -3.90225978e-06f},
      {1.19182068e-05f, 0.117777452f, 0.111011013f, 0.0780840442f, 0.0463767648f, 0.0245638005f,
       0.0119138453f, 0.00541282864f, 0.00232557557f, 0.00095795095f, 0.000378499681f,
       0.000144889011f, 5.4006734e-05f, 1.95379289e-05f, 6.90663683e-06f, 2.391934e-06f},
      {-0.398942649f, -0.280154288f, -0.169955686f, -0.0907487124f, -0.0442227535f, -0.0200953912f,
       -0.00860158168f, -0.00351954391f, -0.00138174358f, -0.000526097254f, -0.000193786589f,
       -6.96574934e-05f, -2.4527284e-05f, -8.42112968e-06f, -2.83695681e-06f, -9.39686174e-07f},
      {0.5f, 0.200228661f, 0.0957162753f, 0.0426358543f, 0.0179783758f, 0.00724824565f,
       0.00280150818f, 0.0010494499f, 0.000381131307f, 0.000135407856f, 4.68489234e-05f,
       1.59093343e-05f, 5.31822297e-06f, 1.74017885e-06f, 5.60670628e-07f, 1.78156242e-07f}};
  /// The coefficients of gelu's slope at -a.
  alignas(64) static constexpr float slope[degree + 1][16] = {
      {0.0173330251f, 0.0159266163f, -0.00506894803f, -0.011491417f, -0.0058343322f,
       0.000358786143f, 0.00266612438f, 0.00229964522f, 0.00119427091f, 0.000344155007f,
       -6.9672009e-05f, -0.000186079691f, -0.000168219209f, -0.000115070499f, -6.78065917e-05f,
       -3.61695638e-05f},
      {-0.0732799247f, 0.0236783419f, 0.0383853279f, 0.014175985f, -0.00652244128f, -0.0118379928f,
       -0.00837011077f, -0.00356115936f, -0.000474386237f, 0.000764794822f, 0.000945496431f,
       0.000728492276f, 0.000460034207f, 0.000256532425f, 0.000131126566f, 6.27036279e-05f},
      {0.00535980007f, -0.105237491f, -0.0198083147f, 0.0377740264f, 0.042659495f, 0.0246090256f,
       0.00747101288f, -0.0015507777f, -0.00421467191f, -0.00383167947f, -0.00261790585f,
       -0.00153499178f, -0.000813641818f, -0.000398536329f, -0.000183769793f, -8.06604367e-05f},
      {0.26484555f, -0.0209403392f, -0.142570227f, -0.120393544f, -0.0548501164f, -0.00708887167f,
       0.0131460996f, 0.0160042495f, 0.0122225424f, 0.00763288746f, 0.00419999612f, 0.00211706432f,
       0.00099889189f, 0.000444757781f, 0.000189174476f, 7.74121145e-05f},
      {0.000109977016f, 0.387846828f, 0.254597545f, 0.0810946226f, -0.0185114965f, -0.0485540703f,
       -0.0437683798f, -0.0295593012f, -0.0170486607f, -0.00887271017f, -0.00426176842f,
       -0.00192788907f, -0.000831357145f, -0.000342532527f, -0.0001361139f, -5.24254065e-05f},
      {-0.797888279f, -0.362252891f, -0.0498721823f, 0.08724989f, 0.106097236f, 0.0799123943f,
       0.0488031507f, 0.0262592137f, 0.012892968f, 0.00592499739f, 0.00256953808f, 0.00106617494f,
       0.000426617014f, 0.000164478595f, 6.15837416e-05f, 2.24750002e-05f},
      {0.5f, -0.035326384f, -0.126305833f, -0.113532238f, -0.0747751445f, -0.0418793447f,
       -0.0210261792f, -0.00977620669f, -0.00427001994f, -0.00178049447f, -0.000710150751f,
       -0.000273868849f, -0.00010269534f, -3.73357216e-05f, -1.32526202e-05f, -4.60571846e-06f}};
  alignas(64) static constexpr float middles[16] = {
      0.0f,        0.840804756f, 1.30635297f, 1.72088492f, 2.09741616f, 2.44471931f,
      2.77015185f, 3.07586908f,  3.36614633f, 3.64172649f, 3.90635753f, 4.16004372f,
      4.40381336f, 4.6402216f,   4.86905336f, 5.09092951f};

  TYPEFLOW_INLINE static __m512 evaluate(const float (&coefficients)[degree + 1][16], __m512 a) {
    const __m512 b = _mm512_fmadd_ps(a, _mm512_set1_ps(scale), _mm512_set1_ps(2.5f * scale));
    // From 16 to 32: the interval is in the highest four bits of the fraction.
    const __m512 c = _mm512_fmadd_ps(b, b, _mm512_set1_ps(16 - 6.25f * scale * scale));
    const __m512i interval = _mm512_srli_epi32(_mm512_castps_si512(c), 19);
    const __m512 t = _mm512_sub_ps(a, _mm512_permutexvar_ps(interval, _mm512_load_ps(middles)));
    __m512 p = _mm512_permutexvar_ps(interval, _mm512_load_ps(coefficients[0]));
    for (int k = 1; k <= degree; ++k) {
      p = _mm512_fmadd_ps(p, t, _mm512_permutexvar_ps(interval, _mm512_load_ps(coefficients[k])));
    }
    return p;
  }
  /// gelu of x from -end on.
  TYPEFLOW_INLINE static __m512 gelu(__m512 x) {
    const __mmask16 is_curved = _mm512_cmp_ps_mask(x, _mm512_set1_ps(end), _CMP_NGE_UQ);
    const __m512 tails = _mm512_maskz_mul_ps(is_curved, x, evaluate(tail, _mm512_abs_ps(x)));
    const __mmask16 is_positive = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_GT_OQ);
    return _mm512_mask_sub_ps(tails, is_positive, x, tails);
  }
};
#endif

template <class T, class A>
struct ErrorFunctions : Exponentials<T, A> {
  using Base = Exponentials<T, A>;
  using C = ErrorFunctionConstants<T>;
  using typename Base::V;

  TYPEFLOW_INLINE static V erf(const V& x) {
#if defined(__AVX512F__)
    if constexpr (is_piecewise) {
      return PiecewiseErf::erf(x);
    }
#endif
    const V y = Base::magnitude(x);
    const V z = x * x;
    const V t = Base::at_most(y, C::end);
    const V near = near_erf(x, z);
    V far;
    if constexpr (std::is_same_v<T, float>) {
      far = of_small(Base::neg(cpu_kernels::fma(t, Base::polynomial(t, C::far), t)));
    } else {
      far = of_small(Base::neg(t * t)) * (Base::polynomial(t, C::c) / Base::polynomial(t, C::d));
    }
    return select(y < V(C::split), near, (V(T(1)) - far) | Base::sign_of(x));
  }

  TYPEFLOW_INLINE static V erfc(const V& x) {
    const V a = Base::at_most(Base::magnitude(x), C::erfc_end);
    const auto square = Base::exact_product(a, a);
    const V tail = times_exp(scaled_erfc(a), Base::neg(square.high), Base::neg(square.low));
    const V far = select(x < V(T(0)), V(T(2)) - tail, tail);
    return select(a < V(T(0.5)), V(T(1)) - near_erf(x, square.high), far);
  }

  /// x erfc(-x / sqrt(2)) / 2; for x > 0 as x minus that of -x.
  TYPEFLOW_INLINE static V gelu(const V& x) {
#if defined(__AVX512F__)
    if constexpr (is_piecewise) {
      const V near = PiecewiseGelu::gelu(x);
      const auto is_far = x < V(-PiecewiseGelu::end);
      if (!xsimd::any(is_far)) return near;
      return select(is_far, far_gelu(x), near);
    }
#endif
    return gelu_by_tail(x);
  }
  /// Its derivative, erfc(-x / sqrt(2)) / 2 + x e^(-x^2 / 2) / sqrt(2 pi). That of -x is 1 minus
  /// it.
  TYPEFLOW_INLINE static V gelu_slope(const V& x) {
#if defined(__AVX512F__)
    if constexpr (is_piecewise) {
      const V a = Base::magnitude(x);
      const V y = PiecewiseGelu::evaluate(PiecewiseGelu::slope, a);
      const V near = select(x < V(0), y, V(1) - y);
      const auto is_far = a > V(PiecewiseGelu::end);
      if (!xsimd::any(is_far)) return near;
      return select(is_far, far_slope(x), near);
    }
#endif
    return slope_by_tail(x);
  }

 private:
  static constexpr bool is_piecewise = [] {
#if defined(__AVX512F__)
    return std::is_base_of_v<xsimd::avx512f, A> && std::is_same_v<T, float>;
#else
    return false;
#endif
  }();

  TYPEFLOW_INLINE static V gelu_by_tail(const V& x) {
    const Tail t = tail_of(x);
    const V y = times_exp(V(T(0.5)) * t.a * t.scaled, t.power, t.rest);
    return select(x < V(T(0)), Base::neg(y), x - y);
  }
  TYPEFLOW_INLINE static V slope_by_tail(const V& x) {
    const Tail t = tail_of(x);
    const V density = t.a * V(T(0.398942280401432678));
    const V y =
        times_exp(cpu_kernels::fma(V(T(0.5)), t.scaled, Base::neg(density)), t.power, t.rest);
    return select(x < V(T(0)), y + V(T(0)), V(T(1)) - y);  // 0, not -0, far below
  }
  [[gnu::noinline, gnu::cold]] static V far_gelu(const V& x) { return gelu_by_tail(x); }
  [[gnu::noinline, gnu::cold]] static V far_slope(const V& x) { return slope_by_tail(x); }

  struct Tail {
    V a;       ///< |x|, but not more than gelu_end
    V scaled;  ///< e^(a^2 / 2) erfc(a / sqrt(2))
    V power;   ///< -a^2 / 2, rounded
    V rest;    ///< and what it lost by that
  };
  TYPEFLOW_INLINE static Tail tail_of(const V& x) {
    const V a = Base::at_most(Base::magnitude(x), C::gelu_end);
    const auto square = Base::exact_product(a, a);
    return {a, scaled_tail(a), V(T(-0.5)) * square.high, V(T(-0.5)) * square.low};
  }
  /// e^(a^2 / 2) erfc(a / sqrt(2)), for a from 0 to gelu_end.
  TYPEFLOW_INLINE static V scaled_tail(const V& a) {
#if defined(__AVX512F__)
    if constexpr (is_piecewise) {
      return PiecewiseTail::scaled_tail(a);
    }
#endif
    return scaled_erfc(a * V(T(0.707106781186547524)));
  }
  /// erf x, where |x| is below the split, z = x^2.
  TYPEFLOW_INLINE static V near_erf(const V& x, const V& z) {
    return cpu_kernels::fma(x, Base::polynomial(z, C::near), x);
  }
  /// e^(a^2) erfc a, for a from 0 to erfc_end.
  ///
  /// q belongs not to a but, because of rounding, to a - lost; the derivative, which is
  /// 2 a y - 2 / sqrt(pi), makes up for that.
  TYPEFLOW_INLINE static V scaled_erfc(const V& a) {
    const V below = a + V(T(3));
    const V over = V(T(1)) / below;
    const V q = cpu_kernels::fma(V(T(-6)), over, V(T(1)));
    const V y = over * Base::long_polynomial(q, C::erfc);
    V excess;  // over below - 1
    if constexpr (fma_rounds_once<A>) {
      excess = cpu_kernels::fms(over, below, V(T(1)));
    } else {
      const auto back = Base::exact_product(over, below);
      excess = (back.high - V(T(1))) + back.low;
    }
    const V lost = cpu_kernels::fma(below, excess, a - (below - V(T(3))));
    const V slope = cpu_kernels::fma(a + a, y, V(T(-1.12837916709551257)));
    return cpu_kernels::fma(slope, lost, y);
  }
  /// y e^(x + rest), the rest much smaller than x.
  TYPEFLOW_INLINE static V times_exp(const V& y, const V& x, const V& rest) {
    const auto e = Base::reduced(x, rest);
    return Base::scaled(cpu_kernels::fma(y, e.expm1, y), e.n, e.t);
  }
  /// e^x, for x from -40 to 0.
  TYPEFLOW_INLINE static V of_small(const V& x) {
    const auto e = Base::reduced(x);
    const V power = Base::power_of_two(e.t);
    return cpu_kernels::fma(power, e.expm1, power);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
