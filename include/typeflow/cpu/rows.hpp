// SPDX-License-Identifier: Apache-2.0
#pragma once

// Loops over rows: elementwise kernels, and folds over the innermost axis with what follows them.
//
// There are as many passes over a row as its folds need: a softmax with its gradient takes three. A
// value that several passes need is computed again, which usually costs less than memory. But
// values of costly functions are kept by the first pass that computes them, for as much of a row as
// a buffer holds. They have the same bits as if they were computed again. Folds run in four SIMD
// accumulators, over chunks of a fixed size, so the bits of a result depend on extents alone.
//
// Rows of few elements have loops of their own (small_rows.hpp, flat_rows.hpp).

#include <algorithm>

#include "typeflow/cpu/body.hpp"
#include "typeflow/cpu/flat_rows.hpp"
#include "typeflow/cpu/narrow_lanes.hpp"
#include "typeflow/cpu/small_rows.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// Code of a kernel type for an instruction set.
template <class Kernel, class A>
struct Code;

/// The number of elements that is worth a task, and that one chunk of a fold has.
inline constexpr std::int64_t chunk_size = 16384;

template <bool Wide, int Outer, bool Folds, ir::InnerExtent Inner, class B, class A>
struct Code<ir::LoopKernel<Wide, Outer, Folds, Inner, B>, A> {
  using L = typename LanesOfBody<Wide, A, B>::type;
  using M = Machine<L, B>;
  using Registers = typename M::Registers;
  using Ops = typename M::Ops;
  static constexpr int N = L::size;
  static constexpr ir::KernelSpace space = ir::space_of(ir::KernelKind::loop, Outer, Folds);
  static constexpr unsigned inner_bit = 1u << Outer;

  static std::int64_t workspace(const std::int64_t*) { return 0; }

  static void run(const KernelCall& call) {
    Geometry g{};
    g.length = call.extents[Outer];
    g.rows = 1;
    for (int k = 0; k < Outer; ++k) g.rows *= call.extents[k];
    [&]<int... I>(std::integer_sequence<int, I...>)
        TYPEFLOW_INLINE_LAMBDA { (find_layout<I>(call, g), ...); }(typename M::InputNumbers{});
    if constexpr (Folds) {
      const std::int64_t grain =
          std::max<std::int64_t>(1, chunk_size / std::max(g.length, std::int64_t{1}));
      parallel(call, g.rows, grain, [&](std::int64_t begin, std::int64_t end) {
        if constexpr (Inner != ir::InnerExtent::large) {
          if (Inner == ir::InnerExtent::small || g.length <= ir::small_extent) {
            SmallFolds<Outer, L, M>::run(call, g.in, g.length, begin, end);
            return;
          }
        }
        if constexpr (Inner != ir::InnerExtent::small) rows(call, g, begin, end, 0, g.length);
      });
    } else {
      if (g.length == 0) return;
      const std::int64_t chunks = (g.length + chunk_size - 1) / chunk_size;
      const std::int64_t grain = std::max<std::int64_t>(1, chunk_size / g.length);
      parallel(call, g.rows * chunks, grain, [&](std::int64_t begin, std::int64_t end) {
        if constexpr (is_small_map) {
          SmallMaps<Outer, L, M>::run(call, g.in, g.length, begin, end);
          return;
        } else if (chunks == 1) {
          rows(call, g, begin, end, 0, g.length);
          return;
        } else {
          for (std::int64_t task = begin; task < end; ++task) {
            const std::int64_t row = task / chunks;
            const std::int64_t first = task % chunks * chunk_size;
            rows(call, g, row, row + 1, first, std::min(first + chunk_size, g.length));
          }
        }
      });
    }
  }

 private:
  static constexpr bool is_small_map = [] {
    if constexpr (Inner == ir::InnerExtent::small && !Folds) {
      return SmallMaps<Outer, L, M>::possible;
    } else {
      return false;
    }
  }();

  /// Costly values of a row's first elements.
  static constexpr std::int64_t kept_elements = chunk_size;
  /// Short rows take each pass together where elements are costly: while the lanes of one's fold
  /// are folded, which takes instructions that wait for one another, the next one begins.
  static constexpr bool takes_several = M::passes > 1 &&
                                        M::flops_of(typename M::Kept{}) >= M::costly;
  static constexpr std::int64_t length_of_several = takes_several ? 512 : 0;
  static constexpr int most_together = takes_several ? 4 : 1;
  using Kept = typename M::template KeptOf<static_cast<int>(kept_elements / N)>::type;

