// SPDX-License-Identifier: Apache-2.0
#pragma once

// The loops of ConvFilterGradient (ops/nn/conv_operations.hpp): an implicit matrix product. A row
// is a channel of x at a tap, a column is a filter, and the depth is the places. Extents alone cut
// it into parts, whose sums are added in order. So threads share it, and bits are equal for any
// number of them.
//
// If there are at least as many channels as a tile has rows, a tile belongs to one tap. Its rows
// are read in place from x, and places where that tap sees padding are left out. Otherwise a tile
// has rows of several taps, and blocks of x are copied with their padding (padded_blocks.hpp).

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "typeflow/cpu/contraction.hpp"
#include "typeflow/cpu/ops/conv_runs.hpp"
#include "typeflow/cpu/ops/few_filters_gradient.hpp"
#include "typeflow/cpu/ops/padded_blocks.hpp"
#include "typeflow/cpu/ops/winograd_filter_gradient.hpp"
#include "typeflow/ops/nn/conv_operations.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// The loops of ConvFilterGradient.
template <class T, class A>
class FilterProduct {
  using S = TileShape<T, A>;
  using L = Lanes<sizeof(T) == 8, A>;
  static constexpr std::int64_t of_tile = std::int64_t{S::rows} * S::width;
  static constexpr std::int64_t most_offsets = 512;  ///< elements of a window of few channels
  static constexpr std::int64_t room = PaddedBlocks::most_bytes / sizeof(T);

 public:
  static std::int64_t workspace(const std::int64_t* extents) {
    std::int64_t most = 0;
    for (const bool few : {false, true}) {  // blocks may be too large, for large dilations
      const Sizes z(extents, few);
      const std::int64_t sums = checked_product(checked_product(z.parts, z.tiles()), of_tile);
      const std::int64_t copies = checked_product(z.tasks(), z.copy_size());
      most = std::max(most, checked_product(checked_sum(sums, copies), sizeof(T)));
    }
    return most;
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
    bool few_filters;    ///< do not fill a vector
    bool copies_x;       ///< blocks are copied: few channels do not fill a tile's rows
    std::int64_t rows;   ///< rows of a unit
    Panels<S> panels;
    std::int64_t together;  ///< units of a task, which read the same places of x
    std::int64_t parts;
    std::int64_t bands;  ///< tasks that share the panels of a unit
    std::int64_t chunk;  ///< places that are read for one tile before the next
    bool packs_x;        ///< whether rows of a chunk are copied, side by side for a tile
    bool packs_y;        ///< whether all panels of a chunk are copied
    static constexpr int further = ir::ContractionExtents::outer;  // no axes lie outside

    Sizes(const std::int64_t* extents, bool may_copy)
        : samples(extents[further]),
          channels(extents[further + 1]),
          filters(extents[further + 2]),
          groups(extents[further + 3]),
          taps(extents[further + 4]),
          depth(extents[ir::ContractionExtents::depth]),
          of_x(channels / groups),
          of_y(filters / groups),
          few_filters(groups == 1 && filters <= FewFilters<T, A>::most),
          copies_x(may_copy && (of_x % S::rows != 0 || few_filters) && of_x < 64 &&
                   taps * of_x <= most_offsets),
          rows(copies_x ? taps * of_x : of_x),
          panels(of_y) {
      constexpr std::int64_t tasks_wanted = 32;
      constexpr std::int64_t places_of_part = 1024;
      constexpr std::int64_t cached = (std::int64_t{1} << 18) / sizeof(T);
      constexpr std::int64_t panels_of_band = 6;  // at least
      const std::int64_t sums = tiles_of_unit() * of_tile;
      together = copies_x || groups > 1 || sums == 0
                     ? 1
                     : std::max<std::int64_t>(1, std::min(cached / sums, taps));
      const std::int64_t wanted =
          (tasks_wanted + ranges() - 1) / std::max<std::int64_t>(ranges(), 1);
      parts = std::clamp<std::int64_t>(std::min(wanted, depth / places_of_part), 1, 16);
      bands = copies_x ? 1
                       : std::clamp<std::int64_t>(
                             std::min(wanted / parts, panels.count / panels_of_band), 1,
                             std::max<std::int64_t>(panels.count, 1));
      const bool small = together * sums <= 2 * cached;
      chunk = parts == 1 && depth <= SeenPlaces::most && !copies_x
                  ? std::max<std::int64_t>(depth, 1)
              : copies_x ? PaddedBlocks::most_places
              : small    ? SeenPlaces::most / 4
                         : SeenPlaces::most / 2;
      // Copies pay if several tiles read them. There is one for each task. Of short rows, the
      // places of a chunk lie in few cache lines as they are.
      constexpr std::int64_t short_row = 1024 / sizeof(T);
      const bool few = tasks() <= 2 * tasks_wanted;
      packs_x = !copies_x && few && panels.count / bands >= 3 && channels >= short_row;
      packs_y = !copies_x && few && together * blocks() >= 16 && filters > S::width;
    }
    /// Whether a tile's sums are finished at once.
    bool in_one_go() const { return parts == 1 && depth <= chunk; }
    std::int64_t ranges() const { return (units() + together - 1) / together; }
    std::int64_t band_panels() const { return (panels.count + bands - 1) / bands; }
    /// Distance of the copies for a tile's rows from the next, so that they begin in different sets
    /// of a cache.
    std::int64_t strip() const { return (chunk + 2) * S::rows; }
    std::int64_t units() const { return copies_x ? groups : groups * taps; }
    std::int64_t blocks() const { return (rows + S::rows - 1) / S::rows; }
    std::int64_t tiles_of_unit() const { return blocks() * panels.count; }
    std::int64_t tiles() const { return units() * tiles_of_unit(); }
    std::int64_t tasks() const { return parts * ranges() * bands; }
    bool copies_y() const { return panels.padded() != of_y; }
    /// The elements of a task's copies of x, and of panels of dy.
    std::int64_t x_size() const { return copies_x ? room : packs_x ? blocks() * strip() : 0; }
    std::int64_t copy_size() const {
      const std::int64_t width = packs_y ? band_panels() * S::width : copies_y() ? S::width : 0;
      return x_size() + chunk * width;
    }
    bool copied(std::int64_t p) const { return packs_y || (copies_y() && p == panels.count - 1); }
  };

