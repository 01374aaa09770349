// SPDX-License-Identifier: Apache-2.0
#pragma once

// Loops over rows of few elements, which would fill only a part of a vector.
//
// Folds take as many rows at a time as a vector has lanes, a lane for each row. Operands are copied
// to tiles that have the same element of all rows in one vector, results back. Each row is folded
// in order, so the bits do not depend on the number of lanes.
//
// flat_rows.hpp has the loops without folds, small_columns.hpp those over columns.

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "typeflow/cpu/row_operands.hpp"
#include "typeflow/cpu/row_tiles.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// Rows [begin, end) of a kernel that folds them.
template <int Outer, class L, class M>
class SmallFolds : RowOperands<Outer, L, M> {
  using Rows = RowOperands<Outer, L, M>;
  using Rows::N;
  using typename Rows::Layout;
  using typename Rows::Ops;
  using typename Rows::Registers;
  using typename Rows::States;
  template <int I>
  using In = typename Rows::template In<I>;
  template <int S>
  using Out = typename Rows::template Out<S>;

 public:
  static void run(const KernelCall& call, const Layout* in, std::int64_t length, std::int64_t begin,
                  std::int64_t end) {
    if constexpr (is_simple) {
      if (length == 2) return run_rows<2>(call, in, 2, begin, end);
      if (length == 3) return run_rows<3>(call, in, 3, begin, end);
      if (length == 4) return run_rows<4>(call, in, 4, begin, end);
    }
    run_rows<0>(call, in, length, begin, end);
  }

 private:
  static constexpr bool stores_rows = [] {
    for (int s = 0; s < M::stores; ++s) {
      if (!M::store_specs[s].is_row) return false;
    }
    return true;
  }();
  /// Whether loops for a constant number of elements are worth their code. Loading and folding such
  /// rows takes few instructions, so others count.
  static constexpr bool is_simple = permutes_columns && M::inputs == 1 && M::items <= 2 &&
                                    M::passes == 1 && stores_rows &&
                                    Rows::place_of(M::input_specs[0]) == RowsPlace::matrix;

  /// With Length, rows of so many elements.
  template <int Length>
  [[gnu::noinline, gnu::flatten]] static void run_rows(const KernelCall& call, const Layout* in,
                                                       std::int64_t any_length, std::int64_t begin,
                                                       std::int64_t end) {
    const std::int64_t length = Length == 0 ? any_length : Length;
    const Ops ops = M::decode(call.words);
    Memory memory;
    for (std::int64_t row = begin; row < end; row += N) {
      Block b;
      b.row = row;
      b.end = end;
      b.count = static_cast<int>(std::min<std::int64_t>(N, end - row));
      b.at.random = call.random;
      find_coordinates(call, b);
      Registers r;
      [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
        (enter<I, Length>(call, in, length, b, memory, r), ...);
      }(typename M::InputNumbers{});
      b.at.index = row;
      b.at.lane_stride = 1;
      M::template evaluate_rows<0>(r, ops, b.at);
      [&]<int... P>(std::integer_sequence<int, P...>) TYPEFLOW_INLINE_LAMBDA {
        (pass<P>(ops, length, b, memory, r), ...);
      }(std::make_integer_sequence<int, M::passes>{});
      [&]<int... S>(std::integer_sequence<int, S...>) TYPEFLOW_INLINE_LAMBDA {
        (leave<S>(call, length, b, memory, r), ...);
      }(typename M::StoreNumbers{});
    }
  }

  /// Rows of the kernel, one after the other.
  struct Block {
    std::int64_t row;  ///< the first
    int count;
    std::int64_t end;                   ///< of the kernel's rows, or those of its task
    std::int64_t coordinate[N][Outer];  ///< of the rows, if some operand needs them
    bool in_line = false;  ///< whether the rows are all, and differ only by the last outer axis
    ElementContext at;
  };

