// SPDX-License-Identifier: Apache-2.0
#pragma once

// Loops over rows: elementwise kernels, and folds over the innermost axis with what follows them.
//
// Folds have loops of their own (row_folds.hpp), and so have rows of few elements (small_rows.hpp,
// flat_rows.hpp).

#include <algorithm>
#include <cstdint>
#include <utility>

#include "typeflow/cpu/body.hpp"
#include "typeflow/cpu/flat_rows.hpp"
#include "typeflow/cpu/half_extremes.hpp"
#include "typeflow/cpu/narrow_arguments.hpp"
#include "typeflow/cpu/narrow_lanes.hpp"
#include "typeflow/cpu/row_extremes.hpp"
#include "typeflow/cpu/row_folds.hpp"
#include "typeflow/cpu/row_loops.hpp"
#include "typeflow/cpu/small_rows.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// Code of a kernel type for an instruction set.
template <class Kernel, class A>
struct Code;

template <bool Wide, int Outer, bool Folds, ir::InnerExtent Inner, class B, class A>
struct Code<ir::LoopKernel<Wide, Outer, Folds, Inner, B>, A> {
  using L = typename LanesOfBody<Wide, A, B>::type;
  using M = Machine<L, B>;
  using Loops = RowLoops<Outer, L, M>;
  using Ops = typename M::Ops;
  using Layout = typename Loops::Layout;
  static constexpr int N = L::size;
  static constexpr ir::KernelSpace space = ir::space_of(ir::KernelKind::loop, Outer, Folds);

  static std::int64_t workspace(const std::int64_t*) { return 0; }

