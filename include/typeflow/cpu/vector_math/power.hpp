// SPDX-License-Identifier: Apache-2.0
#pragma once

// pow of batches: e^(b log|a|). A power of doubles needs more digits of the logarithm than a double
// has, so that is a sum of two. Floats are computed in double, with polynomials that are as precise
// as floats need.
//
// log(2^n m) = n log 2 + log((1 + s) / (1 - s)), s = (m - 1) / (m + 1), and the second logarithm is
// 2 s + s^3 (2/3 + s^2 p(s^2)).
//
// Squares, cubes, roots and inverses are computed as such, by each element's exponent. A register
// of such exponents, as of one for all elements, needs no logarithm. fixed_power is for exponents
// that a kernel knows; it has the same bits.

#include <bit>

#include "typeflow/cpu/vector_math/exponential.hpp"
#include "typeflow/cpu/vector_math/logarithm.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

struct PowerConstants {
  static constexpr double two_thirds = 0.66666666666666663;
  static constexpr double two_thirds_rest = 3.70074341541718826e-17;
  /// Remez; of the logarithm 2.2e-20, for floats 4.7e-14
  static constexpr double log[] = {
      1.319734387707073e-1,  1.3256714167506739e-1, 1.5386761513292907e-1, 1.8181784282527044e-1,
      2.2222222520813659e-1, 2.8571428570095042e-1, 4.0000000000002267e-1};
  static constexpr double log_for_floats[] = {1.9468674397851451e-1, 2.2184969963290133e-1,
                                              2.8571874536639519e-1, 3.9999998171482393e-1};
  /// e^r = 1 + r + r^2 p(r), for floats, 6.5e-11
  static constexpr double exp_for_floats[] = {1.9786737793034068e-4, 1.3944380695279928e-3,
                                              8.3335038618773047e-3, 4.1666301990618576e-2,
                                              1.6666665843961334e-1, 5.0000000640260012e-1};
  /// Larger exponents have powers that are infinite, 0 or 1.
  static constexpr double largest = 0x1p66;
};

template <class T, class A>
struct Powers : VectorBase<T, A> {
  using Base = VectorBase<T, A>;
  using typename Base::V;

  TYPEFLOW_INLINE static V pow(const V& a, const V& b) {
    const Simple simple = simple_power(a, b);
    if (xsimd::all(simple.is_known)) return simple.power;
    return select(simple.is_known, simple.power, any_power(a, b));
  }

  /// a^(Halves / 2), for 6, 1, -1 or -4 halves.
  template <int Halves>
  TYPEFLOW_INLINE static V fixed_power(const V& a) {
    static_assert(Halves == 6 || Halves == 1 || Halves == -1 || Halves == -4);
    if constexpr (Halves == 1) {
      return root_of(a);
    } else {
      V y;
      auto is_known = has_precise_power(a);
      if constexpr (Halves == 6) {
        y = cubed(a);
        is_known = is_known | (a == V(T(0)));
      } else {
        y = Halves == -4 ? inverse_of_square(a) : inverse_of_root(a);
      }
      if (xsimd::all(is_known)) return y;
      return select(is_known, y, other_power(a, V(T(0.5) * T(Halves))));
    }
  }

  /// a^exponent by squares and products, with their rounding errors added; |exponent| is from 2 to
  /// 64.
  TYPEFLOW_INLINE static V whole_power(const V& a, int exponent) {
    const auto n = static_cast<unsigned>(exponent < 0 ? -exponent : exponent);
    Sum p{a, V(T(0))};
    for (unsigned bit = std::bit_floor(n) >> 1; bit != 0; bit >>= 1) {
      const Sum square = Base::exact_product(p.high, p.high);
      p = {square.high, cpu_kernels::fma(p.high + p.high, p.low, square.low)};
      if ((n & bit) != 0) {
        const Sum next = Base::exact_product(p.high, a);
        p = {next.high, cpu_kernels::fma(p.low, a, next.low)};
      }
    }
    // The least and the largest of the products is the last, or a itself.
    constexpr T most = sizeof(T) == 4 ? T(0x1p90) : T(0x1p800);
    const V size = Base::magnitude(p.high);
    const auto zero = a == V(T(0));
    const auto is_known = ((size >= V(1 / most)) & (size <= V(most))) | zero;
    const V rounded = exponent < 0 ? V(T(1)) / p.high : p.high;  // of zeros, with their signs
    const V y = select(zero, rounded, exponent < 0 ? inverse_of(p) : p.high + p.low);
    if (xsimd::all(is_known)) return y;
    return select(is_known, y, other_power(a, V(static_cast<T>(exponent))));
  }

  TYPEFLOW_INLINE static V any_power(const V& a, const V& b) {
    if constexpr (std::is_same_v<T, float>) {
      return with_sign(a, b, in_double(a, b));
    } else {
      const V exponent = limited(b);
      const Sum log = logarithm(Base::magnitude(a));
      const Sum y = Base::exact_product(exponent, log.high);
      return with_sign(a, b, exponential(y.high, cpu_kernels::fma(exponent, log.low, y.low)));
    }
  }

