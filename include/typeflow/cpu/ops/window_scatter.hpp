// SPDX-License-Identifier: Apache-2.0
#pragma once

// The gradient of a convolution for images of few channels. As a product with a column for each
// channel it would leave most of a vector empty. Instead, a place of dy gives the sums for its
// whole window at once, (F) x (F,KH*KW*C) -> (KH*KW*C), and these are added to the image.
//
// Rows of the image are kept while windows reach them. Padding is a part of these rows, and is left
// out of the result. An element's order of additions depends on extents alone: places line by line,
// in strips of a line, and in a strip so that windows added one after the other do not overlap.

#include <algorithm>
#include <cstdint>

#include "typeflow/cpu/contraction.hpp"
#include "typeflow/cpu/ops/few_channels.hpp"
#include "typeflow/ops/nn/conv_operations.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// One group's gradient.
template <class T, class A>
struct WindowScatter {
  using S = TileShape<T, A>;
  using L = Lanes<sizeof(T) == 8, A>;
  static constexpr std::int64_t room = PaddedBlocks::most_bytes / sizeof(T);  ///< for rows
  static constexpr std::int64_t most_sums = room / 2;                         ///< of a strip

  const KernelCall& call;
  const ops::ConvAttributes& op;
  const Output<T>& output;
  const T* dy;  ///< the group's first filter
  const T* w;   ///< the same
  T* packed;    ///< place for w as panels
  std::int64_t samples;
  std::int64_t filters;   ///< all; rows of dy and w have as many elements
  std::int64_t depth;     ///< filters of the group
  std::int64_t channels;  ///< of the group
  std::int64_t column;    ///< the group's first column in the result

  /// Whether this is the better way, and rows and sums are small enough.
  bool pays() const {
    const WindowAxis depth_axis = op.window.axis(0);
    const bool flat = depth_axis.size == 1 && depth_axis.stride == 1 && depth_axis.before == 0 &&
                      op.places(0) == op.image[0];
    return flat && 2 * channels <= S::lanes && op.taps() > 1 && op.place_count() > 0 &&
           height().span() * pitch() <= room && S::rows * panels().padded() <= most_sums;
  }