  /// A task computes the sums of a part's places for some units and panels. Of few channels, it has
  /// a part's blocks and all panels of a group.
  struct Task {
    std::int64_t begin, end;  ///< places, or blocks
    std::int64_t unit, last_unit;
    std::int64_t panel, last_panel;
    T* sums;  ///< tiles of the part
    T* copies;
  };

  /// Computes a task's sums. If there is one part, they are finished, too.
  static void sum_part(const KernelCall& call, const ops::ConvAttributes& op, const Sizes& z,
                       FinishTile<T> finish, const Task& task) {
    T* const copy_of_y = task.copies + z.x_size();
    alignas(64) T own[of_tile];
    bool go_on = false;
    for (std::int64_t first = task.begin; first < task.end || !go_on; first += z.chunk) {
      const std::int64_t last = std::min(task.end, first + z.chunk);
      const bool is_last = last >= task.end;
      std::int64_t copied_group = -1;  // whose panels of dy are copied
      for (std::int64_t unit = task.unit; unit < task.last_unit; ++unit) {
        const std::int64_t group = unit / z.taps;
        const std::int64_t tap = unit % z.taps;
        const T* const x = call.operand<const T>(0) + group * z.of_x;
        const T* const y = call.operand<const T>(1) + group * z.of_y;
        const SeenPlaces seen = see(op, z, x, tap, first, last, task.copies);
        T* to = copy_of_y;
        for (std::int64_t p = task.panel; p < task.last_panel; ++p) {
          const std::int64_t width = z.panels.width(p);
          const bool copied = z.copied(p);
          if (copied && group != copied_group) copy_panel(z, y, p, first, last, to);
          const T* const right = copied ? to : y + first * z.filters + z.panels.first(p);
          if (copied) to += z.chunk * width;
          for (std::int64_t block = 0; block < z.blocks(); ++block) {
            const std::int64_t number = unit * z.tiles_of_unit() + block * z.panels.count + p;
            T* const tile = z.in_one_go() ? own : task.sums + number * of_tile;
            const T* const left = z.packs_x ? task.copies + block * z.strip() : x + block * S::rows;
            const std::int64_t rows = z.packs_x ? S::rows : z.of_x - block * S::rows;
            with_vectors<S>(width, [&](auto vectors) {
              seen_places_tile<T, A, vectors()>(seen, left, static_cast<int>(rows), right,
                                                copied ? width : z.filters, tile, go_on);
            });
            if (!is_last) continue;
            if (z.parts == 1) finish_tile_number(call, finish, z, number, tile);
          }
        }
        copied_group = group;
      }
      go_on = true;
    }
  }

