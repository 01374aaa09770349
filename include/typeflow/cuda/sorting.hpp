// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sorting rows of keys with their positions: top_k and sort, scatters in the order of indices,
// shuffles.
//
// A block sorts several short rows in shared memory by Batcher's bitonic network. No two items are
// equal, because they have positions, so there is one result. Longer rows are sorted by their
// digits (radix_sort.hpp). (Batcher, Sorting networks and their applications, 1968.)

#include <algorithm>
#include <cstdint>
#include <utility>

#include "typeflow/cuda/loops.hpp"
#include "typeflow/cuda/radix_sort.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

template <class K>
struct SortItem {
  K key;
  std::uint32_t position;  ///< in the row

  constexpr bool operator<(const SortItem& other) const {
    return key != other.key ? key < other.key : position < other.position;
  }
};

inline constexpr int sort_tile = 1024;  ///< items of a block

/// How short rows are put into tiles.
struct SortShape {
  std::int64_t rows;
  std::int64_t length;
  int segment;  ///< places of a row in a tile, a power of two
  std::int64_t tiles;

  SortShape(std::int64_t its_rows, std::int64_t its_length) : rows(its_rows), length(its_length) {
    segment = 1;
    while (segment < length) segment *= 2;
    const std::int64_t in_tile = sort_tile / segment;
    tiles = (rows + in_tile - 1) / in_tile;
  }
};

/// Sorts the rows of tiles by keys(i), where i counts through all rows.
template <class Keys, class Key>
__global__ void sort_tiles_kernel(Keys keys, SortShape shape, Key* sorted,
                                  std::uint32_t* positions) {
  using Item = SortItem<Key>;
  __shared__ Item tile[sort_tile];
  constexpr int threads = loop_threads;
  for (auto task = static_cast<std::int64_t>(blockIdx.x); task < shape.tiles;
       task += static_cast<std::int64_t>(gridDim.x)) {
    const std::int64_t first_row = task * (sort_tile / shape.segment);
    for (int t = static_cast<int>(threadIdx.x); t < sort_tile; t += threads) {
      const std::int64_t row = first_row + t / shape.segment;
      const int position = t % shape.segment;
      Item item{static_cast<Key>(~Key{0}), ~std::uint32_t{0}};
      if (row < shape.rows && position < shape.length) {
        item = {keys(row * shape.length + position), static_cast<std::uint32_t>(position)};
      }
      tile[t] = item;
    }
    for (int size = 2; size <= shape.segment; size *= 2) {
      for (int step = size / 2; step > 0; step /= 2) {
        __syncthreads();
        for (int pair = static_cast<int>(threadIdx.x); pair < sort_tile / 2; pair += threads) {
          const int i = 2 * pair - (pair & (step - 1));
          const bool ascends = (i & (shape.segment - 1) & size) == 0;
          const Item a = tile[i];
          const Item b = tile[i + step];
          if ((b < a) == ascends) {
            tile[i] = b;
            tile[i + step] = a;
          }
        }
      }
    }
    __syncthreads();
    for (int t = static_cast<int>(threadIdx.x); t < sort_tile; t += threads) {
      const std::int64_t row = first_row + t / shape.segment;
      const int position = t % shape.segment;
      if (row < shape.rows && position < shape.length) {
        sorted[row * shape.length + position] = tile[t].key;
        positions[row * shape.length + position] = tile[t].position;
      }
    }
    __syncthreads();  // nobody writes into the tile again while others read
  }
}

/// Rows up to this length are sorted by comparisons, several in a block.
inline constexpr int short_row = 256;

/// Keys and positions of rows in their order.
template <class Key>
struct SortedRows {
  const Key* keys;
  const std::uint32_t* positions;  ///< in the row
};

/// Bytes of an item's key and position.
template <class Key>
inline constexpr auto item_bytes = static_cast<std::int64_t>(sizeof(Key) + sizeof(std::uint32_t));

/// Bytes of workspace for sort_rows.
template <class Key>
std::int64_t sort_workspace(std::int64_t rows, std::int64_t length) {
  const std::int64_t items = checked_product(rows, length);
  const int copies = length > largest_tile<Key> ? 2 : 1;
  return checked_sum(checked_product(items, copies * item_bytes<Key>),
                     radix_workspace<Key>(rows, length));
}

/// The same for so many items in rows of any length: as many or more.
template <class Key>
std::int64_t sort_workspace(std::int64_t items) {
  // Rows of q full tiles and a part of one, q > 0, have counts of q + 2 tiles: at most 3q.
  const bool may_be_long = items > largest_tile<Key>;
  const std::int64_t tiles = may_be_long ? 3 * (items / largest_tile<Key>) : 0;
  return checked_sum(checked_product(items, (may_be_long ? 2 : 1) * item_bytes<Key>),
                     checked_product(tiles, digit_values * sizeof(std::uint32_t)));
}

/// Sorts rows of a length by keys(i), where i counts through all rows; equal keys stay in order.
/// Keys are less than 2^bits. The result is in the call's workspace.
template <class Keys, class Key = decltype(std::declval<const Keys&>()(std::int64_t{}))>
SortedRows<Key> sort_rows(const KernelCall& call, const Keys& keys, std::int64_t rows,
                          std::int64_t length, int bits) {
  const std::int64_t items = rows * length;
  auto* const sorted = static_cast<Key*>(call.workspace);
  if (length > largest_tile<Key>) {
    auto* const positions = reinterpret_cast<std::uint32_t*>(sorted + 2 * items);
    const RadixItems<Key> result =
        radix_sort<Key>(call, keys, rows, length, bits, {sorted, positions},
                        {sorted + items, positions + items}, positions + 2 * items);
    return {result.keys, result.positions};
  }
  auto* const positions = reinterpret_cast<std::uint32_t*>(sorted + items);
  if (items == 0) return {sorted, positions};
  if (length > short_row) {
    int threads = warp_size;
    while (radix_tile<Key>(threads) < length) threads *= 2;
    launch_with_memory(call, &sort_row_kernel<Keys, Key>, std::min(rows, most_blocks), threads,
                       RadixTile<Key>::bytes_to_order(threads), keys, rows, length, bits, sorted,
                       positions);
  } else {
    const SortShape shape(rows, length);
    launch(call, &sort_tiles_kernel<Keys, Key>, std::min(shape.tiles, most_blocks), loop_threads,
           keys, shape, sorted, positions);
  }
  return {sorted, positions};
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
