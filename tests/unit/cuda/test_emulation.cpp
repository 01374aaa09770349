// SPDX-License-Identifier: Apache-2.0

// The emulation of CUDA finds the mistakes that it is there for.
//
// For the emulation alone: it is what is tested.

#include "support/cuda_on_host.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace {

using cuda_on_host::current;
using cuda_on_host::run_grid;

/// Each thread gets its neighbour's number through shared memory.
template <bool HasBarrier>
__global__ void rotate(const int* x, int* y, int count) {
  __shared__ int shared[256];
  const int i = static_cast<int>(threadIdx.x);
  shared[i] = x[i];
  if (HasBarrier) __syncthreads();
  y[i] = shared[(i + 1) % count];
}

/// Whether all seeds give the right numbers.
template <bool HasBarrier>
bool rotates(int count) {
  std::vector<int> x(static_cast<std::size_t>(count));
  for (std::uint32_t seed = 0; seed < 8; ++seed) {
    std::iota(x.begin(), x.end(), static_cast<int>(100 * seed));
    std::vector<int> y(x.size());
    run_grid([&] { rotate<HasBarrier>(x.data(), y.data(), count); }, dim3(1),
             dim3(static_cast<unsigned>(count)), seed);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (y[i] != x[(i + 1) % x.size()]) return false;
    }
  }
  return true;
}

template <class F>
std::string misuse_of(const F& kernel, unsigned threads) {
  try {
    run_grid(kernel, dim3(1), dim3(threads), 1);
  } catch (const cuda_on_host::Misuse& found) {
    return found.why;
  }
  return "";
}

}  // namespace

TEST_CASE("a kernel with its barriers is right for any order, one that lacks a barrier is not") {
  for (const int count : {2, 33, 256}) {
    CHECK(rotates<true>(count));
    CHECK_FALSE(rotates<false>(count));
  }
}

TEST_CASE("threads that wait at different barriers are found") {
  CHECK(misuse_of(
            [] {
              if (threadIdx.x < 40) __syncthreads();
            },
            64) == "only some threads of a block wait at a barrier");
  CHECK(misuse_of([] { __syncthreads(); }, 64) == "");
  CHECK(misuse_of(
            [] {
              if (threadIdx.x > 3) __syncwarp();
            },
            32) == "a thread of a warp has ended while others wait for it");
  CHECK(misuse_of([] { static_cast<void>(__shfl_sync(0xffffffffu, 1, 0)); }, 20) ==
        "a warp's function in a warp that is not full");
  CHECK(misuse_of([] { static_cast<void>(__shfl_sync(0xffu, 1, 0)); }, 32) ==
        "a mask of a part of the warp");
  CHECK(misuse_of(
            [] {
              if (threadIdx.x < 16) {
                static_cast<void>(__shfl_sync(0xffffffffu, 1, 0));
              } else {
                static_cast<void>(__ballot_sync(0xffffffffu, 1));
              }
            },
            32) == "threads of a warp are in different functions of the warp");
}

TEST_CASE(
    "each block finds as much shared memory as the launch gives, without the others' numbers") {
  constexpr int threads = 64;
  constexpr int blocks = 5;
  std::vector<std::size_t> left(blocks), sums(blocks);
  run_grid(
      [&] {
        unsigned char* const memory = reinterpret_cast<unsigned char*>(current.memory);
        left[blockIdx.x] += memory[threadIdx.x] == blockIdx.x + 1;
        __syncthreads();
        memory[threadIdx.x] = static_cast<unsigned char>(blockIdx.x + 1);
        __syncthreads();
        if (threadIdx.x != 0) return;
        for (int i = 0; i < threads; ++i) sums[blockIdx.x] += memory[i];
      },
      dim3(blocks), dim3(threads), 3, threads);
  for (std::size_t b = 0; b < blocks; ++b) {
    CHECK(left[b] == 0);
    CHECK(sums[b] == threads * (b + 1));
  }
  CHECK(current.memory == nullptr);
}

TEST_CASE("shuffles, votes and atomics are CUDA's") {
  std::vector<int> down(64), up(64), exclusive(64), from(64);
  std::vector<unsigned> ballot(64);
  int sum = 0;
  unsigned most = 0;
  run_grid(
      [&] {
        const unsigned i = threadIdx.x;
        const int x = static_cast<int>(i);
        down[i] = __shfl_down_sync(0xffffffffu, x, 3);
        up[i] = __shfl_up_sync(0xffffffffu, x, 5);
        exclusive[i] = __shfl_xor_sync(0xffffffffu, x, 9);
        from[i] = __shfl_sync(0xffffffffu, x, 7);
        ballot[i] = __ballot_sync(0xffffffffu, i % 3 == 0);
        atomicAdd(&sum, x);
        atomicMax(&most, i);
      },
      dim3(1), dim3(64), 5);
  for (unsigned i = 0; i < 64; ++i) {
    const unsigned lane = i % 32;
    const unsigned first = i - lane;
    CHECK(down[i] == static_cast<int>(lane + 3 < 32 ? i + 3 : i));
    CHECK(up[i] == static_cast<int>(lane >= 5 ? i - 5 : i));
    CHECK(exclusive[i] == static_cast<int>(first + (lane ^ 9u)));
    CHECK(from[i] == static_cast<int>(first + 7));
    for (unsigned k = 0; k < 32; ++k) CHECK((ballot[i] >> k & 1u) == ((first + k) % 3 == 0));
  }
  CHECK(sum == 63 * 64 / 2);
  CHECK(most == 63);
}