  /// Lists what a tap sees of x from places [first, last). If the rows of x are packed, copies
  /// them, to a strip for each block.
  static SeenPlaces see(const ops::ConvAttributes& op, const Sizes& z, const T* x, std::int64_t tap,
                        std::int64_t first, std::int64_t last, T* strips) {
    SeenPlaces seen;
    const std::int64_t whole = z.of_x / S::rows;
    const std::int64_t rest = z.of_x - whole * S::rows;
    RunsOfTap runs(op, tap, first, last);
    for (PlaceRun run; runs.next(run);) {
      std::int64_t from = run.pixel * z.channels;
      for (std::int64_t k = 0; k < run.length; ++k, from += op.window.stride[2] * z.channels) {
        const std::int64_t place = run.place + k - first;
        seen.add(place, z.packs_x ? place * S::rows : from);
        if (!z.packs_x) continue;
        T* strip = strips + place * S::rows;
        for (std::int64_t block = 0; block < whole; ++block, strip += z.strip()) {
          std::memcpy(strip, x + from + block * S::rows, S::rows * sizeof(T));
        }
        if (rest == 0) continue;
        std::copy_n(x + from + whole * S::rows, rest, strip);
        std::fill(strip + rest, strip + S::rows, T(0));
      }
    }
    return seen;
  }

  /// Computes the sums of the blocks [begin, end) of a group, of few channels.
  static void sum_blocks(const KernelCall& call, const ops::ConvAttributes& op, const Sizes& z,
                         const PaddedBlocks& blocks, const std::int64_t* offsets,
                         std::int64_t group, const Task& task) {
    const T* const x = call.operand<const T>(0) + group * z.of_x;
    const T* const y = call.operand<const T>(1) + group * z.of_y;
    T* const copy_of_y = task.copies + z.x_size();
    T* const tiles = task.sums + group * z.tiles_of_unit() * of_tile;
    if (task.begin == task.end) std::fill_n(tiles, z.tiles_of_unit() * of_tile, T(0));
    const PixelPlanes<T, A> pixels(blocks);
    const bool of_places = z.few_filters && pixels.fit();
    if (of_places) sum_few_filters(op, z, pixels, x, y, task, tiles);
    for (std::int64_t number = task.begin; number < task.end && !of_places; ++number) {
      const PaddedBlocks::Block b = blocks.block(number);
      const std::int64_t place = blocks.number(b);
      const std::int64_t of_line = op.places(2);
      blocks.copy(b, x, z.channels, task.copies);
      // Each tile brings a part of the next block's rows of dy.
      const std::int64_t row_bytes = z.filters * std::int64_t{sizeof(T)};
      const std::int64_t of_step = row_bytes / z.tiles_of_unit();
      std::uintptr_t next = reinterpret_cast<std::uintptr_t>(y + place * z.filters) +
                            static_cast<std::uintptr_t>(b.lines * b.width * row_bytes);
      for (std::int64_t p = 0; p < z.panels.count; ++p) {
        const std::int64_t width = z.panels.width(p);
        const bool copied = z.copied(p);
        for (std::int64_t l = 0; copied && l < b.lines; ++l) {
          copy_panel(z, y, p, place + l * of_line, place + l * of_line + b.width,
                     copy_of_y + l * b.width * width);
        }
        const T* const right = copied ? copy_of_y : y + place * z.filters + z.panels.first(p);
        const std::int64_t pitch = copied ? width : z.filters;
        for (std::int64_t block = 0; block < z.blocks(); ++block) {
          T* const tile = tiles + (block * z.panels.count + p) * of_tile;
          const std::int64_t row = block * S::rows;
          const int count = static_cast<int>(std::min<std::int64_t>(S::rows, z.rows - row));
          const LineRuns<T> runs{task.copies,
                                 offsets + row,
                                 blocks.place(0, 1),
                                 blocks.place(1, 0),
                                 right,
                                 pitch,
                                 (copied ? b.width : of_line) * pitch,
                                 b.width,
                                 b.lines,
                                 {next, static_cast<std::uintptr_t>(of_step)}};
          next += static_cast<std::uintptr_t>(b.lines * b.width * of_step);
          with_vectors<S>(width, [&](auto vectors) {
            if (count <= S::rows / 2) {
              gathered_tile<T, A, vectors(), LineRuns<T>, S::rows / 2>(runs, tile, S::width,
                                                                       number > task.begin);
            } else {
              gathered_tile<T, A, vectors()>(runs, tile, S::width, number > task.begin);
            }
          });
        }
      }
    }
    for (std::int64_t t = 0; t < z.tiles_of_unit(); ++t) {
      repair(op, z, blocks, x, y, t, task, tiles + t * of_tile);
    }
  }

