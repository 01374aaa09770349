// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folds over the innermost axis with what follows them: sums, softmax, norms.
//
// A warp goes over a short row, a block over a long one, in as many passes as the folds need. What
// passes share stays in shared memory, if a row has room there (kept_values.hpp). If
// there are few long rows, a row consists of chunks that are folded one by one, then merged. If no
// element waits for the folds, one kernel folds the chunks at the same time, and a second one
// merges them. Extents alone decide the order, so a sum has the same bits in each run, and whatever
// is fused with it.

#include <algorithm>
#include <cstdint>

#include "typeflow/cuda/groups.hpp"
#include "typeflow/cuda/kept_values.hpp"
#include "typeflow/cuda/maps.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// `Threads` threads for each row: a warp, of which a block has several, or a block. Each row has
/// so many bytes of shared memory if its passes keep values.
template <class Code, int Threads, bool Keeps>
__global__ void row_kernel(typename Code::Arguments a, std::int64_t rows, std::int64_t bytes) {
  const auto in_block = static_cast<std::int64_t>(threadIdx.x / Threads);
  const auto groups = static_cast<std::int64_t>(blockDim.x / Threads);
  std::byte* const kept = Keeps ? launched_memory() + in_block * bytes : nullptr;
  const auto stride = static_cast<std::int64_t>(gridDim.x) * groups;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * groups + in_block; row < rows;
       row += stride) {
    Code::template row<Threads, Keeps>(a, row, kept);
  }
}

/// Folds the chunks of rows into the states at `partial`, a block for each.
template <class Code>
__global__ void row_chunk_kernel(typename Code::Arguments a, std::int64_t rows, std::int64_t chunks,
                                 typename Code::States* partial) {
  for (auto task = static_cast<std::int64_t>(blockIdx.x); task < rows * chunks;
       task += static_cast<std::int64_t>(gridDim.x)) {
    Code::chunk(a, task / chunks, task % chunks, chunks, partial + task);
  }
}
/// Merges the chunks of each row, a warp for each row.
template <class Code>
__global__ void row_merge_kernel(typename Code::Arguments a, std::int64_t rows, std::int64_t chunks,
                                 const typename Code::States* partial) {
  constexpr int warps = Code::threads / warp_size;
  const auto stride = static_cast<std::int64_t>(gridDim.x) * warps;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * warps +
                          static_cast<std::int64_t>(threadIdx.x / warp_size);
       row < rows; row += stride) {
    Code::merge_chunks(a, row, chunks, partial + row * chunks);
  }
}

template <bool Wide, int Outer, ir::InnerExtent Inner, class B>
struct Code<ir::LoopKernel<Wide, Outer, true, Inner, B>> {
  using M = Machine<B>;
  using Registers = typename M::Registers;
  using States = typename M::States;
  static constexpr ir::KernelSpace space = ir::space_of(ir::KernelKind::loop, Outer, true);
  static constexpr unsigned inner_bit = 1u << Outer;
  using Arguments = LoopArguments<M, space.rank>;
  static constexpr int threads = 256;

  static std::int64_t workspace(const std::int64_t* extents) {
    const std::int64_t chunks = chunks_of(extents);
    return chunks == 1 ? 0 : rows_of(extents) * chunks * static_cast<std::int64_t>(sizeof(States));
  }

  static void run(const KernelCall& call) {
    const Arguments a = arguments_of<M, space>(call);
    const std::int64_t rows = rows_of(call.extents);
    const std::int64_t chunks = chunks_of(call.extents);
    if constexpr (may_split) {
      if (chunks > 1) return run_chunks(call, a, rows, chunks);
    }
    if (a.extent[Outer] <= long_row) {
      launch_rows<warp_size, Kept::any>(call, a, rows);
    } else if (Kept::any && chunks == 1 && Kept::bytes(a.extent[Outer]) <= most_kept) {
      launch_rows<threads, Kept::any>(call, a, rows);
    } else {
      launch_rows<threads, false>(call, a, rows);
    }
  }

  /// One row, by `Threads` threads. `kept` is shared memory for the values that passes keep.
  template <int Threads, bool Keeps>
  TYPEFLOW_DEVICE static void row(const Arguments& a, std::int64_t row, std::byte* kept) {
    std::int64_t coordinate[Outer + 1];
    find_coordinates<Outer>(coordinate, row, a.extent);
    Registers r{};
    enter_row(a, coordinate, r, typename M::InputNumbers{});
    M::template evaluate_rows<0>(r, a.ops, {a.random, row});
    passes<Threads, Keeps>(a, coordinate, row, r, kept,
                           std::make_integer_sequence<int, M::passes>{});
    if (threadIdx.x % Threads == 0) store_row(a, coordinate, r, typename M::StoreNumbers{});
  }