  /// |a|^b, with an error of 1e-10, for numbers that floats can hold; if it is out of floats'
  /// range, another such number.
  TYPEFLOW_INLINE static V rough(const V& a, const V& b) {
    const auto m = Logarithms<T, A>::parts(Base::magnitude(a));
    const V f = m.mantissa - V(T(1));
    const V s = f / (V(T(2)) + f);
    const V z = s * s;
    const V p = cpu_kernels::fma(z, Base::polynomial(z, C::log_for_floats), V(C::two_thirds));
    const V log = cpu_kernels::fma(m.n, V(ln2), cpu_kernels::fma(z * s, p, s + s));
    const V y = Base::at_most(Base::at_least(limited(b) * log, T(-200)), T(200));
    const V t = cpu_kernels::fma(y, V(X::log2_e), V(F::rounder));
    const V r = cpu_kernels::fma(t - V(F::rounder), V(-ln2), y);
    const V power = cpu_kernels::fma(r * r, Base::polynomial(r, C::exp_for_floats), r) + V(T(1));
    return power * Base::power_of_two(t);
  }

 private:
  using C = PowerConstants;
  using F = typename Base::F;
  using X = ExponentialConstants<T>;
  using Sum = typename Base::Sum;
  static constexpr double ln2 = 0.693147180559945309;

  [[gnu::noinline]] static V other_power(const V& a, const V& b) { return any_power(a, b); }

  struct Simple {
    V power;
    xsimd::batch_bool<T, A> is_known;
  };
  TYPEFLOW_INLINE static Simple simple_power(const V& a, const V& b) {
    const auto inverse = b == V(T(-1));
    const auto root = b == V(T(0.5));
    Simple y{a * a, (b == V(T(2))) | inverse | root};
    if (xsimd::any(inverse)) y.power = select(inverse, V(T(1)) / a, y.power);
    if (xsimd::any(root)) y.power = select(root, root_of(a), y.power);
    const auto precise = has_precise_power(a);
    const auto cube = (b == V(T(3))) & (precise | (a == V(T(0))));
    if (xsimd::any(cube)) y.power = select(cube, cubed(a), y.power);
    const auto inverse_square = b == V(T(-2));
    const auto inverse_other = (inverse_square | (b == V(T(-0.5)))) & precise;
    if (xsimd::any(inverse_other)) {
      y.power = select(inverse_other,
                       select(inverse_square, inverse_of_square(a), inverse_of_root(a)), y.power);
    }
    y.is_known = y.is_known | cube | inverse_other;
    return y;
  }
  /// Whether no part of what a cube or an inverse needs is too small or too large.
  TYPEFLOW_INLINE static auto has_precise_power(const V& a) {
    constexpr T most = sizeof(T) == 4 ? T(0x1p40) : T(0x1p300);
    const V size = Base::magnitude(a);
    return (size >= V(1 / most)) & (size <= V(most));
  }
  /// The root; of -0 it is 0, of -infinity infinity.
  TYPEFLOW_INLINE static V root_of(const V& a) {
    const V positive = select(a == V(-Base::infinity), V(Base::infinity), a);
    return Base::magnitude(xsimd::sqrt(positive));
  }
  /// a^3, with the rounding error of the square added, and that of the product or not made.
  TYPEFLOW_INLINE static V cubed(const V& a) {
    const Sum square = Base::exact_product(a, a);
    if constexpr (fma_rounds_once<A>) {
      return cpu_kernels::fma(square.high, a, square.low * a);
    } else {
      const Sum product = Base::exact_product(square.high, a);
      const V y = product.high + cpu_kernels::fma(square.low, a, product.low);
      return y | Base::sign_of(a);  // -0 is lost, too
    }
  }
  TYPEFLOW_INLINE static V inverse_of_square(const V& a) {
    return inverse_of(Base::exact_product(a, a));
  }
  TYPEFLOW_INLINE static V inverse_of_root(const V& a) {
    const V root = xsimd::sqrt(a);
    const Sum back = Base::exact_product(root, root);
    return inverse_of({root, ((a - back.high) - back.low) * (V(T(0.5)) / root)});
  }
  TYPEFLOW_INLINE static V inverse_of(const Sum& x) {
    const V inverse = V(T(1)) / x.high;
    const Sum one = Base::exact_product(inverse, x.high);
    const V rest = ((V(T(1)) - one.high) - one.low) - inverse * x.low;
    return cpu_kernels::fma(inverse, rest, inverse);
  }

  TYPEFLOW_INLINE static V in_double(const V& a, const V& b) {
    using P = Powers<double, A>;
    using D = typename P::V;
#if defined(__AVX512F__)
    if constexpr (std::is_base_of_v<xsimd::avx512f, A>) {
      const auto upper = [](__m512 x) {
        return _mm512_cvtps_pd(_mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(x), 1)));
      };
      const auto lower = [](__m512 x) { return _mm512_cvtps_pd(_mm512_castps512_ps256(x)); };
      const __m256 first = _mm512_cvtpd_ps(P::rough(lower(a), lower(b)));
      const __m256 second = _mm512_cvtpd_ps(P::rough(upper(a), upper(b)));
      return _mm512_castpd_ps(_mm512_insertf64x4(_mm512_castps_pd(_mm512_castps256_ps512(first)),
                                                 _mm256_castps_pd(second), 1));
    }
