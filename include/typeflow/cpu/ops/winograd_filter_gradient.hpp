// SPDX-License-Identifier: Apache-2.0
#pragma once

// The loops of ConvFilterGradient by Winograd's transforms (winograd_transforms.hpp): tiles of dy
// are the weights, and the taps are the results. Chunks of tiles are transformed, and multiplied as
// 36 matrices whose depth is the tiles. The sums are transformed back at the end.

#include <algorithm>
#include <cstdint>

#include "typeflow/cpu/ops/winograd.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <class T, class A>
class WinogradFilterGradient {
  using Tiles = WinogradTiles<T, A>;
  using S = typename Tiles::S;
  using B = typename Tiles::B;
  using Transforms = typename Tiles::Transforms;
  static constexpr int points = Tiles::points;
  static constexpr int squares = Tiles::squares;
  static constexpr std::int64_t of_tile = std::int64_t{S::rows} * S::width;

  /// Numbers of elements.
  struct Sizes {
    std::int64_t samples, channels, filters;
    Panels<S> panels;
    std::int64_t blocks;  ///< of channels, as many as a register tile has rows
    std::int64_t chunk;   ///< tiles
    explicit Sizes(const std::int64_t* extents)
        : samples(extents[ir::ContractionExtents::outer]),
          channels(extents[ir::ContractionExtents::outer + 1]),
          filters(extents[ir::ContractionExtents::outer + 2]),
          panels(filters),
          blocks((channels + S::rows - 1) / S::rows),
          chunk(Tiles::of_chunk(channels + filters)) {}
    std::int64_t of_square() const { return blocks * panels.count; }  ///< register tiles
    std::int64_t of_x() const { return Tiles::distance(chunk, channels); }
    std::int64_t of_y() const { return Tiles::distance(chunk, filters); }
  };

 public:
  static std::int64_t workspace(const std::int64_t* extents) {
    const Sizes z(extents);
    const std::int64_t sums = checked_product(squares * of_tile, z.of_square());
    return checked_product(checked_sum(sums, squares * (z.of_x() + z.of_y())), sizeof(T));
  }

  /// False, and does nothing, if plain sums are needed.
  static bool run(const KernelCall& call, const ops::ConvAttributes& op, FinishTile<T> finish);

 private:
  WinogradFilterGradient(const KernelCall& kernel, FinishTile<T> to, const Sizes& sizes,
                         const Tiles& of)
      : call(kernel), finish(to), z(sizes), tiles(of), sums(static_cast<T*>(kernel.workspace)) {}

