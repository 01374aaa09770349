// SPDX-License-Identifier: Apache-2.0
#pragma once

// Operations on complex numbers whose real and imaginary parts are batches (lanes.hpp).
//
// Products, and quotients of doubles, have the bits of std::complex; quotients of floats are
// rounded from doubles. Batches compute them where no sum or product on the way may be infinite or
// subnormal. The C++ library computes other elements, one by one. Largest errors seen, in units in
// the last place (tests/unit/cpu/test_complex_functions.cpp): complex_abs 1.2, exp 2.9 of each
// part.

#include <complex>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "typeflow/cpu/lanes.hpp"
#include "typeflow/cpu/vector_math.hpp"
#include "typeflow/ops/elementwise/arithmetic.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {
struct Angle;
struct Complex;
struct ComplexAbs;
struct Equal;
struct Exp;
struct Imag;
struct NotEqual;
struct Prod;
struct Real;
struct Select;
struct Square;
struct Sum;
}  // namespace ops

namespace cpu_kernels {

template <class T, class A>
struct ComplexFunctions : VectorBase<T, A> {
  using Base = VectorBase<T, A>;
  using F = typename Base::F;
  using typename Base::U;
  using typename Base::V;
  using Z = Parts<V>;
  using Where = typename V::batch_bool_type;