  static void run(const KernelCall& call) {
    const std::int64_t length = call.extents[Outer];
    std::int64_t rows = 1;
    for (int k = 0; k < Outer; ++k) rows *= call.extents[k];
    Layout in[M::inputs + 1];
    if constexpr (M::inputs == 0) in[0] = {};  // compilers warn, though nobody reads it
    [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
      ((in[I] = ir::layout_of<space.rank>(M::template Input<I>::axes, call.extents,
                                          M::template strides<I, space.rank>(call.extents))),
       ...);
    }(typename M::InputNumbers{});
    if constexpr (Folds) {
      if constexpr (Inner != ir::InnerExtent::small || M::gathers) {
        if (RowFolds<Outer, L, M>::shares_chunks(call, rows, length)) {
          RowFolds<Outer, L, M>::run(call, in, length, 0, rows, true);
          return;
        }
      }
      // Short rows take longer by their element.
      const std::int64_t cost = M::cost * length * (length <= ir::small_extent ? 2 : 1);
      const auto fold = [&](std::int64_t begin, std::int64_t end) {
        if constexpr (Inner != ir::InnerExtent::large && !M::gathers) {
          if (Inner == ir::InnerExtent::small || length <= ir::small_extent) {
            using Short = typename LanesOfBody<Wide, A, B>::of_short_rows;
            SmallFolds<Outer, Short, Machine<Short, B>>::run(call, in, length, begin, end);
            return;
          }
        }
        if constexpr (Inner != ir::InnerExtent::small || M::gathers) {
          RowFolds<Outer, L, M>::run(call, in, length, begin, end, false);
        }
      };
      parallel(call, rows, grain_of_cost(cost), [&](std::int64_t begin, std::int64_t end) {
        using Extremes = RowExtremes<Outer, Inner, L, M>;
        if constexpr (Extremes::possible) {
          begin = Extremes::run(call, length, begin, end, fold);
          if (begin == end) return;
        }
        fold(begin, end);
      });
    } else {
      if (length == 0) return;
      Pieces pieces = pieces_of(length, M::cost);
      if (skips(in)) pieces = pieces.split(skipping_piece, length);
      int streams = 0;
      if constexpr (may_stream) {
        streams = streams_results(call, M::first_store, M::stores, rows, length, bytes) ? 1 : 0;
      }
      parallel(call, rows * pieces.count, pieces.grain, [&](std::int64_t begin, std::int64_t end) {
        if constexpr (is_small_map) {
          SmallMaps<Outer, L, M>::run(call, in, length, begin, end);
        } else {
          map(call, in, length, pieces, begin, end, streams);
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

  static constexpr MapBytes bytes = [] {
    MapBytes sum{M::stores == 0 ? 0 : 64, 0};
    constexpr unsigned all_axes = (Loops::inner_bit << 1u) - 1u;
    for (int i = 0; i < M::inputs; ++i) {
      const ir::InputSpec& input = M::input_specs[i];
      const bool of_each = !input.is_index && (input.axes & all_axes) == all_axes;
      if (of_each) sum.all += static_cast<int>(size_of(input.dtype));
    }
    for (int s = 0; s < M::stores; ++s) {
      const ir::StoreSpec& store = M::store_specs[s];
      const bool in_order = !store.is_row && !store.is_strided;
      const int size = static_cast<int>(size_of(store.dtype));
      sum.narrowest = in_order ? std::min(sum.narrowest, size) : 0;
      sum.all += size;
    }
    return sum;
  }();
  static constexpr bool may_stream =
      streams_maps && !Folds && !is_small_map && bytes.narrowest != 0;

  /// Elements of a strided view that are put side by side at a time.
  static constexpr std::int64_t skipping_piece = 512;
  template <int I>
  static constexpr bool is_view =
      Inner != ir::InnerExtent::small && M::template Input<I>::is_strided &&
      Loops::template along_row<I> && M::template Input<I>::spec.offsets == 0;
  static constexpr bool may_skip = []<int... I>(std::integer_sequence<int, I...>) {
    return (is_view<I> || ...);
  }(typename M::InputNumbers{});
  /// Whether a strided view's neighbours along a row have others between them.
  static bool skips(const Layout* in) {
    bool any = false;
    for (int i = 0; i < M::inputs && may_skip; ++i) {
      any = any || (M::input_specs[i].is_strided && in[i].stride[Outer] > 1);
    }
    return any;
  }
  struct alignas(64) Tile {
    std::byte v[may_skip ? skipping_piece * 16 + 64 : 1];
  };
  template <int I>
  TYPEFLOW_INLINE static void gather(const Layout* in, std::int64_t count, Tile* tiles,
                                     typename Loops::Row& p) {
    if constexpr (is_view<I>) {
      const std::int64_t stride = in[I].stride[Outer];
      if (stride == 1) return;
      using T = typename Loops::template In<I>;
      const T* const from = static_cast<const T*>(p.in[I]) + p.position * (stride - 1);
      p.in[I] = copy_skipping(from, count, stride, reinterpret_cast<T*>(tiles[I].v));
    }
  }

  /// Pieces [begin, end) of an elementwise kernel's rows. A function of its own: inlined in both of
  /// its callers, g++ keeps constants in memory, and a logarithm takes a quarter longer.
  [[gnu::noinline, gnu::flatten]] static void map(const KernelCall& call, const Layout* in,
                                                  std::int64_t length, const Pieces& pieces,
                                                  std::int64_t begin, std::int64_t end,
                                                  int streams) {
    const Ops ops = M::decode(call.words);
    typename Loops::Kept kept;
    typename M::States none;
    Tile tiles[M::inputs + 1];
    const bool skipping = skips(in);
    std::int64_t row = begin;
    std::int64_t piece = 0;
    if (pieces.count != 1) {
      row = begin / pieces.count;
      piece = begin % pieces.count;
    }
    std::int64_t coordinate[Outer + 1];
    if constexpr (Loops::has_coordinates) Loops::first_coordinates(call, row, coordinate);
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t first = piece * pieces.length;
      const std::int64_t count = std::min(pieces.length, length - first);
      typename M::Registers of_row;
      [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
        (enter<I>(call, in, coordinate, row, of_row), ...);
      }(typename M::InputNumbers{});
      ElementContext at;
      at.random = call.random;
      at.index = row;
      M::template evaluate_rows<0>(of_row, ops, at);
      typename Loops::Row p;
      Loops::begin_row(call, in, length, coordinate, row, first, p);
      p.streams = streams;
      if (skipping) {
        [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
          (gather<I>(in, count, tiles, p), ...);
        }(typename M::InputNumbers{});
      }
      std::int64_t i = 0;
      for (; i + N <= count; i += N) {
        Loops::step_map(of_row, call, ops, kept, p, none, i);
      }
      if (i < count) {
        Loops::template step_part<0, false>(of_row, call, ops, kept, p, none, i,
                                            static_cast<int>(count - i));
      }
      [&]<int... S>(std::integer_sequence<int, S...>) TYPEFLOW_INLINE_LAMBDA {
        (leave<S>(call, coordinate, row, of_row), ...);
      }(typename M::StoreNumbers{});
      if (++piece == pieces.count) {
        piece = 0;
        ++row;
        if constexpr (Loops::has_coordinates) Loops::next_coordinates(call, coordinate);
      }
    }
    if constexpr (may_stream) {
      if (streams != 0) end_streams();
    }
  }
  /// A row's value of input I, in all lanes.
  template <int I>
  TYPEFLOW_INLINE static void enter(const KernelCall& call, const Layout* in,
                                    const std::int64_t* coordinate, std::int64_t row,
                                    typename M::Registers& r) {
    if constexpr (!Loops::template along_row<I>) {
      get<I>(r) = L::template broadcast<typename Loops::template In<I>>(
          Loops::template value_of_row<I>(call, in, coordinate, row));
    }
  }
  template <int S>
  TYPEFLOW_INLINE static void leave(const KernelCall& call, const std::int64_t* coordinate,
                                    std::int64_t row, const typename M::Registers& r) {
    using O = typename M::template Out<S>;
    using T = element_of<O::dtype>;
    if constexpr (O::is_row && O::is_strided) {
      L::template store_first<T>(Loops::template result<S>(call, coordinate), get<O::value>(r));
    } else if constexpr (O::is_row) {
      L::template store_first<T>(call.operand<T>(M::first_store + S) + row, get<O::value>(r));
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
