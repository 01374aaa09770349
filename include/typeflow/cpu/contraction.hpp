// SPDX-License-Identifier: Apache-2.0
#pragma once

// Contractions: sums of products in a register tile (cpu/tile.hpp), and the epilogue, which follows
// on the tile while it is in cache.
//
// The loops are the operation's own, cpu_kernels::contraction_of<O>. They know how its operands lie
// in memory, gather them for the tile, and call E::finish for every finished tile.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "typeflow/cpu/rows.hpp"
#include "typeflow/cpu/tile.hpp"
#include "typeflow/cpu/widened_copies.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// The loops of contraction O: specialise it with
///   template <class E> static std::int64_t workspace(const std::int64_t* extents);
///   template <class E> static void run(const KernelCall& call);
///   static constexpr bool widens = true;   optional: they read 16-bit operands; otherwise they get
///     copies of float
/// where E is an Epilogue. The extents are ir::ContractionExtents, then those of the axes outside
/// of the matrices, and the operation's further ones.
template <class O>
struct contraction_of {
  template <class E>
  static std::int64_t workspace(const std::int64_t*) {
    static_assert(!std::is_same_v<O, O>,
                  "no kernel of this operation is included for this back end");
    return 0;
  }
  template <class E>
  static void run(const KernelCall&) {}
};

/// The epilogue of a kernel of operation O: the operations that follow the products on a tile.
template <class O, DType D, unsigned Variant, int Outer, class B, class A>
class Epilogue {
  using L = Lanes<lane_size(D) == 8, A>;
  using M = Machine<L, B, true, element_of<D>>;
  using Registers = typename M::Registers;
  static constexpr int N = L::size;
  static constexpr unsigned rows_bit = 1u << Outer;
  static constexpr unsigned columns_bit = 2u << Outer;
  using Extents = ir::ContractionExtents;

 public:
  using T = element_of<D>;
  using Arch = A;
  using Tile = TileShape<T, A>;
  using Ops = typename M::Ops;
  static constexpr int operands = M::first_store + M::stores;
  static constexpr unsigned variant = Variant;
  static constexpr int outer = Outer;
  static_assert(std::is_floating_point_v<T> || std::is_same_v<T, std::int32_t>,
                "the sums of contractions are float, double or int32");
  static_assert(N == Tile::lanes);

  /// The element type of operand I of the product.
  template <int I>
  using Operand = element_of<M::template Input<I>::dtype>;

  static O operation(const KernelCall& call) { return decode<O>(call.words); }
  static Ops operations(const KernelCall& call) { return M::decode(call.words + word_count<O>); }

  // The axes outside of the matrices. The result has a matrix for each of their indices.

  static constexpr unsigned outer_axes = (1u << Outer) - 1u;
  template <int I>
  static constexpr unsigned outer_of = M::template Input<I>::axes & outer_axes;
  static constexpr bool shared_b = outer_of<1> == 0;
  static constexpr bool strided_b = M::template Input<1>::is_strided;

  static std::int64_t matrix_count(const std::int64_t* extents) {
    std::int64_t count = 1;
    for (int i = 0; i < Outer; ++i) count *= extents[Extents::outer + i];
    return count;
  }

  /// The number of input I's part for a matrix, among its parts along its own outer axes.
  template <int I>
  static std::int64_t part(const std::int64_t* extents, std::int64_t matrix) {
    constexpr unsigned along = outer_of<I>;
    if constexpr (along == 0) {
      return 0;
    } else if constexpr (along == outer_axes) {
      return matrix;
    } else {
      std::int64_t number = 0;
      std::int64_t stride = 1;
      for (int i = Outer - 1; i >= 0; --i) {
        const std::int64_t extent = extents[Extents::outer + i];
        if ((along >> i & 1u) != 0) {
          number += matrix % extent * stride;
          stride *= extent;
        }
        matrix /= extent;
      }
      return number;
    }
  }

  // The operands of a product of matrices, of which operand 0 has rows of the result.

