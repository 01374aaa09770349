// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels of linalg/inverse.hpp, solve.hpp, lu.hpp and cholesky.hpp: elimination and substitution
// by a block of threads for each matrix.
//
// Matrices with NaN, singular ones and empty ones have the results that they have on the processor.
// `chosen` of a kernel's run() is each_matrix's, for libraries that leave matrices to it.
// A matrix that is an error gets NaN for a result, too, so that kernels that follow find numbers.

#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>

#include "typeflow/cuda/matrices.hpp"
#include "typeflow/linalg/cholesky.hpp"
#include "typeflow/linalg/inverse.hpp"
#include "typeflow/linalg/lu.hpp"
#include "typeflow/linalg/solve.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// Copies a square matrix, transposed or not. Returns whether it has NaN. All threads of the block
/// then see the copy, and what they have written before.
template <class T>
TYPEFLOW_DEVICE bool copy_square(const T* from, int n, bool transposed, const MatrixView<T>& to) {
  const MatrixView<const T> a = row_major(from, n);
  bool has_nan = false;
  ThreadTile(n).each(n, n, [&](int i, int j) {
    const T x = a(i, j);
    has_nan = has_nan || is_nan(x);
    (transposed ? to(j, i) : to(i, j)) = x;
  });
  return __syncthreads_or(has_nan) != 0;
}

/// The row of the largest element at or below the diagonal in column k, the first one of equals.
/// The threads of one warp call it.
template <class T>
TYPEFLOW_DEVICE int row_of_pivot(const MatrixView<T>& a, int k, int n) {
  T most = T(-1);
  int row = k;
  for (int i = k + lane_of_warp(); i < n; i += warp_size) {
    const T here = magnitude(a(i, k));
    if (here > most) {
      most = here;
      row = i;
    }
  }
  for (int by = warp_size / 2; by > 0; by /= 2) {
    const T other = __shfl_xor_sync(whole_warp, most, by);
    const int its_row = __shfl_xor_sync(whole_warp, row, by);
    if (other > most || (other == most && its_row < row)) {
      most = other;
      row = its_row;
    }
  }
  return row;
}

/// a := L and U of the LU decomposition with partial pivoting. All threads call exchange(k, row)
/// when row k has found its pivot in another row. Returns whether all pivots are other than 0; a
/// column without such a pivot is left as it is.
template <class T, class F>
TYPEFLOW_DEVICE bool eliminate(const MatrixView<T>& a, int n, const F& exchange) {
  __shared__ int pivot;
  bool regular = true;
  for (int k = 0; k < n; ++k) {
    if (warp_of_block() == 0) {
      const int row = row_of_pivot(a, k, n);
      if (thread_of_block() == 0) pivot = row;
    }
    __syncthreads();
    const int row = pivot;
    if (row != k) {
      each_of_block(0, n, [&](int j) {
        const T x = a(k, j);
        a(k, j) = a(row, j);
        a(row, j) = x;
      });
      exchange(k, row);
    }
    __syncthreads();
    const T divisor = a(k, k);
    if (divisor == T(0)) {
      regular = false;
      continue;
    }
    each_of_block(k + 1, n, [&](int i) { a(i, k) /= divisor; });
    __syncthreads();
    ThreadTile(n - k - 1).each(k + 1, n, k + 1, n,
                               [&](int i, int j) { a(i, j) -= a(i, k) * a(k, j); });
    __syncthreads();
  }
  return regular;
}

/// x := t^-1 x for a triangular t, (N,N) and (N,K), by a block. `unit`: the diagonal counts as
/// ones.
template <class T, class A>
TYPEFLOW_DEVICE void substitute(const MatrixView<A>& t, bool lower, bool unit, int n,
                                const MatrixView<T>& x, int columns) {
  const ThreadTile tile(columns);
  for (int step = 0; step < n; ++step) {
    const int k = lower ? step : n - 1 - step;
    if (!unit) {
      each_of_block(0, columns, [&](int j) { x(k, j) /= t(k, k); });
      __syncthreads();
    }
    tile.each(lower ? k + 1 : 0, lower ? n : k, 0, columns,
              [&](int i, int j) { x(i, j) -= t(i, k) * x(k, j); });
    __syncthreads();
  }
}

