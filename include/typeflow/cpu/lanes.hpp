// SPDX-License-Identifier: Apache-2.0
#pragma once

// SIMD values: N elements of any element type, N fixed by the widest type of a kernel.
//
// float and double are xsimd batches, bool is a batch_bool, integers are vectors of their own width
// (vectors.hpp). Complex numbers are a batch of real parts and one of imaginary parts; those of
// double in a kernel of 4-byte lanes are arrays with loops over them. 16-bit numbers are
// batches of floats that hold only their values: operations compute in float and round, or the
// store does if nothing else reads the result (body.hpp). In a kernel of 8-byte lanes a float fills
// the lower half of a batch of floats. The same functions compute it there, so it has the same bits
// as in a kernel of 4-byte lanes.

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "typeflow/core/config.hpp"
#include "typeflow/core/dtype.hpp"
#include "typeflow/cpu/half_vectors.hpp"
#include "typeflow/cpu/stream.hpp"
#include "typeflow/cpu/vectors.hpp"
#include "typeflow/cpu/xsimd.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// a * b + c, with one rounding where the instruction set has it. (On AVX-512, xsimd 8 multiplies
/// and adds.)
template <class T, class A>
TYPEFLOW_INLINE xsimd::batch<T, A> fma(const xsimd::batch<T, A>& a, const xsimd::batch<T, A>& b,
                                       const xsimd::batch<T, A>& c) {
#if defined(__AVX512F__)
  if constexpr (std::is_base_of_v<xsimd::avx512f, A> && std::is_same_v<T, float>) {
    return _mm512_fmadd_ps(a, b, c);
  } else if constexpr (std::is_base_of_v<xsimd::avx512f, A> && std::is_same_v<T, double>) {
    return _mm512_fmadd_pd(a, b, c);
  } else {
    return xsimd::fma(a, b, c);
  }
#else
  return xsimd::fma(a, b, c);
#endif
}

/// N elements of any type.
template <class T, int N>
struct Array {
  T v[N];
};

/// Complex numbers by their parts.
template <class V>
struct Parts {
  V re;
  V im;
};
template <class V>
inline constexpr bool is_parts = false;
template <class V>
inline constexpr bool is_parts<Parts<V>> = true;
/// Whether lanes L have the parts of complex numbers T, or an Array.
template <class L, class T>
inline constexpr bool has_parts = is_parts<typename L::template of<T>>;

/// The type of elements in xsimd batches: T, or float for 16-bit types.
template <class T>
inline constexpr bool is_batch = detail::is_real_floating<T>;
template <class T>
using Computed = detail::Computed<T>;

/// Whether elements are in a Vector.
template <class T>
inline constexpr bool is_vector = std::is_integral_v<T> && !std::is_same_v<T, bool>;

template <bool Wide, class A>
struct Lanes {
  using Carrier = std::conditional_t<Wide, double, float>;
  static constexpr int size = static_cast<int>(xsimd::batch<Carrier, A>::size);
  using Mask = xsimd::batch_bool<Carrier, A>;

  template <class T>
  static constexpr auto type_of() {
    if constexpr (is_batch<T>) {
      return std::type_identity<xsimd::batch<Computed<T>, A>>{};
    } else if constexpr (std::is_same_v<T, bool>) {
      return std::type_identity<Mask>{};
    } else if constexpr (is_vector<T>) {
      return std::type_identity<Vector<T, size>>{};
    } else if constexpr (detail::is_complex_number<T> && sizeof(T) <= 2 * sizeof(Carrier)) {
      return std::type_identity<Parts<xsimd::batch<typename T::value_type, A>>>{};
    } else {
      return std::type_identity<Array<T, size>>{};
    }
  }
  /// `size` elements of type T.
  template <class T>
  using of = typename decltype(type_of<T>())::type;

  /// Whether a batch of T has exactly `size` elements.
  template <class T>
  static constexpr bool fills = std::is_floating_point_v<T> && sizeof(T) == sizeof(Carrier);

