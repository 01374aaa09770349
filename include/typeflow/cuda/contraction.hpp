// SPDX-License-Identifier: Apache-2.0
#pragma once

// Contractions on GPUs: sums of products in tiles of registers, and the epilogue that follows on
// them.
//
// One kernel serves all contractions. The operation says where an element of its operands lies,
// contraction_of<O>, and the tile's loops gather them into shared memory. Each element is one chain
// of multiply-adds along the depth, so its bits do not depend on the tile.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "typeflow/cuda/body.hpp"
#include "typeflow/cuda/launch.hpp"
#include "typeflow/cuda/maps.hpp"
#include "typeflow/ops/contraction.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// The operands of contraction O on a GPU. Specialise it with
///   template <class T, unsigned Variant> struct Operands, which kernels get by value:
///     Operands(const O& op, const KernelCall& call, const ContractionSize& size);
///     T a(std::int64_t matrix, std::int64_t row, std::int64_t k) const;     (device functions)
///     T b(std::int64_t matrix, std::int64_t k, std::int64_t column) const;
/// where `matrix` is the number of the operand's own part. Contractions without a specialisation
/// run on the processor.
template <class O>
struct contraction_of {
  static constexpr bool is_missing = true;
};

struct ContractionSize {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t depth;
  std::int64_t matrices;
};

/// A tile of the result for a block of 16 x 16 threads, each with 4 x 4 elements.
struct ContractionTile {
  static constexpr int side = 64;
  static constexpr int depth = 16;
  static constexpr int across = 16;
  static constexpr int each = side / across;
  static constexpr int threads = across * across;
};

template <class Code>
__global__ void contraction_kernel(typename Code::Arguments a) {
  const std::int64_t across = (a.size.columns + ContractionTile::side - 1) / ContractionTile::side;
  const std::int64_t down = (a.size.rows + ContractionTile::side - 1) / ContractionTile::side;
  for (auto task = static_cast<std::int64_t>(blockIdx.x); task < a.size.matrices * down * across;
       task += static_cast<std::int64_t>(gridDim.x)) {
    Code::tile(a, task / (down * across), task / across % down * ContractionTile::side,
               task % across * ContractionTile::side);
  }
}

template <class O, DType D, unsigned Variant, int Outer, class B>
struct Code<ir::ContractionKernel<O, D, Variant, Outer, B>> {
  using T = element_of<D>;
  using M = Machine<B, true, T>;
  using Registers = typename M::Registers;
  using Operands = typename contraction_of<O>::template Operands<T, Variant>;
  using Tile = ContractionTile;
  static constexpr ir::KernelSpace space = ir::space_of(ir::KernelKind::contraction, Outer, false);
  static constexpr int rank = space.rank;  // outer..., rows, columns
  static constexpr unsigned outer_axes = (1u << Outer) - 1u;

  struct Arguments {
    Operands operands;
    ContractionSize size;
    LoopArguments<M, rank> loop;
  };

  static std::int64_t workspace(const std::int64_t*) { return 0; }

  static void run(const KernelCall& call) {
    using Extents = ir::ContractionExtents;
    ContractionSize size{call.extents[Extents::rows], call.extents[Extents::columns],
                         call.extents[Extents::depth], 1};
    for (int k = 0; k < Outer; ++k) size.matrices *= call.extents[Extents::outer + k];
    KernelCall body = call;
    body.words += word_count<O>;
    const Arguments a{Operands(decode<O>(call.words), call, size), size,
                      arguments_of<M, space>(body)};
    const std::int64_t tiles = size.matrices * ((size.rows + Tile::side - 1) / Tile::side) *
                               ((size.columns + Tile::side - 1) / Tile::side);
    launch(call, &contraction_kernel<Code>, std::min(tiles, most_blocks), Tile::threads, a);
  }

