// SPDX-License-Identifier: Apache-2.0
#pragma once

// The CPU kernels of linear algebra: LAPACK's routines, called for each matrix, different matrices
// on different threads.
//
// LAPACK sees a row-major matrix as its transpose. For inverses and determinants this makes no
// difference. For symmetric matrices only the name of the triangle changes. A system A X = B is
// solved as X^T A^T = B^T: triangular solves from the right, in the result's own memory.
//
// Each kernel is a loop over Matrices around one or two calls of LAPACK. Copies of a matrix and the
// routines' workspaces are in the run's workspace. The kernels of lu, qr and eigvals are in
// factor_kernels.hpp.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "typeflow/linalg/cholesky.hpp"
#include "typeflow/linalg/eig.hpp"
#include "typeflow/linalg/inverse.hpp"
#include "typeflow/linalg/lapack_calls.hpp"
#include "typeflow/linalg/solve.hpp"
#include "typeflow/linalg/svd.hpp"

namespace typeflow::inline TYPEFLOW_ISA::lapack {

/// Pivots, and a copy of a matrix.
template <class T>
struct FactorMemory {
  FactorMemory(Scratch& scratch, int n, int)
      : pivots(scratch.take<int>(n)), lu(scratch.take<T>(std::int64_t{n} * n)) {}
  int* pivots;
  T* lu;
};

/// Calls f(number, determinant) for each matrix.
template <class T, class F>
void each_determinant(const Tensor& in, const KernelCall& call, const F& f) {
  const Matrices<const T> a(in);
  const int n = to_int(a.rows);
  const auto part = [&](std::int64_t begin, std::int64_t end, const FactorMemory<T>& memory) {
    const auto [pivots, lu] = memory;
    for (std::int64_t i = begin; i < end; ++i) {
      linalg::ScaledProduct product;
      if (has_nan(a[i], a.size())) {
        product = linalg::ScaledProduct(linalg::not_a_number);
      } else if (n > 0) {
        int info = 0;
        std::copy_n(a[i], a.size(), lu);
        getrf(&n, &n, lu, &n, pivots, &info);
        for (std::int64_t k = 0; k < n; ++k) {
          const double pivot = static_cast<double>(lu[k * (n + 1)]);
          product.multiply(pivots[k] == k + 1 ? pivot : -pivot);  // pivots count from 1
        }
        if (info > 0) product = linalg::ScaledProduct(0);
      }
      f(i, product);
    }
  };
  parts_with_scratch<FactorMemory<T>>(call, a, n, part);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::lapack

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <>
struct kernel_of<ops::MatrixInverse> {
  static std::int64_t workspace(const Tensor* in, const Tensor*) {
    return lapack::workspace_of<Memory>(*in);
  }

  template <class A>
  static void run(const ops::MatrixInverse&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    lapack::visit(*in, [&](auto zero) { invert<decltype(zero)>(*in, *out, call); });
  }

 private:
  template <class T>
  struct Memory {
    Memory(lapack::Scratch& scratch, int n, int) : pivots(scratch.take<int>(n)) {
      int info = 0;
      T size{};
      const int ask = -1;
      lapack::getri(&n, static_cast<T*>(nullptr), &n, nullptr, &size, &ask, &info);
      lwork = lapack::length_of_work(size);
      work = scratch.take<T>(lwork);
    }
    int* pivots;
    T* work;
    int lwork;
  };

  template <class T>
  static void invert(const Tensor& in, const Tensor& out, const KernelCall& call) {
    const lapack::Matrices<const T> a(in);
    const lapack::Matrices<T> y(out);
    if (a.size() == 0) return;
    const int n = lapack::to_int(a.rows);
    lapack::FirstFailure singular;
    const auto part = [&](std::int64_t begin, std::int64_t end, const Memory<T>& memory) {
      const auto [pivots, work, lwork] = memory;
      for (std::int64_t i = begin; i < end; ++i) {
        if (lapack::has_nan(a[i], a.size())) {
          std::fill_n(y[i], y.size(), std::numeric_limits<T>::quiet_NaN());
          continue;
        }
        std::copy_n(a[i], a.size(), y[i]);
        int info = 0;
        lapack::getrf(&n, &n, y[i], &n, pivots, &info);
        if (info == 0) lapack::getri(&n, y[i], &n, pivots, work, &lwork, &info);
        if (info != 0) singular.at(i);
      }
    };
    lapack::parts_with_scratch<Memory<T>>(call, a, n, part);
    singular.report(call);
  }
};

template <>
struct kernel_of<ops::MatrixDeterminant> {
  static std::int64_t workspace(const Tensor* in, const Tensor*) {
    return lapack::workspace_of<lapack::FactorMemory>(*in);
  }

  template <class A>
  static void run(const ops::MatrixDeterminant&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    lapack::visit(*in, [&](auto zero) {
      using T = decltype(zero);
      T* const y = static_cast<T*>(out->data);
      lapack::each_determinant<T>(*in, call, [&](std::int64_t i, const auto& determinant) {
        y[i] = static_cast<T>(determinant.value());
      });
    });
  }
};

template <>
struct kernel_of<ops::LogDeterminant> {
  static std::int64_t workspace(const Tensor* in, const Tensor*) {
    return lapack::workspace_of<lapack::FactorMemory>(*in);
  }

  template <class A>
  static void run(const ops::LogDeterminant&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    lapack::visit(*in, [&](auto zero) {
      using T = decltype(zero);
      T* const sign = static_cast<T*>(out[0].data);
      T* const log = static_cast<T*>(out[1].data);
      lapack::each_determinant<T>(*in, call, [&](std::int64_t i, const auto& determinant) {
        sign[i] = static_cast<T>(determinant.sign());
        log[i] = static_cast<T>(determinant.log_of_size());
      });
    });
  }
};

template <>
struct kernel_of<ops::MatrixSolve> {
  static std::int64_t workspace(const Tensor* in, const Tensor*) {
    return lapack::workspace_of<lapack::FactorMemory>(*in);
  }

  template <class A>
  static void run(const ops::MatrixSolve& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    lapack::visit(*in, [&](auto zero) {
      solve<decltype(zero)>(op.transposed != 0, in[0], in[1], *out, call);
    });
  }

 private:
  /// getrf sees M = A^T = P L U, where P is the product of the row exchanges in their order. So
  ///
  ///   X^T = B^T U^-1 L^-1 P^-1 for A X = B
  ///   X^T = B^T P L^-T U^-T    for A^T X = B
  template <class T>
  static void solve(bool transposed, const Tensor& left, const Tensor& right, const Tensor& out,
                    const KernelCall& call) {
    const lapack::Matrices<const T> a(left);
    const lapack::Matrices<const T> b(right);
    const lapack::Matrices<T> x(out);
    if (x.size() == 0) return;
    const int n = lapack::to_int(a.rows);
    lapack::FirstFailure singular;
    using Memory = lapack::FactorMemory<T>;
    const auto part = [&](std::int64_t begin, std::int64_t end, const Memory& memory) {
      int* const pivots = memory.pivots;
      T* const lu = memory.lu;
      const auto exchange = [&](T* y, int k) {
        const int other = pivots[k] - 1;  // they count from 1
        if (other != k)
          std::swap_ranges(y + k * x.columns, y + (k + 1) * x.columns, y + other * x.columns);
      };
      for (std::int64_t i = begin; i < end; ++i) {
        T* const y = x[i];
        if (lapack::has_nan(a[i], a.size())) {
          std::fill_n(y, x.size(), std::numeric_limits<T>::quiet_NaN());
          continue;
        }
        int info = 0;
        std::copy_n(a[i], a.size(), lu);
        lapack::getrf(&n, &n, lu, &n, pivots, &info);
        if (info != 0) {
          singular.at(i);
          continue;
        }
        std::copy_n(b[i], b.size(), y);
        if (transposed) {
          for (int k = 0; k < n; ++k) exchange(y, k);
          lapack::solve_from_right('L', true, true, x.columns, n, lu, y);
          lapack::solve_from_right('U', true, false, x.columns, n, lu, y);
        } else {
          lapack::solve_from_right('U', false, false, x.columns, n, lu, y);
          lapack::solve_from_right('L', false, true, x.columns, n, lu, y);
          for (int k = n - 1; k >= 0; --k) exchange(y, k);
        }
      }
    };
    lapack::parts_with_scratch<Memory>(call, a, n, part);
    singular.report(call);
  }
};

template <>
struct kernel_of<ops::MatrixTriangularSolve> {
  template <class A>
  static void run(const ops::MatrixTriangularSolve& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    lapack::visit(*in, [&](auto zero) { solve<decltype(zero)>(op, in[0], in[1], *out, call); });
  }

 private:
  template <class T>
  static void solve(const ops::MatrixTriangularSolve& op, const Tensor& left, const Tensor& right,
                    const Tensor& out, const KernelCall& call) {
    const lapack::Matrices<const T> a(left);
    const lapack::Matrices<const T> b(right);
    const lapack::Matrices<T> x(out);
    if (x.size() == 0) return;
    const std::int64_t n = a.rows;
    const char uplo = static_cast<Triangle>(op.triangle) == Triangle::lower ? 'U' : 'L';
    lapack::FirstFailure singular;
    lapack::parts_of(call, a.count, n, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        for (std::int64_t k = 0; k < n; ++k) {
          if (a[i][k * (n + 1)] == 0) singular.at(i);
        }
        std::copy_n(b[i], b.size(), x[i]);
        lapack::solve_from_right(uplo, op.transposed != 0, false, x.columns, n, a[i], x[i]);
      }
    });
    singular.report(call);
  }
};

