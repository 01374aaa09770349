// SPDX-License-Identifier: Apache-2.0
#pragma once

// Radix sort of rows of unsigned keys with their positions, by 8 bits in each pass, from the
// lowest.
//
// A block holds a tile of a row in registers. Each warp finds the lanes with equal digits by votes,
// and so each item's rank among the items of its digit; no two threads compete, so the order is
// stable and the same in each run. A row of one tile stays in shared memory for all passes. A
// longer row takes three kernels a pass: tiles count their digits, the counts are added up along
// the tiles, and tiles move their items to their places. Items are put in order within the tile
// before they are written, so that neighbours go to the same place. (Merrill and Grimshaw, High
// performance and scalable radix sorting, 2011.)

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "typeflow/cuda/loops.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

inline constexpr int digit_bits = 8;
inline constexpr int digit_values = 1 << digit_bits;

/// Items that a thread holds.
template <class Key>
inline constexpr int radix_items = 64 / static_cast<int>(sizeof(Key));
/// Items of a block of so many threads.
template <class Key>
inline constexpr int radix_tile(int threads) {
  return threads * radix_items<Key>;
}
/// Items of the largest tile.
template <class Key>
inline constexpr int largest_tile = radix_tile<Key>(loop_threads);

/// The digit of a key that begins at a bit.
template <class Key>
constexpr unsigned digit_at(Key key, int bit) {
  return static_cast<unsigned>(key >> bit) & (digit_values - 1u);
}

TYPEFLOW_DEVICE int count_bits(unsigned word) {
#if defined(__CUDACC__)
  return __popc(word);
#else
  return std::popcount(word);
#endif
}

/// The sum of the values of the lanes up to this one.
template <class T>
TYPEFLOW_DEVICE T sum_up_to_lane(T value) {
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  TYPEFLOW_UNROLL
  for (int by = 1; by < warp_size; by *= 2) {
    const T other = __shfl_up_sync(whole_warp, value, static_cast<unsigned>(by));
    if (lane >= by) value += other;
  }
  return value;
}

/// A block's tile, and what of it is in shared memory. Item j of a thread is item item_of(j) of the
/// tile.
template <class K>
struct RadixTile {
  using Key = K;
  static constexpr int items = radix_items<Key>;

  Key key[items];
  std::uint32_t rank[items];  ///< among the warp's items with the same digit

  Key* keys;                 ///< in shared memory: the tile in order
  std::uint32_t* positions;  ///< of these keys
  std::uint32_t* counts;     ///< of each digit, for each warp
  std::uint64_t* sums;       ///< of warps

  /// Bytes of shared memory that counting takes, and what order takes.
  static constexpr std::int64_t bytes_to_count(int threads) {
    return threads / warp_size *
           static_cast<std::int64_t>(sizeof(std::uint64_t) + digit_values * sizeof(std::uint32_t));
  }
  static constexpr std::int64_t bytes_to_order(int threads) {
    return bytes_to_count(threads) +
           radix_tile<Key>(threads) *
               static_cast<std::int64_t>(sizeof(Key) + sizeof(std::uint32_t));
  }

  TYPEFLOW_DEVICE explicit RadixTile(std::byte* shared) {
    sums = reinterpret_cast<std::uint64_t*>(shared);
    counts = reinterpret_cast<std::uint32_t*>(sums + warps());
    keys = reinterpret_cast<Key*>(counts + warps() * digit_values);
    positions = reinterpret_cast<std::uint32_t*>(keys + size());
  }

  TYPEFLOW_DEVICE static int threads() { return static_cast<int>(blockDim.x); }
  TYPEFLOW_DEVICE static int thread() { return static_cast<int>(threadIdx.x); }
  TYPEFLOW_DEVICE static int warps() { return threads() / warp_size; }
  TYPEFLOW_DEVICE static int size() { return threads() * items; }
  TYPEFLOW_DEVICE static int item_of(int j) {
    return (thread() / warp_size * items + j) * warp_size + thread() % warp_size;
  }

  /// Takes the key of place i from load_key(i), for i < count. The other places come last.
  template <class LoadKey>
  TYPEFLOW_DEVICE void load(int count, const LoadKey& load_key) {
    TYPEFLOW_UNROLL
    for (int j = 0; j < items; ++j) {
      key[j] = item_of(j) < count ? load_key(item_of(j)) : static_cast<Key>(~Key{0});
    }
  }

