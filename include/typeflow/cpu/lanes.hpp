// SPDX-License-Identifier: Apache-2.0
#pragma once

// SIMD values: N elements of any element type, N fixed by the widest type of a kernel.
//
// float and double are xsimd batches, bool is a batch_bool. Integers and complex numbers are small
// arrays with loops over them; their operations are exact, or sequences of exactly rounded ones, so
// the way of computing changes no bit. 16-bit numbers are batches of floats that hold only their
// values: operations compute in float and round. In a kernel of 8-byte lanes a float fills the
// lower half of a batch of floats. The same functions compute it there, so it has the same bits as
// in a kernel of 4-byte lanes.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "typeflow/core/config.hpp"
#include "typeflow/core/dtype.hpp"
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

/// The type of elements in xsimd batches: T, or float for 16-bit types.
template <class T>
inline constexpr bool is_batch = detail::is_real_floating<T>;
template <class T>
using Computed = detail::Computed<T>;

// Conversion of arrays between 16 bits and float.

template <class T, int N>
TYPEFLOW_INLINE Array<float, N> widen(const Array<T, N>& x) {
  Array<float, N> r;
#if defined(__F16C__)
  if constexpr (std::is_same_v<T, float16> && N % 8 == 0) {
    for (int i = 0; i < N; i += 8) {
      const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x.v + i));
      _mm256_storeu_ps(r.v + i, _mm256_cvtph_ps(half));
    }
    return r;
  }
#endif
  for (int i = 0; i < N; ++i) r.v[i] = static_cast<float>(x.v[i]);
  return r;
}
template <class T, int N>
TYPEFLOW_INLINE Array<T, N> narrow(const Array<float, N>& x) {
  Array<T, N> r;
#if defined(__F16C__)
  if constexpr (std::is_same_v<T, float16> && N % 8 == 0) {
    for (int i = 0; i < N; i += 8) {
      const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(x.v + i), _MM_FROUND_TO_NEAREST_INT);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(r.v + i), half);
    }
    return r;
  }
#endif
  for (int i = 0; i < N; ++i) r.v[i] = static_cast<T>(x.v[i]);
  return r;
}

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
    } else {
      of<T> r;
      for (int i = 0; i < size; ++i) r.v[i] = x;
      return r;
    }
  }

  template <class T>
  TYPEFLOW_INLINE static of<T> load(const T* p) {
    if constexpr (fills<T>) {
      return of<T>::load_unaligned(p);
    } else {
      return load(p, size);
    }
  }
  template <class T>
  TYPEFLOW_INLINE static void store(T* p, const of<T>& x) {
    if constexpr (fills<T>) {
      x.store_unaligned(p);
    } else {
      store(p, x, size);
    }
  }

  /// The first `count` elements; the others are zero.
  template <class T>
  TYPEFLOW_INLINE static of<T> load(const T* p, int count) {
    if constexpr (is_masked<T>) {
      return masked_load(p, count);
    } else {
      Array<T, size> r{};
      std::memcpy(r.v, p, static_cast<std::size_t>(count) * sizeof(T));
      return from<T>(r);
    }
  }
  template <class T>
  TYPEFLOW_INLINE static void store(T* p, const of<T>& x, int count) {
    if constexpr (is_masked<T>) {
      masked_store(p, x, count);
    } else {
      const Array<T, size> r = elements<T>(x);
      std::memcpy(p, r.v, static_cast<std::size_t>(count) * sizeof(T));
    }
  }

  /// first, first + 1, ...
  TYPEFLOW_INLINE static of<std::int32_t> positions(std::int64_t first) {
    of<std::int32_t> r;
    for (int i = 0; i < size; ++i) r.v[i] = static_cast<std::int32_t>(first + i);
    return r;
  }

  /// Copies the elements to an array of `size`, and back.
  template <class T>
  TYPEFLOW_INLINE static Array<T, size> elements(const of<T>& x) {
    if constexpr (is_batch<T>) {
      Array<Computed<T>, static_cast<int>(of<T>::size)> all;
      x.store_unaligned(all.v);
      Array<Computed<T>, size> r;
      std::memcpy(r.v, all.v, sizeof r.v);
      if constexpr (detail::is_half<T>) {
        return narrow<T>(r);
      } else {
        return r;
      }
    } else if constexpr (std::is_same_v<T, bool>) {
      Array<bool, size> r;
      x.store_unaligned(r.v);
      return r;
    } else {
      return x;
    }
  }
  template <class T>
  TYPEFLOW_INLINE static of<T> from(const Array<T, size>& x) {
    if constexpr (detail::is_half<T>) {
      return from<float>(widen(x));
    } else if constexpr (is_batch<T>) {
      Array<T, static_cast<int>(of<T>::size)> all{};
      std::memcpy(all.v, x.v, sizeof x.v);
      return of<T>::load_unaligned(all.v);
    } else if constexpr (std::is_same_v<T, bool>) {
      return Mask::load_unaligned(x.v);
    } else {
      return x;
    }
  }

  /// A batch's values, rounded to values of T.
  template <class T>
  TYPEFLOW_INLINE static of<T> rounded(const of<T>& x) {
    if constexpr (detail::is_half<T>) {
      return from<T>(elements<T>(x));
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

 private:
  // Parts of vectors, by the instruction set's masks where it has them.
#if defined(__AVX512F__)
  template <class T>
  static constexpr bool is_masked =
      std::is_base_of_v<xsimd::avx512f, A> && std::is_floating_point_v<T>;

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
