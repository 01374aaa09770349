// SPDX-License-Identifier: Apache-2.0
#pragma once

// Calls of LAPACK's routines to a library for GPUs such as cuSOLVER, the matrices in the workspace
// on which they work, and the kernels that copy these there and back.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "typeflow/cuda/library_product.hpp"
#include "typeflow/cuda/linalg.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A routine of LAPACK, on a column-major matrix a (rows, columns) whose columns lie one behind the
/// other. Elements are floats or doubles.
enum class SolverRoutine {
  getrf,  ///< a := L and U of the LU decomposition of a square a, and `pivots`
  getrs,  ///< b := a^-1 b, or a^-T b, from getrf's a and pivots; b (rows, right)
  potrf,  ///< the upper triangle of a := U of a = U^T U; the lower one is not read
  geqrf,  ///< a := R and the reflections whose product is Q, `values` := their factors
  orgqr,  ///< a := the first columns of Q, min(rows, columns), from geqrf's a and values
  syevd,  ///< `values` := the eigenvalues, ascending, a := eigenvectors; reads the upper triangle
  gesvd   ///< `values` := the singular values, descending, b (rows, columns) := U,
          ///< c (columns, columns) := V^T; a is lost, rows >= columns
};

/// A call of one, for one matrix. All pointers are to the GPU's memory.
struct SolverCall {
  SolverRoutine routine;
  DType type;  ///< of the elements
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t right;  ///< columns of getrs's b
  bool transposed;     ///< getrs solves with the transpose
  void* a;
  void* b;
  void* c;
  void* values;
  std::int64_t* pivots;  ///< row k was exchanged with row pivots[k], where the first row is 1
  int* info;             ///< := 0; or another number if there is no result
};

namespace cuda_kernels {

/// The size of a matrix's largest element, as a double's bits, which have the same order. Those of
/// infinity: it has infinity or NaN.
using Largest = unsigned long long;
constexpr bool is_ordinary(Largest largest) {
  return largest < std::bit_cast<Largest>(std::numeric_limits<double>::infinity());
}
/// The exponent of the power of two above it.
TYPEFLOW_DEVICE int exponent_of(Largest largest) {
  int exponent = 0;
  std::frexp(std::bit_cast<double>(largest), &exponent);
  return exponent;
}

/// Copies a row-major matrix, or its lower triangle (and zeros above), and finds the largest
/// element of what it reads.
template <class T>
__global__ void stage_matrix_kernel(const T* from, std::int64_t rows, std::int64_t columns,
                                    bool lower, MatrixView<T> to, Largest* largest) {
  T most = T(0);
  for (auto e = grid_thread<std::int64_t>(); e < rows * columns;
       e += grid_threads<std::int64_t>()) {
    const auto i = static_cast<int>(e / columns);
    const auto j = static_cast<int>(e % columns);
    const T x = lower && i < j ? T(0) : from[e];
    to(i, j) = x;
    const T here = is_infinite_or_nan(x) ? std::numeric_limits<T>::infinity() : magnitude(x);
    most = here > most ? here : most;
  }
  most = warp_max(most);
  if (lane_of_warp() == 0) atomicMax(largest, std::bit_cast<Largest>(static_cast<double>(most)));
}

/// Replaces a matrix that is no ordinary one by one that harms nobody; divides others by a power of
/// two, if asked, so that squares do not overflow.
template <class T>
struct SettleMatrix {
  MatrixView<T> a;
  std::int64_t columns;
  const Largest* largest;
  bool scales;

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index i) const {
    const auto j = static_cast<int>(next_digit(i, columns));
    T& x = a(static_cast<int>(i), j);
    if (!is_ordinary(*largest)) {
      x = static_cast<int>(i) == j ? T(1) : T(0);
    } else if (scales) {
      x = std::ldexp(x, -exponent_of(*largest));
    }
  }
};
/// Undoes the scaling.
template <class T>
struct ScaleBack {
  const T* from;
  T* to;
  const Largest* largest;

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index i) const {
    to[i] = is_ordinary(*largest) ? std::ldexp(from[i], exponent_of(*largest)) : from[i];
  }
};

enum class MatrixPart { all, lower, unit_lower, upper, identity };

/// Copies a part of a matrix; the rest is zero.
template <class T>
struct CopyPart {
  MatrixView<const T> from;
  T* to;  ///< row-major
  std::int64_t columns;
  MatrixPart part;

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index e) const {
    Index rest = e;
    const auto j = static_cast<int>(next_digit(rest, columns));
    const auto i = static_cast<int>(rest);
    const bool is_one = i == j && (part == MatrixPart::unit_lower || part == MatrixPart::identity);
    const bool is_copied = part == MatrixPart::all || (part == MatrixPart::upper && i <= j) ||
                           (part == MatrixPart::lower && i >= j) ||
                           (part == MatrixPart::unit_lower && i > j);
    to[e] = is_one ? T(1) : is_copied ? from(i, j) : T(0);
  }
};

