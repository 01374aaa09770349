// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels of ops/reduce/cumsum.hpp and cumulative.hpp. Every line of elements along the axis is
// walked in order, so the bits of a result depend only on the elements. Lines run beside one
// another: in SIMD lanes if they lie side by side, or are transposed to tiles in which they do;
// otherwise two at a time, so that one addition need not wait for the other. Threads share the
// lines.

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "typeflow/cpu/rows.hpp"
#include "typeflow/cpu/transpose_blocks.hpp"
#include "typeflow/cpu/unrolled.hpp"
#include "typeflow/ops/reduce/cumsum.hpp"
#include "typeflow/ops/reduce/cumulative.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// op of two numbers (L is void), or of two vectors of the lanes L.
template <class L, class C, class O, class V>
TYPEFLOW_INLINE V combine(const O& op, const V& a, const V& b) {
  if constexpr (std::is_void_v<L>) {
    return static_cast<C>(op(a, b));
  } else {
    return apply_lanes<L, C, C, C>(op, ElementContext{}, a, b);
  }
}

// The next state of a cumulative operation, from numbers or vectors, computed in C.
struct NextSum {
  template <class L, class C, class V>
  TYPEFLOW_INLINE static V next(const V& state, const V* x) {
    return combine<L, C>(ops::Add{}, state, x[0]);
  }
};
struct NextProduct {
  template <class L, class C, class V>
  TYPEFLOW_INLINE static V next(const V& state, const V* x) {
    return combine<L, C>(ops::Mul{}, state, x[0]);
  }
};
template <class Extreme>
struct NextExtreme {
  template <class L, class C, class V>
  TYPEFLOW_INLINE static V next(const V& state, const V* x) {
    return combine<L, C>(Extreme{}, state, x[0]);
  }
};
struct NextElement {
  template <class L, class C, class V>
  TYPEFLOW_INLINE static V next(const V&, const V* x) {
    return x[0];
  }
};
struct NextLinear {
  template <class L, class C, class V>
  TYPEFLOW_INLINE static V next(const V& state, const V* x) {
    return combine<L, C>(ops::Add{}, combine<L, C>(ops::Mul{}, x[0], state), x[1]);
  }
};

/// The loops of a cumulative operation on elements of T with some inputs.
template <class A, class T, int Inputs, class Next>
class Cumulative {
 public:
  Cumulative(const Tensor* in, const Tensor& out, std::uint32_t axis, bool reverse, bool exclusive,
             Computed<T> start)
      : out_(static_cast<T*>(out.data)),
        length_(out.extents[axis]),
        exclusive_(exclusive),
        start_(start) {
    for (int i = 0; i < Inputs; ++i) in_[i] = static_cast<const T*>(in[i].data);
    for (std::size_t i = axis + 1; i < out.extents.size(); ++i) inner_ *= out.extents[i];
    lines_ = length_ == 0 ? 0 : out.size() / length_;
    step_ = reverse ? -inner_ : inner_;
    first_ = reverse ? (length_ - 1) * inner_ : 0;
  }

