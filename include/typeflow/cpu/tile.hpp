// SPDX-License-Identifier: Apache-2.0
#pragma once

// The register tile of contractions: sums of products of a few rows and a few vectors of columns.
//
// Every element is one chain of fused multiply-adds in the order of its depth. Its bits depend
// neither on threads nor on its place in the matrix. All kernels of an element type share the
// tile's code.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "typeflow/cpu/lanes.hpp"
#include "typeflow/cpu/product_kernel.hpp"
#include "typeflow/cpu/unrolled.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// The register tile of an instruction set.
template <class T, class A>
struct TileShape {
  static constexpr int lanes = static_cast<int>(xsimd::batch<T, A>::size);
  static constexpr bool large = lanes * sizeof(T) >= 64;  // 32 registers
  static constexpr int rows = large ? 8 : lanes * sizeof(T) >= 32 ? 6 : 4;
  static constexpr int vectors = large ? 3 : 2;
  static constexpr int width = vectors * lanes;
};

/// The columns of a matrix, in panels of whole vectors that are as equal as possible.
template <class S>
struct Panels {
  std::int64_t columns;
  std::int64_t count;

  constexpr explicit Panels(std::int64_t n)
      : columns(n), count((vectors() + S::vectors - 1) / S::vectors) {}

  constexpr std::int64_t vectors() const { return (columns + S::lanes - 1) / S::lanes; }
  constexpr std::int64_t first(std::int64_t p) const {
    return (p * (vectors() / count) + std::min(p, vectors() % count)) * S::lanes;
  }
  constexpr std::int64_t width(std::int64_t p) const {
    return (vectors() / count + (p < vectors() % count ? 1 : 0)) * S::lanes;
  }
  constexpr std::int64_t last(std::int64_t p) const {
    return std::min(columns, first(p) + width(p));
  }
  /// The number of columns with those added that fill the last vector.
  constexpr std::int64_t padded() const { return vectors() * S::lanes; }
};

/// Calls f(std::integral_constant) with the number of vectors that hold `width` columns.
template <class S, class F>
void with_vectors(std::int64_t width, const F& f) {
  if (width == S::width) {
    f(std::integral_constant<int, S::vectors>{});
  } else if (S::vectors == 3 && width == 2 * S::lanes) {
    f(std::integral_constant < int, S::vectors == 3 ? 2 : 1 > {});
  } else {
    f(std::integral_constant<int, 1>{});
  }
}

/// Places that are prefetched while a tile is computed, one at each step: pieces of rows.
template <class T>
struct PrefetchedRows {
  const T* at;
  std::int64_t left;   ///< places of the first piece
  std::int64_t piece;  ///< places of the others
  std::int64_t pitch;  ///< elements from a piece to the next one

  TYPEFLOW_INLINE void operator()() {
    constexpr std::int64_t line = 64 / sizeof(T);
    prefetch(at, 0);
    at += line;
    if (--left == 0) {
      left = piece;
      at += pitch - piece * line;
    }
  }
};

struct NoPrefetch {
  TYPEFLOW_INLINE void operator()() const {}
};

/// The sums of a tile while they are in registers: R rows of V vectors.
template <class T, class A, int V, int R = TileShape<T, A>::rows>
struct TileSums {
  using S = TileShape<T, A>;
  using L = Lanes<sizeof(T) == 8, A>;
  using B = xsimd::batch<T, A>;
  B sum[R][V];

