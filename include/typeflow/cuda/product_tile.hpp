// SPDX-License-Identifier: Apache-2.0
#pragma once

// The loop of a contraction on a GPU: a block sums products in a tile of registers.
//
// The block loads panels of both operands into shared memory: some steps of the depth for all rows
// of the tile, and for all of its columns. While it multiplies one pair of panels it loads the
// next. Each element is one chain of multiply-adds along the depth, so its bits do not depend on
// the tile.
//
// On tensor cores only the product of two panels differs. Operands are rounded when they are stored
// into shared memory.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>

#include "typeflow/cuda/maps.hpp"
#include "typeflow/cuda/tensor_cores.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// A tile of the result, of which each thread has EachRows x EachColumns elements.
template <class Element, int Rows, int Columns, int EachRows, int EachColumns>
struct ProductTile {
  using T = Element;
  using WithoutTensorCores = ProductTile;
  /// A thread's part of the result.
  using Sums = T[EachRows][EachColumns];
  static constexpr bool on_tensor_cores = false;
  static constexpr int rows = Rows;
  static constexpr int columns = Columns;
  static constexpr int each_rows = EachRows;
  static constexpr int each_columns = EachColumns;
  static constexpr int depth = 8;  ///< steps of a panel
  static constexpr int packet = static_cast<int>(16 / sizeof(T));
  using P = Packet<T, packet>;

  static constexpr int down = Rows / EachRows;
  static constexpr int across = Columns / EachColumns;
  static constexpr int threads = down * across;
  /// So that a thread may have 128 registers.
  static constexpr int blocks = 512 / threads;

  // A thread's elements are packets, so that it reads the panels by accesses of 16 bytes. A warp
  // reads 4 packets of rows and 8 of columns at a time.

  static constexpr int row_packets = EachRows / packet;
  static constexpr int column_packets = EachColumns / packet;
  TYPEFLOW_DEVICE static int x() {
    const int warp = static_cast<int>(threadIdx.x) / warp_size;
    return static_cast<int>(threadIdx.x) % 8 + warp % (across / 8) * 8;
  }
  TYPEFLOW_DEVICE static int y() {
    const int warp = static_cast<int>(threadIdx.x) / warp_size;
    return static_cast<int>(threadIdx.x) / 8 % 4 + warp / (across / 8) * 4;
  }
  /// The tile's row of a thread's row i.
  TYPEFLOW_DEVICE static int row(int y, int i) {
    return (i / packet * down + y) * packet + i % packet;
  }

  // Panels in shared memory, one step of the depth behind the other. Without the padding, threads
  // that store neighbours along the depth would meet in a bank.

  static constexpr int padding = 4;
  static constexpr int row_pitch = Rows + padding;
  static constexpr int column_pitch = Columns + padding;
  static constexpr int of_a = depth * row_pitch;
  static constexpr int of_b = depth * column_pitch;
  /// Afterwards a part of the rows at a time is laid out there, for the epilogue.
  static constexpr int staged_rows = Rows / row_packets;
  static constexpr int memory = std::max(2 * (of_a + of_b), staged_rows* Columns);
  /// Parts of the rows that the epilogue has one after the other.
  static constexpr int stages = row_packets;

  /// What panels have for an element.
  static constexpr int panel_elements = 1;  ///< of a word of a panel
  TYPEFLOW_DEVICE static bool is_finite(const T (&x)[1]) { return x[0] * T(0) == T(0); }
  TYPEFLOW_DEVICE static T word(const T (&x)[1]) { return x[0]; }

  TYPEFLOW_DEVICE static void clear(Sums& sum) {
    TYPEFLOW_UNROLL
    for (int i = 0; i < each_rows; ++i) {
      TYPEFLOW_UNROLL
      for (int j = 0; j < each_columns; ++j) sum[i][j] = T(0);
    }
  }
  /// Adds the products of both panels.
  TYPEFLOW_DEVICE static void multiply(const T* panels, Sums& sum) {
    TYPEFLOW_UNROLL
    for (int d = 0; d < depth; ++d) multiply_step(panels, d, 0, sum);
  }
  /// Adds those of one step; of the thread's rows, those whose bit of `left_out` is set have no
  /// product there.
  TYPEFLOW_DEVICE static void multiply_step(const T* panels, int d, unsigned left_out, Sums& sum) {
    const int my_x = x();
    const int my_y = y();
    T a[each_rows];
    T b[each_columns];
    TYPEFLOW_UNROLL
    for (int i = 0; i < row_packets; ++i) {
      const P p = *reinterpret_cast<const P*>(panels + d * row_pitch + row(my_y, i * packet));
      TYPEFLOW_UNROLL
      for (int n = 0; n < packet; ++n) a[i * packet + n] = p.element[n];
    }
    TYPEFLOW_UNROLL
    for (int j = 0; j < column_packets; ++j) {
      const P p = *reinterpret_cast<const P*>(panels + of_a + d * column_pitch +
                                              (j * across + my_x) * packet);
      TYPEFLOW_UNROLL
      for (int n = 0; n < packet; ++n) b[j * packet + n] = p.element[n];
    }
    TYPEFLOW_UNROLL
    for (int i = 0; i < each_rows; ++i) {
      if ((left_out >> i & 1u) != 0) continue;
      TYPEFLOW_UNROLL
      for (int j = 0; j < each_columns; ++j) sum[i][j] = std::fma(a[i], b[j], sum[i][j]);
    }
  }
  static constexpr int own_rows = each_rows;  ///< of a thread
  TYPEFLOW_DEVICE static int own_row(int i) { return row(y(), i); }

