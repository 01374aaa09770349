// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folds over an axis that has another one inside of it: column sums, gradients of biases, a softmax
// over an outer axis.
//
// A block has neighbouring columns side by side, and below one another threads that share out the
// rows. If there are few columns, a column consists of chunks, as a row does in rows.hpp: if no
// element waits for the folds, one kernel folds the chunks at the same time, and a second one
// merges them.

#include <algorithm>
#include <cstdint>

#include "typeflow/cuda/rows.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// How a block's threads lie over columns, and how many tasks there are.
struct ColumnsShape {
  int across;           ///< columns of a block, a power of two
  std::int64_t blocks;  ///< of columns, side by side
  std::int64_t outer;
  std::int64_t chunks;  ///< of the rows
  bool is_split;        ///< a block folds one chunk, not all of its columns' rows
};

/// Folds columns, or with chunks the parts of columns into the states at `partial`.
template <class Code>
__global__ void columns_kernel(typename Code::Arguments a, ColumnsShape shape,
                               typename Code::States* partial) {
  const std::int64_t parts = shape.is_split ? shape.chunks : 1;
  const std::int64_t tasks = shape.outer * parts * shape.blocks;
  for (auto task = static_cast<std::int64_t>(blockIdx.x); task < tasks;
       task += static_cast<std::int64_t>(gridDim.x)) {
    const std::int64_t number = task / shape.blocks;
    Code::columns(a, shape, number / parts, number % parts, task % shape.blocks, partial);
  }
}
/// Merges the chunks of columns. A block has the columns that it has in columns_kernel.
template <class Code>
__global__ void columns_merge_kernel(typename Code::Arguments a, ColumnsShape shape,
                                     const typename Code::States* partial) {
  const std::int64_t tasks = shape.outer * shape.blocks;
  for (auto task = static_cast<std::int64_t>(blockIdx.x); task < tasks;
       task += static_cast<std::int64_t>(gridDim.x)) {
    Code::merge_chunks(a, shape, task / shape.blocks, task % shape.blocks, partial);
  }
}

template <bool Wide, int Outer, ir::InnerExtent Inner, class B>
struct Code<ir::ColumnsKernel<Wide, Outer, Inner, B>> {
  using M = Machine<B>;
  using Registers = typename M::Registers;
  using States = typename M::States;
  static constexpr ir::KernelSpace space = ir::space_of(ir::KernelKind::columns, Outer, true);
  static constexpr unsigned inner_bit = 2u << Outer;
  using Arguments = LoopArguments<M, space.rank>;
  static constexpr int threads = 256;

  static std::int64_t workspace(const std::int64_t* extents) {
    const ColumnsShape shape = shape_of(extents);
    if (!shape.is_split) return 0;
    return shape.outer * shape.chunks * extents[Outer + 1] *
           static_cast<std::int64_t>(sizeof(States));
  }

  static void run(const KernelCall& call) {
    const Arguments a = arguments_of<M, space>(call);
    const ColumnsShape shape = shape_of(call.extents);
    const std::int64_t tasks = shape.outer * (shape.is_split ? shape.chunks : 1) * shape.blocks;
    auto* const partial = static_cast<States*>(call.workspace);
    launch(call, &columns_kernel<Code>, std::min(tasks, most_blocks), threads, a, shape, partial);
    if (!shape.is_split) return;
    launch(call, &columns_merge_kernel<Code>, std::min(shape.outer * shape.blocks, most_blocks),
           threads, a, shape, partial);
  }

  static constexpr std::int64_t width(const Arguments& a) { return a.extent[Outer + 1]; }

  /// A block's columns. All its threads call it.
  TYPEFLOW_DEVICE static void columns(const Arguments& a, const ColumnsShape& shape,
                                      std::int64_t outer, std::int64_t chunk, std::int64_t block,
                                      States* partial) {
    const Task task = task_of(a, shape, outer, block);
    const bool is_inside = task.column < width(a);
    Registers r{};
    if (is_inside) {
      load_all<-1>(a, task, 0, r, typename M::InputNumbers{});
      M::template evaluate_rows<0>(r, a.ops, {a.random, index_of_column(a, task)});
    }
    if (!shape.is_split) {
      passes(a, shape, task, is_inside, r, std::make_integer_sequence<int, M::passes>{});
      if (is_inside && task.down == 0) {
        store_all<true>(a, task, 0, r, typename M::StoreNumbers{});
      }
    } else {
      const States states = fold_chunk<0>(a, shape, task, is_inside, r, chunk);
      if (is_inside && task.down == 0) {
        partial[(outer * shape.chunks + chunk) * width(a) + task.column] = states;
      }
    }
  }

