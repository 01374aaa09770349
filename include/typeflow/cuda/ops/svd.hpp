// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of linalg/svd.hpp: Jacobi's rotations. A warp takes a pair of columns.
//
// Matrices with NaN or infinity have the results that they have on the processor. `chosen` of a
// kernel's run() is each_matrix's, for libraries that leave matrices to it.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "typeflow/cuda/matrices.hpp"
#include "typeflow/cuda/ops/plane_rotations.hpp"
#include "typeflow/linalg/svd.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// Singular values and vectors by Hestenes' method: rotations from the right until the columns are
/// orthogonal. Source: Golub, Van Loan, Matrix Computations, 8.6.3.
template <class T>
struct SvdMatrix {
  const T* a;
  T* values;
  T* left;
  T* right;
  int rows;
  int columns;
  Failure* found;

  TYPEFLOW_DEVICE void operator()(std::int64_t m, T* memory) const {
    const bool wide = columns > rows;  // A^T = V diag(s) U^T
    const int length = wide ? columns : rows;
    const int p = wide ? rows : columns;
    const MatrixView<T> w{memory, 1, padded(length)};  // columns lie together
    T* const turned = memory + p * padded(length);
    const MatrixView<T> v{turned, 1, padded(p)};
    T* const lengths = turned + p * padded(p);
    T* const of_values = values + m * p;
    T* const of_left = left + m * rows * p;
    T* const of_right = right + m * columns * p;
    ThreadTile(p).each(p, p, [&](int i, int j) { v(i, j) = i == j ? T(1) : T(0); });
    const MatrixView<T> copy = wide ? MatrixView<T>{memory, padded(length), 1} : w;
    if (copy_matrix(a + m * rows * columns, rows, columns, copy)) {
      fill_with_nan(of_values, 1, p);
      fill_with_nan(of_left, rows, p);
      return fill_with_nan(of_right, columns, p);
    }
    const int exponent = scale(w, length, p);
    const int players = p + p % 2;
    bool done = false;
    for (int sweep = 0; sweep < most_sweeps && !done; ++sweep) {
      bool turns = false;
      for (int round = 0; round < players - 1; ++round) {
        for (int i = warp_of_block(); i < players / 2; i += warps_of_block()) {
          const Pair pair(i, round, players);
          if (pair.q < p) turns = make_orthogonal(pair, w, v, length, p) || turns;
        }
        __syncthreads();
      }
      done = __syncthreads_or(turns) == 0;
    }
    if (!done && thread_of_block() == 0) report_matrix(found, m);
    for (int j = warp_of_block(); j < p; j += warps_of_block()) {
      const T here = std::sqrt(warp_sum(part_of_dot(&w(0, j), &w(0, j), length)));
      if (lane_of_warp() == 0) lengths[j] = here;
    }
    __syncthreads();
    // Columns whose lengths are rounding errors have no directions of their own.
    T most = T(0);
    for (int j = 0; j < p; ++j) most = lengths[j] > most ? lengths[j] : most;
    const T none = most * T(4) * std::numeric_limits<T>::epsilon();
    for (int j = warp_of_block(); j < p; j += warps_of_block()) {
      for (int i = lane_of_warp(); i < length && lengths[j] > none; i += warp_size) {
        w(i, j) /= lengths[j];
      }
    }
    __syncthreads();
    if (warp_of_block() == 0) {
      for (int j = 0; j < p; ++j) {
        if (!(lengths[j] > none)) complete(w, j, lengths, none, length, p);
      }
    }
    __syncthreads();
    const MatrixView<T> longer = row_major(wide ? of_right : of_left, p);
    const MatrixView<T> shorter = row_major(wide ? of_left : of_right, p);
    for (int j = warp_of_block(); j < p; j += warps_of_block()) {
      const int place = place_in_order(lengths, j, p, false);
      if (lane_of_warp() == 0) of_values[place] = std::ldexp(lengths[j], exponent);
      for (int i = lane_of_warp(); i < length; i += warp_size) longer(i, place) = w(i, j);
      for (int i = lane_of_warp(); i < p; i += warp_size) shorter(i, place) = v(i, j);
    }
  }

