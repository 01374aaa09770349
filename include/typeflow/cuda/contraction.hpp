// SPDX-License-Identifier: Apache-2.0
#pragma once

// Contractions on GPUs: sums of products in tiles of registers (product_tile.hpp), and the epilogue
// that follows on them.
//
// One kernel serves all contractions. The operation says where the elements of its operands lie,
// contraction_of<O>. If there are few tiles and a long depth, several blocks share a tile: each
// sums a part of the depth, and another kernel adds up the parts in order. Extents alone decide the
// parts, so sums have the same bits in each run.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "typeflow/cuda/body.hpp"
#include "typeflow/cuda/launch.hpp"
#include "typeflow/cuda/maps.hpp"
#include "typeflow/cuda/product_plan.hpp"
#include "typeflow/cuda/tile_sums.hpp"
#include "typeflow/ops/contraction.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// The operands of contraction O on a GPU. Specialise it with
///   template <class A, class B, unsigned Variant> struct Operands : ProductOperands, with members
///     a and b, which are Sources (panels.hpp) of elements A and B; kernels get it by value
///   static ProductSize size(const std::int64_t* extents);   of all products together
///   static constexpr std::int64_t few_percent;   optional: see ProductPlan
///   static constexpr bool of_bfloat16(unsigned variant);   optional: whether all elements of float
///     operands are numbers of bfloat16
///   template <class A, class B, unsigned Variant, class F>
///   static void each_product(const O& op, const KernelCall& call, const F& launch);
///     calls launch(Operands) for products that together are the whole result.
/// Contractions without a specialisation run on the processor.
template <class O>
struct contraction_of {
  static constexpr bool is_missing = true;
};

/// The base of operands.
struct ProductOperands {
  ProductSize size;
  /// The result's row for a row of the product.
  constexpr std::int64_t result_row(std::int64_t row) const { return row; }
};

/// The number of a tile, and of the part of its depth.
struct TileNumber {
  std::int64_t matrix;
  std::int64_t group;
  std::int64_t part;
  std::int64_t row;  ///< the first one
  std::int64_t column;
};

template <class Code, class Chosen>
__global__ void __launch_bounds__(Chosen::threads, Chosen::blocks)
    contraction_kernel(typename Code::Arguments a) {
#if TYPEFLOW_HAS_TENSOR_CORES
  using Tile = Chosen;
#else
  using Tile = typename Chosen::WithoutTensorCores;  // with as many threads
#endif
  // Numbers of blocks, and so of tiles, have 31 bits.
  const ProductSize& z = a.operands.size;
  const auto across = static_cast<std::uint32_t>((z.columns + Tile::columns - 1) / Tile::columns);
  const auto down = static_cast<std::uint32_t>((z.rows + Tile::rows - 1) / Tile::rows);
  const auto parts = static_cast<std::uint32_t>(a.result.parts);
  const auto groups = static_cast<std::uint32_t>(z.groups);
  // Blocks that run together have some rows of tiles, so that they read little of b again.
  constexpr std::uint32_t rows_together = 8;
  const std::uint32_t task = blockIdx.x;
  const std::uint32_t rest = task / (down * across);
  const std::uint32_t tile = task - rest * (down * across);
  const std::uint32_t first = tile / (rows_together * across) * rows_together;
  const std::uint32_t height = down - first < rows_together ? down - first : rows_together;
  const std::uint32_t number = tile - first * across;
  const std::uint32_t matrix_and_group = rest / parts;
  Code::template tile<Tile>(a, {matrix_and_group / groups, matrix_and_group % groups, rest % parts,
                                std::int64_t{first + number % height} * Tile::rows,
                                std::int64_t{number / height} * Tile::columns});
}