  TYPEFLOW_INLINE static void find_coordinates(const KernelCall& call, Block& b) {
    if constexpr (Rows::has_coordinates) {
      std::int64_t coordinate[Outer];
      Rows::first_coordinates(call, b.row, coordinate);
      b.in_line = b.count == N && coordinate[Outer - 1] + N <= call.extents[Outer - 1];
      if (b.in_line) {
        for (int lane = 0; lane < N; ++lane) {
          for (int k = 0; k < Outer; ++k) b.coordinate[lane][k] = coordinate[k];
          b.coordinate[lane][Outer - 1] += lane;
        }
        return;
      }
      for (int lane = 0; lane < b.count; ++lane) {
        for (int k = 0; k < Outer; ++k) b.coordinate[lane][k] = coordinate[k];
        Rows::next_coordinates(call, coordinate);
      }
    }
  }
  struct Nothing {};
  template <int I>
  static constexpr bool has_tile = Rows::template place<I> == RowsPlace::matrix ||
                                   Rows::template place<I> == RowsPlace::scattered;
  template <class InputNumbers, class StoreNumbers>
  struct MemoryOf;
  template <int... I, int... S>
  struct MemoryOf<std::integer_sequence<int, I...>, std::integer_sequence<int, S...>> {
    FlatTuple<std::conditional_t<
        has_tile<I>, RowTile<In<I>, N>,
        std::conditional_t<Rows::template place<I> == RowsPlace::shared, const In<I>*, Nothing>>...>
        in;
    FlatTuple<std::conditional_t<M::template Out<S>::is_row, Nothing, RowTile<Out<S>, N>>...> out;
    typename M::template KeptOf<static_cast<int>(ir::small_extent)>::type kept;
  };
  /// Tiles, and rows that all rows share.
  using Memory = MemoryOf<typename M::InputNumbers, typename M::StoreNumbers>;