#endif
    alignas(64) float x[V::size];
    alignas(64) float y[V::size];
    a.store_aligned(x);
    b.store_aligned(y);
    for (std::size_t i = 0; i < V::size; i += D::size) {
      alignas(64) double base[D::size];
      alignas(64) double exponent[D::size];
      for (std::size_t k = 0; k < D::size; ++k) {
        base[k] = double{x[i + k]};
        exponent[k] = double{y[i + k]};
      }
      P::rough(D::load_aligned(base), D::load_aligned(exponent)).store_aligned(base);
      for (std::size_t k = 0; k < D::size; ++k) x[i + k] = static_cast<float>(base[k]);
    }
    return V::load_aligned(x);
  }

  TYPEFLOW_INLINE static V limited(const V& b) {
    return Base::at_most(Base::at_least(b, -C::largest), C::largest);
  }

  /// log a within 2^-65, for a > 0.
  TYPEFLOW_INLINE static Sum logarithm(const V& a) {
    const auto small = a < V(std::numeric_limits<T>::min());
    constexpr T up = static_cast<T>(typename F::Bits{1} << F::mantissa);
    const auto m = Logarithms<T, A>::parts(select(small, a * V(up), a));
    const V n = m.n - select(small, V(T(F::mantissa)), V(T(0)));
    const V f = m.mantissa - V(T(1));
    if (xsimd::all(f == V(T(0)))) {  // powers of two, whose s is 0
      return Base::exact_sum(n * V(X::ln2_high), n * V(X::ln2_low));
    }
    // s = f / (2 + f)
    const Sum below = Base::exact_sum(V(T(2)), f);
    const V over = V(T(1)) / below.high;
    Sum s;
    s.high = f * over;
    const Sum back = Base::exact_product(s.high, below.high);
    s.low = (((f - back.high) - back.low) - s.high * below.low) * over;
    // z = s^2
    Sum z = Base::exact_product(s.high, s.high);
    z.low = cpu_kernels::fma(s.high + s.high, s.low, z.low);
    // p = 2/3 + z (...), then s z p
    Sum p = Base::exact_sum(V(C::two_thirds), z.high * Base::polynomial(z.high, C::log));
    p.low = p.low + V(C::two_thirds_rest);
    const Sum u = product(s, product(z, p));
    const Sum first = Base::exact_sum(n * V(X::ln2_high), s.high + s.high);
    const Sum second = Base::exact_sum(first.high, u.high);
    const V rest = cpu_kernels::fma(n, V(X::ln2_low), (s.low + s.low) + u.low);
    return Base::exact_sum(second.high, (first.low + second.low) + rest);
  }
  TYPEFLOW_INLINE static Sum product(const Sum& a, const Sum& b) {
    const Sum y = Base::exact_product(a.high, b.high);
    return {y.high, cpu_kernels::fma(a.high, b.low, cpu_kernels::fma(a.low, b.high, y.low))};
  }

  /// e^(x + rest), where the rest is less than a unit in the last place of x.
  TYPEFLOW_INLINE static V exponential(const V& x, const V& rest) {
    const V y = Base::at_most(Base::at_least(x, X::low), X::high);
    const V t = cpu_kernels::fma(y, V(X::log2_e), V(F::rounder));
    const V n = t - V(F::rounder);
    const V high = cpu_kernels::fma(n, V(-X::ln2_high), y);  // exact
    const V low = cpu_kernels::fma(n, V(-X::ln2_low), select(x == y, rest, V(T(0))));
    const V r = high + low;
    const V lost = (high - r) + low;
    const V p = cpu_kernels::fma(r * r, Base::polynomial(r, X::expm1), lost);
    return Base::scaled(V(T(1)) + (r + p), n, t);
  }

  /// a^b from |a|^b, by the rules of the C standard: a negative number has powers with whole
  /// exponents only; a^0 and 1^b are 1, also where the other one is NaN.
  TYPEFLOW_INLINE static V with_sign(const V& a, const V& b, const V& power) {
    const V one(T(1));
    const V zero(T(0));
    const V infinity(Base::infinity);
    if (xsimd::all((a > zero) & (a < infinity) & (b == b))) return power;
    const V size = Base::magnitude(a);
    const V half = b * V(T(0.5));
    const auto whole = xsimd::floor(b) == b;
    const auto odd = whole & !(xsimd::floor(half) == half);
    // (-1)^infinity is 1 because infinity is whole, and log|a| = 0.
    const V of_zero = select(b < zero, infinity, zero);
    const V of_infinity = select(b < zero, zero, infinity);
    const V any = select(size == zero, of_zero, select(size == infinity, of_infinity, power));
    const V y = select(odd, any | Base::sign_of(a), any);
    const auto none = (a < zero) & (size < infinity) & !whole;
    const V defined = select((a == a) & (b == b), y, a + b);
    return select((b == zero) | (a == one), one,
                  select(none, V(std::numeric_limits<T>::quiet_NaN()), defined));
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