/// The elements of the working copy of a square matrix.
constexpr std::int64_t square_room(std::int64_t n) { return n * padded(n); }
inline std::int64_t square_workspace(const Tensor& a) {
  const MatrixExtents e(a);
  return matrix_workspace(a.dtype, e.count, square_room(e.rows));
}

// Systems and inverses.

/// X of A X = B, or of A^T X = B.
template <class T>
struct SolveMatrix {
  const T* a;
  const T* b;  ///< null: the identity
  T* x;
  int n;
  int columns;
  bool transposed;
  Failure* found;

  TYPEFLOW_DEVICE void operator()(std::int64_t m, T* memory) const {
    const MatrixView<T> lu{memory, padded(n), 1};
    const std::int64_t size = std::int64_t{n} * columns;
    const MatrixView<T> y = row_major(x + m * size, columns);
    const T* const right = b == nullptr ? nullptr : b + m * size;
    ThreadTile(columns).each(n, columns, [&](int i, int j) {
      y(i, j) = right != nullptr ? right[std::int64_t{i} * columns + j] : i == j ? T(1) : T(0);
    });
    if (copy_square(a + m * n * n, n, transposed, lu)) return fill_with_nan(y.data, n, columns);
    const bool regular = eliminate(lu, n, [&](int k, int row) {
      each_of_block(0, columns, [&](int j) {
        const T swapped = y(k, j);
        y(k, j) = y(row, j);
        y(row, j) = swapped;
      });
    });
    if (!regular) {
      if (thread_of_block() == 0) report_matrix(found, m);
      return fill_with_nan(y.data, n, columns);
    }
    substitute(lu, true, true, n, y, columns);
    substitute(lu, false, false, n, y, columns);
  }
};

template <class T>
void solve_matrices(const KernelCall& call, const Tensor& a, const Tensor* b, const Tensor& x,
                    bool transposed, const int* chosen) {
  const MatrixExtents of_a(a);
  const MatrixExtents of_x(x);
  if (of_x.count * of_x.size() == 0) return;
  Failure* const found = matrix_record(call);
  each_matrix<T>(
      call, of_a.count, threads_for_elements(std::max(of_a.size(), of_x.size())),
      square_room(of_a.rows),
      SolveMatrix<T>{static_cast<const T*>(a.data),
                     b == nullptr ? nullptr : static_cast<const T*>(b->data),
                     static_cast<T*>(x.data), of_a.rows, of_x.columns, transposed, found},
      chosen);
  report_first_matrix(call, found);
}

template <>
struct kernel_of<ops::MatrixInverse> {
  static std::int64_t workspace(const Tensor* in, const Tensor*) { return square_workspace(*in); }
  template <class T>
  static void run(const ops::MatrixInverse&, const Tensor* in, const Tensor* out,
                  const KernelCall& call, const int* chosen = nullptr) {
    solve_matrices<T>(call, *in, nullptr, *out, false, chosen);
  }
};
template <>
struct kernel_of<ops::MatrixSolve> {
  static std::int64_t workspace(const Tensor* in, const Tensor*) { return square_workspace(*in); }
  template <class T>
  static void run(const ops::MatrixSolve& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call, const int* chosen = nullptr) {
    solve_matrices<T>(call, in[0], &in[1], *out, op.transposed != 0, chosen);
  }
};

/// The same for a triangular A, which is read where it is.
template <class T>
struct SolveTriangle {
  const T* a;
  const T* b;
  T* x;
  int n;
  int columns;
  bool lower;  ///< after the transposition
  bool transposed;
  Failure* found;

  TYPEFLOW_DEVICE void operator()(std::int64_t m, T*) const {
    const T* const matrix = a + m * n * n;
    const MatrixView<const T> t =
        transposed ? MatrixView<const T>{matrix, 1, n} : row_major(matrix, n);
    const std::int64_t size = std::int64_t{n} * columns;
    const MatrixView<T> y = row_major(x + m * size, columns);
    const MatrixView<const T> right = row_major(b + m * size, columns);
    bool singular = false;
    each_of_block(0, n, [&](int k) { singular = singular || t(k, k) == T(0); });
    ThreadTile(columns).each(n, columns, [&](int i, int j) { y(i, j) = right(i, j); });
    if (__syncthreads_or(singular) != 0) {
      if (thread_of_block() == 0) report_matrix(found, m);
      return fill_with_nan(y.data, n, columns);
    }
    substitute(t, lower, false, n, y, columns);
  }
};