  TYPEFLOW_DEVICE static void chunk(const Arguments& a, std::int64_t row, std::int64_t number,
                                    std::int64_t chunks, States* out) {
    __shared__ States shared[threads / warp_size];
    std::int64_t coordinate[Outer + 1];
    find_coordinates<Outer>(coordinate, row, a.extent);
    Registers r{};
    enter_row(a, coordinate, r, typename M::InputNumbers{});
    M::template evaluate_rows<0>(r, a.ops, {a.random, row});
    States states;
    reset<M, 0>(states);
    elements<0, threads, false>(a, coordinate, row, r, states, begin_of(a, number, chunks),
                                begin_of(a, number + 1, chunks), nullptr);
    merge_block<M, 0, threads / warp_size>(states, shared);
    if (threadIdx.x == 0) copy_states<M, 0>(*out, states);
  }

  TYPEFLOW_DEVICE static void merge_chunks(const Arguments& a, std::int64_t row,
                                           std::int64_t chunks, const States* partial) {
    std::int64_t coordinate[Outer + 1];
    find_coordinates<Outer>(coordinate, row, a.extent);
    Registers r{};
    enter_row(a, coordinate, r, typename M::InputNumbers{});
    M::template evaluate_rows<0>(r, a.ops, {a.random, row});
    States states;
    reset<M, 0>(states);
    for (auto i = static_cast<std::int64_t>(threadIdx.x % warp_size); i < chunks; i += warp_size) {
      merge<M, 0>(states, partial[i]);
    }
    merge_warp<M, 0>(states);
    finish<M, 0>(states, r);
    M::template evaluate_rows<1>(r, a.ops, {a.random, row});
    if (threadIdx.x % warp_size == 0) store_row(a, coordinate, r, typename M::StoreNumbers{});
  }

 private:
  using Kept = KeptValues<M, inner_bit>;
  /// Bytes of shared memory of a block for values that passes keep.
  static constexpr std::int64_t most_kept = 40 << 10;
  /// Rows up to this length are a warp's.
  static constexpr std::int64_t long_row = 1024;
  /// The length of a chunk, and up to how many rows are divided.
  static constexpr std::int64_t chunk_length = 8192;
  static constexpr std::int64_t few_rows = 256;

  template <int I>
  using InElement = element_of<M::template Input<I>::dtype>;
  template <int S>
  using OutElement = element_of<M::template Out<S>::dtype>;
  template <int I>
  static constexpr bool along_row = (M::template Input<I>::axes & inner_bit) != 0;

  /// Whether elements are 16 bits of one operand at most: where they are stored, too, twice as many
  /// are loaded at once.
  static constexpr bool is_narrow = [] {
    int bytes = 0;
    for (int i = 0; i < M::inputs; ++i) {
      const ir::InputSpec& in = M::input_specs[i];
      if (!in.is_index && (in.axes & inner_bit) != 0) bytes += size_of(in.dtype);
    }
    return bytes <= 2;
  }();
  static constexpr int loads_at_once = M::at_once * (is_narrow ? 2 : 1);

  /// Whether nothing but what follows a row waits for its folds.
  static constexpr bool may_split = M::passes == 1;
  static constexpr bool stores_elements = [] {
    bool found = false;
    for (int s = 0; s < M::stores; ++s) found = found || !M::store_specs[s].is_row;
    return found;
  }();
  static constexpr std::int64_t rows_of(const std::int64_t* extents) {
    std::int64_t rows = 1;
    for (int k = 0; k < Outer; ++k) rows *= extents[k];
    return rows;
  }
  static constexpr std::int64_t chunks_of(const std::int64_t* extents) {
    if (rows_of(extents) > few_rows) return 1;
    return std::clamp<std::int64_t>(extents[Outer] / chunk_length, 1, 1024);
  }
  /// The first element of a chunk.
  static constexpr std::int64_t begin_of(const Arguments& a, std::int64_t chunk,
                                         std::int64_t chunks) {
    const std::int64_t size = (a.extent[Outer] + chunks - 1) / chunks;
    return a.extent[Outer] < chunk * size ? a.extent[Outer] : chunk * size;
  }