  /// A tile of the result. All threads of the block call it.
  TYPEFLOW_DEVICE static void tile(const Arguments& a, std::int64_t matrix, std::int64_t row,
                                   std::int64_t column) {
    __shared__ T of_a[Tile::depth][Tile::side + 1];
    __shared__ T of_b[Tile::depth][Tile::side + 1];
    std::int64_t coordinate[Outer + 1];
    find_coordinates<Outer>(coordinate, matrix, a.loop.extent);
    const std::int64_t part_of_a = part<0>(a, coordinate);
    const std::int64_t part_of_b = part<1>(a, coordinate);
    const int thread = static_cast<int>(threadIdx.x);
    const int x = thread % Tile::across;
    const int y = thread / Tile::across;
    T sum[Tile::each][Tile::each] = {};
    for (std::int64_t k = 0; k < a.size.depth; k += Tile::depth) {
      for (int i = thread; i < Tile::depth * Tile::side; i += Tile::threads) {
        // Neighbouring threads read along the depth of a, and along the columns of b.
        const int depth_a = i % Tile::depth;
        const int place_a = i / Tile::depth;
        const bool has_a = k + depth_a < a.size.depth && row + place_a < a.size.rows;
        of_a[depth_a][place_a] = has_a ? a.operands.a(part_of_a, row + place_a, k + depth_a) : T(0);
        const int place_b = i % Tile::side;
        const int depth_b = i / Tile::side;
        const bool has_b = k + depth_b < a.size.depth && column + place_b < a.size.columns;
        of_b[depth_b][place_b] =
            has_b ? a.operands.b(part_of_b, k + depth_b, column + place_b) : T(0);
      }
      __syncthreads();
      const int left = static_cast<int>(a.size.depth - k < Tile::depth ? a.size.depth - k
                                                                       : std::int64_t{Tile::depth});
      for (int d = 0; d < left; ++d) {
        T from_a[Tile::each];
        T from_b[Tile::each];
        for (int i = 0; i < Tile::each; ++i) from_a[i] = of_a[d][y + i * Tile::across];
        for (int j = 0; j < Tile::each; ++j) from_b[j] = of_b[d][x + j * Tile::across];
        for (int i = 0; i < Tile::each; ++i) {
          for (int j = 0; j < Tile::each; ++j) {
            sum[i][j] = std::fma(from_a[i], from_b[j], sum[i][j]);
          }
        }
      }
      __syncthreads();
    }
    for (int i = 0; i < Tile::each; ++i) {
      for (int j = 0; j < Tile::each; ++j) {
        const std::int64_t at_row = row + y + i * Tile::across;
        const std::int64_t at_column = column + x + j * Tile::across;
        if (at_row < a.size.rows && at_column < a.size.columns) {
          follow(a, coordinate, matrix, at_row, at_column, sum[i][j]);
        }
      }
    }
  }

 private:
  static constexpr unsigned rows_bit = 1u << Outer;
  static constexpr unsigned columns_bit = 2u << Outer;

  /// The number of input I's part for a matrix, among its parts along its own outer axes.
  template <int I>
  TYPEFLOW_DEVICE static std::int64_t part(const Arguments& a,
                                           const std::int64_t (&coordinate)[Outer + 1]) {
    std::int64_t number = 0;
    for (int k = 0; k < Outer; ++k) {
      if ((M::template Input<I>::axes >> k & 1u) != 0) {
        number = number * a.loop.extent[k] + coordinate[k];
      }
    }
    return number;
  }

  /// The epilogue of one element.
  TYPEFLOW_DEVICE static void follow(const Arguments& a,
                                     const std::int64_t (&coordinate)[Outer + 1],
                                     std::int64_t matrix, std::int64_t row, std::int64_t column,
                                     T product) {
    Registers r{};
    get<M::body.product()>(r) = product;
    load_all(a, coordinate, row, column, r, typename M::InputNumbers{});
    const std::int64_t index = (matrix * a.size.rows + row) * a.size.columns + column;
    M::template evaluate<0>(r, a.loop.ops, {a.loop.random, index});
    store_all(a, coordinate, row, column, r, typename M::StoreNumbers{});
  }
  template <int... I>
  TYPEFLOW_DEVICE static void load_all(const Arguments& a,
                                       const std::int64_t (&coordinate)[Outer + 1],
                                       std::int64_t row, std::int64_t column, Registers& r,
                                       std::integer_sequence<int, I...>) {
    (load<I>(a, coordinate, row, column, r), ...);
  }
  template <int I>
  TYPEFLOW_DEVICE static void load(const Arguments& a, const std::int64_t (&coordinate)[Outer + 1],
                                   std::int64_t row, std::int64_t column, Registers& r) {
    using In = typename M::template Input<I>;
    using E = element_of<In::dtype>;
    if constexpr (I >= 2) {  // inputs 0 and 1 are the operands of the product
      constexpr bool along_rows = (In::axes & rows_bit) != 0;
      constexpr bool along_columns = (In::axes & columns_bit) != 0;
      if constexpr (In::is_index) {
        get<I>(r) = static_cast<E>(along_columns ? column
                                   : along_rows  ? row
                                                 : position_of<In::axes, Outer>(coordinate));
      } else {
        std::int64_t offset = offset_of<In::axes, Outer>(a.loop.in[I], coordinate);
        if constexpr (along_rows) offset += row * a.loop.in[I].stride[Outer];
        if constexpr (along_columns) offset += column * a.loop.in[I].stride[Outer + 1];
        get<I>(r) = static_cast<Computed<E>>(*a.loop.in[I].template at<const E>(offset));
      }
    }
  }
  template <int... S>
  TYPEFLOW_DEVICE static void store_all(const Arguments& a,
                                        const std::int64_t (&coordinate)[Outer + 1],
                                        std::int64_t row, std::int64_t column, const Registers& r,
                                        std::integer_sequence<int, S...>) {
    (store<S>(a, coordinate, row, column, r), ...);
  }
  template <int S>
  TYPEFLOW_DEVICE static void store(const Arguments& a, const std::int64_t (&coordinate)[Outer + 1],
                                    std::int64_t row, std::int64_t column, const Registers& r) {
    using Out = typename M::template Out<S>;
    using E = element_of<Out::dtype>;
    const std::int64_t offset = offset_of<space.whole(), Outer>(a.loop.out[S], coordinate) +
                                row * a.loop.out[S].stride[Outer] +
                                column * a.loop.out[S].stride[Outer + 1];
    *a.loop.out[S].template at<E>(offset) = static_cast<E>(get<Out::value>(r));
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
