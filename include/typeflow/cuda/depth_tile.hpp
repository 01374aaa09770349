// SPDX-License-Identifier: Apache-2.0
#pragma once

// The tile of products on GPUs whose results are small. There, a block's latencies count: those of
// loads, and of the epilogue's operands.

#include <algorithm>

#include "typeflow/cuda/product_tile.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// A tile of few elements, for results that have few tiles: its warps divide the depth, 16 steps of
/// a panel each, and their sums are added up in order. So a panel is long, all of it is loaded at
/// once, and each thread has four elements of the epilogue.
template <class Element>
struct DepthTile {
  using T = Element;
  using WithoutTensorCores = DepthTile;
  static constexpr int packet = 4;
  static_assert(sizeof(T) * packet == 16);
  using P = Packet<T, packet>;
  static constexpr int rows = 32;
  static constexpr int columns = 32;
  static constexpr int warps = 8;
  static constexpr int threads = warps * warp_size;
  static constexpr int blocks = 2;
  static constexpr int steps = 16;  ///< of a warp
  static constexpr int depth = warps * steps;
  static constexpr bool divides_depth = true;
  /// Elements of a thread whose operands in the epilogue are loaded at once.
  static constexpr int together = 4;
  /// A thread's part of its warp's sums: rows 4 y to 4 y + 3, the same after 16, columns 4 x to
  /// 4 x + 3.
  using Sums = T[8][4];

  static constexpr int of_a = rows * depth;
  static constexpr int chunk_parts = 4;
  static constexpr int stages = 1;
  static constexpr int staged_rows = rows;
  static constexpr int memory = std::max(of_a + columns * depth, warps* rows* columns);

  TYPEFLOW_DEVICE static int warp() { return static_cast<int>(threadIdx.x) / warp_size; }
  TYPEFLOW_DEVICE static int x() { return static_cast<int>(threadIdx.x) % 8; }
  TYPEFLOW_DEVICE static int y() { return static_cast<int>(threadIdx.x) % warp_size / 8; }

  template <int Lines, bool, class X>
  TYPEFLOW_DEVICE static void store(T* panel, int chunk, int along, int number, const X& x) {
    store_step<Lines>(panel, chunk, along, number, x);
  }
  TYPEFLOW_DEVICE static void clear(Sums& sum) {
    TYPEFLOW_UNROLL
    for (auto& of_row : sum) {
      TYPEFLOW_UNROLL
      for (T& x : of_row) x = T(0);
    }
  }
  /// Adds the warp's products of both panels, of which `left` steps are left.
  TYPEFLOW_DEVICE static void multiply(const T* panels, int left, Sums& sum) {
    const T* const a = panels + warp() * steps * rows;
    const T* const b = panels + of_a + warp() * steps * columns;
    const int mine = left - warp() * steps;
    TYPEFLOW_ROLLED
    for (int four = 0; four < steps / 4; ++four) {
      if (4 * four >= mine) break;
      const int first_row = (y() ^ 2 * four) * packet;
      const int first_column = (x() ^ 2 * four) * packet;
      TYPEFLOW_UNROLL
      for (int d = 0; d < 4; ++d) {
        const T* const of_a_step = a + (4 * four + d) * rows;
        const P of_rows[2] = {*reinterpret_cast<const P*>(of_a_step + first_row),
                              *reinterpret_cast<const P*>(of_a_step + (first_row ^ 16))};
        const P of_columns =
            *reinterpret_cast<const P*>(b + (4 * four + d) * columns + first_column);
        TYPEFLOW_UNROLL
        for (int i = 0; i < 8; ++i) {
          TYPEFLOW_UNROLL
          for (int j = 0; j < 4; ++j) {
            sum[i][j] = multiply_add(of_rows[i / packet].element[i % packet], of_columns.element[j],
                                     sum[i][j]);
          }
        }
      }
    }
  }

  /// Lays out the tile: adds up the sums of all warps.
  TYPEFLOW_DEVICE static void stage(const Sums& sum, int, T* staged) {
    TYPEFLOW_UNROLL
    for (int i = 0; i < 8; ++i) {
      const int its_row = warp() * rows + i / 4 * 16 + y() * 4 + i % 4;
      *reinterpret_cast<P*>(staged + its_row * columns + x() * packet) = {sum[i][0], sum[i][1],
                                                                          sum[i][2], sum[i][3]};
    }
    __syncthreads();
    T* const mine = staged + static_cast<int>(threadIdx.x) * packet;
    P total = *reinterpret_cast<const P*>(mine);
    TYPEFLOW_UNROLL
    for (int w = 1; w < warps; ++w) {
      const P more = *reinterpret_cast<const P*>(mine + w * rows * columns);
      TYPEFLOW_UNROLL
      for (int n = 0; n < packet; ++n) {
        total.element[n] = multiply_add(more.element[n], T(1), total.element[n]);
      }
    }
    *reinterpret_cast<P*>(mine) = total;
  }
  TYPEFLOW_DEVICE static int row(int, int staged) { return staged; }

  TYPEFLOW_DEVICE static bool has_nan(const Sums& sum) {
    bool found = false;
    TYPEFLOW_UNROLL
    for (const auto& of_row : sum) {
      TYPEFLOW_UNROLL
      for (const T x : of_row) found = found || x != x;
    }
    return found;
  }
  TYPEFLOW_DEVICE static T rounded(T x) { return x; }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