  /// Elements from a row of operand I's matrix in memory to the next one, and from the operand's
  /// memory to the matrix. Those without elements may be null, and lie nowhere.
  template <int I>
  static std::int64_t pitch(const std::int64_t* extents) {
    const std::int64_t side = extents[I == 0 ? Extents::rows : Extents::columns];
    const std::int64_t depth = extents[Extents::depth];
    if constexpr (M::template Input<I>::is_strided) {
      return side * depth == 0 ? 0 : factor<I>(extents).stride(Outer);
    } else {
      constexpr bool has_rows_of_depth = (I == 0) == ((Variant >> I & 1u) == 0);
      return has_rows_of_depth ? depth : side;
    }
  }
  template <int I>
  static std::int64_t matrix_start(const std::int64_t* extents, std::int64_t matrix) {
    const std::int64_t size =
        extents[I == 0 ? Extents::rows : Extents::columns] * extents[Extents::depth];
    if constexpr (M::template Input<I>::is_strided) {
      if (size == 0) return 0;
      const ir::StridedExtents view = factor<I>(extents);
      std::int64_t start = view.begin();
      for (int i = Outer - 1; i >= 0; --i) {
        const std::int64_t extent = extents[Extents::outer + i];
        if ((outer_of<I> >> i & 1u) != 0) start += matrix % extent * view.stride(i);
        matrix /= extent;
      }
      return start;
    } else {
      return part<I>(extents, matrix) * size;
    }
  }

  // Results that are parts of larger tensors.

  /// The strided views of results stand behind those of operands.
  static constexpr int first_result_view = M::body.strided_before_store(0);
  static constexpr int result_views = M::body.strided_views() - first_result_view;
  static ir::StridedExtents view_of(int number, const std::int64_t* extents) {
    return ir::strides_at(number, Outer + 2, extents + ir::contraction_extents(O::further_extents));
  }

  /// Where the rows of the first result lie, if the loops do not write them themselves. Not found
  /// of several matrices that are parts of a larger tensor.
  static ResultRows result_rows(const KernelCall& call) {
    if constexpr (result_element > 0) {
      return {call.operand<const std::byte>(first_store),
              call.extents[Extents::columns] * result_element, result_element};
    } else if constexpr (Outer == 0 && result_views > 0) {
      using Out = typename M::template Out<0>;
      if constexpr (Out::is_strided) {
        constexpr std::int64_t size = size_of(Out::dtype);
        const ir::StridedExtents view = view_of(first_result_view, call.extents);
        return {call.operand<const std::byte>(first_store) + view.begin() * size,
                view.stride(0) * size, size};
      }
    }
    return {};
  }

  /// The beginnings of the current matrix and of its parts of the inputs.
  struct Place {
    std::int64_t first = 0;
    std::array<std::int64_t, M::inputs> inputs{};  ///< for an index along an outer axis: the index
    std::array<std::int64_t, Outer == 0 ? 0 : result_views> views{};  ///< in larger tensors
  };
  template <int I>
  static std::int64_t start(const std::int64_t* extents, std::int64_t matrix) {
    std::int64_t size = 1;
    if ((M::template Input<I>::axes & rows_bit) != 0) size *= extents[Extents::rows];
    if ((M::template Input<I>::axes & columns_bit) != 0) size *= extents[Extents::columns];
    return part<I>(extents, matrix) * size;
  }
  /// How far the matrix's part of each result's view lies behind the view's beginning.
  static auto view_starts(const std::int64_t* extents, std::int64_t matrix) {
    std::array<std::int64_t, result_views> starts{};
    for (int i = Outer - 1; i >= 0 && result_views > 0; --i) {
      const std::int64_t extent = extents[Extents::outer + i];
      for (int v = 0; v < result_views; ++v) {
        starts[static_cast<std::size_t>(v)] +=
            matrix % extent * view_of(first_result_view + v, extents).stride(i);
      }
      matrix /= extent;
    }
    return starts;
  }
  static Place place(const std::int64_t* extents, std::int64_t matrix) {
    if constexpr (Outer == 0) {
      return {};
    } else {
      return [&]<int... I>(std::integer_sequence<int, I...>) {
        return Place{matrix * extents[Extents::rows] * extents[Extents::columns],
                     {start<I>(extents, matrix)...},
                     view_starts(extents, matrix)};
      }(typename M::InputNumbers{});
    }
  }