template <>
struct kernel_of<ops::Cholesky> {
  template <class A>
  static void run(const ops::Cholesky&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    lapack::visit(*in, [&](auto zero) { factor<decltype(zero)>(*in, *out, call); });
  }

 private:
  template <class T>
  static void factor(const Tensor& in, const Tensor& out, const KernelCall& call) {
    const lapack::Matrices<const T> a(in);
    const lapack::Matrices<T> l(out);
    if (a.size() == 0) return;
    const int n = lapack::to_int(a.rows);
    lapack::FirstFailure failure;
    lapack::parts_of(call, a.count, n, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        T* const y = l[i];
        for (std::int64_t row = 0; row < n; ++row) {
          std::copy_n(a[i] + row * n, row + 1, y + row * n);
          std::fill_n(y + row * n + row + 1, n - row - 1, T(0));
        }
        int info = 0;
        lapack::potrf("U", &n, y, &n, &info, 1);
        // Not every LAPACK reports NaN; in all of them it has reached the diagonal.
        for (std::int64_t k = 0; k < n; ++k) info |= !(y[k * (n + 1)] > 0);
        if (info != 0) failure.at(i);
      }
    });
    failure.report(call);
  }
};

template <>
struct kernel_of<ops::SelfAdjointEig> {
  static std::int64_t workspace(const Tensor* in, const Tensor*) {
    return lapack::workspace_of<Memory>(*in);
  }

