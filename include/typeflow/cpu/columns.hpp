// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folds over an axis that has another one inside of it: column sums, gradients of biases, a softmax
// over an outer axis. SIMD lanes run along the inner axis, so every lane folds its own column in
// order. Narrow matrices have loops of their own (small_columns.hpp).

#include <algorithm>

#include "typeflow/cpu/rows.hpp"
#include "typeflow/cpu/small_columns.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <bool Wide, int Outer, ir::InnerExtent Inner, class B, class A>
struct Code<ir::ColumnsKernel<Wide, Outer, Inner, B>, A> {
  using L = typename LanesOfBody<Wide, A, B>::type;
  using M = Machine<L, B>;
  using Registers = typename M::Registers;
  using Ops = typename M::Ops;
  using States = typename M::States;
  static constexpr int N = L::size;
  static constexpr int many = 16;  ///< vectors of columns in a block
  static constexpr int few = 4;    ///< the same if there are few
  /// Vectors that go down the rows together. In a single pass adjacent blocks do, so that each row
  /// is read in one long piece. Several passes find a narrow block in the cache again.
  static constexpr int most = M::passes > 1 ? many : 4 * many;
  /// Threads share the chunks of at most so many blocks, or outer indices, if there are at least so
  /// many chunks.
  static constexpr std::int64_t few_tasks = 4;
  static constexpr std::int64_t few_chunks = 8;
  static constexpr std::int64_t chunk = 256;  ///< rows that are folded before they are merged
  static constexpr ir::KernelSpace space = ir::space_of(ir::KernelKind::columns, Outer, true);
  static constexpr unsigned inner_bit = 2u << Outer;
  /// Whether a block's last vector may take columns of the one before it again, so that it is full.
  /// Elements that are stored may take the memory of operands, which then cannot be read again.
  static constexpr bool may_overlap = [] {
    for (int s = 0; s < M::stores; ++s) {
      if (!M::store_specs[s].is_row) return false;
    }
    return true;
  }();

  static std::int64_t workspace(const std::int64_t*) { return 0; }

  static void run(const KernelCall& call) {
    Geometry g{};
    g.length = call.extents[Outer];
    g.width = call.extents[Outer + 1];
    std::int64_t outer = 1;
    for (int k = 0; k < Outer; ++k) outer *= call.extents[k];
    [&]<int... I>(std::integer_sequence<int, I...>)
        TYPEFLOW_INLINE_LAMBDA { (find_layout<I>(call, g), ...); }(typename M::InputNumbers{});
    using Small = SmallColumns<Outer, L, M>;
    constexpr bool has_small =
        Small::possible && !M::gathers &&
        (Inner != ir::InnerExtent::large || Small::most_columns > ir::small_extent);
    if constexpr (has_small) {
      if (Inner == ir::InnerExtent::small || g.width <= Small::most_columns) {
        if (g.width == 0) return;
        Small::run(call, g.in, g.length, g.width, outer);
        return;
      }
    }
    if constexpr (Inner != ir::InnerExtent::small || !has_small) {
      wide_columns(call, g, outer);
    }
  }

 private:
  struct Geometry {
    std::int64_t length;  // of the folded axis
    std::int64_t width;   // of the inner axis
    bool shares_chunks;   // whether threads share the chunks of columns
    ir::OperandLayout<space.rank> in[M::inputs + 1];
  };
  static void wide_columns(const KernelCall& call, Geometry& g, std::int64_t outer) {
    // Wide blocks read more of a row at a time, narrow ones leave more for threads. The result of a
    // column does not depend on that.
    const std::int64_t block = N * (g.width >= 8 * many * N ? many : few);
    const std::int64_t blocks = (g.width + block - 1) / block;
    // Threads share the chunks of long columns: parts are then rows that lie side by side.
    const std::int64_t tasks = M::passes > 1 ? outer * blocks : outer;
    g.shares_chunks = call.stream != nullptr && tasks <= few_tasks &&
                      g.length >= few_chunks * chunk &&
                      M::cost * g.length * g.width >= 2 * tasks * cost_of_part;
    auto fold = [&](std::int64_t begin, std::int64_t end) {
      const Ops ops = M::decode(call.words);
      for (std::int64_t task = begin; task < end;) {
        const std::int64_t number = task % blocks;
        const std::int64_t together =
            M::passes > 1 ? 1 : std::min({end - task, blocks - number, most * N / block});
        columns(call, g, ops, task / blocks, number * block,
                std::min((number + together) * block, g.width));
        task += together;
      }
    };
    if (g.shares_chunks) {
      fold(0, outer * blocks);
    } else {
      const std::int64_t columns_of_block = std::min(block, g.width);
      parallel(call, outer * blocks, grain_of_cost(M::cost * g.length * columns_of_block), fold);
    }
  }

