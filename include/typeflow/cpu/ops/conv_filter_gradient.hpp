// SPDX-License-Identifier: Apache-2.0
#pragma once

// The loops of ConvFilterGradient (ops/nn/conv_operations.hpp): an implicit matrix product. A row
// is a channel of x at a tap, a column is a filter, and the depth is the places. Extents alone cut
// it into parts, whose sums are added in order. So threads share it, and bits are equal for any
// number of them.
//
// Rows are read in place from x. If there are at least as many channels as a tile has rows, a tile
// belongs to one tap, and places where that tap sees padding are left out. Otherwise a tile has
// rows of several taps. Windows that see padding are then copied, with zeros.

#include <algorithm>
#include <cstdint>

#include "typeflow/cpu/contraction.hpp"
#include "typeflow/cpu/ops/conv_runs.hpp"
#include "typeflow/ops/nn/conv_operations.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// The loops of ConvFilterGradient.
template <class T, class A>
class FilterProduct {
  using S = TileShape<T, A>;
  static constexpr std::int64_t of_tile = std::int64_t{S::rows} * S::width;

 public:
  static std::int64_t workspace(const std::int64_t* extents) {
    const Sizes z(extents);
    const std::int64_t sums = checked_product(checked_product(z.parts, z.tiles()), of_tile);
    const std::int64_t copies = checked_product(z.tasks(), z.copy_size());
    return checked_product(checked_sum(sums, copies), sizeof(T));
  }

  static void run(const KernelCall& call, const ops::ConvAttributes& op, FinishTile<T> finish);

 private:
  /// The parts of the product: parts of the places, units of the rows (one tap of a group, or a
  /// whole group if x is copied), and tiles of these. Extents alone decide them.
  struct Sizes {
    std::int64_t samples, channels, filters, groups, taps;
    std::int64_t depth;  ///< places of all samples
    std::int64_t of_x;   ///< channels of x in a group
    std::int64_t of_y;   ///< filters of a group
    bool copies_x;       ///< windows are copied, because few channels do not fill a tile's rows
    std::int64_t rows;   ///< rows of a unit
    std::int64_t parts;
    std::int64_t chunk;  ///< places that are read for one tile before the next
    Panels<S> panels;
    static constexpr int further = ir::ContractionExtents::outer;  // no axes lie outside

    explicit Sizes(const std::int64_t* extents)
        : samples(extents[further]),
          channels(extents[further + 1]),
          filters(extents[further + 2]),
          groups(extents[further + 3]),
          taps(extents[further + 4]),
          depth(extents[ir::ContractionExtents::depth]),
          of_x(channels / groups),
          of_y(filters / groups),
          copies_x(of_x % S::rows != 0 && of_x < 64 && taps * of_x <= 512),
          rows(copies_x ? taps * of_x : of_x),
          panels(of_y) {
      constexpr std::int64_t tasks_wanted = 32;
      constexpr std::int64_t places_of_part = 1024;
      const std::int64_t wanted = (tasks_wanted + units() - 1) / units();
      parts = std::clamp<std::int64_t>(std::min(wanted, depth / places_of_part), 1, 16);
      constexpr std::int64_t elements = (std::int64_t{3} << 18) / sizeof(T);
      chunk = std::clamp<std::int64_t>(elements / (rows + of_y), 64, 512);
    }
    std::int64_t units() const { return copies_x ? groups : groups * taps; }
    std::int64_t blocks() const { return (rows + S::rows - 1) / S::rows; }
    std::int64_t tiles_of_unit() const { return blocks() * panels.count; }
    std::int64_t tiles() const { return units() * tiles_of_unit(); }
    std::int64_t tasks() const { return parts * units(); }
    bool copies_y() const { return panels.padded() != of_y; }
    std::int64_t x_pitch() const { return blocks() * S::rows; }
    /// The elements of a task's copies of x and of the last panel of dy.
    std::int64_t copy_size() const {
      return chunk * ((copies_x ? x_pitch() : 0) + (copies_y() ? S::width : 0));
    }
  };

