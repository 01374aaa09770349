// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folds of several threads: what each thread has is merged, in an order that does not depend on
// timing.

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "typeflow/cuda/body.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// A value of another lane, word by word.
template <class T, class F>
TYPEFLOW_DEVICE T shuffled(const T& value, const F& shuffle) {
  static_assert(std::is_trivially_copyable_v<T>);
  constexpr int words = static_cast<int>((sizeof(T) + 3) / 4);
  unsigned word[words] = {};
  memcpy(word, &value, sizeof(T));
  for (int i = 0; i < words; ++i) word[i] = shuffle(word[i]);
  T out;
  memcpy(&out, word, sizeof(T));
  return out;
}

/// Calls f(std::integral_constant<int, I>) for each fold I of pass P.
template <class M, int P, class F, int... I>
TYPEFLOW_DEVICE void each_fold([[maybe_unused]] const F& f, std::integer_sequence<int, I...>) {
  [[maybe_unused]] const auto call =
      [&]<int J>([[maybe_unused]] std::integral_constant<int, J> number) {
        if constexpr (M::template folds_in<P, J>) f(number);
      };
  (call(std::integral_constant<int, I>{}), ...);
}
template <class M, int P, class F>
TYPEFLOW_DEVICE void each_fold(const F& f) {
  each_fold<M, P>(f, typename M::ItemNumbers{});
}

template <class M, int P>
TYPEFLOW_DEVICE void reset(typename M::States& states) {
  each_fold<M, P>([&](auto i) { get<decltype(i)::value>(states).reset(); });
}
template <class M, int P>
TYPEFLOW_DEVICE void merge(typename M::States& states, const typename M::States& other) {
  each_fold<M, P>(
      [&](auto i) { get<decltype(i)::value>(states).merge(get<decltype(i)::value>(other)); });
}
/// Takes an element whose values are in `r`.
template <class M, int P>
TYPEFLOW_DEVICE void step(typename M::States& states, const typename M::Registers& r,
                          std::int64_t at) {
  each_fold<M, P>([&](auto i) {
    constexpr int fold = decltype(i)::value;
    get<fold>(states).step(get<M::template fold_argument<fold>>(r), at);
  });
}
/// Puts the folds' results into the values of a row.
template <class M, int P>
TYPEFLOW_DEVICE void finish(const typename M::States& states, typename M::Registers& r) {
  each_fold<M, P>([&](auto i) {
    constexpr int fold = decltype(i)::value;
    get<M::first_item + fold>(r) = get<fold>(states).result();
  });
}

/// Merges the states of a warp; all its threads get the result.
template <class M, int P>
TYPEFLOW_DEVICE void merge_warp(typename M::States& states) {
  each_fold<M, P>([&](auto i) {
    auto& state = get<decltype(i)::value>(states);
    for (unsigned by = warp_size / 2; by > 0; by /= 2) {
      state.merge(
          shuffled(state, [by](unsigned word) { return __shfl_down_sync(whole_warp, word, by); }));
    }
    state = shuffled(state, [](unsigned word) { return __shfl_sync(whole_warp, word, 0); });
  });
}

/// Copies the states of the folds of pass P. The whole tuple has empty members, too, whose bytes
/// nvcc keeps in local memory.
template <class M, int P>
TYPEFLOW_DEVICE void copy_states(typename M::States& to, const typename M::States& from) {
  each_fold<M, P>([&](auto i) { get<decltype(i)::value>(to) = get<decltype(i)::value>(from); });
}

/// Merges the states of a block of `Warps` full warps; all its threads get the result. `shared` has
/// room for the states of each warp. All threads of the block call it.
template <class M, int P, int Warps>
TYPEFLOW_DEVICE void merge_block(typename M::States& states, typename M::States* shared) {
  merge_warp<M, P>(states);
  if (threadIdx.x % warp_size == 0) copy_states<M, P>(shared[threadIdx.x / warp_size], states);
  __syncthreads();
  copy_states<M, P>(states, shared[0]);
  for (int w = 1; w < Warps; ++w) merge<M, P>(states, shared[w]);
  __syncthreads();  // nobody writes into `shared` again while others read
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