  void run() const {
    pack();
    const std::int64_t planes = samples * op.image[0];
    // Bands of an image's rows. Each computes the sums of some places of the next one again.
    constexpr std::int64_t tasks_wanted = 16;
    const std::int64_t bands =
        std::clamp<std::int64_t>(std::min(tasks_wanted / std::max<std::int64_t>(planes, 1),
                                          op.image[1] / (8 * height().span())),
                                 1, op.image[1]);
    const std::int64_t rows = (op.image[1] + bands - 1) / bands;
    const std::int64_t work = 2 * op.places(1) * op.places(2) * depth * panels().padded() / bands;
    parallel(call, planes * bands, grain_of_cost(work), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t first = task % bands * rows;
        band(task / bands, first, std::min<std::int64_t>(first + rows, op.image[1]));
      }
    });
  }

 private:
  WindowAxis height() const { return op.window.axis(1); }
  WindowAxis width() const { return op.window.axis(2); }
  /// Elements of a row with its padding.
  std::int64_t pitch() const {
    const std::int64_t seen = (op.places(2) - 1) * width().stride + width().span();
    return std::max<std::int64_t>(seen, width().before + op.image[2]) * channels;
  }
  Panels<S> panels() const { return Panels<S>(op.taps() * channels); }

  void pack() const {
    const Panels<S> p = panels();
    parallel(call, p.count, std::max<std::int64_t>(1, chunk_size / (depth * S::width + 1)),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t i = begin; i < end; ++i) {
                 pack_transposed_panel(w, filters, depth, p.first(i), p.last(i), p.width(i),
                                       packed + p.first(i) * depth);
               }
             });
  }

  /// Rows of an image: a ring of as many as a window is high.
  struct Rows {
    T* data;
    std::int64_t count;
    std::int64_t pitch;
    T* row(std::int64_t number) const { return data + number % count * pitch; }
  };

  /// Rows [first, last) of a plane. Rows are numbered with the padding above them.
  void band(std::int64_t plane, std::int64_t first, std::int64_t last) const {
    alignas(64) T data[room];
    const WindowAxis h = height();
    const Rows rows{data, h.span(), pitch()};
    std::int64_t done = first + h.before;  // rows that have been written
    std::int64_t begun = done;             // rows that are in the ring
    const std::int64_t end = last + h.before;
    const auto write_up_to = [&](std::int64_t next) {
      for (; done < std::min(next, end); ++done) {
        if (done == begun) std::fill_n(rows.row(begun++), rows.pitch, T(0));
        write(rows.row(done), plane * op.image[1] + done - h.before);
      }
    };
    const std::int64_t line = std::max<std::int64_t>(
        0, (done - h.span() + h.stride) / h.stride);  // the first to reach it
    for (std::int64_t p = line; p < op.places(1) && p * h.stride < end; ++p) {
      const std::int64_t top = p * h.stride;
      write_up_to(top);
      for (; begun < std::min(top + h.span(), end); ++begun) {
        std::fill_n(rows.row(begun), rows.pitch, T(0));
      }
      add_line(rows, plane * op.places(1) + p, top, done, end);
    }
    write_up_to(end);
  }

  /// Adds the windows of a line of places, whose first row is `top`, to those of rows [first,
  /// last).
  void add_line(const Rows& rows, std::int64_t line, std::int64_t top, std::int64_t first,
                std::int64_t last) const {
    alignas(64) T sums[most_sums];
    const Panels<S> p = panels();
    const std::int64_t of_sums = p.padded();
    const std::int64_t places = op.places(2);
    const std::int64_t strip = most_sums / of_sums / S::rows * S::rows;
    const WindowAxis w2 = width();
    const bool side_by_side = w2.dilation == 1;
    const std::int64_t piece = (side_by_side ? w2.size : 1) * channels;
    const std::int64_t pieces = side_by_side ? 1 : w2.size;
    const std::int64_t apart = (w2.span() + w2.stride - 1) / w2.stride;  // windows do not overlap
    for (std::int64_t x = 0; x < places; x += strip) {
      const std::int64_t count = std::min(strip, places - x);
      multiply(p, dy + (line * places + x) * filters, count, sums);
      for (std::int64_t phase = 0; phase < std::min(apart, count); ++phase) {
        for (std::int64_t k = 0; k < height().size; ++k) {
          const std::int64_t number = top + k * height().dilation;
          if (number < first || number >= last) continue;
          T* const row = rows.row(number) + x * w2.stride * channels;
          for (std::int64_t i = phase; i < count; i += apart) {
            const T* from = sums + i * of_sums + k * w2.size * channels;
            T* to = row + i * w2.stride * channels;
            for (std::int64_t j = 0; j < pieces; ++j) {
              add(from, piece, to);
              from += piece;
              to += w2.dilation * channels;
            }
          }
        }
      }
    }
  }
  TYPEFLOW_INLINE static void add(const T* from, std::int64_t count, T* to) {
    for (std::int64_t c = 0; c < count; c += S::lanes) {
      const int n = static_cast<int>(std::min<std::int64_t>(S::lanes, count - c));
      L::store(to + c, L::load(to + c, n) + L::load(from + c, n), n);
    }
  }

  /// The sums for the windows of `count` places.
  void multiply(const Panels<S>& p, const T* from, std::int64_t count, T* sums) const {
    for (std::int64_t i = 0; i < p.count; ++i) {
      const T* const panel = packed + p.first(i) * depth;
      with_vectors<S>(p.width(i), [&](auto vectors) {
        for (std::int64_t r = 0; r < count; r += S::rows) {
          product_tile<T, A, vectors()>(
              from + r * filters, filters, 1,
              static_cast<int>(std::min<std::int64_t>(S::rows, count - r)), panel, p.width(i),
              depth, sums + r * p.padded() + p.first(i), p.padded());
        }
      });
    }
  }

  /// Writes an image's row.
  void write(const T* row, std::int64_t number) const {
    row += width().before * channels;
    const std::int64_t pixels = op.image[2];
    number *= pixels;
    if (output.result != nullptr) {
      T* to = output.result + number * output.columns + column;
      if (channels == output.columns) {
        std::copy_n(row, pixels * channels, to);
        return;
      }
      for (std::int64_t i = 0; i < pixels; ++i, row += channels, to += output.columns) {
        std::copy_n(row, channels, to);
      }
      return;
    }
    alignas(64) T tile[S::rows * S::width] = {};
    std::int64_t results[S::rows] = {};
    for (std::int64_t i = 0; i < pixels; i += S::rows) {
      const int count = static_cast<int>(std::min<std::int64_t>(S::rows, pixels - i));
      for (int r = 0; r < count; ++r, row += channels) {
        std::copy_n(row, channels, tile + r * S::width);
        results[r] = number + i + r;
      }
      output.finish(call, tile, results, count, column, column + channels);
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