  template <int I, int Length>
  TYPEFLOW_INLINE static void enter(const KernelCall& call, const Layout* in, std::int64_t length,
                                    const Block& b, Memory& memory, Registers& r) {
    constexpr RowsPlace place = Rows::template place<I>;
    using T = In<I>;
    if constexpr (place == RowsPlace::matrix) {
      const T* const from = call.operand<const T>(M::template operand<I>) + b.row * length;
      const std::int64_t readable = (b.end - b.row) * length;
      if constexpr (Length != 0) {
        if (b.count == N && load_columns(from, length, readable, get<I>(memory.in))) return;
      }
      load_tile(from, b.count, length, readable, get<I>(memory.in));
    } else if constexpr (place == RowsPlace::shared) {
      get<I>(memory.in) = call.operand<const T>(M::template operand<I>) + in[I].begin;
    } else if constexpr (place == RowsPlace::scattered) {
      if (b.in_line && M::template Input<I>::spec.offsets == 0) {
        constexpr bool along = (M::template Input<I>::axes >> (Outer - 1) & 1u) != 0;
        const std::int64_t step = along ? in[I].stride[Outer - 1] : 0;
        const T* const from = Rows::template operand<I>(call, in, b.coordinate[0]);
        if (step == length) return load_tile(from, N, length, N * length, get<I>(memory.in));
        if (step == 0) return repeat_row(from, length, get<I>(memory.in));
      }
      T* const tile = get<I>(memory.in).v;
      if (b.count < N) std::fill_n(tile, length * N, T(0));
      for (int lane = 0; lane < b.count; ++lane) {
        const T* const from = Rows::template operand<I>(call, in, b.coordinate[lane]);
        for (std::int64_t j = 0; j < length; ++j) tile[j * N + lane] = from[j];
      }
    } else if constexpr (place == RowsPlace::one_each) {
      get<I>(r) = Rows::load_some(call.operand<const T>(M::template operand<I>) + b.row, b.count);
    } else if constexpr (place == RowsPlace::one) {
      Array<T, N> all{};
      for (int lane = 0; lane < b.count; ++lane) {
        all.v[lane] = *Rows::template operand<I>(call, in, b.coordinate[lane]);
      }
      get<I>(r) = L::load(all.v);
    } else if constexpr (place == RowsPlace::along_outside) {
      Array<T, N> all{};
      for (int lane = 0; lane < b.count; ++lane) {
        all.v[lane] = static_cast<T>(Rows::template position<I>(b.coordinate[lane]));
      }
      get<I>(r) = L::load(all.v);
    }
  }
  template <int P>
  TYPEFLOW_INLINE static void pass(const Ops& ops, std::int64_t length, Block& b, Memory& memory,
                                   Registers& r) {
    constexpr bool reloads = M::template has_reloads<P>;
    States state;
    M::template each_fold<P>([&]<int I>() TYPEFLOW_INLINE_LAMBDA { get<I>(state).reset(); });
    b.at.lane_stride = length;
    for (std::int64_t j = 0; j < length; ++j) {
      [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
        (element<P, I, reloads>(r, memory, j), ...);
      }(typename M::InputNumbers{});
      M::template each_kept<P, true>([&]<int K, int V>() TYPEFLOW_INLINE_LAMBDA {
        if constexpr (reloads) get<V>(r) = get<K>(memory.kept)[j];
      });
      b.at.index = b.row * length + j;
      M::template evaluate<P, reloads>(r, ops, b.at);
      M::template each_kept<P, false>(
          [&]<int K, int V>() TYPEFLOW_INLINE_LAMBDA { get<K>(memory.kept)[j] = get<V>(r); });
      M::template each_fold<P>([&]<int I>() TYPEFLOW_INLINE_LAMBDA {
        get<I>(state).step(get<M::template fold_argument<I>>(r), j);
      });
      if constexpr (P == M::passes - 1) {
        [&]<int... S>(std::integer_sequence<int, S...>)
            TYPEFLOW_INLINE_LAMBDA { (store<S>(r, memory, j), ...); }(typename M::StoreNumbers{});
      }
    }
    if constexpr (M::template has_folds<P>) {
      M::template each_fold<P>([&]<int I>() TYPEFLOW_INLINE_LAMBDA {
        get<M::first_item + I>(r) = get<I>(state).result();
      });
      b.at.index = b.row;
      b.at.lane_stride = 1;
      M::template evaluate_rows<P + 1>(r, ops, b.at);
    }
  }
  /// Element j of the rows.
  template <int P, int I, bool Reload>
  TYPEFLOW_INLINE static void element(Registers& r, const Memory& memory, std::int64_t j) {
    if constexpr (M::template needs<P, I, Reload>) {
      if constexpr (has_tile<I>) {
        get<I>(r) = L::load(get<I>(memory.in).v + j * N);
      } else if constexpr (Rows::template place<I> == RowsPlace::shared) {
        get<I>(r) = L::template broadcast<In<I>>(get<I>(memory.in)[j]);
      } else if constexpr (Rows::template place<I> == RowsPlace::along_row) {
        get<I>(r) = L::template broadcast<In<I>>(static_cast<In<I>>(j));
      }
    }
  }
  template <int S>
  TYPEFLOW_INLINE static void store(const Registers& r, Memory& memory, std::int64_t j) {
    using O = typename M::template Out<S>;
    if constexpr (!O::is_row) L::store(get<S>(memory.out).v + j * N, get<O::value>(r));
  }

  template <int S>
  TYPEFLOW_INLINE static void leave(const KernelCall& call, std::int64_t length, const Block& b,
                                    const Memory& memory, const Registers& r) {
    using O = typename M::template Out<S>;
    using T = Out<S>;
    if constexpr (O::is_row && O::is_strided) {
      Array<T, N> all;
      L::store(all.v, get<O::value>(r));
      for (int lane = 0; lane < b.count; ++lane) {
        *Rows::template result<S>(call, b.coordinate[lane]) = all.v[lane];
      }
    } else if constexpr (O::is_row) {
      Rows::store_some(call.operand<T>(M::first_store + S) + b.row, get<O::value>(r), b.count);
    } else if constexpr (O::is_strided) {
      const T* const tile = get<S>(memory.out).v;
      for (int lane = 0; lane < b.count; ++lane) {
        T* const to = Rows::template result<S>(call, b.coordinate[lane]);
        for (std::int64_t j = 0; j < length; ++j) to[j] = tile[j * N + lane];
      }
    } else {
      store_tile(get<S>(memory.out), b.count, length,
                 call.operand<T>(M::first_store + S) + b.row * length);
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
