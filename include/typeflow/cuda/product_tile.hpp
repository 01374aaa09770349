// SPDX-License-Identifier: Apache-2.0
#pragma once

// A block's tile of a product on a GPU, in registers: its layout, and what it multiplies of panels
// in shared memory (panels.hpp). depth_tile.hpp has the tile of small results, tensor_tile.hpp that
// of tensor cores.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "typeflow/cuda/panels.hpp"
#include "typeflow/cuda/tensor_cores.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// a * b + c: of floating-point numbers with one rounding, of integers modulo 2^32.
template <class T>
TYPEFLOW_DEVICE T multiply_add(T a, T b, T c) {
  if constexpr (std::is_same_v<T, std::int32_t>) {
    return static_cast<T>(static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b) +
                          static_cast<std::uint32_t>(c));
  } else {
    return std::fma(a, b, c);
  }
}

/// Stores step `number` of the thread's elements x(line, step) of a chunk, in packets, one step
/// behind the other. Some bits of a packet's place are swapped (XOR), so that eight threads that
/// store steps of different fours meet in no bank.
template <int Lines, class T, class X>
TYPEFLOW_DEVICE void store_step(T* panel, int chunk, int along, int number, const X& x) {
  constexpr int packet = static_cast<int>(16 / sizeof(T));
  // Computed for each panel: kept from panel to panel, the places would take more registers than
  // big tiles leave.
  const int thread = computed_again(static_cast<int>(threadIdx.x) % warp_size);
  T* const to = panel + (16 * along + thread % 4 * 4 + number) * Lines;
  TYPEFLOW_UNROLL
  for (int q = 0; q < 4 / packet; ++q) {
    Packet<T, packet> p;
    TYPEFLOW_UNROLL
    for (int n = 0; n < packet; ++n) p.element[n] = widened<T>(x(q * packet + n, number));
    const int at = (8 * chunk + thread / 4) * (4 / packet) + q;
    *reinterpret_cast<Packet<T, packet>*>(to + (at ^ 2 * (thread % 4)) * packet) = p;
  }
}

/// A tile of the result, of which each thread has EachRows x EachColumns elements. Each element is
/// one chain of multiply-adds along the depth.
template <class Element, int Rows, int Columns, int EachRows, int EachColumns, int Depth,
          int Blocks>
struct ProductTile {
  using T = Element;
  using WithoutTensorCores = ProductTile;
  /// A thread's part of the result.
  using Sums = T[EachRows][EachColumns];
  static constexpr int rows = Rows;
  static constexpr int columns = Columns;
  static constexpr int depth = Depth;  ///< steps of a panel
  static constexpr int packet = static_cast<int>(16 / sizeof(T));
  using P = Packet<T, packet>;

  static constexpr int down = Rows / EachRows;
  static constexpr int across = Columns / EachColumns;
  static constexpr int threads = down * across;
  static constexpr int warps = threads / warp_size;
  static constexpr int blocks = Blocks;  ///< that a multiprocessor should hold
  static constexpr bool loads_in_between = false;
  static constexpr bool divides_depth = false;
  /// Elements of a thread whose operands in the epilogue are loaded at once.
  static constexpr int together = EachRows * EachColumns <= 32 ? 8 : 4;

  // A thread's elements are packets, so that it reads the panels by accesses of 16 bytes. A warp
  // reads 4 packets of rows and 8 of columns at a time, where store_step has stored them.

  static constexpr int of_a = Rows * Depth;
  static constexpr int of_both = of_a + Columns * Depth;
  static constexpr int chunk_parts = 4;
  TYPEFLOW_DEVICE static constexpr int swapped(int step) { return 2 * (step / 4 % 4); }
  /// Stores step `number` of the thread's elements x(line, step) of a chunk.
  template <int Lines, bool, class X>
  TYPEFLOW_DEVICE static void store(T* panel, int chunk, int along, int number, const X& x) {
    store_step<Lines>(panel, chunk, along, number, x);
  }

