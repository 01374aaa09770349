// SPDX-License-Identifier: Apache-2.0
#pragma once

// Loops over rows of few elements as one long row: elementwise kernels here, folds over the rows of
// a narrow matrix in small_columns.hpp.
//
// Rows that lie one after the other are one row. Operands that repeat are copied to tiles, as often
// as they repeat.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "typeflow/cpu/repeats.hpp"
#include "typeflow/cpu/row_operands.hpp"
#include "typeflow/lower/kernel_spec.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// The operands of consecutive rows as if they were one row.
template <int Outer, class L, class M>
struct FlatRows : RowOperands<Outer, L, M> {
  using Rows = RowOperands<Outer, L, M>;
  using Rows::N;
  using typename Rows::Layout;
  using typename Rows::Ops;
  using typename Rows::Registers;
  template <int I>
  using In = typename Rows::template In<I>;
  /// Rows of narrow elements may have more of them.
  static constexpr int longest =
      static_cast<int>(ir::small_extent) * (sizeof(typename L::Carrier) <= 2 ? 2 : 1);
  static constexpr int tile_elements = std::max(1024, N* longest);

  /// Rows of a block: vectors of N elements each.
  static std::int64_t rows_of_block(std::int64_t length) { return tile_elements / length / N * N; }

  /// The elements of an operand for consecutive rows, with room for a vector behind the last.
  template <class T>
  struct alignas(64) Tile {
    T v[tile_elements + N];
  };
  /// Numbers of rows stay in a register where it can be permuted.
  using Bits = IntegerOf<sizeof(typename L::Carrier)>;
  template <int I>
  static constexpr bool in_register = Rows::template place<I> == RowsPlace::one_each &&
                                      has_permutation<Bits, N> && sizeof(In<I>) <= sizeof(Bits);
  struct Nothing {
    TYPEFLOW_INLINE explicit Nothing(std::int64_t = 0) {}
    TYPEFLOW_INLINE void begin() {}
    TYPEFLOW_INLINE void advance() {}
  };
  template <class Numbers>
  struct TilesOf;
  template <int... I>
  struct TilesOf<std::integer_sequence<int, I...>> {
    static constexpr bool has_registers = (in_register<I> || ...);
    using Tiles =
        FlatTuple<std::conditional_t<Rows::template place<I> == RowsPlace::matrix || in_register<I>,
                                     Nothing, Tile<In<I>>>...>;
    using OfRows = FlatTuple<std::conditional_t<in_register<I>, Vector<Bits, N>, Nothing>...>;
  };
  using Tiles = typename TilesOf<typename M::InputNumbers>::Tiles;
  static constexpr bool has_registers = TilesOf<typename M::InputNumbers>::has_registers;
  struct Place {
    const void* in[M::inputs + 1];  ///< the operands of a block
    typename TilesOf<typename M::InputNumbers>::OfRows of_rows;
    std::conditional_t<has_registers, RowNumbers<Bits, N>, Nothing> rows;
    std::int64_t vector = 0;  ///< of the N rows in registers
    std::int64_t length;
    ElementContext at;
    /// The rows that an operand's tile has, if they all have this index along the outer axes but
    /// the last; otherwise -1.
    struct Kept {
      std::int64_t index = -1;
      std::int64_t rows = 0;
    } kept[M::inputs + 1];

    explicit Place(std::int64_t length_) : rows(length_), length(length_) {}
  };

