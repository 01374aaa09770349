// SPDX-License-Identifier: Apache-2.0
#pragma once

// The smallest keys of each row, without a sort of the row: top_k.
//
// The digits of the last chosen key are found one after the other, from the highest. A pass counts
// the next digit of the keys that begin with the digits known so far. Then the row is read once
// more, and the chosen keys are copied in the order of their positions. Threads add integers only,
// so the result does not depend on their order. A block does all of that for a row. If there are
// few long rows, blocks divide them, with a kernel for each step. (Alabi et al., Fast k-selection
// algorithms for graphics processing units, 2012.)
//
// If few keys are chosen, most of a row is read only once, for the least key of each of its parts.
// Of these minima the k-th smallest is a bound: k parts have a key up to it. So no chosen key is
// larger, and parts whose minimum is larger are left out of all that follows.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "typeflow/cuda/select_block.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// Rows of which the `count` smallest keys are chosen.
struct SelectShape {
  std::int64_t rows;
  std::int64_t length;
  std::int64_t count;
  int bits;            ///< of keys
  std::int64_t tiles;  ///< of a row; 1: a block has whole rows
  int parts;           ///< of a row that a block has; 0: it is not divided
  int part_bits;       ///< the binary logarithm of a part's length

  SelectShape(std::int64_t its_rows, std::int64_t its_length, std::int64_t its_count, int its_bits)
      : rows(its_rows), length(its_length), count(its_count), bits(its_bits) {
    constexpr std::int64_t enough_rows = 256;  // for a block each
    tiles = rows >= enough_rows || length <= 2 * tile ? 1 : (length + tile - 1) / tile;
    part_bits = 8;
    while (length > std::int64_t{most_parts} << part_bits) ++part_bits;
    const std::int64_t in_row = ((length - 1) >> part_bits) + 1;
    parts = tiles == 1 && saves_reading(in_row) ? static_cast<int>(in_row) : 0;
  }
  static constexpr std::int64_t tile = 4096;  ///< items of a block
  static constexpr int most_parts = 1024;

  /// Whether minima of so many parts of a row leave out most of the row.
  constexpr bool saves_reading(std::int64_t of_row) const { return of_row >= 2 * count; }
  /// Whether tiles have minima.
  constexpr bool has_minima() const { return tiles > 1 && saves_reading(tiles); }

  TYPEFLOW_DEVICE std::int64_t end_of(std::int64_t number) const {
    const std::int64_t end = (number + 1) * tile;
    return end < length ? end : length;
  }
};

/// The parts of a row that may have chosen keys, in a block's shared memory. Items of these parts
/// have numbers from 0 on.
template <class Key>
struct SelectParts {
  Key minima[SelectShape::most_parts];
  std::uint16_t chosen[SelectShape::most_parts];  ///< in order
  std::uint32_t counts[select_warps];

  /// Finds them; returns their items. The block waits at the end.
  template <class LoadKey>
  TYPEFLOW_DEVICE std::int64_t find(const SelectShape& shape, SelectBlock<Key>& block,
                                    const LoadKey& load_key) {
    const int warp = SelectBlock<Key>::warp();
    const int lane = SelectBlock<Key>::lane();
    for (int part = warp; part < shape.parts; part += select_warps) {
      const std::int64_t begin = std::int64_t{part} << shape.part_bits;
      const std::int64_t end = begin + (std::int64_t{1} << shape.part_bits);
      const Key least =
          least_of_warp<Key>(begin, end < shape.length ? end : shape.length, load_key);
      if (lane == 0) minima[part] = least;
    }
    __syncthreads();
    const SelectionLimit<Key> bound =
        block.find_limit(shape.bits, static_cast<std::uint32_t>(shape.count), shape.parts,
                         [&](std::int64_t i) { return minima[i]; });
    std::uint32_t before = 0;
    for (int first = 0; first < shape.parts; first += loop_threads) {
      const int part = first + warp * warp_size + lane;
      const bool is_chosen = part < shape.parts && bound.reaches(minima[part]);
      const unsigned lanes = __ballot_sync(whole_warp, is_chosen);
      if (lane == 0) counts[warp] = static_cast<std::uint32_t>(count_bits(lanes));
      __syncthreads();
      std::uint32_t place = before;
      for (int w = 0; w < select_warps; ++w) {
        if (w < warp) place += counts[w];
        before += counts[w];
      }
      place += static_cast<std::uint32_t>(count_bits(lanes & ((1u << lane) - 1u)));
      if (is_chosen) chosen[place] = static_cast<std::uint16_t>(part);
      __syncthreads();  // nobody writes the counts while others read
    }
    return std::int64_t{before} << shape.part_bits;
  }
  /// Where an item of these parts is in the row.
  TYPEFLOW_DEVICE std::int64_t place_of(const SelectShape& shape, std::int64_t item) const {
    const std::int64_t in_part = item & ((std::int64_t{1} << shape.part_bits) - 1);
    return (std::int64_t{chosen[item >> shape.part_bits]} << shape.part_bits) + in_part;
  }
};