  template <class A>
  static void run(const ops::SelfAdjointEig&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    lapack::visit(*in, [&](auto zero) { decompose<decltype(zero)>(*in, out[0], out[1], call); });
  }

 private:
  template <class T>
  struct Memory {
    Memory(lapack::Scratch& scratch, int n, int) {
      int info = 0;
      T size{};
      const int ask = -1;
      T* const none = nullptr;
      lapack::syevd("V", "U", &n, none, &n, none, &size, &ask, &integers, &ask, &info, 1, 1);
      lwork = lapack::length_of_work(size);
      work = scratch.take<T>(lwork);
      integer_work = scratch.take<int>(integers);
    }
    T* work;
    int* integer_work;
    int lwork;
    int integers = 0;
  };

  template <class T>
  static void decompose(const Tensor& in, const Tensor& values, const Tensor& vectors,
                        const KernelCall& call) {
    const lapack::Matrices<const T> a(in);
    const lapack::Matrices<T> v(vectors);
    T* const w = static_cast<T*>(values.data);
    if (a.size() == 0) return;
    const int n = lapack::to_int(a.rows);
    lapack::FirstFailure failure;
    const auto part = [&](std::int64_t begin, std::int64_t end, const Memory<T>& memory) {
      const auto [work, integer_work, lwork, integers] = memory;
      for (std::int64_t i = begin; i < end; ++i) {
        bool finite = true;
        for (std::int64_t row = 0; row < n; ++row) {
          const T* const from = a[i] + row * n;
          std::copy_n(from, row + 1, v[i] + row * n);
          finite =
              finite && std::all_of(from, from + row + 1, [](T e) { return std::isfinite(e); });
        }
        if (!finite) {
          std::fill_n(v[i], v.size(), std::numeric_limits<T>::quiet_NaN());
          std::fill_n(w + i * n, n, std::numeric_limits<T>::quiet_NaN());
          continue;
        }
        int info = 0;
        lapack::syevd("V", "U", &n, v[i], &n, w + i * n, work, &lwork, integer_work, &integers,
                      &info, 1, 1);
        if (info != 0) failure.at(i);
        lapack::transpose_square(v[i], n);
      }
    };
    lapack::parts_with_scratch<Memory<T>>(call, a, 9 * n, part);
    failure.report(call);
  }
};

