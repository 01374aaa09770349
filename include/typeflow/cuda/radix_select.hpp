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

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "typeflow/cuda/radix_sort.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

inline constexpr int select_warps = loop_threads / warp_size;
static_assert(loop_threads == digit_values);  // a thread adds up its own digit

/// Which keys of a row are chosen: all whose bits from `shift` on are less than the prefix, and the
/// first ones in the row of those where they are equal.
template <class Key>
struct SelectionLimit {
  Key prefix;
  int shift;
  std::uint32_t ties;  ///< chosen keys with the prefix
  bool is_final;       ///< false: more digits are needed

  /// Before the first digit is known: a shift by all bits would not be defined.
  static constexpr SelectionLimit start(int bits, std::uint32_t count) {
    return {0, bits, count, false};
  }
  constexpr bool is_less(Key key) const { return static_cast<Key>(key >> shift) < prefix; }
  constexpr bool is_tie(Key key) const { return static_cast<Key>(key >> shift) == prefix; }
};

/// Counts of keys before the limit, and of ties in the upper half.
using SelectionCounts = std::uint64_t;
constexpr SelectionCounts selection_counts(std::uint32_t less, std::uint32_t ties) {
  return less | SelectionCounts{ties} << 32;
}
constexpr std::uint32_t less_of(SelectionCounts counts) {
  return static_cast<std::uint32_t>(counts);
}
constexpr std::uint32_t ties_of(SelectionCounts counts) {
  return static_cast<std::uint32_t>(counts >> 32);
}

/// The shared memory of a block.
template <class K>
struct SelectBlock {
  using Key = K;
  std::uint32_t counts[select_warps * digit_values];  ///< of digits, for each warp
  SelectionCounts sums[2][select_warps];
  SelectionLimit<Key> limit;

  TYPEFLOW_DEVICE static int thread() { return static_cast<int>(threadIdx.x); }
  TYPEFLOW_DEVICE static int warp() { return thread() / warp_size; }
  TYPEFLOW_DEVICE static int lane() { return thread() % warp_size; }

  /// Counts the next digit of the candidates among load_key(i) for i in [begin, end). Returns the
  /// number of those whose digit is the thread's number.
  template <class LoadKey>
  TYPEFLOW_DEVICE std::uint32_t count_digits(const SelectionLimit<Key>& known, bool is_first,
                                             std::int64_t begin, std::int64_t end,
                                             const LoadKey& load_key) {
    for (int i = thread(); i < select_warps * digit_values; i += loop_threads) counts[i] = 0;
    __syncthreads();
    std::uint32_t* const own = counts + warp() * digit_values;
    const int bit = known.shift - digit_bits;
    TYPEFLOW_UNROLL_BY(4)
    for (std::int64_t i = begin + thread(); i < end; i += loop_threads) {
      const Key key = load_key(i);
      if (is_first || known.is_tie(key)) atomicAdd(own + digit_at(key, bit), 1u);
    }
    __syncthreads();
    std::uint32_t total = 0;
    for (int w = 0; w < select_warps; ++w) total += counts[w * digit_values + thread()];
    return total;
  }

  /// Adds a digit to the limit, where `total` candidates have the digit of the thread's number. The
  /// block waits at the end.
  TYPEFLOW_DEVICE void narrow(std::uint32_t total) {
    const SelectionLimit<Key> known = limit;
    const std::uint32_t sum = sum_up_to_lane(total);
    if (lane() == warp_size - 1) sums[0][warp()] = sum;
    __syncthreads();
    std::uint32_t before = sum - total;
    for (int w = 0; w < warp(); ++w) before += less_of(sums[0][w]);
    if (before < known.ties && known.ties - before <= total) {  // in one thread
      const std::uint32_t ties = known.ties - before;
      const int bit = known.shift - digit_bits;
      limit = {static_cast<Key>(static_cast<Key>(known.prefix << digit_bits) |
                                static_cast<Key>(thread())),
               bit, ties, bit == 0 || ties == total};
    }
    __syncthreads();
  }

