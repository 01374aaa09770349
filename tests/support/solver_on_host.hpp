// SPDX-License-Identifier: Apache-2.0
#pragma once

// A library of LAPACK's routines for tests without a GPU: plain loops in double. nvcc gets cuSOLVER
// instead (scripts/gpu_check). Include it before other headers of the library.

#include "support/library_on_host.hpp"

#include <typeflow/cuda/library_solver.hpp>

#include <cstdint>

#if defined(__CUDACC__)
#include <typeflow/cuda/cusolver.hpp>

namespace test {

/// cuSOLVER for small matrices, too.
struct Solver : tf::WithCusolver<> {
  static constexpr bool is_large(std::int64_t side, std::int64_t) { return side >= 2; }
};
using SolverKernels = tf::LibraryCudaKernels<Solver>;

}  // namespace test

#else

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace test {

/// A column-major matrix in double.
struct ColumnMajor {
  std::int64_t rows;
  std::int64_t columns;
  std::vector<double> elements;

  template <class T>
  ColumnMajor(std::int64_t its_rows, std::int64_t its_columns, const T* from)
      : rows(its_rows), columns(its_columns) {
    for (std::int64_t i = 0; i < rows * columns; ++i) elements.push_back(from[i]);
  }
  double& operator()(std::int64_t i, std::int64_t j) {
    return elements[static_cast<std::size_t>(i + j * rows)];
  }
  template <class T>
  void store(T* to) const {
    for (const double x : elements) *to++ = static_cast<T>(x);
  }
  double dot(std::int64_t i, std::int64_t j) {
    double sum = 0;
    for (std::int64_t k = 0; k < rows; ++k) sum += (*this)(k, i) * (*this)(k, j);
    return sum;
  }
  /// x(i) := c x(i) - s x(j), x(j) := s x(i) + c x(j) for columns i and j, by the angle that makes
  /// them orthogonal if their dot products are these.
  static void turn(ColumnMajor& x, std::int64_t i, std::int64_t j, double angle) {
    for (std::int64_t k = 0; k < x.rows; ++k) {
      const double a = x(k, i);
      const double b = x(k, j);
      x(k, i) = std::cos(angle) * a - std::sin(angle) * b;
      x(k, j) = std::sin(angle) * a + std::cos(angle) * b;
    }
  }
};

inline int lu_plainly(ColumnMajor& a, std::int64_t* pivots) {
  int info = 0;
  for (std::int64_t k = 0; k < a.rows; ++k) {
    std::int64_t row = k;
    for (std::int64_t i = k; i < a.rows; ++i) {
      if (std::abs(a(i, k)) > std::abs(a(row, k))) row = i;
    }
    pivots[k] = row + 1;
    for (std::int64_t j = 0; j < a.rows; ++j) std::swap(a(k, j), a(row, j));
    if (a(k, k) == 0) {
      if (info == 0) info = static_cast<int>(k) + 1;
      continue;
    }
    for (std::int64_t i = k + 1; i < a.rows; ++i) {
      a(i, k) /= a(k, k);
      for (std::int64_t j = k + 1; j < a.rows; ++j) a(i, j) -= a(i, k) * a(k, j);
    }
  }
  return info;
}
/// b := a^-1 b, or the same with the transpose.
inline void solve_plainly(ColumnMajor& a, const std::int64_t* pivots, bool transposed,
                          ColumnMajor& b) {
  const std::int64_t n = a.rows;
  const auto exchange = [&](std::int64_t k) {
    for (std::int64_t j = 0; j < b.columns; ++j) std::swap(b(k, j), b(pivots[k] - 1, j));
  };
  const auto eliminate = [&](std::int64_t k, bool lower, bool unit) {
    for (std::int64_t j = 0; j < b.columns; ++j) {
      if (!unit) b(k, j) /= a(k, k);
      for (std::int64_t i = lower ? k + 1 : 0; i < (lower ? n : k); ++i) {
        b(i, j) -= (transposed ? a(k, i) : a(i, k)) * b(k, j);
      }
    }
  };
  for (std::int64_t k = 0; k < n && !transposed; ++k) exchange(k);
  for (std::int64_t k = 0; k < n; ++k) eliminate(k, true, !transposed);
  for (std::int64_t k = n; k-- > 0;) eliminate(k, false, transposed);
  for (std::int64_t k = n; k-- > 0 && transposed;) exchange(k);
}
inline int cholesky_plainly(ColumnMajor& a) {
  for (std::int64_t j = 0; j < a.rows; ++j) {
    for (std::int64_t i = 0; i <= j; ++i) {
      for (std::int64_t k = 0; k < i; ++k) a(i, j) -= a(k, i) * a(k, j);
      if (i < j) {
        a(i, j) /= a(i, i);
      } else if (!(a(j, j) > 0)) {
        return static_cast<int>(j) + 1;
      } else {
        a(j, j) = std::sqrt(a(j, j));
      }
      if (i < j) a(j, i) = std::nan("");  // the other triangle has no meaning
    }
  }
  return 0;
}
template <class T>
void reflect_plainly(ColumnMajor& a, T* tau) {
  for (std::int64_t k = 0; k < std::min(a.rows, a.columns); ++k) {
    double squares = 0;
    for (std::int64_t i = k + 1; i < a.rows; ++i) squares += a(i, k) * a(i, k);
    tau[k] = T(0);
    if (squares == 0) continue;
    const double beta = -std::copysign(std::sqrt(squares + a(k, k) * a(k, k)), a(k, k));
    const double factor = (beta - a(k, k)) / beta;
    for (std::int64_t i = k + 1; i < a.rows; ++i) a(i, k) /= a(k, k) - beta;
    for (std::int64_t j = k + 1; j < a.columns; ++j) {
      double sum = a(k, j);
      for (std::int64_t i = k + 1; i < a.rows; ++i) sum += a(i, k) * a(i, j);
      a(k, j) -= factor * sum;
      for (std::int64_t i = k + 1; i < a.rows; ++i) a(i, j) -= factor * sum * a(i, k);
    }
    a(k, k) = beta;
    tau[k] = static_cast<T>(factor);
  }
}
/// The product of the reflections.
template <class T>
void multiply_reflections(ColumnMajor& a, const T* tau) {
  ColumnMajor q = a;
  const std::int64_t p = std::min(a.rows, a.columns);
  for (std::int64_t j = 0; j < p; ++j) {
    for (std::int64_t i = 0; i < a.rows; ++i) q(i, j) = i == j ? 1 : 0;
    for (std::int64_t k = p; k-- > 0;) {
      double sum = q(k, j);
      for (std::int64_t i = k + 1; i < a.rows; ++i) sum += a(i, k) * q(i, j);
      q(k, j) -= tau[k] * sum;
      for (std::int64_t i = k + 1; i < a.rows; ++i) q(i, j) -= tau[k] * sum * a(i, k);
    }
  }
  a = q;
}
/// Rotations of columns of w until these are orthogonal. v gets the same ones.
inline void make_orthogonal(ColumnMajor& w, ColumnMajor& v) {
  for (int sweep = 0; sweep < 60; ++sweep) {
    for (std::int64_t j = 1; j < w.columns; ++j) {
      for (std::int64_t i = 0; i < j; ++i) {
        const double angle = std::atan2(2 * w.dot(i, j), w.dot(j, j) - w.dot(i, i)) / 2;
        ColumnMajor::turn(w, i, j, angle);
        ColumnMajor::turn(v, i, j, angle);
      }
    }
  }
}
inline ColumnMajor identity(std::int64_t n) {
  ColumnMajor one(n, n, std::vector<double>(static_cast<std::size_t>(n * n)).data());
  for (std::int64_t i = 0; i < n; ++i) one(i, i) = 1;
  return one;
}
inline std::vector<std::int64_t> in_order(const std::vector<double>& values, bool ascending) {
  std::vector<std::int64_t> order;
  for (std::size_t i = 0; i < values.size(); ++i) order.push_back(static_cast<std::int64_t>(i));
  std::sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
    const double x = values[static_cast<std::size_t>(i)];
    const double y = values[static_cast<std::size_t>(j)];
    if (x == y) return i < j;
    return ascending ? x < y : x > y;
  });
  return order;
}
/// a = u diag(s) v^T; a has no more columns than rows.
template <class T>
void singular_values_plainly(ColumnMajor& a, T* s, T* u, T* vt) {
  const std::int64_t n = a.columns;
  ColumnMajor v = identity(n);
  make_orthogonal(a, v);
  std::vector<double> lengths;
  for (std::int64_t j = 0; j < n; ++j) lengths.push_back(std::sqrt(a.dot(j, j)));
  const double most = *std::max_element(lengths.begin(), lengths.end());
  const std::vector<std::int64_t> order = in_order(lengths, false);
  ColumnMajor left = a;
  for (std::int64_t j = 0; j < n; ++j) {
    const std::int64_t from = order[static_cast<std::size_t>(j)];
    const double length = lengths[static_cast<std::size_t>(from)];
    s[j] = static_cast<T>(length);
    for (std::int64_t i = 0; i < n; ++i) vt[j + i * n] = static_cast<T>(v(i, from));
    for (std::int64_t axis = -1; axis < a.rows; ++axis) {
      // The column, or an axis in place of one without a length, orthogonal to those before.
      if (axis < 0 && !(length > most * 1e-15)) continue;
      for (std::int64_t i = 0; i < a.rows; ++i) {
        left(i, j) = axis < 0 ? a(i, from) / length : i == axis ? 1 : 0;
      }
      for (int twice = 0; twice < 2; ++twice) {
        for (std::int64_t k = 0; k < j; ++k) {
          const double dot = left.dot(k, j);
          for (std::int64_t i = 0; i < a.rows; ++i) left(i, j) -= dot * left(i, k);
        }
      }
      const double rest = std::sqrt(left.dot(j, j));
      if (rest < 1e-3) continue;
      for (std::int64_t i = 0; i < a.rows; ++i) left(i, j) /= rest;
      break;
    }
  }
  left.store(u);
}
/// Eigenvalues of the symmetric matrix whose upper triangle is a's, and a := eigenvectors: singular
/// vectors of a + c 1, of which all eigenvalues are positive.
template <class T>
void eigenvalues_plainly(ColumnMajor& a, T* values) {
  const std::int64_t n = a.rows;
  double shift = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < j; ++i) a(j, i) = a(i, j);
  }
  for (const double x : a.elements) shift += std::abs(x);
  for (std::int64_t i = 0; i < n; ++i) a(i, i) += shift + 1e-300;
  ColumnMajor v = identity(n);
  make_orthogonal(a, v);
  std::vector<double> lengths;
  for (std::int64_t j = 0; j < n; ++j) lengths.push_back(std::sqrt(a.dot(j, j)));
  const std::vector<std::int64_t> order = in_order(lengths, true);
  for (std::int64_t j = 0; j < n; ++j) {
    const std::int64_t from = order[static_cast<std::size_t>(j)];
    values[j] = static_cast<T>(lengths[static_cast<std::size_t>(from)] - shift);
    for (std::int64_t i = 0; i < n; ++i) a(i, j) = -v(i, from);  // signs are anybody's choice
  }
}

