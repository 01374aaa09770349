// SPDX-License-Identifier: Apache-2.0
#pragma once

// Common parts of the kernels that call LAPACK: the element type, workspaces, the matrices of a
// tensor, their distribution over threads, and the first matrix that failed.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "typeflow/cpu/call.hpp"
#include "typeflow/linalg/lapack.hpp"

namespace typeflow::inline TYPEFLOW_ISA::lapack {

using cpu_kernels::Tensor;

/// f(T{}) for the element type of a tensor.
template <class F>
void visit(const Tensor& x, const F& f) {
  if (x.dtype == DType::float32) {
    f(float{});
  } else {
    f(double{});
  }
}

template <class T>
std::vector<T> buffer(std::int64_t size) {
  return std::vector<T>(static_cast<std::size_t>(std::max<std::int64_t>(size, 1)), T{});
}
/// A workspace of the size that a routine returned as a T, which may have rounded it down.
template <class T>
std::vector<T> workspace(T size) {
  return buffer<T>(
      static_cast<std::int64_t>(std::nextafter(size, std::numeric_limits<T>::infinity())) + 1);
}

/// The matrices of a tensor.
template <class T>
struct Matrices {
  T* data;
  std::int64_t count = 1;
  std::int64_t rows;
  std::int64_t columns;

  explicit Matrices(const Tensor& x)
      : data(static_cast<T*>(x.data)),
        rows(x.extents[x.extents.size() - 2]),
        columns(x.extents[x.extents.size() - 1]) {
    for (const std::int64_t e : x.extents.first(x.extents.size() - 2)) count *= e;
  }
  std::int64_t size() const { return rows * columns; }
  T* operator[](std::int64_t i) const { return data + i * size(); }
};

/// The first matrix for which a routine failed. Which one is reported must not depend on the
/// threads.
class FirstFailure {
 public:
  void at(std::int64_t index) {
    std::int64_t known = first_.load(std::memory_order_relaxed);
    while (index < known &&
           !first_.compare_exchange_weak(known, index, std::memory_order_relaxed)) {
    }
  }
  void report(const KernelCall& call) const {
    const std::int64_t first = first_.load(std::memory_order_relaxed);
    if (first != none_) call.fail({1, {first}});
  }

 private:
  static constexpr std::int64_t none_ = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::int64_t> first_{none_};
};

/// f(begin, end) for parts of `count` matrices; computing one takes about n^3 operations.
template <class F>
void parts_of(const KernelCall& call, std::int64_t count, std::int64_t n, F&& f) {
  constexpr std::int64_t part = 1 << 17;  // operations that are worth starting a thread for
  cpu_kernels::parallel(call, count,
                        std::max<std::int64_t>(1, part / std::max<std::int64_t>(1, n * n * n)), f);
}

template <class T>
bool has_nan(const T* x, std::int64_t size) {
  return std::any_of(x, x + size, [](T e) { return std::isnan(e); });
}

template <class T>
void transpose_square(T* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < i; ++j) std::swap(x[i * n + j], x[j * n + i]);
  }
}

/// b := b op(a)^-1 for column-major b (rows,n) and triangular a (n,n).
template <class T>
void solve_from_right(char uplo, bool transposed, bool unit_diagonal, std::int64_t rows,
                      std::int64_t n, const T* a, T* b) {
  const T one = 1;
  const int m = to_int(rows);
  const int order = to_int(n);
  trsm("R", &uplo, transposed ? "T" : "N", unit_diagonal ? "U" : "N", &m, &order, &one, a, &order,
       b, &m, 1, 1, 1, 1);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::lapack
