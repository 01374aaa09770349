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
  template <class A>
  static void run(const ops::Lu&, const Tensor* in, const Tensor* out, const KernelCall& call) {
    lapack::visit(*in, [&](auto zero) { factor<decltype(zero)>(*in, out, call); });
  }

 private:
  template <class T>
  static void factor(const Tensor& in, const Tensor* out, const KernelCall& call) {
    const lapack::Matrices<const T> a(in);
    const lapack::Matrices<T> l(out[0]);
    const lapack::Matrices<T> u(out[1]);
    std::int32_t* const p = static_cast<std::int32_t*>(out[2].data);
    if (a.size() == 0) return;
    const int n = lapack::to_int(a.rows);
    lapack::parts_of(call, a.count, n, [&](std::int64_t begin, std::int64_t end) {
      auto pivots = lapack::buffer<int>(n);
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
        lapack::getrf(&n, &n, u[m], &n, pivots.data(), &info);
        lapack::transpose_square(u[m], n);
        for (int k = 0; k < n; ++k) {
          std::swap(order[k], order[pivots[static_cast<std::size_t>(k)] - 1]);  // from 1
        }
        for (std::int64_t i = 0; i < n; ++i) {
          T* const lower = l[m] + i * n;
          T* const upper = u[m] + i * n;
          std::copy_n(upper, i, lower);
          lower[i] = T(1);
          std::fill_n(lower + i + 1, n - i - 1, T(0));
          std::fill_n(upper, i, T(0));
        }
      }
    });
  }
};

template <>
struct kernel_of<ops::Qr> {
  template <class A>
  static void run(const ops::Qr&, const Tensor* in, const Tensor* out, const KernelCall& call) {
    lapack::visit(*in, [&](auto zero) { factor<decltype(zero)>(*in, out, call); });
  }

 private:
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
    lapack::parts_of(call, a.count, 2 * std::max(m, n), [&](std::int64_t begin, std::int64_t end) {
      auto copy = lapack::buffer<T>(a.size());
      auto tau = lapack::buffer<T>(p);
      int info = 0;
      T size{};
      T other{};
      const int ask = -1;
      lapack::gelqf(&n, &m, copy.data(), &n, tau.data(), &size, &ask, &info);
      lapack::orglq(&p, &m, &p, copy.data(), &n, tau.data(), &other, &ask, &info);
      auto work = lapack::workspace(std::max(size, other));
      const int lwork = static_cast<int>(work.size());
      for (std::int64_t i = begin; i < end; ++i) {
        if (!lapack::is_finite(a[i], a.size())) {
          lapack::fill_with_nan(q[i], q.size());
          lapack::fill_with_nan(r[i], r.size());
          continue;
        }
        std::copy_n(a[i], a.size(), copy.data());
        lapack::gelqf(&n, &m, copy.data(), &n, tau.data(), work.data(), &lwork, &info);
        for (std::int64_t k = 0; k < p; ++k) {
          std::fill_n(r[i] + k * n, k, T(0));
          std::copy_n(copy.data() + k * n + k, n - k, r[i] + k * n + k);
        }
        lapack::orglq(&p, &m, &p, copy.data(), &n, tau.data(), work.data(), &lwork, &info);
        for (std::int64_t row = 0; row < m; ++row) {
          std::copy_n(copy.data() + row * n, p, q[i] + row * p);
        }
      }
    });
  }
};

template <>
struct kernel_of<ops::Eigvals> {
  template <class A>
  static void run(const ops::Eigvals&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    lapack::visit(*in, [&](auto zero) { find<decltype(zero)>(*in, *out, call); });
  }

 private:
  /// A^T has the same eigenvalues.
  template <class T>
  static void find(const Tensor& in, const Tensor& out, const KernelCall& call) {
    const lapack::Matrices<const T> a(in);
    std::complex<T>* const y = static_cast<std::complex<T>*>(out.data);
    if (a.size() == 0) return;
    const int n = lapack::to_int(a.rows);
    lapack::FirstFailure failure;
    lapack::parts_of(call, a.count, 3 * n, [&](std::int64_t begin, std::int64_t end) {
      auto copy = lapack::buffer<T>(a.size());
      auto re = lapack::buffer<T>(n);
      auto im = lapack::buffer<T>(n);
      int info = 0;
      const auto solve = [&](T* work, int lwork) {
        const int one = 1;
        lapack::geev("N", "N", &n, copy.data(), &n, re.data(), im.data(), nullptr, &one, nullptr,
                     &one, work, &lwork, &info, 1, 1);
      };
      T size{};
      solve(&size, -1);
      auto work = lapack::workspace(size);
      for (std::int64_t i = begin; i < end; ++i) {
        if (lapack::is_finite(a[i], a.size())) {
          std::copy_n(a[i], a.size(), copy.data());
          solve(work.data(), static_cast<int>(work.size()));
          if (info != 0) failure.at(i);
        } else {
          lapack::fill_with_nan(re.data(), n);
          std::fill_n(im.data(), n, T(0));
        }
        for (std::int64_t k = 0; k < n; ++k) {
          const auto at = static_cast<std::size_t>(k);
          y[i * n + k] = {re[at], im[at]};
        }
      }
    });
    failure.report(call);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
