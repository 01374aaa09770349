// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels of linalg/qr.hpp, eig.hpp and svd.hpp: Householder's reflections, and Jacobi's rotations,
// of which a round has one for each pair of columns. A warp takes a column or a pair.
//
// Matrices with NaN or infinity have the results that they have on the processor. `chosen` of a
// kernel's run() is each_matrix's, for libraries that leave matrices to it.

#include <cmath>
#include <cstdint>
#include <limits>

#include "typeflow/cuda/matrices.hpp"
#include "typeflow/linalg/eig.hpp"
#include "typeflow/linalg/qr.hpp"
#include "typeflow/linalg/svd.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

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

// Reflections.

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

// Rotations.

/// The most rounds over all pairs.
inline constexpr int most_sweeps = 60;

/// Pair i of a round: of an even number of players each one meets each other one once in `players`
/// - 1 rounds. (The last one stays where it is while the others go round.)
struct Pair {
  int p;
  int q;

  TYPEFLOW_DEVICE Pair(int i, int round, int players) {
    const int ring = players - 1;
    const int one = i == 0 ? ring : (round + i) % ring;
    const int other = (round + ring - i) % ring;
    p = one < other ? one : other;
    q = one < other ? other : one;
  }
};

/// The rotation that makes pq zero: x := c x - s y, y := s x + c y. It has tau = s / (1 + c)
/// instead of c, whose rounding small angles do not survive. Source: Rutishauser, The Jacobi method
/// for real symmetric matrices, 1966.
template <class T>
struct PlaneRotation {
  T s = T(0);
  T tau = T(0);

  TYPEFLOW_DEVICE PlaneRotation(T pp, T pq, T qq) {
    const T theta = (qq - pp) / (T(2) * pq);
    const T t =
        (theta < T(0) ? T(-1) : T(1)) / (magnitude(theta) + std::sqrt(theta * theta + T(1)));
    const T c = T(1) / std::sqrt(t * t + T(1));
    s = t * c;
    tau = s / (T(1) + c);
  }
  TYPEFLOW_DEVICE PlaneRotation(T its_s, T its_tau) : s(its_s), tau(its_tau) {}
  TYPEFLOW_DEVICE void turn(T& x, T& y) const {
    const T before = x;
    x -= s * (y + tau * before);
    y += s * (before - tau * y);
  }
};

/// The place of value j of n in ascending or descending order; equal ones keep theirs.
template <class T>
TYPEFLOW_DEVICE int place_in_order(const T* values, int j, int n, bool ascending) {
  int before = 0;
  for (int i = 0; i < n; ++i) {
    const bool first = ascending ? values[i] < values[j] : values[i] > values[j];
    before += first || (values[i] == values[j] && i < j);
  }
  return before;
}

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