  TYPEFLOW_INLINE static Z product(const Z& a, const Z& b) {
    const Z y{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    return mended(y, is_nan(y), [](const auto& u, const auto& v) { return u * v; }, a, b);
  }
  TYPEFLOW_INLINE static Z quotient(const Z& a, const Z& b) {
    const auto one = [](const auto& u, const auto& v) { return u / v; };
    if constexpr (std::is_same_v<T, float>) {
      const Z y = quotient_in_double(a, b);
      return mended(y, is_nan(y), one, a, b);
    } else {
      // R. L. Smith, Algorithm 116: Complex division, 1962
      const auto steep = Base::magnitude(b.re) < Base::magnitude(b.im);
      const Z over = turned(steep, a);
      const Z below = turned(steep, b);
      const V ratio = below.im / below.re;
      const V size = below.im * ratio + below.re;
      const Z y{(over.im * ratio + over.re) / size, (over.im - over.re * ratio) / size};
      const Where plain = is_plain(a.re) && is_plain(a.im) && is_plain(b.re) && is_plain(b.im);
      return mended(y, !plain || below.re == V(T(0)), one, a, b);
    }
  }
  /// By the power of two of the larger part, so that no square is infinite or 0.
  TYPEFLOW_INLINE static V absolute(const Z& z) {
    const V a = Base::magnitude(z.re);
    const V b = Base::magnitude(z.im);
    const auto steep = a < b;  // not where a part is NaN, which stays
    const V high = select(steep, b, a);
    const V low = select(steep, a, b);
    const V power = Base::at_least(high, 4 * std::numeric_limits<T>::min()) & V(Base::infinity);
    const V scale = Base::number(U((2 * F::bias + 2) << F::mantissa) - Base::bits(power));
    const V x = high * scale;  // less than 8
    const V y = low * scale;
    const V size = sqrt(cpu_kernels::fma(x, x, y * y)) * (power * V(T(0.25)));
    return select(a == V(Base::infinity) || b == V(Base::infinity), V(Base::infinity), size);
  }
  /// e^re (cos im + i sin im)
  TYPEFLOW_INLINE static Z exp(const Z& z) {
    // Where e^re may be infinite, or subnormal, its root is multiplied twice.
    constexpr T most = sizeof(T) == 4 ? 87 : 708;
    const auto far = Base::magnitude(z.re) > V(most);
    const V e = math::exp(select(far, z.re * V(T(0.5)), z.re));
    const V rest = select(far, e, V(T(1)));
    const Z y{e * math::cos(z.im) * rest,
              select(z.im == V(T(0)), z.im, e * math::sin(z.im) * rest)};
    const Where usual = z.re < V(2 * most) && z.re > V(-Base::infinity) &&
                        Base::magnitude(z.im) < V(Base::infinity);
    return mended(y, !usual, [](const auto& u) { return std::exp(u); }, z);
  }

 private:
  /// NaN as both parts, as products and quotients of infinities have at first.
  TYPEFLOW_INLINE static Where is_nan(const Z& z) { return !(z.re == z.re) && !(z.im == z.im); }
  /// -i z where `steep` is set, else z.
  TYPEFLOW_INLINE static Z turned(const Where& steep, const Z& z) {
    return {select(steep, z.im, z.re), select(steep, Base::neg(z.re), z.im)};
  }
  /// Whether x is 0, or so near 1 that a quotient needs no care.
  TYPEFLOW_INLINE static Where is_plain(const V& x) {
    const V y = Base::magnitude(x);
    return y == V(T(0)) || (y >= V(T(0x1p-330)) && y <= V(T(0x1p330)));
  }
  /// y, but where `odd` is set `one` of the elements of x. By values: g++ keeps in memory what a
  /// function has an address of.
  template <class O, class... X>
  TYPEFLOW_INLINE static Z mended(const Z& y, const Where& odd, const O& one, const X&... x) {
    if (!xsimd::any(odd)) [[likely]]
      return y;
    return one_by_one(Z{y.re, y.im}, odd, one, Z{x.re, x.im}...);
  }
  /// Quotients of zeros, which are behind the end of a row, keep NaN.
  template <class O, class... X>
  [[gnu::noinline]] static Z one_by_one(Z y, Where odd, O one, X... x) {
    using L = Lanes<sizeof(T) == 8, A>;
    using E = std::complex<T>;
    Array<E, L::size> all = L::template elements<E>(y);
    bool chosen[L::size];
    odd.store_unaligned(chosen);
    [&](const auto&... in) {
      for (int i = 0; i < L::size; ++i) {
        if (chosen[i] && ((in.v[i] != E(0)) || ...)) all.v[i] = one(in.v[i]...);
      }
    }(L::template elements<E>(x)...);
    return L::template from<E>(all);
  }

  // Quotients of floats in double, which has the squares of all floats.

  using D = xsimd::batch<double, A>;
  using W = Lanes<true, A>;
  TYPEFLOW_INLINE static Z quotient_in_double(const Z& a, const Z& b) {
    const Z low = quotient_of_lower(a, b);
    const Z high = quotient_of_lower({upper(a.re), upper(a.im)}, {upper(b.re), upper(b.im)});
    return {joined<0>(low.re, high.re), joined<0>(low.im, high.im)};
  }
  TYPEFLOW_INLINE static V upper(const V& x) { return joined<W::size>(x, x); }
  /// The quotients in the lower half of the lanes.
  TYPEFLOW_INLINE static Z quotient_of_lower(const Z& a, const Z& b) {
    const D r = widened(a.re);
    const D i = widened(a.im);
    const D re = widened(b.re);
    const D im = widened(b.im);
    const D inverse = D(1.0) / (re * re + im * im);
    return {narrowed((r * re + i * im) * inverse), narrowed((i * re - r * im) * inverse)};
  }
  TYPEFLOW_INLINE static D widened(const V& x) {
    return W::template from_vector<double>(numbers<double>(W::template vector<float>(x)));
  }
  TYPEFLOW_INLINE static V narrowed(const D& x) {
    return W::template from_vector<float>(numbers<float>(W::template vector<double>(x)));
  }
  /// Half as many lanes of a as a batch has, from the First one on, and behind them those of b.
  template <int First>
  TYPEFLOW_INLINE static V joined(const V& a, const V& b) {
    constexpr int half = W::size;
    return [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
      return shuffled_pair(a, b,
                           std::integer_sequence<int, (I < half ? First + I : I + half)...>{});
    }(std::make_integer_sequence<int, 2 * half>{});
  }
};

/// Operations on complex numbers whose parts are of type T. Others are called for each element.
template <class L, class T>
struct ComplexOperations {
  using V = typename L::template of<T>;
  using Z = Parts<V>;
  using F = ComplexFunctions<T, typename V::arch_type>;
  using M = typename L::Mask;
  template <class O>
  using Of = std::type_identity<O>;