  /// Lays out stage g of the sums.
  TYPEFLOW_DEVICE static void stage(const Sums& sum, int g, T* memory) {
    const int my_x = x();
    const int my_y = y();
    TYPEFLOW_UNROLL
    for (int i = 0; i < each_rows; ++i) {
      if (i / packet != g) continue;
      T* const to = memory + (my_y * packet + i % packet) * columns;
      TYPEFLOW_UNROLL
      for (int j = 0; j < column_packets; ++j) {
        P p;
        TYPEFLOW_UNROLL
        for (int n = 0; n < packet; ++n) p.element[n] = sum[i][j * packet + n];
        *reinterpret_cast<P*>(to + (j * across + my_x) * packet) = p;
      }
    }
  }
};

/// A tile of floats, as large as `Simt`, a ProductTile, that tensor cores multiply. Two warps lie
/// below one another; each has WarpRows x WarpColumns elements.
template <class Simt, Precision Operands>
struct TensorTile {
  using T = float;
  using Cores = TensorCores<Operands>;
  using WithoutTensorCores = Simt;
  static constexpr bool on_tensor_cores = true;
  static constexpr int rows = Simt::rows;
  static constexpr int columns = Simt::columns;
  static constexpr int threads = Simt::threads;
  static constexpr int blocks = Simt::blocks;
  static constexpr int packet = Simt::packet;
  using P = typename Simt::P;

  static constexpr int warps_down = 2;
  static constexpr int warps_across = threads / warp_size / warps_down;
  static constexpr int warp_rows = rows / warps_down;
  static constexpr int warp_columns = columns / warps_across;
  static constexpr int down = warp_rows / 16;  ///< products of a warp
  static constexpr int across = warp_columns / 8;
  using Sums = float[down][across][4];

  // Panels are words as fragments have them, one word of the depth behind the other. With this
  // padding the threads of a warp that read a fragment meet in no bank.

  static constexpr int panel_elements = Cores::elements;
  static constexpr int words = fragment_words;
  static constexpr int depth = words * panel_elements;
  static constexpr int padding = 8;
  static constexpr int row_pitch = rows + padding;
  static constexpr int column_pitch = columns + padding;
  static_assert(row_pitch % 32 == 8 && column_pitch % 32 == 8);
  static constexpr int of_a = words * row_pitch;
  static constexpr int of_b = words * column_pitch;
  static constexpr int stages = warps_down;
  static constexpr int staged_rows = warp_rows;
  static constexpr int memory = std::max(2 * (of_a + of_b), staged_rows* columns);

  TYPEFLOW_DEVICE static bool is_finite(const float (&x)[panel_elements]) {
    return Cores::is_finite(Cores::word(x));
  }
  TYPEFLOW_DEVICE static float word(const float (&x)[panel_elements]) {
    return std::bit_cast<float>(Cores::word(x));
  }

