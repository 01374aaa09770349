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
};

/// The sums of windows at `places` of an image by rows of b, to rows of V vectors: past the caches,
/// if `streams`. A window's elements lie at `offsets` from its first one.
template <class T, class A, int V>
[[gnu::noinline, gnu::flatten]] void window_offsets_tile(
    const T* image, const std::int64_t* places, const std::int64_t* offsets, std::int64_t depth,
    const T* b, std::int64_t pitch, T* const (&to)[TileShape<T, A>::rows], bool streams) {
  using S = TileShape<T, A>;
  using B = xsimd::batch<T, A>;
  TileSums<T, A, V> sums;
  sums.clear();
  const T* at[S::rows];
  unrolled<S::rows>([&](auto i) TYPEFLOW_INLINE_LAMBDA { at[i] = image + places[i]; });
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
  if (streams) {
    unrolled<S::rows>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
      unrolled<V>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
        stream_register(to[i] + v * S::lanes, sums.sum[i][v]);
      });
    });
  } else {
    unrolled<S::rows>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
      unrolled<V>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
        sums.sum[i][v].store_unaligned(to[i] + v * S::lanes);
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
    std::int64_t results[PaddedBlocks::most_places + S::rows];
    blocks.copy(block, image, of_pixel, copy);
    const auto in_result = [&](int a, std::int64_t place) {
      return axis(a).first_place + place * axis(a).place_step;
    };
    const std::int64_t plane = block.sample * axis(0).result + in_result(0, block.plane);
    std::int64_t count = 0;
    for (std::int64_t l = 0; l < block.lines; ++l) {
      const std::int64_t line =
          (plane * axis(1).result + in_result(1, block.line + l)) * axis(2).result;
      for (std::int64_t x = 0; x < block.width; ++x, ++count) {
        places[count] = blocks.place(l, x);
        results[count] = line + in_result(2, block.first + x);
      }
    }
    std::fill_n(places + count, S::rows, places[count - 1]);  // the last row is repeated
    std::fill_n(results + count, S::rows, results[count - 1]);
    // All panels for a tile, if they stay in the first cache; otherwise all tiles for a panel.
    constexpr std::int64_t first_cache = (std::int64_t{1} << 14) / sizeof(T);
    const std::int64_t together =
        depth * (last_panel - panel) * S::width <= first_cache ? last_panel - panel : 1;
    for (; panel < last_panel; panel += together) {
      for (std::int64_t i = 0; i < count; i += S::rows) {
        for (std::int64_t p = panel; p < panel + together; ++p) {
          tile(copy, places + i, results + i,
               static_cast<int>(std::min<std::int64_t>(S::rows, count - i)), p, streams);
        }
      }
    }
  }

  /// A tile's rows by panel p.
  void tile(const T* copy, const std::int64_t* places, const std::int64_t* results, int count,
            std::int64_t p, bool streams) const {
    alignas(64) T sums[S::rows * S::width];
    const std::int64_t width = panels.width(p);
    const std::int64_t first = column + panels.first(p);
    const std::int64_t last = column + panels.last(p);
    const bool whole = output.result != nullptr && last - first == width;
    T* to[S::rows];
    for (int r = 0; r < S::rows; ++r) {
      to[r] = whole ? output.result + results[r] * output.columns + first : sums + r * S::width;
    }
    with_vectors<S>(width, [&](auto vectors) {
      window_offsets_tile<T, A, vectors()>(copy, places, offsets, depth,
                                           weights + panels.first(p) * depth, width, to,
                                           whole && streams);
    });
    if (!whole) output.finish(call, sums, results, count, first, last);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
