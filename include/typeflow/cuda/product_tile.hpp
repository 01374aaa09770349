// SPDX-License-Identifier: Apache-2.0
#pragma once

// The loop of a contraction on a GPU: a block sums products in a tile of registers, of panels of
// both operands in shared memory (panels.hpp).

#include <algorithm>
#include <bit>
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
  TYPEFLOW_DEVICE static int lane() { return static_cast<int>(threadIdx.x) % warp_size; }
  TYPEFLOW_DEVICE static int warp() { return static_cast<int>(threadIdx.x) / warp_size; }

  // A thread's elements are packets, so that it reads the panels by accesses of 16 bytes. A warp
  // reads 4 packets of rows and 8 of columns at a time. Panels have one step behind the other. Some
  // bits of a packet's place are swapped (XOR), so that eight threads that store steps of different
  // fours meet in no bank.

  static constexpr int of_a = Rows * Depth;
  static constexpr int of_both = of_a + Columns * Depth;
  static constexpr int chunk_parts = 4;
  TYPEFLOW_DEVICE static constexpr int swapped(int step) { return 2 * (step / 4 % 4); }
  /// Stores step `number` of the thread's elements x(line, step) of a chunk.
  template <int Lines, bool, class X>
  TYPEFLOW_DEVICE static void store(T* panel, int chunk, int along, int number, const X& x) {
    // Computed for each panel: kept from panel to panel, the places would take more registers than
    // big tiles leave.
    const int thread = computed_again(lane());
    T* const to = panel + (16 * along + thread % 4 * 4 + number) * Lines;
    TYPEFLOW_UNROLL
    for (int q = 0; q < 4 / packet; ++q) {
      P p;
      TYPEFLOW_UNROLL
      for (int n = 0; n < packet; ++n) p.element[n] = widened<T>(x(q * packet + n, number));
      const int at = (8 * chunk + thread / 4) * (4 / packet) + q;
      *reinterpret_cast<P*>(to + (at ^ 2 * (thread % 4)) * packet) = p;
    }
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
        // Of a chunk's columns a thread has eight neighbours, in the sums of four products.
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

/// The same. All threads of the block call it. `place` and `memory` are shared; `memory` is free
/// for other uses when it returns.
///
/// Padding of a is multiplied as 0. If the result is true, an element is NaN, and
/// sum_without_padding says whether that is because b has an infinity or NaN there.
template <class Tile, class A, class B>
TYPEFLOW_DEVICE bool sum_products(const A& a, const B& b, const ProductPlace& place,
                                  typename Tile::T* memory, typename Tile::Sums& sum) {
  if (a.in_packets && b.in_packets) {
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
