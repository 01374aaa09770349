// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folds of SIMD values. A fold's lanes are folded by themselves, then with one another, always in
// the same order: lane i with lane i + N / 2, then with lane i + N / 4, and so on. 16-bit elements
// are folded in float; the result is rounded once.

#include <cstdint>
#include <cstring>
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
template <class T, int N, int... Place>
TYPEFLOW_INLINE Vector<T, N> shuffled(const Vector<T, N>& x, std::integer_sequence<int, Place...>) {
#if defined(__has_builtin) && !defined(__CUDACC__)
#if __has_builtin(__builtin_shufflevector)
  return Vector<T, N>::of(__builtin_shufflevector(x.v, x.v, Place...));
#endif
#endif
  return Vector<T, N>::of(typename Vector<T, N>::V{x.v[Place]...});
}
/// Lane i of the result is lane i + Step of x; the others are of no interest.
template <int Step, class T, int N>
TYPEFLOW_INLINE Vector<T, N> lanes_from(const Vector<T, N>& x) {
  constexpr int part = 16 / static_cast<int>(sizeof(T));
  constexpr int within = Step < part && N > part ? part : N;  // 16 bytes, which are shuffled faster
  return [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
    return shuffled(x,
                    std::integer_sequence<int, (I / within * within + (I + Step) % within)...>{});
  }(std::make_integer_sequence<int, N>{});
}
template <int Step, class B>
TYPEFLOW_INLINE B lanes_from(const B& x) {
  constexpr int n = static_cast<int>(B::size);
  return [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
    return shuffled(x, std::integer_sequence<int, (I + Step) % n...>{});
  }(std::make_integer_sequence<int, n>{});
}
// What compilers do not know, so that they do not unroll the loop: a number of turns, and that an
// array ends.
TYPEFLOW_INLINE int uncounted(int turns) {
  __asm__("" : "+r"(turns));
  return turns;
}
template <class T>
TYPEFLOW_INLINE T* unbounded(T* array) {
  __asm__("" : "+r"(array) : : "memory");
  return array;
}
template <class B>
inline constexpr int lanes_of = static_cast<int>(B::size);
template <class T, int N>
inline constexpr int lanes_of<Vector<T, N>> = N;
/// How the lanes of a and b are joined: groups of 2 * Half lanes give their lower (or upper)
/// halves. Within a block, those of a come before those of b. Blocks are 16 bytes or all of the N
/// lanes, so that one instruction without a table does it.
/// A lane of b is numbered `lanes` more.
constexpr int joined_lane(int lane, int lanes, int half, bool upper, int n, int size) {
  const int block = 2 * half * size <= 16 && 16 / size < n ? 16 / size : n;
  const int i = lane % n;
  const int of_a = block / half / 2;  // halves
  const int place = i % block / half;
  return (place < of_a ? 0 : lanes) + i / block * block +
         (place % of_a * 2 + (upper ? 1 : 0)) * half + i % half;
}
/// Lanes behind the N first ones have any values. Narrow lanes are moved as parts of wider ones.
template <int Half, bool Upper, int N, class B>
TYPEFLOW_INLINE B halves(const B& a, const B& b) {
  constexpr int size = static_cast<int>(sizeof(B)) / lanes_of<B>;
  constexpr int unit = Half * size % 8 == 0 ? 8 : Half * size % 4 == 0 ? 4 : size;
  constexpr int units = static_cast<int>(sizeof(B)) / unit;
  using Unit = std::conditional_t<unit == 4, float, IntegerOf<static_cast<std::size_t>(unit)>>;
  using U = Vector<Unit, units>;
  U x, y;
  std::memcpy(&x.v, &a, sizeof x.v);
  std::memcpy(&y.v, &b, sizeof y.v);
  const U z = [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
    return shuffled_pair(x, y,
                         std::integer_sequence<int, joined_lane(I, units, Half * size / unit, Upper,
                                                                N * size / unit, unit)...>{});
  }(std::make_integer_sequence<int, units>{});
  B r;
  std::memcpy(&r, &z.v, sizeof z.v);
  return r;
}
/// The lane that holds the fold of row k after `Rows` rows were joined: register k with register
/// k + Rows / 2, and so on.
template <int Rows, int N, int Size>
inline constexpr auto lanes_of_rows = [] {
  struct {
    int v[Rows];
  } lane{};
  int row[Rows][N] = {};
  for (int k = 0; k < Rows; ++k) {
    for (int i = 0; i < N; ++i) row[k][i] = k;
  }
  for (int half = N / 2, left = Rows / 2; half > 0 && left > 0; half /= 2, left /= 2) {
    for (int k = 0; k < left; ++k) {
      int joined[N] = {};
      for (int i = 0; i < N; ++i) {
        const int from = joined_lane(i, N, half, false, N, Size);
        joined[i] = from < N ? row[k][from] : row[k + left][from - N];
      }
      for (int i = 0; i < N; ++i) row[k][i] = joined[i];
    }
  }
  for (int i = N - 1; i >= 0; --i) lane.v[row[0][i]] = i;
  return lane;
}();
/// Lane k of the result is that of row k; others are of no interest.
template <int Rows, int N, class B>
TYPEFLOW_INLINE B in_order_of_rows(const B& x) {
  constexpr int n = lanes_of<B>;
  constexpr int size = static_cast<int>(sizeof(B)) / n;
  return [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
    return shuffled(x, std::integer_sequence<int, lanes_of_rows<Rows, N, size>.v[I % Rows]...>{});
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
    } else if constexpr (is_vector<T>) {
      fold_lanes<L::size / 2>();
      value = V(static_cast<T>(value.v[0]));
    } else if constexpr (std::is_same_v<T, bool>) {
      auto flags = L::template comparison<std::int8_t>(value);
      fold_flags<L::size / 2>(flags);
      value = L::mask_of(Vector<std::int8_t, L::size>(static_cast<std::int8_t>(flags.v[0])));
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

  /// finish() for `Rows` states, a power of two: lane k of state(0) gets the fold over the lanes of
  /// state(k), in the same order. Other lanes are of no interest.
  template <int Rows, class F>
  TYPEFLOW_INLINE static void finish_together(const F& state) {
    if constexpr (is_batch<T> || is_vector<T>) {
      V all[Rows];
      [&]<int... K>(std::integer_sequence<int, K...>) TYPEFLOW_INLINE_LAMBDA {
        ((all[K] = state(K).value), ...);
      }(std::make_integer_sequence<int, Rows>{});
      join<Rows, L::size / 2>(all, state(0));
      state(0).value = in_order_of_rows<Rows, L::size>(state(0).value);
      if constexpr (is_batch<T>) state(0).value = L::template rounded<T>(state(0).value);
    } else {
      Array<T, L::size> all{};
      for (int k = 0; k < uncounted(Rows); ++k) {
        state(k).finish();
        L::template store_first<T>(all.v + k, state(k).value);
      }
      state(0).value = L::template from<T>(all);
    }
  }

 private:
  /// The lanes of each of `Rows` values consist of groups of 2 * Half. Folds the groups' halves,
  /// and joins the values in one.
  template <int Rows, int Half>
  TYPEFLOW_INLINE static void join(V* all, FoldState& result) {
    if constexpr (Half > 0 && Rows > 1) {
      [&]<int... K>(std::integer_sequence<int, K...>) TYPEFLOW_INLINE_LAMBDA {
        ((all[K] = joined<Half>(all[K], all[K + Rows / 2])), ...);
      }(std::make_integer_sequence<int, Rows / 2>{});
      join<Rows / 2, Half / 2>(all, result);
    } else {
      result.value = all[0];
      result.template fold_lanes<Half>();
    }
  }
  template <int Half>
  TYPEFLOW_INLINE static V joined(const V& a, const V& b) {
    FoldState s;
    s.value = halves<Half, false, L::size>(a, b);
    s.step(halves<Half, true, L::size>(a, b), 0);
    return s.value;
  }
  template <int Step, class Flags>
  TYPEFLOW_INLINE static void fold_flags(Flags& flags) {
    if constexpr (Step > 0) {
      flags = O{}(flags, lanes_from<Step>(flags));
      fold_flags<Step / 2>(flags);
    }
  }
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

/// argmax and argmin: for each lane the best number so far, and its position. A floating-point lane
/// that had no number is NaN.
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
  Positions place;  ///< beginning of the vector; after finish(), or for columns, of the element

  TYPEFLOW_INLINE void reset() {
    using E = std::conditional_t<is_batch<T>, C, T>;
    best = compared<L, A, T>(L::template broadcast<E>(worst<E>()));
    place = Positions(nowhere);
  }
  TYPEFLOW_INLINE void step(const V& x, std::int64_t at) {
    const Values v = compared<L, A, T>(x);
    take(improves(v), v, Positions(static_cast<I>(at)));
  }
  TYPEFLOW_INLINE void step(const V& x, std::int64_t at, int count) {
    using E = std::conditional_t<is_batch<T>, C, T>;
    step(first_elements<L, E>(x, count, worst<E>()), at);
  }
  /// The first of equal elements: the positions in one lane are in order.
  TYPEFLOW_INLINE void merge(const FoldState& other) {
    const auto sooner = (other.best == best) & bool_of_values(other.place < place);
    take(improves(other.best) | sooner, other.best, other.place);
  }
  /// The fold over the lanes, in all of them.
  TYPEFLOW_INLINE void finish() {
    number_lanes();
    fold_lanes<L::size / 2>();
    place = first_lane(place);
  }
  /// See FoldState of other folds.
  template <int Rows, class F>
  TYPEFLOW_INLINE static void finish_together(const F& state) {
    for (int k = 0; k < uncounted(Rows); ++k) state(k).number_lanes();
    join<Rows, L::size / 2>(state);
    state(0).place = in_order_of_rows<Rows, L::size>(state(0).place);
  }
  TYPEFLOW_INLINE Vector<std::int32_t, L::size> result() const {
    const Positions found = xsimd::max(place, Positions(I(0)));
    Vector<I, L::size> r;  // of floats in 8-byte lanes the lower half
    std::memcpy(&r.v, &found.data, sizeof r.v);
    return resized<std::int32_t>(r);
  }

 private:
  /// From the places of vectors to those of their elements.
  TYPEFLOW_INLINE void number_lanes() {
    alignas(64) static constexpr auto numbers = [] {
      Array<I, static_cast<int>(Positions::size)> a{};
      for (int i = 0; i < static_cast<int>(Positions::size); ++i) a.v[i] = i;
      return a;
    }();
    place =
        select(place == Positions(nowhere), place, place + Positions::load_unaligned(numbers.v));
  }
  template <int Rows, int Half, class F>
  TYPEFLOW_INLINE static void join(const F& state) {
    if constexpr (Half > 0 && Rows > 1) {
      for (int k = 0; k < uncounted(Rows / 2); ++k) {
        FoldState& a = state(k);
        const FoldState& b = state(k + Rows / 2);
        FoldState upper;
        upper.best = halves<Half, true, L::size>(a.best, b.best);
        upper.place = halves<Half, true, L::size>(a.place, b.place);
        a.best = halves<Half, false, L::size>(a.best, b.best);
        a.place = halves<Half, false, L::size>(a.place, b.place);
        a.merge(upper);
      }
      join<Rows / 2, Half / 2>(state);
    } else {
      state(0).template fold_lanes<Half>();
    }
  }
  template <int Step>
  TYPEFLOW_INLINE void fold_lanes() {
    if constexpr (Step > 0) {
      FoldState other;
      other.best = lanes_from<Step>(best);
      other.place = lanes_from<Step>(place);
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
  using Where = xsimd::batch_bool<C, A>;
  /// Where numbers are better than the best, or the first ones.
  TYPEFLOW_INLINE Where improves(const Values& x) const {
    if constexpr (!is_batch<T>) {
      return typename O::better{}(x, best);
    } else {
      const Where is_number = x == x;
#if defined(__AVX512F__)
      // One comparison with a mask. Otherwise compilers compare x with the best first, and one
      // comparison waits for the other.
      if constexpr (sizeof is_number.data <= 2) {
        constexpr int better =
            std::is_same_v<typename O::extreme, ops::Max> ? _CMP_NLE_UQ : _CMP_NGE_UQ;
        if constexpr (sizeof(C) == 4) {
          return Where(_mm512_mask_cmp_ps_mask(is_number.data, x.data, best.data, better));
        } else {
          return Where(_mm512_mask_cmp_pd_mask(is_number.data, x.data, best.data, better));
        }
      }
#endif
      if constexpr (std::is_same_v<typename O::extreme, ops::Max>) {
        return is_number & !(x <= best);
      } else {
        return is_number & !(x >= best);
      }
    }
  }
  TYPEFLOW_INLINE static Where bool_of_values(const xsimd::batch_bool<I, A>& x) {
    if constexpr (is_batch<T>) {
      return xsimd::bool_cast(x);
    } else {
      return x;
    }
  }
  TYPEFLOW_INLINE void take(const Where& where, const Values& x, const Positions& at) {
    best = select(where, x, best);
    if constexpr (is_batch<T>) {
      place = select(xsimd::bool_cast(where), at, place);
    } else {
      place = select(where, at, place);
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
