// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of linalg/qr.hpp: Householder's reflections. A warp takes a column.
//
// Matrices with NaN or infinity have the results that they have on the processor. `chosen` of a
// kernel's run() is each_matrix's, for libraries that leave matrices to it.

#include <cmath>
#include <cstdint>

#include "typeflow/cuda/matrices.hpp"
#include "typeflow/linalg/qr.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// The reflection 1 - tau v v^T that takes a column x to (beta, 0, 0...): x := beta, and v without
/// its first element, which is 1. Returns tau; 0 if there is nothing to reflect. By one warp.
/// Source: LAPACK, larfg.
template <class T>
TYPEFLOW_DEVICE T make_reflection(T* x, int count) {
  const T first = x[0];
  T most = T(0);
  for (int i = 1 + lane_of_warp(); i < count; i += warp_size) {
    most = magnitude(x[i]) > most ? magnitude(x[i]) : most;
  }
  most = warp_max(most);
  if (most == T(0)) return T(0);
  most = magnitude(first) > most ? magnitude(first) : most;
  T squares = T(0);
  for (int i = lane_of_warp(); i < count; i += warp_size) {
    squares += (x[i] / most) * (x[i] / most);
  }
  const T length = most * std::sqrt(warp_sum(squares));
  const T beta = first < T(0) ? length : -length;
  for (int i = 1 + lane_of_warp(); i < count; i += warp_size) x[i] /= first - beta;
  __syncwarp();  // all lanes have read the first element
  if (lane_of_warp() == 0) x[0] = beta;
  return (beta - first) / beta;
}

/// y := (1 - tau v v^T) y, by one warp.
template <class T>
TYPEFLOW_DEVICE void reflect(const T* v, T tau, T* y, int count) {
  T dot = T(0);
  for (int i = lane_of_warp(); i < count; i += warp_size) dot += (i == 0 ? T(1) : v[i]) * y[i];
  dot = tau * warp_sum(dot);
  for (int i = lane_of_warp(); i < count; i += warp_size) y[i] -= dot * (i == 0 ? T(1) : v[i]);
}

template <class T>
struct QrMatrix {
  const T* a;
  T* q;
  T* r;
  int rows;
  int columns;

  TYPEFLOW_DEVICE void operator()(std::int64_t m, T* memory) const {
    const int p = rows < columns ? rows : columns;
    const MatrixView<T> w{memory, 1, padded(rows)};  // columns lie together
    T* const tau = memory + columns * padded(rows);
    T* const of_q = q + m * rows * p;
    T* const of_r = r + m * p * columns;
    if (copy_matrix(a + m * rows * columns, rows, columns, w)) {
      fill_with_nan(of_q, rows, p);
      return fill_with_nan(of_r, p, columns);
    }
    for (int k = 0; k < p; ++k) {
      if (warp_of_block() == 0) {
        const T factor = make_reflection(&w(k, k), rows - k);
        if (thread_of_block() == 0) tau[k] = factor;
      }
      __syncthreads();
      for (int j = k + 1 + warp_of_block(); j < columns; j += warps_of_block()) {
        reflect(&w(k, k), tau[k], &w(k, j), rows - k);
      }
      __syncthreads();
    }
    const MatrixView<T> upper = row_major(of_r, columns);
    ThreadTile(columns).each(p, columns,
                             [&](int i, int j) { upper(i, j) = i <= j ? w(i, j) : T(0); });
    // The product of the reflections, from the last one on, in place of them. (No element is
    // changed before the next barrier.)
    for (int k = p - 1; k >= 0; --k) {
      for (int j = k + 1 + warp_of_block(); j < p; j += warps_of_block()) {
        reflect(&w(k, k), tau[k], &w(k, j), rows - k);
      }
      __syncthreads();
      each_of_block(0, rows, [&](int i) {
        w(i, k) = i < k ? T(0) : i == k ? T(1) - tau[k] : -tau[k] * w(i, k);
      });
      __syncthreads();
    }
    const MatrixView<T> orthogonal = row_major(of_q, p);
    ThreadTile(p).each(rows, p, [&](int i, int j) { orthogonal(i, j) = w(i, j); });
  }
};

/// The elements of the working copy, and a factor for each reflection.
constexpr std::int64_t qr_room(std::int64_t rows, std::int64_t columns) {
  return columns * padded(rows) + (rows < columns ? rows : columns);
}

template <>
struct kernel_of<ops::Qr> {
  static std::int64_t workspace(const Tensor* in, const Tensor*) {
    const MatrixExtents e(*in);
    return matrix_workspace(in->dtype, e.count, qr_room(e.rows, e.columns));
  }
  template <class T>
  static void run(const ops::Qr&, const Tensor* in, const Tensor* out, const KernelCall& call,
                  const int* chosen = nullptr) {
    const MatrixExtents e(*in);
    if (e.size() == 0) return;
    each_matrix<T>(call, e.count, threads_for_columns(e.columns), qr_room(e.rows, e.columns),
                   QrMatrix<T>{static_cast<const T*>(in->data), static_cast<T*>(out[0].data),
                               static_cast<T*>(out[1].data), e.rows, e.columns},
                   chosen);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
