// SPDX-License-Identifier: Apache-2.0
#pragma once

// Panels: some steps of the depth of an operand's lines, in shared memory, and how they get there.
//
// A line is a row of a, or a column of b. A panel consists of chunks: 32 lines by 16 steps. A warp
// loads a chunk into registers, and stores it into shared memory later. Thread 4 g + m has the
// elements of lines 4 g to 4 g + 3 and steps 4 m to 4 m + 3, whether neighbours in memory are steps
// or lines. So its accesses have 16 bytes on both ways.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "typeflow/core/half.hpp"
#include "typeflow/cuda/maps.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// A tile of a product: its place in the operands, and the part of the depth that is summed.
struct ProductPlace {
  std::int64_t part_a;  ///< the matrix, or the group, of a
  std::int64_t part_b;
  std::int64_t row;
  std::int64_t column;
  std::int64_t begin;  ///< a multiple of a panel's depth
  int steps;           ///< up to 2^30
};

/// Four neighbours, in registers.
template <class T>
struct FourElements {
  static constexpr int packet = static_cast<int>(16 / sizeof(T));  ///< elements of an access
  static constexpr int accesses = 4 / packet;
  Packet<T, packet> packets[accesses];

  TYPEFLOW_DEVICE void clear(int access) { packets[access] = {}; }
  TYPEFLOW_DEVICE void load_packet(int access, const T* from) {
    packets[access] = *reinterpret_cast<const Packet<T, packet>*>(from);
  }
  TYPEFLOW_DEVICE void load(int j, bool exists, const T* from) {
    T& x = packets[j / packet].element[j % packet];
    x = T(0);
    if (exists) x = *from;
  }
  TYPEFLOW_DEVICE const T& at(int j) const { return packets[j / packet].element[j % packet]; }
};
/// 16-bit numbers are kept as pairs, as tensor cores take them.
template <class T>
  requires(typeflow::detail::is_half<T>)
struct FourElements<T> {
  static constexpr int packet = 4;
  static constexpr int accesses = 1;
  Packet<std::uint32_t, 2> pairs;

  TYPEFLOW_DEVICE void clear(int) { pairs = {}; }
  TYPEFLOW_DEVICE void load_packet(int, const T* from) {
    pairs = std::bit_cast<Packet<std::uint32_t, 2>>(*reinterpret_cast<const Packet<T, 4>*>(from));
  }
  TYPEFLOW_DEVICE void load(int j, bool exists, const T* from) {
    std::uint32_t bits = 0;
    if (exists) bits = from->bits;
    std::uint32_t& pair = pairs.element[j / 2];
    pair = (pair & 0xffff0000u >> 16 * (j % 2)) | bits << 16 * (j % 2);
  }
  TYPEFLOW_DEVICE T at(int j) const {
    T x;
    x.bits = static_cast<std::uint16_t>(pairs.element[j / 2] >> 16 * (j % 2));
    return x;
  }
};
/// Bytes are kept as a word.
template <class T>
  requires(sizeof(T) == 1)
struct FourElements<T> {
  static constexpr int packet = 4;
  static constexpr int accesses = 1;
  std::uint32_t word;

  TYPEFLOW_DEVICE void clear(int) { word = 0; }
  TYPEFLOW_DEVICE void load_packet(int, const T* from) {
    word = std::bit_cast<std::uint32_t>(*reinterpret_cast<const Packet<T, 4>*>(from));
  }
  TYPEFLOW_DEVICE void load(int j, bool exists, const T* from) {
    std::uint32_t byte = 0;
    if (exists) byte = static_cast<std::uint8_t>(*from);
    word = (word & ~(0xffu << 8 * j)) | byte << 8 * j;
  }
  TYPEFLOW_DEVICE T at(int j) const { return static_cast<T>(word >> 8 * j & 0xffu); }
};

