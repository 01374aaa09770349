// SPDX-License-Identifier: Apache-2.0
#pragma once

// The runs in which ConvFilterGradient's loops go through the places of an image. Along a run, a
// tile's rows see pixels at equal distances.

#include <algorithm>
#include <cstdint>

#include "typeflow/core/window.hpp"
#include "typeflow/cpu/tile.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// A place as its sample and coordinates.
struct ImagePosition {
  std::int64_t sample;
  std::int64_t at[max_window_rank];
};
template <class O>
ImagePosition image_position(const O& op, std::int64_t place) {
  ImagePosition p{};
  for (int a = max_window_rank - 1; a >= 0; --a) {
    const std::int64_t places = op.places(a);
    p.at[a] = place % places;
    place /= places;
  }
  p.sample = place;
  return p;
}

/// Rows of dy, or of a copy of one of its panels.
template <class T>
struct PanelRows {
  const T* data;
  std::int64_t pitch;
  std::int64_t first;  ///< the place of the first row
  TYPEFLOW_INLINE const T* row(std::int64_t place) const { return data + (place - first) * pitch; }
};

/// Brings memory that is read later: `step` bytes at each call.
struct SteadyPrefetch {
  std::uintptr_t at;
  std::uintptr_t step;
  TYPEFLOW_INLINE void operator()() {
    __builtin_prefetch(reinterpret_cast<const void*>(at));
    at += step;
  }
};

/// Lines of places of a padded block: a run for each line. The rows of a tile have their pixels at
/// `offsets`.
template <class T>
struct LineRuns {
  const T* x;
  const std::int64_t* offsets;
  std::int64_t step;
  std::int64_t x_line;  ///< elements of x from a line to the next
  const T* b;
  std::int64_t pitch;
  std::int64_t b_line;
  std::int64_t length;
  std::int64_t lines;
  SteadyPrefetch ahead;

  TYPEFLOW_INLINE bool more() const { return lines > 0; }
  TYPEFLOW_INLINE SteadyPrefetch others() {
    const SteadyPrefetch now = ahead;
    ahead.at += static_cast<std::uintptr_t>(length) * ahead.step;
    return now;
  }
  template <int R>
  TYPEFLOW_INLINE std::int64_t next(const T* (&at)[R], const T*& right) {
    unrolled<R>([&](auto i) TYPEFLOW_INLINE_LAMBDA { at[i] = x + offsets[i]; });
    right = b;
    x += x_line;
    b += b_line;
    --lines;
    return length;
  }
};

/// The pixels that a tap sees from places [first, last): a run for each line of places, without
/// those that see padding.
template <class T, class S>
struct PlaceRuns {
  const T* x;
  std::int64_t channels;
  std::int64_t step;
  std::int64_t pitch;
  PanelRows<T> b;
  std::int64_t place;
  std::int64_t last;
  std::int64_t line;  ///< places in a line
  ImagePosition position;
  std::int64_t places[max_window_rank];
  std::int64_t image[max_window_rank];
  std::int64_t stride[max_window_rank];
  std::int64_t shift[max_window_rank];  ///< distance of the tap from a place's first pixel
  std::int64_t row[S::rows];
  const T* strip = nullptr;  ///< copies of the rows; null: read from x
  std::int64_t first = 0;    ///< the place of the first copy

  template <class O, class Sizes>
  PlaceRuns(const O& op, const Sizes& z, const T* from, std::int64_t tap, std::int64_t block,
            const PanelRows<T>& right, std::int64_t begin, std::int64_t end)
      : x(from),
        channels(z.channels),
        step(op.window.stride[2] * z.channels),
        pitch(right.pitch),
        b(right),
        place(begin),
        last(end),
        line(0),
        position{} {
    const std::int64_t k[] = {tap / (op.window.size[1] * op.window.size[2]),
                              tap / op.window.size[2] % op.window.size[1], tap % op.window.size[2]};
    bool plain = true;  // every place sees the pixel with its number
    for (int a = 0; a < max_window_rank; ++a) {
      const WindowAxis axis = op.window.axis(a);
      places[a] = op.places(a);
      image[a] = op.image[a];
      stride[a] = axis.stride;
      shift[a] = k[a] * axis.dilation - axis.before;
      plain = plain && stride[a] == 1 && shift[a] == 0 && places[a] == image[a];
    }
    for (int i = 0; i < S::rows; ++i) {
      row[i] = std::min<std::int64_t>(block * S::rows + i, z.of_x - 1);
    }
    if (begin >= end) return;
    if (plain) {  // the places are one long line
      places[2] = image[2] = z.depth;
      places[0] = places[1] = image[0] = image[1] = 1;
      position.at[2] = begin;
    } else {
      position = image_position(op, begin);
    }
    line = places[2];
  }

  TYPEFLOW_INLINE bool more() const { return place < last; }
  TYPEFLOW_INLINE NoPrefetch others() const { return {}; }
  /// Reads copies of the rows instead, from place `first` on: S::rows elements for each place.
  void read_strip(const T* copies, std::int64_t first_copied) {
    strip = copies;
    first = first_copied;
    step = S::rows;
  }
  TYPEFLOW_INLINE std::int64_t next(const T* (&at)[S::rows], const T*& right) {
    std::int64_t begin = 0;
    const std::int64_t length = next(at, begin);
    right = b.row(begin);
    return length;
  }
  /// The same, with the run's first place instead of its row of dy.
  TYPEFLOW_INLINE std::int64_t next(const T* (&at)[S::rows], std::int64_t& run) {
    const std::int64_t from = position.at[2];
    const std::int64_t size = std::min(line - from, last - place);
    const std::int64_t z = position.at[0] * stride[0] + shift[0];
    const std::int64_t y = position.at[1] * stride[1] + shift[1];
    // The places of the line that see the image: 0 <= p * stride + shift < extent.
    std::int64_t begin = from;
    std::int64_t end = from + size;
    if (shift[2] < 0) begin = std::max(begin, (-shift[2] + stride[2] - 1) / stride[2]);
    const std::int64_t room = image[2] - shift[2];
    end = std::min(end, room <= 0 ? 0 : (room + stride[2] - 1) / stride[2]);
    const bool inside = z >= 0 && z < image[0] && y >= 0 && y < image[1] && begin < end;
    if (!inside) end = begin = from;
    const std::int64_t pixel = inside
                                   ? ((position.sample * image[0] + z) * image[1] + y) * image[2] +
                                         begin * stride[2] + shift[2]
                                   : 0;
    run = place + (begin - from);
    if (strip != nullptr) {
      unrolled<S::rows>(
          [&](auto i) TYPEFLOW_INLINE_LAMBDA { at[i] = strip + (run - first) * S::rows + i; });
    } else {
      unrolled<S::rows>([&](auto i)
                            TYPEFLOW_INLINE_LAMBDA { at[i] = x + pixel * channels + row[i]; });
    }
    place += size;
    position.at[2] = 0;
    if (++position.at[1] == places[1]) {
      position.at[1] = 0;
      if (++position.at[0] == places[0]) {
        position.at[0] = 0;
        ++position.sample;
      }
    }
    return end - begin;
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