  template <class T>
  TYPEFLOW_INLINE static of<T> broadcast(T x) {
    if constexpr (is_batch<T>) {
      return of<T>(static_cast<Computed<T>>(x));
    } else if constexpr (std::is_same_v<T, bool>) {
      return Mask(x);
    } else if constexpr (is_vector<T>) {
      return of<T>(x);
    } else if constexpr (is_parts<of<T>>) {
      using V = decltype(of<T>::re);
      return {V(x.real()), V(x.imag())};
    } else {
      of<T> r;
      for (int i = 0; i < size; ++i) r.v[i] = x;
      return r;
    }
  }

  template <class T>
  TYPEFLOW_INLINE static of<T> load(const T* p) {
    if constexpr (fills<T>) {
      return loaded(of<T>::load_unaligned(p));
    } else if constexpr (std::is_same_v<T, bool>) {
      Vector<std::int8_t, size> bits;
      std::memcpy(&bits.v, p, sizeof bits.v);
      return mask_of(Vector<std::int8_t, size>(0) - bits);
    } else if constexpr (detail::is_half<T>) {
      Vector<std::uint16_t, size> bits;
      std::memcpy(&bits.v, p, sizeof bits.v);
      return loaded(from_vector<T>(widened<T>(bits)));
    } else if constexpr (is_vector<T> || is_batch<T>) {
      Vector<T, size> x;
      std::memcpy(&x.v, p, sizeof x.v);
      return from_vector<T>(x);
    } else if constexpr (is_parts<of<T>>) {
      using V = decltype(of<T>::re);
      const auto* const at = reinterpret_cast<const typename T::value_type*>(p);
      const V lower = V::load_unaligned(at);
      const V upper = fills_two<V> ? V::load_unaligned(at + V::size) : lower;
      return {every_second<0>(lower, upper), every_second<1>(lower, upper)};
    } else {
      return load(p, size);
    }
  }
  /// Elements of bfloat16 must be values of it; those of float16 are rounded here (body.hpp).
  template <class T>
  TYPEFLOW_INLINE static void store(T* p, const of<T>& x) {
    if constexpr (fills<T>) {
      x.store_unaligned(p);
    } else if constexpr (is_batch<T> || is_vector<T> || std::is_same_v<T, bool>) {
      const auto y = stored<T>(x);
      std::memcpy(p, &y.v, sizeof y.v);
    } else if constexpr (is_parts<of<T>>) {
      using V = decltype(of<T>::re);
      auto* const at = reinterpret_cast<typename T::value_type*>(p);
      in_turns<0>(x.re, x.im).store_unaligned(at);
      if constexpr (fills_two<V>) in_turns<1>(x.re, x.im).store_unaligned(at + V::size);
    } else {
      store(p, x, size);
    }
  }
  /// The same past the caches; `p` must be aligned to the bytes that are stored.
  template <class T>
  TYPEFLOW_INLINE static void stream(T* p, const of<T>& x) {
    if constexpr (fills<T>) {
      stream_bits(p, x.data);
    } else if constexpr (is_batch<T> || is_vector<T> || std::is_same_v<T, bool>) {
      stream_bits(p, stored<T>(x).v);
    } else if constexpr (is_parts<of<T>>) {
      using V = decltype(of<T>::re);
      stream_bits(p, in_turns<0>(x.re, x.im).data);
      if constexpr (fills_two<V>) stream_bits(p + size / 2, in_turns<1>(x.re, x.im).data);
    } else {
      store(p, x, size);
    }
  }

