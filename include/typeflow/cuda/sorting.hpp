// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sorting rows of keys with their positions: top_k and sort, scatters in the order of indices,
// shuffles.
//
// A block sorts a tile in shared memory by Batcher's bitonic network: some short rows, or a part of
// a long one. Sorted parts are merged two by two; each item finds its place in the other part by a
// binary search. No two items are equal, because they have positions, so there is one result.
// (Batcher, Sorting networks and their applications, 1968.)

#include <algorithm>
#include <cstdint>

#include "typeflow/cuda/loops.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

template <class K>
struct SortItem {
  using Key = K;
  Key key;
  std::uint32_t position;  ///< in the row

  constexpr bool operator<(const SortItem& other) const {
    return key != other.key ? key < other.key : position < other.position;
  }
};

inline constexpr int sort_tile = 1024;  ///< items of a block

/// How rows are divided into tiles.
struct SortShape {
  std::int64_t rows;
  std::int64_t length;
  std::int64_t chunks;  ///< of a row; 1 for rows that fit a tile
  int segment;          ///< items that are sorted together, a power of two
  std::int64_t tiles;

  SortShape(std::int64_t its_rows, std::int64_t its_length)
      : rows(its_rows), length(its_length), chunks((length + sort_tile - 1) / sort_tile) {
    segment = 1;
    while (segment < length && segment < sort_tile) segment *= 2;
    tiles = chunks > 1 ? rows * chunks : (rows * segment + sort_tile - 1) / sort_tile;
  }
};

/// Sorts tiles of the items {keys(i), position}. i counts through all rows.
template <class Keys, class Item>
__global__ void sort_tiles_kernel(Keys keys, SortShape shape, Item* items) {
  __shared__ Item tile[sort_tile];
  constexpr int threads = loop_threads;
  for (auto task = static_cast<std::int64_t>(blockIdx.x); task < shape.tiles;
       task += static_cast<std::int64_t>(gridDim.x)) {
    // Item t of the tile: its row, and its position there.
    const auto row_of = [&](int t) {
      return shape.chunks > 1 ? task / shape.chunks
                              : task * (sort_tile / shape.segment) + t / shape.segment;
    };
    const auto position_of = [&](int t) {
      return shape.chunks > 1 ? task % shape.chunks * sort_tile + t
                              : static_cast<std::int64_t>(t % shape.segment);
    };
    for (int t = static_cast<int>(threadIdx.x); t < sort_tile; t += threads) {
      const std::int64_t row = row_of(t);
      const std::int64_t position = position_of(t);
      Item item{static_cast<typename Item::Key>(~typename Item::Key{0}), ~std::uint32_t{0}};
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
      const std::int64_t row = row_of(t);
      const std::int64_t position = position_of(t);
      if (row < shape.rows && position < shape.length) {
        items[row * shape.length + position] = tile[t];
      }
    }
    __syncthreads();  // nobody writes into the tile again while others read
  }
}

/// Puts an item at its place in a pair of sorted parts of `half` items each.
template <class Item>
struct MergeItem {
  const Item* from;
  Item* to;
  std::int64_t length;  ///< of a row
  std::int64_t half;

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index at) const {
    const Item item = from[at];
    const std::int64_t i = next_digit(at, length);
    const std::int64_t row = static_cast<std::int64_t>(at) * length;
    const std::int64_t pair = i / (2 * half) * (2 * half);
    const std::int64_t middle = smaller(pair + half, length);
    const bool is_left = i < middle;
    const std::int64_t first = is_left ? middle : pair;  // of the other part
    std::int64_t low = first;
    std::int64_t high = is_left ? smaller(pair + 2 * half, length) : middle;
    while (low < high) {
      const std::int64_t m = (low + high) / 2;
      if (from[row + m] < item) {
        low = m + 1;
      } else {
        high = m;
      }
    }
    const std::int64_t in_own = i - (is_left ? pair : middle);
    to[row + pair + in_own + (low - first)] = item;
  }

 private:
  TYPEFLOW_DEVICE static std::int64_t smaller(std::int64_t a, std::int64_t b) {
    return a < b ? a : b;
  }
};

/// Bytes of workspace for sort_rows.
template <class Key>
std::int64_t sort_workspace(std::int64_t rows, std::int64_t length) {
  return checked_product(checked_product(rows, length), 2 * sizeof(SortItem<Key>));
}

/// Sorts rows of a length by keys(i), where i counts through all rows; equal keys stay in order.
/// The items are in the call's workspace.
template <class Keys, class Key = decltype(std::declval<const Keys&>()(std::int64_t{}))>
const SortItem<Key>* sort_rows(const KernelCall& call, const Keys& keys, std::int64_t rows,
                               std::int64_t length) {
  using Item = SortItem<Key>;
  auto* from = static_cast<Item*>(call.workspace);
  auto* to = from + rows * length;
  if (rows == 0 || length == 0) return from;
  const SortShape shape(rows, length);
  launch(call, &sort_tiles_kernel<Keys, Item>, std::min(shape.tiles, most_blocks), loop_threads,
         keys, shape, from);
  for (std::int64_t half = sort_tile; half < length; half *= 2) {
    each(call, rows * length, MergeItem<Item>{from, to, length, half});
    std::swap(from, to);
  }
  return from;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