template <>
struct kernel_of<ops::Svd> {
  static std::int64_t workspace(const Tensor* in, const Tensor*) {
    return lapack::workspace_of<Memory>(*in);
  }

  template <class A>
  static void run(const ops::Svd&, const Tensor* in, const Tensor* out, const KernelCall& call) {
    lapack::visit(*in, [&](auto zero) { decompose<decltype(zero)>(*in, out, call); });
  }

 private:
  template <class T>
  struct Memory {
    Memory(lapack::Scratch& scratch, int rows, int columns) {
      const std::int64_t p = std::min(rows, columns);
      copy = scratch.take<T>(std::int64_t{rows} * columns);
      vt = scratch.take<T>(columns * p);
      integers = scratch.take<int>(8 * p);
      const int least = static_cast<int>(p);
      int info = 0;
      T size{};
      const int ask = -1;
      T* const none = nullptr;
      lapack::gesdd("S", &columns, &rows, none, &columns, none, none, &columns, none, &least, &size,
                    &ask, nullptr, &info, 1);
      lwork = lapack::length_of_work(size);
      work = scratch.take<T>(lwork);
    }
    T* copy;
    T* vt;
    int* integers;
    T* work;
    int lwork;
  };

  /// gesdd sees A^T = V diag(s) U^T. Its third result, the column-major U^T, is the row-major U;
  /// its first is the row-major V^T.
  template <class T>
  static void decompose(const Tensor& in, const Tensor* out, const KernelCall& call) {
    const lapack::Matrices<const T> a(in);
    T* const s = static_cast<T*>(out[0].data);
    const lapack::Matrices<T> u(out[1]);
    const lapack::Matrices<T> v(out[2]);
    if (a.size() == 0) return;
    const int m = lapack::to_int(a.columns);
    const int n = lapack::to_int(a.rows);
    const int p = std::min(m, n);
    lapack::FirstFailure failure;
    const auto part = [&](std::int64_t begin, std::int64_t end, const Memory<T>& memory) {
      const auto [copy, vt, integers, work, lwork] = memory;
      for (std::int64_t i = begin; i < end; ++i) {
        if (!std::all_of(a[i], a[i] + a.size(), [](T e) { return std::isfinite(e); })) {
          constexpr T nan = std::numeric_limits<T>::quiet_NaN();
          std::fill_n(s + i * p, p, nan);
          std::fill_n(u[i], u.size(), nan);
          std::fill_n(v[i], v.size(), nan);
          continue;
        }
        std::copy_n(a[i], a.size(), copy);
        int info = 0;
        lapack::gesdd("S", &m, &n, copy, &m, s + i * p, vt, &m, u[i], &p, work, &lwork, integers,
                      &info, 1);
        if (info != 0) failure.at(i);
        for (std::int64_t row = 0; row < m; ++row) {
          for (std::int64_t k = 0; k < p; ++k) {
            v[i][row * p + k] = vt[k * m + row];
          }
        }
      }
    };
    lapack::parts_with_scratch<Memory<T>>(call, a, 3 * std::max(m, n), part);
    failure.report(call);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