  static constexpr int row_packets = EachRows / packet;
  static constexpr int column_packets = EachColumns / packet;
  static_assert(down % 8 == 0 && across % 8 == 0);  // swapped() changes a thread's x and y alone

  TYPEFLOW_DEVICE static int x() {
    const int warp = static_cast<int>(threadIdx.x) / warp_size;
    return static_cast<int>(threadIdx.x) % 8 + warp % (across / 8) * 8;
  }
  TYPEFLOW_DEVICE static int y() {
    const int warp = static_cast<int>(threadIdx.x) / warp_size;
    return static_cast<int>(threadIdx.x) / 8 % 4 + warp / (across / 8) * 4;
  }

  /// Parts of the rows, which are laid out for the epilogue one after the other.
  static constexpr int stages = row_packets;
  static constexpr int staged_rows = Rows / stages;
  static constexpr int memory = std::max(2 * of_both, staged_rows* Columns);

  TYPEFLOW_DEVICE static void clear(Sums& sum) {
    TYPEFLOW_UNROLL
    for (int i = 0; i < EachRows; ++i) {
      TYPEFLOW_UNROLL
      for (int j = 0; j < EachColumns; ++j) sum[i][j] = T(0);
    }
  }
  /// Adds the products of both panels. In between it calls other(0), other(1)... up to `pauses`.
  static constexpr int pauses = Depth;
  template <class F>
  TYPEFLOW_DEVICE static void multiply(const T* a, const T* b, Sums& sum, const F& other) {
    TYPEFLOW_UNROLL
    for (int d = 0; d < Depth; ++d) {
      P of_rows[row_packets];
      P of_columns[column_packets];
      const T* const first_row = a + (y() ^ swapped(d)) * packet + d * Rows;
      const T* const first_column = b + (x() ^ swapped(d)) * packet + d * Columns;
      TYPEFLOW_UNROLL
      for (int i = 0; i < row_packets; ++i) {
        of_rows[i] = *reinterpret_cast<const P*>(first_row + i * down * packet);
      }
      TYPEFLOW_UNROLL
      for (int j = 0; j < column_packets; ++j) {
        of_columns[j] = *reinterpret_cast<const P*>(first_column + j * across * packet);
      }
      TYPEFLOW_UNROLL
      for (int i = 0; i < EachRows; ++i) {
        TYPEFLOW_UNROLL
        for (int j = 0; j < EachColumns; ++j) {
          sum[i][j] = multiply_add(of_rows[i / packet].element[i % packet],
                                   of_columns[j / packet].element[j % packet], sum[i][j]);
        }
      }
      other(d);
    }
  }

  /// Lays out stage g of the sums.
  TYPEFLOW_DEVICE static void stage(const Sums& sum, int g, T* staged) {
    TYPEFLOW_UNROLL
    for (int i = 0; i < EachRows; ++i) {
      if (i / packet != g) continue;
      T* const to = staged + (y() * packet + i % packet) * columns;
      TYPEFLOW_UNROLL
      for (int j = 0; j < column_packets; ++j) {
        P p;
        TYPEFLOW_UNROLL
        for (int n = 0; n < packet; ++n) p.element[n] = sum[i][j * packet + n];
        *reinterpret_cast<P*>(to + (j * across + x()) * packet) = p;
      }
    }
  }
  /// The tile's row of a row of stage g.
  TYPEFLOW_DEVICE static int row(int g, int staged) { return g * staged_rows + staged; }

  /// Whether an element is NaN.
  TYPEFLOW_DEVICE static bool has_nan(const Sums& sum) {
    bool found = false;
    TYPEFLOW_UNROLL
    for (int i = 0; i < EachRows; ++i) {
      TYPEFLOW_UNROLL
      for (int j = 0; j < EachColumns; ++j) found = found || sum[i][j] != sum[i][j];
    }
    return found;
  }
  /// An operand, as it is multiplied.
  TYPEFLOW_DEVICE static T rounded(T x) { return x; }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
