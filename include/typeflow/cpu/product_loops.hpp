// SPDX-License-Identifier: Apache-2.0
#pragma once

// Matrix products on the register tile, with the same code for all kernels of an element type. A
// ProductKernel says what is special about a kernel: how operands repeat, and its epilogue.
//
// A task is some rows of a, and a panel of b: a few vectors of its columns. It goes along the depth
// in blocks, so that a block of the panel stays in cache while all rows of the task are multiplied
// by it. Between blocks the sums wait in memory, which changes none of their bits. Rows of a large
// transposed a, whose neighbours in a row lie pages apart, are copied a block at a time. See Goto,
// van de Geijn, Anatomy of high-performance matrix multiplication, 2008.
//
// Panels of b are copied before the tasks, or by the only task that reads them, a block at a time.
// Operands with elements narrower than T are widened as they are copied.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "typeflow/core/extent.hpp"
#include "typeflow/cpu/product_kernel.hpp"
#include "typeflow/cpu/rows.hpp"
#include "typeflow/cpu/tile.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <class T, class A, class Kernel = ProductKernel<T>>
class ProductLoops {
  using S = TileShape<T, A>;
  static constexpr int tile_size = S::rows * S::width;
  static constexpr int tiles_of_task = 8;
  static constexpr int panels_of_task = 6;  // at most
  static constexpr std::int64_t rows_of_task = tiles_of_task * S::rows;
  static constexpr std::int64_t block_depth = 1024;
  static constexpr std::int64_t strip_depth = 192;  // depth of a block for which a is copied
  static constexpr std::int64_t ahead_depth = 128;  // depth of a block for which b is read ahead
  static constexpr std::int64_t ahead_panels = 22;  // of a task: pieces of a page

 public:
  TYPEFLOW_COLD static std::int64_t workspace(const Kernel& kernel, const std::int64_t* extents) {
    const std::int64_t copies =
        copies_in_task(kernel, extents)
            ? 0
            : checked_product(slots(kernel, extents), packed_size(kernel, extents));
    const std::int64_t elements =
        checked_sum(wide_size(kernel, extents), checked_sum(copies, sums_size(kernel, extents)));
    return checked_product(elements, sizeof(T));
  }

  static void run(const KernelCall& call, const Kernel& kernel);

 private:
  using Extents = ir::ContractionExtents;

  /// Whether a task copies the panels that it reads, a block at a time, since no other task does.
  static bool copies_in_task(const Kernel& kernel, const std::int64_t* extents) {
    return (kernel.transposed_b || kernel.wide_b() != nullptr) &&
           extents[Extents::rows] <= rows_of_task && (kernel.count == 1 || !kernel.shared_b);
  }

  /// Whether a is widened before the tasks, since more than one would. Otherwise tasks widen the
  /// rows that they need, a block at a time.
  static bool widens_all(const Kernel& kernel, const std::int64_t* extents) {
    return kernel.count == 1 && wide_size(kernel, extents) > 0 &&
           has_adjacent_rows(kernel, extents);
  }
  /// Whether the rows of a lie side by side.
  static bool has_adjacent_rows(const Kernel& kernel, const std::int64_t* extents) {
    return kernel.pitch_a == extents[kernel.transposed_a ? Extents::rows : Extents::depth];
  }
  /// Elements of the widened a, up to a whole line, since a conversion may write behind the last
  /// one.
  static std::int64_t wide_size(const Kernel& kernel, const std::int64_t* extents) {
    if (kernel.wide_a() == nullptr || extents[Extents::columns] <= panels_of_task * S::width) {
      return 0;
    }
    constexpr std::int64_t line = 64 / sizeof(T);
    const std::int64_t all = checked_product(extents[Extents::rows], extents[Extents::depth]);
    return checked_product(checked_sum(all, line - 1) / line, line);
  }

