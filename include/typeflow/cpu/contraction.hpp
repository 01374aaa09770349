// SPDX-License-Identifier: Apache-2.0
#pragma once

// Matrix products, and what follows them on a tile while it is in cache.
//
// A tile of rows x vectors accumulates in registers over the whole inner extent, so every element
// is one chain of fused multiply-adds in order: its bits depend neither on threads nor on where
// in the matrix it is. The tile's code is shared by all kernels of an element type; a kernel adds
// its epilogue. Of several products, each is computed by itself; how operands repeat is part of
// the kernel's type, and costs a few additions a tile.

#include <algorithm>
#include <array>

#include "typeflow/cpu/rows.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::simd {

/// The register tile of an instruction set.
template <class T, class A>
struct TileShape {
  static constexpr int lanes = static_cast<int>(xsimd::batch<T, A>::size);
  static constexpr bool large = lanes * sizeof(T) >= 64;  // 32 registers
  static constexpr int rows = large ? 8 : lanes * sizeof(T) >= 32 ? 6 : 4;
  static constexpr int vectors = large ? 3 : 2;
  static constexpr int width = vectors * lanes;
};

/// f(0), ..., f(N - 1) with constants: the compiler sees which register is meant at -O2, too.
template <int N, class F>
TYPEFLOW_INLINE void unrolled(const F& f) {
  [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
    (f(std::integral_constant<int, I>{}), ...);
  }(std::make_integer_sequence<int, N>{});
}

/// tile[i][j] = sum over k of a[i * row + k * step] * b[k * pitch + j], for j < V vectors; the tile
/// has TileShape::width columns. Rows from `rows` on repeat the last.
template <class T, class A, int V>
[[gnu::noinline, gnu::flatten]] void product_tile(const T* a, std::int64_t row, std::int64_t step,
                                                  int rows, const T* b, std::int64_t pitch,
                                                  std::int64_t depth, T* tile) {
  using S = TileShape<T, A>;
  using B = xsimd::batch<T, A>;
  B sum[S::rows][V];
  const T* at[S::rows];
  unrolled<S::rows>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
    at[i] = a + std::min<int>(i, rows - 1) * row;
    unrolled<V>([&](auto v) TYPEFLOW_INLINE_LAMBDA { sum[i][v] = B(T(0)); });
  });
  for (std::int64_t k = 0; k < depth; ++k) {
    B right[V];
    unrolled<V>([&](auto v)
                    TYPEFLOW_INLINE_LAMBDA { right[v] = B::load_unaligned(b + v * S::lanes); });
    unrolled<S::rows>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
      const B left(*at[i]);
      at[i] += step;
      unrolled<V>([&](auto v)
                      TYPEFLOW_INLINE_LAMBDA { sum[i][v] = simd::fma(left, right[v], sum[i][v]); });
    });
    b += pitch;
  }
  unrolled<S::rows>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
    unrolled<V>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
      sum[i][v].store_unaligned(tile + i * S::width + v * S::lanes);
    });
  });
}

/// Columns [first, first + width) of b as rows of `width` elements, with zeros for those that b
/// has not. b is depth x columns, or its transpose is.
template <class T, class A, bool Transposed>
void pack_panel(const T* b, std::int64_t depth, std::int64_t columns, std::int64_t first,
                std::int64_t width, T* panel) {
  const std::int64_t count = std::min(width, columns - first);
  for (std::int64_t k = 0; k < depth; ++k) {
    T* const to = panel + k * width;
    for (std::int64_t j = 0; j < count; ++j) {
      to[j] = Transposed ? b[(first + j) * depth + k] : b[k * columns + first + j];
    }
    std::fill(to + count, to + width, T(0));
  }
}

template <DType D, unsigned Transposed, int Outer, class B, class A>
struct Code<ContractionKernel<D, Transposed, Outer, B>, A> {
  using T = element_of<D>;
  static_assert(std::is_floating_point_v<T>, "matrix products are of float and double");
  using L = Lanes<sizeof(T) == 8, A>;
  using M = Machine<L, B, true, T>;
  using S = TileShape<T, A>;
  using Registers = typename M::Registers;
  using Ops = typename M::Ops;
  static constexpr int N = L::size;
  static_assert(N == S::lanes);
  static constexpr bool transposed_a = (Transposed & 1u) != 0;
  static constexpr bool transposed_b = (Transposed & 2u) != 0;
  static constexpr int row_group = 8;  ///< row blocks of a task

  /// Whether all panels of b are copied, so that their rows lie side by side: a transposed one's
  /// must be, and many rows of a make it worth its time. Else the last is, if it is not full.
  static constexpr bool copies_all(std::int64_t rows) {
    return transposed_b || rows >= 2 * row_group * S::rows;
  }
  static std::int64_t workspace(const std::int64_t* extents) {
    return checked_product(checked_product(slots(extents), packed_size(extents)), sizeof(T));
  }

  static void run(const KernelCall& call) {
    const std::int64_t matrices = matrix_count(call.extents);
    const std::int64_t at_once = shared_b ? matrices : slots(call.extents);
    for (std::int64_t first = 0; first < matrices; first += at_once) {
      run(call, first, std::min(at_once, matrices - first));
    }
  }