  /// Adds the products of a part's places to a unit's tiles.
  static void sum_part(const KernelCall& call, const ops::ConvAttributes& op, const Sizes& z,
                       std::int64_t part, std::int64_t unit, T* tiles, T* copies) {
    const std::int64_t group = z.copies_x ? unit : unit / z.taps;
    const std::int64_t tap = z.copies_x ? 0 : unit % z.taps;
    const T* const x = call.operand<const T>(0) + group * z.of_x;
    const T* const y = call.operand<const T>(1) + group * z.of_y;
    T* const copy_of_y = copies + (z.copies_x ? z.chunk * z.x_pitch() : 0);
    // All parts but the last have equally many places.
    const std::int64_t of_part = (z.depth + z.parts - 1) / z.parts;
    const std::int64_t begin = std::min(z.depth, part * of_part);
    const std::int64_t end = std::min(z.depth, begin + of_part);
    bool go_on = false;
    for (std::int64_t first = begin; first < end || !go_on; first += z.chunk) {
      const std::int64_t last = std::min(end, first + z.chunk);
      if (z.copies_x) copy_windows(op, z, x, first, last, copies);
      if (z.copies_y()) copy_panel(z, y, first, last, copy_of_y);
      for (std::int64_t block = 0; block < z.blocks(); ++block) {
        for (std::int64_t p = 0; p < z.panels.count; ++p) {
          T* const tile = tiles + (block * z.panels.count + p) * of_tile;
          const bool copied = z.copies_y() && p == z.panels.count - 1;
          const std::int64_t width = z.panels.width(p);
          // A pointer as if the copy began at place 0.
          const PanelRows<T> right = copied ? PanelRows<T>{copy_of_y, S::width, first}
                                            : PanelRows<T>{y + z.panels.first(p), z.filters, 0};
          with_vectors<S>(width, [&](auto vectors) {
            if (z.copies_x) {
              gathered_tile<T, A, vectors()>(
                  WindowRuns<T, S>(op, z, x, copies, block, right, first, last), tile, S::width,
                  go_on);
            } else {
              gathered_tile<T, A, vectors()>(
                  PlaceRuns<T, S>(op, z, x, tap, block, right, first, last), tile, S::width, go_on);
            }
          });
        }
      }
      go_on = true;
    }
  }

  /// Copies those windows of places [first, last) that see padding, with zeros there: a row of
  /// x_pitch() elements for each place.
  static void copy_windows(const ops::ConvAttributes& op, const Sizes& z, const T* x,
                           std::int64_t first, std::int64_t last, T* to) {
    if (first >= last) return;
    ImagePosition p = image_position(op, first);
    const InnerPlaces inner[] = {{op.window.axis(0), op.image[0], op.places(0)},
                                 {op.window.axis(1), op.image[1], op.places(1)},
                                 {op.window.axis(2), op.image[2], op.places(2)}};
    const bool merged = z.groups == 1 && op.window.dilation[2] == 1;  // taps lie side by side
    for (std::int64_t place = first; place < last; ++place, to += z.x_pitch()) {
      if (inner[0].has(p.at[0]) && inner[1].has(p.at[1]) && inner[2].has(p.at[2])) {
        advance(op, p);
        continue;
      }
      T* at = to;
      const WindowAxis w[] = {op.window.axis(0), op.window.axis(1), op.window.axis(2)};
      for (std::int64_t k0 = 0; k0 < w[0].size; ++k0) {
        const std::int64_t i0 = p.at[0] * w[0].stride + k0 * w[0].dilation - w[0].before;
        for (std::int64_t k1 = 0; k1 < w[1].size; ++k1) {
          const std::int64_t i1 = p.at[1] * w[1].stride + k1 * w[1].dilation - w[1].before;
          const bool line = i0 >= 0 && i0 < op.image[0] && i1 >= 0 && i1 < op.image[1];
          if (merged) {
            const std::int64_t i2 = p.at[2] * w[2].stride - w[2].before;
            const std::int64_t begin = line ? std::clamp<std::int64_t>(-i2, 0, w[2].size) : 0;
            const std::int64_t end =
                line ? std::clamp<std::int64_t>(op.image[2] - i2, begin, w[2].size) : 0;
            const std::int64_t pixel =
                ((p.sample * op.image[0] + i0) * op.image[1] + i1) * op.image[2] + i2;
            for (std::int64_t c = 0; c < begin * z.of_x; ++c) at[c] = T(0);
            for (std::int64_t c = begin * z.of_x; c < end * z.of_x; ++c) {
              at[c] = x[pixel * z.channels + c];
            }
            for (std::int64_t c = end * z.of_x; c < w[2].size * z.of_x; ++c) at[c] = T(0);
            at += w[2].size * z.of_x;
            continue;
          }
          for (std::int64_t k2 = 0; k2 < w[2].size; ++k2, at += z.of_x) {
            const std::int64_t i2 = p.at[2] * w[2].stride + k2 * w[2].dilation - w[2].before;
            if (line && i2 >= 0 && i2 < op.image[2]) {
              const std::int64_t pixel =
                  ((p.sample * op.image[0] + i0) * op.image[1] + i1) * op.image[2] + i2;
              for (std::int64_t c = 0; c < z.of_x; ++c) at[c] = x[pixel * z.channels + c];
            } else {
              for (std::int64_t c = 0; c < z.of_x; ++c) at[c] = T(0);
            }
          }
        }
      }
      std::fill(at, to + z.x_pitch(), T(0));
      advance(op, p);
    }
  }
  /// Copies the last panel of dy at these places, with zeros behind its columns.
  static void copy_panel(const Sizes& z, const T* y, std::int64_t first, std::int64_t last, T* to) {
    const std::int64_t column = z.panels.first(z.panels.count - 1);
    const std::int64_t count = z.of_y - column;
    for (std::int64_t place = first; place < last; ++place, to += S::width) {
      std::copy_n(y + place * z.filters + column, count, to);
      std::fill(to + count, to + S::width, T(0));
    }
  }