  /// Counts the digits of each warp. The block waits at the end.
  TYPEFLOW_DEVICE void count_digits(int bit) {
    clear_counts();
    std::uint32_t* const own = counts + thread() / warp_size * digit_values;
    TYPEFLOW_UNROLL
    for (int j = 0; j < items; ++j) atomicAdd(own + digit_at(key[j], bit), 1u);
    __syncthreads();
  }
  /// The same, and ranks the items by their digit.
  TYPEFLOW_DEVICE void rank_digits(int bit) {
    clear_counts();
    std::uint32_t* const own = counts + thread() / warp_size * digit_values;
    const unsigned before = (1u << (thread() % warp_size)) - 1u;  // lanes
    TYPEFLOW_UNROLL
    for (int j = 0; j < items; ++j) {
      const unsigned digit = digit_at(key[j], bit);
      unsigned alike = whole_warp;
      TYPEFLOW_UNROLL
      for (int b = 0; b < digit_bits; ++b) {
        const bool is_set = (digit & 1u << b) != 0;
        const unsigned ballot = __ballot_sync(whole_warp, is_set);
        alike &= is_set ? ballot : ~ballot;
      }
      const std::uint32_t known = own[digit];
      rank[j] = known + static_cast<std::uint32_t>(count_bits(alike & before));
      __syncwarp();
      if ((alike & before) == 0) own[digit] = known + static_cast<unsigned>(count_bits(alike));
      __syncwarp();
    }
    __syncthreads();
  }

  /// The number of the tile's items with a digit, after these.
  TYPEFLOW_DEVICE std::uint32_t count_of(int digit) const {
    std::uint32_t sum = 0;
    for (int w = 0; w < warps(); ++w) sum += counts[w * digit_values + digit];
    return sum;
  }

  /// Puts the keys and position(i) of place i in order into shared memory, and calls
  /// begin(digit, before, place) for each digit: the sum of total(d) of the smaller digits d, and
  /// the digit's first place in the tile. The block waits at the end.
  template <class Position, class Total, class Begin>
  TYPEFLOW_DEVICE void order(int bit, const Position& position, const Total& total,
                             const Begin& begin) {
    std::uint32_t moved[items];
    TYPEFLOW_UNROLL
    for (int j = 0; j < items; ++j) moved[j] = position(item_of(j));
    const int each = digit_values / threads();  // neighbours
    const int first = thread() * each;
    // Two sums in one word: those of totals above those of the tile, which has few items.
    std::uint64_t sum = 0;
    for (int d = first; d < first + each; ++d) {
      sum += static_cast<std::uint64_t>(total(d)) << 32 | count_of(d);
    }
    std::uint64_t before = sum_before_in_block(sum);
    for (int d = first; d < first + each; ++d) {
      auto place = static_cast<std::uint32_t>(before);
      begin(d, static_cast<std::uint32_t>(before >> 32), place);
      before += static_cast<std::uint64_t>(total(d)) << 32 | count_of(d);
      for (int w = 0; w < warps(); ++w) {
        const std::uint32_t own = counts[w * digit_values + d];
        counts[w * digit_values + d] = place;
        place += own;
      }
    }
    __syncthreads();
    const std::uint32_t* const places = counts + thread() / warp_size * digit_values;
    TYPEFLOW_UNROLL
    for (int j = 0; j < items; ++j) {
      const std::uint32_t place = places[digit_at(key[j], bit)] + rank[j];
      keys[place] = key[j];
      positions[place] = moved[j];
    }
    __syncthreads();
  }

 private:
  TYPEFLOW_DEVICE void clear_counts() {
    for (int i = thread(); i < warps() * digit_values; i += threads()) counts[i] = 0;
    __syncthreads();
  }
  TYPEFLOW_DEVICE std::uint64_t sum_before_in_block(std::uint64_t value) {
    const std::uint64_t sum = sum_up_to_lane(value);
    if (thread() % warp_size == warp_size - 1) sums[thread() / warp_size] = sum;
    __syncthreads();
    std::uint64_t before = sum - value;
    for (int w = 0; w < thread() / warp_size; ++w) before += sums[w];
    return before;
  }
};

/// Keys in memory.
template <class Key>
struct StoredKeys {
  const Key* keys;
  TYPEFLOW_DEVICE Key operator()(std::int64_t i) const { return keys[i]; }
};

