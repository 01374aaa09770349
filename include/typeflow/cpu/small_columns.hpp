// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folds over the rows of matrices of few columns.

#include <algorithm>
#include <cstdint>
#include <utility>

#include "typeflow/cpu/call.hpp"
#include "typeflow/cpu/flat_rows.hpp"
#include "typeflow/lower/kernel_spec.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// Folds over the rows of a matrix of few columns, for each outer index. N rows at a time are as
/// many vectors as there are columns, which have accumulators of their own. At the end each
/// column's N accumulators are merged in order.
template <int Outer, class L, class M>
class SmallColumns : FlatRows<Outer + 1, L, M> {
  using Flat = FlatRows<Outer + 1, L, M>;
  using Outside = RowOperands<Outer, L, M>;
  using Flat::N;
  using typename Flat::Layout;
  using typename Flat::Ops;
  using typename Flat::Place;
  using typename Flat::Registers;
  using typename Flat::States;
  using typename Flat::Tiles;
  static constexpr unsigned folded = 1u << Outer;
  template <int I>
  using In = typename Flat::template In<I>;
  static constexpr int blocks_of_chunk = 16;
  static constexpr int vectors = (Flat::longest + N - 1) / N;

  template <int I>
  static constexpr bool is_arg_fold = [] {
    if constexpr (M::item_specs[I].is_fold) {
      return ArgFold<typename M::template Item<I>::op>;
    } else {
      return false;
    }
  }();

 public:
  static constexpr int most_columns = Flat::longest;
  /// Whether there is one pass, which needs no values of columns and no positions of the best.
  static constexpr bool possible = []<int... I>(std::integer_sequence<int, I...>) {
    return M::passes == 1 && !(is_arg_fold<I> || ...) &&
           !((M::item_specs[I].is_row && M::item_specs[I].phase == 0) || ...);
  }(typename M::ItemNumbers{});

  /// All of `outer` indices. Threads share them or, of few with long columns, the chunks of each.
  static void run(const KernelCall& call, const Layout* in, std::int64_t length, std::int64_t width,
                  std::int64_t outer) {
    const bool shares = call.stream != nullptr && outer <= few_tasks &&
                        length > 2 * rows_of_chunk(width) &&
                        M::cost * length * width >= 2 * cost_of_part;
    if (shares) {
      run(call, in, length, width, 0, outer, true);
      return;
    }
    parallel(call, outer, grain_of_cost(M::cost * length * width),
             [&](std::int64_t begin, std::int64_t end) {
               run(call, in, length, width, begin, end, false);
             });
  }

 private:
  static constexpr std::int64_t few_tasks = 4;  ///< outer indices whose chunks threads share
  static std::int64_t rows_of_chunk(std::int64_t width) {
    return blocks_of_chunk * Flat::rows_of_block(width);
  }