  /// Whether all panels of b are copied, so that their rows lie side by side. A transposed b must
  /// be copied, and one that is widened. Otherwise copying pays for many rows of a, unless all of b
  /// stays in the first cache, where rows that lie apart may share few places. If not all are
  /// copied, the last panel is, if it is not full.
  static bool copies_all(const Kernel& kernel, const std::int64_t* extents) {
    constexpr std::int64_t small = (std::int64_t{1} << 15) / sizeof(T);
    return kernel.transposed_b || kernel.wide_b() != nullptr ||
           (extents[Extents::rows] >= 2 * rows_of_task &&
            (kernel.strided_b ||
             checked_product(extents[Extents::columns], extents[Extents::depth]) > small));
  }
  /// Elements of the copied panels of one b. More rows never need fewer.
  static std::int64_t packed_size(const Kernel& kernel, const std::int64_t* extents) {
    const std::int64_t all = Panels<S>(extents[Extents::columns]).padded();
    const std::int64_t width =
        copies_all(kernel, extents) ? all : std::min<std::int64_t>(all, S::width);
    return checked_product(width, extents[Extents::depth]);
  }
  /// Whether b is so large, and used by so few rows, that it is read from memory in place. Then a
  /// task has long pieces of b's rows, since the first line of each page costs more than the
  /// others, and asks for them a block ahead. The sums that wait are many, and are in the
  /// workspace. (Small extents are left out: then copies of b could need less.)
  static bool reads_ahead(const Kernel& kernel, const std::int64_t* extents) {
    constexpr std::int64_t cached = (std::int64_t{1} << 22) / sizeof(T);
    return kernel.count == 1 && !copies_all(kernel, extents) &&
           extents[Extents::columns] > 4 * S::width && extents[Extents::depth] >= 2 * ahead_depth &&
           checked_product(extents[Extents::columns], extents[Extents::depth]) > cached;
  }
  static std::int64_t tiles_of(std::int64_t rows) { return (rows + S::rows - 1) / S::rows; }
  /// Elements of the sums that wait in the workspace.
  static std::int64_t sums_size(const Kernel& kernel, const std::int64_t* extents) {
    if (!reads_ahead(kernel, extents)) return 0;
    return checked_product(tiles_of(extents[Extents::rows]) * tile_size,
                           Panels<S>(extents[Extents::columns]).count);
  }
  /// How many b's are copied at a time: about as many as stay in cache until they are read.
  static std::int64_t slots(const Kernel& kernel, const std::int64_t* extents) {
    if (kernel.shared_b) return 1;
    constexpr std::int64_t elements = (std::int64_t{1} << 20) / sizeof(T);
    const std::int64_t all =
        checked_product(Panels<S>(extents[Extents::columns]).padded(), extents[Extents::depth]);
    const std::int64_t most = elements / std::max<std::int64_t>(all, 1);
    return std::max<std::int64_t>(std::min(most, kernel.count), 1);
  }

  ProductLoops(const KernelCall& c, const Kernel& k)
      : call(c),
        kernel(k),
        rows(c.extents[Extents::rows]),
        columns(c.extents[Extents::columns]),
        depth(c.extents[Extents::depth]),
        panels(columns),
        all_copied(copies_all(k, c.extents)),
        last_copied(all_copied || columns % S::lanes != 0),
        ahead(reads_ahead(k, c.extents)),
        a_row(k.transposed_a ? 1 : k.pitch_a),
        a_step(k.transposed_a ? k.pitch_a : 1),
        in_task(copies_in_task(k, c.extents)),
        widens_first(widens_all(k, c.extents)),
        packs_a(wide_a() != nullptr ||
                (k.transposed_a &&
                 k.pitch_a * depth * static_cast<std::int64_t>(sizeof(T)) >= (1 << 21))),
        all_of_a(widens_first ? static_cast<T*>(c.workspace) : c.operand<T>(0)),
        packed(static_cast<T*>(c.workspace) + wide_size(k, c.extents)),
        packed_pitch(packed_size(k, c.extents)) {}

  const T* b_of(std::int64_t matrix) const {
    return call.operand<const T>(1) + kernel.start_of_b(call.extents, matrix);
  }
  /// The place of the copy of panel p.
  T* copy_of(std::int64_t slot, std::int64_t p) const {
    return packed + (kernel.shared_b ? 0 : slot * packed_pitch) +
           (all_copied ? panels.first(p) * depth : 0);
  }