/// Adds up the parts of each element: `sharers` threads of a block each sum some parts, and one
/// adds up theirs.
inline constexpr int merge_threads = 256;
template <class Code>
__global__ void contraction_merge_kernel(typename Code::Result result, int sharers) {
  __shared__ typename Code::T sums[merge_threads];
  const std::int64_t elements = result.matrices * result.rows * result.columns;
  const int mine = static_cast<int>(threadIdx.x);
  const int each = merge_threads / sharers;  // elements of a block
  for (std::int64_t first = std::int64_t{blockIdx.x} * each; first < elements;
       first += std::int64_t{gridDim.x} * each) {
    const std::int64_t i = first + mine % each;
    typename Code::T sum = 0;
    if (i < elements) sum = Code::sum_of_parts(result, elements, i, mine / each, sharers);
    if (sharers > 1) {
      sums[mine] = sum;
      __syncthreads();
      for (int n = 1; n < sharers && mine < each; ++n) {
        sum = multiply_add(sums[mine + n * each], typename Code::T(1), sum);
      }
      __syncthreads();
    }
    if (mine < each && i < elements) Code::finish(result, i, sum);
  }
}

template <class O, DType D, unsigned Variant, int Outer, class Body>
struct Code<ir::ContractionKernel<O, D, Variant, Outer, Body>> {
  using T = element_of<D>;
  using M = Machine<Body, true, T>;
  using Registers = typename M::Registers;
  using Rules = contraction_of<O>;
  static constexpr DType type_a = M::template Input<0>::dtype;
  static constexpr DType type_b = M::template Input<1>::dtype;
  using A = element_of<type_a>;
  using B = element_of<type_b>;
  using Operands = typename Rules::template Operands<A, B, Variant>;
  using Extents = ir::ContractionExtents;
  static constexpr ir::KernelSpace space = ir::space_of(ir::KernelKind::contraction, Outer, false);

  /// Tensor cores multiply 16-bit numbers without rounding, so all precisions use them.
  static constexpr Precision precision_of(Precision chosen) {
    if (type_a == type_b && type_a == DType::bfloat16) return Precision::bfloat16;
    if (type_a == type_b && type_a == DType::float16) return Precision::float16;
    if constexpr (requires { Rules::of_bfloat16(Variant); }) {
      if (Rules::of_bfloat16(Variant)) return Precision::bfloat16;
    }
    return chosen;
  }

  /// The whole result, and what its epilogue needs.
  struct Result {
    std::int64_t matrices;
    std::int64_t rows;
    std::int64_t columns;
    std::int64_t parts;
    T* sums;  ///< a result for each part, if there are several
    LoopArguments<M, space.rank> loop;
  };
  struct Arguments {
    Operands operands;
    Result result;
    std::int64_t part_steps;  ///< of the depth; the last part may have fewer
  };

  template <Precision P>
  static std::int64_t workspace_in(const std::int64_t* extents) {
    const std::int64_t parts = plan_of<P>(extents).parts;
    if (parts == 1) return 0;
    const std::int64_t rows = checked_product(matrices_of(extents), extents[Extents::rows]);
    return checked_product(checked_product(rows, extents[Extents::columns]),
                           parts * static_cast<std::int64_t>(sizeof(T)));
  }

  template <Precision P>
  static void run_in(const KernelCall& call) {
    using Tiles = ProductTiles<T, precision_of(P)>;
    const ProductPlan plan = plan_of<P>(call.extents);
    const Result result = result_of(call, plan.parts, static_cast<T*>(call.workspace));
    Rules::template each_product<A, B, Variant>(
        decode<O>(call.words), call, [&](const Operands& operands) {
          if (plan.tile == TileChoice::big) {
            launch_tiles<typename Tiles::Big>(call, operands, result);
          } else if (plan.tile == TileChoice::small) {
            launch_tiles<typename Tiles::Small>(call, operands, result);
          } else if constexpr (Tiles::has_few) {
            launch_tiles<typename Tiles::Few>(call, operands, result);
          }
        });
    if (plan.parts > 1) launch_merge(call, result);
  }

