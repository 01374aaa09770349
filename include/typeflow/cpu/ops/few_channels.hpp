// SPDX-License-Identifier: Apache-2.0
#pragma once

// The products of a convolution whose image has few channels. A run of products along one tap row
// would be short, so a table of distances replaces the runs: a register tile goes through its
// windows, in padded copies of the image (padded_blocks.hpp), in one loop.
//
// Padding is multiplied, as zeros. So all weights must be finite.

#include <algorithm>
#include <cstdint>

#include "typeflow/cpu/contraction.hpp"
#include "typeflow/cpu/ops/padded_blocks.hpp"
#include "typeflow/cpu/stream.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// What becomes of the products of a kernel: an epilogue for each tile. If nothing follows them,
/// they are written to `result` directly, whose rows have `columns` elements.
template <class T>
struct Output {
  FinishTile<T> finish;
  T* result;
  std::int64_t columns;
  ResultRows rows;  ///< of the epilogue
  /// The epilogue for places [first, last) of a result of few columns, whose sums lie one place
  /// after the other; null: there is no such function.
  void (*finish_places)(const KernelCall& call, const T* sums, std::int64_t first,
                        std::int64_t last);
};

/// The sums of windows at `places` of an image by rows of b, V vectors, to rows of `columns`
/// elements, which lie at `rows` from `to` on: past the caches, if `streams`. A window's elements
/// lie at `offsets` from its first one. There are `count` places; behind them the lists go on to a
/// whole tile.
template <class T, class A, int V>
[[gnu::noinline, gnu::flatten]] void window_offsets_tiles(
    const T* image, const std::int64_t* places, std::int64_t count, const std::int64_t* offsets,
    std::int64_t depth, const T* panel, std::int64_t pitch, T* to, const std::int64_t* rows,
    std::int64_t columns, bool streams) {
  using S = TileShape<T, A>;
  using B = xsimd::batch<T, A>;
  using L = Lanes<sizeof(T) == 8, A>;
  const int of_last = static_cast<int>(columns - (V - 1) * S::lanes);
  for (; count > 0; count -= S::rows, places += S::rows, rows += S::rows) {
    TileSums<T, A, V> sums;
    sums.clear();
    const T* at[S::rows];
    unrolled<S::rows>([&](auto i) TYPEFLOW_INLINE_LAMBDA { at[i] = image + places[i]; });
    const T* b = panel;
    for (std::int64_t k = 0; k < depth; ++k, b += pitch) {
      const std::int64_t offset = offsets[k];
      B right[V];
      unrolled<V>([&](auto v)
                      TYPEFLOW_INLINE_LAMBDA { right[v] = B::load_unaligned(b + v * S::lanes); });
      unrolled<S::rows>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
        const B left(at[i][offset]);
        unrolled<V>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
          sums.sum[i][v] = cpu_kernels::fma(left, right[v], sums.sum[i][v]);
        });
      });
    }
    unrolled<S::rows>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
      unrolled<V>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
        T* const element = to + rows[i] + v * S::lanes;
        if (streams) {
          stream_register(element, sums.sum[i][v]);
        } else if (v < V - 1 || of_last == S::lanes) {
          sums.sum[i][v].store_unaligned(element);
        } else {
          L::store(element, sums.sum[i][v], of_last);
        }
      });
    });
  }
}

/// One group's products in blocks.
template <class T, class A>
struct FewChannels {
  using S = TileShape<T, A>;
  static constexpr std::int64_t room = PaddedBlocks::most_bytes / sizeof(T);

  const KernelCall& call;
  const Output<T>& output;
  PaddedBlocks blocks;
  const T* image;
  std::int64_t of_pixel;  ///< channels of the image
  const std::int64_t* offsets;
  std::int64_t depth;  ///< elements of a window
  const T* weights;    ///< panels
  Panels<S> panels;
  std::int64_t column;  ///< the group's first column in the result