  /// The operands of one outer index.
  struct Place {
    const void* in[M::inputs + 1];
    std::int64_t position[M::inputs + 1];
    std::int64_t outer;
    std::int64_t ahead;  ///< rows between one that is read and one that is fetched
    std::int64_t known;  ///< rows, this and later outer indices', whose offsets lie side by side
    ElementContext at;
  };

  template <int I>
  static constexpr unsigned axes = M::template Input<I>::axes;
  template <int I>
  static constexpr bool folded = (axes<I> & space.folded) != 0;

  template <int I>
  static void find_layout(const KernelCall& call, Geometry& g) {
    g.in[I] = ir::layout_of<space.rank>(axes<I>, call.extents,
                                        M::template strides<I, space.rank>(call.extents));
  }

  [[gnu::flatten]] static void columns(const KernelCall& call, const Geometry& g, const Ops& ops,
                                       std::int64_t outer, std::int64_t j, std::int64_t end) {
    Place p;
    p.at.random = call.random;
    p.outer = outer;
    if constexpr (M::gathers) {
      p.known = Outer == 1 ? (call.extents[0] - outer) * g.length : g.length;
    }
    std::int64_t coordinate[Outer + 1];
    std::int64_t rest = outer;
    for (int k = Outer - 1; k >= 0; --k) {
      coordinate[k] = rest % call.extents[k];
      rest /= call.extents[k];
    }
    [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
      (enter<I>(call, g, coordinate, p), ...);
    }(typename M::InputNumbers{});
    const int vectors = static_cast<int>((end - j + N - 1) / N);
    p.ahead = vectors > many ? 2 : 8;
    const bool overlaps = may_overlap && vectors > 1;
    const int of_last = overlaps ? N : static_cast<int>(end - j - (vectors - 1) * N);
    fold_columns(call, g, ops, p, {j, end - of_last}, vectors, of_last);
  }

  /// The first columns of a block's vectors.
  struct Columns {
    std::int64_t first;
    std::int64_t last;  ///< no vector begins behind it

    TYPEFLOW_INLINE std::int64_t operator[](int u) const { return std::min(first + u * N, last); }
  };

  template <int I>
  TYPEFLOW_INLINE static void enter(const KernelCall& call, const Geometry& g,
                                    const std::int64_t* coordinate, Place& p) {
    using In = typename M::template Input<I>;
    std::int64_t offset = g.in[I].begin;
    std::int64_t position = 0;
    for (int k = 0; k < Outer; ++k) {
      if ((In::axes >> k & 1u) == 0) continue;
      offset += coordinate[k] * g.in[I].stride[k];
      position = coordinate[k];
    }
    if constexpr (In::spec.offsets != 0) {
      const auto& stride = g.in[In::spec.offsets - 1].stride;
      if (Outer == 0 || stride[Outer] != 1 || stride[0] != g.length) p.known = g.length;
    }
    if constexpr (In::is_index) {
      p.position[I] = position;
    } else {
      p.in[I] = call.operand<const element_of<In::dtype>>(M::template operand<I>) + offset;
    }
  }

  /// Vectors of columns from j on; the last has `rest` columns.
  TYPEFLOW_INLINE static void fold_columns(const KernelCall& call, const Geometry& g,
                                           const Ops& ops, Place& p, const Columns& j, int vectors,
                                           int rest) {
    Registers r[most];  // values per column
    for (int u = 0; u < vectors; ++u) {
      const int count = u + 1 < vectors ? N : rest;
      [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
        (load<false, 0, I>(g, r[u], p, 0, j[u], count), ...);
      }(typename M::InputNumbers{});
      p.at.index = p.outer * g.width + j[u];
      M::template evaluate_rows<0>(r[u], ops, p.at);
    }
    [&]<int... P>(std::integer_sequence<int, P...>) TYPEFLOW_INLINE_LAMBDA {
      (pass<P>(call, g, r, ops, p, j, vectors, rest), ...);
    }(std::make_integer_sequence<int, M::passes>{});
    for (int u = 0; u < vectors; ++u) {
      const int count = u + 1 < vectors ? N : rest;
      [&]<int... S>(std::integer_sequence<int, S...>) TYPEFLOW_INLINE_LAMBDA {
        (store<true, S>(call, r[u], p.outer * g.width + j[u], count), ...);
      }(typename M::StoreNumbers{});
    }
  }

