// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folds over rows that are longer than short ones (small_rows.hpp), with what follows them.
//
// There are as many passes over a row as its folds need: a softmax with its gradient takes three. A
// value that several passes need is computed again, which usually costs less than memory. But
// values of costly functions are kept by the first pass that computes them, for as much of a row as
// a buffer holds. They have the same bits as if they were computed again.
//
// A row of many vectors is folded in four accumulators, over chunks of a fixed size; a row of few
// vectors in one. The lanes of up to 16 rows' accumulators are folded together. None of that
// depends on threads, so the bits of a result depend on extents alone.

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "typeflow/cpu/row_loops.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <int Outer, class L, class M>
class RowFolds : RowLoops<Outer, L, M> {
  using Loops = RowLoops<Outer, L, M>;
  using Loops::inner_bit;
  using Loops::N;
  using typename Loops::Kept;
  using typename Loops::Layout;
  using typename Loops::Ops;
  using typename Loops::Registers;
  using typename Loops::Row;
  using typename Loops::Rows;
  using typename Loops::States;
  template <int I>
  using In = typename Rows::template In<I>;

 public:
  /// Whether so few rows are so long that threads share the chunks of each.
  static bool shares_chunks(const KernelCall& call, std::int64_t rows, std::int64_t length) {
    return has_chunks && call.stream != nullptr && rows <= few_rows && length > fold_chunk &&
           length * M::cost >= 2 * cost_of_part;
  }

  /// Rows [begin, end), one after the other if threads share their chunks.
  [[gnu::flatten]] static void run(const KernelCall& call, const Layout* in, std::int64_t length,
                                   std::int64_t begin, std::int64_t end, bool shares) {
    const Ops ops = M::decode(call.words);
    Kept kept;
    const std::int64_t together = rows_together(length);
    for (std::int64_t row = begin; row < end; row += together) {
      Block b;
      b.row = row;
      b.rows = uncounted(static_cast<int>(std::min(together, end - row)));
      if constexpr (Rows::has_coordinates) Rows::first_coordinates(call, row, b.coordinate);
      Registers r;  // lane k is of row k
      ElementContext at;
      at.random = call.random;
      at.index = row;
      [&]<int... I>(std::integer_sequence<int, I...>)
          TYPEFLOW_INLINE_LAMBDA { (enter<I>(call, in, b, r), ...); }(typename M::InputNumbers{});
      M::template evaluate_rows<0>(r, ops, at);
      [&]<int... P>(std::integer_sequence<int, P...>) TYPEFLOW_INLINE_LAMBDA {
        (pass<P>(call, in, length, b, ops, kept, at, shares, r), ...);
      }(std::make_integer_sequence<int, M::passes>{});
      [&]<int... S>(std::integer_sequence<int, S...>)
          TYPEFLOW_INLINE_LAMBDA { (leave<S>(call, b, r), ...); }(typename M::StoreNumbers{});
    }
  }

 private:
  /// Rows whose lanes are folded together: a lane of their values for each. Kernels without outer
  /// axes have one row.
  static constexpr int most_together = Outer == 0 ? 1 : std::min(N, 16);
  /// Rows of fewer elements are fetched far ahead, unless they have few vectors. Processors fetch
  /// the lines of longer ones by themselves, but a single pass still gains by asking for the next.
  static constexpr std::int64_t fetched_length = 400;
  /// Threads may share the chunks of a row, of so few rows, if there is one pass.
  static constexpr bool has_chunks = M::passes == 1;
  static constexpr std::int64_t few_rows = 8;
  /// Chunks whose states are kept until they are merged.
  static constexpr std::int64_t room = std::max<std::int64_t>(8, (1 << 15) / sizeof(States));

  /// If there are several passes, as many as the innermost cache keeps from one to the next. A row
  /// alone if there were few: folding their lanes together would take longer than for each.
  static std::int64_t rows_together(std::int64_t length) {
    constexpr std::int64_t elements = M::passes > 1 ? 4096 : fold_chunk;
    const std::int64_t rows =
        std::min<std::int64_t>(elements / std::max<std::int64_t>(length, 1), most_together);
    return 2 * rows < most_together ? 1 : rows;
  }
  /// Whether pass P computes little of each element, so that a loop's own instructions count.
  template <int P>
  static constexpr bool is_cheap = [] {
    int flops = 0;
    for (int i = 0; i < M::items; ++i) {
      const bool computes =
          is_element_value(M::item_specs[i]) &&
          M::template needed<P, false>[static_cast<std::size_t>(M::first_item + i)];
      if (computes) flops += M::flops[i];
    }
    return flops < M::costly && !M::template has_reloads<P>;
  }();
  /// Whether all vectors of a row are folded in one accumulator. It depends on the length alone, so
  /// that kernels that fold the same values have the same bits, whatever else they compute.
  static bool is_few_vectors(std::int64_t length) { return length < 16 * N; }

