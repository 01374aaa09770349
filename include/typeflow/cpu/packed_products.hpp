// SPDX-License-Identifier: Apache-2.0
#pragma once

// Products of matrices of narrow elements: 8-bit integers, bfloat16. Some steps of the depth fill a
// word of 32 bits; one instruction multiplies the words of two vectors and adds the products of
// each word to a sum of 32 bits. Both operands are packed as words first.
//
// Every element of the result is one chain over the words, so its bits depend neither on threads
// nor on its place.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "typeflow/core/extent.hpp"
#include "typeflow/cpu/lanes.hpp"
#include "typeflow/cpu/product_kernel.hpp"
#include "typeflow/cpu/rows.hpp"
#include "typeflow/cpu/tile.hpp"
#include "typeflow/cpu/vectors.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// A word of packed operands. Words are only moved, so they may hold anything.
using Word = float;

/// Loops over words. A Rule has
///   using Arch; using Sum;                      the instruction set; the element type of sums
///   static constexpr int group;                 steps of the depth in a word
///   static constexpr bool has_starts;           whether sums begin with other numbers than zero
///   struct Left, Right;                         the operands a and b, each with
///     using Element;
///     static void join(const Element* from, std::int64_t count, Word* to);
///       words of neighbours, zeros behind an incomplete last one
///     static constexpr bool joins_bits;  whether words of neighbours have the bits of the elements
///     static void zip(const Element* from, std::int64_t pitch, int rows, std::int64_t count,
///                     Word* to);
///       words of `rows` rows, at most `group`, that lie `pitch` apart; zeros for missing ones
///   static Vector<Sum, N> add(sum, left, right);  the sum and the products of two vectors of words
///   static Vector<Sum, N> start(sums)           only with has_starts: the number that a
///       column's sums begin with, of the sum of its elements
template <class Rule>
class PackedProducts {
  using T = typename Rule::Sum;
  using A = typename Rule::Arch;
  using S = TileShape<T, A>;
  using L = Lanes<false, A>;
  using V = Vector<T, S::lanes>;
  using Words = Vector<std::uint32_t, S::lanes>;
  using Left = typename Rule::Left;
  using Right = typename Rule::Right;
  using Extents = ir::ContractionExtents;
  static constexpr int group = Rule::group;
  static constexpr std::int64_t starts = Rule::has_starts ? 1 : 0;  ///< rows of a panel
  static constexpr std::int64_t tiles_of_task = 8;
  static constexpr std::int64_t rows_of_task = tiles_of_task * S::rows;
  static constexpr std::int64_t tile_size = S::rows * S::width;
  static constexpr std::int64_t block = 1024;                    ///< words of the depth
  static constexpr std::int64_t small_block = 128;               ///< the same where b is packed
  static constexpr std::int64_t cached = std::int64_t{1} << 18;  ///< words
  static_assert(sizeof(T) == sizeof(Word));

 public:
  /// Larger extents never need less.
  static std::int64_t workspace(const ProductKernel<T>& kernel, const std::int64_t* extents) {
    const std::int64_t one = packed_size(kernel, extents);
    const std::int64_t most = std::min(checked_product(one, kernel.count), cached);
    return checked_product(std::max(one, most), sizeof(Word));
  }
  static void run(const KernelCall& call, const ProductKernel<T>& kernel) {
    const std::int64_t together = at_once(kernel, call.extents);
    const PackedProducts products(call, kernel);
    for (std::int64_t first = 0; first < kernel.count; first += together) {
      const std::int64_t count = std::min(together, kernel.count - first);
      products.pack(first, count);
      products.multiply(first, count);
    }
  }

 private:
  static std::int64_t words_of(std::int64_t depth) { return depth / group + (depth % group != 0); }
  /// Whether a task packs the panel that it reads, a block at a time, since no other task does.
  static bool packs_in_task(const ProductKernel<T>& kernel, const std::int64_t* extents) {
    return extents[Extents::rows] <= rows_of_task && (kernel.count == 1 || !kernel.shared_b);
  }
  /// Words of the operands of a matrix that are packed before the tasks.
  static std::int64_t packed_size(const ProductKernel<T>& kernel, const std::int64_t* extents) {
    const std::int64_t words = words_of(extents[Extents::depth]);
    const std::int64_t of_a = checked_product(extents[Extents::rows], words);
    if (packs_in_task(kernel, extents)) return of_a;
    return checked_sum(of_a, checked_product(Panels<S>(extents[Extents::columns]).padded(),
                                             checked_sum(words, starts)));
  }
  /// How many matrices are packed at a time: about as many as stay in cache.
  static std::int64_t at_once(const ProductKernel<T>& kernel, const std::int64_t* extents) {
    const std::int64_t one = std::max<std::int64_t>(packed_size(kernel, extents), 1);
    return std::clamp<std::int64_t>(cached / one, 1, std::max<std::int64_t>(kernel.count, 1));
  }