  /// A block's columns, whose chunks are folded. All its threads call it.
  TYPEFLOW_DEVICE static void merge_chunks(const Arguments& a, const ColumnsShape& shape,
                                           std::int64_t outer, std::int64_t block,
                                           const States* partial) {
    const Task task = task_of(a, shape, outer, block);
    const bool is_inside = task.column < width(a);
    const ElementContext at{a.random, index_of_column(a, task)};
    Registers r{};
    if (is_inside) {
      load_all<-1>(a, task, 0, r, typename M::InputNumbers{});
      M::template evaluate_rows<0>(r, a.ops, at);
    }
    States states;
    reset<M, 0>(states);
    constexpr int loads = 8;  // at once
    const int below = threads / shape.across;
    for (std::int64_t c = task.down; c < shape.chunks && is_inside; c += loads * below) {
      States of_chunk[loads];
      TYPEFLOW_UNROLL
      for (int j = 0; j < loads; ++j) {
        const std::int64_t chunk = c + j * below;
        if (chunk >= shape.chunks) continue;
        of_chunk[j] = partial[(outer * shape.chunks + chunk) * width(a) + task.column];
      }
      TYPEFLOW_UNROLL
      for (int j = 0; j < loads; ++j) {
        if (c + j * below < shape.chunks) merge<M, 0>(states, of_chunk[j]);
      }
    }
    const States all = merge_below<0>(shape, task, states);
    if (!is_inside || task.down != 0) return;
    finish<M, 0>(all, r);
    M::template evaluate_rows<1>(r, a.ops, at);
    store_all<true>(a, task, 0, r, typename M::StoreNumbers{});
  }

 private:
  /// A thread's work: a column, and every so many rows of it.
  struct Task {
    int across;
    int down;
    std::int64_t outer;
    std::int64_t column;
    std::int64_t coordinate[Outer + 1];
  };

  template <int I>
  static constexpr unsigned axes = M::template Input<I>::axes;
  template <int I>
  static constexpr bool folded = (axes<I> & space.folded) != 0;

  /// Whether nothing but what follows a column waits for its folds.
  static constexpr bool may_split = M::passes == 1;
  /// Rows of a chunk, from how many rows there are chunks, and up to how many blocks.
  static constexpr std::int64_t chunk_length = 128;
  static constexpr std::int64_t many_rows = 512;
  static constexpr std::int64_t few_blocks = 256;

  static constexpr ColumnsShape shape_of(const std::int64_t* extents) {
    ColumnsShape shape{1, 0, 1, 1, false};
    const std::int64_t columns = extents[Outer + 1];
    while (shape.across < warp_size && shape.across < columns) shape.across *= 2;
    shape.blocks = (columns + shape.across - 1) / shape.across;
    for (int k = 0; k < Outer; ++k) shape.outer *= extents[k];
    if (shape.outer * shape.blocks <= few_blocks && extents[Outer] >= many_rows) {
      shape.chunks = std::clamp<std::int64_t>(extents[Outer] / chunk_length, 1, 256);
    }
    shape.is_split = may_split && shape.chunks > 1;
    return shape;
  }
  /// The thread's work in a block of columns.
  TYPEFLOW_DEVICE static Task task_of(const Arguments& a, const ColumnsShape& shape,
                                      std::int64_t outer, std::int64_t block) {
    Task task;
    task.across = static_cast<int>(threadIdx.x) % shape.across;
    task.down = static_cast<int>(threadIdx.x) / shape.across;
    task.outer = outer;
    task.column = block * shape.across + task.across;
    find_coordinates<Outer>(task.coordinate, outer, a.extent);
    return task;
  }
  TYPEFLOW_DEVICE static std::int64_t index_of_column(const Arguments& a, const Task& task) {
    return task.outer * width(a) + task.column;
  }