  /// Computes the products from matrix `first_matrix` on.
  void multiply(std::int64_t first_matrix, std::int64_t matrices) const {
    if (kernel.wide_a() != nullptr && widens_first) widen_a();
    if (last_copied && !in_task) {
      const std::int64_t copies = all_copied ? panels.count : 1;
      const std::int64_t grain = std::max<std::int64_t>(1, chunk_size / (S::width * depth + 1));
      parallel(call, copies * (kernel.shared_b ? 1 : matrices), grain,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t slot = i / copies;
                   const std::int64_t p = all_copied ? i % copies : panels.count - 1;
                   copy(first_matrix + slot, p, 0, depth, copy_of(slot, p));
                 }
               });
    }
    const std::int64_t groups = (rows + rows_of_task - 1) / rows_of_task;
    const std::int64_t of_task =
        std::min(rows_of_task, rows) * std::min<std::int64_t>(S::width, columns);
    // One reading of a serves several panels, if b is too large to stay in cache, or if a is
    // copied. There are as many as stay in cache themselves, and leave enough tasks for threads.
    constexpr std::int64_t cached = (std::int64_t{1} << 20) / sizeof(T);
    const bool b_stays = columns * depth <= cached;
    const std::int64_t of_panel = S::width * std::clamp<std::int64_t>(depth, 1, block_depth);
    const std::int64_t most =
        ahead     ? ahead_panels
        : packs_a ? panels_of_task
                  : std::clamp<std::int64_t>(cached / 2 / of_panel, 1, panels_of_task);
    // At least, if there are as many panels.
    const std::int64_t tasks = call.stream == nullptr ? 1 : ahead ? 8 : 12;
    const std::int64_t together =
        packs_a || ahead || (!b_stays && groups > 1)
            ? std::clamp<std::int64_t>(matrices * groups * panels.count / tasks, 1, most)
            : 1;
    const std::int64_t bands = (panels.count + together - 1) / together;
    const std::int64_t work = 2 * std::max<std::int64_t>(of_task * together, 1) * (depth + 1);
    const std::int64_t grain = grain_of_cost(work);
    parallel(call, matrices * bands * groups, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t slot = task / (bands * groups);
        const std::int64_t i = task - slot * (bands * groups);
        const std::int64_t band = b_stays ? i % bands : i / groups;
        const std::int64_t group = b_stays ? i / bands : i % groups;
        multiply(first_matrix + slot, slot, band * together,
                 std::min((band + 1) * together, panels.count), group * rows_of_task);
      }
    });
  }

  /// How tasks widen a; null: they don't.
  const Widening<T>* wide_a() const { return widens_first ? nullptr : kernel.wide_a(); }
  void widen_a() const {
    const Widening<T>* const wide = kernel.wide_a();
    const char* const of_a =
        call.operand<const char>(0) + kernel.start_of_a(call.extents, 0) * wide->size;
    const std::int64_t count = rows * depth;
    // Whole vectors, so that no task writes behind its part but the last one.
    constexpr std::int64_t part = 8192;
    parallel(call, (count + part - 1) / part, 2, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t first = begin * part;
      wide->convert(of_a + first * wide->size, 0, 1, std::min(count, end * part) - first,
                    all_of_a + first, 0);
    });
  }
  /// Copies steps [begin, begin + length) of the depth of panel p.
  void copy(std::int64_t matrix, std::int64_t p, std::int64_t begin, std::int64_t length,
            T* to) const {
    const std::int64_t first = panels.first(p);
    const std::int64_t last = panels.last(p);
    const std::int64_t width = panels.width(p);
    if (kernel.wide_b() != nullptr) {
      widen_panel(matrix, first, last, width, begin, length, to);
    } else if (kernel.transposed_b) {
      pack_transposed_panel(b_of(matrix) + begin, kernel.pitch_b, length, first, last, width, to);
    } else {
      pack_panel<T, A>(b_of(matrix) + begin * kernel.pitch_b, length, kernel.pitch_b, first, last,
                       width, to);
    }
  }
  /// The same for a b that is widened.
  [[gnu::noinline]] void widen_panel(std::int64_t matrix, std::int64_t first, std::int64_t last,
                                     std::int64_t width, std::int64_t begin, std::int64_t length,
                                     T* to) const {
    const Widening<T>* const wide = kernel.wide_b();
    const std::int64_t pitch = kernel.pitch_b;
    const char* const b =
        call.operand<const char>(1) + kernel.start_of_b(call.extents, matrix) * wide->size;
    if (!kernel.transposed_b) {
      wide->convert(b + (begin * pitch + first) * wide->size, pitch, length, last - first, to,
                    width);
      return;
    }
    alignas(64) T rows_of_b[S::width * strip_depth];
    for (std::int64_t k = 0; k < length; k += strip_depth) {
      const std::int64_t steps = std::min(strip_depth, length - k);
      wide->convert(b + (first * pitch + begin + k) * wide->size, pitch, last - first, steps,
                    rows_of_b, strip_depth);
      pack_transposed_panel(rows_of_b, strip_depth, steps, 0, last - first, width, to + k * width);
    }
  }

  /// A task: the rows from `first` on by panels [panel, last_panel).
  void multiply(std::int64_t matrix, std::int64_t slot, std::int64_t panel, std::int64_t last_panel,
                std::int64_t first) const {
    const std::int64_t last = std::min(first + rows_of_task, rows);
    // The copy of an a that is widened before the tasks begins where its memory does.
    const std::int64_t start_of_a =
        (widens_first ? 0 : kernel.start_of_a(call.extents, matrix)) + first * a_row;
    const T* const a = all_of_a + start_of_a;
    // Tiles of all rows, or of half of them, are written to the result if nothing follows.
    T* const result =
        kernel.is_result ? call.operand<T>(2) + (matrix * rows + first) * columns : nullptr;
    const std::int64_t direct =
        kernel.is_result ? tiles_of(last - first) - ((last - first) % (S::rows / 2) != 0) : 0;
    const std::int64_t tiles = tiles_of(last - first);  // of a panel
    alignas(64) T few_sums[panels_of_task * tiles_of_task * tile_size];
    const std::int64_t sums_pitch = (ahead ? tiles_of(rows) : tiles) * tile_size;
    T* const waiting =
        ahead ? packed + packed_pitch + panel * sums_pitch + first * S::width : few_sums;
    alignas(64) T strips[rows_of_task * strip_depth];  // of a, if it is copied
    alignas(64) T block_of_b[S::width * strip_depth];  // if the task copies it
    const std::int64_t deepest = ahead                ? ahead_depth
                                 : packs_a || in_task ? strip_depth
                                                      : block_depth;
    const std::int64_t blocks = std::max<std::int64_t>(1, (depth + deepest - 1) / deepest);
    const bool strips_come = packs_a && wide_a() == nullptr;
    for (std::int64_t block = 0; block < blocks; ++block) {
      const std::int64_t begin = depth * block / blocks;
      const std::int64_t length = depth * (block + 1) / blocks - begin;
      if (packs_a) pack_strips(start_of_a + begin * a_step, last - first, length, strips);
      for (std::int64_t p = panel; p < last_panel; ++p) {
        const std::int64_t width = panels.width(p);
        const bool copied = all_copied || (last_copied && p == panels.count - 1);
        const std::int64_t pitch = copied ? width : kernel.pitch_b;
        if (in_task) copy(matrix, p, begin, length, block_of_b);
        const T* const b =
            in_task ? block_of_b
                    : (copied ? copy_of(slot, p) : b_of(matrix) + panels.first(p)) + begin * pitch;
        const std::int64_t to_result = block == blocks - 1 ? direct : 0;
        const std::int64_t of_result = panels.last(p) - panels.first(p);
        for (std::int64_t i = 0; first + i * S::rows < last; ++i) {
          const std::int64_t row = i * S::rows;
          T* const sums = waiting + (p - panel) * sums_pitch + i * tile_size;
          T* const tile = i < to_result ? result + row * columns + panels.first(p) : sums;
          const std::int64_t tile_pitch = i < to_result ? columns : S::width;
          const std::int64_t tile_width = i < to_result ? of_result : width;
          const T* const before = block == 0 ? nullptr : sums;
          const int count = static_cast<int>(std::min<std::int64_t>(S::rows, last - first - row));
          if (block == blocks - 1 && kernel.result_element != 0) {
            const ResultRows lines{call.operand<const std::byte>(kernel.result),
                                   columns * kernel.result_element, kernel.result_element};
            lines.prefetch(matrix * rows + first + row, count, panels.first(p), panels.last(p));
          }
          with_vectors<S>(width, [&](auto vectors) {
            const T* const from =
                packs_a ? strips + row * length : a + row * a_row + begin * a_step;
            const std::int64_t next_row = !packs_a ? a_row : kernel.transposed_a ? 1 : length;
            const std::int64_t step = packs_a && kernel.transposed_a ? S::rows : a_step;
            if constexpr (vectors() == S::vectors) {
              const bool a_ahead = strips_come && p == panel && begin + length < depth;
              if ((ahead || a_ahead) && count > S::rows / 2) {
                product_tile<T, A, S::vectors, S::rows>(
                    from, next_row, step, count, b, pitch, length, tile, tile_pitch, before,
                    tile_width,
                    ahead ? rows_ahead(b_of(matrix), panel, last_panel, begin + length,
                                       (p - panel) * tiles + i, (last_panel - panel) * tiles)
                          : steps_ahead(a + (begin + length + length * i / tiles) * a_step,
                                        last - first));
                return;
              }
            }
            if (count <= S::rows / 2) {  // of the last rows, no more than needed
              product_tile<T, A, vectors(), S::rows / 2>(from, next_row, step, count, b, pitch,
                                                         length, tile, tile_pitch, before,
                                                         tile_width);
            } else {
              product_tile<T, A, vectors()>(from, next_row, step, count, b, pitch, length, tile,
                                            tile_pitch, before, tile_width);
            }
          });
          // Tile by tile: the next one is computed while these stores wait for their lines.
          if (block == blocks - 1 && i >= direct) {
            kernel.finish(call, matrix, sums, first + row, first + row + count, panels.first(p),
                          panels.last(p));
          }
        }
      }
    }
  }

  /// One of `parts` parts of the block of b that begins at depth `begin`, or of the first block of
  /// the next panels if there is none.
  PrefetchedRows<T> rows_ahead(const T* b, std::int64_t panel, std::int64_t last_panel,
                               std::int64_t begin, std::int64_t part, std::int64_t parts) const {
    constexpr std::int64_t line = 64 / sizeof(T);
    if (begin == depth) {
      begin = 0;
      if (last_panel < panels.count) {
        const std::int64_t band = last_panel - panel;
        panel = last_panel;
        last_panel = std::min(panel + band, panels.count);
      }
    }
    const std::int64_t length = std::min(ahead_depth, depth - begin);
    const std::int64_t first = panels.first(panel);
    const std::int64_t lines = (panels.last(last_panel - 1) - first + line - 1) / line;
    const std::int64_t i = length * lines * part / parts;
    const std::int64_t j = i % lines;
    return {b + (begin + i / lines) * kernel.pitch_b + first + j * line, lines - j, lines,
            kernel.pitch_b};
  }

  /// `count` rows of a transposed a, from a step of the depth on. Few of their lines lie side by
  /// side, so the processor does not ask for the next ones by itself.
  PrefetchedRows<T> steps_ahead(const T* step, std::int64_t count) const {
    constexpr std::int64_t line = 64 / sizeof(T);
    const std::int64_t lines = (count + line - 1) / line;
    return {step, lines, lines, a_step};
  }

  /// Copies `count` rows of a, from element `start` on, to strips for the rows of a tile. Of a
  /// transposed a, the strips' elements of one step lie side by side; otherwise those of a row do.
  [[gnu::noinline]] void pack_strips(std::int64_t start, std::int64_t count, std::int64_t length,
                                     T* strips) const {
    if (!kernel.transposed_a) {
      wide_a()->convert(call.operand<const char>(0) + start * wide_a()->size, a_row, count, length,
                        strips, length);
      return;
    }
    alignas(64) T wide[rows_of_task];
    for (std::int64_t k = 0; k < length; ++k, start += a_step) {
      const T* from = wide;
      if (wide_a() != nullptr) {
        wide_a()->convert(call.operand<const char>(0) + start * wide_a()->size, a_step, 1, count,
                          wide, 0);
      } else {
        from = all_of_a + start;
      }
      T* to = strips + k * S::rows;
      std::int64_t i = 0;
      for (; i + S::rows <= count; i += S::rows, to += S::rows * length) {
        std::memcpy(to, from + i, S::rows * sizeof(T));
      }
      std::copy(from + i, from + count, to);
    }
  }

  const KernelCall& call;
  const Kernel& kernel;
  const std::int64_t rows;
  const std::int64_t columns;
  const std::int64_t depth;
  const Panels<S> panels;
  const bool all_copied;
  const bool last_copied;
  const bool ahead;  ///< see reads_ahead
  const std::int64_t a_row;
  const std::int64_t a_step;
  const bool in_task;       ///< see copies_in_task
  const bool widens_first;  ///< see widens_all
  const bool packs_a;
  T* const all_of_a;  ///< unless tasks widen it
  T* const packed;
  const std::int64_t packed_pitch;
};

template <class T, class A, class Kernel>
void ProductLoops<T, A, Kernel>::run(const KernelCall& call, const Kernel& kernel) {
  const std::int64_t at_once = kernel.shared_b || copies_in_task(kernel, call.extents)
                                   ? kernel.count
                                   : slots(kernel, call.extents);
  for (std::int64_t first = 0; first < kernel.count; first += at_once) {
    ProductLoops(call, kernel).multiply(first, std::min(at_once, kernel.count - first));
  }
}

#ifdef TYPEFLOW_COMPILED
extern template class ProductLoops<float, DefaultArch>;
extern template class ProductLoops<double, DefaultArch>;
#endif

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