  static constexpr int own_rows = 2 * down;  ///< of a thread
  TYPEFLOW_DEVICE static int lane() { return static_cast<int>(threadIdx.x) % warp_size; }
  TYPEFLOW_DEVICE static int warp() { return static_cast<int>(threadIdx.x) / warp_size; }
  /// The warp's first row and column.
  TYPEFLOW_DEVICE static int first_row() { return warp() / warps_across * warp_rows; }
  TYPEFLOW_DEVICE static int first_column() { return warp() % warps_across * warp_columns; }
  /// The tile's row of the sums [i / 2][...][i % 2 * 2 + ...].
  TYPEFLOW_DEVICE static int own_row(int i) { return first_row() + i * 8 + lane() / 4; }
  /// The tile's column of the sums [...][j][0].
  TYPEFLOW_DEVICE static int column(int j) { return first_column() + j * 8 + lane() % 4 * 2; }

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
  TYPEFLOW_DEVICE static void multiply(const float* panels, Sums& sum) {
    const float* const of_rows = panels + lane() % 4 * row_pitch + first_row() + lane() / 4;
    const float* const of_columns =
        panels + of_a + lane() % 4 * column_pitch + first_column() + lane() / 4;
    std::uint32_t b[across][2];
    TYPEFLOW_UNROLL
    for (int j = 0; j < across; ++j) {
      TYPEFLOW_UNROLL
      for (int n = 0; n < 2; ++n) {
        b[j][n] = std::bit_cast<std::uint32_t>(of_columns[4 * n * column_pitch + 8 * j]);
      }
    }
    TYPEFLOW_UNROLL
    for (int i = 0; i < down; ++i) {
      std::uint32_t a[4];
      TYPEFLOW_UNROLL
      for (int n = 0; n < 4; ++n) {
        a[n] = std::bit_cast<std::uint32_t>(of_rows[n / 2 * 4 * row_pitch + 16 * i + n % 2 * 8]);
      }
      TYPEFLOW_UNROLL
      for (int j = 0; j < across; ++j) Cores::mma(sum[i][j], a, b[j]);
    }
  }
  /// Without tensor cores, which can't leave out elements.
  TYPEFLOW_DEVICE static void multiply_step(const float* panels, int d, unsigned left_out,
                                            Sums& sum) {
    const float* const of_rows = panels + d / panel_elements * row_pitch;
    const float* const of_columns = panels + of_a + d / panel_elements * column_pitch;
    const auto element = [d](float word) {
      return Cores::element(std::bit_cast<std::uint32_t>(word), d % panel_elements);
    };
    TYPEFLOW_UNROLL
    for (int i = 0; i < own_rows; ++i) {
      if ((left_out >> i & 1u) != 0) continue;
      const float a = element(of_rows[own_row(i)]);
      TYPEFLOW_UNROLL
      for (int j = 0; j < across; ++j) {
        TYPEFLOW_UNROLL
        for (int n = 0; n < 2; ++n) {
          float& s = sum[i / 2][j][i % 2 * 2 + n];
          s = std::fma(a, element(of_columns[column(j) + n]), s);
        }
      }
    }
  }

  TYPEFLOW_DEVICE static void stage(const Sums& sum, int g, float* memory) {
    if (warp() / warps_across != g) return;
    TYPEFLOW_UNROLL
    for (int i = 0; i < 2 * down; ++i) {
      float* const to = memory + (own_row(i) - g * warp_rows) * columns;
      TYPEFLOW_UNROLL
      for (int j = 0; j < across; ++j) {
        TYPEFLOW_UNROLL
        for (int n = 0; n < 2; ++n) to[column(j) + n] = sum[i / 2][j][i % 2 * 2 + n];
      }
    }
  }
};

/// Loads an operand's panels: `Side` lines (rows of a, columns of b) and Tile::depth steps.
///
/// A Source says where the operand's elements lie:
///   static constexpr bool along_depth;   neighbours are steps of a line; otherwise lines of a step
///   static constexpr bool has_padding;   elements may be missing, which are zeros
///   static constexpr bool keeps_lines;   whether a thread keeps its Lines in registers, or asks
///                                        for them again for each panel
///   std::int64_t lines;
///   bool in_packets;                     neighbours lie in aligned packets of 16 bytes
///   Line line(part, number) const;       `part` is the operand's matrix, or the group
///   Line neighbour(Line, int j, part, number) const;   j lines after line `number`, if
///                                                      neighbours are lines
///   Step step_at(k) const;
///   const T* at(Line, Step) const;       null if the element is padding
template <class Source, class Tile, int Side>
class PanelLoader {
  using T = typename Tile::T;
  using P = typename Tile::P;
  static constexpr int packet = Tile::packet;
  static constexpr int count =
      Side * Tile::depth / packet / Tile::threads;  ///< packets of a thread
  static constexpr int pitch = Side + Tile::padding;
  static constexpr int each = Tile::panel_elements;
  static_assert(count % each == 0 || Source::along_depth);
  static_assert(count * packet * Tile::threads == Side * Tile::depth);

