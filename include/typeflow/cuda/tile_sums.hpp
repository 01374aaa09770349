// SPDX-License-Identifier: Apache-2.0
#pragma once

// The loop of a contraction on a GPU: a block sums products in a tile of registers
// (product_tile.hpp), of panels of both operands in shared memory (panels.hpp).

#include <cstdint>

#include "typeflow/cuda/panels.hpp"
#include "typeflow/cuda/product_tile.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// Adds up the products of a tile, for operands that lie in packets or not.
///
/// While the block multiplies panels, the next ones are loaded into registers, and then stored.
/// With `loads_in_between` they are in registers already: in between the products they are stored,
/// and those behind them are loaded.
template <class Tile, bool InPackets, class A, class B>
TYPEFLOW_DEVICE void sum_panels(const A& a, const B& b, const ProductPlace& place,
                                typename Tile::T* memory, typename Tile::Sums& sum) {
  using T = typename Tile::T;
  using RowLoader = ChunkLoader<A, Tile, Tile::rows, true>;
  using ColumnLoader = ChunkLoader<B, Tile, Tile::columns, false>;
  RowLoader rows(a, place.part_a, place.row);
  ColumnLoader columns(b, place.part_b, place.column);
  constexpr int stores = RowLoader::stores + ColumnLoader::stores;
  constexpr int parts = stores + RowLoader::loads + ColumnLoader::loads;
  // Part n of storing panels, and of loading those from step k on.
  const auto part = [&](int n, T* to, int k) {
    if (n < RowLoader::stores) {
      rows.store(n, to);
    } else if (n < stores) {
      columns.store(n - RowLoader::stores, to + Tile::of_a);
    } else if (n < stores + RowLoader::loads) {
      rows.template load<InPackets>(n - stores, a, place.part_a, place.row, place, k);
    } else {
      columns.template load<InPackets>(n - stores - RowLoader::loads, b, place.part_b, place.column,
                                       place, k);
    }
  };
  Tile::clear(sum);
  const int steps = place.steps;
  TYPEFLOW_UNROLL
  for (int n = stores; n < parts; ++n) part(n, memory, 0);
  constexpr bool in_between = Tile::loads_in_between;
  TYPEFLOW_UNROLL
  for (int n = 0; n < (in_between ? parts : stores); ++n) part(n, memory, Tile::depth);
  __syncthreads();
  T* panels = memory;
  T* next = memory + Tile::of_both;
  TYPEFLOW_ROLLED
  for (int k = 0; k < steps; k += Tile::depth) {
    if constexpr (!in_between) {
      TYPEFLOW_UNROLL
      for (int n = stores; n < parts; ++n) part(n, next, k + Tile::depth);
    }
    Tile::multiply(panels, panels + Tile::of_a, sum, [&](int pause) {
      if constexpr (in_between) {
        TYPEFLOW_UNROLL
        for (int n = 0; n < parts; ++n) {
          if (n * Tile::pauses / parts == pause) part(n, next, k + 2 * Tile::depth);
        }
      }
    });
    if constexpr (!in_between) {
      TYPEFLOW_UNROLL
      for (int n = 0; n < stores; ++n) part(n, next, k + Tile::depth);
    }
    __syncthreads();
    T* const last = panels;
    panels = next;
    next = last;
  }
}

/// The same for a tile whose warps divide the depth: a warp multiplies what it has stored itself,
/// and waits for no other.
template <class Tile, bool InPackets, class A, class B>
TYPEFLOW_DEVICE void sum_own_panels(const A& a, const B& b, const ProductPlace& place,
                                    typename Tile::T* memory, typename Tile::Sums& sum) {
  using RowLoader = ChunkLoader<A, Tile, Tile::rows, true>;
  using ColumnLoader = ChunkLoader<B, Tile, Tile::columns, false>;
  RowLoader rows(a, place.part_a, place.row);
  ColumnLoader columns(b, place.part_b, place.column);
  const auto load = [&](int k) {
    TYPEFLOW_UNROLL
    for (int n = 0; n < RowLoader::loads; ++n) {
      rows.template load<InPackets>(n, a, place.part_a, place.row, place, k);
      columns.template load<InPackets>(n, b, place.part_b, place.column, place, k);
    }
  };
  static_assert(RowLoader::loads == ColumnLoader::loads && RowLoader::stores == RowLoader::loads);
  Tile::clear(sum);
  load(0);
  TYPEFLOW_ROLLED
  for (int k = 0; k < place.steps; k += Tile::depth) {
    TYPEFLOW_UNROLL
    for (int n = 0; n < RowLoader::stores; ++n) {
      rows.store(n, memory);
      columns.store(n, memory + Tile::of_a);
    }
    __syncwarp();
    if (k + Tile::depth < place.steps) load(k + Tile::depth);
    Tile::multiply(memory, place.steps - k, sum);
    __syncwarp();
  }
  __syncthreads();
}

/// Adds up a tile's products. All threads of the block call it. `place` and `memory` are shared;
/// `memory` is free for other uses when it returns.
///
/// Padding of a is multiplied as 0. If the result is true, an element is NaN, and
/// sum_without_padding says whether that is because b has an infinity or NaN there.
template <class Tile, class A, class B>
TYPEFLOW_DEVICE bool sum_products(const A& a, const B& b, const ProductPlace& place,
                                  typename Tile::T* memory, typename Tile::Sums& sum) {
  const bool in_packets = a.in_packets && b.in_packets;
  if constexpr (Tile::divides_depth) {
    if (in_packets) {
      sum_own_panels<Tile, true>(a, b, place, memory, sum);
    } else {
      sum_own_panels<Tile, false>(a, b, place, memory, sum);
    }
  } else if (in_packets) {
    sum_panels<Tile, true>(a, b, place, memory, sum);
  } else {
    sum_panels<Tile, false>(a, b, place, memory, sum);
  }
  if constexpr (A::has_padding) {
    return __syncthreads_or(Tile::has_nan(sum)) != 0;
  } else {
    return false;
  }
}

/// The sum of an element's products where a has no padding, whatever b has there.
template <class Tile, class A, class B>
TYPEFLOW_DEVICE typename Tile::T sum_without_padding(const A& a, const B& b,
                                                     const ProductPlace& place, std::int64_t row,
                                                     std::int64_t column) {
  using T = typename Tile::T;
  const auto of_a = a.line(place.part_a, row);
  const auto of_b = b.line(place.part_b, column);
  T sum = 0;
  TYPEFLOW_ROLLED
  for (int k = 0; k < place.steps && sum == sum; ++k) {
    const typename A::Element* const x = a.at(of_a, a.step_at(place.begin + k));
    if (x == nullptr) continue;
    const typename B::Element* const y = b.at(of_b, b.step_at(place.begin + k));
    sum = multiply_add(Tile::rounded(widened<T>(*x)), Tile::rounded(widened<T>(*y)), sum);
  }
  return sum;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
