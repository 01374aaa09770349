// SPDX-License-Identifier: Apache-2.0
#pragma once

// Selecting some of many elements, in order: where, boolean_mask, unique.
//
// Blocks count the chosen elements of their chunks, one block adds up the counts, then every chosen
// element knows its number.

#include <cstdint>

#include "typeflow/cuda/loops.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

inline constexpr int chunk_length = 4 * loop_threads;

inline constexpr std::int64_t chunks_for(std::int64_t count) {
  return (count + chunk_length - 1) / chunk_length;
}
/// Bytes of workspace for choosing among `count` elements.
inline std::int64_t compaction_workspace(std::int64_t count) {
  return checked_product(chunks_for(count) + 1, sizeof(std::int64_t));
}

template <class Test>
__global__ void count_chosen_kernel(const __grid_constant__ Test test, std::int64_t count,
                                    std::int64_t* counts) {
  __shared__ unsigned chosen;
  for (auto chunk = static_cast<std::int64_t>(blockIdx.x); chunk * chunk_length < count;
       chunk += static_cast<std::int64_t>(gridDim.x)) {
    if (threadIdx.x == 0) chosen = 0;
    __syncthreads();
    unsigned mine = 0;
    for (int k = 0; k < chunk_length; k += loop_threads) {
      const std::int64_t i = chunk * chunk_length + k + static_cast<std::int64_t>(threadIdx.x);
      if (i < count && test.is_chosen(i)) ++mine;
    }
    if (mine > 0) atomicAdd(&chosen, mine);
    __syncthreads();
    if (threadIdx.x == 0) counts[chunk] = static_cast<std::int64_t>(chosen);
    __syncthreads();  // nobody resets the count while others add
  }
}

/// The sum of the values of the threads before this one. `shared` has room for a value of each; the
/// last place gets the sum of all.
template <class T>
TYPEFLOW_DEVICE T sum_before(T value, T* shared) {
  const int me = static_cast<int>(threadIdx.x);
  T sum = value;
  for (int by = 1; by < loop_threads; by *= 2) {
    shared[me] = sum;
    __syncthreads();
    if (me >= by) sum += shared[me - by];
    __syncthreads();
  }
  shared[me] = sum;
  __syncthreads();
  return sum - value;
}

/// Replaces the counts of chunks by the numbers of chosen elements before them, and calls
/// finish(total) in one thread. One block.
template <class Finish>
__global__ void add_counts_kernel(Finish finish, std::int64_t chunks, std::int64_t* counts) {
  __shared__ std::int64_t shared[loop_threads];
  const std::int64_t share = (chunks + loop_threads - 1) / loop_threads;
  const std::int64_t begin = static_cast<std::int64_t>(threadIdx.x) * share;
  const std::int64_t end = begin + share < chunks ? begin + share : chunks;
  std::int64_t sum = 0;
  for (std::int64_t i = begin; i < end; ++i) sum += counts[i];
  std::int64_t before = sum_before(sum, shared);
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t own = counts[i];
    counts[i] = before;
    before += own;
  }
  if (threadIdx.x == 0) {
    counts[chunks] = shared[loop_threads - 1];
    finish(shared[loop_threads - 1]);
  }
}

template <class Test>
__global__ void write_chosen_kernel(const __grid_constant__ Test test, std::int64_t count,
                                    const std::int64_t* counts) {
  constexpr int each = chunk_length / loop_threads;  // neighbours
  __shared__ int shared[loop_threads];
  for (auto chunk = static_cast<std::int64_t>(blockIdx.x); chunk * chunk_length < count;
       chunk += static_cast<std::int64_t>(gridDim.x)) {
    const std::int64_t first = chunk * chunk_length + static_cast<std::int64_t>(threadIdx.x) * each;
    unsigned bits = 0;
    int mine = 0;
    for (int k = 0; k < each; ++k) {
      if (first + k >= count || !test.is_chosen(first + k)) continue;
      bits |= 1u << k;
      ++mine;
    }
    std::int64_t number = counts[chunk] + sum_before(mine, shared);
    for (int k = 0; k < each; ++k) {
      if ((bits >> k & 1u) != 0) test.write(first + k, number++);
    }
    __syncthreads();  // nobody writes into `shared` again while others read
  }
}

/// Calls test.write(i, number) for each i in [0, count) with test.is_chosen(i), where `number`
/// counts them in order, and before that finish(how many there are). Returns where this total is;
/// `counts` is workspace.
template <class Test, class Finish>
const std::int64_t* choose(const KernelCall& call, std::int64_t count, const Test& test,
                           const Finish& finish, void* workspace) {
  auto* const counts = static_cast<std::int64_t*>(workspace);
  const std::int64_t blocks = blocks_for(count, chunk_length);
  launch(call, &count_chosen_kernel<Test>, blocks, loop_threads, test, count, counts);
  launch(call, &add_counts_kernel<Finish>, 1, loop_threads, finish, chunks_for(count), counts);
  launch(call, &write_chosen_kernel<Test>, blocks, loop_threads, test, count,
         static_cast<const std::int64_t*>(counts));
  return counts + chunks_for(count);
}

/// Stores the total, and reports that it is larger than the bound.
struct StoreCount {
  std::int32_t* out;
  std::int64_t bound;
  std::int32_t what;  ///< the mistake's number
  Failure* found;

  TYPEFLOW_DEVICE void operator()(std::int64_t total) const {
    const bool fits = total <= bound;
    *out = static_cast<std::int32_t>(fits ? total : bound);
    if (!fits && found->what == 0) write_failure({what, {bound, total}}, found);
  }
};

/// Fills the results from the total on.
template <class T>
struct FillRest {
  T* out;
  T value;
  const std::int64_t* total;
  std::int64_t width;  ///< elements of a result

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index i) const {
    if (static_cast<std::int64_t>(i) >= *total * width) out[i] = value;
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
