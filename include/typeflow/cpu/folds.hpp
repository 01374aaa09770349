// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folds of SIMD values. A fold's lanes are folded on their own, then with one another: always in
// the same order. Elements of 16 bits are folded in float; the result is rounded once.

#include <cstdint>

#include "typeflow/cpu/apply.hpp"
#include "typeflow/cpu/lanes.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::simd {

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
  /// Of the first `count` lanes.
  TYPEFLOW_INLINE void step(const V& x, std::int64_t at, int count) {
    step(first_elements<L, C>(x, count, O::template identity<C>()), at);
  }
  TYPEFLOW_INLINE void merge(const FoldState& other) { step(other.value, 0); }
  /// The fold over the lanes, in all lanes.
  TYPEFLOW_INLINE void finish() {
    const auto lanes = L::template elements<C>(value);
    C total = lanes.v[0];
    for (int i = 1; i < L::size; ++i) total = static_cast<C>(O{}(total, lanes.v[i]));
    value = L::template broadcast<T>(static_cast<T>(total));
  }
  TYPEFLOW_INLINE const V& result() const { return value; }
};

template <class O>
concept ArgFold = requires { typename O::better; };

/// argmax and argmin: per lane the best element and its position.
template <class L, ArgFold O, class T>
struct FoldState<L, O, T> {
  using V = typename L::template of<T>;
  using Result = std::int32_t;
  static constexpr std::int32_t unseen = -1;
  T best[L::size];
  std::int32_t index[L::size];

  TYPEFLOW_INLINE void reset() {
    for (int i = 0; i < L::size; ++i) {
      best[i] = T(0);
      index[i] = unseen;
    }
  }
  TYPEFLOW_INLINE void step(const V& x, std::int64_t at) { step(x, at, L::size); }
  TYPEFLOW_INLINE void step(const V& x, std::int64_t at, int count) {
    const auto lanes = L::template elements<T>(x);
    for (int i = 0; i < count; ++i) take(i, lanes.v[i], static_cast<std::int32_t>(at) + i);
  }
  /// As step, for a position that all lanes have.
  TYPEFLOW_INLINE void step_column(const V& x, std::int64_t at) {
    const auto lanes = L::template elements<T>(x);
    for (int i = 0; i < L::size; ++i) take(i, lanes.v[i], static_cast<std::int32_t>(at));
  }
  TYPEFLOW_INLINE void merge(const FoldState& other) {
    for (int i = 0; i < L::size; ++i) take(i, other.best[i], other.index[i]);
  }
  TYPEFLOW_INLINE void finish() {
    for (int i = 1; i < L::size; ++i) take(0, best[i], index[i]);
    for (int i = 1; i < L::size; ++i) index[i] = index[0];
  }
  TYPEFLOW_INLINE Array<std::int32_t, L::size> result() const {
    Array<std::int32_t, L::size> r;
    for (int i = 0; i < L::size; ++i) r.v[i] = index[i] < 0 ? 0 : index[i];
    return r;
  }

 private:
  /// The better one, a number rather than NaN, the first of equals.
  TYPEFLOW_INLINE void take(int i, T x, std::int32_t at) {
    if (at == unseen) return;
    const bool both_nan = x != x && best[i] != best[i];
    if (index[i] == unseen || typename O::better{}(x, best[i]) || (best[i] != best[i] && x == x) ||
        ((x == best[i] || both_nan) && at < index[i])) {
      best[i] = x;
      index[i] = at;
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_TARGET::simd
