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
        if constexpr (Inner != ir::InnerExtent::large && !M::gathers) {
          if (Inner == ir::InnerExtent::small || g.length <= ir::small_extent) {
            SmallFolds<Outer, L, M>::run(call, g.in, g.length, begin, end);
            return;
          }
        }
        if constexpr (Inner != ir::InnerExtent::small || M::gathers)
          rows(call, g, begin, end, 0, g.length);
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
    if constexpr (Inner == ir::InnerExtent::small && !Folds && !M::gathers) {
      return SmallMaps<Outer, L, M>::possible;
    } else {
      return false;
    }
  }();

  /// Costly values of a row's first elements.
  static constexpr std::int64_t kept_elements = chunk_size;
  /// Rows of fewer elements are fetched ahead. Processors fetch the lines of longer ones by
  /// themselves.
  static constexpr std::int64_t fetched_length = 400;
  /// Rows that are folded together: a lane of their values for each.
  static constexpr int most_together = Folds ? std::min(N, 16) : 1;
  /// If there are several passes, as many as the innermost cache keeps from one to the next. A row
  /// alone if there were few: folding their lanes together would take longer than for each.
  static std::int64_t rows_together(std::int64_t length) {
    constexpr std::int64_t elements = M::passes > 1 ? 4096 : chunk_size;
    const std::int64_t rows =
        std::min<std::int64_t>(elements / std::max<std::int64_t>(length, 1), most_together);
    return 2 * rows < most_together ? 1 : rows;
  }
  using Kept = typename M::template KeptOf<static_cast<int>(kept_elements / N)>::type;

  struct Geometry {
    std::int64_t rows;
    std::int64_t length;
    ir::OperandLayout<space.rank> in[M::inputs + 1];
  };
  /// A row's operands.
  struct Row {
    const void* in[M::inputs + 1];
    void* out[M::stores + 1];
    Kept* kept;
    std::int64_t first_kept;  ///< vector of the row's first element
    std::int64_t ahead;       ///< bytes between an element that is read and one that is fetched
  };

  template <int I>
  static constexpr bool along_row = (M::template Input<I>::axes & inner_bit) != 0;

  template <int I>
  static void find_layout(const KernelCall& call, Geometry& g) {
    g.in[I] = ir::layout_of<space.rank>(M::template Input<I>::axes, call.extents,
                                        M::template strides<I, space.rank>(call.extents));
  }

  /// What passes over a row need of its values, or of its operands.
  template <int V>
  static constexpr bool is_row_item = V >= M::first_item && M::template is_one_along<V, inner_bit>;
  template <class Values>
  struct RowValuesOf;
  template <int... V>
  struct RowValuesOf<std::integer_sequence<int, V...>> {
    struct Nothing {};
    using type = FlatTuple<std::conditional_t<
        is_row_item<V>, Array<Computed<typename M::template ElementOf<V>>, N>, Nothing>...>;
  };
  using RowValues = typename RowValuesOf<std::make_integer_sequence<int, M::values>>::type;

  /// Where a row is along the outer axes.
  struct Coordinates {
    std::int64_t along[Outer + 1];

    TYPEFLOW_INLINE Coordinates(const KernelCall& call, std::int64_t row) {
      for (int k = Outer - 1; k > 0; --k) {
        along[k] = row % call.extents[k];
        row /= call.extents[k];
      }
      along[0] = row;
    }
    TYPEFLOW_INLINE void advance(const KernelCall& call) {
      int k = Outer - 1;
      for (; k > 0 && ++along[k] == call.extents[k]; --k) along[k] = 0;
      if (k <= 0) ++along[0];
    }
  };

  [[gnu::flatten]] static void rows(const KernelCall& call, const Geometry& g, std::int64_t begin,
                                    std::int64_t end, std::int64_t first, std::int64_t last) {
    const Ops ops = M::decode(call.words);
    Kept kept;
    const std::int64_t together = rows_together(g.length);
    for (std::int64_t row = begin; row < end; row += together) {
      const int count = uncounted(static_cast<int>(std::min(together, end - row)));
      const Coordinates coordinates(call, row);
      Registers r;  // lane k is of row k; without folds, all lanes are of the one row
      ElementContext at;
      at.random = call.random;
      at.index = row;
      [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
        (enter_values<I>(call, g, coordinates, count, r), ...);
      }(typename M::InputNumbers{});
      M::template evaluate_rows<0>(r, ops, at);
      [&]<int... P>(std::integer_sequence<int, P...>) TYPEFLOW_INLINE_LAMBDA {
        (pass<P>(call, g, coordinates, r, ops, kept, count, at, first, last), ...);
      }(std::make_integer_sequence<int, M::passes>{});
      [&]<int... S>(std::integer_sequence<int, S...>) TYPEFLOW_INLINE_LAMBDA {
        (store_rows<S>(call, g, coordinates, row, r, count), ...);
      }(typename M::StoreNumbers{});
    }
  }

  /// Where input I begins in a row.
  template <int I>
  TYPEFLOW_INLINE static auto input_of_row(const KernelCall& call, const Geometry& g,
                                           const Coordinates& c) {
    using In = typename M::template Input<I>;
    std::int64_t offset = g.in[I].begin;
    for (int k = 0; k < Outer; ++k) {
      if ((In::axes >> k & 1u) != 0) offset += c.along[k] * g.in[I].stride[k];
    }
    if constexpr (In::spec.offsets != 0) offset += value_of_row<In::spec.offsets - 1>(call, g, c);
    return call.operand<const element_of<In::dtype>>(M::template operand<I>) + offset;
  }
  /// The row's value of input I.
  template <int I>
  TYPEFLOW_INLINE static auto value_of_row(const KernelCall& call, const Geometry& g,
                                           const Coordinates& c) {
    using In = typename M::template Input<I>;
    if constexpr (In::is_index) {
      std::int64_t position = 0;
      for (int k = 0; k < Outer; ++k) {
        if ((In::axes >> k & 1u) != 0) position = c.along[k];
      }
      return static_cast<element_of<In::dtype>>(position);
    } else {
      return *input_of_row<I>(call, g, c);
    }
  }
  template <int S>
  TYPEFLOW_INLINE static auto result_of_row(const KernelCall& call, const Geometry& g,
                                            const Coordinates& c, std::int64_t row) {
    using Out = typename M::template Out<S>;
    std::int64_t offset = row * (Out::is_row ? 1 : g.length);
    if constexpr (Out::is_strided) {
      const auto strided_view = M::template store_strides<S, space.rank>(call.extents);
      offset = strided_view.begin();
      for (int k = 0; k < Outer; ++k) offset += c.along[k] * strided_view.stride(k);
    }
    return call.operand<element_of<Out::dtype>>(M::first_store + S) + offset;
  }

  /// The rows' values of input I.
  template <int I>
  TYPEFLOW_INLINE static void enter_values(const KernelCall& call, const Geometry& g, Coordinates c,
                                           int count, Registers& r) {
    using In = typename M::template Input<I>;
    using T = element_of<In::dtype>;
    constexpr unsigned outside = inner_bit - 1u;
    if constexpr (along_row<I>) {
    } else if constexpr (most_together == 1) {
      get<I>(r) = L::template broadcast<T>(value_of_row<I>(call, g, c));
    } else if constexpr (!In::is_index && !In::is_strided && In::axes == outside) {
      const T* const at = input_of_row<I>(call, g, c);
      get<I>(r) = count == N ? L::load(at) : L::load(at, count);
    } else {
      Array<T, N> all{};
      for (int k = 0; k < count; ++k) {
        all.v[k] = value_of_row<I>(call, g, c);
        c.advance(call);
      }
      get<I>(r) = L::load(all.v);
    }
  }
  template <int S>
  TYPEFLOW_INLINE static void store_rows(const KernelCall& call, const Geometry& g, Coordinates c,
                                         std::int64_t row, const Registers& r, int count) {
    using Out = typename M::template Out<S>;
    using T = element_of<Out::dtype>;
    if constexpr (Out::is_row) {
      if constexpr (most_together == 1) {
        L::template store_first<T>(result_of_row<S>(call, g, c, row), get<Out::value>(r));
      } else if constexpr (Out::is_strided) {
        const Array<T, N> all = L::template elements<T>(get<Out::value>(r));
        for (int k = 0; k < count; ++k) {
          *result_of_row<S>(call, g, c, row) = all.v[k];
          c.advance(call);
        }
      } else {
        T* const to = result_of_row<S>(call, g, c, row);
        if (count == N) {
          L::store(to, get<Out::value>(r));
        } else {
          L::store(to, get<Out::value>(r), count);
        }
      }
    }
  }

  template <int P, int V>
  static constexpr bool passes_need =
      M::template needs<P, V, false> || M::template needs<P, V, true>;
  /// Keeps value V of the rows for pass P.
  template <int P, int V>
  TYPEFLOW_INLINE static void keep_value(const Registers& r, RowValues& values) {
    if constexpr (is_row_item<V> && passes_need<P, V>) {
      L::template store<Computed<typename M::template ElementOf<V>>>(get<V>(values).v, get<V>(r));
    }
  }
  /// Value V of row k in all lanes, if pass P needs it.
  template <int P, int V>
  TYPEFLOW_INLINE static void take_value(const KernelCall& call, const Geometry& g,
                                         const Coordinates& c, const RowValues& values, int k,
                                         Registers& of_row) {
    if constexpr (M::template is_one_along<V, inner_bit> && passes_need<P, V>) {
      using T = typename M::template ElementOf<V>;
      if constexpr (V >= M::first_item) {
        get<V>(of_row) = L::template broadcast<Computed<T>>(get<V>(values).v[k]);
      } else {
        get<V>(of_row) = L::template broadcast<T>(value_of_row<V>(call, g, c));
      }
    }
  }

  template <int P>
  TYPEFLOW_INLINE static void pass(const KernelCall& call, const Geometry& g, Coordinates c,
                                   Registers& r, const Ops& ops, Kept& kept, int count,
                                   ElementContext& at, std::int64_t first, std::int64_t last) {
    typename M::States states[most_together];
    typename M::States* const state = unbounded(states);
    if constexpr (most_together == 1) {
      Row p;
      p.kept = &kept;
      begin_row(call, g, c, at.index, 0, p);
      one_row<P>(r, ops, p, at, g.length, first, last, state[0]);
    } else {
      RowValues values;
      [&]<int... V>(std::integer_sequence<int, V...>) TYPEFLOW_INLINE_LAMBDA {
        (keep_value<P, V>(r, values), ...);
      }(std::make_integer_sequence<int, M::values>{});
      pass_rows<P>(call, g, c, values, ops, kept, count, at, first, last, state);
    }
    if constexpr (M::template has_folds<P>) {
      if (count > 1) {
        for (int k = count; k < most_together; ++k) reset<P>(state[k]);
      }
      M::template each_fold<P>([&]<int I>() TYPEFLOW_INLINE_LAMBDA {
        const auto fold = [&](int k) TYPEFLOW_INLINE_LAMBDA -> auto& { return get<I>(state[k]); };
        using State = std::remove_cvref_t<decltype(fold(0))>;
        if (count == 1) {
          fold(0).finish();
        } else {
          State::template finish_together<most_together>(fold);
        }
        get<M::first_item + I>(r) = fold(0).result();
      });
      M::template evaluate_rows<P + 1>(r, ops, at);
    }
  }
  /// A function of its own, so that registers are left for what rows need.
  template <int P>
  [[gnu::noinline, gnu::flatten]] static void pass_rows(
      const KernelCall& call, const Geometry& geometry, Coordinates c, const RowValues& values,
      const Ops& operations, Kept& kept, int count, const ElementContext& at, std::int64_t first,
      std::int64_t last, typename M::States* state) {
    const Ops ops = operations;
    const Geometry g = geometry;
    Row p;
    p.kept = &kept;
    p.ahead = g.length < fetched_length ? 4096 : 0;
    for (int k = 0; k < count; ++k) {
      Registers of_row;
      begin_row(call, g, c, at.index + k, k, p);
      [&]<int... V>(std::integer_sequence<int, V...>) TYPEFLOW_INLINE_LAMBDA {
        (take_value<P, V>(call, g, c, values, k, of_row), ...);
      }(std::make_integer_sequence<int, M::values>{});
      ElementContext of_elements = at;
      of_elements.index += k;
      one_row<P>(of_row, ops, p, of_elements, g.length, first, last, state[k]);
      c.advance(call);
    }
  }
  TYPEFLOW_INLINE static void begin_row(const KernelCall& call, const Geometry& g,
                                        const Coordinates& c, std::int64_t row, int number,
                                        Row& p) {
    p.first_kept = number * ((g.length + N - 1) / N);
    [&]<int... I>(std::integer_sequence<int, I...>)
        TYPEFLOW_INLINE_LAMBDA { (enter<I>(call, g, c, p), ...); }(typename M::InputNumbers{});
    [&]<int... S>(std::integer_sequence<int, S...>) TYPEFLOW_INLINE_LAMBDA {
      (enter_store<S>(call, g, c, row, p), ...);
    }(typename M::StoreNumbers{});
  }
  template <int I>
  TYPEFLOW_INLINE static void enter(const KernelCall& call, const Geometry& g, const Coordinates& c,
                                    Row& p) {
    if constexpr (along_row<I> && !M::template Input<I>::is_index) {
      p.in[I] = input_of_row<I>(call, g, c);
    }
  }
  template <int S>
  TYPEFLOW_INLINE static void enter_store(const KernelCall& call, const Geometry& g,
                                          const Coordinates& c, std::int64_t row, Row& p) {
    if constexpr (!M::template Out<S>::is_row) p.out[S] = result_of_row<S>(call, g, c, row);
  }
  /// Pass P over a row, whose folds go to `total`; their lanes are folded later.
  template <int P>
  TYPEFLOW_INLINE static void one_row(Registers& r, const Ops& ops, const Row& p,
                                      const ElementContext& row, std::int64_t length,
                                      std::int64_t first, std::int64_t last,
                                      typename M::States& total) {
    using States = typename M::States;
    ElementContext base = row;
    base.index *= length;
    if constexpr (!M::template has_folds<P>) {
      if constexpr (M::template has_reloads<P>) {
        const std::int64_t end = std::min(kept_elements, last);
        loop<P, 1, true>(r, ops, p, base, &total, first, end);
        first = end;
      }
      loop<P, 1, false>(r, ops, p, base, &total, first, last);
    } else {
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
        if (end - begin < 4 * N && begin == first) {  // all went to the last accumulator
          total = state[3];
          continue;
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
    }
  }
  template <int P>
  TYPEFLOW_INLINE static void reset(typename M::States& state) {
    M::template each_fold<P>([&]<int I>() TYPEFLOW_INLINE_LAMBDA { get<I>(state).reset(); });
  }

  /// Elements [i, end): U vectors at a time, each with its own accumulator; the rest goes to the
  /// last one. With Reload, kept values are reloaded.
  template <int P, int U, bool Reload>
  TYPEFLOW_INLINE static void loop(Registers& r, const Ops& ops, const Row& p,
                                   const ElementContext& base, typename M::States* state,
                                   std::int64_t i, std::int64_t end) {
    if constexpr (U > 1) {
      for (std::int64_t n = (end - i) / (U * N); n > 0; --n, i += U * N) {
        [&]<int... u>(std::integer_sequence<int, u...>) TYPEFLOW_INLINE_LAMBDA {
          (step<P, Reload>(r, ops, p, base, state[u], i + u * N), ...);
        }(std::make_integer_sequence<int, U>{});
      }
    }
    if constexpr (U == 1) {
      for (; i + N <= end; i += N) step<P, Reload>(r, ops, p, base, state[0], i);
    }
    for (std::int64_t left = end - i; left > 0; left -= N, i += N) {
      const int count = left < N ? static_cast<int>(left) : N;
      step_part<P, Reload>(r, ops, p, base, state[U - 1], i, count);
    }
  }

  template <int P, bool Reload>
  TYPEFLOW_INLINE static void step(Registers& r, const Ops& ops, const Row& p,
                                   const ElementContext& base, typename M::States& state,
                                   std::int64_t i) {
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
  TYPEFLOW_INLINE static void step_part(Registers& r, const Ops& ops, const Row& p,
                                        const ElementContext& base, typename M::States& state,
                                        std::int64_t i, int count) {
    [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
      (load<P, I, Reload>(r, p, i,
                          [=](const auto* at) TYPEFLOW_INLINE_LAMBDA {
                            return count == N ? L::load(at) : L::load(at, count);
                          }),
       ...);
    }(typename M::InputNumbers{});
    evaluate<P, Reload>(r, ops, p, base, i);
    M::template each_fold<P>([&]<int I>() TYPEFLOW_INLINE_LAMBDA {
      if (count == N) {
        get<I>(state).step(get<M::template fold_argument<I>>(r), i);
      } else {
        get<I>(state).step(get<M::template fold_argument<I>>(r), i, count);
      }
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
  TYPEFLOW_INLINE static void evaluate(Registers& r, const Ops& ops, const Row& p,
                                       const ElementContext& base, std::int64_t i) {
    M::template each_kept<P, true>([&]<int K, int V>() TYPEFLOW_INLINE_LAMBDA {
      if constexpr (Reload) get<V>(r) = get<K>(*p.kept)[p.first_kept + i / N];
    });
    ElementContext at = base;
    at.index += i;
    M::template evaluate<P, Reload>(r, ops, at);
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
        if constexpr (P == 0 && Folds) {
          __builtin_prefetch(static_cast<const char*>(p.in[I]) + i * std::int64_t{sizeof(T)} +
                             p.ahead);
        }
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