  /// Whether nothing follows the products: they are the result, which is a tensor of its own.
  static constexpr bool is_product = [] {
    if constexpr (M::inputs == 2 && M::items == 0 && M::stores == 1) {
      return M::template Out<0>::dtype == D && !M::template Out<0>::is_strided;
    } else {
      return false;
    }
  }();
  static constexpr int first_store = M::first_store;
  /// Bytes of an element of the first result, if the epilogue writes it to a tensor of its own.
  static constexpr int result_element = [] {
    if constexpr (M::stores > 0 && !is_product) {
      return M::template Out<0>::is_strided ? 0
                                            : static_cast<int>(size_of(M::template Out<0>::dtype));
    } else {
      return 0;
    }
  }();
  /// The place of an element of the current matrix in the result.
  static T* result(const KernelCall& call, const Place& place, std::int64_t row,
                   std::int64_t column) {
    const std::int64_t first = Outer == 0 ? 0 : place.first;
    return call.operand<T>(M::first_store) + first + row * call.extents[Extents::columns] + column;
  }

  /// Runs the epilogue on a tile: `count` rows with these numbers, from column `column` up to
  /// `last`.
  [[gnu::flatten]] static void finish(const KernelCall& call, const Ops& ops, const Place& place,
                                      const T* tile, const std::int64_t* rows, int count,
                                      std::int64_t column, std::int64_t last) {
    const std::int64_t columns = call.extents[Extents::columns];
    std::int64_t j = column;
    for (; j + N <= last; j += N) {
      for (int i = 0; i < count; ++i) {
        const T* const products = tile + i * Tile::width + (j - column);
        vector<true, false>(call, ops, place, products, rows[i], j, columns, N);
      }
    }
    if (j == last) return;
    // Every other row first: a masked load waits for a store to the row before, since processors
    // compare the places of whole vectors.
    for (int first = 0; first < 2; ++first) {
      for (int i = first; i < count; i += 2) {
        const T* const products = tile + i * Tile::width + (j - column);
        vector<false, false>(call, ops, place, products, rows[i], j, columns,
                             static_cast<int>(last - j));
      }
    }
  }

  /// Runs the epilogue on rows [first, last) of a result of few columns, whose sums lie one row
  /// after the other. A vector has several rows.
  [[gnu::flatten]] static void finish_points(const KernelCall& call, const Ops& ops,
                                             const Place& place, const T* products,
                                             std::int64_t first, std::int64_t last) {
    const std::int64_t columns = call.extents[Extents::columns];
    const std::int64_t rows = N / columns;
    Repeats repeats;
    [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
      (repeat<I>(call, place, columns, repeats), ...);
    }(typename M::InputNumbers{});
    for (std::int64_t i = first; i < last; i += rows) {
      const int count = static_cast<int>(std::min(rows, last - i) * columns);
      Registers r;
      get<M::body.product()>(r) = L::load(products + (i - first) * columns);
      [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
        (load_points<I>(call, r, place, i, columns, count, repeats), ...);
      }(typename M::InputNumbers{});
      const std::int64_t begin = Outer == 0 ? 0 : place.first;
      const ElementContext at{call.random, begin + i * columns};
      M::template evaluate<0>(r, ops, at);
      [&]<int... K>(std::integer_sequence<int, K...>) TYPEFLOW_INLINE_LAMBDA {
        (store<K, false>(call, r, place, 0, 0, at.index, count), ...);
      }(typename M::StoreNumbers{});
    }
  }