template <>
struct kernel_of<ops::MatrixTriangularSolve> {
  template <class T>
  static void run(const ops::MatrixTriangularSolve& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const MatrixExtents of_x(*out);
    if (of_x.count * of_x.size() == 0) return;
    const bool transposed = op.transposed != 0;
    const bool lower = static_cast<Triangle>(op.triangle) == Triangle::lower;
    Failure* const found = matrix_record(call);
    each_matrix<T>(
        call, of_x.count, threads_for_elements(of_x.size()), 0,
        SolveTriangle<T>{static_cast<const T*>(in[0].data), static_cast<const T*>(in[1].data),
                         static_cast<T*>(out->data), of_x.rows, of_x.columns, lower != transposed,
                         transposed, found},
        nullptr);
    report_first_matrix(call, found);
  }
};

// Determinants.

/// A product of factors of any size, as linalg::ScaledProduct.
class LongProduct {
 public:
  TYPEFLOW_DEVICE explicit LongProduct(double factor) { multiply(factor); }
  TYPEFLOW_DEVICE void multiply(double factor) {
    int more = 0;
    mantissa_ = std::frexp(mantissa_ * factor, &more);
    exponent_ += more;
  }
  TYPEFLOW_DEVICE double value() const {
    constexpr std::int64_t most = 1 << 20;  // far beyond a double's
    const std::int64_t power = exponent_ < -most ? -most : exponent_ > most ? most : exponent_;
    return std::ldexp(mantissa_, static_cast<int>(power));
  }
  TYPEFLOW_DEVICE double sign() const { return mantissa_ > 0 ? 1 : mantissa_ < 0 ? -1 : mantissa_; }
  TYPEFLOW_DEVICE double log_of_size() const {
    const bool doubled = magnitude(mantissa_) < std::numbers::sqrt2 / 2;
    return std::log(magnitude(doubled ? 2 * mantissa_ : mantissa_)) +
           static_cast<double>(exponent_ - doubled) * std::numbers::ln2;
  }

 private:
  double mantissa_ = 1;
  std::int64_t exponent_ = 0;
};

/// The determinant; or its sign, and the logarithm of its size.
template <class T>
struct DetermineMatrix {
  const T* a;
  T* determinant;  ///< or null
  T* sign;
  T* log;
  int n;

  TYPEFLOW_DEVICE void operator()(std::int64_t m, T* memory) const {
    const MatrixView<T> lu{memory, padded(n), 1};
    LongProduct product(1);
    if (copy_square(a + m * n * n, n, false, lu)) {
      product = LongProduct(linalg::not_a_number);
    } else {
      bool odd = false;
      const bool regular = eliminate(lu, n, [&](int, int) { odd = !odd; });
      if (odd) product.multiply(-1);
      for (int k = 0; k < n; ++k) product.multiply(static_cast<double>(lu(k, k)));
      if (!regular) product = LongProduct(0);
    }
    if (thread_of_block() != 0) return;
    if (determinant != nullptr) {
      determinant[m] = static_cast<T>(product.value());
    } else {
      sign[m] = static_cast<T>(product.sign());
      log[m] = static_cast<T>(product.log_of_size());
    }
  }
};

template <class T>
void determine_matrices(const KernelCall& call, const Tensor& a, T* determinant, T* sign, T* log,
                        const int* chosen) {
  const MatrixExtents e(a);
  each_matrix<T>(call, e.count, threads_for_elements(e.size()), square_room(e.rows),
                 DetermineMatrix<T>{static_cast<const T*>(a.data), determinant, sign, log, e.rows},
                 chosen);
}

template <>
struct kernel_of<ops::MatrixDeterminant> {
  static std::int64_t workspace(const Tensor* in, const Tensor*) { return square_workspace(*in); }
  template <class T>
  static void run(const ops::MatrixDeterminant&, const Tensor* in, const Tensor* out,
                  const KernelCall& call, const int* chosen = nullptr) {
    determine_matrices<T>(call, *in, static_cast<T*>(out->data), nullptr, nullptr, chosen);
  }
};
template <>
struct kernel_of<ops::LogDeterminant> {
  static std::int64_t workspace(const Tensor* in, const Tensor*) { return square_workspace(*in); }
  template <class T>
  static void run(const ops::LogDeterminant&, const Tensor* in, const Tensor* out,
                  const KernelCall& call, const int* chosen = nullptr) {
    determine_matrices<T>(call, *in, nullptr, static_cast<T*>(out[0].data),
                          static_cast<T*>(out[1].data), chosen);
  }
};

