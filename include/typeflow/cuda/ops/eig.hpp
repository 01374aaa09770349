// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of linalg/eig.hpp: Jacobi's rotations. A warp takes a pair of columns.
//
// Matrices with NaN or infinity have the results that they have on the processor. `chosen` of a
// kernel's run() is each_matrix's, for libraries that leave matrices to it.

#include <cmath>
#include <cstdint>

#include "typeflow/cuda/matrices.hpp"
#include "typeflow/cuda/ops/plane_rotations.hpp"
#include "typeflow/linalg/eig.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// Eigenvalues and eigenvectors of a symmetric matrix, of which the lower triangle is read, by
/// Jacobi's method. Source: Golub, Van Loan, Matrix Computations, 8.5.
template <class T>
struct EigMatrix {
  const T* a;
  T* values;
  T* vectors;
  int n;
  Failure* found;

  TYPEFLOW_DEVICE void operator()(std::int64_t m, T* memory) const {
    const MatrixView<T> w{memory, padded(n), 1};
    T* const turned = memory + n * padded(n);
    const MatrixView<T> v{turned, 1, padded(n)};  // columns lie together
    T* const rotations = turned + n * padded(n);  // two numbers of each pair, in the end the values
    T* const of_values = values + m * n;
    T* const of_vectors = vectors + m * n * n;
    const MatrixView<const T> from = row_major(a + m * n * n, n);
    T most = T(0);
    bool wrong = false;
    const ThreadTile tile(n);
    tile.each(n, n, [&](int i, int j) {
      v(i, j) = i == j ? T(1) : T(0);
      if (i < j) return;
      const T x = from(i, j);
      wrong = wrong || is_infinite_or_nan(x);
      w(i, j) = w(j, i) = x;
    });
    if (__syncthreads_or(wrong) != 0) {
      fill_with_nan(of_values, 1, n);
      return fill_with_nan(of_vectors, n, n);
    }
    for (int i = lane_of_warp(); i < n; i += warp_size) {  // each warp finds the same number
      for (int j = 0; j < n; ++j) most = magnitude(w(i, j)) > most ? magnitude(w(i, j)) : most;
    }
    const T small = warp_max(most) * std::numeric_limits<T>::epsilon() / T(16);
    const int players = n + n % 2;
    bool done = false;
    for (int sweep = 0; sweep < most_sweeps && !done; ++sweep) {
      bool turns = false;
      for (int round = 0; round < players - 1; ++round) {
        turns = play(round, players, small, w, v, rotations) || turns;
      }
      done = __syncthreads_or(turns) == 0;
    }
    if (!done && thread_of_block() == 0) report_matrix(found, m);
    each_of_block(0, n, [&](int j) { rotations[j] = w(j, j); });
    __syncthreads();
    const MatrixView<T> to = row_major(of_vectors, n);
    for (int j = warp_of_block(); j < n; j += warps_of_block()) {
      const int place = place_in_order(rotations, j, n, true);
      if (lane_of_warp() == 0) of_values[place] = rotations[j];
      for (int i = lane_of_warp(); i < n; i += warp_size) to(i, place) = v(i, j);
    }
  }

 private:
  /// One round. Returns whether this thread has found a pair to rotate.
  TYPEFLOW_DEVICE bool play(int round, int players, T small, const MatrixView<T>& w,
                            const MatrixView<T>& v, T* rotations) const {
    bool turns = false;
    each_of_block(0, players / 2, [&](int i) {
      const Pair pair(i, round, players);
      PlaneRotation<T> rotation(T(0), T(0));
      if (pair.q < n && magnitude(w(pair.p, pair.q)) > small) {
        rotation = PlaneRotation<T>(w(pair.p, pair.p), w(pair.p, pair.q), w(pair.q, pair.q));
        turns = true;
      }
      rotations[2 * i] = rotation.s;
      rotations[2 * i + 1] = rotation.tau;
    });
    __syncthreads();
    const auto each_pair = [&](const auto& f) {
      for (int i = warp_of_block(); i < players / 2; i += warps_of_block()) {
        const PlaneRotation<T> rotation(rotations[2 * i], rotations[2 * i + 1]);
        if (rotation.s != T(0)) f(Pair(i, round, players), rotation);
      }
      __syncthreads();
    };
    each_pair([&](const Pair& pair, const PlaneRotation<T>& rotation) {
      for (int k = lane_of_warp(); k < n; k += warp_size) {
        rotation.turn(w(k, pair.p), w(k, pair.q));
        rotation.turn(v(k, pair.p), v(k, pair.q));
      }
    });
    each_pair([&](const Pair& pair, const PlaneRotation<T>& rotation) {
      for (int k = lane_of_warp(); k < n; k += warp_size) {
        rotation.turn(w(pair.p, k), w(pair.q, k));
        if (k == pair.q) w(pair.p, k) = T(0);
        if (k == pair.p) w(pair.q, k) = T(0);
      }
    });
    return turns;
  }
};

/// The elements of two square matrices, and of a rotation for each pair.
constexpr std::int64_t eig_room(std::int64_t n) { return 2 * n * padded(n) + n + 1; }

template <>
struct kernel_of<ops::SelfAdjointEig> {
  static std::int64_t workspace(const Tensor* in, const Tensor*) {
    const MatrixExtents e(*in);
    return matrix_workspace(in->dtype, e.count, eig_room(e.rows));
  }
  template <class T>
  static void run(const ops::SelfAdjointEig&, const Tensor* in, const Tensor* out,
                  const KernelCall& call, const int* chosen = nullptr) {
    const MatrixExtents e(*in);
    if (e.count * e.size() == 0) return;
    Failure* const found = matrix_record(call);
    each_matrix<T>(call, e.count, threads_for_columns(e.columns / 2), eig_room(e.rows),
                   EigMatrix<T>{static_cast<const T*>(in->data), static_cast<T*>(out[0].data),
                                static_cast<T*>(out[1].data), e.rows, found},
                   chosen);
    report_first_matrix(call, found);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