  /// Whether finish_column and finish_points can be called: the parts of larger tensors have rows
  /// that lie apart.
  static constexpr bool finishes_columns = result_views == 0;
  /// Runs the epilogue on rows [first, last) of a result that has one column.
  [[gnu::flatten]] static void finish_column(const KernelCall& call, const Ops& ops,
                                             const Place& place, const T* products,
                                             std::int64_t first, std::int64_t last) {
    std::int64_t i = first;
    for (; i + N <= last; i += N, products += N) {
      vector<true, true>(call, ops, place, products, 0, i, 1, N);
    }
    if (i < last) {
      alignas(64) T rest[N] = {};
      std::copy(products, products + (last - i), rest);
      vector<false, true>(call, ops, place, rest, 0, i, 1, static_cast<int>(last - i));
    }
  }

 private:
  template <int I>
  static ir::StridedExtents factor(const std::int64_t* extents) {
    return view_of(M::body.strided_before(I), extents);
  }

  /// For each input of finish_points, its elements for the rows of a vector, if they are those of a
  /// row or of a column.
  template <class Numbers>
  struct RepeatsOf;
  template <int... I>
  struct RepeatsOf<std::integer_sequence<int, I...>> {
    template <class E>
    struct alignas(64) Elements {
      E v[N] = {};
    };
    using type = FlatTuple<Elements<element_of<M::template Input<I>::dtype>>...>;
  };
  using Repeats = typename RepeatsOf<typename M::InputNumbers>::type;
  template <int I>
  static constexpr bool along_rows = (M::template Input<I>::axes & rows_bit) != 0;
  template <int I>
  static constexpr bool along_columns = (M::template Input<I>::axes & columns_bit) != 0;
  /// What all vectors of finish_points have in common of an input.
  template <int I>
  static void repeat(const KernelCall& call, const Place& place, std::int64_t columns,
                     Repeats& repeats) {
    using In = typename M::template Input<I>;
    using E = element_of<In::dtype>;
    if constexpr (I >= 2 && along_columns<I> && !along_rows<I>) {
      const E* from = call.operand<const E>(M::template operand<I>);
      if constexpr (outer_of<I> != 0 && !In::is_index) from += place.inputs[I];
      for (int l = 0; l < N; ++l) {
        const std::int64_t j = l % columns;
        get<I>(repeats).v[l] = In::is_index ? static_cast<E>(j) : from[j];
      }
    }
  }
  template <int I>
  TYPEFLOW_INLINE static void load_points(const KernelCall& call, Registers& r, const Place& place,
                                          std::int64_t i, std::int64_t columns, int count,
                                          Repeats& repeats) {
    if constexpr (I >= 2) {
      using In = typename M::template Input<I>;
      using E = element_of<In::dtype>;
      if constexpr (along_rows<I> && !along_columns<I>) {
        const E* from = call.operand<const E>(M::template operand<I>) + i;
        if constexpr (outer_of<I> != 0 && !In::is_index) from += place.inputs[I];
        for (std::int64_t l = 0; l < count; ++l) {
          const std::int64_t row = l / columns;
          get<I>(repeats).v[l] = In::is_index ? static_cast<E>(i + row) : from[row];
        }
      }
      if constexpr (along_rows<I> != along_columns<I>) {
        get<I>(r) = L::load(get<I>(repeats).v);
      } else {
        load<I, false, false>(call, r, place, i, 0, columns, count);
      }
    }
  }

  /// The epilogue of a vector, or (not Whole) of its first `count` columns. With `Rows` they are
  /// rows of a result of one column: i is the column, and j the row.
  template <bool Whole, bool Rows>
  TYPEFLOW_INLINE static void vector(const KernelCall& call, const Ops& ops, const Place& place,
                                     const T* product, std::int64_t i, std::int64_t j,
                                     std::int64_t columns, int count) {
    Registers r;
    get<M::body.product()>(r) = L::load(product);
    [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
      (load<I, Whole, Rows>(call, r, place, i, j, columns, count), ...);
    }(typename M::InputNumbers{});
    const std::int64_t first = Outer == 0 ? 0 : place.first;
    const ElementContext at{call.random, first + i * columns + j};
    M::template evaluate<0>(r, ops, at);
    [&]<int... K>(std::integer_sequence<int, K...>) TYPEFLOW_INLINE_LAMBDA {
      (store<K, Whole>(call, r, place, i, j, at.index, count), ...);
    }(typename M::StoreNumbers{});
  }