/// Marks a matrix that is left to our kernels. One block.
template <class T>
__global__ void mark_matrix_kernel(const Largest* largest, const int* info, const T* values,
                                   std::int64_t count, int* chosen) {
  bool wrong = !is_ordinary(*largest) || info[0] != 0 || info[1] != 0;
  for (std::int64_t i = thread_of_block(); i < count; i += threads_of_block()) {
    wrong = wrong || is_infinite_or_nan(values[i]);
  }
  const bool is_chosen = __syncthreads_or(wrong) != 0;
  if (thread_of_block() == 0) *chosen = is_chosen;
}

/// The order of the rows after all exchanges. One block, whose shared memory has room for the order
/// if `is_shared`.
template <class Position>
__global__ void order_rows_kernel(const std::int64_t* pivots, int n, const int* chosen,
                                  bool is_shared, Position* out) {
  if (*chosen != 0) return;  // its pivots may be none
  auto* const order = is_shared ? reinterpret_cast<Position*>(launched_memory()) : out;
  each_of_block(0, n, [&](int i) { order[i] = i; });
  __syncthreads();
  if (thread_of_block() == 0) {
    TYPEFLOW_UNROLL_BY(4)
    for (int k = 0; k < n; ++k) {
      const std::int64_t other = pivots[k] - 1;
      const Position row = order[k];
      order[k] = order[other];
      order[other] = row;
    }
  }
  __syncthreads();
  if (is_shared) each_of_block(0, n, [&](int i) { out[i] = order[i]; });
}

/// The determinant from getrf's result; or its sign, and the logarithm of its size.
template <class T>
struct DeterminantOfPivots {
  const T* lu;
  const std::int64_t* pivots;
  T* determinant;  ///< or null
  T* sign;
  T* log;
  std::int64_t n;

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index) const {
    LongProduct product(1);
    TYPEFLOW_UNROLL_BY(4)
    for (std::int64_t k = 0; k < n; ++k) {
      const auto factor = static_cast<double>(lu[k * n + k]);
      product.multiply(pivots[k] != k + 1 ? -factor : factor);
    }
    if (determinant != nullptr) {
      *determinant = static_cast<T>(product.value());
    } else {
      *sign = static_cast<T>(product.sign());
      *log = static_cast<T>(product.log_of_size());
    }
  }
};

/// The matrices on which the routines of an operation work.
struct SolverShape {
  SolverCall call;  ///< without routine and pointers
  std::int64_t count;
  bool has_singular_vectors = false;

  SolverShape(const Tensor& a, std::int64_t rows, std::int64_t columns, std::int64_t right)
      : call{}, count(MatrixExtents(a).count) {
    call.type = a.dtype;
    call.rows = rows;
    call.columns = columns;
    call.right = right;
  }
  /// Of square matrices.
  explicit SolverShape(const Tensor& a, std::int64_t right = 0)
      : SolverShape(a, a.extents.back(), a.extents.back(), right) {}
};

/// The parts of the workspace, by their first bytes. The library's is in front.
struct SolverPlaces {
  std::int64_t a;
  std::int64_t b;
  std::int64_t c;
  std::int64_t values;
  std::int64_t pivots;
  std::int64_t largest;  ///< of each matrix
  std::int64_t chosen;   ///< of each matrix
  std::int64_t info;     ///< of two routines
  std::int64_t own;      ///< our kernel's
  std::int64_t end;

  SolverPlaces(const SolverShape& shape, std::int64_t library, std::int64_t own_bytes) {
    const SolverCall& of = shape.call;
    const auto after = [](std::int64_t place, std::int64_t count, std::size_t each) {
      return checked_sum(place,
                         aligned_bytes(checked_product(count, static_cast<std::int64_t>(each))));
    };
    const auto element = static_cast<std::size_t>(size_of(of.type));
    const std::int64_t of_b = shape.has_singular_vectors ? of.columns : of.right;
    const std::int64_t of_c = shape.has_singular_vectors ? of.columns : 0;
    a = aligned_bytes(library);
    b = after(a, checked_product(of.rows, of.columns), element);
    c = after(b, checked_product(of.rows, of_b), element);
    values = after(c, checked_product(of_c, of_c), element);
    pivots = after(values, std::max(of.rows, of.columns), element);
    largest = after(pivots, of.rows, sizeof(std::int64_t));
    chosen = after(largest, shape.count, sizeof(Largest));
    info = after(chosen, shape.count, sizeof(int));
    own = after(info, 2, sizeof(int));
    end = checked_sum(own, own_bytes);
  }
};

