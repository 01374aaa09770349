// SPDX-License-Identifier: Apache-2.0
#pragma once

// The common parts of the kernels of linear algebra: a block of threads for each matrix of a
// tensor, and memory in which the block works on it. The memory is shared memory if it is enough,
// else a part of the workspace.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "typeflow/cuda/loops.hpp"
#include "typeflow/linalg/lapack.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// The matrices in a tensor's last two axes.
struct MatrixExtents {
  std::int64_t count = 1;
  int rows;
  int columns;

  explicit MatrixExtents(const Tensor& x)
      : rows(lapack::to_int(x.extents[x.extents.size() - 2])),
        columns(lapack::to_int(x.extents[x.extents.size() - 1])) {
    for (const std::int64_t e : x.extents.first(x.extents.size() - 2)) count *= e;
  }
  std::int64_t size() const { return std::int64_t{rows} * columns; }
};

/// A matrix in any memory.
template <class T>
struct MatrixView {
  T* data;
  std::int64_t row_step;  ///< from an element to the one below it
  std::int64_t column_step;

  TYPEFLOW_DEVICE T& operator()(int i, int j) const { return data[i * row_step + j * column_step]; }
};
/// A matrix whose rows lie one behind the other.
template <class T>
TYPEFLOW_DEVICE MatrixView<T> row_major(T* data, int columns) {
  return {data, columns, 1};
}

/// The distance of a working copy's rows. It is odd, so that the elements of a column are in
/// different banks of shared memory.
constexpr std::int64_t padded(std::int64_t extent) { return extent | 1; }

// Threads of a block. Blocks consist of full warps.

TYPEFLOW_DEVICE int thread_of_block() { return static_cast<int>(threadIdx.x); }
TYPEFLOW_DEVICE int threads_of_block() { return static_cast<int>(blockDim.x); }
TYPEFLOW_DEVICE int lane_of_warp() { return thread_of_block() % warp_size; }
TYPEFLOW_DEVICE int warp_of_block() { return thread_of_block() / warp_size; }
TYPEFLOW_DEVICE int warps_of_block() { return threads_of_block() / warp_size; }

/// Threads for matrices of so many elements: each has four, unless there are too many.
constexpr int threads_for_elements(std::int64_t elements) {
  return static_cast<int>(std::clamp<std::int64_t>(elements / 4 / warp_size, 1, 8)) * warp_size;
}
/// A warp for each of so many columns, unless there are too many.
constexpr int threads_for_columns(std::int64_t columns) {
  return static_cast<int>(std::clamp<std::int64_t>(columns, 1, 8)) * warp_size;
}

/// A block's threads as a tile that is laid over a matrix again and again. Its width is a power of
/// two, at most a warp's.
class ThreadTile {
 public:
  TYPEFLOW_DEVICE explicit ThreadTile(int columns) {
    int bits = 0;
    while (1 << bits < warp_size && 1 << bits < columns) ++bits;
    width_ = 1 << bits;
    x_ = thread_of_block() & (width_ - 1);
    y_ = thread_of_block() >> bits;
    height_ = threads_of_block() >> bits;
  }
  /// f(i, j) for the elements of the rows [first_row, last_row) and [first_column, last_column).
  template <class F>
  TYPEFLOW_DEVICE void each(int first_row, int last_row, int first_column, int last_column,
                            const F& f) const {
    for (int i = first_row + y_; i < last_row; i += height_) {
      for (int j = first_column + x_; j < last_column; j += width_) f(i, j);
    }
  }
  template <class F>
  TYPEFLOW_DEVICE void each(int rows, int columns, const F& f) const {
    each(0, rows, 0, columns, f);
  }

 private:
  int x_;
  int y_;
  int width_;
  int height_;
};

/// f(i) for [first, last), by the threads of the block.
template <class F>
TYPEFLOW_DEVICE void each_of_block(int first, int last, const F& f) {
  for (int i = first + thread_of_block(); i < last; i += threads_of_block()) f(i);
}

// Numbers.

