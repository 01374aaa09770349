// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folds of SIMD values. A fold's lanes are folded by themselves, then with one another, always in
// the same order: lane i with lane i + N / 2, then with lane i + N / 4, and so on. 16-bit elements
// are folded in float; the result is rounded once.

#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "typeflow/cpu/apply.hpp"
#include "typeflow/cpu/lanes.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// Lane i of the result is lane place[i] of x.
template <class B, int... Place>
TYPEFLOW_INLINE B shuffled(const B& x, std::integer_sequence<int, Place...>) {
  using T = typename B::value_type;
#if defined(__has_builtin) && !defined(__CUDACC__)
#if __has_builtin(__builtin_shufflevector)
  using Register = typename B::register_type;
  typedef T Vector __attribute__((vector_size(sizeof(Register))));
  const Vector v = (Vector) static_cast<Register>(x);
  return B((Register)__builtin_shufflevector(v, v, Place...));
#endif
#endif
  T all[B::size];
  x.store_unaligned(all);
  const T out[] = {all[Place]...};
  return B::load_unaligned(out);
}
/// Lane i of the result is lane i + Step of x; the others are of no interest.
template <int Step, class B>
TYPEFLOW_INLINE B lanes_from(const B& x) {
  constexpr int n = static_cast<int>(B::size);
  return [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
    return shuffled(x, std::integer_sequence<int, (I + Step) % n...>{});
  }(std::make_integer_sequence<int, n>{});
}
/// The first lane of x in all lanes.
template <class B>
TYPEFLOW_INLINE B first_lane(const B& x) {
  return [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
    return shuffled(x, std::integer_sequence<int, I * 0 ...>{});
  }(std::make_integer_sequence<int, static_cast<int>(B::size)>{});
}

template <class L, class O, class T>
struct FoldState {
  using V = typename L::template of<T>;
  using Result = T;
  using C = Computed<T>;
  V value;

  TYPEFLOW_INLINE void reset() { value = L::template broadcast<C>(O::template identity<C>()); }
  TYPEFLOW_INLINE void step(const V& x, std::int64_t) {
    value = apply_lanes<L, C, C, C>(O{}, ElementContext{}, value, x);
  }
  /// For the first `count` lanes.
  TYPEFLOW_INLINE void step(const V& x, std::int64_t at, int count) {
    step(first_elements<L, C>(x, count, O::template identity<C>()), at);
  }
  TYPEFLOW_INLINE void merge(const FoldState& other) { step(other.value, 0); }
  /// The fold over the lanes, in all of them.
  TYPEFLOW_INLINE void finish() {
    if constexpr (is_batch<T>) {
      fold_lanes<L::size / 2>();
      value = L::template rounded<T>(first_lane(value));
    } else {
      auto lanes = L::template elements<C>(value);
      for (int step = L::size / 2; step > 0; step /= 2) {
        for (int i = 0; i < step; ++i) {
          lanes.v[i] = static_cast<C>(O{}(lanes.v[i], lanes.v[i + step]));
        }
      }
      value = L::template broadcast<T>(static_cast<T>(lanes.v[0]));
    }
  }
  TYPEFLOW_INLINE V result() const { return L::template rounded<T>(value); }

 private:
  template <int Step>
  TYPEFLOW_INLINE void fold_lanes() {
    if constexpr (Step > 0) {
      step(lanes_from<Step>(value), 0);
      fold_lanes<Step / 2>();
    }
  }
};

/// The type in which elements of T are compared: floating-point numbers as they are, integers as
/// signed integers of the lanes' width, which have the same order.
template <class L, class A, class T>
using Comparable = std::conditional_t<
    is_batch<T>, xsimd::batch<std::conditional_t<is_batch<T>, Computed<T>, float>, A>,
    xsimd::batch<std::conditional_t<sizeof(typename L::Carrier) == 8, std::int64_t, std::int32_t>,
                 A>>;
template <class L, class A, class T>
TYPEFLOW_INLINE Comparable<L, A, T> compared(const typename L::template of<T>& x) {
  if constexpr (is_batch<T>) {
    return x;
  } else {
    using C = typename Comparable<L, A, T>::value_type;
    constexpr T flipped = std::is_unsigned_v<T> && sizeof(T) == sizeof(C)
                              ? static_cast<T>(T(1) << (8 * sizeof(T) - 1))
                              : T(0);
    const auto y = resized<C>(x ^ Vector<T, L::size>(flipped));
    Comparable<L, A, T> r;
    std::memcpy(&r.data, &y.v, sizeof y.v);
    return r;
  }
}

template <class O>
concept ArgFold = requires { typename O::better; };