  TYPEFLOW_INLINE static Z call(Of<ops::Add>, Z a, Z b) { return {a.re + b.re, a.im + b.im}; }
  TYPEFLOW_INLINE static Z call(Of<ops::Sum>, Z a, Z b) { return {a.re + b.re, a.im + b.im}; }
  TYPEFLOW_INLINE static Z call(Of<ops::Sub>, Z a, Z b) { return {a.re - b.re, a.im - b.im}; }
  TYPEFLOW_INLINE static Z call(Of<ops::Mul>, Z a, Z b) { return F::product(a, b); }
  TYPEFLOW_INLINE static Z call(Of<ops::Prod>, Z a, Z b) { return F::product(a, b); }
  TYPEFLOW_INLINE static Z call(Of<ops::Square>, Z z) { return F::product(z, z); }
  TYPEFLOW_INLINE static Z call(Of<ops::Div>, Z a, Z b) { return F::quotient(a, b); }
  TYPEFLOW_INLINE static Z call(Of<ops::Neg>, Z z) { return {F::neg(z.re), F::neg(z.im)}; }
  TYPEFLOW_INLINE static Z call(Of<ops::Conj>, Z z) { return {z.re, F::neg(z.im)}; }
  TYPEFLOW_INLINE static Z call(Of<ops::Exp>, Z z) { return F::exp(z); }
  TYPEFLOW_INLINE static Z call(Of<ops::Complex>, V re, V im) { return {re, im}; }
  TYPEFLOW_INLINE static V call(Of<ops::Real>, Z z) { return z.re; }
  TYPEFLOW_INLINE static V call(Of<ops::Imag>, Z z) { return z.im; }
  TYPEFLOW_INLINE static V call(Of<ops::ComplexAbs>, Z z) { return F::absolute(z); }
  TYPEFLOW_INLINE static V call(Of<ops::Angle>, Z z) { return math::atan2(z.im, z.re); }
  TYPEFLOW_INLINE static M call(Of<ops::Equal>, Z a, Z b) {
    return L::template mask<T>(a.re == b.re && a.im == b.im);
  }
  TYPEFLOW_INLINE static M call(Of<ops::NotEqual>, Z a, Z b) {
    return !call(Of<ops::Equal>{}, a, b);
  }
  TYPEFLOW_INLINE static Z call(Of<ops::Select>, M condition, Z yes, Z no) {
    const auto where = L::template condition<T>(condition);
    return {select(where, yes.re, no.re), select(where, yes.im, no.im)};
  }
};

/// Whether lanes L have parts of all of these types that are complex, and one of them is.
template <class L, class... T>
concept ByParts = (detail::is_complex_number<T> || ...) &&
                  ((has_parts<L, T> || !detail::is_complex_number<T>) && ...);
/// The operations that have a result of type R and operands of types X. Either R or the last X is
/// complex.
template <class L, class R, class... X>
using OperationsOf =
    ComplexOperations<L, typename std::conditional_t<
                             detail::is_complex_number<R>, R,
                             std::tuple_element_t<sizeof...(X) - 1, std::tuple<X...>>>::value_type>;
template <class L, class O, class R, class... X>
concept CallsParts = ByParts<L, R, X...> && requires(const typename L::template of<X>&... x) {
  OperationsOf<L, R, X...>::call(std::type_identity<O>{}, x...);
};

}  // namespace cpu_kernels

}  // namespace typeflow::inline TYPEFLOW_ISA
