// SPDX-License-Identifier: Apache-2.0
#pragma once

// The CPU kernels of lu, qr and eigvals. See kernels.hpp.

#include <algorithm>
#include <complex>
#include <cstdint>
#include <limits>
#include <numeric>

#include "typeflow/linalg/eigvals.hpp"
#include "typeflow/linalg/lapack_calls.hpp"
#include "typeflow/linalg/lu.hpp"
#include "typeflow/linalg/qr.hpp"

namespace typeflow::inline TYPEFLOW_ISA::lapack {

template <class T>
bool is_finite(const T* x, std::int64_t size) {
  return std::all_of(x, x + size, [](T e) { return std::isfinite(e); });
}
template <class T>
void fill_with_nan(T* x, std::int64_t size) {
  std::fill_n(x, size, std::numeric_limits<T>::quiet_NaN());
}

}  // namespace typeflow::inline TYPEFLOW_ISA::lapack

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <>
struct kernel_of<ops::Lu> {
  static std::int64_t workspace(const Tensor* in, const Tensor*) {
    return lapack::scratch_of<Memory>(*in);
  }

  template <class A>
  static void run(const ops::Lu&, const Tensor* in, const Tensor* out, const KernelCall& call) {
    lapack::visit(*in, [&](auto zero) { factor<decltype(zero)>(*in, out, call); });
  }

 private:
  struct Memory {
    Memory(lapack::Scratch& scratch, int n, int) : pivots(scratch.take<int>(n)) {}
    int* pivots;
  };

  template <class T>
  static void factor(const Tensor& in, const Tensor* out, const KernelCall& call) {
    const lapack::Matrices<const T> a(in);
    const lapack::Matrices<T> l(out[0]);
    const lapack::Matrices<T> u(out[1]);
    std::int32_t* const p = static_cast<std::int32_t*>(out[2].data);
    if (a.size() == 0) return;
    const int n = lapack::to_int(a.rows);
    const auto part = [&](std::int64_t begin, std::int64_t end, const Memory& memory) {
      for (std::int64_t m = begin; m < end; ++m) {
        std::int32_t* const order = p + m * n;
        std::iota(order, order + n, 0);
        if (lapack::has_nan(a[m], a.size())) {
          lapack::fill_with_nan(l[m], l.size());
          lapack::fill_with_nan(u[m], u.size());
          continue;
        }
        int info = 0;  // above 0 if U has a zero on its diagonal; not a mistake
        std::copy_n(a[m], a.size(), u[m]);
        lapack::transpose_square(u[m], n);
        lapack::getrf(&n, &n, u[m], &n, memory.pivots, &info);
        lapack::transpose_square(u[m], n);
        for (int k = 0; k < n; ++k) std::swap(order[k], order[memory.pivots[k] - 1]);  // from 1
        for (std::int64_t i = 0; i < n; ++i) {
          T* const lower = l[m] + i * n;
          T* const upper = u[m] + i * n;
          std::copy_n(upper, i, lower);
          lower[i] = T(1);
          std::fill_n(lower + i + 1, n - i - 1, T(0));
          std::fill_n(upper, i, T(0));
        }
      }
    };
    lapack::parts_with_scratch<Memory>(call, a, n, part);
  }
};

template <>
struct kernel_of<ops::Qr> {
  static std::int64_t workspace(const Tensor* in, const Tensor*) {
    return lapack::workspace_of<Memory>(*in);
  }

  template <class A>
  static void run(const ops::Qr&, const Tensor* in, const Tensor* out, const KernelCall& call) {
    lapack::visit(*in, [&](auto zero) { factor<decltype(zero)>(*in, out, call); });
  }

 private:
  template <class T>
  struct Memory {
    Memory(lapack::Scratch& scratch, int rows, int columns) {
      const int p = std::min(rows, columns);
      copy = scratch.take<T>(std::int64_t{rows} * columns);
      tau = scratch.take<T>(p);
      int info = 0;
      T size{};
      T other{};
      const int ask = -1;
      T* const none = nullptr;
      lapack::gelqf(&columns, &rows, none, &columns, none, &size, &ask, &info);
      lapack::orglq(&p, &rows, &p, none, &columns, none, &other, &ask, &info);
      lwork = lapack::length_of_work(std::max(size, other));
      work = scratch.take<T>(lwork);
    }
    T* copy;
    T* tau;
    T* work;
    int lwork;
  };

