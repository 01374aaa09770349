// SPDX-License-Identifier: Apache-2.0
#pragma once

// The tile of products on tensor cores.

#include <algorithm>
#include <cstdint>

#include "typeflow/cuda/product_tile.hpp"
#include "typeflow/cuda/tensor_cores.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// A tile of floats that tensor cores multiply; each warp has WarpRows x WarpColumns elements.
/// `Simt` is a tile of the same size, with as many threads.
///
/// Panels are words as fragments have them. They consist of chunks: 32 lines by 16 steps, of which
/// each thread of a warp has 4 x 4 neighbours. The order of lines and steps in fragments is free,
/// as long as both operands have the same one of steps:
///
///   line     4 group + l     of the thread's line l
///   step     4 member + s    of its step s
///
/// A thread loads the elements that the same thread of other warps multiplies. So it stores packets
/// of 16 bytes that are read as they are, and a warp's packets lie side by side.
template <class Simt, Precision Operands, int WarpRows, int WarpColumns, int Depth, int Blocks>
struct TensorTile {
  using T = float;
  using Cores = TensorCores<Operands>;
  using WithoutTensorCores = Simt;
  static constexpr int rows = Simt::rows;
  static constexpr int columns = Simt::columns;
  static constexpr int depth = Depth;
  static constexpr int warps_down = rows / WarpRows;
  static constexpr int warps_across = columns / WarpColumns;
  static constexpr int warps = warps_down * warps_across;
  static constexpr int threads = warps * warp_size;
  static constexpr int blocks = Blocks;
  static constexpr bool loads_in_between = true;
  static constexpr bool divides_depth = false;
  /// Elements of a thread whose operands in the epilogue are loaded at once.
  static constexpr int together = 4;
  static_assert(threads == Simt::threads);

  static constexpr int down = WarpRows / 16;  ///< products of a warp
  static constexpr int across = WarpColumns / 8;
  using Sums = float[down][across][4];

  static constexpr int products = 2 / Cores::elements;  ///< of a fragment along 16 steps
  using Words = Packet<std::uint32_t, 4>;
  static constexpr int chunk_parts = 2 * products;  ///< packets of a thread
  /// Floats of a panel of some lines.
  static constexpr int size(int lines) {
    return lines / 32 * (depth / 16) * chunk_parts * warp_size * 4;
  }
  static constexpr int of_a = size(rows);
  static constexpr int of_both = of_a + size(columns);

  static constexpr int stages = down;
  static constexpr int staged_rows = rows / stages;
  static constexpr int memory = std::max({2 * of_both, staged_rows* columns, Simt::memory});

  TYPEFLOW_DEVICE static int lane() { return static_cast<int>(threadIdx.x) % warp_size; }
  TYPEFLOW_DEVICE static int warp() { return static_cast<int>(threadIdx.x) / warp_size; }
  /// The warp's first row and column.
  TYPEFLOW_DEVICE static int first_row() { return warp() / warps_across * WarpRows; }
  TYPEFLOW_DEVICE static int first_column() { return warp() % warps_across * WarpColumns; }

  TYPEFLOW_DEVICE static void clear(Sums& sum) {
    TYPEFLOW_UNROLL
    for (int i = 0; i < down; ++i) {
      TYPEFLOW_UNROLL
      for (int j = 0; j < across; ++j) {
        TYPEFLOW_UNROLL
        for (int n = 0; n < 4; ++n) sum[i][j][n] = 0;
      }
    }
  }