/// A block for each row.
template <class Keys, class Key>
__global__ void __launch_bounds__(loop_threads, 2)
    select_row_kernel(const __grid_constant__ Keys keys, SelectShape shape, Key* keys_out,
                      std::uint32_t* positions_out) {
  __shared__ SelectBlock<Key> block;
  __shared__ SelectParts<Key> parts;
  const auto count = static_cast<std::uint32_t>(shape.count);
  for (auto row = static_cast<std::int64_t>(blockIdx.x); row < shape.rows;
       row += static_cast<std::int64_t>(gridDim.x)) {
    const auto load_key = [&](std::int64_t i) { return keys(row * shape.length + i); };
    const bool divides = shape.parts > 0;
    const std::int64_t items = divides ? parts.find(shape, block, load_key) : shape.length;
    const auto place_of = [&](std::int64_t item) {
      return divides ? parts.place_of(shape, item) : item;
    };
    // Behind the row's end is nothing, which counts as the largest key and comes after all others.
    const auto load_item = [&](std::int64_t item) {
      const std::int64_t i = place_of(item);
      return i < shape.length ? load_key(i) : static_cast<Key>(~Key{0});
    };
    const SelectionLimit<Key> limit = block.find_limit(shape.bits, count, items, load_item);
    block.copy_chosen(limit, count, 0, items, 0, load_item, place_of, keys_out + row * shape.count,
                      positions_out + row * shape.count);
    __syncthreads();  // nobody writes into the block's memory again while others read
  }
}

// Rows that blocks divide.

/// The least key of each tile, and the bound of each row's minima. Pointers are null if neither
/// is known.
template <class Key>
struct TileMinima {
  Key* least;                  ///< (rows, tiles)
  SelectionLimit<Key>* bound;  ///< (rows)

  TYPEFLOW_DEVICE bool leaves_out(std::int64_t task, std::int64_t row) const {
    return least != nullptr && !bound[row].reaches(least[task]);
  }
};

template <class Keys, class Key>
__global__ void find_minima_kernel(const __grid_constant__ Keys keys, SelectShape shape,
                                   TileMinima<Key> minima) {
  __shared__ Key of_warps[select_warps];
  constexpr std::int64_t share = SelectShape::tile / select_warps;
  for (auto task = static_cast<std::int64_t>(blockIdx.x); task < shape.rows * shape.tiles;
       task += static_cast<std::int64_t>(gridDim.x)) {
    const std::int64_t row = task / shape.tiles;
    const std::int64_t number = task % shape.tiles;
    const int warp = SelectBlock<Key>::warp();
    const std::int64_t begin = number * shape.tile + warp * share;
    const std::int64_t end = shape.end_of(number);
    const Key least =
        least_of_warp<Key>(begin, begin + share < end ? begin + share : end,
                           [&](std::int64_t i) { return keys(row * shape.length + i); });
    if (SelectBlock<Key>::lane() == 0) of_warps[warp] = least;
    __syncthreads();
    if (threadIdx.x == 0) {
      Key of_tile = of_warps[0];
      for (int w = 1; w < select_warps; ++w)
        of_tile = of_warps[w] < of_tile ? of_warps[w] : of_tile;
      minima.least[task] = of_tile;
    }
    __syncthreads();  // nobody writes a warp's key while the thread reads
  }
}
/// A block for each row.
template <class Key>
__global__ void bound_minima_kernel(SelectShape shape, TileMinima<Key> minima) {
  __shared__ SelectBlock<Key> block;
  for (auto row = static_cast<std::int64_t>(blockIdx.x); row < shape.rows;
       row += static_cast<std::int64_t>(gridDim.x)) {
    const SelectionLimit<Key> bound =
        block.find_limit(shape.bits, static_cast<std::uint32_t>(shape.count), shape.tiles,
                         [&](std::int64_t i) { return minima.least[row * shape.tiles + i]; });
    if (block.thread() == 0) minima.bound[row] = bound;
  }
}

