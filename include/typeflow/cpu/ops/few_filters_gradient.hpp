// SPDX-License-Identifier: Apache-2.0
#pragma once

// The gradient of a convolution of few channels for one filter, or for so few that they would leave
// most of a vector of filters empty. Here vectors hold places of a line (pixel_planes.hpp). So a
// sum is added up in as many chains as a vector has lanes, for each block: the extents alone decide
// which these are.

#include <algorithm>
#include <cstdint>

#include "typeflow/cpu/ops/few_filters.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <class T, class A>
struct FewFiltersGradient {
  using S = TileShape<T, A>;
  using L = Lanes<sizeof(T) == 8, A>;
  using B = xsimd::batch<T, A>;
  static constexpr std::int64_t N = S::lanes;
  static constexpr int most = FewFilters<T, A>::most;  ///< filters
  static constexpr std::int64_t most_places = FewFilters<T, A>::most_places;

  PixelPlanes<T, A> pixels;
  const std::int64_t* offsets;  ///< of a window's elements; behind them further ones for a tile
  std::int64_t depth;           ///< elements of a window
  std::int64_t filters;

  /// Adds the products of a block to tiles, whose rows are elements of a window. y is the block's
  /// first place, and its lines lie `pitch` elements apart.
  void add(const PaddedBlocks::Block& block, const T* image, const T* y, std::int64_t pitch,
           T* tiles) const {
    alignas(64) T planes[PixelPlanes<T, A>::most + N];
    alignas(64) T separated[most > 1 ? most * most_places : 1];
    pixels.copy(block, image, planes);
    if (filters > 1) {
      for (std::int64_t l = 0; l < block.lines; ++l) {
        pixels.separate(y + l * pitch, block.width * filters, filters, most_places,
                        separated + l * block.width);
      }
    }
    for (std::int64_t f = 0; f < filters; ++f) {
      const T* const of_filter = filters > 1 ? separated + f * most_places : y;
      const std::int64_t line = filters > 1 ? block.width : pitch;
      for (std::int64_t k = 0; k < depth; k += S::rows) {
        T* const tile = tiles + k * S::width + f;
        if (depth - k <= S::rows / 2) {
          add<S::rows / 2>(block, planes, of_filter, line, k, tile);
        } else {
          add<S::rows>(block, planes, of_filter, line, k, tile);
        }
      }
    }
  }

 private:
  /// R elements of the windows from number k on.
  template <int R>
  [[gnu::noinline, gnu::flatten]] void add(const PaddedBlocks::Block& block, const T* planes,
                                           const T* y, std::int64_t pitch, std::int64_t k,
                                           T* tile) const {
    B sum[R];
    const T* at[R];
    unrolled<R>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
      sum[i] = B(T(0));
      at[i] = planes + offsets[k + i];
    });
    const std::int64_t whole = block.width / N * N;
    const int rest = static_cast<int>(block.width - whole);
    for (std::int64_t l = 0; l < block.lines; ++l, y += pitch) {
      std::int64_t from = pixels.line(l);
      for (std::int64_t x = 0; x < whole; x += N, from += N) {
        const B right = B::load_unaligned(y + x);
        unrolled<R>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
          sum[i] = cpu_kernels::fma(B::load_unaligned(at[i] + from), right, sum[i]);
        });
      }
      if (rest == 0) continue;
      const B right = L::load(y + whole, rest);
      unrolled<R>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
        sum[i] = cpu_kernels::fma(L::load(at[i] + from, rest), right, sum[i]);
      });
    }
    alignas(64) T lanes[N];
    for (int i = 0; i < R && k + i < depth; ++i) {
      sum[i].store_aligned(lanes);
      for (std::int64_t half = N / 2; half > 0; half /= 2) {
        for (std::int64_t j = 0; j < half; ++j) lanes[j] += lanes[j + half];
      }
      tile[i * S::width] += lanes[0];
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
