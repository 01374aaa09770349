// SPDX-License-Identifier: Apache-2.0
#pragma once

// What kernels of single operations share: a thread for each element, units of bytes to move,
// indices of any integer type, and mistakes that kernels find in their data.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "typeflow/cuda/custom.hpp"
#include "typeflow/cuda/launch.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

inline constexpr int loop_threads = 256;

/// The number of this thread in the grid, and the number of the grid's threads.
template <class Index>
TYPEFLOW_DEVICE Index grid_thread() {
  return static_cast<Index>(blockIdx.x) * static_cast<Index>(blockDim.x) +
         static_cast<Index>(threadIdx.x);
}
template <class Index>
TYPEFLOW_DEVICE Index grid_threads() {
  return static_cast<Index>(gridDim.x) * static_cast<Index>(blockDim.x);
}

template <class Index, class F>
__global__ void each_kernel(const __grid_constant__ F f, Index count) {
  for (auto i = grid_thread<Index>(); i < count; i += grid_threads<Index>()) f(i);
}

/// The number of blocks for `count` elements, if a block does `size` at a time.
inline std::int64_t blocks_for(std::int64_t count, std::int64_t size) {
  return std::min((count + size - 1) / size, most_blocks);
}

/// Calls f(i) on the GPU for each i in [0, count), in any order. i is std::uint32_t if that is
/// enough, because its division is faster.
template <class F>
void each(const KernelCall& call, std::int64_t count, const F& f) {
  const std::int64_t blocks = blocks_for(count, loop_threads);
  if (count < std::numeric_limits<std::int32_t>::max()) {
    launch(call, &each_kernel<std::uint32_t, F>, blocks, loop_threads, f,
           static_cast<std::uint32_t>(count));
  } else {
    launch(call, &each_kernel<std::int64_t, F>, blocks, loop_threads, f, count);
  }
}

template <class Index, class F>
__global__ void __launch_bounds__(loop_threads, 3)
    each_unless_kernel(const __grid_constant__ F f, Index count, const Failure* found) {
  __shared__ bool stops;
  // Once for a block: it is the host's memory.
  if (threadIdx.x == 0) stops = found != nullptr && found->what != 0;
  __syncthreads();
  if (stops) return;
  for (auto i = grid_thread<Index>(); i < count; i += grid_threads<Index>()) f(i);
}
/// The same, unless an earlier kernel has put a mistake into the record `found`, which may be null.
/// For changes in place.
template <class F>
void each_unless(const KernelCall& call, const Failure* found, std::int64_t count, const F& f) {
  const std::int64_t blocks = blocks_for(count, loop_threads);
  if (count < std::numeric_limits<std::int32_t>::max()) {
    launch(call, &each_unless_kernel<std::uint32_t, F>, blocks, loop_threads, f,
           static_cast<std::uint32_t>(count), found);
  } else {
    launch(call, &each_unless_kernel<std::int64_t, F>, blocks, loop_threads, f, count, found);
  }
}

/// The remainder of a division; the quotient replaces the dividend.
template <class Index>
TYPEFLOW_DEVICE std::int64_t next_digit(Index& rest, std::int64_t extent) {
  const auto size = static_cast<Index>(extent);
  const auto quotient = static_cast<Index>(rest / size);
  const auto digit = static_cast<std::int64_t>(rest - quotient * size);
  rest = quotient;
  return digit;
}

inline void copy_bytes(const KernelCall& call, void* to, const void* from, std::int64_t bytes) {
  if (bytes == 0 || to == from) return;
  CudaStream& stream = stream_of(call);
  stream.use_device();
  detail::check_cuda(stream.runtime(),
                     stream.runtime().copy(to, from, static_cast<std::size_t>(bytes),
                                           cudaMemcpyDeviceToDevice, stream.get()),
                     "copying within the device");
}
inline void fill_bytes(const KernelCall& call, void* data, int byte, std::int64_t bytes) {
  if (bytes == 0) return;
  CudaStream& stream = stream_of(call);
  stream.use_device();
  detail::check_cuda(
      stream.runtime(),
      stream.runtime().fill(data, byte, static_cast<std::size_t>(bytes), stream.get()),
      "clearing memory");
}

// Units: elements of any type, or several at once.

/// N bytes that one access moves.
template <int N>
struct alignas(N) Unit {
  std::byte byte[N];
};