/// counts(rows, digits) := the next digit of candidates, added up. The counts are 0 before.
template <class Keys, class Key>
__global__ void count_candidates_kernel(const __grid_constant__ Keys keys, SelectShape shape,
                                        TileMinima<Key> minima, bool is_first,
                                        const SelectionLimit<Key>* limits, std::uint32_t* counts) {
  __shared__ SelectBlock<Key> block;
  for (auto task = static_cast<std::int64_t>(blockIdx.x); task < shape.rows * shape.tiles;
       task += static_cast<std::int64_t>(gridDim.x)) {
    const std::int64_t row = task / shape.tiles;
    const std::int64_t number = task % shape.tiles;
    const auto limit = is_first ? SelectionLimit<Key>::start(shape.bits, 0) : limits[row];
    if (limit.is_final || minima.leaves_out(task, row)) continue;
    const std::uint32_t total =
        block.count_digits(limit, is_first, number * shape.tile, shape.end_of(number),
                           [&](std::int64_t i) { return keys(row * shape.length + i); });
    if (total > 0) atomicAdd(counts + row * digit_values + block.thread(), total);
    __syncthreads();  // nobody clears the counts while others read
  }
}

/// Adds a digit to each row's limit, and clears the counts for the next one. A block for each row.
template <class Key>
__global__ void narrow_limits_kernel(SelectShape shape, bool is_first, SelectionLimit<Key>* limits,
                                     std::uint32_t* counts) {
  __shared__ SelectBlock<Key> block;
  for (auto row = static_cast<std::int64_t>(blockIdx.x); row < shape.rows;
       row += static_cast<std::int64_t>(gridDim.x)) {
    if (block.thread() == 0) {
      block.limit =
          is_first ? SelectionLimit<Key>::start(shape.bits, static_cast<std::uint32_t>(shape.count))
                   : limits[row];
    }
    __syncthreads();
    if (!block.limit.is_final) {
      std::uint32_t& own = counts[row * digit_values + block.thread()];
      block.narrow(own);
      own = 0;
      if (block.thread() == 0) limits[row] = block.limit;
    }
    __syncthreads();  // nobody writes the limit while others read
  }
}

/// Counts the keys of tiles before the limit, and ties.
template <class Keys, class Key>
__global__ void count_selected_kernel(const __grid_constant__ Keys keys, SelectShape shape,
                                      TileMinima<Key> minima, const SelectionLimit<Key>* limits,
                                      SelectionCounts* counts) {
  __shared__ SelectionCounts sums[select_warps];
  const int thread = static_cast<int>(threadIdx.x);
  for (auto task = static_cast<std::int64_t>(blockIdx.x); task < shape.rows * shape.tiles;
       task += static_cast<std::int64_t>(gridDim.x)) {
    const std::int64_t row = task / shape.tiles;
    const std::int64_t number = task % shape.tiles;
    if (minima.leaves_out(task, row)) {
      if (thread == 0) counts[task] = 0;
      continue;
    }
    const SelectionLimit<Key> limit = limits[row];
    SelectionCounts mine = 0;
    TYPEFLOW_UNROLL_BY(4)
    for (std::int64_t i = number * shape.tile + thread; i < shape.end_of(number);
         i += loop_threads) {
      const Key key = keys(row * shape.length + i);
      mine += selection_counts(limit.is_less(key), limit.is_tie(key));
    }
    const SelectionCounts of_warp = sum_up_to_lane(mine);
    if (thread % warp_size == warp_size - 1) sums[thread / warp_size] = of_warp;
    __syncthreads();
    if (thread == 0) {
      SelectionCounts total = 0;
      for (int w = 0; w < select_warps; ++w) total += sums[w];
      counts[task] = total;
    }
    __syncthreads();  // nobody writes the sums while the thread reads
  }
}