  /// The result of a call, with its sums in `parts` parts.
  static Result result_of(const KernelCall& call, std::int64_t parts, T* sums) {
    KernelCall body = call;
    body.words += word_count<O>;
    return {matrices_of(call.extents),
            call.extents[Extents::rows],
            call.extents[Extents::columns],
            parts,
            sums,
            arguments_of<M, space>(body)};
  }
  /// Adds up the parts of all elements, and computes what follows.
  static void launch_merge(const KernelCall& call, const Result& result) {
    const std::int64_t elements = result.matrices * result.rows * result.columns;
    const int sharers = sharers_of(elements, result.parts);
    const std::int64_t each = merge_threads / sharers;
    launch(call, &contraction_merge_kernel<Code>,
           std::min((elements + each - 1) / each, most_blocks), merge_threads, result, sharers);
  }
  /// How many threads share an element: several, if there are many parts of few elements.
  static constexpr int sharers_of(std::int64_t elements, std::int64_t parts) {
    return parts >= 16 && elements <= ProductPlan::multiprocessors * merge_threads ? 8 : 1;
  }
  static constexpr std::int64_t matrices_of(const std::int64_t* extents) {
    std::int64_t matrices = 1;
    for (int k = 0; k < Outer; ++k) matrices *= extents[Extents::outer + k];
    return matrices;
  }

  /// A tile of the result. All threads of the block call it.
  template <class Tile>
  TYPEFLOW_DEVICE static void tile(const Arguments& a, const TileNumber& its_number) {
    T* const memory = reinterpret_cast<T*>(launched_memory());
    // Shared, so that they take no registers while the products are summed.
    __shared__ TileNumber number;
    __shared__ ProductPlace place;
    if (threadIdx.x == 0) {
      number = its_number;
      place = place_of<Tile>(a, its_number);
    }
    __syncthreads();
    const ProductSize& z = a.operands.size;
    const Result& result = a.result;
    typename Tile::Sums sum;
    const bool has_nan = sum_products<Tile>(a.operands.a, a.operands.b, place, memory, sum);
    const auto [matrix, group, part, row, column] = number;
    std::int64_t coordinate[Outer + 1];
    find_coordinates<Outer>(coordinate, matrix, result.loop.extent);

    // Through shared memory, so that neighbouring threads have neighbouring elements, and the code
    // of the epilogue is there once.
    const int my_column = static_cast<int>(threadIdx.x) % Tile::columns;
    const std::int64_t at_column = column + my_column;
    TYPEFLOW_ROLLED
    for (int g = 0; g < Tile::stages; ++g) {
      Tile::stage(sum, g, memory);
      __syncthreads();
      if (has_nan) leave_out_padding<Tile>(a, place, g, memory);
      // Many operations hold many values of each.
      constexpr int together = M::items <= 8 ? Tile::together : 4;
      constexpr int apart = Tile::threads / Tile::columns;
      static_assert(Tile::staged_rows % (together * apart) == 0);
      TYPEFLOW_ROLLED
      for (int r = static_cast<int>(threadIdx.x) / Tile::columns; r < Tile::staged_rows;
           r += together * apart) {
        Elements<together> e;
        TYPEFLOW_UNROLL
        for (int n = 0; n < together; ++n) {
          const int staged = r + n * apart;
          const std::int64_t at_row = row + Tile::row(g, staged);
          e.inside[n] = at_row < z.rows && at_column < z.columns;
          e.row[n] = e.inside[n] ? a.operands.result_row(at_row) : 0;
          e.product[n] = memory[staged * Tile::columns + my_column];
        }
        e.column = group * z.columns + at_column;
        if (result.parts == 1) {
          follow(result, coordinate, matrix, e);
        } else {
          TYPEFLOW_UNROLL
          for (int n = 0; n < together; ++n) {
            if (!e.inside[n]) continue;
            const std::int64_t rows = (part * result.matrices + matrix) * result.rows + e.row[n];
            result.sums[rows * result.columns + e.column] = e.product[n];
          }
        }
      }
      __syncthreads();
    }
  }