  template <int... P>
  TYPEFLOW_DEVICE static void passes([[maybe_unused]] const Arguments& a,
                                     [[maybe_unused]] const ColumnsShape& shape,
                                     [[maybe_unused]] const Task& task,
                                     [[maybe_unused]] bool is_inside, [[maybe_unused]] Registers& r,
                                     std::integer_sequence<int, P...>) {
    (pass<P>(a, shape, task, is_inside, r), ...);
  }
  template <int P>
  TYPEFLOW_DEVICE static void pass(const Arguments& a, const ColumnsShape& shape, const Task& task,
                                   bool is_inside, Registers& r) {
    const States states = fold<P>(a, shape, task, is_inside, r);
    if constexpr (M::template has_folds<P>) {
      finish<M, P>(states, r);
      if (is_inside) {
        M::template evaluate_rows<P + 1>(r, a.ops, {a.random, index_of_column(a, task)});
      }
    }
  }
  /// Folds all rows, chunk by chunk. Threads share out the chunks as in merge_chunks, so that a sum
  /// has the same bits.
  template <int P>
  TYPEFLOW_DEVICE static States fold(const Arguments& a, const ColumnsShape& shape,
                                     const Task& task, bool is_inside, const Registers& of_column) {
    if (shape.chunks == 1) return fold_chunk<P>(a, shape, task, is_inside, of_column, 0);
    States states;
    reset<M, P>(states);
    const int below = threads / shape.across;
    for (std::int64_t c = 0; c < shape.chunks; ++c) {
      const States of_chunk = fold_chunk<P>(a, shape, task, is_inside, of_column, c);
      if (task.down == c % below) merge<M, P>(states, of_chunk);
    }
    return merge_below<P>(shape, task, states);
  }
  /// Folds the thread's rows of a chunk, and merges those of all threads below one another.
  template <int P>
  TYPEFLOW_DEVICE static States fold_chunk(const Arguments& a, const ColumnsShape& shape,
                                           const Task& task, bool is_inside,
                                           const Registers& of_column, std::int64_t chunk) {
    const std::int64_t length = a.extent[Outer];
    const std::int64_t size = (length + shape.chunks - 1) / shape.chunks;
    const std::int64_t begin = chunk * size;
    const std::int64_t end = length < begin + size ? length : begin + size;
    States states;
    reset<M, P>(states);
    const int below = threads / shape.across;
    for (std::int64_t k = begin + task.down; k < end && is_inside; k += M::at_once * below) {
      Registers r[M::at_once];
      TYPEFLOW_UNROLL
      for (int j = 0; j < M::at_once; ++j) {
        r[j] = of_column;
        const std::int64_t at = k + j * below;
        if (at < end) load_all<P>(a, task, at, r[j], typename M::InputNumbers{});
      }
      TYPEFLOW_UNROLL
      for (int j = 0; j < M::at_once; ++j) {
        const std::int64_t at = k + j * below;
        if (at >= end) continue;
        const std::int64_t index = (task.outer * a.extent[Outer] + at) * width(a) + task.column;
        M::template evaluate<P>(r[j], a.ops, {a.random, index});
        step<M, P>(states, r[j], at);
        if constexpr (P == M::passes - 1) {
          store_all<false>(a, task, at, r[j], typename M::StoreNumbers{});
        }
      }
    }
    return merge_below<P>(shape, task, states);
  }
  /// Merges the states of the threads below one another, which all get the result. All threads of
  /// the block call it.
  template <int P>
  TYPEFLOW_DEVICE static States merge_below([[maybe_unused]] const ColumnsShape& shape,
                                            [[maybe_unused]] const Task& task, States states) {
    if constexpr (!M::template has_folds<P>) {
      return states;
    } else {
      __shared__ States shared[threads];
      shared[threadIdx.x] = states;
      for (int by = threads / shape.across / 2; by > 0; by /= 2) {
        __syncthreads();
        if (task.down < by) {
          merge<M, P>(states, shared[static_cast<int>(threadIdx.x) + by * shape.across]);
          shared[threadIdx.x] = states;
        }
      }
      __syncthreads();
      const States all = shared[task.across];
      __syncthreads();  // nobody writes into `shared` again while others read
      return all;
    }
  }

  /// With P >= 0 the inputs of row k that pass P needs, else those of the column.
  template <int P, int... I>
  TYPEFLOW_DEVICE static void load_all([[maybe_unused]] const Arguments& a,
                                       [[maybe_unused]] const Task& task,
                                       [[maybe_unused]] std::int64_t k,
                                       [[maybe_unused]] Registers& r,
                                       std::integer_sequence<int, I...>) {
    (load<P, I>(a, task, k, r), ...);
  }
  template <int P, int I>
  static constexpr bool loads = [] {
    if constexpr (P < 0) {
      return !folded<I>;
    } else {
      return folded<I> && M::template needs<P, I>;
    }
  }();
  template <int P, int I>
  TYPEFLOW_DEVICE static void load(const Arguments& a, const Task& task, std::int64_t k,
                                   Registers& r) {
    using In = typename M::template Input<I>;
    using T = element_of<In::dtype>;
    if constexpr (loads<P, I>) {
      constexpr bool inner = (axes<I> & inner_bit) != 0;
      if constexpr (In::is_index) {
        get<I>(r) = static_cast<T>(inner       ? task.column
                                   : folded<I> ? k
                                               : position_of<In::axes, Outer>(task.coordinate));
      } else {
        std::int64_t offset = offset_of<In::axes, Outer>(a.in[I], task.coordinate);
        if constexpr (folded<I>) offset += k * a.in[I].stride[Outer];
        if constexpr (inner) offset += task.column * a.in[I].stride[Outer + 1];
        get<I>(r) = static_cast<Computed<T>>(*a.in[I].template at<const T>(offset));
      }
    }
  }
  template <bool OfColumn, int... S>
  TYPEFLOW_DEVICE static void store_all([[maybe_unused]] const Arguments& a,
                                        [[maybe_unused]] const Task& task,
                                        [[maybe_unused]] std::int64_t k,
                                        [[maybe_unused]] const Registers& r,
                                        std::integer_sequence<int, S...>) {
    (store<OfColumn, S>(a, task, k, r), ...);
  }
  template <bool OfColumn, int S>
  TYPEFLOW_DEVICE static void store(const Arguments& a, const Task& task, std::int64_t k,
                                    const Registers& r) {
    using Out = typename M::template Out<S>;
    using T = element_of<Out::dtype>;
    if constexpr (Out::is_row == OfColumn) {
      const std::int64_t offset = offset_of<space.whole(), Outer>(a.out[S], task.coordinate);
      *a.out[S].template at<T>(offset + k * a.out[S].stride[Outer] +
                               task.column * a.out[S].stride[Outer + 1]) =
          M::template stored<Out>(get<Out::value>(r));
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