  void run(std::int64_t samples) const {
    const std::int64_t count = blocks.count(samples);
    if (count == 0 || panels.count == 0) return;
    // Of few blocks, some panels each.
    constexpr std::int64_t tasks_wanted = 16;
    const std::int64_t bands = std::clamp<std::int64_t>(tasks_wanted / count, 1, panels.count);
    const std::int64_t of_band = (panels.count + bands - 1) / bands;
    const std::int64_t work = 2 * blocks.lines * blocks.width * depth * of_band * S::width;
    const std::int64_t bytes = samples * axis(0).result * axis(1).result * axis(2).result *
                               output.columns * static_cast<std::int64_t>(sizeof(T));
    const bool streams = output.result != nullptr && bytes >= streamed_bytes &&
                         is_streamable(output.result, output.columns) &&
                         is_streamable(output.result + column, panels.columns);
    parallel(call, count * bands, grain_of_cost(work), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t first = task % bands * of_band;
        multiply(blocks.block(task / bands), first, std::min(first + of_band, panels.count),
                 streams);
      }
      if (streams) end_streams();
    });
  }

 private:
  const GatherAxis& axis(int a) const { return blocks.axes[a]; }

  /// A block by panels [panel, last_panel).
  void multiply(const PaddedBlocks::Block& block, std::int64_t panel, std::int64_t last_panel,
                bool streams) const {
    alignas(64) T copy[room];
    std::int64_t places[PaddedBlocks::most_places + S::rows];
    std::int64_t results[PaddedBlocks::most_places + S::rows];  // rows, or where they begin
    const std::int64_t of_row = output.result != nullptr ? output.columns : 1;
    blocks.copy(block, image, of_pixel, copy);
    const auto in_result = [&](int a, std::int64_t place) {
      return axis(a).first_place + place * axis(a).place_step;
    };
    const std::int64_t plane = block.sample * axis(0).result + in_result(0, block.plane);
    std::int64_t count = 0;
    for (std::int64_t l = 0; l < block.lines; ++l) {
      const std::int64_t line =
          (plane * axis(1).result + in_result(1, block.line + l)) * axis(2).result;
      const std::int64_t first[] = {blocks.place(l, 0),
                                    (line + in_result(2, block.first)) * of_row};
      const std::int64_t step[] = {blocks.place(0, 1), axis(2).place_step * of_row};
      for (std::int64_t x = 0; x < block.width; ++x, ++count) {
        places[count] = first[0] + x * step[0];
        results[count] = first[1] + x * step[1];
      }
    }
    std::fill_n(places + count, S::rows, places[count - 1]);  // the last row is repeated
    std::fill_n(results + count, S::rows, results[count - 1]);
    // All panels for a tile, if they stay in the first cache; otherwise all tiles for a panel.
    constexpr std::int64_t first_cache = (std::int64_t{1} << 14) / sizeof(T);
    const std::int64_t together =
        depth * (last_panel - panel) * S::width <= first_cache ? last_panel - panel : 1;
    for (; panel < last_panel; panel += together) {
      if (together == 1) {
        tiles(copy, places, results, count, panel, streams);
        continue;
      }
      for (std::int64_t i = 0; i < count; i += S::rows) {
        for (std::int64_t p = panel; p < panel + together; ++p) {
          tiles(copy, places + i, results + i, std::min<std::int64_t>(S::rows, count - i), p,
                streams);
        }
      }
    }
  }

  /// These rows by panel p.
  void tiles(const T* copy, const std::int64_t* places, const std::int64_t* results,
             std::int64_t count, std::int64_t p, bool streams) const {
    const std::int64_t width = panels.width(p);
    const std::int64_t first = column + panels.first(p);
    const std::int64_t last = column + panels.last(p);
    const T* const panel = weights + (first - column) * depth;
    const auto multiply = [&](std::int64_t i, std::int64_t n, T* to, const std::int64_t* rows,
                              std::int64_t stored) {
      with_vectors<S>(width, [&](auto vectors) {
        window_offsets_tiles<T, A, vectors()>(copy, places + i, n, offsets, depth, panel, width, to,
                                              rows, stored, streams);
      });
    };
    if (output.result != nullptr) {
      multiply(0, count, output.result + first, results, last - first);
      return;
    }
    alignas(64) T sums[S::rows * S::width];
    std::int64_t rows[S::rows];
    for (int r = 0; r < S::rows; ++r) rows[r] = r * S::width;
    for (std::int64_t i = 0; i < count; i += S::rows) {
      const int some = static_cast<int>(std::min<std::int64_t>(S::rows, count - i));
      multiply(i, some, sums, rows, width);
      output.finish(call, sums, results + i, some, first, last);
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