  void run(const KernelCall& call) const {
    if (inner_ >= N) {
      const std::int64_t blocks = (inner_ + block - 1) / block;
      // An operation and the bytes of an element.
      constexpr std::int64_t cost = 1 + (Inputs + 1) * static_cast<std::int64_t>(sizeof(T)) / 2;
      const std::int64_t size = length_ * std::min(inner_, block);
      parallel(call, lines_ / inner_ * blocks, grain_of_cost(cost * size),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t task = begin; task < end; ++task) {
                   columns(task / blocks * length_ * inner_, task % blocks * block);
                 }
               });
    } else {
      // Each step waits for the one before, some 1 ns.
      constexpr std::int64_t cost_of_step = 100;
      const bool in_tiles = transposes && inner_ == 1 && length_ <= longest && lines_ >= side;
      const std::int64_t group = in_tiles ? side : together;
      parallel(call, (lines_ + group - 1) / group, grain_of_cost(cost_of_step * length_),
               [&](std::int64_t begin, std::int64_t end) {
                 std::int64_t line = begin * group;
                 const std::int64_t last = std::min(end * group, lines_);
                 if constexpr (transposes) {
                   for (; in_tiles && line + side <= last; line += side) tiles(line, last);
                 }
                 for (; line + together <= last; line += together) lines<together>(line);
                 if (line < last) lines<1>(line);
               });
    }
  }

 private:
  using L = Lanes<(sizeof(T) > 4), A>;
  using C = Computed<T>;
  using V = typename L::template of<C>;
  static constexpr int N = L::size;
  static constexpr int vectors = 4;
  static constexpr std::int64_t block = vectors * N;  ///< neighbouring lines
  static constexpr int together = 2;                  ///< lines at a time that do not fill vectors
  static constexpr bool transposes = std::is_arithmetic_v<C>;
  // A tile. Elements of longer lines may lie apart so that they share a few sets of a cache.
  static constexpr int side = sizeof(T) > 4 ? 16 : 32;
  static constexpr std::int64_t width = 32;
  static constexpr std::int64_t longest = 1024 / sizeof(T);

  /// States of U vectors of lines.
  template <int U>
  struct States {
    V of[U];
  };
  template <int U>
  TYPEFLOW_INLINE States<U> start() const {
    States<U> s;
    for (V& v : s.of) v = L::template broadcast<C>(start_);
    return s;
  }

  /// The lines that begin at `base` + j and the next ones of the block.
  [[gnu::flatten]] void columns(std::int64_t base, std::int64_t j) const {
    const std::int64_t end = std::min(j + block, inner_);
    base += first_;
    if (j + block <= end) {
      walk(start<vectors>(), in_, out_, base + j, length_, step_, N);
      return;
    }
    for (; j < end; j += N) {
      const auto count = static_cast<int>(std::min<std::int64_t>(N, end - j));
      walk(start<1>(), in_, out_, base + j, length_, step_, count);
    }
  }
  /// The next `length` elements of U vectors of lines; the last has `count` lines.
  template <int U>
  TYPEFLOW_INLINE States<U> walk(States<U> state, const T* const* in, T* out, std::int64_t at,
                                 std::int64_t length, std::int64_t distance, int count) const {
    for (std::int64_t i = 0; i < length; ++i, at += distance) {
      unrolled<U>([&](auto u)
                      TYPEFLOW_INLINE_LAMBDA { step(state.of[u], in, out, at + u * N, count); });
    }
    return state;
  }
  TYPEFLOW_INLINE void step(V& state, const T* const* in, T* out, std::int64_t at,
                            int count) const {
    V x[Inputs];
    for (int k = 0; k < Inputs; ++k) {
      x[k] = count == N ? L::load(in[k] + at) : L::load(in[k] + at, count);
    }
    const V next = Next::template next<L, C>(state, x);
    V y = next;
    if (exclusive_) y = state;
    y = L::template rounded<T>(y);
    if (count == N) {
      L::template store<T>(out + at, y);
    } else {
      L::template store<T>(out + at, y, count);
    }
    state = next;
  }

  /// `side` lines of neighbouring elements, a tile at a time. Those before line `last` may be read.
  [[gnu::flatten]] void tiles(std::int64_t line, std::int64_t last) const {
    alignas(64) T memory[Inputs][width * side];
    const T* in[Inputs];
    for (int k = 0; k < Inputs; ++k) in[k] = memory[k];
    auto state = start<side / N>();
    for (std::int64_t done = 0; done < length_; done += width) {
      const std::int64_t count = std::min(width, length_ - done);
      const bool reverse = step_ < 0;
      const std::int64_t at = line * length_ + (reverse ? length_ - done - count : done);
      for (int k = 0; k < Inputs; ++k) {
        TransposeBlocks<T>::run({in_[k] + at, length_}, side, count, {memory[k], side},
                                last * length_ - at, false);
      }
      const std::int64_t first = reverse ? (count - 1) * side : 0;
      state = walk(state, in, memory[0], first, count, step_ * side, N);
      TransposeBlocks<T>::run({memory[0], side}, count, side, {out_ + at, length_}, count * side,
                              false);
    }
  }

  /// U lines from number `line` on.
  template <int U>
  TYPEFLOW_INLINE void lines(std::int64_t line) const {
    C state[U];
    std::int64_t begin[U];
    for (int u = 0; u < U; ++u) {
      state[u] = start_;
      begin[u] = (line + u) / inner_ * inner_ * length_ + (line + u) % inner_ + first_;
    }
    for (std::int64_t i = 0, at = 0; i < length_; ++i, at += step_) {
      [&]<int... u>(std::integer_sequence<int, u...>) TYPEFLOW_INLINE_LAMBDA {
        (step(state[u], begin[u] + at), ...);
      }(std::make_integer_sequence<int, U>{});
    }
  }
  TYPEFLOW_INLINE void step(C& state, std::int64_t at) const {
    C x[Inputs];
    for (int k = 0; k < Inputs; ++k) x[k] = static_cast<C>(in_[k][at]);
    const C next = Next::template next<void, C>(state, x);
    out_[at] = static_cast<T>(exclusive_ ? state : next);
    state = next;
  }

  const T* in_[Inputs];
  T* out_;
  std::int64_t length_;  ///< length of the axis
  std::int64_t inner_ = 1;
  std::int64_t lines_;
  std::int64_t first_;  ///< the beginning of a line
  std::int64_t step_;   ///< distance between elements of a line
  bool exclusive_;
  C start_;
};

template <>
struct kernel_of<ops::CumSum> {
  template <class A, class T>
  static void run(const ops::CumSum& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    Cumulative<A, T, 1, NextSum>(in, *out, op.axis, op.reverse != 0, op.exclusive != 0,
                                 Computed<T>(0))
        .run(call);
  }
};
template <>
struct kernel_of<ops::CumProd> {
  template <class A, class T>
  static void run(const ops::CumProd& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    Cumulative<A, T, 1, NextProduct>(in, *out, op.axis, op.reverse != 0, op.exclusive != 0,
                                     Computed<T>(1))
        .run(call);
  }
};
template <>
struct kernel_of<ops::Shift> {
  template <class A, class T>
  static void run(const ops::Shift& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const auto start = Computed<T>(op.fill != 0 ? 1 : 0);
    Cumulative<A, T, 1, NextElement>(in, *out, op.axis, op.reverse != 0, true, start).run(call);
  }
};
template <>
struct kernel_of<ops::LinearRecurrence> {
  template <class A, class T>
  static void run(const ops::LinearRecurrence& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    Cumulative<A, T, 2, NextLinear>(in, *out, op.axis, op.reverse != 0, false, Computed<T>(0))
        .run(call);
  }
};

template <class O>
struct kernel_of_extreme {
  template <class A, class T>
  static void run(const O& op, const Tensor* in, const Tensor* out, const KernelCall& call) {
    using E = typename O::extreme;
    constexpr auto start = E::template identity<Computed<T>>();
    Cumulative<A, T, 1, NextExtreme<E>>(in, *out, op.axis, op.reverse != 0, false, start).run(call);
  }
};
template <>
struct kernel_of<ops::CumMax> : kernel_of_extreme<ops::CumMax> {};
template <>
struct kernel_of<ops::CumMin> : kernel_of_extreme<ops::CumMin> {};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
