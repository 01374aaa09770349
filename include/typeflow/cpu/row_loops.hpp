// SPDX-License-Identifier: Apache-2.0
#pragma once

// A vector's worth of a row: loaded, evaluated, folded and stored.

#include <cstdint>
#include <utility>

#include "typeflow/cpu/row_operands.hpp"
#include "typeflow/cpu/streamed_maps.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// The elements of a chunk of a fold. The bits of results depend on it.
inline constexpr std::int64_t fold_chunk = 16384;

template <int Outer, class L, class M>
struct RowLoops : RowOperands<Outer, L, M> {
  using Rows = RowOperands<Outer, L, M>;
  using Rows::inner_bit;
  using Rows::N;
  using typename Rows::Layout;
  using typename Rows::Ops;
  using typename Rows::Registers;
  using typename Rows::States;
  template <int I>
  using In = typename Rows::template In<I>;

  /// Costly values are kept of so many of a row's first elements.
  static constexpr std::int64_t kept_elements = fold_chunk;
  using Kept = typename M::template KeptOf<static_cast<int>(kept_elements / N)>::type;

  /// Where a row's operands lie, from one of its elements on.
  struct Row {
    const void* in[M::inputs + 1];
    void* out[M::stores + 1];
    std::int64_t position;    ///< of that element in the row
    std::int64_t index;       ///< of that element among all
    std::int64_t first_kept;  ///< that element's vector among the kept ones
    std::int64_t ahead;  ///< bytes from an element that is read to one that is fetched; -1: none
    int streams;         ///< whether step_map stores past the caches
  };

  template <int I>
  static constexpr bool along_row = (M::template Input<I>::axes & inner_bit) != 0;

  /// Finds `length` elements of row number `row` from the `first` one on.
  TYPEFLOW_INLINE static void begin_row(const KernelCall& call, const Layout* in,
                                        std::int64_t length, const std::int64_t* coordinate,
                                        std::int64_t row, std::int64_t first, Row& p) {
    p.position = first;
    p.index = row * length + first;
    [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
      (enter<I>(call, in, coordinate, p), ...);
    }(typename M::InputNumbers{});
    [&]<int... S>(std::integer_sequence<int, S...>) TYPEFLOW_INLINE_LAMBDA {
      (enter_store<S>(call, coordinate, p), ...);
    }(typename M::StoreNumbers{});
  }
  /// A row's value of an input that does not run along it.
  template <int I>
  TYPEFLOW_INLINE static In<I> value_of_row(const KernelCall& call, const Layout* in,
                                            const std::int64_t* coordinate, std::int64_t row) {
    if constexpr (Rows::template place<I> == RowsPlace::along_outside) {
      return static_cast<In<I>>(Rows::template position<I>(coordinate));
    } else if constexpr (Rows::template place<I> == RowsPlace::one_each) {
      return call.operand<const In<I>>(M::template operand<I>)[row];
    } else {
      return *Rows::template operand<I>(call, in, coordinate);
    }
  }

  /// The vector at element i of a row; its first `count` elements if it is a part.
  template <int P, bool Reload>
  TYPEFLOW_INLINE static void step(const Registers& of_row, const KernelCall& call, const Ops& ops,
                                   Kept& kept, const Row& p, States& state, std::int64_t i) {
    step_of<P, Reload>(
        of_row, call, ops, kept, p, i,
        [](const auto* at) TYPEFLOW_INLINE_LAMBDA { return L::load(at); },
        [&](auto& fold, const auto& x) TYPEFLOW_INLINE_LAMBDA { fold.step(x, p.position + i); },
        [](auto* at, const auto& x) TYPEFLOW_INLINE_LAMBDA { L::store(at, x); }, state);
  }
  /// The same for elementwise kernels.
  TYPEFLOW_INLINE static void step_map(const Registers& of_row, const KernelCall& call,
                                       const Ops& ops, Kept& kept, const Row& p, States& none,
                                       std::int64_t i) {
    step_of<0, false>(
        of_row, call, ops, kept, p, i,
        [](const auto* at) TYPEFLOW_INLINE_LAMBDA { return L::load(at); },
        [](auto&, const auto&) TYPEFLOW_INLINE_LAMBDA {},
        [&](auto* at, const auto& x) TYPEFLOW_INLINE_LAMBDA {
          if constexpr (streams_maps) {
            // Not a loop for each: half the code, and no slower.
            if (uncounted(p.streams) != 0) return L::stream(at, x);
          }
          L::store(at, x);
        },
        none);
  }
  template <int P, bool Reload>
  TYPEFLOW_INLINE static void step_part(const Registers& of_row, const KernelCall& call,
                                        const Ops& ops, Kept& kept, const Row& p, States& state,
                                        std::int64_t i, int count) {
    step_of<P, Reload>(
        of_row, call, ops, kept, p, i,
        [=](const auto* at) TYPEFLOW_INLINE_LAMBDA { return Rows::load_some(at, count); },
        [&, count](auto& fold, const auto& x) TYPEFLOW_INLINE_LAMBDA {
          if (count == N) {
            fold.step(x, p.position + i);
          } else {
            fold.step(x, p.position + i, count);
          }
        },
        [=](auto* at, const auto& x) TYPEFLOW_INLINE_LAMBDA { Rows::store_some(at, x, count); },
        state);
  }