 public:
  TYPEFLOW_DEVICE PanelLoader(const Source& source, std::int64_t part, std::int64_t first) {
    if constexpr (Source::keeps_lines) {
      TYPEFLOW_UNROLL
      for (int i = 0; i < count; ++i) {
        left_[i] = left(source, first + place(i));
        line_[i] = line(source, part, first + place(i));
      }
    }
  }
  /// Loads steps from begin + k on into registers. Steps from begin + steps on, and lines beyond
  /// the last, are 0. `part` and `first` are those of the constructor.
  TYPEFLOW_DEVICE void load(const Source& source, std::int64_t part, std::int64_t first,
                            std::int64_t begin, int k, int steps) {
    TYPEFLOW_UNROLL
    for (int i = 0; i < count; ++i) {
      const int at = k + step(i);
      if constexpr (!Source::keeps_lines) {
        left_[i] = left(source, first + place(i));
        line_[i] = line(source, part, first + place(i));
      }
      loaded_[i] = P{};
      if (source.in_packets) {
        if (left_[i] > 0 && at < steps) {
          take(source.at(line_[i], source.step_at(begin + at)),
               [&](const T* from) { loaded_[i] = *reinterpret_cast<const P*>(from); });
        }
      } else {
        TYPEFLOW_UNROLL
        for (int j = 0; j < packet; ++j) {
          const auto take_one = [&](const T* from) { loaded_[i].element[j] = *from; };
          if constexpr (Source::along_depth) {
            if (left_[i] > 0 && at + j < steps) {
              take(source.at(line_[i], source.step_at(begin + at + j)), take_one);
            }
          } else if (j < left_[i] && at < steps) {
            take(source.at(source.neighbour(line_[i], j, part, first + place(i)),
                           source.step_at(begin + at)),
                 take_one);
          }
        }
      }
    }
  }
  /// Stores what load() has got.
  TYPEFLOW_DEVICE void store(T* panel) const {
    if constexpr (Source::along_depth) {
      TYPEFLOW_UNROLL
      for (int i = 0; i < count; ++i) {
        T* const to = panel + step(i) / each * pitch + place(i);
        TYPEFLOW_UNROLL
        for (int j = 0; j < packet / each; ++j) {
          T x[each];
          TYPEFLOW_UNROLL
          for (int n = 0; n < each; ++n) x[n] = loaded_[i].element[j * each + n];
          to[j * pitch] = Tile::word(x);
        }
      }
    } else {
      TYPEFLOW_UNROLL
      for (int i = 0; i < count; i += each) {
        P words;
        TYPEFLOW_UNROLL
        for (int j = 0; j < packet; ++j) {
          T x[each];
          TYPEFLOW_UNROLL
          for (int n = 0; n < each; ++n) x[n] = loaded_[i + n].element[j];
          words.element[j] = Tile::word(x);
        }
        *reinterpret_cast<P*>(panel + step(i) / each * pitch + place(i)) = words;
      }
    }
  }
  /// Whether load() has got what is an infinity or NaN in the panel.
  TYPEFLOW_DEVICE bool has_infinity() const {
    bool found = false;
    TYPEFLOW_UNROLL
    for (int i = 0; i < count; ++i) {
      TYPEFLOW_UNROLL
      for (int j = 0; j < packet; j += each) {
        T x[each];
        TYPEFLOW_UNROLL
        for (int n = 0; n < each; ++n) x[n] = loaded_[i].element[j + n];
        found = found || !Tile::is_finite(x);
      }
    }
    return found;
  }

 private:
  /// The lines from this one on, up to a packet.
  static TYPEFLOW_DEVICE int left(const Source& source, std::int64_t number) {
    const std::int64_t all = source.lines - number;
    return all < packet ? static_cast<int>(all) : packet;
  }
  static TYPEFLOW_DEVICE typename Source::Line line(const Source& source, std::int64_t part,
                                                    std::int64_t number) {
    return source.line(part, number < source.lines ? number : 0);
  }
  /// Calls f(from), unless it is padding.
  template <class F>
  static TYPEFLOW_DEVICE void take(const T* from, const F& f) {
    if (!Source::has_padding || from != nullptr) f(from);
  }
  static TYPEFLOW_DEVICE int number(int i) {
    return static_cast<int>(threadIdx.x) + i * Tile::threads;
  }
  /// The line of this thread's packet i, within the panel. Two threads read 32 bytes of a line.
  static TYPEFLOW_DEVICE int place(int i) {
    return Source::along_depth ? number(i) / 2 % Side : number(i) % (Side / packet) * packet;
  }
  static TYPEFLOW_DEVICE int step(int i) {
    return Source::along_depth ? (number(i) % 2 + number(i) / (2 * Side) * 2) * packet
                               // a thread has all steps of a word
                               : number(i / each) / (Side / packet) * each + i % each;
  }

  typename Source::Line line_[count];
  int left_[count];
  P loaded_[count];
};