// Decompositions into triangles.

template <class T>
struct LuMatrix {
  const T* a;
  T* l;
  T* u;
  std::int32_t* p;
  int n;

  TYPEFLOW_DEVICE void operator()(std::int64_t m, T* memory) const {
    const MatrixView<T> lu{memory, padded(n), 1};
    const std::int64_t first = m * n * n;
    std::int32_t* const order = p + m * n;
    each_of_block(0, n, [&](int i) { order[i] = i; });
    if (copy_square(a + first, n, false, lu)) {
      fill_with_nan(l + first, n, n);
      return fill_with_nan(u + first, n, n);
    }
    eliminate(lu, n, [&](int k, int row) {
      if (thread_of_block() != 0) return;
      const std::int32_t number = order[k];
      order[k] = order[row];
      order[row] = number;
    });
    const MatrixView<T> lower = row_major(l + first, n);
    const MatrixView<T> upper = row_major(u + first, n);
    ThreadTile(n).each(n, n, [&](int i, int j) {
      const T x = lu(i, j);
      lower(i, j) = i > j ? x : i == j ? T(1) : T(0);
      upper(i, j) = i > j ? T(0) : x;
    });
  }
};

template <>
struct kernel_of<ops::Lu> {
  static std::int64_t workspace(const Tensor* in, const Tensor*) { return square_workspace(*in); }
  template <class T>
  static void run(const ops::Lu&, const Tensor* in, const Tensor* out, const KernelCall& call,
                  const int* chosen = nullptr) {
    const MatrixExtents e(*in);
    if (e.size() == 0) return;
    each_matrix<T>(
        call, e.count, threads_for_elements(e.size()), square_room(e.rows),
        LuMatrix<T>{static_cast<const T*>(in->data), static_cast<T*>(out[0].data),
                    static_cast<T*>(out[1].data), static_cast<std::int32_t*>(out[2].data), e.rows},
        chosen);
  }
};

template <class T>
struct CholeskyMatrix {
  const T* a;
  T* l;
  int n;
  Failure* found;

  TYPEFLOW_DEVICE void operator()(std::int64_t m, T* memory) const {
    const MatrixView<T> w{memory, padded(n), 1};
    const std::int64_t first = m * n * n;
    const MatrixView<const T> from = row_major(a + first, n);
    const MatrixView<T> to = row_major(l + first, n);
    const ThreadTile tile(n);
    tile.each(n, n, [&](int i, int j) {
      if (i >= j) w(i, j) = from(i, j);
    });
    __syncthreads();
    for (int k = 0; k < n; ++k) {
      const T square = w(k, k);  // the copy keeps it
      if (!(square > T(0))) {    // NaN has reached it, too
        if (thread_of_block() == 0) report_matrix(found, m);
        return fill_with_nan(to.data, n, n);
      }
      const T root = std::sqrt(square);
      each_of_block(k + 1, n, [&](int i) { w(i, k) /= root; });
      __syncthreads();
      ThreadTile(n - k - 1).each(k + 1, n, k + 1, n, [&](int i, int j) {
        if (i >= j) w(i, j) -= w(i, k) * w(j, k);
      });
      __syncthreads();
    }
    tile.each(n, n, [&](int i, int j) {
      to(i, j) = i > j ? w(i, j) : i == j ? std::sqrt(w(i, i)) : T(0);
    });
  }
};

template <>
struct kernel_of<ops::Cholesky> {
  static std::int64_t workspace(const Tensor* in, const Tensor*) { return square_workspace(*in); }
  template <class T>
  static void run(const ops::Cholesky&, const Tensor* in, const Tensor* out, const KernelCall& call,
                  const int* chosen = nullptr) {
    const MatrixExtents e(*in);
    if (e.count * e.size() == 0) return;
    Failure* const found = matrix_record(call);
    each_matrix<T>(call, e.count, threads_for_elements(e.size()), square_room(e.rows),
                   CholeskyMatrix<T>{static_cast<const T*>(in->data), static_cast<T*>(out->data),
                                     e.rows, found},
                   chosen);
    report_first_matrix(call, found);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