/// Loads and stores an operand's chunks. A warp has one, or some that lie behind one another along
/// the depth.
///
/// A Source says where the operand's elements lie:
///   using Element;                       that of the tile; of tiles of floats, 16-bit numbers,
///   too;
///                                        of tiles of int32, bytes
///   static constexpr bool along_depth;   neighbours are steps of a line; otherwise lines of a step
///   static constexpr bool has_padding;   elements may be missing, which are zeros
///   std::int64_t lines;
///   bool in_packets;                     four neighbours lie in aligned packets, of 16 bytes but
///                                        for 16-bit numbers and bytes
///   Line line(part, number) const;       `part` is the operand's matrix, or the group
///   Line neighbour(Line, int j, part, number) const;   j lines after line `number`, if
///                                                      neighbours are lines
///   const Element* lines_after(const Element*, int n) const;   optional, if neighbours are steps:
///       the same step, n lines after. Without it all of the tile's lines are kept in shared
///       memory, so Line has a trivial constructor
///   Step step_at(k) const;
///   const Element* at(Line, Step) const; null if the element is padding
///
/// Loading a panel has parts, and so has storing it, for a caller that does something in between.
template <class Source, class Tile, int Lines, bool OfA>
class ChunkLoader {
  using T = typename Tile::T;
  using Element = typename Source::Element;
  using Four = FourElements<Element>;
  static constexpr int packet = Four::packet;
  static constexpr bool along_depth = Source::along_depth;
  static constexpr int chunks = Lines / 32;              ///< of 16 steps
  static constexpr int together = Tile::warps / chunks;  ///< along the depth
  static constexpr int all = Tile::depth / 16;           ///< along the depth
  static constexpr int count = (all + together - 1) / together;
  static_assert(Tile::warps % chunks == 0 && Tile::depth % 16 == 0);

 public:
  static constexpr int loads = 4 * count;
  static constexpr int stores = Tile::chunk_parts * count;

  TYPEFLOW_DEVICE ChunkLoader(const Source& source, std::int64_t part, std::int64_t first) {
    const std::int64_t number = first + line();
    const std::int64_t left = source.lines - number;
    if (left > 0) inside_ = left < 4 ? static_cast<int>(left) : 4;
    if constexpr (in_table) {
      for (int n = static_cast<int>(threadIdx.x); n < Lines; n += warp_size * Tile::warps) {
        table()[n] = source.line(part, first + n < source.lines ? first + n : 0);
      }
      __syncthreads();
    } else {
      line_ = source.line(part, inside_ > 0 ? number : 0);
    }
  }
  /// Loads a part of the panel from step k of `place` on into registers. Steps and lines beyond the
  /// last are 0. `part` and `first` are those of the constructor. `InPackets` is what the source
  /// says; a branch here would wait for what is loaded.
  template <bool InPackets>
  TYPEFLOW_DEVICE void load(int number, const Source& source, std::int64_t part, std::int64_t first,
                            const ProductPlace& place, int k) {
    const int i = number / 4;
    if (!exists(i)) return;
    const int at = k + 16 * along(i) + thread() % 4 * 4;
    if constexpr (InPackets) {
      if (along_depth && number % 4 == 0) step_ = source.step_at(place.begin + at);
      load_packets(source, place, at, number % 4, loaded_[i][number % 4]);
    } else if (number % 4 == 0) {
      load_elements(source, part, first, place, at, loaded_[i]);
    }
  }
  /// Stores a part of what is loaded.
  TYPEFLOW_DEVICE void store(int number, T* panel) const {
    const int i = number / Tile::chunk_parts;
    if (!exists(i)) return;
    Tile::template store<Lines, OfA>(
        panel, chunk(), along(i), number % Tile::chunk_parts, [&](int line, int step) {
          return along_depth ? loaded_[i][line].at(step) : loaded_[i][step].at(line);
        });
  }