  /// Copies the chosen ones of load_key(i) for i in [begin, end), in this order, with i: first
  /// those before the limit, then ties. `before` has the counts of the row in front of `begin`.
  template <class LoadKey>
  TYPEFLOW_DEVICE void copy_chosen(const SelectionLimit<Key>& known, std::uint32_t count,
                                   std::int64_t begin, std::int64_t end, SelectionCounts before,
                                   const LoadKey& load_key, Key* keys_out,
                                   std::uint32_t* positions_out) {
    constexpr int each = 4;  // items of a thread at a time
    const unsigned lanes_before = (1u << lane()) - 1u;
    const std::uint32_t less = count - known.ties;
    int turn = 0;
    for (std::int64_t first = begin; first < end; first += each * loop_threads) {
      if (less_of(before) == less && ties_of(before) >= known.ties) break;
      const std::int64_t own = first + warp() * each * warp_size + lane();
      Key key[each];
      unsigned less_lanes[each];
      unsigned tie_lanes[each];
      SelectionCounts of_warp = 0;
      TYPEFLOW_UNROLL
      for (int j = 0; j < each; ++j) {
        const std::int64_t i = own + j * warp_size;
        key[j] = i < end ? load_key(i) : Key{0};
      }
      TYPEFLOW_UNROLL
      for (int j = 0; j < each; ++j) {
        const bool is_inside = own + j * warp_size < end;
        less_lanes[j] = __ballot_sync(whole_warp, is_inside && known.is_less(key[j]));
        tie_lanes[j] = __ballot_sync(whole_warp, is_inside && known.is_tie(key[j]));
        of_warp += selection_counts(static_cast<std::uint32_t>(count_bits(less_lanes[j])),
                                    static_cast<std::uint32_t>(count_bits(tie_lanes[j])));
      }
      if (lane() == 0) sums[turn][warp()] = of_warp;
      __syncthreads();
      SelectionCounts mine = before;
      for (int w = 0; w < select_warps; ++w) {
        if (w < warp()) mine += sums[turn][w];
        before += sums[turn][w];
      }
      TYPEFLOW_UNROLL
      for (int j = 0; j < each; ++j) {
        std::uint32_t place = count;
        if ((less_lanes[j] >> lane() & 1u) != 0) {
          place =
              less_of(mine) + static_cast<std::uint32_t>(count_bits(less_lanes[j] & lanes_before));
        } else if ((tie_lanes[j] >> lane() & 1u) != 0) {
          place = less + ties_of(mine) +
                  static_cast<std::uint32_t>(count_bits(tie_lanes[j] & lanes_before));
        }
        if (place < count) {
          keys_out[place] = key[j];
          positions_out[place] = static_cast<std::uint32_t>(own + j * warp_size);
        }
        mine += selection_counts(static_cast<std::uint32_t>(count_bits(less_lanes[j])),
                                 static_cast<std::uint32_t>(count_bits(tie_lanes[j])));
      }
      turn ^= 1;  // others may still read the sums of this turn
    }
  }
};

/// Rows of which the `count` smallest keys are chosen.
struct SelectShape {
  std::int64_t rows;
  std::int64_t length;
  std::int64_t count;
  int bits;            ///< of keys
  std::int64_t tiles;  ///< of a row; 1: a block has whole rows

  SelectShape(std::int64_t its_rows, std::int64_t its_length, std::int64_t its_count, int its_bits)
      : rows(its_rows), length(its_length), count(its_count), bits(its_bits) {
    constexpr std::int64_t enough_rows = 256;  // for a block each
    tiles = rows >= enough_rows || length <= 2 * tile ? 1 : (length + tile - 1) / tile;
  }
  static constexpr std::int64_t tile = 4096;  ///< items of a block

  TYPEFLOW_DEVICE std::int64_t end_of(std::int64_t number) const {
    const std::int64_t end = (number + 1) * tile;
    return end < length ? end : length;
  }
};

/// A block for each row.
template <class Keys, class Key>
__global__ void select_row_kernel(const __grid_constant__ Keys keys, SelectShape shape,
                                  Key* keys_out, std::uint32_t* positions_out) {
  __shared__ SelectBlock<Key> block;
  const auto count = static_cast<std::uint32_t>(shape.count);
  for (auto row = static_cast<std::int64_t>(blockIdx.x); row < shape.rows;
       row += static_cast<std::int64_t>(gridDim.x)) {
    const auto load_key = [&](std::int64_t i) { return keys(row * shape.length + i); };
    if (threadIdx.x == 0) block.limit = SelectionLimit<Key>::start(shape.bits, count);
    __syncthreads();
    SelectionLimit<Key> limit = block.limit;
    do {
      block.narrow(block.count_digits(limit, limit.shift == shape.bits, 0, shape.length, load_key));
      limit = block.limit;
    } while (!limit.is_final);
    block.copy_chosen(limit, count, 0, shape.length, 0, load_key, keys_out + row * shape.count,
                      positions_out + row * shape.count);
    __syncthreads();  // nobody writes into the block's memory again while others read
  }
}