  TYPEFLOW_INLINE void clear() {
    unrolled<R>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
      unrolled<V>([&](auto v) TYPEFLOW_INLINE_LAMBDA { sum[i][v] = B(T(0)); });
    });
  }
  TYPEFLOW_INLINE void load(const T* tile, std::int64_t pitch) {
    unrolled<R>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
      unrolled<V>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
        sum[i][v] = B::load_unaligned(tile + i * pitch + v * S::lanes);
      });
    });
  }
  TYPEFLOW_INLINE void store(T* tile, std::int64_t pitch) const {
    unrolled<R>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
      unrolled<V>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
        sum[i][v].store_unaligned(tile + i * pitch + v * S::lanes);
      });
    });
  }
  /// The same of the first `width` columns. All but the last vector are whole.
  TYPEFLOW_INLINE void store(T* tile, std::int64_t pitch, std::int64_t width) const {
    if (!S::large && width == V * S::lanes) {  // otherwise a masked store costs no more
      store(tile, pitch);
      return;
    }
    const int last = static_cast<int>(width - (V - 1) * S::lanes);
    unrolled<R>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
      T* const row = tile + i * pitch;
      unrolled<V - 1>(
          [&](auto v) TYPEFLOW_INLINE_LAMBDA { sum[i][v].store_unaligned(row + v * S::lanes); });
      L::store(row + (V - 1) * S::lanes, sum[i][V - 1], last);
    });
  }
  /// Adds at[i][k * step] * b[k * pitch + j] for k < depth. If `ahead` is not 0, prefetches
  /// elements of a that lie so far behind those that are read. Calls others() at each step.
  template <class F = NoPrefetch>
  TYPEFLOW_INLINE void add(const T* const (&at)[R], std::int64_t step, const T* b,
                           std::int64_t pitch, std::int64_t depth, std::int64_t ahead = 0,
                           F others = {}) {
    constexpr std::int64_t line = 64 / sizeof(T);
    // One register each; moving the rows' pointers would take many additions.
    std::int64_t offset = 0;
    for (std::int64_t left_over = depth; left_over > 0; --left_over) {
      B right[V];
      unrolled<V>([&](auto v)
                      TYPEFLOW_INLINE_LAMBDA { right[v] = B::load_unaligned(b + v * S::lanes); });
      others();
      if (ahead != 0 && left_over % line == 0) {
        unrolled<R>([&](auto i) TYPEFLOW_INLINE_LAMBDA { prefetch(at[i] + offset, ahead); });
      }
      unrolled<R>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
        const B left(at[i][offset]);
        unrolled<V>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
          sum[i][v] = cpu_kernels::fma(left, right[v], sum[i][v]);
        });
      });
      offset += step;
      b += pitch;
    }
  }
};

/// tile[i][j] = sum over k of a[i * row + k * step] * b[k * pitch + j], for i < R rows and j < V
/// vectors. Rows of the tile lie tile_pitch apart, and `width` columns of them are written. Rows
/// from `rows` on repeat the last one. If there is a tile `before`, whose rows lie side by side,
/// the products are added to it. Calls others() at each step.
template <class T, class A, int V, int R = TileShape<T, A>::rows, class F = NoPrefetch>
[[gnu::noinline, gnu::flatten]] void product_tile(
    const T* a, std::int64_t row, std::int64_t step, int rows, const T* b, std::int64_t pitch,
    std::int64_t depth, T* tile, std::int64_t tile_pitch = TileShape<T, A>::width,
    const T* before = nullptr, std::int64_t width = V * TileShape<T, A>::lanes, F others = {}) {
  using S = TileShape<T, A>;
  TileSums<T, A, V, R> sums;
  const T* at[R];
  unrolled<R>([&](auto i) TYPEFLOW_INLINE_LAMBDA { at[i] = a + std::min<int>(i, rows - 1) * row; });
  if (before != nullptr) {
    sums.load(before, S::width);
  } else {
    sums.clear();
  }
  const std::int64_t ahead = step == 1 ? S::rows * row : 0;  // the rows of the next tile
  sums.add(at, step, b, pitch, depth, ahead, others);
  sums.store(tile, tile_pitch, width);
}

/// The same for operands in pieces. While runs.more(), runs.next(at, b) sets the beginnings of the
/// rows of a and of b, and returns the number of products. Their elements lie runs.step and
/// runs.pitch apart. At each step of a run, calls a copy of runs.others().
template <class T, class A, int V, class Runs, int R = TileShape<T, A>::rows>
[[gnu::noinline, gnu::flatten]] void gathered_tile(const Runs& from, T* tile,
                                                   std::int64_t tile_pitch, bool go_on) {
  TileSums<T, A, V, R> sums;
  Runs runs = from;
  if (go_on) {
    sums.load(tile, tile_pitch);
  } else {
    sums.clear();
  }
  while (runs.more()) {
    const T* at[R];
    const T* b = nullptr;
    const std::int64_t length = runs.next(at, b);
    sums.add(at, runs.step, b, runs.pitch, length, 0, runs.others());
  }
  sums.store(tile, tile_pitch);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