  /// Inputs 0 and 1 are the operands of the product.
  template <int I, bool Whole, bool Rows>
  TYPEFLOW_INLINE static void load(const KernelCall& call, Registers& r, const Place& place,
                                   std::int64_t i, std::int64_t j, std::int64_t columns,
                                   int count) {
    if constexpr (I >= 2) {
      using In = typename M::template Input<I>;
      using E = element_of<In::dtype>;
      constexpr bool along_rows = (In::axes & (Rows ? columns_bit : rows_bit)) != 0;
      constexpr bool along_columns = (In::axes & (Rows ? rows_bit : columns_bit)) != 0;
      if constexpr (In::is_index) {
        if constexpr (along_columns) {
          get<I>(r) = L::positions(j);
        } else {
          const std::int64_t number = along_rows ? i : Outer == 0 ? 0 : place.inputs[I];
          get<I>(r) = L::template broadcast<E>(static_cast<E>(number));
        }
      } else {
        const E* at = call.operand<const E>(M::template operand<I>);
        if constexpr (outer_of<I> != 0) at += place.inputs[I];
        if constexpr (along_rows) at += along_columns ? i * columns : i;
        if constexpr (along_columns) {
          get<I>(r) = Whole ? L::load(at + j) : L::load(at + j, count);
        } else {
          get<I>(r) = L::template broadcast<E>(*at);
        }
      }
    }
  }
  /// Stores elements of row i from column j on, which are number `index` of all and those behind.
  template <int K, bool Whole>
  TYPEFLOW_INLINE static void store(const KernelCall& call, const Registers& r, const Place& place,
                                    std::int64_t i, std::int64_t j, std::int64_t index, int count) {
    using Out = typename M::template Out<K>;
    using E = element_of<Out::dtype>;
    std::int64_t at = index;
    if constexpr (Out::is_strided) {  // columns lie side by side
      constexpr int number = M::body.strided_before_store(K);
      const ir::StridedExtents view = view_of(number, call.extents);
      at = view.begin() + i * view.stride(Outer) + j;
      if constexpr (Outer > 0) at += place.views[number - first_result_view];
    }
    E* const p = call.operand<E>(M::first_store + K) + at;
    if constexpr (Whole) {
      L::store(p, get<Out::value>(r));
    } else {
      L::store(p, get<Out::value>(r), count);
    }
  }
};

/// The epilogue of a tile that belongs to one matrix, as a function. Loops that call it are the
/// same code for all kernels of an element type. See Epilogue::finish.
template <class T>
using FinishTile = void (*)(const KernelCall& call, const T* tile, const std::int64_t* rows,
                            int count, std::int64_t column, std::int64_t last);
template <class E>
void finish_tile(const KernelCall& call, const typename E::T* tile, const std::int64_t* rows,
                 int count, std::int64_t column, std::int64_t last) {
  E::finish(call, E::operations(call), {}, tile, rows, count, column, last);
}

template <class O, DType D, unsigned Variant, int Outer, class B, class A>
struct Code<ir::ContractionKernel<O, D, Variant, Outer, B>, A> {
  using E = Epilogue<O, D, Variant, Outer, B, A>;
  using Copies = WidenedCopies<O, E>;
  static std::int64_t workspace(const std::int64_t* extents) {
    const std::int64_t bytes = contraction_of<O>::template workspace<E>(extents);
    if constexpr (copies) return checked_sum(bytes, Copies::bytes(extents));
    return bytes;
  }
  static void run(const KernelCall& call) {
    if constexpr (copies) {
      Copies::run(call, &contraction_of<O>::template run<E>);
    } else {
      contraction_of<O>::template run<E>(call);
    }
  }

 private:
  static constexpr bool copies = Copies::any && !requires { contraction_of<O>::widens; };
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