/// The matrix of an operand, in which neighbours lie side by side.
template <class T, bool AlongDepth>
struct MatrixSource {
  static constexpr bool along_depth = AlongDepth;
  static constexpr bool has_padding = false;
  static constexpr bool keeps_lines = false;
  using Line = const T*;
  using Step = std::int64_t;

  const T* data;
  std::int64_t lines;
  std::int64_t pitch;  ///< from a line to the next; or from a step to the next
  std::int64_t part_size;
  bool in_packets;

  /// `neighbours`: how many elements lie side by side.
  MatrixSource(const T* its_data, std::int64_t its_lines, std::int64_t neighbours,
               std::int64_t its_pitch, std::int64_t its_part_size)
      : data(its_data),
        lines(its_lines),
        pitch(its_pitch),
        part_size(its_part_size),
        in_packets(are_packets(its_data, {neighbours, its_pitch, its_part_size})) {}

  /// Whether packets lie at these distances.
  static bool are_packets(const T* data, std::initializer_list<std::int64_t> distances) {
    bool fit = reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
    for (const std::int64_t d : distances) fit = fit && d % std::int64_t{16 / sizeof(T)} == 0;
    return fit;
  }
  TYPEFLOW_DEVICE Line line(std::int64_t part, std::int64_t number) const {
    return data + part * part_size + (AlongDepth ? number * pitch : number);
  }
  TYPEFLOW_DEVICE Line neighbour(Line line, int j, std::int64_t, std::int64_t) const {
    return line + j;
  }
  TYPEFLOW_DEVICE Step step_at(std::int64_t k) const { return AlongDepth ? k : k * pitch; }
  TYPEFLOW_DEVICE const T* at(Line line, Step step) const { return line + step; }
};

/// A tile of a product: its place in the operands, and the part of the depth that is summed.
struct ProductPlace {
  std::int64_t part_a;  ///< the matrix, or the group, of a
  std::int64_t part_b;
  std::int64_t row;
  std::int64_t column;
  std::int64_t begin;  ///< a multiple of a panel's depth
  int steps;           ///< up to 2^30
};

/// Adds up the products of a tile. All threads of the block call it. `place` and `memory` are
/// shared; `memory` is free for other uses when it returns.
///
/// An element of a that is padding is left out, whatever b has there.
template <class Tile, class A, class B>
TYPEFLOW_DEVICE void sum_products(const A& a, const B& b, const ProductPlace& place,
                                  typename Tile::T* memory, typename Tile::Sums& sum) {
  using T = typename Tile::T;
  const int steps = place.steps;
  PanelLoader<A, Tile, Tile::rows> rows(a, place.part_a, place.row);
  PanelLoader<B, Tile, Tile::columns> columns(b, place.part_b, place.column);
  Tile::clear(sum);

  // Stores the panels that are loaded. Returns whether b has numbers that padding must not meet.
  const auto exchange = [&](T* to, bool store) {
    if (store) {
      rows.store(to);
      columns.store(to + Tile::of_a);
    }
    if constexpr (A::has_padding) {
      return __syncthreads_or(store && columns.has_infinity()) != 0;
    } else {
      __syncthreads();
      return false;
    }
  };

  const auto load = [&](int k) {
    rows.load(a, place.part_a, place.row, place.begin, k, steps);
    columns.load(b, place.part_b, place.column, place.begin, k, steps);
  };
  if (steps > 0) load(0);
  bool has_infinity = exchange(memory, steps > 0);
  T* panels = memory;
  T* next = memory + Tile::of_a + Tile::of_b;
  TYPEFLOW_ROLLED
  for (int k = 0; k < steps; k += Tile::depth) {
    const bool more = k + Tile::depth < steps;
    if (more) load(k + Tile::depth);
    if (A::has_padding && has_infinity) {
      TYPEFLOW_ROLLED
      for (int d = 0; d < Tile::depth; ++d) {
        unsigned left_out = 0;
        TYPEFLOW_ROLLED
        for (int i = 0; i < Tile::own_rows; ++i) {
          const std::int64_t row = place.row + Tile::own_row(i);
          const bool is_padding =
              row < a.lines && k + d < steps &&
              a.at(a.line(place.part_a, row), a.step_at(place.begin + k + d)) == nullptr;
          left_out |= static_cast<unsigned>(is_padding) << i;
        }
        Tile::multiply_step(panels, d, left_out, sum);
      }
    } else {
      Tile::multiply(panels, sum);
    }
    has_infinity = exchange(next, more);
    T* const last = panels;
    panels = next;
    next = last;
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