/// Sorts rows of up to a tile by the lowest `bits` of keys(i), a block for each.
template <class Keys, class Key>
__global__ void __launch_bounds__(loop_threads, 2)
    sort_row_kernel(const __grid_constant__ Keys keys, std::int64_t rows, std::int64_t length,
                    int bits, Key* keys_out, std::uint32_t* positions_out) {
  RadixTile<Key> tile(launched_memory());
  for (auto row = static_cast<std::int64_t>(blockIdx.x); row < rows;
       row += static_cast<std::int64_t>(gridDim.x)) {
    const std::int64_t begin = row * length;
    tile.load(static_cast<int>(length), [&](int i) { return keys(begin + i); });
    TYPEFLOW_ROLLED
    for (int bit = 0; bit < bits; bit += digit_bits) {
      if (bit > 0) tile.load(tile.size(), [&](int i) { return tile.keys[i]; });
      tile.rank_digits(bit);
      tile.order(
          bit, [&](int i) { return bit > 0 ? tile.positions[i] : static_cast<std::uint32_t>(i); },
          [](int) { return std::uint32_t{0}; }, [](int, std::uint32_t, std::uint32_t) {});
    }
    for (int i = tile.thread(); i < length; i += tile.threads()) {
      keys_out[begin + i] = tile.keys[i];
      positions_out[begin + i] = tile.positions[i];
    }
    __syncthreads();  // nobody writes into the tile again while others read
  }
}

/// Rows of several tiles.
struct RadixShape {
  std::int64_t rows;
  std::int64_t length;
  std::int64_t tiles;  ///< of a row

  /// Items of a tile that begins at a place of a row.
  constexpr int count_behind(std::int64_t first, int size) const {
    return static_cast<int>(length - first < size ? length - first : size);
  }
};

/// Counts the digits of tiles: counts(rows, digits, tiles). Stores the keys, unless `stored` is
/// null.
template <class Keys, class Key>
__global__ void __launch_bounds__(loop_threads, 2)
    count_digits_kernel(const __grid_constant__ Keys keys, RadixShape shape, int bit, Key* stored,
                        std::uint32_t* counts) {
  RadixTile<Key> tile(launched_memory());
  for (auto task = static_cast<std::int64_t>(blockIdx.x); task < shape.rows * shape.tiles;
       task += static_cast<std::int64_t>(gridDim.x)) {
    const std::int64_t row = task / shape.tiles;
    const std::int64_t number = task % shape.tiles;
    const std::int64_t first = number * tile.size();
    const std::int64_t begin = row * shape.length + first;
    tile.load(shape.count_behind(first, tile.size()), [&](int i) {
      const Key key = keys(begin + i);
      if (stored != nullptr) stored[begin + i] = key;
      return key;
    });
    tile.count_digits(bit);
    // Places behind the row's end count as the largest digit. No item's place depends on that.
    for (int d = tile.thread(); d < digit_values; d += tile.threads()) {
      counts[(row * digit_values + d) * shape.tiles + number] = tile.count_of(d);
    }
    __syncthreads();  // nobody resets the counts while others read
  }
}

/// Replaces the counts of a digit by the sums of the tiles before, and stores the total: a warp for
/// each row and digit.
template <class Count>
__global__ void add_digits_kernel(std::int64_t tasks, std::int64_t tiles, Count* counts,
                                  Count* totals) {
  constexpr int at_once = 4;  // loads that are under way together
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  for (auto task = grid_thread<std::int64_t>() / warp_size; task < tasks;
       task += grid_threads<std::int64_t>() / warp_size) {
    Count* const own = counts + task * tiles;
    Count before = 0;
    for (std::int64_t first = lane; first - lane < tiles; first += at_once * warp_size) {
      Count count[at_once];
      TYPEFLOW_UNROLL
      for (int j = 0; j < at_once; ++j) {
        const std::int64_t i = first + j * warp_size;
        count[j] = i < tiles ? own[i] : Count{0};
      }
      TYPEFLOW_UNROLL
      for (int j = 0; j < at_once; ++j) {
        const std::int64_t i = first + j * warp_size;
        const Count sum = sum_up_to_lane(count[j]);
        if (i < tiles) own[i] = before + sum - count[j];
        before += __shfl_sync(whole_warp, sum, warp_size - 1);
      }
    }
    if (lane == 0) totals[task] = before;
  }
}

/// Keys and positions of all rows.
template <class Key>
struct RadixItems {
  Key* keys;
  std::uint32_t* positions;  ///< null: items are in their first order
};