  /// Rows whose lanes are folded together.
  struct Block {
    std::int64_t row;  ///< the first
    int rows;
    std::int64_t coordinate[Outer + 1];  ///< of the first row, if some operand needs them

    TYPEFLOW_INLINE int count() const { return most_together == 1 ? 1 : rows; }
  };

  TYPEFLOW_INLINE static void copy_block(const Block& from, Block& to) {
    to.row = from.row;
    to.rows = from.rows;
    if constexpr (Rows::has_coordinates) {
      for (int k = 0; k < Outer; ++k) to.coordinate[k] = from.coordinate[k];
    }
  }

  /// The rows' values of input I.
  template <int I>
  TYPEFLOW_INLINE static void enter(const KernelCall& call, const Layout* in, const Block& b,
                                    Registers& r) {
    if constexpr (Loops::template along_row<I>) {
    } else if constexpr (Rows::template place<I> == RowsPlace::one_each) {
      const In<I>* const at = call.operand<const In<I>>(M::template operand<I>) + b.row;
      get<I>(r) = Rows::load_some(at, b.count());
    } else {
      Array<In<I>, N> all{};
      Block row = b;
      for (int k = 0; k < b.count(); ++k) {
        all.v[k] = Loops::template value_of_row<I>(call, in, row.coordinate, b.row + k);
        Rows::next_coordinates(call, row.coordinate);
      }
      get<I>(r) = L::load(all.v);
    }
  }
  template <int S>
  TYPEFLOW_INLINE static void leave(const KernelCall& call, Block b, const Registers& r) {
    using Out = typename M::template Out<S>;
    using T = element_of<Out::dtype>;
    if constexpr (Out::is_row && Out::is_strided) {
      const Array<T, N> all = L::template elements<T>(get<Out::value>(r));
      for (int k = 0; k < b.count(); ++k) {
        *Rows::template result<S>(call, b.coordinate) = all.v[k];
        Rows::next_coordinates(call, b.coordinate);
      }
    } else if constexpr (Out::is_row) {
      Rows::store_some(call.operand<T>(M::first_store + S) + b.row, get<Out::value>(r), b.count());
    }
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
  /// Value V of row k of a block in all lanes, if pass P needs it.
  template <int P, int V>
  TYPEFLOW_INLINE static void take_value(const KernelCall& call, const Layout* in,
                                         const std::int64_t* coordinate, std::int64_t row,
                                         const RowValues& values, int k, Registers& of_row) {
    if constexpr (M::template is_one_along<V, inner_bit> && passes_need<P, V>) {
      using T = typename M::template ElementOf<V>;
      if constexpr (V >= M::first_item) {
        get<V>(of_row) = L::template broadcast<Computed<T>>(get<V>(values).v[k]);
      } else {
        get<V>(of_row) =
            L::template broadcast<T>(Loops::template value_of_row<V>(call, in, coordinate, row));
      }
    }
  }

  template <int P>
  TYPEFLOW_INLINE static void pass(const KernelCall& call, const Layout* in, std::int64_t length,
                                   const Block& b, const Ops& ops, Kept& kept,
                                   const ElementContext& at, bool shares, Registers& r) {
    RowValues values;
    [&]<int... V>(std::integer_sequence<int, V...>) TYPEFLOW_INLINE_LAMBDA {
      (keep_value<P, V>(r, values), ...);
    }(std::make_integer_sequence<int, M::values>{});
    if constexpr (!M::template has_folds<P>) {
      map_rows<P>(call, in, length, b, values, ops, kept);
    } else {
      States states[most_together];
      States* const state = unbounded(states);
      bool done = false;
      if constexpr (is_cheap<P> && most_together > 1) {
        done = is_few_vectors(length) && rows_together(length) > 1;
        if (done) fold_few<P>(call, in, length, b, values, ops, kept, state);
      }
      if constexpr (has_chunks) {
        if (shares) share_chunks(call, in, length, b, values, ops, kept, state[0]);
        done = done || shares;
      }
      if (!done) fold_rows<P>(call, in, length, b, values, ops, kept, state, 0, length);
      const bool is_alone = b.count() == 1;
      if (!is_alone) {
        for (int k = b.count(); k < most_together; ++k) reset<P>(state[k]);
      }
      M::template each_fold<P>([&]<int I>() TYPEFLOW_INLINE_LAMBDA {
        const auto fold = [&](int k) TYPEFLOW_INLINE_LAMBDA -> auto& { return get<I>(state[k]); };
        using State = std::remove_cvref_t<decltype(fold(0))>;
        if (is_alone) {
          fold(0).finish();
        } else if constexpr (most_together > 1) {
          State::template finish_together<most_together>(fold);
        }
        get<M::first_item + I>(r) = fold(0).result();
      });
      M::template evaluate_rows<P + 1>(r, ops, at);
    }
  }
  template <int P>
  TYPEFLOW_INLINE static void reset(States& state) {
    M::template each_fold<P>([&]<int I>() TYPEFLOW_INLINE_LAMBDA { get<I>(state).reset(); });
  }

  template <int P>
  TYPEFLOW_INLINE static void begin_row(const KernelCall& call, const Layout* in,
                                        std::int64_t length, const std::int64_t* coordinate,
                                        const Block& b, const RowValues& values, int k, Row& p,
                                        Registers& of_row) {
    Loops::begin_row(call, in, length, coordinate, b.row + k, 0, p);
    p.first_kept = k * ((length + N - 1) / N);
    p.ahead = length < fetched_length ? 4096 : M::passes == 1 ? 256 : 0;
    [&]<int... V>(std::integer_sequence<int, V...>) TYPEFLOW_INLINE_LAMBDA {
      (take_value<P, V>(call, in, coordinate, b.row + k, values, k, of_row), ...);
    }(std::make_integer_sequence<int, M::values>{});
  }

  /// A pass without folds.
  template <int P>
  [[gnu::noinline, gnu::flatten]] static void map_rows(const KernelCall& call, const Layout* in,
                                                       std::int64_t length, const Block& block,
                                                       const RowValues& values,
                                                       const Ops& operations, Kept& kept) {
    const Ops ops = operations;
    Block b;
    copy_block(block, b);
    for (int k = 0; k < b.count(); ++k) {
      Row p;
      Registers of_row;
      begin_row<P>(call, in, length, b.coordinate, b, values, k, p, of_row);
      std::int64_t i = 0;
      if constexpr (M::template has_reloads<P>) {
        i = map<P, true>(of_row, call, ops, kept, p, 0, std::min(Loops::kept_elements, length));
      }
      map<P, false>(of_row, call, ops, kept, p, i, length);
      Rows::next_coordinates(call, b.coordinate);
    }
  }
  /// Elements [i, end) of a row. Returns `end`.
  template <int P, bool Reload>
  TYPEFLOW_INLINE static std::int64_t map(const Registers& of_row, const KernelCall& call,
                                          const Ops& ops, Kept& kept, const Row& p, std::int64_t i,
                                          std::int64_t end) {
    States none;
    for (; i + N <= end; i += N) {
      Loops::template step<P, Reload>(of_row, call, ops, kept, p, none, i);
    }
    if (i < end) {
      Loops::template step_part<P, Reload>(of_row, call, ops, kept, p, none, i,
                                           static_cast<int>(end - i));
    }
    return end;
  }

  /// A pass over elements [first, last) of a block's rows, chunk by chunk. The folds go to `total`;
  /// their lanes are folded later. A function of its own, so that registers are left for what rows
  /// need.
  template <int P>
  [[gnu::noinline, gnu::flatten]] static void fold_rows(const KernelCall& call, const Layout* in,
                                                        std::int64_t length, const Block& block,
                                                        const RowValues& values,
                                                        const Ops& operations, Kept& kept,
                                                        States* total, std::int64_t first,
                                                        std::int64_t last) {
    const Ops ops = operations;
    const bool few = is_few_vectors(length);
    Block b;
    copy_block(block, b);
    for (int k = 0; k < b.count(); ++k) {
      Row p;
      Registers of_row;
      begin_row<P>(call, in, length, b.coordinate, b, values, k, p, of_row);
      reset<P>(total[k]);
      for (std::int64_t begin = first; begin < last; begin += fold_chunk) {
        States state[4];
        for (States& s : state) reset<P>(s);
        const std::int64_t end = std::min(begin + fold_chunk, last);
        if (M::template has_reloads<P> && end <= Loops::kept_elements) {
          fold<P, M::template has_reloads<P>>(of_row, call, ops, kept, p, state, few, begin, end);
        } else {
          fold<P, false>(of_row, call, ops, kept, p, state, few, begin, end);
        }
        if (few) {
          merge<P>(state[3], total[k], true);
          continue;
        }
        M::template each_fold<P>([&]<int I>() TYPEFLOW_INLINE_LAMBDA {
          get<I>(state[0]).merge(get<I>(state[1]));
          get<I>(state[2]).merge(get<I>(state[3]));
          get<I>(state[0]).merge(get<I>(state[2]));
        });
        merge<P>(state[0], total[k], begin == first);
      }
      Rows::next_coordinates(call, b.coordinate);
    }
  }
  template <int P>
  TYPEFLOW_INLINE static void merge(const States& state, States& total, bool is_first) {
    M::template each_fold<P>([&]<int I>() TYPEFLOW_INLINE_LAMBDA {
      if (is_first) {
        get<I>(total) = get<I>(state);
      } else {
        get<I>(total).merge(get<I>(state));
      }
    });
  }

  /// The only pass over the one row of a block. Threads fold its chunks, which are merged in order.
  TYPEFLOW_COLD static void share_chunks(const KernelCall& call, const Layout* in,
                                         std::int64_t length, const Block& b,
                                         const RowValues& values, const Ops& ops, Kept& kept,
                                         States& total) {
    struct Shared {
      const KernelCall& call;
      const Layout* in;
      std::int64_t length;
      const Block& b;
      const RowValues& values;
      const Ops& ops;
      Kept& kept;
      States* total;
      States* state;
    };
    States state[room];
    Shared all{call, in, length, b, values, ops, kept, &total, state};
    fold_chunks(call, {(length - 1) / fold_chunk + 1, room, M::cost * fold_chunk, &all,
                       [](void* context, std::int64_t begin, std::int64_t end) {
                         Shared& s = *static_cast<Shared*>(context);
                         for (std::int64_t k = begin; k < end; ++k) {
                           fold_rows<0>(s.call, s.in, s.length, s.b, s.values, s.ops, s.kept,
                                        s.state + k % room, k * fold_chunk,
                                        std::min((k + 1) * fold_chunk, s.length));
                         }
                       },
                       [](void* context, std::int64_t chunk) {
                         Shared& s = *static_cast<Shared*>(context);
                         merge<0>(s.state[chunk % room], *s.total, chunk == 0);
                       }});
  }

  /// Elements [i, end): four vectors at a time, each with its own accumulator; the rest, and all of
  /// few vectors, goes to the last one. With Reload, kept values are reloaded.
  template <int P, bool Reload>
  TYPEFLOW_INLINE static void fold(const Registers& of_row, const KernelCall& call, const Ops& ops,
                                   Kept& kept, const Row& p, States* state, bool few,
                                   std::int64_t i, std::int64_t end) {
    for (std::int64_t n = few ? 0 : (end - i) / (4 * N); n > 0; --n, i += 4 * N) {
      [&]<int... U>(std::integer_sequence<int, U...>) TYPEFLOW_INLINE_LAMBDA {
        (Loops::template step<P, Reload>(of_row, call, ops, kept, p, state[U], i + U * N), ...);
      }(std::make_integer_sequence<int, 4>{});
    }
    for (std::int64_t left = end - i; left > 0; left -= N, i += N) {
      const int count = static_cast<int>(std::min<std::int64_t>(N, left));
      Loops::template step_part<P, Reload>(of_row, call, ops, kept, p, state[3], i, count);
    }
  }

  /// The same for rows of few vectors.
  template <int P>
  [[gnu::noinline, gnu::flatten]] static void fold_few(const KernelCall& call, const Layout* in,
                                                       std::int64_t length, const Block& block,
                                                       const RowValues& values,
                                                       const Ops& operations, Kept& kept,
                                                       States* total) {
    const Ops ops = operations;
    Block b;
    copy_block(block, b);
    const int rest = static_cast<int>(length % N);
    const std::int64_t whole = length - rest;
    for (int k = 0; k < b.count(); ++k) {
      Row p;
      Registers of_row;
      begin_row<P>(call, in, length, b.coordinate, b, values, k, p, of_row);
      p.ahead = -1;  // the processor does it, and little else is to be done meanwhile
      States state;
      reset<P>(state);
      for (std::int64_t i = 0; i < whole; i += N) {
        Loops::template step<P, false>(of_row, call, ops, kept, p, state, i);
      }
      if (rest > 0) {
        Loops::template step_part<P, false>(of_row, call, ops, kept, p, state, whole, rest);
      }
      M::template each_fold<P>([&]<int I>()
                                   TYPEFLOW_INLINE_LAMBDA { get<I>(total[k]) = get<I>(state); });
      Rows::next_coordinates(call, b.coordinate);
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
