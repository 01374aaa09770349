// SPDX-License-Identifier: Apache-2.0
#pragma once

// The rows of the products of Conv and ConvInputGradient: where their windows are in the image, and
// the runs in which a register tile of shape S (cpu/tile.hpp) reads them.

#include <algorithm>
#include <cstdint>

#include "typeflow/cpu/tile.hpp"
#include "typeflow/ops/nn/gather_axis.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// The rows of a block: where their windows begin in the image, and their places in the result.
template <class T, class S>
struct WindowBlock {
  std::int64_t pixel[S::rows];  ///< the first tap's pixel, possibly outside
  std::int64_t at[S::rows][max_window_rank];
  std::int64_t result[S::rows];
  int count;
  bool inside;         ///< whether all taps of all rows are inside
  bool inside_widths;  ///< whether all are inside along the width
};

/// Finds the blocks of rows [first, last).
template <class T, class S>
void place_windows(const GatherAxis* axes, std::int64_t first, std::int64_t last,
                   WindowBlock<T, S>* blocks) {
  std::int64_t place[max_window_rank];
  std::int64_t sample = first;
  for (int a = max_window_rank - 1; a >= 0; --a) {
    place[a] = sample % axes[a].places;
    sample /= axes[a].places;
  }
  constexpr int width = max_window_rank - 1;
  // A line of places along the width: its coordinates, and its first pixel and result.
  std::int64_t line[width] = {};
  std::int64_t pixel = 0;
  std::int64_t result = 0;
  bool line_fits = true;
  const auto fits = [](const GatherAxis& axis, std::int64_t at) {
    return at >= 0 && at + (axis.taps - 1) * axis.tap_step < axis.extent;
  };
  const auto begin_line = [&] {
    pixel = result = sample;
    line_fits = true;
    for (int a = 0; a < width; ++a) {
      const GatherAxis& axis = axes[a];
      line[a] = place[a] * axis.step + axis.offset;
      pixel = pixel * axis.extent + line[a];
      result = result * axis.result + axis.first_place + place[a] * axis.place_step;
      line_fits = line_fits && fits(axis, line[a]);
    }
    pixel *= axes[width].extent;
    result = result * axes[width].result + axes[width].first_place;
  };
  begin_line();
  for (; first < last; first += S::rows, ++blocks) {
    WindowBlock<T, S>& block = *blocks;
    block.count = static_cast<int>(std::min<std::int64_t>(S::rows, last - first));
    block.inside = true;
    block.inside_widths = true;
    for (int i = 0; i < S::rows; ++i) {
      for (int a = 0; a < width; ++a) block.at[i][a] = line[a];
      const std::int64_t at = place[width] * axes[width].step + axes[width].offset;
      block.at[i][width] = at;
      block.pixel[i] = pixel + at;
      block.result[i] = result + place[width] * axes[width].place_step;
      block.inside_widths = block.inside_widths && fits(axes[width], at);
      block.inside = block.inside && line_fits;
      if (i + 1 >= block.count && first + S::rows >= last) continue;  // the last row is repeated
      if (++place[width] < axes[width].places) continue;
      place[width] = 0;
      for (int a = width - 1; a >= 0 && ++place[a] == axes[a].places; --a) {
        place[a] = 0;
        if (a == 0) ++sample;
      }
      begin_line();
    }
    block.inside = block.inside && block.inside_widths;
  }
}

/// The runs of products of a block.
template <class T, class S>
struct BlockRuns {
  const GatherAxis* axes;
  const WindowBlock<T, S>* block;
  const T* image;
  const T* zeros;
  const T* b;
  std::int64_t channels;  ///< channels of the image
  std::int64_t pitch;
  std::int64_t piece;  ///< products of a run
  bool whole;          ///< whether a run has all taps along the width
  std::int64_t count;
  std::int64_t ahead;  ///< distance of the next block's pixels, if they are read in order; or 0
  std::int64_t k[max_window_rank] = {};

  TYPEFLOW_INLINE bool more() { return count-- > 0; }
  /// Leaves out runs of which all rows see padding. Returns 0 if these are the last ones.
  TYPEFLOW_INLINE std::int64_t next(const T* (&at)[S::rows], const T*& right) {
    bool sees_image = rows_of_run(at, right);
    while (!sees_image && count-- > 0) sees_image = rows_of_run(at, right);
    return sees_image ? piece : 0;
  }
  /// The next run. Returns whether a row sees the image.
  TYPEFLOW_INLINE bool rows_of_run(const T* (&at)[S::rows], const T*& right) {
    const std::int64_t z = k[0] * axes[0].tap_step;
    const std::int64_t y = k[1] * axes[1].tap_step;
    const std::int64_t x = k[2] * axes[2].tap_step;
    const std::int64_t shift = (z * axes[1].extent + y) * axes[2].extent + x;
    bool sees_image = block->inside;
    if (block->inside) {
      unrolled<S::rows>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
        at[i] = image + (block->pixel[i] + shift) * channels;
      });
    } else {
      for (int i = 0; i < S::rows; ++i) {
        at[i] = pixel(i, z, y, x, zeros);
        sees_image = sees_image || at[i] != zeros;
      }
    }
    right = b;
    b += piece * pitch;
    if (whole || ++k[2] == axes[2].taps) {
      k[2] = 0;
      if (++k[1] == axes[1].taps) {
        k[1] = 0;
        ++k[0];
      }
    }
    return sees_image;
  }
  /// Returns what a row reads at a tap: `padding` outside of the image.
  const T* pixel(int row, std::int64_t z, std::int64_t y, std::int64_t x, const T* padding) const {
    const std::int64_t* const from = block->at[row];
    const bool inside = is_in(from[0] + z, axes[0].extent) && is_in(from[1] + y, axes[1].extent) &&
                        (whole || is_in(from[2] + x, axes[2].extent));
    const std::int64_t shift = (z * axes[1].extent + y) * axes[2].extent + x;
    return inside ? image + (block->pixel[row] + shift) * channels : padding;
  }
  static bool is_in(std::int64_t at, std::int64_t extent) { return at >= 0 && at < extent; }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