// Rows that blocks divide.

/// counts(rows, digits) := the next digit of candidates, added up. The counts are 0 before.
template <class Keys, class Key>
__global__ void count_candidates_kernel(const __grid_constant__ Keys keys, SelectShape shape,
                                        bool is_first, const SelectionLimit<Key>* limits,
                                        std::uint32_t* counts) {
  __shared__ SelectBlock<Key> block;
  for (auto task = static_cast<std::int64_t>(blockIdx.x); task < shape.rows * shape.tiles;
       task += static_cast<std::int64_t>(gridDim.x)) {
    const std::int64_t row = task / shape.tiles;
    const std::int64_t number = task % shape.tiles;
    const auto limit = is_first ? SelectionLimit<Key>::start(shape.bits, 0) : limits[row];
    if (limit.is_final) continue;
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
                                      const SelectionLimit<Key>* limits, SelectionCounts* counts) {
  __shared__ SelectionCounts sums[select_warps];
  const int thread = static_cast<int>(threadIdx.x);
  for (auto task = static_cast<std::int64_t>(blockIdx.x); task < shape.rows * shape.tiles;
       task += static_cast<std::int64_t>(gridDim.x)) {
    const std::int64_t row = task / shape.tiles;
    const std::int64_t number = task % shape.tiles;
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
                                     const SelectionLimit<Key>* limits,
                                     const SelectionCounts* before, Key* keys_out,
                                     std::uint32_t* positions_out) {
  __shared__ SelectBlock<Key> block;
  for (auto task = static_cast<std::int64_t>(blockIdx.x); task < shape.rows * shape.tiles;
       task += static_cast<std::int64_t>(gridDim.x)) {
    const std::int64_t row = task / shape.tiles;
    const std::int64_t number = task % shape.tiles;
    block.copy_chosen(
        limits[row], static_cast<std::uint32_t>(shape.count), number * shape.tile,
        shape.end_of(number), before[task],
        [&](std::int64_t i) { return keys(row * shape.length + i); }, keys_out + row * shape.count,
        positions_out + row * shape.count);
    __syncthreads();  // nobody writes into the block's memory again while others read
  }
}

/// Bytes of workspace for select_rows.
template <class Key>
std::int64_t select_workspace(const SelectShape& shape) {
  if (shape.tiles == 1) return 0;
  const auto of_row = static_cast<std::int64_t>(
      sizeof(SelectionLimit<Key>) + sizeof(SelectionCounts) + digit_values * sizeof(std::uint32_t));
  const std::int64_t of_tiles =
      checked_product(shape.tiles, static_cast<std::int64_t>(sizeof(SelectionCounts)));
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
  auto* const counts = reinterpret_cast<std::uint32_t*>(limits + shape.rows);
  fill_bytes(call, counts, 0,
             shape.rows * digit_values * static_cast<std::int64_t>(sizeof(std::uint32_t)));
  for (int bit = 0; bit < shape.bits; bit += digit_bits) {
    launch(call, &count_candidates_kernel<Keys, Key>, blocks, loop_threads, keys, shape, bit == 0,
           static_cast<const SelectionLimit<Key>*>(limits), counts);
    launch(call, &narrow_limits_kernel<Key>, row_blocks, loop_threads, shape, bit == 0, limits,
           counts);
  }
  launch(call, &count_selected_kernel<Keys, Key>, blocks, loop_threads, keys, shape,
         static_cast<const SelectionLimit<Key>*>(limits), before);
  launch(call, &add_digits_kernel<SelectionCounts>,
         blocks_for(shape.rows, loop_threads / warp_size), loop_threads, shape.rows, shape.tiles,
         before, totals);
  launch(call, &copy_selected_kernel<Keys, Key>, blocks, loop_threads, keys, shape,
         static_cast<const SelectionLimit<Key>*>(limits),
         static_cast<const SelectionCounts*>(before), keys_out, positions_out);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