  /// The first `count` elements; the others are zero.
  template <class T>
  TYPEFLOW_INLINE static of<T> load(const T* p, int count) {
    if constexpr (is_masked<T> && is_vector<T>) {
      return of<T>::of(
          (typename of<T>::V)masked_load(reinterpret_cast<const IntegerOf<sizeof(T)>*>(p), count));
    } else if constexpr (is_masked<T>) {
      return masked_load(p, count);
    } else if constexpr (std::is_same_v<T, bool>) {
      const auto bits =
          load_part<std::int8_t, size>(reinterpret_cast<const std::int8_t*>(p), count);
      return mask_of(Vector<std::int8_t, size>(0) - bits);
    } else if constexpr (detail::is_half<T>) {
      const auto bits =
          load_part<std::uint16_t, size>(reinterpret_cast<const std::uint16_t*>(p), count);
      return from_vector<T>(widened<T>(bits));
    } else if constexpr (is_vector<T> || is_batch<T>) {
      return from_vector<T>(load_part<T, size>(p, count));
    } else {
      Array<T, size> r{};
      std::memcpy(r.v, p, static_cast<std::size_t>(count) * sizeof(T));
      return from<T>(r);
    }
  }
  /// Stores the first lane.
  template <class T>
  TYPEFLOW_INLINE static void store_first(T* p, const of<T>& x) {
    if constexpr (fills<T>) {
      std::memcpy(p, &x.data, sizeof(T));
    } else {
      store(p, x, 1);
    }
  }
  template <class T>
  TYPEFLOW_INLINE static void store(T* p, const of<T>& x, int count) {
    if constexpr (is_masked<T> && is_vector<T>) {
      masked_store(reinterpret_cast<IntegerOf<sizeof(T)>*>(p), x, count);
    } else if constexpr (is_masked<T>) {
      masked_store(p, x, count);
    } else if constexpr (is_batch<T> || is_vector<T> || std::is_same_v<T, bool>) {
      const auto y = stored<T>(x);
      using E = std::remove_cvref_t<decltype(y.v[0])>;
      store_part<E, size>(reinterpret_cast<E*>(p), y, count);
    } else {
      const Array<T, size> r = elements<T>(x);
      std::memcpy(p, r.v, static_cast<std::size_t>(count) * sizeof(T));
    }
  }

  /// first, first + 1, ...
  TYPEFLOW_INLINE static of<std::int32_t> positions(std::int64_t first) {
    return of<std::int32_t>(static_cast<std::int32_t>(first)) + counted<std::int32_t, size>();
  }

  /// Copies the elements to an array of `size`, and back.
  template <class T>
  TYPEFLOW_INLINE static Array<T, size> elements(const of<T>& x) {
    if constexpr (is_batch<T> || is_vector<T> || std::is_same_v<T, bool> || is_parts<of<T>>) {
      Array<T, size> r;
      store<T>(r.v, x);
      return r;
    } else {
      return x;
    }
  }
  template <class T>
  TYPEFLOW_INLINE static of<T> from(const Array<T, size>& x) {
    if constexpr (is_batch<T> || is_vector<T> || std::is_same_v<T, bool> || is_parts<of<T>>) {
      return load(x.v);
    } else {
      return x;
    }
  }

  /// The elements as a Vector; those of 16-bit types are floats.
  template <class T>
  TYPEFLOW_INLINE static Vector<Computed<T>, size> vector(const of<T>& x) {
    Vector<Computed<T>, size> r;
    if constexpr (is_vector<T>) {
      r = x;
    } else if constexpr (sizeof r.v == sizeof x.data) {
      std::memcpy(&r.v, &x.data, sizeof r.v);
    } else {
      r = lower_half(x);
    }
    return r;
  }
  /// The lanes of a 16-bit type must hold values of that type.
  template <class T>
  TYPEFLOW_INLINE static of<T> from_vector(const Vector<Computed<T>, size>& x) {
    if constexpr (is_vector<T>) {
      return x;
    } else {
      of<T> r;
      if constexpr (sizeof x.v == sizeof r.data) {
        std::memcpy(&r.data, &x.v, sizeof x.v);
      } else {
        r = in_lower_half(x);
      }
      return r;
    }
  }

  /// A batch's values, rounded to values of T.
  template <class T>
  TYPEFLOW_INLINE static of<T> rounded(const of<T>& x) {
    if constexpr (detail::is_half<T>) {
      constexpr int all = static_cast<int>(of<T>::size);
      Vector<float, all> y;
      std::memcpy(&y.v, &x.data, sizeof y.v);
      y = rounded_to<T>(y);
      of<T> r;
      std::memcpy(&r.data, &y.v, sizeof y.v);
      return r;
    } else {
      return x;
    }
  }

