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

/// Goes on to the next place.
template <class O>
void advance(const O& op, ImagePosition& p) {
  for (int a = max_window_rank - 1; a >= 0 && ++p.at[a] == op.places(a); --a) {
    p.at[a] = 0;
    if (a == 0) ++p.sample;
  }
}

/// Rows of dy, or of a copy of one of its panels.
template <class T>
struct PanelRows {
  const T* data;
  std::int64_t pitch;
  std::int64_t first;  ///< the place of the first row
  TYPEFLOW_INLINE const T* row(std::int64_t place) const { return data + (place - first) * pitch; }
};

/// The places along an axis that see no padding: [first, last).
struct InnerPlaces {
  std::int64_t first;
  std::int64_t last;

  InnerPlaces(const WindowAxis& axis, std::int64_t image, std::int64_t places)
      : first((axis.before + axis.stride - 1) / axis.stride) {
    const std::int64_t room = image + axis.before - axis.span();
    last = std::max(first, std::min(places, room < 0 ? 0 : room / axis.stride + 1));
  }
  bool has(std::int64_t place) const { return place >= first && place < last; }
};

/// For all taps of some rows: the pixels in place, or the copies of windows that see padding. A run
/// is a part of a line of places.
template <class T, class S>
struct WindowRuns {
  const T* x;
  const T* copies;
  std::int64_t x_step;
  std::int64_t copy_step;
  std::int64_t first;  ///< the place of the first copy
  std::int64_t pitch;
  PanelRows<T> b;
  std::int64_t place;
  std::int64_t last;
  ImagePosition position;
  std::int64_t channels;
  std::int64_t places[max_window_rank];
  std::int64_t image[max_window_rank];
  std::int64_t stride[max_window_rank];
  std::int64_t before[max_window_rank];
  InnerPlaces inner[max_window_rank];
  std::int64_t row[S::rows];  ///< distance of a pixel from the first one of its window
  std::int64_t step = 0;

  template <class O, class Sizes>
  WindowRuns(const O& op, const Sizes& z, const T* from, const T* copied, std::int64_t block,
             const PanelRows<T>& right, std::int64_t begin, std::int64_t end)
      : x(from),
        copies(copied + block * S::rows),
        x_step(op.window.stride[2] * z.channels),
        copy_step(z.x_pitch()),
        first(begin),
        pitch(right.pitch),
        b(right),
        place(begin),
        last(end),
        position(begin < end ? image_position(op, begin) : ImagePosition{}),
        channels(z.channels),
        inner{{op.window.axis(0), op.image[0], op.places(0)},
              {op.window.axis(1), op.image[1], op.places(1)},
              {op.window.axis(2), op.image[2], op.places(2)}} {
    for (int a = 0; a < max_window_rank; ++a) {
      places[a] = op.places(a);
      image[a] = op.image[a];
      stride[a] = op.window.stride[a];
      before[a] = op.window.before[a];
    }
    for (int i = 0; i < S::rows; ++i) {
      const std::int64_t number = std::min<std::int64_t>(block * S::rows + i, z.rows - 1);
      const std::int64_t tap = number / z.of_x;
      const std::int64_t k[] = {tap / (op.window.size[1] * op.window.size[2]),
                                tap / op.window.size[2] % op.window.size[1],
                                tap % op.window.size[2]};
      std::int64_t pixel = 0;
      for (int a = 0; a < max_window_rank; ++a) {
        pixel = pixel * op.image[a] + k[a] * op.window.dilation[a];
      }
      row[i] = pixel * channels + number % z.of_x;
    }
  }

  TYPEFLOW_INLINE bool more() const { return place < last; }
  TYPEFLOW_INLINE std::int64_t next(const T* (&at)[S::rows], const T*& right) {
    const std::int64_t from = position.at[2];
    const bool line = inner[0].has(position.at[0]) && inner[1].has(position.at[1]);
    const bool direct = line && inner[2].has(from);
    std::int64_t end = places[2];
    if (direct) {
      end = inner[2].last;
    } else if (line && from < inner[2].first && inner[2].first < inner[2].last) {
      end = inner[2].first;
    }
    const std::int64_t size = std::min(end - from, last - place);
    if (direct) {
      std::int64_t pixel = position.sample;
      for (int a = 0; a < max_window_rank; ++a) {
        pixel = pixel * image[a] + position.at[a] * stride[a] - before[a];
      }
      unrolled<S::rows>([&](auto i)
                            TYPEFLOW_INLINE_LAMBDA { at[i] = x + pixel * channels + row[i]; });
      step = x_step;
    } else {
      unrolled<S::rows>(
          [&](auto i) TYPEFLOW_INLINE_LAMBDA { at[i] = copies + (place - first) * copy_step + i; });
      step = copy_step;
    }
    right = b.row(place);
    place += size;
    position.at[2] += size;
    for (int a = max_window_rank - 1; a >= 0 && position.at[a] == places[a]; --a) {
      position.at[a] = 0;
      if (a > 0) {
        ++position.at[a - 1];
      } else {
        ++position.sample;
      }
    }
    return size;
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
