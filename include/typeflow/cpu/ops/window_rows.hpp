// SPDX-License-Identifier: Apache-2.0
#pragma once

// The rows of the products of Conv and ConvInputGradient: where their windows are in the image, and
// the runs in which a register tile of shape S (cpu/tile.hpp) reads them.

#include <algorithm>
#include <cstdint>

#include "typeflow/cpu/tile.hpp"
#include "typeflow/ops/nn/gather_axis.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// Taps [begin, end) of an axis.
struct TapRange {
  std::int64_t begin;
  std::int64_t end;
  bool operator==(const TapRange&) const = default;
  bool has_all(const GatherAxis& axis) const { return begin == 0 && end == axis.taps; }
};

/// Those taps of a window that begins at this pixel which are inside of the image. If none are, a
/// range that adds nothing to others.
inline TapRange taps_of(const GatherAxis& axis, std::int64_t at) {
  if (at >= 0 && at + (axis.taps - 1) * axis.tap_step < axis.extent) return {0, axis.taps};
  const auto first_behind = [&](std::int64_t distance) {  // the first tap so far behind the first
    return distance <= 0 ? 0 : (distance + axis.tap_step - 1) / axis.tap_step;
  };
  const TapRange taps{first_behind(-at), std::min(axis.taps, first_behind(axis.extent - at))};
  return taps.begin < taps.end ? taps : TapRange{axis.taps, 0};
}

/// The rows of a block: where their windows begin in the image, and their places in the result.
template <class T, class S>
struct WindowBlock {
  std::int64_t pixel[S::rows];  ///< the first tap's pixel, possibly outside
  std::int64_t at[S::rows][max_window_rank];
  std::int64_t result[S::rows];
  int count;
  TapRange taps[max_window_rank];  ///< those that see the image from any row
  bool alike[max_window_rank];     ///< whether they are the same from all rows
  bool inside() const { return alike[0] && alike[1] && alike[2]; }
  /// A block that repeats this row.
  WindowBlock only(int row, const GatherAxis* axes) const {
    WindowBlock block = *this;
    for (int a = 0; a < max_window_rank; ++a) {
      block.taps[a] = taps_of(axes[a], at[row][a]);
      block.alike[a] = true;
      for (int i = 0; i < S::rows; ++i) block.at[i][a] = at[row][a];
    }
    std::fill_n(block.pixel, S::rows, pixel[row]);
    return block;
  }
};

/// The order of rows: `together` samples, place by place.
struct WindowOrder {
  std::int64_t samples;
  std::int64_t together;
  bool padded;  ///< whether a window sees padding

  /// Of images with padding, as many samples together as a block has rows: these see the same
  /// padding, and leave it out. One, if the lines of the images that a window meets, of pixels of
  /// so many bytes, are too large for a cache.
  static WindowOrder best(const GatherAxis* axes, std::int64_t samples, std::int64_t bytes,
                          int rows) {
    bool padded = false;
    std::int64_t of_lines = rows * bytes * axes[2].extent;
    for (int a = 0; a < max_window_rank; ++a) {
      const GatherAxis& axis = axes[a];
      const std::int64_t last = (axis.places - 1) * axis.step + axis.offset;
      padded = padded || axis.offset < 0 || !taps_of(axis, last).has_all(axis);
      if (a < 2) of_lines *= std::min(axis.extent, (axis.taps - 1) * axis.tap_step + 1);
    }
    constexpr std::int64_t cached = std::int64_t{1} << 21;
    const bool fits = of_lines <= cached;
    return {samples, padded && fits ? std::min<std::int64_t>(samples, rows) : 1, padded};
  }
};

