// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folds over an axis that has another one inside of it: column sums, gradients of biases, a
// softmax over an outer axis. SIMD lanes run along the inner axis, so every lane folds its own
// column in order.

#include <algorithm>

#include "typeflow/cpu/rows.hpp"

namespace typeflow::simd {

template <bool Wide, int Outer, class B, class A>
struct Code<ColumnsKernel<Wide, Outer, B>, A> {
  using L = Lanes<Wide, A>;
  using M = Machine<L, B>;
  using Registers = typename M::Registers;
  using Ops = typename M::Ops;
  using States = typename M::States;
  static constexpr int N = L::size;
  static constexpr int together = 4;          ///< vectors of columns
  static constexpr std::int64_t chunk = 256;  ///< rows that are folded before they are merged
  static constexpr unsigned fold_bit = 1u << Outer;  ///< the axis that is folded
  static constexpr unsigned inner_bit = 2u << Outer;

  static std::int64_t workspace(const std::int64_t*) { return 0; }

  static void run(const KernelCall& call) {
    Geometry g{};
    g.length = call.extents[Outer];
    g.width = call.extents[Outer + 1];
    std::int64_t outer = 1;
    for (int k = 0; k < Outer; ++k) outer *= call.extents[k];
    [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
      (find_strides<I>(call, g), ...);
    }
    (typename M::InputNumbers{});
    const std::int64_t block = together * N;
    const std::int64_t blocks = (g.width + block - 1) / block;
    const std::int64_t size = std::max<std::int64_t>(1, g.length * std::min(block, g.width));
    const std::int64_t grain = std::max<std::int64_t>(1, chunk_size / size);
    parallel(call, outer * blocks, grain, [&](std::int64_t begin, std::int64_t end) {
      const Ops ops = M::decode(call.words);
      for (std::int64_t task = begin; task < end; ++task) {
        columns(call, g, ops, task / blocks, task % blocks * block);
      }
    });
  }

 private:
  struct Geometry {
    std::int64_t length;  // of the folded axis
    std::int64_t width;   // of the inner axis
    std::int64_t stride[M::inputs + 1][Outer + 2];
  };
  /// The operands of one outer index.
  struct Place {
    const void* in[M::inputs + 1];
    std::int64_t position[M::inputs + 1];
    std::int64_t outer;
    ElementContext at;
  };

  template <int I>
  static constexpr unsigned axes = M::template Input<I>::axes;
  template <int I>
  static constexpr bool folded = (axes<I> & fold_bit) != 0;

  template <int I>
  static void find_strides(const KernelCall& call, Geometry& g) {
    operand_strides<axes<I>, Outer + 2>(call.extents, g.stride[I]);
  }

  [[gnu::flatten]] static void columns(const KernelCall& call, const Geometry& g, const Ops& ops,
                                       std::int64_t outer, std::int64_t j) {
    Place p;
    p.at.random = call.random;
    p.outer = outer;
    std::int64_t coordinate[Outer + 1];
    std::int64_t rest = outer;
    for (int k = Outer - 1; k >= 0; --k) {
      coordinate[k] = rest % call.extents[k];
      rest /= call.extents[k];
    }
    [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
      (enter<I>(call, g, coordinate, p), ...);
    }
    (typename M::InputNumbers{});
    const std::int64_t end = std::min(j + together * N, g.width);
    if (j + together * N <= end) {
      vectors<together>(call, g, ops, p, j, N);
      return;
    }
    for (; j < end; j += N) {
      vectors<1>(call, g, ops, p, j, static_cast<int>(std::min<std::int64_t>(N, end - j)));
    }
  }

  template <int I>
  TYPEFLOW_INLINE static void enter(const KernelCall& call, const Geometry& g,
                                    const std::int64_t* coordinate, Place& p) {
    using In = typename M::template Input<I>;
    std::int64_t offset = 0;
    std::int64_t position = 0;
    for (int k = 0; k < Outer; ++k) {
      if ((In::axes >> k & 1u) == 0) continue;
      offset += coordinate[k] * g.stride[I][k];
      position = coordinate[k];
    }
    if constexpr (In::is_index) {
      p.position[I] = position;
    } else {
      p.in[I] = call.operand<const element_of<In::dtype>>(M::operand(I)) + offset;
    }
  }

  /// U vectors of columns from j on; of the last, `count` columns.
  template <int U>
  static void vectors(const KernelCall& call, const Geometry& g, const Ops& ops, Place& p,
                      std::int64_t j, int count) {
    Registers r[U];
    for (int u = 0; u < U; ++u) {
      [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
        (load<false, 0, I>(g, r[u], p, 0, j + u * N, count), ...);
      }
      (typename M::InputNumbers{});
      p.at.index = p.outer * g.width + j + u * N;
      M::template evaluate_rows<0>(r[u], ops, p.at);
    }
    [&]<int... P>(std::integer_sequence<int, P...>) TYPEFLOW_INLINE_LAMBDA {
      (pass<P, U>(call, g, r, ops, p, j, count), ...);
    }
    (std::make_integer_sequence<int, M::passes>{});
    for (int u = 0; u < U; ++u) {
      [&]<int... S>(std::integer_sequence<int, S...>) TYPEFLOW_INLINE_LAMBDA {
        (store<true, S>(call, r[u], p.outer * g.width + j + u * N, count), ...);
      }
      (typename M::StoreNumbers{});
    }
  }

