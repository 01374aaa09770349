// SPDX-License-Identifier: Apache-2.0
#pragma once

// Rows of a padded block's pixels (padded_blocks.hpp) as planes, for vectors of places: one plane
// for each phase of the stride and each channel. So an element of the windows at neighbouring
// places lies side by side. Of one channel and stride 1, a row is one plane.

#include <algorithm>
#include <cstdint>

#include "typeflow/cpu/ops/padded_blocks.hpp"
#include "typeflow/cpu/product_kernel.hpp"
#include "typeflow/cpu/tile.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <class T, class A>
struct PixelPlanes {
  static constexpr std::int64_t N = TileShape<T, A>::lanes;
  static constexpr std::int64_t room = PaddedBlocks::most_bytes / sizeof(T);
  static constexpr std::int64_t most = room + room / 2;  ///< elements

  PaddedBlocks blocks;
  std::int64_t count;  ///< planes of a row
  std::int64_t plane;  ///< elements
  std::int64_t row;    ///< elements

  explicit PixelPlanes(const PaddedBlocks& of) : blocks(of), count(of.axes[2].step * of.channels) {
    const std::int64_t elements = of.width > 0 ? (of.pitch - 1) / count + 1 : 0;
    plane = count == 1 ? elements : (elements + N - 1) / N * N;
    row = plane * count;
  }
  /// Elements of a block's.
  std::int64_t size() const { return blocks.rows * blocks.axes[0].taps * row; }
  bool fit() const { return blocks.width > 0 && size() <= most; }
  /// Distance of a line's first place from the block's.
  std::int64_t line(std::int64_t number) const { return number * blocks.axes[1].step * row; }

  /// As PaddedBlocks::offsets.
  void offsets(std::int64_t* to) const {
    const GatherAxis* const axes = blocks.axes;
    for (std::int64_t k0 = 0; k0 < axes[0].taps; ++k0) {
      for (std::int64_t k1 = 0; k1 < axes[1].taps; ++k1) {
        for (std::int64_t k2 = 0; k2 < axes[2].taps; ++k2) {
          const std::int64_t x = k2 * axes[2].tap_step;
          const std::int64_t first = (k0 * blocks.rows + k1 * axes[1].tap_step) * row +
                                     x % axes[2].step * blocks.channels * plane + x / axes[2].step;
          for (std::int64_t c = 0; c < blocks.channels; ++c) *to++ = first + c * plane;
        }
      }
    }
  }

  /// Copies a block's pixels, and writes zeros behind each row's, and behind all for a vector.
  void copy(const PaddedBlocks::Block& b, const T* image, T* to) const {
    alignas(64) T line[room];
    const std::int64_t seen = (b.lines - 1) * blocks.axes[1].step + blocks.span(1);
    std::fill_n(to, size() + N, T(0));
    for (std::int64_t k = 0; k < blocks.axes[0].taps; ++k) {
      for (std::int64_t r = 0; r < seen; ++r) {
        T* const planes = to + (k * blocks.rows + r) * row;
        blocks.copy_row(b, image, blocks.channels, k, r, count == 1 ? planes : line);
        if (count > 1) separate(line, blocks.pitch, count, plane, planes);
      }
    }
  }

  /// Elements of `count` kinds in turns, as a plane for each kind.
  static void separate(const T* from, std::int64_t elements, std::int64_t count, std::int64_t plane,
                       T* to) {
    switch (count) {
      case 2:
        return separate<2>(from, elements, count, plane, to);
      case 3:
        return separate<3>(from, elements, count, plane, to);
      case 4:
        return separate<4>(from, elements, count, plane, to);
      default:
        break;
    }
    if (elements % count == 0) {
      pack_transposed_panel(from, count, count, 0, elements / count, plane, to);
    } else {
      separate<0>(from, elements, count, plane, to);
    }
  }

 private:
  template <int Q>
  static void separate(const T* from, std::int64_t elements, std::int64_t kinds, std::int64_t plane,
                       T* to) {
    const std::int64_t count = Q > 0 ? Q : kinds;
    const std::int64_t whole = elements / count;
    for (std::int64_t q = 0; q < count; ++q) {
      T* const next = to + q * plane;
      for (std::int64_t i = 0; i < whole; ++i) next[i] = from[i * count + q];
      if (whole * count + q < elements) next[whole] = from[whole * count + q];
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