  /// The place of the thread's first packet of a chunk.
  template <int Lines>
  TYPEFLOW_DEVICE static int place(int chunk, int u) {
    return ((u * (Lines / 32) + chunk) * chunk_parts * warp_size + lane()) * 4;
  }
  /// Stores packet 2 p + h of the thread's elements x(line, step) of a chunk, rounded: the words of
  /// product p of lines 2 h and 2 h + 1, in the order of registers.
  template <int Lines, bool OfA, class X>
  TYPEFLOW_DEVICE static void store(float* panel, int chunk, int along, int number, const X& x) {
    Words w;
    TYPEFLOW_UNROLL
    for (int n = 0; n < 4; ++n) {
      const int line = 2 * (number % 2) + (OfA ? n % 2 : n / 2);
      const int step = (number / 2 * 2 + (OfA ? n / 2 : n % 2)) * Cores::elements;
      decltype(x(line, step)) elements[Cores::elements];
      TYPEFLOW_UNROLL
      for (int e = 0; e < Cores::elements; ++e) elements[e] = x(line, step + e);
      w.element[n] = word_of<Cores>(elements);
    }
    *reinterpret_cast<Words*>(panel + place<Lines>(chunk, along) + number * warp_size * 4) = w;
  }
  /// Adds the products of both panels. In between, after every few products, it calls
  /// other(0), other(1)... so that other instructions are issued while tensor cores multiply.
  static constexpr int pauses = depth / 16 * products * down;
  template <class F>
  TYPEFLOW_DEVICE static void multiply(const float* a, const float* b, Sums& sum, const F& other) {
    TYPEFLOW_UNROLL
    for (int u = 0; u < depth / 16; ++u) {
      const float* const of_rows = a + place<rows>(first_row() / 32, u);
      const float* const of_columns = b + place<columns>(first_column() / 32, u);
      TYPEFLOW_UNROLL
      for (int p = 0; p < products; ++p) {
        std::uint32_t y[across][2];
        TYPEFLOW_UNROLL
        for (int j = 0; j < across; j += 2) {
          const Words w = words(of_columns, j / 2, p);
          TYPEFLOW_UNROLL
          for (int n = 0; n < 4; ++n) y[j + n / 2][n % 2] = w.element[n];
        }
        TYPEFLOW_UNROLL
        for (int i = 0; i < down; ++i) {
          const Words x = words(of_rows, i, p);
          TYPEFLOW_UNROLL
          for (int j = 0; j < across; ++j) Cores::mma(sum[i][j], x.element, y[j]);
          other((u * products + p) * down + i);
        }
      }
    }
  }

  /// Lays out the sums of product g, 16 rows of each warp.
  TYPEFLOW_DEVICE static void stage(const Sums& sum, int g, float* staged) {
    TYPEFLOW_UNROLL
    for (int i = 0; i < down; ++i) {
      if (i != g) continue;
      TYPEFLOW_UNROLL
      for (int h = 0; h < 2; ++h) {
        // A thread has eight neighbouring columns of a chunk, in the sums of four products.
        float* const to = staged + (first_row() / stages + lane() / 4 * 2 + h) * columns +
                          first_column() + lane() % 4 * 8;
        TYPEFLOW_UNROLL
        for (int j = 0; j < across; j += 4) {
          TYPEFLOW_UNROLL
          for (int n = 0; n < 2; ++n) {
            *reinterpret_cast<Packet<float, 4>*>(to + j * 8 + 4 * n) = {
                sum[i][j][2 * h + n], sum[i][j + 1][2 * h + n], sum[i][j + 2][2 * h + n],
                sum[i][j + 3][2 * h + n]};
          }
        }
      }
    }
  }
  TYPEFLOW_DEVICE static int row(int g, int staged) {
    const int of_chunk = 4 * (staged % 16 / 2) + 2 * (g % 2) + staged % 2;
    return staged / 16 * WarpRows + g / 2 * 32 + of_chunk;
  }

  TYPEFLOW_DEVICE static bool has_nan(const Sums& sum) {
    bool found = false;
    TYPEFLOW_UNROLL
    for (int i = 0; i < down; ++i) {
      TYPEFLOW_UNROLL
      for (int j = 0; j < across; ++j) {
        TYPEFLOW_UNROLL
        for (int n = 0; n < 4; ++n) found = found || sum[i][j][n] != sum[i][j][n];
      }
    }
    return found;
  }
  TYPEFLOW_DEVICE static float rounded(float x) {
    float both[Cores::elements];
    for (float& y : both) y = x;
    return Cores::element(Cores::word(both), 0);
  }

 private:
  TYPEFLOW_DEVICE static Words words(const float* chunks, int pair, int p) {
    const int packet = pair / 2 * chunk_parts + 2 * p + pair % 2;
    return *reinterpret_cast<const Words*>(chunks + packet * warp_size * 4);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