 private:
  /// Packets from step `at` on: of line n, or of the n-th step.
  TYPEFLOW_DEVICE void load_packets(const Source& source, const ProductPlace& place, int at, int n,
                                    Four& to) const {
    TYPEFLOW_UNROLL
    for (int q = 0; q < Four::accesses; ++q) {
      to.clear(q);
      const int step = at + (along_depth ? q * packet : n);
      if (step >= place.steps || inside_ <= (along_depth ? n : q * packet)) continue;
      const Element* from = nullptr;
      if constexpr (along_depth) {
        from = at_line(source, n, step_);
      } else {
        from = source.at(line_, source.step_at(place.begin + step));
      }
      if (is_there(true, from)) to.load_packet(q, from + q * packet);
    }
  }
  TYPEFLOW_DEVICE void load_elements(const Source& source, [[maybe_unused]] std::int64_t part,
                                     [[maybe_unused]] std::int64_t first, const ProductPlace& place,
                                     int at, Four (&to)[4]) const {
    TYPEFLOW_UNROLL
    for (int s = 0; s < 4; ++s) {
      const int step = at + s;
      const auto its_step = source.step_at(place.begin + step);
      TYPEFLOW_UNROLL
      for (int n = 0; n < 4; ++n) {
        const Element* from = nullptr;
        if constexpr (along_depth) {
          from = at_line(source, n, its_step);
        } else {
          from = source.at(source.neighbour(line_, n, part, first + line()), its_step);
        }
        const bool exists = is_there(step < place.steps && n < inside_, from);
        to[along_depth ? n : s].load(along_depth ? s : n, exists, from);
      }
    }
  }
  /// The element of the thread's line n at a step.
  TYPEFLOW_DEVICE const Element* at_line(const Source& source, int n,
                                         const typename Source::Step& step) const {
    if constexpr (in_table) {
      return source.at(table()[line() + n], step);
    } else {
      return source.lines_after(source.at(line_, step), n);
    }
  }
  /// Whether there is an element, without a branch.
  TYPEFLOW_DEVICE static bool is_there(bool exists, const Element* from) {
    return exists & (!Source::has_padding || from != nullptr);
  }
  /// The thread's number. What follows from it is computed for each panel, instead of kept.
  TYPEFLOW_DEVICE static int thread() { return computed_again(static_cast<int>(threadIdx.x)); }
  TYPEFLOW_DEVICE static int chunk() { return thread() / warp_size % chunks; }
  /// The number of the thread's chunk i along the depth.
  TYPEFLOW_DEVICE static int along(int i) { return thread() / warp_size / chunks + i * together; }
  TYPEFLOW_DEVICE static bool exists(int i) { return count * together == all || along(i) < all; }
  /// The thread's first line.
  TYPEFLOW_DEVICE static int line() { return 32 * chunk() + thread() % warp_size / 4 * 4; }

  /// Whether the lines of the tile are in shared memory. A thread reads four, and pixels of four
  /// lines are 20 registers, which tiles lack.
  static constexpr bool in_table =
      along_depth && !requires(const Source& s, const Element* from) { s.lines_after(from, 1); };
  struct Nothing {};
  TYPEFLOW_DEVICE static typename Source::Line* table() {
    __shared__ typename Source::Line lines[Lines];
    return lines;
  }
  std::conditional_t<in_table, Nothing, typename Source::Line> line_;  ///< the thread's first one
  typename Source::Step step_;  ///< the first one of the chunk that is loaded, along the depth
  int inside_ = 0;              ///< how many of the thread's four lines exist
  Four loaded_[count][4];
};

/// The matrix of an operand, in which neighbours lie side by side.
template <class T, bool AlongDepth>
struct MatrixSource {
  using Element = T;
  static constexpr bool along_depth = AlongDepth;
  static constexpr bool has_padding = false;
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

  /// Whether four neighbours, as a thread loads them, lie side by side and aligned, if there are
  /// these distances between lines, steps and parts.
  static bool are_packets(const T* data, std::initializer_list<std::int64_t> distances) {
    constexpr std::size_t bytes = std::min<std::size_t>(16, 4 * sizeof(T));
    bool fit = reinterpret_cast<std::uintptr_t>(data) % bytes == 0;
    for (const std::int64_t d : distances) fit = fit && d % 4 == 0;
    return fit;
  }
  TYPEFLOW_DEVICE Line line(std::int64_t part, std::int64_t number) const {
    return data + part * part_size + (AlongDepth ? number * pitch : number);
  }
  TYPEFLOW_DEVICE Line neighbour(Line line, int j, std::int64_t, std::int64_t) const {
    return line + j;
  }
  TYPEFLOW_DEVICE const T* lines_after(const T* from, int n) const
    requires AlongDepth
  {
    return from + n * pitch;
  }
  TYPEFLOW_DEVICE Step step_at(std::int64_t k) const { return AlongDepth ? k : k * pitch; }
  TYPEFLOW_DEVICE const T* at(Line line, Step step) const { return line + step; }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