  /// A comparison's result as a Mask; T is float or double.
  template <class T>
  TYPEFLOW_INLINE static Mask mask(const xsimd::batch_bool<T, A>& x) {
    if constexpr (sizeof(T) == sizeof(Carrier)) {
      return x;
    } else {
      bool all[xsimd::batch_bool<T, A>::size];
      x.store_unaligned(all);
      return Mask::load_unaligned(all);
    }
  }
  /// A Mask for a selection between batches of T.
  template <class T>
  TYPEFLOW_INLINE static xsimd::batch_bool<T, A> condition(const Mask& x) {
    if constexpr (sizeof(T) == sizeof(Carrier)) {
      return x;
    } else {
      bool all[xsimd::batch_bool<T, A>::size] = {};
      x.store_unaligned(all);
      return xsimd::batch_bool<T, A>::load_unaligned(all);
    }
  }

  /// The same for a comparison of integers, or of floating-point numbers in vectors.
  template <class I>
  TYPEFLOW_INLINE static Mask mask_of(const Vector<I, size>& x) {
    const auto wide = resized<IntegerOf<sizeof(Carrier)>>(x);
#if defined(__AVX512F__)
    if constexpr (sizeof(typename Mask::register_type) <= 8) {
      if constexpr (Wide) {
        return Mask(_mm512_test_epi64_mask((__m512i)wide.v, (__m512i)wide.v));
      } else {
        return Mask(_mm512_test_epi32_mask((__m512i)wide.v, (__m512i)wide.v));
      }
    } else
#endif
    {
      typename Mask::register_type r;
      std::memcpy(&r, &wide.v, sizeof r);
      return Mask(r);
    }
  }
  /// The other way: -1 where the mask is set, else 0; for a selection between Vectors of I.
  template <class I>
  TYPEFLOW_INLINE static Vector<I, size> comparison(const Mask& x) {
    Vector<IntegerOf<sizeof(Carrier)>, size> wide;
#if defined(__AVX512F__)
    if constexpr (sizeof(typename Mask::register_type) <= 8) {
      using V = typename Vector<IntegerOf<sizeof(Carrier)>, size>::V;
      if constexpr (Wide) {
        wide.v = (V)_mm512_maskz_set1_epi64(x.data, -1);
      } else {
        wide.v = (V)_mm512_maskz_set1_epi32(x.data, -1);
      }
    } else
#endif
    {
      std::memcpy(&wide.v, &x.data, sizeof wide.v);
    }
    return resized<I>(wide);
  }

 private:
  /// The elements as they are in memory.
  template <class T>
  TYPEFLOW_INLINE static auto stored(const of<T>& x) {
    if constexpr (std::is_same_v<T, bool>) {
      return comparison<std::int8_t>(x) & Vector<std::int8_t, size>(1);
    } else if constexpr (detail::is_half<T>) {
      return narrowed<T>(vector<float>(x));
    } else {
      return vector<T>(x);
    }
  }

  // Complex numbers in memory: re, im, re, im...

  /// Whether `size` of them fill two registers. In a kernel of 8-byte lanes, those of float fill
  /// one.
  template <class V>
  static constexpr bool fills_two = static_cast<int>(V::size) == size;
  template <int First, class V>
  TYPEFLOW_INLINE static V every_second(const V& a, const V& b) {
    return [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
      return shuffled_pair(a, b, std::integer_sequence<int, (2 * I + First)...>{});
    }(std::make_integer_sequence<int, static_cast<int>(V::size)>{});
  }
  /// The lower or upper halves of two registers, a lane of re and one of im in turns.
  template <int Upper, class V>
  TYPEFLOW_INLINE static V in_turns(const V& re, const V& im) {
    constexpr int n = static_cast<int>(V::size);
    return [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
      return shuffled_pair(re, im,
                           std::integer_sequence<int, ((Upper * n + I) / 2 + I % 2 * n)...>{});
    }(std::make_integer_sequence<int, n>{});
  }

  /// Keeps AVX-512 compilers from making one instruction of a load and a selection. Such a load
  /// has a mask, waits for it, and takes about twice as long from memory.
  template <class V>
  TYPEFLOW_INLINE static V loaded(V x) {
#if defined(__AVX512F__)
    if constexpr (sizeof x.data == 64) asm("" : "+v"(x.data));
#endif
    return x;
  }