  /// The same of so few filters that vectors hold places.
  static void sum_few_filters(const ops::ConvAttributes& op, const Sizes& z,
                              const PixelPlanes<T, A>& pixels, const T* x, const T* y,
                              const Task& task, T* tiles) {
    std::int64_t offsets[most_offsets + S::rows];
    pixels.offsets(offsets);
    std::fill_n(offsets + z.rows, S::rows, offsets[z.rows - 1]);
    const FewFiltersGradient<T, A> sums{pixels, offsets, z.rows, z.filters};
    std::fill_n(tiles, z.tiles_of_unit() * of_tile, T(0));
    for (std::int64_t number = task.begin; number < task.end; ++number) {
      const PaddedBlocks::Block b = pixels.blocks.block(number);
      sums.add(b, x, y + pixels.blocks.number(b) * z.filters, op.places(2) * z.filters, tiles);
    }
  }

  /// Computes those rows of tile t again whose sums are not finite, with the padding left out: zero
  /// times an infinite element of dy is zero there.
  static void repair(const ops::ConvAttributes& op, const Sizes& z, const PaddedBlocks& blocks,
                     const T* x, const T* y, std::int64_t t, const Task& task, T* tile) {
    using B = xsimd::batch<T, A>;
    const std::int64_t block = t / z.panels.count;
    const std::int64_t first = z.panels.first(t % z.panels.count);
    const std::int64_t columns = z.panels.last(t % z.panels.count) - first;
    for (std::int64_t i = 0; i < S::rows && block * S::rows + i < z.rows; ++i) {
      T* const sums = tile + i * S::width;
      if (std::all_of(sums, sums + columns, [](T e) { return e * T(0) == T(0); })) continue;
      const std::int64_t row = block * S::rows + i;
      std::fill(sums, sums + columns, T(0));
      for (std::int64_t number = task.begin; number < task.end; ++number) {
        const PaddedBlocks::Block b = blocks.block(number);
        for (std::int64_t l = 0; l < b.lines; ++l) {
          const std::int64_t begin = blocks.number(b) + l * op.places(2);
          RunsOfTap runs(op, row / z.of_x, begin, begin + b.width);
          for (PlaceRun run; runs.next(run);) {
            const T* const left_of = x + row % z.of_x + run.pixel * z.channels;
            for (std::int64_t k = 0; k < run.length; ++k) {
              const B left(left_of[k * op.window.stride[2] * z.channels]);
              const T* const right = y + (run.place + k) * z.filters + first;
              for (std::int64_t j = 0; j < columns; j += S::lanes) {
                const int width = static_cast<int>(std::min<std::int64_t>(S::lanes, columns - j));
                const B sum =
                    cpu_kernels::fma(left, L::load(right + j, width), B::load_unaligned(sums + j));
                sum.store_unaligned(sums + j);
              }
            }
          }
        }
      }
    }
  }