/// Computes plainly, as work of the stream. What else is in its workspace is lost.
struct PlainSolver : PlainLibrary {
  static inline bool needs_more = false;  ///< than it has said before
  static inline bool converges = true;    ///< eigenvalues and singular values
  static inline std::int64_t most_matrices = 4;
  static inline double largest = 0;  ///< element of the last matrix
  /// How many graphs have been made.
  static int graphs() { return CudaOnHost::get().graphs; }
  static inline std::vector<tf::SolverCall> calls;

  static bool is_large(std::int64_t side, std::int64_t count) {
    return side >= 2 && count <= most_matrices;
  }
  static std::int64_t solver_workspace(const tf::SolverCall& call) {
    return 100 * static_cast<std::int64_t>(call.routine) + 7;
  }
  static bool solve(tf::CudaStream& stream, const tf::SolverCall& call, void* memory,
                    std::int64_t bytes) {
    calls.push_back(call);
    if (fails) throw tf::Error("a library: a decomposition", "out of luck");
    if (needs_more) return false;
    if (bytes < solver_workspace(call)) throw tf::Error("a library", "too little memory");
    tf::KernelCall launched{};
    launched.stream = &stream;
    tf::cuda_kernels::launch(launched, &run, 1, 1, call, static_cast<std::byte*>(memory),
                             converges);
    return true;
  }