  template <int P, int U>
  TYPEFLOW_INLINE static void pass(const KernelCall& call, const Geometry& g, Registers* r,
                                   const Ops& ops, Place& p, std::int64_t j, int count) {
    States total[U];
    for (States& s : total) reset<P>(s);
    for (std::int64_t begin = 0; begin < g.length; begin += chunk) {
      States state[U];
      for (States& s : state) reset<P>(s);
      const std::int64_t end = std::min(begin + chunk, g.length);
      for (std::int64_t k = begin; k < end; ++k) {
        [&]<int... u>(std::integer_sequence<int, u...>) TYPEFLOW_INLINE_LAMBDA {
          (step<P>(call, g, r[u], ops, p, state[u], k, j + u * N, count), ...);
        }
        (std::make_integer_sequence<int, U>{});
      }
      M::template each_fold<P>([&]<int I>() TYPEFLOW_INLINE_LAMBDA {
        for (int u = 0; u < U; ++u) {
          if (begin == 0) {
            get<I>(total[u]) = get<I>(state[u]);
          } else {
            get<I>(total[u]).merge(get<I>(state[u]));
          }
        }
      });
    }
    for (int u = 0; u < U; ++u) {
      M::template each_fold<P>([&]<int I>() TYPEFLOW_INLINE_LAMBDA {
        get<M::first_item + I>(r[u]) = get<I>(total[u]).result();
      });
      p.at.index = p.outer * g.width + j + u * N;
      M::template evaluate_rows<P + 1>(r[u], ops, p.at);
    }
  }
  template <int P>
  TYPEFLOW_INLINE static void reset(States& state) {
    M::template each_fold<P>([&]<int I>() TYPEFLOW_INLINE_LAMBDA { get<I>(state).reset(); });
  }

  template <int P>
  TYPEFLOW_INLINE static void step(const KernelCall& call, const Geometry& g, Registers& r,
                                   const Ops& ops, Place& p, States& state, std::int64_t k,
                                   std::int64_t j, int count) {
    [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
      (load<true, P, I>(g, r, p, k, j, count), ...);
    }
    (typename M::InputNumbers{});
    p.at.index = (p.outer * g.length + k) * g.width + j;
    M::template evaluate<P>(r, ops, p.at);
    M::template each_fold<P>([&]<int I>() TYPEFLOW_INLINE_LAMBDA {
      const auto& x = get<M::template Item<I>::arguments[0]>(r);
      if constexpr (ArgFold<typename M::template Item<I>::op>) {
        get<I>(state).step_column(x, k);
      } else {
        get<I>(state).step(x, k);
      }
    });
    if constexpr (P == M::passes - 1) {
      [&]<int... S>(std::integer_sequence<int, S...>) TYPEFLOW_INLINE_LAMBDA {
        (store<false, S>(call, r, p.at.index, count), ...);
      }
      (typename M::StoreNumbers{});
    }
  }

  /// Input I of element or column k, j, if it runs along the folded axis (Folded), or not.
  template <bool Folded, int P, int I>
  TYPEFLOW_INLINE static void load(const Geometry& g, Registers& r, const Place& p, std::int64_t k,
                                   std::int64_t j, int count) {
    using In = typename M::template Input<I>;
    using T = element_of<In::dtype>;
    if constexpr (folded<I> == Folded && (!Folded || M::template needs<P, I>)) {
      constexpr bool inner = (axes<I> & inner_bit) != 0;
      if constexpr (In::is_index) {
        if constexpr (inner) {
          get<I>(r) = L::positions(j);
        } else {
          get<I>(r) = L::template broadcast<T>(static_cast<T>(Folded ? k : p.position[I]));
        }
      } else {
        const T* const at = static_cast<const T*>(p.in[I]) + (Folded ? k * g.stride[I][Outer] : 0);
        if constexpr (!inner) {
          get<I>(r) = L::template broadcast<T>(*at);
        } else {
          get<I>(r) = count == N ? L::load(at + j) : L::load(at + j, count);
        }
      }
    }
  }
  template <bool IsRow, int S>
  TYPEFLOW_INLINE static void store(const KernelCall& call, const Registers& r, std::int64_t at,
                                    int count) {
    using Out = typename M::template Out<S>;
    using T = element_of<Out::dtype>;
    if constexpr (Out::is_row == IsRow) {
      T* const p = call.operand<T>(M::first_store + S) + at;
      if (count == N) {
        L::store(p, get<Out::value>(r));
      } else {
        L::store(p, get<Out::value>(r), count);
      }
    }
  }
};

}  // namespace typeflow::simd