 private:
  template <int I>
  TYPEFLOW_INLINE static void enter(const KernelCall& call, const Layout* in,
                                    const std::int64_t* coordinate, Row& p) {
    if constexpr (along_row<I> && !M::template Input<I>::is_index) {
      if constexpr (Rows::template place<I> == RowsPlace::matrix) {
        p.in[I] = call.operand<const In<I>>(M::template operand<I>) + p.index;
      } else if constexpr (Rows::template place<I> == RowsPlace::shared) {
        p.in[I] = call.operand<const In<I>>(M::template operand<I>) + in[I].begin + p.position;
      } else {
        p.in[I] = Rows::template operand<I>(call, in, coordinate) + p.position;
      }
    }
  }
  template <int S>
  TYPEFLOW_INLINE static void enter_store(const KernelCall& call, const std::int64_t* coordinate,
                                          Row& p) {
    using O = typename M::template Out<S>;
    if constexpr (!O::is_row) {
      if constexpr (O::is_strided) {
        p.out[S] = Rows::template result<S>(call, coordinate) + p.position;
      } else {
        p.out[S] = call.operand<element_of<O::dtype>>(M::first_store + S) + p.index;
      }
    }
  }

  template <int P, bool Reload, class Load, class Fold, class Store>
  TYPEFLOW_INLINE static void step_of(const Registers& of_row, const KernelCall& call,
                                      const Ops& ops, Kept& kept, const Row& p, std::int64_t i,
                                      const Load& load_at, const Fold& fold, const Store& store_at,
                                      States& state) {
    Registers r;
    [&]<int... V>(std::integer_sequence<int, V...>) TYPEFLOW_INLINE_LAMBDA {
      (take<P, V, Reload>(r, of_row), ...);
    }(std::make_integer_sequence<int, M::values>{});
    [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
      (load<P, I, Reload>(r, p, i, load_at), ...);
    }(typename M::InputNumbers{});
    M::template each_kept<P, true>([&]<int K, int V>() TYPEFLOW_INLINE_LAMBDA {
      if constexpr (Reload) get<V>(r) = get<K>(kept)[p.first_kept + i / N];
    });
    ElementContext at;
    at.random = call.random;
    at.index = p.index + i;
    M::template evaluate<P, Reload>(r, ops, at);
    M::template each_kept<P, false>([&]<int K, int V>() TYPEFLOW_INLINE_LAMBDA {
      if (i < kept_elements) get<K>(kept)[p.first_kept + i / N] = get<V>(r);
    });
    M::template each_fold<P>([&]<int I>() TYPEFLOW_INLINE_LAMBDA {
      fold(get<I>(state), get<M::template fold_argument<I>>(r));
    });
    if constexpr (P == M::passes - 1) {
      [&]<int... S>(std::integer_sequence<int, S...>) TYPEFLOW_INLINE_LAMBDA {
        (store<S>(r, p, i, store_at), ...);
      }(typename M::StoreNumbers{});
    }
  }
  /// Value V of the row, if pass P needs it.
  template <int P, int V, bool Reload>
  TYPEFLOW_INLINE static void take(Registers& r, const Registers& of_row) {
    if constexpr (M::template is_one_along<V, inner_bit> && M::template needs<P, V, Reload>) {
      get<V>(r) = get<V>(of_row);
    }
  }
  template <int P, int I, bool Reload, class F>
  TYPEFLOW_INLINE static void load(Registers& r, const Row& p, std::int64_t i, const F& load_at) {
    if constexpr (along_row<I> && M::template needs<P, I, Reload>) {
      if constexpr (M::template Input<I>::is_index) {
        get<I>(r) = L::positions(p.position + i);
      } else {
        const In<I>* const at = static_cast<const In<I>*>(p.in[I]) + i;
        if constexpr (P == 0 && M::template has_folds<P>) {
          if (p.ahead >= 0) __builtin_prefetch(reinterpret_cast<const char*>(at) + p.ahead);
        }
        get<I>(r) = load_at(at);
      }
    }
  }
  template <int S, class F>
  TYPEFLOW_INLINE static void store(const Registers& r, const Row& p, std::int64_t i,
                                    const F& store_at) {
    using Out = typename M::template Out<S>;
    if constexpr (!Out::is_row) {
      store_at(static_cast<element_of<Out::dtype>*>(p.out[S]) + i, get<Out::value>(r));
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