template <class T>
TYPEFLOW_DEVICE T magnitude(T x) {
  return x < T(0) ? -x : x;
}
template <class T>
TYPEFLOW_DEVICE bool is_nan(T x) {
  return x != x;
}
template <class T>
TYPEFLOW_DEVICE bool is_infinite_or_nan(T x) {
  return !(magnitude(x) <= std::numeric_limits<T>::max());
}
template <class T>
TYPEFLOW_DEVICE T warp_sum(T x) {
  for (int by = warp_size / 2; by > 0; by /= 2) x += __shfl_xor_sync(whole_warp, x, by);
  return x;
}
/// The largest one; NaN is none.
template <class T>
TYPEFLOW_DEVICE T warp_max(T x) {
  for (int by = warp_size / 2; by > 0; by /= 2) {
    const T other = __shfl_xor_sync(whole_warp, x, by);
    x = other > x ? other : x;
  }
  return x;
}

template <class T>
TYPEFLOW_DEVICE void fill_with_nan(T* x, int rows, int columns) {
  const MatrixView<T> y = row_major(x, columns);
  ThreadTile(columns).each(rows, columns,
                           [&](int i, int j) { y(i, j) = std::numeric_limits<T>::quiet_NaN(); });
}

/// Copies a matrix. Returns whether it has NaN or infinity. All threads of the block then see the
/// copy, and what they have written before.
template <class T>
TYPEFLOW_DEVICE bool copy_matrix(const T* from, int rows, int columns, const MatrixView<T>& to) {
  const MatrixView<const T> a = row_major(from, columns);
  bool wrong = false;
  ThreadTile(columns).each(rows, columns, [&](int i, int j) {
    const T x = a(i, j);
    wrong = wrong || is_infinite_or_nan(x);
    to(i, j) = x;
  });
  return __syncthreads_or(wrong) != 0;
}

// Launches.

/// Where a block has its working copy.
template <class T>
struct MatrixRoom {
  T* workspace;  ///< null: shared memory
  std::int64_t elements;

  TYPEFLOW_DEVICE T* of_block() const {
    return workspace == nullptr ? reinterpret_cast<T*>(launched_memory())
                                : workspace + static_cast<std::int64_t>(blockIdx.x) * elements;
  }
};

/// The most bytes of shared memory for a working copy. With a block's other variables a GPU of any
/// age gives them without being asked.
inline constexpr std::int64_t most_room = std::int64_t{40} << 10;

/// Bytes of workspace for working copies of so many elements.
inline std::int64_t matrix_workspace(DType type, std::int64_t count, std::int64_t elements) {
  const std::int64_t bytes = checked_product(elements, size_of(type));
  return bytes <= most_room ? 0 : checked_product(std::min(count, most_blocks), bytes);
}

template <class T, class F>
__global__ void each_matrix_kernel(const __grid_constant__ F f, std::int64_t count,
                                   MatrixRoom<T> room, const int* chosen) {
  T* const memory = room.of_block();
  for (auto m = static_cast<std::int64_t>(blockIdx.x); m < count; m += gridDim.x) {
    if (chosen != nullptr && chosen[m] == 0) continue;
    f(m, memory);
    __syncthreads();  // the next matrix takes the same memory
  }
}

/// f(m, memory) for each matrix m, by a block of so many threads, with memory for a working copy of
/// so many elements. If `chosen` is not null, only for those with chosen[m] != 0.
template <class T, class F>
void each_matrix(const KernelCall& call, std::int64_t count, int threads, std::int64_t elements,
                 const F& f, const int* chosen) {
  const std::int64_t bytes = elements * static_cast<std::int64_t>(sizeof(T));
  const bool is_shared = bytes <= most_room;
  launch_with_memory(call, &each_matrix_kernel<T, F>, std::min(count, most_blocks), threads,
                     is_shared ? bytes : 0, f, count,
                     MatrixRoom<T>{is_shared ? nullptr : static_cast<T*>(call.workspace), elements},
                     chosen);
}

// Matrices that have no result. The first one is reported, as on the processor.

/// Takes part in reporting matrix m. The first thread of its block calls it.
TYPEFLOW_DEVICE void report_matrix(Failure* found, std::int64_t m) {
  atomicMin(position_in(found), static_cast<long long>(m));
}

struct WrongMatrix {
  TYPEFLOW_DEVICE Failure mistake(std::int64_t m) const { return {1, {m}}; }
};

/// A record for kernels that report matrices.
inline Failure* matrix_record(const KernelCall& call) {
  Failure* const found = stream_of(call).failure_of(call);
  found->number[0] = no_mistake;
  return found;
}
/// Reports the first matrix in the record, if there is one.
inline void report_first_matrix(const KernelCall& call, Failure* found) {
  launch(call, &report_mistake_kernel<WrongMatrix>, 1, 1, WrongMatrix{}, found);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