/// argmax and argmin: for each lane the best number so far, and its position. The best number does
/// not wait for comparisons, so a step takes as long as a maximum.
template <bool Wide, class A, ArgFold O, class T>
struct FoldState<Lanes<Wide, A>, O, T> {
  using L = Lanes<Wide, A>;
  using V = typename L::template of<T>;
  using Values = Comparable<L, A, T>;
  using C = typename Values::value_type;
  using I = std::conditional_t<sizeof(C) == 8, std::int64_t, std::int32_t>;
  using Positions = xsimd::batch<I, A>;
  /// If nothing was taken: all elements were `worst`, or there were none.
  static constexpr I nowhere = -1;
  Values best;
  xsimd::batch_bool<C, A> seen;  ///< floating-point: lanes that had a number
  Positions place;  ///< beginning of the vector; after finish(), or for columns, of the element

  TYPEFLOW_INLINE void reset() {
    using Number = Computed<T>;
    best =
        compared<L, A, T>(L::template broadcast<Number>(O::extreme::template identity<Number>()));
    seen = xsimd::batch_bool<C, A>(false);
    place = Positions(nowhere);
  }
  TYPEFLOW_INLINE void step(const V& x, std::int64_t at) {
    const Values v = compared<L, A, T>(x);
    auto where = typename O::better{}(v, best);
    if constexpr (is_batch<T>) {
      const auto number = v == v;
      where = where | (number & !seen);
      seen = seen | number;
    }
    take(where, v, Positions(static_cast<I>(at)));
  }
  TYPEFLOW_INLINE void step(const V& x, std::int64_t at, int count) {
    using E = std::conditional_t<is_batch<T>, C, T>;
    step(first_elements<L, E>(x, count, worst<E>()), at);
  }
  /// The first of equal elements: the positions in one lane are in order.
  TYPEFLOW_INLINE void merge(const FoldState& other) {
    auto where = typename O::better{}(other.best, best);
    auto equal = other.best == best;
    if constexpr (is_batch<T>) {
      where = where | (other.seen & !seen);
      equal = equal & other.seen;
      seen = seen | other.seen;
    }
    const auto sooner = condition(equal) & (other.place < place);
    best = select(where, other.best, best);
    place = select(condition(where) | sooner, other.place, place);
  }
  /// The fold over the lanes, in all of them.
  TYPEFLOW_INLINE void finish() {
    alignas(64) static constexpr auto numbers = [] {
      Array<I, static_cast<int>(Positions::size)> a{};
      for (int i = 0; i < static_cast<int>(Positions::size); ++i) a.v[i] = i;
      return a;
    }();
    place =
        select(place == Positions(nowhere), place, place + Positions::load_unaligned(numbers.v));
    fold_lanes<L::size / 2>();
    place = first_lane(place);
  }
  TYPEFLOW_INLINE Vector<std::int32_t, L::size> result() const {
    Array<I, static_cast<int>(Positions::size)> position;
    place.store_unaligned(position.v);
    Vector<std::int32_t, L::size> r;
    for (int i = 0; i < L::size; ++i) {
      r.v[i] = position.v[i] == nowhere ? 0 : static_cast<std::int32_t>(position.v[i]);
    }
    return r;
  }

 private:
  template <int Step>
  TYPEFLOW_INLINE void fold_lanes() {
    if constexpr (Step > 0) {
      FoldState other;
      other.best = lanes_from<Step>(best);
      other.place = lanes_from<Step>(place);
      if constexpr (is_batch<T>)
        other.seen = xsimd::bool_cast(!(other.place == Positions(nowhere)));
      merge(other);
      fold_lanes<Step / 2>();
    }
  }
  /// A value that is never taken.
  template <class E>
  static constexpr E worst() {
    if constexpr (is_batch<T>) {
      return std::numeric_limits<E>::quiet_NaN();
    } else {
      return O::extreme::template identity<E>();
    }
  }
  /// A mask for a selection between positions, from one of values.
  TYPEFLOW_INLINE static auto condition(const xsimd::batch_bool<C, A>& x) {
    if constexpr (is_batch<T>) {
      return xsimd::bool_cast(x);
    } else {
      return x;
    }
  }
  /// Takes x at these lanes. x is no better than `best` in others, or NaN.
  TYPEFLOW_INLINE void take(const xsimd::batch_bool<C, A>& where, const Values& x,
                            const Positions& at) {
    if constexpr (!is_x86<A>) {
      best = select(where, x, best);
    } else if constexpr (std::is_same_v<typename O::extreme, ops::Max>) {
      best = xsimd::max(x, best);
    } else {
      best = xsimd::min(x, best);
    }
    place = select(condition(where), at, place);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