  /// Outer indices [begin, end).
  [[gnu::flatten]] static void run(const KernelCall& call, const Layout* in, std::int64_t length,
                                   std::int64_t width, std::int64_t begin, std::int64_t end,
                                   bool shares) {
    const Ops ops = M::decode(call.words);
    Place p(width);
    p.at.random = call.random;
    for (std::int64_t outer = begin; outer < end; ++outer) {
      States total[Flat::longest];
      for (std::int64_t v = 0; v < width; ++v) reset(total[v]);
      const std::int64_t chunks = length == 0 ? 0 : (length - 1) / rows_of_chunk(width) + 1;
      if (shares) {
        share_chunks(call, in, length, width, outer, chunks, total);
      } else {
        fold(call, in, length, width, outer, 0, chunks, nullptr, total);
      }
      finish(call, in, ops, std::min<std::int64_t>(length, N), width, outer, p, total);
    }
  }
  /// Threads fold the chunks, which are merged in order.
  TYPEFLOW_COLD static void share_chunks(const KernelCall& call, const Layout* in,
                                         std::int64_t length, std::int64_t width,
                                         std::int64_t outer, std::int64_t chunks, States* total) {
    constexpr std::int64_t room = std::max<std::int64_t>(Flat::longest, (1 << 16) / sizeof(States));
    struct Shared {
      const KernelCall& call;
      const Layout* in;
      std::int64_t length;
      std::int64_t width;
      std::int64_t outer;
      States* total;
      States* state;

      States* of(std::int64_t chunk) { return state + chunk % (room / width) * width; }
    };
    States state[room];
    Shared all{call, in, length, width, outer, total, state};
    fold_chunks(call, {chunks, room / width, M::cost * rows_of_chunk(width) * width, &all,
                       [](void* context, std::int64_t begin, std::int64_t end) {
                         Shared& s = *static_cast<Shared*>(context);
                         fold(s.call, s.in, s.length, s.width, s.outer, begin, end, s.of(begin),
                              nullptr);
                       },
                       [](void* context, std::int64_t chunk) {
                         Shared& s = *static_cast<Shared*>(context);
                         merge(s.total, s.of(chunk), s.width);
                       }});
  }
  static void merge(States* total, const States* state, std::int64_t width) {
    M::template each_fold<0>([&]<int I>() TYPEFLOW_INLINE_LAMBDA {
      for (std::int64_t v = 0; v < width; ++v) get<I>(total[v]).merge(get<I>(state[v]));
    });
  }
  /// Folds the chunks [begin, end), each into states of its own, or all into a total, in order.
  [[gnu::noinline, gnu::flatten]] static void fold(const KernelCall& call, const Layout* in,
                                                   std::int64_t length, std::int64_t width,
                                                   std::int64_t outer, std::int64_t begin,
                                                   std::int64_t end, States* each, States* total) {
    const Ops ops = M::decode(call.words);
    Tiles tiles;
    Place p(width);
    p.at.random = call.random;
    const std::int64_t most = Flat::rows_of_block(width);
    [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
      (Flat::template share<I>(call, in, width, std::min(most, length), tiles, p), ...);
    }(typename M::InputNumbers{});
    States of_chunk[Flat::longest];
    for (std::int64_t chunk = begin; chunk < end; ++chunk) {
      States* const state = each != nullptr ? each + (chunk - begin) * width : of_chunk;
      for (std::int64_t v = 0; v < width; ++v) reset(state[v]);
      const std::int64_t last = std::min(length, (chunk + 1) * rows_of_chunk(width));
      for (std::int64_t first = chunk * rows_of_chunk(width); first < last; first += most) {
        const std::int64_t row = outer * length + first;
        const std::int64_t count = std::min(most, last - first);
        [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
          (Flat::template enter<I>(call, in, width, row, count, tiles, p), ...);
        }(typename M::InputNumbers{});
        const std::int64_t elements = count * width;
        std::int64_t i = 0;
        States* s = state;
        for (; i + N <= elements; i += N) {
          step(call, ops, p, count, row * width, i, N, *s);
          ++s;
          if (s == state + width) s = state;
        }
        if (i < elements) {
          step(call, ops, p, count, row * width, i, static_cast<int>(elements - i), *s);
        }
      }
      if (total != nullptr) merge(total, state, width);
    }
  }
  TYPEFLOW_INLINE static void step(const KernelCall& call, const Ops& ops, Place& p,
                                   std::int64_t rows, std::int64_t base, std::int64_t i, int count,
                                   States& state) {
    Registers r;
    Flat::load(r, p, rows, i, count);
    p.at.index = base + i;
    M::template evaluate<0>(r, ops, p.at);
    M::template each_fold<0>([&]<int I>() TYPEFLOW_INLINE_LAMBDA {
      if (count == N) {
        get<I>(state).step(get<M::template fold_argument<I>>(r), i);
      } else {
        get<I>(state).step(get<M::template fold_argument<I>>(r), i, count);
      }
    });
    Flat::template store<false>(call, r, base + i, count);
  }
  TYPEFLOW_INLINE static void reset(States& state) {
    M::template each_fold<0>([&]<int I>() TYPEFLOW_INLINE_LAMBDA { get<I>(state).reset(); });
  }

  /// Merges the accumulators of each column, `rows` of them, and stores its values.
  TYPEFLOW_INLINE static void finish(const KernelCall& call, const Layout* in, const Ops& ops,
                                     std::int64_t rows, std::int64_t width, std::int64_t outer,
                                     Place& p, const States* state) {
    Registers r[vectors];
    M::template each_fold<0>([&]<int I>() TYPEFLOW_INLINE_LAMBDA {
      using State = std::remove_cvref_t<decltype(get<I>(state[0]))>;
      using C = typename State::C;
      C all[(Flat::longest + 1) * N];
      const std::int64_t used = (rows * width + N - 1) / N;
      for (std::int64_t v = 0; v < used; ++v)
        L::template store<C>(all + v * N, get<I>(state[v]).value);
      for (std::int64_t j = 0; j < width; j += N) {
        const int count = static_cast<int>(std::min<std::int64_t>(N, width - j));
        State column;
        column.reset();
        for (std::int64_t k = 0; k < rows; ++k) {
          State part;
          part.value = L::template load<C>(all + k * width + j, count);
          column.merge(part);
        }
        get<M::first_item + I>(r[j / N]) = column.result();
      }
    });
    for (std::int64_t j = 0; j < width; j += N) {
      const int count = static_cast<int>(std::min<std::int64_t>(N, width - j));
      [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
        (load_column<I>(call, in, outer, j, count, r[j / N]), ...);
      }(typename M::InputNumbers{});
      p.at.index = outer * width + j;
      M::template evaluate_rows<1>(r[j / N], ops, p.at);
      Flat::template store<true>(call, r[j / N], outer * width + j, count);
    }
  }
  /// Operands of columns.
  template <int I>
  TYPEFLOW_INLINE static void load_column(const KernelCall& call, const Layout* in,
                                          std::int64_t outer, std::int64_t j, int count,
                                          Registers& r) {
    using Input = typename M::template Input<I>;
    using T = In<I>;
    if constexpr ((Input::axes & folded) == 0) {
      constexpr bool inner = (Input::axes & Flat::inner_bit) != 0;
      std::int64_t coordinate[Outer + 1] = {};
      if constexpr (Outer > 0) Outside::first_coordinates(call, outer, coordinate);
      if constexpr (Input::is_index && inner) {
        get<I>(r) = L::positions(j);
      } else if constexpr (Input::is_index) {
        get<I>(r) =
            L::template broadcast<T>(static_cast<T>(Flat::template position<I>(coordinate)));
      } else {
        const T* const at = Flat::template operand<I>(call, in, coordinate);
        if constexpr (inner) {
          get<I>(r) = Flat::load_some(at + j, count);
        } else {
          get<I>(r) = L::template broadcast<T>(*at);
        }
      }
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