  template <int Taps>
  void run() const {
    T* const x = sums + squares * z.of_square() * of_tile;
    T* const y = x + squares * z.of_x();
    const std::int64_t all = tiles.count();
    for (std::int64_t first = 0; first < all; first += z.chunk) {
      const std::int64_t count = std::min(z.chunk, all - first);
      const std::int64_t cost = 16 * squares * (z.channels + z.filters);
      parallel(call, count, grain_of_cost(cost), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t t = begin; t < end; ++t) read<Taps>(first, t, x, y);
      });
      const std::int64_t work = 2 * count * of_tile;
      parallel(call, squares * z.of_square(), grain_of_cost(work),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) multiply(x, y, count, i, first > 0);
               });
    }
    parallel(call, z.of_square(), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) write<Taps>(i);
    });
  }

  /// Transforms tile t of a chunk.
  template <int Taps>
  void read(std::int64_t first, std::int64_t t, T* x, T* y) const {
    constexpr int side = points + 1 - Taps;
    tiles.read_pixels(call.operand<const T>(0), z.channels, first + t, x + t * z.channels,
                      z.of_x());
    Tiles::template read<side>(call.operand<const T>(1), tiles.axes[1].places, tiles.axes[2].places,
                               z.filters, tiles.tile(first + t), y + t * z.filters, z.of_y(),
                               [](const auto& of, const auto& put) TYPEFLOW_INLINE_LAMBDA {
                                 Transforms::template weights<side>(of, put);
                               });
  }

  /// Adds a chunk's products to register tile i of all squares: in short chains, because results
  /// are small differences of such sums.
  void multiply(const T* x, const T* y, std::int64_t count, std::int64_t i, bool go_on) const {
    constexpr std::int64_t chain = 64;
    const std::int64_t square = i / z.of_square();
    const std::int64_t p = i % z.panels.count;
    const std::int64_t channel = i % z.of_square() / z.panels.count * S::rows;
    const int rows = static_cast<int>(std::min<std::int64_t>(S::rows, z.channels - channel));
    T* const tile = sums + i * of_tile;
    alignas(64) T some[of_tile] = {};
    for (std::int64_t first = 0; first < count; first += chain) {
      const bool begins = first == 0 && !go_on;
      with_vectors<S>(z.panels.width(p), [&](auto vectors) {
        product_tile<T, A, vectors()>(
            x + square * z.of_x() + first * z.channels + channel, 1, z.channels, rows,
            y + square * z.of_y() + first * z.filters + z.panels.first(p), z.filters,
            std::min(chain, count - first), begins ? tile : some);
      });
      for (std::int64_t k = 0; k < of_tile && !begins; ++k) tile[k] += some[k];
    }
  }

  /// The taps of register tile i of a square.
  template <int Taps>
  void write(std::int64_t i) const {
    const std::int64_t p = i % z.panels.count;
    const std::int64_t channel = i / z.panels.count * S::rows;
    const int rows = static_cast<int>(std::min<std::int64_t>(S::rows, z.channels - channel));
    alignas(64) T results[Taps * Taps * of_tile];
    const std::int64_t step = z.of_square() * of_tile;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t j = 0; j < z.panels.width(p); j += S::lanes) {
        const std::int64_t at = r * S::width + j;
        Transforms::template results<Taps>(
            [&](auto y, auto x) TYPEFLOW_INLINE_LAMBDA {
              return B::load_unaligned(sums + i * of_tile + (y * points + x) * step + at);
            },
            [&](auto y, auto x, const B& v) TYPEFLOW_INLINE_LAMBDA {
              v.store_unaligned(results + (y * Taps + x) * of_tile + at);
            });
      }
    }
    for (int tap = 0; tap < Taps * Taps; ++tap) {
      std::int64_t places[S::rows];
      for (int r = 0; r < rows; ++r) places[r] = tap * z.channels + channel + r;
      finish(call, results + tap * of_tile, places, rows, z.panels.first(p), z.panels.last(p));
    }
  }

  const KernelCall& call;
  const FinishTile<T> finish;
  Sizes z;
  Tiles tiles;
  T* sums;  ///< register tiles, square by square
};

template <class T, class A>
bool WinogradFilterGradient<T, A>::run(const KernelCall& call, const ops::ConvAttributes& op,
                                       FinishTile<T> finish) {
  const Sizes z(call.extents);
  GatherAxis axes[max_window_rank];
  for (int a = 0; a < max_window_rank; ++a) {
    axes[a] = forward_axis(op.window.axis(a), op.image[a]);
  }
  const Tiles tiles{axes, z.samples, op.window.size[2]};
  if (!tiles.pays() ||
      !Tiles::moderate(call, call.operand<const T>(0), z.samples * op.image_size() * z.channels) ||
      !Tiles::moderate(call, call.operand<const T>(1), z.samples * op.place_count() * z.filters)) {
    return false;
  }
  const WinogradFilterGradient product{call, finish, z, tiles};
  op.window.size[2] == 3 ? product.template run<3>() : product.template run<5>();
  return true;
}

#ifdef TYPEFLOW_COMPILED
extern template class WinogradFilterGradient<float, DefaultArch>;
extern template class WinogradFilterGradient<double, DefaultArch>;
#endif

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