  /// Operands that all blocks share, for `rows` rows.
  template <int I>
  TYPEFLOW_INLINE static void share(const KernelCall& call, const Layout* in, std::int64_t length,
                                    std::int64_t rows, Tiles& tiles, Place& p) {
    constexpr RowsPlace place = Rows::template place<I>;
    if constexpr (place != RowsPlace::matrix && !in_register<I>) {
      In<I>* const tile = get<I>(tiles).v;
      p.in[I] = tile;
      if constexpr (place == RowsPlace::shared) {
        const In<I>* const from = call.operand<const In<I>>(M::template operand<I>) + in[I].begin;
        for (std::int64_t k = 0; k < rows; ++k) copy_row(from, length, tile + k * length);
      } else if constexpr (place == RowsPlace::along_row) {
        for (std::int64_t k = 0; k < rows; ++k) {
          for (std::int64_t j = 0; j < length; ++j) tile[k * length + j] = static_cast<In<I>>(j);
        }
      }
    }
  }
  /// Whether an operand has a tile and is the same along the last outer axis.
  template <int I>
  static constexpr bool is_kept =
      Outer > 1 && Rows::template needs_coordinates<I>&& M::template Input<I>::spec.offsets == 0 &&
      (M::template Input<I>::axes >> (Outer - 1) & 1u) == 0;
  /// Rows of a block at `row`, at most `most`: those before the next row of a kept operand, unless
  /// such blocks are short.
  TYPEFLOW_INLINE static std::int64_t block_at(const KernelCall& call, std::int64_t row,
                                               std::int64_t most) {
    constexpr bool keeps = []<int... I>(std::integer_sequence<int, I...>) {
      return (is_kept<I> || ...);
    }(typename M::InputNumbers{});
    if constexpr (keeps) {
      const std::int64_t extent = call.extents[Outer - 1];
      if (extent >= 2 * N) return std::min(most, extent - row % extent);
    }
    return most;
  }
  /// Operands of a block of rows.
  template <int I>
  TYPEFLOW_INLINE static void enter(const KernelCall& call, const Layout* in, std::int64_t length,
                                    std::int64_t row, std::int64_t count, Tiles& tiles, Place& p) {
    constexpr RowsPlace place = Rows::template place<I>;
    using T = In<I>;
    if constexpr (place == RowsPlace::matrix) {
      p.in[I] = call.operand<const T>(M::template operand<I>) + row * length;
    } else if constexpr (in_register<I>) {
      p.in[I] = call.operand<const T>(M::template operand<I>) + row;
    } else if constexpr (place == RowsPlace::one_each) {
      const T* const from = call.operand<const T>(M::template operand<I>) + row;
      T* const tile = get<I>(tiles).v;
      for (std::int64_t k = 0; k < count; ++k) repeat(from[k], length, tile + k * length);
    } else if constexpr (Rows::template needs_coordinates<I>) {
      T* const tile = get<I>(tiles).v;
      std::int64_t alike = 1;  // rows
      if constexpr (is_kept<I>) {
        const std::int64_t index = row / call.extents[Outer - 1];
        const bool is_one = index == (row + count - 1) / call.extents[Outer - 1];
        if (is_one && p.kept[I].index == index && p.kept[I].rows >= count) return;
        p.kept[I] = {is_one ? index : -1, count};
        if (is_one) alike = count;
      }
      std::int64_t coordinate[Outer];
      Rows::first_coordinates(call, row, coordinate);
      for (std::int64_t k = 0; k < count; k += alike) {
        T* const to = tile + k * length;
        if constexpr (place == RowsPlace::along_outside) {
          repeat(static_cast<T>(Rows::template position<I>(coordinate)), alike * length, to);
        } else {
          const T* const from = Rows::template operand<I>(call, in, coordinate);
          if constexpr (place == RowsPlace::scattered) {
            repeat_row(from, length, alike, to);
          } else {
            repeat(*from, alike * length, to);
          }
        }
        Rows::next_coordinates(call, coordinate);
      }
    }
  }
  /// Writes up to a vector more than the row.
  template <class T>
  TYPEFLOW_INLINE static void repeat(T x, std::int64_t length, T* to) {
    const auto all = L::template broadcast<T>(x);
    for (std::int64_t j = 0; j < length; j += N) L::store(to + j, all);
  }
  template <class T>
  TYPEFLOW_INLINE static void copy_row(const T* from, std::int64_t length, T* to) {
    if constexpr (L::template fills<T>) {
      for (std::int64_t j = 0; j < length; j += N) {
        const int count = static_cast<int>(std::min<std::int64_t>(N, length - j));
        L::store(to + j, L::load(from + j, count));
      }
    } else {
      for (std::int64_t j = 0; j < length; ++j) to[j] = from[j];
    }
  }
  /// N rows are whole vectors, which are copied then.
  template <class T>
  TYPEFLOW_INLINE static void repeat_row(const T* from, std::int64_t length, std::int64_t rows,
                                         T* to) {
    const std::int64_t first = std::min<std::int64_t>(rows, N);
    for (std::int64_t k = 0; k < first; ++k) copy_row(from, length, to + k * length);
    for (std::int64_t j = first * length; j < rows * length; j += N) {
      std::memcpy(to + j, to + j - first * length, N * sizeof(T));
    }
  }
  /// Loads `count` elements of a block of `rows` rows, from element i on. The calls of a block are
  /// for each vector of elements in turn.
  TYPEFLOW_INLINE static void load(Registers& r, Place& p, std::int64_t rows, std::int64_t i,
                                   int count) {
    if constexpr (has_registers) {
      if (i == 0 || p.vector == p.length) {
        p.vector = 0;
        p.rows.begin();
        const std::int64_t row = i / p.length;
        [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
          (load_rows<I>(p, row, rows - row), ...);
        }(typename M::InputNumbers{});
      }
      ++p.vector;
    }
    [&]<int... I>(std::integer_sequence<int, I...>)
        TYPEFLOW_INLINE_LAMBDA { (load_one<I>(r, p, i, count), ...); }(typename M::InputNumbers{});
    p.rows.advance();
  }
  template <int I>
  TYPEFLOW_INLINE static void load_rows(Place& p, std::int64_t row, std::int64_t count) {
    if constexpr (in_register<I>) {
      get<I>(p.of_rows) = load_bits<Bits, N>(static_cast<const In<I>*>(p.in[I]) + row, count);
    }
  }
  template <int I>
  TYPEFLOW_INLINE static void load_one(Registers& r, const Place& p, std::int64_t i, int count) {
    using T = In<I>;
    if constexpr (in_register<I>) {
      const auto x =
          resized<IntegerOf<sizeof(T)>>(permuted(get<I>(p.of_rows), p.rows.number >> 16));
      Array<T, N> all;
      std::memcpy(all.v, &x.v, sizeof x.v);
      get<I>(r) = L::load(all.v);
    } else {
      get<I>(r) = Rows::load_some(static_cast<const T*>(p.in[I]) + i, count);
    }
  }
  /// Stores `count` values, of rows or of elements, at a place of the result.
  template <bool IsRow>
  TYPEFLOW_INLINE static void store(const KernelCall& call, const Registers& r, std::int64_t at,
                                    int count) {
    [&]<int... S>(std::integer_sequence<int, S...>) TYPEFLOW_INLINE_LAMBDA {
      (store_one<IsRow, S>(call, r, at, count), ...);
    }(typename M::StoreNumbers{});
  }
  template <bool IsRow, int S>
  TYPEFLOW_INLINE static void store_one(const KernelCall& call, const Registers& r, std::int64_t at,
                                        int count) {
    using O = typename M::template Out<S>;
    if constexpr (O::is_row == IsRow) {
      auto* const to = call.operand<typename Rows::template Out<S>>(M::first_store + S) + at;
      Rows::store_some(to, get<O::value>(r), count);
    }
  }
};