  static void run_chunks(const KernelCall& call, const Arguments& a, std::int64_t rows,
                         std::int64_t chunks) {
    constexpr std::int64_t warps = threads / warp_size;
    auto* const partial = static_cast<States*>(call.workspace);
    launch(call, &row_chunk_kernel<Code>, std::min(rows * chunks, most_blocks), threads, a, rows,
           chunks, partial);
    launch(call, &row_merge_kernel<Code>, std::min((rows + warps - 1) / warps, most_blocks),
           threads, a, rows, chunks, partial);
  }
  template <int Threads, bool Keeps>
  static void launch_rows(const KernelCall& call, const Arguments& a, std::int64_t rows) {
    const std::int64_t bytes = Keeps ? Kept::bytes(a.extent[Outer]) : 0;
    const std::int64_t room =
        std::max<std::int64_t>(1, most_kept / std::max<std::int64_t>(1, bytes));
    const std::int64_t groups = std::min<std::int64_t>(room, threads / Threads);  // of a block
    launch_with_memory(call, &row_kernel<Code, Threads, Keeps>,
                       std::min((rows + groups - 1) / groups, most_blocks),
                       static_cast<int>(groups) * Threads, groups * bytes, a, rows, bytes);
  }

  template <int Threads, bool Keeps, int... P>
  TYPEFLOW_DEVICE static void passes([[maybe_unused]] const Arguments& a,
                                     [[maybe_unused]] const std::int64_t (&coordinate)[Outer + 1],
                                     [[maybe_unused]] std::int64_t row,
                                     [[maybe_unused]] Registers& r,
                                     [[maybe_unused]] std::byte* kept,
                                     std::integer_sequence<int, P...>) {
    (pass<Threads, Keeps, P>(a, coordinate, row, r, kept), ...);
  }
  template <int Threads, bool Keeps, int P>
  TYPEFLOW_DEVICE static void pass(const Arguments& a, const std::int64_t (&coordinate)[Outer + 1],
                                   std::int64_t row, Registers& r, std::byte* kept) {
    States states;
    reset<M, P>(states);
    if constexpr (!M::template has_folds<P>) {
      elements<P, Threads, Keeps>(a, coordinate, row, r, states, 0, a.extent[Outer], kept);
    } else {
      if constexpr (Threads == warp_size) {
        elements<P, Threads, Keeps>(a, coordinate, row, r, states, 0, a.extent[Outer], kept);
        merge_warp<M, P>(states);
      } else {
        __shared__ States shared[Threads / warp_size];
        const std::int64_t chunks = chunks_of(a.extent);
        for (std::int64_t c = 0; c < chunks; ++c) {
          States of_chunk;
          reset<M, P>(of_chunk);
          elements<P, Threads, Keeps>(a, coordinate, row, r, of_chunk, begin_of(a, c, chunks),
                                      begin_of(a, c + 1, chunks), kept);
          merge_block<M, P, Threads / warp_size>(of_chunk, shared);
          // As merge_chunks does, in each warp.
          if (threadIdx.x % warp_size == c % warp_size) merge<M, P>(states, of_chunk);
        }
        merge_warp<M, P>(states);
      }
      finish<M, P>(states, r);
      M::template evaluate_rows<P + 1>(r, a.ops, {a.random, row});
    }
  }
  /// Elements [begin, end) of a row, shared out over `Threads` threads. With Keeps they are all of
  /// the row, so that a thread has the same ones in each pass.
  template <int P, int Threads, bool Keeps>
  TYPEFLOW_DEVICE static void elements(const Arguments& a,
                                       const std::int64_t (&coordinate)[Outer + 1],
                                       std::int64_t row, const Registers& of_row, States& states,
                                       std::int64_t begin, std::int64_t end,
                                       [[maybe_unused]] std::byte* kept) {
    using Known = std::conditional_t<Keeps, Kept, void>;
    using Index = std::conditional_t<Keeps, std::int32_t, std::int64_t>;  // such rows are short
    [[maybe_unused]] const auto length = static_cast<Index>(a.extent[Outer]);
    // Without stores the compiler joins the loads of several steps on its own.
    constexpr bool stores = Keeps || (P == M::passes - 1 && stores_elements);
    constexpr int at_once = stores ? loads_at_once : 1;
    const auto last = static_cast<Index>(end);
    // Elements i, i + Threads...: all of them if `full`, else those before the last.
    const auto compute = [&](Index i, auto full) {
      constexpr bool is_full = decltype(full)::value;
      Registers r[at_once];
      TYPEFLOW_UNROLL
      for (int j = 0; j < at_once; ++j) {
        r[j] = of_row;
        const Index at = i + j * Threads;
        if (!is_full && at >= last) continue;
        load_element<P, Known>(a, coordinate, at, r[j], typename M::InputNumbers{});
        if constexpr (Keeps) Kept::template take<P>(kept, length, at, r[j]);
      }
      TYPEFLOW_UNROLL
      for (int j = 0; j < at_once; ++j) {
        const Index at = i + j * Threads;
        if (!is_full && at >= last) continue;
        M::template evaluate<P, Known>(r[j], a.ops, {a.random, row * a.extent[Outer] + at});
        if constexpr (Keeps) Kept::template keep<P>(kept, length, at, r[j]);
        step<M, P>(states, r[j], at);
        if constexpr (P == M::passes - 1) {
          store_element(a, coordinate, at, r[j], typename M::StoreNumbers{});
        }
      }
    };
    const auto me = static_cast<Index>(threadIdx.x % Threads);
    auto first = static_cast<Index>(begin);
    if constexpr (Keeps) {  // groups without a test for each element
      TYPEFLOW_ROLLED
      for (; first + at_once * Threads <= last; first += at_once * Threads) {
        compute(first + me, std::true_type{});
      }
    }
    [[maybe_unused]] constexpr int unrolled = std::max(1, 4 / at_once);  // in the pragma
    TYPEFLOW_UNROLL_BY(unrolled)
    for (Index i = first + me; i < last; i += at_once * Threads) compute(i, std::false_type{});
  }

