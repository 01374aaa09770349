// SPDX-License-Identifier: Apache-2.0
#pragma once

// Registers full of integers of 1 or 2 bytes, for kernels that have no other numbers. Kernels with
// others have as many lanes as a register has floats or doubles (lanes.hpp), and would use a
// quarter of a register for bytes. Booleans are bytes, too: -1 or 0 in registers. 16-bit
// floating-point numbers are their bits, in kernels that only look for the largest or smallest.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "typeflow/cpu/apply.hpp"
#include "typeflow/cpu/lanes.hpp"
#include "typeflow/lower/kernel_types.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// Lanes of integers of `Bytes` bytes.
template <int Bytes, class A>
struct NarrowLanes {
  static constexpr int size = static_cast<int>(xsimd::batch<float, A>::size) * 4 / Bytes;
  using Carrier = IntegerOf<static_cast<std::size_t>(Bytes)>;
  using Mask = Vector<Carrier, size>;
  /// The integers that elements of T are in memory.
  template <class T>
  using Stored = std::conditional_t<std::is_same_v<T, bool> || detail::is_half<T>, Carrier, T>;
  template <class T>
  using of = Vector<Stored<T>, size>;
  template <class T>
  static constexpr bool fills = true;

  template <class T>
  TYPEFLOW_INLINE static of<T> broadcast(T x) {
    if constexpr (std::is_same_v<T, bool>) {
      return Mask(static_cast<Carrier>(x ? -1 : 0));
    } else if constexpr (detail::is_half<T>) {
      return of<T>(static_cast<Carrier>(x.bits));
    } else {
      return of<T>(x);
    }
  }
  template <class T>
  TYPEFLOW_INLINE static of<T> load(const T* p) {
    of<T> r;
    std::memcpy(&r.v, p, sizeof r.v);
    if constexpr (std::is_same_v<T, bool>) r = Mask(Carrier(0)) - r;
    return r;
  }
  template <class T>
  TYPEFLOW_INLINE static void store(T* p, const of<T>& x) {
    const of<T> y = stored<T>(x);
    std::memcpy(p, &y.v, sizeof y.v);
  }
  /// The same past the caches; `p` must be aligned to the bytes that are stored.
  template <class T>
  TYPEFLOW_INLINE static void stream(T* p, const of<T>& x) {
    stream_bits(p, stored<T>(x).v);
  }
  /// The first `count` elements; the others are zero.
  template <class T>
  TYPEFLOW_INLINE static of<T> load(const T* p, int count) {
    const of<T> x = load_part<Stored<T>, size>(reinterpret_cast<const Stored<T>*>(p), count);
    if constexpr (std::is_same_v<T, bool>) {
      return Mask(Carrier(0)) - x;
    } else {
      return x;
    }
  }
  template <class T>
  TYPEFLOW_INLINE static void store(T* p, const of<T>& x, int count) {
    store_part<Stored<T>, size>(reinterpret_cast<Stored<T>*>(p), stored<T>(x), count);
  }
  /// Stores the first lane.
  template <class T>
  TYPEFLOW_INLINE static void store_first(T* p, const of<T>& x) {
    store(p, x, 1);
  }
  template <class T>
  TYPEFLOW_INLINE static Array<T, size> elements(const of<T>& x) {
    Array<T, size> all;
    store<T>(all.v, x);
    return all;
  }
  template <class T>
  TYPEFLOW_INLINE static of<T> from(const Array<T, size>& x) {
    return load<T>(x.v);
  }
  template <class T>
  TYPEFLOW_INLINE static of<T> vector(const of<T>& x) {
    return x;
  }
  template <class T>
  TYPEFLOW_INLINE static of<T> from_vector(const of<T>& x) {
    return x;
  }
  template <class T>
  TYPEFLOW_INLINE static of<T> rounded(const of<T>& x) {
    return x;
  }
  /// A comparison's result as a boolean, and the other way.
  TYPEFLOW_INLINE static Mask mask_of(const Mask& x) { return x; }
  template <class T>
  TYPEFLOW_INLINE static of<T> comparison(const Mask& x) {
    return x;
  }

 private:
  /// The elements as they are in memory.
  template <class T>
  TYPEFLOW_INLINE static of<T> stored(const of<T>& x) {
    if constexpr (std::is_same_v<T, bool>) {
      return x & Mask(Carrier(1));
    } else {
      return x;
    }
  }
};

/// The bytes of all these types if they are narrow integers, or booleans, of one size; otherwise 0.
/// With `halves`, 16-bit floating-point numbers are narrow integers, too.
constexpr int narrow_size(const DType* types, int count, bool halves) {
  for (int i = 0; i < count; ++i) {
    const DType type = types[i];
    const bool is_half = type == DType::float16 || type == DType::bfloat16;
    const bool is_narrow = type == DType::int8 || type == DType::uint8 || type == DType::int16 ||
                           type == DType::uint16 || type == DType::boolean || (is_half && halves);
    if (!is_narrow || size_of(type) != size_of(types[0])) return 0;
  }
  return count == 0 ? 0 : static_cast<int>(size_of(types[0]));
}

/// The lanes of a kernel's registers.
template <bool Wide, class A, int NarrowSize>
struct LanesOfSize {
  using type = NarrowLanes<NarrowSize, A>;
};
template <bool Wide, class A>
struct LanesOfSize<Wide, A, 0> {
  using type = Lanes<Wide, A>;
};
template <bool Wide, class A, class B>
struct LanesOfBody;
template <bool Wide, class A, class... In, class... It, class... St>
struct LanesOfBody<Wide, A, ir::Body<ir::List<In...>, ir::List<It...>, ir::List<St...>>> {
  // Random numbers are made for the lanes of floats. (clang needs the array's bound.)
  static constexpr DType types[sizeof...(In) + sizeof...(It) + 1] = {
      In::dtype..., (It::count == 0 ? DType::float32 : It::dtype)..., DType::boolean};
  using type =
      typename LanesOfSize<Wide, A,
                           Wide ? 0
                                : narrow_size(types, sizeof...(In) + sizeof...(It),
                                              sizeof...(It) > 0 &&
                                                  (is_extreme<typename It::op> && ...))>::type;
  /// Positions in short rows are as narrow as the elements (narrow_arguments.hpp).
  using of_short_rows =
      typename std::conditional_t<!Wide && sizeof...(It) != 0 && (ArgFold<typename It::op> && ...),
                                  LanesOfSize<Wide, A, narrow_size(types, sizeof...(In), true)>,
                                  std::type_identity<type>>::type;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
