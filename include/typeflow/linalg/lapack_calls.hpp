// SPDX-License-Identifier: Apache-2.0
#pragma once

// Common parts of the kernels that call LAPACK: the element type, the matrices of a tensor, their
// distribution over threads, scratch memory, and the first matrix that failed.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

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

/// Hands out scratch memory. Without memory it only counts the bytes.
class Scratch {
 public:
  explicit Scratch(void* memory = nullptr) : memory_(static_cast<std::byte*>(memory)) {}

  /// Room for `size` numbers; null without memory.
  template <class T>
  T* take(std::int64_t size) {
    const std::int64_t first = bytes_;
    bytes_ = checked_sum(first, checked_product(size, sizeof(T)) + 63) / 64 * 64;
    return memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + first);
  }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::byte* memory_;
  std::int64_t bytes_ = 0;
};

/// The `lwork` of a routine that returned it as a T, which may have rounded it down. LAPACK
/// computes it as an int, which overflows for matrices that are too large.
template <class T>
int length_of_work(T size) {
  if (size < 0) throw Error("LAPACK", "a workspace of fewer than 2^31 numbers", "more");
  return to_int(
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

/// The cost (cpu_kernels::cost_of_part) of a matrix that takes about n^3 operations: some 8 of them
/// in a nanosecond, and 0.5 us for the calls.
inline std::int64_t cost_of_matrix(std::int64_t n) {
  n = std::min<std::int64_t>(n, 1 << 16);  // n^3 does not overflow
  return 12 * n * n * n + 50000;
}
/// f(begin, end) for parts of `count` matrices; computing one takes about n^3 operations.
template <class F>
void parts_of(const KernelCall& call, std::int64_t count, std::int64_t n, F&& f) {
  cpu_kernels::parallel(call, count, cpu_kernels::grain_of_cost(cost_of_matrix(n)), f);
}

/// Matrices whose parts each have so many bytes of scratch memory are shared out to so many parts:
/// 16, or 4 or more if those would need more than 256 MiB.
inline std::int64_t scratch_parts(std::int64_t count, std::int64_t bytes) {
  constexpr std::int64_t most = std::int64_t{256} << 20;
  return std::min(count, std::clamp<std::int64_t>(most / std::max<std::int64_t>(bytes, 1), 4, 16));
}
/// The workspace of a kernel whose parts each have a Memory for matrices of this shape: a struct
/// with a constructor from (Scratch&, int rows, int columns).
template <class Memory>
std::int64_t scratch_of(const Tensor& x) {
  const Matrices<std::byte> a(x);
  if (a.count == 0 || a.size() == 0) return 0;
  Scratch scratch;
  Memory(scratch, to_int(a.rows), to_int(a.columns));
  return checked_product(scratch_parts(a.count, scratch.bytes()), scratch.bytes());
}
/// The same for a Memory<T> of the tensor's element type.
template <template <class> class Memory>
std::int64_t workspace_of(const Tensor& x) {
  std::int64_t bytes = 0;
  visit(x, [&](auto zero) { bytes = scratch_of<Memory<decltype(zero)>>(x); });
  return bytes;
}
/// f(begin, end, memory) for parts of a tensor's matrices; computing one takes about n^3
/// operations.
template <class Memory, class T, class F>
void parts_with_scratch(const KernelCall& call, const Matrices<T>& a, std::int64_t n, const F& f) {
  const int rows = to_int(a.rows);
  const int columns = to_int(a.columns);
  Scratch of_part;
  Memory(of_part, rows, columns);
  const std::int64_t parts = scratch_parts(a.count, of_part.bytes());
  if (parts == 0) return;
  auto* const memory = static_cast<std::byte*>(call.workspace);
  const std::int64_t of_each = (a.count + parts - 1) / parts;  // 1000 of any size are dear enough
  const std::int64_t grain =
      cpu_kernels::grain_of_cost(cost_of_matrix(n) * std::min<std::int64_t>(of_each, 1000));
  cpu_kernels::parallel(call, parts, grain, [&](std::int64_t begin, std::int64_t end) {
    Scratch scratch(memory + begin * of_part.bytes());
    f(a.count * begin / parts, a.count * end / parts, Memory(scratch, rows, columns));
  });
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