/// Moves the items of tiles to their places by a digit.
template <class Key>
__global__ void __launch_bounds__(loop_threads, 2)
    move_items_kernel(RadixItems<Key> from, RadixItems<Key> to, RadixShape shape, int bit,
                      const std::uint32_t* counts, const std::uint32_t* totals) {
  __shared__ std::uint32_t shift[digit_values];  // from a place in the tile to that in the row
  RadixTile<Key> tile(launched_memory());
  for (auto task = static_cast<std::int64_t>(blockIdx.x); task < shape.rows * shape.tiles;
       task += static_cast<std::int64_t>(gridDim.x)) {
    const std::int64_t row = task / shape.tiles;
    const std::int64_t number = task % shape.tiles;
    const std::int64_t first = number * tile.size();
    const std::int64_t begin = row * shape.length;
    const int count = shape.count_behind(first, tile.size());
    const Key* const from_keys = from.keys + begin + first;
    tile.load(count, [&](int i) { return from_keys[i]; });
    static_assert(loop_threads == digit_values);  // so a thread has its own digit, loaded early
    const std::int64_t own = row * digit_values + tile.thread();
    const std::uint32_t total = totals[own];
    const std::uint32_t in_tiles_before = counts[own * shape.tiles + number];
    tile.rank_digits(bit);
    const std::uint32_t* const from_positions =
        from.positions == nullptr ? nullptr : from.positions + begin + first;
    tile.order(
        bit,
        [&](int i) {
          if (i >= count || from_positions == nullptr) return static_cast<std::uint32_t>(first + i);
          return from_positions[i];
        },
        [&](int) { return total; },
        [&](int d, std::uint32_t before, std::uint32_t place) {
          shift[d] = before + in_tiles_before - place;
        });
    Key* const to_keys = to.keys + begin;
    std::uint32_t* const to_positions = to.positions + begin;
    TYPEFLOW_UNROLL_BY(4)
    for (int i = tile.thread(); i < count; i += tile.threads()) {
      const Key key = tile.keys[i];
      const std::uint32_t place = shift[digit_at(key, bit)] + static_cast<std::uint32_t>(i);
      to_keys[place] = key;
      to_positions[place] = tile.positions[i];
    }
    __syncthreads();  // nobody writes into the tile again while others read
  }
}

/// The tiles of a row that takes several.
template <class Key>
constexpr std::int64_t radix_tiles(std::int64_t length) {
  return (length + largest_tile<Key> - 1) / largest_tile<Key>;
}
/// Bytes of workspace for the counts of radix_sort.
template <class Key>
std::int64_t radix_workspace(std::int64_t rows, std::int64_t length) {
  if (length <= largest_tile<Key>) return 0;
  return checked_product(checked_product(rows, radix_tiles<Key>(length) + 1),
                         digit_values * sizeof(std::uint32_t));
}

/// Sorts rows of several tiles by the lowest `bits` of keys(i). The first items are the result, or
/// the second ones: returns them. `counts` is workspace.
template <class Key, class Keys>
RadixItems<Key> radix_sort(const KernelCall& call, const Keys& keys, std::int64_t rows,
                           std::int64_t length, int bits, RadixItems<Key> from, RadixItems<Key> to,
                           std::uint32_t* counts) {
  const RadixShape shape{rows, length, radix_tiles<Key>(length)};
  const std::int64_t blocks = std::min(rows * shape.tiles, most_blocks);
  const std::int64_t tasks = rows * digit_values;
  const std::int64_t to_count = RadixTile<Key>::bytes_to_count(loop_threads);
  const std::int64_t to_move = RadixTile<Key>::bytes_to_order(loop_threads);
  std::uint32_t* const totals = counts + tasks * shape.tiles;
  for (int bit = 0; bit < bits; bit += digit_bits) {
    if (bit == 0) {
      launch_with_memory(call, &count_digits_kernel<Keys, Key>, blocks, loop_threads, to_count,
                         keys, shape, bit, from.keys, counts);
    } else {
      launch_with_memory(call, &count_digits_kernel<StoredKeys<Key>, Key>, blocks, loop_threads,
                         to_count, StoredKeys<Key>{from.keys}, shape, bit,
                         static_cast<Key*>(nullptr), counts);
    }
    launch(call, &add_digits_kernel<std::uint32_t>, blocks_for(tasks, loop_threads / warp_size),
           loop_threads, tasks, shape.tiles, counts, totals);
    launch_with_memory(call, &move_items_kernel<Key>, blocks, loop_threads, to_move,
                       RadixItems<Key>{from.keys, bit == 0 ? nullptr : from.positions}, to, shape,
                       bit, static_cast<const std::uint32_t*>(counts),
                       static_cast<const std::uint32_t*>(totals));
    std::swap(from, to);
  }
  return from;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