  struct Geometry {
    std::int64_t rows;
    std::int64_t length;
    ir::OperandLayout<space.rank> in[M::inputs + 1];
  };
  /// A row's operands.
  struct Row {
    const void* in[M::inputs + 1];
    std::int64_t position[M::inputs + 1];  // positions along outer axes
    void* out[M::stores + 1];
    Kept* kept;
    std::int64_t first_kept;  ///< vector of the row's first element
    ElementContext at;
  };

  template <int I>
  static constexpr bool along_row = (M::template Input<I>::axes & inner_bit) != 0;

  template <int I>
  static void find_layout(const KernelCall& call, Geometry& g) {
    g.in[I] = ir::layout_of<space.rank>(M::template Input<I>::axes, call.extents,
                                        M::template strides<I, space.rank>(call.extents));
  }

  [[gnu::flatten]] static void rows(const KernelCall& call, const Geometry& g, std::int64_t begin,
                                    std::int64_t end, std::int64_t first, std::int64_t last) {
    const Ops ops = M::decode(call.words);
    Kept kept;
    const std::int64_t together = g.length <= length_of_several ? most_together : 1;
    for (std::int64_t row = begin; row < end; row += together) {
      const int count = static_cast<int>(std::min(together, end - row));
      Row p[most_together];
      Registers r[most_together];
      for (int i = 0; i < count; ++i) {
        TYPEFLOW_FEW_TURNS;
        p[i].kept = &kept;
        p[i].first_kept = i * ((g.length + N - 1) / N);
        p[i].at.random = call.random;
        begin_row(call, g, row + i, p[i], r[i]);
        p[i].at.index = row + i;
        M::template evaluate_rows<0>(r[i], ops, p[i].at);
      }
      [&]<int... P>(std::integer_sequence<int, P...>) TYPEFLOW_INLINE_LAMBDA {
        (passes<P>(r, ops, p, count, row, g.length, first, last), ...);
      }(std::make_integer_sequence<int, M::passes>{});
      for (int i = 0; i < count; ++i) {
        TYPEFLOW_FEW_TURNS;
        [&]<int... S>(std::integer_sequence<int, S...>)
            TYPEFLOW_INLINE_LAMBDA { (store_row<S>(r[i], p[i]), ...); }(typename M::StoreNumbers{});
      }
    }
  }

  TYPEFLOW_INLINE static void begin_row(const KernelCall& call, const Geometry& g, std::int64_t row,
                                        Row& p, Registers& r) {
    std::int64_t coordinate[Outer + 1];
    if constexpr (Outer > 0) {
      std::int64_t rest = row;
      for (int k = Outer - 1; k > 0; --k) {
        coordinate[k] = rest % call.extents[k];
        rest /= call.extents[k];
      }
      coordinate[0] = rest;
    }
    [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
      (enter<I>(call, g, coordinate, p, r), ...);
    }(typename M::InputNumbers{});
    [&]<int... S>(std::integer_sequence<int, S...>) TYPEFLOW_INLINE_LAMBDA {
      (enter_store<S>(call, g, coordinate, row, p), ...);
    }(typename M::StoreNumbers{});
  }
  template <int P>
  TYPEFLOW_INLINE static void passes(Registers* r, const Ops& ops, Row* p, int count,
                                     std::int64_t row, std::int64_t length, std::int64_t first,
                                     std::int64_t last) {
    for (int i = 0; i < count; ++i) {
      TYPEFLOW_FEW_TURNS;
      Registers of_row;
      copy_row_values(r[i], of_row);
      Row place = p[i];
      pass<P>(of_row, ops, place, row + i, length, first, last);
      copy_row_values(of_row, r[i]);
    }
  }
  /// Copies the values that a row has one of.
  TYPEFLOW_INLINE static void copy_row_values(const Registers& from, Registers& to) {
    [&]<int... V>(std::integer_sequence<int, V...>) TYPEFLOW_INLINE_LAMBDA {
      (copy_row_value<V>(from, to), ...);
    }(std::make_integer_sequence<int, M::values>{});
  }
  template <int V>
  TYPEFLOW_INLINE static void copy_row_value(const Registers& from, Registers& to) {
    if constexpr (M::template is_one_along<V, inner_bit>) get<V>(to) = get<V>(from);
  }