  template <int... I>
  TYPEFLOW_DEVICE static void enter_row(
      [[maybe_unused]] const Arguments& a,
      [[maybe_unused]] const std::int64_t (&coordinate)[Outer + 1], [[maybe_unused]] Registers& r,
      std::integer_sequence<int, I...>) {
    (enter<I>(a, coordinate, r), ...);
  }
  template <int I>
  TYPEFLOW_DEVICE static void enter(const Arguments& a, const std::int64_t (&coordinate)[Outer + 1],
                                    Registers& r) {
    using In = typename M::template Input<I>;
    using T = InElement<I>;
    if constexpr (!along_row<I>) {
      if constexpr (In::is_index) {
        get<I>(r) = static_cast<T>(position_of<In::axes, Outer>(coordinate));
      } else {
        get<I>(r) = static_cast<Computed<T>>(
            *a.in[I].template at<const T>(offset_of<In::axes, Outer>(a.in[I], coordinate)));
      }
    }
  }
  template <int P, class Known, int... I>
  TYPEFLOW_DEVICE static void load_element(
      [[maybe_unused]] const Arguments& a,
      [[maybe_unused]] const std::int64_t (&coordinate)[Outer + 1], [[maybe_unused]] std::int64_t i,
      [[maybe_unused]] Registers& r, std::integer_sequence<int, I...>) {
    (load<P, Known, I>(a, coordinate, i, r), ...);
  }
  template <int P, class Known, int I>
  TYPEFLOW_DEVICE static void load(const Arguments& a, const std::int64_t (&coordinate)[Outer + 1],
                                   std::int64_t i, Registers& r) {
    using In = typename M::template Input<I>;
    using T = InElement<I>;
    if constexpr (along_row<I> && M::template computes<P, I, Known>()) {
      if constexpr (In::is_index) {
        get<I>(r) = static_cast<T>(i);
      } else {
        const std::int64_t offset = offset_of<In::axes, Outer>(a.in[I], coordinate);
        get<I>(r) = static_cast<Computed<T>>(
            *a.in[I].template at<const T>(offset + i * a.in[I].stride[Outer]));
      }
    }
  }
  template <int... S>
  TYPEFLOW_DEVICE static void store_element(
      [[maybe_unused]] const Arguments& a,
      [[maybe_unused]] const std::int64_t (&coordinate)[Outer + 1], [[maybe_unused]] std::int64_t i,
      [[maybe_unused]] const Registers& r, std::integer_sequence<int, S...>) {
    (store<false, S>(a, coordinate, i, r), ...);
  }
  template <int... S>
  TYPEFLOW_DEVICE static void store_row(
      [[maybe_unused]] const Arguments& a,
      [[maybe_unused]] const std::int64_t (&coordinate)[Outer + 1],
      [[maybe_unused]] const Registers& r, std::integer_sequence<int, S...>) {
    (store<true, S>(a, coordinate, 0, r), ...);
  }
  template <bool OfRow, int S>
  TYPEFLOW_DEVICE static void store(const Arguments& a, const std::int64_t (&coordinate)[Outer + 1],
                                    std::int64_t i, const Registers& r) {
    using Out = typename M::template Out<S>;
    using T = OutElement<S>;
    if constexpr (Out::is_row == OfRow) {
      const std::int64_t offset = offset_of<space.whole(), Outer>(a.out[S], coordinate);
      *a.out[S].template at<T>(offset + i * a.out[S].stride[Outer]) =
          M::template stored<Out>(get<Out::value>(r));
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