/// Copies what tiles have of the chosen keys, where `before` counts the tiles in front.
template <class Keys, class Key>
__global__ void copy_selected_kernel(const __grid_constant__ Keys keys, SelectShape shape,
                                     TileMinima<Key> minima, const SelectionLimit<Key>* limits,
                                     const SelectionCounts* before, Key* keys_out,
                                     std::uint32_t* positions_out) {
  __shared__ SelectBlock<Key> block;
  for (auto task = static_cast<std::int64_t>(blockIdx.x); task < shape.rows * shape.tiles;
       task += static_cast<std::int64_t>(gridDim.x)) {
    const std::int64_t row = task / shape.tiles;
    const std::int64_t number = task % shape.tiles;
    if (minima.leaves_out(task, row)) continue;
    block.copy_chosen(
        limits[row], static_cast<std::uint32_t>(shape.count), number * shape.tile,
        shape.end_of(number), before[task],
        [&](std::int64_t i) { return keys(row * shape.length + i); },
        [](std::int64_t i) { return i; }, keys_out + row * shape.count,
        positions_out + row * shape.count);
    __syncthreads();  // nobody writes into the block's memory again while others read
  }
}

/// Bytes of workspace for select_rows.
template <class Key>
std::int64_t select_workspace(const SelectShape& shape) {
  if (shape.tiles == 1) return 0;
  const auto of_row =
      static_cast<std::int64_t>(2 * sizeof(SelectionLimit<Key>) + sizeof(SelectionCounts) +
                                digit_values * sizeof(std::uint32_t));
  constexpr auto minimum = static_cast<std::int64_t>(sizeof(Key));
  const std::int64_t of_tiles =
      checked_product(shape.tiles, static_cast<std::int64_t>(sizeof(SelectionCounts)) +
                                       (shape.has_minima() ? minimum : 0));
  return checked_product(shape.rows, checked_sum(of_row, of_tiles));
}

/// keys_out(rows, count), positions_out(rows, count) := the `count` smallest keys of each row and
/// their positions in it, in an order in which equal keys stay. keys(i) counts through all rows.
/// The first positions of equal keys are chosen. 0 < count <= length.
template <class Keys, class Key>
void select_rows(const KernelCall& call, const Keys& keys, const SelectShape& shape, Key* keys_out,
                 std::uint32_t* positions_out, void* workspace) {
  if (shape.tiles == 1) {
    return launch(call, &select_row_kernel<Keys, Key>, std::min(shape.rows, most_blocks),
                  loop_threads, keys, shape, keys_out, positions_out);
  }
  const std::int64_t blocks = std::min(shape.rows * shape.tiles, most_blocks);
  const std::int64_t row_blocks = std::min(shape.rows, most_blocks);
  auto* const before = static_cast<SelectionCounts*>(workspace);
  SelectionCounts* const totals = before + shape.rows * shape.tiles;
  auto* const limits = reinterpret_cast<SelectionLimit<Key>*>(totals + shape.rows);
  TileMinima<Key> minima{};
  Key* const least = reinterpret_cast<Key*>(limits + 2 * shape.rows);
  if (shape.has_minima()) minima = {least, limits + shape.rows};
  auto* const counts = reinterpret_cast<std::uint32_t*>(
      shape.has_minima() ? least + shape.rows * shape.tiles : least);
  fill_bytes(call, counts, 0,
             shape.rows * digit_values * static_cast<std::int64_t>(sizeof(std::uint32_t)));
  if (shape.has_minima()) {
    launch(call, &find_minima_kernel<Keys, Key>, blocks, loop_threads, keys, shape, minima);
    launch(call, &bound_minima_kernel<Key>, row_blocks, loop_threads, shape, minima);
  }
  for (int bit = 0; bit < shape.bits; bit += digit_bits) {
    launch(call, &count_candidates_kernel<Keys, Key>, blocks, loop_threads, keys, shape, minima,
           bit == 0, static_cast<const SelectionLimit<Key>*>(limits), counts);
    launch(call, &narrow_limits_kernel<Key>, row_blocks, loop_threads, shape, bit == 0, limits,
           counts);
  }
  launch(call, &count_selected_kernel<Keys, Key>, blocks, loop_threads, keys, shape, minima,
         static_cast<const SelectionLimit<Key>*>(limits), before);
  launch(call, &add_digits_kernel<SelectionCounts>,
         blocks_for(shape.rows, loop_threads / warp_size), loop_threads, shape.rows, shape.tiles,
         before, totals);
  launch(call, &copy_selected_kernel<Keys, Key>, blocks, loop_threads, keys, shape, minima,
         static_cast<const SelectionLimit<Key>*>(limits),
         static_cast<const SelectionCounts*>(before), keys_out, positions_out);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