 private:
  /// A lane's part of the dot product of two columns.
  TYPEFLOW_DEVICE static T part_of_dot(const T* x, const T* y, int count) {
    T sum = T(0);
    for (int i = lane_of_warp(); i < count; i += warp_size) sum += x[i] * y[i];
    return sum;
  }
  /// Divides by a power of two, so that squares do not overflow. Returns its exponent.
  TYPEFLOW_DEVICE static int scale(const MatrixView<T>& w, int length, int p) {
    T most = T(0);
    for (int j = 0; j < p; ++j) {  // each warp finds the same number
      for (int i = lane_of_warp(); i < length; i += warp_size) {
        most = magnitude(w(i, j)) > most ? magnitude(w(i, j)) : most;
      }
    }
    most = warp_max(most);
    __syncthreads();
    int exponent = 0;
    std::frexp(most, &exponent);
    ThreadTile(length).each(p, length,
                            [&](int j, int i) { w(i, j) = std::ldexp(w(i, j), -exponent); });
    __syncthreads();
    return exponent;
  }
  /// Rotates two columns, by one warp. Returns whether they were not orthogonal.
  TYPEFLOW_DEVICE static bool make_orthogonal(const Pair& pair, const MatrixView<T>& w,
                                              const MatrixView<T>& v, int length, int p) {
    constexpr T epsilon = std::numeric_limits<T>::epsilon();
    T* const x = &w(0, pair.p);
    T* const y = &w(0, pair.q);
    T xx = T(0);
    T xy = T(0);
    T yy = T(0);
    for (int i = lane_of_warp(); i < length; i += warp_size) {
      xx += x[i] * x[i];
      xy += x[i] * y[i];
      yy += y[i] * y[i];
    }
    for (int by = warp_size / 2; by > 0; by /= 2) {  // three sums at a time
      xx += __shfl_xor_sync(whole_warp, xx, by);
      xy += __shfl_xor_sync(whole_warp, xy, by);
      yy += __shfl_xor_sync(whole_warp, yy, by);
    }
    const T shorter = xx < yy ? xx : yy;
    if (shorter <= epsilon * epsilon) return false;  // rounding errors
    const T limit = epsilon * std::sqrt(static_cast<T>(length)) * std::sqrt(xx) * std::sqrt(yy);
    if (magnitude(xy) <= limit) return false;
    const PlaneRotation<T> rotation(xx, xy, yy);
    for (int i = lane_of_warp(); i < length; i += warp_size) rotation.turn(x[i], y[i]);
    for (int i = lane_of_warp(); i < p; i += warp_size) rotation.turn(v(i, pair.p), v(i, pair.q));
    return true;
  }
  /// Makes column j a unit vector that is orthogonal to the other columns, but for those after it
  /// without a length: what is left of an axis after Gram and Schmidt's method. By one warp, each
  /// of whose lanes reads and writes the same elements of all columns.
  TYPEFLOW_DEVICE static void complete(const MatrixView<T>& w, int j, const T* lengths, T none,
                                       int length, int p) {
    T* const y = &w(0, j);
    for (int next = 0; next < length; ++next) {
      const int axis = (j + next) % length;
      for (int i = lane_of_warp(); i < length; i += warp_size) y[i] = i == axis ? T(1) : T(0);
      for (int twice = 0; twice < 2; ++twice) {
        for (int k = 0; k < p; ++k) {
          if (k == j || (k > j && !(lengths[k] > none))) continue;
          const T dot = warp_sum(part_of_dot(&w(0, k), y, length));
          for (int i = lane_of_warp(); i < length; i += warp_size) y[i] -= dot * w(i, k);
        }
      }
      const T squares = warp_sum(part_of_dot(y, y, length));
      if (squares * static_cast<T>(2 * length) < T(1)) continue;
      for (int i = lane_of_warp(); i < length; i += warp_size) y[i] /= std::sqrt(squares);
      return;
    }
  }
};

/// The elements of the matrix, of the rotations' product, and a length of each column.
constexpr std::int64_t svd_room(std::int64_t rows, std::int64_t columns) {
  const std::int64_t length = rows < columns ? columns : rows;
  const std::int64_t p = rows < columns ? rows : columns;
  return p * padded(length) + p * padded(p) + p;
}

template <>
struct kernel_of<ops::Svd> {
  static std::int64_t workspace(const Tensor* in, const Tensor*) {
    const MatrixExtents e(*in);
    return matrix_workspace(in->dtype, e.count, svd_room(e.rows, e.columns));
  }
  template <class T>
  static void run(const ops::Svd&, const Tensor* in, const Tensor* out, const KernelCall& call,
                  const int* chosen = nullptr) {
    const MatrixExtents e(*in);
    if (e.count * e.size() == 0) return;
    Failure* const found = matrix_record(call);
    each_matrix<T>(call, e.count, threads_for_columns(std::min(e.rows, e.columns) / 2),
                   svd_room(e.rows, e.columns),
                   SvdMatrix<T>{static_cast<const T*>(in->data), static_cast<T*>(out[0].data),
                                static_cast<T*>(out[1].data), static_cast<T*>(out[2].data), e.rows,
                                e.columns, found},
                   chosen);
    report_first_matrix(call, found);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