  /// gelqf sees A^T = R^T Q^T: its L and Q are the row-major R and Q.
  template <class T>
  static void factor(const Tensor& in, const Tensor* out, const KernelCall& call) {
    const lapack::Matrices<const T> a(in);
    const lapack::Matrices<T> q(out[0]);
    const lapack::Matrices<T> r(out[1]);
    if (a.size() == 0) return;
    const int m = lapack::to_int(a.rows);
    const int n = lapack::to_int(a.columns);
    const int p = std::min(m, n);
    const auto part = [&](std::int64_t begin, std::int64_t end, const Memory<T>& memory) {
      const auto [copy, tau, work, lwork] = memory;
      for (std::int64_t i = begin; i < end; ++i) {
        if (!lapack::is_finite(a[i], a.size())) {
          lapack::fill_with_nan(q[i], q.size());
          lapack::fill_with_nan(r[i], r.size());
          continue;
        }
        int info = 0;
        std::copy_n(a[i], a.size(), copy);
        lapack::gelqf(&n, &m, copy, &n, tau, work, &lwork, &info);
        for (std::int64_t k = 0; k < p; ++k) {
          std::fill_n(r[i] + k * n, k, T(0));
          std::copy_n(copy + k * n + k, n - k, r[i] + k * n + k);
        }
        lapack::orglq(&p, &m, &p, copy, &n, tau, work, &lwork, &info);
        for (std::int64_t row = 0; row < m; ++row) std::copy_n(copy + row * n, p, q[i] + row * p);
      }
    };
    lapack::parts_with_scratch<Memory<T>>(call, a, 2 * std::max(m, n), part);
  }
};

template <>
struct kernel_of<ops::Eigvals> {
  static std::int64_t workspace(const Tensor* in, const Tensor*) {
    return lapack::workspace_of<Memory>(*in);
  }

  template <class A>
  static void run(const ops::Eigvals&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    lapack::visit(*in, [&](auto zero) { find<decltype(zero)>(*in, *out, call); });
  }

 private:
  template <class T>
  struct Memory {
    Memory(lapack::Scratch& scratch, int order, int)
        : n(order),
          copy(scratch.take<T>(std::int64_t{n} * n)),
          re(scratch.take<T>(n)),
          im(scratch.take<T>(n)) {
      T size{};
      solve(&size, -1);
      lwork = lapack::length_of_work(size);
      work = scratch.take<T>(lwork);
    }
    /// The eigenvalues of the copy; not 0 if they are not found.
    int solve(T* memory, int length) const {
      const int one = 1;
      int info = 0;
      lapack::geev("N", "N", &n, copy, &n, re, im, nullptr, &one, nullptr, &one, memory, &length,
                   &info, 1, 1);
      return info;
    }
    int n;
    T* copy;
    T* re;
    T* im;
    T* work;
    int lwork;
  };

  /// A^T has the same eigenvalues.
  template <class T>
  static void find(const Tensor& in, const Tensor& out, const KernelCall& call) {
    const lapack::Matrices<const T> a(in);
    std::complex<T>* const y = static_cast<std::complex<T>*>(out.data);
    if (a.size() == 0) return;
    const int n = lapack::to_int(a.rows);
    lapack::FirstFailure failure;
    const auto part = [&](std::int64_t begin, std::int64_t end, const Memory<T>& memory) {
      for (std::int64_t i = begin; i < end; ++i) {
        if (lapack::is_finite(a[i], a.size())) {
          std::copy_n(a[i], a.size(), memory.copy);
          if (memory.solve(memory.work, memory.lwork) != 0) failure.at(i);
        } else {
          lapack::fill_with_nan(memory.re, n);
          std::fill_n(memory.im, n, T(0));
        }
        for (std::int64_t k = 0; k < n; ++k) y[i * n + k] = {memory.re[k], memory.im[k]};
      }
    };
    lapack::parts_with_scratch<Memory<T>>(call, a, 3 * n, part);
    failure.report(call);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
