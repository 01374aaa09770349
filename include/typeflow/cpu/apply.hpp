// SPDX-License-Identifier: Apache-2.0
#pragma once

// One operation on SIMD values: conversions, and bodies of operations called with lanes.

#include <array>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "typeflow/cpu/call.hpp"
#include "typeflow/cpu/complex_functions.hpp"
#include "typeflow/cpu/integer_functions.hpp"
#include "typeflow/cpu/lanes.hpp"
#include "typeflow/cpu/random.hpp"
#include "typeflow/cpu/vector_math.hpp"
#include "typeflow/ops/elementwise/arithmetic.hpp"
#include "typeflow/ops/elementwise/cast.hpp"
#include "typeflow/ops/shape/shape_ops.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {
struct Abs;
struct Relu;
struct ReluGradient;
struct IfGreater;
struct IfGreaterEqual;
struct Select;
struct Maximum;
struct Minimum;
struct BitwiseAnd;
struct BitwiseOr;
struct BitwiseXor;
struct Invert;
struct Sum;
struct Prod;
struct Max;
struct Min;
}  // namespace ops

namespace cpu_kernels {

/// The element of an operation, and its source of random numbers.
struct ElementContext {
  RandomState random;
  std::int64_t index = 0;        ///< the first lane's, in row-major order
  std::int64_t lane_stride = 1;  ///< from a lane's element to the next one's
};

/// Whether registers convert a real number's type. What is left are roundings of wider numbers to
/// 16 bits, which must not be rounded to float on the way.
template <class From, class To>
inline constexpr bool converts_in_registers =
    (is_batch<From> || is_vector<From>) && (is_batch<To> || is_vector<To>) &&
    !(typeflow::detail::is_half<To> && sizeof(From) >= 4 && !std::is_same_v<From, float>);

/// A conversion of the element type.
template <class L, class From, class To>
TYPEFLOW_INLINE typename L::template of<To> convert(const typename L::template of<From>& x) {
  using V = typename L::template of<To>;
  using F = Computed<From>;
  using T = Computed<To>;
  if constexpr (std::is_same_v<From, To>) {
    return x;
  } else if constexpr (ByParts<L, From, To>) {
    if constexpr (typeflow::detail::is_complex_number<From>) {
      using P = typename From::value_type;
      if constexpr (std::is_same_v<To, bool>) {
        return ComplexOperations<L, P>::call(std::type_identity<ops::NotEqual>{}, x,
                                             L::template broadcast<From>({}));
      } else if constexpr (typeflow::detail::is_complex_number<To>) {
        using Q = typename To::value_type;
        return {convert<L, P, Q>(x.re), convert<L, P, Q>(x.im)};
      } else {
        return convert<L, P, To>(x.re);
      }
    } else {
      using Q = typename To::value_type;
      return {convert<L, From, Q>(x), L::template broadcast<Q>(Q(0))};
    }
  } else if constexpr (is_batch<From> && is_batch<To> && std::is_same_v<F, T>) {
    return L::template rounded<To>(x);  // float and 16 bits
  } else if constexpr (std::is_same_v<From, bool> && is_batch<To>) {
    return select(L::template condition<T>(x), V(T(1)), V(T(0)));
  } else if constexpr (is_batch<From> && std::is_same_v<To, bool>) {
    return L::template mask<F>(!(x == typename L::template of<From>(F(0))));
  } else if constexpr (std::is_same_v<From, bool> && is_vector<To>) {
    return V::of_bits(L::template comparison<IntegerOf<sizeof(To)>>(x)) & V(To(1));
  } else if constexpr (is_vector<From> && std::is_same_v<To, bool>) {
    return L::mask_of(!(x == typename L::template of<From>(From(0))));
  } else if constexpr (converts_in_registers<From, To>) {
    const auto in = L::template vector<From>(x);
    if constexpr (is_vector<From> && is_vector<To>) {
      return resized<To>(in);
    } else if constexpr (is_vector<To>) {
      if constexpr (sizeof(typename L::Carrier) == 8 && sizeof(F) == 4) {
        return integers<To>(numbers<double>(in));  // float has no whole number of 64 bits' bounds
      } else {
        return integers<To>(in);
      }
    } else if constexpr (is_vector<From> && sizeof(From) < 4) {
      const auto y = numbers<T>(resized<std::int32_t>(in));
      return L::template rounded<To>(L::template from_vector<To>(y));
    } else {
      return L::template rounded<To>(L::template from_vector<To>(numbers<T>(in)));
    }
  } else {
    const auto in = L::template elements<From>(x);
    Array<To, L::size> out;
    for (int i = 0; i < L::size; ++i) {
      out.v[i] = typeflow::detail::convert_element<To>(in.v[i]);
    }
    return L::template from<To>(out);
  }
}

/// An operation on batches. Multiply-adds go to our fma.
template <class O, class... V>
TYPEFLOW_INLINE auto call(const O& op, const V&... x) {
  return op(x...);
}
template <class T, class A>
TYPEFLOW_INLINE auto call(const ops::Fma&, const xsimd::batch<T, A>& a, const xsimd::batch<T, A>& b,
                          const xsimd::batch<T, A>& c) {
  return cpu_kernels::fma(a, b, c);
}
template <class T, class A>
TYPEFLOW_INLINE auto call(const ops::Fms&, const xsimd::batch<T, A>& a, const xsimd::batch<T, A>& b,
                          const xsimd::batch<T, A>& c) {
  return cpu_kernels::fma(a, b, math::neg(c));
}
template <class T, class A>
TYPEFLOW_INLINE auto call(const ops::Fnma&, const xsimd::batch<T, A>& a,
                          const xsimd::batch<T, A>& b, const xsimd::batch<T, A>& c) {
  return cpu_kernels::fma(math::neg(a), b, c);
}

template <class O, class... One>
inline constexpr bool is_one_of = (std::is_same_v<O, One> || ...);
/// Folds to the position of the largest or smallest element.
template <class O>
concept ArgFold = requires { typename O::better; };
/// Folds to the largest or smallest element.
template <class O>
inline constexpr bool is_extreme = is_one_of<O, ops::Max, ops::Min>;
/// Whether call_integers takes an operation of Vectors of integers. Others are called for each
/// integer.
template <class O>
inline constexpr bool takes_integers =
    is_one_of<O, ops::Add, ops::Sub, ops::Mul, ops::Neg, ops::Square, ops::Abs, ops::Relu,
              ops::Maximum, ops::Minimum, ops::Equal, ops::NotEqual, ops::Less, ops::LessEqual,
              ops::Greater, ops::GreaterEqual, ops::Select, ops::BitwiseAnd, ops::BitwiseOr,
              ops::BitwiseXor, ops::Invert, ops::Sum, ops::Prod, ops::Max, ops::Min, ops::Div,
              ops::FloorDiv, ops::FloorMod, ops::LeftShift, ops::RightShift, ops::Pow>;

/// Whether an operation's results are its operands, their negatives, 0 or NaN. Those of 16-bit
/// operands need no rounding.
template <class O>
inline constexpr bool keeps_values =
    is_one_of<O, ops::Neg, ops::Abs, ops::Relu, ops::ReluGradient, ops::IfGreater,
              ops::IfGreaterEqual, ops::Select, ops::Maximum, ops::Minimum, ops::Max, ops::Min>;

// The larger or smaller of two as the operations define them. x86's instructions give their second
// operand if one is NaN, or if both are zeros.

template <class A>
inline constexpr bool is_x86 =
    std::is_base_of_v<xsimd::sse2, A> || std::is_base_of_v<xsimd::avx, A> ||
    std::is_base_of_v<xsimd::avx512f, A>;
template <class O, class T, class A>
  requires(is_x86<A> && std::is_floating_point_v<T> &&
           (std::is_same_v<O, ops::Max> || std::is_same_v<O, ops::Maximum>))
TYPEFLOW_INLINE auto call(const O&, const xsimd::batch<T, A>& a, const xsimd::batch<T, A>& b) {
  return select(b == b, xsimd::max(b, a), b);
}
template <class O, class T, class A>
  requires(is_x86<A> && std::is_floating_point_v<T> &&
           (std::is_same_v<O, ops::Min> || std::is_same_v<O, ops::Minimum>))
TYPEFLOW_INLINE auto call(const O&, const xsimd::batch<T, A>& a, const xsimd::batch<T, A>& b) {
  return select(b == b, xsimd::min(b, a), b);
}
template <class T, class A>
  requires(is_x86<A> && std::is_floating_point_v<T>)
TYPEFLOW_INLINE auto call(const ops::Relu&, const xsimd::batch<T, A>& x) {
  return xsimd::max(xsimd::batch<T, A>(T(0)), x);
}

/// The larger or smaller of two integers. g++ 12 takes a comparison and a selection for it in the
/// widest registers.
template <class O, class T, int N>
  requires is_one_of<O, ops::Max, ops::Maximum, ops::Min, ops::Minimum>
TYPEFLOW_INLINE Vector<T, N> call_integers(const O&, const Vector<T, N>& a, const Vector<T, N>& b) {
  constexpr bool larger = is_one_of<O, ops::Max, ops::Maximum>;
#if defined(__AVX512BW__)
  using V = Vector<T, N>;
  if constexpr (sizeof(V) == 64) {
    const __m512i x = (__m512i)a.v;
    const __m512i y = (__m512i)b.v;
    if constexpr (sizeof(T) == 1) {
      return V::of((typename V::V)(std::is_signed_v<T>
                                       ? (larger ? _mm512_max_epi8(x, y) : _mm512_min_epi8(x, y))
                                       : (larger ? _mm512_max_epu8(x, y) : _mm512_min_epu8(x, y))));
    } else if constexpr (sizeof(T) == 2) {
      return V::of((typename V::V)(
          std::is_signed_v<T> ? (larger ? _mm512_max_epi16(x, y) : _mm512_min_epi16(x, y))
                              : (larger ? _mm512_max_epu16(x, y) : _mm512_min_epu16(x, y))));
    } else if constexpr (sizeof(T) == 4) {
      return V::of((typename V::V)(
          std::is_signed_v<T> ? (larger ? _mm512_max_epi32(x, y) : _mm512_min_epi32(x, y))
                              : (larger ? _mm512_max_epu32(x, y) : _mm512_min_epu32(x, y))));
    } else if constexpr (sizeof(T) == 8) {
      return V::of((typename V::V)(
          std::is_signed_v<T> ? (larger ? _mm512_max_epi64(x, y) : _mm512_min_epi64(x, y))
                              : (larger ? _mm512_max_epu64(x, y) : _mm512_min_epu64(x, y))));
    }
  }
#endif
  return larger ? select(a < b, b, a) : select(b < a, b, a);
}

/// A selection between booleans.
template <class M>
TYPEFLOW_INLINE M selected(const M& where, const M& yes, const M& no) {
  return (where && yes) || (!where && no);
}

/// op(x...), where the elements of x... have the types X..., the result's the type R.
template <class L, class R, class... X, class O>
TYPEFLOW_INLINE typename L::template of<R> apply_lanes(const O& op, const ElementContext& at,
                                                       const typename L::template of<X>&... x) {
  if constexpr (sizeof...(X) == 0) {  // random: a function of the element's index
    if (at.lane_stride == 1) return draw_lanes<L, R>(op, at.random, at.index);
    Array<R, L::size> out;
    for (int i = 0; i < L::size; ++i) {
      out.v[i] = op.template element<R>(at.random, at.index + i * at.lane_stride);
    }
    return L::template from<R>(out);
  } else if constexpr (O::effect == SideEffect::random) {
    const std::tuple<Array<X, L::size>...> in{L::template elements<X>(x)...};
    Array<R, L::size> out;
    for (int i = 0; i < L::size; ++i) {
      out.v[i] = std::apply(
          [&](const auto&... a) {
            return op.template element<R>(at.random, at.index + i * at.lane_stride, a.v[i]...);
          },
          in);
    }
    return L::template from<R>(out);
  } else if constexpr (std::is_same_v<O, ops::Cast>) {
    return convert<L, X..., R>(x...);
  } else if constexpr (std::is_same_v<O, ops::BroadcastTo>) {
    return (x, ...);
  } else {
    using Last = std::tuple_element_t<sizeof...(X) - 1, std::tuple<X...>>;
    constexpr bool compares = is_one_of<O, ops::Equal, ops::NotEqual>;
    constexpr bool logical =
        std::is_same_v<Last, bool> && (O::domain == Domain::booleans || compares);
    if constexpr (logical) {
      return op(x...);
    } else if constexpr (std::is_same_v<Last, bool> && std::is_same_v<O, ops::Select>) {
      return selected(x...);
    } else if constexpr (is_batch<Last> && !O::scalar_body &&
                         (is_batch<R> || std::is_same_v<R, bool>)) {
      const auto prepared = [&]<class T>(std::type_identity<T>, const auto& v)
                                TYPEFLOW_INLINE_LAMBDA {
                                  if constexpr (std::is_same_v<T, bool>) {
                                    return L::template condition<Computed<Last>>(v);
                                  } else {
                                    return v;
                                  }
                                };
      const auto result = call(op, prepared(std::type_identity<X>{}, x)...);
      if constexpr (std::is_same_v<R, bool>) {
        return L::template mask<Computed<Last>>(result);
      } else if constexpr (keeps_values<O> && std::is_same_v<R, Last>) {
        return result;
      } else {
        return L::template rounded<R>(result);
      }
    } else if constexpr (is_vector<Last> && takes_integers<O> &&
                         (is_vector<R> || std::is_same_v<R, bool>)) {
      const auto prepared = [&]<class T>(std::type_identity<T>, const auto& v)
                                TYPEFLOW_INLINE_LAMBDA {
                                  if constexpr (std::is_same_v<T, bool>) {
                                    return L::template comparison<IntegerOf<sizeof(Last)>>(v);
                                  } else {
                                    return v;
                                  }
                                };
      const auto result = call_integers(op, prepared(std::type_identity<X>{}, x)...);
      if constexpr (std::is_same_v<R, bool>) {
        return L::mask_of(result);
      } else {
        return result;
      }
    } else if constexpr (CallsParts<L, O, R, X...>) {
      return OperationsOf<L, R, X...>::call(std::type_identity<O>{}, x...);
    } else {
      const std::tuple<Array<X, L::size>...> in{L::template elements<X>(x)...};
      Array<R, L::size> out;
      std::apply(
          [&](const auto&... a) TYPEFLOW_INLINE_LAMBDA {
            for (int i = 0; i < L::size; ++i) {
              out.v[i] = static_cast<R>(op(static_cast<Computed<X>>(a.v[i])...));
            }
          },
          in);
      return L::template from<R>(out);
    }
  }
}

/// The first `count` elements of x; `rest` in the others.
template <class L, class T>
TYPEFLOW_INLINE typename L::template of<T> first_elements(const typename L::template of<T>& x,
                                                          int count, T rest) {
  if constexpr (is_batch<T>) {
    using V = typename L::template of<T>;
    using C = Computed<T>;
    constexpr int n = static_cast<int>(V::size);
#if defined(__AVX512F__)
    using Bits = typename V::batch_bool_type::register_type;
    if constexpr (sizeof(Bits) <= 8) {
      return select(typename V::batch_bool_type(static_cast<Bits>((1u << count) - 1u)), x, V(rest));
    }
#endif
    alignas(64) static constexpr auto numbers = [] {
      std::array<C, n> a{};
      for (int i = 0; i < n; ++i) a[static_cast<std::size_t>(i)] = static_cast<C>(i);
      return a;
    }();
    return select(V::load_unaligned(numbers.data()) < V(static_cast<C>(count)), x, V(rest));
  } else if constexpr (is_vector<T>) {
    using V = typename L::template of<T>;
    return select(counted<T, L::size>() < V(static_cast<T>(count)), x, V(rest));
  } else if constexpr (std::is_same_v<T, bool>) {
    using V = Vector<std::int8_t, L::size>;
    const V flags = L::template comparison<std::int8_t>(x);
    const auto taken = counted<std::int8_t, L::size>() < V(static_cast<std::int8_t>(count));
    return L::mask_of(select(taken, flags, V(static_cast<std::int8_t>(rest ? -1 : 0))));
  } else {
    auto all = L::template elements<T>(x);
    for (int i = count; i < L::size; ++i) all.v[i] = rest;
    return L::template from<T>(all);
  }
}

}  // namespace cpu_kernels

}  // namespace typeflow::inline TYPEFLOW_ISA