/// Calls f(Unit<N>{}) for N bytes: 1, 2, 4, 8 or 16.
template <class F>
void visit_unit(std::int64_t bytes, F&& f) {
  switch (bytes) {
    case 1:
      return f(Unit<1>{});
    case 2:
      return f(Unit<2>{});
    case 4:
      return f(Unit<4>{});
    case 8:
      return f(Unit<8>{});
    default:
      return f(Unit<16>{});
  }
}
/// The same for one element of a type.
template <class F>
void visit_size(DType type, F&& f) {
  visit_unit(size_of(type), [&]<int N>(Unit<N> unit) {
    if constexpr (N <= 8) f(unit);  // complex numbers stay on the host
  });
}

/// The largest unit of which all these bytes are a multiple. Addresses and distances are joined by
/// bitwise or.
constexpr std::int64_t unit_of(std::uint64_t bytes) {
  bytes |= 16;
  return static_cast<std::int64_t>(bytes & (~bytes + 1));
}
inline std::uint64_t address_of(const void* data) { return reinterpret_cast<std::uintptr_t>(data); }

// Indices.

/// Integers of any type, as std::int64_t.
struct Indices {
  const void* data;
  DType type;

  explicit Indices(const Tensor& tensor) : data(tensor.data), type(tensor.dtype) {}

  TYPEFLOW_DEVICE std::int64_t operator[](std::int64_t i) const {
    switch (type) {
      case DType::int8:
        return at<std::int8_t>(i);
      case DType::int16:
        return at<std::int16_t>(i);
      case DType::int32:
        return at<std::int32_t>(i);
      case DType::int64:
        return at<std::int64_t>(i);
      case DType::uint16:
        return at<std::uint16_t>(i);
      case DType::uint32:
        return at<std::uint32_t>(i);
      case DType::uint64: {  // one that is too large for std::int64_t is too large for any tensor
        const auto index = static_cast<const std::uint64_t*>(data)[i];
        constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
        return index > static_cast<std::uint64_t>(most) ? most : static_cast<std::int64_t>(index);
      }
      default:  // uint8, boolean
        return at<std::uint8_t>(i);
    }
  }

 private:
  template <class T>
  TYPEFLOW_DEVICE std::int64_t at(std::int64_t i) const {
    return static_cast<std::int64_t>(static_cast<const T*>(data)[i]);
  }
};

constexpr bool is_inside(std::int64_t index, std::int64_t extent) {
  return static_cast<std::uint64_t>(index) < static_cast<std::uint64_t>(extent);
}

// Mistakes. The first one in the order of the elements is reported, as on the processor.

/// The position in a record while no mistake is found.
inline constexpr long long no_mistake = std::numeric_limits<long long>::max();

/// The number in a record that holds the position of the first mistake so far.
TYPEFLOW_DEVICE long long* position_in(Failure* found) {
  return reinterpret_cast<long long*>(&found->number[0]);
}
/// Writes a mistake into the record, but not the parts that are the host's.
TYPEFLOW_DEVICE void write_failure(const Failure& mistake, Failure* found) {
  for (int i = 0; i < 4; ++i) found->number[i] = mistake.number[i];
  found->what = mistake.what;
}

template <class Test>
__global__ void find_mistake_kernel(const __grid_constant__ Test test, std::int64_t count,
                                    Failure* found) {
  __shared__ long long first;
  if (threadIdx.x == 0) first = no_mistake;
  __syncthreads();
  for (auto i = grid_thread<std::int64_t>(); i < count; i += grid_threads<std::int64_t>()) {
    if (!test.is_wrong(i)) continue;
    atomicMin(&first, static_cast<long long>(i));
    break;
  }
  __syncthreads();
  if (threadIdx.x != 0 || first == no_mistake) return;
  if (found->what != 0) return;  // a recording is played again before somebody has looked
  if (gridDim.x == 1) {
    write_failure(test.mistake(static_cast<std::int64_t>(first)), found);
  } else {
    atomicMin(position_in(found), first);
  }
}
template <class Test>
__global__ void report_mistake_kernel(const __grid_constant__ Test test, Failure* found) {
  const long long first = *position_in(found);
  if (found->what != 0) return;  // then the number is another one
  if (first != no_mistake) write_failure(test.mistake(static_cast<std::int64_t>(first)), found);
}

/// Reports test.mistake(i) of the first i in [0, count) with test.is_wrong(i). Later kernels of the
/// stream find it in the record that this returns.
template <class Test>
Failure* find_mistake(const KernelCall& call, std::int64_t count, const Test& test) {
  constexpr std::int64_t few = 8 * loop_threads;  // for which one block is enough
  Failure* const found = stream_of(call).failure_of(call);
  found->number[0] = no_mistake;
  const std::int64_t blocks = count <= few ? 1 : blocks_for(count, loop_threads);
  launch(call, &find_mistake_kernel<Test>, blocks, loop_threads, test, count, found);
  if (blocks > 1) launch(call, &report_mistake_kernel<Test>, 1, 1, test, found);
  return found;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