  template <int P>
  TYPEFLOW_INLINE static void pass(const KernelCall& call, const Geometry& g, Registers* r,
                                   const Ops& ops, Place& p, const Columns& j, int vectors,
                                   int rest) {
    States total[most];
    for (int u = 0; u < vectors; ++u) reset<P>(total[u]);
    if (g.shares_chunks) {
      share_chunks<P>(call, g, r, ops, p, j, vectors, rest, total);
    } else {
      States state[most];
      for (std::int64_t begin = 0; begin < g.length; begin += chunk) {
        fold_chunk<P>(call, g, r, ops, p, j, vectors, rest, begin, state);
        merge<P>(total, state, vectors, begin == 0);
      }
    }
    for (int u = 0; u < vectors; ++u) {
      M::template each_fold<P>([&]<int I>() TYPEFLOW_INLINE_LAMBDA {
        get<M::first_item + I>(r[u]) = get<I>(total[u]).result();
      });
      p.at.index = p.outer * g.width + j[u];
      M::template evaluate_rows<P + 1>(r[u], ops, p.at);
    }
  }
  /// The states of the chunk of rows from `begin` on. A function of its own, so that there is one
  /// copy of the loop.
  template <int P>
  [[gnu::noinline, gnu::flatten]] static void fold_chunk(const KernelCall& call,
                                                         const Geometry& geometry,
                                                         const Registers* r, const Ops& operations,
                                                         const Place& place, const Columns& columns,
                                                         int vectors, int rest, std::int64_t begin,
                                                         States* state) {
    const Geometry g = geometry;
    const Ops ops = operations;
    Place p = place;
    const Columns j = columns;
    for (int u = 0; u < vectors; ++u) reset<P>(state[u]);
    const std::int64_t end = std::min(begin + chunk, g.length);
    std::int64_t k = begin;
    if constexpr (M::passes == 1) {
      // Few enough for registers. If there are fewer, the last one goes again, which must not
      // store.
      if (vectors <= few && (may_overlap || vectors == few) && rest == N) {
        States s[few];
        // Loops over these vectors would put s in memory.
        [&]<int... U>(std::integer_sequence<int, U...>) TYPEFLOW_INLINE_LAMBDA {
          (reset<P>(s[U]), ...);
          for (; k < end; ++k) {
            (step<P>(call, g, r[std::min(U, vectors - 1)], ops, p, s[U], k, j[U], N), ...);
          }
          ((U < vectors ? void(state[U] = s[U]) : void()), ...);
        }(std::make_integer_sequence<int, few>{});
      }
    }
    for (; k < end; ++k) {
      for (int u = 0; u + 1 < vectors; ++u) {
        step<P>(call, g, r[u], ops, p, state[u], k, j[u], N);
      }
      const int last = vectors - 1;
      step<P>(call, g, r[last], ops, p, state[last], k, j[last], rest);
    }
  }
  template <int P>
  TYPEFLOW_INLINE static void merge(States* total, const States* state, int vectors, bool first) {
    M::template each_fold<P>([&]<int I>() TYPEFLOW_INLINE_LAMBDA {
      for (int u = 0; u < vectors; ++u) {
        if (first) {
          get<I>(total[u]) = get<I>(state[u]);
        } else {
          get<I>(total[u]).merge(get<I>(state[u]));
        }
      }
    });
  }
  /// The states of all rows. Threads fold the chunks, which are merged in order.
  template <int P>
  TYPEFLOW_COLD static void share_chunks(const KernelCall& call, const Geometry& g,
                                         const Registers* r, const Ops& ops, const Place& p,
                                         const Columns& j, int vectors, int rest, States* total) {
    constexpr std::int64_t room = std::max<std::int64_t>(most, (1 << 16) / sizeof(States));
    struct Shared {
      const KernelCall& call;
      const Geometry& g;
      const Registers* r;
      const Ops& ops;
      const Place& p;
      const Columns& j;
      int vectors;
      int rest;
      States* total;
      States* state;

      States* of(std::int64_t c) { return state + c % (room / vectors) * vectors; }
    };
    States state[room];
    Shared all{call, g, r, ops, p, j, vectors, rest, total, state};
    fold_chunks(call,
                {(g.length - 1) / chunk + 1, room / vectors, M::cost * chunk * vectors * N, &all,
                 [](void* context, std::int64_t begin, std::int64_t end) {
                   Shared& s = *static_cast<Shared*>(context);
                   for (std::int64_t c = begin; c < end; ++c) {
                     fold_chunk<P>(s.call, s.g, s.r, s.ops, s.p, s.j, s.vectors, s.rest, c * chunk,
                                   s.of(c));
                   }
                 },
                 [](void* context, std::int64_t c) {
                   Shared& s = *static_cast<Shared*>(context);
                   merge<P>(s.total, s.of(c), s.vectors, c == 0);
                 }});
  }
  template <int P>
  TYPEFLOW_INLINE static void reset(States& state) {
    M::template each_fold<P>([&]<int I>() TYPEFLOW_INLINE_LAMBDA { get<I>(state).reset(); });
  }