  PackedProducts(const KernelCall& c, const ProductKernel<T>& k)
      : call(c),
        kernel(k),
        rows(c.extents[Extents::rows]),
        columns(c.extents[Extents::columns]),
        depth(c.extents[Extents::depth]),
        words(words_of(depth)),
        panels(columns),
        groups((rows + rows_of_task - 1) / rows_of_task),
        in_task(packs_in_task(k, c.extents)),
        a_is_words(Left::joins_bits && !k.transposed_a && depth % group == 0 &&
                   k.pitch_a % group == 0) {}

  Word* a_of(std::int64_t slot) const {
    return static_cast<Word*>(call.workspace) + slot * packed_size(kernel, call.extents);
  }
  Word* panel_of(std::int64_t slot, std::int64_t p) const {
    return a_of(slot) + rows * words + panels.first(p) * (words + starts);
  }
  static std::int64_t grain_of(std::int64_t elements, std::int64_t work) {
    return std::max<std::int64_t>(1, elements / std::max<std::int64_t>(work, 1));
  }

  void pack(std::int64_t first, std::int64_t count) const {
    const std::int64_t parts = groups + (in_task ? 0 : panels.count);
    parallel(call, count * parts, grain_of(chunk_size, S::width * depth),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t i = begin; i < end; ++i) {
                 const std::int64_t slot = i / parts;
                 const std::int64_t part = i % parts;
                 if (part < groups) {
                   if (!a_is_words) pack_a(first + slot, slot, part);
                 } else {
                   pack_b(first + slot, slot, part - groups);
                 }
               }
             });
  }
  const typename Left::Element* elements_of_a(std::int64_t matrix) const {
    return call.operand<const typename Left::Element>(0) + kernel.start_of_a(call.extents, matrix);
  }
  /// Part `part` of as many as there are groups of rows. A transposed a is read along its rows; the
  /// words of a group lie together, those of one step side by side.
  void pack_a(std::int64_t matrix, std::int64_t slot, std::int64_t part) const {
    const auto* const a = elements_of_a(matrix);
    Word* const to = a_of(slot);
    if (kernel.transposed_a) {
      const std::int64_t last = words * (part + 1) / groups;
      for (std::int64_t k = words * part / groups; k < last; ++k) {
        for (std::int64_t i = 0; i < rows; i += rows_of_task) {
          const std::int64_t count = std::min(rows_of_task, rows - i);
          Left::zip(a + group * k * kernel.pitch_a + i, kernel.pitch_a, rows_of_word(k), count,
                    to + i * words + k * count);
        }
      }
      return;
    }
    const std::int64_t begin = part * rows_of_task;
    const std::int64_t end = std::min(begin + rows_of_task, rows);
    if (depth % group == 0 && kernel.pitch_a == depth) {
      Left::join(a + begin * depth, (end - begin) * depth, to + begin * words);
    } else {
      for (std::int64_t i = begin; i < end; ++i) {
        Left::join(a + i * kernel.pitch_a, depth, to + i * words);
      }
    }
  }
  void pack_b(std::int64_t matrix, std::int64_t slot, std::int64_t p) const {
    const std::int64_t width = panels.width(p);
    Word* const panel = panel_of(slot, p);
    for (std::int64_t k = 0; k < words; k += block) {
      pack_block(matrix, p, k, std::min(block, words - k), panel + (starts + k) * width);
    }
    start(panel + starts * width, words, width, panel);
  }
  /// Words [begin, begin + length) of the depth of panel p.
  void pack_block(std::int64_t matrix, std::int64_t p, std::int64_t begin, std::int64_t length,
                  Word* to) const {
    const std::int64_t first = panels.first(p);
    const std::int64_t count = panels.last(p) - first;
    const std::int64_t width = panels.width(p);
    const auto* const b =
        call.operand<const typename Right::Element>(1) + kernel.start_of_b(call.extents, matrix);
    const std::int64_t pitch = kernel.pitch_b;
    if (!kernel.transposed_b) {
      for (std::int64_t k = begin; k < begin + length; ++k, to += width) {
        Right::zip(b + group * k * pitch + first, pitch, rows_of_word(k), count, to);
        for (std::int64_t j = count; j < width; ++j) {
          TYPEFLOW_FEW_TURNS;
          to[j] = Word(0);
        }
      }
      return;
    }
#if defined(__AVX512BW__)
    if constexpr (Right::joins_bits && line_square_size<Word> != 0) {
      if (depth % group == 0 && pitch % group == 0) {
        const auto* const words_of_b = reinterpret_cast<const Word*>(b + first * pitch);
        pack_transposed_panel(words_of_b + begin, pitch / group, length, 0, count, width, to);
        return;
      }
    }
#endif
    alignas(64) Word joined[S::width * small_block];
    for (std::int64_t k = begin; k < begin + length; k += small_block) {
      const std::int64_t steps = std::min(small_block, begin + length - k);
      for (std::int64_t j = 0; j < count; ++j) {
        Right::join(b + (first + j) * pitch + group * k, std::min(group * steps, depth - group * k),
                    joined + j * small_block);
      }
      pack_transposed_panel(joined, small_block, steps, 0, count, width, to + (k - begin) * width);
    }
  }
  /// Writes the numbers that the columns' sums begin with, of `length` words of a panel.
  void start(const Word* b, std::int64_t length, std::int64_t width, Word* to) const {
    if constexpr (Rule::has_starts) {
      with_vectors<S>(width, [&](auto vectors) { start_columns<vectors()>(b, length, to); });
    }
  }
  /// Rule::start makes them of the sums of the columns' elements.
  template <int Vectors>
  [[gnu::flatten]] static void start_columns(const Word* b, std::int64_t length, Word* to) {
    V sum[Vectors];
    unrolled<Vectors>([&](auto v) TYPEFLOW_INLINE_LAMBDA { sum[v] = V(T(0)); });
    for (std::int64_t k = 0; k < length; ++k, b += Vectors * S::lanes) {
      unrolled<Vectors>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
        sum[v] = Rule::add(sum[v], Words(0x01010101u), words_at(b + v * S::lanes));
      });
    }
    unrolled<Vectors>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
      const V x = Rule::start(sum[v]);
      std::memcpy(to + v * S::lanes, &x.v, sizeof x.v);
    });
  }
  /// Rows of the depth that word k has.
  int rows_of_word(std::int64_t k) const {
    return static_cast<int>(std::min<std::int64_t>(group, depth - group * k));
  }

  TYPEFLOW_INLINE static V sums_at(const T* at) {
    V r;
    std::memcpy(&r.v, at, sizeof r.v);
    return r;
  }
  TYPEFLOW_INLINE static Words words_at(const Word* at) {
    Words r;
    std::memcpy(&r.v, at, sizeof r.v);
    return r;
  }
  TYPEFLOW_INLINE static Words one_word(const Word* at) {
    std::uint32_t x;
    std::memcpy(&x, at, sizeof x);
    return Words(x);
  }

  void multiply(std::int64_t first, std::int64_t count) const {
    const std::int64_t tasks = groups * panels.count;
    const std::int64_t work = 2 * std::min(rows_of_task, rows) * S::width * depth;
    parallel(call, count * tasks, grain_of_cost(work), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t slot = i / tasks;
        const std::int64_t task = i % tasks;
        multiply(first + slot, slot, task % panels.count, task / panels.count * rows_of_task);
      }
    });
  }
  void multiply(std::int64_t matrix, std::int64_t slot, std::int64_t p, std::int64_t begin) const {
    const std::int64_t end = std::min(begin + rows_of_task, rows);
    const std::int64_t row = kernel.transposed_a ? 1 : a_is_words ? kernel.pitch_a / group : words;
    const std::int64_t step = kernel.transposed_a ? end - begin : 1;
    const std::int64_t width = panels.width(p);
    const Word* const a = a_is_words
                              ? reinterpret_cast<const Word*>(elements_of_a(matrix)) + begin * row
                              : a_of(slot) + begin * words;
    const Word* const panel = in_task ? nullptr : panel_of(slot, p);
    alignas(64) Word packed[S::width * small_block];  // if the task packs b
    alignas(64) T first[S::width] = {};               // the numbers that sums begin with
    if (Rule::has_starts && !in_task) {
      std::memcpy(first, panel, static_cast<std::size_t>(width) * sizeof(T));
    }
    alignas(64) T sums[tiles_of_task * tile_size];
    // Tiles of all rows, or of half of them, are written to the result if nothing follows.
    const std::int64_t whole = kernel.is_result ? (end - begin + S::rows - 1) / S::rows -
                                                      ((end - begin) % (S::rows / 2) != 0)
                                                : 0;
    const std::int64_t of_result = panels.last(p) - panels.first(p);
    T* const result = kernel.is_result
                          ? call.operand<T>(2) + (matrix * rows + begin) * columns + panels.first(p)
                          : nullptr;
    const std::int64_t most = in_task ? small_block : block;
    for (std::int64_t k = 0; k < words || k == 0; k += most) {
      const std::int64_t length = std::min(most, words - k);
      const Word* b = packed;
      if (in_task) {
        pack_block(matrix, p, k, length, packed);
        begin_block(packed, length, width, k == 0, end - begin, first, sums);
      } else {
        b = panel + (starts + k) * width;
      }
      for (std::int64_t i = 0; begin + i * S::rows < end; ++i) {
        const int count =
            static_cast<int>(std::min<std::int64_t>(S::rows, end - begin - i * S::rows));
        const bool last = k + most >= words && i < whole;
        T* const to = last ? result + i * S::rows * columns : sums + i * tile_size;
        const std::int64_t to_pitch = last ? columns : S::width;
        const std::int64_t to_width = last ? of_result : width;
        const T* const before = k == 0 ? first : sums + i * tile_size;
        const std::int64_t before_pitch = k == 0 ? 0 : S::width;
        with_vectors<S>(width, [&](auto vectors) {
          const Word* const from = a + i * S::rows * row + k * step;
          if (count <= S::rows / 2) {  // of the last rows, no more than needed
            tile<vectors(), S::rows / 2>(from, row, step, count, b, length, before, before_pitch,
                                         to, to_pitch, to_width);
          } else {
            tile<vectors(), S::rows>(from, row, step, count, b, length, before, before_pitch, to,
                                     to_pitch, to_width);
          }
        });
      }
    }
    if (begin + whole * S::rows >= end) return;
    kernel.finish(call, matrix, sums + whole * tile_size, begin + whole * S::rows, end,
                  panels.first(p), panels.last(p));
  }
  /// Adds what sums begin with of a block that the task packed: to `first`, or to the sums so far.
  void begin_block(const Word* b, std::int64_t length, std::int64_t width, bool is_first,
                   std::int64_t count, T* first, T* sums) const {
    if constexpr (Rule::has_starts) {
      alignas(64) Word words_of_block[S::width];
      start(b, length, width, words_of_block);
      std::memcpy(first, words_of_block, static_cast<std::size_t>(width) * sizeof(T));
      if (is_first) return;
      for (std::int64_t i = 0; i < count; ++i) {
        for (std::int64_t j = 0; j < width; j += S::lanes) {
          const V sum = sums_at(sums + i * S::width + j) + sums_at(first + j);
          std::memcpy(sums + i * S::width + j, &sum.v, sizeof sum.v);
        }
      }
    }
  }
  /// The sums of a tile and the products of `count` of R rows and V vectors of columns. Rows of the
  /// result lie `pitch` apart, and `width` columns of them are written.
  template <int Vectors, int R>
  [[gnu::noinline, gnu::flatten]] static void tile(const Word* a, std::int64_t row,
                                                   std::int64_t step, int count, const Word* b,
                                                   std::int64_t length, const T* before,
                                                   std::int64_t before_pitch, T* to,
                                                   std::int64_t pitch, std::int64_t width) {
    const Word* at[R];
    V sum[R][Vectors];
    unrolled<R>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
      at[i] = a + std::min<int>(i, count - 1) * row;
      unrolled<Vectors>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
        sum[i][v] = sums_at(before + i * before_pitch + v * S::lanes);
      });
    });
    constexpr std::int64_t line = 64 / sizeof(Word);
    std::int64_t offset = 0;
    for (std::int64_t k = 0; k < length; ++k, offset += step, b += Vectors * S::lanes) {
      if (Vectors > 1 && step == 1 && k % line == 0) {  // the rows of the next tile
        unrolled<R>([&](auto i) TYPEFLOW_INLINE_LAMBDA { prefetch(at[i] + offset, R * row); });
      }
      Words right[Vectors];
      unrolled<Vectors>([&](auto v)
                            TYPEFLOW_INLINE_LAMBDA { right[v] = words_at(b + v * S::lanes); });
      unrolled<R>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
        const Words left = one_word(at[i] + offset);
        unrolled<Vectors>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
          sum[i][v] = Rule::add(sum[i][v], left, right[v]);
        });
      });
    }
    const int last = static_cast<int>(width - (Vectors - 1) * S::lanes);
    unrolled<R>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
      unrolled<Vectors>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
        const V x = sum[i][v];
        T* const place = to + i * pitch + v * S::lanes;
        // Of large registers a masked store costs no more than a whole one.
        if (v == Vectors - 1 && (S::large || last < S::lanes)) {
          L::template store<T>(place, L::template from_vector<T>(x), last);
        } else {
          std::memcpy(place, &x.v, sizeof x.v);
        }
      });
    });
  }

  const KernelCall& call;
  const ProductKernel<T>& kernel;
  const std::int64_t rows;
  const std::int64_t columns;
  const std::int64_t depth;
  const std::int64_t words;  ///< of the depth
  const Panels<S> panels;
  const std::int64_t groups;  ///< of rows
  const bool in_task;         ///< see packs_in_task
  const bool a_is_words;      ///< and need not be packed
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
