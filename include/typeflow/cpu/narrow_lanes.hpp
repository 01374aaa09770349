// SPDX-License-Identifier: Apache-2.0
#pragma once

// Registers full of integers of 1 or 2 bytes, for kernels that have no other numbers. Kernels with
// others have as many lanes as a register has floats or doubles (lanes.hpp), and would use a
// quarter of a register for bytes. Booleans are bytes, too: -1 or 0 in registers.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "typeflow/cpu/lanes.hpp"
#include "typeflow/lower/kernel_types.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// Lanes of integers of `Bytes` bytes.
template <int Bytes, class A>
struct NarrowLanes {
  static constexpr int size = static_cast<int>(xsimd::batch<float, A>::size) * 4 / Bytes;
  using Carrier = IntegerOf<static_cast<std::size_t>(Bytes)>;
  using Mask = Vector<Carrier, size>;
  template <class T>
  using of = Vector<std::conditional_t<std::is_same_v<T, bool>, Carrier, T>, size>;
  template <class T>
  static constexpr bool fills = true;

  template <class T>
  TYPEFLOW_INLINE static of<T> broadcast(T x) {
    if constexpr (std::is_same_v<T, bool>) {
      return Mask(static_cast<Carrier>(x ? -1 : 0));
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
    of<T> y = x;
    if constexpr (std::is_same_v<T, bool>) y = y & Mask(Carrier(1));
    std::memcpy(p, &y.v, sizeof y.v);
  }
  /// The first `count` elements; the others are zero.
  template <class T>
  TYPEFLOW_INLINE static of<T> load(const T* p, int count) {
    if constexpr (std::is_same_v<T, bool>) {
      return Mask(Carrier(0)) -
             load_part<Carrier, size>(reinterpret_cast<const Carrier*>(p), count);
    } else {
      return load_part<T, size>(p, count);
    }
  }
  template <class T>
  TYPEFLOW_INLINE static void store(T* p, const of<T>& x, int count) {
    if constexpr (std::is_same_v<T, bool>) {
      store_part<Carrier, size>(reinterpret_cast<Carrier*>(p), x & Mask(Carrier(1)), count);
    } else {
      store_part<T, size>(p, x, count);
    }
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
};

/// The bytes of all these types if they are narrow integers, or booleans, of one size; otherwise 0.
constexpr int narrow_size(const DType* types, int count) {
  for (int i = 0; i < count; ++i) {
    const bool is_narrow = types[i] == DType::int8 || types[i] == DType::uint8 ||
                           types[i] == DType::int16 || types[i] == DType::uint16 ||
                           types[i] == DType::boolean;
    if (!is_narrow || size_of(types[i]) != size_of(types[0])) return 0;
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
                           Wide ? 0 : narrow_size(types, sizeof...(In) + sizeof...(It))>::type;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