  /// Sums those elements of stage g again that are NaN, which may come from padding.
  template <class Tile>
  TYPEFLOW_DEVICE static void leave_out_padding(const Arguments& a, const ProductPlace& place,
                                                int g, T* memory) {
    TYPEFLOW_ROLLED
    for (int i = static_cast<int>(threadIdx.x); i < Tile::staged_rows * Tile::columns;
         i += Tile::threads) {
      const std::int64_t row = place.row + Tile::row(g, i / Tile::columns);
      const std::int64_t column = place.column + i % Tile::columns;
      if (memory[i] == memory[i] || row >= a.operands.a.lines || column >= a.operands.b.lines) {
        continue;
      }
      memory[i] = sum_without_padding<Tile>(a.operands.a, a.operands.b, place, row, column);
    }
    __syncthreads();
  }

  /// The sum of an element's parts `begin`, `begin` + `stride`...
  TYPEFLOW_DEVICE static T sum_of_parts(const Result& result, std::int64_t elements,
                                        std::int64_t index, std::int64_t begin,
                                        std::int64_t stride) {
    if (begin >= result.parts) return T(0);
    T sum = result.sums[begin * elements + index];
    constexpr int loads = 8;  // at once
    for (std::int64_t part = begin + stride; part < result.parts; part += loads * stride) {
      T of_part[loads];
      TYPEFLOW_UNROLL
      for (int j = 0; j < loads; ++j) {
        const std::int64_t its_part = part + j * stride;
        if (its_part < result.parts) of_part[j] = result.sums[its_part * elements + index];
      }
      TYPEFLOW_UNROLL
      for (int j = 0; j < loads; ++j) {
        if (part + j * stride < result.parts) sum = multiply_add(of_part[j], T(1), sum);
      }
    }
    return sum;
  }
  /// What follows on an element's sum.
  TYPEFLOW_DEVICE static void finish(const Result& result, std::int64_t index, T sum) {
    const std::int64_t row = index / result.columns;
    const std::int64_t matrix = row / result.rows;
    std::int64_t coordinate[Outer + 1];
    find_coordinates<Outer>(coordinate, matrix, result.loop.extent);
    follow(result, coordinate, matrix,
           Elements<1>{{row - matrix * result.rows}, index - row * result.columns, {sum}, {true}});
  }

 private:
  static constexpr unsigned rows_bit = 1u << Outer;
  static constexpr unsigned columns_bit = 2u << Outer;

  /// Elements of a column of the result.
  template <int N>
  struct Elements {
    std::int64_t row[N];
    std::int64_t column;
    T product[N];
    bool inside[N];
  };

  template <Precision P>
  static constexpr ProductPlan plan_of(const std::int64_t* extents) {
    constexpr std::int64_t few_percent = [] {
      if constexpr (requires { Rules::few_percent; }) return Rules::few_percent;
      return std::int64_t{100};
    }();
    return ProductPlan::of<ProductTiles<T, precision_of(P)>>(Rules::size(extents),
                                                             matrices_of(extents), few_percent);
  }
  template <class Tile>
  static void launch_tiles(const KernelCall& call, const Operands& operands, const Result& result) {
    const ProductSize& z = operands.size;
    const std::int64_t tiles = result.matrices * z.groups * result.parts *
                               ((z.rows + Tile::rows - 1) / Tile::rows) *
                               ((z.columns + Tile::columns - 1) / Tile::columns);
    // All parts of the depth but the last are equally long.
    const std::int64_t panels = (z.depth + Tile::depth - 1) / Tile::depth;
    const std::int64_t part_steps = (panels + result.parts - 1) / result.parts * Tile::depth;
    launch_with_memory(call, &contraction_kernel<Code, Tile>, tiles, Tile::threads,
                       Tile::memory * std::int64_t{sizeof(T)}, {operands, result, part_steps});
  }