/// Rows [begin, end) of an elementwise kernel.
template <int Outer, class L, class M>
class SmallMaps : FlatRows<Outer, L, M> {
  using Flat = FlatRows<Outer, L, M>;
  using Flat::N;
  using typename Flat::Layout;
  using typename Flat::Ops;
  using typename Flat::Place;
  using typename Flat::Registers;
  using typename Flat::Tiles;

 public:
  /// Whether the results' rows lie one after the other, and no value is one of a row.
  static constexpr bool possible = [] {
    for (int s = 0; s < M::stores; ++s) {
      if (M::store_specs[s].is_row || M::store_specs[s].is_strided) return false;
    }
    for (int i = 0; i < M::items; ++i) {
      if (M::item_specs[i].is_row) return false;
    }
    return true;
  }();

  [[gnu::flatten]] static void run(const KernelCall& call, const Layout* in, std::int64_t length,
                                   std::int64_t begin, std::int64_t end) {
    const Ops ops = M::decode(call.words);
    Tiles tiles;
    Place p(length);
    p.at.random = call.random;
    const std::int64_t most = Flat::rows_of_block(length);
    [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
      (Flat::template share<I>(call, in, length, std::min(most, end - begin), tiles, p), ...);
    }(typename M::InputNumbers{});
    for (std::int64_t row = begin, count = 0; row < end; row += count) {
      count = Flat::block_at(call, row, std::min(most, end - row));
      [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
        (Flat::template enter<I>(call, in, length, row, count, tiles, p), ...);
      }(typename M::InputNumbers{});
      const std::int64_t base = row * length;
      const std::int64_t elements = count * length;
      std::int64_t i = 0;
      for (; i + N <= elements; i += N) step(call, ops, p, count, base, i, N);
      if (i < elements) step(call, ops, p, count, base, i, static_cast<int>(elements - i));
    }
  }

 private:
  TYPEFLOW_INLINE static void step(const KernelCall& call, const Ops& ops, Place& p,
                                   std::int64_t rows, std::int64_t base, std::int64_t i,
                                   int count) {
    Registers r;
    Flat::load(r, p, rows, i, count);
    p.at.index = base + i;
    M::template evaluate<0>(r, ops, p.at);
    Flat::template store<false>(call, r, base + i, count);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
