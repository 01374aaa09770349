// SPDX-License-Identifier: Apache-2.0
#pragma once

// Blocks of a convolution's places, for images of few channels: the pixels that a block's windows
// see are copied, with zeros in the padding. Then all windows are alike: an element of a window
// lies at the same distance from the window's first one, wherever the window is.

#include <algorithm>
#include <cstdint>

#include "typeflow/ops/nn/gather_axis.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// How the places of an image are cut into blocks. Lines are places side by side along the width.
/// A block has lines of one sample and one depth.
struct PaddedBlocks {
  static constexpr std::int64_t most_places = 1024;
  static constexpr std::int64_t most_bytes = std::int64_t{1} << 15;  ///< of a block's copy

  const GatherAxis* axes;
  std::int64_t channels;  ///< that are copied: those of one group
  std::int64_t lines = 0;
  std::int64_t width = 0;  ///< places of a line; 0 if no block is small enough
  std::int64_t rows = 0;   ///< rows of pixels that the lines see, in one plane
  std::int64_t pitch = 0;  ///< elements of a row
  std::int64_t line_blocks = 0;
  std::int64_t width_blocks = 0;

  /// A part of the places: lines [line, line + lines) and their places [first, first + width).
  struct Block {
    std::int64_t sample, plane;
    std::int64_t line, lines;
    std::int64_t first, width;
  };

  /// Blocks whose copies have at most `room` elements. Narrower ones than `least` do not pay.
  PaddedBlocks(const GatherAxis* of, std::int64_t depth, std::int64_t room, std::int64_t least)
      : axes(of), channels(depth) {
    const std::int64_t of_line = axes[0].taps * span(1) * channels;
    if (of_line <= 0 || span(2) <= 0 || axes[1].places <= 0 || axes[2].places <= 0) return;
    const std::int64_t pixels = room / of_line;
    if (pixels < span(2)) return;
    const auto parts = [](std::int64_t n, std::int64_t most) { return (n + most - 1) / most; };
    const std::int64_t widest = std::min((pixels - span(2)) / axes[2].step + 1, most_places);
    if (widest < std::min(least, axes[2].places)) return;
    width_blocks = parts(axes[2].places, widest);
    width = parts(axes[2].places, width_blocks);
    pitch = ((width - 1) * axes[2].step + span(2)) * channels;
    const std::int64_t highest = (room / (axes[0].taps * pitch) - span(1)) / axes[1].step + 1;
    line_blocks =
        parts(axes[1].places, std::min(highest, std::max<std::int64_t>(most_places / width, 1)));
    lines = parts(axes[1].places, line_blocks);
    rows = (lines - 1) * axes[1].step + span(1);
  }

  std::int64_t span(int a) const { return (axes[a].taps - 1) * axes[a].tap_step + 1; }
  std::int64_t count(std::int64_t samples) const {
    return samples * axes[0].places * line_blocks * width_blocks;
  }
  Block block(std::int64_t number) const {
    Block b{};
    b.first = number % width_blocks * width;
    b.width = std::min(width, axes[2].places - b.first);
    number /= width_blocks;
    b.line = number % line_blocks * lines;
    b.lines = std::min(lines, axes[1].places - b.line);
    number /= line_blocks;
    b.plane = number % axes[0].places;
    b.sample = number / axes[0].places;
    return b;
  }
  /// The number of a block's first place.
  std::int64_t number(const Block& b) const {
    const std::int64_t plane = b.sample * axes[0].places + b.plane;
    return (plane * axes[1].places + b.line) * axes[2].places + b.first;
  }
  /// Distance of a place's window in the copy from the block's first one.
  std::int64_t place(std::int64_t line, std::int64_t at) const {
    return line * axes[1].step * pitch + at * axes[2].step * channels;
  }
  /// Distances of a window's elements from its first one, in the order of taps and channels.
  void offsets(std::int64_t* to) const {
    for (std::int64_t k0 = 0; k0 < axes[0].taps; ++k0) {
      for (std::int64_t k1 = 0; k1 < axes[1].taps; ++k1) {
        for (std::int64_t k2 = 0; k2 < axes[2].taps; ++k2) {
          const std::int64_t first =
              (k0 * rows + k1 * axes[1].tap_step) * pitch + k2 * axes[2].tap_step * channels;
          for (std::int64_t c = 0; c < channels; ++c) *to++ = first + c;
        }
      }
    }
  }
  /// Copies a block's pixels from an image whose pixels have `of_pixel` elements.
  template <class T>
  void copy(const Block& b, const T* image, std::int64_t of_pixel, T* to) const {
    const std::int64_t seen = (b.lines - 1) * axes[1].step + span(1);
    for (std::int64_t k = 0; k < axes[0].taps; ++k) {
      for (std::int64_t r = 0; r < seen; ++r) {
        copy_row(b, image, of_pixel, k, r, to + (k * rows + r) * pitch);
      }
    }
  }
  /// Copies row r of those in tap k's plane.
  template <class T>
  void copy_row(const Block& b, const T* image, std::int64_t of_pixel, std::int64_t k,
                std::int64_t r, T* row) const {
    const std::int64_t pixels = (b.width - 1) * axes[2].step + span(2);
    const std::int64_t x = b.first * axes[2].step + axes[2].offset;
    const std::int64_t begin = std::clamp<std::int64_t>(-x, 0, pixels);
    const std::int64_t end = std::clamp<std::int64_t>(axes[2].extent - x, begin, pixels);
    const std::int64_t z = b.plane * axes[0].step + axes[0].offset + k * axes[0].tap_step;
    const std::int64_t y = b.line * axes[1].step + axes[1].offset + r;
    if (z < 0 || z >= axes[0].extent || y < 0 || y >= axes[1].extent) {
      std::fill_n(row, pixels * channels, T(0));
      return;
    }
    const T* const from =
        image +
        (((b.sample * axes[0].extent + z) * axes[1].extent + y) * axes[2].extent + x) * of_pixel;
    std::fill_n(row, begin * channels, T(0));
    if (channels == of_pixel) {
      std::copy(from + begin * channels, from + end * channels, row + begin * channels);
    } else {
      for (std::int64_t i = begin; i < end; ++i) {
        std::copy_n(from + i * of_pixel, channels, row + i * channels);
      }
    }
    std::fill_n(row + end * channels, (pixels - end) * channels, T(0));
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