  template <int P>
  TYPEFLOW_INLINE static void step(const KernelCall& call, const Geometry& g,
                                   const Registers& of_columns, const Ops& ops, Place& p,
                                   States& state, std::int64_t k, std::int64_t j, int count) {
    Registers r;
    [&]<int... V>(std::integer_sequence<int, V...>) TYPEFLOW_INLINE_LAMBDA {
      (take<P, V>(r, of_columns), ...);
    }(std::make_integer_sequence<int, M::values>{});
    [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
      (load<true, P, I>(g, r, p, k, j, count), ...);
    }(typename M::InputNumbers{});
    p.at.index = (p.outer * g.length + k) * g.width + j;
    M::template evaluate<P>(r, ops, p.at);
    M::template each_fold<P>([&]<int I>() TYPEFLOW_INLINE_LAMBDA {
      get<I>(state).step(get<M::template fold_argument<I>>(r), k);
    });
    if constexpr (P == M::passes - 1) {
      [&]<int... S>(std::integer_sequence<int, S...>) TYPEFLOW_INLINE_LAMBDA {
        (store<false, S>(call, r, p.at.index, count), ...);
      }(typename M::StoreNumbers{});
    }
  }

  /// Value V of a column, if pass P needs it for the column's elements.
  template <int P, int V>
  TYPEFLOW_INLINE static void take(Registers& r, const Registers& of_columns) {
    if constexpr (M::template needs<P, V>) {
      constexpr bool per_column = M::template is_one_along<V, space.folded>;
      if constexpr (per_column) get<V>(r) = get<V>(of_columns);
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
        const T* at = static_cast<const T*>(p.in[I]) + (Folded ? k * g.in[I].stride[Outer] : 0);
        if constexpr (In::spec.offsets != 0) at += offset<In::spec.offsets - 1>(g, p, k);
        if constexpr (!inner) {
          get<I>(r) = L::template broadcast<T>(*at);
        } else {
          // Rows lie far apart and little of each is read, so processors do not prefetch them.
          if constexpr (Folded && In::spec.offsets == 0) {
            __builtin_prefetch(at + j + p.ahead * g.in[I].stride[Outer]);
          } else if constexpr (Folded) {
            const std::int64_t next = std::min(k + p.ahead, p.known - 1);
            __builtin_prefetch(at + j + offset<In::spec.offsets - 1>(g, p, next) -
                               offset<In::spec.offsets - 1>(g, p, k));
          }
          get<I>(r) = count == N ? L::load(at + j) : L::load(at + j, count);
        }
      }
    }
  }
  /// The offset that input I says for element k of the folded axis.
  template <int I>
  TYPEFLOW_INLINE static std::int64_t offset(const Geometry& g, const Place& p, std::int64_t k) {
    using T = element_of<M::template Input<I>::dtype>;
    return static_cast<const T*>(p.in[I])[folded<I> ? k * g.in[I].stride[Outer] : 0];
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

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