  template <int I>
  TYPEFLOW_INLINE static void enter(const KernelCall& call, const Geometry& g,
                                    const std::int64_t* coordinate, Row& p, Registers& r) {
    using In = typename M::template Input<I>;
    using T = element_of<In::dtype>;
    if constexpr (In::is_index) {
      p.position[I] = 0;
      for (int k = 0; k < Outer; ++k) {
        if ((In::axes >> k & 1u) != 0) p.position[I] = coordinate[k];
      }
      if constexpr (!along_row<I>) {
        get<I>(r) = L::template broadcast<T>(static_cast<T>(p.position[I]));
      }
    } else {
      std::int64_t offset = g.in[I].begin;
      for (int k = 0; k < Outer; ++k) {
        if ((In::axes >> k & 1u) != 0) offset += coordinate[k] * g.in[I].stride[k];
      }
      const T* const at = call.operand<const T>(M::template operand<I>) + offset;
      p.in[I] = at;
      if constexpr (!along_row<I>) get<I>(r) = L::template broadcast<T>(*at);
    }
  }
  template <int S>
  TYPEFLOW_INLINE static void enter_store(const KernelCall& call, const Geometry& g,
                                          const std::int64_t* coordinate, std::int64_t row,
                                          Row& p) {
    using Out = typename M::template Out<S>;
    using T = element_of<Out::dtype>;
    std::int64_t offset = row * (Out::is_row ? 1 : g.length);
    if constexpr (Out::is_strided) {
      const auto strided_view = M::template store_strides<S, space.rank>(call.extents);
      offset = strided_view.begin();
      for (int k = 0; k < Outer; ++k) offset += coordinate[k] * strided_view.stride(k);
    }
    p.out[S] = call.operand<T>(M::first_store + S) + offset;
  }
  template <int S>
  TYPEFLOW_INLINE static void store_row(Registers& r, const Row& p) {
    using Out = typename M::template Out<S>;
    using T = element_of<Out::dtype>;
    if constexpr (Out::is_row) {
      L::template store_first<T>(static_cast<T*>(p.out[S]), get<Out::value>(r));
    }
  }

  template <int P>
  TYPEFLOW_INLINE static void pass(Registers& r, const Ops& ops, Row& p, std::int64_t row,
                                   std::int64_t length, std::int64_t first, std::int64_t last) {
    using States = typename M::States;
    const std::int64_t base = row * length;
    if constexpr (!M::template has_folds<P>) {
      States none_to_fold;
      if constexpr (M::template has_reloads<P>) {
        const std::int64_t end = std::min(kept_elements, last);
        loop<P, 1, true>(r, ops, p, base, &none_to_fold, first, end);
        first = end;
      }
      loop<P, 1, false>(r, ops, p, base, &none_to_fold, first, last);
    } else {
      States total;
      reset<P>(total);
      for (std::int64_t begin = first; begin < last; begin += chunk_size) {
        States state[4];
        for (States& s : state) reset<P>(s);
        const std::int64_t end = std::min(begin + chunk_size, last);
        if (M::template has_reloads<P> && end <= kept_elements) {
          loop<P, 4, M::template has_reloads<P>>(r, ops, p, base, state, begin, end);
        } else {
          loop<P, 4, false>(r, ops, p, base, state, begin, end);
        }
        M::template each_fold<P>([&]<int I>() TYPEFLOW_INLINE_LAMBDA {
          get<I>(state[0]).merge(get<I>(state[1]));
          get<I>(state[2]).merge(get<I>(state[3]));
          get<I>(state[0]).merge(get<I>(state[2]));
          if (begin == first) {
            get<I>(total) = get<I>(state[0]);
          } else {
            get<I>(total).merge(get<I>(state[0]));
          }
        });
      }
      M::template each_fold<P>([&]<int I>() TYPEFLOW_INLINE_LAMBDA {
        get<I>(total).finish();
        get<M::first_item + I>(r) = get<I>(total).result();
      });
      p.at.index = row;
      M::template evaluate_rows<P + 1>(r, ops, p.at);
    }
  }
  template <int P>
  TYPEFLOW_INLINE static void reset(typename M::States& state) {
    M::template each_fold<P>([&]<int I>() TYPEFLOW_INLINE_LAMBDA { get<I>(state).reset(); });
  }