  template <class Tile>
  TYPEFLOW_DEVICE static ProductPlace place_of(const Arguments& a, const TileNumber& n) {
    const ProductSize& z = a.operands.size;
    std::int64_t coordinate[Outer + 1];
    find_coordinates<Outer>(coordinate, n.matrix, a.result.loop.extent);
    const std::int64_t length = a.part_steps;
    const std::int64_t begin = n.part * length < z.depth ? n.part * length : z.depth;
    const std::int64_t left = z.depth - begin;
    return {operand_part<0>(a.result, coordinate) * z.groups + n.group,
            operand_part<1>(a.result, coordinate) * z.groups + n.group,
            n.row,
            n.column,
            begin,
            static_cast<int>(left < length ? left : length)};
  }
  /// The number of input I's part for a matrix, among its parts along its own outer axes.
  template <int I>
  TYPEFLOW_DEVICE static std::int64_t operand_part(const Result& result,
                                                   const std::int64_t (&coordinate)[Outer + 1]) {
    std::int64_t number = 0;
    for (int k = 0; k < Outer; ++k) {
      if ((M::template Input<I>::axes >> k & 1u) != 0) {
        number = number * result.loop.extent[k] + coordinate[k];
      }
    }
    return number;
  }

  /// The epilogue of some elements.
  template <int N>
  TYPEFLOW_DEVICE static void follow(const Result& result,
                                     const std::int64_t (&coordinate)[Outer + 1],
                                     std::int64_t matrix, const Elements<N>& e) {
    Registers r[N]{};
    TYPEFLOW_UNROLL
    for (int n = 0; n < N; ++n) {
      if (!e.inside[n]) continue;
      get<M::body.product()>(r[n]) = e.product[n];
      load_all(result.loop, coordinate, e.row[n], e.column, r[n], typename M::InputNumbers{});
    }
    TYPEFLOW_UNROLL
    for (int n = 0; n < N; ++n) {
      if (!e.inside[n]) continue;
      const std::int64_t index = (matrix * result.rows + e.row[n]) * result.columns + e.column;
      M::template evaluate<0>(r[n], result.loop.ops, {result.loop.random, index});
      store_all(result.loop, coordinate, e.row[n], e.column, r[n], typename M::StoreNumbers{});
    }
  }
  template <int... I>
  TYPEFLOW_DEVICE static void load_all(const LoopArguments<M, space.rank>& loop,
                                       const std::int64_t (&coordinate)[Outer + 1],
                                       std::int64_t row, std::int64_t column, Registers& r,
                                       std::integer_sequence<int, I...>) {
    (load<I>(loop, coordinate, row, column, r), ...);
  }
  template <int I>
  TYPEFLOW_DEVICE static void load(const LoopArguments<M, space.rank>& loop,
                                   const std::int64_t (&coordinate)[Outer + 1], std::int64_t row,
                                   std::int64_t column, Registers& r) {
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
        std::int64_t offset = offset_of<In::axes, Outer>(loop.in[I], coordinate);
        if constexpr (along_rows) offset += row * loop.in[I].stride[Outer];
        if constexpr (along_columns) offset += column * loop.in[I].stride[Outer + 1];
        get<I>(r) = static_cast<Computed<E>>(*loop.in[I].template at<const E>(offset));
      }
    }
  }
  template <int... S>
  TYPEFLOW_DEVICE static void store_all(const LoopArguments<M, space.rank>& loop,
                                        const std::int64_t (&coordinate)[Outer + 1],
                                        [[maybe_unused]] std::int64_t row,
                                        [[maybe_unused]] std::int64_t column, const Registers& r,
                                        std::integer_sequence<int, S...>) {
    (store<S>(loop, coordinate, row, column, r), ...);
  }
  template <int S>
  TYPEFLOW_DEVICE static void store(const LoopArguments<M, space.rank>& loop,
                                    const std::int64_t (&coordinate)[Outer + 1], std::int64_t row,
                                    std::int64_t column, const Registers& r) {
    using Out = typename M::template Out<S>;
    using E = element_of<Out::dtype>;
    const std::int64_t offset = offset_of<space.whole(), Outer>(loop.out[S], coordinate) +
                                row * loop.out[S].stride[Outer] +
                                column * loop.out[S].stride[Outer + 1];
    *loop.out[S].template at<E>(offset) = static_cast<E>(get<Out::value>(r));
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