 private:
  static void run(tf::SolverCall call, std::byte* memory, bool its_converges) {
    for (std::int64_t i = 0; i < solver_workspace(call); ++i) memory[i] = std::byte{0xff};
    if (call.type == tf::DType::float64) {
      compute<double>(call, its_converges);
    } else {
      compute<float>(call, its_converges);
    }
  }
  template <class T>
  static void compute(const tf::SolverCall& call, bool its_converges) {
    ColumnMajor a(call.rows, call.columns, static_cast<const T*>(call.a));
    auto* const values = static_cast<T*>(call.values);
    *call.info = 0;
    largest = 0;
    for (const double x : a.elements) {
      // Some routines never end then.
      if (!std::isfinite(x)) throw cuda_on_host::Misuse{"a library gets NaN or infinity"};
      largest = std::max(largest, std::abs(x));
    }
    switch (call.routine) {
      case tf::SolverRoutine::getrf:
        *call.info = lu_plainly(a, call.pivots);
        break;
      case tf::SolverRoutine::getrs: {
        ColumnMajor b(call.rows, call.right, static_cast<const T*>(call.b));
        solve_plainly(a, call.pivots, call.transposed, b);
        b.store(static_cast<T*>(call.b));
        break;
      }
      case tf::SolverRoutine::potrf:
        *call.info = cholesky_plainly(a);
        break;
      case tf::SolverRoutine::geqrf:
        reflect_plainly(a, values);
        break;
      case tf::SolverRoutine::orgqr:
        multiply_reflections(a, values);
        break;
      case tf::SolverRoutine::syevd:
        eigenvalues_plainly(a, values);
        *call.info = its_converges ? 0 : 1;
        break;
      case tf::SolverRoutine::gesvd:
        singular_values_plainly(a, values, static_cast<T*>(call.b), static_cast<T*>(call.c));
        *call.info = its_converges ? 0 : 1;
        break;
    }
    a.store(static_cast<T*>(call.a));
  }
};

using SolverKernels = tf::LibraryCudaKernels<PlainSolver>;

}  // namespace test

#endif