  /// Copies a panel of dy at these places, with zeros behind its columns.
  static void copy_panel(const Sizes& z, const T* y, std::int64_t p, std::int64_t first,
                         std::int64_t last, T* to) {
    if (first >= last) return;
    const std::int64_t width = z.panels.width(p);
    const T* from = y + first * z.filters + z.panels.first(p);
    if (z.panels.last(p) - z.panels.first(p) < width) {
      pack_panel<T, A>(y + first * z.filters, last - first, z.filters, z.panels.first(p),
                       z.panels.last(p), width, to);
      return;
    }
    with_vectors<S>(width, [&](auto vectors) {
      for (std::int64_t place = first; place < last; ++place, from += z.filters, to += width) {
        unrolled<vectors()>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
          L::store(to + v * S::lanes, L::load(from + v * S::lanes));
        });
      }
    });
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
  GatherAxis axes[max_window_rank];
  for (int a = 0; a < max_window_rank; ++a) {
    axes[a] = forward_axis(op.window.axis(a), op.image[a]);
  }
  const std::int64_t of_pixel = call.extents[Sizes::further + 1] / op.groups;
  const PaddedBlocks blocks(axes, of_pixel, room, S::rows);
  const Sizes z(call.extents, blocks.width > 0);
  std::int64_t offsets[most_offsets + S::rows];
  if (z.copies_x) {  // the last row is repeated
    blocks.offsets(offsets);
    std::fill_n(offsets + z.rows, S::rows, offsets[z.rows - 1]);
  }
  T* const sums = static_cast<T*>(call.workspace);
  T* const copies = sums + z.parts * z.tiles() * of_tile;
  // All parts but the last have equally many places.
  const std::int64_t of_part = (z.depth + z.parts - 1) / z.parts;
  const std::int64_t of_band = z.band_panels();
  const std::int64_t work = 2 * z.depth * z.units() * z.rows * z.panels.padded();
  const std::int64_t tasks = z.tasks();
  const std::int64_t of_task = work / std::max<std::int64_t>(tasks, 1);
  parallel(call, tasks, grain_of_cost(of_task), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t part = task / (z.ranges() * z.bands);
      if (z.copies_x) {
        const std::int64_t count = blocks.count(z.samples);
        sum_blocks(call, op, z, blocks, offsets, task % z.ranges(),
                   {part * count / z.parts, (part + 1) * count / z.parts, 0, 0, 0, 0,
                    sums + part * z.tiles() * of_tile, copies + task * z.copy_size()});
        continue;
      }
      const std::int64_t unit = task / z.bands % z.ranges() * z.together;
      const std::int64_t panel = task % z.bands * of_band;
      const std::int64_t place = std::min(z.depth, part * of_part);
      sum_part(
          call, op, z, finish,
          {place, std::min(z.depth, place + of_part), unit, std::min(unit + z.together, z.units()),
           panel, std::min(panel + of_band, z.panels.count), sums + part * z.tiles() * of_tile,
           copies + task * z.copy_size()});
    }
  });
  if (z.parts == 1 && !z.copies_x) return;
  parallel(call, z.tiles(), grain_of_cost(3 * of_tile * z.parts),
           [&](std::int64_t begin, std::int64_t end) {
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
    const std::int64_t plain = FilterProduct<typename E::T, typename E::Arch>::workspace(extents);
    if constexpr (has_winograd<E>) {
      return std::max(plain,
                      WinogradFilterGradient<typename E::T, typename E::Arch>::workspace(extents));
    } else {
      return plain;
    }
  }
  template <class E>
  static void run(const KernelCall& call) {
    const auto op = E::operation(call);
    if constexpr (has_winograd<E>) {
      if (WinogradFilterGradient<typename E::T, typename E::Arch>::run(call, op, &finish_tile<E>)) {
        return;
      }
    }
    FilterProduct<typename E::T, typename E::Arch>::run(call, op, &finish_tile<E>);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
