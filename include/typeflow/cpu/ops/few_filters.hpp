// SPDX-License-Identifier: Apache-2.0
#pragma once

// The products of a convolution of few channels by one filter, or by so few that they would leave
// most of a vector of filters empty. Here vectors hold places of a line instead (pixel_planes.hpp).
//
// Sums are the chains of the other loops: an element's taps and channels in order.

#include <algorithm>
#include <cstdint>

#include "typeflow/cpu/ops/few_channels.hpp"
#include "typeflow/cpu/ops/pixel_planes.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// The products in blocks.
template <class T, class A>
struct FewFilters {
  using S = TileShape<T, A>;
  using B = xsimd::batch<T, A>;
  static constexpr std::int64_t N = S::lanes;
  static constexpr int most = std::max(1, S::lanes / 4);  ///< filters
  static constexpr std::int64_t most_places =
      PaddedBlocks::most_places + N;  ///< of a filter's sums

  const KernelCall& call;
  const Output<T>& output;
  PixelPlanes<T, A> pixels;
  const T* image;
  const std::int64_t* offsets;  ///< of a window's elements
  std::int64_t depth;           ///< elements of a window
  const T* weights;             ///< rows of filters

  /// Whether these loops write results of these places and filters, and pay.
  static bool fits(const Output<T>& output, const PixelPlanes<T, A>& pixels) {
    constexpr std::int64_t most_products = 64;  // of a tap; others leave the first cache
    return output.columns <= most && pixels.blocks.channels * output.columns <= most_products &&
           pixels.blocks.axes[2].place_step == 1 && pixels.fit();
  }

  void run(std::int64_t samples) const {
    const PaddedBlocks& blocks = pixels.blocks;
    const std::int64_t vectors = (blocks.width + N - 1) / N * blocks.lines;
    const std::int64_t work = 2 * vectors * N * depth * output.columns + 8 * pixels.size();
    parallel(call, blocks.count(samples), grain_of_cost(work),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t i = begin; i < end; ++i) compute(blocks.block(i));
             });
  }

 private:
  const GatherAxis& axis(int a) const { return pixels.blocks.axes[a]; }

  void compute(const PaddedBlocks::Block& block) const {
    alignas(64) T planes[PixelPlanes<T, A>::most + N];
    alignas(64) T sums[most * most_places];
    // What lies behind a row's pixels is multiplied, too, for sums of no place.
    pixels.copy(block, image, planes);
    std::int64_t f = 0;
    if constexpr (most > 1) {
      for (; f + 2 <= output.columns; f += 2) multiply<2>(block, planes, f, sums);
    }
    for (; f < output.columns; ++f) multiply<1>(block, planes, f, sums);
    for (std::int64_t l = 0; l < block.lines; ++l) {
      const auto in_result = [&](int a, std::int64_t place) {
        return axis(a).first_place + place * axis(a).place_step;
      };
      const std::int64_t plane = block.sample * axis(0).result + in_result(0, block.plane);
      const std::int64_t line =
          (plane * axis(1).result + in_result(1, block.line + l)) * axis(2).result;
      write(sums + l * block.width, line + in_result(2, block.first), block.width);
    }
  }

  /// The sums of F filters from number f on.
  template <int F>
  void multiply(const PaddedBlocks::Block& block, const T* planes, std::int64_t f, T* sums) const {
    const T* from[S::rows];
    T* to[S::rows];
    int count = 0;
    sums += f * most_places;
    for (std::int64_t l = 0; l < block.lines; ++l) {
      for (std::int64_t x = 0; x < block.width; x += N) {
        from[count] = planes + pixels.line(l) + x;
        to[count] = sums + l * block.width + x;
        if (++count < S::rows) continue;
        tile<F>(from, to, weights + f);
        count = 0;
      }
    }
    if (count == 0) return;
    for (int i = count; i < S::rows; ++i) {  // the last one is repeated
      from[i] = from[count - 1];
      to[i] = to[count - 1];
    }
    tile<F>(from, to, weights + f);
  }

  /// Vectors of places by F filters, in the order of their memory: the rest of a line's last one is
  /// written over by the next line.
  template <int F>
  [[gnu::noinline, gnu::flatten]] void tile(const T* const (&from)[S::rows],
                                            T* const (&to)[S::rows], const T* filters) const {
    const T* at[S::rows];
    B sum[S::rows][F];
    unrolled<S::rows>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
      at[i] = from[i];
      unrolled<F>([&](auto f) TYPEFLOW_INLINE_LAMBDA { sum[i][f] = B(T(0)); });
    });
    for (std::int64_t k = 0; k < depth; ++k, filters += output.columns) {
      B weight[F];
      unrolled<F>([&](auto f) TYPEFLOW_INLINE_LAMBDA { weight[f] = B(filters[f]); });
      const std::int64_t offset = offsets[k];
      unrolled<S::rows>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
        const B x = B::load_unaligned(at[i] + offset);
        unrolled<F>([&](auto f) TYPEFLOW_INLINE_LAMBDA {
          sum[i][f] = cpu_kernels::fma(x, weight[f], sum[i][f]);
        });
      });
    }
    unrolled<S::rows>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
      unrolled<F>([&](auto f) TYPEFLOW_INLINE_LAMBDA {
        sum[i][f].store_unaligned(to[i] + f * most_places);
      });
    });
  }

  /// Rows of as many filters, up to F, as there are.
  template <int F>
  void interleave(const T* sums, std::int64_t count, T* to) const {
    if constexpr (F > 1) {
      if (output.columns < F) {
        interleave<F - 1>(sums, count, to);
        return;
      }
      for (std::int64_t i = 0; i < count; ++i) {
        unrolled<F>([&](auto f)
                        TYPEFLOW_INLINE_LAMBDA { to[i * F + f] = sums[f * most_places + i]; });
      }
    } else {
      std::copy_n(sums, count, to);
    }
  }

  /// Sums of `count` places from number `place` on, which lie side by side in the result.
  void write(const T* sums, std::int64_t place, std::int64_t count) const {
    const std::int64_t columns = output.columns;
    if (output.result != nullptr) {
      interleave<most>(sums, count, output.result + place * columns);
      return;
    }
    if (output.finish_places != nullptr) {
      alignas(64) T rows[most > 1 ? most * most_places : 1];
      if (columns > 1) {
        interleave<most>(sums, count, rows);
        sums = rows;
      }
      output.finish_places(call, sums, place, place + count);
      return;
    }
    alignas(64) T tile[S::rows * S::width] = {};
    std::int64_t numbers[S::rows];
    for (std::int64_t i = 0; i < count; i += S::rows) {
      const int some = static_cast<int>(std::min<std::int64_t>(S::rows, count - i));
      for (int r = 0; r < some; ++r) {
        numbers[r] = place + i + r;
        for (std::int64_t f = 0; f < columns; ++f) {
          tile[r * S::width + f] = sums[f * most_places + i + r];
        }
      }
      output.finish(call, tile, numbers, some, 0, columns);
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