  // A float of 8-byte lanes.
  TYPEFLOW_INLINE static Vector<float, size> lower_half(const xsimd::batch<float, A>& x) {
    Vector<float, size> r;
    std::memcpy(&r.v, &x.data, sizeof r.v);
    return r;
  }
  TYPEFLOW_INLINE static xsimd::batch<float, A> in_lower_half(const Vector<float, size>& x) {
    using Batch = xsimd::batch<float, A>;
#if defined(__AVX512F__)
    if constexpr (sizeof(Batch) == 64) return Batch(_mm512_zextps256_ps512((__m256)x.v));
#endif
#if defined(__AVX__)
    if constexpr (sizeof(Batch) == 32) return Batch(_mm256_zextps128_ps256((__m128)x.v));
#endif
    Batch r(0.0f);
    std::memcpy(&r.data, &x.v, sizeof x.v);
    return r;
  }

  // Parts of vectors, by the instruction set's masks where it has them.
#if defined(__AVX512F__)
  template <class T>
  static constexpr bool is_masked =
      std::is_base_of_v<xsimd::avx512f, A> &&
      (std::is_floating_point_v<T> || (is_vector<T> && sizeof(T) == sizeof(Carrier)));

  static auto mask16(int count) { return static_cast<__mmask16>((1u << count) - 1u); }
  static auto mask8(int count) { return static_cast<__mmask8>((1u << count) - 1u); }
  TYPEFLOW_INLINE static auto masked_load(const float* p, int count) {
    return _mm512_maskz_loadu_ps(mask16(count), p);
  }
  TYPEFLOW_INLINE static auto masked_load(const double* p, int count) {
    return _mm512_maskz_loadu_pd(mask8(count), p);
  }
  TYPEFLOW_INLINE static void masked_store(float* p, __m512 x, int count) {
    _mm512_mask_storeu_ps(p, mask16(count), x);
  }
  TYPEFLOW_INLINE static void masked_store(double* p, __m512d x, int count) {
    _mm512_mask_storeu_pd(p, mask8(count), x);
  }
  TYPEFLOW_INLINE static auto masked_load(const std::int32_t* p, int count) {
    return _mm512_maskz_loadu_epi32(mask16(count), p);
  }
  TYPEFLOW_INLINE static auto masked_load(const std::int64_t* p, int count) {
    return _mm512_maskz_loadu_epi64(mask8(count), p);
  }
  template <class T>
  TYPEFLOW_INLINE static void masked_store(std::int32_t* p, const Vector<T, 16>& x, int count) {
    _mm512_mask_storeu_epi32(p, mask16(count), (__m512i)x.v);
  }
  template <class T>
  TYPEFLOW_INLINE static void masked_store(std::int64_t* p, const Vector<T, 8>& x, int count) {
    _mm512_mask_storeu_epi64(p, mask8(count), (__m512i)x.v);
  }
#elif defined(__AVX__)
  template <class T>
  static constexpr bool is_masked = std::is_base_of_v<xsimd::avx, A> && std::is_floating_point_v<T>;

  /// -1 in the first `count` elements.
  template <class I>
  TYPEFLOW_INLINE static __m256i mask256(int count) {
    constexpr int n = static_cast<int>(sizeof(__m256i) / sizeof(I));
    alignas(64) static constexpr auto window = [] {
      Array<I, 2 * n> a{};
      for (int i = 0; i < n; ++i) a.v[i] = -1;
      return a;
    }();
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(window.v + n - count));
  }
  TYPEFLOW_INLINE static auto masked_load(const float* p, int count) {
    return _mm256_maskload_ps(p, mask256<std::int32_t>(count));
  }
  TYPEFLOW_INLINE static auto masked_load(const double* p, int count) {
    return _mm256_maskload_pd(p, mask256<long long>(count));
  }
  TYPEFLOW_INLINE static void masked_store(float* p, __m256 x, int count) {
    _mm256_maskstore_ps(p, mask256<std::int32_t>(count), x);
  }
  TYPEFLOW_INLINE static void masked_store(double* p, __m256d x, int count) {
    _mm256_maskstore_pd(p, mask256<long long>(count), x);
  }
#else
  template <class T>
  static constexpr bool is_masked = false;
#endif
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