 private:
  // Several products: the axes outside of the matrices. A matrix is one of the result's.

  static constexpr unsigned outer_axes = (1u << Outer) - 1u;
  template <int I>
  static constexpr unsigned outer_of = M::template Input<I>::axes >> 2 & outer_axes;
  static constexpr bool shared_b = outer_of<1> == 0;

  static std::int64_t matrix_count(const std::int64_t* extents) {
    std::int64_t count = 1;
    for (int i = 0; i < Outer; ++i) count *= extents[3 + i];
    return count;
  }

  /// The number of input I's part that belongs to a matrix, among those along its own outer axes.
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
        const std::int64_t extent = extents[3 + i];
        if ((along >> i & 1u) != 0) {
          number += matrix % extent * stride;
          stride *= extent;
        }
        matrix /= extent;
      }
      return number;
    }
  }

  /// Elements of the copied panels of one b.
  static std::int64_t packed_size(const std::int64_t* extents) {
    const std::int64_t panels = copies_all(extents[0]) ? (extents[1] + S::width - 1) / S::width : 1;
    return checked_product(panels * S::width, extents[2]);
  }
  /// How many b are copied at a time: about as many as stay in cache until they are read.
  static std::int64_t slots(const std::int64_t* extents) {
    if constexpr (shared_b) {
      return 1;
    } else {
      constexpr std::int64_t elements = (std::int64_t{1} << 20) / sizeof(T);
      const std::int64_t most = elements / std::max<std::int64_t>(packed_size(extents), 1);
      return std::max<std::int64_t>(std::min(most, matrix_count(extents)), 1);
    }
  }

  /// Where the matrix at hand and its parts of the inputs begin.
  struct Place {
    std::int64_t first = 0;
    std::array<std::int64_t, M::inputs> inputs{};  ///< of an index along an outer axis: the index
  };
  template <int I>
  static std::int64_t start(const std::int64_t* extents, std::int64_t matrix) {
    std::int64_t size = 1;
    if ((M::template Input<I>::axes & 1u) != 0) size *= extents[0];
    if ((M::template Input<I>::axes & 2u) != 0) size *= extents[1];
    return part<I>(extents, matrix) * size;
  }
  static Place place(const std::int64_t* extents, std::int64_t matrix) {
    if constexpr (Outer == 0) {
      return {};
    } else {
      return [&]<int... I>(std::integer_sequence<int, I...>) {
        return Place{matrix * extents[0] * extents[1], {start<I>(extents, matrix)...}};
      }(typename M::InputNumbers{});
    }
  }

  /// The products from matrix `first_matrix` on.
  static void run(const KernelCall& call, std::int64_t first_matrix, std::int64_t matrices) {
    const std::int64_t rows = call.extents[0];
    const std::int64_t columns = call.extents[1];
    const std::int64_t depth = call.extents[2];
    const std::int64_t panels = (columns + S::width - 1) / S::width;
    const bool partial = columns % S::width != 0;
    const bool all = copies_all(rows);
    T* const packed = static_cast<T*>(call.workspace);
    const std::int64_t pitch = packed_size(call.extents);  // from one packed b to the next
    const auto b_of = [&](std::int64_t matrix) {
      return call.operand<const T>(1) + part<1>(call.extents, matrix) * depth * columns;
    };
    if (all || partial) {
      const std::int64_t copies = all ? panels : 1;
      const std::int64_t grain = std::max<std::int64_t>(1, chunk_size / (S::width * depth + 1));
      parallel(call, copies * (shared_b ? 1 : matrices), grain,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t slot = shared_b ? 0 : i / copies;
                   const std::int64_t p = all ? i - slot * copies : panels - 1;
                   pack_panel<T, A, transposed_b>(
                       b_of(first_matrix + slot), depth, columns, p * S::width,
                       panel_width(columns, p),
                       packed + slot * pitch + (all ? p * S::width * depth : 0));
                 }
               });
    }
    const std::int64_t group = row_group * S::rows;
    const std::int64_t groups = (rows + group - 1) / group;
    std::int64_t of_task = group * S::width;
    if constexpr (Outer > 0)
      of_task = std::min(group, rows) * std::min<std::int64_t>(S::width, columns);
    const std::int64_t work = 2 * std::max<std::int64_t>(of_task, 1) * (depth + 1);
    const std::int64_t grain = std::max<std::int64_t>(1, 4 * chunk_size / work);
    parallel(call, matrices * panels * groups, grain, [&](std::int64_t begin, std::int64_t end) {
      const Ops ops = M::decode(call.words);
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t slot = Outer == 0 ? 0 : task / (panels * groups);
        const std::int64_t in_matrix = task - slot * (panels * groups);
        const std::int64_t p = in_matrix / groups;
        const std::int64_t first = in_matrix % groups * group;
        const std::int64_t width = panel_width(columns, p);
        const bool copied = all || (partial && p == panels - 1);
        const T* const own = packed + (shared_b ? 0 : slot * pitch);
        const T* const panel = !copied ? b_of(first_matrix + slot) + p * S::width
                               : all   ? own + p * S::width * depth
                                       : own;
        const T* const a =
            call.operand<const T>(0) + part<0>(call.extents, first_matrix + slot) * rows * depth;
        const Place at = place(call.extents, first_matrix + slot);
        for (std::int64_t i = first; i < std::min(first + group, rows); i += S::rows) {
          const int count = static_cast<int>(std::min<std::int64_t>(S::rows, rows - i));
          alignas(64) T tile[S::rows * S::width];
          multiply(a, rows, depth, i, count, panel, copied ? width : columns, width, tile);
          finish(call, ops, at, tile, i, count, p * S::width, columns);
        }
      }
    });
  }

  /// Columns of panel p, rounded up to whole vectors.
  static std::int64_t panel_width(std::int64_t columns, std::int64_t p) {
    const std::int64_t left = std::min<std::int64_t>(columns - p * S::width, S::width);
    return (left + S::lanes - 1) / S::lanes * S::lanes;
  }

  static void multiply(const T* a, std::int64_t rows, std::int64_t depth, std::int64_t i, int count,
                       const T* panel, std::int64_t pitch, std::int64_t width, T* tile) {
    const std::int64_t row = transposed_a ? 1 : depth;
    const std::int64_t step = transposed_a ? rows : 1;
    const T* const first = a + i * row;
    if (width == S::width) {
      product_tile<T, A, S::vectors>(first, row, step, count, panel, pitch, depth, tile);
    } else if (S::vectors == 3 && width == 2 * S::lanes) {
      product_tile<T, A, S::vectors == 3 ? 2 : 1>(first, row, step, count, panel, pitch, depth,
                                                  tile);
    } else {
      product_tile<T, A, 1>(first, row, step, count, panel, pitch, depth, tile);
    }
  }

  /// What follows the product, on the tile at (row, column).
  [[gnu::flatten]] static void finish(const KernelCall& call, const Ops& ops, const Place& place,
                                      const T* tile, std::int64_t row, int count,
                                      std::int64_t column, std::int64_t columns) {
    const std::int64_t last = std::min<std::int64_t>(columns, column + S::width);
    for (int i = 0; i < count; ++i) {
      const T* const products = tile + i * S::width - column;
      for (std::int64_t j = column; j < last; j += N) {
        const int width = static_cast<int>(std::min<std::int64_t>(N, last - j));
        vector(call, ops, place, products + j, row + i, j, columns, width);
      }
    }
  }
  TYPEFLOW_INLINE static void vector(const KernelCall& call, const Ops& ops, const Place& place,
                                     const T* product, std::int64_t i, std::int64_t j,
                                     std::int64_t columns, int count) {
    Registers r;
    get<M::inputs>(r) = L::load(product);
    [&]<int... I>(std::integer_sequence<int, I...>) TYPEFLOW_INLINE_LAMBDA {
      (load<I>(call, r, place, i, j, columns, count), ...);
    }(typename M::InputNumbers{});
    const std::int64_t first = Outer == 0 ? 0 : place.first;
    const ElementContext at{call.random, first + i * columns + j};
    M::template evaluate<0>(r, ops, at);
    [&]<int... O>(std::integer_sequence<int, O...>) TYPEFLOW_INLINE_LAMBDA {
      (store<O>(call, r, at.index, count), ...);
    }(typename M::StoreNumbers{});
  }

  /// Inputs 0 and 1 are the operands of the product.
  template <int I>
  TYPEFLOW_INLINE static void load(const KernelCall& call, Registers& r, const Place& place,
                                   std::int64_t i, std::int64_t j, std::int64_t columns,
                                   int count) {
    if constexpr (I >= 2) {
      using In = typename M::template Input<I>;
      using E = element_of<In::dtype>;
      constexpr bool along_rows = (In::axes & 1u) != 0;
      constexpr bool along_columns = (In::axes & 2u) != 0;
      if constexpr (In::is_index) {
        if constexpr (along_columns) {
          get<I>(r) = L::positions(j);
        } else {
          const std::int64_t number = along_rows ? i : Outer == 0 ? 0 : place.inputs[I];
          get<I>(r) = L::template broadcast<E>(static_cast<E>(number));
        }
      } else {
        const E* at = call.operand<const E>(M::operand(I));
        if constexpr (outer_of<I> != 0) at += place.inputs[I];
        if constexpr (along_rows) at += along_columns ? i * columns : i;
        if constexpr (along_columns) {
          get<I>(r) = count == N ? L::load(at + j) : L::load(at + j, count);
        } else {
          get<I>(r) = L::template broadcast<E>(*at);
        }
      }
    }
  }
  template <int O>
  TYPEFLOW_INLINE static void store(const KernelCall& call, const Registers& r, std::int64_t at,
                                    int count) {
    using Out = typename M::template Out<O>;
    using E = element_of<Out::dtype>;
    E* const p = call.operand<E>(M::first_store + O) + at;
    if (count == N) {
      L::store(p, get<Out::value>(r));
    } else {
      L::store(p, get<Out::value>(r), count);
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_TARGET::simd
