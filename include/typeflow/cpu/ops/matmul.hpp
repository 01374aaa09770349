// SPDX-License-Identifier: Apache-2.0
#pragma once

// The loops of ops/linear/matmul.hpp. Of several products, each is computed by itself; how operands
// repeat is part of the kernel's type, and costs a few additions a tile.

#include <algorithm>
#include <cstdint>

#include "typeflow/cpu/contraction.hpp"
#include "typeflow/ops/linear/matmul.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::simd {

/// Columns [first, first + width) of b as rows of `width` elements, with zeros for those that b
/// has not. b is depth x columns, or its transpose is.
template <class T, class A, bool Transposed>
void pack_panel(const T* b, std::int64_t depth, std::int64_t columns, std::int64_t first,
                std::int64_t width, T* panel) {
  const std::int64_t count = std::min(width, columns - first);
  using S = TileShape<T, A>;
  using B = xsimd::batch<T, A>;
  if (!Transposed && count == S::width) {
    for (std::int64_t k = 0; k < depth; ++k) {
      const T* const from = b + k * columns + first;
      unrolled<S::vectors>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
        const B row = B::load_unaligned(from + v * S::lanes);
        row.store_unaligned(panel + k * S::width + v * S::lanes);
      });
    }
    return;
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    T* const to = panel + k * width;
    for (std::int64_t j = 0; j < count; ++j) {
      to[j] = Transposed ? b[(first + j) * depth + k] : b[k * columns + first + j];
    }
    std::fill(to + count, to + width, T(0));
  }
}

/// Products of matrices, with what follows them.
template <class E>
class Product {
  using T = typename E::T;
  using A = typename E::Arch;
  using S = typename E::Tile;
  static constexpr int Outer = E::outer;
  static constexpr bool transposed_a = (E::variant & 1u) != 0;
  static constexpr bool transposed_b = (E::variant & 2u) != 0;
  static constexpr int row_group = 8;  ///< row blocks of a task

  /// Whether all panels of b are copied, so that their rows lie side by side: a transposed one's
  /// must be, and many rows of a make it worth its time, unless all of b stays in the first cache.
  /// Else the last is, if it is not full.
  static constexpr bool copies_all(const std::int64_t* extents) {
    constexpr std::int64_t small = (std::int64_t{1} << 15) / sizeof(T);
    return transposed_b || (extents[0] >= 2 * row_group * S::rows &&
                            checked_product(extents[1], extents[2]) > small);
  }

 public:
  static std::int64_t workspace(const std::int64_t* extents) {
    return checked_product(checked_product(slots(extents), packed_size(extents)), sizeof(T));
  }

  static void run(const KernelCall& call) {
    const std::int64_t matrices = E::matrix_count(call.extents);
    const std::int64_t at_once = E::shared_b ? matrices : slots(call.extents);
    for (std::int64_t first = 0; first < matrices; first += at_once) {
      run(call, first, std::min(at_once, matrices - first));
    }
  }

 private:
  /// Elements of the copied panels of one b.
  static std::int64_t packed_size(const std::int64_t* extents) {
    const std::int64_t panels = copies_all(extents) ? (extents[1] + S::width - 1) / S::width : 1;
    return checked_product(panels * S::width, extents[2]);
  }
  /// How many b are copied at a time: about as many as stay in cache until they are read.
  static std::int64_t slots(const std::int64_t* extents) {
    if constexpr (E::shared_b) {
      return 1;
    } else {
      constexpr std::int64_t elements = (std::int64_t{1} << 20) / sizeof(T);
      const std::int64_t most = elements / std::max<std::int64_t>(packed_size(extents), 1);
      return std::max<std::int64_t>(std::min(most, E::matrix_count(extents)), 1);
    }
  }

  /// The products from matrix `first_matrix` on.
  static void run(const KernelCall& call, std::int64_t first_matrix, std::int64_t matrices) {
    const std::int64_t rows = call.extents[0];
    const std::int64_t columns = call.extents[1];
    const std::int64_t depth = call.extents[2];
    const std::int64_t panels = (columns + S::width - 1) / S::width;
    const bool partial = columns % S::lanes != 0;
    const bool all = copies_all(call.extents);
    T* const packed = static_cast<T*>(call.workspace);
    const std::int64_t pitch = packed_size(call.extents);  // from one packed b to the next
    const auto b_of = [&](std::int64_t matrix) {
      return call.operand<const T>(1) + E::template part<1>(call.extents, matrix) * depth * columns;
    };
    if (all || partial) {
      const std::int64_t copies = all ? panels : 1;
      const std::int64_t grain = std::max<std::int64_t>(1, chunk_size / (S::width * depth + 1));
      parallel(call, copies * (E::shared_b ? 1 : matrices), grain,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t slot = E::shared_b ? 0 : i / copies;
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
      const auto ops = E::operations(call);
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t slot = Outer == 0 ? 0 : task / (panels * groups);
        const std::int64_t in_matrix = task - slot * (panels * groups);
        const std::int64_t p = in_matrix / groups;
        const std::int64_t first = in_matrix % groups * group;
        const std::int64_t width = panel_width(columns, p);
        const bool copied = all || (partial && p == panels - 1);
        const T* const own = packed + (E::shared_b ? 0 : slot * pitch);
        const T* const panel = !copied ? b_of(first_matrix + slot) + p * S::width
                               : all   ? own + p * S::width * depth
                                       : own;
        const T* const a = call.operand<const T>(0) +
                           E::template part<0>(call.extents, first_matrix + slot) * rows * depth;
        const auto at = E::place(call.extents, first_matrix + slot);
        for (std::int64_t i = first; i < std::min(first + group, rows); i += S::rows) {
          const int count = static_cast<int>(std::min<std::int64_t>(S::rows, rows - i));
          const std::int64_t pitch_of_b = copied ? width : columns;
          if constexpr (E::is_product) {
            if (count == S::rows && p * S::width + width <= columns) {
              multiply(a, rows, depth, i, count, panel, pitch_of_b, width,
                       E::result(call, at, i, p * S::width), columns);
              continue;
            }
          }
          alignas(64) T tile[S::rows * S::width];
          multiply(a, rows, depth, i, count, panel, pitch_of_b, width, tile, S::width);
          std::int64_t numbers[S::rows];
          for (int r = 0; r < S::rows; ++r) numbers[r] = i + r;
          E::finish(call, ops, at, tile, numbers, count, p * S::width,
                    std::min(columns, (p + 1) * S::width));
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
                       const T* panel, std::int64_t pitch, std::int64_t width, T* tile,
                       std::int64_t tile_pitch) {
    const std::int64_t row = transposed_a ? 1 : depth;
    const std::int64_t step = transposed_a ? rows : 1;
    const T* const first = a + i * row;
    with_vectors<S>(width, [&](auto vectors) {
      product_tile<T, A, vectors()>(first, row, step, count, panel, pitch, depth, tile, tile_pitch);
    });
  }
};

template <>
struct contraction_of<ops::MatMul> {
  template <class E>
  static std::int64_t workspace(const std::int64_t* extents) {
    return Product<E>::workspace(extents);
  }
  template <class E>
  static void run(const KernelCall& call) {
    Product<E>::run(call);
  }
};

}  // namespace typeflow::inline TYPEFLOW_TARGET::simd