/// The work on one matrix.
template <class T, class L>
class SolverWork {
 public:
  SolverWork(const KernelCall& call, const SolverShape& shape, const SolverPlaces& places,
             std::int64_t m)
      : call_(call), places_(places), solver_(shape.call), m_(m) {
    auto* const memory = static_cast<std::byte*>(call.workspace);
    solver_.a = memory + places.a;
    solver_.b = memory + places.b;
    solver_.c = memory + places.c;
    solver_.values = memory + places.values;
    solver_.pivots = reinterpret_cast<std::int64_t*>(memory + places.pivots);
    info_ = reinterpret_cast<int*>(memory + places.info);
    largest_ = reinterpret_cast<Largest*>(memory + places.largest) + m;
    chosen_ = reinterpret_cast<int*>(memory + places.chosen) + m;
    fill_bytes(call, info_, 0, 2 * static_cast<std::int64_t>(sizeof(int)));
  }

  std::int64_t m() const { return m_; }
  T* a() const { return static_cast<T*>(solver_.a); }
  T* b() const { return static_cast<T*>(solver_.b); }
  T* c() const { return static_cast<T*>(solver_.c); }
  std::int64_t rows() const { return solver_.rows; }
  std::int64_t columns() const { return solver_.columns; }
  std::int64_t right() const { return solver_.right; }
  /// A matrix as the library has it, with its columns one behind the other.
  template <class E>
  static MatrixView<E> stored(E* data, std::int64_t rows) {
    return {data, 1, rows};
  }
  /// Its transpose.
  template <class E>
  static MatrixView<E> transposed(E* data, std::int64_t rows) {
    return {data, rows, 1};
  }

  /// Takes a row-major matrix.
  void stage(const T* from, std::int64_t rows, std::int64_t columns, const MatrixView<T>& to,
             bool lower = false) const {
    launch(call_, &stage_matrix_kernel<T>, blocks_for(rows * columns, loop_threads), loop_threads,
           from, rows, columns, lower, to, largest_);
  }
  void settle(bool scales = false) const {
    each(call_, rows() * columns(),
         SettleMatrix<T>{stored(a(), rows()), columns(), largest_, scales});
  }
  /// Returns false if the library can't.
  bool run(SolverRoutine routine, bool transposes = false) {
    solver_.routine = routine;
    solver_.transposed = transposes;
    solver_.info = info_ + runs_++;
    CudaStream& stream = stream_of(call_);
    stream.check();
    stream.use_device();
    return L::solve(stream, solver_, call_.workspace, places_.a);
  }
  /// Marks the matrix if it is left to our kernels, also because of `count` values.
  void mark(std::int64_t count = 0) const {
    launch(call_, &mark_matrix_kernel<T>, 1, loop_threads, static_cast<const Largest*>(largest_),
           static_cast<const int*>(info_), static_cast<const T*>(solver_.values), count, chosen_);
  }

  void copy(const MatrixView<T>& from, T* to, std::int64_t rows, std::int64_t columns,
            MatrixPart part) const {
    each(call_, rows * columns,
         CopyPart<T>{{from.data, from.row_step, from.column_step}, to, columns, part});
  }
  void copy_values(T* to) const {
    each(call_, columns(), ScaleBack<T>{static_cast<const T*>(solver_.values), to, largest_});
  }
  void copy_order(std::int32_t* to) const {
    const std::int64_t bytes = rows() * static_cast<std::int64_t>(sizeof(std::int32_t));
    const bool is_shared = bytes <= most_room;
    launch_with_memory(call_, &order_rows_kernel<std::int32_t>, 1, loop_threads,
                       is_shared ? bytes : 0, static_cast<const std::int64_t*>(solver_.pivots),
                       static_cast<int>(rows()), static_cast<const int*>(chosen_), is_shared, to);
  }
  void copy_determinant(T* determinant, T* sign, T* log) const {
    each(call_, 1, DeterminantOfPivots<T>{a(), solver_.pivots, determinant, sign, log, rows()});
  }

 private:
  const KernelCall& call_;
  const SolverPlaces& places_;
  SolverCall solver_;
  std::int64_t m_;
  int* info_;
  int runs_ = 0;
  Largest* largest_;
  int* chosen_;
};

}  // namespace cuda_kernels

}  // namespace typeflow::inline TYPEFLOW_ISA