/// Finds the blocks of rows [first, last).
template <class T, class S>
void place_windows(const GatherAxis* axes, const WindowOrder& order, std::int64_t first,
                   std::int64_t last, WindowBlock<T, S>* blocks) {
  constexpr int width = max_window_rank - 1;
  const auto product = [&](auto extent) {
    return extent(axes[0]) * extent(axes[1]) * extent(axes[2]);
  };
  const std::int64_t places = product([](const GatherAxis& a) { return a.places; });
  const std::int64_t of_image = product([](const GatherAxis& a) { return a.extent; });
  const std::int64_t of_result = product([](const GatherAxis& a) { return a.result; });
  std::int64_t sample = first / places / order.together * order.together;
  std::int64_t together = std::min(order.together, order.samples - sample);
  std::int64_t rest = first - sample * places;
  std::int64_t number = rest % together;  // of the sample among those together
  rest /= together;
  std::int64_t place[max_window_rank];
  for (int a = width; a >= 0; --a) {
    place[a] = rest % axes[a].places;
    rest /= axes[a].places;
  }
  // A line of places along the width: its coordinates, and its first pixel and result in the first
  // of the samples.
  std::int64_t at[max_window_rank];
  TapRange taps[] = {{0, axes[0].taps}, {0, axes[1].taps}, {0, axes[2].taps}};
  std::int64_t pixel = 0;
  std::int64_t result = 0;
  const auto begin_place = [&] {
    at[width] = place[width] * axes[width].step + axes[width].offset;
    if (order.padded) taps[width] = taps_of(axes[width], at[width]);
  };
  const auto begin_line = [&] {
    pixel = result = sample;
    for (int a = 0; a < width; ++a) {
      const GatherAxis& axis = axes[a];
      at[a] = place[a] * axis.step + axis.offset;
      taps[a] = taps_of(axis, at[a]);
      pixel = pixel * axis.extent + at[a];
      result = result * axis.result + axis.first_place + place[a] * axis.place_step;
    }
    pixel *= axes[width].extent;
    result = result * axes[width].result + axes[width].first_place;
    begin_place();
  };
  begin_line();
  for (; first < last; first += S::rows, ++blocks) {
    WindowBlock<T, S>& block = *blocks;
    block.count = static_cast<int>(std::min<std::int64_t>(S::rows, last - first));
    for (int i = 0; i < S::rows; ++i) {
      for (int a = 0; a < max_window_rank && (i == 0 || order.padded); ++a) {
        block.at[i][a] = at[a];
        if (i == 0) block.taps[a] = taps[a];
        block.alike[a] = i == 0 || (block.alike[a] && block.taps[a] == taps[a]);
        block.taps[a] = {std::min(block.taps[a].begin, taps[a].begin),
                         std::max(block.taps[a].end, taps[a].end)};
      }
      block.pixel[i] = pixel + at[width] + number * of_image;
      block.result[i] = result + place[width] * axes[width].place_step + number * of_result;
      if (i + 1 >= block.count && first + S::rows >= last) continue;  // the last row is repeated
      if (++number < together) continue;
      number = 0;
      if (++place[width] < axes[width].places) {
        begin_place();
        continue;
      }
      place[width] = 0;
      for (int a = width - 1; a >= 0 && ++place[a] == axes[a].places; --a) {
        place[a] = 0;
        if (a == 0) {
          sample += together;
          together = std::min(order.together, order.samples - sample);
        }
      }
      begin_line();
    }
  }
}

/// The runs of products of a block.
template <class T, class S>
struct BlockRuns {
  const GatherAxis* axes;
  const WindowBlock<T, S>& block;
  const T* image;
  const T* zeros;
  const T* panel;
  std::int64_t channels;  ///< channels of the image
  std::int64_t pitch;
  std::int64_t depth;  ///< products of a tap
  bool whole;          ///< whether a run has all taps along the width
  std::int64_t ahead;  ///< distance of the next block's pixels, if they are read in order; or 0
  std::int64_t k[max_window_rank] = {block.taps[0].begin, block.taps[1].begin, block.taps[2].begin};
  std::int64_t shift = 0;  ///< pixels from a window's first tap to this one
  const T* b = panel;      ///< the weights of this tap

  /// Must be called first.
  TYPEFLOW_INLINE void start() {
    if (k[0] + k[1] + k[2] != 0) find_tap();
  }
  /// Finds shift and b of tap k.
  TYPEFLOW_INLINE void find_tap() {
    const std::int64_t y = k[0] * axes[0].tap_step * axes[1].extent + k[1] * axes[1].tap_step;
    shift = y * axes[2].extent + k[2] * axes[2].tap_step;
    b = panel + ((k[0] * axes[1].taps + k[1]) * axes[2].taps + k[2]) * depth * pitch;
  }
  TYPEFLOW_INLINE bool more() const {
    return k[0] < block.taps[0].end && k[1] < block.taps[1].end && k[2] < block.taps[2].end;
  }
  TYPEFLOW_INLINE std::int64_t next(const T* (&at)[S::rows], const T*& right) {
    if (block.inside()) {
      unrolled<S::rows>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
        at[i] = image + (block.pixel[i] + shift) * channels;
      });
    } else {
      for (int i = 0; i < S::rows; ++i) {
        at[i] = sees(i) ? image + (block.pixel[i] + shift) * channels : zeros;
      }
    }
    right = b;
    const std::int64_t taps = whole ? block.taps[2].end - k[2] : 1;
    k[2] += taps;
    for (int a = 2; a > 0 && k[a] == block.taps[a].end; --a) {
      k[a] = block.taps[a].begin;
      ++k[a - 1];
    }
    find_tap();  // while the processor computes this one's products
    return taps * depth;
  }
  /// Whether a row's tap is inside of the image.
  TYPEFLOW_INLINE bool sees(int row) const {
    bool inside = true;
    for (int a = 0; a < max_window_rank; ++a) {  // without branches
      const std::int64_t at = block.at[row][a] + k[a] * axes[a].tap_step;
      const bool within =
          static_cast<std::uint64_t>(at) < static_cast<std::uint64_t>(axes[a].extent);
      inside = inside & within;
    }
    return inside;
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