  static void finish_tile_number(const KernelCall& call, FinishTile<T> finish, const Sizes& z,
                                 std::int64_t t, const T* tile) {
    const std::int64_t unit = t / z.tiles_of_unit();
    const std::int64_t block = t % z.tiles_of_unit() / z.panels.count;
    const std::int64_t p = t % z.panels.count;
    const std::int64_t group = z.copies_x ? unit : unit / z.taps;
    const std::int64_t first = (z.copies_x ? 0 : unit % z.taps * z.of_x) + block * S::rows;
    const int count = static_cast<int>(std::min<std::int64_t>(S::rows, z.rows - block * S::rows));
    std::int64_t rows[S::rows];
    for (int i = 0; i < S::rows; ++i) rows[i] = first + i;
    const std::int64_t column = group * z.of_y;
    finish(call, tile, rows, count, column + z.panels.first(p), column + z.panels.last(p));
  }
};

template <class T, class A>
void FilterProduct<T, A>::run(const KernelCall& call, const ops::ConvAttributes& op,
                              FinishTile<T> finish) {
  const Sizes z(call.extents);
  T* const sums = static_cast<T*>(call.workspace);
  T* const copies = sums + z.parts * z.tiles() * of_tile;
  parallel(call, z.tasks(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t part = task / z.units();
      const std::int64_t unit = task % z.units();
      sum_part(call, op, z, part, unit,
               sums + (part * z.tiles() + unit * z.tiles_of_unit()) * of_tile,
               copies + task * z.copy_size());
    }
  });
  const std::int64_t grain = std::max<std::int64_t>(1, chunk_size / (of_tile * z.parts));
  parallel(call, z.tiles(), grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      alignas(64) T tile[of_tile];
      std::copy_n(sums + t * of_tile, of_tile, tile);
      for (std::int64_t part = 1; part < z.parts; ++part) {
        const T* const other = sums + (part * z.tiles() + t) * of_tile;
        for (std::int64_t i = 0; i < of_tile; ++i) tile[i] += other[i];
      }
      finish_tile_number(call, finish, z, t, tile);
    }
  });
}

#ifdef TYPEFLOW_COMPILED
extern template class FilterProduct<float, DefaultArch>;
extern template class FilterProduct<double, DefaultArch>;
#endif

template <>
struct contraction_of<ops::ConvFilterGradient> {
  template <class E>
  static std::int64_t workspace(const std::int64_t* extents) {
    return FilterProduct<typename E::T, typename E::Arch>::workspace(extents);
  }
  template <class E>
  static void run(const KernelCall& call) {
    FilterProduct<typename E::T, typename E::Arch>::run(call, E::operation(call), &finish_tile<E>);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