  /// Elements [i, end): U vectors at a time, each with its own accumulator; the rest goes to the
  /// last one. With Reload, kept values are reloaded.
  template <int P, int U, bool Reload>
  TYPEFLOW_INLINE static void loop(Registers& r, const Ops& ops, Row& p, std::int64_t base,
                                   typename M::States* state, std::int64_t i, std::int64_t end) {
    if constexpr (U > 1) {
      for (; i + U * N <= end; i += U * N) {
        [&]<int... u>(std::integer_sequence<int, u...>) TYPEFLOW_INLINE_LAMBDA {
          (step<P, Reload>(r, ops, p, base, state[u], i + u * N), ...);
        }(std::make_integer_sequence<int, U>{});
      }
    }
    if constexpr (U == 1) {
      for (; i + N <= end; i += N) step<P, Reload>(r, ops, p, base, state[0], i);
    }
    for (; i < end; i += N) {
      const int count = static_cast<int>(std::min<std::int64_t>(N, end - i));
      step_part<P, Reload>(r, ops, p, base, state[U - 1], i, count);
    }
  }

  template <int P, bool Reload>
  TYPEFLOW_INLINE static void step(Registers& r, const Ops& ops, Row& p, std::int64_t base,
                                   typename M::States& state, std::int64_t i) {
    [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
      (load<P, I, Reload>(r, p, i,
                          [](const auto* at) TYPEFLOW_INLINE_LAMBDA { return L::load(at); }),
       ...);
    }(typename M::InputNumbers{});
    evaluate<P, Reload>(r, ops, p, base, i);
    M::template each_fold<P>([&]<int I>() TYPEFLOW_INLINE_LAMBDA {
      get<I>(state).step(get<M::template fold_argument<I>>(r), i);
    });
    if constexpr (P == M::passes - 1) {
      [&]<int... S>(std::integer_sequence<int, S...>) TYPEFLOW_INLINE_LAMBDA {
        (store<S>(r, p, i, [](auto* at, const auto& x) TYPEFLOW_INLINE_LAMBDA { L::store(at, x); }),
         ...);
      }(typename M::StoreNumbers{});
    }
  }
  template <int P, bool Reload>
  TYPEFLOW_INLINE static void step_part(Registers& r, const Ops& ops, Row& p, std::int64_t base,
                                        typename M::States& state, std::int64_t i, int count) {
    [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
      (load<P, I, Reload>(r, p, i,
                          [=](const auto* at) TYPEFLOW_INLINE_LAMBDA {
                            return count == N ? L::load(at) : L::load(at, count);
                          }),
       ...);
    }(typename M::InputNumbers{});
    evaluate<P, Reload>(r, ops, p, base, i);
    M::template each_fold<P>([&]<int I>() TYPEFLOW_INLINE_LAMBDA {
      get<I>(state).step(get<M::template fold_argument<I>>(r), i, count);
    });
    if constexpr (P == M::passes - 1) {
      [&]<int... S>(std::integer_sequence<int, S...>) TYPEFLOW_INLINE_LAMBDA {
        (store<S>(r, p, i,
                  [=](auto* at, const auto& x) TYPEFLOW_INLINE_LAMBDA {
                    if (count == N) {
                      L::store(at, x);
                    } else {
                      L::store(at, x, count);
                    }
                  }),
         ...);
      }(typename M::StoreNumbers{});
    }
  }

  template <int P, bool Reload>
  TYPEFLOW_INLINE static void evaluate(Registers& r, const Ops& ops, Row& p, std::int64_t base,
                                       std::int64_t i) {
    M::template each_kept<P, true>([&]<int K, int V>() TYPEFLOW_INLINE_LAMBDA {
      if constexpr (Reload) get<V>(r) = get<K>(*p.kept)[p.first_kept + i / N];
    });
    p.at.index = base + i;
    M::template evaluate<P, Reload>(r, ops, p.at);
    M::template each_kept<P, false>([&]<int K, int V>() TYPEFLOW_INLINE_LAMBDA {
      if (i < kept_elements) get<K>(*p.kept)[p.first_kept + i / N] = get<V>(r);
    });
  }

  template <int P, int I, bool Reload, class F>
  TYPEFLOW_INLINE static void load(Registers& r, const Row& p, std::int64_t i, const F& load_at) {
    using In = typename M::template Input<I>;
    using T = element_of<In::dtype>;
    if constexpr (along_row<I> && M::template needs<P, I, Reload>) {
      if constexpr (In::is_index) {
        get<I>(r) = L::positions(i);
      } else {
        get<I>(r) = load_at(static_cast<const T*>(p.in[I]) + i);
      }
    }
  }
  template <int S, class F>
  TYPEFLOW_INLINE static void store(Registers& r, const Row& p, std::int64_t i, const F& store_at) {
    using Out = typename M::template Out<S>;
    using T = element_of<Out::dtype>;
    if constexpr (!Out::is_row) store_at(static_cast<T*>(p.out[S]) + i, get<Out::value>(r));
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
